/* SPDX-License-Identifier: MIT */
/* kernels.c - mri-q: the Q matrix of non-Cartesian magnetic resonance imaging, one tile of samples a call. */
#include <adsm_kernel.h>

#define TWO_PI 6.2831853071795864769f

struct ksample {
	float kx, ky, kz, m;
};

ADSM_KERNEL_MAX(ComputePhiMag, 512, ADSM_IN(float, phiR), ADSM_IN(float, phiI), ADSM_OUT(float, phiMag),
		ADSM_VAL(int, n))
{
	ADSM_THREADS {
		int k = ADSM_GLOBAL_X;

		if (k >= n)
			continue;
		phiMag[k] = phiR[k] * phiR[k] + phiI[k] * phiI[k];
	}
}

/* The grid covers the voxels exactly: there is no bounds test. */
ADSM_KERNEL_MAX(ComputeQ, 256, ADSM_CONST(struct ksample, samples), ADSM_VAL(int, n), ADSM_IN(float, x),
		ADSM_IN(float, y), ADSM_IN(float, z), ADSM_INOUT(float, Qr), ADSM_INOUT(float, Qi))
{
	ADSM_THREADS {
		int v = ADSM_GLOBAL_X;
		float vx = x[v], vy = y[v], vz = z[v];
		float sum_r = 0, sum_i = 0;

		for (int k = 0; k < n; k++) {
			float angle = TWO_PI * (samples[k].kx * vx + samples[k].ky * vy + samples[k].kz * vz);

			sum_r += samples[k].m * adsm_cosf(angle);
			sum_i += samples[k].m * adsm_sinf(angle);
		}
		Qr[v] += sum_r;
		Qi[v] += sum_i;
	}
}
