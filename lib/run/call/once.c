/* SPDX-License-Identifier: MIT */
/* once.c - see once.h. */
#include "run/call/once.h"

#include <errno.h>
#include <sched.h>

#include "base/log.h"
#include "once/make.h"
#include "once/waiters.h"
#include "run/call/dataflow_end.h"
#include "run/wait/wait.h"

static int check_waiters(const struct adsm_once_object *object)
{
	adsmOnceWaiter waiter;

	if (!adsm_once_waiters(object->handle.address, &waiter, 1))
		return 0;
	return adsm_fail(-EBUSY, "the write-once object at %p cannot be freed: %s%sthread %d waits for unit %zu",
			 waiter.address, waiter.device < 0 ? "" : waiter.place, waiter.device < 0 ? "" : ", ",
			 waiter.thread, waiter.unit);
}

static int wait_for_calls(const struct adsm_once_object *object)
{
	int error = 0;

	for (int i = 0; i < adsm_n_homes && !error; i++) {
		uint64_t seq = atomic_load(&object->use_seq[i]);

		error = seq ? adsm_wait_call(&adsm_homes[i], seq) : 0;
	}
	return error;
}

int adsm_once_free(struct adsm_once_object *object)
{
	int error = check_waiters(object);

	/* If this fails, other threads can use the object all the time. */
	if (!error)
		error = adsm_dataflow_check_once(object);
	if (error)
		return error;
	if (atomic_exchange(&object->closing, true))
		return adsm_fail(-EINVAL, "the write-once object at %p is being freed", object->handle.address);
	/* Calls that are just being entered have a reference. One by ranges may then wait for a unit of the object. */
	while (!(error = adsm_dataflow_leave_once(object)) && atomic_load(&object->users))
		sched_yield();
	if (!error)
		error = wait_for_calls(object);
	if (!error)
		error = check_waiters(object);
	if (error)
		atomic_store(&object->closing, false);
	return error ? error : adsm_once_destroy(object);
}
