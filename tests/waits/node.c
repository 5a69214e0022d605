/* SPDX-License-Identifier: MIT */
/*
 * node.c - nodes of a cluster: launches and requests that the application gives to node 0; the doorbell; threads that
 * wait for pages.
 */
#include "step.h"

#include <sys/mman.h>

#include "backends/process/shared.c"
#include "backends/cluster/node/requests.c"
#define ready is_ready
#include "backends/cluster/node/pages/waiting.c"

struct adsm_comm adsm_comm;
struct adsm_page_table adsm_table;

static struct adsm_process_shared *memory;
static struct adsm_process_request request = { .op = ADSM_PROCESS_UNLOAD };
static int n_launches, n_answers;

/* During a launch, the doorbell wakes node 0. Here node 0 does not sleep in a launch. */
void adsm_comm_wake(void)
{
}

STEP_HAS_NEVER
STEP_NEVER(adsm_comm_fail)
STEP_NEVER(adsm_serve_answer)
STEP_NEVER(adsm_os_memfd)

int adsm_images_answer(const struct adsm_process_request *of, const int *fds, struct adsm_process_reply *reply)
{
	n_answers++;
	return 0;
}

void *adsm_node_memory(void *p, size_t size)
{
	return step_alloc(size);
}

void adsm_comm_send(int to, enum adsm_tag tag, const void *data, size_t size)
{
}

/* ---- between launches, as in serve_application() in node.c */

static void serve(void *arg)
{
	struct adsm_process_queue *queue = &memory->queue;

	for (;;) {
		const uint64_t done = atomic_load(&queue->done);

		adsm_requests_poll();
		if (atomic_load(&queue->submitted) != done) {
			n_launches++;
			adsm_process_queue_done(queue, true);
		} else if (!adsm_requests_waiting()) {
			adsm_process_queue_sleep(queue, done, adsm_requests_waiting, 1, true);
		}
	}
}

static void ask_node(void *arg)
{
	struct adsm_process_reply reply;

	for (uintptr_t i = 1; i <= (uintptr_t)arg; i++) {
		STEP_CHECK(!call_node(&request, -1, &reply));
		STEP_CHECK(n_answers == (int)i);
	}
}

static void launch(void *arg)
{
	static const _Atomic uint32_t never;
	const uint64_t seq = adsm_process_queue_submit(&memory->queue, true);

	while (adsm_process_queue_wait(&memory->queue, seq, &never, 0, true))
		;
	STEP_CHECK(n_launches == 1);
}

static void start_node(void)
{
	memory = mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		      0);
	step_memory(&memory->queue, sizeof(memory->queue));
	memset(&requests, 0, sizeof(requests));
	adsm_comm.n = 1;
	requests.shared = memory;
	n_launches = n_answers = 0;
	step_thread("node", serve, NULL, STEP_SERVER);
	step_thread("requests", ask_node, (void *)2, 0);
	step_thread("program", launch, NULL, 0);
}

/* ---- pages: two threads want one page, and it arrives */

static uint8_t page_flags[1], changed[1];

uint64_t adsm_table_length(uint64_t at, uint64_t end, unsigned mask, unsigned flags)
{
	return at < end && (page_flags[0] & mask) == flags ? end - at : 0;
}

static _Atomic uint32_t n_wanted;

static void want_page(void)
{
	atomic_fetch_add(&n_wanted, 1);
	adsm_os_wake(&n_wanted, INT_MAX, false);
}

static void touch(void *arg)
{
	const struct adsm_run run = { 0, 1 };

	adsm_lock(&adsm_table.lock);
	while (is_ready(run) < run.n)
		adsm_waiting_sleep(run, want_page);
	adsm_unlock(&adsm_table.lock);
}

static void fetch(void *arg)
{
	struct adsm_run run;

	for (;;) {
		const uint32_t wanted = atomic_load(&n_wanted);

		if (!adsm_waiting_next(&run)) {
			adsm_os_wait(&n_wanted, wanted, 0, false);
			continue;
		}
		adsm_lock(&adsm_table.lock);
		page_flags[0] = ADSM_PAGE_ADDED | ADSM_PAGE_VALID;
		adsm_waiting_release();
		adsm_unlock(&adsm_table.lock);
	}
}

static void start_pages(void)
{
	waiters = NULL;
	atomic_init(&may_want, false);
	atomic_init(&n_wanted, 0);
	adsm_waiting_forget();
	memset(&adsm_table, 0, sizeof(adsm_table));
	adsm_table.n = adsm_table.max_read_ahead = 1;
	adsm_table.flags = page_flags;
	adsm_table.changed = changed;
	page_flags[0] = ADSM_PAGE_ADDED;
	step_thread("fetcher", fetch, NULL, STEP_SERVER);
	step_thread("kernel", touch, NULL, 0);
	step_thread("other", touch, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "requests and a launch", .start = start_node, .time = STEP_NO_TIME, .preemptions = 3,
		  .full_preemptions = 4 },
		{ .name = "two wait for a page", .start = start_pages, .signals = 1 },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
