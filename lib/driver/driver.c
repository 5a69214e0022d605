/* SPDX-License-Identifier: MIT */
/* driver.c - programs that use a driver themselves: their memory as objects, their commands as calls. */
#include "driver/driver.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "core/block.h"
#include "core/index.h"
#include "core/life.h"
#include "core/resident.h"
#include "run/object/alloc.h"
#include "run/call/dataflow_end.h"
#include "run/wait/coalesced.h"
#include "run/copy/copy.h"
#include "run/wait/enter.h"
#include "run/copy/explicit.h"
#include "run/wait/in_driver.h"
#include "run/wait/sync.h"
#include "run/wait/wait.h"
#include "start/start.h"

#define BOUNCE ((size_t)1 << 20)	/* bytes in one step of a copy between two devices */

bool adsm_driver_active(void)
{
	return adsm_started() && adsm_objects_alive();
}

/* The program's driver gets the object's device address. Returns false if the device has no room for the object. */
static bool pin(const void *p)
{
	struct adsm_sigset old;
	struct adsm_object *object = adsm_object_enter(p, &old);
	struct adsm_object_text text;
	size_t size;
	int error;

	if (!object)
		return false;
	text = adsm_object_text(object);
	size = object->size;
	error = adsm_object_pin(object);
	adsm_home_unlock(object->home, &old);
	if (error)
		adsm_error("the driver cannot use %s (%zu bytes): %s", text.text, size, adsm_last_error());
	return !error;
}

bool adsm_driver_find(const void *p, struct adsm_driver_place *ret_place)
{
	const struct adsm_object *object = adsm_started() ? adsm_index_find((uintptr_t)p) : NULL;

	if (!object || !object->live || object->freeing || (uintptr_t)p - object->start >= object->size)
		return false;
	if (!object->pinned && !pin(p))
		return false;
	*ret_place = (struct adsm_driver_place){
		.home = object->home,
		.memory = object->memory,
		.start = object->start,
		.offset = (uintptr_t)p - object->start,
		.size = object->size,
		.device_only = object->device_only,
	};
	return true;
}

struct adsm_home *adsm_driver_home_of(void *context)
{
	return adsm_started() ? adsm_home_of(context) : NULL;
}

int adsm_driver_home(const char *backend, void *context, void *device, struct adsm_home **ret_home)
{
	*ret_home = adsm_driver_home_of(context);
	return *ret_home ? 0 : adsm_start_with(backend, context, device, ret_home);
}

/* Has the home objects that are not adopted? */
static bool has_own(struct adsm_home *home)
{
	struct adsm_object *object;
	struct adsm_sigset old;
	bool found = false;

	adsm_home_lock(home, &old);
	for (uint32_t i = 0; !found && (object = adsm_object_slot(i)); i++)
		found = adsm_object_is_at(object, home) && object->live && !object->adopted;
	adsm_home_unlock(home, &old);
	return found;
}

bool adsm_driver_end(struct adsm_home *home, bool always)
{
	struct adsm_sigset old;

	if (!always && (has_own(home) || adsm_modules_alive()))
		return false;
	home->device->backend->driver->end(home->device, "the program has ended its context", true);
	/* The loss has ended calls that ran. */
	adsm_home_lock(home, &old);
	adsm_retire(home);
	adsm_home_unlock(home, &old);
	return true;
}

int adsm_driver_adopt(struct adsm_home *home, uint64_t address, size_t size)
{
	const struct adsm_object_options options = {
		.protocol = adsm_protocol_find(adsm_protocol_options.protocol),
		.block_size = adsm_protocol_options.block_size,
		.adopt = address,
	};
	void *start;

	if (!address || address % ADSM_PAGE_SIZE)
		return adsm_fail(-EINVAL, "address 0x%lx is 0 or not aligned to pages", (unsigned long)address);
	return adsm_object_alloc(home, size, &options, &start);
}

int adsm_driver_reuse(struct adsm_home *home, size_t size, uint64_t *ret_address)
{
	const struct adsm_object_options options = {
		.protocol = adsm_protocol_find(adsm_protocol_options.protocol),
		.block_size = adsm_protocol_options.block_size,
		.reuse = true,
	};
	void *start;
	int error = adsm_object_alloc(home, size, &options, &start);

	if (!error)
		*ret_address = (uintptr_t)start;
	return error;
}

int adsm_driver_forget(const void *p, bool wait, adsm_kept_free *driver_free)
{
	int error = adsm_dataflow_leave_object(p, ADSM_MAKER_DRIVER);

	return error ? error : adsm_object_free((void *)p, ADSM_MAKER_DRIVER, wait, driver_free);
}

bool adsm_driver_give_up(struct adsm_home *home)
{
	return adsm_started() && adsm_objects_give_up(home);
}

size_t adsm_driver_kept(void *device)
{
	struct adsm_native native;
	size_t size = 0;

	for (int i = 0; adsm_started() && i < adsm_n_homes; i++) {
		struct adsm_home *home = &adsm_homes[i];

		if (adsm_kept_size(home) && !home->device->backend->driver->native(home->device, &native) &&
		    native.device == device)
			size += adsm_kept_size(home);
	}
	return size;
}

/* ---- commands */

struct commands {
	struct adsm_device *device;
	void *queue;
	int (*enqueue)(void *arg);
	void *arg;
	int result;			/* of enqueue */
	int error;			/* they run, but their end cannot be known */
};

static int start_commands(void *arg, struct adsm_device_event *ret_event)
{
	struct commands *c = arg;
	const struct adsm_driver_ops *driver = c->device->backend->driver;
	int error = ret_event ? driver->queue_follow(c->device, c->queue) : 0;

	if (error)
		return error;
	c->result = c->enqueue ? c->enqueue(c->arg) : 0;
	if (c->result)
		return 1;
	if (!ret_event)
		return 0;
	c->error = driver->queue_join(c->device, &c->queue, 1, ret_event);
	if (c->error)
		ret_event->seq = 0;
	return 0;
}

static int call(struct adsm_home *home, const struct adsm_driver_use *uses, size_t n, struct commands *c,
		bool coalesce, int *ret_result)
{
	int error = adsm_call_commands(home, uses, n, start_commands, c, c->queue, coalesce);

	if (error < 0)
		return error;
	if (c->error)
		return c->error;
	*ret_result = c->result;
	return 0;
}

int adsm_driver_call(struct adsm_home *home, const struct adsm_driver_use *uses, size_t n, void *queue,
		     int (*enqueue)(void *arg), void *arg, int *ret_result)
{
	struct commands c = { .device = home->device, .queue = queue, .enqueue = enqueue, .arg = arg };

	return call(home, uses, n, &c, false, ret_result);
}

/* Stands for a command that the driver refuses. */
static int give_nothing(void *arg)
{
	(void)arg;
	return 1;
}

int adsm_driver_send(struct adsm_home *home, const struct adsm_driver_use *use, void *queue)
{
	int result;

	return adsm_driver_call(home, use, 1, queue, give_nothing, NULL, &result);
}

int adsm_driver_launch(struct adsm_home *home, void *queue, int (*enqueue)(void *arg), void *arg, int *ret_result)
{
	struct commands c = { .device = home->device, .queue = queue, .enqueue = enqueue, .arg = arg };
	ADSM_UNCANCELLED;

	if (!adsm_coalesced_enter(home, queue))
		return call(home, NULL, 0, &c, true, ret_result);
	adsm_in_driver.enqueuing = home;
	*ret_result = enqueue(arg);
	adsm_in_driver.enqueuing = NULL;
	adsm_coalesced_leave(home, queue, !*ret_result);
	if (!*ret_result)
		adsm_count(NULL, calls, 1);
	return 0;
}

void adsm_driver_launched(struct adsm_home *home)
{
	for (int i = 0; adsm_started() && i < adsm_n_homes; i++)
		if (!home || home == &adsm_homes[i])
			adsm_coalesced_end(&adsm_homes[i]);
}

void adsm_driver_launched_on(void *queue)
{
	for (int i = 0; adsm_started() && i < adsm_n_homes; i++)
		if (adsm_coalesced_has(&adsm_homes[i], queue))
			adsm_coalesced_end(&adsm_homes[i]);
}

int adsm_driver_sync(struct adsm_home *home)
{
	return adsm_sync_commands(home);
}

/* ---- copies */

static int copy_bounced(char *dst, const char *src, size_t size)
{
	size_t room = size < BOUNCE ? size : BOUNCE;
	char *bounce = malloc(room);
	int error = bounce ? 0 : adsm_fail(-ENOMEM, "no memory to copy %zu bytes between two devices", size);

	while (!error && size) {
		size_t part = size < room ? size : room;

		error = adsm_copy_explicit(bounce, src, part, ADSM_TO_HOST, NULL);
		if (!error)
			error = adsm_copy_explicit(dst, bounce, part, ADSM_TO_DEVICE, NULL);
		dst += part;
		src += part;
		size -= part;
	}
	free(bounce);
	return error;
}

int adsm_driver_copy(void *dst, const struct adsm_driver_place *to, const void *src,
		     const struct adsm_driver_place *from, size_t size)
{
	bool to_device = to && to->device_only, from_device = from && from->device_only;

	if (to_device && from_device)
		return to->home == from->home ? adsm_copy_device(dst, src, size) : copy_bounced(dst, src, size);
	if (to_device)
		return adsm_copy_explicit(dst, src, size, ADSM_TO_DEVICE, NULL);
	if (from_device)
		return adsm_copy_explicit(dst, src, size, ADSM_TO_HOST, NULL);
	return adsm_copy_direct(dst, src, size);
}

int adsm_driver_fill(void *dst, const struct adsm_driver_place *to, int value, size_t size)
{
	return to->device_only ? adsm_fill_device(dst, value, size) : adsm_fill_direct(dst, value, size);
}
