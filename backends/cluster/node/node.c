/* SPDX-License-Identifier: MIT */
/*
 * node.c - the program of a cluster's nodes, an MPI job. Node 0 is the application's device process: it takes launches
 * from the queue in shared memory, and all nodes run them. The main thread makes all calls of MPI. On node 0 another
 * thread reads the application's requests. A cluster of one node works like a cpu device: without a tracker and
 * messages.
 */
#include "node.h"

#include "adsm.h"
#include "base/log.h"
#include "base/os.h"
#include "cluster/node/net/doorbell.h"
#include "cluster/gate.h"
#include "cluster/join.h"
#include "cluster/shared.h"
#include "cluster/node/exchange/launch.h"
#include "options.h"
#include "process/device/code.h"
#include "process/device/crash.h"
#include "process/device/handler.h"
#include "process/device/once.h"
#include "process/device/serve.h"
#include "cluster/node/task/task.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define BEAT_MAX_NS 1000000000ull
#define AWAKE_NS 50000			/* how long node 0 stays awake after a launch for the next one */

static struct {
	struct adsm_process_shared *shared;
	struct adsm_cluster_shared *cluster;
	struct adsm_pool_launch launch;
	struct adsm_process_slot part;	/* this node's part of the launch */
	struct adsm_node_before before;
	struct adsm_cluster_card card;
	struct adsm_cluster_card *cards;
	char place[96];			/* the text for this node in messages */
	uint32_t *crew;			/* node 0: for each node, threads that run a launch which may wait for units */
} node;

/* Called between two checks for letters, on any node. */
static void poll_all(void)
{
	adsm_crashes_poll();
	adsm_units_poll();
	adsm_requests_poll();
	/* _exit(): no destructor may run while kernels run. */
	if (adsm_requests_over())
		_exit(0);
}

/* ---- a part of a launch, on any node */

static void begin_part(const struct adsm_node_work *work)
{
	const struct adsm_node_launch *launch = &work->launch;
	struct adsm_process_slot *slot = &node.part;

	slot->kernel = launch->kernel;
	slot->n_args = launch->n_args;
	slot->sets = launch->sets;
	memcpy(slot->grid, launch->grid, sizeof(slot->grid));
	memcpy(slot->block, launch->block, sizeof(slot->block));
	slot->first_block = work->first;
	slot->n_blocks = work->n;
	slot->in_area = true;
	memcpy(slot->arg_offset, work->arg_offset, launch->n_args * sizeof(*slot->arg_offset));
	adsm_code_launch(slot, work->args, &node.launch);
	adsm_units_begin(work->n ? &node.launch : NULL, adsm_pool_crew(work->n, adsm_node_words.threads));
	if (work->n && adsm_pool_begin(&node.launch, adsm_comm_wake))
		adsm_comm_fail("the threads that run kernels cannot be started");
}

static bool has_ended(void)
{
	if (!adsm_pool_done())
		return false;
	adsm_units_part_ended();
	return true;
}

static int restore(uint64_t address, size_t size)
{
	return adsm_pages_restore((struct adsm_run){ (address - adsm_node_words.base) / ADSM_PAGE_SIZE,
						     size / ADSM_PAGE_SIZE });
}

static int start_pages(bool home, int fd)
{
	struct adsm_pages_config config = {
		.base = adsm_node_words.base, .size = adsm_node_words.size, .fd = fd, .home = home,
		.track = adsm_node_words.track, .wake = adsm_comm_wake, .refuses = adsm_workers_is_one,
		.error = adsm_crashes_of_kernel,
	};
	int ret = adsm_pages_start(&config);

	if (ret)
		close(fd);
	return ret;
}

static const char *tracker_name(void)
{
	return adsm_pages_track() == ADSM_TRACK_UFFD ? "uffd" : "sigsegv";
}

/* ---- node 0: a launch */

/* The application has touched these pages: they belong to a new object, or no longer to any, or were written. */
static void take_touched(void *arg, uint64_t first, uint64_t n, bool allocated)
{
	adsm_runs_split(adsm_pages_objects(), (struct adsm_run){ first, n },
			allocated ? &node.before.written : &node.before.removed,
			allocated ? &node.before.added : NULL);
}

static struct adsm_run run_of(const struct adsm_process_pointer *pointer)
{
	return (struct adsm_run){ (pointer->base - adsm_node_words.base) / ADSM_PAGE_SIZE,
				  (pointer->size + ADSM_PAGE_SIZE - 1) / ADSM_PAGE_SIZE };
}

/* Do all pointers of the launch to that memory only read it? */
static bool is_only_read(const struct adsm_process_pointer *pointers, uint32_t n, uint32_t i)
{
	bool only_read = true;

	for (uint32_t k = 0; k < n; k++)
		only_read &= pointers[k].base != pointers[i].base || pointers[k].access == ADSM_ACCESS_IN;
	return only_read;
}

static void find_read_only(const struct adsm_process_pointer *pointers, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct adsm_run run = run_of(&pointers[i]);

		if (pointers[i].base >= adsm_node_words.base && is_only_read(pointers, n, i))
			adsm_runs_insert(&node.before.read_only, run);
	}
}

/* Count the pages of memory that the launch might have written, but has not. */
static uint64_t count_unwritten(const struct adsm_process_pointer *pointers, uint32_t n)
{
	uint64_t pages = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct adsm_run run = run_of(&pointers[i]);
		bool again = false;

		for (uint32_t k = 0; k < i; k++)
			again |= pointers[k].base == pointers[i].base;
		if (!again && pointers[i].base >= adsm_node_words.base && !is_only_read(pointers, n, i) &&
		    !adsm_node_wrote(run))
			pages += run.n;
	}
	return pages;
}

/* Write the costs for the application. */
static void write_costs(uint64_t i, uint64_t seq, const struct adsm_node_launch *launch,
			const struct adsm_node_counts *counts)
{
	const struct adsm_process_slot *slot = &node.shared->slots[i];
	struct adsm_cluster_costs *costs = &node.cluster->costs[i];
	const uint64_t n = (uint64_t)adsm_comm.n, n_told = launch->counted ? n : 1;
	const uint64_t values[ADSM_CLUSTER_N_COUNTS] = {
		[ADSM_CLUSTER_PAGES_GLOBAL] = counts->global,
		[ADSM_CLUSTER_PAGES_MODIFIED] = counts->modified,
		[ADSM_CLUSTER_PAGES_SINGLE] = counts->single,
		[ADSM_CLUSTER_PAGES_MULTI] = counts->multi,
		[ADSM_CLUSTER_PAGES_HOST] = adsm_runs_pages(node.before.written.v, node.before.written.n),
		[ADSM_CLUSTER_PAGES_UNWRITTEN] = launch->counted ?
			count_unwritten(node.shared->pointers[i], slot->n_pointers) : 0,
		[ADSM_CLUSTER_PAGES_PUSHED] = counts->pushed,
		[ADSM_CLUSTER_PAGES_FETCHED] = counts->fetched,
		[ADSM_CLUSTER_WRITE_FAULTS] = counts->write_faults,
		[ADSM_CLUSTER_READ_FAULTS] = counts->read_faults,
		[ADSM_CLUSTER_MESSAGES] = counts->pages.messages,
		[ADSM_CLUSTER_BYTES] = counts->pages.bytes,
		[ADSM_CLUSTER_IDLE] = launch->alone ? n - 1 : launch->n_blocks < n ? n - launch->n_blocks : 0,
		[ADSM_CLUSTER_ALONE] = launch->alone,
	};

	memcpy(costs->values, values, sizeof(values));
	memcpy(costs->nodes, counts->times, n_told * sizeof(*counts->times));
	for (uint64_t r = 0; r < n_told; r++) {
		costs->values[ADSM_CLUSTER_WORK_NS] += counts->times[r].work.ns;
		costs->values[ADSM_CLUSTER_FETCH_NS] += counts->times[r].waited_ns / node.cards[r].threads;
		costs->values[ADSM_CLUSTER_EXCHANGE_NS] += counts->times[r].before.ns + counts->times[r].after.ns;
	}
	costs->start_ns = slot->start_ns;
	costs->counted = launch->counted;
	costs->seq = seq;
}

/* Before any node gets the launch, count the threads that will run it. Otherwise the application would detect a
 * deadlock while these threads are not counted yet. */
static void expect_units(const char *kernel, const struct adsm_node_launch *launch)
{
	uint64_t first, n;

	for (int r = 1; r < adsm_comm.n; r++) {
		adsm_node_interval(launch, r, &first, &n);
		node.crew[r] = adsm_pool_crew(n, node.cards[r].threads);
	}
	adsm_node_interval(launch, 0, &first, &n);
	adsm_pool_expect(n);
	adsm_units_launch(kernel, node.crew);
}

/* Collect what the application has touched since the last launch. */
static bool collect_touched(void)
{
	adsm_runs_clear(&node.before.removed);
	adsm_runs_clear(&node.before.added);
	adsm_runs_clear(&node.before.written);
	adsm_runs_clear(&node.before.read_only);
	adsm_cluster_collect(node.cluster, take_touched, NULL);
	return node.before.removed.n || node.before.added.n || node.before.written.n;
}

static void write_task_costs(uint64_t i, uint64_t seq, const struct adsm_task_costs *task)
{
	const struct adsm_process_slot *slot = &node.shared->slots[i];
	struct adsm_cluster_costs *costs = &node.cluster->costs[i];
	const uint64_t *of_tasks = task->workers.of_tasks;
	const struct adsm_hcrc_counts *hcrc = &task->hcrc;
	const uint64_t values[ADSM_CLUSTER_N_COUNTS] = {
		[ADSM_CLUSTER_WORK_NS] = of_tasks[ADSM_TASK_WORK_NS],
		[ADSM_CLUSTER_WORKERS] = task->n_workers,
		[ADSM_CLUSTER_LOCKS] = hcrc->locks,
		[ADSM_CLUSTER_LOCK_WAITS] = of_tasks[ADSM_TASK_LOCK_WAITS],
		[ADSM_CLUSTER_LOCKS_GLOBAL] = hcrc->global_locks,
		[ADSM_CLUSTER_BARRIERS] = task->n_barriers,
		[ADSM_CLUSTER_FLAGS] = of_tasks[ADSM_TASK_FLAGS],
		[ADSM_CLUSTER_FLAG_WAITS] = of_tasks[ADSM_TASK_FLAG_WAITS],
#define VALUE(upper, name) [ADSM_CLUSTER_##upper] = task->workers.copies.name,
		ADSM_COPIES_COUNTS(VALUE)
#undef VALUE
		[ADSM_CLUSTER_NODE_READ_MISSES] = hcrc->read_misses,
		[ADSM_CLUSTER_NODE_WRITE_MISSES] = hcrc->write_misses,
		[ADSM_CLUSTER_NODE_UPGRADES] = hcrc->upgrades,
		[ADSM_CLUSTER_NODE_DIFFS] = hcrc->diffs,
		[ADSM_CLUSTER_NODE_EARLY_DIFFS] = hcrc->early_diffs,
		[ADSM_CLUSTER_NODE_EVICTED] = hcrc->evicted,
		[ADSM_CLUSTER_NODE_MESSAGES] = hcrc->messages,
		[ADSM_CLUSTER_LOCK_WAIT_NS] = of_tasks[ADSM_TASK_LOCK_WAIT_NS],
		[ADSM_CLUSTER_BARRIER_WAIT_NS] = of_tasks[ADSM_TASK_BARRIER_WAIT_NS],
		[ADSM_CLUSTER_FLAG_WAIT_NS] = of_tasks[ADSM_TASK_FLAG_WAIT_NS],
		[ADSM_CLUSTER_VIRTUAL_NS] = task->virtual_ns,
	};

	memcpy(costs->values, values, sizeof(values));
	memset(costs->nodes, 0, (size_t)adsm_comm.n * sizeof(*costs->nodes));
	for (int r = 0; r < adsm_comm.n; r++)
		costs->nodes[r].work = adsm_node_task_parts()[r];
	costs->start_ns = slot->start_ns;
	costs->counted = slot->counted;
	costs->seq = seq;
}

/* All nodes need the touched pages, which are exchanged as for a launch: here by an empty one. */
static void run_task(uint64_t done)
{
	const uint64_t i = done % ADSM_PROCESS_SLOTS;
	struct adsm_process_slot *slot = &node.shared->slots[i];
	const uint32_t offset = 0;
	const struct adsm_node_work nothing = { .arg_offset = &offset, .args = slot->args };
	struct adsm_node_counts counts = { 0 };
	struct adsm_task_costs costs;

	slot->start_ns = adsm_os_now_ns();
	if (collect_touched())
		adsm_node_run(&nothing, &node.before, &counts);
	slot->status = adsm_node_task_run(slot, slot->in_area ? node.shared->areas[i] : slot->args, node.cluster,
					  poll_all, &costs, &node.shared->tasks[i], node.shared->failures[i]);
	/* As in any device process: the application asks for the record of tasks. */
	slot->task = 1;
	slot->counts[ADSM_TASK_WORKERS] = costs.n_workers;
	slot->end_ns = adsm_os_now_ns();
	write_task_costs(i, done + 1, &costs);
}

static void run_launch(uint64_t done)
{
	const uint64_t i = done % ADSM_PROCESS_SLOTS;
	struct adsm_process_slot *slot = &node.shared->slots[i];
	struct adsm_node_work work = {
		.launch = { .kernel = slot->kernel, .n_args = slot->n_args, .sets = slot->sets,
			    .first_block = slot->first_block, .n_blocks = slot->n_blocks,
			    .arg_bytes = slot->arg_bytes,
			    /*
			     * Atomics of two nodes on one word would not be added up: node 0 runs such kernels alone.
			     * It alone has the application's memory for commands, too.
			     */
			    .alone = adsm_code_atomics(slot->kernel) || adsm_code_services(slot->kernel),
			    .counted = slot->counted },
		.arg_offset = slot->arg_offset,
		.args = slot->in_area ? node.shared->areas[i] : slot->args,
	};
	const bool onces = adsm_code_onces(slot->kernel);
	struct adsm_node_counts counts;
	char failure[ADSM_PROCESS_TEXT];
	int error;

	memcpy(work.launch.grid, slot->grid, sizeof(slot->grid));
	memcpy(work.launch.block, slot->block, sizeof(slot->block));
	slot->task = 0;
	collect_touched();
	find_read_only(node.shared->pointers[i], slot->n_pointers);
	slot->start_ns = adsm_os_now_ns();
	if (onces)
		expect_units(slot->name, &work.launch);
	adsm_handler_begin(slot->name);
	adsm_node_run(&work, &node.before, &counts);
	slot->status = onces ? adsm_units_end(node.shared->failures[i]) : 0;
	error = adsm_handler_end(failure);
	if (!error && work.launch.alone) {
		error = adsm_pool_result();
		strcpy(failure, adsm_pool_failure());
	}
	if (error && !slot->status) {
		strcpy(node.shared->failures[i], failure);
		slot->status = error;
	}
	slot->end_ns = adsm_os_now_ns();
	write_costs(i, done + 1, &work.launch, &counts);
}

/* Run the next launch in the queue. */
static void run_next(void)
{
	struct adsm_process_queue *queue = &node.shared->queue;
	const uint64_t done = atomic_load(&queue->done);

	if (node.shared->slots[done % ADSM_PROCESS_SLOTS].kernel == ADSM_CLUSTER_ECHO)
		adsm_node_echo();
	else if (adsm_code_is_task(node.shared->slots[done % ADSM_PROCESS_SLOTS].kernel))
		run_task(done);
	else
		run_launch(done);
	adsm_process_queue_done(queue, true);
}

/* ---- node 0: between launches */

static bool has_launch(void)
{
	return node.shared && atomic_load(&node.shared->queue.submitted) != atomic_load(&node.shared->queue.done);
}

/* Sleep until the application submits something; wake up from time to time to check whether all other nodes live. */
static void sleep_idle(uint64_t awake_until_ns)
{
	uint64_t beat_ns = adsm_node_words.timeout_ns / 4 < BEAT_MAX_NS ? adsm_node_words.timeout_ns / 4 : BEAT_MAX_NS;
	struct adsm_process_queue *queue;

	if (!node.shared || adsm_comm_is_busy() || adsm_requests_waiting() || adsm_os_now_ns() < awake_until_ns) {
		adsm_comm_rest(node.shared ? ADSM_COMM_BUSY_NS : ADSM_COMM_IDLE_NS);
		return;
	}
	queue = &node.shared->queue;
	adsm_process_queue_sleep(queue, atomic_load(&queue->done), adsm_requests_waiting, beat_ns, true);
}

static void serve_application(void)
{
	uint64_t awake_until_ns = 0;

	while (!adsm_requests_over()) {
		adsm_requests_poll();
		if (has_launch()) {
			run_next();
			awake_until_ns = adsm_os_now_ns() + AWAKE_NS;
		} else if (!adsm_node_poll()) {
			sleep_idle(awake_until_ns);
		}
	}
	adsm_comm_send(-1, ADSM_TAG_END, NULL, 0);
}

static void set_place(char *place, size_t size, int rank)
{
	snprintf(place, size, " on node %d (%s)", rank, node.cards[rank].host);
}

static void say_end(const char *why)
{
	adsm_process_say_end(node.shared, why);
}

static int hello(const struct adsm_process_request *request, int memory_fd, struct adsm_process_shared *shared,
		 struct adsm_process_reply *reply)
{
	int ret = start_pages(true, memory_fd);

	if (ret) {
		snprintf(reply->text, sizeof(reply->text), "node 0: %.400s", adsm_last_error());
		return ret;
	}
	node.cluster = (struct adsm_cluster_shared *)shared->extra;
	node.cluster->n_pages = adsm_node_words.size / ADSM_PAGE_SIZE;
	snprintf(node.cluster->nodes[0].tracker, sizeof(node.cluster->nodes[0].tracker), "%s", tracker_name());
	set_place(shared->crash.place, sizeof(shared->crash.place), 0);
	adsm_crashes_start(shared);
	adsm_units_start(shared->crash.place, shared, restore, set_place);
	adsm_handler_start(shared);
	node.shared = shared;
	adsm_comm.failed = say_end;
	atomic_store(&node.cluster->heard_ns, adsm_os_now_ns());
	adsm_comm.heard_ns = &node.cluster->heard_ns;
	return 0;
}

static bool take_letter(struct adsm_letter *letter)
{
	char place[96];

	switch (letter->tag) {
	case ADSM_TAG_CODE:
		adsm_requests_code(letter->data, letter->size);
		return true;
	case ADSM_TAG_ANSWER:
		adsm_requests_answer(letter->from, letter->data, letter->size);
		return true;
	case ADSM_TAG_NOTE:
		set_place(place, sizeof(place), letter->from);
		adsm_crashes_tell(place, letter->data, letter->size);
	case ADSM_TAG_ONCE:
		adsm_units_letter(letter);
		return true;
	default:
		return adsm_node_task_letter(letter);
	}
}

/* ---- a cluster of one node */

/* Report to the keeper that this process is not stopped: there are no other nodes to do that. */
static void beat_alone(void *arg)
{
	_Atomic uint64_t *heard_ns = arg;

	for (;;) {
		atomic_store(heard_ns, adsm_os_now_ns());
		adsm_os_sleep_until_ns(adsm_os_now_ns() + adsm_node_words.timeout_ns / 16);
	}
}

static int hello_alone(const struct adsm_process_request *request, int memory_fd, struct adsm_process_shared *shared,
		       struct adsm_process_reply *reply)
{
	_Atomic uint64_t *heard_ns = &((struct adsm_cluster_shared *)shared->extra)->heard_ns;
	static struct adsm_thread beats;
	void *p;
	int ret = adsm_os_map((void *)adsm_node_words.base, adsm_node_words.size, memory_fd, 0, ADSM_PROT_RW, &p);

	adsm_device_once_start(memory_fd, adsm_node_words.base, shared);
	adsm_handler_start(shared);
	atomic_store(heard_ns, adsm_os_now_ns());
	if (!ret)
		ret = adsm_os_thread_start(&beats, "adsm-beat", beat_alone, heard_ns);
	return ret ? ret : adsm_serve_launches(shared, adsm_node_words.threads, 1);
}

static void serve_alone(void)
{
	static const struct adsm_server server = { hello_alone, adsm_serve_answer };

	adsm_serve(&server);
	/* The launch command takes a node that exits without MPI_Finalize() for a failed one. */
	adsm_comm_finish();
	_exit(0);
}

/* ---- the start */

/* Choose the number of threads, if no option sets it. Nodes on one machine share its processors. In each node two
 * threads take turns: the one for messages, and one for kernels. */
static void set_threads(void)
{
	if (2 * (unsigned)adsm_doorbell_n_here() > adsm_os_n_cpus())
		adsm_pool_crowd();
	if (!adsm_node_words.threads)
		adsm_node_words.threads = adsm_os_n_cpus() / (unsigned)adsm_doorbell_n_here();
	if (!adsm_node_words.threads)
		adsm_node_words.threads = 1;
	node.card.threads = adsm_node_words.threads;
}

static void set_error(int error, const char *format)
{
	node.card.error = error;
	snprintf(node.card.why, sizeof(node.card.why), format, adsm_node_words.base,
		 adsm_node_words.base + adsm_node_words.size);
}

/* Node 0 uses the application's memory. All other nodes have memory of their own. */
static void start_memory(void)
{
	int fd, ret;

	if (!adsm_comm.rank || node.card.error)
		return;
	ret = adsm_os_memfd("cluster", adsm_node_words.size, &fd);
	if (!ret)
		ret = start_pages(false, fd);
	if (ret) {
		node.card.error = ret;
		snprintf(node.card.why, sizeof(node.card.why), "%.380s", adsm_last_error());
	} else {
		snprintf(node.card.tracker, sizeof(node.card.tracker), "%s", tracker_name());
	}
}

static void join(void)
{
	char why[ADSM_CLUSTER_WHY];

	adsm_comm_version(node.card.mpi, sizeof(node.card.mpi));
	node.cards = adsm_node_table((size_t)adsm_comm.n * sizeof(*node.cards));
	MPI_Gather(&node.card, sizeof(node.card), MPI_BYTE, node.cards, sizeof(node.card), MPI_BYTE, 0, MPI_COMM_WORLD);
	if (adsm_comm.rank)
		return;
	if (adsm_cluster_join(adsm_node_words.connect, adsm_node_words.token, (uint32_t)adsm_comm.n, node.cards, why)) {
		fprintf(stderr, ADSM_CLUSTER_SAYS "%s\n", why);
		_exit(1);
	}
}

int main(int argc, char **argv)
{
	char text[ADSM_PROCESS_TEXT];
	static const struct adsm_node_calls calls = {
		begin_part, has_ended, poll_all, adsm_node_task_poll, take_letter
	};
	void *p;

	prctl(PR_SET_NAME, "adsm-cluster-node");
	adsm_node_words_read(argc, argv);
	adsm_cluster_card(&node.card);
	adsm_comm_version(node.card.mpi, sizeof(node.card.mpi));
	adsm_cluster_prepare(adsm_node_words.connect, node.card.mpi, adsm_cluster_all_here());
	adsm_cluster_gate_start();
	/* All nodes need the same address. If the range is used on any node, the library starts all nodes again: then
	 * they have other layouts. */
	if (adsm_os_reserve(adsm_node_words.base, adsm_node_words.size, &p))
		set_error(-EEXIST, "the addresses from %#lx to %#lx are in use there");
	adsm_comm_start(&argc, &argv, adsm_node_words.timeout_ns);
	/* After MPI, which sets handlers, too. */
	adsm_crash_thread();
	adsm_crash_start();
	adsm_crash_locate = adsm_code_locate;
	set_threads();
	start_memory();
	join();
	if (adsm_comm.n == 1 && !adsm_node_words.tracked && !adsm_node_words.tasks)
		serve_alone();
	if (adsm_node_words.tasks && !adsm_node_task_start(&adsm_node_words, text, sizeof(text)))
		adsm_comm_fail("%s", text);
	if (adsm_pool_start(adsm_node_words.threads))
		adsm_comm_fail("the threads that run kernels cannot be started");
	node.crew = adsm_node_table((size_t)adsm_comm.n * sizeof(*node.crew));
	adsm_node_words.options.n_pages = adsm_node_words.size / ADSM_PAGE_SIZE;
	adsm_node_start(&adsm_node_words.options, &calls);
	if (adsm_comm.rank) {
		adsm_crashes_start(NULL);
		snprintf(node.place, sizeof(node.place), " on node %d (%s)", adsm_comm.rank, node.card.host);
		adsm_units_start(node.place, NULL, restore, NULL);
		adsm_node_serve();
	} else {
		if (adsm_requests_start(hello))
			adsm_comm_fail("the thread that reads the application's requests cannot be started");
		serve_application();
	}
	adsm_comm_finish();
	/* _exit(): threads may still run. */
	_exit(0);
}
