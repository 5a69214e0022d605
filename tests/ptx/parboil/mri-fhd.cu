// SPDX-License-Identifier: MIT
// mri-fhd.cu - parboil/mri-fhd/kernels.c in CUDA C.
#define TWO_PI 6.2831853071795864769f

struct ksample {
	float kx, ky, kz, rR, rI;
};

extern "C" __global__ void __launch_bounds__(512) RhoPhi(const float *phiR, const float *phiI, const float *dR,
	const float *dI, float *rR, float *rI, int n)
{
	int k = blockIdx.x * blockDim.x + threadIdx.x;

	if (k >= n)
		return;
	rR[k] = phiR[k] * dR[k] + phiI[k] * dI[k];
	rI[k] = phiR[k] * dI[k] - phiI[k] * dR[k];
}

extern "C" __global__ void __launch_bounds__(256) FH(const ksample *samples, int n, const float *x, const float *y,
	const float *z, float *outR, float *outI)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	float vx = x[v], vy = y[v], vz = z[v], sum_r = 0, sum_i = 0;

	for (int k = 0; k < n; k++) {
		float angle = TWO_PI * (samples[k].kx * vx + samples[k].ky * vy + samples[k].kz * vz);
		float c = cosf(angle), s = sinf(angle);

		sum_r += samples[k].rR * c - samples[k].rI * s;
		sum_i += samples[k].rI * c + samples[k].rR * s;
	}
	outR[v] += sum_r;
	outI[v] += sum_i;
}
