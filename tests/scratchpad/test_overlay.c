/* SPDX-License-Identifier: MIT */
/*
 * test_overlay.c - code that is really loaded: the image of overlays.c runs in buffers of 1, 2 and 4 sub-buffers, by
 * both policies, with a victim entry and without. The traces' DMA transfers are those of traces.h, each of them a copy
 * of instructions that ran; what the functions give back is what ordinary calls give.
 * All columns are asked again what each of them was asked, and had loaded what they do.
 */
#include "../check.h"
#include "traces.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <fcntl.h>

#include "scratchpad/device/partition.h"

static struct adsm_image image;
static char text[ADSM_PARTITION_TEXT];
static bool all_registers;		/* calls of managers that are created save all registers */

/* ---- what the image has not */

static long host_word;

static long host_call(long (*function)(long), long x)
{
	return function(x) + function(x + 1);
}

static void *resolve(void *context, const char *name)
{
	static const struct {
		const char *name;
		void *address;
	} known[] = {
		{ "host_call", (void *)(uintptr_t)host_call }, { "host_word", &host_word },
		{ "memcpy", (void *)(uintptr_t)memcpy }, { "memset", (void *)(uintptr_t)memset },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].name, name))
			return context ? NULL : known[i].address;
	return NULL;
}

static jmp_buf failed_to;
static char failure[ADSM_PARTITION_TEXT];

static void fail(void *context, const char *why)
{
	snprintf(failure, sizeof(failure), "%s", why);
	longjmp(failed_to, 1);
}

/* ---- */

static struct adsm_partitions *create(int column)
{
	struct adsm_partition_config config = {
		.image = &image, .n_buffers = trace_columns[column].n_buffers,
		.policy = trace_columns[column].lru ? ADSM_POLICY_LRU : ADSM_POLICY_MODULUS,
		.victim = trace_columns[column].victim, .all_registers = all_registers, .resolve = resolve,
		.fail = fail,
	};
	struct adsm_partitions *partitions;

	CHECKF(!adsm_partition_create(&config, &partitions, text), "%s", text);
	return partitions;
}

/* All columns are asked what this one is. */
static struct adsm_policy_log *record(struct adsm_partitions *partitions)
{
	struct adsm_policy_log *log = adsm_policy_log_create(&image, ADSM_PARTITION_DEPTH);

	CHECK(log);
	for (uint32_t i = 0; i < TRACE_COLUMNS; i++)
		CHECK_OK(adsm_policy_log_add(log, i, trace_columns[i].lru ? ADSM_POLICY_LRU : ADSM_POLICY_MODULUS,
					     trace_columns[i].victim, trace_columns[i].n_buffers));
	adsm_partition_record(partitions, log);
	return log;
}

/* The column itself was asked again, and had done the same. */
static void expect_same(struct adsm_partitions *partitions, struct adsm_policy_log *log, int column)
{
	const struct adsm_partition_counters counters = adsm_partition_counters(partitions);

	adsm_policy_log_play(log);
	CHECK_AT(log->others[column].loads, column, counters.loads);
	CHECK_AT(log->others[column].bytes, column, counters.bytes);
}

typedef unsigned long walk_function(const struct trace_node *node, unsigned long value);
typedef long long_function(long x);

static void *function(const struct adsm_partitions *partitions, const char *name)
{
	void *address = adsm_partition_function(partitions, name);

	CHECKF(address, "%s", name);
	return address;
}

/* What no partition is in calls what is. */
static unsigned long run_root(struct adsm_partitions *partitions, const struct trace_node *root)
{
	walk_function *walks[TRACE_PARTITIONS];
	unsigned long value = trace_mix(1, root->who + 1);

	for (int i = 0; i < TRACE_PARTITIONS; i++) {
		char name[24];

		snprintf(name, sizeof(name), "walk_%d", i);
		walks[i] = (walk_function *)(uintptr_t)function(partitions, name);
	}
	for (unsigned i = 0; i < root->times; i++)
		for (unsigned j = 0; j < root->n; j++)
			value = trace_mix(value, walks[root->calls[j]->who](root->calls[j], value));
	return value;
}

static void test_traces(int column)
{
	struct adsm_partitions *partitions = create(column);
	struct adsm_policy_log *log = record(partitions);

	for (size_t i = 0; i < N_TRACES; i++) {
		struct adsm_partition_counters counters;
		unsigned long value;

		adsm_partition_empty(partitions);
		value = run_root(partitions, traces[i].root);
		counters = adsm_partition_counters(partitions);
		CHECKF(value == trace_value(traces[i].root, 1), "%s, column %d", traces[i].name, column);
		CHECKF(counters.calls == traces[i].calls, "%s, column %d: %lu calls", traces[i].name, column,
		       (unsigned long)counters.calls);
		CHECKF(counters.loads == traces[i].loads[column], "%s, column %d: %lu loads, not %u",
		       traces[i].name, column,
		       (unsigned long)counters.loads, traces[i].loads[column]);
		CHECK(!!counters.victim_hits <= trace_columns[column].victim);
		if (!strcmp(traces[i].name, "MB2"))
			CHECK_EQ(counters.depth, 4);
		expect_same(partitions, log, column);
		for (int k = 0; k < TRACE_COLUMNS; k++)
			CHECKF(log->others[k].loads == traces[i].loads[k], "%s, column %d of column %d: %lu loads",
			       traces[i].name, k, column, (unsigned long)log->others[k].loads);
		/* And when something is loaded before. */
		adsm_partition_count(partitions);
		run_root(partitions, traces[i].root);
		expect_same(partitions, log, column);
	}
	adsm_partition_destroy(partitions);
	adsm_policy_log_destroy(log);
}

/* As there: a number that wraps. */
static unsigned long stack_words(long n, long sum)
{
	unsigned long words = (unsigned long)sum;

	for (long i = 0; i < 24; i++)
		words = words * 31 + (unsigned long)(n * i + 5);
	return words;
}

static void test_calls(int column)
{
	struct adsm_partitions *partitions = create(column);
	long_function *arguments = (long_function *)(uintptr_t)function(partitions, "arguments");
	long_function *even = (long_function *)(uintptr_t)function(partitions, "even");
	long_function *outside = (long_function *)(uintptr_t)function(partitions, "outside");
	int (*results)(double) = (int (*)(double))(uintptr_t)function(partitions, "results");
	int (*addresses)(void) = (int (*)(void))(uintptr_t)function(partitions, "addresses");
	widest (*third)(void) = (widest (*)(void))(uintptr_t)function(partitions, "third");
	int (*always)(void) = (int (*)(void))(uintptr_t)function(partitions, "always");
	struct adsm_policy_log *log = record(partitions);
	long sum = 0;

	/* So often that notes are full at some of the calls. */
	for (long i = 0; i < 2000; i++) {
		const long n = i % 3 + 1;
		const double x = (double)n;
		const long ints = n + 2 * (n + 1) + 3 * (n + 2) + 5 * (n + 3) + 7 * (n + 4) + 11 * (n + 5);
		const long floats = (long)(x * 0.5 + 2 * (x + 1) + 3 * (x + 2) + 5 * (x + 3) + 7 * (x + 4) +
					   11 * (x + 5) + 13 * (x + 6) + 17 * (x + 7));

		CHECK_EQ((unsigned long)arguments(n), 10 * stack_words(n, ints * 31 + floats));
		CHECK_EQ(results(x + 0.5), 0);
	}
	for (long n = 0; n < 200; n++)
		sum += (n % 2 ? 5 : 7) * n;
	CHECK_EQ(even(199), sum + 2 * (100L * 100 - 99L * 100));
	CHECK_EQ(addresses(), 0);
	CHECK(third() == (widest)1 / 3);
	CHECK_EQ(always(), 51);
	host_word = 4;
	CHECK_EQ(outside(5), 3 * 5 + 3 * 6 + 2 * 5 + 3 * 5 + (28 + 15 + 14 + 5) + 1 + 2 * 7 + 2 * 8);
	CHECK_EQ(host_word, 7);
	expect_same(partitions, log, column);
	/* It has no stub, because only a partition calls it. */
	CHECK(!adsm_partition_function(partitions, "fill"));
	CHECK(!adsm_partition_function(partitions, "no such function"));
	adsm_partition_destroy(partitions);
	adsm_policy_log_destroy(log);
}

/* A vector register has twice this number during a call. Nothing else has: what reads it must not be found. */
static volatile uint64_t half = UINT64_C(0x5ca1ab1e0ddba11);

/* Is that number below the stack after a call between partitions, which has saved registers there? */
__attribute__((noinline, no_sanitize("address", "undefined")))
static bool finds_register(long_function *function)
{
	const volatile uint64_t *below;
	bool found = false;

#if defined(__x86_64__)
	__asm__ volatile("movq %0, %%xmm15\n\tpaddq %%xmm15, %%xmm15" : : "m"(half) : "xmm15");
#else
	__asm__ volatile("ldr d30, %0\n\tadd d30, d30, d30" : : "m"(half) : "v30");
#endif
	function(1);
	below = __builtin_frame_address(0);
	for (int i = 1; i < 256; i++)
		found |= below[-i] - half == half;
	return found;
}

static void test_registers(void)
{
	struct adsm_partitions *partitions = create(0);
	long_function *even = (long_function *)(uintptr_t)function(partitions, "even");

	CHECK_EQ(even(1), 7);
	CHECK_EQ(finds_register(even), all_registers);
	adsm_partition_destroy(partitions);
}

/* The states of Table 1. */
static void test_states(void)
{
	for (int column = 0; column < TRACE_COLUMNS; column += 6) {
		struct adsm_partitions *partitions = create(column);
		long_function *even = (long_function *)(uintptr_t)function(partitions, "even");

		CHECK_EQ(adsm_partition_state(partitions, 11), ADSM_POLICY_EVICTED);
		CHECK_EQ(even(1), 7);
		CHECK_EQ(adsm_partition_state(partitions, 11), ADSM_POLICY_INACTIVE);
		CHECK_EQ(adsm_partition_state(partitions, 12), column ? ADSM_POLICY_INACTIVE : ADSM_POLICY_EVICTED);
		CHECK_EQ(adsm_partition_counters(partitions).calls, 2);
		adsm_partition_destroy(partitions);
	}
}

/* A victim entry that is taken away in the midst of it all, and given back. */
static void test_victim(void)
{
	struct adsm_partitions *partitions = create(1);
	long_function *even = (long_function *)(uintptr_t)function(partitions, "even");
	const long sum = even(20);
	struct adsm_partition_counters before = adsm_partition_counters(partitions);

	CHECK(before.victim_hits && before.victim_saves);
	adsm_partition_victim(partitions, false);
	CHECK_EQ(adsm_partition_victim_size(partitions), 0);
	CHECK_EQ(even(20), sum);
	CHECK_EQ(adsm_partition_counters(partitions).victim_saves, before.victim_saves);
	adsm_partition_victim(partitions, true);
	CHECK_EQ(even(20), sum);
	CHECK(adsm_partition_counters(partitions).victim_hits > before.victim_hits);
	adsm_partition_destroy(partitions);
}

/* ---- what cannot be, and what goes wrong */

static void expect(int error, const char *part, struct adsm_partition_config config)
{
	struct adsm_partitions *partitions;

	text[0] = '\0';
	CHECK_EQ(adsm_partition_create(&config, &partitions, text), error);
	CHECKF(strstr(text, part), "'%s' has no '%s'", text, part);
}

static void test_refused(void)
{
	const struct adsm_partition_config good = { .image = &image, .n_buffers = 4, .resolve = resolve, .fail = fail };
	struct adsm_partition_config config = good;
	struct adsm_partitions *partitions;
	size_t size;

	CHECK_OK(adsm_partition_create(&good, &partitions, text));
	size = adsm_partition_size(partitions);
	adsm_partition_destroy(partitions);
	config.buffer_size = size;
	CHECK_OK(adsm_partition_create(&config, &partitions, text));
	CHECK_EQ(adsm_partition_size(partitions), size);
	adsm_partition_destroy(partitions);
	config.buffer_size = size - 1;
	expect(-ENOSPC, "4 sub-buffers", config);
	for (uint32_t i = 0; i < 70; i++) {
		config = good;
		config.n_buffers = i;
		if (!i || i & (i - 1))
			expect(-EINVAL, "sub-buffers", config);
	}
	config = good;
	config.n_buffers = 128;
	expect(-EINVAL, "not 128", config);
	config = good;
	config.policy = 7;
	expect(-EINVAL, "policy 7 is invalid", config);
	config = good;
	config.fail = NULL;
	expect(-EINVAL, "the function that reports failed calls is missing", config);
	config = good;
	config.context = &config;
	expect(-ENOENT, "host_", config);
	config = good;
	config.resolve = NULL;
	expect(-ENOENT, "host_", config);
}

static void test_depth(void)
{
	struct adsm_partitions *partitions = create(5);
	long_function *endless = (long_function *)(uintptr_t)function(partitions, "endless");
	long_function *even = (long_function *)(uintptr_t)function(partitions, "even");
	struct adsm_policy_log *log = record(partitions);
	const long expected = even(30);

	/* 254 deep is what fits; then the call has no place, and is left. */
	CHECK(even(ADSM_PARTITION_DEPTH - 1) > expected);
	if (!setjmp(failed_to)) {
		even(ADSM_PARTITION_DEPTH + 100);
		FAIL("a partition stack without end");
	}
	CHECKF(strstr(failure, "256 calls between partitions are open"), "%s", failure);
	CHECKF(strstr(failure, "even() in partition 11"), "%s", failure);
	adsm_partition_reset(partitions);
	CHECK_EQ(even(30), expected);
	if (!setjmp(failed_to)) {
		endless(300);
		FAIL("a partition stack without end");
	}
	adsm_partition_reset(partitions);
	CHECK_EQ(even(30), expected);
	expect_same(partitions, log, 5);
	adsm_partition_destroy(partitions);
	adsm_policy_log_destroy(log);
}

static sigjmp_buf crashed_to;
static uintptr_t crashed_at;

static void crashed(int sig, siginfo_t *info, void *context)
{
	crashed_at = (uintptr_t)info->si_addr;
	siglongjmp(crashed_to, 1);
}

/* A partition cannot be written by its own code, and its address says whose it is. */
static void test_where(void)
{
	struct adsm_partitions *partitions = create(0);
	int (*crash)(int *) = (int (*)(int *))(uintptr_t)function(partitions, "crash");
	const struct sigaction action = { .sa_sigaction = crashed, .sa_flags = SA_SIGINFO };
	struct sigaction old;
	int one = 1;
	uint8_t *stub = (uint8_t *)(uintptr_t)crash;
	const char *found = NULL;

	CHECK_EQ(crash(&one), 1);
	for (size_t i = 0; i < adsm_partition_size(partitions); i++) {
		const char *name = adsm_partition_where(partitions, (uintptr_t)stub + i);

		found = name && !strcmp(name, "crash") ? name : found;
	}
	CHECK(found && !adsm_partition_where(partitions, (uintptr_t)&one));
	sigaction(SIGSEGV, &action, &old);
	if (!sigsetjmp(crashed_to, 1)) {
		*(volatile uint8_t *)stub = 0;
		FAIL("code can be written to by its own address");
	}
	CHECK_EQ(crashed_at, (uintptr_t)stub);
	if (!sigsetjmp(crashed_to, 1)) {
		crash((int *)8);
		FAIL("the kernel read from 8");
	}
	CHECK_EQ(crashed_at, 8);
	sigaction(SIGSEGV, &old, NULL);
	adsm_partition_reset(partitions);
	CHECK_EQ(crash(&one), 1);
	adsm_partition_destroy(partitions);
}

static void *read_image(const char *path, size_t *ret_size)
{
	const int fd = open(path, O_RDONLY);
	struct stat stat;
	void *bytes;

	CHECKF(fd >= 0 && !fstat(fd, &stat), "%s", path);
	bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(bytes != MAP_FAILED);
	close(fd);
	*ret_size = (size_t)stat.st_size;
	return bytes;
}

int main(int argc, char **argv)
{
	/* An image whose functions are where adsmcc puts them: only their results are known. */
	const bool calls = argc > 2 && !strcmp(argv[1], "calls");
	size_t size;
	void *bytes = read_image(argv[argc - 1], &size);

	CHECKF(!adsm_image_check(bytes, size, &image, text, sizeof(text)), "%s", text);
	for (int i = 0; i < 2 * TRACE_COLUMNS; i++) {
		all_registers = i >= TRACE_COLUMNS;
		if (!calls)
			test_traces(i % TRACE_COLUMNS);
		test_calls(i % TRACE_COLUMNS);
	}
	if (calls)
		return 0;
	test_registers();
	all_registers = false;
	test_registers();
	test_states();
	test_victim();
	test_refused();
	test_depth();
	test_where();
	return 0;
}
