/* SPDX-License-Identifier: MIT */
/*
 * test_pages_nodes.c - several nodes, each a process with memory of its own, write to the same pages at the same time:
 * test-pages-nodes bytes|ints|pages TRACKER,TRACKER,... Sockets are their network, and every byte is compared to what
 * it must be: a kernel reads what others wrote in launches before, and in the end home has it all.
 *
 * Each node knows for each launch which node writes which value. Each node keeps its own image.
 */
#include "pages.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define N_PAGES 12
#define SECOND 8		/* from here on a second object, which goes and comes back */
#define N_LAUNCHES 1000
#define N_READS 200
#define MOST_NODES 4

static unsigned self, n_nodes, grain;	/* grain: number of adjacent bytes of one node */
static int ends[MOST_NODES];		/* to the other nodes; only home has more than the one to home */
static uint8_t image[N_PAGES * PAGE];

/* ---- what all know */

static uint64_t hash(uint64_t launch, uint64_t at)
{
	uint64_t state = launch << 32 ^ at;

	return draw(&state);
}

static unsigned owner(uint64_t at)
{
	return (unsigned)(at / grain % n_nodes);
}

static bool is_written[N_PAGES * PAGE];
static uint8_t value[N_PAGES * PAGE];

/* A quarter of the bytes of two thirds of the pages. */
static void plan(uint64_t launch)
{
	for (uint64_t at = 0; at < sizeof(image); at += 8) {
		const uint64_t is = hash(launch, at), is_not = hash(launch, at + 1), values = hash(launch, at + 2);
		const bool is_page = hash(launch, at / PAGE * PAGE + 3) % 3;

		for (unsigned i = 0; i < 8; i++)
			is_written[at + i] = is_page && is >> i & 1 && is_not >> i & 1;
		memcpy(value + at, &values, 8);
	}
}

/* Page by page, other bytes in each launch. */
static uint64_t host_byte(uint64_t launch, uint64_t page)
{
	return page * PAGE + hash(launch, page * PAGE + 4) % PAGE;
}

static bool host_writes(uint64_t launch, uint64_t page)
{
	return hash(launch, page * PAGE + 5) % 4 == 0;
}

static void advance(uint64_t launch)
{
	for (uint64_t at = 0; at < sizeof(image); at++)
		image[at] = is_written[at] ? value[at] : image[at];
	for (uint64_t page = 0; page < N_PAGES; page++)
		if (host_writes(launch, page))
			image[host_byte(launch, page)] = (uint8_t)launch;
}

/* ---- the kernel: two threads on each node */

static uint64_t this_launch;
static _Atomic unsigned n_ended;
static int ended_pipe[2];

static void *run_half(void *arg)
{
	const uint64_t half = (uintptr_t)arg;
	uint64_t seed = this_launch * 64 + self * 2 + half;

	for (int i = 0; i < N_READS; i++) {
		uint64_t at = draw(&seed) % sizeof(image);

		if (!is_written[at])
			CHECKF(load(0, at) == image[at], "node %u, launch %d, page %d, byte %d: %d, not %d", self,
			       (int)this_launch, (int)(at / PAGE), (int)(at % PAGE), load(0, at), image[at]);
	}
	for (uint64_t at = half; at < sizeof(image); at += 2)
		if (is_written[at] && owner(at) == self)
			store(0, at, value[at]);
	atomic_fetch_add(&n_ended, 1);
	wake();
	CHECK(write(ended_pipe[1], "", 1) == 1);
	return NULL;
}

/* ---- messages */

static void put(int fd, const void *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = send(fd, (const char *)data + done, size - done, MSG_NOSIGNAL);

		CHECK(n > 0);
		done += (size_t)n;
	}
}

static void get(int fd, void *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = recv(fd, (char *)data + done, size - done, 0);

		CHECK(n > 0);
		done += (size_t)n;
	}
}

enum { SHUT, WANT, DONE, PAGE_WHOLE, PAGE_DIFF, PAGE_KEEP, PAGE_UNMAPPED, PAGE_INVALID };

struct message {
	uint32_t what;
	uint32_t size;			/* of what follows */
	struct adsm_run run;
};

static void post(int fd, uint32_t what, struct adsm_run run, const void *data, size_t size)
{
	const struct message m = { what, (uint32_t)size, run };

	put(fd, &m, sizeof(m));
	put(fd, data, size);
}

/* ---- a node that is not home, and the messages it understands */

static void take(struct message m)
{
	uint8_t *into = adsm_pages_alias(m.run.first);

	CHECK_EQ(m.size, m.what == PAGE_WHOLE || m.what == PAGE_UNMAPPED ? m.run.n * PAGE : 0);
	get(ends[0], into, m.size);
	if (m.what == PAGE_INVALID)
		adsm_pages_invalidate(m.run);
	else if (m.what != PAGE_KEEP)
		adsm_pages_arrived(m.run, m.what == PAGE_WHOLE);
}

static void communicate(void)
{
	uint8_t diff[ADSM_PAGES_DIFF_MAX];
	const struct adsm_run *runs;
	struct adsm_run run;
	struct message m;
	size_t n;

	for (;;) {
		uint32_t seen = atomic_load(&wake_word);

		if (adsm_pages_wanted(&run)) {
			post(ends[0], WANT, run, NULL, 0);
			get(ends[0], &m, sizeof(m));
			take(m);
		} else if (n_ended == 2) {
			break;
		} else {
			adsm_os_wait(&wake_word, seen, 0, false);
		}
	}
	runs = adsm_pages_written(&n);
	CHECK(runs);
	post(ends[0], DONE, run_of(0, n), runs, n * sizeof(*runs));
	/* What home asks for: a page that others wrote too as a diff, where there can be one. */
	for (;;) {
		get(ends[0], &m, sizeof(m));
		if (m.what == SHUT)
			break;
		CHECK(m.what == PAGE_WHOLE || m.what == PAGE_DIFF);
		if (m.what == PAGE_DIFF && adsm_pages_has_twin(m.run.first))
			post(ends[0], PAGE_DIFF, m.run, diff, adsm_pages_diff(m.run.first, diff));
		else
			post(ends[0], PAGE_WHOLE, m.run, adsm_pages_alias(m.run.first), PAGE);
	}
	for (get(ends[0], &m, sizeof(m)); m.what != SHUT; get(ends[0], &m, sizeof(m)))
		take(m);
}

/* ---- home */

static unsigned writers[N_PAGES];	/* bits */

static void note_writers(unsigned node, const struct adsm_run *runs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (uint64_t page = runs[i].first; page < runs[i].first + runs[i].n; page++)
			writers[page] |= 1u << node;
}

/* Until all others are done, and this node's threads too. */
static void serve(void)
{
	struct pollfd fds[MOST_NODES] = { { .fd = ended_pipe[0], .events = POLLIN } };
	struct adsm_run runs[N_PAGES];
	unsigned n_done = 0;
	struct message m;
	char c;

	for (unsigned node = 1; node < n_nodes; node++)
		fds[node] = (struct pollfd) { .fd = ends[node], .events = POLLIN };
	while (n_done < n_nodes + 1) {
		CHECK(poll(fds, n_nodes, -1) > 0);
		if (fds[0].revents) {
			CHECK(read(ended_pipe[0], &c, 1) == 1);
			n_done++;
		}
		for (unsigned node = 1; node < n_nodes; node++) {
			if (!fds[node].revents)
				continue;
			get(ends[node], &m, sizeof(m));
			if (m.what == DONE) {
				CHECK(m.size <= sizeof(runs));
				get(ends[node], runs, m.size);
				note_writers(node, runs, m.run.n);
				fds[node].fd = -1;
				n_done++;
				continue;
			}
			CHECK(m.what == WANT);
			m = (struct message) { PAGE_WHOLE, (uint32_t)(m.run.n * PAGE), m.run };
			put(ends[node], &m, sizeof(m));
			for (uint64_t page = m.run.first; page < m.run.first + m.run.n; page++)
				put(ends[node], adsm_pages_original(page), PAGE);
		}
	}
}

/* What the others wrote comes here. */
static void bring(void)
{
	uint8_t bytes[ADSM_PAGES_DIFF_MAX];
	struct message m;

	for (uint64_t page = 0; page < N_PAGES; page++)
		for (unsigned node = 1; node < n_nodes; node++) {
			if (!(writers[page] & 1u << node))
				continue;
			post(ends[node], writers[page] & (writers[page] - 1) ? PAGE_DIFF : PAGE_WHOLE, run_of(page, 1),
			     NULL, 0);
			get(ends[node], &m, sizeof(m));
			CHECK(m.size <= sizeof(bytes) && m.run.first == page);
			get(ends[node], bytes, m.size);
			if (m.what == PAGE_DIFF)
				CHECK_OK(adsm_pages_patch(page, bytes, m.size));
			else if (writers[page] & (writers[page] - 1))
				adsm_pages_merge(page, bytes);
			else
				memcpy(adsm_pages_alias(page), bytes, PAGE);
		}
}

/* And what changed goes to the others, or is only told of. */
static void spread(uint64_t launch)
{
	for (unsigned node = 1; node < n_nodes; node++) {
		post(ends[node], SHUT, run_of(0, 0), NULL, 0);
		for (uint64_t page = 0; page < N_PAGES; page++) {
			uint32_t what = PAGE_WHOLE + (uint32_t)(hash(launch, page * 64 + node) % 4);

			if (!writers[page])
				continue;
			/* It has it, where it alone wrote it, and the host did not. */
			if (what == PAGE_DIFF)
				what = PAGE_INVALID;
			if (what == PAGE_KEEP && writers[page] != 1u << node)
				what = PAGE_WHOLE;
			post(ends[node], what, run_of(page, 1), adsm_pages_alias(page),
			     what == PAGE_WHOLE || what == PAGE_UNMAPPED ? PAGE : 0);
		}
		post(ends[node], SHUT, run_of(0, 0), NULL, 0);
	}
}

static void coordinate(uint64_t launch)
{
	const struct adsm_run *runs;
	size_t n;

	memset(writers, 0, sizeof(writers));
	serve();
	runs = adsm_pages_written(&n);
	CHECK(runs);
	note_writers(0, runs, n);
	bring();
	for (uint64_t page = 0; page < N_PAGES; page++)
		if (host_writes(launch, page)) {
			adsm_pages_alias(0)[host_byte(launch, page)] = (uint8_t)launch;
			writers[page] |= 1;
		}
	for (uint64_t page = 0; page < N_PAGES; page++)
		if (writers[page])
			adsm_pages_arrived(run_of(page, 1), true);
	spread(launch);
}

/* ---- a node */

/* The second object is freed, and another takes its place. */
static void replace(void)
{
	adsm_pages_remove(run_of(SECOND, N_PAGES - SECOND));
	if (!self)
		CHECK_OK(adsm_os_discard(adsm_pages_alias(SECOND), (N_PAGES - SECOND) * PAGE));
	memset(image + SECOND * PAGE, 0, (N_PAGES - SECOND) * PAGE);
	CHECK_OK(adsm_pages_add(run_of(SECOND, N_PAGES - SECOND)));
}

static void check_image(void)
{
	for (uint64_t page = 0; page < N_PAGES; page++)
		for (size_t at = 0; at < PAGE && adsm_pages_valid(page) &&
		     memcmp(adsm_pages_alias(page), image + page * PAGE, PAGE); at++)
			CHECKF(adsm_pages_alias(page)[at] == image[page * PAGE + at],
			       "node %u, launch %d, page %d, byte %zu: %d, not %d", self, (int)this_launch, (int)page,
			       at, adsm_pages_alias(page)[at], image[page * PAGE + at]);
}

static void run_node(void)
{
	pthread_t threads[2];

	CHECK(!pipe(ended_pipe));
	start_pages(N_PAGES, !self, 4);
	CHECK_OK(adsm_pages_add(run_of(0, SECOND)));
	CHECK_OK(adsm_pages_add(run_of(SECOND, N_PAGES - SECOND)));
	for (this_launch = 1; this_launch <= N_LAUNCHES; this_launch++) {
		plan(this_launch);
		begin();
		n_ended = 0;
		for (uintptr_t half = 0; half < 2; half++)
			CHECK_OK(pthread_create(&threads[half], NULL, run_half, (void *)half));
		if (self)
			communicate();
		else
			coordinate(this_launch);
		for (int half = 0; half < 2; half++)
			CHECK_OK(pthread_join(threads[half], NULL));
		advance(this_launch);
		check_image();
		if (this_launch % 50 == 0)
			replace();
	}
	end_pages();
}

/* Is there a tracker that this system lacks? */
static bool lacks(const enum adsm_track *tracks)
{
	int status;
	pid_t child = fork();

	if (!child) {
		for (unsigned i = 0; i < n_nodes; i++) {
			track = tracks[i];
			start_pages(N_PAGES, true, 0);
			end_pages();
		}
		exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && (!WEXITSTATUS(status) || WEXITSTATUS(status) == SKIP));
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	enum adsm_track tracks[MOST_NODES];
	int status, failed = 0, pairs[MOST_NODES][2];

	CHECK_EQ(argc, 3);
	grain = !strcmp(argv[1], "bytes") ? 1 : !strcmp(argv[1], "ints") ? 4 : PAGE;
	for (char *name = strtok(argv[2], ","); name; name = strtok(NULL, ",")) {
		CHECK(n_nodes < MOST_NODES);
		tracks[n_nodes++] = track_named(name);
	}
	if (lacks(tracks))
		return SKIP;
	for (unsigned node = 1; node < n_nodes; node++)
		CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[node]));
	for (self = 0; self < n_nodes; self++) {
		pid_t child = fork();

		CHECK(child >= 0);
		if (child)
			continue;
		/* If a node ends early, the nodes that wait for it learn that: no other process has its ends of the
		 * sockets. */
		for (unsigned node = 1; node < n_nodes; node++) {
			close(pairs[node][!self]);
			if (!self)
				ends[node] = pairs[node][0];
			else if (node == self)
				ends[0] = pairs[node][1];
			else
				close(pairs[node][1]);
		}
		track = tracks[self];
		run_node();
		exit(0);
	}
	for (unsigned node = 1; node < n_nodes; node++) {
		close(pairs[node][0]);
		close(pairs[node][1]);
	}
	for (unsigned node = 0; node < n_nodes; node++) {
		CHECK(wait(&status) > 0);
		failed |= status;
	}
	return failed ? 1 : 0;
}
