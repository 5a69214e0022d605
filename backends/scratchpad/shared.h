/* SPDX-License-Identifier: MIT */
/* shared.h - the scratchpad device's part of the memory that the library and the device's program share, in
 * adsm_process_shared.extra: the costs of launches. Both are built from the same version of this file. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "process/shared.h"
#include "store/layout.h"
#include "store/sharing.h"

#define ADSM_SCRATCHPAD_MAX_CORES 256

/* What is counted for a launch, summed over all cores, in the order of the values: identifier, name, description. */
#define ADSM_SCRATCHPAD_COUNTS(X) \
	X(HITS, hits, "accesses to lines that were in the cache; an access to several lines counts once for each") \
	X(MISSES, misses, "accesses to lines that were not in the cache") \
	X(AHEAD, misses_ahead, "of misses: those whose line had been prefetched") \
	X(DIRECT, direct, "atomic and volatile accesses, which use device memory itself") \
	X(DMA_IN, dma_in, "lines transferred into local stores") \
	X(DMA_OUT, dma_out, "lines with bytes that were written back") \
	X(BYTES_IN, bytes_in, "bytes of the lines transferred into local stores") \
	X(BYTES_OUT, bytes_out, "bytes written back: only dirty bytes") \
	X(CALLS, calls_across, "calls between partitions of code") \
	X(LOADS, code_loads, "partitions transferred into code buffers") \
	X(LOADED, bytes_code, "bytes of the partitions transferred into code buffers") \
	X(RETURNS, code_returns, "of code_loads: transfers for a call that returned to an evicted partition") \
	X(VICTIMS, code_victims, "partitions that came back from the victim entry, without a transfer") \
	X(DEPTH, calls_deep, "largest number of calls between partitions that were open at the same time") \
	X(COMMANDS, commands, "requests of kernels to services: functions, texts, chunks, memory") \
	X(CORES, cores, "cores that had a block to run, counted once for each call") \
	X(BYTES_PEAK, bytes_peak, "largest number of bytes in use in one local store: cache, code buffer, stack") \
	X(STORE_CACHE, store_cache, "bytes of a local store for the cache: control data, tags, dirty bits, lines") \
	X(STORE_CODE, store_code, "bytes of a local store for code: the kernel or its partitions, and libm") \
	X(STORE_STACK, store_stack, "bytes of a local store for the stack with its arrays, at its deepest") \
	X(STORE_OUTSIDE, store_outside, "bytes of the device's own code, outside of the local store, at most") \
	X(WORK_NS, work_ns, "time that cores ran blocks, added up") \
	X(FLUSH_NS, flush_ns, "time that cores wrote back dirty bytes at the end, added up") \
	X(WORKERS, workers, "tasks: workers of all calls") \
	X(READS, reads, "tasks: loads") \
	X(WRITES, writes, "tasks: stores") \
	X(READ_MISSES, read_misses, "tasks: loads of pages that were not in the worker's local store") \
	X(WRITE_MISSES, write_misses, "tasks: stores to pages that were not in the worker's local store") \
	X(UPGRADES, upgrades, "tasks: stores to pages that were in the local store and had only been read") \
	X(SENT_ON_MISS, sent_on_miss, "tasks: dirty pages written back to make room") \
	X(SENT_ON_SYNC, sent_on_sync, "tasks: dirty pages written back at locks, barriers, flushes and the end") \
	X(GIVEN_UP, given_up, "tasks: pages given up at locks and barriers, because others had changed them") \
	X(SHARED_FALSELY, shared_falsely, "tasks: of given_up: changed only in parts the worker had not accessed") \
	X(BARRIERS, barriers, "tasks: barriers that all workers reached") \
	X(FLAGS, flags, "tasks: waits for flags") \
	X(FLAG_WAITS, flag_waits, "tasks: of flags: waits for which the worker slept") \
	X(LOCKS, locks, "tasks: locks acquired") \
	X(LOCK_WAITS, lock_waits, "tasks: of locks: acquisitions for which the worker slept") \
	X(HANDOVERS, handovers, "tasks: of locks: those handed over to a worker after a long wait") \
	X(LOCK_WAIT_NS, lock_wait_ns, "tasks: of work_ns: time that workers slept for locks") \
	X(BARRIER_WAIT_NS, barrier_wait_ns, "tasks: of work_ns: time that workers waited for others at barriers") \
	X(FLAG_WAIT_NS, flag_wait_ns, "tasks: of work_ns: time that workers slept for flags")

enum {
#define ENUMERATOR(upper, name, help) ADSM_SCRATCHPAD_##upper,
	ADSM_SCRATCHPAD_COUNTS(ENUMERATOR)
#undef ENUMERATOR
	ADSM_SCRATCHPAD_N_COUNTS
};

/* For these, the maximum over launches and cores counts; all others are added up. */
#define ADSM_SCRATCHPAD_IS_PEAK(count) ((count) == ADSM_SCRATCHPAD_DEPTH || \
	((count) >= ADSM_SCRATCHPAD_BYTES_PEAK && (count) <= ADSM_SCRATCHPAD_STORE_OUTSIDE))

/* Lines or code that were brought to a core, as far as there is room; for each core and kind in order of time. */
#define ADSM_SCRATCHPAD_MOVES 1024
struct adsm_scratchpad_moves {
	uint32_t core, code;
	struct adsm_span span;
	uint64_t count, bytes;
};

/* The device writes these before the launch is done, if the launch is counted. */
struct adsm_scratchpad_costs {
	/* Number of the launch; if it is another launch's number, the costs are unknown. */
	uint64_t seq;
	uint64_t start_ns;
	_Atomic uint64_t values[ADSM_SCRATCHPAD_N_COUNTS];
	struct { struct adsm_span work, flush; } cores[ADSM_SCRATCHPAD_MAX_CORES];
	_Atomic uint32_t n_moves;
	struct adsm_scratchpad_moves moves[ADSM_SCRATCHPAD_MOVES];
};

struct adsm_scratchpad_loads {
	_Atomic uint64_t n, bytes;	/* transferred partitions of code */
};

/* What a kernel has moved, and would move with other caches (adsm_scratchpad_other()), in all calls with advice. */
struct adsm_scratchpad_replayed {
	char kernel[ADSM_PROCESS_NAME];
	uint32_t missing;		/* a bit for each: there is no such cache, or it leaves too little stack */
	_Atomic uint32_t unsure;	/* the numbers may differ next time */
	_Atomic uint64_t calls, cores;	/* cores that ran a block, summed over all calls */
	_Atomic uint64_t now, moved[ADSM_SCRATCHPAD_OTHERS];	/* bytes in both directions */
	/* The same for loaded code and other settings (adsm_scratchpad_setting()), if the code is in partitions. */
	_Atomic uint32_t buffers;	/* sub-buffers; 0: the code is in one piece */
	_Atomic uint32_t unlike;	/* the model of the own setting has loaded something else */
	struct adsm_scratchpad_loads loads_now, loads[ADSM_SCRATCHPAD_SETTINGS];
};

#define ADSM_SCRATCHPAD_REPLAYED 64	/* maximum number of kernels with a record */

struct adsm_scratchpad_shared {
	uint32_t n_cores;
	_Atomic uint32_t n_replayed;
	struct adsm_scratchpad_geometry geometry;
	struct adsm_scratchpad_overlays overlays;	/* as set by options */
	_Atomic uint32_t no_room;	/* a bit for each setting that some module does not fit with */
	struct adsm_scratchpad_replayed replayed[ADSM_SCRATCHPAD_REPLAYED];
	struct adsm_sharings sharings;
	struct adsm_scratchpad_costs costs[ADSM_PROCESS_SLOTS];	/* one for each slot */
};
