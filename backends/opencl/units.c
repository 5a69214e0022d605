/* SPDX-License-Identifier: MIT */
/* opencl/units.c - see units.h. */
#include "units.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log.h"
#include "once_probe.h"
#include "threads.h"

struct adsm_lock adsm_cl_units_lock = ADSM_LOCK_INIT(ADSM_RANK_UNITS);

bool adsm_cl_once_may_work(struct adsm_cl_device *device)
{
	cl_device_svm_capabilities caps = 0;
	cl_device_type type = 0;
	cl_uint bits = 0;

	if (device->version < 20 || !adsm_cl.clSetKernelArgSVMPointer)
		return false;
	adsm_cl.clGetDeviceInfo(device->id, CL_DEVICE_SVM_CAPABILITIES, sizeof(caps), &caps, NULL);
	adsm_cl.clGetDeviceInfo(device->id, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	adsm_cl.clGetDeviceInfo(device->id, CL_DEVICE_ADDRESS_BITS, sizeof(bits), &bits, NULL);
	/* Kernels on a CPU run in this process, so that any of its memory is theirs. */
	return bits == 64 && caps & CL_DEVICE_SVM_ATOMICS &&
		(caps & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM ||
		 (type & CL_DEVICE_TYPE_CPU && caps & CL_DEVICE_SVM_FINE_GRAIN_BUFFER));
}

/* ---- objects. The library makes and frees them one at a time. */

struct adsm_cl_once_object *adsm_cl_units_find(const struct adsm_cl_device *device, uint64_t address)
{
	struct adsm_cl_once_object *object = device->once.objects;

	while (object && address - object->address >= object->size)
		object = object->next;
	return object;
}

static int once_start(struct adsm_device *base, int index, int table_fd, size_t size)
{
	struct adsm_cl_device *device = (struct adsm_cl_device *)base;
	struct adsm_sigset old;
	void *p;
	int ret = adsm_os_map(NULL, size, table_fd, 0, ADSM_PROT_RW, &p);

	if (ret)
		return ret;
	if (device->once.table)
		adsm_os_unmap(device->once.table, device->once.table_size);
	device->once.table = p;
	device->once.table_size = size;
	device->once.index = index;
	adsm_os_signals_block_for_threads(&old);
	device->once.works = adsm_cl_once_probe(device);
	adsm_os_signals_restore(&old);
	return 0;
}

int adsm_cl_units_refuse(const struct adsm_cl_device *device, const char *what)
{
	return adsm_fail(-ENOTSUP, "%s, but kernels of %s do not see what the host stores while they run", what,
			 device->base.base.name);
}

static int once_memory(struct adsm_device *base, size_t size, int *ret_fd)
{
	struct adsm_cl_device *device = (struct adsm_cl_device *)base;
	int ret = device->once.works ? adsm_cl_reserve(device, size) :
		adsm_cl_units_refuse(device, "a write-once object is to be in the device's memory");

	if (ret)
		return ret;
	ret = adsm_fd_memory("adsm-once-opencl", size, ret_fd);
	if (ret)
		adsm_cl_unreserve(device, size);
	return ret;
}

static void once_memory_free(struct adsm_device *device, size_t size)
{
	adsm_cl_unreserve((struct adsm_cl_device *)device, size);
}

static int once_map(struct adsm_device *base, uint64_t address, size_t size, int fd, size_t offset)
{
	struct adsm_cl_device *device = (struct adsm_cl_device *)base;
	const struct adsm_cl_once_object *object = adsm_cl_units_find(device, address);
	void *p;

	return device->once.works && object ?
		adsm_os_map(object->data + (address - object->address), size, fd, offset, ADSM_PROT_RW, &p) : 0;
}

static int map_object(struct adsm_cl_once_object *object, int fd)
{
	void *p;
	int ret = adsm_os_reserve(0, object->size + object->shared_size, &p);

	if (ret)
		return ret;
	object->data = p;
	object->shared = (struct adsm_once_shared *)(object->data + object->size);
	ret = adsm_os_map(object->shared, object->shared_size, fd, 0, ADSM_PROT_RW, &p);
	if (ret)
		adsm_os_unmap(object->data, object->size + object->shared_size);
	return ret;
}

static int once_add(struct adsm_device *base, const struct adsm_once_map *map)
{
	struct adsm_cl_device *device = (struct adsm_cl_device *)base;
	struct adsm_cl_once_object *object;
	struct adsm_sigset old;
	int ret;

	if (!device->once.works)
		return 0;
	object = calloc(1, sizeof(*object));
	if (!object)
		return -ENOMEM;
	object->address = map->address;
	object->size = map->size;
	object->unit = map->unit;
	object->count = map->count;
	object->since_ns = adsm_os_now_ns();
	object->shared_size = map->flags_size;
	ret = map_object(object, map->flags_fd);
	if (ret) {
		free(object);
		return ret;
	}
	adsm_os_signals_block(&old);
	adsm_lock(&adsm_cl_units_lock);
	object->next = device->once.objects;
	device->once.objects = object;
	adsm_unlock(&adsm_cl_units_lock);
	adsm_os_signals_restore(&old);
	return 0;
}

static void free_object(struct adsm_cl_once_object *object)
{
	adsm_os_unmap(object->data, object->size + object->shared_size);
	free(object);
}

void adsm_cl_units_leave(struct adsm_cl_once_object *object)
{
	if (!--object->n_launches && object->removed)
		free_object(object);
}

/* If the device is lost, the driver may still run kernels that have the object. */
static void once_remove(struct adsm_device *base, uint64_t address, size_t size)
{
	struct adsm_cl_device *device = (struct adsm_cl_device *)base;
	struct adsm_cl_once_object *object, **at;
	struct adsm_sigset old;

	adsm_os_signals_block(&old);
	adsm_lock(&adsm_cl_units_lock);
	object = adsm_cl_units_find(device, address);
	for (at = &device->once.objects; object && *at != object; at = &(*at)->next)
		;
	if (object) {
		*at = object->next;
		object->removed = true;
	}
	if (object && object->n_launches)
		object = NULL;
	adsm_unlock(&adsm_cl_units_lock);
	adsm_os_signals_restore(&old);
	if (object)
		free_object(object);
}

static bool once_has_thread(struct adsm_device *device, int id)
{
	return adsm_cl_threads_has(id);
}

const struct adsm_once_ops adsm_cl_once_ops = {
	.start = once_start,
	.memory = once_memory,
	.memory_free = once_memory_free,
	.map = once_map,
	.add = once_add,
	.remove = once_remove,
	.has_thread = once_has_thread,
};

void adsm_cl_units_free(struct adsm_cl_device *device, bool quiet)
{
	while (device->once.objects)
		once_remove(&device->base.base, device->once.objects->address, 0);
	if (device->once.table && quiet)
		adsm_os_unmap(device->once.table, device->once.table_size);
}
