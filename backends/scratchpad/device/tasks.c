/* SPDX-License-Identifier: MIT */
/*
 * tasks.c - see tasks.h. Workers, locks, barriers and their errors are those of any device process (task.h). This file
 * has what a worker's core does before and after each of them. Workers have other cores than kernels, so the layout of
 * a core never changes. No kernel runs at the same time as a task.
 */
#include "tasks.h"

#include "base/log.h"
#include "base/os.h"
#include "crc_copies.h"
#include "process/device/handler.h"
#include "process/device/task_crew.h"
#include "process/device/task_flag.h"
#include "process/device/task_lock.h"
#include "store/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEAP_SIZE ((size_t)1 << 30)
#define HEAP_ALIGNMENT ((uintptr_t)1 << 20)	/* it begins and ends with whole pages, of any size */

enum { OBJECTS, HEAP, ARGUMENTS, TABLES };	/* the spans */

_Static_assert(TABLES + 1 == ADSM_CRC_SPANS, "TABLES is the last span");

static struct {
	struct adsm_scratchpad_shared *shared;
	struct adsm_cache_memory memory;
	unsigned n_cores;
	char does_not_fit[ADSM_PROCESS_TEXT];	/* "": tasks fit */
	/* Since the first task. */
	struct adsm_crc crc;
	struct adsm_lent heap;		/* memory of ADSM_TASK_ALLOC; plain pointers cannot access it */
	struct adsm_copies_cores cores;
	struct adsm_scratchpad_costs *costs;	/* of the running task; NULL: it is not counted */
} tasks;

static struct adsm_kernel_services services;	/* the services of adsm_services_here that workers may call */

const struct adsm_core *adsm_tasks_core(void)
{
	return adsm_task_mine ? &tasks.cores.of[adsm_task_mine->base.index] : NULL;
}

/* Workers allocate only by ADSM_TASK_ALLOC: the pages of other memory would not be shared by workers. */
static uint64_t no_memory(size_t size)
{
	return 0;
}

void adsm_tasks_start(struct adsm_process_shared *shared, const struct adsm_scratchpad_geometry *geometry,
		      const struct adsm_scratchpad_task *task, const struct adsm_cache_memory *memory, unsigned n_cores,
		      void (*wrong)(uint64_t address, const char *what))
{
	static struct adsm_core cores[ADSM_SCRATCHPAD_MAX_CORES];

	tasks.shared = (struct adsm_scratchpad_shared *)shared->extra;
	tasks.memory = *memory;
	tasks.n_cores = n_cores;
	services = adsm_services_here;
	services.alloc = no_memory;
	tasks.cores = (struct adsm_copies_cores){
		.page = task->page, .below = &adsm_crc_copies, .arg = &tasks.crc, .wrong = wrong,
		.services = &services, .of = cores,
	};
	adsm_scratchpad_lay_out_task(geometry, task, &tasks.cores.layout, tasks.does_not_fit,
				     sizeof(tasks.does_not_fit));
}

bool adsm_tasks_fit(const struct adsm_store_needs *needs, char ret_text[ADSM_PROCESS_TEXT])
{
	if (!*tasks.does_not_fit)
		return adsm_store_task_fits(&tasks.cores.layout, tasks.cores.page, needs, ret_text);
	adsm_format(ret_text, ADSM_PROCESS_TEXT, "task '%s': %s", needs->name, tasks.does_not_fit);
	return false;
}

/* ---- what workers ask */

static struct adsm_copies *pages_of(const struct adsm_task_worker *worker)
{
	return tasks.cores.of[worker->index].window;
}

static void lock(struct adsm_task_worker *worker, uint32_t id)
{
	adsm_task_lock(worker, id);
	adsm_copies_acquire(pages_of(worker));
}

static void unlock(struct adsm_task_worker *worker, uint32_t id)
{
	adsm_copies_release(pages_of(worker));
	adsm_task_unlock(worker, id);
}

static void barrier(struct adsm_task_worker *worker)
{
	adsm_copies_release(pages_of(worker));
	adsm_task_barrier(worker);
	adsm_copies_acquire(pages_of(worker));
}

static void set_flag(struct adsm_task_worker *worker, uint32_t id)
{
	adsm_copies_release(pages_of(worker));
	adsm_task_set_flag(worker, id);
}

static void await_flag(struct adsm_task_worker *worker, uint32_t id)
{
	adsm_task_await_flag(worker, id);
	adsm_copies_acquire(pages_of(worker));
}

static void flush(struct adsm_task_worker *worker, const volatile void *p)
{
	adsm_copies_flush(pages_of(worker), (uint64_t)(uintptr_t)p, p ? 1 : 0);
}

/* Memory that is given again has been another worker's: what that one had of it is in memory since it was freed, and
 * what this one has is from before. */
static void *allocate(struct adsm_task_worker *worker, size_t size)
{
	const uint64_t cost = adsm_lent_cost(size), address = cost ? adsm_lent_alloc(&tasks.heap, cost) : 0;

	if (address)
		adsm_copies_flush(pages_of(worker), address, size);
	return (void *)(uintptr_t)address;
}

static void give_back(struct adsm_task_worker *worker, void *p)
{
	const uint64_t address = (uint64_t)(uintptr_t)p, size = adsm_lent_size(&tasks.heap, address);

	if (!p)
		return;
	if (size)
		adsm_copies_flush(pages_of(worker), address, size);
	/* Another worker may have freed it since. */
	if (!size || !adsm_lent_free(&tasks.heap, address))
		adsm_task_fail_by((struct adsm_task_thread *)worker, -EINVAL, ADSM_TASK_FREES, p);
}

static void add_count(unsigned what, uint64_t n)
{
	atomic_fetch_add(&tasks.costs->values[what], n);
}

static void run(struct adsm_task_worker *worker, const struct adsm_pool_launch *launch)
{
	const struct adsm_core *core = &tasks.cores.of[worker->index];
	struct adsm_copies *pages = core->window;
	const uint64_t commands = adsm_handler_commands();
	uint64_t start_ns, end_ns;

	adsm_copies_begin(pages, tasks.costs);
	pages->store.worker = worker;
	if (tasks.costs)
		adsm_core_paint(core);
	start_ns = adsm_os_now_ns();
	adsm_core_call(core, (void *)(uintptr_t)launch->task, worker, launch->args);
	end_ns = adsm_os_now_ns();
	adsm_copies_release(pages);
	if (tasks.costs) {
		add_count(ADSM_SCRATCHPAD_COMMANDS, adsm_handler_commands() - commands);
		tasks.costs->cores[worker->index].work = (struct adsm_span){ start_ns, end_ns - start_ns };
		tasks.costs->cores[worker->index].flush = (struct adsm_span){ end_ns, adsm_os_now_ns() - end_ns };
	}
}

static const struct adsm_task_calls calls = {
	.size = sizeof(calls),
	.lock = lock,
	.unlock = unlock,
	.barrier = barrier,
	.flush = flush,
	.alloc = allocate,
	.free = give_back,
	.set_flag = set_flag,
	.await_flag = await_flag,
	.clear_flag = adsm_task_clear_flag,
};

static const struct adsm_task_ops ops = { .calls = &calls, .run = run };

/* ---- what it has cost */

static void add_worker(unsigned worker)
{
	const uint64_t peak = adsm_core_used(&tasks.cores.of[worker], &tasks.cores.layout);

	add_count(ADSM_SCRATCHPAD_CORES, 1);
	add_count(ADSM_SCRATCHPAD_WORK_NS, tasks.costs->cores[worker].work.ns);
	add_count(ADSM_SCRATCHPAD_FLUSH_NS, tasks.costs->cores[worker].flush.ns);
	if (peak > tasks.costs->values[ADSM_SCRATCHPAD_BYTES_PEAK])
		tasks.costs->values[ADSM_SCRATCHPAD_BYTES_PEAK] = peak;
}

static void add_copies(const struct adsm_copies_counts *counts)
{
	const uint64_t in = counts->read_misses + counts->write_misses;
	const uint64_t out = counts->sent_on_miss + counts->sent_on_sync;

	add_count(ADSM_SCRATCHPAD_HITS, counts->reads + counts->writes - in);
	add_count(ADSM_SCRATCHPAD_MISSES, in);
	add_count(ADSM_SCRATCHPAD_DIRECT, counts->direct);
	add_count(ADSM_SCRATCHPAD_DMA_IN, in);
	add_count(ADSM_SCRATCHPAD_DMA_OUT, out);
	add_count(ADSM_SCRATCHPAD_BYTES_IN, in * tasks.cores.page);
	add_count(ADSM_SCRATCHPAD_BYTES_OUT, out * tasks.cores.page);
#define ADD(upper, name) add_count(ADSM_SCRATCHPAD_##upper, counts->name);
	ADSM_COPIES_COUNTS(ADD)
#undef ADD
}

static void add_sharing(const struct adsm_process_slot *slot, const struct adsm_pool_launch *launch,
			const struct adsm_copies_counts *counts)
{
	const struct adsm_crc_worst *worst = &tasks.crc.worst;
	struct adsm_sharing_call call = {
		.task = slot->name, .page = tasks.cores.page,
		.worst = { .address = worst->address, .n = worst->n, .worker = worst->worker },
		.args = launch->args, .n_args = slot->n_args, .base = tasks.memory.base, .size = tasks.memory.size,
	};

	adsm_format(call.worst.because, sizeof(call.worst.because), "worker %u", worst->writer);
	memcpy(call.moved, counts->moved, sizeof(call.moved));
	adsm_sharing_add(&tasks.shared->sharings, &call);
}

static void add_costs(const struct adsm_process_slot *slot, const struct adsm_pool_launch *launch)
{
	const uint64_t *counts = slot->counts;
	struct adsm_copies_counts copies;

	for (unsigned i = 0; i < launch->n; i++)
		add_worker(i);
	copies = adsm_copies_sum(&tasks.cores, (uint32_t)launch->n);
	add_copies(&copies);
	add_count(ADSM_SCRATCHPAD_WORKERS, counts[ADSM_TASK_WORKERS]);
	add_count(ADSM_SCRATCHPAD_LOCKS, counts[ADSM_TASK_LOCKS]);
	add_count(ADSM_SCRATCHPAD_LOCK_WAITS, counts[ADSM_TASK_LOCK_WAITS]);
	add_count(ADSM_SCRATCHPAD_HANDOVERS, counts[ADSM_TASK_HANDOVERS]);
	add_count(ADSM_SCRATCHPAD_BARRIERS, counts[ADSM_TASK_BARRIERS]);
	add_count(ADSM_SCRATCHPAD_FLAGS, counts[ADSM_TASK_FLAGS]);
	add_count(ADSM_SCRATCHPAD_FLAG_WAITS, counts[ADSM_TASK_FLAG_WAITS]);
	add_count(ADSM_SCRATCHPAD_FLAG_WAIT_NS, counts[ADSM_TASK_FLAG_WAIT_NS]);
	add_count(ADSM_SCRATCHPAD_LOCK_WAIT_NS, counts[ADSM_TASK_LOCK_WAIT_NS]);
	add_count(ADSM_SCRATCHPAD_BARRIER_WAIT_NS, counts[ADSM_TASK_BARRIER_WAIT_NS]);
	add_sharing(slot, launch, &copies);
}

/* ---- launches */

/* The heap's administration is outside of it, because a worker may write back stale bytes at any time. */
static int start_heap(struct adsm_crc_span *span)
{
	void *range;

	span->bytes = adsm_os_table(HEAP_SIZE);
	if (!span->bytes)
		return -ENOMEM;
	if (adsm_os_reserve(0, HEAP_SIZE + HEAP_ALIGNMENT, &range)) {
		adsm_os_unmap(span->bytes, HEAP_SIZE);
		return -ENOMEM;
	}
	span->begin = ((uintptr_t)range + HEAP_ALIGNMENT - 1) & ~(HEAP_ALIGNMENT - 1);
	span->end = span->begin + HEAP_SIZE;
	tasks.heap = (struct adsm_lent){ .base = (uint8_t *)span->begin, .size = HEAP_SIZE, .open = HEAP_SIZE };
	return 0;
}

static int start_memory(bool counted)
{
	struct adsm_crc_span heap = { .bytes = NULL }, *spans = tasks.crc.spans;
	int ret;

	if (!tasks.crc.page) {
		ret = start_heap(&heap);
		/* The next task tries again. */
		if (ret)
			return ret;
		adsm_crc_init(&tasks.crc, tasks.cores.page);
		spans[HEAP] = heap;
		spans[OBJECTS] = (struct adsm_crc_span){
			.begin = tasks.memory.base, .end = tasks.memory.base + tasks.memory.size,
			.bytes = tasks.memory.bytes, .live = tasks.memory.live,
		};
	}
	ret = adsm_crc_write_span(&tasks.crc, &spans[OBJECTS], counted);
	return ret ? ret : adsm_crc_write_span(&tasks.crc, &spans[HEAP], counted);
}

int adsm_tasks_run(struct adsm_process_slot *slot, struct adsm_process_shared *served,
		   struct adsm_pool_launch *launch, const struct adsm_cache_memory *memory,
		   struct adsm_scratchpad_costs *costs, char ret_text[ADSM_PROCESS_TEXT])
{
	int ret = start_memory(costs);

	memset(slot->counts, 0, sizeof(slot->counts));
	if (launch->n > tasks.n_cores) {
		adsm_format(ret_text, ADSM_PROCESS_TEXT, "task '%s' has %lu workers, but there are only %u cores "
			    "(ADSM_SCRATCHPAD_CORES)", slot->name, launch->n, tasks.n_cores);
		return -EINVAL;
	}
	if (!ret)
		ret = adsm_copies_make(&tasks.cores, (uint32_t)launch->n);
	if (ret) {
		adsm_format(ret_text, ADSM_PROCESS_TEXT, ADSM_COPIES_NO_MEMORY, slot->name);
		return ret;
	}
	for (int i = 0; i < ADSM_CACHE_READABLE; i++)
		tasks.crc.spans[ARGUMENTS + i] = (struct adsm_crc_span){
			.begin = memory->readable[i].begin, .end = memory->readable[i].end,
			.bytes = (uint8_t *)(uintptr_t)memory->readable[i].begin,
		};
	tasks.costs = costs;
	tasks.crc.run++;
	tasks.crc.worst = (struct adsm_crc_worst){ .n = 0 };
	launch->task_ops = &ops;
	ret = adsm_task_run_all(launch, slot->name, served, slot->counts, ret_text);
	if (slot->counts[ADSM_TASK_WORKERS]) {	/* otherwise no worker has run */
		/* A worker that has left a failed task still has stores. Pages that the others still have are counted
		 * as moved, too. */
		for (unsigned i = 0; i < launch->n && (ret || costs); i++)
			adsm_copies_flush_all(tasks.cores.of[i].window);
		if (costs)
			add_costs(slot, launch);
	}
	tasks.costs = NULL;
	return ret;
}
