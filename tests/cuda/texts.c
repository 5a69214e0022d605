/* SPDX-License-Identifier: MIT */
/* The kernels of modules.c, which takes their text for a device's language. SCALE comes from the options. */
#include <adsm_kernel.h>

struct pair {
	unsigned first, second;
};

ADSM_KERNEL(scale, ADSM_IN(unsigned, in), ADSM_OUT(unsigned, out), ADSM_VAL(unsigned, n))
{
	ADSM_THREADS {
		unsigned i = ADSM_GLOBAL_X;

		if (i < n)
			out[i] = SCALE * in[i];
	}
}

ADSM_KERNEL(kinds, ADSM_IN(unsigned, in), ADSM_OUT(unsigned, out), ADSM_VAL(struct pair, pair),
	    ADSM_CONST(unsigned, first), ADSM_CONST(unsigned, second), ADSM_VAL(unsigned char, n))
{
	ADSM_THREADS {
		unsigned i = ADSM_GLOBAL_X;

		out[i] = pair.first * in[i] + pair.second + first[i % 4] + second[i % 8] + n;
	}
}

/* All of a constant. */
ADSM_KERNEL(sum, ADSM_OUT(unsigned, out), ADSM_CONST(unsigned, table), ADSM_VAL(unsigned, n), ADSM_VAL(unsigned, at))
{
	ADSM_THREADS {
		unsigned sum = 0;

		if (ADSM_GLOBAL_X)
			continue;
		for (unsigned i = 0; i < n; i++)
			sum = sum * 31 + table[i];
		out[at] = sum;
	}
}

ADSM_KERNEL_MAX(is_null, 64, ADSM_IN(unsigned, maybe), ADSM_OUT(unsigned, out))
{
	ADSM_THREADS {
		if (!ADSM_GLOBAL_X)
			out[0] = !maybe;
	}
}
