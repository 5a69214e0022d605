/* SPDX-License-Identifier: MIT */
/* api.c - the public functions except those for modules: they check arguments, start the library, and set errno. */
#include <errno.h>
#include <string.h>

#include "api/sized.h"
#include "api/told.h"
#include "base/error.h"
#include "base/log.h"
#include "engine/sigsegv.h"
#include "start/options.h"
#include "core/life.h"
#include "core/observe.h"
#include "core/resident.h"
#include "run/object/alloc.h"
#include "run/call/call.h"
#include "run/call/dataflow_end.h"
#include "run/copy/copy.h"
#include "run/wait/enter.h"
#include "run/copy/explicit.h"
#include "run/touch/hold.h"
#include "run/copy/io.h"
#include "run/wait/sync.h"
#include "run/wait/wait.h"
#include "start/start.h"

/* The callers' structures, each with the last field of its first version. */
static const struct adsm_sized alloc_sized = ADSM_SIZED(adsmAllocOptions, "struct_size", block_size),
	device_props = ADSM_SIZED(adsmDeviceProps, "struct_size", memory_free),
	object_props = ADSM_SIZED(adsmObjectProps, "struct_size", n_blocks),
	stats_sized = ADSM_SIZED(adsmStats, "size", wait_ns);

int adsmVersion(void)
{
	return ADSM_VERSION;
}

int adsmInit(void)
{
	ADSM_TELLS;

	return ADSM_TOLD(adsm_start());
}

int adsmShutdown(void)
{
	ADSM_TELLS;
	const int error = ADSM_TOLD(adsm_stop());

	adsm_printed_show();
	return error;
}

int adsmOption(const char *name, const char *value)
{
	ADSM_TELLS;

	if (!name)
		return adsm_fail(-EINVAL, "adsmOption(): the name is NULL");
	if (adsm_is_child())
		return ADSM_TOLD(adsm_start());
	if (adsm_started())
		return adsm_fail(-EBUSY, "adsmOption(\"%s\") comes too late: the library reads options at its start",
				 name);
	return ADSM_TOLD(adsm_options_set(name, value));
}

const char *adsmErrorString(int error)
{
	return adsm_error_string(error);
}

const char *adsmLastError(void)
{
	return adsm_last_error();
}

/* ---- shared memory */

static int alloc_options(const adsmAllocOptions *in, struct adsm_object_options *ret_options,
			 struct adsm_home **ret_home)
{
	const char *protocol = in->protocol ? in->protocol : adsm_protocol_options.protocol;

	if (in->flags & ~(ADSM_ALLOC_POPULATE | ADSM_ALLOC_ZERO))
		return adsm_fail(-EINVAL, "adsmAllocOptions: the flags 0x%x are unknown", in->flags);
	ret_options->protocol = adsm_protocol_find(protocol);
	if (!ret_options->protocol)
		return adsm_fail(-EINVAL, "protocol '%s' does not exist; valid: %s", protocol,
				 adsm_protocol_rows->valid);
	ret_options->block_size = in->block_size ? in->block_size : adsm_protocol_options.block_size;
	if (ret_options->block_size < ADSM_PAGE_SIZE || ret_options->block_size > (size_t)1 << 30 ||
	    (ret_options->block_size & (ret_options->block_size - 1)))
		return adsm_fail(-EINVAL, "a block size of %zu bytes is not valid: it must be a power of two from %zu "
				 "to 1 GiB", ret_options->block_size, ADSM_PAGE_SIZE);
	ret_options->populate = in->flags & ADSM_ALLOC_POPULATE;
	return adsm_home_get(in->device, ret_home);
}

/* The device fills the object, block by block. Bytes that the CPU has of an older object are not used. */
static int fill_with_zeros(void *address, size_t size, const void *where)
{
	int error = adsm_memset(address, 0, size, where);
	struct adsm_error_kept why;

	if (error) {
		adsm_error_keep(&why);
		adsm_object_free(address, ADSM_MAKER_ALLOC, true, NULL);
		adsm_error_back(&why);
	}
	return error;
}

void *adsmAllocWith(size_t size, const adsmAllocOptions *options)
{
	ADSM_TELLS;
	adsmAllocOptions own = ADSM_ALLOC_OPTIONS_INIT;
	struct adsm_object_options internal = { 0 };
	struct adsm_home *home;
	void *address;
	int error = adsm_start();

	if (!error && options)
		error = adsm_sized_take(&alloc_sized, &own, options, options->struct_size);
	if (!error)
		error = alloc_options(&own, &internal, &home);
	if (!error)
		error = adsm_object_alloc(home, size, &internal, &address);
	if (!error && own.flags & ADSM_ALLOC_ZERO)
		error = fill_with_zeros(address, size, __builtin_return_address(0));
	return error ? adsm_null_with(ADSM_TOLD(error)) : address;
}

void *adsmAlloc(size_t size)
{
	return adsmAllocWith(size, NULL);
}

void *adsmSafeAlloc(size_t size)
{
	return adsmAlloc(size);
}

/* Calls by ranges that have not begun need the object. */
static int free_object(void *p, enum adsm_maker maker)
{
	int error = adsm_dataflow_leave_object(p, maker);

	return error ? error : adsm_object_free(p, maker, true, NULL);
}

int adsmFree(void *p)
{
	ADSM_TELLS;
	int error = p ? adsm_start() : 0;

	adsm_io_look_back(ADSM_STACK());
	if (p && !error)
		error = free_object(p, ADSM_MAKER_ALLOC);
	adsm_printed_show();
	return ADSM_TOLD(error);
}

uint64_t adsmSafe(const void *p)
{
	ADSM_TELLS;
	struct adsm_object *object;
	struct adsm_sigset old;
	uint64_t address = 0;
	int error = adsm_start();

	if (!error) {
		object = adsm_object_enter(p, &old);
		if (!object) {
			error = adsm_fail(-EINVAL, "%p is not in a live object", p);
		} else {
			error = object->home->device->caps.has_address ? adsm_object_pin(object) :
				adsm_fail(-ENOTSUP, "the memory of this device has no addresses");
			if (!error)
				address = object->memory->address + ((uintptr_t)p - object->start);
			adsm_home_unlock(object->home, &old);
		}
	}
	if (error)
		errno = -ADSM_TOLD(error);
	return address;
}

int adsmMemcpy(void *dst, const void *src, size_t size)
{
	return ADSM_AFTER_LOOK_BACK(adsm_memcpy(dst, src, size, __builtin_return_address(0)));
}

int adsmMemset(void *dst, int value, size_t size)
{
	return ADSM_AFTER_LOOK_BACK(adsm_memset(dst, value, size, __builtin_return_address(0)));
}

int adsmHold(const void *p, size_t size, unsigned access)
{
	return ADSM_AFTER_LOOK_BACK(adsm_hold(p, size, access, __builtin_return_address(0)));
}

int adsmUnhold(const void *p, size_t size)
{
	return ADSM_AFTER_LOOK_BACK(adsm_unhold(p, size));
}

int adsmHandleFault(int sig, void *info, void *context)
{
	return info && context && adsm_sigsegv_handle(sig, info, context);
}

/* ---- devices */

int adsmDeviceCount(void)
{
	return ADSM_AFTER_START(adsm_n_homes);
}

int adsmDeviceInfo(int device, adsmDeviceProps *ret_props)
{
	ADSM_TELLS;
	const size_t room = ret_props ? ret_props->struct_size : 0;
	adsmDeviceProps props = { 0 };
	const struct adsm_device *d;
	struct adsm_home *home;
	int error = adsm_start();

	if (!error)
		error = adsm_sized_check(&device_props, ret_props, room);
	if (!error)
		error = adsm_home_get(device, &home);
	if (error)
		return ADSM_TOLD(error);
	d = home->device;
	props.struct_size = room;
	adsm_format(props.name, sizeof(props.name), "%s", d->name);
	adsm_format(props.backend, sizeof(props.backend), "%s", d->backend->name);
	props.memory_size = d->caps.memory_size;
	props.memory_free = adsm_objects_memory_free(home);
	props.compute_units = d->caps.compute_units;
	props.same_address = d->caps.given_address || d->caps.dictates_address;
	props.unified = d->caps.unified;
	props.signal_safe = d->caps.signal_safe;
	props.lost = d->backend->status(home->device) != 0;
	props.max_workers = d->caps.max_workers;
	adsm_format(props.memory, sizeof(props.memory), "%s", d->caps.memory);
	adsm_format(props.made_of, sizeof(props.made_of), "%s", d->made_of);
	adsm_sized_give(&device_props, &props, ret_props, room);
	return 0;
}

int adsmDeviceSet(int device)
{
	return ADSM_AFTER_START(adsm_home_set(device));
}

/* ---- explicit copies */

void *adsmDeviceAlloc(size_t size)
{
	ADSM_TELLS;
	const struct adsm_object_options options = { .device_only = true };
	struct adsm_home *home;
	void *address;
	int error = adsm_start();

	if (!error)
		error = adsm_home_get(ADSM_DEVICE_CURRENT, &home);
	if (!error)
		error = adsm_object_alloc(home, size, &options, &address);
	return error ? adsm_null_with(ADSM_TOLD(error)) : address;
}

int adsmDeviceFree(void *p)
{
	ADSM_TELLS;
	int error = p ? adsm_start() : 0;

	return ADSM_TOLD(error || !p ? error : free_object(p, ADSM_MAKER_DEVICE_ALLOC));
}

int adsmCopyToDevice(void *device_dst, const void *host_src, size_t size)
{
	return ADSM_AFTER_LOOK_BACK(adsm_copy_explicit(device_dst, host_src, size, ADSM_TO_DEVICE, NULL));
}

int adsmCopyToHost(void *host_dst, const void *device_src, size_t size)
{
	return ADSM_AFTER_LOOK_BACK(adsm_copy_explicit(host_dst, device_src, size, ADSM_TO_HOST, NULL));
}

int adsmCopyDevice(void *device_dst, const void *device_src, size_t size)
{
	return ADSM_AFTER_START(adsm_copy_device(device_dst, device_src, size));
}

int adsmDeviceFill(void *device_dst, int value, size_t size)
{
	return ADSM_AFTER_START(adsm_fill_device(device_dst, value, size));
}

static int copy_async(void *dst, const void *src, size_t size, enum adsm_direction direction, adsmEvent *ret_event)
{
	if (!ret_event || !size)
		return adsm_fail(-EINVAL, "asynchronous copy: the size is 0, or ret_event is NULL");
	return adsm_copy_explicit(dst, src, size, direction, ret_event);
}

int adsmCopyToDeviceAsync(void *device_dst, const void *host_src, size_t size, adsmEvent *ret_event)
{
	return ADSM_AFTER_LOOK_BACK(copy_async(device_dst, host_src, size, ADSM_TO_DEVICE, ret_event));
}

int adsmCopyToHostAsync(void *host_dst, const void *device_src, size_t size, adsmEvent *ret_event)
{
	return ADSM_AFTER_LOOK_BACK(copy_async(host_dst, device_src, size, ADSM_TO_HOST, ret_event));
}

/* ---- looking inside */

int adsmSetName(const void *p, const char *name)
{
	ADSM_TELLS;
	struct adsm_object *object;
	struct adsm_record *record;
	struct adsm_sigset old;
	char own[sizeof(object->name)];
	int error = adsm_start();

	if (error)
		return ADSM_TOLD(error);
	/* The caller's text may lie in shared memory, and a touch of that under the lock would deadlock. */
	adsm_format(own, sizeof(own), "%s", name ? name : "");
	object = adsm_object_enter(p, &old);
	if (!object)
		return adsm_fail(-EINVAL, "%p is not in a live object", p);
	memcpy(object->name, own, sizeof(own));
	record = object->record;
	adsm_home_unlock(object->home, &old);
	adsm_record_name(record, name ? name : "");
	return 0;
}

int adsmObjectInfo(const void *p, adsmObjectProps *ret_props)
{
	ADSM_TELLS;
	const size_t room = ret_props ? ret_props->struct_size : 0;
	adsmObjectProps props = { 0 };
	struct adsm_object *object;
	struct adsm_sigset old;
	int error = adsm_start();

	if (!error)
		error = adsm_sized_check(&object_props, ret_props, room);
	if (error)
		return ADSM_TOLD(error);
	props.struct_size = room;
	object = adsm_object_enter(p, &old);
	if (!object)
		return adsm_fail(-EINVAL, "%p is not in a live object", p);
	props.address = (void *)object->start;
	props.size = object->size;
	props.device = object->home->index;
	props.device_address = object->memory ? object->memory->address :
		object->home->device->caps.given_address ? object->start : 0;
	if (!object->device_only) {
		props.block_size = object->blocks.protocol->whole_object ? object->span : adsm_block_size(object);
		props.n_blocks = object->blocks.n;
		props.n_invalid = adsm_blocks_n_lacking(&object->blocks);
		props.n_dirty = adsm_blocks_n_unsent(&object->blocks);
		props.n_read_only = object->blocks.n - props.n_invalid - props.n_dirty;
		adsm_format(props.protocol, sizeof(props.protocol), "%s", object->blocks.protocol->name);
	}
	adsm_home_unlock(object->home, &old);
	adsm_sized_give(&object_props, &props, ret_props, room);
	return 0;
}

int adsmStatsGet(adsmStats *ret_stats, size_t size)
{
	ADSM_TELLS;
	adsmStats stats;
	int error;

	if (adsm_is_child())
		return ADSM_TOLD(adsm_start());
	error = adsm_sized_check(&stats_sized, ret_stats, size);
	if (error)
		return error;
	adsm_retire_all();
	adsm_counters_read(&adsm_total, &stats);
	adsm_sized_give(&stats_sized, &stats, ret_stats, size);
	return 0;
}

int adsmObjectStatsGet(const void *p, adsmStats *ret_stats, size_t size)
{
	ADSM_TELLS;
	struct adsm_object *object;
	adsmStats stats;
	struct adsm_sigset old;
	int error = adsm_start();

	if (!error)
		error = adsm_sized_check(&stats_sized, ret_stats, size);
	if (error)
		return ADSM_TOLD(error);
	object = adsm_object_enter(p, &old);
	if (!object)
		return adsm_fail(-EINVAL, "%p is not in a live object", p);
	adsm_counters_read(&object->counters, &stats);
	adsm_home_unlock(object->home, &old);
	adsm_sized_give(&stats_sized, &stats, ret_stats, size);
	return 0;
}

int adsmStatsReset(void)
{
	ADSM_TELLS;

	if (adsm_is_child())
		return ADSM_TOLD(adsm_start());
	adsm_retire_all();
	adsm_counters_reset(&adsm_total);
	adsm_objects_reset_counters();
	adsm_observe_reset();
	return 0;
}
