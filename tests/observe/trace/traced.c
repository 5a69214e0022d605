/* SPDX-License-Identifier: MIT */
/* traced.c - programs whose timeline is looked at: traced CASE. They say what the trace must hold. */
#include <adsm.h>
#include <adsm_queue.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

#define CHECK_MORE adsmLastError()
#include "../../check.h"

static adsmModule *module;
static adsmKernel *increment;

static void start(void)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/conform.adsm", getenv("TEST_KERNELS"));
	module = adsmModuleLoad(path);
	CHECK(module);
	increment = adsmKernelGet(module, "increment");
	CHECK(increment);
}

static unsigned *make(size_t size, const char *name)
{
	unsigned *p = adsmAlloc(size);

	CHECK(p);
	CHECK(!adsmSetName(p, name));
	return p;
}

static void call(unsigned *p, unsigned n)
{
	adsmDim grid = { (n + 63) / 64, 1, 1 }, block = { 64, 1, 1 };

	CHECK(!adsmCall(increment, grid, block, adsmPtr(p), adsmVal(n)));
}

/* Each page is fetched by a fault, and sent by the call: @n of both, with blocks of a page and no fault-ahead. */
static void touch(unsigned *p, size_t pages, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		for (size_t page = 0; page < pages; page++)
			p[page * PAGE / sizeof(*p)]++;
		call(p, 1);
		CHECK(!adsmSync());
	}
}

/* More is written than may be Dirty; the rest goes when the evictor comes to it. */
static void evicts(void)
{
	volatile unsigned *p;
	adsmStats stats;

	start();
	p = make(8 * PAGE, "p");
	for (size_t i = 0; i < 8; i++)
		p[i * PAGE / sizeof(*p)] = 1;
	do
		CHECK(!adsmObjectStatsGet((void *)p, &stats, sizeof(stats)));
	while (stats.h2d_bytes < 6 * PAGE);
	call((unsigned *)p, 1);
	CHECK(!adsmSync());
}

static void all(void)
{
	unsigned *p, *q;
	FILE *file = tmpfile();

	start();
	p = make(64 * PAGE, "a \"name\"\\\t\x7f\xc3\xa9\xff");
	q = make(64 * PAGE, "q");
	CHECK(!adsmSetName(q, "other"));
	touch(q, 64, 8);
	/* All that came before counts no more. */
	adsmStatsReset();
	memset(p, 1, 64 * PAGE);
	touch(q, 64, 8);
	CHECK(file && fwrite(p, 64 * PAGE, 1, file) == 1 && !fflush(file));
	rewind(file);
	CHECK(fread(q, 64 * PAGE, 1, file) == 1);
	/* Several calls before anybody looks. */
	for (int i = 0; i < 10; i++)
		call(q, 64 * PAGE / sizeof(*q));
	CHECK(q[5] == 0x01010101 + 10);
	adsmMemcpy(p, q, 16 * PAGE);
	call(p, 1);
	CHECK(!adsmSync());
	CHECK(!adsmFree(p) && !adsmFree(q));
}

/* ---- threads, each with more events than its ring holds */

#define N_THREADS 4

/* Four calls in the shared queue, five in another, six in a third. */
static void lanes(void)
{
	adsmQueue *queues[3] = { NULL, adsmQueueCreate(), adsmQueueCreate() };

	start();
	for (unsigned i = 0; i < 3; i++) {
		unsigned *p = make(PAGE, "counted");

		CHECK(!adsmQueueSet(queues[i]));
		for (unsigned k = 0; k < 4 + i; k++)
			call(p, 1);
	}
	CHECK(!adsmSync());
}

/* The device has room for three of five objects of 40 pages. */
static void room(void)
{
	unsigned *p[5];
	char name[16];

	start();
	for (unsigned i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "object %u", i);
		p[i] = make(40 * PAGE, name);
	}
	for (unsigned i = 0; i < 10; i++)
		call(p[i % 5], 1);
	CHECK(!adsmSync());
}

/* An object that calls of both devices need. */
static void moves(void)
{
	unsigned *own[2], *p, n = 1;
	adsmKernel *add;

	start();
	add = adsmKernelGet(module, "add");
	CHECK(add);
	for (int i = 0; i < 2; i++) {
		CHECK(!adsmDeviceSet(i));
		own[i] = make(PAGE, "own");
	}
	p = make(40 * PAGE, "counted");
	call(p, 1);
	for (int i = 0; i < 2; i++) {
		CHECK(!adsmDeviceSet(i));
		CHECK(!adsmCall(add, adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), adsmPtr(p), adsmPtr(own[i]), adsmPtr(p),
				adsmVal(n)));
	}
	CHECK(!adsmSync());
}

static void *run_thread(void *arg)
{
	unsigned *p;
	char name[16];

	snprintf(name, sizeof(name), "worker %zu", (size_t)arg);
	pthread_setname_np(pthread_self(), name);
	p = make(256 * PAGE, name);
	touch(p, 256, 30);
	CHECK(!adsmFree(p));
	return NULL;
}

static void threads(void)
{
	pthread_t thread[N_THREADS];

	start();
	for (size_t i = 0; i < N_THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, run_thread, (void *)(i + 1)));
	for (size_t i = 0; i < N_THREADS; i++)
		CHECK(!pthread_join(thread[i], NULL));
	puts("ready");
	fflush(stdout);
}

/* One after the other: more than may have a ring at the same time. */
static void *run_short(void *arg)
{
	static unsigned number;
	unsigned *p = arg;
	char name[16];

	snprintf(name, sizeof(name), "short %u", ++number);
	pthread_setname_np(pthread_self(), name);
	call(p, 1);
	CHECK(!adsmSync());
	return NULL;
}

static void ended(void)
{
	unsigned *p;
	pthread_t thread;

	start();
	p = make(PAGE, "p");
	p[0] = 0;
	for (unsigned i = 0; i < 1500; i++)
		CHECK(!pthread_create(&thread, NULL, run_short, p) && !pthread_join(thread, NULL));
	CHECK(p[0] == 1500);
	CHECK(!adsmFree(p));
}

/* ---- signal handlers in the middle of everything */

static unsigned *handlers;
static atomic_uint n_handled;

static void handle(int signal)
{
	handlers[atomic_fetch_add(&n_handled, 1) % 64 * PAGE / sizeof(*handlers)]++;
}

static void signals(void)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
	const struct itimerspec often = { { 0, 50000 }, { 0, 50000 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	timer_t timer;
	unsigned *p;

	start();
	p = make(64 * PAGE, "p");
	handlers = make(64 * PAGE, "handlers");
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	CHECK(!timer_create(CLOCK_MONOTONIC, &event, &timer) && !timer_settime(timer, 0, &often, NULL));
	for (unsigned i = 0; i < 100 || atomic_load(&n_handled) < 2000; i++) {
		touch(p, 64, 1);
		call(handlers, 1);
	}
	CHECK(!timer_delete(timer));
	signal(SIGUSR1, SIG_IGN);
	CHECK(!adsmSync());
	CHECK(!adsmFree(p) && !adsmFree(handlers));
}

/* ---- ends */

static void killed(void)
{
	unsigned *p;

	start();
	p = make(64 * PAGE, "p");
	touch(p, 64, 20);
	puts("ready");
	fflush(stdout);
	for (;;)
		touch(p, 64, 20);
}

/* The file's; 64: none. */
#define MAX_FD 1000

static int trace_fd(void)
{
	int fd;

	for (fd = 3; fd < MAX_FD; fd++) {
		char path[64], target[4096];
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, target, sizeof(target) - 1);
		target[n < 0 ? 0 : n] = '\0';
		if (!strcmp(target, getenv("ADSM_TRACE")))
			break;
	}
	return fd;
}

static void forks(void)
{
	unsigned *p;
	int status;
	pid_t child;

	start();
	p = make(64 * PAGE, "p");
	touch(p, 64, 1);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		/* It may not use the library; whatever it does comes here by other ways. */
		if (adsmAlloc(PAGE) || adsmSync() == 0 || trace_fd() < MAX_FD)
			_exit(1);
		exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	touch(p, 64, 1);
	child = vfork();
	if (!child) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	touch(p, 64, 1);
	CHECK(!adsmFree(p));
}

/* exec: one that fails, and one that does not. */
static void execs(void)
{
	unsigned *p;

	start();
	p = make(64 * PAGE, "p");
	touch(p, 64, 1);
	CHECK(execl("/nowhere", "nowhere", (char *)NULL) < 0 && errno == ENOENT);
	touch(p, 64, 1);
	unsetenv("LD_PRELOAD");
	execl("/bin/true", "true", (char *)NULL);
	CHECK(false);
}

/* exec that fails after the library's end. */
static void exec_late(void)
{
	unsigned *p;

	start();
	p = make(64 * PAGE, "p");
	touch(p, 64, 1);
	CHECK(!adsmFree(p) && !adsmModuleUnload(module) && !adsmShutdown());
	CHECK(execl("/nowhere", "nowhere", (char *)NULL) < 0 && errno == ENOENT);
}

/* ---- exec by a handler, at any time */

static void become_another(int signal)
{
	CHECK(execl("/nowhere", "nowhere", (char *)NULL) < 0 && errno == ENOENT);
	execl("/bin/true", "true", (char *)NULL);
	_exit(1);
}

static void exec_handler(void)
{
	void *volatile some;
	struct itimerspec soon = { .it_value = { 0, 5000000 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	timer_t timer;
	unsigned *p;

	start();
	unsetenv("LD_PRELOAD");
	p = make(PAGE, "p");
	touch(p, 1, 1);
	signal(SIGUSR1, become_another);
	soon.it_value.tv_nsec += getpid() % 16 * 100000;
	CHECK(!timer_create(CLOCK_MONOTONIC, &event, &timer) && !timer_settime(timer, 0, &soon, NULL));
	for (;;) {
		/* Mostly with a lock of malloc(), and now and then with one of the library's. */
		for (int i = 0; i < 1000; i++) {
				some = malloc(100000);
				free(some);
			}
		touch(p, 1, 1);
		CHECK(!adsmSetName(p, "q"));
	}
}

/* A program that closes all descriptors, and gets their numbers for files of its own. */
static void closes(void)
{
	unsigned *p;
	int fd;

	start();
	p = make(64 * PAGE, "p");
	touch(p, 64, 1);
	fd = trace_fd();
	CHECK(fd >= 500 && fd < MAX_FD);
	/* Its own call: of the C library's the library would know. */
	CHECK(syscall(SYS_dup3, fileno(stdout), fd, 0) == fd);
	touch(p, 64, 1);
	CHECK(!adsmFree(p));
}

/* The library stops and starts: the file is another one's. */
static void restart(void)
{
	for (int i = 0; i < 2; i++) {
		unsigned *p;

		start();
		p = make(64 * PAGE, i ? "second" : "first");
		touch(p, 64, 1 + (unsigned)i);
		CHECK(!adsmFree(p) && !adsmModuleUnload(module) && !adsmShutdown());
	}
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } cases[] = {
		{ "all", all }, { "evicts", evicts }, { "threads", threads }, { "ended", ended },
		{ "signals", signals }, { "killed", killed }, { "forks", forks }, { "execs", execs },
		{ "exec_late", exec_late }, { "exec_handler", exec_handler }, { "closes", closes },
		{ "restart", restart }, { "lanes", lanes }, { "room", room }, { "moves", moves },
	};

	for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(argv[1], cases[i].name)) {
			cases[i].run();
			return 0;
		}
	fprintf(stderr, "usage: traced CASE\n");
	return 2;
}
