/* SPDX-License-Identifier: MIT */
/* overlays.c - code in partitions for the benchmark scratchpad: two that call, and four of some sizes. */
#include <adsm_kernel.h>

#define EXPORT __attribute__((visibility("default")))

ADSM_PARTITION(2) long far(long x)
{
	return x + 1;
}

ADSM_PARTITION(1) long near(long x)
{
	return x + 1;
}

EXPORT ADSM_PARTITION(1) long call_far(long n)
{
	long x = 0;

	for (long i = 0; i < n; i++)
		x = far(x);
	return x;
}

EXPORT ADSM_PARTITION(1) long call_near(long n)
{
	long x = 0;

	for (long i = 0; i < n; i++)
		x = near(x);
	return x;
}

#define SIZE(kib, n) \
	EXPORT ADSM_PARTITION(n) void size_##kib(void) \
	{ __asm__ volatile(".skip " #kib " * 1024 - 64"); }
SIZE(1, 3)
SIZE(4, 4)
SIZE(16, 5)
SIZE(64, 6)
