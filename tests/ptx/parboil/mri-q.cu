// SPDX-License-Identifier: MIT
// mri-q.cu - parboil/mri-q/kernels.c in CUDA C.
#define TWO_PI 6.2831853071795864769f

struct ksample {
	float kx, ky, kz, m;
};

extern "C" __global__ void __launch_bounds__(512) ComputePhiMag(const float *phiR, const float *phiI, float *phiMag, int n)
{
	int k = blockIdx.x * blockDim.x + threadIdx.x;

	if (k < n)
		phiMag[k] = phiR[k] * phiR[k] + phiI[k] * phiI[k];
}

extern "C" __global__ void __launch_bounds__(256) ComputeQ(const ksample *samples, int n, const float *x, const float *y,
	const float *z, float *Qr, float *Qi)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	float vx = x[v], vy = y[v], vz = z[v], sum_r = 0, sum_i = 0;

	for (int k = 0; k < n; k++) {
		float angle = TWO_PI * (samples[k].kx * vx + samples[k].ky * vy + samples[k].kz * vz);

		sum_r += samples[k].m * cosf(angle);
		sum_i += samples[k].m * sinf(angle);
	}
	Qr[v] += sum_r;
	Qi[v] += sum_i;
}
