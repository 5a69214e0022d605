/* SPDX-License-Identifier: MIT */
/* node/requests.c - requests of the application to node 0, other than launches. */
#include "node.h"

#include "base/os.h"
#include "cluster/node/task/images.h"
#include "process/device/serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A request, as other nodes get it. The bytes of a module follow. */
struct code {
	struct adsm_process_request request;
	uint8_t bytes[];
};

struct answer {
	int32_t error;
	uint32_t index;
	char text[ADSM_PROCESS_TEXT];
};

/* The current request. The thread that reads requests waits for its end. */
static struct {
	int (*hello)(const struct adsm_process_request *request, int memory_fd, struct adsm_process_shared *shared,
		     struct adsm_process_reply *reply);
	const struct adsm_process_request *request;
	struct adsm_process_shared *shared;
	struct adsm_process_reply *reply;
	int fd;				/* device memory, or a module */
	_Atomic uint32_t state;		/* futex */
	int ret;
	int n_answers;			/* answers that have not come yet */
	bool undo;			/* a node could not load the module: unload it on all nodes */
	_Atomic bool app_ended;		/* the application has ended */
	_Atomic bool end_noticed;	/* the main thread knows that, and ends the node */
} requests;

enum { NONE, ASKED, SENT, DONE };

/* ---- the thread that reads requests */

static void wake_node(void)
{
	adsm_comm_wake();
	if (requests.shared)
		adsm_process_queue_poke(&requests.shared->queue, true);
}

static int call_node(const struct adsm_process_request *request, int fd, struct adsm_process_reply *reply)
{
	uint32_t state;

	requests.request = request;
	requests.fd = fd;
	requests.reply = reply;
	atomic_store(&requests.state, ASKED);
	wake_node();
	while ((state = atomic_load(&requests.state)) != DONE)
		adsm_os_wait(&requests.state, state, 0, false);
	return requests.ret;
}

static int start(const struct adsm_process_request *hello, int memory_fd, struct adsm_process_shared *shared,
		 struct adsm_process_reply *reply)
{
	requests.shared = shared;
	return call_node(hello, memory_fd, reply);
}

static int answer(const struct adsm_process_request *request, const int *fds, struct adsm_process_reply *reply)
{
	return call_node(request, fds[0], reply);
}

static void *read_requests(void *arg)
{
	static const struct adsm_server server = { start, answer };

	adsm_serve(&server);
	atomic_store(&requests.app_ended, true);
	wake_node();
	/* The main thread may wait for other nodes in a call of MPI, or for a kernel, and not notice that: end the
	 * process. */
	adsm_os_sleep_until_ns(adsm_os_now_ns() + 1000000000);
	if (!atomic_load(&requests.end_noticed))
		_exit(0);
	return NULL;
}

int adsm_requests_start(int (*hello)(const struct adsm_process_request *request, int memory_fd,
				     struct adsm_process_shared *shared, struct adsm_process_reply *reply))
{
	requests.hello = hello;
	return adsm_pool_thread(read_requests);
}

/* ---- the communication thread of node 0 */

static void send_code(const struct adsm_process_request *request, int fd)
{
	struct stat about = { .st_size = 0 };
	struct code *code;
	size_t size;

	if (fd >= 0 && fstat(fd, &about))
		adsm_comm_fail("the size of a module cannot be read: %s", strerror(errno));
	size = sizeof(*code) + (size_t)about.st_size;
	code = adsm_node_memory(NULL, size);
	code->request = *request;
	for (off_t at = 0; at < about.st_size;) {
		ssize_t n = pread(fd, code->bytes + at, (size_t)(about.st_size - at), at);

		if (n <= 0)
			adsm_comm_fail("a module cannot be read: %s", n ? strerror(errno) : "its file is too short");
		at += n;
	}
	adsm_comm_send(-1, ADSM_TAG_CODE, code, size);
	free(code);
	requests.n_answers = adsm_comm.n - 1;
}

static void finish(void)
{
	atomic_store(&requests.state, DONE);
	adsm_os_wake(&requests.state, 1, false);
}

/* This node first: if it fails, the other nodes need not try. */
static void begin(void)
{
	const struct adsm_process_request *request = requests.request;
	int fd = -1;

	atomic_store(&requests.state, SENT);
	requests.undo = false;
	if (request->op == ADSM_PROCESS_HELLO) {
		requests.ret = requests.hello(request, requests.fd, requests.shared, requests.reply);
	} else {
		/* Loading closes the descriptor. */
		if (request->op == ADSM_PROCESS_LOAD && requests.fd >= 0)
			fd = dup(requests.fd);
		requests.ret = adsm_images_answer(request, &requests.fd, requests.reply);
		/* Other nodes map the bytes of write-once objects by themselves. */
		if (!requests.ret && request->op != ADSM_PROCESS_ONCE_MAP)
			send_code(request, fd);
		if (fd >= 0)
			close(fd);
	}
}

bool adsm_requests_waiting(void)
{
	const uint32_t state = atomic_load(&requests.state);

	return atomic_load(&requests.app_ended) || state == ASKED || state == SENT;
}

void adsm_requests_poll(void)
{
	if (atomic_load(&requests.state) == ASKED)
		begin();
	if (atomic_load(&requests.state) != SENT || requests.n_answers)
		return;
	if (requests.undo) {
		const struct adsm_process_request unload = { .op = ADSM_PROCESS_UNLOAD,
							     .index = requests.reply->index };

		requests.undo = false;
		adsm_images_answer(&unload, NULL, &(struct adsm_process_reply){ 0 });
		send_code(&unload, -1);
	} else {
		finish();
	}
}

void adsm_requests_answer(int from, const void *data, size_t size)
{
	const struct answer *answer = data;
	uint32_t op = requests.request->op;

	if (size != sizeof(*answer) || !requests.n_answers)
		adsm_comm_fail("node %d sent an unexpected answer", from);
	requests.n_answers--;
	if (requests.ret)
		return;
	if (answer->error) {
		requests.ret = answer->error;
		snprintf(requests.reply->text, sizeof(requests.reply->text), "node %d: %.400s", from,
			 *answer->text ? answer->text : strerror(-answer->error));
		requests.undo = op == ADSM_PROCESS_LOAD;
	} else if (op != ADSM_PROCESS_UNLOAD && answer->index != requests.reply->index) {
		adsm_comm_fail("node %d gave a module or kernel another number than node 0", from);
	}
}

bool adsm_requests_over(void)
{
	if (!atomic_load(&requests.app_ended))
		return false;
	atomic_store(&requests.end_noticed, true);
	return true;
}

/* ---- other nodes */

/* Map memory for a write-once object's bytes, and make the file of its flags. */
static int add_once(const struct adsm_process_request *request, struct adsm_process_reply *reply, int *ret_fd)
{
	const struct adsm_process_request map = { .op = ADSM_PROCESS_ONCE_MAP, .base = request->base,
						  .size = request->size };
	int fd, ret = adsm_os_memfd("once", request->size, &fd);

	if (!ret)
		ret = adsm_serve_answer(&map, &fd, reply);
	return ret ? ret : adsm_os_memfd("once-flags", request->extra, ret_fd);
}

/* Make the file that belongs to a request; other nodes do not get a descriptor. */
static int make_file(const struct code *code, size_t n, struct adsm_process_reply *reply, int *ret_fd)
{
	int ret;

	switch (code->request.op) {
	case ADSM_PROCESS_LOAD:
		ret = adsm_os_memfd("module", n, ret_fd);
		if (!ret && pwrite(*ret_fd, code->bytes, n, 0) != (ssize_t)n) {
			ret = errno ? -errno : -EIO;
			close(*ret_fd);
		}
		return ret;
	case ADSM_PROCESS_ONCE_TABLE:
		return adsm_os_memfd("once-table", code->request.size, ret_fd);
	case ADSM_PROCESS_ONCE_ADD:
		return add_once(&code->request, reply, ret_fd);
	default:
		return 0;
	}
}

void adsm_requests_code(const void *data, size_t size)
{
	const struct code *code = data;
	struct adsm_process_reply reply = { .index = 0 };
	struct answer answer = { .index = 0 };
	int fd = -1;

	answer.error = make_file(code, size - sizeof(*code), &reply, &fd);
	if (!answer.error)
		answer.error = adsm_images_answer(&code->request, &fd, &reply);
	answer.index = reply.index;
	memcpy(answer.text, reply.text, sizeof(answer.text));
	adsm_comm_send(0, ADSM_TAG_ANSWER, &answer, sizeof(answer));
}
