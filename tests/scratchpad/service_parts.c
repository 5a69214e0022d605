/* SPDX-License-Identifier: MIT */
/* A kernel with more code than a core has room for, whose partitions ask. */
#include <adsm_kernel.h>

#include "overlays.h"

ADSM_PARTITION(1) long ask(long n)
{
	const int in = (int)n;
	int out = -1;

	LARGE(n)
	return ADSM_SERVICE("square", &in, sizeof(in), &out, sizeof(out)) == sizeof(out) ? out : -n;
}

ADSM_PARTITION(2) long tell(long n)
{
	long ADSM_SPACE_GLOBAL *p = ADSM_ALLOC(sizeof(*p));

	LARGE(n)
	if (!p || ADSM_PRINT("%s %ld\n", "partition 2 says", n) <= 0)
		return -1;
	*p = n;
	n = *p;
	ADSM_FREE(p);
	return n;
}

ADSM_PARTITION(3) long root(long n)
{
	long i = 0;

	LARGE(n)
	while (i * i < n)
		i++;
	return i * i == n ? i : -1;
}

ADSM_KERNEL(parts, ADSM_INOUT(int, a), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		for (long i; (i = ADSM_NEXT(0, 1)) < n;)
			a[i] = (int)ask(tell(root(i * i)));
	}
}
