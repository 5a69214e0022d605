/* SPDX-License-Identifier: MIT */
/* partition_types.h - what a partition manager is made of, for its own files, and what it counts. */
#ifndef ADSM_SCRATCHPAD_PARTITION_TYPES_H
#define ADSM_SCRATCHPAD_PARTITION_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/image.h"
#include "policy.h"
#include "policy_log.h"
#include "store/spans.h"

#define ADSM_PARTITION_TEXT 512		/* bytes of a sentence about what is wrong */

struct adsm_partition_counters {
	uint64_t calls;			/* between partitions, and into them */
	uint64_t loads, bytes;		/* from the image: DMA transfers */
	uint64_t loads_for_returns;	/* of those */
	uint64_t victim_saves, victim_hits;
	uint64_t moves;			/* from one sub-buffer to another */
	uint32_t depth;			/* the most calls that were open at once */
};

/* Somebody waits for a call to return. */
struct adsm_partition_frame {
	uintptr_t address;		/* to which it returns */
	uint32_t id, buffer;		/* the partition that called, and where it was */
};

struct adsm_partitions {
	uintptr_t leave;		/* at 0, for the assembly: this manager's gate, where callees return to */
	uint64_t calls;
	struct adsm_policy_log *log;	/* calls and returns; NULL: nobody asks */
	struct adsm_policy policy;
	struct adsm_partition_frame *frames;
	uint32_t n_frames, max_frames, depth;
	size_t stride;			/* from one sub-buffer to the next */
	uint8_t *run, *write;		/* the first sub-buffer's code, as it is executed, and as it is written */
	struct adsm_partition_counters counters;	/* but calls and depth */
	struct adsm_image image;
	struct adsm_spans *spans;	/* when partitions were loaded; NULL: nobody asks */
	/* The rest. */
	uint8_t *run_all, *write_all;	/* the whole buffer */
	size_t size;			/* of the buffer */
	size_t slots_size;		/* bytes before each piece of code */
	size_t code_size;		/* of a sub-buffer */
	size_t stubs;			/* where in the buffer the stubs begin */
	uint8_t *victim;		/* address space for a partition; memory only while there is one in it */
	size_t victim_size;
	uint32_t victim_bytes;		/* of what is in it */
	void *context;
	void (*fail)(void *context, const char *text);
};

#endif
