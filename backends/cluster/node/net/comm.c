/* SPDX-License-Identifier: MIT */
/* node/net/comm.c - letters between the nodes of a cluster, beats, and rests between two checks. */
#include "comm.h"

#include <limits.h>
#include <link.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/os.h"
#include "doorbell.h"
#include "cluster/join.h"
#include "runs.h"

/* How long to spin if there are enough processors; then sleeps become longer and longer. */
#define AWAKE_NS 50000
#define SLEEP_MIN_NS 50000
#define LETTER_MAX (((size_t)1 << 30) + 4096)	/* the largest unit of a write-once object, and its description */
#define HOST 64				/* bytes of a host's name, terminator included */
#define TEXT 512

/* A letter that is being sent. */
struct post {
	MPI_Request request;
	struct body { unsigned used; uint8_t data[]; } *body;	/* shared by all receivers */
};

struct adsm_comm adsm_comm;

static struct {
	MPI_Comm letters;		/* pages use MPI_COMM_WORLD, so they are never taken for letters */
	struct post *posts;
	size_t n, room;
	uint64_t active_ns;		/* when a letter came last */
	uint64_t awake_ns;		/* rests do not sleep for this time */
	uint32_t n_ticks;		/* sleeps that ended by their time limit */
	uint64_t timeout_ns;
	uint64_t beat_ns, checked_ns;	/* when beats were last sent, and when silent nodes were last checked */
	uint64_t *heard_ns;		/* for each node; on other nodes than node 0: for node 0 */
	char (*hosts)[HOST];
} comm;

/* ---- the end */

void adsm_comm_fail(const char *format, ...)
{
	char host[HOST] = "", what[TEXT], text[TEXT], line[TEXT + 32];
	va_list args;
	int n;

	gethostname(host, sizeof(host) - 1);
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	adsm_format(text, sizeof(text), "node %d (%s): %s", adsm_comm.rank, host, what);
	/* Without stdio: this may be a signal handler. */
	n = adsm_format(line, sizeof(line), ADSM_CLUSTER_SAYS "%s\n", text);
	adsm_os_write(STDERR_FILENO, line, (size_t)n);
	if (adsm_comm.failed)
		adsm_comm.failed(text);
	/* Not MPI_Abort(), which may wait for other nodes. The launcher ends the job when a node exits with an
	 * error. */
	_exit(1);
}

/* ---- the start */

static void gather_hosts(void)
{
	char host[HOST] = "";

	gethostname(host, sizeof(host) - 1);
	comm.hosts = adsm_node_table((size_t)adsm_comm.n * sizeof(*comm.hosts));
	MPI_Allgather(host, HOST, MPI_BYTE, comm.hosts, HOST, MPI_BYTE, MPI_COMM_WORLD);
}

void adsm_comm_start(int *argc, char ***argv, uint64_t timeout_ns)
{
	int provided;

	MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &adsm_comm.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &adsm_comm.n);
	if (provided < MPI_THREAD_FUNNELED)
		adsm_comm_fail("this MPI does not support programs with threads (MPI_THREAD_FUNNELED)");
	MPI_Comm_dup(MPI_COMM_WORLD, &comm.letters);
	gather_hosts();
	adsm_doorbell_start(adsm_comm.rank, adsm_comm.n);
	/* Spin only if each node on this machine has two processors: one for this thread and one for kernels. A node
	 * that spins or yields while others need the processor waits longer for it when a letter comes. */
	comm.awake_ns = 2 * (unsigned)adsm_doorbell_n_here() <= adsm_os_n_cpus() ? AWAKE_NS : 0;
	/* Sleeps are short: the system must not extend them. */
	prctl(PR_SET_TIMERSLACK, 1000);
	comm.timeout_ns = timeout_ns;
	comm.heard_ns = adsm_node_memory(NULL, (size_t)adsm_comm.n * sizeof(*comm.heard_ns));
	for (int r = 0; r < adsm_comm.n; r++)
		comm.heard_ns[r] = adsm_os_now_ns();
	comm.active_ns = comm.beat_ns = comm.checked_ns = adsm_os_now_ns();
}

void adsm_comm_finish(void)
{
	while (adsm_comm_is_busy())
		adsm_comm_rest(SLEEP_MIN_NS);
	MPI_Comm_free(&comm.letters);
	MPI_Finalize();
}

/* ---- the version of MPI */

struct parts {
	char pml[16], others[64];	/* pml: the part that selects transports; others: the transports */
};

/* The parts of Open MPI are loaded files; parts that are not used have been unloaded by now. */
static int find_part(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *name = strrchr(info->dlpi_name, '/');
	struct parts *parts = arg;
	size_t length = strlen(parts->others);
	char kind[4], part[16];

	if (!name || sscanf(name, "/mca_%3[a-z]_%15[a-z0-9].so", kind, part) != 2)
		return 0;
	if (!strcmp(kind, "pml"))
		strcpy(parts->pml, part);
	/* Skip "self", which every process has, and "sm", which only reports that it is now called vader. */
	if ((!strcmp(kind, "btl") || !strcmp(kind, "mtl")) && strcmp(part, "self") && strcmp(part, "sm"))
		snprintf(parts->others + length, sizeof(parts->others) - length, " %s", part);
	return 0;
}

void adsm_comm_version(char *text, size_t size)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING];
	struct parts parts = { "", "" };
	int length;

	MPI_Get_library_version(version, &length);
	dl_iterate_phdr(find_part, &parts);
	/* Only the first part of the text. */
	length = (int)strcspn(version, ",\n");
	if (*parts.pml)
		snprintf(text, size, "%.*s (%s%s%s)", length, version, parts.pml, *parts.others ? ":" : "",
			 parts.others);
	else
		snprintf(text, size, "%.*s", length, version);
}

/* ---- letters */

static void count_message(enum adsm_tag tag, size_t size)
{
	bool pages = tag == ADSM_TAG_DIFFS || tag == ADSM_TAG_WANT;
	struct adsm_comm_traffic *traffic = pages ? &adsm_comm.pages : &adsm_comm.control;

	if (tag == ADSM_TAG_BEAT || tag == ADSM_TAG_TIMES)
		return;
	traffic->messages++;
	traffic->bytes += size;
}

static void post(struct body *body, size_t size, int to, enum adsm_tag tag)
{
	struct post *p;

	comm.posts = adsm_node_grow(comm.posts, comm.n, &comm.room, sizeof(*comm.posts));
	p = &comm.posts[comm.n++];
	p->body = body;
	body->used++;
	MPI_Isend(body->data, (int)size, MPI_BYTE, to, tag, comm.letters, &p->request);
	count_message(tag, size);
	adsm_doorbell_ring(to);
}

void adsm_comm_send(int to, enum adsm_tag tag, const void *data, size_t size)
{
	struct body *body;

	if (size > LETTER_MAX)
		adsm_comm_fail("a message of %zu bytes is longer than a message between nodes can be", size);
	body = adsm_node_memory(NULL, sizeof(*body) + size);
	body->used = 1;
	if (size)
		memcpy(body->data, data, size);
	for (int r = 0; r < adsm_comm.n; r++) {
		if (to < 0 ? r != adsm_comm.rank : r == to)
			post(body, size, r, tag);
	}
	if (!--body->used)
		free(body);
	adsm_comm_active();
}

size_t adsm_comm_is_busy(void)
{
	for (size_t i = 0; i < comm.n;) {
		struct post *p = &comm.posts[i];
		int done = 0;

		MPI_Test(&p->request, &done, MPI_STATUS_IGNORE);
		if (!done) {
			i++;
			continue;
		}
		if (!--p->body->used)
			free(p->body);
		*p = comm.posts[--comm.n];
	}
	return comm.n;
}

/* ---- beats */

/* Node 0 sends beats to all nodes a few times within the time limit for silence. They answer, and detect when beats
 * stop. */
static void beat(void)
{
	const uint64_t now = adsm_os_now_ns(), since = now - comm.checked_ns;

	if (!comm.timeout_ns || since < comm.timeout_ns / 16)
		return;
	comm.checked_ns = now;
	if (adsm_comm.heard_ns)
		atomic_store(adsm_comm.heard_ns, now);
	/* This process itself was stopped for a long time and has not received: start the time again. */
	for (int r = 0; r < adsm_comm.n && since > comm.timeout_ns / 2; r++)
		comm.heard_ns[r] = now;
	for (int r = 0; r < (adsm_comm.rank ? 1 : adsm_comm.n); r++) {
		if (r != adsm_comm.rank && now - comm.heard_ns[r] > comm.timeout_ns)
			adsm_comm_fail("node %d (%s) was silent for %lu s (ADSM_CLUSTER_TIMEOUT): its process is "
				       "stopped, or its host cannot be reached", r, comm.hosts[r],
				       (unsigned long)(comm.timeout_ns / 1000000000));
	}
	if (!adsm_comm.rank && now - comm.beat_ns > comm.timeout_ns / 4) {
		comm.beat_ns = now;
		adsm_comm_send(-1, ADSM_TAG_BEAT, NULL, 0);
	}
}

static void heard_beat(int from)
{
	comm.heard_ns[from] = adsm_os_now_ns();
	if (adsm_comm.rank)
		adsm_comm_send(0, ADSM_TAG_BEAT, NULL, 0);
}

void adsm_comm_beat(void)
{
	MPI_Status status;
	int there;

	adsm_comm_is_busy();
	beat();
	for (;;) {
		MPI_Iprobe(MPI_ANY_SOURCE, ADSM_TAG_BEAT, comm.letters, &there, &status);
		if (!there)
			return;
		MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, ADSM_TAG_BEAT, comm.letters, MPI_STATUS_IGNORE);
		heard_beat(status.MPI_SOURCE);
	}
}

/* ---- receiving */

/* A large letter arrives only while its sender polls MPI. */
static void take_bytes(struct adsm_letter *letter, MPI_Message *message)
{
	MPI_Request request;
	int done = 0;

	MPI_Imrecv(letter->data, (int)letter->size, MPI_BYTE, message, &request);
	MPI_Test(&request, &done, MPI_STATUS_IGNORE);
	while (!done) {
		adsm_doorbell_ring(letter->from);
		adsm_comm_beat();
		adsm_comm_rest(ADSM_COMM_BUSY_NS);
		MPI_Test(&request, &done, MPI_STATUS_IGNORE);
	}
}

/* Get a letter with this tag, or MPI_ANY_TAG. */
static bool take_letter(int tag, struct adsm_letter *ret_letter)
{
	MPI_Message message;
	MPI_Status status;
	int there, size;

	MPI_Improbe(MPI_ANY_SOURCE, tag, comm.letters, &there, &message, &status);
	if (!there)
		return false;
	MPI_Get_count(&status, MPI_BYTE, &size);
	ret_letter->from = status.MPI_SOURCE;
	ret_letter->tag = (enum adsm_tag)status.MPI_TAG;
	ret_letter->size = (size_t)size;
	ret_letter->data = NULL;
	if (posix_memalign(&ret_letter->data, 64, (size_t)size + 1))
		adsm_comm_fail("not enough memory for a message of %d bytes", size);
	take_bytes(ret_letter, &message);
	comm.heard_ns[status.MPI_SOURCE] = adsm_os_now_ns();
	if (ret_letter->tag != ADSM_TAG_BEAT) {
		count_message(ret_letter->tag, ret_letter->size);
		adsm_comm_active();
	}
	return true;
}

bool adsm_comm_receive(struct adsm_letter *ret_letter)
{
	static uint32_t last_count;
	const uint32_t before = last_count;

	beat();
	if (!adsm_comm_may_have(&last_count) && !comm.n)
		return false;
	for (;;) {
		adsm_comm_is_busy();
		if (!take_letter(MPI_ANY_TAG, ret_letter))
			return false;
		if (ret_letter->tag != ADSM_TAG_BEAT)
			break;
		heard_beat(ret_letter->from);
		adsm_comm_drop(ret_letter);
	}
	/* Each letter rings once, so more may have come. */
	if (last_count != before)
		last_count = before + 1;
	return true;
}

bool adsm_comm_receive_only(enum adsm_tag tag, struct adsm_letter *ret_letter)
{
	adsm_comm_beat();
	return take_letter(tag, ret_letter);
}

void adsm_comm_drop(struct adsm_letter *letter)
{
	free(letter->data);
	letter->data = NULL;
}

/* ---- rests */

void adsm_comm_active(void)
{
	comm.active_ns = adsm_os_now_ns();
}

void adsm_comm_wake(void)
{
	adsm_doorbell_ring(adsm_comm.rank);
}

bool adsm_comm_may_have(uint32_t *last_count)
{
	const uint32_t now = adsm_doorbell_count() + comm.n_ticks;

	if (*last_count == now && adsm_doorbell_reaches_all())
		return false;
	*last_count = now;
	return true;
}

void adsm_comm_rest(uint64_t most_ns)
{
	static uint32_t last_count;
	const uint32_t count = adsm_doorbell_count();
	uint64_t quiet_ns = adsm_os_now_ns() - comm.active_ns;

	/* Nodes have rung since the last rest, maybe after the checks. */
	if (count != last_count) {
		last_count = count;
		adsm_comm_active();
		return;
	}
	if (quiet_ns < comm.awake_ns)
		return;
	quiet_ns = quiet_ns / 16 > SLEEP_MIN_NS ? quiet_ns / 16 : SLEEP_MIN_NS;
	/* Letters that are being sent need further checks to make progress. */
	if (comm.n && most_ns > ADSM_COMM_BUSY_NS)
		most_ns = ADSM_COMM_BUSY_NS;
	comm.n_ticks += adsm_doorbell_sleep(count, quiet_ns < most_ns ? quiet_ns : most_ns);
}

/* ---- Parts of letters */

static size_t aligned(size_t n, size_t align)
{
	return (n + align - 1) & ~(align - 1);
}

void *adsm_pack_room(struct adsm_pack *pack, size_t size, size_t align)
{
	const size_t at = aligned(pack->n, align);

	if (at + size > pack->room) {
		pack->room = 2 * (at + size);
		pack->data = adsm_node_memory(pack->data, pack->room);
	}
	memset(pack->data + pack->n, 0, at - pack->n);
	pack->n = at + size;
	return pack->data + at;
}

void adsm_pack_put(struct adsm_pack *pack, const void *data, size_t size, size_t align)
{
	void *room = adsm_pack_room(pack, size, align);

	if (size)
		memcpy(room, data, size);
}

const void *adsm_pack_take(const struct adsm_letter *letter, size_t *at, size_t size, size_t align)
{
	const size_t begin = aligned(*at, align);

	if (begin > letter->size || size > letter->size - begin)
		adsm_comm_fail("a message of node %d is truncated", letter->from);
	*at = begin + size;
	return (const uint8_t *)letter->data + begin;
}

/* ---- The end of collective operations */

void adsm_wait_for(void *request)
{
	int done = 0;

	while (MPI_Test(request, &done, MPI_STATUS_IGNORE), !done) {
		adsm_comm_beat();
		adsm_comm_rest(ADSM_COMM_BUSY_NS);
	}
	adsm_comm_active();
}
