// SPDX-License-Identifier: MIT
// cp.cu - parboil/cp/kernels.c in CUDA C.
#define POINTS 8

struct atom {
	float x, y, dz2, q;
};

extern "C" __global__ void __launch_bounds__(128) cenergy(const atom *atoms, int n, float spacing, float *energy)
{
	int i = blockIdx.x * blockDim.x * POINTS + threadIdx.x;
	int j = blockIdx.y * blockDim.y + threadIdx.y;
	float *out = energy + j * gridDim.x * blockDim.x * POINTS + i;
	float x = spacing * i, y = spacing * j, step = spacing * blockDim.x;
	float sums[POINTS] = { 0 };

	for (int a = 0; a < n; a++) {
		float dx0 = x - atoms[a].x, dy = y - atoms[a].y;
		float dyz2 = dy * dy + atoms[a].dz2;

		for (int p = 0; p < POINTS; p++) {
			float dx = dx0 + p * step;

			sums[p] += atoms[a].q * (1.0f / sqrtf(dx * dx + dyz2));
		}
	}
	for (int p = 0; p < POINTS; p++)
		out[p * blockDim.x] += sums[p];
}
