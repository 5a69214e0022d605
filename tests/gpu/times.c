/* SPDX-License-Identifier: MIT */
/*
 * times.c - a program of CUDA's that knows nothing of the library, and measures itself: times LIBRARY launch|copy|touch
 * [LAUNCHES or MiB]. What is run twice, alone and with the library preloaded, is compared by name: "name<TAB>value<TAB>
 * unit".
 *
 * launch: nanoseconds of a launch among many, with objects and parameters, in a graph, and where one object is read
 * between two. copy: seconds per copy, and the host's memory that it took. touch: the CPU writes and reads what is
 * the device's, which ends by SIGSEGV without the library.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gpu.h"

#define MAX_OBJECTS 1000
#define WORDS 1024u

static struct {
	CUresult (*cuMemHostAlloc)(void **p, size_t size, unsigned flags);
	CUresult (*cuMemFreeHost)(void *p);
	CUresult (*cuMemcpyHtoD_v2)(CUdeviceptr dst, const void *src, size_t size);
	CUresult (*cuMemcpyDtoH_v2)(void *dst, CUdeviceptr src, size_t size);
	CUresult (*cuStreamBeginCapture_v2)(CUstream stream, int mode);
	CUresult (*cuStreamEndCapture)(CUstream stream, CUgraph *graph);
	CUresult (*cuGraphInstantiateWithFlags)(CUgraphExec *ret, CUgraph graph, unsigned long long flags);
	CUresult (*cuGraphLaunch)(CUgraphExec exec, CUstream stream);
} cu;

static CUstream stream;
static CUdeviceptr objects[MAX_OBJECTS];
static unsigned n_launches;

static void look_up(void)
{
#define LOOK_UP(name) *(void **)&cu.name = gpu_function(#name)
	LOOK_UP(cuMemHostAlloc);
	LOOK_UP(cuMemFreeHost);
	LOOK_UP(cuMemcpyHtoD_v2);
	LOOK_UP(cuMemcpyDtoH_v2);
	LOOK_UP(cuStreamBeginCapture_v2);
	LOOK_UP(cuStreamEndCapture);
	LOOK_UP(cuGraphInstantiateWithFlags);
	LOOK_UP(cuGraphLaunch);
}

static void tell(const char *name, double value, const char *unit)
{
	printf("%s\t%.6g\t%s\n", name, value, unit);
}

/* ---- launches */

/* Of the kernel with two parameters, or with 30. */
static void launch(bool many, CUdeviceptr p)
{
	static unsigned zero;
	unsigned n = 1;
	void *args[30] = { &p, &n };

	for (size_t i = 2; i < 30; i++)
		args[i] = &zero;
	gpu_must(adsm_cu.cuLaunchKernel(many ? gpu_thirty : gpu_increment, 1, 1, 1, 32, 1, 1, 0, stream, args, NULL),
		 "cuLaunchKernel");
}

/* Nanoseconds of each, without a wait for the end of the last. N is large, so that the driver's queue is not
 * measured. */
static void launches(const char *name, bool many, size_t reads)
{
	double best = 1e300;
	unsigned word;

	for (int turn = 0; turn < 5; turn++) {
		double start = gpu_now_us(), us;

		for (unsigned i = 0; i < n_launches; i++) {
			launch(many, objects[0]);
			if (reads)
				gpu_must(cu.cuMemcpyDtoH_v2(&word, objects[i % reads], sizeof(word)), "cuMemcpyDtoH");
		}
		us = gpu_now_us() - start;
		gpu_must(adsm_cu.cuStreamSynchronize(stream), "cuStreamSynchronize");
		best = us < best ? us : best;
	}
	tell(name, best * 1e3 / n_launches, "ns");
}

static void graph_launches(void)
{
	double best = 1e300;
	CUgraphExec exec;
	CUgraph graph;

	if (!cu.cuStreamBeginCapture_v2 || !cu.cuGraphInstantiateWithFlags)
		return;
	gpu_must(cu.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
	for (int i = 0; i < 10; i++)
		launch(false, objects[0]);
	gpu_must(cu.cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
	gpu_must(cu.cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiateWithFlags");
	for (int turn = 0; turn < 5; turn++) {
		double start = gpu_now_us(), us;

		for (unsigned i = 0; i < n_launches / 10; i++)
			gpu_must(cu.cuGraphLaunch(exec, stream), "cuGraphLaunch");
		us = gpu_now_us() - start;
		gpu_must(adsm_cu.cuStreamSynchronize(stream), "cuStreamSynchronize");
		best = us < best ? us : best;
	}
	tell("a graph of 10 kernels", best * 1e4 / n_launches, "ns");
}

static void measure_launches(unsigned n)
{
	static const size_t counts[] = { 0, 1, MAX_OBJECTS };
	size_t there = 0;
	void *pinned;
	char name[64];

	n_launches = n;
	/* Where there is no object, kernels use memory of the host, which is none under the library either. */
	gpu_must(cu.cuMemHostAlloc(&pinned, WORDS * sizeof(unsigned), CU_MEMHOSTREGISTER_DEVICEMAP), "cuMemHostAlloc");
	objects[0] = (uintptr_t)pinned;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (; there < counts[i]; there++)
			gpu_must(adsm_cu.cuMemAlloc_v2(&objects[there], WORDS * sizeof(unsigned)), "cuMemAlloc");
		for (int many = 0; many < 2; many++) {
			snprintf(name, sizeof(name), "a launch, %zu objects, %d parameters", counts[i], many ? 30 : 2);
			launches(name, many, 0);
		}
	}
	graph_launches();
	launches("a launch and a read of one of 1000 objects", false, MAX_OBJECTS);
}

/* ---- copies */

/* A line of /proc/self/status, in MiB. */
static double status_mib(const char *key)
{
	char line[256];
	unsigned long kib = 0;
	FILE *file = fopen("/proc/self/status", "re");

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key)))
			kib = strtoul(line + strlen(key), NULL, 10);
	if (file)
		fclose(file);
	return (double)kib / 1024;
}

/* What is resident now becomes the most that was. */
static void forget_peak(void)
{
	FILE *file = fopen("/proc/self/clear_refs", "we");

	if (file) {
		fputs("5", file);
		fclose(file);
	}
}

static void copies(size_t size, bool pinned)
{
	static const char *const kinds[2] = { "pageable", "pinned" }, *const sides[2] = { "device", "host" };
	CUdeviceptr device;
	char name[64];
	void *host;

	if (pinned)
		gpu_must(cu.cuMemHostAlloc(&host, size, 0), "cuMemHostAlloc");
	else
		host = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	gpu_must(!host || host == MAP_FAILED, "memory of the host");
	memset(host, 1, size);
	gpu_must(adsm_cu.cuMemAlloc_v2(&device, size), "cuMemAlloc");
	for (int out = 0; out < 2; out++) {
		double before, best = 1e300, start;

		forget_peak();
		before = status_mib("VmRSS:");
		for (int turn = 0; turn < 3; turn++) {
			/* Else the library knows that both sides have the same. */
			gpu_must(gpu_module ? gpu_launch(gpu_increment, device, 1, NULL) : 0, "cuLaunchKernel");
			gpu_must(adsm_cu.cuCtxSynchronize(), "cuCtxSynchronize");
			start = gpu_now_us();
			gpu_must(out ? cu.cuMemcpyDtoH_v2(host, device, size) : cu.cuMemcpyHtoD_v2(device, host, size),
				 "cuMemcpy");
			best = gpu_now_us() - start < best ? gpu_now_us() - start : best;
		}
		snprintf(name, sizeof(name), "%zu MiB to the %s, %s", size / MIB, sides[out], kinds[pinned]);
		tell(name, (double)size / best / 1e3, "GB/s");
		snprintf(name, sizeof(name), "resident memory, to the %s, %s", sides[out], kinds[pinned]);
		tell(name, status_mib("VmHWM:") - before, "MiB more");
	}
	adsm_cu.cuMemFree_v2(device);
	if (pinned)
		cu.cuMemFreeHost(host);
	else
		munmap(host, size);
}

/* ---- loads and stores */

static int touch(void)
{
	const unsigned n = 1 << 20;
	CUdeviceptr p;
	unsigned *words, bad = 0;

	gpu_must(adsm_cu.cuMemAlloc_v2(&p, n * sizeof(*words)), "cuMemAlloc");
	words = (unsigned *)(uintptr_t)p;
	for (unsigned i = 0; i < n; i++)
		words[i] = i;
	gpu_must(adsm_cu.cuLaunchKernel(gpu_increment, n / 256, 1, 1, 256, 1, 1, 0, stream,
					(void *[]){ &p, (void *)&n }, NULL), "cuLaunchKernel");
	gpu_must(adsm_cu.cuStreamSynchronize(stream), "cuStreamSynchronize");
	for (unsigned i = 0; i < n; i++)
		bad += words[i] != i + 1;
	printf(bad ? "touch: %u words are wrong\n" : "touch: right\n", bad);
	return bad != 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "";
	size_t amount = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;

	gpu_open(argc > 1 ? argv[1] : NULL);
	look_up();
	gpu_start();
	gpu_must(adsm_cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	if (!strcmp(mode, "copy")) {
		copies((amount ? amount : 1024) * MIB, false);
		copies((amount ? amount : 1024) * MIB, true);
		return 0;
	}
	if (!gpu_module) {
		printf("there are no kernels\n");
		return 77;
	}
	if (!strcmp(mode, "launch"))
		measure_launches((unsigned)(amount ? amount : 10000));
	else if (!strcmp(mode, "touch"))
		return touch();
	else
		return 2;
	return 0;
}
