/* SPDX-License-Identifier: MIT */
/*
 * shared.h - what the library and the program of a scratchpad device have in memory that both map, behind that of a
 * device process: what launches have cost. Both are built from the same version of this file.
 */
#ifndef ADSM_SCRATCHPAD_SHARED_H
#define ADSM_SCRATCHPAD_SHARED_H

#include <stdatomic.h>
#include <stdint.h>

#include "process/shared.h"
#include "store/layout.h"
#include "store/sharing.h"

#define ADSM_SCRATCHPAD_MAX_CORES 256

/* What is counted of a launch, of all cores together: in the order of the values, by name, in words. */
#define ADSM_SCRATCHPAD_COUNTS(X) \
	X(HITS, hits, "accesses to device memory that the software cache had, those of several lines once for each") \
	X(MISSES, misses, "and those that it had not") \
	X(AHEAD, misses_ahead, "of these misses those whose line had been fetched ahead") \
	X(DIRECT, direct, "atomic and volatile accesses, which are of the memory itself") \
	X(DMA_IN, dma_in, "lines transferred into local stores") \
	X(DMA_OUT, dma_out, "lines of which something was written back") \
	X(BYTES_IN, bytes_in, "bytes of the lines transferred into local stores") \
	X(BYTES_OUT, bytes_out, "bytes written back: dirty ones, no others") \
	X(CALLS, calls_across, "calls between partitions of code") \
	X(LOADS, code_loads, "partitions transferred into code buffers") \
	X(LOADED, bytes_code, "bytes of these") \
	X(RETURNS, code_returns, "of these partitions such as were gone when a call returned to them") \
	X(VICTIMS, code_victims, "partitions that came back from the victim entry, without a transfer") \
	X(DEPTH, calls_deep, "calls between partitions that were open at once, at most") \
	X(COMMANDS, commands, "what kernels asked of the execution handler: services, texts, chunks, memory") \
	X(CORES, cores, "cores that had a block to run, once for each call") \
	X(BYTES_PEAK, bytes_peak, "bytes of a local store that were in use, at most: cache, code buffer, stack") \
	X(WORK_NS, work_ns, "time that cores ran blocks, all added up") \
	X(FLUSH_NS, flush_ns, "time that cores wrote back what was dirty at the end, all added up") \
	X(WORKERS, workers, "tasks: workers of its calls") \
	X(READS, reads, "tasks: loads") \
	X(WRITES, writes, "tasks: stores") \
	X(READ_MISSES, read_misses, "tasks: loads of pages that the worker had not") \
	X(WRITE_MISSES, write_misses, "tasks: stores to pages that it had not") \
	X(UPGRADES, upgrades, "tasks: stores to pages that it had for reading") \
	X(SENT_ON_MISS, sent_on_miss, "tasks: dirty pages that were sent back to make room") \
	X(SENT_ON_SYNC, sent_on_sync, "tasks: dirty pages that were sent back at locks and barriers, and at the end") \
	X(GIVEN_UP, given_up, "tasks: pages that others had changed, so that the worker gave its copy up") \
	X(SHARED_FALSELY, shared_falsely, "tasks: of these such as had changed only where the worker had not looked") \
	X(BARRIERS, barriers, "tasks: barriers that all its workers have come to") \
	X(LOCKS, locks, "tasks: locks taken") \
	X(LOCK_WAITS, lock_waits, "tasks: of these locks such as were waited for, asleep") \
	X(HANDOVERS, handovers, "tasks: of these locks such as were handed over to who had waited too long") \
	X(LOCK_WAIT_NS, lock_wait_ns, "tasks: of work_ns: workers waited for locks, asleep") \
	X(BARRIER_WAIT_NS, barrier_wait_ns, "tasks: of work_ns: workers waited for others at barriers")

enum {
#define ENUMERATOR(upper, name, help) ADSM_SCRATCHPAD_##upper,
	ADSM_SCRATCHPAD_COUNTS(ENUMERATOR)
#undef ENUMERATOR
	ADSM_SCRATCHPAD_N_COUNTS
};

#define ADSM_SCRATCHPAD_FIRST_OF_TASKS ADSM_SCRATCHPAD_WORKERS

/* Of several launches, and of cores, the most counts; else they are added up. */
#define ADSM_SCRATCHPAD_IS_PEAK(count) ((count) == ADSM_SCRATCHPAD_BYTES_PEAK || (count) == ADSM_SCRATCHPAD_DEPTH)

struct adsm_scratchpad_span { uint64_t start_ns, ns; };

/* What a core was brought, lines or code, as long as there is room; by cores and kinds, each in their order. */
#define ADSM_SCRATCHPAD_MOVES 1024
struct adsm_scratchpad_moves {
	uint32_t core, code;
	struct adsm_scratchpad_span span;
	uint64_t count, bytes;
};

/* Written by the device before the launch is done, if it was to be counted. */
struct adsm_scratchpad_costs {
	uint64_t seq;			/* its number; another one's: nothing is known of it */
	uint64_t start_ns;
	_Atomic uint64_t values[ADSM_SCRATCHPAD_N_COUNTS];
	struct { struct adsm_scratchpad_span work, flush; } cores[ADSM_SCRATCHPAD_MAX_CORES];
	_Atomic uint32_t n_moves;
	struct adsm_scratchpad_moves moves[ADSM_SCRATCHPAD_MOVES];
};

struct adsm_scratchpad_loads {
	_Atomic uint64_t n, bytes;	/* partitions of code transferred */
};

/* What a kernel has moved, and would have by other caches (adsm_scratchpad_other()), in all calls that were advised. */
struct adsm_scratchpad_replayed {
	char kernel[ADSM_PROCESS_NAME];
	uint32_t missing;		/* a bit for each: there is no such cache, or the kernel has no stack then */
	_Atomic uint32_t unsure;	/* it may be others next time */
	_Atomic uint64_t calls, cores;	/* cores that had a block, of all calls */
	_Atomic uint64_t now, moved[ADSM_SCRATCHPAD_OTHERS];	/* bytes, in and out */
	/* And loaded, and would have by other settings (adsm_scratchpad_setting()), where its code is in partitions. */
	_Atomic uint32_t buffers;	/* sub-buffers; 0: its code is in one piece */
	_Atomic uint32_t unlike;	/* a model of its own setting has loaded something else */
	struct adsm_scratchpad_loads loads_now, loads[ADSM_SCRATCHPAD_SETTINGS];
};

#define ADSM_SCRATCHPAD_REPLAYED 64	/* kernels of which something is known */

struct adsm_scratchpad_shared {
	uint32_t n_cores;
	_Atomic uint32_t n_replayed;
	struct adsm_scratchpad_geometry geometry;
	struct adsm_scratchpad_overlays overlays;	/* as options say it */
	_Atomic uint32_t no_room;	/* settings, by bits: some module's code has none then */
	struct adsm_scratchpad_replayed replayed[ADSM_SCRATCHPAD_REPLAYED];
	struct adsm_sharings sharings;
	struct adsm_scratchpad_costs costs[ADSM_PROCESS_SLOTS];	/* by slot */
};

#endif
