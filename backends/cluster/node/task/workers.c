/* SPDX-License-Identifier: MIT */
/* workers.c - see workers.h. The threads, and how a worker leaves a failed task, are those of any device process
 * (task.h). The locks and the barrier of task.h are not used: for task.h, a worker that waits in hcrc_node.h runs. */


/* A worker has a stack of its own, which the check of longjmp() would take for an error. */
#undef _FORTIFY_SOURCE

#include "workers.h"

#include "base/log.h"
#include "base/os.h"
#include "cluster/node/hcrc/hcrc_copies.h"
#include "cluster/node/hcrc/hcrc_node.h"
#include "images.h"
#include "process/device/crash.h"
#include "process/device/task.h"
#include "process/device/task_crew.h"
#include "store/core.h"
#include "cluster/node/hcrc/virtual.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct worker {
	struct adsm_task_worker base;	/* for the kernel: its index counts the workers of all nodes */
	struct adsm_task_thread *thread;
	uint32_t *locks;		/* that it holds */
	uint32_t n_locks, room;
	uint32_t waits_for;		/* as in task_crew.h */
	bool gives_back;		/* it released the lock waits_for without holding it */
};

static struct {
	struct adsm_copies_cores cores;
	void (*wake)(void);
	struct worker all[ADSM_HCRC_WORKERS_MAX];
	/* The running task. */
	struct adsm_workers_part part;
	struct adsm_hcrc_memory memory;
	int status;
	char text[ADSM_PROCESS_TEXT];
	uint64_t counts[ADSM_TASK_N_COUNTS];
	struct adsm_task_record record;
	_Atomic bool done;
} workers;

/* ---- requests of workers, and leaving */

static struct worker *worker_of(struct adsm_task_worker *base)
{
	return (struct worker *)base;
}

static uint32_t index_of(const struct worker *worker)
{
	return (uint32_t)(worker - workers.all);
}

static struct adsm_copies *pages_of(const struct worker *worker)
{
	return workers.cores.of[index_of(worker)].window;
}

static __attribute__((noreturn)) void leave(uint32_t index)
{
	adsm_task_leave(workers.all[index].thread);
}

/* Leave if the task has failed, on any node. */
static void check(const struct worker *worker, int error)
{
	if (error)
		leave(index_of(worker));
}

static __attribute__((noreturn)) void refuse(uint32_t index, const char *what)
{
	adsm_task_fail_by(workers.all[index].thread, -ENOTSUP, "%s", what);
}

static uint32_t find_lock(const struct worker *worker, uint32_t id)
{
	uint32_t i = 0;

	while (i < worker->n_locks && worker->locks[i] != id)
		i++;
	return i;
}

static void add_lock(struct worker *worker, uint32_t id)
{
	if (worker->n_locks == worker->room) {
		const uint32_t room = worker->room ? 2 * worker->room : 16;
		uint32_t *locks = realloc(worker->locks, room * sizeof(*locks));

		if (!locks) {
			adsm_task_fail(-ENOMEM, "not enough memory for the list of locks that worker %u holds",
				       worker->base.index);
			adsm_hcrc_node_fail(index_of(worker), -ENOMEM);
			leave(index_of(worker));
		}
		worker->locks = locks;
		worker->room = room;
	}
	worker->locks[worker->n_locks++] = id;
}

static void take_notices(struct worker *worker)
{
	const uint32_t index = index_of(worker);
	uint32_t page;

	while ((page = adsm_hcrc_node_notice(index)) != ADSM_HCRC_NONE)
		adsm_copies_give_up(pages_of(worker), adsm_hcrc_address(&workers.memory, page, workers.cores.page));
}

static void acquire(struct worker *worker, uint32_t id)
{
	const uint64_t since = adsm_task_since();
	enum adsm_hcrc_acquired how;
	bool has_notices;

	worker->waits_for = id;
	check(worker, adsm_hcrc_node_acquire(index_of(worker), id, &how, &has_notices));
	worker->waits_for = ADSM_TASK_RUNS;
	/* The worker has slept. */
	if (how != ADSM_HCRC_WITHOUT_SLEEP) {
		worker->thread->counts[ADSM_TASK_LOCK_WAITS]++;
		adsm_task_waited(worker->thread, since, id == ADSM_NODE_HEAP_LOCK ? ADSM_TASK_FOR_MEMORY :
				 how == ADSM_HCRC_FROM_WORKER ? id | ADSM_TASK_HANDED : id);
	}
	add_lock(worker, id);
	if (has_notices)
		take_notices(worker);
}

static void release(struct worker *worker, uint32_t id)
{
	adsm_copies_release(pages_of(worker));
	/* A worker that leaves here still holds the lock, for say_owner(). */
	check(worker, adsm_hcrc_node_release(index_of(worker), id));
	worker->locks[find_lock(worker, id)] = worker->locks[worker->n_locks - 1];
	worker->n_locks--;
}

static void check_number(const struct worker *worker, uint32_t id)
{
	if (id >= ADSM_TASK_LOCKS_MAX)
		adsm_task_fail_by(worker->thread, -EINVAL, ADSM_TASK_NO_LOCK, id, ADSM_TASK_LOCKS_MAX - 1);
}

static void lock(struct adsm_task_worker *base, uint32_t id)
{
	struct worker *worker = worker_of(base);

	check_number(worker, id);
	if (find_lock(worker, id) < worker->n_locks)
		adsm_task_fail_by(worker->thread, -EDEADLK, ADSM_TASK_HAS_LOCK, id);
	acquire(worker, id);
}

static void unlock(struct adsm_task_worker *base, uint32_t id)
{
	struct worker *worker = worker_of(base);

	check_number(worker, id);
	if (find_lock(worker, id) == worker->n_locks) {
		/* The holder is known after all workers have left. */
		worker->waits_for = id;
		worker->gives_back = true;
		adsm_task_fail_by(worker->thread, -EPERM, ADSM_TASK_GIVES_FREE, id);
	}
	release(worker, id);
}

static void barrier(struct adsm_task_worker *base)
{
	struct worker *worker = worker_of(base);
	uint64_t since;

	adsm_copies_release(pages_of(worker));
	since = adsm_task_since();
	worker->waits_for = ADSM_TASK_AT_BARRIER;
	check(worker, adsm_hcrc_node_barrier(index_of(worker)));
	worker->waits_for = ADSM_TASK_RUNS;
	adsm_task_waited(worker->thread, since, ADSM_TASK_AT_BARRIER);
	take_notices(worker);
}

/* Returns whether the worker has slept. */
static bool use_flag(struct worker *worker, uint8_t kind, uint32_t id)
{
	bool slept = false;

	if (id >= ADSM_TASK_FLAGS_MAX)
		adsm_task_fail_by(worker->thread, -EINVAL, ADSM_TASK_NO_FLAG, id, ADSM_TASK_FLAGS_MAX - 1);
	check(worker, adsm_hcrc_node_flag(index_of(worker), kind, id, &slept));
	return slept;
}

static void set_flag(struct adsm_task_worker *base, uint32_t id)
{
	adsm_copies_release(pages_of(worker_of(base)));
	use_flag(worker_of(base), ADSM_HCRC_FLAG_SET, id);
}

static void clear_flag(struct adsm_task_worker *base, uint32_t id)
{
	use_flag(worker_of(base), ADSM_HCRC_FLAG_CLEAR, id);
}

static void await_flag(struct adsm_task_worker *base, uint32_t id)
{
	struct worker *worker = worker_of(base);
	const uint64_t since = adsm_task_since();
	bool slept;

	worker->waits_for = id | ADSM_TASK_FLAG;
	slept = use_flag(worker, ADSM_HCRC_FLAG_AWAIT, id);
	worker->waits_for = ADSM_TASK_RUNS;
	worker->thread->counts[ADSM_TASK_FLAGS]++;
	if (slept) {
		worker->thread->counts[ADSM_TASK_FLAG_WAITS]++;
		adsm_task_waited(worker->thread, since, id | ADSM_TASK_FLAG);
	}
	take_notices(worker);
}

static void flush(struct adsm_task_worker *base, const volatile void *p)
{
	adsm_copies_flush(pages_of(worker_of(base)), (uint64_t)(uintptr_t)p, p ? 1 : 0);
}

/* The heap's administration is in its own memory, and is kept consistent by a lock of its own, like all other data. */
static void *allocate(struct adsm_task_worker *base, size_t size)
{
	struct worker *worker = worker_of(base);
	uint64_t address;

	acquire(worker, ADSM_NODE_HEAP_LOCK);
	address = adsm_node_heap_alloc(&pages_of(worker)->store, workers.memory.heap, size);
	release(worker, ADSM_NODE_HEAP_LOCK);
	return (void *)(uintptr_t)address;
}

static void give_back(struct adsm_task_worker *base, void *p)
{
	struct worker *worker = worker_of(base);
	bool known;

	if (!p)
		return;
	/* The lock also makes all earlier stores to this memory visible before it is allocated again. */
	acquire(worker, ADSM_NODE_HEAP_LOCK);
	known = adsm_node_heap_free(&pages_of(worker)->store, workers.memory.heap, (uint64_t)(uintptr_t)p);
	release(worker, ADSM_NODE_HEAP_LOCK);
	if (!known)
		adsm_task_fail_by(worker->thread, -EINVAL, ADSM_TASK_FREES, p);
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
	.clear_flag = clear_flag,
};

/* ---- a worker's thread */

static uint32_t held(uint32_t index)
{
	return workers.all[index].n_locks ? workers.all[index].locks[0] : ADSM_TASK_LOCKS_MAX;
}

static void run(struct adsm_task_worker *base, const struct adsm_pool_launch *launch)
{
	struct worker *worker = &workers.all[base->index];
	struct adsm_copies *pages = pages_of(worker);

	worker->thread = (struct adsm_task_thread *)base;
	worker->thread->number = worker->base.index;
	adsm_copies_begin(pages, workers.part.counted);
	pages->store.worker = &worker->base;
	adsm_virtual_resume(base->index);
	adsm_core_call(&workers.cores.of[base->index], (void *)(uintptr_t)launch->task, &worker->base, launch->args);
	adsm_copies_release(pages);
	/* Pages that the worker still has are counted as moved, too. */
	if (workers.part.counted)
		adsm_copies_flush_all(pages);
	if (worker->n_locks)
		adsm_task_fail_by(worker->thread, -EOWNERDEAD, ADSM_TASK_KEEPS_LOCK, worker->locks[0],
				  worker->n_locks > 1 ? ADSM_TASK_AND_MORE : "");
	worker->waits_for = ADSM_TASK_ENDED;
	check(worker, adsm_hcrc_node_end(index_of(worker)));
}

static const struct adsm_task_ops ops = { &calls, run, held, adsm_hcrc_node_fail };

static void *run_all(void *arg)
{
	adsm_crash_thread();
	workers.status = adsm_task_run_all(workers.part.launch, workers.part.launch->name, NULL, workers.counts,
					   workers.text);
	/* If there were not enough threads, no worker has run and the task has not been failed yet. */
	if (workers.status)
		adsm_hcrc_node_fail(0, workers.status);
	adsm_crash_thread_end();
	atomic_store(&workers.done, true);
	workers.wake();
	return NULL;
}

static void on_wrong(uint64_t address, const char *what)
{
	static _Thread_local char why[320];

	adsm_core_say_wrong(what, "", why, sizeof(why));
	adsm_crash_now(SIGSEGV, address, why);
}

void adsm_workers_start(const struct adsm_scratchpad_layout *layout, uint32_t page, void (*wake)(void))
{
	static struct adsm_core cores[ADSM_HCRC_WORKERS_MAX];

	workers.cores = (struct adsm_copies_cores){
		.layout = *layout, .page = page, .below = &adsm_hcrc_copies, .arg = &workers.memory, .wrong = on_wrong,
		.of = cores,
	};
	workers.wake = wake;
}

static void begin_worker(struct worker *worker, uint32_t number)
{
	worker->base = (struct adsm_task_worker){ &calls, number, workers.part.n_all, 0 };
	worker->n_locks = 0;
	worker->waits_for = ADSM_TASK_RUNS;
	worker->gives_back = false;
}

/* No worker of this node begins, and the task fails. */
static void cannot_begin(int error)
{
	workers.status = error;
	workers.part.n = 0;
	atomic_store(&workers.done, true);
	adsm_hcrc_node_cannot_begin(error);
}

void adsm_workers_begin(const struct adsm_workers_part *part)
{
	const uint64_t args = (uint64_t)(uintptr_t)part->args;
	int ret;

	workers.part = *part;
	workers.memory = (struct adsm_hcrc_memory){
		.begin = part->begin, .end = part->end, .heap = part->heap,
		.heap_end = part->heap + ADSM_NODE_HEAP_SIZE, .readable = { { args, args + part->arg_bytes } },
		.leave = leave, .refuse = refuse,
	};
	adsm_images_tables(part->kernel, &workers.memory.readable[1].begin, &workers.memory.readable[1].end);
	part->launch->task_ops = &ops;
	part->launch->n = part->n;
	part->launch->record = part->counted ? &workers.record : NULL;
	memset(&workers.record, 0, sizeof(workers.record));
	memset(workers.counts, 0, sizeof(workers.counts));
	workers.status = 0;
	for (uint32_t i = 0; i < part->n; i++)
		begin_worker(&workers.all[i], part->first + i);
	atomic_store(&workers.done, !part->n);
	ret = adsm_copies_make(&workers.cores, part->n);
	if (ret) {
		adsm_format(workers.text, sizeof(workers.text), ADSM_COPIES_NO_MEMORY, part->launch->name);
		cannot_begin(ret);
		return;
	}
	ret = part->n ? adsm_pool_thread(run_all) : 0;
	if (ret) {
		adsm_format(workers.text, sizeof(workers.text), "task '%s': the thread that starts its workers cannot "
			    "be started: %s (ulimit -u)", part->launch->name, strerror(-ret));
		cannot_begin(ret);
	}
}

/* ---- the end */

bool adsm_workers_done(void)
{
	return atomic_load(&workers.done);
}

int adsm_workers_result(const char **ret_text)
{
	*ret_text = workers.text;
	return workers.status;
}

struct adsm_worker_left adsm_workers_left(uint32_t i)
{
	const struct worker *worker = &workers.all[i];

	return (struct adsm_worker_left){ worker->waits_for, worker->gives_back, worker->n_locks };
}

const uint32_t *adsm_workers_locks(uint32_t i)
{
	return workers.all[i].locks;
}

void adsm_workers_counts(struct adsm_workers_counts *ret_counts)
{
	ret_counts->copies = adsm_copies_sum(&workers.cores, workers.part.n);
	memcpy(ret_counts->of_tasks, workers.counts, sizeof(workers.counts));
}

const struct adsm_task_record *adsm_workers_record(void)
{
	return &workers.record;
}

bool adsm_workers_is_one(void)
{
	return adsm_task_mine;
}

const char *adsm_workers_explain(int signal, uint64_t address, const char *access)
{
	if (!adsm_task_mine || (signal != SIGSEGV && signal != SIGBUS))
		return NULL;
	return adsm_core_explain(&workers.cores.of[adsm_task_mine->base.index], address, "arrays");
}

/*
 * ---- the heap. Sizes of blocks are powers of two, including 64 bytes of description. Freed memory is reused only for
 * its own size.
 */

/* Before each block: log2 of its size, MARK ^ its address, the next free block. */
#define HEAD 64
#define FIRST 4096			/* the first block begins here, after the heap's own words */
#define MARK UINT64_C(0x9d5f2c81a7e3460b)
#define MIN_SHIFT 7

/* Words of the heap: bytes used from FIRST on; then for each size the first free block. */
static uint64_t word(uint64_t heap, uint64_t i)
{
	return heap + 8 * i;
}

static uint64_t load_word(struct adsm_store *store, uint64_t address)
{
	return store->get(store, address, 8);
}

static void store_word(struct adsm_store *store, uint64_t address, uint64_t value)
{
	store->put(store, address, 8, value);
}

uint64_t adsm_node_heap_alloc(struct adsm_store *store, uint64_t heap, uint64_t size)
{
	uint64_t shift = MIN_SHIFT, at, used;

	if (!size || size > ADSM_NODE_HEAP_SIZE)
		return 0;
	while ((uint64_t)1 << shift < size + HEAD)
		shift++;
	at = load_word(store, word(heap, shift));
	if (at) {
		store_word(store, word(heap, shift), load_word(store, at + 16));
	} else {
		used = load_word(store, word(heap, 0));
		if ((uint64_t)1 << shift > ADSM_NODE_HEAP_SIZE - FIRST - used)
			return 0;
		at = heap + FIRST + used;
		store_word(store, word(heap, 0), used + ((uint64_t)1 << shift));
	}
	store_word(store, at, shift);
	store_word(store, at + 8, MARK ^ at);
	return at + HEAD;
}

bool adsm_node_heap_free(struct adsm_store *store, uint64_t heap, uint64_t address)
{
	const uint64_t at = address - HEAD, offset = at - heap - FIRST;
	uint64_t shift;

	if (offset >= ADSM_NODE_HEAP_SIZE - FIRST || offset % HEAD || load_word(store, at + 8) != (MARK ^ at))
		return false;
	shift = load_word(store, at);
	store_word(store, at + 8, 0);
	store_word(store, at + 16, load_word(store, word(heap, shift)));
	store_word(store, word(heap, shift), at);
	return true;
}
