/* SPDX-License-Identifier: MIT */
/*
 * pair.h - what tests of input and output work on: two shared objects side by side, and ordinary memory with the
 * same bytes that is treated alike.
 */
#ifndef INTERPOSE_PAIR_H
#define INTERPOSE_PAIR_H

#include <stdarg.h>
#include <stdlib.h>

#include "conform.h"

static size_t block, size_of_one;	/* each is three blocks and a page */
static unsigned char *shared, *plain;
static char doing[200];

#define SIZE (2 * size_of_one)

/* What is being tried, for messages. */
static void now(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void now(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(doing, sizeof(doing), format, args);
	va_end(args);
}

#define SAME(got, want) do { \
	long long got_ = (long long)(got), want_ = (long long)(want); \
	if (got_ != want_) \
		FAIL("%s: %s is %lld, not %lld (%s)", doing, #got, got_, want_, #want); \
} while (0)

static size_t block_size(void)
{
	adsmAllocOptions options = ADSM_ALLOC_OPTIONS_INIT;
	size_t size;
	void *p;

	options.protocol = "rolling";
	p = adsmAllocWith(PAGE, &options);
	CHECK(p);
	size = info(p).block_size;
	CHECK_OK(adsmFree(p));
	return size;
}

static unsigned char *neighbours(size_t size)
{
	unsigned char *one = alloc(size), *other;

	for (int i = 0; i < 100; i++, one = other) {
		other = alloc(size);
		if (other == one + size)
			return one;
		if (one == other + size)
			return other;
	}
	FAIL("no two objects lie side by side");
}

static void start(void)
{
	block = block_size();
	size_of_one = 3 * block + PAGE;
	shared = neighbours(size_of_one);
	plain = malloc(SIZE);
	CHECK(plain);
}

#endif
