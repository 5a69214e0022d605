/* SPDX-License-Identifier: MIT */
/* overlays.c - code in partitions, compiled by adsmcc --image. 1 to 8: the calls of traces.h. From 9 on: what a call
 * between partitions must not change. */
#include <adsm_kernel.h>
#include "overlays.h"

#define EXPORT __attribute__((visibility("default")))

/* ---- the traces */

EXPORT unsigned long walk_0(const struct trace_node *node, unsigned long value);
EXPORT unsigned long walk_1(const struct trace_node *node, unsigned long value);
EXPORT unsigned long walk_2(const struct trace_node *node, unsigned long value);
EXPORT unsigned long walk_3(const struct trace_node *node, unsigned long value);
EXPORT unsigned long walk_4(const struct trace_node *node, unsigned long value);
EXPORT unsigned long walk_5(const struct trace_node *node, unsigned long value);
EXPORT unsigned long walk_6(const struct trace_node *node, unsigned long value);
EXPORT unsigned long walk_7(const struct trace_node *node, unsigned long value);

/* Plain calls, one after the other in the text: each partition has stubs for all others. */
static inline __attribute__((always_inline))
unsigned long walk(const struct trace_node *node, unsigned long value, unsigned self)
{
	value = trace_mix(value, self + 1);
	for (unsigned i = 0; i < node->times; i++) {
		for (unsigned j = 0; j < node->n; j++) {
			const struct trace_node *next = node->calls[j];
			unsigned long got = 0;

			if (next->who == 0)
				got = walk_0(next, value);
			else if (next->who == 1)
				got = walk_1(next, value);
			else if (next->who == 2)
				got = walk_2(next, value);
			else if (next->who == 3)
				got = walk_3(next, value);
			else if (next->who == 4)
				got = walk_4(next, value);
			else if (next->who == 5)
				got = walk_5(next, value);
			else if (next->who == 6)
				got = walk_6(next, value);
			else
				got = walk_7(next, value);
			value = trace_mix(value, got);
		}
	}
	return value;
}

#define WALK(k, partition) \
	ADSM_PARTITION(partition) unsigned long walk_##k(const struct trace_node *node, unsigned long value) \
	{ return walk(node, value, k); }
WALK(0, 1)
WALK(1, 2)
WALK(2, 3)
WALK(3, 4)
WALK(4, 5)
WALK(5, 6)
WALK(6, 7)
WALK(7, 8)

/* ---- arguments in all registers and on the stack, results of all kinds */

#define WORDS(m) m(0) m(1) m(2) m(3) m(4) m(5) m(6) m(7) m(8) m(9) m(10) m(11) m(12) m(13) m(14) m(15) m(16) m(17) \
	m(18) m(19) m(20) m(21) m(22) m(23)
#define WORD(i) , long s##i
#define ADD(i) sum = sum * 31 + (unsigned long)s##i;
#define PASS(i) , n * (i) + 5

/* A leaf that was called from partition 9, whose code may be gone meanwhile. */
ADSM_PARTITION(10) long deep(long a, long b, long c, long d, long e, long f, double p, double q, double r, double s,
			     double t, double u, double v, double w WORDS(WORD))
{
	unsigned long sum = (unsigned long)(a + 2 * b + 3 * c + 5 * d + 7 * e + 11 * f);

	sum = sum * 31 + (unsigned long)(p + 2 * q + 3 * r + 5 * s + 7 * t + 11 * u + 13 * v + 17 * w);
	WORDS(ADD)
	return (long)sum;
}

EXPORT ADSM_PARTITION(9) long arguments(long n)
{
	const double x = (double)n;
	unsigned long sum = 0;

	for (int i = 0; i < 10; i++)
		sum += (unsigned long)deep(n, n + 1, n + 2, n + 3, n + 4, n + 5, x * 0.5, x + 1, x + 2, x + 3, x + 4,
					   x + 5, x + 6, x + 7 WORDS(PASS));
	return (long)sum;
}

ADSM_PARTITION(10) struct pair give_pair(double x)
{
	return (struct pair) { x + 0.25, x * 3 };
}

ADSM_PARTITION(10) __int128 give_wide(long x)
{
	return (__int128)x << 64 | (unsigned long)~x;
}

ADSM_PARTITION(10) struct large give_large(long x)
{
	struct large large;

	for (int i = 0; i < 9; i++)
		large.word[i] = x + i;
	return large;
}

ADSM_PARTITION(10) widest give_widest(widest x)
{
	return x / 8;
}

ADSM_PARTITION(10) long give_sum(int n, ...)
{
	__builtin_va_list list;
	long sum = 0;

	__builtin_va_start(list, n);
	for (int i = 0; i < n; i++)
		sum = sum * 3 + (i % 2 ? (long)__builtin_va_arg(list, double) : __builtin_va_arg(list, long));
	__builtin_va_end(list);
	return sum;
}

EXPORT ADSM_PARTITION(9) int results(double x)
{
	const struct pair pair = give_pair(x);
	const __int128 wide = give_wide((long)x);
	const struct large large = give_large((long)x);
	const widest wide_float = give_widest((widest)x);
	const long sum = give_sum(12, 1L, 2.0, 3L, 4.0, 5L, 6.0, 7L, 8.0, 9L, 10.0, 11L, x);
	long expected = 0;

	for (long i = 1; i < 12; i++)
		expected = expected * 3 + i;
	expected = expected * 3 + (long)x;
	if (pair.one != x + 0.25 || pair.other != x * 3)
		return 1;
	if ((long)(wide >> 64) != (long)x || (long)wide != ~(long)x)
		return 2;
	for (int i = 0; i < 9; i++)
		if (large.word[i] != (long)x + i)
			return 3;
	return wide_float != (widest)x / 8 ? 4 : sum != expected ? 5 : 0;
}

/* ---- recursion: each call is one into another partition */

long odd(long n);

EXPORT ADSM_PARTITION(11) long even(long n)
{
	/* Something of this call's own, on the stack and in registers, that has to be there after it. */
	volatile long own = n * 7;

	return n ? odd(n - 1) + own : 0;
}

ADSM_PARTITION(12) long odd(long n)
{
	volatile long own = n * 5;

	return n ? even(n - 1) + own : 0;
}

EXPORT ADSM_PARTITION(11) long endless(long n)
{
	return odd(n) + endless(n + 1);
}

/* ---- addresses: of functions, of one's own, of constants */

static const int table[5] = { 3, 1, 4, 1, 5 };

ADSM_PARTITION(13) static long twice(long x)
{
	return 2 * x;
}

/* What it has of itself is what others have of it. */
ADSM_PARTITION(13) long own_address(long which)
{
	return which ? (long)&own_address : (long)&twice;
}

ADSM_PARTITION(14) static long thrice(long x)
{
	return 3 * x;
}

ADSM_PARTITION(13) void fill(struct observed *observed, int which)
{
	observed->text = which ? "of partition 13" : "and no other";
	observed->table = table;
	observed->function = which ? twice : thrice;
}

ADSM_PARTITION(14) int check(const struct observed *observed, int which)
{
	const char *expected = which ? "of partition 13" : "and no other";

	for (int i = 0; i < 5; i++)
		if (observed->table[i] != table[i])
			return 10 + i;
	for (int i = 0; expected[i]; i++)
		if (observed->text[i] != expected[i])
			return 20;
	return observed->function(14) != (which ? 28 : 42) ? 30 : observed->table != table ? 31 : 0;
}

EXPORT ADSM_PARTITION(15) int addresses(void)
{
	for (int i = 0; i < 6; i++) {
		struct observed observed;

		fill(&observed, i & 1);
		if (check(&observed, i & 1))
			return check(&observed, i & 1);
		if (own_address(1) != (long)&own_address)
			return 40;
		if (i & 1 && own_address(0) != (long)observed.function)
			return 41;
	}
	return 0;
}

/* The first instruction of a partition loads a constant: on x86-64 only two bytes may be before its distance. */
EXPORT ADSM_PARTITION(17) widest third(void)
{
	return (widest)1 / 3;
}

EXPORT ADSM_PARTITION(18) int always(void)
{
	static const int number = 51;

	return *(const volatile int *)&number;
}

/* ---- what is not in the image, and what is in no partition */

extern long host_call(long (*function)(long), long x);
extern long host_word;

/* Resident: called from a partition, calls others, returns by itself. */
__attribute__((noinline)) long stays(long x)
{
	return twice(x) + thrice(x) + even(4) + table[x & 3];
}

EXPORT ADSM_PARTITION(15) long outside(long x)
{
	long sum = host_call(thrice, x);

	host_word += 3;
	sum += stays(x);
	return sum + host_call(twice, host_word);
}

EXPORT ADSM_PARTITION(16) int crash(int *p)
{
	return *p;
}
