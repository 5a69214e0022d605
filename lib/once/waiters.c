/* SPDX-License-Identifier: MIT */
/* once/waiters.c - see waiters.h. */
#include "once/waiters.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/os.h"
#include "once/once.h"

/* Is the waiting thread gone? A thread of this process may have left the wait by a jump, and ended. The threads of a
 * device are gone after its loss. */
static bool is_gone(const struct adsm_once_note *note)
{
	struct adsm_device *device;
	char path[64];

	if (note->device >= 0) {
		device = note->device < adsm_n_homes ? adsm_homes[note->device].device : NULL;
		return device && device->backend->status(device);
	}
	adsm_format(path, sizeof(path), "/proc/self/task/%d", note->thread);
	return access(path, F_OK);
}

static void describe(const struct adsm_once_note *note, uint64_t now, adsmOnceWaiter *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->address = (const void *)note->address;
	ret->unit = note->unit & ~ADSM_ONCE_ROOM;
	ret->device = note->device;
	ret->thread = note->thread;
	ret->waited_ns = now - note->since_ns;
	if (note->device >= 0) {
		size_t n = (size_t)adsm_format(ret->place, sizeof(ret->place), "kernel %s, block %lu", note->kernel,
					       (unsigned long)note->where);

		if (note->node)
			adsm_format(ret->place + n, sizeof(ret->place) - n, " on node %lu",
				    (unsigned long)note->node - 1);
		memcpy(ret->kernel, note->kernel, sizeof(ret->kernel));
	} else {
		ret->where = (const void *)note->where;
	}
}

/* Insert a wait, the longest first, into a list that has @n entries and room for @max. */
static void insert(adsmOnceWaiter *waiters, size_t n, size_t max, const adsmOnceWaiter *waiter)
{
	size_t at = n < max ? n : max;

	while (at && waiters[at - 1].waited_ns < waiter->waited_ns)
		at--;
	if (at == max)
		return;
	memmove(&waiters[at + 1], &waiters[at], ((n < max ? n : max - 1) - at) * sizeof(*waiters));
	waiters[at] = *waiter;
}

size_t adsm_once_waiters(const void *address, adsmOnceWaiter *ret_waiters, size_t max)
{
	uint64_t now = adsm_os_now_ns();
	size_t n = 0;

	adsm_mutex_lock(&adsm_once_mutex);
	for (uint32_t i = 0; adsm_once_table && i < ADSM_ONCE_SLOTS; i++) {
		struct adsm_once_note note;
		adsmOnceWaiter waiter;

		if (!adsm_once_note_read(adsm_once_table, i, &note) || (address && note.address != (uintptr_t)address))
			continue;
		/* Its thread is woken but has not removed its note yet, or is gone. */
		if (!adsm_once_awaited(&note) || is_gone(&note))
			continue;
		describe(&note, now > note.since_ns ? now : note.since_ns, &waiter);
		insert(ret_waiters, n, max, &waiter);
		n++;
	}
	adsm_mutex_unlock(&adsm_once_mutex);
	return n;
}
