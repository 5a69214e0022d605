/* SPDX-License-Identifier: MIT */
/* cpu/options.h - options of the cpu backend. */
#ifndef ADSM_CPU_OPTIONS_H
#define ADSM_CPU_OPTIONS_H

#include "base/options.h"

struct adsm_cpu_options {
	bool unified;			/* ADSM_CPU_MEMORY: discrete, unified */
	uint64_t memory_size;		/* ADSM_CPU_MEMORY_SIZE: bytes, 0: half of what is available */
	unsigned threads;		/* ADSM_CPU_THREADS: 0: one per processor */
	unsigned devices;		/* ADSM_CPU_DEVICES: how many, 1 to 8 */
	struct {
		uint64_t bandwidth;	/* bytes per second, 0: as fast as the machine */
		uint64_t latency_ns;	/* of a transfer */
	} link;				/* ADSM_CPU_LINK */
	const char *device;		/* ADSM_CPU_DEVICE: the device program, "" beside the library */
};

extern struct adsm_cpu_options adsm_cpu_options;

#endif
