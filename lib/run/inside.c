/* SPDX-License-Identifier: MIT */
/* inside.c - where drivers' code is, and whether a touch is theirs. */
#include "run/inside.h"

#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "engine/engine.h"
#include "core/index.h"

#define N_RANGES 4		/* libc's, and those of drivers */

struct range {
	_Atomic uintptr_t end;	/* 0: not there yet; set last */
	uintptr_t start;
};

static struct range libc, drivers[N_RANGES];
_Thread_local struct adsm_inside adsm_inside;

struct search {
	uintptr_t function;
	uintptr_t start, end;
};

static int find(struct dl_phdr_info *info, size_t size, void *arg)
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

static void note(struct range *range, const void *function)
{
	struct search search = { .function = (uintptr_t)function };

	if (!dl_iterate_phdr(find, &search))
		return;
	range->start = search.start;
	atomic_store(&range->end, search.end);
}

static bool has(const struct range *range, uintptr_t address)
{
	uintptr_t end = atomic_load_explicit(&range->end, memory_order_acquire);

	return end && address - range->start < end - range->start;
}

void adsm_inside_code(const void *function)
{
	size_t i = 0;

	if (adsm_inside_has(function))
		return;
	while (i < N_RANGES && atomic_load(&drivers[i].end))
		i++;
	if (i == N_RANGES)
		return;
	/* No function that has a wrapper. */
	if (!atomic_load(&libc.end))
		note(&libc, (const void *)(uintptr_t)getppid);
	note(&drivers[i], function);
}

bool adsm_inside_has(const void *address)
{
	for (size_t i = 0; i < N_RANGES; i++)
		if (has(&drivers[i], (uintptr_t)address))
			return true;
	return false;
}

bool adsm_inside_faults(const struct adsm_fault *fault)
{
	if (adsm_inside.frame || adsm_inside_has((const void *)fault->instruction))
		return true;
	/* Libc's memcpy() and its kind have no frame; what else may be there is a number like any other. */
	return has(&libc, fault->instruction) && !adsm_index_find((uintptr_t)fault->caller) &&
		adsm_inside_has((const void *)*fault->caller);
}

void adsm_inside_leave(uintptr_t stack)
{
	if (adsm_inside.frame < stack)
		adsm_inside.frame = 0;
}
