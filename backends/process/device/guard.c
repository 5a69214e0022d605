/* SPDX-License-Identifier: MIT */
/* guard.c - see guard.h. */
#include "guard.h"

#include "base/log.h"
#include "base/os.h"
#include "crash.h"

#include <errno.h>
#include <signal.h>

#define LOWEST 65536			/* smaller addresses come from NULL */

static struct adsm_live live;
static uintptr_t memory;		/* 0: memory is not guarded */
static size_t memory_size;
static _Atomic uint64_t n_closed;	/* number of freed ranges that were closed */
/* Held while the bits and the list of freed ranges are read and protections are changed accordingly. So a range that
 * was freed and closed is not opened again. The thread that holds the lock touches no device memory. */
static struct adsm_lock lock = ADSM_LOCK_INIT(ADSM_RANK_GUARD);

/* The process has reached the limit of mappings (vm.max_map_count): open everything, so that correct kernels continue.
 * The application logs this. The lock is held. */
static bool open_all(void)
{
	atomic_store(&live.shared->is_open, 1);
	return !adsm_os_protect((void *)memory, memory_size, ADSM_PROT_RW);
}

/* Open all live memory around the address: then one mapping is enough for it. The lock is held. */
static bool open_live(uintptr_t address)
{
	struct adsm_live_range run;
	int error;

	/* The application may free the memory meanwhile: then the address is not live. */
	if (address - memory >= memory_size || !adsm_live_run(&live, address - memory, &run))
		return false;
	error = adsm_os_protect((void *)(memory + run.offset), run.size, ADSM_PROT_RW);
	return error == -ENOMEM ? open_all() : !error;
}

static bool open_memory(uintptr_t address)
{
	bool opened;

	adsm_lock(&lock);
	opened = open_live(address);
	adsm_unlock(&lock);
	return opened;
}

static const char *explain(int signal, uint64_t address, const char *access)
{
	static char why[320];

	if (signal != SIGSEGV)
		return NULL;
	adsm_guard_say(&live, memory, address, access, why, sizeof(why));
	return *why ? why : NULL;
}

void adsm_guard_say(const struct adsm_live *its, uint64_t base, uint64_t address, const char *access, char *ret_text,
		    size_t size)
{
	char near[160];

	*ret_text = '\0';
	adsm_live_say(its, base, address, near, sizeof(near));
	if (*near)
		adsm_format(ret_text, size, ": %s %s", access, near);
}

int adsm_guard_inside(uint64_t address, size_t size, uint64_t of, char *ret_text, size_t text_size)
{
	if (address < LOWEST) {
		adsm_format(ret_text, text_size, "at address %p, where no object is", (void *)address);
		return 0;
	}
	return !memory || adsm_live_inside(&live, memory, (struct adsm_live_range){ address, size }, of, ret_text,
					   text_size);
}

void adsm_guard_start(struct adsm_live_shared *shared, void *p, size_t size)
{
	adsm_live_start(&live, shared, size);
	memory = (uintptr_t)p;
	memory_size = size;
	adsm_crash_opener = open_memory;
	adsm_crash_explain = explain;
}

bool adsm_guard_is_on(void)
{
	return memory;
}

void adsm_guard_close(void)
{
	struct adsm_sigset old;
	uint64_t n, at;
	int error;

	if (!memory || atomic_load(&live.shared->n_freed) == atomic_load(&n_closed) ||
	    atomic_load(&live.shared->is_open))
		return;
	adsm_os_signals_block(&old);
	adsm_lock(&lock);
	at = atomic_load(&n_closed);
	for (; (n = atomic_load(&live.shared->n_freed)) != at; atomic_store(&n_closed, ++at)) {
		const uint64_t offset = atomic_load(&live.shared->freed[at % ADSM_LIVE_FREED].offset);
		const uint64_t size = atomic_load(&live.shared->freed[at % ADSM_LIVE_FREED].size);

		error = 0;
		/* The list has overwritten ranges that this loop has not read, or is reading: close everything. */
		if (atomic_load(&live.shared->n_freed) - at >= ADSM_LIVE_FREED) {
			at = n - 1;
			error = adsm_os_protect((void *)memory, memory_size, ADSM_PROT_NONE);
		} else if (offset < memory_size && size <= memory_size - offset) {
			error = adsm_os_protect((void *)(memory + offset), size, ADSM_PROT_NONE);
		}
		if (error == -ENOMEM) {
			open_all();
			break;
		}
	}
	adsm_unlock(&lock);
	adsm_os_signals_restore(&old);
}
