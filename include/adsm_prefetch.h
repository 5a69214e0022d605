/* SPDX-License-Identifier: MIT */
/* adsm_prefetch.h - prefetch, discard and advice: transfers in advance, and transfers that are not needed. */
#ifndef ADSM_PREFETCH_H
#define ADSM_PREFETCH_H

#include "adsm.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Prefetch, discard, advice
 *
 * A program is correct without these functions. They change when bytes move, and whether they move. The conventions of
 * adsm.h hold. docs/howto-prefetch.md has examples, and the names of these functions in CUDA, SYCL and StarPU.
 *
 *	adsmEvent event;
 *
 *	adsmCall(kernel, grid, block, adsmInOut(p), adsmVal(n));
 *	adsmPrefetch(p, size, ADSM_HOST, &event);	// returns while the kernel runs
 *	other_work();
 *	adsmEventWait(event);				// the kernel's results are here
 *
 * The functions act on blocks (adsmAllocOptions.block_size). With the protocols batch and lazy an object is one block.
 */

#define ADSM_HOST (-2)			/* the CPU's memory, as a target of adsmPrefetch() */

/**
 * Move bytes of an object before they are needed, and return before they have moved.
 *
 * To the host: a thread of the library waits for the earlier calls that may write the range. It then fetches the blocks
 * that only the device has, and opens them for reading. If a later call may write the object before its blocks have
 * moved, the prefetch ends without them and without an error.
 *
 * To the device: a thread of the library sends the blocks that only the CPU has. Later calls do not send these blocks
 * again, unless the CPU writes them. With the protocol batch this has no effect, because the library does not detect
 * such writes.
 *
 * To another device than the object's: the thread waits for the earlier calls that use the object. Then the whole
 * object moves to the device, also with the protocol batch, and the range is sent. Calls that use only objects of the
 * device then run there. The object does not move in three cases: a later call uses it before it has moved, a range of
 * it is held, or a system call or a loan writes it. The prefetch then ends without an error.
 *
 * Prefetches to one device run in order, and so do prefetches from one device to the host. The two directions are not
 * ordered with each other. Meanwhile threads may access, discard and free the object, and calls may use it. An access
 * waits for at most one transfer of a prefetch: up to 4 MiB, or one block if a block is larger. A prefetch that fails
 * changes no contents: the access or call that needs the bytes moves them.
 *
 * @p, @size: a range in one object; @size in bytes, more than 0. Each block with a byte of the range moves as a whole.
 * @device: ADSM_HOST, the index of a device, or ADSM_DEVICE_CURRENT.
 * @ret_event: gets the event of the prefetch, for adsmEventQuery(), adsmEventWait() and adsmEventTime(), not for
 *             adsmQueueWait(). NULL: not needed. The times are those of CLOCK_MONOTONIC.
 *
 * Returns 0 or:
 *   -EINVAL   the range is not inside one shared object, or there is no such device
 *   -ENOTSUP  the object cannot move to the device; docs/howto-devices.md has the reasons
 *   -EBUSY    to the object's device: a block of the range is held (adsmHold()). To another device: any block of the
 *             object is held
 *   -EAGAIN   the library could not start a thread
 *
 * The library keeps, for each device, the results of the latest 1024 prefetches to it and of the latest 1024 from it to
 * the host. For them adsmEventWait() and adsmEventQuery() return 0 or:
 *   -EINVAL   the object was freed before the prefetch had ended
 *   -ENOMEM   to a device only: the device has no room for the object. Unlike a prefetch, a call makes room
 *             (ADSM_OVERSUBSCRIBE). To another device also: the host has no memory for the object on its way
 *   -EIO      a transfer failed
 *   -ENODEV   the device was lost
 * For earlier prefetches they return 0.
 */
ADSM_API int adsmPrefetch(const void *p, size_t size, int device, adsmEvent *ret_event);

/**
 * Declare that the contents of a range are not needed any more. The library then neither sends nor fetches them.
 *
 * Until the CPU or a kernel writes a byte of the range again, its value is undefined. The CPU and kernels may read
 * different values, and different values each time. The memory stays allocated and accessible.
 *
 * Only blocks that lie completely in the range are discarded. The bytes of other blocks keep their values. So do blocks
 * that a system call or a loan is writing. With the protocol batch the library omits fetches only: a later call sends
 * the object.
 *
 * The function waits for transfers of these blocks that have begun. It does not wait for calls, except with the
 * protocol batch. A later write of the CPU waits for calls that use the object, as always.
 *
 * @p, @size: a range in one object; @size in bytes, more than 0.
 *
 * Returns 0 or:
 *   -EINVAL   the range is not inside one shared object, or another thread freed the object
 *   -EBUSY    a range of these blocks is held (adsmHold())
 */
ADSM_API int adsmDiscard(void *p, size_t size);

/* How the CPU uses memory: adsmAdvise(). */
enum {
	ADSM_ADVISE_NORMAL,		/* no advice: the library predicts the accesses; the default */
	ADSM_ADVISE_READ_MOSTLY		/* the CPU reads most of the range, and rarely writes it */
};

/**
 * Advise the library how the CPU uses a range. The advice holds until other advice for the same blocks, or adsmFree().
 *
 * ADSM_ADVISE_READ_MOSTLY changes how many blocks one access of the CPU opens, with the protocol rolling:
 * - A read of a block that only the device has fetches blocks up to ADSM_FAULT_AHEAD bytes. Without the advice the
 *   library begins with one block, and fetches more blocks while the reads are sequential.
 * - A write opens one block only. Without the advice sequential writes open blocks ahead, and the next call sends all
 *   of them.
 * The advice does not change results. Kernels and the CPU may still write the memory.
 *
 * @p, @size: a range in one object; @size in bytes, more than 0. The advice holds for each block with a byte of the
 *            range.
 * @advice: ADSM_ADVISE_*.
 *
 * Returns 0 or:
 *   -EINVAL   the range is not inside one shared object
 *   -ENOTSUP  @advice is unknown
 */
ADSM_API int adsmAdvise(const void *p, size_t size, int advice);

#ifdef __cplusplus
}
#endif

#endif
