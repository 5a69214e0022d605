/* SPDX-License-Identifier: MIT */
/*
 * app.c - an application of a cluster, for tests of its start and its end. app MODE...:
 *
 *	once		one call; its result is checked
 *	loop		"ready", then calls without end; each result is checked
 *	go		"ready", then calls as in a loop until the file TEST_GO exists, and 500 more
 *	idle		"ready", and then only a wait for the device's end
 *	meet		"ready", then a call whose blocks, one for each node, wait for files in the folder TEST_MEET
 *			(kernels/cluster.c)
 *	crash WHERE B	"ready", then a call whose block B, of one for each node, makes an invalid store: "kept", to an
 *			object that it only reads; "beyond", to no object; or "outside" of the device's memory
 *	subreaper	becomes the parent of orphaned processes, as the first process of a namespace does
 *
 * If the library may not have waited for the end of all that it had started, the program prints "impatient" to stderr.
 * Its exit status is 0; 3, after "refused: " and the library's sentence, if the library does not start; 4, after
 * "lost: ", if the device is lost with the right report and without a child; 1 for errors.
 */
#include <adsm.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK_MORE adsmLastError()
#include "../check.h"

#define N 100000u
#define PATIENCE 3.5		/* seconds; the library has a little more with its keeper */

static adsmModule *module, *cluster_module;
static adsmKernel *increment;
static unsigned *numbers, *kept, round_;

static int start_call(unsigned *array)
{
	return adsmCall(increment, adsmDim3(N / 256 + 1, 1, 1), adsmDim3(256, 1, 1), adsmPtr(array), adsmVal(N));
}

/* This process has no child of the cluster: neither now nor after the cluster has ended. */
static void check_childless(void)
{
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Nothing is left of the cluster when this returns, unless that took longer than the library waits. */
static _Noreturn void end(int status)
{
	double start;

	if (numbers)
		adsmFree(numbers);
	if (kept)
		adsmFree(kept);
	if (module)
		adsmModuleUnload(module);
	if (cluster_module)
		adsmModuleUnload(cluster_module);
	start = now();
	CHECK_OK(adsmShutdown());
	if (now() - start > PATIENCE)
		fputs("impatient\n", stderr);
	check_childless();
	exit(status);
}

static _Noreturn void on_lost(int error, bool has_kept)
{
	CHECK_EQ(error, -ENODEV);
	printf("lost: %s\n", adsmLastError());
	fflush(stdout);
	/* What node 0 had of objects that the last call did not write is fetched all the same. */
	for (unsigned i = 0; has_kept && i < N; i++)
		CHECK_AT(kept[i], i, 1);
	CHECK(!increment || !numbers || start_call(numbers) == -ENODEV);
	end(4);
}

static unsigned *make_array(void)
{
	unsigned *array = adsmAlloc(N * sizeof(*array));

	if (!array)
		on_lost(-errno, false);
	memset(array, 0, N * sizeof(*array));
	return array;
}

static void call(void)
{
	int error = start_call(numbers);

	if (!error)
		error = adsmSync();
	if (error)
		on_lost(error, true);
	round_++;
	CHECK_AT(numbers[0], 0, round_);
	CHECK_AT(numbers[N - 1], N - 1, round_);
}

static adsmKernel *load(const char *name, const char *kernel, adsmModule **ret_module)
{
	adsmKernel *found;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.adsm", getenv("TEST_KERNELS"), name);
	*ret_module = adsmModuleLoad(path);
	found = *ret_module ? adsmKernelGet(*ret_module, kernel) : NULL;
	if (!found)
		on_lost(-errno, false);
	return found;
}

/* Each node writes a page that it first has to get. */
static void meet(void)
{
	const char *folder = getenv("TEST_MEET"), *nodes = getenv("ADSM_CLUSTER_NODES");
	const unsigned n = nodes ? (unsigned)atoi(nodes) : 2;
	adsmKernel *kernel = load("cluster", "meet", &cluster_module);
	int error;

	for (unsigned i = 0; i < n; i++)
		numbers[1024 * i] = 100 * i;
	error = adsmCall(kernel, adsmDim3(n, 1, 1), adsmDim3(1, 1, 1), adsmConst(folder, strlen(folder) + 1),
			 adsmPtr(numbers));
	if (!error)
		error = adsmSync();
	if (error)
		on_lost(error, true);
	for (unsigned i = 0; i < n; i++)
		CHECK_AT(numbers[1024 * i], i, 100 * i + 1);
}

static void crash(const char *where, int block)
{
	const char *nodes = getenv("ADSM_CLUSTER_NODES");
	adsmKernel *kernel = load("cluster", "store", &cluster_module);
	long bytes = !strcmp(where, "kept") ? 4096 : !strcmp(where, "beyond") ? 1l << 30 : 16 - (long)kept;
	int error = adsmCall(kernel, adsmDim3(nodes ? (unsigned)atoi(nodes) : 2, 1, 1), adsmDim3(1, 1, 1),
			     adsmPtr(numbers), adsmPtr(kept), adsmPtr(numbers), adsmVal(bytes), adsmVal(block));

	printf("stores to 0x%lx\n", (unsigned long)((long)kept + bytes));
	if (!error)
		error = adsmSync();
	on_lost(error, true);
}

int main(int argc, char **argv)
{
	bool loop = false, idle = false, meets = false, goes = false;
	int error;

	for (int i = 1; i < argc; i++) {
		loop |= !strcmp(argv[i], "loop");
		idle |= !strcmp(argv[i], "idle");
		meets |= !strcmp(argv[i], "meet");
		goes |= !strcmp(argv[i], "go");
		if (!strcmp(argv[i], "subreaper"))
			CHECK(!prctl(PR_SET_CHILD_SUBREAPER, 1));
	}
	if (adsmInit()) {
		printf("refused: %s\n", adsmLastError());
		check_childless();
		return 3;
	}
	check_childless();
	increment = load("conform", "increment", &module);
	numbers = make_array();
	kept = make_array();
	error = start_call(kept);
	if (!error)
		error = adsmSync();
	if (error)
		on_lost(error, false);
	call();
	puts("ready");
	fflush(stdout);
	if (meets)
		meet();
	if (argc > 3 && !strcmp(argv[1], "crash"))
		crash(argv[2], atoi(argv[3]));
	while (loop || (goes && access(getenv("TEST_GO"), F_OK)))
		call();
	for (unsigned i = 0; goes && i < 500; i++)
		call();
	while (idle) {
		adsmDeviceProps props = { .struct_size = sizeof(props) };

		CHECK_OK(adsmDeviceInfo(0, &props));
		if (props.lost)
			call();
		nanosleep(&(struct timespec) { .tv_nsec = 1000000 }, NULL);
	}
	end(0);
}
