/* SPDX-License-Identifier: MIT */
/*
 * test_collect.c - writes that no fault tells of, under an engine that collects them (../engine/collecting.c): nothing
 * that depends on them comes before they are known. Argument: the case.
 */
#include "core.h"
#include "engine/engine.h"

#define PAGES 16u
#define WORDS (PAGES * PAGE_WORDS)
#define SPIN 20000000ul

/* Both sides have the same bytes, and what the CPU reads it may write: only the engine knows if it does. */
static unsigned *both_have(unsigned first)
{
	unsigned *a = alloc_with(WORDS * sizeof(*a), "rolling", PAGE);

	for (unsigned i = 0; i < WORDS; i++)
		a[i] = first + i;
	CHECK(!call_words(kernel("increment"), WORDS, adsmPtr(a)));
	CHECK(!adsmSync());
	for (unsigned i = 0; i < WORDS; i += PAGE_WORDS)
		CHECK_EQ(*(volatile unsigned *)&a[i], first + i + 1);
	return a;
}

static void write_unseen(unsigned *a, unsigned i, unsigned value)
{
	uint64_t signals = object_stats(a).signals;
	volatile unsigned *at = a + i;

	*at = value;
	CHECK_EQ(object_stats(a).signals, signals);
}

static int copy(const char *name, unsigned *from, unsigned *to)
{
	const adsmDim grid = { WORDS / 256, 1, 1 }, block = { 256, 1, 1 };

	return !strcmp(name, "copy") ? adsmCall(kernel(name), grid, block, adsmPtr(from), adsmPtr(to), adsmVal(WORDS)) :
		adsmCall(kernel(name), grid, block, adsmVal(SPIN), adsmPtr(from), adsmPtr(to), adsmVal(WORDS));
}

/* A call gets them, and of all blocks only theirs are sent. */
static void calls(void)
{
	unsigned *a = both_have(100), *to = alloc_with(WORDS * sizeof(*to), "rolling", PAGE);
	adsmStats before = object_stats(a);

	write_unseen(a, 3 * PAGE_WORDS + 1, 7);
	CHECK_EQ(object_of(a)->blocks.n_in[ADSM_DIRTY], 0);
	CHECK(!copy("copy", a, to));
	CHECK_EQ(to[3 * PAGE_WORDS + 1], 7);
	CHECK_EQ(to[3 * PAGE_WORDS], 101 + 3 * PAGE_WORDS);
	CHECK_EQ(object_stats(a).h2d_bytes - before.h2d_bytes, PAGE);
	/* Once more: these are reported again, and only these. */
	write_unseen(a, 3 * PAGE_WORDS + 1, 8);
	write_unseen(a, WORDS - 1, 9);
	CHECK(!call_words(kernel("increment"), WORDS, adsmPtr(a)));
	CHECK_EQ(a[3 * PAGE_WORDS + 1], 9);
	CHECK_EQ(a[WORDS - 1], 10);
	CHECK_EQ(object_stats(a).h2d_bytes - before.h2d_bytes, 3 * PAGE);
	/* By a call that may use any object. */
	write_unseen(a, 3 * PAGE_WORDS + 2, 20);
	CHECK(!call_words(kernel("increment_any"), WORDS, adsmPtr(a)));
	CHECK(!adsmSync());
	CHECK_EQ(a[3 * PAGE_WORDS + 2], 21);
	CHECK(!adsmFree(a));
	CHECK(!adsmFree(to));
}

/* While a call reads the object the CPU continues; its writes are sent when that call has ended. */
static void readers(void)
{
	unsigned *a = both_have(100), *to = alloc_with(WORDS * sizeof(*to), "rolling", PAGE);
	unsigned *to2 = alloc_with(WORDS * sizeof(*to2), "rolling", PAGE);

	CHECK(!copy("late_copy", a, to));
	for (unsigned i = 0; i < WORDS; i += PAGE_WORDS / 2)
		write_unseen(a, i, 5);
	CHECK(!copy("copy", a, to2));
	CHECK(!adsmSync());
	for (unsigned i = 0; i < WORDS; i++) {
		CHECK_AT(to[i], i, 101 + i);
		CHECK_AT(to2[i], i, i % (PAGE_WORDS / 2) ? 101 + i : 5);
	}
	CHECK(!adsmFree(a));
	CHECK(!adsmFree(to));
	CHECK(!adsmFree(to2));
}

/* A copy by the device takes them from the source, and leaves those beside it in the destination. */
static void copies(void)
{
	static unsigned part[PAGE_WORDS + 4];
	unsigned *a = both_have(100), *b = both_have(5000);

	write_unseen(a, 5, 1);
	CHECK(!adsmMemcpy(b, a, WORDS * sizeof(*a)));
	CHECK_EQ(b[5], 1);
	CHECK_EQ(b[6], 107);
	CHECK_EQ(b[WORDS - 1], 100 + WORDS);
	/* All of a block, and the first four words of the next. */
	write_unseen(a, 2 * PAGE_WORDS + 9, 2);
	CHECK(!adsm_copy_direct(a + PAGE_WORDS, part, sizeof(part)));
	CHECK_EQ(a[PAGE_WORDS + 9], 0);
	CHECK_EQ(a[2 * PAGE_WORDS + 3], 0);
	CHECK_EQ(a[2 * PAGE_WORDS + 9], 2);
	CHECK_EQ(a[2 * PAGE_WORDS + 10], 111 + 2 * PAGE_WORDS);
	CHECK(!adsmFree(a));
	CHECK(!adsmFree(b));
}

/* ---- a write at the last moment: when the view is just about to be closed */

static struct adsm_engine engine;
static unsigned *late_word;

static int permit(void *view, size_t size, enum adsm_prot was, enum adsm_prot now)
{
	if (late_word && now == ADSM_PROT_NONE) {
		*(volatile unsigned *)late_word = 3;
		late_word = NULL;
	}
	return engine.permit(view, size, was, now);
}

static void late(void)
{
	static struct adsm_engine wrapped;
	static unsigned part[PAGE_WORDS + 4];
	unsigned *a;

	CHECK(!adsmInit());
	engine = wrapped = *adsm_engine;
	wrapped.permit = permit;
	adsm_engine = &wrapped;
	a = both_have(100);
	late_word = a + 7;
	CHECK(!call_words(kernel("increment"), WORDS, adsmPtr(a)));
	CHECK(!late_word);
	CHECK_EQ(a[7], 4);
	for (unsigned i = 0; i < WORDS; i += PAGE_WORDS)
		CHECK_EQ(*(volatile unsigned *)&a[i], 102 + i);
	late_word = a + 2 * PAGE_WORDS + 9;
	CHECK(!adsm_copy_direct(a + PAGE_WORDS, part, sizeof(part)));
	CHECK(!late_word);
	CHECK_EQ(a[2 * PAGE_WORDS + 9], 3);
	CHECK_EQ(a[2 * PAGE_WORDS + 3], 0);
	CHECK_EQ(a[2 * PAGE_WORDS + 10], 112 + 2 * PAGE_WORDS);
	CHECK(!adsmFree(a));
	adsm_engine = &engine;
}

/* ---- where each write has to be seen when it comes, it is */

static void exact(void)
{
	unsigned *a;
	uint64_t signals;

	a = both_have(100);
	signals = object_stats(a).signals;
	*(volatile unsigned *)a = 1;
	CHECK_EQ(object_stats(a).signals, signals + 1);
	CHECK_EQ(object_of(a)->blocks.n_in[ADSM_DIRTY], 1);
	CHECK(!adsmFree(a));
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } cases[] = {
		{ "calls", calls }, { "readers", readers }, { "copies", copies }, { "late", late }, { "exact", exact },
	};

	if (getenv("TEST_SKIP")) {
		printf("skipped: %s\n", getenv("TEST_SKIP"));
		return 77;
	}
	for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(argv[1], cases[i].name)) {
			cases[i].run();
			return 0;
		}
	return 2;
}
