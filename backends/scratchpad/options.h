/* SPDX-License-Identifier: MIT */
/* scratchpad/options.h - options of the scratchpad backend. */
#pragma once

#include "base/options.h"

struct adsm_scratchpad_options {
	unsigned cores;			/* ADSM_SCRATCHPAD_CORES; 0: one per processor */
	uint64_t cache[2];		/* ADSM_SCRATCHPAD_CACHE: sets << 32 | ways, bytes of a line */
	uint64_t dirty;			/* ADSM_SCRATCHPAD_DIRTY: bytes for each dirty bit */
	uint64_t buffers;		/* ADSM_SCRATCHPAD_BUFFERS: sub-buffers for code; 0: as many as fit */
	unsigned policy;		/* ADSM_SCRATCHPAD_POLICY: 0: modulus, 1: lru */
	unsigned victim;		/* ADSM_SCRATCHPAD_VICTIM: 1: on */
	unsigned partitions;		/* ADSM_SCRATCHPAD_PARTITIONS: 1: always */
	unsigned registers;		/* ADSM_SCRATCHPAD_REGISTERS: 1: all */
	unsigned prefetch;		/* ADSM_SCRATCHPAD_PREFETCH: 1: on */
	uint64_t memory_size;		/* ADSM_SCRATCHPAD_MEMORY_SIZE: bytes; 0: half of the available memory */
	const char *notes;		/* ADSM_SCRATCHPAD_NOTES: a file; "": none */
	/* ADSM_SCRATCHPAD_DEVICE: the device's program; "": the one installed with the library. */
	const char *device;
};

extern struct adsm_scratchpad_options adsm_scratchpad_options;
