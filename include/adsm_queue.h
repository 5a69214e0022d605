/* SPDX-License-Identifier: MIT */
/* adsm_queue.h - events of calls, and queues. */
#ifndef ADSM_QUEUE_H
#define ADSM_QUEUE_H

#include "adsm.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Events
 *
 * An event stands for one call, one asynchronous copy or one prefetch. It is a value: the program may copy it, pass it
 * to other threads, and wait for it any number of times (adsmEventWait() in adsm_copy.h). There is nothing to free.
 *
 * The library remembers how the last 1024 calls of a device ended, and when they ran. Older calls count as successful.
 */

/**
 * Return the event of the calling thread's last call.
 *
 *	adsmEvent event;
 *
 *	adsmCall(kernel, grid, block, adsmIn(a), adsmOut(b));
 *	adsmCallEvent(&event);
 *	... more calls ...
 *	adsmEventWait(event);
 *
 * @ret_event: gets the event.
 *
 * Returns 0 or:
 *   -ENOENT   the thread has made no call since the library started
 *   -EINVAL   @ret_event is NULL
 */
ADSM_API int adsmCallEvent(adsmEvent *ret_event);

/**
 * Ask whether a call, a copy or a prefetch has ended. The function does not wait.
 *
 * @event: from adsmCallEvent(), adsmCopyToDeviceAsync(), adsmCopyToHostAsync() or adsmPrefetch() (adsm_prefetch.h).
 *
 * Returns 0 if the call, copy or prefetch ended without an error; its error if it failed; or:
 *   -EBUSY    it has not ended
 *   -EINVAL   @event is not an event, or the library has been started again since
 */
ADSM_API int adsmEventQuery(adsmEvent event);

/**
 * Return when a kernel or a prefetch began and ended. Times of a kernel exclude transfers. Times of a prefetch include
 * its waits for calls. All calls of a device have the same clock, so times of its calls can be compared. The clock
 * depends on the backend:
 * - cpu, scratchpad, cluster: CLOCK_MONOTONIC of the host.
 * - opencl: the device's clock (CL_PROFILING_COMMAND_START and CL_PROFILING_COMMAND_END).
 * - cuda: about CLOCK_MONOTONIC of the host. CUDA only measures the time between two launches, and the library adds up
 *   these times.
 * The clock of prefetches is CLOCK_MONOTONIC of the host.
 *
 * @event: from adsmCallEvent(), or from adsmPrefetch() (adsm_prefetch.h).
 * @ret_start_ns, @ret_end_ns: the start and the end, in nanoseconds; NULL: not needed.
 *
 * Returns 0, the error of the call or the prefetch if it has failed, or:
 *   -EBUSY    it has not ended
 *   -EINVAL   @event is not an event, or 1024 calls or prefetches of the device have ended since
 *   -ENOTSUP  the device does not report when a kernel ran, or @event is a copy
 */
ADSM_API int adsmEventTime(adsmEvent event, uint64_t *ret_start_ns, uint64_t *ret_end_ns);

/* ---- queues ------------------------------------------------------------------------------ */

/**
 * Queues
 *
 * Calls of one queue begin in the order of adsmCall() on each device. Calls of different queues may run at the same
 * time, unless one of them may write an object that another one uses. An unnamed call (adsmAssign()) runs alone.
 *
 * The backends cpu, opencl and cuda run calls at the same time, at most four. With ADSM_OPENCL_MEMORY=unified, and on
 * other backends, a device runs one call at a time, in the order of adsmCall(), whatever the queue. Further limits:
 * - A task runs alone.
 * - Calls of kernels that use services or write-once objects are in the shared queue, whatever the thread's queue.
 * - At most 127 calls begin after a call that has not ended.
 *
 * Threads that have not called adsmQueueSet() share one queue.
 */

typedef struct adsmQueue adsmQueue;

/**
 * Make a queue. The caller owns it until adsmQueueDestroy(). It works for all devices, and stays valid if the library
 * stops and starts again.
 *
 * Returns the queue, or NULL with errno:
 *   ENOMEM    there are 1024 queues
 */
ADSM_API adsmQueue *adsmQueueCreate(void);

/**
 * Destroy a queue. The function does not wait: calls of the queue continue. A thread whose queue was destroyed must
 * call adsmQueueSet() before its next call, which otherwise fails with -EINVAL.
 *
 * @queue: NULL has no effect.
 *
 * Returns 0, or -EINVAL if @queue is invalid.
 */
ADSM_API int adsmQueueDestroy(adsmQueue *queue);

/**
 * Set the queue of the calling thread's later calls.
 *
 * @queue: the queue; NULL: the queue that threads share.
 *
 * Returns 0, or -EINVAL if @queue is invalid.
 */
ADSM_API int adsmQueueSet(adsmQueue *queue);

/**
 * Make later calls of a queue begin only after a call or a copy has ended. The call or copy may be on another device.
 *
 * The function does not wait. A later adsmCall() on the queue may wait for the event before it starts the kernel. If
 * the call or the copy of the event fails, later calls run nevertheless.
 *
 * @queue: the queue; NULL: the queue that threads share.
 * @event: from adsmCallEvent(), adsmCopyToDeviceAsync() or adsmCopyToHostAsync().
 *
 * Returns 0, or -EINVAL if an argument is invalid.
 */
ADSM_API int adsmQueueWait(adsmQueue *queue, adsmEvent event);

#ifdef __cplusplus
}
#endif

#endif
