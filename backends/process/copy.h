/* SPDX-License-Identifier: MIT */
/*
 * copy.h - the copy engine of a device process: bytes between device memory, which this process maps too,
 * and the CPU's, in the calling thread or on a thread for each direction.
 */
#ifndef ADSM_PROCESS_COPY_H
#define ADSM_PROCESS_COPY_H

#include "base/os.h"
#include "shared.h"

#define ADSM_PROCESS_COPY_RING 1024

struct adsm_process_copy {
	void *dst;
	const void *src;		/* NULL: fill with value */
	size_t size;
	bool to_device;			/* from the host: nobody here reads it soon */
	bool linked;			/* crosses the link: takes as long as the modelled one would */
	bool cold;			/* dst has no pages yet: taking them together is faster */
	uint8_t value;
};

struct adsm_process_link {
	uint64_t bandwidth;		/* bytes per second, 0: as fast as the machine */
	uint64_t latency_ns;		/* of a transfer */
};

struct adsm_process_copy_queue {	/* one direction; all zero at first, but for the next three */
	struct adsm_process_queue queue;
	struct adsm_process_link link;
	void (*written)(void *arg, const void *dst, size_t size);	/* NULL, or called when the bytes are there */
	void *arg;
	_Atomic uint64_t link_busy;	/* until when, nanoseconds */
	struct adsm_lock lock;		/* of producers */
	bool started;
	struct adsm_thread thread;
	struct adsm_process_copy ring[ADSM_PROCESS_COPY_RING];
};

/* Copy now, in the calling thread. May run in the fault handler. */
void adsm_process_copy_now(struct adsm_process_copy_queue *queue, const struct adsm_process_copy *copy);
/* Hand a copy to the direction's thread, which starts with the first. Waits only while the ring is full. */
int adsm_process_copy_submit(struct adsm_process_copy_queue *queue, const struct adsm_process_copy *copy,
			 uint64_t *ret_seq);
/* End the thread after the copy that it is making. */
void adsm_process_copy_finish(struct adsm_process_copy_queue *queue);

#endif
