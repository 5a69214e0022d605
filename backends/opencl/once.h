/* SPDX-License-Identifier: MIT */
/*
 * opencl/once.h - write-once objects in kernels, on devices whose kernels see what the host stores while they run.
 *
 * Kernels poll the flags of units, and change them (adsm_kernel_units.h). A kernel cannot sleep on a futex or wake a
 * thread. While such launches run, a thread of the library does that for them: it wakes threads whose units kernels
 * have set, and it shows the waits of blocks to other threads, as if it waited for these units itself.
 */
#pragma once

#include "device.h"

struct adsm_cl_once_launch;

/* Call this when a device is opened. */
void adsm_cl_once_open(struct adsm_cl_device *device, const struct adsm_backend_config *config);

/*
 * Prepare a launch whose arguments may contain write-once objects. *@ret_once: NULL: there are none. Returns 0 or:
 *   -ENOTSUP  kernels of the device do not see the host's stores; with adsm_fail()
 *   -ENOMEM
 */
int adsm_cl_once_begin(struct adsm_cl_device *device, const struct adsm_launch *asked,
		       struct adsm_cl_once_launch **ret_once);
/* Set the three arguments of the next write-once object. */
cl_int adsm_cl_once_set_arg(struct adsm_cl_once_launch *once, cl_kernel kernel, cl_uint *index);
/*
 * Devices that are CPUs share their threads, so that launches on them run one after the other: a block that waits would
 * keep the thread that a launch of another device needs. Enqueue the launch of @once (not NULL) by @enqueue(arg, wait),
 * where @wait is NULL or an event that the launch must wait for.
 */
cl_int adsm_cl_once_in_turn(struct adsm_cl_once_launch *once, cl_int (*enqueue)(void *arg, cl_event wait), void *arg);
/* The launch has ended with this status, or was not enqueued (@started is false). Frees it. Returns the launch's
 * status. NULL is accepted. Signals are blocked. */
int adsm_cl_once_end(struct adsm_cl_once_launch *once, int status, bool started);
/* The device closes: blocks that wait return. */
void adsm_cl_once_stop(struct adsm_cl_device *device);
/* Free the objects and the table, after the queues were destroyed. Without @quiet the driver has not reported the end
 * of some launches of a lost device: they keep what they use. */
void adsm_cl_once_close(struct adsm_cl_device *device, bool quiet);
