/* SPDX-License-Identifier: MIT */
/*
 * arena.c - the file, the view, the alias, and the free ranges: an ordered array, first fit. objects.c serialises the
 * callers of take and give.
 *
 * Fresh pages are slow: the system zeroes them (1.6 GB/s against 15 GB/s), and page tables have to be made. So the
 * latest views that were given back are kept with their pages, closed, for objects of exactly that size. Programs often
 * allocate the same sizes again.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/arena.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "core/options.h"
#include "base/os.h"

#define DEFAULT_SIZE ((size_t)256 << 30)
#define LEAST_SIZE ((size_t)32 << 20)

struct range {
	uintptr_t start;
	size_t size;
	enum adsm_pages pages;
};

struct adsm_arena adsm_arena = { .fd = -1 };

static struct range *free_ranges;
static size_t n_free, capacity;

#define MAX_KEPT 64

static struct range kept[MAX_KEPT];	/* not among the free ranges; oldest first */
static size_t n_kept, kept_size;
static bool left;			/* adsm_arena_leave() */
static atomic_bool undumped;		/* objects are left out of core files: adsm_arena_merge() */

static int reserve(uintptr_t address, size_t size, void **ret_base)
{
	/* Both are free under all sanitizers and valgrind; the first is above the addresses that these use. */
	static const uintptr_t preferred[] = { 0x7e8000000000, 0x110000000000, 0 };

	if (address)
		return adsm_os_reserve(address, size, ret_base);
	for (size_t i = 0; i < sizeof(preferred) / sizeof(preferred[0]); i++)
		if (!adsm_os_reserve(preferred[i], size, ret_base))
			return 0;
	return -ENOMEM;
}

static int create(uintptr_t address, size_t size)
{
	void *base, *alias;
	int fd, error;

	error = adsm_fd_memory("adsm-arena", size, &fd);
	if (error)
		return error;
	error = reserve(address, size, &base);
	if (error)
		goto close_fd;
	error = adsm_os_map(base, size, fd, 0, ADSM_PROT_NONE, &base);
	if (error)
		goto unmap_base;
	adsm_os_dump(base, size, false);
	error = adsm_os_map(NULL, size, fd, 0, ADSM_PROT_RW, &alias);
	if (error)
		goto unmap_base;
	free_ranges = malloc(sizeof(*free_ranges));
	if (!free_ranges) {
		error = -ENOMEM;
		goto unmap_alias;
	}
	free_ranges[0] = (struct range){ (uintptr_t)base, size, ADSM_PAGES_NONE };
	n_free = capacity = 1;
	adsm_arena = (struct adsm_arena){ (uintptr_t)base, size, alias, fd };
	atomic_store(&undumped, false);
	return 0;

unmap_alias:
	adsm_os_unmap(alias, size);
unmap_base:
	adsm_os_unmap(base, size);
close_fd:
	close(fd);
	return error;
}

int adsm_arena_create(uintptr_t address, size_t size)
{
	int error;

	if (size)
		error = create(address, size);
	else
		for (size = DEFAULT_SIZE, error = -ENOMEM; error && size >= LEAST_SIZE; size /= 2)
			error = create(address, size);
	if (error == -EFBIG)
		return adsm_fail(error, "cannot create the arena's file: it exceeds the limit of the size of files "
				 "(ulimit -f)");
	if (error == -EMFILE || error == -ENFILE)
		return adsm_fail(error, "cannot create the arena's file: too many open descriptors (ulimit -n)");
	if (error == -EPERM || error == -EACCES || error == -ENOSYS)
		return adsm_fail(error, "cannot create the arena's file: the system refuses memfd_create(2): %s%s",
				 strerror(-error), adsm_os_limit(error));
	if (error)
		return adsm_fail(error, "cannot reserve address space for the arena: %s%s; set a smaller size in "
				 "ADSM_ARENA", strerror(-error), adsm_os_limit(error));
	adsm_info("arena: %zu MiB at %p", adsm_arena.size >> 20, (void *)adsm_arena.base);
	return 0;
}

bool adsm_arena_is_too_large(int error)
{
	uint64_t limit = adsm_os_address_limit();
	void *room;

	if (limit == UINT64_MAX || adsm_core_options.arena.size || adsm_arena.size / 2 < LEAST_SIZE)
		return false;
	if (error)
		return error == -ENOMEM || error == -EAGAIN;	/* EAGAIN: no memory for a thread's stack */
	/* A quarter of the limit is for the program. */
	if (adsm_os_reserve(0, limit / 4 & ~(ADSM_PAGE_SIZE - 1), &room))
		return true;
	adsm_os_unmap(room, limit / 4 & ~(ADSM_PAGE_SIZE - 1));
	return false;
}

int adsm_arena_shrink(void)
{
	size_t size = adsm_arena.size / 2;

	adsm_arena_destroy();
	return adsm_arena_create(adsm_core_options.arena.address, size);
}

void adsm_arena_close_file(void)
{
	if (adsm_arena.fd >= 0)
		close(adsm_arena.fd);
	adsm_arena.fd = -1;
}

void adsm_arena_destroy(void)
{
	adsm_arena_close_file();
	/* If a driver dictated addresses, closed mappings of the file still exist. */
	if (n_kept)
		adsm_os_discard(adsm_arena.alias, adsm_arena.size);
	if (left)
		adsm_os_unmap_to_reserve((void *)adsm_arena.base, adsm_arena.size);
	else
		adsm_os_unmap((void *)adsm_arena.base, adsm_arena.size);
	left = false;
	adsm_os_unmap(adsm_arena.alias, adsm_arena.size);
	free(free_ranges);
	free_ranges = NULL;
	n_free = capacity = n_kept = kept_size = 0;
	adsm_arena = (struct adsm_arena){ .fd = -1 };
}

void adsm_arena_leave(void)
{
	left = true;
}

void adsm_arena_child(void)
{
	void *base;

	adsm_os_reserve(adsm_arena.base, adsm_arena.size, &base);
}

/* Make room for more ranges before anything changes, so that giving a range back cannot fail. */
static int grow(void)
{
	size_t wanted = capacity * 2;
	struct range *bigger;

	/* Taking may split a range, and each range that is taken may come back as a separate one. */
	if (n_free + 2 <= capacity)
		return 0;
	bigger = realloc(free_ranges, wanted * sizeof(*bigger) + 2 * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	free_ranges = bigger;
	capacity = wanted + 2;
	return 0;
}

static void insert_at(size_t i, uintptr_t start, size_t size)
{
	memmove(&free_ranges[i + 1], &free_ranges[i], (n_free - i) * sizeof(*free_ranges));
	free_ranges[i] = (struct range){ start, size, ADSM_PAGES_NONE };
	n_free++;
}

static void remove_at(size_t i)
{
	n_free--;
	memmove(&free_ranges[i], &free_ranges[i + 1], (n_free - i) * sizeof(*free_ranges));
}

static int take_free(size_t size, uintptr_t *ret_start)
{
	size_t align = size >= ADSM_HUGE_PAGE_SIZE ? ADSM_HUGE_PAGE_SIZE : ADSM_PAGE_SIZE;

	if (grow())
		return -ENOMEM;
	for (size_t i = 0; i < n_free; i++) {
		struct range *r = &free_ranges[i];
		uintptr_t start = (r->start + align - 1) & ~(align - 1);
		uintptr_t end = r->start + r->size;

		if (start >= end || end - start < size)
			continue;
		*ret_start = start;
		r->size = start - r->start;
		if (!r->size)
			remove_at(i);
		else
			i++;
		if (start + size < end)
			insert_at(i, start + size, end - start - size);
		return 0;
	}
	return -ENOMEM;
}

void adsm_arena_give(uintptr_t start, size_t size)
{
	size_t low = 0, high = n_free;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (free_ranges[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	/* `low` is the first free range behind this one. */
	if (low < n_free && start + size == free_ranges[low].start) {
		free_ranges[low].start = start;
		free_ranges[low].size += size;
	} else if (n_free == capacity && grow()) {
		adsm_warn("out of memory: %zu bytes of address space stay unused", size);
		return;
	} else {
		insert_at(low, start, size);
	}
	if (low > 0 && free_ranges[low - 1].start + free_ranges[low - 1].size == start) {
		free_ranges[low - 1].size += free_ranges[low].size;
		remove_at(low);
	}
}

static struct range remove_kept(size_t i)
{
	struct range range = kept[i];

	n_kept--;
	kept_size -= range.size;
	memmove(&kept[i], &kept[i + 1], (n_kept - i) * sizeof(*kept));
	return range;
}

void adsm_arena_merge(void)
{
	/* Once only: after that core files leave out the arena, and closed ranges become one mapping by themselves. */
	if (atomic_load(&undumped))
		return;
	adsm_os_dump((void *)adsm_arena.base, adsm_arena.size, false);
	if (!atomic_exchange(&undumped, true))
		adsm_info("the process has too many mappings (vm.max_map_count): core files do not contain objects "
			  "from now on");
}

static void set_dump(uintptr_t start, size_t size, bool dump)
{
	if (!atomic_load_explicit(&undumped, memory_order_relaxed) &&
	    adsm_os_dump((void *)start, size, dump) == -ENOMEM)
		adsm_arena_merge();
}

void adsm_arena_discard(uintptr_t start, size_t size)
{
	int error = adsm_os_discard(adsm_arena_alias(start), size);

	if (error)
		adsm_warn("cannot give %zu bytes at %p back to the system: error %d", size, (void *)start, error);
}

/* Give pages back to the system, and the range to the free ones. */
static void release(struct range range)
{
	set_dump(range.start, range.size, false);
	adsm_arena_discard(range.start, range.size);
	adsm_arena_give(range.start, range.size);
}

int adsm_arena_take(size_t size, uintptr_t *ret_start)
{
	int error = take_free(size, ret_start);

	while (error && n_kept) {
		release(remove_kept(0));
		error = take_free(size, ret_start);
	}
	if (error)
		return adsm_fail(error, "no address space left in the arena for %zu bytes (ADSM_ARENA)", size);
	return 0;
}

int adsm_arena_take_view(size_t size, uintptr_t *ret_start, enum adsm_pages *ret_pages)
{
	int error;

	for (size_t i = n_kept; i-- > 0; ) {
		struct range range;

		if (kept[i].size != size)
			continue;
		range = remove_kept(i);
		if (!adsm_os_protect((void *)range.start, size, ADSM_PROT_NONE)) {
			*ret_start = range.start;
			*ret_pages = range.pages;
			return 0;
		}
		release(range);
		break;
	}
	error = adsm_arena_take(size, ret_start);
	if (error)
		return error;
	/* Its last owner may have been unable to close it. */
	error = adsm_os_protect((void *)*ret_start, size, ADSM_PROT_NONE);
	if (error) {
		adsm_arena_give(*ret_start, size);
		return adsm_fail(error, "cannot close %zu bytes: no mappings are left (vm.max_map_count)", size);
	}
	set_dump(*ret_start, size, true);
	*ret_pages = ADSM_PAGES_NONE;
	return 0;
}

void adsm_arena_give_view(uintptr_t start, size_t size, enum adsm_pages pages)
{
	struct range range = { start, size, pages };

	if (pages == ADSM_PAGES_NONE || size > adsm_core_options.keep) {
		release(range);
		return;
	}
	while (n_kept == MAX_KEPT || kept_size + size > adsm_core_options.keep)
		release(remove_kept(0));
	kept[n_kept++] = range;
	kept_size += size;
}
