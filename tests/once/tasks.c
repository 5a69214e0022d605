/* SPDX-License-Identifier: MIT */
/* tasks.c - workers of tasks that wait for units, and set them, among locks, barriers, other devices and threads. */
#include "once.h"
#include "../sanitizers.h"

#include <sys/prctl.h>

static adsmModule *module;

static adsmKernel *kernel(const char *name)
{
	adsmKernel *found = adsmKernelGet(module, name);

	CHECK(found);
	return found;
}

static int stand(int device, const adsmOnce *once, int what, int n_rounds)
{
	CHECK_OK(adsmDeviceSet(device));
	return adsmCall(kernel("stand"), adsmDim3(6, 1, 1), adsmDim3(1, 1, 1), adsmPtr(once->address), adsmVal(what),
			adsmVal(n_rounds));
}

static void check_said(const char *word)
{
	CHECKF(strstr(adsmLastError(), word), "no '%s'", word);
}

struct wait {
	adsmOnce *once;
	size_t unit;
	int error;			/* that it ends with */
};

static void *await_unit(void *arg)
{
	struct wait *wait = arg;

	errno = 0;
	CHECK(wait->error ? !adsmOnceGet(wait->once, wait->unit) : adsmOnceGet(wait->once, wait->unit) != NULL);
	CHECK_EQ(errno, wait->error);
	return NULL;
}

/* ---- what works: thread, task, task on the other device, thread */

static void relay(unsigned workers)
{
	const int n = test_full() ? 20000 : 2000;
	adsmOnce *input = make((size_t)n, 4), *middle = make((size_t)n, 4), *result = make((size_t)n, 4);
	int *counted[2];
	uint32_t sum = 0, sum_of_sums = 0;

	for (int device = 1; device >= 0; device--) {
		CHECK_OK(adsmDeviceSet(device));
		counted[device] = adsmAlloc(sizeof(int));
		CHECK(counted[device]);
		*counted[device] = 0;
		CHECK_OK(adsmCall(kernel("relay"), adsmDim3(workers, 1, 1), adsmDim3(1, 1, 1),
				  adsmPtr(device ? middle->address : input->address),
				  adsmPtr(device ? result->address : middle->address), adsmVal(n),
				  adsmPtr(counted[device])));
	}
	for (int i = 0; i < n; i++) {
		put(input, (size_t)i, (uint32_t)i + 1);
		sum += (uint32_t)i + 1;
		sum_of_sums += sum;
		/* Each third one is waited for, so that workers come to wait for input. */
		if (i % 3 == 0)
			CHECK_AT(get(result, (size_t)i), i, sum_of_sums);
	}
	CHECK_EQ(get(result, (size_t)n - 1), sum_of_sums);
	for (int device = 0; device < 2; device++) {
		CHECK_OK(adsmDeviceSet(device));
		CHECK_OK(adsmSync());
		CHECK_EQ(*counted[device], n);
		CHECK_OK(adsmFree(counted[device]));
	}
	CHECK_OK(adsmOnceFree(input));
	CHECK_OK(adsmOnceFree(middle));
	CHECK_OK(adsmOnceFree(result));
}

static void works(void)
{
	static const unsigned workers[] = { 1, 2, 5, 16, 100 };

	for (size_t i = 0; i < sizeof(workers) / sizeof(workers[0]); i++)
		relay(workers[i]);
}

/* The waiting thread is named, and continues. */
static void waiters(void)
{
	adsmOnce *once = make(4, 4);
	adsmOnceWaiter waiter;

	CHECK_OK(stand(1, once, 4, 0));
	until_waiting(1, &waiter);
	CHECK(waiter.address == once->address);
	CHECK_EQ(waiter.unit, 0);
	CHECK_EQ(waiter.device, 1);
	CHECK(!strcmp(waiter.kernel, "stand"));
	CHECK(strstr(waiter.place, "block 0"));
	put(once, 0, 1);
	CHECK_OK(adsmSync());
	CHECK_OK(adsmOnceFree(once));
}

/* ---- units that no thread can set any more */

/* A worker waits for a unit, others for its lock, the barrier, another unit; a thread for what they would set. */
static void deadlock(void)
{
	adsmOnce *once = make(4, 4);
	struct wait wait = { once, 3, EDEADLK };
	pthread_t thread = start(await_unit, &wait);

	CHECK_OK(stand(0, once, 0, 0));
	CHECK_EQ(adsmSync(), -EDEADLK);
	check_said("task 'stand'");
	check_said("no thread can set any more");
	check_said("worker 2 waits for lock 5, which worker 0 holds");
	check_said("worker 3 and others wait");
	end(thread);

	/* Locks are free, and the device runs the next task; what was not set still can be. */
	put(once, 0, 1);
	CHECK_OK(stand(0, once, 4, 0));
	CHECK_OK(adsmSync());
	CHECK_OK(adsmOnceFree(once));
}

/* Each of two devices waits for units that the other would set. Then a call that waits for a later call of its
 * own device. */
static void circles(void)
{
	adsmOnce *first = make(4, 4), *second = make(4, 4);
	int *counted[2];

	for (int device = 0; device < 2; device++) {
		CHECK_OK(adsmDeviceSet(device));
		counted[device] = adsmAlloc(sizeof(int));
		CHECK(counted[device]);
		CHECK_OK(adsmCall(kernel("relay"), adsmDim3(3, 1, 1), adsmDim3(1, 1, 1),
				  adsmPtr(device ? first->address : second->address),
				  adsmPtr(device ? second->address : first->address), adsmVal(2),
				  adsmPtr(counted[device])));
	}
	CHECK_EQ(adsmSync(), -EDEADLK);
	for (int device = 0; device < 2; device++)
		CHECK_OK(adsmFree(counted[device]));
	CHECK_OK(adsmOnceFree(first));
	first = make(4, 4);
	CHECK_OK(stand(0, first, 4, 0));
	CHECK_OK(adsmCall(kernel("follow"), adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), adsmPtr(second->address), adsmVal(3),
			  adsmPtr(first->address), adsmVal(0)));
	put(second, 3, 1);
	CHECK_EQ(adsmSync(), -EDEADLK);
	CHECK_EQ(get(first, 0), 2);
	CHECK_OK(adsmOnceFree(first));
	CHECK_OK(adsmOnceFree(second));
}

/* All threads of the program wait for the task, and some worker always continues. */
static void no_deadlock(void)
{
	adsmOnce *once = make(4, 4);

	CHECK_OK(stand(0, once, 3, test_full() ? 1000000 : 200000));
	CHECK_OK(adsmSync());
	CHECK_OK(adsmOnceFree(once));
}

/* ---- threads that wake each other: each sleeps nearly always */

static struct turns {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int turn;			/* whose it is; 2: it is over */
	uint64_t until;
} turns = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 };

static void *take_turns(void *arg)
{
	const int self = *(int *)arg;

	pthread_mutex_lock(&turns.mutex);
	while (turns.turn != 2) {
		if (turns.turn != self) {
			pthread_cond_wait(&turns.changed, &turns.mutex);
			continue;
		}
		turns.turn = clock_ns(CLOCK_PROCESS_CPUTIME_ID) < turns.until ? !self : 2;
		pthread_cond_broadcast(&turns.changed);
	}
	pthread_mutex_unlock(&turns.mutex);
	return NULL;
}

static void threads_in_turns(void)
{
	static int numbers[] = { 0, 1 };
	adsmOnce *once = make(4, 4);
	struct wait wait = { once, 0, 0 };
	pthread_t threads[2], waiting = start(await_unit, &wait);

	/* Several checks for deadlocks: if one of them wrongly finds a deadlock, the wait fails. */
	turns.until = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + (test_full() ? 5000000000 : 700000000);
	until_waiting(1, NULL);
	for (int i = 0; i < 2; i++)
		threads[i] = start(take_turns, &numbers[i]);
	for (int i = 0; i < 2; i++)
		end(threads[i]);
	put(once, 0, 1);
	end(waiting);
	CHECK_OK(adsmOnceFree(once));
}

/* A thread that runs is no helper of the library's, whatever its name: a program may be called "adsm-…". */
static void name(void)
{
	adsmOnce *once = make(4, 4);
	struct wait wait = { once, 0, 0 };
	uint64_t until = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + 700000000;
	pthread_t waiting;

	CHECK_OK(prctl(PR_SET_NAME, "adsm-program"));
	waiting = start(await_unit, &wait);
	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until)
		;
	put(once, 0, 1);
	end(waiting);
	CHECK_OK(prctl(PR_SET_NAME, "once-tasks"));
	CHECK_OK(adsmOnceFree(once));
}

/* ---- a task that fails for another reason: its waiting workers leave, and threads that wait for it get the error */

static void fails(void)
{
	adsmOnce *once = make(4, 4);
	struct wait wait = { once, 3, EPERM };
	pthread_t thread;

	CHECK_OK(stand(0, once, 1, 0));
	CHECK_EQ(adsmSync(), -EPERM);
	check_said("worker 1 releases lock 6");
	thread = start(await_unit, &wait);
	end(thread);
	/* A call that may set them is about to. */
	put(once, 0, 1);
	CHECK_OK(stand(0, once, 4, 0));
	CHECK_OK(adsmSync());
	CHECK_OK(adsmOnceFree(once));
}

/* The last one: its device is lost. */
static void misuse(void)
{
	adsmOnce *once = make(4, 4);

	CHECK_OK(stand(0, once, 2, 0));
	CHECK_EQ(adsmSync(), -ENODEV);
	check_said("task 'stand', worker 1, sets a unit that is already set");
	CHECK_OK(adsmOnceFree(once));
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "works", works }, { "waiters", waiters }, { "deadlock", deadlock }, { "circles", circles },
		{ "no_deadlock", no_deadlock }, { "threads_in_turns", threads_in_turns }, { "name", name },
		{ "fails", fails }, { "misuse", misuse },
	};

	if (check_no_driver(adsmInit())) {
		fprintf(stderr, "%s\n", adsmLastError());
		return 77;
	}
	module = adsmModuleLoad(getenv("TEST_ONCE"));
	CHECK(module);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* Its own thread is one of the program's, which may do anything. */
		if (WITH_TSAN && (cases[i].run == deadlock || cases[i].run == circles))
			continue;
		if (argc < 2 || !strcmp(argv[1], cases[i].name)) {
			cases[i].run();
			fprintf(stderr, "%s: ok\n", cases[i].name);
		}
	}
	CHECK_OK(adsmModuleUnload(module));
	CHECK_OK(adsmShutdown());
	return 0;
}
