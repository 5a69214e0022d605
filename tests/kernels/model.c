/* SPDX-License-Identifier: MIT */
/* The kernels of the model checker. All count in bytes, and may be late: each block spins before it reads. */
#include <adsm_kernel.h>

struct model_ref {
	ADSM_SPACE_GLOBAL unsigned char *data;
};

/* Takes a time no compiler can guess away; returns 0. */
ADSM_FUNCTION unsigned char spin(unsigned long spins)
{
	unsigned long x = spins;

	for (unsigned long i = 0; i < spins; i++)
		x = x * 6364136223846793005ul + 1442695040888963407ul;
	return x == 42;
}

#define LATE \
	ADSM_SHARED(unsigned char, zero, 1); \
	ADSM_THREADS { \
		if (ADSM_THREAD_X == 0) \
			zero[0] = spin(spins); \
	} \
	ADSM_BARRIER;

#define ADD \
	LATE \
	ADSM_THREADS { \
		if ((unsigned)ADSM_GLOBAL_X < n) \
			a[ADSM_GLOBAL_X] += (unsigned char)(value + zero[0]); \
	}

#define COPY \
	LATE \
	ADSM_THREADS { \
		if ((unsigned)ADSM_GLOBAL_X < n) \
			to[ADSM_GLOBAL_X] = from[ADSM_GLOBAL_X] + zero[0]; \
	}

ADSM_KERNEL(model_add, ADSM_VAL(unsigned long, spins), ADSM_VAL(unsigned, n), ADSM_INOUT(unsigned char, a),
	    ADSM_VAL(unsigned, value))
{
	ADD
}

ADSM_KERNEL(model_add_any, ADSM_VAL(unsigned long, spins), ADSM_VAL(unsigned, n), ADSM_PTR(unsigned char, a),
	    ADSM_VAL(unsigned, value))
{
	ADD
}

ADSM_KERNEL(model_copy, ADSM_VAL(unsigned long, spins), ADSM_VAL(unsigned, n), ADSM_IN(unsigned char, from),
	    ADSM_OUT(unsigned char, to))
{
	COPY
}

ADSM_KERNEL(model_copy_any, ADSM_VAL(unsigned long, spins), ADSM_VAL(unsigned, n), ADSM_PTR(unsigned char, from),
	    ADSM_PTR(unsigned char, to))
{
	COPY
}

ADSM_KERNEL(model_mix, ADSM_VAL(unsigned long, spins), ADSM_VAL(unsigned, n), ADSM_IN(unsigned char, a),
	    ADSM_IN(unsigned char, b), ADSM_INOUT(unsigned char, c))
{
	LATE
	ADSM_THREADS {
		if ((unsigned)ADSM_GLOBAL_X < n)
			c[ADSM_GLOBAL_X] = (unsigned char)(c[ADSM_GLOBAL_X] * 3 +
							   (a[ADSM_GLOBAL_X] ^ b[ADSM_GLOBAL_X]) + zero[0]);
	}
}

ADSM_KERNEL(model_const, ADSM_VAL(unsigned long, spins), ADSM_VAL(unsigned, n), ADSM_OUT(unsigned char, to),
	    ADSM_CONST(unsigned char, table))
{
	LATE
	ADSM_THREADS {
		if ((unsigned)ADSM_GLOBAL_X < n)
			to[ADSM_GLOBAL_X] = table[ADSM_GLOBAL_X] + zero[0];
	}
}

/* What it changes it finds through a pointer in data. */
ADSM_KERNEL(model_through, ADSM_VAL(unsigned long, spins), ADSM_VAL(unsigned, n), ADSM_IN(struct model_ref, ref),
	    ADSM_VAL(unsigned, value))
{
	LATE
	ADSM_THREADS {
		if ((unsigned)ADSM_GLOBAL_X < n)
			ref->data[ADSM_GLOBAL_X] += (unsigned char)(value + zero[0]);
	}
}
