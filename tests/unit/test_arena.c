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

static enum adsm_pages was;		/* of what take() gave last */

static uintptr_t take(size_t size)
{
	uintptr_t start;

	CHECK(!adsm_arena_take_view(size, ADSM_PROT_RW, &start, &was));
	memset((void *)start, 1, size);
	CHECK(*(char *)adsm_arena_alias(start) == 1);
	return start;
}

static bool is_closed(uintptr_t start)
{
	int fds[2];
	bool closed;

	CHECK(!pipe(fds));
	closed = write(fds[1], (void *)start, 1) < 0 && errno == EFAULT;
	close(fds[0]);
	close(fds[1]);
	return closed;
}

int main(void)
{
	uintptr_t a, b, c, d, e;

	adsm_options.keep = 256 * KIB;
	CHECK(!adsm_arena_create(0, (size_t)1 << 20));

	/* A range comes back with its pages to whoever asks for that size, and only for that size. */
	a = take(64 * KIB);
	b = take(64 * KIB);
	c = take(128 * KIB);
	adsm_arena_give_view(a, 64 * KIB, ADSM_PAGES_ALL);
	CHECK(pages_in_use() == 256 * KIB);
	d = take(32 * KIB);
	CHECK(d != a && was == ADSM_PAGES_NONE && pages_in_use() == 288 * KIB);
	CHECK(take(64 * KIB) == a && was == ADSM_PAGES_ALL && pages_in_use() == 288 * KIB);

	/* Not to one that wants no view, nor kept where there are none. */
	adsm_arena_give_view(a, 64 * KIB, ADSM_PAGES_SOME);
	CHECK(is_closed(a));
	CHECK(!adsm_arena_take(64 * KIB, &e) && e != a && is_closed(e));
	CHECK(take(64 * KIB) == a && was == ADSM_PAGES_SOME);
	adsm_arena_give_view(a, 64 * KIB, ADSM_PAGES_NONE);
	CHECK(pages_in_use() == 224 * KIB);

	/* Never more than the option says: the oldest go first. */
	adsm_arena_give_view(b, 64 * KIB, ADSM_PAGES_ALL);
	adsm_arena_give_view(c, 128 * KIB, ADSM_PAGES_ALL);
	adsm_arena_give_view(d, 32 * KIB, ADSM_PAGES_ALL);
	CHECK(pages_in_use() == 224 * KIB);
	a = take(192 * KIB);
	adsm_arena_give_view(a, 192 * KIB, ADSM_PAGES_ALL);
	CHECK(pages_in_use() == 224 * KIB);	/* b and c are gone */
	CHECK(take(32 * KIB) == d && take(192 * KIB) == a);

	/* The whole arena is to be had, whatever is kept; e is still taken. */
	adsm_arena_give_view(a, 192 * KIB, ADSM_PAGES_ALL);
	adsm_arena_give_view(d, 32 * KIB, ADSM_PAGES_ALL);
	take(512 * KIB);
	CHECK(adsm_arena_take((size_t)1 << 20, &a) == -ENOMEM);
	CHECK(pages_in_use() == 512 * KIB);
	adsm_arena_destroy();

	adsm_options.keep = 0;
	CHECK(!adsm_arena_create(0, (size_t)1 << 20));
	a = take(64 * KIB);
	adsm_arena_give_view(a, 64 * KIB, ADSM_PAGES_ALL);
	CHECK(!pages_in_use());
	adsm_arena_destroy();
	return 0;
}
