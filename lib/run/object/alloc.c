/* SPDX-License-Identifier: MIT */
/* alloc.c - allocate and free objects. */
#include "run/object/alloc.h"

#include <errno.h>

#include "base/log.h"
#include "core/arena.h"
#include "core/block.h"
#include "core/shared.h"
#include "run/wait/coalesced.h"
#include "run/wait/enter.h"
#include "run/copy/explicit.h"
#include "run/wait/helpers.h"
#include "run/object/kernel.h"
#include "run/object/replica_end.h"
#include "run/wait/wait.h"

int adsm_object_alloc(struct adsm_home *home, size_t size, const struct adsm_object_options *options,
		      void **ret_address)
{
	struct adsm_object *object;
	int error;

	if (!size)
		return adsm_fail(-EINVAL, "the size of an object is 0: it must be at least 1");
	error = home->device->backend->status(home->device);
	if (error)
		return error;
	if (!options->device_only && !options->protocol->whole_object) {
		error = adsm_evictor_start(home);
		if (error)
			return adsm_fail(error, "cannot start a thread for early transfers (ulimit -u, ulimit -v)");
	}
	error = adsm_object_create(home, size, options, &object);
	if (error)
		return error;
	if (!adsm_arena_has(object->start))
		adsm_shared_widen(object->start, object->span);
	*ret_address = (void *)object->start;
	return 0;
}

/* An object is freed by the function that belongs to the one that made it. */
static int check_maker(const struct adsm_object *object, const void *p, enum adsm_maker maker)
{
	static const char *const texts[][2] = {
		[ADSM_MAKER_ALLOC] = { "a shared object", "adsmFree()" },
		[ADSM_MAKER_DEVICE_ALLOC] = { "device-only memory", "adsmDeviceFree()" },
		[ADSM_MAKER_DRIVER] = { "the program's own memory", "the function of its driver" },
		[ADSM_MAKER_MODULE] = { "a variable of a module", "adsmModuleUnload()" },
	};
	enum adsm_maker made = object->adopted ? ADSM_MAKER_DRIVER :
		object->device_only ? ADSM_MAKER_DEVICE_ALLOC : object->fixed ? ADSM_MAKER_MODULE : ADSM_MAKER_ALLOC;

	return made == maker ? 0 : adsm_fail(-EINVAL, "%p is %s: free it with %s", p, texts[made][0], texts[made][1]);
}

int adsm_object_check_free(const struct adsm_object *object, const void *p, enum adsm_maker maker)
{
	int error;

	if (!object || object->freeing)
		return adsm_fail(-EINVAL, "%p is not the address of a live object", p);
	if (object->start != (uintptr_t)p)
		return adsm_fail(-EINVAL, "%p is inside %s, not its start", p, ADSM_THE_OBJECT(object));
	error = check_maker(object, p, maker);
	if (!error && object->blocks.n_holds)
		error = adsm_fail(-EBUSY, "%s is held: call adsmUnhold() first", ADSM_THE_OBJECT(object));
	return error;
}

int adsm_object_free(void *p, enum adsm_maker maker, bool wait, adsm_kept_free *driver_free)
{
	struct adsm_object *object;
	struct adsm_home *home;
	struct adsm_sigset old;
	int error;

	object = adsm_object_enter(p, &old);
	error = adsm_object_check_free(object, p, maker);
	if (error) {
		if (object)
			adsm_home_unlock(object->home, &old);
		return error;
	}
	home = object->home;
	object->freeing = true;
	adsm_home_unlock(home, &old);
	if (maker == ADSM_MAKER_DEVICE_ALLOC)
		error = adsm_wait_copies(home);
	else
		adsm_kernel_assign(NULL, (uintptr_t)p, 0);
	if (!error && adsm_n_homes > 1)
		error = adsm_replicas_end(object, false);
	adsm_home_lock(home, &old);
	while (!error) {
		uint64_t seq = wait ? adsm_object_user(object) : 0;

		if (seq)
			error = adsm_wait_unlocked(home, seq, &old);
		else if (!object->blocks.n_busy && !object->blocks.n_sending)
			break;
		else if (!adsm_send_queued(home))
			adsm_home_wait(home);
	}
	if (error) {
		object->freeing = false;
		if (object->assigned) {
			/* The object's assignments are gone, so that unnamed
			 * calls may use it from now on. Those before could not. */
			object->assigned = false;
			object->born_seq = home->last_seq;
			adsm_coalesced_close(home);
		}
		adsm_home_unlock(home, &old);
		return error;
	}
	error = adsm_object_destroy(object, driver_free) && driver_free;
	adsm_os_signals_restore(&old);
	return error;
}
