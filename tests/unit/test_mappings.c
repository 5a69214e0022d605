/* SPDX-License-Identifier: MIT */
/*
 * test_mappings.c - more alternating blocks than a process may have mappings (vm.max_map_count): nothing
 * dies, nothing loops, nothing is lost, and the rest of the program still gets mappings.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "core.h"

static volatile unsigned *a;
static unsigned n_blocks, calls;

static unsigned max_map_count(void)
{
	FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned n = 0;

	if (file && fscanf(file, "%u", &n) != 1)
		n = 0;
	if (file)
		fclose(file);
	return n;
}

static void *end_at_once(void *unused)
{
	return unused;
}

/* What other code does all the time. */
static void want_mappings(void)
{
	char *large = malloc((size_t)64 << 20);
	pthread_t thread;

	CHECK(large);
	large[0] = 1;
	large[((size_t)64 << 20) - 1] = 1;
	free(large);
	errno = pthread_create(&thread, NULL, end_at_once, NULL);
	CHECK(!errno);
	CHECK(!pthread_join(thread, NULL));
}

static void call(void)
{
	CHECK(!call_words(kernel("increment"), (size_t)n_blocks * PAGE_WORDS, adsmPtr(a)));
	CHECK(!adsmSync());
	calls++;
}

/* Word 0 of a block holds its number, the others 0; the calls add 1 to all. */
static void check_block(unsigned b, bool written)
{
	CHECK_AT(a[(size_t)b * PAGE_WORDS], b, (written ? b : 0) + calls);
	CHECK_AT(a[(size_t)b * PAGE_WORDS + 1023], b, calls);
}

int main(void)
{
	unsigned max = max_map_count();
	uint64_t signals;
	size_t size;

	if (!max || max > 200000) {
		printf("skipped: vm.max_map_count is %u: an object to exceed it would be too large\n", max);
		return 77;
	}
	n_blocks = (max + 4096) & ~1023u;
	size = (size_t)n_blocks * PAGE;
	CHECK(!adsmOption("fault_ahead", "0"));
	CHECK(!adsmOption("rolling_size", "1000000"));	/* nothing leaves early: all written ones stay open */
	a = alloc_with(size, "rolling", PAGE);
	CHECK(!adsmMemset((void *)a, 0, size));
	want_mappings();

	for (unsigned b = 1; b < n_blocks; b += 2)
		a[(size_t)b * PAGE_WORDS] = b;
	want_mappings();
	CHECK_EQ(object_of(a)->n_in[ADSM_DIRTY], n_blocks / 2);
	for (unsigned b = 1; b < n_blocks; b += 2)
		check_block(b, true);
	want_mappings();
	/* A fault for each write, and another where the views had been shut meanwhile: no loop. */
	signals = object_stats(a).signals;
	CHECK(signals >= n_blocks / 2 && signals <= 2 * n_blocks);
	call();
	want_mappings();

	/* Invalid: every other block is read. */
	for (unsigned b = 0; b < n_blocks; b += 2)
		check_block(b, false);
	want_mappings();
	CHECK_EQ(object_of(a)->n_in[ADSM_READ_ONLY], n_blocks / 2);
	for (unsigned b = 1; b < n_blocks; b += 2)
		check_block(b, true);
	want_mappings();
	CHECK_EQ(object_stats(a).d2h_bytes, size + (size_t)n_blocks / 2 * PAGE);
	signals = object_stats(a).signals - signals;
	CHECK(signals >= n_blocks && signals <= 3 * n_blocks);

	/* Read and written in turn. */
	call();
	for (unsigned b = 0; b < n_blocks; b++) {
		check_block(b, b & 1);
		if (b & 1)
			a[(size_t)b * PAGE_WORDS + 1023]++;
	}
	call();
	for (unsigned b = 0; b < n_blocks; b++) {
		CHECK_AT(a[(size_t)b * PAGE_WORDS], b, (b & 1 ? b : 0) + calls);
		CHECK_AT(a[(size_t)b * PAGE_WORDS + 1023], b, (b & 1) + calls);
	}
	CHECK(!adsmFree((void *)a));
	want_mappings();
	return 0;
}
