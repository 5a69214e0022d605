/* SPDX-License-Identifier: MIT */
/* devices.c - write-once objects among kernels of two devices and threads of the program, all at the same time:
 * pipelines, random units against an oracle, where the bytes are, lost devices, deadlocks. */
#include "once.h"
#include "random.h"
#include "../sanitizers.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNIT 256

static adsmModule *module;

static adsmKernel *kernel(const char *name)
{
	adsmKernel *found = adsmKernelGet(module, name);

	CHECK(found);
	return found;
}

/* Calls go to the device that this thread has chosen, where no argument says another. */
static int on(int device)
{
	CHECK_OK(adsmDeviceSet(device));
	return device;
}

/* OpenCL's devices that are CPUs run launches with write-once objects one after the other. */
static bool turns(void)
{
	const char *backend = getenv("ADSM_BACKEND");

	return backend && !strcmp(backend, "opencl");
}

/* ---- a pipeline: thread, device 0, thread, device 1 */

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

static void run_pipeline(size_t n, const adsmOnceDistribution *where)
{
	struct pipeline p = {
		n, adsmOnceAlloc(n, UNIT * sizeof(int), where), adsmOnceAlloc(n, UNIT * sizeof(int), where),
		make(n, 4), make(n, 4), adsmOnceAlloc(n, UNIT * sizeof(int), where),
	};
	pthread_t threads[2];
	uint64_t state = 42;
	int sum = 0;

	CHECK(p.input && p.local && p.result);
	/* The calls come first: all of their blocks wait. Where devices take turns, the order of calls matters. */
	for (int device = turns() ? 0 : 1, i = 0; i < 2; device = !device, i++) {
		on(device);
		if (device)
			CHECK_OK(adsmCall(kernel("add_units"), adsmDim3((unsigned)n, 1, 1), adsmDim3(UNIT, 1, 1),
					  adsmPtr(p.local->address), adsmPtr(p.scanned->address),
					  adsmPtr(p.result->address)));
		else
			CHECK_OK(adsmCall(kernel("scan_units"), adsmDim3((unsigned)n, 1, 1), adsmDim3(128, 1, 1),
					  adsmPtr(p.input->address), adsmPtr(p.local->address),
					  adsmPtr(p.sums->address)));
	}
	threads[0] = start(scan_sums, &p);
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
	end(threads[1]);
	CHECK_OK(adsmSync());
	CHECK_OK(adsmOnceFree(p.input));
	CHECK_OK(adsmOnceFree(p.local));
	CHECK_OK(adsmOnceFree(p.sums));
	CHECK_OK(adsmOnceFree(p.scanned));
	CHECK_OK(adsmOnceFree(p.result));
}

static void pipelines(void)
{
	adsmOnceDistribution striped = adsmOnceStriped(4);

	run_pipeline(1, NULL);
	run_pipeline(50, NULL);
	run_pipeline(1000, &striped);
	for (int i = 0; i < 20; i++)
		run_pipeline(37, NULL);
	if (test_full())
		run_pipeline(100000, NULL);
}

/* Of one launch, where each block waits for the one before. */
static void order(void)
{
	const unsigned n = 20000;

	for (int device = 0; device < 2; device++) {
		adsmOnce *once = make(n, 4);

		on(device);
		CHECK_OK(adsmCall(kernel("chain"), adsmDim3(n, 1, 1), adsmDim3(1, 1, 1), adsmPtr(once->address)));
		CHECK_EQ(get(once, n - 1), n);
		CHECK_OK(adsmSync());
		CHECK_OK(adsmOnceFree(once));
	}
}

/* ---- random units: 8 threads and two devices, which each have every tenth */

enum { WORKERS = 8, PARTS = WORKERS + 2 };

static void random_units(void)
{
	/* Three gets and a set for each unit. */
	const size_t n = test_full() ? 1000000 : 250000;
	adsmOnceDistribution striped = adsmOnceStriped(n / 10);
	adsmOnce *once = adsmOnceAlloc(n, 4, &striped);

	CHECK(once);
	for (unsigned d = 0; d < 2; d++) {
		on((int)d);
		CHECK_OK(adsmCall(kernel("random_units"), adsmDim3((unsigned)(n / PARTS), 1, 1), adsmDim3(1, 1, 1),
				  adsmPtr(once->address), adsmVal(WORKERS + d), adsmVal((unsigned)PARTS)));
	}
	random_check(once, WORKERS, PARTS);
	CHECK_OK(adsmOnceFree(once));
}

/* ---- where the bytes are */

/* What is mapped at an address, as the system tells. */
static void file_at(const void *p, char *ret_name, size_t size)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	bool found = false;

	CHECK(maps);
	while (!found && fgets(line, sizeof(line), maps)) {
		uintptr_t first, end_;
		char *name = strchr(line, '/');

		CHECK(sscanf(line, "%lx-%lx", &first, &end_) == 2);
		found = (uintptr_t)p >= first && (uintptr_t)p < end_;
		if (found)
			snprintf(ret_name, size, "%s", name ? name : "");
	}
	fclose(maps);
	CHECK(found);
}

static int by_thirds(void *arg, size_t unit)
{
	return unit % 3 == 2 ? ADSM_ONCE_ON_HOST : (int)(unit % 3);
}

static void check_place(const adsmOnceDistribution *distribution, size_t count, size_t size, const char *expected)
{
	adsmDeviceProps before[2], after;
	adsmOnce *once;
	size_t used[2] = { 0, 0 };

	for (int d = 0; d < 2; d++) {
		before[d].struct_size = sizeof(before[d]);
		CHECK_OK(adsmDeviceInfo(d, &before[d]));
	}
	once = adsmOnceAlloc(count, size, distribution);
	CHECK(once);
	for (size_t unit = 0; unit < count; unit++) {
		char name[512], word[32];
		int device;

		CHECK_OK(adsmOncePlace(once, unit, &device));
		CHECKF(device == (expected[unit] == 'h' ? ADSM_ONCE_ON_HOST : expected[unit] - '0'), "unit %zu: %d",
		       unit, device);
		if (device == ADSM_ONCE_ON_HOST)
			snprintf(word, sizeof(word), "adsm-once-host");
		else
			snprintf(word, sizeof(word), "adsm-once-cpu %d", device);
		for (int m = 0; m < 3; m++) {
			const char *at = m == 0 ? once->address : m == 1 ? once->data : once->room;

			file_at(at + unit * size, name, sizeof(name));
			CHECKF(strstr(name, word), "unit %zu: '%s' is not '%s'", unit, name, word);
		}
		if (device >= 0)
			used[device] += size;
	}
	for (int d = 0; d < 2; d++) {
		after.struct_size = sizeof(after);
		CHECK_OK(adsmDeviceInfo(d, &after));
		if (size % PAGE == 0)
			CHECK_EQ(before[d].memory_free - after.memory_free, used[d]);
	}
	CHECK_OK(adsmOnceFree(once));
	for (int d = 0; d < 2; d++) {
		after.struct_size = sizeof(after);
		CHECK_OK(adsmDeviceInfo(d, &after));
		CHECK_EQ(before[d].memory_free, after.memory_free);
	}
}

/* It may use the library, too. */
static int by_a_unit(void *arg, size_t unit)
{
	adsmOnce *once = make(1, 4);

	put(once, 0, (uint32_t)unit % 2);
	unit = get(once, 0);
	CHECK_OK(adsmOnceFree(once));
	return (int)unit;
}

static void places(void)
{
	adsmOnceDistribution first = adsmOnceOnDevice(0), second = adsmOnceOnDevice(1), stripes = adsmOnceStriped(2),
		halves = adsmOnceStriped(0), tiles = adsmOnceTiled(3, 4), columns = adsmOnceTiled(2, 4),
		own = adsmOncePlaced(by_thirds, NULL), used = adsmOncePlaced(by_a_unit, NULL),
		none = adsmOnceOnDevice(2), many = adsmOnceStriped(1);

	check_place(NULL, 3, PAGE, "hhh");
	check_place(&first, 3, PAGE, "000");
	check_place(&second, 3, 2 * PAGE, "111");
	check_place(&stripes, 7, PAGE, "0011001");
	check_place(&halves, 7, PAGE, "0000111");
	/* Two devices are a grid of one row and two columns. */
	check_place(&tiles, 12, PAGE, "010101010101");
	columns.grid_rows = 2;
	check_place(&columns, 8, PAGE, "00001111");
	check_place(&own, 6, PAGE, "01h01h");
	check_place(&used, 5, PAGE, "01010");
	/* A page is where the unit of its first byte is. */
	stripes.stripe = 4;
	check_place(&stripes, 12, PAGE / 4, "000011110000");
	CHECK(!adsmOnceAlloc(4, 4, &none) && errno == EINVAL);
	CHECK(!adsmOnceAlloc(10000, PAGE, &many) && errno == EINVAL);
	CHECK(strstr(adsmLastError(), "4095"));
	columns.grid_rows = 3;
	CHECK(!adsmOnceAlloc(8, 4, &columns) && errno == EINVAL);
}

/* ---- arguments */

static void arguments(void)
{
	adsmDim one = adsmDim3(1, 1, 1);
	adsmOnce *once = make(4, 4);
	int *p = adsmAlloc(PAGE);

	CHECK_EQ(adsmCall(kernel("chain"), one, one, adsmPtr(p)), -EINVAL);
	CHECK(strstr(adsmLastError(), "write-once"));
	CHECK_EQ(adsmCall(kernel("chain"), one, one, adsmPtr(NULL)), -EINVAL);
	CHECK_EQ(adsmCall(kernel("chain"), one, one, adsmPtr((char *)once->address + 4)), -EINVAL);
	CHECK_EQ(adsmCall(kernel("chain"), one, one, adsmVal(4)), -EINVAL);
	CHECK_OK(adsmCall(kernel("chain"), adsmDim3(4, 1, 1), one, adsmPtr(once->address)));
	CHECK_OK(adsmOnceFree(once));	/* after the call */
	CHECK_OK(adsmFree(p));
}

/* ---- waiting */

/* A kernel that waits is named; its object stays. Freed when it is idle, it may be freed. */
static void blocked(void)
{
	adsmDim one = adsmDim3(1, 1, 1);
	adsmOnce *from = make(4, 4), *to = make(4, 4);
	adsmOnceWaiter waiter;

	on(1);
	CHECK_OK(adsmCall(kernel("follow"), one, one, adsmPtr(from->address), adsmVal(2), adsmPtr(to->address),
			  adsmVal(3)));
	until_waiting(1, &waiter);
	CHECK(waiter.address == from->address);
	CHECK_EQ(waiter.unit, 2);
	CHECK_EQ(waiter.device, 1);
	CHECK(!strcmp(waiter.kernel, "follow"));
	CHECK(strstr(waiter.place, "block 0"));
	CHECK_EQ(adsmOnceFree(from), -EBUSY);
	put(from, 2, 10);
	CHECK_EQ(get(to, 3), 11);
	CHECK_OK(adsmSync());
	CHECK_OK(adsmOnceFree(from));
	CHECK_OK(adsmOnceFree(to));
}

/* Calls have an object, too, which the program writes before each of them: the library may send it without waiting. */
static void objects(void)
{
	const adsmDim one = adsmDim3(1, 1, 1);
	adsmOnce *once = make(8, 4);
	int *total = adsmAlloc(PAGE);

	CHECK(total);
	for (int i = 0; i < 8; i++) {
		*total = 100 * i;
		CHECK_OK(adsmCall(kernel("add_to_total"), one, one, adsmPtr(total), adsmPtr(once->address),
				  adsmVal(i)));
		CHECK_EQ(get(once, (size_t)i), 100 * i + 1);
		CHECK_OK(adsmSync());
		CHECK_EQ(*total, 100 * i + 1);
	}
	CHECK_OK(adsmFree(total));
	CHECK_OK(adsmOnceFree(once));
}

static void *await_unit(void *arg)
{
	struct test_unit *work = arg;

	return (void *)(uintptr_t)get(work->once, work->first);
}

/* Threads wait before any device has the object: a kernel that is given it then sets their units all the same. */
static void given_late(void)
{
	adsmDim one = adsmDim3(1, 1, 1);

	for (int i = 0; i < 50; i++) {
		adsmOnce *from = make(4, 4), *to = make(4, 4);
		struct test_unit works[] = { { to, 1 }, { to, 2 }, { to, 1 } };
		pthread_t threads[3];

		for (int t = 0; t < 3; t++)
			threads[t] = start(await_unit, &works[t]);
		/* Each second time some of them may be about to sleep. */
		if (i % 2)
			until_waiting(3, NULL);
		put(from, 0, 5);
		on(i / 2 % 2);
		for (int unit = 1; unit < 3; unit++)
			CHECK_OK(adsmCall(kernel("follow"), one, one, adsmPtr(from->address), adsmVal(0),
					  adsmPtr(to->address), adsmVal(unit)));
		for (int t = 0; t < 3; t++)
			CHECK_EQ((uintptr_t)end(threads[t]), 6);
		CHECK_OK(adsmSync());
		CHECK_OK(adsmOnceFree(from));
		CHECK_OK(adsmOnceFree(to));
	}
}

#define OUTSTANDING 128		/* calls of one device */

struct filler {
	adsmOnce *from, *to;
	_Atomic int n;			/* calls */
	_Atomic pid_t thread;
};

/* Calls on device 0 that wait for a unit: the last one has to wait before it begins. */
static void *fill(void *arg)
{
	struct filler *filler = arg;
	adsmDim one = adsmDim3(1, 1, 1);

	filler->thread = gettid();
	on(0);
	for (; filler->n <= OUTSTANDING; filler->n++)
		CHECK_OK(adsmCall(kernel("follow"), one, one, adsmPtr(filler->from->address), adsmVal(0),
				  adsmPtr(filler->to->address), adsmVal(filler->n)));
	CHECK_OK(adsmSync());
	return NULL;
}

/* A device has as many outstanding calls as it can have, which wait for this thread. Objects that none of them uses can
 * leave the device all the same, also one that a call names first. */
static void full(void)
{
	adsmDim one = adsmDim3(1, 1, 1);
	struct filler filler = { .from = make(4, 4), .to = make(OUTSTANDING + 1, 4) };
	adsmOnce *none = make(4, 4);
	adsmObjectProps props = { .struct_size = sizeof(props) };
	unsigned *moves, *first, *stays;
	pthread_t thread;

	on(0);
	moves = adsmAlloc(4);
	first = adsmAlloc(4);
	on(1);
	stays = adsmAlloc(4);
	CHECK(moves && first && stays);
	*moves = *first = 0;
	thread = start(fill, &filler);
	while (filler.n < OUTSTANDING || !sleeps(filler.thread))
		sched_yield();
	CHECK_OK(adsmCall(kernel("relay"), one, one, adsmUse(stays, ADSM_ACCESS_IN), adsmPtr(none->address),
			  adsmPtr(none->address), adsmVal(0), adsmPtr(moves)));
	CHECK_OK(adsmObjectInfo(moves, &props));
	CHECK_EQ(props.device, 1);
	CHECK_OK(adsmCall(kernel("relay"), one, one, adsmUse(first, ADSM_ACCESS_INOUT), adsmPtr(none->address),
			  adsmPtr(none->address), adsmVal(0), adsmPtr(moves)));
	CHECK_OK(adsmObjectInfo(first, &props));
	CHECK_EQ(props.device, 1);
	put(filler.from, 0, 1);
	end(thread);
	CHECK_OK(adsmSync());
	CHECK_EQ(get(filler.to, OUTSTANDING), 2);
	CHECK_OK(adsmFree(moves));
	CHECK_OK(adsmFree(first));
	CHECK_OK(adsmFree(stays));
	CHECK_OK(adsmOnceFree(none));
	CHECK_OK(adsmOnceFree(filler.from));
	CHECK_OK(adsmOnceFree(filler.to));
}

/* Threads of devices that wait use no processor; what they have used, the system says. */
static void idle(void)
{
	adsmDim one = adsmDim3(1, 1, 1);
	adsmOnce *from = make(64, 4), *to = make(64, 4);
	adsmOnceWaiter waiter;
	unsigned long before[2], after[2];
	char path[64];
	uint64_t until;

	on(0);
	CHECK_OK(adsmCall(kernel("follow"), one, one, adsmPtr(from->address), adsmVal(0), adsmPtr(to->address),
			  adsmVal(0)));
	until_waiting(1, &waiter);
	snprintf(path, sizeof(path), "/proc/%d/schedstat", waiter.thread);
	for (int i = 0; i < 2; i++) {
		FILE *file = fopen(path, "r");

		CHECK(file && fscanf(file, "%lu", i ? after : before) == 1);
		fclose(file);
		until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + 300000000;
		while (!i && clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
			;
	}
	CHECKF(after[0] - before[0] < 10000000, "%lu ns", after[0] - before[0]);
	put(from, 0, 1);
	CHECK_OK(adsmSync());
	CHECK_EQ(get(to, 0), 2);
	CHECK_OK(adsmOnceFree(from));
	CHECK_OK(adsmOnceFree(to));
}

/* ---- ends of devices: each in a run of its own, after which the library starts anew */

static void restart(void)
{
	CHECK_OK(adsmModuleUnload(module));
	CHECK_OK(adsmShutdown());
	CHECK_OK(adsmInit());
	module = adsmModuleLoad(getenv("TEST_ONCE"));
	CHECK(module);
}

/* The unit is one that the kernel does not set. */
static void *expect_end(void *once)
{
	CHECK(!adsmOnceGet(once, 0) && errno == ENODEV);
	return NULL;
}

static void misuses(void)
{
	static const struct { int what, unit; const char *words[2]; } cases[] = {
		{ 0, 3, { "unit 3", "already set" } }, { 1, 2, { "unit 2", "ADSM_FRESH" } },
		{ 2, 4, { "unit 4", "beyond the end" } }, { 3, 5, { "unit 5", "beyond the end" } },
		{ 4, 9, { "unit 9", "beyond the end" } }, { 5, 1, { "unit 1", "already set" } },
	};
	adsmDim one = adsmDim3(1, 1, 1);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		adsmOnce *once = make(4, 4);
		pthread_t thread = start(expect_end, once);

		put(once, 1, 7);
		until_waiting(1, NULL);
		on(0);
		CHECK_OK(adsmCall(kernel("misuse"), one, one, adsmPtr(once->address), adsmVal(cases[i].what),
				  adsmVal(cases[i].unit)));
		CHECK_EQ(adsmSync(), -ENODEV);
		for (int w = 0; w < 2; w++)
			CHECKF(strstr(adsmLastError(), cases[i].words[w]), "no '%s'", cases[i].words[w]);
		CHECKF(strstr(adsmLastError(), "kernel 'misuse'"), "no kernel");
		end(thread);
		CHECK_EQ(get(once, 1), 7);
		CHECK_OK(adsmOnceFree(once));
		restart();
	}
}

/* An object in several places is one object for messages, too. */
static void behind(void)
{
	const adsmDim one = adsmDim3(1, 1, 1);
	adsmOnceDistribution striped = adsmOnceStriped(1);
	adsmOnce *once = adsmOnceAlloc(4, PAGE, &striped);
	char words[96];

	CHECK(once);
	snprintf(words, sizeof(words), "64 bytes behind the end of the %zu bytes of an object at %p", 4 * PAGE,
		 once->address);
	on(0);
	CHECK_OK(adsmCall(kernel("misuse"), one, one, adsmPtr(once->address), adsmVal(9), adsmVal(3)));
	CHECK_EQ(adsmSync(), -ENODEV);
	CHECKF(strstr(adsmLastError(), words), "no '%s'", words);
	CHECK_OK(adsmOnceFree(once));
	restart();
}

/* The number of a thread of this process with that name; 0: there is none. */
static int find_thread(const char *name)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	int found = 0;

	CHECK(folder);
	while ((entry = readdir(folder))) {
		char path[300], text[32] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "re");
		if (file && fgets(text, sizeof(text), file) && !strncmp(text, name, strlen(name)))
			found = atoi(entry->d_name);
		if (file)
			fclose(file);
	}
	closedir(folder);
	return found;
}

/* OpenCL's driver loses the device (TEST_OPENCL) while blocks wait, and reports the end of their launches late: the
 * objects are freed, and the library stops, before that. */
static int killed(void)
{
	const adsmDim one = adsmDim3(1, 1, 1);
	adsmOnce *from = make(4, 4), *to = make(4, 4);
	int *memory = adsmDeviceAlloc(PAGE), error = 0;

	CHECK(memory);
	for (int unit = 0; unit < 2; unit++)
		CHECK_OK(adsmCall(kernel("follow"), one, one, adsmPtr(from->address), adsmVal(unit),
				  adsmPtr(to->address), adsmVal(unit)));
	until_waiting(1, NULL);
	for (int i = 0; i < 1000 && !error; i++)
		error = adsmCopyToDevice(memory, &i, sizeof(i));
	CHECK_EQ(error, -ENODEV);
	CHECK_OK(adsmDeviceFree(memory));
	CHECK_OK(adsmOnceFree(from));
	CHECK_OK(adsmOnceFree(to));
	CHECK_OK(adsmModuleUnload(module));
	CHECK_OK(adsmShutdown());
	/* The thread that looks at launches has seen that there are none. */
	while (find_thread("adsm-units"))
		sched_yield();
	return 0;
}

static void *expect_lost(void *arg)
{
	struct test_unit *work = arg;

	CHECK(!adsmOnceGet(work->once, work->first) && errno == ENODEV);
	CHECKF(strstr(adsmLastError(), work->first == 2 ? "cpu device 0" : "its own wait has failed"), "no reason");
	return NULL;
}

/* A device ends while a thread, and a kernel of the other device, wait for units that it was to set, and another thread
 * waits for that kernel's units. Units that are set can be read; those that are not set can still be set. */
static void lost(void)
{
	adsmDim one = adsmDim3(1, 1, 1);
	adsmOnceDistribution there = adsmOnceOnDevice(0);
	adsmOnce *trigger = make(3, 4), *units = adsmOnceAlloc(4, PAGE, &there), *other = make(4, 4);
	struct test_unit works[] = { { units, 2 }, { other, 1 } };
	pthread_t threads[2];

	CHECK(units);
	on(0);
	CHECK_OK(adsmCall(kernel("follow"), one, one, adsmPtr(trigger->address), adsmVal(0), adsmPtr(units->address),
			  adsmVal(3)));
	CHECK_OK(adsmCall(kernel("crash_after"), one, one, adsmPtr(trigger->address), adsmVal(1),
			  adsmPtr(units->address)));
	on(1);
	CHECK_OK(adsmCall(kernel("follow"), one, one, adsmPtr(units->address), adsmVal(2), adsmPtr(other->address),
			  adsmVal(1)));
	for (int i = 0; i < 2; i++)
		threads[i] = start(expect_lost, &works[i]);
	until_waiting(4, NULL);
	put(trigger, 0, 6);
	CHECK_EQ(get(units, 3), 7);
	put(trigger, 1, 0);
	for (int i = 0; i < 2; i++)
		end(threads[i]);
	CHECK_EQ(adsmOnceWaiters(NULL, 0, 0), 0);
	CHECK_EQ(adsmSync(), -ENODEV);
	CHECK_EQ(get(units, 3), 7);
	put(units, 2, 9);
	CHECK_EQ(get(units, 2), 9);
	CHECK(!adsmOnceGet(units, 1) && errno == ENODEV);
	CHECK_EQ(get(trigger, 0), 6);

	/* The other device is as it was. */
	CHECK_OK(adsmCall(kernel("follow"), one, one, adsmPtr(units->address), adsmVal(2), adsmPtr(other->address),
			  adsmVal(2)));
	CHECK_EQ(get(other, 2), 10);
	CHECK_OK(adsmSync());

	/* When it ends, too, units are lost that its last call was to set; not those that an earlier one has left. */
	CHECK_OK(adsmCall(kernel("follow"), one, one, adsmPtr(other->address), adsmVal(2), adsmPtr(units->address),
			  adsmVal(0)));
	CHECK_OK(adsmSync());
	threads[0] = start(await_unit, &(struct test_unit){ units, 1 });
	until_waiting(1, NULL);
	CHECK_OK(adsmCall(kernel("crash_after"), one, one, adsmPtr(trigger->address), adsmVal(1),
			  adsmPtr(trigger->address)));
	CHECK(!adsmOnceGet(trigger, 2) && errno == ENODEV);
	put(units, 1, 4);
	end(threads[0]);
	CHECK_EQ(adsmSync(), -ENODEV);
	CHECK_OK(adsmOnceFree(trigger));
	CHECK_OK(adsmOnceFree(units));
	CHECK_OK(adsmOnceFree(other));
	restart();
}

static void on_signal(int sig)
{
}

/* A block gives up, because its input has failed. Another block waits for a unit that it was to set. A later call may
 * set this unit, too, and so may a handler, for all that the library knows: the wait ends all the same. */
static void given_up(void)
{
	const adsmDim one = adsmDim3(1, 1, 1);
	adsmOnce *trigger, *from, *gate, *to;
	struct test_unit work;
	pthread_t thread;

	setenv("ADSM_CPU_THREADS", "2", 1);
	restart();
	trigger = make(1, 4);
	from = make(1, 4);
	gate = make(3, 4);
	to = make(2, 4);
	work = (struct test_unit){ gate, 2 };
	signal(SIGUSR1, on_signal);
	on(0);
	CHECK_OK(adsmCall(kernel("crash_after"), one, one, adsmPtr(trigger->address), adsmVal(0),
			  adsmPtr(from->address)));
	put(trigger, 0, 0);
	CHECK_EQ(adsmSync(), -ENODEV);
	CHECK(!adsmOnceGet(from, 0) && errno == ENODEV);
	on(1);
	CHECK_OK(adsmCall(kernel("give_up"), adsmDim3(2, 1, 1), one, adsmPtr(from->address), adsmVal(0),
			  adsmIn(gate->address), adsmPtr(to->address)));
	until_waiting(2, NULL);
	put(gate, 1, 0);
	CHECK(!adsmOnceGet(to, 0) && errno == ENODEV);
	CHECK_OK(adsmCall(kernel("follow"), one, one, adsmPtr(gate->address), adsmVal(0), adsmPtr(to->address),
			  adsmVal(0)));
	put(gate, 0, 4);
	CHECK_EQ(adsmSync(), -ENODEV);
	CHECK_EQ(get(to, 0), 5);
	/* The call has said that it only reads this object. */
	thread = start(await_unit, &work);
	until_waiting(1, NULL);
	put(gate, 2, 6);
	CHECK_EQ((uintptr_t)end(thread), 6);
	signal(SIGUSR1, SIG_DFL);
	CHECK_OK(adsmOnceFree(trigger));
	CHECK_OK(adsmOnceFree(from));
	CHECK_OK(adsmOnceFree(gate));
	CHECK_OK(adsmOnceFree(to));
	unsetenv("ADSM_CPU_THREADS");
	restart();
}

/* ---- units that no thread is left to set */

static void *expect_deadlock(void *arg)
{
	struct test_unit *work = arg;

	CHECK(!adsmOnceGet(work->once, work->first) && errno == EDEADLK);
	return NULL;
}

/* A kernel waits for what a later call of its device would set: that call runs, once the first has ended in vain. */
/* How often a thread of the parent has slept. */
static unsigned long sleeps_of(int thread)
{
	char path[64], line[128];
	unsigned long n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", getppid(), thread);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file) && sscanf(line, "voluntary_ctxt_switches: %lu", &n) != 1)
		;
	if (file)
		fclose(file);
	return n;
}

/* In a process of its own: stop one thread of the parent until another one has slept some times. Then change the next
 * words there. Writes one character: whether the thread is stopped. */
static void hold_thread(int thread, int until, int answers, volatile int *next)
{
	/* It ends with the parent. */
	const bool stopped = !prctl(PR_SET_PDEATHSIG, SIGKILL) && !ptrace(PTRACE_SEIZE, thread, NULL, NULL) &&
		!ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) && waitpid(thread, NULL, __WALL) == thread;
	const unsigned long before = sleeps_of(until);

	if (write(answers, stopped ? "y" : "n", 1) == 1 && stopped) {
		while (sleeps_of(until) < before + 20)
			usleep(10000);
		ptrace(PTRACE_POKEDATA, thread, (void *)(uintptr_t)next, (void *)1);
	}
	_exit(0);
}

/*
 * The thread that looks at kernels that poll is not given the processor for a while. Meanwhile it still shows that a
 * block waits for a unit, although the block has got and emptied this unit, and computes. That is no deadlock.
 */
static int starved(void)
{
	adsmOnce *from = make(2, UNIT * sizeof(int)), *to = make(1, 4);
	struct test_unit work = { to, 0 };
	int answers[2], units, judge;
	volatile int *next = adsmOnceFresh(from, 1);
	pthread_t thread;
	char answer;
	pid_t child;

	CHECK(next && !pipe(answers));
	*next = 0;
	on(0);
	CHECK_OK(adsmCall(kernel("linger"), adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), adsmPtr(from->address),
			  adsmPtr(to->address)));
	thread = start(await_unit, &work);
	until_waiting(2, NULL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	units = find_thread("adsm-units");
	judge = find_thread("adsm-deadlock");
	CHECK(units && judge);
	child = fork();
	CHECK(child >= 0);
	if (!child)
		hold_thread(units, judge, answers[1], next);
	CHECK_EQ(read(answers[0], &answer, 1), 1);
	memset(adsmOnceFresh(from, 0), 0, UNIT * sizeof(int));
	CHECK_OK(adsmOnceSet(from, 0));
	if (answer != 'y')
		*next = 1;
	CHECK_EQ((uintptr_t)end(thread), 7);
	CHECK_OK(adsmSync());
	CHECK_EQ(waitpid(child, NULL, 0), child);
	CHECK_OK(adsmOnceFree(from));
	CHECK_OK(adsmOnceFree(to));
	if (answer == 'y')
		return 0;
	fprintf(stderr, "a process may not stop a thread of its parent here\n");
	return 77;
}

/* More blocks wait than most processors have cores (POCL_MAX_PTHREAD_COUNT sets the threads of the driver). */
static void crowd(void)
{
	enum { BLOCKS = 100 };
	adsmOnce *input = make(BLOCKS, UNIT * sizeof(int)), *partial = make(BLOCKS, UNIT * sizeof(int));
	adsmOnce *sums = make(BLOCKS, 4);

	on(0);
	/* ThreadSanitizer's own thread is one of the program's, which may do anything. */
	if (!WITH_TSAN) {
		CHECK_OK(adsmCall(kernel("scan_units"), adsmDim3(BLOCKS, 1, 1), adsmDim3(1, 1, 1),
				  adsmPtr(input->address), adsmPtr(partial->address), adsmPtr(sums->address)));
		CHECK_EQ(adsmSync(), -EDEADLK);
	}
	CHECK_OK(adsmOnceFree(input));
	CHECK_OK(adsmOnceFree(partial));
	CHECK_OK(adsmOnceFree(sums));
}

static void deadlock(void)
{
	adsmDim one = adsmDim3(1, 1, 1);
	adsmOnce *units = make(4, 4);
	struct test_unit work = { units, 3 };
	pthread_t thread;

	/* Its own thread is one of the program's, which may do anything. */
	if (WITH_TSAN) {
		CHECK_OK(adsmOnceFree(units));
		return;
	}
	on(0);
	CHECK_OK(adsmCall(kernel("follow"), one, one, adsmPtr(units->address), adsmVal(1), adsmPtr(units->address),
			  adsmVal(2)));
	CHECK_OK(adsmCall(kernel("follow"), one, one, adsmPtr(units->address), adsmVal(0), adsmPtr(units->address),
			  adsmVal(1)));
	put(units, 0, 1);
	CHECK_EQ(adsmSync(), -EDEADLK);
	CHECK_EQ(get(units, 1), 2);
	CHECK(adsmOnceTry(units, 2) == NULL);
	CHECK_OK(adsmOnceFree(units));

	/* Threads alone, the main one in pthread_join(). */
	units = make(4, 4);
	work = (struct test_unit){ units, 3 };
	thread = start(expect_deadlock, &work);
	end(thread);
	CHECK_OK(adsmOnceFree(units));
}

/* On backends whose kernels cannot: the module loads, threads have their objects, and a call says so. */
static void refused(void)
{
	adsmDim one = adsmDim3(1, 1, 1);
	adsmOnceDistribution there = adsmOnceOnDevice(0);
	adsmOnce *once = make(4, 4);

	put(once, 0, 1);
	CHECK_EQ(get(once, 0), 1);
	CHECK_EQ(adsmCall(kernel("chain"), one, one, adsmPtr(once->address)), -ENOTSUP);
	CHECK(strstr(adsmLastError(), "'chain' takes write-once objects"));
	CHECK(!adsmOnceAlloc(4, 4, &there) && errno == ENOTSUP);
	CHECK_OK(adsmOnceFree(once));
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "pipelines", pipelines }, { "order", order }, { "random", random_units }, { "places", places },
		{ "arguments", arguments }, { "objects", objects }, { "blocked", blocked },
		{ "given_late", given_late }, { "full", full }, { "idle", idle }, { "misuses", misuses },
		{ "behind", behind }, { "lost", lost }, { "given_up", given_up }, { "deadlock", deadlock },
		{ "crowd", crowd },
	};

	setenv("ADSM_CPU_DEVICES", "2", 0);
	if (check_no_driver(adsmInit())) {
		fprintf(stderr, "%s\n", adsmLastError());
		return 77;
	}
	module = adsmModuleLoad(getenv("TEST_ONCE"));
	CHECK(module);
	if (argc > 1 && !strcmp(argv[1], "refused"))
		refused();
	if (argc > 1 && !strcmp(argv[1], "killed"))
		return killed();
	if (argc > 1 && !strcmp(argv[1], "starved"))
		return starved();
	test_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
	CHECK_OK(adsmModuleUnload(module));
	CHECK_OK(adsmShutdown());
	return 0;
}
