/* SPDX-License-Identifier: MIT */
/* globals.c - a kernel and a variable of its module, which only native code has: in whole pages, which can be moved. */
#include <adsm_kernel.h>

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
__attribute__((visibility("default"), aligned(4096))) unsigned weights[1024] = { 3 };

ADSM_KERNEL(weigh, ADSM_INOUT(unsigned, p), ADSM_VAL(unsigned, n))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X < n)
			p[ADSM_GLOBAL_X] *= weights[ADSM_GLOBAL_X % 1024];
	}
}
#endif
