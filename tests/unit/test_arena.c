/* SPDX-License-Identifier: MIT */
/* test_arena.c - which ranges an arena gives, and what becomes of their pages: reused, or back with the system. */
#include <string.h>
#include <sys/stat.h>

#include "core/arena.h"
#include "core.h"
#include "core/options.h"

#define KIB ((size_t)1 << 10)

static size_t pages_in_use(void)
{
	struct stat status;

	CHECK(!fstat(adsm_arena.fd, &status));
	return (size_t)status.st_blocks * 512;
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

static enum adsm_pages was;		/* of what take() gave last */

static uintptr_t take(size_t size)
{
	uintptr_t start;

	CHECK(!adsm_arena_take_view(size, &start, &was));
	CHECK(is_closed(start) && !adsm_os_protect((void *)start, size, ADSM_PROT_RW));
	memset((void *)start, 1, size);
	CHECK(*(char *)adsm_arena_alias(start) == 1);
	return start;
}

/* As their owners do: closed. */
static void give(uintptr_t start, size_t size, enum adsm_pages pages)
{
	CHECK(!adsm_os_protect((void *)start, size, ADSM_PROT_NONE));
	adsm_arena_give_view(start, size, pages);
}

/* Mappings of the view. */
static int n_mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	uintptr_t start;
	char line[512];
	int n = 0;

	CHECK(file);
	while (fgets(line, sizeof(line), file))
		n += sscanf(line, "%lx", &start) == 1 && adsm_arena_has(start);
	fclose(file);
	return n;
}

int main(void)
{
	uintptr_t a, b, c, d, e;

	adsm_core_options.keep = 256 * KIB;
	CHECK(!adsm_arena_create(0, (size_t)1 << 20));

	/* A range is reused with its pages for an allocation of that size, and only of that size. */
	a = take(64 * KIB);
	b = take(64 * KIB);
	c = take(128 * KIB);
	give(a, 64 * KIB, ADSM_PAGES_ALL);
	CHECK(pages_in_use() == 256 * KIB);
	d = take(32 * KIB);
	CHECK(d != a && was == ADSM_PAGES_NONE && pages_in_use() == 288 * KIB);
	CHECK(take(64 * KIB) == a && was == ADSM_PAGES_ALL && pages_in_use() == 288 * KIB);

	/* Not to one that wants no view, nor kept where there are none. */
	give(a, 64 * KIB, ADSM_PAGES_SOME);
	CHECK(is_closed(a));
	CHECK(!adsm_arena_take(64 * KIB, &e) && e != a && is_closed(e));
	CHECK(take(64 * KIB) == a && was == ADSM_PAGES_SOME);
	give(a, 64 * KIB, ADSM_PAGES_NONE);
	CHECK(pages_in_use() == 224 * KIB);

	/* Never more than the option says: the oldest go first. */
	give(b, 64 * KIB, ADSM_PAGES_ALL);
	give(c, 128 * KIB, ADSM_PAGES_ALL);
	give(d, 32 * KIB, ADSM_PAGES_ALL);
	CHECK(pages_in_use() == 224 * KIB);
	a = take(192 * KIB);
	give(a, 192 * KIB, ADSM_PAGES_ALL);
	CHECK(pages_in_use() == 224 * KIB);	/* b and c are gone */
	CHECK(take(32 * KIB) == d && take(192 * KIB) == a);

	/* The whole arena is to be had, whatever is kept; e is still taken. */
	give(a, 192 * KIB, ADSM_PAGES_ALL);
	give(d, 32 * KIB, ADSM_PAGES_ALL);
	take(512 * KIB);
	CHECK(adsm_arena_take((size_t)1 << 20, &a) == -ENOMEM);
	CHECK(pages_in_use() == 512 * KIB);
	adsm_arena_destroy();

	adsm_core_options.keep = 0;
	CHECK(!adsm_arena_create(0, (size_t)1 << 20));
	CHECK(n_mappings() == 1);
	a = take(64 * KIB);
	give(a, 64 * KIB, ADSM_PAGES_ALL);
	CHECK(!pages_in_use());

	/* What is closed is one mapping, but for what is in core files; that ends when there are too many. */
	a = take(4 * KIB);
	b = take(4 * KIB);
	c = take(4 * KIB);
	CHECK(n_mappings() == 2);
	give(b, 4 * KIB, ADSM_PAGES_ALL);
	CHECK(n_mappings() == 4);
	adsm_arena_merge();
	CHECK(n_mappings() == 4);
	CHECK(!adsm_os_protect((void *)c, 4 * KIB, ADSM_PROT_NONE) && n_mappings() == 2);
	give(a, 4 * KIB, ADSM_PAGES_NONE);
	CHECK(n_mappings() == 1 && is_closed(a));
	/* Without the file's descriptor all is the same, and is still there for c. */
	CHECK(*(char *)adsm_arena_alias(c) == 1);
	adsm_arena_close_file();
	CHECK(!adsm_os_protect((void *)c, 4 * KIB, ADSM_PROT_RW) && *(char *)c == 1);
	CHECK(take(4 * KIB) == a);
	give(c, 4 * KIB, ADSM_PAGES_SOME);
	CHECK(!*(char *)adsm_arena_alias(c));
	adsm_arena_destroy();
	return 0;
}
