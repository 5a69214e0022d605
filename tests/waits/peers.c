/* SPDX-License-Identifier: MIT */
/*
 * peers.c - requests of other ranks: the start and the stop of the thread that listens, and requests that wait for a
 * free place. The sockets are simulated: connections, requests, and shutdown(2).
 */
#include "step.h"

#include "lib/run/copy/peers.c"

#define DOOR 50				/* descriptor of the socket that listens */
#define FIRST 100			/* descriptor of the first connection */
#define RANKS 2
#define OWN (FIRST + RANKS)		/* descriptors of the library's connection to itself: this end, other end */
#define OWN_END (OWN + 1)

static struct connection { bool waits, accepted, asks, answered, left, is_shut, closed; } connections[RANKS + 2];
static struct request *given[RANKS];	/* requests that have got a thread */
static bool listener_started, threads_fail, system_is_short, no_objects;
static bool door_is_shut, door_is_dropped, door_is_lost, listens_there;
static int n_inside;			/* requests that use objects now */

/* ---- sockets */

int adsm_peer_listen(int *ret_fd, char ret_thread[ADSM_PEER_THREAD_SIZE])
{
	*ret_fd = DOOR;
	return 0;
}

int adsm_peer_process(int fd)
{
	return 0;
}

int adsm_fd_keep(int fd, struct adsm_fd **ret_own)
{
	*ret_own = (struct adsm_fd *)&connections;
	return 0;
}

int adsm_fd_number(const struct adsm_fd *own)
{
	step_at(&door_is_lost, "", 0, "looks for the descriptor");
	return door_is_lost ? -EBADF : DOOR;
}

void adsm_fd_drop(struct adsm_fd *own)
{
	door_is_dropped = true;
}

static int next(void)
{
	for (int i = 0; i <= RANKS; i++)
		if (connections[i].waits)
			return i;
	return -1;
}

static bool accepts(void *arg)
{
	return door_is_shut || next() >= 0;
}

int adsm_peer_accept(int fd)
{
	int i;

	listens_there = true;
	step_await(accepts, NULL);
	listens_there = false;
	if (door_is_shut)
		return -EINVAL;
	if (system_is_short && step_choose(2)) {
		system_is_short = false;
		return -EMFILE;
	}
	i = next();
	connections[i].waits = false;
	connections[i].accepted = true;
	return FIRST + i;
}

int adsm_peer_shut(int fd)
{
	if (fd == DOOR && door_is_lost)
		return -EBADF;
	if (fd >= FIRST)
		connections[fd - FIRST].is_shut = true;
	else if (fd == DOOR)
		door_is_shut = true;
	return 0;
}

/* A closed socket stays open in the kernel while a thread is inside a system call on it. */
int adsm_peer_connect(int pid)
{
	step_at(&door_is_lost, "", 0, "connects");
	if (!listens_there)
		return -ENOENT;
	connections[OWN - FIRST].waits = true;
	return OWN_END;
}

void adsm_peer_close(int fd)
{
	STEP_CHECK(!connections[fd - FIRST].closed);
	connections[fd - FIRST].closed = true;
}

int adsm_peer_send(int fd, const void *data, size_t size)
{
	connections[fd - FIRST].answered = true;
	return 0;
}

bool adsm_peer_runs(int pid)
{
	return true;
}

static bool receives(void *arg)
{
	const struct connection *connection = arg;

	return connection->asks || connection->left || connection->is_shut;
}

long adsm_peer_receive(int fd, void *data, size_t size, int pid)
{
	struct connection *connection = &connections[fd - FIRST];
	const struct question question = { .write = false, .n = 1 };

	step_await(receives, connection);
	if (!connection->asks)
		return 0;
	memcpy(data, &question, size < QUESTION_SIZE(1) ? size : QUESTION_SIZE(1));
	return QUESTION_SIZE(1);
}

/* ---- other parts of the library */

const char *adsm_os_getenv(const char *name)
{
	return "0";
}

int adsm_io_begin_output(struct adsm_io *io, const struct iovec *vector, int n, struct iovec *room)
{
	n_inside++;
	STEP_CHECK(!no_objects);
	step_at(NULL, "", 0, "makes bytes present");
	return 0;
}

int adsm_io_end(struct adsm_io *io, size_t delivered)
{
	n_inside--;
	STEP_CHECK(!no_objects);
	return 0;
}

STEP_HAS_NEVER
STEP_NEVER(adsm_io_begin_input)

int adsm_os_thread_start(struct adsm_thread *ret_thread, const char *name, void (*run)(void *), void *arg)
{
	if (run == listen_on) {
		listener_started = true;
		return 0;
	}
	if (threads_fail && step_choose(2))
		return -EAGAIN;
	for (int i = 0; i < RANKS; i++)
		if (!given[i]) {
			given[i] = arg;
			return 0;
		}
	abort();
}

void adsm_os_thread_leave(struct adsm_thread *thread)
{
}

static bool listener_is_over(void *arg)
{
	return step_over("listener");
}

void adsm_os_thread_join(struct adsm_thread *thread)
{
	step_await(listener_is_over, NULL);
}

/* ---- threads */

static bool is_set(void *arg)
{
	return *(const bool *)arg;
}

static void run_listener(void *arg)
{
	step_await(is_set, &listener_started);
	listen_on(NULL);
}

static bool is_given(void *arg)
{
	return *(struct request **)arg;
}

static void run_server(void *arg)
{
	step_await(is_given, arg);
	run_request(*(struct request **)arg);
}

/* Another rank sends a request, or closes its connection without one. It gets an answer, or the connection ends. */
static bool is_answered(void *arg)
{
	const struct connection *connection = arg;

	return connection->answered || connection->closed || connection->is_shut ||
		(door_is_dropped && !connection->accepted);
}

static void ask(void *arg)
{
	struct connection *connection = arg;

	step_await(is_set, &listener_started);
	if (door_is_dropped)
		return;
	connection->waits = true;
	step_at(NULL, "", 0, "is connected");
	if (step_choose(2)) {
		connection->left = true;
		return;
	}
	connection->asks = true;
	step_await(is_answered, connection);
}

/* The rank connects, but never sends a request, as if a signal had stopped it. */
static void keep_silent(void *arg)
{
	step_await(is_set, &listener_started);
	((struct connection *)arg)->waits = true;
}

static void start_and_stop(void *arg)
{
	adsm_peers_start();
	STEP_CHECK(listens);
	adsm_peers_stop();
	STEP_CHECK(!n_inside);
	no_objects = true;
}

static bool is_all_closed(void)
{
	for (int i = 0; i <= RANKS; i++)
		if (connections[i].accepted && !connections[i].closed)
			return false;
	return door_is_dropped && !n_requests;
}

static void make(unsigned n_free)
{
	memset(connections, 0, sizeof(connections));
	memset(given, 0, sizeof(given));
	memset(requests, 0, sizeof(requests));
	/* All other places are in use for ever. */
	for (unsigned i = n_free; i < MAX_REQUESTS; i++)
		requests[i] = (struct request){ true, -1 };
	step_constant(requests + n_free, (MAX_REQUESTS - n_free) * sizeof(requests[0]));
	n_requests = 0;
	stopping = false;
	atomic_init(&n_ended, 0);
	atomic_init(&listens, 0);
	door = NULL;
	listener_started = threads_fail = system_is_short = no_objects = false;
	door_is_shut = door_is_dropped = door_is_lost = listens_there = false;
	n_inside = 0;
	step_thread("library", start_and_stop, NULL, 0);
	step_thread("listener", run_listener, NULL, 0);
	for (int i = 0; i < RANKS; i++)
		step_thread(i ? "other server" : "server", run_server, &given[i], STEP_SERVER);
}

static void start_full(void)
{
	make(1);
	step_thread("rank", ask, &connections[0], 0);
	step_thread("other rank", ask, &connections[1], 0);
}

static void start_silent(void)
{
	make(1);
	step_thread("rank", keep_silent, &connections[0], 0);
	step_thread("other rank", ask, &connections[1], 0);
}

static void start_short(void)
{
	make(2);
	threads_fail = system_is_short = true;
	step_thread("rank", ask, &connections[0], 0);
}

/* The program closes the socket by a raw system call. The thread that listens stays asleep there. */
static void close_door(void *arg)
{
	step_await(is_set, &listener_started);
	step_at(&door_is_lost, "", 0, "closes the library's socket");
	door_is_lost = true;
}

static void start_closed(void)
{
	make(2);
	step_thread("program", close_door, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "more requests than places", .start = start_full, .settled = is_all_closed,
		  .time = STEP_NO_TIME, .preemptions = 2, .full_preemptions = 4 },
		{ .name = "a silent request", .start = start_silent, .settled = is_all_closed,
		  .time = STEP_NO_TIME, .preemptions = 2, .full_preemptions = 4 },
		{ .name = "no thread, no descriptor", .start = start_short, .settled = is_all_closed, .signals = 1 },
		{ .name = "the program closes the socket", .start = start_closed, .settled = is_all_closed,
		  .time = STEP_NO_TIME },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
