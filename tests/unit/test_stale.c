/* SPDX-License-Identifier: MIT */
/* test_stale.c - the two memories are separate: each side keeps its old bytes until the protocol moves them, at the
 * moment that the paper says (§4.3), and untouched bytes are never moved. Argument: the protocol. */
#include "core.h"

#define PAGES 16u
#define WORDS (PAGES * PAGE_WORDS)
#define POISON 0xabababab

static const char *protocol;
static bool batch, whole;

static unsigned *object_with(unsigned first)
{
	unsigned *a = alloc_with(WORDS * sizeof(*a), protocol, PAGE), zeros[PAGE_WORDS] = { 0 };

	for (unsigned page = 0; page < PAGES; page++)
		device_write(a + page * PAGE_WORDS, zeros, PAGE);
	for (unsigned i = 0; i < WORDS; i++)
		a[i] = first + i;
	return a;
}

/* The calls have ended, and no thread was notified. */
static void increment(unsigned *a)
{
	CHECK(!call_words(kernel("increment"), WORDS, adsmPtr(a)));
	adsm_quiesce();
}

static void check_alias(const unsigned *a, unsigned first_page, unsigned end_page, unsigned first)
{
	volatile unsigned *alias = alias_of(a);

	for (unsigned i = first_page * PAGE_WORDS; i < end_page * PAGE_WORDS; i++)
		CHECK_AT(alias[i], i, first + i);
}

static void check_device(const unsigned *a, unsigned first_page, unsigned end_page, unsigned first)
{
	unsigned page[PAGE_WORDS];

	for (unsigned p = first_page; p < end_page; p++) {
		device_read(a + p * PAGE_WORDS, page, PAGE);
		for (unsigned i = 0; i < PAGE_WORDS; i++)
			CHECK_AT(page[i], p * PAGE_WORDS + i, first + p * PAGE_WORDS + i);
	}
}

/* What the CPU wrote stays with it until the call. */
static void writes(void)
{
	unsigned *a = object_with(1000), *b = object_with(5000);

	for (unsigned i = 0; i < WORDS; i += PAGE_WORDS / 2)
		CHECK_EQ(device_word(&a[i]), 0);
	CHECK_EQ(object_stats(a).h2d_bytes, 0);
	increment(a);
	CHECK_EQ(object_stats(a).h2d_bytes, WORDS * 4);
	check_device(a, 0, PAGES, 1001);
	/* The call named a only. */
	for (unsigned i = 0; i < WORDS; i += PAGE_WORDS / 2)
		CHECK_EQ(device_word(&b[i]), 0);
	CHECK_EQ(object_stats(b).h2d_bytes, 0);
	CHECK(!adsmSync());
	CHECK_EQ(device_word(&b[7]), 0);
	/* An unnamed one may use it. */
	CHECK(!call_words(kernel("increment_any"), WORDS, adsmPtr(a)));
	CHECK(!adsmSync());
	check_device(b, 0, PAGES, 5000);
	CHECK_EQ(a[WORDS - 1], 1002 + WORDS - 1);
	CHECK_EQ(b[WORDS - 1], 5000 + WORDS - 1);
	CHECK(!adsmFree(a));
	CHECK(!adsmFree(b));
}

/* What the kernel wrote stays with the device until the CPU touches it; under batch, until the sync. */
static void results(void)
{
	unsigned *a = object_with(0);

	increment(a);
	check_alias(a, 0, PAGES, 0);
	check_device(a, 0, PAGES, 1);
	CHECK_EQ(object_stats(a).d2h_bytes, 0);
	if (batch) {
		/* Undetected: it reads old bytes. */
		CHECK_EQ(*(volatile unsigned *)&a[3], 3);
		CHECK(!adsmSync());
		check_alias(a, 0, PAGES, 1);
		CHECK_EQ(object_stats(a).d2h_bytes, WORDS * 4);
		CHECK(!adsmSync());
		CHECK_EQ(object_stats(a).d2h_bytes, WORDS * 4);
		CHECK(!adsmFree(a));
		return;
	}
	CHECK(!adsmSync());
	check_alias(a, 0, PAGES, 0);
	CHECK_EQ(object_stats(a).d2h_bytes, 0);

	CHECK_EQ(*(volatile unsigned *)&a[5 * PAGE_WORDS + 9], 5 * PAGE_WORDS + 9 + 1);
	check_alias(a, 5, 6, 1);
	check_alias(a, 0, 5, whole ? 1 : 0);
	check_alias(a, 6, PAGES, whole ? 1 : 0);
	CHECK_EQ(object_stats(a).d2h_bytes, whole ? WORDS * 4 : PAGE);

	/* A write to part of an Invalid block brings the rest of it. */
	a[9 * PAGE_WORDS] = 77;
	check_alias(a, 10, PAGES, whole ? 1 : 0);
	CHECK_EQ(alias_of(a)[9 * PAGE_WORDS], 77);
	CHECK_EQ(alias_of(a)[9 * PAGE_WORDS + 1], 9 * PAGE_WORDS + 1 + 1);
	CHECK_EQ(object_stats(a).d2h_bytes, whole ? WORDS * 4 : 2 * PAGE);
	check_device(a, 0, PAGES, 1);
	CHECK_EQ(object_stats(a).h2d_bytes, WORDS * 4);
	increment(a);
	CHECK_EQ(object_stats(a).h2d_bytes, WORDS * 4 + (whole ? WORDS * 4 : PAGE));
	check_device(a, 0, 9, 2);
	CHECK_EQ(device_word(&a[9 * PAGE_WORDS]), 78);
	check_device(a, 10, PAGES, 2);
	CHECK_EQ(alias_of(a)[9 * PAGE_WORDS], 77);
	CHECK(!adsmSync());
	CHECK_EQ(a[9 * PAGE_WORDS], 78);
	CHECK(!adsmFree(a));
}

/* Untouched bytes do not move: planted ones stay where they are. */
static void untouched(void)
{
	const unsigned poison[2] = { POISON, POISON };
	unsigned *a, *b;

	if (batch)
		return;
	a = object_with(0);
	increment(a);
	CHECK(!adsmSync());
	/* Invalid: the CPU's old bytes are not sent. */
	alias_of(a)[2 * PAGE_WORDS] = POISON;
	increment(a);
	CHECK(!adsmSync());
	check_device(a, 0, PAGES, 2);
	/* ReadOnly: neither fetched again nor sent. */
	CHECK_EQ(*(volatile unsigned *)&a[0], 2);
	device_write(a, poison, sizeof(poison));
	CHECK_EQ(*(volatile unsigned *)&a[1], 3);
	CHECK_EQ(alias_of(a)[0], 2);
	alias_of(a)[0] = 99;
	increment(a);
	CHECK(!adsmSync());
	CHECK_EQ(device_word(a), POISON + 1);

	/* Only read by the kernel: readable afterwards without a transfer. */
	b = object_with(0);
	CHECK(!adsmCall(kernel("copy"), ((adsmDim){ WORDS / 256, 1, 1 }), ((adsmDim){ 256, 1, 1 }), adsmPtr(a),
			adsmPtr(b), adsmVal(WORDS)));
	CHECK(!adsmSync());
	CHECK_EQ(*(volatile unsigned *)&b[0], POISON + 1);
	CHECK_EQ(object_stats(b).h2d_bytes, 0);
	CHECK_EQ(object_stats(a).d2h_bytes, whole ? WORDS * 4 : PAGE);
	CHECK_EQ(*(volatile unsigned *)&a[PAGES / 2 * PAGE_WORDS], PAGES / 2 * PAGE_WORDS + 3);
	CHECK_EQ(object_stats(a).d2h_bytes, 2 * (whole ? WORDS * 4 : PAGE));
	CHECK(!adsmFree(a));
	CHECK(!adsmFree(b));
}

/* What a kernel overwrites is not sent: where it does not, the device's old bytes show. */
static void overwritten(void)
{
	unsigned *a = object_with(100), *b = object_with(200), half = WORDS / 2;

	CHECK(!adsmCall(kernel("copy"), ((adsmDim){ half / 256, 1, 1 }), ((adsmDim){ 256, 1, 1 }), adsmPtr(a),
			adsmPtr(b), adsmVal(half)));
	adsm_quiesce();
	check_device(b, 0, PAGES / 2, 100);
	for (unsigned i = half; i < WORDS; i++)
		CHECK_AT(device_word(&b[i]), i, 0);
	check_alias(b, 0, PAGES, 200);
	CHECK(!adsmSync());
	CHECK_EQ(b[half - 1], 100 + half - 1);
	CHECK_EQ(b[half], 0);
	/* It was only read: what it held is still there, and was sent once. */
	check_alias(a, 0, PAGES, 100);
	CHECK_EQ(object_stats(a).h2d_bytes, WORDS * 4);
	CHECK_EQ(object_stats(a).d2h_bytes, 0);
	CHECK(!adsmFree(a));
	CHECK(!adsmFree(b));
}

/* Batch (paper, Figure 6a): a second call before the sync sends nothing, and a write in between is lost. */
static void between(void)
{
	unsigned *a;

	if (!batch)
		return;
	a = object_with(0);
	increment(a);
	a[5] = 1000;
	increment(a);
	check_device(a, 0, PAGES, 2);
	CHECK_EQ(object_stats(a).h2d_bytes, WORDS * 4);
	CHECK(!adsmSync());
	CHECK_EQ(a[5], 7);
	a[5] = 1000;
	increment(a);
	CHECK_EQ(device_word(&a[5]), 1001);
	CHECK(!adsmSync());
	CHECK(!adsmFree(a));
}

/* Rolling: the oldest blocks are sent while the CPU continues to write; the others stay. */
static void early(void)
{
	unsigned n = 0, *a;
	adsmStats stats;

	if (whole)
		return;
	/* In this process: two blocks for each live object, sent one by one by the writer. */
	CHECK(adsm_protocol_options.evict_batch == 1);
	a = object_with(10);
	CHECK_EQ(object_of(a)->blocks.n_in[ADSM_DIRTY], 2);
	do
		stats = object_stats(a);
	while (stats.h2d_transfers < PAGES - 2);
	CHECK_EQ(stats.evictions, PAGES - 2);
	check_device(a, 0, PAGES - 2, 10);
	for (unsigned i = (PAGES - 2) * PAGE_WORDS; i < WORDS; i++)
		CHECK_AT(device_word(&a[i]), i, 0);
	/* A block that has left is read where it is, and written after a fault. */
	CHECK_EQ(*(volatile unsigned *)&a[0], 10);
	a[0] = 4242;
	for (unsigned i = 0; i < PAGES; i++)
		n += object_of(a)->blocks.at[i].state == ADSM_DIRTY;
	CHECK_EQ(n, 2);
	CHECK_EQ(device_word(a), 10);
	increment(a);
	CHECK_EQ(device_word(a), 4243);
	check_device(a, 1, PAGES, 11);
	CHECK_EQ(object_stats(a).d2h_bytes, 0);
	CHECK(!adsmFree(a));
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	protocol = argv[1];
	batch = !strcmp(protocol, "batch");
	if (!strcmp(protocol, "early")) {
		protocol = "rolling";
		CHECK(!adsmOption("fault_ahead", "0"));
		CHECK(!adsmOption("evict_batch", "1"));
		CHECK(!adsmInit());
		early();
		return 0;
	}
	whole = strcmp(protocol, "rolling");
	CHECK(!adsmInit());
	writes();
	results();
	untouched();
	overwritten();
	between();
	return 0;
}
