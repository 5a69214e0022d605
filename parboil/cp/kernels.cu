/* SPDX-License-Identifier: MIT */
/* kernels.cu - cp in CUDA C: the kernel of kernels.c. Its atoms are in constant memory, as the original's are. */

#define POINTS 8			/* of a thread: one row, blockDim.x apart */
#define MAX_ATOMS 4000			/* as in cp.h */

/* x, y, the square of the distance in z, charge */
__constant__ float4 atoms[MAX_ATOMS];

/* The grid covers the plane exactly: there is no bounds test. */
extern "C" __global__ void __launch_bounds__(128) cenergy(int n, float spacing, float *energy)
{
	const int i = blockIdx.x * blockDim.x * POINTS + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
	float *out = energy + j * gridDim.x * blockDim.x * POINTS + i;
	const float x = spacing * i, y = spacing * j, step = spacing * blockDim.x;
	float sums[POINTS] = { 0 };

	for (int a = 0; a < n; a++) {
		const float dx0 = x - atoms[a].x, dy = y - atoms[a].y, dyz2 = dy * dy + atoms[a].z;

#pragma unroll
		for (int p = 0; p < POINTS; p++) {
			const float dx = dx0 + p * step;

			sums[p] += atoms[a].w * (1.0f / sqrtf(dx * dx + dyz2));
		}
	}
#pragma unroll
	for (int p = 0; p < POINTS; p++)
		out[p * blockDim.x] += sums[p];
}
