/* SPDX-License-Identifier: MIT */
/* adsm_round_odd.h - a double as a float that may be rounded again, for cuda_fp16.h and cuda_bf16.h. */
#ifndef ADSM_CUDA_ROUND_ODD_H
#define ADSM_CUDA_ROUND_ODD_H

#include "cuda_runtime.h"

namespace adsm_cuda {

/*
 * Rounded to odd, so that a rounding to fewer bits is right after it. @rest: the number is x + rest, where x is this
 * sum rounded to a double. A NaN counts as 0.
 */
ADSM_CUDA_BOTH float round_to_odd(double x, double rest = 0)
{
	const float nearest = (float)x;
	const bool same = (double)nearest == x, has_rest = rest < 0 || rest > 0;
	unsigned int bits = __builtin_bit_cast(unsigned int, nearest);

	if ((same && !has_rest) || nearest - nearest != 0)
		return nearest;
	if (same ? (rest < 0) != (x < 0) : __builtin_fabs((double)nearest) > __builtin_fabs(x))
		bits--;
	return __builtin_bit_cast(float, bits | 1);
}

/* What the rounded sum of two numbers lacks, exactly. A NaN if the sum is not finite. */
ADSM_CUDA_BOTH double rest_of_sum(double x, double y)
{
	const double sum = x + y, part = sum - x;

	return (x - (sum - part)) + (y - part);
}

}

#endif
