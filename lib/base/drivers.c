/* SPDX-License-Identifier: MIT */
/* drivers.c - the address ranges of the code of drivers and of the C library. */
#include "drivers.h"

#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#define N_RANGES 4		/* maximum number of drivers */

struct range {
	_Atomic uintptr_t end;	/* 0: not set yet; set last */
	uintptr_t start;
};

static struct range libc, drivers[N_RANGES];
struct search {
	uintptr_t function;
	uintptr_t start, end;
};

static int find_segment(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *search = arg;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_LOAD && header->p_flags & PF_X && search->function - start < header->p_memsz) {
			search->start = start;
			search->end = start + header->p_memsz;
			return 1;
		}
	}
	return 0;
}

static void note_range(struct range *range, const void *function)
{
	struct search search = { .function = (uintptr_t)function };

	if (!dl_iterate_phdr(find_segment, &search))
		return;
	range->start = search.start;
	atomic_store(&range->end, search.end);
}

static bool has(const struct range *range, uintptr_t address)
{
	uintptr_t end = atomic_load_explicit(&range->end, memory_order_acquire);

	return end && address - range->start < end - range->start;
}

void adsm_drivers_add(const void *function)
{
	size_t i = 0;

	if (adsm_drivers_have(function))
		return;
	while (i < N_RANGES && atomic_load(&drivers[i].end))
		i++;
	if (i == N_RANGES)
		return;
	/* getppid() is a function without a wrapper. */
	if (!atomic_load(&libc.end))
		note_range(&libc, (const void *)(uintptr_t)getppid);
	note_range(&drivers[i], function);
}

bool adsm_drivers_have(const void *address)
{
	for (size_t i = 0; i < N_RANGES; i++)
		if (has(&drivers[i], (uintptr_t)address))
			return true;
	return false;
}

bool adsm_drivers_libc(const void *address)
{
	return has(&libc, (uintptr_t)address);
}
