/* SPDX-License-Identifier: MIT */
/*
 * nodes.c - write-once objects on a cluster: units go from node to node, and between them and the program's threads,
 * while kernels run. A grid of one block the last node runs, which is not the one that the program shares memory with.
 */
#include "once.h"
#include "random.h"
#include "../sanitizers.h"

#include <signal.h>
#include <stdio.h>

#define UNIT 256

static adsmModule *module, *plain;
static unsigned n_nodes;

static adsmKernel *kernel(const char *name)
{
	adsmKernel *found = adsmKernelGet(module, name);

	CHECK(found);
	return found;
}

static adsmModule *load(const char *name)
{
	char path[4096];
	adsmModule *loaded;

	snprintf(path, sizeof(path), "%s/%s.adsm", getenv("TEST_KERNELS"), name);
	loaded = adsmModuleLoad(path);
	CHECK(loaded);
	return loaded;
}

static adsmDim dim(size_t x)
{
	return adsmDim3((unsigned)x, 1, 1);
}

/* ---- a pipeline: thread, kernel, thread, kernel */

struct pipeline {
	size_t n;
	adsmOnce *input, *local, *sums, *scanned, *result;
};

static void *produce(void *arg)
{
	struct pipeline *p = arg;
	uint64_t state = 42;

	for (size_t b = 0; b < p->n; b++) {
		int *unit = adsmOnceFresh(p->input, b);

		for (int i = 0; i < UNIT; i++)
			unit[i] = (int)(splitmix(&state) % 256);
		CHECK_OK(adsmOnceSet(p->input, b));
	}
	return NULL;
}

static void *scan_sums(void *arg)
{
	struct pipeline *p = arg;
	uint32_t sum = 0;

	for (size_t b = 0; b < p->n; b++) {
		put(p->scanned, b, sum);
		sum += get(p->sums, b);
	}
	return NULL;
}

/* @before: all units of the input are set when the calls are made. */
static void run_pipeline(size_t n, const adsmOnceDistribution *where, bool before)
{
	struct pipeline p = {
		n, adsmOnceAlloc(n, UNIT * sizeof(int), where), adsmOnceAlloc(n, UNIT * sizeof(int), where),
		make(n, 4), make(n, 4), adsmOnceAlloc(n, UNIT * sizeof(int), where),
	};
	pthread_t threads[2];
	uint64_t state = 42;
	int sum = 0;

	CHECK(p.input && p.local && p.result);
	if (before)
		produce(&p);
	CHECK_OK(adsmCall(kernel("scan_units"), dim(n), dim(128), adsmPtr(p.input->address), adsmPtr(p.local->address),
			  adsmPtr(p.sums->address)));
	CHECK_OK(adsmCall(kernel("add_units"), dim(n), dim(UNIT), adsmPtr(p.local->address),
			  adsmPtr(p.scanned->address), adsmPtr(p.result->address)));
	threads[0] = start(scan_sums, &p);
	if (!before)
		threads[1] = start(produce, &p);
	for (size_t b = 0; b < n; b++) {
		const int *unit = adsmOnceGet(p.result, b);

		CHECK(unit);
		for (int i = 0; i < UNIT; i++) {
			CHECK_AT(unit[i], b * UNIT + (size_t)i, sum);
			sum += (int)(splitmix(&state) % 256);
		}
	}
	end(threads[0]);
	if (!before)
		end(threads[1]);
	CHECK_OK(adsmSync());
	CHECK_EQ(adsmOnceWaiters(NULL, 0, 0), 0);
	/* Other nodes have copies of the unit. */
	CHECK_EQ(adsmOnceEmpty(p.sums, 0), -ENOTSUP);
	CHECK(strstr(adsmLastError(), "cluster"));
	CHECK(!adsmOnceRoom(p.sums, 0) && errno == ENOTSUP);
	CHECK_OK(adsmOnceFree(p.input));
	CHECK_OK(adsmOnceFree(p.local));
	CHECK_OK(adsmOnceFree(p.sums));
	CHECK_OK(adsmOnceFree(p.scanned));
	CHECK_OK(adsmOnceFree(p.result));
}

static void pipelines(void)
{
	adsmOnceDistribution there = adsmOnceOnDevice(0);

	run_pipeline(1, NULL, false);
	run_pipeline(2, NULL, true);
	run_pipeline(50, &there, false);
	run_pipeline(200, NULL, true);
	run_pipeline(test_full() ? 20000 : 500, NULL, false);
}

/* Each block waits for the one before, also where another node runs that. */
static void order(void)
{
	const unsigned n = test_full() ? 100000 : 3000;
	adsmOnce *once = make(n, 4);

	CHECK_OK(adsmCall(kernel("chain"), dim(n), dim(1), adsmPtr(once->address)));
	for (unsigned i = 0; i < n; i++)
		CHECK_AT(get(once, i), i, i + 1);
	CHECK_OK(adsmSync());
	CHECK_OK(adsmOnceFree(once));
}

/* ---- random units: threads and nodes; each unit needs some of those before it */

enum { WORKERS = 3, PARTS = WORKERS + 1 };

static void random_units(void)
{
	const size_t n = test_full() ? 400000 : 20000;
	adsmOnce *once = make(n, 4);

	CHECK_OK(adsmCall(kernel("random_units"), dim(n / PARTS), dim(1), adsmPtr(once->address),
			  adsmVal((unsigned)WORKERS), adsmVal((unsigned)PARTS)));
	random_check(once, WORKERS, PARTS);
	CHECK_OK(adsmOnceFree(once));
}

/* ---- the same addresses, of arrays and write-once objects in turns */

static void reuse(void)
{
	enum { PAGES = 24, WORDS = PAGES * (int)PAGE / 4 };
	adsmKernel *increment = adsmKernelGet(plain, "increment");
	char *was = NULL;
	bool again = false;

	CHECK(increment);
	for (unsigned round = 0; round < 12; round++) {
		unsigned *array = adsmAlloc(WORDS * sizeof(*array));
		adsmOnce *once, *unused;
		bool runs = round % 3 != 2;

		CHECK(array);
		for (unsigned i = 0; i < WORDS; i++)
			array[i] = i;
		CHECK_OK(adsmCall(increment, dim(WORDS / 256), dim(256), adsmPtr(array), adsmVal((unsigned)WORDS)));
		CHECK_OK(adsmSync());
		for (unsigned i = 0; i < WORDS; i++)
			CHECK_AT(array[i], i, i + 1);
		was = (char *)array;
		CHECK_OK(adsmFree(array));
		/* What its pages were the nodes hear of with the next launch alone. */
		once = make(PAGES, PAGE);
		again |= (char *)once->address < was + PAGES * PAGE && (char *)once->address + PAGES * PAGE > was;
		unused = make(PAGES, PAGE);
		if (runs) {
			CHECK_OK(adsmCall(kernel("chain"), dim(PAGES), dim(1), adsmPtr(once->address)));
			for (unsigned i = 0; i < PAGES; i++)
				CHECK_AT(get(once, i), i, i + 1);
		}
		CHECK_OK(adsmOnceFree(once));
		CHECK_OK(adsmOnceFree(unused));
	}
	CHECKF(again, "no address was used again");
}

/* ---- waiting */

/* Of one node alone there is nothing to be said. */
static bool names_node(const adsmOnceWaiter *waiters, int n, unsigned node)
{
	char word[32] = "";

	if (n_nodes > 1)
		snprintf(word, sizeof(word), " on node %u", node);
	for (int i = 0; i < n; i++)
		if (waiters[i].device != ADSM_ONCE_ON_HOST && strstr(waiters[i].place, word))
			return true;
	return false;
}

/* Until kernels wait on all nodes. Returns how many wait. */
static int until_all_wait(adsmOnceWaiter *ret_waiters, int max)
{
	unsigned named = 0;
	int n = 0;

	while (named < n_nodes) {
		n = adsmOnceWaiters(ret_waiters, (size_t)max, sizeof(*ret_waiters));
		CHECK(n >= 0 && n <= max);
		for (named = 0; named < n_nodes && names_node(ret_waiters, n, named);)
			named++;
		sched_yield();
	}
	return n;
}

static void fill(adsmOnce *once, size_t unit, int value)
{
	int *p = adsmOnceFresh(once, unit);

	CHECK(p);
	for (int i = 0; i < UNIT; i++)
		p[i] = value;
	CHECK_OK(adsmOnceSet(once, unit));
}

/* The waiting thread is named, with its node. Calls of other kernels, and other requests to nodes, do not disturb
 * that. */
static void blocked(void)
{
	const size_t n = 2 * n_nodes;
	adsmOnce *input = make(n, UNIT * 4), *local = make(n, UNIT * 4), *sums = make(n, 4), *more;
	adsmOnceWaiter waiters[16];
	adsmModule *other;
	int waiting;

	CHECK_OK(adsmCall(kernel("scan_units"), dim(n), dim(1), adsmPtr(input->address), adsmPtr(local->address),
			  adsmPtr(sums->address)));
	waiting = until_all_wait(waiters, 16);
	for (int i = 0; i < waiting; i++) {
		CHECK(waiters[i].address == input->address && waiters[i].device == 0 && waiters[i].thread > 0);
		CHECK(!strcmp(waiters[i].kernel, "scan_units"));
	}
	CHECK_EQ(adsmOnceFree(input), -EBUSY);
	other = load("vecadd");
	more = make(100, PAGE);
	CHECK_OK(adsmOnceFree(more));
	for (size_t i = n; i-- > 0;)
		fill(input, i, (int)i);
	for (size_t i = 0; i < n; i++)
		CHECK_AT(get(sums, i), i, UNIT * i);
	CHECK_OK(adsmSync());
	CHECK_OK(adsmModuleUnload(other));
	CHECK_OK(adsmOnceFree(input));
	CHECK_OK(adsmOnceFree(local));
	CHECK_OK(adsmOnceFree(sums));
}

/* All wait, long, for a block of one node that computes: it is no deadlock. */
static void slow(void)
{
	const unsigned additions = 600000000;
	adsmOnce *units = make(n_nodes, 4);

	CHECK_OK(adsmCall(kernel("wait_for_last"), dim(n_nodes), dim(1), adsmPtr(units->address), adsmVal(additions)));
	CHECK_OK(adsmSync());
	for (unsigned i = 0; i < n_nodes; i++)
		CHECK_AT(get(units, i), i, additions);
	CHECK_OK(adsmOnceFree(units));
}

/* ---- units that no thread is left to set */

static void *expect_deadlock(void *arg)
{
	struct test_unit *work = arg;

	CHECK(!adsmOnceGet(work->once, work->first) && errno == EDEADLK);
	return NULL;
}

static void on_signal(int sig)
{
}

static void *await_unit(void *arg)
{
	struct test_unit *work = arg;

	return (void *)(uintptr_t)get(work->once, work->first);
}

/* A block of node 0 waits for unit 2, which has failed, and gives up. Blocks of all nodes wait for a unit that it was
 * to set. A later call may set this unit, too, and so may a handler: their waits end all the same. */
static void give_up(adsmOnce *units)
{
	const size_t n = 2 * n_nodes;
	adsmOnce *gate = make(3, 4), *to = make(n, 4);
	struct test_unit work = { gate, 2 };
	void (*was)(int) = signal(SIGUSR1, on_signal);
	adsmOnceWaiter waiters[16];
	pthread_t thread;

	CHECK_OK(adsmCall(kernel("give_up"), dim(n), dim(1), adsmPtr(units->address), adsmVal(2),
			  adsmIn(gate->address), adsmPtr(to->address)));
	until_all_wait(waiters, 16);
	put(gate, 1, 0);
	CHECK(!adsmOnceGet(to, 0) && errno == EDEADLK);
	CHECK_OK(adsmCall(kernel("follow"), dim(1), dim(1), adsmPtr(gate->address), adsmVal(0), adsmPtr(to->address),
			  adsmVal(0)));
	put(gate, 0, 4);
	CHECK_EQ(adsmSync(), -EDEADLK);
	CHECK_EQ(get(to, 0), 5);
	/* The call has said that it only reads this object. */
	thread = start(await_unit, &work);
	until_waiting(1, NULL);
	put(gate, 2, 6);
	CHECK_EQ((uintptr_t)end(thread), 6);
	signal(SIGUSR1, was);
	CHECK_OK(adsmOnceFree(gate));
	CHECK_OK(adsmOnceFree(to));
}

static void deadlock(void)
{
	const size_t n = 2 * n_nodes;
	adsmOnce *units = make(4, 4), *input, *local;
	struct test_unit work;
	pthread_t thread;

	/* Its own thread is one of the program's, which may do anything. */
	if (WITH_TSAN) {
		CHECK_OK(adsmOnceFree(units));
		return;
	}
	/* What a later call would set: that one runs, once the first has ended in vain. */
	CHECK_OK(adsmCall(kernel("follow"), dim(1), dim(1), adsmPtr(units->address), adsmVal(1),
			  adsmPtr(units->address), adsmVal(2)));
	CHECK_OK(adsmCall(kernel("follow"), dim(1), dim(1), adsmPtr(units->address), adsmVal(0),
			  adsmPtr(units->address), adsmVal(1)));
	put(units, 0, 1);
	CHECK_EQ(adsmSync(), -EDEADLK);
	CHECKF(strstr(adsmLastError(), "kernel 'follow'"), "no kernel");
	CHECK_EQ(get(units, 1), 2);
	CHECK(adsmOnceTry(units, 2) == NULL);
	give_up(units);

	/* On all nodes, and in a thread that waits for what they were to set. */
	input = make(n, UNIT * 4);
	local = make(n, UNIT * 4);
	work = (struct test_unit){ local, n - 1 };
	thread = start(expect_deadlock, &work);
	CHECK_OK(adsmCall(kernel("scan_units"), dim(n), dim(1), adsmPtr(input->address), adsmPtr(local->address),
			  adsmPtr(units->address)));
	CHECK_EQ(adsmSync(), -EDEADLK);
	end(thread);
	CHECK_OK(adsmOnceFree(input));
	CHECK_OK(adsmOnceFree(local));
	CHECK_OK(adsmOnceFree(units));
}

/* ---- ends of the cluster: each in a run of its own, after which the library starts anew */

static void begin(void)
{
	module = load("once");
	plain = load("conform");
}

static void restart(void)
{
	CHECK_OK(adsmModuleUnload(module));
	CHECK_OK(adsmModuleUnload(plain));
	CHECK_OK(adsmShutdown());
	CHECK_OK(adsmInit());
	begin();
}

/* What 6: another node has set it, which the setting node does not know. With @all nodes node 0 has block 0. */
static void misuses(void)
{
	static const struct { int what, unit; bool all; const char *words[2]; } cases[] = {
		{ 0, 3, false, { "unit 3", "already set" } }, { 1, 2, false, { "unit 2", "ADSM_FRESH" } },
		{ 7, 1, false, { "empties a unit", "cluster" } }, { 8, 1, true, { "room in a unit", "cluster" } },
		{ 3, 5, false, { "unit 5", "beyond the end" } }, { 6, 1, false, { "unit 1", "already set" } },
		{ 7, 1, true, { "empties a unit", "cluster" } }, { 8, 1, false, { "room in a unit", "cluster" } },
	};
	char place[32];

	for (size_t i = test_full() ? 0 : sizeof(cases) / sizeof(cases[0]) - 4; i < sizeof(cases) / sizeof(cases[0]);
	     i++) {
		adsmOnce *once = make(4, 4);

		snprintf(place, sizeof(place), "block 0 on node %u (", cases[i].all ? 0 : n_nodes - 1);
		put(once, 1, 7);
		CHECK_OK(adsmCall(kernel("misuse"), dim(cases[i].all ? n_nodes : 1), dim(1), adsmPtr(once->address),
				  adsmVal(cases[i].what), adsmVal(cases[i].unit)));
		CHECK_EQ(adsmSync(), -ENODEV);
		for (int w = 0; w < 2; w++)
			CHECKF(strstr(adsmLastError(), cases[i].words[w]), "no '%s'", cases[i].words[w]);
		CHECKF(strstr(adsmLastError(), "kernel 'misuse'"), "no kernel");
		CHECKF(n_nodes == 1 || strstr(adsmLastError(), place), "no '%s'", place);
		CHECK_EQ(get(once, 1), 7);
		CHECK_OK(adsmOnceFree(once));
		restart();
	}
}

static void *expect_lost(void *arg)
{
	struct test_unit *work = arg;

	CHECK(!adsmOnceGet(work->once, work->first) && errno == ENODEV);
	CHECKF(strstr(adsmLastError(), "cluster"), "no reason");
	return NULL;
}

/* The process of a thread that waits. */
static pid_t process_of(const adsmOnceWaiter *waiters, int n, unsigned node)
{
	char path[64], line[256];
	FILE *file;
	int pid = 0, i = 0;

	while (!names_node(&waiters[i], 1, node))
		CHECK(++i < n);
	snprintf(path, sizeof(path), "/proc/%d/status", waiters[i].thread);
	file = fopen(path, "r");
	CHECK(file);
	while (!pid && fgets(line, sizeof(line), file))
		if (sscanf(line, "Tgid: %d", &pid) != 1)
			pid = 0;
	fclose(file);
	CHECK(pid > 1 && pid != getpid());
	return pid;
}

/* The largest units there may be: one comes to a node that waits for it, and its own goes. */
static void large(void)
{
	const size_t size = (size_t)1 << 30;
	adsmOnce *once;

	if (!test_full() || n_nodes != 2 || (size_t)sysconf(_SC_AVPHYS_PAGES) < 12 * (size / PAGE))
		return;
	once = make(2, size);
	CHECK_OK(adsmCall(kernel("chain"), dim(2), dim(1), adsmPtr(once->address)));
	CHECK_EQ(get(once, 1), 2);
	CHECK_OK(adsmSync());
	CHECK_OK(adsmOnceFree(once));
}

/*
 * A node is killed while kernels wait on all of them, and a thread for what they were to set. Until that is known a
 * handler might set units, for all that the library knows: else it would tell of a deadlock first.
 */
static void killed(void)
{
	void (*was)(int) = signal(SIGUSR1, on_signal);
	const unsigned victims[] = { n_nodes - 1, 0 };
	const size_t n = 2 * n_nodes;

	for (int i = 0; i < (test_full() ? 2 : 1); i++) {
		adsmOnce *input = make(n, UNIT * 4), *local = make(n, UNIT * 4), *sums = make(n, 4);
		struct test_unit work = { sums, n - 1 };
		adsmOnceWaiter waiters[16];
		pthread_t thread;
		int waiting;

		fill(input, 0, 3);
		CHECK_OK(adsmCall(kernel("scan_units"), dim(n), dim(1), adsmPtr(input->address),
				  adsmPtr(local->address), adsmPtr(sums->address)));
		CHECK_EQ(get(sums, 0), 3 * UNIT);
		thread = start(expect_lost, &work);
		waiting = until_all_wait(waiters, 16);
		CHECK(!kill(process_of(waiters, waiting, victims[i]), SIGKILL));
		end(thread);
		CHECK_EQ(adsmSync(), -ENODEV);
		CHECK_EQ(adsmOnceWaiters(NULL, 0, 0), 0);
		CHECK_EQ(get(sums, 0), 3 * UNIT);
		put(sums, 1, 9);
		CHECK_EQ(get(sums, 1), 9);
		CHECK_OK(adsmOnceFree(input));
		CHECK_OK(adsmOnceFree(local));
		CHECK_OK(adsmOnceFree(sums));
		restart();
	}
	signal(SIGUSR1, was);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "pipelines", pipelines }, { "order", order }, { "random", random_units }, { "reuse", reuse },
		{ "blocked", blocked }, { "slow", slow }, { "deadlock", deadlock }, { "misuses", misuses },
		{ "large", large }, { "killed", killed },
	};

	/* Addresses are reused immediately. */
	setenv("ADSM_KEEP", "0", 1);
	n_nodes = (unsigned)atoi(getenv("ADSM_CLUSTER_NODES"));
	CHECK_OK(adsmInit());
	begin();
	test_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
	CHECK_OK(adsmModuleUnload(module));
	CHECK_OK(adsmModuleUnload(plain));
	CHECK_OK(adsmShutdown());
	return 0;
}
