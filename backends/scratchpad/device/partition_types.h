/* SPDX-License-Identifier: MIT */
/* partition_types.h - the structure of a partition manager, for its own files, and its counters. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/image.h"
#include "policy.h"
#include "policy_log.h"
#include "store/spans.h"

#define ADSM_PARTITION_TEXT 512		/* bytes of an error text */

struct adsm_partition_counters {
	uint64_t calls;			/* between partitions, and from outside into them */
	uint64_t loads, bytes;		/* from the image: DMA transfers */
	uint64_t loads_for_returns;	/* of these, loads for returns */
	uint64_t victim_saves, victim_hits;
	uint64_t moves;			/* from one sub-buffer to another */
	uint32_t depth;			/* maximum number of open calls */
};

/* A call that has not returned yet. */
struct adsm_partition_frame {
	uintptr_t address;		/* return address */
	uint32_t id, buffer;		/* the calling partition, and its sub-buffer */
};

struct adsm_partitions {
	uintptr_t leave;		/* at offset 0, for the assembly: this manager's gate that callees return to */
	uint64_t calls;
	struct adsm_policy_log *log;	/* records calls and returns; NULL: not recorded */
	struct adsm_policy policy;
	struct adsm_partition_frame *frames;
	uint32_t n_frames, max_frames, depth;
	size_t stride;			/* from one sub-buffer to the next */
	uint8_t *run, *write;		/* the first sub-buffer's code: address to execute, address to write */
	struct adsm_partition_counters counters;	/* except calls and depth */
	struct adsm_image image;
	struct adsm_spans *spans;	/* when partitions were loaded; NULL: not recorded */
	/* The members below are not used during calls. */
	uint8_t *run_all, *write_all;	/* the whole buffer */
	size_t size;			/* of the buffer */
	size_t slots_size;		/* bytes of the slots before each piece of code */
	size_t code_size;		/* of a sub-buffer */
	size_t stubs;			/* offset of the stubs in the buffer */
	uint8_t *victim;		/* address space for a partition; has memory only while it contains one */
	size_t victim_size;
	uint32_t victim_bytes;		/* bytes of its contents */
	bool all_registers;		/* the gates save all registers */
	void *context;
	void (*fail)(void *context, const char *text);
};
