/* SPDX-License-Identifier: MIT */
/* peers.c - see peers.h. Both sides: asking and answering. */
#include "run/copy/peers.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log.h"
#include "base/os.h"
#include "base/peer.h"

#define MAX_REQUESTS 64			/* at the same time; others wait in the socket's queue */
#define RETRY_NS ((uint64_t)10000000)	/* the pause until the next try if the
					   system has no descriptor or thread left */

struct question {
	uint32_t write, n;
	struct iovec ranges[ADSM_PEER_RANGES];
};

struct answer {
	int32_t error, n;
	struct iovec pieces[ADSM_PEER_PIECES];
};

#define QUESTION_SIZE(n) (offsetof(struct question, ranges) + (size_t)(n) * sizeof(struct iovec))
#define ANSWER_SIZE(n) (offsetof(struct answer, pieces) + (size_t)(n) * sizeof(struct iovec))

/* The requests in progress. The mutex guards them; no lock is taken under it. */
static struct request {
	bool used;
	int fd;
} requests[MAX_REQUESTS];

static struct adsm_mutex mutex = ADSM_MUTEX_INIT(ADSM_RANK_PEERS);
static unsigned n_requests;
static bool stopping;
static _Atomic uint32_t n_ended;	/* futex: changes when a request has ended */
static struct adsm_fd *door;		/* NULL: no requests are answered */
static struct adsm_thread listener;
static _Atomic uint32_t listens;	/* futex: the listener has its name, which other processes look for */

/* ---- the answering side */

static bool is_valid(const struct question *question, long size)
{
	if (size < (long)QUESTION_SIZE(1) || !question->n || question->n > ADSM_PEER_RANGES ||
	    size != (long)QUESTION_SIZE(question->n))
		return false;
	for (uint32_t i = 0; i < question->n; i++) {
		const struct iovec *range = &question->ranges[i];

		if (range->iov_len > SSIZE_MAX ||
		    (uintptr_t)range->iov_base + range->iov_len < (uintptr_t)range->iov_base)
			return false;
	}
	return true;
}

static void serve(int fd)
{
	struct adsm_io io = { .detached = true, .where = __builtin_return_address(0) };
	const int pid = adsm_peer_process(fd);
	struct question question;
	struct answer answer;
	uint64_t delivered;

	if (!is_valid(&question, adsm_peer_receive(fd, &question, sizeof(question), pid)))
		return;
	answer.error = (question.write ? adsm_io_begin_input : adsm_io_begin_output)(&io, question.ranges,
										    (int)question.n, answer.pieces);
	answer.n = answer.error ? 0 : io.n;
	if (adsm_peer_send(fd, &answer, ANSWER_SIZE(answer.n)) || answer.error || !question.write) {
		adsm_io_end(&io, 0);
		return;
	}
	/* If the other process ends before, this counts as if nothing has come. */
	if (adsm_peer_receive(fd, &delivered, sizeof(delivered), pid) != sizeof(delivered) || delivered > io.size)
		delivered = 0;
	answer.error = adsm_io_end(&io, delivered);
	adsm_peer_send(fd, &answer, ANSWER_SIZE(0));
}

static void end(struct request *request)
{
	adsm_mutex_lock(&mutex);
	adsm_peer_close(request->fd);
	request->used = false;
	n_requests--;
	adsm_mutex_unlock(&mutex);
	adsm_os_poke(&n_ended);
}

static void run_request(void *arg)
{
	struct request *request = arg;

	serve(request->fd);
	end(request);
}

/* Returns false if there are too many requests. Otherwise the request owns the connection. */
static bool begin(int fd)
{
	struct request *request = NULL;
	struct adsm_thread thread;

	adsm_mutex_lock(&mutex);
	for (int i = 0; i < MAX_REQUESTS && !request && !stopping; i++)
		if (!requests[i].used)
			request = &requests[i];
	if (request) {
		*request = (struct request){ true, fd };
		n_requests++;
	}
	adsm_mutex_unlock(&mutex);
	if (!request)
		return false;
	if (adsm_os_thread_start(&thread, "adsm-peer", run_request, request))
		run_request(request);	/* without a thread, requests are answered one after the other */
	else
		adsm_os_thread_leave(&thread);
	return true;
}

static bool goes_on(void)
{
	bool on;

	adsm_mutex_lock(&mutex);
	on = !stopping;
	adsm_mutex_unlock(&mutex);
	return on;
}

static void listen_on(void *arg)
{
	atomic_store(&listens, 1);
	adsm_os_wake(&listens, 1, false);
	while (goes_on()) {
		uint32_t n = atomic_load(&n_ended);
		int door_fd = adsm_fd_number(door), fd = door_fd < 0 ? door_fd : adsm_peer_accept(door_fd);

		/* The program itself has closed the socket by a system call. */
		if (fd == -EBADF || fd == -ENOTSOCK || fd == -EINVAL)
			break;
		if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM || fd == -ENOBUFS)
			adsm_os_wait(&n_ended, n, RETRY_NS, false);
		while (fd >= 0 && !begin(fd)) {
			if (!goes_on()) {
				adsm_peer_close(fd);
				break;
			}
			adsm_os_wait(&n_ended, n, 0, false);
			n = atomic_load(&n_ended);
		}
	}
}

/* ---- does this process belong to MPI? */

static int is_mpi(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *name = strrchr(info->dlpi_name, '/');

	/* libmpi.so, libmpich.so, libmpi_mpifh.so, … */
	return name && !strncmp(name, "/libmpi", 7);
}

static bool is_of_mpi(void)
{
	/* Variables that MPI's launchers set. MPI itself may be loaded later. */
	static const char *const variables[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK" };

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (adsm_os_getenv(variables[i]))
			return true;
	return dl_iterate_phdr(is_mpi, NULL);
}

void adsm_peers_start(void)
{
	char name[ADSM_PEER_THREAD_SIZE];
	int fd, error;

	if (!is_of_mpi())
		return;
	error = adsm_peer_listen(&fd, name);
	if (!error)
		error = adsm_fd_keep(fd, &door);
	if (!error) {
		stopping = false;
		atomic_store(&listens, 0);
		error = adsm_os_thread_start(&listener, name, listen_on, NULL);
		while (!error && !atomic_load(&listens))
			adsm_os_wait(&listens, 0, 0, false);
		if (error)
			adsm_fd_drop(door);
	}
	if (error) {
		door = NULL;
		adsm_warn("other MPI ranks cannot access the shared memory of this rank (error %d): turn off MPI's "
			  "single copy (docs/mpi.md)", error);
	}
}

/* The listener ends when it wakes up. If the program has closed the socket, only a connection wakes it. */
static void join_listener(void)
{
	int fd = adsm_fd_number(door);

	if (fd < 0 || adsm_peer_shut(fd)) {
		fd = adsm_peer_connect(getpid());
		if (fd >= 0)
			adsm_peer_close(fd);
	}
	adsm_os_thread_join(&listener);
}

void adsm_peers_stop(void)
{
	if (!door)
		return;
	adsm_mutex_lock(&mutex);
	stopping = true;
	for (int i = 0; i < MAX_REQUESTS; i++)
		if (requests[i].used)
			adsm_peer_shut(requests[i].fd);
	adsm_mutex_unlock(&mutex);
	adsm_os_poke(&n_ended);
	join_listener();
	for (;;) {
		uint32_t n = atomic_load(&n_ended);
		bool none;

		adsm_mutex_lock(&mutex);
		none = !n_requests;
		adsm_mutex_unlock(&mutex);
		if (none)
			break;
		adsm_os_wait(&n_ended, n, 0, false);
	}
	adsm_fd_drop(door);
	door = NULL;
}

/* ---- the asking side */

/* Its socket has ended: has the process, or does only its library not answer any longer? */
static int left(int pid)
{
	return adsm_peer_runs(pid) ? -ENOENT : -ESRCH;
}

int adsm_peer_begin(int pid, bool write, const struct iovec *ranges, int n, struct iovec ret_pieces[ADSM_PEER_PIECES],
		    int *ret_n, int *ret_fd)
{
	struct question question = { .write = write, .n = (uint32_t)n };
	struct answer answer;
	int fd = adsm_peer_connect(pid), error;
	long size;

	if (fd < 0)
		return fd;
	memcpy(question.ranges, ranges, (size_t)n * sizeof(*ranges));
	error = adsm_peer_send(fd, &question, QUESTION_SIZE(n));
	if (!error) {
		size = adsm_peer_receive(fd, &answer, sizeof(answer), pid);
		if (size < (long)ANSWER_SIZE(0))
			error = size < 0 ? (int)size : -EPIPE;
		else
			error = answer.error;
	}
	if (error == -ECONNRESET || error == -EPIPE)
		error = left(pid);
	if (!error && (answer.n < 1 || answer.n > (int)ADSM_PEER_PIECES || size != (long)ANSWER_SIZE(answer.n)))
		error = -EPROTO;
	if (error) {
		adsm_peer_close(fd);
		return error;
	}
	memcpy(ret_pieces, answer.pieces, (size_t)answer.n * sizeof(*ret_pieces));
	*ret_n = answer.n;
	*ret_fd = fd;
	return 0;
}

int adsm_peer_end(int pid, int fd, bool write, size_t delivered)
{
	uint64_t bytes = delivered;
	struct answer answer;
	int error = 0;

	if (write)
		error = adsm_peer_send(fd, &bytes, sizeof(bytes));
	if (write && !error)
		error = adsm_peer_receive(fd, &answer, sizeof(answer), pid) == (long)ANSWER_SIZE(0) ? answer.error :
			-EPIPE;
	if (error == -ECONNRESET || error == -EPIPE)
		error = left(pid);
	adsm_peer_close(fd);
	return error;
}
