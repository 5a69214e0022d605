/* SPDX-License-Identifier: MIT */
/* scan.c - many phases: an inclusive prefix sum of each block of up to 256 values. */
#include <adsm_kernel.h>

ADSM_KERNEL_MAX(scan, 256, ADSM_IN(int, in), ADSM_OUT(int, out))
{
	ADSM_SHARED(int, s, 256);
	ADSM_PRIVATE(int, v);

	ADSM_THREADS {
		s[ADSM_THREAD_X] = in[ADSM_GLOBAL_X];
	}
	ADSM_BARRIER;
	for (int d = 1; d < ADSM_BLOCK_DIM_X; d *= 2) {
		ADSM_THREADS {
			ADSM_MY(v) = ADSM_THREAD_X >= d ? s[ADSM_THREAD_X - d] : 0;
		}
		ADSM_BARRIER;
		ADSM_THREADS {
			s[ADSM_THREAD_X] += ADSM_MY(v);
		}
		ADSM_BARRIER;
	}
	ADSM_THREADS {
		out[ADSM_GLOBAL_X] = s[ADSM_THREAD_X];
	}
}
