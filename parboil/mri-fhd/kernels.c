/* SPDX-License-Identifier: MIT */
/* kernels.c - mri-fhd: F^H d of non-Cartesian magnetic resonance imaging, one tile of samples a call. */
#include <adsm_kernel.h>

#define TWO_PI 6.2831853071795864769f

struct ksample {
	float kx, ky, kz, rR, rI;
};

ADSM_KERNEL_MAX(RhoPhi, 512, ADSM_IN(float, phiR), ADSM_IN(float, phiI), ADSM_IN(float, dR), ADSM_IN(float, dI),
		ADSM_OUT(float, rR), ADSM_OUT(float, rI), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		int k = ADSM_GLOBAL_X;

		if (k >= n)
			continue;
		rR[k] = phiR[k] * dR[k] + phiI[k] * dI[k];
		rI[k] = phiR[k] * dI[k] - phiI[k] * dR[k];
	}
}

/* The grid covers the voxels exactly: there is no bounds test. */
ADSM_KERNEL_MAX(FH, 256, ADSM_CONST(struct ksample, samples), ADSM_VAL(int, n), ADSM_IN(float, x),
		ADSM_IN(float, y), ADSM_IN(float, z), ADSM_INOUT(float, outR), ADSM_INOUT(float, outI))
{
	ADSM_THREADS {
		int v = ADSM_GLOBAL_X;
		float vx = x[v], vy = y[v], vz = z[v];
		float sum_r = 0, sum_i = 0;

		for (int k = 0; k < n; k++) {
			float angle = TWO_PI * (samples[k].kx * vx + samples[k].ky * vy + samples[k].kz * vz);
			float c = adsm_cosf(angle), s = adsm_sinf(angle);

			sum_r += samples[k].rR * c - samples[k].rI * s;
			sum_i += samples[k].rI * c + samples[k].rR * s;
		}
		outR[v] += sum_r;
		outI[v] += sum_i;
	}
}
