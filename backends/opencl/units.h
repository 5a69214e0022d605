/* SPDX-License-Identifier: MIT */
/* opencl/units.h - write-once objects, as kernels of a device have them. */
#pragma once

#include "base/once.h"
#include "device.h"

/* An object, as a device has it: all runs of its pages side by side, and its flags. */
struct adsm_cl_once_object {
	uint64_t address;		/* the object's */
	size_t size;
	uint64_t unit, count;
	uint64_t since_ns;		/* when it was made */
	char *data;
	struct adsm_once_shared *shared;
	size_t shared_size;
	unsigned n_launches;		/* that have not ended */
	bool removed;			/* the last of them frees it */
	struct adsm_cl_once_object *next;
};

/* Protects the objects of all devices, and the launches that use them (once.c). */
extern struct adsm_lock adsm_cl_units_lock;

/* May kernels of the device use write-once objects? This only asks the driver. The device's first object then makes a
 * kernel that tries it. */
bool adsm_cl_once_may_work(struct adsm_cl_device *device);
/* The object that contains an address; NULL: there is none. */
struct adsm_cl_once_object *adsm_cl_units_find(const struct adsm_cl_device *device, uint64_t address);
/* A launch that has the object has ended. The lock is held. */
void adsm_cl_units_leave(struct adsm_cl_once_object *object);
/* Kernels of the device cannot do @what. Returns -ENOTSUP with adsm_fail(). */
int adsm_cl_units_refuse(const struct adsm_cl_device *device, const char *what);
/* Free the objects, and with @quiet the table, after the queues were destroyed. Without @quiet launches may still run:
 * their objects stay until they have ended. */
void adsm_cl_units_free(struct adsm_cl_device *device, bool quiet);

extern const struct adsm_once_ops adsm_cl_once_ops;
