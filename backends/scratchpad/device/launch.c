/* SPDX-License-Identifier: MIT */
/* launch.c - see launch.h. A thread of the pool becomes a core with its first block. At the end of a launch each core's
 * cache is empty, so the next launch finds what the host has written meanwhile. */
#include "launch.h"

#include "base/os.h"
#include "modules.h"
#include "notes.h"
#include "process/device/crash.h"
#include "process/device/handler.h"
#include "process/device/pool.h"
#include "process/device/serve.h"
#include "process/live.h"
#include "replay.h"
#include "scratchpad/shared.h"
#include "tasks.h"

#include <errno.h>
#include <signal.h>

static struct adsm_process_shared *served;
static struct adsm_cache_memory memory;
static struct adsm_live live;
static struct adsm_scratchpad_layout layout;
static struct adsm_core cores[ADSM_SCRATCHPAD_MAX_CORES];
static unsigned n_cores;
static struct adsm_overlay *overlay;		/* of the current launch; NULL: its code is in one piece */
static uint64_t code_bytes;		/* bytes of the code buffer that the current launch uses */
static bool traced;			/* moves are recorded; implies costs */
static struct adsm_spans spans[ADSM_SCRATCHPAD_MAX_CORES][2];	/* if traced: misses, loads of code */
static bool advised;			/* other caches and settings are simulated; implies costs */
static struct adsm_scratchpad_replayed *replayed;	/* what other caches would move; NULL: not simulated */
static struct adsm_scratchpad_costs *costs;	/* of the current launch; NULL: it is not counted */

/* Of this thread. */
static _Thread_local struct {
	struct adsm_core *core;
	unsigned index;
	adsm_kernel_run *run;
	uint64_t hits;			/* the cache's clock at the begin of the launch */
	uint64_t commands;		/* commands given before the launch */
	uint64_t start_ns;
} mine;

static struct adsm_scratchpad_shared *extra(void)
{
	return (struct adsm_scratchpad_shared *)served->extra;
}

/* ---- errors of kernels */

/* An access through the cache at an address outside of device memory. */
static void on_wrong_address(uint64_t address, const char *what)
{
	static _Thread_local char why[320];
	char near[160];

	adsm_live_say(&live, memory.base, address, near, sizeof(near));
	adsm_core_say_wrong(what, near, why, sizeof(why));
	adsm_crash_now(SIGSEGV, address, why);
}

static void on_wrong(struct adsm_cache *cache, uint64_t address, const char *what)
{
	on_wrong_address(address, what);
}

/* An access by an instruction of the kernel itself. */
static const char *explain(int signal, uint64_t address, const char *access)
{
	const struct adsm_core *core = adsm_tasks_core() ? adsm_tasks_core() : mine.core;

	if (signal != SIGSEGV && signal != SIGBUS)
		return NULL;
	if (address - memory.base < memory.size)
		return ": " ADSM_CORE_PLAIN "; then the load or store uses the cache";
	return core ? adsm_core_explain(core, address, "ADSM_SHARED and ADSM_PRIVATE arrays") : NULL;
}

/* ---- services of kernels: those of the execution handler, except that freeing also flushes the cache */

static struct adsm_kernel_services services;

/* After the memory is freed, nothing may be written back to it. */
static void free_memory(uint64_t address)
{
	adsm_cache_flush(mine.core->cache);
	adsm_services_here.free(address);
}

/* ---- a core's part of a launch */

/* Start or stop recording when lines and code are brought to this core. */
static void watch(bool on)
{
	struct adsm_spans *its = spans[mine.index];
	/* A share of the room for all cores. */
	const uint32_t most = ADSM_SCRATCHPAD_MOVES / (n_cores * 2);

	for (int i = 0; i < 2 && on; i++)
		adsm_spans_start(&its[i], most);
	mine.core->cache->spans = on ? &its[0] : NULL;
	if (overlay)
		adsm_overlay_watch(overlay, mine.index, on ? &its[1] : NULL);
}

static void begin(const struct adsm_pool_launch *launch)
{
	static _Atomic unsigned taken;

	if (!mine.core) {
		mine.index = atomic_fetch_add(&taken, 1);
		mine.core = &cores[mine.index];
	}
	if (overlay && (advised || adsm_notes_wanted()))
		adsm_overlay_record(overlay, mine.index, advised);
	mine.run = adsm_overlay_enter(overlay, mine.index, launch->name);
	if (!mine.run)
		mine.run = launch->run;
	adsm_cache_count(mine.core->cache, costs);
	watch(false);
	if (!costs)
		return;
	adsm_core_paint(mine.core);
	mine.core->cache->counts = (struct adsm_cache_counts){ 0 };
	mine.hits = mine.core->cache->store.clock;
	mine.commands = adsm_handler_commands();
	mine.start_ns = adsm_os_now_ns();
	watch(traced);
	if (replayed)
		adsm_replay_begin(mine.index, mine.core->cache);
}

static void run(const struct adsm_pool_launch *launch, const struct adsm_kernel_block *block)
{
	adsm_core_run(mine.core, mine.run, block, launch->args);
}

static void add_count(unsigned what, uint64_t n)
{
	atomic_fetch_add(&costs->values[what], n);
}

static void add_most(unsigned what, uint64_t n)
{
	uint64_t most = atomic_load(&costs->values[what]);

	while (most < n && !atomic_compare_exchange_weak(&costs->values[what], &most, n))
		;
}

static void add_code_costs(void)
{
	const struct adsm_partition_counters counters = adsm_overlay_counters(overlay, mine.index);

	add_count(ADSM_SCRATCHPAD_CALLS, counters.calls);
	add_count(ADSM_SCRATCHPAD_LOADS, counters.loads);
	add_count(ADSM_SCRATCHPAD_LOADED, counters.bytes);
	add_count(ADSM_SCRATCHPAD_RETURNS, counters.loads_for_returns);
	add_count(ADSM_SCRATCHPAD_VICTIMS, counters.victim_hits);
	add_most(ADSM_SCRATCHPAD_DEPTH, counters.depth);
}

/* The parts of the local store. */
static void add_store_costs(void)
{
	const uint64_t cache = adsm_core_parts(&layout), used = adsm_core_used(mine.core, &layout);

	add_most(ADSM_SCRATCHPAD_BYTES_PEAK, used);
	add_most(ADSM_SCRATCHPAD_STORE_CACHE, cache);
	add_most(ADSM_SCRATCHPAD_STORE_CODE, code_bytes);
	add_most(ADSM_SCRATCHPAD_STORE_STACK, used - cache - layout.code);
	add_most(ADSM_SCRATCHPAD_STORE_OUTSIDE,
		 ADSM_SCRATCHPAD_CACHE_CODE + (overlay ? ADSM_SCRATCHPAD_MANAGER_CODE : 0));
}

static void add_costs(uint64_t work_end_ns)
{
	const struct adsm_cache_counts *counts = &mine.core->cache->counts;
	const uint64_t end_ns = adsm_os_now_ns();
	const uint64_t accesses = mine.core->cache->store.clock - mine.hits;

	add_count(ADSM_SCRATCHPAD_HITS, accesses - counts->misses);
	add_count(ADSM_SCRATCHPAD_MISSES, counts->misses);
	add_count(ADSM_SCRATCHPAD_AHEAD, counts->ahead);
	add_count(ADSM_SCRATCHPAD_DIRECT, counts->direct);
	add_count(ADSM_SCRATCHPAD_DMA_IN, counts->dma_in);
	add_count(ADSM_SCRATCHPAD_DMA_OUT, counts->dma_out);
	add_count(ADSM_SCRATCHPAD_BYTES_IN, counts->bytes_in);
	add_count(ADSM_SCRATCHPAD_BYTES_OUT, counts->bytes_out);
	add_count(ADSM_SCRATCHPAD_COMMANDS, adsm_handler_commands() - mine.commands);
	add_count(ADSM_SCRATCHPAD_CORES, 1);
	add_count(ADSM_SCRATCHPAD_WORK_NS, work_end_ns - mine.start_ns);
	add_count(ADSM_SCRATCHPAD_FLUSH_NS, end_ns - work_end_ns);
	add_store_costs();
	if (overlay)
		add_code_costs();
	costs->cores[mine.index].work = (struct adsm_span){ mine.start_ns, work_end_ns - mine.start_ns };
	costs->cores[mine.index].flush = (struct adsm_span){ work_end_ns, end_ns - work_end_ns };
}

/* Convert ticks to nanoseconds, at the average rate since the core began; the span does not exceed its end. */
static struct adsm_span span_of(const struct adsm_spans_one *one, uint64_t end_ticks, uint64_t ns)
{
	const uint64_t begin = spans[mine.index][0].begin;
	const double rate = (double)ns / (double)(end_ticks - begin + 1);
	uint64_t first = (uint64_t)((double)(one->first - begin) * rate);
	uint64_t last = (uint64_t)((double)(one->last - begin) * rate);

	last = last < ns ? last : ns;
	first = first < last ? first : last;
	return (struct adsm_span){ mine.start_ns + first, last - first };
}

static void add_moves(uint64_t end_ticks, uint64_t work_end_ns)
{
	for (uint32_t k = 0; k < 2; k++)
		for (uint32_t i = 0; i < spans[mine.index][k].n; i++) {
			const struct adsm_spans_one *one = &spans[mine.index][k].v[i];

			if (one->count)
				costs->moves[atomic_fetch_add(&costs->n_moves, 1)] = (struct adsm_scratchpad_moves){
					mine.index, k, span_of(one, end_ticks, work_end_ns - mine.start_ns),
					one->count, one->bytes,
				};
		}
}

static void end(const struct adsm_pool_launch *launch)
{
	const uint64_t work_end_ns = costs ? adsm_os_now_ns() : 0, work_end_ticks = adsm_spans_now();

	/* A store to a constant is detected when the line is written back. */
	adsm_crash_in_kernel = true;
	adsm_cache_flush(mine.core->cache);
	adsm_crash_in_kernel = false;
	if (costs)
		add_costs(work_end_ns);
	if (replayed)
		adsm_replay_end(mine.index, mine.core->cache, replayed);
	if (replayed && overlay)
		adsm_overlay_replayed(overlay, mine.index, replayed);
	if (traced)
		add_moves(work_end_ticks, work_end_ns);
}

/* ---- launches */

static const struct adsm_pool_ops ops = { begin, run, end };

static void begin_costs(const struct adsm_process_slot *slot, uint64_t i, uint64_t seq)
{
	costs = slot->counted ? &extra()->costs[i] : NULL;
	traced = costs && slot->traced;
	advised = costs && slot->advised;
	replayed = NULL;
	if (!costs)
		return;
	costs->seq = 0;
	for (int k = 0; k < ADSM_SCRATCHPAD_N_COUNTS; k++)
		atomic_store(&costs->values[k], 0);
	for (unsigned k = 0; k < n_cores; k++)
		costs->cores[k].work.ns = costs->cores[k].flush.ns = 0;
	atomic_store(&costs->n_moves, 0);
	costs->start_ns = slot->start_ns;
	costs->seq = seq;
}

static int run_launch(struct adsm_pool_launch *launch, uint64_t i)
{
	struct adsm_process_slot *slot = &served->slots[i];

	launch->ops = &ops;
	memory.readable[0].begin = (uint64_t)(uintptr_t)(slot->in_area ? served->areas[i] : slot->args);
	memory.readable[0].end = memory.readable[0].begin + slot->arg_bytes;
	adsm_modules_tables(slot->kernel, &memory.readable[1].begin, &memory.readable[1].end);
	adsm_modules_variables(slot->kernel, &memory.variables.begin, &memory.variables.end);
	overlay = adsm_modules_overlay(slot->kernel);
	code_bytes = adsm_modules_code(slot->kernel);
	begin_costs(slot, i, atomic_load(&served->queue.done) + 1);
	if (launch->task)
		return adsm_tasks_run(slot, served, launch, &memory, costs, served->failures[i]);
	replayed = advised ? adsm_replay_of(slot->name, adsm_modules_stack(slot->kernel)) : NULL;
	if (replayed)
		atomic_fetch_add(&replayed->calls, 1);
	adsm_pool_run(launch);
	return overlay && adsm_notes_wanted() ? adsm_overlay_note(overlay, served->failures[i]) : 0;
}

static void start_core(unsigned i)
{
	cores[i].cache->store.services = &services;
	adsm_overlay_core(i, cores[i].window, cores[i].code);
}

int adsm_launch_start(struct adsm_process_shared *shared, const struct adsm_scratchpad_geometry *geometry,
		      const struct adsm_scratchpad_layout *its_layout, const struct adsm_scratchpad_task *task,
		      unsigned n, const struct adsm_process_request *hello, void *bytes)
{
	int ret = n > ADSM_SCRATCHPAD_MAX_CORES ? -EINVAL : 0;

	served = shared;
	layout = *its_layout;
	adsm_live_start(&live, shared->extra + hello->extra - adsm_live_bytes(hello->size), hello->size);
	memory = (struct adsm_cache_memory){ .base = hello->base, .size = hello->size, .bytes = bytes,
					     .live = live.pages };
	adsm_handler_start(shared);
	memory.lent.begin = (uintptr_t)adsm_handler_lent.base;
	memory.lent.end = memory.lent.begin + adsm_handler_lent.size;
	services = adsm_services_here;
	services.free = free_memory;
	for (n_cores = 0; n_cores < n && !ret; n_cores++) {
		ret = adsm_core_create(geometry, &layout, &memory, on_wrong, &cores[n_cores]);
		if (!ret)
			start_core(n_cores);
	}
	if (ret)
		return ret;
	extra()->n_cores = n;
	adsm_replay_start(extra(), geometry, &memory);
	adsm_tasks_start(shared, geometry, task, &memory, n, on_wrong_address);
	adsm_crash_explain = explain;
	return adsm_serve_launches_by(shared, n, run_launch);
}
