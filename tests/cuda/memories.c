/* SPDX-License-Identifier: MIT */
/*
 * memories.c - a program of CUDA's with memory of every kind, and the library preloaded: what is shared memory then,
 * what passes through as it is, and what stops to be shared, of which one line speaks.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../doubles/cuda/driver.h"
#include "module.inc"

#define SIZE (2 * MiB)
#define PIECES 8u
#define WORDS(size) ((unsigned)((size) / sizeof(unsigned)))

CUresult cuInit(unsigned flags);
CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxSynchronize(void);
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device);
CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t size);
CUresult cuMemAllocManaged(CUdeviceptr *p, size_t size, unsigned flags);
CUresult cuMemAllocAsync(CUdeviceptr *p, size_t size, CUstream stream);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *p, size_t size, CUmemoryPool pool, CUstream stream);
CUresult cuMemPoolCreate(CUmemoryPool *pool, const void *properties);
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t n);
CUresult cuMemFree_v2(CUdeviceptr p);
CUresult cuMemFreeAsync(CUdeviceptr p, CUstream stream);
CUresult cuMemGetInfo_v2(size_t *free, size_t *total);
CUresult cuMemAddressReserve(CUdeviceptr *p, size_t size, size_t align, CUdeviceptr wanted, unsigned long long flags);
CUresult cuMemAddressFree(CUdeviceptr p, size_t size);
CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
		     unsigned long long flags);
CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult cuMemMap(CUdeviceptr p, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
		  unsigned long long flags);
CUresult cuMemUnmap(CUdeviceptr p, size_t size);
CUresult cuMemSetAccess(CUdeviceptr p, size_t size, const CUmemAccessDesc *access, size_t n);
CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr p);
CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t size);
CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t size);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t size, CUstream stream);
CUresult cuMemsetD32_v2(CUdeviceptr p, unsigned value, size_t n);
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
			unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **params,
			void **extra);

#define expect(condition, ...) do {						\
	if (!(condition)) {							\
		fprintf(stdout, "%s:%d: not %s: ", __FILE__, __LINE__, #condition); \
		fprintf(stdout, __VA_ARGS__);					\
		fputc('\n', stdout);						\
		fflush(stdout);							\
		_Exit(1);							\
	}									\
} while (0)
#define GOOD(call) do { \
	CUresult error_ = (call); \
	expect(!error_, "it is %d", error_); \
} while (0)
#define POINTER(p) ((unsigned *)(uintptr_t)(p))

static const CUmemAllocationProp of_device = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
					       .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
static const CUmemAccessDesc access_of[] = {	/* of devices 0 and 1 */
	{ { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE },
	{ { CU_MEM_LOCATION_TYPE_DEVICE, 1 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE },
};
static CUcontext context;
static CUfunction increment;
static unsigned words[PIECES * WORDS(SIZE)];
static FILE *said;

static CUdeviceptr take(size_t size)
{
	CUdeviceptr p = 0;

	GOOD(cuMemAlloc_v2(&p, size));
	return p;
}

static void launch(CUdeviceptr p, size_t size)
{
	unsigned n = WORDS(size);

	GOOD(cuLaunchKernel(increment, (n + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, (void *[]){ &p, &n }, NULL));
}

static void check(const unsigned *p, size_t size, unsigned more)
{
	for (unsigned i = 0; i < WORDS(size); i++)
		expect(p[i] == i + more, "[%u] is %u, not %u", i, p[i], i + more);
}

static void write_all(unsigned *p, size_t size)
{
	for (unsigned i = 0; i < WORDS(size); i++)
		p[i] = i;
}

/* ---- tries */

static sigjmp_buf caught;

static void on_signal(int signal)
{
	siglongjmp(caught, signal);
}

static bool is_shared(CUdeviceptr p)
{
	volatile unsigned *word = POINTER(p);

	if (sigsetjmp(caught, 1))
		return false;
	*word += 0;
	return true;
}

/* The library has said this, once. */
static void check_said(const char *text)
{
	char all[4096] = "", *at;

	fflush(stderr);
	rewind(said);
	all[fread(all, 1, sizeof(all) - 1, said)] = '\0';
	at = strstr(all, text);
	expect(at && !strstr(at + 1, text), "it said: %s", all);
}

/* ---- segments that grow: addresses are reserved, and memory is mapped there piece by piece */

static void map_piece(CUdeviceptr p)
{
	CUmemGenericAllocationHandle handle;

	GOOD(cuMemCreate(&handle, SIZE, &of_device, 0));
	GOOD(cuMemMap(p, SIZE, 0, handle, 0));
	GOOD(cuMemSetAccess(p, SIZE, access_of, 1));
	GOOD(cuMemRelease(handle));
}

static void expandable(void)
{
	CUdeviceptr segment, object = take(PIECES * SIZE), other = take(SIZE);
	size_t before, after, total;

	GOOD(cuMemAddressReserve(&segment, 64 * SIZE, 0, 0, 0));
	GOOD(cuMemGetInfo_v2(&before, &total));
	for (unsigned i = 0; i < PIECES; i++) {
		map_piece(segment + i * SIZE);
		/* What there is grows with it, between objects that come and go. */
		write_all(POINTER(object), (i + 1) * SIZE);
		GOOD(cuMemcpyDtoD_v2(segment, object, (i + 1) * SIZE));
		launch(segment, (i + 1) * SIZE);
		GOOD(cuMemFree_v2(other));
		other = take(SIZE);
		GOOD(cuMemcpyDtoH_v2(words, segment, (i + 1) * SIZE));
		check(words, (i + 1) * SIZE, 1);
		GOOD(cuMemcpyDtoD_v2(object, segment, (i + 1) * SIZE));
		check(POINTER(object), (i + 1) * SIZE, 1);
	}
	expect(!is_shared(segment) && !is_shared(segment + SIZE), "it is");
	GOOD(cuMemcpyHtoDAsync_v2(segment + SIZE / 2, words, SIZE, NULL));
	launch(segment + SIZE / 2, SIZE);
	GOOD(cuMemcpyDtoH_v2(words, segment + SIZE / 2, SIZE));
	check(words, SIZE, 2);
	GOOD(cuMemsetD32_v2(segment + SIZE / 2, 7, WORDS(SIZE)));
	GOOD(cuMemcpyDtoD_v2(object + 4, segment + SIZE / 2, SIZE));
	expect(POINTER(object)[1] == 7 && POINTER(object)[WORDS(SIZE)] == 7, "%u", POINTER(object)[1]);

	/* It shrinks, and grows again. */
	GOOD(cuMemUnmap(segment + SIZE, (PIECES - 1) * SIZE));
	GOOD(cuMemGetInfo_v2(&after, &total));
	expect(after == before - SIZE, "%zu of %zu", after, before);
	map_piece(segment + SIZE);
	write_all(POINTER(object), 2 * SIZE);
	GOOD(cuMemcpyDtoD_v2(segment, object, 2 * SIZE));
	launch(segment, 2 * SIZE);
	GOOD(cuMemcpyDtoH_v2(words, segment, 2 * SIZE));
	check(words, 2 * SIZE, 1);
	GOOD(cuMemUnmap(segment, 2 * SIZE));
	GOOD(cuMemAddressFree(segment, 64 * SIZE));
	GOOD(cuMemFree_v2(object));
	GOOD(cuMemFree_v2(other));
}

/* ---- managed memory: the driver's own way, of a pool as well */

/* The mapping at @p is none of the library's. */
static void check_mapping(CUdeviceptr p)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned long start, end;

	expect(maps, "no maps");
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && p >= start && p < end)
			expect(!strstr(line, "adsm-arena"), "it is %s", line);
	fclose(maps);
}

static void use_managed(CUdeviceptr managed)
{
	CUdeviceptr object = take(SIZE);
	unsigned *m = POINTER(managed);
	int fds[2];

	check_mapping(managed);
	write_all(m, SIZE);
	launch(managed, SIZE);
	GOOD(cuMemcpyDtoD_v2(object, managed, SIZE));
	launch(object, SIZE);
	check(POINTER(object), SIZE, 2);
	check(m, SIZE, 1);
	GOOD(cuMemcpyDtoH_v2(m, object, SIZE));
	check(m, SIZE, 2);
	memcpy(POINTER(object), m, SIZE / 2);
	launch(object, SIZE);
	memcpy(m, POINTER(object), SIZE);
	check(m, SIZE, 3);
	expect(!pipe(fds) && write(fds[1], m, 64) == 64 && read(fds[0], m + 100, 64) == 64, "a pipe");
	expect(m[100] == 3 && m[115] == 18, "%u, %u", m[100], m[115]);
	GOOD(cuMemFree_v2(object));
}

static void managed(void)
{
	CUdeviceptr p;

	GOOD(cuMemAllocManaged(&p, SIZE, 1));
	use_managed(p);
	GOOD(cuMemFree_v2(p));
}

/* The first word of a pool's properties is its kind of memory. */
static CUmemoryPool make_pool(int kind)
{
	const int properties[32] = { kind, 0, CU_MEM_LOCATION_TYPE_DEVICE, 0 };
	CUmemoryPool pool;

	GOOD(cuMemPoolCreate(&pool, properties));
	return pool;
}

static void managed_pool(void)
{
	CUmemoryPool pool = make_pool(2);
	CUdeviceptr p;

	for (int i = 0; i < 3; i++) {
		GOOD(cuMemAllocFromPoolAsync(&p, SIZE, pool, NULL));
		GOOD(cuCtxSynchronize());
		use_managed(p);
		GOOD(cuMemFreeAsync(p, NULL));
		GOOD(cuCtxSynchronize());
		GOOD(cuMemAllocManaged(&p, SIZE, 1));
		use_managed(p);
		GOOD(cuMemFree_v2(p));
	}
}

/* ---- what stops to be shared: its bytes stay */

static CUdeviceptr take_from(CUmemoryPool pool)
{
	CUdeviceptr p;

	GOOD(cuMemAllocFromPoolAsync(&p, SIZE, pool, NULL));
	return p;
}

static void check_ended(CUdeviceptr p)
{
	expect(!is_shared(p), "it is shared yet");
	GOOD(cuMemcpyDtoH_v2(words, p, SIZE));
	check(words, SIZE, 0);
	launch(p, SIZE);
	GOOD(cuMemcpyDtoH_v2(words, p, SIZE));
	check(words, SIZE, 1);
}

static void pool_access(void)
{
	CUmemoryPool pool = make_pool(CU_MEM_ALLOCATION_TYPE_PINNED), other = make_pool(CU_MEM_ALLOCATION_TYPE_PINNED);
	CUdeviceptr p = take_from(pool), q = take_from(pool), stays = take_from(other), plain;

	expect(is_shared(p) && is_shared(q) && is_shared(stays), "it is not");
	GOOD(cuMemPoolSetAccess(pool, access_of, 1));
	expect(is_shared(p) && is_shared(take_from(pool)), "its own device may always use it");
	write_all(POINTER(p), SIZE);
	write_all(POINTER(q), SIZE);
	GOOD(cuMemPoolSetAccess(pool, access_of, 2));
	check_ended(p);
	check_ended(q);
	expect(is_shared(stays), "it is another pool's");
	GOOD(cuMemFreeAsync(p, NULL));
	expect(!is_shared(take_from(pool)), "of an open pool");
	GOOD(cuMemAllocAsync(&plain, SIZE, NULL));
	expect(is_shared(plain), "it is the device's own pool's");
	check_said("cuMemPoolSetAccess");
}

static void peers(void)
{
	CUdeviceptr p = take(SIZE), q = take(SIZE);
	CUcontext other;

	write_all(POINTER(p), SIZE);
	write_all(POINTER(q), SIZE);
	GOOD(cuCtxCreate_v2(&other, 0, 0));
	GOOD(cuCtxEnablePeerAccess(context, 0));
	GOOD(cuCtxSetCurrent(context));
	check_ended(p);
	check_ended(q);
	GOOD(cuMemFree_v2(p));
	expect(!is_shared(take(SIZE)), "others may use it");
	check_said("cuCtxEnablePeerAccess");
}

static void ipc(void)
{
	CUdeviceptr p = take(SIZE), q = take(SIZE), stays = take(SIZE);
	CUipcMemHandle handle;

	write_all(POINTER(p), SIZE);
	write_all(POINTER(q), SIZE);
	GOOD(cuIpcGetMemHandle(&handle, p));
	GOOD(cuIpcGetMemHandle(&handle, q));
	check_ended(p);
	check_ended(q);
	expect(is_shared(stays), "nobody has it");
	check_said("cuIpcGetMemHandle");
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } modes[] = {
		{ "expandable", expandable }, { "managed", managed }, { "managed-pool", managed_pool },
		{ "pool-access", pool_access }, { "peers", peers }, { "ipc", ipc },
	};
	const struct sigaction action = { .sa_handler = on_signal };
	CUmodule module;

	said = tmpfile();
	expect(argc == 2 && said && dup2(fileno(said), STDERR_FILENO) == STDERR_FILENO, "%d arguments", argc);
	expect(!sigaction(SIGSEGV, &action, NULL), "signals");
	GOOD(cuInit(0));
	GOOD(cuDevicePrimaryCtxRetain(&context, 0));
	GOOD(cuCtxSetCurrent(context));
	GOOD(cuModuleLoadData(&module, module_image));
	GOOD(cuModuleGetFunction(&increment, module, "increment"));
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[1], modes[i].name))
			continue;
		modes[i].run();
		printf("%s: good\n", argv[1]);
		return 0;
	}
	expect(false, "there is no mode %s", argv[1]);
}
