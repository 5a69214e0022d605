/* SPDX-License-Identifier: MIT */
/*
 * launches.c - what a launch costs with the library preloaded, where no shared memory is open: launches CASE. Nothing
 * is asked of the driver for it before the CPU touches something; so what streams do in between is tried, too.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls.h"

#define SPINS 20000000ul
#define ROUNDS 200
#define MANY 300			/* more than may be outstanding of the library's calls, and of its events */
#define STREAMS 70			/* more than it remembers at a time */

static CUfunction increment, late_increment;

static CUresult try_launch(CUfunction function, volatile unsigned *p, unsigned threads, CUstream stream)
{
	unsigned long spins = SPINS;
	unsigned n = 1;
	void *late[] = { &spins, &p, &n };

	return cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, stream, function == late_increment ? late : late + 1,
			      NULL);
}

static void launch(CUfunction function, volatile unsigned *p, CUstream stream)
{
	OK(try_launch(function, p, 1, stream));
}

/* Of zeros, and the launches before are known: so that the next is the first of many. */
static volatile unsigned *allocate(size_t n)
{
	CUdeviceptr p;

	OK(cuMemAlloc_v2(&p, n * sizeof(unsigned)));
	OK(cuMemsetD32_v2(p, 0, n));
	OK(cuCtxSynchronize());
	return (unsigned *)(uintptr_t)p;
}

static CUstream make_stream(unsigned flags)
{
	CUstream stream;

	OK(cuStreamCreate(&stream, flags));
	return stream;
}

/* ---- what it costs */

static uint64_t driver_calls(void)
{
	struct test_cuda_counts counts;

	test_cuda_counts(&counts);
	return counts.all_calls;
}

static void on_system_call(int sig, siginfo_t *info, void *context)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "system call %d\n", info->si_syscall);

	(void)sig;
	(void)context;
	if (write(2, text, (size_t)n) != n)
		_exit(2);
	_exit(1);
}

/* From here on each system call of this thread is its last. */
static bool forbid_system_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]), .filter = filter };
	struct sigaction action = { .sa_sigaction = on_system_call, .sa_flags = SA_SIGINFO };

	sigaction(SIGSYS, &action, NULL);
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* How often the others have gone to sleep so far, plus 1; 0: one of them does not sleep. */
static unsigned long sleeps(void)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	unsigned long sum = 1;

	CHECK(folder);
	while (sum && (entry = readdir(folder))) {
		char path[300], line[128];
		unsigned long n;
		FILE *file = NULL;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid() || !(file = fopen(path, "re")))
			continue;
		while (sum && fgets(line, sizeof(line), file)) {
			if (!strncmp(line, "State:", 6) && !strstr(line, "S (sleeping)"))
				sum = 0;
			else if (sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1)
				sum += n;
		}
		fclose(file);
	}
	closedir(folder);
	return sum;
}

/* A thread that was found asleep may have been woken by another thread since: so no thread may have fallen asleep
 * meanwhile. */
static bool others_sleep(void)
{
	const unsigned long before = sleeps();

	return before && sleeps() == before;
}

static atomic_bool go, gone;

static void wait_for_go(void *arg)
{
	(void)arg;
	while (!atomic_load(&go))
		usleep(1000);
	atomic_store(&gone, true);
}

/*
 * On streams that the library knows, and that it does not. @touch: what the CPU has used is closed once; else there is
 * a command before the launches whose end the library looks for. What its threads, and the driver's, have to do for
 * what came before is no launch's cost, and done first: once nothing runs, a thread that sleeps has nothing to do.
 */
static void count(bool touch)
{
	CUstream streams[4] = { NULL, make_stream(0), make_stream(CU_STREAM_NON_BLOCKING), make_stream(0) };
	volatile unsigned *p = allocate(3 << 18);
	uint64_t before;

	if (touch)
		for (size_t i = 0; i < 3 << 18; i++)
			p[i] = 1;
	if (!touch) {
		OK(cuLaunchHostFunc(streams[3], wait_for_go, NULL));
		OK(cuMemsetD32Async((uintptr_t)p, 0, 1, streams[3]));
	}
	for (int i = 0; i < 3; i++)
		launch(increment, p, streams[i]);
	atomic_store(&go, true);
	while (!touch && !atomic_load(&gone))
		sched_yield();
	while (!others_sleep())
		sched_yield();
	before = driver_calls();
	if (!forbid_system_calls()) {
		fprintf(stderr, "no seccomp: %s\n", strerror(errno));
		_exit(77);
	}
	for (int i = 0; i < ROUNDS; i++)
		launch(increment, p, streams[i % 4]);
	CHECK(driver_calls() - before <= 2 * ROUNDS);
	_exit(0);
}

static void do_costs(void)
{
	count(false);
}

static void do_costs_after_touch(void)
{
	count(true);
}

/* ---- what is outstanding */

static void do_many(void)
{
	volatile unsigned *p = allocate(1);
	CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);

	OK(cuLaunchHostFunc(stream, wait_for_go, NULL));
	for (int i = 0; i < MANY; i++)
		launch(increment, p, stream);
	atomic_store(&go, true);
	CHECK(p[0] == MANY);
}

static void do_streams(void)
{
	volatile unsigned *p = allocate(STREAMS + 1);
	CUstream streams[STREAMS];

	for (int i = 0; i < STREAMS; i++)
		streams[i] = make_stream(i % 2 ? CU_STREAM_NON_BLOCKING : 0);
	for (int round = 1; round <= 2; round++) {
		launch(late_increment, p + STREAMS, NULL);
		for (int i = 0; i < STREAMS; i++)
			launch(i % 8 ? increment : late_increment, p + i, streams[i]);
		for (int i = 0; i <= STREAMS; i++)
			CHECK(p[i] == (unsigned)round);
	}
	for (int i = 0; i < STREAMS; i++)
		OK(cuStreamDestroy_v2(streams[i]));
}

/* ---- what comes between a launch and the touch */

static void do_destroyed(void)
{
	volatile unsigned *p = allocate(2);

	for (unsigned round = 1; round <= 3; round++) {
		CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);

		launch(late_increment, p, stream);
		launch(late_increment, p + 1, NULL);
		OK(cuStreamDestroy_v2(stream));
		CHECK(p[0] == round && p[1] == round);
	}
}

/* A stream that has kernels captures, and so does one beside the default stream, which has some. */
static void do_captured(void)
{
	volatile unsigned *p = allocate(2);
	CUstream stream = make_stream(0);
	CUgraphExec exec;
	CUgraph graph;
	unsigned back;

	for (unsigned round = 1; round <= 2; round++) {
		launch(late_increment, p, round == 1 ? stream : NULL);
		OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
		launch(increment, p + 1, stream);
		CHECK(p[0] == round);
		launch(increment, p + 1, stream);
		/* While one thread captures, the library knows immediately what it enqueues. */
		launch(late_increment, p, make_stream(CU_STREAM_NON_BLOCKING));
		CHECK(p[0] == round + 1);
		p[0]--;
		OK(cuStreamEndCapture(stream, &graph));
		OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
		OK(cuGraphLaunch(exec, stream));
		CHECK(p[1] == 2 * round && p[0] == round);
		/* And afterwards as before. */
		OK(cuMemcpyDtoHAsync_v2(&back, (uintptr_t)(p + 1), sizeof(back), stream));
		OK(cuStreamSynchronize(stream));
		CHECK(back == 2 * round);
	}
}

/* Launches that come later may use it, those before need not be waited for. */
static void do_born(void)
{
	volatile unsigned *p = allocate(1), *q;
	CUdeviceptr fresh;

	launch(increment, p, NULL);
	OK(cuMemAlloc_v2(&fresh, sizeof(*q)));
	q = (unsigned *)(uintptr_t)fresh;
	*q = 5;
	launch(late_increment, q, NULL);
	CHECK(*q == 6 && *p == 1);
	OK(cuMemFree_v2(fresh));
	launch(late_increment, p, NULL);
	CHECK(*p == 2);
}

/* As the driver has them. */
struct operation { uint64_t operation, address, value, flags, rest[2]; };

#define EQUAL 1		/* CU_STREAM_WAIT_VALUE_EQ */
#define WAIT_32(p, value) { 1, (uintptr_t)(p), value, EQUAL, { 0 } }
#define WRITE_32(p, value) { 2, (uintptr_t)(p), value, 0, { 0 } }
#define WAIT_64(p, value) { 4, (uintptr_t)(p), value, EQUAL, { 0 } }

/* A wait of a stream gets what the CPU has written before, and what a copy writes later. */
static void do_waits(void)
{
	const unsigned later = 8;
	volatile unsigned *p = allocate(4);
	CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
	struct operation list[] = { WAIT_32(p + 1, 6), WAIT_64(p + 2, 7) };

	p[0] = 5;
	OK(cuStreamWaitValue32_v2(stream, (uintptr_t)p, 5, EQUAL));
	OK(cuStreamSynchronize(stream));
	p[1] = 6;
	p[2] = 7;
	OK(cuStreamBatchMemOp_v2(stream, 2, list, 0));
	OK(cuStreamSynchronize(stream));
	CHECK(p[0] == 5 && p[1] == 6 && p[2] == 7);
	OK(cuStreamWaitValue32_v2(stream, (uintptr_t)(p + 3), later, EQUAL));
	OK(cuMemcpyHtoD_v2((uintptr_t)(p + 3), &later, sizeof(later)));
	OK(cuStreamSynchronize(stream));
	CHECK(p[3] == later);
}

/* The copy that ends the first wait must not wait for what the stream has got after it. */
static void do_two_waits(void)
{
	const unsigned values[] = { 5, 6 };
	volatile unsigned *p = allocate(2), *q = allocate(1);
	CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);

	OK(cuStreamWaitValue32_v2(stream, (uintptr_t)p, values[0], EQUAL));
	OK(cuMemsetD32Async((uintptr_t)q, 7, 1, stream));
	OK(cuStreamWaitValue32_v2(stream, (uintptr_t)(p + 1), values[1], EQUAL));
	for (int i = 0; i < 2; i++)
		OK(cuMemcpyHtoD_v2((uintptr_t)(p + i), &values[i], sizeof(values[i])));
	OK(cuStreamSynchronize(stream));
	CHECK(p[0] == values[0] && p[1] == values[1] && q[0] == 7);
}

/* More waits in one list than a command of the library names objects. */
static void do_many_waits(void)
{
	volatile unsigned *p = allocate(9), *q = allocate(1);
	CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
	struct operation list[9];

	for (unsigned round = 1; round <= 2; round++) {
		for (size_t i = 0; i < 9; i++)
			list[i] = (struct operation)WAIT_32(p + i, i < 8 ? 0 : round);
		if (round == 2)
			launch(increment, q, stream);
		OK(cuStreamBatchMemOp_v2(stream, 9, list, 0));
		OK(cuMemcpyHtoD_v2((uintptr_t)(p + 8), &round, sizeof(round)));
		OK(cuStreamSynchronize(stream));
	}
	CHECK(p[8] == 2 && q[0] == 1);
}

/* A list writes words of an object, and waits for another. Nine are more than a command of the library names. */
static void do_write_and_wait(void)
{
	CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);

	for (unsigned n = 1; n <= 9; n += 8) {
		volatile unsigned *p = allocate(n + 1);
		struct operation list[10];

		for (unsigned i = 0; i < n; i++)
			list[i] = (struct operation)WRITE_32(p + i, 3);
		list[n] = (struct operation)WAIT_32(p + n, n);
		OK(cuStreamBatchMemOp_v2(stream, n + 1, list, 0));
		OK(cuMemcpyHtoD_v2((uintptr_t)(p + n), &n, sizeof(n)));
		OK(cuStreamSynchronize(stream));
		CHECK(p[0] == 3 && p[n - 1] == 3 && p[n] == n);
	}
}

/* With a kernel behind a wait, a command of another stream ends the wait. */
static void do_waits_before(void)
{
	volatile unsigned *p = allocate(1), *q = allocate(1);
	CUstream stream = make_stream(CU_STREAM_NON_BLOCKING), other = make_stream(CU_STREAM_NON_BLOCKING);
	struct operation list[] = { WRITE_32(q, 1) };

	OK(cuStreamWaitValue32_v2(stream, (uintptr_t)q, 1, EQUAL));
	launch(increment, p, stream);
	OK(cuStreamBatchMemOp_v2(other, 1, list, 0));
	CHECK(p[0] == 1 && q[0] == 1);
}

/* A touch waits for the kernel before a wait, but not for the wait. */
static void do_waits_behind(void)
{
	const unsigned later = 1;
	volatile unsigned *p = allocate(1), *q = allocate(2);
	CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
	struct operation list[] = { WAIT_32(q + 1, later) };
	void *pinned;

	launch(late_increment, p, stream);
	OK(cuStreamWaitValue32_v2(stream, (uintptr_t)q, later, EQUAL));
	CHECK(p[0] == 1);
	OK(cuMemcpyHtoD_v2((uintptr_t)q, &later, sizeof(later)));
	launch(late_increment, p, stream);
	OK(cuStreamBatchMemOp_v2(stream, 1, list, 0));
	CHECK(p[0] == 2);
	OK(cuMemcpyHtoD_v2((uintptr_t)(q + 1), &later, sizeof(later)));
	/* Words in the CPU's memory, too. */
	OK(cuMemHostAlloc(&pinned, 2 * sizeof(unsigned), 0));
	memset(pinned, 0, 2 * sizeof(unsigned));
	launch(late_increment, p, stream);
	OK(cuStreamWaitValue32_v2(stream, (uintptr_t)pinned, later, EQUAL));
	CHECK(p[0] == 3);
	*(volatile unsigned *)pinned = later;
	launch(late_increment, p, stream);
	list[0].address = (uintptr_t)pinned + sizeof(unsigned);
	OK(cuStreamBatchMemOp_v2(stream, 1, list, 0));
	CHECK(p[0] == 4);
	((volatile unsigned *)pinned)[1] = later;
	OK(cuStreamSynchronize(stream));
}

static volatile unsigned *seen_by_function;

static void look(void *arg)
{
	*(unsigned *)arg = seen_by_function[0];
}

/* A function in the stream waits for what was launched before it, not for itself. */
static void do_function(void)
{
	CUstream stream;
	unsigned seen = 0;

	seen_by_function = allocate(1);
	stream = make_stream(CU_STREAM_NON_BLOCKING);
	launch(late_increment, seen_by_function, stream);
	OK(cuLaunchHostFunc(stream, look, &seen));
	OK(cuCtxSynchronize());
	CHECK(seen == 1);
}

static void do_errors(void)
{
	volatile unsigned *p = allocate(1);

	launch(increment, p, NULL);
	for (int i = 0; i < 3; i++) {
		CHECK(try_launch(increment, p, 1u << 20, NULL) == CUDA_ERROR_INVALID_VALUE);
		CHECK(try_launch(increment, p, 1, (CUstream)&go) == CUDA_ERROR_INVALID_HANDLE);
		launch(increment, p, NULL);
	}
	CHECK(p[0] == 4);
}

static void *launch_often(void *arg)
{
	volatile unsigned *p = arg;
	CUcontext context;
	CUstream stream;

	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	stream = make_stream(CU_STREAM_NON_BLOCKING);
	for (unsigned i = 1; i <= ROUNDS; i++) {
		launch(increment, p, stream);
		if (i % 10 == 0)
			CHECK(*p == i);
	}
	return NULL;
}

static void do_threads(void)
{
	volatile unsigned *p = allocate(4 << 10);
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&threads[i], NULL, launch_often, (void *)(p + ((ptrdiff_t)i << 10))));
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_join(threads[i], NULL));
}

/* With an event for each: a touch waits for no more than the launch. */
static void do_each(void)
{
	CUstream held = make_stream(CU_STREAM_NON_BLOCKING), stream = make_stream(CU_STREAM_NON_BLOCKING);
	volatile unsigned *p = allocate(1);
	CUevent event;

	OK(cuLaunchHostFunc(held, wait_for_go, NULL));
	OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	OK(cuEventRecord(event, held));
	launch(late_increment, p, stream);
	OK(cuStreamWaitEvent(stream, event, 0));
	CHECK(p[0] == 1);
	atomic_store(&go, true);
	OK(cuCtxSynchronize());
}

static const struct { const char *name; void (*run)(void); } cases[] = {
	{ "costs", do_costs }, { "costs-after-touch", do_costs_after_touch }, { "many", do_many },
	{ "streams", do_streams }, { "destroyed", do_destroyed }, { "captured", do_captured }, { "born", do_born },
	{ "waits", do_waits }, { "two-waits", do_two_waits }, { "many-waits", do_many_waits },
	{ "write-and-wait", do_write_and_wait }, { "waits-before", do_waits_before },
	{ "waits-behind", do_waits_behind }, { "function", do_function }, { "errors", do_errors },
	{ "threads", do_threads }, { "each", do_each },
};

int main(int argc, char **argv)
{
	const char *skip = getenv("TEST_SKIP");
	CUcontext context;
	CUmodule module;

	if (skip) {
		puts(skip);
		return 77;
	}
	use_device(&context);
	OK(cuModuleLoadData(&module, module_image));
	OK(cuModuleGetFunction(&increment, module, "increment"));
	OK(cuModuleGetFunction(&late_increment, module, "late_increment"));
	for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(cases[i].name, argv[1])) {
			cases[i].run();
			return 0;
		}
	fprintf(stderr, "usage: launches CASE\n");
	return 2;
}
