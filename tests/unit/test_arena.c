/* SPDX-License-Identifier: MIT */
/* test_arena.c - which ranges an arena gives, and what becomes of their pages: reused, or back with the system. */
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "core.h"
#include "options.h"

#define KIB ((size_t)1 << 10)

static size_t pages_in_use(void)
{
	struct stat status;

	CHECK(!fstat(adsm_arena.fd, &status));
	return (size_t)status.st_blocks * 512;
}

static uintptr_t take(size_t size, bool pages)
{
	uintptr_t start;

	CHECK(!adsm_arena_take(size, pages, &start));
	if (pages)
		memset(adsm_arena_alias(start), 1, size);
	return start;
}

int main(void)
{
	uintptr_t a, b, c, d;

	adsm_options.keep = 256 * KIB;
	CHECK(!adsm_arena_create(0, (size_t)1 << 20));

	/* A range comes back with its pages to whoever asks for that size, and only for that size. */
	a = take(64 * KIB, true);
	b = take(64 * KIB, true);
	c = take(128 * KIB, true);
	adsm_arena_give(a, 64 * KIB, true);
	CHECK(pages_in_use() == 256 * KIB);
	d = take(32 * KIB, true);
	CHECK(d != a && pages_in_use() == 288 * KIB);
	CHECK(take(64 * KIB, true) == a && pages_in_use() == 288 * KIB);

	/* Not to one that has no use for them, nor kept where there are none. */
	adsm_arena_give(a, 64 * KIB, true);
	CHECK(take(64 * KIB, false) != a);
	CHECK(take(64 * KIB, true) == a);
	adsm_arena_give(a, 64 * KIB, false);
	CHECK(pages_in_use() == 224 * KIB);

	/* Never more than the option says: the oldest go first. */
	adsm_arena_give(b, 64 * KIB, true);
	adsm_arena_give(c, 128 * KIB, true);
	adsm_arena_give(d, 32 * KIB, true);
	CHECK(pages_in_use() == 224 * KIB);
	a = take(192 * KIB, true);
	adsm_arena_give(a, 192 * KIB, true);
	CHECK(pages_in_use() == 224 * KIB);	/* b and c are gone */
	CHECK(take(32 * KIB, true) == d && take(192 * KIB, true) == a);

	/* The whole arena is to be had, whatever is kept; the 64 KiB without pages are still taken. */
	adsm_arena_give(a, 192 * KIB, true);
	adsm_arena_give(d, 32 * KIB, true);
	take(512 * KIB, true);
	CHECK(adsm_arena_take((size_t)1 << 20, true, &a) == -ENOMEM);
	CHECK(pages_in_use() == 512 * KIB);
	adsm_arena_destroy();

	adsm_options.keep = 0;
	CHECK(!adsm_arena_create(0, (size_t)1 << 20));
	a = take(64 * KIB, true);
	adsm_arena_give(a, 64 * KIB, true);
	CHECK(!pages_in_use());
	adsm_arena_destroy();
	return 0;
}
