/* SPDX-License-Identifier: MIT */
/* memories.c - a program that uses CUDA itself, with memory of every kind, and the library preloaded. Tests which
 * memory becomes shared, which passes through unchanged, and which stops being shared, with one line in the log. */
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK_OUT stdout	/* what is said on stderr is looked at */
#include "calls.h"

#define SIZE (2 * MiB)
#define PIECES 8u
#define WORDS(size) ((unsigned)((size) / sizeof(unsigned)))

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

	OK(cuMemAlloc_v2(&p, size));
	return p;
}

static void launch(CUdeviceptr p, size_t size)
{
	unsigned n = WORDS(size);

	OK(cuLaunchKernel(increment, (n + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, (void *[]){ &p, &n }, NULL));
}

static void check(const unsigned *p, size_t size, unsigned more)
{
	for (unsigned i = 0; i < WORDS(size); i++)
		CHECKF(p[i] == i + more, "[%u] is %u, not %u", i, p[i], i + more);
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
	CHECKF(at && !strstr(at + 1, text), "it said: %s", all);
}

/* ---- segments that grow: addresses are reserved, and memory is mapped there piece by piece */

static void map_piece(CUdeviceptr p)
{
	CUmemGenericAllocationHandle handle;

	OK(cuMemCreate(&handle, SIZE, &of_device, 0));
	OK(cuMemMap(p, SIZE, 0, handle, 0));
	OK(cuMemSetAccess(p, SIZE, access_of, 1));
	OK(cuMemRelease(handle));
}

static void expandable(void)
{
	CUdeviceptr segment, object = take(PIECES * SIZE), other = take(SIZE);
	size_t before, after, total;

	OK(cuMemAddressReserve(&segment, 64 * SIZE, 0, 0, 0));
	OK(cuMemGetInfo_v2(&before, &total));
	for (unsigned i = 0; i < PIECES; i++) {
		map_piece(segment + i * SIZE);
		/* What there is grows with it, between objects that come and go. */
		write_all(POINTER(object), (i + 1) * SIZE);
		OK(cuMemcpyDtoD_v2(segment, object, (i + 1) * SIZE));
		launch(segment, (i + 1) * SIZE);
		OK(cuMemFree_v2(other));
		other = take(SIZE);
		OK(cuMemcpyDtoH_v2(words, segment, (i + 1) * SIZE));
		check(words, (i + 1) * SIZE, 1);
		OK(cuMemcpyDtoD_v2(object, segment, (i + 1) * SIZE));
		check(POINTER(object), (i + 1) * SIZE, 1);
	}
	CHECKF(!is_shared(segment) && !is_shared(segment + SIZE), "it is");
	OK(cuMemcpyHtoDAsync_v2(segment + SIZE / 2, words, SIZE, NULL));
	launch(segment + SIZE / 2, SIZE);
	OK(cuMemcpyDtoH_v2(words, segment + SIZE / 2, SIZE));
	check(words, SIZE, 2);
	OK(cuMemsetD32_v2(segment + SIZE / 2, 7, WORDS(SIZE)));
	OK(cuMemcpyDtoD_v2(object + 4, segment + SIZE / 2, SIZE));
	CHECKF(POINTER(object)[1] == 7 && POINTER(object)[WORDS(SIZE)] == 7, "%u", POINTER(object)[1]);

	/* It shrinks, and grows again. */
	OK(cuMemUnmap(segment + SIZE, (PIECES - 1) * SIZE));
	OK(cuMemGetInfo_v2(&after, &total));
	CHECKF(after == before - SIZE, "%zu of %zu", after, before);
	map_piece(segment + SIZE);
	write_all(POINTER(object), 2 * SIZE);
	OK(cuMemcpyDtoD_v2(segment, object, 2 * SIZE));
	launch(segment, 2 * SIZE);
	OK(cuMemcpyDtoH_v2(words, segment, 2 * SIZE));
	check(words, 2 * SIZE, 1);
	OK(cuMemUnmap(segment, 2 * SIZE));
	OK(cuMemAddressFree(segment, 64 * SIZE));
	OK(cuMemFree_v2(object));
	OK(cuMemFree_v2(other));
}

/* ---- managed memory: the driver's own way, of a pool as well */

/* The mapping at @p is none of the library's. */
static void check_mapping(CUdeviceptr p)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned long start, end;

	CHECKF(maps, "no maps");
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && p >= start && p < end)
			CHECKF(!strstr(line, "adsm-arena"), "it is %s", line);
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
	OK(cuMemcpyDtoD_v2(object, managed, SIZE));
	launch(object, SIZE);
	check(POINTER(object), SIZE, 2);
	check(m, SIZE, 1);
	OK(cuMemcpyDtoH_v2(m, object, SIZE));
	check(m, SIZE, 2);
	memcpy(POINTER(object), m, SIZE / 2);
	launch(object, SIZE);
	memcpy(m, POINTER(object), SIZE);
	check(m, SIZE, 3);
	CHECKF(!pipe(fds) && write(fds[1], m, 64) == 64 && read(fds[0], m + 100, 64) == 64, "a pipe");
	CHECKF(m[100] == 3 && m[115] == 18, "%u, %u", m[100], m[115]);
	OK(cuMemFree_v2(object));
}

static void managed(void)
{
	CUdeviceptr p;

	OK(cuMemAllocManaged(&p, SIZE, 1));
	use_managed(p);
	OK(cuMemFree_v2(p));
}

/* The first word of a pool's properties is its kind of memory. */
static CUmemoryPool make_pool(int kind)
{
	const int properties[32] = { kind, 0, CU_MEM_LOCATION_TYPE_DEVICE, 0 };
	CUmemoryPool pool;

	OK(cuMemPoolCreate(&pool, properties));
	return pool;
}

static void managed_pool(void)
{
	CUmemoryPool pool = make_pool(2);
	CUdeviceptr p;

	for (int i = 0; i < 3; i++) {
		OK(cuMemAllocFromPoolAsync(&p, SIZE, pool, NULL));
		OK(cuCtxSynchronize());
		use_managed(p);
		OK(cuMemFreeAsync(p, NULL));
		OK(cuCtxSynchronize());
		OK(cuMemAllocManaged(&p, SIZE, 1));
		use_managed(p);
		OK(cuMemFree_v2(p));
	}
}

/* ---- what stops to be shared: its bytes stay */

static CUdeviceptr take_from(CUmemoryPool pool)
{
	CUdeviceptr p;

	OK(cuMemAllocFromPoolAsync(&p, SIZE, pool, NULL));
	return p;
}

static void check_ended(CUdeviceptr p)
{
	CHECKF(!is_shared(p), "it is shared yet");
	OK(cuMemcpyDtoH_v2(words, p, SIZE));
	check(words, SIZE, 0);
	launch(p, SIZE);
	OK(cuMemcpyDtoH_v2(words, p, SIZE));
	check(words, SIZE, 1);
}

static void pool_access(void)
{
	CUmemoryPool pool = make_pool(CU_MEM_ALLOCATION_TYPE_PINNED), other = make_pool(CU_MEM_ALLOCATION_TYPE_PINNED);
	CUdeviceptr p = take_from(pool), q = take_from(pool), stays = take_from(other), plain;

	CHECKF(is_shared(p) && is_shared(q) && is_shared(stays), "it is not");
	OK(cuMemPoolSetAccess(pool, access_of, 1));
	CHECKF(is_shared(p) && is_shared(take_from(pool)), "its own device may always use it");
	write_all(POINTER(p), SIZE);
	write_all(POINTER(q), SIZE);
	OK(cuMemPoolSetAccess(pool, access_of, 2));
	check_ended(p);
	check_ended(q);
	CHECKF(is_shared(stays), "it is another pool's");
	OK(cuMemFreeAsync(p, NULL));
	CHECKF(!is_shared(take_from(pool)), "of an open pool");
	OK(cuMemAllocAsync(&plain, SIZE, NULL));
	CHECKF(is_shared(plain), "it is the device's own pool's");
	check_said("cuMemPoolSetAccess");
}

/* @n: contexts that are opened before. The double takes any value for one. */
static void open_to_peers(size_t n)
{
	static char some[64];
	CUdeviceptr p = take(SIZE), q = take(SIZE);
	CUcontext other;

	write_all(POINTER(p), SIZE);
	write_all(POINTER(q), SIZE);
	OK(cuCtxCreate_v2(&other, 0, 0));
	for (size_t i = 0; i < n; i++)
		OK(cuCtxEnablePeerAccess((CUcontext)&some[i], 0));
	OK(cuCtxEnablePeerAccess(context, 0));
	OK(cuCtxSetCurrent(context));
	check_ended(p);
	check_ended(q);
	OK(cuMemFree_v2(p));
	CHECKF(!is_shared(take(SIZE)), "others may use it");
	check_said("cuCtxEnablePeerAccess");
}

static void peers(void)
{
	open_to_peers(0);
}

/* More than the library keeps. */
static void many_peers(void)
{
	open_to_peers(64);
}

/* ---- two contexts: a command uses the objects of its stream's context, whichever is current; and those that it names.
 * Waiting is for any command. */

static CUcontext second;
static CUkernel kernel;
static CUfunction increment_there;
static CUstream here, there;		/* of the first context, which is current, and of the second */
static CUevent then;			/* of the second */

static void prepare(CUdeviceptr *ret_b)
{
	CUlibrary library;

	OK(cuLibraryLoadData(&library, module_image, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&kernel, library, "increment"));
	OK(cuStreamCreate(&here, CU_STREAM_NON_BLOCKING));
	OK(cuCtxCreate_v2(&second, 0, 0));
	OK(cuKernelGetFunction(&increment_there, kernel));
	*ret_b = take(SIZE);
	OK(cuStreamCreate(&there, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&then, CU_EVENT_DISABLE_TIMING));
	OK(cuCtxSetCurrent(context));
}

/* Protocol batch sees no touch: the program has to wait for the stream before it looks. */
static void settle(CUstream stream)
{
	const char *protocol = getenv("ADSM_PROTOCOL");

	if (!protocol || strcmp(protocol, "batch"))
		return;
	if (stream != there) {
		OK(cuStreamSynchronize(stream));
	} else {
		OK(cuEventRecord(then, there));
		OK(cuEventSynchronize(then));
	}
}

static void launch_there(CUdeviceptr p)
{
	unsigned n = WORDS(SIZE);

	OK(cuLaunchKernel((CUfunction)kernel, (n + 255) / 256, 1, 1, 256, 1, 1, 0, there, (void *[]){ &p, &n }, NULL));
}

static void copy_batch(CUdeviceptr to, CUdeviceptr from)
{
	size_t size = SIZE;

	OK(cuMemcpyBatchAsync_v2(&to, &from, &size, 1, NULL, NULL, 0, here));
	settle(here);
}

static void decompress(CUdeviceptr to, CUdeviceptr from, size_t size)
{
	OK(cuMemBatchDecompressAsync(&(CUmemDecompressParams){ .srcNumBytes = size, .dstNumBytes = size,
							       .src = POINTER(from), .dst = POINTER(to) },
				     1, 0, NULL, here));
	settle(here);
}

/* One kernel in both contexts. */
static void launch_both(CUdeviceptr a, CUdeviceptr b)
{
	unsigned n = WORDS(SIZE), blocks = (n + 255) / 256;

	OK(cuLaunchCooperativeKernelMultiDevice((CUDA_LAUNCH_PARAMS[]){
		{ increment, { blocks, 1, 1 }, { 256, 1, 1 }, 0, here, (void *[]){ &a, &n } },
		{ increment_there, { blocks, 1, 1 }, { 256, 1, 1 }, 0, there, (void *[]){ &b, &n } },
	}, 2, 0));
	settle(here);
	settle(there);
}

static void contexts(void)
{
	CUdeviceptr a = take(SIZE), b, pooled;
	CUcontext third;

	prepare(&b);
	OK(cuMemAllocAsync(&pooled, SIZE, there));
	settle(there);
	write_all(POINTER(pooled), SIZE);
	write_all(POINTER(a), SIZE);
	write_all(POINTER(b), SIZE);
	launch_there(b);
	launch_there(pooled);
	settle(there);
	check(POINTER(b), SIZE, 1);
	check(POINTER(pooled), SIZE, 1);
	check(POINTER(a), SIZE, 0);
	OK(cuStreamWriteValue32_v2(there, b + 4, 77, 0));
	settle(there);
	CHECK_EQ(POINTER(b)[1], 77);

	/* A batch names objects of both. */
	copy_batch(b, a);
	check(POINTER(b), SIZE, 0);
	POINTER(b)[7] = 1234;
	copy_batch(a, b);
	CHECK_EQ(POINTER(a)[7], 1234);
	POINTER(a)[7] = 7;
	launch(a, SIZE);
	settle(NULL);
	check(POINTER(a), SIZE, 1);

	decompress(b, a, SIZE);
	check(POINTER(b), SIZE, 1);
	POINTER(b)[3] = 33;
	decompress(a, b, 16);
	CHECK_EQ(POINTER(a)[3], 33);
	POINTER(a)[3] = POINTER(b)[3] = 4;

	launch_both(a, b);
	check(POINTER(b), SIZE, 2);
	check(POINTER(a), SIZE, 2);

	/* The current context has no objects at all. */
	OK(cuCtxCreate_v2(&third, 0, 0));
	launch_there(b);
	settle(there);
	check(POINTER(b), SIZE, 3);
	copy_batch(b, a);
	check(POINTER(b), SIZE, 2);
}

static void ipc(void)
{
	CUdeviceptr p = take(SIZE), q = take(SIZE), stays = take(SIZE);
	CUipcMemHandle handle;

	write_all(POINTER(p), SIZE);
	write_all(POINTER(q), SIZE);
	OK(cuIpcGetMemHandle(&handle, p));
	OK(cuIpcGetMemHandle(&handle, q));
	check_ended(p);
	check_ended(q);
	CHECKF(is_shared(stays), "nobody has it");
	check_said("cuIpcGetMemHandle");
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } modes[] = {
		{ "expandable", expandable }, { "managed", managed }, { "managed-pool", managed_pool },
		{ "pool-access", pool_access }, { "peers", peers }, { "contexts", contexts },
		{ "many-peers", many_peers }, { "ipc", ipc },
	};
	const struct sigaction action = { .sa_handler = on_signal };
	CUmodule module;

	said = tmpfile();
	CHECKF(argc == 2 && said && dup2(fileno(said), STDERR_FILENO) == STDERR_FILENO, "%d arguments", argc);
	CHECKF(!sigaction(SIGSEGV, &action, NULL), "signals");
	use_device(&context);
	OK(cuModuleLoadData(&module, module_image));
	OK(cuModuleGetFunction(&increment, module, "increment"));
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[1], modes[i].name))
			continue;
		modes[i].run();
		printf("%s: good\n", argv[1]);
		return 0;
	}
	CHECKF(false, "there is no mode %s", argv[1]);
}
