/* SPDX-License-Identifier: MIT */
/* adsm_copy.h - device-only memory, explicit copies, and events. adsm.h includes it. */
#ifndef ADSM_COPY_H
#define ADSM_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "adsm_export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An event stands for one call (adsm_queue.h), one asynchronous copy or one prefetch (adsm_prefetch.h). */
typedef struct { uint64_t device, queue, seq; } adsmEvent;

/**
 * Allocate memory on the calling thread's device only, like cudaMalloc(). The CPU cannot access it.
 *
 * @size: bytes, more than 0.
 *
 * Returns an address for adsmPtr() and the copy functions below, or NULL with errno EINVAL, ENODEV or ENOMEM. The
 * caller owns the memory until adsmDeviceFree().
 */
ADSM_API void *adsmDeviceAlloc(size_t size);

/**
 * Free device-only memory. The function waits for calls and copies that use it.
 *
 * @p: an address that adsmDeviceAlloc() returned; NULL has no effect.
 *
 * Returns 0 or:
 *   -EINVAL   adsmDeviceAlloc() did not return @p
 *   -EBUSY    a call by adsmOnceCall() that uses the memory waits for units which no other call sets
 */
ADSM_API int adsmDeviceFree(void *p);

/**
 * Copy to, from or inside device-only memory, or fill it with a byte. The functions return when the bytes have moved.
 * They wait for earlier calls that use the device-only memory, and for earlier copies of its device.
 *
 * @device_dst, @device_src: addresses in device-only memory. adsmCopyDevice(): both on one device.
 * @host_dst, @host_src: addresses in shared or ordinary memory.
 * @value: the byte, converted to unsigned char.
 * @size: bytes to copy or fill; 0 has no effect.
 *
 * Return 0 or:
 *   -EINVAL   a device range is not inside one allocation of adsmDeviceAlloc(), or the two are on different devices;
 *             or a host range begins in an object and ends outside of it
 *   -EFAULT   the program has closed a page of the host range by mprotect(), and the range is in an object
 *   -EIO      the transfer failed
 *   -ENODEV   the device was lost
 */
ADSM_API int adsmCopyToDevice(void *device_dst, const void *host_src, size_t size);
ADSM_API int adsmCopyToHost(void *host_dst, const void *device_src, size_t size);
ADSM_API int adsmCopyDevice(void *device_dst, const void *device_src, size_t size);
ADSM_API int adsmDeviceFill(void *device_dst, int value, size_t size);

/**
 * Start a copy and return before it has finished. The function waits for earlier calls that use the device-only memory,
 * and for earlier copies in the other direction. A later adsmCall() on the device does not return before the copy has
 * finished.
 *
 * @device_dst, @device_src: addresses in device-only memory.
 * @host_src, @host_dst: ordinary memory. The caller must not change or free it, or read @host_dst, before
 *                       adsmEventWait() has returned.
 * @size: bytes, more than 0.
 * @ret_event: gets the copy's event, for adsmEventWait() and adsmEventQuery(). Must not be NULL.
 *
 * Return 0 or the errors of adsmCopyToDevice(), or:
 *   -EINVAL   the host range is in a shared object, @size is 0, or @ret_event is NULL
 */
ADSM_API int adsmCopyToDeviceAsync(void *device_dst, const void *host_src, size_t size,
				   adsmEvent *ret_event);
ADSM_API int adsmCopyToHostAsync(void *host_dst, const void *device_src, size_t size,
				 adsmEvent *ret_event);

/**
 * Wait until a call, a copy or a prefetch has ended.
 *
 * Any thread may wait for calls of other threads. The thread that made a call still gets its error from adsmSync(),
 * also after adsmEventWait() has returned the same error.
 *
 * With the protocol batch, the function also fetches the objects of the call, as adsmSync() does, except objects that a
 * later call uses.
 *
 * @event: from adsmCallEvent() (adsm_queue.h), adsmCopyToDeviceAsync(), adsmCopyToHostAsync() or adsmPrefetch()
 *         (adsm_prefetch.h).
 *
 * Returns 0 if the call, copy or prefetch ended without an error; its error if it failed; or:
 *   -EINVAL   @event is not an event, or the library has been started again since
 *   -EIO, -ENODEV  an object could not be fetched, or the device was lost
 *   -EDEADLK  a service waits for a call that waits for the service (adsm_service.h)
 */
ADSM_API int adsmEventWait(adsmEvent event);

#ifdef __cplusplus
}
#endif

#endif
