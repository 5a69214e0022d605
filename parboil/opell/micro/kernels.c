/* SPDX-License-Identifier: MIT */
/*
 * kernels.c - the micro-benchmarks of the paper on OPELL (Table 2): functions in partitions that call each other. The
 * paper has no number 4. Each function computes what MIX is, so a program's result shows each call that it made.
 */
#include <adsm_kernel.h>

#include "micro.h"

typedef unsigned long word;

/* A function that calls none, and one that calls the next in its chain between two steps of its own. */
#define LEAF(name, k) \
	ADSM_PARTITION(k) ADSM_FUNCTION word name(word x) { return MIX(x, k); }
#define LINK(name, k, next) \
	ADSM_PARTITION(k) ADSM_FUNCTION word name(word x) { return MIX(next(MIX(x, k)), k); }
/* The same, with the number of rounds of the last function. */
#define LINK_N(name, k, next) \
	ADSM_PARTITION(k) ADSM_FUNCTION word name(word x, int n) { return MIX(next(MIX(x, k), n), k); }
/* The last function of a chain, which calls others, again and again. */
#define REUSE(name, k, calls) \
	ADSM_PARTITION(k) ADSM_FUNCTION word name(word x, int n) \
	{ \
		for (int i = 0; i < n; i++) \
			x = calls; \
		return MIX(x, k); \
	}

/* 1: one level of calls. */
LEAF(one_1, 1)
LEAF(one_2, 2)
LEAF(one_3, 3)
LEAF(one_4, 4)
LEAF(one_5, 5)

ADSM_KERNEL(mb1, ADSM_INOUT(unsigned long, value), ADSM_VAL(int, n_functions), ADSM_VAL(int, rounds))
{
	ADSM_THREADS {
		word x = value[0];

		for (int i = 0; i < rounds; i++)
			for (int k = 0; k < n_functions; k++)
				x = k == 0 ? one_1(x) : k == 1 ? one_2(x) : k == 2 ? one_3(x) : k == 3 ? one_4(x) :
					one_5(x);
		value[0] = x;
	}
}

/* 2: a chain. */
LEAF(two_4, 4)
LINK(two_3, 3, two_4)
LINK(two_2, 2, two_3)
LINK(two_1, 1, two_2)

ADSM_KERNEL(mb2, ADSM_INOUT(unsigned long, value), ADSM_VAL(int, rounds))
{
	ADSM_THREADS {
		for (int i = 0; i < rounds; i++)
			value[0] = two_1(value[0]);
	}
}

/* 3: arguments in all registers, and on the stack. The caller's partition may be gone when they are used. */
ADSM_PARTITION(2) ADSM_FUNCTION word three_2(word a, word b, word c, word d, word e, word f, float p, float q, float r,
					     float s, float t, float u, float v, float w, word g, word h, word i,
					     word j)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j +
		(word)(11 * p + 12 * q + 13 * r + 14 * s + 15 * t + 16 * u + 17 * v + 18 * w);
}

ADSM_PARTITION(1) ADSM_FUNCTION word three_1(word x)
{
	const float y = (float)(x & 0xff);

	return MIX(three_2(x, x + 1, x + 2, x + 3, x + 4, x + 5, y, y + 1, y + 2, y + 3, y + 4, y + 5, y + 6, y + 7,
			   x + 6, x + 7, x + 8, x + 9), 1);
}

ADSM_KERNEL(mb3, ADSM_INOUT(unsigned long, value), ADSM_VAL(int, rounds))
{
	ADSM_THREADS {
		for (int i = 0; i < rounds; i++)
			value[0] = three_1(value[0]);
	}
}

/* 5: a longer chain. */
LEAF(five_6, 6)
LINK(five_5, 5, five_6)
LINK(five_4, 4, five_5)
LINK(five_3, 3, five_4)
LINK(five_2, 2, five_3)
LINK(five_1, 1, five_2)

ADSM_KERNEL(mb5, ADSM_INOUT(unsigned long, value), ADSM_VAL(int, rounds))
{
	ADSM_THREADS {
		for (int i = 0; i < rounds; i++)
			value[0] = five_1(value[0]);
	}
}

/* 6: a longer chain, whose end uses partitions of its beginning. */
LEAF(six_a, 2)
LEAF(six_b, 3)
REUSE(six_8, 8, six_b(six_a(x)))
LINK_N(six_7, 7, six_8)
LINK_N(six_6, 6, six_7)
LINK_N(six_5, 5, six_6)
LINK_N(six_4, 4, six_5)
LINK_N(six_3, 3, six_4)
LINK_N(six_2, 2, six_3)
LINK_N(six_1, 1, six_2)

ADSM_KERNEL(mb6, ADSM_INOUT(unsigned long, value), ADSM_VAL(int, rounds), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		for (int i = 0; i < rounds; i++)
			value[0] = six_1(value[0], n);
	}
}

/* 7: a chain within a loop within a chain: what one call returns is what the next one gets. */
LEAF(seven_4, 4)
LINK(seven_3, 3, seven_4)
REUSE(seven_2, 2, seven_3(x))
LINK_N(seven_1, 1, seven_2)

ADSM_KERNEL(mb7, ADSM_INOUT(unsigned long, value), ADSM_VAL(int, rounds), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		for (int i = 0; i < rounds; i++)
			value[0] = seven_1(value[0], n);
	}
}

/* 8: the end of a chain uses partitions to which the chain returns, so those that it evicts are worth keeping. */
LEAF(eight_a, 1)
LEAF(eight_b, 2)
REUSE(eight_4, 4, eight_b(eight_a(x)))
LINK_N(eight_3, 3, eight_4)
LINK_N(eight_2, 2, eight_3)
LINK_N(eight_1, 1, eight_2)

ADSM_KERNEL(mb8, ADSM_INOUT(unsigned long, value), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		value[0] = eight_1(value[0], n);
	}
}
