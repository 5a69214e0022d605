/* SPDX-License-Identifier: MIT */
/* shapes.c - all the dialect has: three dimensions, each kind of parameter, block memory, atomics, tables. */
#include <adsm_kernel.h>

struct scale {
	float factor;
	char add;
};

ADSM_TABLE(int, weights, 4) = { 1, 10, 100, 1000 };

ADSM_FUNCTION int weigh(int i)
{
	return weights[i & 3];
}

/* Block memory is read by another thread than wrote it: the block is reversed. */
ADSM_KERNEL_MAX(shapes, 128, ADSM_IN(int, in), ADSM_OUT(int, out), ADSM_INOUT(int, total), ADSM_PTR(int, bits),
		ADSM_VAL(struct scale, scale), ADSM_VAL(short, bias), ADSM_CONST(int, table))
{
	ADSM_SHARED(int, s, 128);
	ADSM_PRIVATE(int, mine);
	int n = ADSM_BLOCK_DIM_X * ADSM_BLOCK_DIM_Y * ADSM_BLOCK_DIM_Z;

	ADSM_THREADS {
		int width = ADSM_GRID_DIM_X * ADSM_BLOCK_DIM_X, height = ADSM_GRID_DIM_Y * ADSM_BLOCK_DIM_Y;
		int i = (ADSM_GLOBAL_Z * height + ADSM_GLOBAL_Y) * width + ADSM_GLOBAL_X;

		ADSM_MY(mine) = i;
		s[ADSM_THREAD] = in[i] + weigh(ADSM_THREAD_Z) + table[ADSM_BLOCK_X];
	}
	ADSM_BARRIER;
	ADSM_THREADS {
		int value = s[n - 1 - ADSM_THREAD];

		ADSM_ATOMIC_ADD(total, value);
		ADSM_ATOMIC_MAX(total + 1, value);
		ADSM_ATOMIC_MIN(total + 2, value);
		if (!bits)
			continue;
		ADSM_ATOMIC_OR(bits, 1 << (ADSM_THREAD & 7));
		if (ADSM_ATOMIC_CAS(bits + 1, 0, value) == 0)
			ADSM_ATOMIC_EXCHANGE(bits + 2, 1);
	}
	ADSM_BARRIER;
	ADSM_THREADS {
		float value = scale.factor * (float)s[n - 1 - ADSM_THREAD] + (float)scale.add;

		for (int i = 0; ; i++) {
			if (i == 2)
				break;
			value += (float)bias;
		}
		out[ADSM_MY(mine)] = (int)adsm_sqrtf(value * value);
	}
}

ADSM_KERNEL(nothing)
{
}
