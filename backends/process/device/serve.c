/* SPDX-License-Identifier: MIT */
/* serve.c - see serve.h. */
#include "serve.h"

#include "base/os.h"
#include "code.h"
#include "crash.h"
#include "guard.h"
#include "handler.h"
#include "once.h"
#include "task.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

static struct adsm_process_shared *served;
static int (*run)(struct adsm_pool_launch *launch, uint64_t slot);
static unsigned n_lanes;

static int run_here(struct adsm_pool_launch *launch, uint64_t i)
{
	struct adsm_process_slot *slot = &served->slots[i];
	int error;

	if (launch->task) {
		error = adsm_task_run_all(launch, slot->name, served, slot->counts, served->failures[i]);
		if (error)
			adsm_device_once_failed(launch, error);
		return error;
	}
	error = adsm_pool_run(launch);
	if (error)
		strcpy(served->failures[i], adsm_pool_failure());
	return error;
}

static void *run_launches(void *arg)
{
	static struct adsm_pool_launch launches[ADSM_PROCESS_LANES];
	static _Atomic uint32_t n_started;
	/* Lanes use a slot in turn: the application reuses it after it has seen a launch end. ThreadSanitizer does not
	 * see the application, but these. */
	static _Atomic bool used[ADSM_PROCESS_SLOTS];
	const uint32_t lane = atomic_fetch_add(&n_started, 1);
	struct adsm_pool_launch *launch = &launches[lane];
	struct adsm_process_shared *shared = served;
	struct adsm_process_queue *queue = adsm_process_lane(shared, lane);
	const uint64_t spin_ns = adsm_pool_spin_ns();
	char failure[ADSM_PROCESS_TEXT];
	int status;

	adsm_crash_thread();
	while (adsm_process_queue_next(queue, spin_ns, true)) {
		uint64_t i = adsm_process_slot_of(shared, lane, atomic_load(&queue->done) + 1);
		struct adsm_process_slot *slot = &shared->slots[i];

		atomic_load(&used[i]);
		adsm_guard_close();
		adsm_code_launch(slot, shared->areas[i], launch);
		launch->lane = lane;
		launch->number = n_lanes > 1 ? atomic_load(&slot->launch) : 0;
		launch->record = slot->counted ? &shared->tasks[i] : NULL;
		slot->status = 0;
		slot->task = launch->task != NULL;
		/* Kernels that call services are in lane 0. */
		if (!lane)
			adsm_handler_begin(slot->name);
		slot->start_ns = adsm_os_now_ns();
		slot->status = run(launch, i);
		slot->end_ns = adsm_os_now_ns();
		status = lane ? 0 : adsm_handler_end(failure);
		if (status && !slot->status) {
			strcpy(shared->failures[i], failure);
			slot->status = status;
		}
		atomic_store_explicit(&used[i], true, memory_order_release);
		adsm_process_queue_done(queue, true);
	}
	return NULL;
}

static int serve(struct adsm_process_shared *shared, unsigned n_threads, unsigned lanes,
		 int (*its_run)(struct adsm_pool_launch *launch, uint64_t slot))
{
	int ret;

	served = shared;
	run = its_run;
	n_lanes = lanes;
	adsm_pool_lanes(lanes);
	ret = adsm_pool_start(n_threads);
	for (unsigned lane = 0; lane < lanes && !ret; lane++)
		ret = adsm_pool_thread(run_launches);
	return ret;
}

int adsm_serve_launches_by(struct adsm_process_shared *shared, unsigned n_threads,
			   int (*its_run)(struct adsm_pool_launch *launch, uint64_t slot))
{
	return serve(shared, n_threads, 1, its_run);
}

int adsm_serve_launches(struct adsm_process_shared *shared, unsigned n_threads, unsigned lanes)
{
	adsm_crash_locate = adsm_code_locate;
	return serve(shared, n_threads, lanes, run_here);
}

int adsm_serve_answer(const struct adsm_process_request *request, const int *fds, struct adsm_process_reply *reply)
{
	int ret;

	switch (request->op) {
	case ADSM_PROCESS_LOAD:
		return adsm_code_load(fds[0], &reply->index, reply->text);
	case ADSM_PROCESS_UNLOAD:
		ret = adsm_code_unload(request->index);
		if (!adsm_code_is_loaded())
			adsm_handler_forget();
		return ret;
	case ADSM_PROCESS_KERNEL:
		ret = adsm_code_kernel(request->index, request->name, &reply->index);
		reply->atomics = !ret && adsm_code_atomics(reply->index);
		reply->services = !ret && adsm_code_services(reply->index);
		return ret;
	case ADSM_PROCESS_ONCE_TABLE:
	case ADSM_PROCESS_ONCE_MAP:
	case ADSM_PROCESS_ONCE_ADD:
	case ADSM_PROCESS_ONCE_REMOVE:
		return adsm_device_once_answer(request, fds[0]);
	default:
		return -EPROTO;
	}
}

static int hello(const struct adsm_server *server, const struct adsm_process_request *request, const int *fds,
		 struct adsm_process_reply *reply)
{
	static bool greeted;
	struct adsm_process_shared *shared;
	void *p;
	int ret;

	if (greeted || fds[1] < 0)
		return -EPROTO;
	greeted = true;
	ret = adsm_os_map(NULL, sizeof(*shared) + request->extra, fds[1], 0, ADSM_PROT_RW, &p);
	close(fds[1]);
	if (ret)
		return ret;
	shared = p;
	adsm_os_populate(shared, offsetof(struct adsm_process_shared, areas), true);
	adsm_crash_note(&shared->crash, NULL);
	return server->start(request, fds[0], shared, reply);
}

void adsm_serve(const struct adsm_server *server)
{
	bool watched = fcntl(ADSM_PROCESS_APPLICATION, F_GETFD) >= 0;
	struct pollfd polled[] = {
		{ .fd = ADSM_PROCESS_SOCKET, .events = POLLIN },
		/* A child of the application may have inherited the socket's other end, so its end does not close the
		 * socket. */
		{ .fd = watched ? ADSM_PROCESS_APPLICATION : -1, .events = POLLIN },
	};
	struct adsm_process_request request;
	struct adsm_process_reply reply;
	int fds[ADSM_PROCESS_MAX_FDS];

	do {
		while (poll(polled, 2, -1) < 0)
			;
		if (polled[1].revents || adsm_process_receive(ADSM_PROCESS_SOCKET, &request, sizeof(request), fds))
			return;
		reply = (struct adsm_process_reply){ 0 };
		if (request.op == ADSM_PROCESS_HELLO)
			reply.error = hello(server, &request, fds, &reply);
		else
			reply.error = server->answer(&request, fds, &reply);
	} while (!adsm_process_send(ADSM_PROCESS_SOCKET, &reply, sizeof(reply), NULL, 0));
}
