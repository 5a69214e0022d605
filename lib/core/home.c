/* SPDX-License-Identifier: MIT */
/* home.c - the homes, their lock, and waits for their tick. */
#include "core/home.h"

#include <errno.h>

#include "base/error.h"
#include "base/log.h"
#include "core/spent.h"

struct adsm_home adsm_homes[ADSM_MAX_DEVICES];
_Atomic int adsm_n_homes;
int (*adsm_call_query)(struct adsm_home *home, uint64_t seq, int *ret_status);

/* The device of this thread; its complement if the library chooses the device of calls. */
static _Thread_local int own;

static int own_device(void)
{
	return own < 0 ? ~own : own;
}

int adsm_home_get(int index, struct adsm_home **ret_home)
{
	if (index == ADSM_DEVICE_CURRENT)
		index = own_device() < adsm_n_homes ? own_device() : 0;
	if (index < 0 || index >= adsm_n_homes)
		return adsm_fail(-EINVAL, "device %d does not exist: there are %d, counted from 0", index,
				 adsm_n_homes);
	*ret_home = &adsm_homes[index];
	return 0;
}

int adsm_home_set(int index)
{
	struct adsm_home *home;
	int error;

	if (index == ADSM_DEVICE_CURRENT)
		return adsm_fail(-EINVAL, "device %d does not exist: devices are counted from 0", index);
	if (index == ADSM_DEVICE_ANY) {
		own = ~own_device();
		return 0;
	}
	error = adsm_home_get(index, &home);
	if (!error)
		own = index;
	return error;
}

bool adsm_home_any(void)
{
	return own < 0 && adsm_n_homes > 1;
}

struct adsm_home *adsm_home_of(void *context)
{
	static char none;

	for (int i = 0; i < adsm_n_homes; i++) {
		struct adsm_home *home = &adsm_homes[i];
		void *known = atomic_load_explicit(&home->native_context, memory_order_relaxed);
		struct adsm_native native;

		if (!known) {
			known = !home->device->backend->driver->native(home->device, &native) && native.context ?
				native.context : &none;
			atomic_store_explicit(&home->native_context, known, memory_order_relaxed);
		}
		if (known == context)
			return home;
	}
	return NULL;
}

const char *adsm_home_reason(const struct adsm_home *home, int error)
{
	const char *how = error == -ENODEV ? atomic_load(&home->device->lost) : NULL;

	return how ? how : adsm_error_string(error);
}

/* ---- the lock */

void adsm_home_lock(struct adsm_home *home, struct adsm_sigset *ret_old)
{
	adsm_os_signals_block(ret_old);
	adsm_lock(&home->lock);
}

void adsm_home_unlock(struct adsm_home *home, const struct adsm_sigset *old)
{
	adsm_home_leave(home, old);
}

void adsm_home_wait(struct adsm_home *home)
{
	uint32_t tick = atomic_load(&home->tick);
	uint64_t start = adsm_os_now_ns();

	atomic_fetch_add(&home->n_waiting, 1);
	/* The evictor may have to do what this thread waits for. */
	adsm_home_leave(home, NULL);
	adsm_os_wait(&home->tick, tick, 0, false);
	adsm_spend(adsm_os_now_ns() - start);
	atomic_fetch_sub(&home->n_waiting, 1);
	adsm_lock(&home->lock);
}
