/* SPDX-License-Identifier: MIT */
/*
 * micro.c - the micro-benchmarks of the paper on OPELL. All but one only do linear steps, x to times * x + plus. So the
 * references call nothing: they put steps together, and repeat them by squaring.
 */
#include "../program.h"
#include "micro.h"

struct step { uint64_t times, plus; };

static struct step of(uint32_t k)
{
	return (struct step){ MIX_TIMES(k), MIX_PLUS(k) };
}

/* First @a, then @b. */
static struct step then(struct step a, struct step b)
{
	return (struct step){ b.times * a.times, b.times * a.plus + b.plus };
}

static struct step repeat(struct step a, long n)
{
	struct step all = { 1, 0 };

	for (; n; n /= 2, a = then(a, a))
		if (n % 2)
			all = then(all, a);
	return all;
}

/* The functions in partitions @first to @last, of which each does its step before and after the next. */
static struct step chain(uint32_t first, uint32_t last, struct step inner)
{
	for (uint32_t k = last; k >= first; k--)
		inner = then(then(of(k), inner), of(k));
	return inner;
}

/* Two functions, again and again, then a step of the function that called them. */
static struct step reuse(struct step inner, long n, uint32_t k)
{
	return then(repeat(inner, n), of(k));
}

/* What a program does to its number. */
static struct step whole_1(const long *v)
{
	struct step all = { 1, 0 };

	for (uint32_t k = 1; k <= v[0]; k++)
		all = then(all, of(k));
	return repeat(all, v[1]);
}

static struct step whole_2(const long *v)
{
	return repeat(chain(1, 3, of(4)), v[0]);
}

static struct step whole_5(const long *v)
{
	return repeat(chain(1, 5, of(6)), v[0]);
}

static struct step whole_6(const long *v)
{
	return repeat(chain(1, 7, reuse(then(of(2), of(3)), v[1], 8)), v[0]);
}

static struct step whole_7(const long *v)
{
	return repeat(chain(1, 1, reuse(chain(3, 3, of(4)), v[1], 2)), v[0]);
}

static struct step whole_8(const long *v)
{
	return chain(1, 3, reuse(then(of(1), of(2)), v[0], 4));
}

/* Arguments that are numbered: the sum of k * (x + i) is that of k, times x, and a number. */
static uint64_t arguments(uint64_t x, long rounds)
{
	for (; rounds; rounds--) {
		uint64_t sum = 0, low = 0;

		for (uint64_t i = 0; i < 10; i++)
			sum += (i + 1) * (x + i);
		for (uint64_t i = 0; i < 8; i++)
			low += (i + 11) * ((x & 0xff) + i);
		x = MIX(sum + low, 1);
	}
	return x;
}

#define FIRST UINT64_C(0x123456789abcdef)

static void run_micro(struct po_run *run, const char *kernel, struct step (*whole)(const long *v))
{
	unsigned long *value = ps_shared(sizeof(*value));
	const long *v = run->v;
	uint64_t start, want = 0;

	*value = FIRST;
	if (v[1])
		PO_CALL(run, kernel, 1, 1, adsmPtr(value), adsmVal((int)v[0]), adsmVal((int)v[1]));
	else
		PO_CALL(run, kernel, 1, 1, adsmPtr(value), adsmVal((int)v[0]));
	po_sync(run);
	start = ps_now_ns();
	if (run->verify && whole)
		want = whole(v).times * FIRST + whole(v).plus;
	else if (run->verify)
		want = arguments(FIRST, v[0]);
	run->reference_ns = ps_now_ns() - start;
	if (run->verify && *value != want)
		ps_wrong(run->wrong, "the result is %#lx, not %#lx", *value, (unsigned long)want);
	po_result(run, value, sizeof(*value));
	adsmFree(value);
}

#define MICRO(k, whole, what, units, ...) \
	static void run_##k(struct po_run *run) \
	{ \
		run_micro(run, "mb" #k, whole); \
	} \
	static const struct ps_size sizes_##k[] = { __VA_ARGS__, { 0 } }; \
	const struct po_program po_mb##k = { "mb" #k, what, units, sizes_##k, false, run_##k, "micro" };

MICRO(1, whole_1, "micro-benchmark 1: one level of calls", "functions, rounds",
      { "small", { 2, 100 } }, { "medium", { 5, 1000 } })
MICRO(2, whole_2, "micro-benchmark 2: a chain of four functions", "rounds",
      { "small", { 1 } }, { "medium", { 1000 } })
MICRO(3, NULL, "micro-benchmark 3: arguments in all registers", "rounds",
      { "small", { 10 } }, { "medium", { 1000 } })
MICRO(5, whole_5, "micro-benchmark 5: a chain of six functions", "rounds",
      { "small", { 10 } }, { "medium", { 1000 } })
MICRO(6, whole_6, "micro-benchmark 6: a chain of eight functions, and reuse", "rounds, rounds of the last",
      { "small", { 10, 10 } }, { "medium", { 100, 100 } })
MICRO(7, whole_7, "micro-benchmark 7: return values and reuse", "rounds, rounds of the second",
      { "small", { 10, 10 } }, { "medium", { 100, 100 } })
MICRO(8, whole_8, "micro-benchmark 8: a chain for the victim entry", "rounds of the last",
      { "small", { 350 } }, { "medium", { 3500 } })
