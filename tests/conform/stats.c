/* SPDX-License-Identifier: MIT */
/* stats.c - exact counts of transfers and faults, by the paper's rules. */
#include "conform.h"

static size_t block_size;

/* The paper's exact behaviour, and the size of a block. */
static void paper(void)
{
	void *p;

	set("paper", "1");
	p = alloc(1);
	/* With batch and lazy each object is one block. */
	block_size = rolling() ? info(p).block_size : SIZE_MAX;
	CHECK_OK(adsmFree(p));
	CHECK_OK(adsmStatsReset());
}

static size_t n_blocks(size_t size)
{
	return block_size == SIZE_MAX ? 1 : (size + block_size - 1) / block_size;
}

static uint64_t copied(uint64_t bytes)
{
	return unified() ? 0 : bytes;
}

static void add(void)
{
	size_t n = 262144, size = n * 4, b;
	float *p, *q, *r;
	adsmStats all;
	double sum = 0;

	paper();
	b = n_blocks(size);
	p = alloc(size);
	q = alloc(size);
	r = alloc(size);
	for (size_t i = 0; i < n; i++)
		p[i] = (float)i;
	for (size_t i = 0; i < n; i++)
		q[i] = (float)(2 * i);
	CALL("addf", n, adsmPtr(p), adsmPtr(q), adsmPtr(r), adsmVal((unsigned)n));
	SYNC();
	for (size_t i = 0; i < n; i++)
		sum += r[i];
	CHECK(sum == 3.0 * (n - 1) * n / 2);
	all = stats();
	CHECK_EQ(all.calls, 1);
	CHECK(all.kernel_ns > 0);
	if (batch()) {
		CHECK_EQ(all.h2d_bytes, copied(3 * size));
		CHECK_EQ(all.d2h_bytes, copied(3 * size));
		CHECK_EQ(all.signals, 0);
		CHECK_EQ(all.evictions, 0);
		return;
	}
	CHECK_EQ(all.h2d_bytes, copied(2 * size));
	CHECK_EQ(all.d2h_bytes, copied(size));
	CHECK_EQ(all.write_faults, 2 * b);
	CHECK_EQ(all.read_faults, b);
	CHECK_EQ(all.signals, 3 * b);
	CHECK_EQ(all.ahead_blocks, 0);
	CHECK_EQ(all.evictions, rolling() && 2 * b > 6 ? 2 * b - 6 : 0);
	CHECK_EQ(all.d2h_transfers, copied(b));
	if (!rolling())
		CHECK_EQ(all.h2d_transfers, copied(2));
	CHECK(all.h2d_transfers >= copied(all.evictions));
	CHECK_EQ(object_stats(p).write_faults, b);
	CHECK_EQ(object_stats(p).read_faults, 0);
	CHECK_EQ(object_stats(p).h2d_bytes, copied(size));
	CHECK_EQ(object_stats(p).d2h_bytes, 0);
	CHECK_EQ(object_stats(r).read_faults, b);
	CHECK_EQ(object_stats(r).write_faults, 0);
	CHECK_EQ(object_stats(r).d2h_bytes, copied(size));
	CHECK_EQ(object_stats(r).h2d_bytes, 0);
}

/* Many calls between two touches by the CPU. */
static void repeated(void)
{
	unsigned n = 25600, calls = 20, *p, *q;
	size_t size = n * 4, b;
	adsmStats all;

	paper();
	b = n_blocks(size);
	q = alloc(size);
	p = words(n, 0);
	for (unsigned i = 0; i < calls; i++) {
		CALL("copy", n, adsmPtr(p), adsmPtr(q), adsmVal(n));
		SYNC();
	}
	for (unsigned i = 0; i < n; i++)
		CHECK_AT(q[i], i, i);
	all = stats();
	CHECK_EQ(all.calls, calls);
	if (batch()) {
		CHECK_EQ(all.h2d_bytes, copied(2 * size * calls));
		CHECK_EQ(all.d2h_bytes, copied(2 * size * calls));
		return;
	}
	CHECK_EQ(all.h2d_bytes, copied(size));
	CHECK_EQ(all.d2h_bytes, copied(size));
	CHECK_EQ(all.write_faults, b);
	CHECK_EQ(all.read_faults, b);
	CHECK_EQ(all.evictions, rolling() && b > 4 ? b - 4 : 0);
}

/* Only the caller's bytes count: the short last block, but not its padding. */
static void odd(void)
{
	size_t size = 70001;
	unsigned char *p;
	adsmStats all;

	paper();
	p = alloc(size);
	p[0] = 1;
	p[size - 1] = 1;
	CALL("increment_bytes", size, adsmPtr(p), adsmVal((unsigned)size));
	SYNC();
	CHECK_EQ(p[size - 1], 2);
	all = stats();
	if (rolling()) {
		size_t last = size % block_size;

		CHECK_EQ(all.h2d_bytes, copied(last + block_size));
		CHECK_EQ(all.d2h_bytes, copied(last));
	} else {
		CHECK_EQ(all.h2d_bytes, copied(size));
		CHECK_EQ(all.d2h_bytes, copied(size));
	}
}

/* A word of an Invalid block, read and then written: two faults, one fetch, one send. */
static void read_then_write(void)
{
	size_t n = 65536 * 4;
	volatile unsigned *p;
	unsigned value;
	adsmStats all;
	size_t moved;

	paper();
	p = words(n, 0);
	CALL("increment", n, adsmPtr(p), adsmVal((unsigned)n));
	SYNC();
	CHECK_OK(adsmStatsReset());
	value = p[50000];
	all = stats();	/* between read and write, so that the compiler cannot combine them */
	CHECK_EQ(all.write_faults, 0);
	p[50000] = value + 1;
	all = stats();
	moved = rolling() ? block_size : n * 4;
	if (!batch()) {
		CHECK_EQ(all.read_faults, 1);
		CHECK_EQ(all.write_faults, 1);
		CHECK_EQ(all.signals, 2);
		CHECK_EQ(all.d2h_bytes, copied(moved));
		CHECK_EQ(all.h2d_bytes, 0);
	}
	CALL("increment", n, adsmPtr(p), adsmVal((unsigned)n));
	if (!batch())
		CHECK_EQ(stats().h2d_bytes, copied(moved));
	SYNC();
	CHECK_EQ(p[50000], 50003);
}

/* A touch that waits counts as one signal, even if it is served several times. */
static void waits(void)
{
	unsigned *p = words(1, 1);
	adsmStats all;

	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(p), adsmVal(1u));
	CHECK_OK(adsmStatsReset());
	CHECK_EQ(p[0], 2);
	all = stats();
	CHECK_EQ(all.signals, 1);
	CHECK_EQ(all.read_faults, 1);
	SYNC();
	/* The wait of a function ends with it: the next touch counts, too. */
	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(p), adsmVal(1u));
	CHECK_OK(adsmHold(p, sizeof(*p), ADSM_ACCESS_IN));
	CHECK_OK(adsmUnhold(p, sizeof(*p)));
	CALL("increment", 1, adsmPtr(p), adsmVal(1u));
	CHECK_OK(adsmStatsReset());
	CHECK_EQ(p[0], 4);
	CHECK_EQ(stats().signals, 1);
	SYNC();
}

/* After a new start all counts are 0. */
static void restart(void)
{
	unsigned *p = words(1000, 1);
	adsmStats all;

	CALL("increment", 1000, adsmPtr(p), adsmVal(1000u));
	SYNC();
	CHECK_OK(adsmFree(p));
	unload();
	CHECK_OK(adsmShutdown());
	CHECK_OK(adsmInit());
	all = stats();
	for (size_t i = 0; i < sizeof(all); i++)
		CHECK_AT(((char *)&all)[i], i, 0);
	CHECK_OK(adsmShutdown());
}

/* The totals are the sum over all objects, including freed ones, and a reset sets them to 0. */
static void totals(void)
{
	unsigned n = 50000, *p[3];
	adsmStats all, one, sum = { 0 };

	for (unsigned o = 0; o < 3; o++)
		p[o] = words(n, o);
	for (unsigned round = 0; round < 2; round++) {
		CALL("add", n, adsmPtr(p[0]), adsmPtr(p[1]), adsmPtr(p[2]), adsmVal(n));
		SYNC();
		p[0][round] = p[2][round] + p[2][n - 1];
		p[1][n / 2] = p[2][n / 3];
	}
	/* Wait until all transfers are done. */
	CALL("increment", n, adsmPtr(p[0]), adsmVal(n));
	CALL("increment", n, adsmPtr(p[1]), adsmVal(n));
	CALL("increment", n, adsmPtr(p[2]), adsmVal(n));
	SYNC();
	for (unsigned o = 0; o < 3; o++) {
		one = object_stats(p[o]);
		sum.h2d_bytes += one.h2d_bytes;
		sum.d2h_bytes += one.d2h_bytes;
		sum.h2d_transfers += one.h2d_transfers;
		sum.d2h_transfers += one.d2h_transfers;
		sum.read_faults += one.read_faults;
		sum.write_faults += one.write_faults;
		sum.ahead_blocks += one.ahead_blocks;
		sum.evictions += one.evictions;
		if (o == 1)
			CHECK_OK(adsmFree(p[o]));
	}
	all = stats();
	CHECK_EQ(all.calls, 5);
	CHECK_EQ(all.h2d_bytes, sum.h2d_bytes);
	CHECK_EQ(all.d2h_bytes, sum.d2h_bytes);
	CHECK_EQ(all.h2d_transfers, sum.h2d_transfers);
	CHECK_EQ(all.d2h_transfers, sum.d2h_transfers);
	CHECK_EQ(all.read_faults, sum.read_faults);
	CHECK_EQ(all.write_faults, sum.write_faults);
	CHECK_EQ(all.ahead_blocks, sum.ahead_blocks);
	CHECK_EQ(all.evictions, sum.evictions);
	if (!unified())
		CHECK(all.h2d_bytes >= 2 * n * 4 && all.d2h_bytes > 0);

	CHECK_OK(adsmStatsReset());
	all = stats();
	one = object_stats(p[0]);
	for (size_t i = 0; i < sizeof(all); i++)
		CHECK_AT(((char *)&all)[i] | ((char *)&one)[i], i, 0);
	CHECK_ERROR(adsmStatsGet(&all, 0), EINVAL);
	CHECK_ERROR(adsmStatsGet(NULL, sizeof(all)), EINVAL);
	CHECK_ERROR(adsmObjectStatsGet(&all, &one, sizeof(one)), EINVAL);
}

static const struct conform_case cases[] = {
	CASE("stats-add", add),
	CASE("stats-repeated", repeated),
	CASE("stats-odd", odd),
	CASE("stats-read-then-write", read_then_write),
	FAULT_CASE("stats-waits", waits),
	CASE("stats-totals", totals),
	CASE("stats-restart", restart),
};
CONFORM_MAIN(cases)
