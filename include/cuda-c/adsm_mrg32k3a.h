/* SPDX-License-Identifier: MIT */
/*
 * adsm_mrg32k3a.h - L'Ecuyer's generator MRG32k3a (1999): two recurrences with three numbers each, modulo two primes.
 * Sequences are 2^76 numbers apart, as cuRAND's manual says. The manual does not say how a seed becomes six numbers.
 */
#ifndef ADSM_CUDA_MRG32K3A_H
#define ADSM_CUDA_MRG32K3A_H

#include "host_defines.h"

namespace adsm_cuda {

constexpr unsigned int mrg_first = 4294967087u, mrg_second = 4294944443u;	/* the primes */

struct mrg_matrix {
	unsigned int at[3][3];
};

ADSM_CUDA_DEVICE unsigned int mrg_product(unsigned int x, unsigned int y, unsigned int modulus)
{
	return (unsigned int)((unsigned long long)x * y % modulus);
}

ADSM_CUDA_DEVICE unsigned int mrg_sum(unsigned int x, unsigned int y, unsigned int modulus)
{
	return (unsigned int)(((unsigned long long)x + y) % modulus);
}

ADSM_CUDA_DEVICE void mrg_apply(const mrg_matrix &by, unsigned int (&state)[3], unsigned int modulus)
{
	unsigned int result[3] = { 0, 0, 0 };

	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
			result[i] = mrg_sum(result[i], mrg_product(by.at[i][k], state[k], modulus), modulus);
	for (int i = 0; i < 3; i++)
		state[i] = result[i];
}

/* The matrix to the power of @n, applied to the state. */
ADSM_CUDA_DEVICE void mrg_jump(mrg_matrix by, unsigned long long n, unsigned int (&state)[3], unsigned int modulus)
{
	for (; n; n /= 2) {
		mrg_matrix square;

		if (n & 1)
			mrg_apply(by, state, modulus);
		for (int j = 0; j < 3; j++) {
			unsigned int column[3] = { by.at[0][j], by.at[1][j], by.at[2][j] };

			mrg_apply(by, column, modulus);
			for (int i = 0; i < 3; i++)
				square.at[i][j] = column[i];
		}
		by = square;
	}
}

/* One step of the two recurrences, and 2^76 steps. */
ADSM_CUDA_DEVICE void mrg_jump_both(unsigned long long n, bool far, unsigned int (&first)[3], unsigned int (&second)[3])
{
	const mrg_matrix step[2] = {
		{ { { 0, 1, 0 }, { 0, 0, 1 }, { mrg_first - 810728, 1403580, 0 } } },
		{ { { 0, 1, 0 }, { 0, 0, 1 }, { mrg_second - 1370589, 0, 527612 } } },
	};
	const mrg_matrix sequence[2] = {
		{ { { 82758667u, 1871391091u, 4127413238u }, { 3672831523u, 69195019u, 1871391091u },
		    { 3672091415u, 3528743235u, 69195019u } } },
		{ { { 1511326704u, 3759209742u, 1610795712u }, { 4292754251u, 1511326704u, 3889917532u },
		    { 3859662829u, 4292754251u, 3708466080u } } },
	};

	mrg_jump(far ? sequence[0] : step[0], n, first, mrg_first);
	mrg_jump(far ? sequence[1] : step[1], n, second, mrg_second);
}

/* A step. The number is from 0 to the first prime less 1. */
ADSM_CUDA_DEVICE unsigned int mrg_next(unsigned int (&first)[3], unsigned int (&second)[3])
{
	const unsigned int p = mrg_sum(mrg_product(1403580, first[1], mrg_first),
				       mrg_product(mrg_first - 810728, first[0], mrg_first), mrg_first);
	const unsigned int q = mrg_sum(mrg_product(527612, second[2], mrg_second),
				       mrg_product(mrg_second - 1370589, second[0], mrg_second), mrg_second);

	first[0] = first[1];
	first[1] = first[2];
	first[2] = p;
	second[0] = second[1];
	second[1] = second[2];
	second[2] = q;
	return p >= q ? p - q : p - q + mrg_first;
}

}

#endif
