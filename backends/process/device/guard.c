/* SPDX-License-Identifier: MIT */
/* guard.c - see guard.h. */
#include "guard.h"

#include "base/log.h"
#include "base/os.h"
#include "crash.h"

#include <pthread.h>
#include <signal.h>

static struct adsm_live live;
static uintptr_t memory;		/* 0: nothing is guarded */
static size_t memory_size;
static uint64_t n_closed;		/* freed ranges */
static _Atomic bool is_open;		/* all of it: the process has no more mappings */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;	/* who closes: launches and requests are two threads */

/* All live memory around it, as one mapping has room for it. */
static bool open_memory(uintptr_t address)
{
	struct adsm_live_range run;

	if (address - memory >= memory_size || !adsm_live_has(&live, address - memory))
		return false;
	run = adsm_live_run(&live, address - memory);
	if (!adsm_os_protect((void *)(memory + run.offset), run.size, ADSM_PROT_RW))
		return true;
	/* vm.max_map_count: kernels that are right go on. */
	atomic_store(&is_open, true);
	return !adsm_os_protect((void *)memory, memory_size, ADSM_PROT_RW);
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

void adsm_guard_start(struct adsm_live_shared *shared, void *p, size_t size)
{
	adsm_live_start(&live, shared, size);
	memory = (uintptr_t)p;
	memory_size = size;
	adsm_crash_opener(open_memory);
	adsm_crash_explain(explain);
}

bool adsm_guard_is_on(void)
{
	return memory;
}

void adsm_guard_close(void)
{
	uint64_t n;

	if (!memory || atomic_load(&live.shared->n_freed) == n_closed || atomic_load(&is_open))
		return;
	pthread_mutex_lock(&mutex);
	for (; (n = atomic_load(&live.shared->n_freed)) != n_closed; n_closed++) {
		const uint64_t offset = atomic_load(&live.shared->freed[n_closed % ADSM_LIVE_FREED].offset);
		const uint64_t size = atomic_load(&live.shared->freed[n_closed % ADSM_LIVE_FREED].size);

		/* So many have come that some are forgotten, or were when they were read: all is closed. */
		if (atomic_load(&live.shared->n_freed) - n_closed >= ADSM_LIVE_FREED) {
			n_closed = n - 1;
			adsm_os_protect((void *)memory, memory_size, ADSM_PROT_NONE);
		} else if (offset < memory_size && size <= memory_size - offset) {
			adsm_os_protect((void *)(memory + offset), size, ADSM_PROT_NONE);
		}
	}
	pthread_mutex_unlock(&mutex);
}
