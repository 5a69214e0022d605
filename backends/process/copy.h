/* SPDX-License-Identifier: MIT */
/* copy.h - the copy engine of a device process. It copies bytes between the CPU's memory and device memory, which this
 * process maps, too: in the calling thread, or on one thread for each direction. */
#pragma once

#include "base/os.h"
#include "shared.h"

#define ADSM_PROCESS_COPY_RING 1024

struct adsm_process_copy {
	void *dst;
	const void *src;		/* NULL: fill with value */
	size_t size;
	bool to_device;			/* from the host: this process does not read the copy soon */
	bool linked;			/* crosses the link: takes as long as on the modelled link */
	bool cold;			/* dst has no pages yet: allocating them together is faster */
	uint8_t value;
};

struct adsm_process_link {
	uint64_t bandwidth;		/* bytes per second; 0: no limit */
	uint64_t latency_ns;		/* of each transfer */
};

struct adsm_process_copy_queue {	/* one direction; initially zero, except for link, written and arg */
	struct adsm_process_queue queue;
	struct adsm_process_link link;
	void (*written)(void *arg, const void *dst, size_t size);	/* called when the bytes are there, or NULL */
	void *arg;
	_Atomic uint64_t link_busy;	/* the time when the link becomes free, nanoseconds */
	struct adsm_lock lock;		/* held by producers */
	bool started;
	struct adsm_thread thread;
	struct adsm_process_copy ring[ADSM_PROCESS_COPY_RING];
};

/* Copy immediately, in the calling thread. May be called in the fault handler. */
void adsm_process_copy_now(struct adsm_process_copy_queue *queue, const struct adsm_process_copy *copy);
/* Give a copy to the thread of its direction. The first copy starts the thread. Waits only while the ring is full. */
int adsm_process_copy_submit(struct adsm_process_copy_queue *queue, const struct adsm_process_copy *copy,
			 uint64_t *ret_seq);
/* End the thread after its current copy. */
void adsm_process_copy_finish(struct adsm_process_copy_queue *queue);
