/* SPDX-License-Identifier: MIT */
/*
 * address.c - what a driver does that one address for both sides depends on. Each question is a line of Markdown with
 * its answer; what is measured follows: address [LIBRARY [name | hold]]
 */
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu.h"

#define SIZE (4 * MIB)

static CUresult (*host_alloc)(void **p, size_t size, unsigned flags);
static CUresult (*alloc_async)(CUdeviceptr *p, size_t size, CUstream stream);

/* ---- what the CPU sees */

static sigjmp_buf jump;
static volatile int code;

static void on_fault(int signal, siginfo_t *info, void *context)
{
	code = info->si_code;
	siglongjmp(jump, 1);
}

/* Whether the CPU can read there. */
static bool readable(CUdeviceptr p)
{
	if (sigsetjmp(jump, 1))
		return false;
	(void)*(volatile char *)(uintptr_t)p;
	return true;
}

/* Its mapping, as /proc/self/maps has it: permissions and path; its size in MiB. */
static const char *mapping(CUdeviceptr p)
{
	static char text[512];
	char line[512], rights[8], path[256];
	unsigned long from, to;
	FILE *maps = fopen("/proc/self/maps", "re");

	strcpy(text, "not mapped");
	while (maps && fgets(line, sizeof(line), maps)) {
		path[0] = '\0';
		if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %255[^\n]", &from, &to, rights, path) >= 3 && from <= p &&
		    p < to)
			snprintf(text, sizeof(text), "%s, %lu KiB%s%s", rights, (to - from) >> 10, *path ? ", " : "",
				 path);
	}
	if (maps)
		fclose(maps);
	return text;
}

static void addresses(void)
{
	static const size_t sizes[] = { 16, 4096, MIB, 2 * MIB, 3 * MIB, 64 * MIB };
	CUdeviceptr p[6] = { 0 };
	CUstream stream;

	printf("\nAddresses of cuMemAlloc and the CPU's side of them:\n\n"
	       "| bytes | address | aligned to | mapping | a touch |\n|---|---|---|---|---|\n");
	for (size_t i = 0; i < 6; i++) {
		gpu_must(adsm_cu.cuMemAlloc_v2(&p[i], sizes[i]), "cuMemAlloc");
		printf("| %zu | %#llx | %llu | %s | ", sizes[i], p[i], p[i] & -p[i], mapping(p[i]));
		if (readable(p[i]))
			printf("can be read |\n");
		else
			printf("si_code %d |\n", code);
	}
	for (size_t i = 0; i < 6; i++)
		adsm_cu.cuMemFree_v2(p[i]);
	if (!alloc_async || adsm_cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) ||
	    alloc_async(&p[0], MIB, stream))
		return;
	printf("| 1048576, cuMemAllocAsync | %#llx | %llu | %s | |\n", p[0], p[0] & -p[0], mapping(p[0]));
}

/* ---- a view over the device's address, and its alias */

struct view {
	CUdeviceptr p;
	unsigned *cpu, *alias;
	size_t size;
};

static bool view_over(struct view *view, CUdeviceptr p, size_t size)
{
	int fd = memfd_create("view", MFD_CLOEXEC);

	*view = (struct view){ .p = p, .size = size };
	if (fd < 0 || ftruncate(fd, (off_t)size))
		return false;
	view->cpu = mmap((void *)(uintptr_t)p, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	view->alias = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return view->cpu != MAP_FAILED && view->alias != MAP_FAILED;
}

static bool reserve_again(const struct view *view)
{
	return mmap(view->cpu, view->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) ==
	       view->cpu;
}

static CUresult to_device(const struct view *view, const void *src)
{
	CUresult error = adsm_cu.cuMemcpyHtoDAsync_v2(view->p, src, view->size, NULL);

	return error ? error : adsm_cu.cuCtxSynchronize();
}

static CUresult to_host(void *dst, const struct view *view, size_t size)
{
	CUresult error = adsm_cu.cuMemcpyDtoHAsync_v2(dst, view->p, size, NULL);

	return error ? error : adsm_cu.cuCtxSynchronize();
}

/* The kernel, or where there is none what it would do, by way of the CPU. */
static CUresult run(const struct view *view)
{
	unsigned n = (unsigned)(view->size / sizeof(*view->cpu)), *words;
	void *args[] = { (void *)&view->p, &n };
	CUresult error;

	if (gpu_increment) {
		error = adsm_cu.cuLaunchKernel(gpu_increment, (n + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, args, NULL);
		return error ? error : adsm_cu.cuCtxSynchronize();
	}
	words = malloc(view->size);
	error = words ? to_host(words, view, view->size) : CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned i = 0; !error && i < n; i++)
		words[i]++;
	error = error ? error : to_device(view, words);
	free(words);
	return error;
}

/* The CPU writes, the kernel adds 1, the CPU reads: by the same pointer, moved through the alias. */
static bool both_sides(const struct view *view)
{
	unsigned word = 0;

	for (unsigned i = 0; i < view->size / sizeof(word); i++)
		view->cpu[i] = i;
	return !to_device(view, view->alias) && !run(view) && view->cpu[5] == 5 &&
	       !to_host(&word, view, sizeof(word)) && word == 1 &&
	       !to_host(view->alias, view, view->size) && view->cpu[5] == 6;
}

static void pinned(const struct view *view)
{
	CUresult error = adsm_cu.cuMemHostRegister_v2(view->alias, view->size, 0);
	char seen[160];
	double start;

	snprintf(seen, sizeof(seen), "%s", gpu_error(error));
	if (!error) {
		to_device(view, view->alias);
		start = gpu_now_us();
		for (int i = 0; i < 20; i++)
			to_device(view, view->alias);
		snprintf(seen, sizeof(seen), "works; copies of %zu MiB then run at %.1f GB/s", view->size / MIB,
			 20 * (double)view->size / (gpu_now_us() - start) / 1e3);
		adsm_cu.cuMemHostUnregister(view->alias);
	}
	gpu_answer("Does cuMemHostRegister(alias) give pinned DMA?", !error, "%s", seen);
	error = adsm_cu.cuMemHostRegister_v2(view->cpu, view->size, 0);
	printf("- Registering the device's own address: %s\n", gpu_error(error));
	if (!error)
		adsm_cu.cuMemHostUnregister(view->cpu);
}

static void views(void)
{
	struct view view;
	CUdeviceptr p, again;
	unsigned word = 0;
	CUresult error;
	bool works;
	int type = 0;

	printf("\nA view over cuMemAlloc's address, %zu MiB:\n\n", SIZE / MIB);
	gpu_must(adsm_cu.cuMemAlloc_v2(&p, SIZE), "cuMemAlloc");
	works = view_over(&view, p, SIZE) && both_sides(&view);
	gpu_answer("Is mmap(MAP_FIXED) of a memfd over the device's address safe (cuMemAlloc + view)?", works, "%s",
		   works ? "the CPU's writes and the kernel's arrive on the other side, by one pointer" :
		   "the two sides do not agree");
	if (!works)
		return;
	mprotect(view.cpu, view.size, PROT_NONE);
	error = run(&view);
	mprotect(view.cpu, view.size, PROT_READ | PROT_WRITE);
	gpu_answer("Do kernels run while the view is PROT_NONE?", !error, "%s", gpu_error(error));
	/* The device has 6 at 5 or more; the view says 40. */
	view.cpu[0] = 40;
	error = to_device(&view, view.cpu);
	to_host(&word, &view, sizeof(word));
	printf("- A copy whose host side is the view: %s, and the device %s\n", gpu_error(error),
	       word == 40 ? "has the CPU's bytes" : "keeps its own: it was taken for device memory");
	error = adsm_cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p);
	printf("- The view's kind of memory to the driver: %d (2: device)%s%s\n", type, error ? ", " : "",
	       error ? gpu_error(error) : "");
	pinned(&view);
	reserve_again(&view);
	error = adsm_cu.cuMemFree_v2(p);
	works = !error && !adsm_cu.cuMemAlloc_v2(&again, SIZE);
	gpu_answer("Does the free work once the PROT_NONE reservation is there again?", works, "%s",
		   gpu_error(error));
	if (works) {
		printf("- The next allocation is at %s address; its mapping: %s\n", again == p ? "the same" : "another",
		       mapping(again));
		adsm_cu.cuMemFree_v2(again);
	}
	munmap(view.alias, view.size);
}

/* ---- virtual memory management */

static const CUmemAllocationProp prop = {
	.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
};
static const CUmemAccessDesc access_desc = {
	.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE }, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
};

static double lap(double *start)
{
	double now = gpu_now_us(), us = now - *start;

	*start = now;
	return us;
}

/* An object in the reservation: create, map, set access, view, use, unmap under the view, release. */
static bool object(CUdeviceptr p, size_t size)
{
	CUmemGenericAllocationHandle handle;
	double start = gpu_now_us(), us[5];
	struct view view;
	bool works;

	gpu_must(adsm_cu.cuMemCreate(&handle, size, &prop, 0), "cuMemCreate");
	us[0] = lap(&start);
	gpu_must(adsm_cu.cuMemMap(p, size, 0, handle, 0), "cuMemMap");
	us[1] = lap(&start);
	gpu_must(adsm_cu.cuMemSetAccess(p, size, &access_desc, 1), "cuMemSetAccess");
	us[2] = lap(&start);
	works = view_over(&view, p, size) && both_sides(&view);
	start = gpu_now_us();
	gpu_must(adsm_cu.cuMemUnmap(p, size), "cuMemUnmap");
	us[3] = lap(&start);
	gpu_must(adsm_cu.cuMemRelease(handle), "cuMemRelease");
	us[4] = lap(&start);
	printf("| %zu MiB | %.0f µs | %.0f µs | %.0f µs | %.0f µs | %.0f µs | %s |\n", size / MIB, us[0], us[1], us[2],
	       us[3], us[4], works && view.cpu[5] == 6 ? "one pointer" : "FAILS");
	reserve_again(&view);
	munmap(view.alias, view.size);
	return works;
}

static void arena(void)
{
	static const CUdeviceptr hints[] = { 0x7e8000000000, 0x7e0000000000, 0x600000000000, 0x110000000000,
		0x20000000000, 0x1000000000 };
	static const size_t sizes[] = { 2 * MIB, 16 * MIB, 128 * MIB };
	size_t minimum = 0, recommended = 0;
	unsigned honoured = 0;
	bool works = true;
	CUdeviceptr p, small;

	if (!adsm_cu.cuMemAddressReserve || !adsm_cu.cuMemCreate || !adsm_cu.cuMemGetAllocationGranularity) {
		printf("\nVirtual memory management: the driver has none.\n");
		return;
	}
	adsm_cu.cuMemGetAllocationGranularity(&minimum, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	adsm_cu.cuMemGetAllocationGranularity(&recommended, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
	printf("\nVirtual memory management, granularity %zu KiB, recommended %zu KiB:\n\n", minimum >> 10,
	       recommended >> 10);
	for (size_t i = 0; i < 6; i++) {
		if (adsm_cu.cuMemAddressReserve(&p, 64 * GIB, 0, hints[i], 0))
			continue;
		honoured += p == hints[i];
		adsm_cu.cuMemAddressFree(p, 64 * GIB);
	}
	gpu_answer("Are hints of cuMemAddressReserve honoured?", honoured > 0,
		   "%u of 6 reservations of 64 GiB are where they were wanted", honoured);
	if (!adsm_cu.cuMemAddressReserve(&small, 2 * MIB, 0, hints[0], 0)) {
		printf("- One of 2 MiB: %s\n", small == hints[0] ? "where it was wanted" : "elsewhere");
		adsm_cu.cuMemAddressFree(small, 2 * MIB);
	}
	gpu_must(adsm_cu.cuMemAddressReserve(&p, 64 * GIB, 0, hints[0], 0), "cuMemAddressReserve");
	printf("\n| object | create | map | set access | unmap under the live view | release | |\n"
	       "|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < 3; i++)
		works &= object(p, sizes[i]);
	printf("\n");
	gpu_answer("Does an arena of the driver's, views over it, give one address?", works, "%s",
		   works ? "objects of all three sizes" : "see the table");
	gpu_must(adsm_cu.cuMemAddressFree(p, 64 * GIB), "cuMemAddressFree");
}

/* ---- costs */

/* Microseconds of one copy. */
static double copy_us(CUdeviceptr p, void *host, size_t size, bool out)
{
	int n = size < MIB ? 100 : 5;
	double start = gpu_now_us();

	for (int i = 0; i < n; i++) {
		if (out)
			adsm_cu.cuMemcpyHtoDAsync_v2(p, host, size, NULL);
		else
			adsm_cu.cuMemcpyDtoHAsync_v2(host, p, size, NULL);
		adsm_cu.cuCtxSynchronize();
	}
	return (gpu_now_us() - start) / n;
}

static void costs(void)
{
	const size_t largest = 64 * MIB;
	static void *memory[2];			/* pageable, pinned */
	struct view view = { .size = 1024 };
	CUdeviceptr p;
	double start;

	memory[0] = malloc(largest);
	gpu_must(!memory[0] || adsm_cu.cuMemAlloc_v2(&p, largest), "memory to copy");
	memset(memory[0], 1, largest);
	if (!host_alloc || host_alloc(&memory[1], largest, 0))
		return;
	memset(memory[1], 1, largest);
	printf("\n| bytes | pageable to device | to host | pinned to device | to host |\n|---|---|---|---|---|\n");
	for (size_t size = 4096; size <= largest; size *= 8) {
		printf("| %zu KiB |", size >> 10);
		for (int i = 0; i < 4; i++) {
			double us = copy_us(p, memory[i / 2], size, !(i % 2));

			printf(" %.1f µs, %.1f GB/s |", us, (double)size / us / 1e3);
		}
		printf("\n");
	}
	view.p = p;
	start = gpu_now_us();
	for (int i = 0; gpu_increment && i < 1000; i++)
		run(&view);
	if (gpu_increment)
		printf("\nLaunch and wait of a small kernel: %.1f µs.\n", (gpu_now_us() - start) / 1e3);
}

/* Keep the context, and with it the device awake, until the other end of standard input is closed. */
static int hold(void)
{
	char byte;

	printf("held\n");
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct { int attribute; const char *name; } attributes[] = {
		{ CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, "unified addressing" }, { 83, "managed memory" },
		{ 89, "concurrent managed access" }, { 88, "pageable memory access (HMM)" },
		{ 100, "by the host's page tables" },
		{ CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "virtual memory management" },
	};
	const struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };
	char device_name[64] = "";
	int version = 0, value;

	gpu_open(argc > 1 ? argv[1] : NULL);
	*(void **)&host_alloc = gpu_function("cuMemHostAlloc");
	*(void **)&alloc_async = gpu_function("cuMemAllocAsync");
	sigaction(SIGSEGV, &action, NULL);
	adsm_cu.cuDeviceGetName(device_name, sizeof(device_name), gpu_device);
	adsm_cu.cuDriverGetVersion(&version);
	printf("device: %s, driver interface %d.%d\n", device_name, version / 1000, version % 1000 / 10);
	/* The line above is all that is wanted. */
	if (argc > 2 && !strcmp(argv[2], "name"))
		return 0;
	gpu_start();
	if (argc > 2 && !strcmp(argv[2], "hold"))
		return hold();
	if (!gpu_module)
		printf("\nThere are no kernels: the CPU stands in for them.\n");
	printf("\n");
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (!adsm_cu.cuDeviceGetAttribute(&value, attributes[i].attribute, gpu_device))
			printf("%s%s %d", i ? ", " : "", attributes[i].name, value);
	printf("\n");
	addresses();
	views();
	arena();
	costs();
	return 0;
}
