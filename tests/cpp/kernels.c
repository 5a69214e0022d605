/* SPDX-License-Identifier: MIT */
/* kernels.c - kernels for the C++ interface: one for each kind of parameter. */
#include <adsm_kernel.h>

struct pair {
	float x, y;
};

ADSM_KERNEL_MAX(scale, 256, ADSM_IN(float, in), ADSM_OUT(float, out), ADSM_VAL(float, factor), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		int i = ADSM_GLOBAL_X;

		if (i < n)
			out[i] = in[i] * factor;
	}
}

ADSM_KERNEL(mix, ADSM_PTR(int, p), ADSM_CONST(int, table), ADSM_VAL(struct pair, pair), ADSM_INOUT(struct pair, pairs),
	    ADSM_VAL(int, n))
{
	ADSM_THREADS {
		int i = ADSM_GLOBAL_X;

		if (i < n) {
			p[i] = table[i % 4] + 1;
			pairs[i].x += pair.x;
			pairs[i].y -= pair.y;
		}
	}
}

/* Each element of links is the device address of an int. */
ADSM_KERNEL(follow, ADSM_IN(unsigned long, links), ADSM_OUT(int, out), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		int i = ADSM_GLOBAL_X;

		if (i < n)
			out[i] = *(const ADSM_SPACE_GLOBAL int *)links[i];
	}
}

/* A name that C++ does not permit. */
ADSM_KERNEL(class, ADSM_INOUT(unsigned char, bytes))
{
	ADSM_THREADS {
		bytes[ADSM_GLOBAL_X]++;
	}
}

ADSM_KERNEL(nothing)
{
}

#ifdef ADSM_TASKS
ADSM_TASK(count, ADSM_INOUT(int, total), ADSM_VAL(long, by))
{
	ADSM_LOCK(0);
	ADSM_WRITE(total, ADSM_READ(total) + (int)by);
	ADSM_UNLOCK(0);
}
#endif
