/* SPDX-License-Identifier: MIT */
/*
 * tasks.c - tasks as programs see them. tasks MODULE CASE [nodes]:
 *
 *	works		all that a task may do, by few workers and by many
 *	waits		workers wait for a lock, and many times at barriers: for record.py
 *	errors		each error is reported with its name and its numbers, and the device runs the next task
 *	crash		a worker crashes in a critical section: the device is lost, and waiting threads get an error
 *	crash-flag	the same while others wait for a flag
 *	endless		a worker of a task that has failed computes on: the device is lost
 *	stuck		one computes with a lock that the others want, until killed.py kills a node
 *	apart		two workers use two parts of a page, for node_pages.py
 *	many, spread	as many tasks as many.py says; a task that writes to many pages
 *	pages		what only workers with copies of pages can get wrong
 *	room		tasks for whose workers many.py leaves a node no room, or no threads
 *	modules		modules are loaded while many.py leaves a node little memory
 *	refused		a device without tasks: they are refused, and the kernel beside them is not
 *
 * "nodes": the device is two nodes with 64 workers each; they know locks and memory of others by messages only.
 */
#include <adsm.h>
#include <adsm_queue.h>

#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define CHECK_MORE adsmLastError()
#include "../check.h"

#define N 4096

static adsmModule *module;
static int *numbers, *total;
static bool on_nodes;
static unsigned most;

static adsmKernel *kernel(const char *name)
{
	adsmKernel *found = adsmKernelGet(module, name);

	CHECKF(found, "%s", name);
	return found;
}

/* A call of a task and its end. */
#define RUN(name, workers, ...) ({ \
	int error_ = adsmCall(kernel(name), adsmDim3(workers, 1, 1), adsmDim3(1, 1, 1), ##__VA_ARGS__); \
	error_ ? error_ : adsmSync(); \
})

static const unsigned few_and_many[] = { 1, 2, 3, 7, 8, 9, 17, 64, 65, 256 };
#define N_SIZES (sizeof(few_and_many) / sizeof(few_and_many[0]))

static void sums(unsigned n)
{
	long sum = 0;

	for (int i = 0; i < N; i++)
		sum += numbers[i] = i * 7 % 1000;
	*total = 0;
	CHECK_OK(RUN("sum", n, adsmPtr(numbers), adsmVal((int)N), adsmPtr(total)));
	CHECK_EQ(*total, sum);
	*total = 0;
	CHECK_OK(RUN("count", n, adsmPtr(total), adsmVal((int)200)));
	CHECK_EQ(*total, 200 * (int)n);
}

static void barriers(unsigned n)
{
	int *wrong = numbers + N / 2;

	memset(numbers, 0, N * sizeof(*numbers));
	CHECK_OK(RUN("rounds", n, adsmPtr(numbers), adsmVal((int)(n > 20 ? 20 : 200)), adsmPtr(wrong)));
	for (unsigned i = 0; i < n; i++)
		CHECK_AT(wrong[i], i, 0);
}

static void accounts(unsigned n)
{
	int sum = 0;

	for (int i = 0; i < 16; i++)
		numbers[i] = 1000;
	CHECK_OK(RUN("transfer", n, adsmPtr(numbers), adsmVal((int)16), adsmVal((int)300)));
	for (int i = 0; i < 16; i++)
		sum += numbers[i];
	CHECK_EQ(sum, 16000);
}

static void memory(unsigned n)
{
	unsigned long *where = adsmAlloc(sizeof(*where));

	CHECK(where);
	*total = 0;
	CHECK_OK(RUN("memory", n, adsmPtr(total), adsmPtr(where)));
	CHECK_EQ(*total, n * (n + 1) / 2);
	adsmFree(where);
	*total = 0;
	CHECK_OK(RUN("blocks", n, adsmVal(n > 20 ? 2 : 20), adsmPtr(total)));
	CHECK_EQ(*total, 0);
}

static void works(void)
{
	for (size_t i = 0; i < N_SIZES && few_and_many[i] <= most; i++) {
		sums(few_and_many[i]);
		barriers(few_and_many[i]);
		accounts(few_and_many[i]);
		memory(few_and_many[i]);
	}
	/* The grid is the workers, however it is given. */
	*total = 0;
	CHECK_OK(adsmCall(kernel("count"), adsmDim3(2, 3, 2), adsmDim3(0, 0, 0), adsmPtr(total), adsmVal((int)1)));
	CHECK_OK(adsmSync());
	CHECK_EQ(*total, 12);
	CHECK_OK(RUN("turns", 4, adsmPtr(total), adsmVal((int)200)));
	CHECK_EQ(*total, 212);
	/* Kernels and tasks in turn. */
	for (int i = 0; i < 20; i++) {
		CHECK_OK(adsmCall(kernel("fill"), adsmDim3(N / 64, 1, 1), adsmDim3(64, 1, 1), adsmPtr(numbers),
				  adsmVal(i), adsmVal((int)N)));
		CHECK_OK(adsmCall(kernel("sum"), adsmDim3(4, 1, 1), adsmDim3(1, 1, 1), adsmPtr(numbers),
				  adsmVal((int)N), adsmPtr(total)));
	}
	CHECK_OK(adsmSync());
	CHECK_EQ(*total, 212 + 190 * N);
	memset(numbers, 0, N * sizeof(*numbers));
	for (int i = 0; i < 5; i++) {
		CHECK_OK(adsmCall(kernel("one_more"), adsmDim3(5, 1, 1), adsmDim3(1, 1, 1), adsmPtr(numbers),
				  adsmVal((int)N)));
		CHECK_OK(adsmCall(kernel("twice"), adsmDim3(N / 64, 1, 1), adsmDim3(64, 1, 1), adsmPtr(numbers),
				  adsmVal((int)N)));
	}
	CHECK_OK(adsmSync());
	for (int i = 0; i < N; i++)
		CHECK_AT(numbers[i], i, 62);
}

static void waits(void)
{
	memset(numbers, 0, N * sizeof(*numbers));
	if (on_nodes)
		CHECK_OK(RUN("holds_on", 4, adsmVal((int)20000000)));
	else
		CHECK_OK(RUN("holds", 4, adsmPtr(numbers), adsmVal((int)20000000)));
	for (int i = 0; i < 2; i++)
		barriers(64);
}

/* ---- errors */

/* It has failed with this error, in a sentence that has all of these words; NULL ends them. */
static void check_failed_with(int got, int want, ...)
{
	va_list words;

	CHECK_EQ(got, want);
	va_start(words, want);
	for (const char *word; (word = va_arg(words, const char *)); )
		CHECKF(strstr(adsmLastError(), word), "'%s'", word);
	va_end(words);
}

/* The device is as it was: locks are free. */
static void check_alive(void)
{
	*total = 0;
	CHECK_OK(RUN("count", 8, adsmPtr(total), adsmVal((int)10)));
	CHECK_EQ(*total, 80);
	for (unsigned id = 0; id < 12; id++)
		CHECK_OK(RUN("uses_lock", 2, adsmVal(id)));
}

#define VAL(v) adsmVal((int)(v))

/* Objects have what workers wrote until they left, except on nodes. */
static void keeps_stores(void)
{
	for (unsigned n = 1; n <= 128; n = 2 * n + 1) {
		memset(numbers, 0, N * sizeof(*numbers));
		check_failed_with(RUN("writes_and_fails", n, adsmPtr(numbers)), -EDEADLK,
				  "lock 9, which it already holds", NULL);
		for (unsigned i = 0; i < N; i++)
			CHECK_AT(numbers[i], i, i < n ? (int)i + 1 : 0);
	}
}

/* Workers of a task that has failed end at their next release, too. The holder's first one must not come before the
 * failure. */
static void fails_at_holder(void)
{
	int error, n = 10000000;

	do {
		error = RUN("only_unlocks", 2, VAL(n));
		n *= 2;
	} while (error == -EPERM && strstr(adsmLastError(), "no worker holds") && n < 1000000000);
	check_failed_with(error, -EPERM, "worker 1", "lock 0", "worker 0 holds", NULL);
	check_alive();
}

/* Code and sentence are those of the same error. */
static void fails_twice(void)
{
	for (int i = 0; i < 40; i++) {
		const int error = RUN("two_errors", 2, VAL(0));

		if (error == -EPERM)
			check_failed_with(error, -EPERM, "worker 0", "lock 7, which no worker holds", NULL);
		else
			check_failed_with(error, -EINVAL, "worker 1", "lock 2097152", NULL);
	}
}

/* Two calls fail before the thread waits. Each error has its own call's sentence, and both sentences are logged. */
static void two_fail(void)
{
	const int saved = dup(STDERR_FILENO), file = memfd_create("log", MFD_CLOEXEC);
	const adsmDim one = { 1, 1, 1 };
	char log[4096] = "";
	adsmEvent first, second;
	int error;

	CHECK(saved >= 0 && file >= 0 && dup2(file, STDERR_FILENO) >= 0);
	CHECK_OK(adsmCall(kernel("unlocks_late"), one, one, VAL(30000000)));
	CHECK_OK(adsmCallEvent(&first));
	CHECK_OK(adsmCall(kernel("circle"), adsmDim3(2, 1, 1), one, VAL(0)));
	CHECK_OK(adsmCallEvent(&second));
	error = adsmSync();
	CHECK(dup2(saved, STDERR_FILENO) >= 0 && pread(file, log, sizeof(log) - 1, 0) > 0);
	fputs(log, stderr);
	check_failed_with(error, -EPERM, "'unlocks_late'", "lock 5, which no worker holds", NULL);
	check_failed_with(adsmEventWait(second), -EDEADLK, "'circle'", "worker 0 waits for lock 1", NULL);
	check_failed_with(adsmEventWait(first), -EPERM, "'unlocks_late'", "lock 5, which no worker holds", NULL);
	CHECK(strstr(log, "'unlocks_late'") && strstr(log, "'circle'"));
	close(saved);
	close(file);
	CHECK_OK(adsmSync());
}

/* However many calls fail after it, the first error has its own call's sentence. */
static void many_fail(void)
{
	const adsmDim one = { 1, 1, 1 };

	CHECK_OK(adsmCall(kernel("unlocks"), one, one, VAL(0), VAL(-1)));
	for (int i = 0; i < 70; i++)
		CHECK_OK(adsmCall(kernel("locks_twice"), one, one, VAL(0)));
	check_failed_with(adsmSync(), -EPERM, "'unlocks'", "lock 5, which no worker holds", NULL);
	CHECK_OK(adsmSync());
}

static void errors(void)
{
	const char *option = on_nodes ? "ADSM_CLUSTER_NODES" :
		getenv("ADSM_SCRATCHPAD_CORES") ? "ADSM_SCRATCHPAD_CORES" : "ADSM_TASK_WORKERS";

	check_failed_with(RUN("uses_lock", most + 1, VAL(1)), -EINVAL, "task 'uses_lock'", on_nodes ? "129" : "257",
			  on_nodes ? "128" : "256", option, NULL);
	check_failed_with(adsmCall(kernel("uses_lock"), adsmDim3(1, 1, 1), adsmDim3(2, 1, 1), VAL(1)), -EINVAL,
			  "2 threads", "at most 1", NULL);
	check_alive();

	check_failed_with(RUN("ends_with_lock", 4, VAL(2)), -EOWNERDEAD, "'ends_with_lock'", "worker 2", "lock 102",
			  NULL);
	check_alive();
	check_failed_with(RUN("unlocks", 3, VAL(1), VAL(2)), -EPERM, "'unlocks'", "worker 1", "lock 5",
			  "worker 2 holds", NULL);
	check_failed_with(RUN("unlocks", 3, VAL(0), VAL(-1)), -EPERM, "worker 0", "lock 5", "no worker holds", NULL);
	check_alive();
	check_failed_with(RUN("locks_twice", 5, VAL(4)), -EDEADLK, "worker 4", "lock 9, which it already holds", NULL);
	check_alive();
	if (!on_nodes)
		keeps_stores();
	check_failed_with(RUN("misses_barrier", 5, VAL(3)), -EDEADLK, "'misses_barrier'", "worker 0", "4 of 5",
			  "but worker 3 has ended", NULL);
	check_failed_with(RUN("misses_barrier", 2, VAL(0)), -EDEADLK, "worker 1 waits", "but worker 0 has ended", NULL);
	check_failed_with(RUN("misses_barrier", 120, VAL(77)), -EDEADLK, "119 of 120", "but worker 77 has ended", NULL);
	check_alive();
	check_failed_with(RUN("circle", 2, VAL(0)), -EDEADLK, "worker 0 waits for lock 1, which worker 1 holds",
			  "worker 1 waits for lock 0, which worker 0 holds", NULL);
	check_failed_with(RUN("circle", 100, VAL(0)), -EDEADLK, "worker 3 waits for lock 4, which worker 4 holds",
			  "96 more", NULL);
	check_alive();
	check_failed_with(RUN("has_many", 2, VAL(40)), -EDEADLK, "worker 0 waits for lock 139, which worker 1 holds",
			  "worker 1 waits for lock 39, which worker 0 holds", NULL);
	check_failed_with(RUN("locks_at_barrier", 3, VAL(1)), -EDEADLK, "worker 0 waits for lock 3, "
			  "which worker 1 holds", "worker 1 waits at the barrier", NULL);
	check_alive();
	check_failed_with(RUN("uses_lock", 1, adsmVal(1u << 20)), -EINVAL, "lock 1048576", "1048575",
			  NULL);
	CHECK_OK(RUN("uses_lock", 1, adsmVal((1u << 20) - 1)));
	check_failed_with(RUN("frees", 1, adsmPtr(numbers)), -EINVAL, "worker 0 frees", NULL);
	check_failed_with(RUN("all_free", 6, adsmPtr(numbers)), -EINVAL, "'all_free'", "frees", NULL);
	check_alive();
	fails_at_holder();
	fails_twice();
	/* Flags. Of a task that has failed none stays set, nor of one that has ended. */
	check_failed_with(RUN("no_flag", 3, VAL(1), VAL(1)), -EDEADLK, "'no_flag'", "worker 0 waits for flag 100",
			  "worker 2 waits for flag 102", "1 of 3 have ended", NULL);
	check_failed_with(RUN("no_flag", 2, VAL(1), VAL(0)), -EDEADLK, "worker 0 waits for flag 100",
			  "worker 1 waits at the barrier", NULL);
	check_failed_with(RUN("no_flag", 1, VAL(7), VAL(0)), -EDEADLK, "worker 0 waits for flag 100", NULL);
	check_failed_with(RUN("no_flag", 50, VAL(50), VAL(0)), -EDEADLK, "worker 3 waits for flag 103",
			  "46 more wait for flags", NULL);
	check_failed_with(RUN("flag_and_lock", 2, VAL(0)), -EDEADLK, "worker 1 waits for lock 3, which worker 0 holds",
			  "worker 0 waits for flag 8", NULL);
	CHECK_OK(RUN("uses_flag", 2, adsmVal(1048575u), VAL(0)));
	check_failed_with(RUN("uses_flag", 2, adsmVal(1048575u), VAL(1)), -EDEADLK, "flag 1048575", NULL);
	for (int kind = 0; kind < 3; kind++)
		check_failed_with(RUN("uses_flag", 1, adsmVal(1u << 20), VAL(kind)), -EINVAL, "flag 1048576",
				  "1048575", NULL);
	check_alive();
	/* Errors of calls that are not waited for in between are reported once. */
	for (int i = 0; i < 3; i++)
		CHECK_OK(adsmCall(kernel("locks_twice"), adsmDim3(2, 1, 1), adsmDim3(1, 1, 1), VAL(0)));
	check_failed_with(adsmSync(), -EDEADLK, "lock 9", NULL);
	CHECK_OK(adsmSync());
	two_fail();
	many_fail();
	check_alive();
}

static void crash(const char *has)
{
	const bool in_section = !strcmp(has, "crash");
	/* Outside of all objects, which nodes of a cluster do not see: then of all memory. */
	const unsigned long where = in_section || on_nodes ? 1ul << 44 : 2ul << 20;
	int error;

	if (!strcmp(has, "crash-flag")) {
		const int who = on_nodes ? 0 : 4;

		check_failed_with(RUN("flag_of_one", 6, adsmPtr(numbers), adsmVal(1ul << 44), VAL(who)), -ENODEV,
				  "'flag_of_one'", "SIGSEGV", who ? "worker 4" : "worker 0",
				  on_nodes ? " on node 0 (" : "", NULL);
		return;
	}
	error = RUN("crashes", 6, adsmPtr(numbers), adsmVal(where), VAL(5), VAL(in_section));

	check_failed_with(error, -ENODEV, "'crashes'", "SIGSEGV", "worker 5", on_nodes ? " on node 1 (" : "", NULL);
	CHECK(where > 2ul << 20 ||
	      strstr(adsmLastError(), " bytes behind the end of the 4096 bytes of an object at 0x"));
	CHECK_EQ(strstr(adsmLastError(), "lock 11") != NULL, in_section);
}

static void endless(void)
{
	*total = 0;
	if (on_nodes) {
		int error;

		/* The holder may leave, too, as long as it has not begun to compute. */
		do
			error = RUN("stuck", 4, VAL(3), VAL(1));
		while (error == -EPERM);
		check_failed_with(error, -ENODEV, "'stuck'", "did not stop", NULL);
		return;
	}
	check_failed_with(RUN("computes_on", 2, adsmPtr(total)), -ENODEV, "'computes_on'", "worker 0", "lock 1", NULL);
}

static void stuck(void)
{
	CHECK_OK(adsmCall(kernel("stuck"), adsmDim3(4, 1, 1), adsmDim3(1, 1, 1), VAL(3), VAL(0)));
	printf("ready\n");
	fflush(stdout);
	check_failed_with(adsmSync(), -ENODEV, NULL);
}

/* The library has a pidfd of the device's process. */
static int pid_of_device(void)
{
	char path[64], line[128];
	int pid = 0;

	for (int fd = 0; fd < 4096 && !pid; fd++) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
		file = fopen(path, "r");
		while (file && fgets(line, sizeof(line), file))
			sscanf(line, "Pid: %d", &pid);
		if (file)
			fclose(file);
	}
	return pid;
}

/* The first task reserves two ranges for the memory of ADSM_TASK_ALLOC. If there is no room for the first or the second
 * one, the next task tries again. */
static void short_of_room(void)
{
	const int device = pid_of_device();
	struct rlimit was, limit;
	unsigned long pages;
	char path[64];

	CHECK(device > 0);
	snprintf(path, sizeof(path), "/proc/%d/statm", device);
	for (int i = 0; i < 2; i++) {
		FILE *file = fopen(path, "r");

		CHECK(file && fscanf(file, "%lu", &pages) == 1 && !fclose(file));
		CHECK_EQ(prlimit(device, RLIMIT_AS, NULL, &was), 0);
		limit = (struct rlimit){ pages * 4096 + (i ? 3ul << 29 : 1ul << 29), was.rlim_max };
		CHECK_EQ(prlimit(device, RLIMIT_AS, &limit, NULL), 0);
		check_failed_with(RUN("uses_lock", 1, VAL(1)), -ENOMEM, "'uses_lock'", "not enough memory", NULL);
		CHECK_EQ(prlimit(device, RLIMIT_AS, &was, NULL), 0);
	}
	CHECK_OK(RUN("uses_lock", 1, VAL(1)));
}

/* Each has bytes beside everybody else's, and numbers across the ends of pages. */
static void pages(void)
{
	if (!on_nodes)
		short_of_room();
	for (size_t i = 0; i < N_SIZES && few_and_many[i] <= most; i++) {
		const unsigned n = few_and_many[i];
		int *wrong = numbers + N / 2;

		memset(numbers, 0, N * sizeof(*numbers));
		CHECK_OK(RUN("neighbours", n, adsmPtr(numbers), VAL(6), adsmPtr(wrong)));
		for (unsigned k = 0; k < n; k++)
			CHECK_AT(wrong[k], k, 0);
		for (unsigned k = 0; k < 7 * n; k++)
			CHECK_AT(((unsigned char *)numbers)[k], k, (k % n + 6) & 255);
		*total = 0;
		memset(numbers, 0, N * sizeof(*numbers));
		CHECK_OK(RUN("nested", n, adsmPtr(numbers), VAL(20)));
		CHECK(numbers[0] == 20 * (int)n && numbers[1] == 20 * (int)n && numbers[2] == 20 * (int)n);
		*total = 0;
		if (on_nodes)
			continue;
		CHECK_OK(RUN("atomics", n, adsmPtr(total), VAL(50), adsmPtr(numbers)));
		CHECK_EQ(*total, 50 * (int)n);
	}
	if (on_nodes) {
		check_failed_with(RUN("atomics", 2, adsmPtr(total), VAL(50), adsmPtr(numbers)), -ENOTSUP, "'atomics'",
				  "does an atomic or volatile access", "ADSM_LOCK", NULL);
		check_failed_with(RUN("holds", 2, adsmPtr(numbers), VAL(1)), -ENOTSUP, "'holds'",
				  "does an atomic or volatile access", "ADSM_LOCK", NULL);
		return;
	}
	/* Memory that was another worker's: nothing that anybody has of it from before comes back. */
	for (int i = 0; i < 50; i++) {
		unsigned long *where = adsmAlloc(sizeof(*where));

		*total = 0;
		CHECK_OK(RUN("again", 6, adsmPtr(where), adsmPtr(total)));
		CHECK_EQ(*total, 0);
		adsmFree(where);
	}
}

/* Each line of the input has a number of workers, and the error of their task. */
static void room(void)
{
	unsigned n;
	int error;

	while (scanf("%u %d", &n, &error) == 2) {
		const int got = RUN("laps", n, VAL(1));

		if (error)
			check_failed_with(got, -error, "'laps'", error == ENOMEM ? "memory" : "thread", NULL);
		else
			CHECK_OK(got);
		printf("ready\n");
		fflush(stdout);
	}
}

static int fill(void)
{
	const adsmDim one = { 1, 1, 1 };
	const int error = adsmCall(kernel("fill"), one, one, adsmPtr(numbers), VAL(1), VAL(1));

	return error ? error : adsmSync();
}

/* For each line of the input a module is loaded, by a call of its kernel, or the call fails. Then, for the next line, a
 * task of it runs. */
static void modules(const char *path)
{
	adsmModule *const first = module;
	char line[16];
	int error;

	CHECK_OK(fill());
	while (fgets(line, sizeof(line), stdin)) {
		module = adsmModuleLoad(path);
		CHECK(module);
		error = fill();
		printf(error ? "failed\n" : "ready\n");
		fflush(stdout);
		CHECK(fgets(line, sizeof(line), stdin));
		CHECK_OK(RUN("laps", 4, VAL(1)));
		CHECK_OK(adsmModuleUnload(module));
		module = first;
		printf("ready\n");
		fflush(stdout);
	}
}

/* As many tasks as each line of the input says; or a task whose two workers write to as many bytes. */
static void many(bool spread)
{
	int n;

	while (scanf("%d", &n) == 1) {
		int *p = spread ? adsmAlloc((size_t)n) : NULL;

		if (spread)
			CHECK_OK(RUN("spread", 2, adsmPtr(p), VAL(n / 4)));
		for (int i = 0; spread && i < n / 4; i += 1024)
			CHECK_AT(p[i], i, i + 1);
		adsmFree(p);
		while (!spread && n--)
			CHECK_OK(RUN("laps", 2, VAL(0)));
		printf("ready\n");
		fflush(stdout);
	}
}

static void refused(void)
{
	const int error = adsmCall(kernel("count"), adsmDim3(2, 1, 1), adsmDim3(1, 1, 1), adsmPtr(total), VAL(1));

	check_failed_with(error, -ENOTSUP, "task 'count'", "'cpu'", NULL);
	CHECK_OK(adsmCall(kernel("fill"), adsmDim3(N / 64, 1, 1), adsmDim3(64, 1, 1), adsmPtr(numbers), VAL(42),
			  VAL(N)));
	CHECK_OK(adsmSync());
	for (int i = 0; i < N; i++)
		CHECK_AT(numbers[i], i, 42);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "";

	CHECK(argc == 3 || argc == 4);
	on_nodes = argc == 4;
	most = on_nodes ? 128 : 256;
	module = adsmModuleLoad(argv[1]);
	if (!module && check_no_driver(-errno)) {
		printf("no device: %s\n", adsmLastError());
		return 77;
	}
	CHECK(module);
	numbers = adsmAlloc(N * sizeof(*numbers));
	total = adsmAlloc(sizeof(*total));
	CHECK(numbers && total);
	if (!strcmp(what, "works"))
		works();
	else if (!strcmp(what, "waits"))
		waits();
	else if (!strcmp(what, "errors"))
		errors();
	else if (!strncmp(what, "crash", 5))
		crash(what);
	else if (!strcmp(what, "endless"))
		endless();
	else if (!strcmp(what, "stuck"))
		stuck();
	else if (!strcmp(what, "pages"))
		pages();
	else if (!strcmp(what, "apart"))
		CHECK_OK(RUN("apart", 2, adsmPtr(numbers), VAL(512), VAL(32)));
	else if (!strcmp(what, "many") || !strcmp(what, "spread"))
		many(*what == 's');
	else if (!strcmp(what, "room"))
		room();
	else if (!strcmp(what, "modules"))
		modules(argv[1]);
	else if (!strcmp(what, "refused"))
		refused();
	else
		FAIL("no case '%s'", what);
	adsmFree(numbers);
	adsmFree(total);
	CHECK_OK(adsmModuleUnload(module));
	CHECK_OK(adsmShutdown());
	return 0;
}
