/* SPDX-License-Identifier: MIT */
/* kernels.c - rpes: two-electron repulsion integrals of s shells, cut into blocks of 64 combinations of primitives. */
#include <adsm_kernel.h>

#define LANES 64
#define CUTOFF 3.16227766e-12f		/* the square root of 1e-23 */
#define SCALE 34.98683666f		/* 2 pi^(5/2) */
#define HALF_ROOT_PI 0.886226925f

struct atom {
	float x, y, z, unused;
};

struct primitive {
	float exponent, coefficient;
};

struct block_work {
	unsigned counts;		/* of primitives, for each of four shells: 4 bits each */
	unsigned atoms, offsets;	/* of them in the tables: 8 bits each */
	unsigned first;			/* block of this quartet */
};

struct final_reduce {
	unsigned first, n;		/* blocks */
};

/* The integral of exp(-x t^2) for t from 0 to 1. */
ADSM_FUNCTION float f0(float x)
{
	float root = adsm_sqrtf(x);

	return x < 1e-6f ? 1 - x / 3 : HALF_ROOT_PI * adsm_erff(root) / root;
}

ADSM_FUNCTION float distance2(float x, float y, float z)
{
	return x * x + y * y + z * z;
}

/* Of four primitives. */
ADSM_FUNCTION float integral(struct atom r1, struct atom r2, struct atom r3, struct atom r4, struct primitive p1,
			     struct primitive p2, struct primitive p3, struct primitive p4)
{
	float p = p1.exponent + p2.exponent, q = p3.exponent + p4.exponent, one_p = 1 / p, one_q = 1 / q;
	float exponent = p1.exponent * p2.exponent * one_p * distance2(r1.x - r2.x, r1.y - r2.y, r1.z - r2.z) +
			 p3.exponent * p4.exponent * one_q * distance2(r3.x - r4.x, r3.y - r4.y, r3.z - r4.z);
	float pre, x, y, z;

	/* Beyond this, expf() is no normal number any more, and CPUs are slow with those. */
	if (exponent > 87)
		return 0;
	pre = p1.coefficient * p2.coefficient * p3.coefficient * p4.coefficient * adsm_expf(-exponent) *
	      one_p * one_q / adsm_sqrtf(p + q);
	if (adsm_fabsf(pre) <= CUTOFF)
		return 0;
	/* Each pair of Gaussians is one Gaussian between them; from the centre of one to that of the other. */
	x = (p1.exponent * r1.x + p2.exponent * r2.x) * one_p - (p3.exponent * r3.x + p4.exponent * r4.x) * one_q;
	y = (p1.exponent * r1.y + p2.exponent * r2.y) * one_p - (p3.exponent * r3.y + p4.exponent * r4.y) * one_q;
	z = (p1.exponent * r1.z + p2.exponent * r2.z) * one_p - (p3.exponent * r3.z + p4.exponent * r4.z) * one_q;
	return SCALE * pre * f0(distance2(x, y, z) * (p * q / (p + q)));
}

/* One combination for each thread, one sum for each block. */
ADSM_KERNEL_MAX(Integrals, LANES, ADSM_CONST(struct atom, atoms), ADSM_CONST(struct primitive, primitives),
		ADSM_IN(struct block_work, block_work), ADSM_VAL(int, first_block), ADSM_INOUT(float, output))
{
	ADSM_SHARED(float, sum, LANES);
	int block = first_block + ADSM_BLOCK_X;

	ADSM_THREADS {
		struct block_work w = block_work[block];
		/* Which combination, and with it which primitive of each shell. */
		int n0 = w.counts & 15, n1 = w.counts >> 4 & 15, n2 = w.counts >> 8 & 15, n3 = w.counts >> 12;
		int id = (block - (int)w.first) * LANES + ADSM_THREAD_X;
		int i0, i1, i2, i3;

		sum[ADSM_THREAD_X] = 0;
		if (id >= n0 * n1 * n2 * n3)
			continue;
		i3 = id % n3;
		id /= n3;
		i2 = id % n2;
		id /= n2;
		i1 = id % n1;
		i0 = id / n1;
		sum[ADSM_THREAD_X] = integral(
			atoms[w.atoms & 255], atoms[w.atoms >> 8 & 255], atoms[w.atoms >> 16 & 255],
			atoms[w.atoms >> 24], primitives[(w.offsets & 255) + i0],
			primitives[(w.offsets >> 8 & 255) + i1], primitives[(w.offsets >> 16 & 255) + i2],
			primitives[(w.offsets >> 24) + i3]);
	}
	ADSM_BARRIER;
	for (int n = LANES / 2; n > 0; n /= 2) {
		ADSM_THREADS {
			if (ADSM_THREAD_X < n)
				sum[ADSM_THREAD_X] += sum[ADSM_THREAD_X + n];
		}
		ADSM_BARRIER;
	}
	ADSM_THREADS {
		if (ADSM_THREAD_X == 0)
			output[block] = sum[0];
	}
}

/* The sum of a quartet's blocks, one quartet for each block of threads. */
ADSM_KERNEL_MAX(Reduce, LANES, ADSM_IN(struct final_reduce, final_reduce), ADSM_IN(float, output),
		ADSM_VAL(int, first_quartet), ADSM_INOUT(float, reduction_sum))
{
	ADSM_SHARED(float, sum, LANES);
	int quartet = first_quartet + ADSM_BLOCK_X;

	ADSM_THREADS {
		struct final_reduce r = final_reduce[quartet];
		float mine = 0;

		for (unsigned b = ADSM_THREAD_X; b < r.n; b += LANES)
			mine += output[r.first + b];
		sum[ADSM_THREAD_X] = mine;
	}
	ADSM_BARRIER;
	for (int n = LANES / 2; n > 0; n /= 2) {
		ADSM_THREADS {
			if (ADSM_THREAD_X < n)
				sum[ADSM_THREAD_X] += sum[ADSM_THREAD_X + n];
		}
		ADSM_BARRIER;
	}
	ADSM_THREADS {
		if (ADSM_THREAD_X == 0)
			reduction_sum[quartet] = sum[0];
	}
}
