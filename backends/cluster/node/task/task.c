/* SPDX-License-Identifier: MIT */
/*
 * task.c - see task.h. Workers use copies of device memory: while a task runs, each node has separate memory for pages,
 * and the rest of its memory does not change. Node 0 fills a page there when it is first requested, and keeps a second
 * copy. At the end it compares both, and writes only the bytes that differ to device memory. So changes that the
 * application makes meanwhile to other objects in the same page are not lost.
 */
#include "task.h"

#include "base/log.h"
#include "base/os.h"
#include "cluster/node/hcrc/hcrc_copies.h"
#include "cluster/node/hcrc/hcrc_node.h"
#include "images.h"
#include "cluster/node/pages/pages.h"
#include "process/device/code.h"
#include "process/device/crash.h"
#include "process/device/diff.h"
#include "process/device/task_crew.h"
#include "cluster/node/net/runs.h"
#include "record.h"
#include "cluster/node/hcrc/virtual.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define LEAVE_NS UINT64_C(8000000000)	/* how long a worker may compute after its task has failed */

struct begin {				/* the offsets of the arguments follow, then the arguments */
	uint32_t kernel, n_args, arg_bytes;
	uint32_t n_workers, n_pages, counted;
	uint32_t grid[3], block[3];
};

struct done {
	int32_t error;			/* of this node, or of its worker that let the task fail */
	char text[ADSM_PROCESS_TEXT];
	uint64_t ns;			/* duration of the node's part */
	struct adsm_task_costs costs;
	struct adsm_worker_left left[ADSM_HCRC_WORKERS_MAX];
};					/* the locks that each worker held follow; if the task is counted, a record */

static struct {
	const struct adsm_node_words *words;
	uint32_t cache;			/* pages in a worker's cache */
	/* The running task. */
	bool running;
	struct adsm_letter letter;	/* on other nodes than 0: it contains the arguments */
	struct adsm_process_slot slot;
	struct adsm_pool_launch launch;
	struct begin begin;
	uint8_t *memory;		/* the pages of this node */
	size_t size;
	/* Node 0: the second copies; which pages are filled, as flags and as a list. */
	uint8_t *original, *is_filled;
	uint32_t *filled, n_filled;
	int n_done;
	struct adsm_span parts[ADSM_HCRC_NODES_MAX];
	uint64_t start_ns;
	uint64_t failed_ns;		/* when the task failed; 0: it has not failed */
	struct done sum;
	struct adsm_worker_left left[ADSM_HCRC_NODES_MAX * ADSM_HCRC_WORKERS_MAX];
	uint16_t holders[ADSM_TASK_LOCKS_MAX];	/* worker + 1 that held the lock when the task failed */
	struct adsm_task_record *record;	/* of all workers, for the application */
	uint8_t *heap;			/* its contents between tasks */
} task;

bool adsm_node_task_start(const struct adsm_node_words *words, char *ret_text, size_t size)
{
	struct adsm_scratchpad_layout layout;

	if (words->node_page < words->task.page) {
		adsm_format(ret_text, size, "ADSM_TASK_NODE_PAGE (%u bytes) is smaller than ADSM_TASK_PAGE (%u bytes): "
			    "nodes send each other whole pages of workers", words->node_page, words->task.page);
		return false;
	}
	if (!adsm_scratchpad_lay_out_task(&words->store, &words->task, &layout, ret_text, size))
		return false;
	task.words = words;
	task.cache = (uint32_t)(layout.lines / words->task.page);
	adsm_images_start(&layout, words->task.page);
	adsm_virtual_start(words->virtual);
	adsm_workers_start(&layout, words->task.page, adsm_comm_wake);
	adsm_crash_explain = adsm_workers_explain;
	return true;
}

/* ---- a node's part */

/* The number of workers of node @rank; *ret_first: the first of them. */
static uint32_t interval(int rank, uint32_t *ret_first)
{
	const uint64_t n = task.begin.n_workers, nodes = (uint64_t)adsm_comm.n, r = (uint64_t)rank;

	*ret_first = (uint32_t)(n * r / nodes);
	return (uint32_t)(n * (r + 1) / nodes) - *ret_first;
}

static void *reserve(size_t size)
{
	void *memory = adsm_os_table(size);

	if (!memory)
		adsm_comm_fail("not enough address space for the pages of a task, %zu bytes (ulimit -v)", size);
	return memory;
}

/* On node 0: where a page is when no task runs. */
static uint8_t *source_of(uint32_t page)
{
	const size_t size = task.words->node_page;

	return page < task.begin.n_pages ? adsm_pages_alias(0) + page * size :
		task.heap + (page - task.begin.n_pages) * size;
}

/* On node 0: the page is requested. */
static void fill(void *arg, uint32_t page)
{
	const size_t size = task.words->node_page, offset = page * size;

	if (task.is_filled[page])
		return;
	task.is_filled[page] = true;
	task.filled[task.n_filled++] = page;
	memcpy(task.memory + offset, source_of(page), size);
	memcpy(task.original + offset, task.memory + offset, size);
}

static uint32_t n_all_pages(void)
{
	return task.begin.n_pages + (uint32_t)(ADSM_NODE_HEAP_SIZE / task.words->node_page);
}

/* The number of parts of a page: the pages as workers copy them. */
static uint32_t n_parts(void)
{
	return task.words->node_page / task.words->task.page;
}

static uint32_t n_all_parts(void)
{
	return n_all_pages() * n_parts();
}

static void begin_pages(void)
{
	const uint32_t n = n_all_pages(), n_workers = task.begin.n_workers;
	struct adsm_hcrc_config config = {
		.n_pages = n, .page_size = task.words->node_page,
		.part_size = task.words->task.page, .n_open = task.cache,
		.n_locks = ADSM_NODE_HEAP_LOCK + 1, .n_flags = ADSM_TASK_FLAGS_MAX, .locality = task.words->locality,
		.locks_stay = !task.words->options.paper,
		.n_frames = task.words->n_frames ? task.words->n_frames : n + n_workers,
		.fill = adsm_comm.rank ? NULL : fill,
	};
	uint32_t first;
	int ret;

	task.size = (size_t)n * config.page_size;
	task.memory = config.memory = reserve(task.size);
	if (!adsm_comm.rank) {
		task.original = reserve(task.size);
		task.is_filled = reserve(n);
		task.filled = reserve(n * sizeof(*task.filled));
		task.n_filled = 0;
		task.heap = task.heap ? task.heap : reserve(ADSM_NODE_HEAP_SIZE);
	}
	for (int r = 0; r < adsm_comm.n; r++)
		config.workers[r] = (uint8_t)interval(r, &first);
	if (config.n_frames < config.workers[adsm_comm.rank])
		config.n_frames = config.workers[adsm_comm.rank];
	ret = adsm_hcrc_node_begin(&config);
	if (!ret && task.begin.counted)
		ret = adsm_hcrc_sharing_begin(n_all_parts(), config.part_size);
	if (!ret && task.begin.counted && !adsm_comm.rank)
		ret = adsm_node_record_begin(task.record, n, n_parts());
	if (ret)
		adsm_comm_fail("the tables for the pages of a task cannot be allocated: %s", strerror(-ret));
}

static void end_pages(void)
{
	munmap(task.memory, task.size);
	adsm_hcrc_sharing_end();
	if (adsm_comm.rank)
		return;
	adsm_node_record_end();
	munmap(task.original, task.size);
	munmap(task.is_filled, n_all_pages());
	munmap(task.filled, n_all_pages() * sizeof(*task.filled));
}

/* task.begin and the slot describe the task. */
static void begin_part(const uint8_t *args)
{
	struct adsm_workers_part part = {
		.launch = &task.launch, .kernel = task.begin.kernel, .n_all = task.begin.n_workers,
		.begin = task.words->base,
		.end = task.words->base + (uint64_t)task.begin.n_pages * task.words->node_page,
		/* Nothing is mapped at the heap's addresses: only caches use them. */
		.heap = task.words->base + task.words->size,
		.args = args, .arg_bytes = task.begin.arg_bytes, .counted = task.begin.counted,
	};

	part.n = interval(adsm_comm.rank, &part.first);
	adsm_code_launch(&task.slot, args, &task.launch);
	task.failed_ns = 0;
	task.start_ns = adsm_os_now_ns();
	begin_pages();
	adsm_workers_begin(&part);
	task.running = true;
}

static void end_part(struct done *ret_done, struct adsm_node_record *ret_record)
{
	const char *text;
	uint32_t first, n = interval(adsm_comm.rank, &first);

	*ret_done = (struct done){ .error = adsm_workers_result(&text) };
	if (ret_done->error)
		adsm_format(ret_done->text, sizeof(ret_done->text), "%s", text);
	for (uint32_t i = 0; i < n; i++)
		ret_done->left[i] = adsm_workers_left(i);
	ret_done->ns = adsm_os_now_ns() - task.start_ns;
	ret_done->costs.hcrc = adsm_hcrc_node_counts();
	adsm_workers_counts(&ret_done->costs.workers);
	if (task.begin.counted)
		*ret_record = adsm_node_record_here(task.start_ns, n, n_all_parts());
	task.running = false;
}

/* Has the task ended on this node? @ret_status: its status. */
static bool has_ended(int *ret_status)
{
	if (!adsm_hcrc_node_has_ended(ret_status))
		return false;
	if (*ret_status && !task.failed_ns)
		task.failed_ns = adsm_os_now_ns();
	return adsm_workers_done();
}

/* ---- another node */

static void begin_letter(struct adsm_letter *letter)
{
	size_t at = 0;
	const uint8_t *args;

	task.letter = *letter;
	letter->data = NULL;
	memcpy(&task.begin, adsm_pack_take(&task.letter, &at, sizeof(task.begin), 8), sizeof(task.begin));
	task.slot.kernel = task.begin.kernel;
	task.slot.n_args = task.begin.n_args;
	memcpy(task.slot.grid, task.begin.grid, sizeof(task.slot.grid));
	memcpy(task.slot.block, task.begin.block, sizeof(task.slot.block));
	memcpy(task.slot.arg_offset, adsm_pack_take(&task.letter, &at, task.begin.n_args * sizeof(uint32_t), 8),
	       task.begin.n_args * sizeof(uint32_t));
	args = adsm_pack_take(&task.letter, &at, task.begin.arg_bytes, 64);
	task.slot.in_area = true;
	begin_part(args);
}

static void send_done(void)
{
	static struct adsm_pack out;
	struct adsm_node_record record = { .n_waits = 0 };
	uint32_t first, n = interval(adsm_comm.rank, &first);
	struct done done;

	end_part(&done, &record);
	out.n = 0;
	adsm_pack_put(&out, &done, sizeof(done), 8);
	for (uint32_t i = 0; i < n; i++)
		adsm_pack_put(&out, adsm_workers_locks(i), done.left[i].n_locks * sizeof(uint32_t), 8);
	if (task.begin.counted)
		adsm_node_record_pack(&out, &record);
	adsm_hcrc_node_finish();
	end_pages();
	adsm_comm_send(0, ADSM_TAG_TASK_DONE, out.data, out.n);
	adsm_comm_drop(&task.letter);
}

bool adsm_node_task_poll(bool *ret_found)
{
	int status;

	if (!task.running)
		return false;
	*ret_found = adsm_hcrc_node_poll() || *ret_found;
	if (has_ended(&status)) {
		send_done();
		*ret_found = true;
	}
	return true;
}

/* ---- node 0 */

/* Combine the results of the nodes. The first error counts. */
static void add_done(int rank, const struct done *done, const struct adsm_node_record *record)
{
	struct done *sum = &task.sum;
	uint64_t *counts = (uint64_t *)&sum->costs;
	const uint64_t *more = (const uint64_t *)&done->costs;
	uint32_t first, n = interval(rank, &first);

	if (!sum->error) {
		sum->error = done->error;
		memcpy(sum->text, done->text, sizeof(sum->text));
	}
	memcpy(&task.left[first], done->left, n * sizeof(*done->left));
	/* By this node's clock: the part ended when this node got the message. */
	task.parts[rank] = (struct adsm_span){ adsm_os_now_ns() - done->ns, done->ns };
	for (size_t i = 0; i < sizeof(sum->costs) / sizeof(*counts); i++)
		counts[i] += more[i];
	if (task.begin.counted)
		adsm_node_record_add(rank, first, task.parts[rank].start_ns - record->start_ns, record);
	task.n_done++;
}

static void add_locks(uint32_t worker, const uint32_t *locks, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (locks[i] < ADSM_TASK_LOCKS_MAX)
			task.holders[locks[i]] = (uint16_t)(worker + 1);
}

static void note_done(const struct adsm_letter *letter)
{
	size_t at = 0;
	const struct done *done = adsm_pack_take(letter, &at, sizeof(*done), 8);
	struct adsm_node_record record = { .n_waits = 0 };
	uint32_t first, n = interval(letter->from, &first);

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t n_locks = done->left[i].n_locks;

		add_locks(first + i, adsm_pack_take(letter, &at, n_locks * sizeof(uint32_t), 8), n_locks);
	}
	if (task.begin.counted)
		record = adsm_node_record_unpack(letter, &at);
	add_done(letter->from, done, &record);
}

bool adsm_node_task_letter(struct adsm_letter *letter)
{
	if (letter->tag == ADSM_TAG_TASK)
		adsm_hcrc_node_letter(letter);
	else if (letter->tag == ADSM_TAG_TASK_BEGIN && adsm_comm.rank && !task.running)
		begin_letter(letter);
	else if (letter->tag == ADSM_TAG_TASK_DONE && !adsm_comm.rank && task.n_done < adsm_comm.n)
		note_done(letter);
	else
		return false;
	return true;
}

static void send_begin(const struct adsm_process_slot *slot, const uint8_t *args)
{
	static struct adsm_pack out;

	out.n = 0;
	adsm_pack_put(&out, &task.begin, sizeof(task.begin), 8);
	adsm_pack_put(&out, slot->arg_offset, slot->n_args * sizeof(*slot->arg_offset), 8);
	adsm_pack_put(&out, args, slot->arg_bytes, 64);
	adsm_comm_send(-1, ADSM_TAG_TASK_BEGIN, out.data, out.n);
}

/* A worker that does not stop after its task has failed can only be ended together with the cluster. */
static void check_time(int status)
{
	if (!task.failed_ns || adsm_os_now_ns() - task.failed_ns < LEAVE_NS)
		return;
	adsm_comm_fail("task '%s' has failed (%s), but one of its workers did not stop", task.launch.name,
		       strerror(-status));
}

static void note_own_done(void)
{
	struct adsm_node_record record = { .n_waits = 0 };
	uint32_t first, n = interval(0, &first);
	struct done done;

	end_part(&done, &record);
	for (uint32_t i = 0; i < n; i++)
		add_locks(i, adsm_workers_locks(i), done.left[i].n_locks);
	add_done(0, &done, &record);
}

static int wait_for_all(void (*poll_all)(void))
{
	bool ended = false;
	int status = 0;

	task.n_done = 0;
	task.sum = (struct done){ 0 };
	while (task.n_done < adsm_comm.n) {
		bool found = adsm_node_poll();

		found |= adsm_hcrc_node_poll();
		poll_all();
		if (!ended && has_ended(&status)) {
			note_own_done();
			ended = found = true;
		}
		check_time(status);
		if (!found)
			adsm_comm_rest(ADSM_COMM_COMPUTE_NS);
	}
	return status;
}

static void write_page(uint32_t page, struct adsm_cluster_shared *shared)
{
	const size_t size = task.words->node_page, part = size < ADSM_PAGE_SIZE ? size : ADSM_PAGE_SIZE;
	const uint8_t *bytes = task.memory + page * size, *original = task.original + page * size;

	for (size_t at = 0; at < size; at += part) {
		if (!memcmp(bytes + at, original + at, part))
			continue;
		adsm_diff_merge(source_of(page) + at, bytes + at, original + at, part);
		if (page < task.begin.n_pages)
			adsm_cluster_touched(shared, (page * size + at) / ADSM_PAGE_SIZE, 1);
	}
}

/* Write changed bytes to device memory. If the task has failed, the heap keeps its earlier contents: its administration
 * may be half written. */
static void write_back(int status, struct adsm_cluster_shared *shared)
{
	for (uint32_t i = 0; i < task.n_filled; i++)
		if (adsm_hcrc_node_wrote(task.filled[i]) && (!status || task.filled[i] < task.begin.n_pages))
			write_page(task.filled[i], shared);
}

static struct adsm_task_state state_of(uint32_t worker)
{
	struct adsm_task_state state = { .waits_for = task.left[worker].waits_for };

	if (state.waits_for < ADSM_TASK_LOCKS_MAX)
		state.holder = task.holders[state.waits_for];
	return state;
}

/* A worker has released a lock that it does not hold. Name the worker that holds it, if there is one. */
static void say_owner(char ret_text[ADSM_PROCESS_TEXT])
{
	uint32_t worker = 0, holder;

	while (worker < task.begin.n_workers && !task.left[worker].gives_back)
		worker++;
	holder = worker < task.begin.n_workers ? state_of(worker).holder : 0;
	if (holder)
		adsm_format(ret_text, ADSM_PROCESS_TEXT, "task '%s': worker %u " ADSM_TASK_GIVES, task.launch.name,
			    worker, task.left[worker].waits_for, holder - 1);
}

static void say_failure(int status, char ret_text[ADSM_PROCESS_TEXT])
{
	char text[ADSM_PROCESS_TEXT];

	if (status == -EDEADLK)
		adsm_task_describe_deadlock(task.begin.n_workers, state_of, text);
	else
		adsm_format(text, sizeof(text), "%s", strerror(-status));
	if (task.sum.error)
		adsm_format(ret_text, ADSM_PROCESS_TEXT, "%s", task.sum.text);
	else
		adsm_format(ret_text, ADSM_PROCESS_TEXT, "task '%s': %s", task.launch.name, text);
	if (task.sum.error == -EPERM)
		say_owner(ret_text);
	memset(task.holders, 0, sizeof(task.holders));
}

/* Record how the workers shared pages. */
static void tell_sharing(struct adsm_cluster_shared *shared)
{
	const uint64_t page = task.words->task.page;
	const struct adsm_hcrc_memory memory = {
		.begin = task.words->base,
		.end = task.words->base + (uint64_t)task.begin.n_pages * task.words->node_page,
		.heap = task.words->base + task.words->size,
	};
	uint32_t worst;
	struct adsm_sharing_call call = {
		.task = task.launch.name, .page = page, .worst = adsm_node_record_worst(&worst),
		.args = task.launch.args, .n_args = task.slot.n_args,
		.base = memory.begin, .size = memory.end - memory.begin,
	};

	call.worst.address = adsm_hcrc_address(&memory, worst, (uint32_t)page);
	memcpy(call.moved, task.sum.costs.workers.copies.moved, sizeof(call.moved));
	adsm_sharing_add(&shared->sharings, &call);
}

/* The number of pages from the arena's start to the end of the last object. */
static uint32_t count_pages(void)
{
	const struct adsm_runs *objects = adsm_pages_objects();
	const struct adsm_run *last = objects->n ? &objects->v[objects->n - 1] : NULL;
	const uint64_t page = task.words->node_page;

	return last ? (uint32_t)(((last->first + last->n) * ADSM_PAGE_SIZE + page - 1) / page) : 1;
}

const struct adsm_span *adsm_node_task_parts(void)
{
	return task.parts;
}

int adsm_node_task_run(const struct adsm_process_slot *slot, const uint8_t *args, struct adsm_cluster_shared *shared,
		       void (*poll_all)(void), struct adsm_task_costs *ret_costs, struct adsm_task_record *ret_record,
		       char ret_text[ADSM_PROCESS_TEXT])
{
	const uint64_t most = (uint64_t)adsm_comm.n * ADSM_HCRC_WORKERS_MAX;
	uint64_t n_barriers, virtual_ns;
	int status;

	*ret_costs = (struct adsm_task_costs){ .n_workers = 0 };
	if (slot->counted)
		memset(ret_record, 0, sizeof(*ret_record));
	if (!slot->n_blocks || slot->n_blocks > most) {
		adsm_format(ret_text, ADSM_PROCESS_TEXT, "task '%s' has %lu workers: the number must be from 1 to %lu",
			    slot->name, slot->n_blocks, most);
		return -EINVAL;
	}
	task.slot = *slot;
	task.slot.in_area = true;
	task.begin = (struct begin){
		.kernel = slot->kernel, .n_args = slot->n_args, .arg_bytes = slot->arg_bytes,
		.n_workers = (uint32_t)slot->n_blocks, .n_pages = count_pages(),
		/* Counting loads and stores would take much of the time that virtual.h measures. */
		.counted = slot->counted && !task.words->virtual,
	};
	memcpy(task.begin.grid, slot->grid, sizeof(slot->grid));
	memcpy(task.begin.block, slot->block, sizeof(slot->block));
	task.record = ret_record;
	send_begin(slot, args);
	begin_part(args);
	status = wait_for_all(poll_all);
	n_barriers = adsm_hcrc_node_counts().barriers;
	virtual_ns = adsm_virtual_now();
	write_back(status, shared);
	if (task.begin.counted)
		tell_sharing(shared);
	adsm_hcrc_node_finish();
	end_pages();
	*ret_costs = task.sum.costs;
	ret_costs->n_workers = task.begin.n_workers;
	ret_costs->n_barriers = n_barriers;
	ret_costs->virtual_ns = virtual_ns;
	if (!status)
		return 0;
	say_failure(status, ret_text);
	/* If workers on several nodes made errors, the text may belong to another one than the status. */
	return task.sum.error ? task.sum.error : status;
}
