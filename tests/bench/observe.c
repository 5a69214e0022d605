/* SPDX-License-Identifier: MIT */
/*
 * observe.c - what being observed costs: nanoseconds of a fault, a call, a read() and a memcpy(), with statistics
 * (ADSM_STATS), with a trace (ADSM_TRACE), and with both.
 *
 * Floor: the same with neither. Each level is a process of its own, where the library starts with its options; they
 * take turns, a few thousand events each, first another one each time. Of the times of the single events, the clock's
 * own in each, a round keeps the mean of the middle half: finer than a median where the clock's steps are coarse. A
 * figure is the median of its rounds; what a level adds, that of the differences between rounds side by side.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"

#define EVENTS 1000		/* of a round */
#define ROUNDS 12		/* for each repetition that is asked for */
#define CALLS_AT_ONCE 100	/* fewer than may be outstanding */
#define COPIES 32		/* small ones, which a clock does not see one by one */

enum { OFF, STATISTICS, TRACE, BOTH, N_LEVELS };

static const char *const level_names[] = { "off", "statistics", "trace", "both" };
static const char *const targets[] = { "", "<= +60", "<= +250", "<= +310" };

struct level {
	pid_t pid;			/* 0: it does not run */
	int ends[2];			/* of a socket: the bench's, the level's */
	char stats[64], trace[64];	/* files */
	float *times;			/* of the last round; shared */
};

static size_t n_events;
static struct level levels[N_LEVELS];

/* ---- the process of a level: all that is the library's is the shared one */

static __typeof__(&adsmCallArgs) call;
static __typeof__(&adsmSync) sync_calls;
static ssize_t (*our_read)(int, void *, size_t);
static void *(*our_memcpy)(void *, const void *, size_t);
static adsmKernel *nothing;
static char *shared, *plain;
static int zero;

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void use(adsmArg arg)
{
	bench_check(call(nothing, bench_one, bench_one, &arg, 1));
	bench_check(sync_calls());
}

static void make_invalid(void)
{
	use(adsmInOut(shared));
}

static void make_read_only(void)
{
	memset(shared, 1, n_events * ADSM_PAGE_SIZE);
	use(adsmIn(shared));
}

static void make_dirty(void)
{
	memset(shared, 1, n_events * ADSM_PAGE_SIZE);
}

static void read_block(size_t i)
{
	(void)*(volatile char *)(shared + i * ADSM_PAGE_SIZE);
}

static void write_block(size_t i)
{
	*(volatile char *)(shared + i * ADSM_PAGE_SIZE) = 1;
}

static void make_call(size_t i)
{
	const adsmArg null = adsmPtr(NULL);

	bench_check(call(nothing, bench_one, bench_one, &null, 1));
}

static void read_page(size_t i)
{
	if (our_read(zero, shared + i * ADSM_PAGE_SIZE, ADSM_PAGE_SIZE) != ADSM_PAGE_SIZE)
		bench_die("/dev/zero: %s", strerror(errno));
}

static void copy_page(size_t i)
{
	our_memcpy(shared + i * ADSM_PAGE_SIZE, plain, ADSM_PAGE_SIZE);
}

static void copy_words(size_t i)
{
	for (int n = 0; n < COPIES; n++)
		our_memcpy(shared + i * ADSM_PAGE_SIZE, plain, 16);
}

static const struct {
	const char *name;
	void (*prepare)(void);
	void (*run)(size_t i);
	unsigned times;			/* it is done in one event */
} events[] = {
	{ "read fault", make_invalid, read_block, 1 },
	{ "write fault", make_read_only, write_block, 1 },
	{ "call", NULL, make_call, 1 },
	{ "read() of 4K", make_dirty, read_page, 1 },
	{ "memcpy(), 4K, Dirty", make_dirty, copy_page, 1 },
	{ "memcpy(), 4K, ReadOnly", make_read_only, copy_page, 1 },
	{ "memcpy(), 16 B, Dirty", make_dirty, copy_words, COPIES },
};
#define N_EVENTS (sizeof(events) / sizeof(events[0]))

static void run_round(size_t event, float *ret_times)
{
	double before, now;

	if (events[event].prepare)
		events[event].prepare();
	before = now_ns();
	for (size_t i = 0; i < n_events; i++) {
		events[event].run(i);
		now = now_ns();
		ret_times[i] = (float)(now - before) / (float)events[event].times;
		before = now;
		/* Calls: each has ended before the next one starts. */
		if (!events[event].prepare && i % CALLS_AT_ONCE == CALLS_AT_ONCE - 1) {
			bench_check(sync_calls());
			before = now_ns();
		}
	}
	bench_check(sync_calls());
}

static void start_library(const struct level *level)
{
	int error = 0;

	unsetenv("ADSM_ADVISE");
	error |= *level->stats ? setenv("ADSM_STATS", level->stats, 1) : unsetenv("ADSM_STATS");
	error |= *level->trace ? setenv("ADSM_TRACE", level->trace, 1) : unsetenv("ADSM_TRACE");
	/* One block for each fault, and none leaves early. */
	error |= setenv("ADSM_FAULT_AHEAD", "0", 1) | setenv("ADSM_ROLLING_SIZE", "1000000", 1) |
		setenv("ADSM_PROTOCOL", "rolling", 1);
	if (error)
		bench_die("no memory");
	call = bench_wrapper("adsmCallArgs");
	sync_calls = bench_wrapper("adsmSync");
	our_read = bench_wrapper("read");
	our_memcpy = bench_wrapper("memcpy");
	nothing = bench_wrapper_kernel();
}

static _Noreturn void serve(const struct level *level)
{
	adsmAllocOptions options = ADSM_ALLOC_OPTIONS_INIT;
	__typeof__(&adsmAllocWith) alloc;
	size_t event;
	char done = 0;

	start_library(level);
	alloc = bench_wrapper("adsmAllocWith");
	options.block_size = ADSM_PAGE_SIZE;
	shared = alloc(n_events * ADSM_PAGE_SIZE, &options);
	if (!shared)
		bench_die("no shared memory");
	plain = bench_host_alloc(ADSM_PAGE_SIZE);
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	make_read_only();
	while (read(level->ends[1], &event, sizeof(event)) == sizeof(event)) {
		run_round(event, level->times);
		if (write(level->ends[1], &done, 1) < 0)
			break;
	}
	exit(0);
}

/* ---- the bench */

static void name_file(char path[64], const char *before, const char *what, int level)
{
	const char *folder = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";

	snprintf(path, 64, "%s%s/adsm-bench-%d-%s-%d", before, folder, getpid(), what, level);
}

static void start_level(int i)
{
	struct level *level = &levels[i];

	if (i & STATISTICS)
		name_file(level->stats, "json:", "stats", i);
	if (i & TRACE)
		name_file(level->trace, "", "trace", i);
	level->times = mmap(NULL, n_events * sizeof(float), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (level->times == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, level->ends) ||
	    (level->pid = fork()) < 0)
		bench_die("cannot start the process of a level: %s", strerror(errno));
	if (level->pid) {
		close(level->ends[1]);
		return;
	}
	/* Or the others, and this one, do not see that they end. */
	for (int other = 0; other < N_LEVELS; other++)
		if (levels[other].pid || other == i)
			close(levels[other].ends[0]);
	serve(level);
}

static void ask(const struct level *level, size_t event)
{
	char done;

	if (write(level->ends[0], &event, sizeof(event)) < 0 || read(level->ends[0], &done, 1) != 1)
		bench_die("the process of a level has ended");
}

/* The mean of the middle half. */
static double middle(float *times)
{
	double *sorted = bench_host_alloc(n_events * sizeof(double)), sum = 0;
	size_t from = n_events / 4, to = n_events - from;

	for (size_t i = 0; i < n_events; i++)
		sorted[i] = (double)times[i];
	bench_median(sorted, n_events);
	for (size_t i = from; i < to; i++)
		sum += sorted[i];
	free(sorted);
	return sum / (double)(to - from);
}

static void stop_level(struct level *level)
{
	char done;

	/* Until it has written its files. */
	shutdown(level->ends[0], SHUT_WR);
	while (read(level->ends[0], &done, 1) > 0)
		;
	close(level->ends[0]);
	waitpid(level->pid, NULL, 0);
	level->pid = 0;
	if (*level->stats)
		unlink(level->stats + strlen("json:"));
	if (*level->trace)
		unlink(level->trace);
	munmap(level->times, n_events * sizeof(float));
}

/* Rounds of one kind of event, from @first on: the figures of each level. */
static void measure(size_t event, double *figures[N_LEVELS], size_t first, size_t n)
{
	for (int i = 0; i < N_LEVELS; i++)
		ask(&levels[i], event);		/* a first time, which does not count */
	for (size_t round = first; round < first + n; round++)
		for (size_t i = 0; i < N_LEVELS; i++) {
			size_t level = (round + i) % N_LEVELS;

			ask(&levels[level], event);
			figures[level][round] = middle(levels[level].times);
		}
}

static void emit(size_t event, double *figures[N_LEVELS], size_t n)
{
	double *added = bench_host_alloc(n * sizeof(double)), added_by[N_LEVELS];

	for (int i = STATISTICS; i < N_LEVELS; i++) {
		for (size_t round = 0; round < n; round++)
			added[round] = figures[i][round] - figures[OFF][round];
		added_by[i] = bench_median(added, n);
	}
	for (int i = STATISTICS; i < N_LEVELS; i++) {
		struct bench_row row = { .unit = "ns", .target = targets[i] };

		row.ours = bench_median(figures[i], n);
		row.floor = bench_median(figures[OFF], n);
		snprintf(row.name, sizeof(row.name), "%s, %s", events[event].name, level_names[i]);
		snprintf(row.note, sizeof(row.note), "added %.0f", added_by[i]);
		bench_emit(&row);
	}
	free(added);
}

void bench_observe(void)
{
	size_t rounds = bench_smoke ? 1 : ROUNDS, n = rounds * (size_t)bench_repeat;
	double *figures[N_EVENTS][N_LEVELS];

	n_events = bench_smoke ? 100 : EVENTS;
	for (size_t event = 0; event < N_EVENTS; event++)
		for (int i = 0; i < N_LEVELS; i++)
			figures[event][i] = bench_host_alloc(n * sizeof(double));
	/* Where the memory of a process lies makes a difference that stays: so they begin anew. */
	for (int repeat = 0; repeat < bench_repeat; repeat++) {
		for (int i = 0; i < N_LEVELS; i++)
			start_level((repeat + i) % N_LEVELS);
		for (size_t event = 0; event < N_EVENTS; event++)
			measure(event, figures[event], (size_t)repeat * rounds, rounds);
		for (int i = 0; i < N_LEVELS; i++)
			stop_level(&levels[i]);
	}
	for (size_t event = 0; event < N_EVENTS; event++) {
		emit(event, figures[event], n);
		for (int i = 0; i < N_LEVELS; i++)
			free(figures[event][i]);
	}
}
