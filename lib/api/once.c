/* SPDX-License-Identifier: MIT */
/* api/once.c - the public functions for write-once objects. */
#include <errno.h>
#include <stdlib.h>

#include "api/sized.h"
#include "api/told.h"
#include "adsm_once.h"
#include "base/log.h"
#include "core/life.h"
#include "core/observe.h"
#include "once/make.h"
#include "once/wait.h"
#include "once/waiters.h"
#include "run/call/dataflow.h"
#include "run/call/once.h"
#include "start/start.h"

/* Also called in signal handlers. It does not start the library, because without an object there is nothing to do. */
static int object_of_unit(const adsmOnce *once, size_t unit, struct adsm_once_object **ret_object)
{
	int error = adsm_is_child() ? adsm_start() : 0;

	if (error)
		return error;
	*ret_object = adsm_once_of(once);
	if (!*ret_object)
		return -EINVAL;
	if (unit >= once->count)
		return adsm_fail(-EINVAL, "unit %zu does not exist: the write-once object at %p has %zu units, counted "
				 "from 0", unit, once->address, once->count);
	return 0;
}

adsmOnce *adsmOnceAlloc(size_t count, size_t size, const adsmOnceDistribution *distribution)
{
	ADSM_TELLS;
	static const struct adsm_sized sized = ADSM_SIZED(adsmOnceDistribution, "struct_size", arg);
	adsmOnceDistribution own = adsmOnceMake_(ADSM_ONCE_HOST, 0, 0, 0, 0);
	struct adsm_once_object *object;
	int error = adsm_start();

	if (!error && distribution)
		error = adsm_sized_take(&sized, &own, distribution, distribution->struct_size);
	if (!error)
		error = adsm_once_create(count, size, &own, &object);
	return error ? adsm_null_with(ADSM_TOLD(error)) : &object->handle;
}

int adsmOnceFree(adsmOnce *once)
{
	ADSM_TELLS;
	struct adsm_once_object *object;
	int error;

	if (!once)
		return 0;
	/* Freeing may wait for calls, so a service cannot do it. */
	error = adsm_serving ? adsm_start() : object_of_unit(once, 0, &object);
	return ADSM_TOLD(error ? error : adsm_once_free(object));
}

const void *adsmOnceWait(const adsmOnce *once, size_t unit)
{
	ADSM_TELLS;
	struct adsm_once_object *object;
	int error = object_of_unit(once, unit, &object);

	if (!error)
		error = adsm_once_get(object, unit, __builtin_return_address(0));
	return error ? adsm_null_with(ADSM_TOLD(error)) : (const char *)once->data + unit * once->size;
}

void *adsmOnceFresh(adsmOnce *once, size_t unit)
{
	ADSM_UNCANCELLED;	/* a handler may interrupt a wait that can be cancelled at any time */
	ADSM_TELLS;
	struct adsm_once_object *object;
	int error = object_of_unit(once, unit, &object);

	if (!error && adsm_once_fresh(object->shared, unit))
		error = adsm_fail(-EEXIST, "unit %zu of the write-once object at %p is set: a unit is written only "
				  "once", unit, once->address);
	return error ? adsm_null_with(ADSM_TOLD(error)) : (char *)once->room + unit * once->size;
}

int adsmOnceSet(adsmOnce *once, size_t unit)
{
	ADSM_UNCANCELLED;	/* a handler may interrupt a wait that can be cancelled at any time */
	ADSM_TELLS;
	struct adsm_once_object *object;
	int error = object_of_unit(once, unit, &object);

	if (error)
		return ADSM_TOLD(error);
	error = adsm_once_set(adsm_once_table, object->shared, (uintptr_t)once->address, unit);
	if (error == -EEXIST)
		return adsm_fail(error, "unit %zu of the write-once object at %p is set: a unit is written only once",
				 unit, once->address);
	if (error)
		return adsm_fail(error, "unit %zu of the write-once object at %p is not being written: call "
				 "adsmOnceFresh() before adsmOnceSet()", unit, once->address);
	return 0;
}

void *adsmOnceRoom(adsmOnce *once, size_t unit)
{
	ADSM_TELLS;
	struct adsm_once_object *object;
	int error = object_of_unit(once, unit, &object);

	if (!error)
		error = adsm_once_room(object, unit, __builtin_return_address(0));
	return error ? adsm_null_with(ADSM_TOLD(error)) : (char *)once->room + unit * once->size;
}

int adsmOnceEmpty(adsmOnce *once, size_t unit)
{
	ADSM_UNCANCELLED;
	ADSM_TELLS;
	struct adsm_once_object *object;
	int error = object_of_unit(once, unit, &object);

	return ADSM_TOLD(error ? error : adsm_once_make_empty(object, unit));
}

int adsmOncePlace(const adsmOnce *once, size_t unit, int *ret_device)
{
	ADSM_TELLS;
	struct adsm_once_object *object;
	int error = object_of_unit(once, unit, &object);
	size_t run = 0, page;

	if (!error && !ret_device)
		error = adsm_fail(-EINVAL, "adsmOncePlace(): ret_device is NULL");
	if (error)
		return ADSM_TOLD(error);
	page = unit * once->size / ADSM_PAGE_SIZE;
	while (page - object->runs[run].first_page >= object->runs[run].n_pages)
		run++;
	*ret_device = object->runs[run].device;
	return 0;
}

int adsmOnceWaiters(adsmOnceWaiter *ret_waiters, size_t max, size_t size)
{
	static const struct adsm_sized sized = ADSM_SIZED(adsmOnceWaiter, "size", kernel);
	ADSM_TELLS;
	adsmOnceWaiter *waiters;
	size_t n;
	int error;

	if (adsm_is_child())
		return ADSM_TOLD(adsm_start());
	if (max && !ret_waiters)
		return adsm_fail(-EINVAL, "adsmOnceWaiters(): max is %zu, but ret_waiters is NULL", max);
	error = max ? adsm_sized_check(&sized, ret_waiters, size) : 0;
	if (error)
		return error;
	max = max < ADSM_ONCE_SLOTS ? max : ADSM_ONCE_SLOTS;
	waiters = calloc(max + 1, sizeof(*waiters));
	if (!waiters)
		return adsm_fail(-ENOMEM, "adsmOnceWaiters(): no memory for %zu waiters", max);
	n = adsm_once_waiters(NULL, waiters, max);
	for (size_t i = 0; i < n && i < max; i++) {
		if (waiters[i].where)
			adsm_observer->place(waiters[i].where, waiters[i].place, sizeof(waiters[i].place));
		adsm_sized_give(&sized, &waiters[i], (char *)ret_waiters + i * size, size);
	}
	free(waiters);
	if (n && max)
		adsm_observer->place(NULL, NULL, 0);
	return (int)n;
}

int adsmOnceCallArgs(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args, size_t n)
{
	ADSM_TELLS;
	int error = adsm_start();

	if (!error && n && !args)
		error = adsm_fail(-EINVAL, "adsmOnceCallArgs(): n is %zu, but args is NULL", n);
	return ADSM_TOLD(error ? error : adsm_dataflow_call(kernel, grid, block, args, n, __builtin_return_address(0)));
}
