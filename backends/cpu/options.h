/* SPDX-License-Identifier: MIT */
/* cpu/options.h - options of the cpu backend. */
#pragma once

#include "base/options.h"

struct adsm_cpu_options {
	bool unified;			/* ADSM_CPU_MEMORY: discrete, unified */
	uint64_t memory_size;		/* ADSM_CPU_MEMORY_SIZE: bytes; 0: half of the available memory */
	unsigned threads;		/* ADSM_CPU_THREADS; 0: one per processor */
	unsigned devices;		/* ADSM_CPU_DEVICES: number of devices, 1 to 8 */
	struct {
		uint64_t bandwidth;	/* bytes per second; 0: no limit */
		uint64_t latency_ns;	/* of each transfer */
	} link;				/* ADSM_CPU_LINK */
	/* ADSM_CPU_DEVICE: the device's program; "": the one installed with the library. */
	const char *device;
};

extern struct adsm_cpu_options adsm_cpu_options;
