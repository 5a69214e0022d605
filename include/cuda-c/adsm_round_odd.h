/* SPDX-License-Identifier: MIT */
/* adsm_round_odd.h - a double as a float that may be rounded again, for cuda_fp16.h and cuda_bf16.h. */
#ifndef ADSM_CUDA_ROUND_ODD_H
#define ADSM_CUDA_ROUND_ODD_H

#include "cuda_runtime.h"

namespace adsm_cuda {

/* Rounded to odd, so that a rounding to fewer bits is right after it. */
ADSM_CUDA_BOTH float round_to_odd(double x)
{
	const float nearest = (float)x;
	unsigned int bits = __builtin_bit_cast(unsigned int, nearest);

	if ((double)nearest == x || nearest - nearest != 0)
		return nearest;
	if (__builtin_fabs((double)nearest) > __builtin_fabs(x))
		bits--;
	return __builtin_bit_cast(float, bits | 1);
}

}

#endif
