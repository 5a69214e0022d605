/* SPDX-License-Identifier: MIT */
/*
 * test_driver.c - the driver double does what driver.h says: test_driver LIBRARY KERNELS CASE.
 *
 * Each case sets TEST_CUDA, opens the library and uses it; what ends a process is done in a child.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../check.h"
#include "driver.h"

#define IS(error, call) do { \
	CUresult is_ = (call); \
	if (is_ != (error)) \
		FAIL("%s returned %d, not %d", #call, is_, error); \
} while (0)
#define OK(call) IS(0, call)

static const char *library, *kernels;
static void *driver;
static struct adsm_cu cu;
static CUcontext context;

static struct {
#define FIELD(name, params) CUresult (*name) params;
	TEST_CU_FUNCTIONS(FIELD)
#undef FIELD
	test_cuda_counts_fn *counts;
} more;

/* ---- helpers */

static void open_driver(const char *words)
{
	setenv("TEST_CUDA", words, 1);
	driver = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!driver)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(driver);
#define FIND(name, params) CHECK((*(void **)&cu.name = dlsym(driver, #name)));
	ADSM_CU_FUNCTIONS(FIND, FIND)
#undef FIND
#define FIND(name, params) CHECK((*(void **)&more.name = dlsym(driver, #name)));
	TEST_CU_FUNCTIONS(FIND)
#undef FIND
	CHECK((*(void **)&more.counts = dlsym(driver, "test_cuda_counts")));
}

static void start(const char *words)
{
	open_driver(words);
	OK(cu.cuInit(0));
	OK(cu.cuDevicePrimaryCtxRetain(&context, 0));
	OK(cu.cuCtxPushCurrent_v2(context));
}

static struct test_cuda_counts counts(void)
{
	struct test_cuda_counts now;

	more.counts(&now);
	return now;
}

static CUdeviceptr allocated(size_t size)
{
	CUdeviceptr p;

	OK(cu.cuMemAlloc_v2(&p, size));
	return p;
}

static char *read_image(const char *name)
{
	char path[4096];
	struct stat status;
	char *image;
	int fd;

	snprintf(path, sizeof(path), "%s/%s.adsm", kernels, name);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && !fstat(fd, &status));
	image = malloc((size_t)status.st_size);
	CHECK(image && read(fd, image, (size_t)status.st_size) == status.st_size);
	close(fd);
	return image;
}

static CUfunction kernel(const char *module_name, const char *name)
{
	char *image = read_image(module_name);
	CUfunction function;
	CUmodule module;

	OK(cu.cuModuleLoadDataEx(&module, image, 0, NULL, NULL));
	OK(cu.cuModuleGetFunction(&function, module, name));
	free(image);
	return function;
}

static CUresult launch(CUfunction function, CUstream stream, void **params)
{
	return cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

static unsigned word_at(CUdeviceptr p)
{
	unsigned word = 0;
	CUstream stream;

	/* Beside everything else. */
	OK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cu.cuMemcpyDtoHAsync_v2(&word, p, sizeof(word), stream));
	OK(cu.cuStreamSynchronize(stream));
	OK(cu.cuStreamDestroy_v2(stream));
	return word;
}

static void set_word(CUdeviceptr p, unsigned word)
{
	CUstream stream;

	OK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cu.cuMemcpyHtoDAsync_v2(p, &word, sizeof(word), stream));
	OK(cu.cuStreamSynchronize(stream));
	OK(cu.cuStreamDestroy_v2(stream));
}

static sigjmp_buf out;
static volatile int fault_code;

static void faulted(int sig, siginfo_t *info, void *arg)
{
	fault_code = info->si_code;
	siglongjmp(out, 1);
}

/* 0: it can be read; else the fault's code; a signal of its own where nothing is mapped. */
static int touch(CUdeviceptr p)
{
	struct sigaction action = { .sa_sigaction = faulted, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &action, NULL);
	fault_code = 0;
	if (!sigsetjmp(out, 1)) {
		char byte = *(volatile char *)(uintptr_t)p;

		(void)byte;
	}
	return fault_code;
}

/* Run it in a child; how that ended, and what it said. */
static int child(void (*run)(void), char *said, size_t size)
{
	int ends[2], status;
	ssize_t n;
	pid_t pid;

	CHECK(!pipe(ends));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		dup2(ends[1], 2);
		close(ends[0]);
		close(ends[1]);
		run();
		exit(0);
	}
	close(ends[1]);
	for (size_t at = 0; (n = read(ends[0], said + at, size - 1 - at)) > 0;)
		said[at += (size_t)n] = 0;
	close(ends[0]);
	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

/* A stream that is busy until release() of its flags. */
struct busy {
	CUdeviceptr flags;
	CUstream stream;
};

static struct busy begin_busy(unsigned flags)
{
	struct busy busy = { .flags = allocated(8) };
	CUfunction spin = kernel("spin", "spin");
	void *params[] = { &busy.flags };

	OK(more.cuMemsetD8_v2(busy.flags, 0, 8));
	OK(cu.cuStreamCreate(&busy.stream, flags));
	OK(cu.cuCtxSynchronize());
	OK(launch(spin, busy.stream, params));
	while (!word_at(busy.flags))
		;
	return busy;
}

static void end_busy(struct busy *busy)
{
	set_word(busy->flags + 4, 1);
}

/* ---- starting */

static void plain(void)
{
	CUcontext current;
	CUdevice device = 9;
	char name[64];
	int n = 0;

	open_driver("");
	IS(CUDA_ERROR_NOT_INITIALIZED, cu.cuDeviceGetCount(&n));
	OK(cu.cuInit(0));
	OK(cu.cuInit(0));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuInit(1));
	OK(cu.cuDriverGetVersion(&n));
	CHECK(n == DRIVER_VERSION);
	OK(cu.cuDeviceGetCount(&n));
	CHECK(n == 1);
	OK(cu.cuDeviceGet(&device, 0));
	IS(CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceGet(&device, 1));
	OK(cu.cuDeviceGetName(name, sizeof(name), 0));
	OK(cu.cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 0));
	CHECK(n == 1 && *name);
	IS(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxSynchronize());
	IS(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxPopCurrent_v2(&current));
	OK(cu.cuCtxGetCurrent(&current));
	CHECK(!current);
	/* A child process that nobody here sees. */
	CHECK(counts().device_pid > 0 && waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD);
}

static void contexts(void)
{
	CUcontext own, current;
	CUdeviceptr p;
	CUstream stream;

	start("");
	OK(more.cuCtxCreate_v4(&own, NULL, 0, 0));
	OK(cu.cuCtxGetCurrent(&current));
	CHECK(current == own && counts().contexts == 2);
	p = allocated(4096);
	OK(cu.cuStreamCreate(&stream, 0));
	OK(cu.cuCtxPushCurrent_v2(context));
	OK(cu.cuCtxPopCurrent_v2(&current));
	CHECK(current == context && p);
	OK(more.cuCtxDestroy_v2(own));
	OK(cu.cuCtxGetCurrent(&current));
	CHECK(current == context && !counts().used && !counts().streams && counts().contexts == 1);
	OK(more.cuCtxSetCurrent(own));
	IS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu.cuCtxSynchronize());
	OK(more.cuCtxSetCurrent(NULL));
	OK(cu.cuCtxGetCurrent(&current));
	CHECK(!current);
	IS(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxPushCurrent_v2((CUcontext)&own));
	/* The primary one counts. */
	OK(cu.cuDevicePrimaryCtxRetain(&own, 0));
	CHECK(own == context);
	OK(cu.cuDevicePrimaryCtxRelease_v2(0));
	OK(more.cuCtxSetCurrent(context));
	OK(cu.cuCtxSynchronize());
	OK(cu.cuDevicePrimaryCtxRelease_v2(0));
	IS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu.cuCtxSynchronize());
	IS(CUDA_ERROR_INVALID_CONTEXT, cu.cuDevicePrimaryCtxRelease_v2(0));
}

static void in_fork(void)
{
	struct test_cuda_counts now;
	CUcontext current;
	CUdeviceptr p;

	IS(CUDA_ERROR_NOT_INITIALIZED, cu.cuInit(0));
	IS(CUDA_ERROR_NOT_INITIALIZED, cu.cuMemAlloc_v2(&p, 1));
	IS(CUDA_ERROR_NOT_INITIALIZED, cu.cuCtxGetCurrent(&current));
	more.counts(&now);
	/* The parent's device goes on without this one. */
	_exit(kill(now.device_pid, 0) ? 1 : 0);
}

static void forks(void)
{
	char said[512] = "";

	start("");
	CHECK(child(in_fork, said, sizeof(said)) == 0);
	allocated(4096);
	OK(cu.cuCtxSynchronize());
}

/* ---- memory */

static void addresses(void)
{
	CUdeviceptr a, b, c, d, base;
	size_t size, free, total;

	start("");
	OK(cu.cuMemGetInfo_v2(&free, &total));
	CHECK(free == total && total == GiB);
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemAlloc_v2(&a, 0));
	/* Small ones share a page, and are not where pages begin. */
	a = allocated(16);
	b = allocated(4096);
	CHECK(b == a + 512 && b % PAGE);
	OK(more.cuMemGetAddressRange_v2(&base, &size, b + 100));
	CHECK(base == b && size == 4096);
	IS(CUDA_ERROR_INVALID_VALUE, more.cuMemGetAddressRange_v2(&base, &size, b + 4096));
	CHECK(counts().used == GRANULE);
	/* The last one freed is the next one given. */
	c = allocated(4096);
	OK(cu.cuMemFree_v2(b));
	OK(cu.cuMemFree_v2(c));
	CHECK(allocated(4096) == c && allocated(4096) == b);
	d = allocated(3 * MiB);
	CHECK(d % GRANULE == 0 && counts().used == 3 * GRANULE);
	OK(cu.cuMemFree_v2(d));
	CHECK(allocated(3 * MiB) == d);
	CHECK(touch(a) == SEGV_ACCERR && touch(d) == SEGV_ACCERR);
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(d + 4096));
	OK(cu.cuMemFree_v2(0));
	IS(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc_v2(&a, GiB));
	OK(more.cuMemAllocPitch_v2(&a, &size, 100, 10, 4));
	CHECK(size == 512);
	OK(cu.cuMemFree_v2(d));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(d));
}

static void *put_view(CUdeviceptr p, size_t size)
{
	int fd = memfd_create("view", 0);
	void *view;

	CHECK(fd >= 0 && !ftruncate(fd, (off_t)size));
	view = mmap((void *)(uintptr_t)p, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	CHECK(view == (void *)(uintptr_t)p);
	close(fd);
	return view;
}

static void views(void)
{
	CUdeviceptr pooled, own;

	start("");
	pooled = allocated(4 * MiB);
	own = allocated(64 * MiB);
	*(int *)put_view(pooled, 4 * MiB) = 1;
	*(int *)put_view(own, 64 * MiB) = 1;
	OK(more.cuMemsetD32_v2(pooled, 7, MiB));
	OK(cu.cuCtxSynchronize());
	CHECK(word_at(pooled) == 7 && *(int *)(uintptr_t)pooled == 1);
	/* In the pool the view stays, and comes again. */
	OK(cu.cuMemFree_v2(pooled));
	CHECK(touch(pooled) == 0 && allocated(4 * MiB) == pooled && *(int *)(uintptr_t)pooled == 1);
	/* A mapping of its own goes, view and all. */
	OK(cu.cuMemFree_v2(own));
	CHECK(touch(own) == SEGV_MAPERR);
	CHECK(allocated(64 * MiB) == own && touch(own) == SEGV_ACCERR);
}

static void async_pool(void)
{
	CUdeviceptr p, q;
	CUstream stream;

	start("");
	OK(cu.cuStreamCreate(&stream, 0));
	p = allocated(GRANULE);
	OK(more.cuMemAllocAsync(&q, MiB, stream));
	CHECK(q == 0x302000000 || q / (64 * GiB) != p / (64 * GiB));
	CHECK(touch(q) == SEGV_ACCERR);
	OK(cu.cuMemsetD8Async(q, 3, MiB, stream));
	OK(more.cuMemFreeAsync(q, stream));
	OK(cu.cuStreamSynchronize(stream));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(q));
	OK(more.cuMemAllocAsync(&p, MiB, stream));
	CHECK(p == q);
	OK(cu.cuMemFree_v2(p));
}

static void low_memory(void)
{
	CUdeviceptr p;

	start("low-memory");
	p = allocated(60 * MiB);
	IS(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc_v2(&p, 6 * MiB));
	allocated(4 * MiB);
	IS(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc_v2(&p, 1));
}

static void chosen_memory(void)
{
	size_t free, total;

	start("memory=256M");
	OK(cu.cuMemGetInfo_v2(&free, &total));
	CHECK(total == 256 * MiB);
}

static void poison(void)
{
	CUdeviceptr p, q;

	start("poison");
	p = allocated(4096);
	q = allocated(4096);
	CHECK(word_at(p) == 0xa5a5a5a5);
	OK(more.cuMemsetD8_v2(p, 0, 4096));
	OK(cu.cuMemFree_v2(p));
	CHECK(allocated(4096) == p && word_at(p) == 0xa5a5a5a5);
	OK(cu.cuMemFree_v2(q));
}

static void readable(void)
{
	start("readable");
	CHECK(touch(allocated(4 * MiB)) == 0);
}

static void host(void)
{
	char *p = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CUdeviceptr d;
	void *pinned;
	unsigned type = 0;

	start("");
	d = allocated(16 * PAGE);
	OK(cu.cuMemHostRegister_v2(p + 100, PAGE, 0));	/* two pages */
	CHECK(counts().registered == 2 * PAGE);
	IS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cu.cuMemHostRegister_v2(p + PAGE, PAGE, 0));
	OK(cu.cuMemHostRegister_v2(p + 2 * PAGE, PAGE, 0));
	IS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cu.cuMemHostUnregister(p));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemHostRegister_v2((void *)(uintptr_t)d, PAGE, 0));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemHostRegister_v2(p, 0, 0));
	OK(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)p));
	CHECK(type == CU_MEMORYTYPE_HOST);
	/* Both registrations at once, then a page that is not. */
	OK(more.cuMemcpyHtoD_v2(d, p, 3 * PAGE));
	CHECK(counts().pinned == 1 && counts().pageable == 0);
	OK(more.cuMemcpyHtoD_v2(d, p, 4 * PAGE));
	CHECK(counts().pinned == 1 && counts().pageable == 1);
	OK(cu.cuMemHostUnregister(p + 100));
	IS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cu.cuMemHostUnregister(p + 100));
	/* What cannot be touched cannot be pinned. */
	CHECK(!mprotect(p + 8 * PAGE, PAGE, PROT_NONE));
	if (madvise(p, PAGE, 23) == 0)
		IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemHostRegister_v2(p + 7 * PAGE, 2 * PAGE, 0));
	OK(more.cuMemHostAlloc(&pinned, 100, 0));
	memset(pinned, 1, 100);
	OK(more.cuMemcpyHtoD_v2(d, pinned, 100));
	CHECK(counts().pinned == 2 && word_at(d) == 0x01010101);
	OK(more.cuMemFreeHost(pinned));
}

static void managed(void)
{
	CUfunction twice;
	CUdeviceptr p;
	void *params[] = { &p };

	start("");
	twice = kernel("launch", "twice");
	OK(more.cuMemAllocManaged(&p, 4096, 1));
	*(unsigned *)(uintptr_t)p = 5;
	OK(launch(twice, NULL, params));
	OK(cu.cuCtxSynchronize());
	CHECK(*(unsigned *)(uintptr_t)p == 11);
	OK(cu.cuMemFree_v2(p));
}

/* ---- copies */

static void copies(void)
{
	unsigned char from[4096], to[4096];
	CUDA_MEMCPY2D flat = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = from, .srcPitch = 64,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstPitch = 128, .dstXInBytes = 3, .dstY = 1,
			       .WidthInBytes = 10, .Height = 3 };
	CUDA_MEMCPY3D deep = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED, .srcPitch = 16, .srcHeight = 4,
			       .dstMemoryType = CU_MEMORYTYPE_UNIFIED, .dstPitch = 32, .dstHeight = 8,
			       .WidthInBytes = 16, .Height = 2, .Depth = 2 };
	CUdeviceptr p, q, addresses[2];
	size_t sizes[2] = { 1, 2 };
	CUstream stream;

	start("");
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)(i * 7 + i / 256);
	p = allocated(4096);
	q = allocated(4096);
	OK(more.cuMemcpyHtoD_v2(p, from, 4096));
	OK(more.cuMemcpyDtoD_v2(q, p, 4096));
	OK(more.cuMemcpyDtoH_v2(to, q, 4096));
	CHECK(!memcmp(from, to, 4096));
	/* Not a byte more than was allocated. */
	IS(CUDA_ERROR_INVALID_VALUE, more.cuMemcpyHtoD_v2(p + 1, from, 4096));
	IS(CUDA_ERROR_INVALID_VALUE, more.cuMemcpyDtoH_v2(to, p, 4097));
	IS(CUDA_ERROR_INVALID_VALUE, more.cuMemcpyHtoD_v2((uintptr_t)to, from, 1));
	OK(more.cuMemcpyHtoD_v2(p, from, 0));
	OK(more.cuMemcpy((uintptr_t)to, p + 5, 10));
	CHECK(!memcmp(to, from + 5, 10));
	OK(more.cuMemcpy((uintptr_t)to, (uintptr_t)from, 10));
	CHECK(!memcmp(to, from, 10));

	OK(more.cuMemsetD8_v2(p, 0, 4096));
	flat.dstDevice = p;
	OK(more.cuMemcpy2D_v2(&flat));
	OK(more.cuMemcpyDtoH_v2(to, p, 4096));
	for (size_t y = 0; y < 3; y++)
		CHECK(!memcmp(to + (y + 1) * 128 + 3, from + y * 64, 10) && !to[(y + 1) * 128 + 2] &&
		      !to[(y + 1) * 128 + 13]);
	flat.Height = 40;
	IS(CUDA_ERROR_INVALID_VALUE, more.cuMemcpy2D_v2(&flat));
	flat.Height = 1;
	flat.WidthInBytes = 126;
	IS(CUDA_ERROR_INVALID_VALUE, more.cuMemcpy2D_v2(&flat));

	OK(more.cuMemsetD8_v2(q, 0, 4096));
	deep.srcDevice = (uintptr_t)from;
	deep.dstDevice = q;
	OK(more.cuMemcpy3D_v2(&deep));
	OK(more.cuMemcpyDtoH_v2(to, q, 4096));
	for (size_t z = 0; z < 2; z++)
		for (size_t y = 0; y < 2; y++)
			CHECK(!memcmp(to + z * 256 + y * 32, from + z * 64 + y * 16, 16) &&
			      !to[z * 256 + y * 32 + 16]);

	OK(more.cuMemsetD16_v2(p, 0x1234, 8));
	OK(more.cuMemsetD32_v2(p + 16, 0x12345678, 4));
	OK(more.cuMemsetD2D32_v2(p + 64, 32, 9, 2, 3));
	OK(more.cuMemcpyDtoH_v2(to, p, 256));
	CHECK(((unsigned short *)to)[7] == 0x1234 && ((unsigned *)to)[7] == 0x12345678);
	CHECK(((unsigned *)to)[16] == 9 && ((unsigned *)to)[24] == 9 && ((unsigned *)to)[33] == 9 &&
	      ((unsigned *)to)[18] != 9);
	IS(CUDA_ERROR_INVALID_VALUE, more.cuMemsetD32_v2(p + 2, 0, 1));

	OK(cu.cuStreamCreate(&stream, 0));
	addresses[0] = p;
	addresses[1] = p + 8;
	OK(more.cuMemcpyBatchAsync_v2(addresses, (CUdeviceptr[]){ (uintptr_t)from, (uintptr_t)from + 1 }, sizes, 2,
				      NULL, NULL, 0, stream));
	OK(cu.cuStreamSynchronize(stream));
	CHECK((word_at(p) & 0xff) == from[0] && (word_at(p + 8) & 0xffff) == (from[1] | (unsigned)from[2] << 8));
	IS(CUDA_ERROR_INVALID_VALUE, more.cuMemcpyBatchAsync_v2(addresses, addresses, sizes, 2, NULL, NULL, 0, NULL));
}

/* The CPU's view of device memory is device memory. */
static void unified(void)
{
	unsigned type = 0, *view;
	CUdeviceptr p, base = 0;
	CUcontext owner = NULL;
	int attributes[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR };
	void *values[] = { &type, &base };

	start("");
	p = allocated(4 * MiB);
	view = put_view(p, 4 * MiB);
	OK(more.cuMemsetD32_v2(p, 5, MiB));
	view[0] = 6;
	OK(more.cuMemcpyHtoD_v2(p, view, 4096));
	OK(cu.cuCtxSynchronize());
	CHECK(word_at(p) == 5 && view[0] == 6 && counts().device_to_itself == 1);
	OK(more.cuMemcpyDtoH_v2(view, p, 4096));
	OK(cu.cuCtxSynchronize());
	CHECK(view[0] == 6 && counts().device_to_itself == 2);
	OK(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)view));
	OK(cu.cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, (uintptr_t)view));
	CHECK(type == CU_MEMORYTYPE_DEVICE && owner == context);
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)&p));
	OK(more.cuPointerGetAttributes(2, attributes, values, (uintptr_t)&p));
	CHECK(type == 0 && base == 0);
	OK(more.cuPointerGetAttributes(2, attributes, values, p + 9));
	CHECK(type == CU_MEMORYTYPE_DEVICE && base == p);
}

static void strict(void)
{
	CUdeviceptr p;
	void *view;

	start("strict");
	p = allocated(4 * MiB);
	view = put_view(p, 4 * MiB);
	IS(CUDA_ERROR_INVALID_VALUE, more.cuMemcpyHtoD_v2(p, view, 4));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyDtoHAsync_v2(view, p, 4, NULL));
	OK(more.cuMemcpyDtoD_v2(p, (uintptr_t)view, 4));
}

/* What the CPU may not touch is no memory for copies, and the error stays. */
static void protected_host(void)
{
	char *p = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CUdeviceptr d;

	start("");
	d = allocated(PAGE);
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyHtoDAsync_v2(d, p, PAGE, NULL));
	OK(cu.cuCtxSynchronize());
	OK(cu.cuMemcpyDtoHAsync_v2(p, d, PAGE, NULL));
	IS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuCtxSynchronize());
	IS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemFree_v2(d));
}

/* ---- order */

static void staged(void)
{
	struct busy busy;
	unsigned source = 1;
	CUdeviceptr p;

	start("");
	p = allocated(4);
	busy = begin_busy(CU_STREAM_NON_BLOCKING);
	OK(cu.cuMemcpyHtoDAsync_v2(p, &source, 4, busy.stream));
	source = 2;
	OK(cu.cuMemHostRegister_v2(&source, 4, 0));
	OK(cu.cuMemcpyHtoDAsync_v2(p + 0, &source, 4, busy.stream));
	source = 3;
	end_busy(&busy);
	OK(cu.cuStreamSynchronize(busy.stream));
	/* Pinned memory is read when the copy is made. */
	CHECK(word_at(p) == 3);
	OK(cu.cuMemHostUnregister(&source));
	busy = begin_busy(CU_STREAM_NON_BLOCKING);
	OK(cu.cuMemcpyHtoDAsync_v2(p, &source, 4, busy.stream));
	source = 4;
	end_busy(&busy);
	OK(cu.cuStreamSynchronize(busy.stream));
	CHECK(word_at(p) == 3);
}

static void late(void)
{
	unsigned source = 1, target = 7;
	struct busy busy;
	CUdeviceptr p;
	CUevent event;
	CUresult error;
	int n = 0;

	start("late,seed=5");
	p = allocated(4);
	busy = begin_busy(CU_STREAM_NON_BLOCKING);
	OK(cu.cuMemcpyHtoDAsync_v2(p, &source, 4, busy.stream));
	source = 2;
	OK(cu.cuMemcpyDtoHAsync_v2(&target, p, 4, busy.stream));
	OK(cu.cuEventCreate(&event, 0));
	OK(cu.cuEventRecord(event, busy.stream));
	IS(CUDA_ERROR_NOT_READY, cu.cuEventQuery(event));
	CHECK(target == 7);
	end_busy(&busy);
	while ((error = cu.cuEventQuery(event)) == CUDA_ERROR_NOT_READY)
		n++;
	OK(error);
	CHECK(target == 2);
}

static void streams(void)
{
	CUfunction twice, triple;
	struct busy busy;
	CUstream a, b, per_thread = CU_STREAM_PER_THREAD;
	CUdeviceptr p;
	void *params[] = { &p };
	unsigned one = 1;

	start("");
	twice = kernel("launch", "twice");
	triple = kernel("launch", "triple");
	p = allocated(4);
	OK(cu.cuStreamCreate(&a, 0));
	OK(cu.cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	IS(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamSynchronize((CUstream)&a));
	OK(cu.cuMemcpyHtoDAsync_v2(p, &one, 4, a));
	OK(launch(twice, a, params));
	OK(launch(triple, a, params));
	OK(cu.cuStreamSynchronize(a));
	OK(cu.cuStreamQuery(a));
	CHECK(word_at(p) == 9);

	/* The default stream waits for blocking ones, and they for it. */
	busy = begin_busy(0);
	OK(more.cuMemsetD32_v2(p, 1, 1));
	OK(launch(twice, a, params));
	OK(launch(twice, per_thread, params));
	IS(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(NULL));
	IS(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(a));
	IS(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(per_thread));
	/* Non-blocking ones do not. */
	OK(launch(triple, b, params));
	OK(cu.cuStreamSynchronize(b));
	CHECK(word_at(p) == 27);
	end_busy(&busy);
	OK(cu.cuStreamSynchronize(a));
	OK(cu.cuStreamSynchronize(per_thread));
	CHECK(word_at(p) == 7);
	busy = begin_busy(CU_STREAM_NON_BLOCKING);
	OK(more.cuMemsetD32_v2(p, 1, 1));
	OK(cu.cuStreamSynchronize(NULL));
	CHECK(word_at(p) == 1);
	end_busy(&busy);
	OK(cu.cuStreamDestroy_v2(busy.stream));
	OK(cu.cuCtxSynchronize());
	IS(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamSynchronize(busy.stream));
}

static void *other_thread(void *arg)
{
	CUdeviceptr *p = arg;
	unsigned two = 2;

	OK(cu.cuCtxPushCurrent_v2(context));
	OK(cu.cuStreamQuery(CU_STREAM_PER_THREAD));
	OK(more.cuMemcpyHtoDAsync_v2_ptsz(*p, &two, 4, NULL));
	OK(cu.cuStreamSynchronize(CU_STREAM_PER_THREAD));
	return NULL;
}

/* A default stream for each thread. */
static void per_thread(void)
{
	CUdeviceptr p;
	pthread_t thread;
	CUfunction spin;
	CUdeviceptr flags;
	void *params[] = { &flags };

	start("");
	p = allocated(4);
	flags = allocated(8);
	spin = kernel("spin", "spin");
	OK(more.cuMemsetD8_v2(flags, 0, 8));
	OK(cu.cuCtxSynchronize());
	OK(launch(spin, CU_STREAM_PER_THREAD, params));
	CHECK(!pthread_create(&thread, NULL, other_thread, &p));
	CHECK(!pthread_join(thread, NULL));
	IS(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(CU_STREAM_PER_THREAD));
	CHECK(word_at(p) == 2);
	set_word(flags + 4, 1);
	OK(cu.cuCtxSynchronize());
}

static void event_cases(void)
{
	struct busy busy;
	CUevent before, after, untimed, never;
	CUdeviceptr p;
	CUstream other;
	float ms = -1;

	start("");
	p = allocated(4);
	OK(cu.cuEventCreate(&before, 0));
	OK(cu.cuEventCreate(&after, 0));
	OK(cu.cuEventCreate(&never, 0));
	OK(cu.cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
	OK(cu.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	OK(cu.cuEventQuery(never));
	busy = begin_busy(CU_STREAM_NON_BLOCKING);
	set_word(p, 3);
	OK(cu.cuEventRecord(before, other));
	OK(cu.cuEventRecord(after, busy.stream));
	OK(cu.cuEventRecord(untimed, busy.stream));
	OK(cu.cuEventSynchronize(before));
	IS(CUDA_ERROR_NOT_READY, cu.cuEventQuery(after));
	IS(CUDA_ERROR_NOT_READY, cu.cuEventElapsedTime(&ms, before, after));
	/* Another stream waits for it. */
	OK(cu.cuStreamWaitEvent(other, after, 0));
	OK(cu.cuMemsetD8Async(p, 0, 4, other));
	IS(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(other));
	CHECK(word_at(p) == 3);
	end_busy(&busy);
	OK(cu.cuStreamSynchronize(other));
	CHECK(word_at(p) == 0);
	OK(cu.cuEventQuery(after));
	OK(cu.cuEventElapsedTime(&ms, before, after));
	CHECK(ms >= 0);
	IS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventElapsedTime(&ms, before, untimed));
	IS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventElapsedTime(&ms, before, never));
	OK(cu.cuEventDestroy_v2(after));
	IS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventQuery(after));
	CHECK(counts().events == 3);
}

static CUresult said_in_callback = -1;
static int n_callbacks;

static void host_function(void *data)
{
	CUdeviceptr p;

	said_in_callback = cu.cuMemAlloc_v2(&p, 1);
	*(int *)data = ++n_callbacks;
}

static void old_callback(CUstream stream, CUresult status, void *data)
{
	*(int *)data = status ? -status : ++n_callbacks;
}

static void callbacks(void)
{
	struct busy busy;
	int first = 0, second = 0;

	start("");
	busy = begin_busy(CU_STREAM_NON_BLOCKING);
	OK(more.cuLaunchHostFunc(busy.stream, host_function, &first));
	OK(more.cuStreamAddCallback(busy.stream, old_callback, &second, 0));
	CHECK(!__atomic_load_n(&first, __ATOMIC_ACQUIRE));
	end_busy(&busy);
	OK(cu.cuStreamSynchronize(busy.stream));
	CHECK(first == 1 && second == 2);
	CHECK(said_in_callback == CUDA_ERROR_NOT_PERMITTED);
}

static int places[2], n_placed;

static void take_place(void *data)
{
	*(int *)data = __atomic_add_fetch(&n_placed, 1, __ATOMIC_RELAXED);
}

/* Of independent streams the last one goes first. */
static void order(void)
{
	CUstream a, b;

	start("order");
	OK(cu.cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cu.cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 20; i++) {
		n_placed = 0;
		OK(more.cuLaunchHostFunc(a, take_place, &places[0]));
		OK(more.cuLaunchHostFunc(b, take_place, &places[1]));
		OK(cu.cuCtxSynchronize());
		CHECK(places[0] == 2 && places[1] == 1);
	}
}

static void capture(void)
{
	CUfunction twice;
	CUstream stream, second;
	CUdeviceptr p, q;
	CUgraphExec exec;
	CUevent event;
	CUgraph graph;
	unsigned one = 1;
	int status = 0;
	void *params[] = { &p };

	start("");
	p = allocated(4);
	twice = kernel("launch", "twice");
	OK(cu.cuStreamCreate(&stream, 0));
	OK(cu.cuStreamCreate(&second, 0));
	OK(cu.cuEventCreate(&event, 0));
	set_word(p, 0);
	OK(more.cuStreamBeginCapture_v2(stream, 0));
	OK(cu.cuStreamIsCapturing(stream, &status));
	CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
	OK(cu.cuMemcpyHtoDAsync_v2(p, &one, 4, stream));
	OK(launch(twice, stream, params));
	OK(cu.cuEventRecord(event, stream));
	OK(cu.cuStreamWaitEvent(second, event, 0));
	OK(launch(twice, second, params));
	OK(cu.cuEventRecord(event, second));
	OK(cu.cuStreamWaitEvent(stream, event, 0));
	OK(more.cuStreamEndCapture(stream, &graph));
	OK(more.cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK(word_at(p) == 0);
	OK(more.cuGraphLaunch(exec, stream));
	OK(cu.cuStreamSynchronize(stream));
	CHECK(word_at(p) == 7);
	one = 2;
	OK(more.cuGraphLaunch(exec, stream));
	OK(cu.cuStreamSynchronize(stream));
	CHECK(word_at(p) == 11);
	OK(more.cuGraphExecDestroy(exec));
	OK(more.cuGraphDestroy(graph));

	/* What may not be done meanwhile breaks it. */
	OK(more.cuStreamBeginCapture_v2(stream, 0));
	IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuStreamSynchronize(stream));
	IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, launch(twice, stream, params));
	IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, more.cuStreamEndCapture(stream, &graph));
	OK(more.cuStreamBeginCapture_v2(stream, 0));
	IS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, more.cuMemcpyHtoD_v2(p, &one, 4));
	IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, more.cuStreamEndCapture(stream, &graph));
	OK(more.cuStreamBeginCapture_v2(stream, 0));
	IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuMemAlloc_v2(&q, 4));
	IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, more.cuStreamEndCapture(stream, &graph));
	OK(more.cuStreamBeginCapture_v2(stream, 2));
	OK(cu.cuMemAlloc_v2(&q, 4));
	OK(more.cuStreamEndCapture(stream, &graph));
	IS(CUDA_ERROR_ILLEGAL_STATE, more.cuStreamEndCapture(stream, &graph));
	OK(cu.cuCtxSynchronize());
}

/* ---- modules and launches */

static void modules(void)
{
	char *image = read_image("launch");
	char log[256] = "";
	void *values[] = { log, (void *)sizeof(log) };
	int options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES }, value = 0;
	CUfunction functions[16], function;
	CUmodule module, owner;
	CUlibrary loaded;
	CUkernel from;
	unsigned n = 0;
	size_t offset, size;
	const char *name;

	start("");
	IS(CUDA_ERROR_INVALID_PTX, cu.cuModuleLoadDataEx(&module, ".version 7.0\n.target sm_70\n", 2, options, values));
	CHECK(*log);
	IS(CUDA_ERROR_NO_BINARY_FOR_GPU, cu.cuModuleLoadDataEx(&module, "\x50\xed\x55\xba", 0, NULL, NULL));
	OK(cu.cuModuleLoadDataEx(&module, image, 0, NULL, NULL));
	IS(CUDA_ERROR_NOT_FOUND, cu.cuModuleGetFunction(&function, module, "nothing"));
	OK(cu.cuModuleGetFunction(&function, module, "sum"));
	OK(cu.cuModuleGetFunctionCount(&n, module));
	CHECK(n > 1 && n <= 16);
	OK(cu.cuModuleEnumerateFunctions(functions, n, module));
	OK(cu.cuFuncGetName(&name, function));
	OK(cu.cuFuncGetModule(&owner, function));
	CHECK(!strcmp(name, "sum") && owner == module);
	/* Two pointers, a word, a byte, a pointer. */
	OK(cu.cuFuncGetParamInfo(function, 2, &offset, &size));
	CHECK(offset == 16 && size == 4);
	OK(cu.cuFuncGetParamInfo(function, 3, &offset, &size));
	CHECK(offset == 20 && size == 1);
	OK(cu.cuFuncGetParamInfo(function, 4, &offset, &size));
	CHECK(offset == 24 && size == 8);
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuFuncGetParamInfo(function, 5, &offset, &size));
	OK(cu.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
	CHECK(value == 1024 && counts().modules == 1);
	OK(cu.cuModuleUnload(module));
	IS(CUDA_ERROR_INVALID_HANDLE, cu.cuModuleUnload(module));
	CHECK(counts().modules == 0);
	OK(more.cuLibraryLoadData(&loaded, image, NULL, NULL, 0, NULL, NULL, 0));
	OK(more.cuLibraryGetKernel(&from, loaded, "twice"));
	OK(more.cuKernelGetFunction(&function, from));
	/* The kernel is no context's, and its function is of this one. */
	CHECK((void *)function != (void *)from);
	OK(more.cuKernelGetParamInfo(from, 0, &offset, &size));
	OK(cu.cuFuncGetParamInfo(function, 0, &offset, &size));
	OK(more.cuLibraryUnload(loaded));
	IS(CUDA_ERROR_INVALID_HANDLE, cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	CHECK(counts().modules == 0);
	free(image);
}

/* Each kind is one's only. */
static CUkernel any_kernel(void)
{
	char *image = read_image("launch");
	CUlibrary loaded;
	CUkernel found;

	start("");
	OK(more.cuLibraryLoadData(&loaded, image, NULL, NULL, 0, NULL, NULL, 0));
	OK(more.cuLibraryGetKernel(&found, loaded, "twice"));
	return found;
}

static void kernel_as_function(void)
{
	CUkernel found = any_kernel();
	size_t offset, size;

	cu.cuFuncGetParamInfo((CUfunction)found, 0, &offset, &size);
}

static void function_as_kernel(void)
{
	CUkernel found = any_kernel();
	CUfunction function;
	size_t offset, size;

	OK(more.cuKernelGetFunction(&function, found));
	more.cuKernelGetParamInfo((CUkernel)function, 0, &offset, &size);
}

static void handles(void)
{
	char said[256] = "";
	int status = child(kernel_as_function, said, sizeof(said));

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(said, "was given a CUkernel"));
	status = child(function_as_kernel, said, sizeof(said));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(said, "was given a CUfunction"));
}

static void launches(void)
{
	CUfunction mark, sum, twice;
	CUdeviceptr p, words, pointers, target;
	unsigned values[64], n = 3;
	unsigned char byte = 5;
	void *params[] = { &p, &words, &n, &byte, &pointers }, *only[] = { &p };
	CUlaunchConfig config = { .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1,
				  .blockDimZ = 1 };
	size_t size = sizeof(p);
	void *extra[] = { (void *)1, &p, (void *)2, &size, NULL };

	start("");
	mark = kernel("launch", "mark");
	sum = kernel("launch", "sum");
	twice = kernel("launch", "twice");
	p = allocated(256);
	words = allocated(256);
	pointers = allocated(256);
	target = words + 4;
	OK(more.cuMemsetD8_v2(p, 0, 256));
	OK(cu.cuLaunchKernel(mark, 2, 3, 2, 4, 2, 1, 0, NULL, only, NULL));
	OK(more.cuMemcpyDtoH_v2(values, p, 256));
	for (unsigned i = 0; i < 12; i++)
		CHECK(values[i] == 1000 * (i / 6) + 100 * (i / 2 % 3) + 10 * (i % 2) + 1);
	OK(more.cuMemcpyHtoD_v2(words, (unsigned[]){ 10, 20, 30 }, 12));
	OK(more.cuMemcpyHtoD_v2(pointers, &target, 8));
	OK(launch(sum, NULL, params));
	OK(more.cuMemcpyDtoH_v2(values, p, 12));
	CHECK(values[0] == 65 && values[1] == 20);
	set_word(p, 1);
	OK(more.cuLaunchKernelEx(&config, twice, only, NULL));
	OK(cu.cuLaunchKernel(twice, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	OK(cu.cuCtxSynchronize());
	CHECK(word_at(p) == 7 && counts().launches == 4);
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(twice, 0, 1, 1, 1, 1, 1, 0, NULL, only, NULL));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(twice, 1, 65536, 1, 1, 1, 1, 0, NULL, only, NULL));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(twice, 1, 1, 1, 1024, 2, 1, 0, NULL, only, NULL));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(twice, 1, 1, 1, 1, 1, 65, 0, NULL, only, NULL));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(twice, 1, 1, 1, 1, 1, 1, 49 * 1024, NULL, only, NULL));
	IS(CUDA_ERROR_INVALID_HANDLE, cu.cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, only, NULL));
	OK(cu.cuCtxSynchronize());
}

/* A kernel that follows an address of the CPU's: an error that sticks to the context, until it is reset. */
static void fault(void)
{
	static unsigned here;
	CUdeviceptr p = (uintptr_t)&here, q, wild = 0;
	void *params[] = { &p }, *null[] = { &wild };
	CUcontext other;
	CUfunction twice;
	CUstream stream;
	CUevent event;

	start("");
	OK(cu.cuStreamCreate(&stream, 0));
	OK(cu.cuEventCreate(&event, 0));
	OK(more.cuCtxCreate_v4(&other, NULL, 0, 0));
	OK(more.cuCtxSetCurrent(context));
	q = allocated(4);
	twice = kernel("launch", "twice");
	OK(launch(twice, stream, params));
	IS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuStreamSynchronize(stream));
	IS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuCtxSynchronize());
	IS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuEventQuery(event));
	IS(CUDA_ERROR_ILLEGAL_ADDRESS, launch(twice, stream, params));
	IS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemFree_v2(q));
	CHECK(!here);
	/* Other contexts go on. */
	OK(more.cuCtxSetCurrent(other));
	OK(cu.cuCtxSynchronize());
	OK(more.cuDevicePrimaryCtxReset_v2(0));
	OK(more.cuCtxSetCurrent(context));
	OK(cu.cuCtxSynchronize());
	CHECK(counts().used == 0);
	/* Freed memory is no memory. */
	p = allocated(GRANULE);
	twice = kernel("launch", "twice");
	OK(launch(twice, NULL, params));
	OK(cu.cuMemFree_v2(p));
	OK(launch(twice, NULL, params));
	IS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuCtxSynchronize());
	OK(more.cuDevicePrimaryCtxReset_v2(0));
	twice = kernel("launch", "twice");
	OK(launch(twice, NULL, null));
	IS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuCtxSynchronize());
}

/* The device goes away under a kernel; a reset brings another one. */
static void killed(void)
{
	CUfunction twice;
	struct busy busy;
	CUdeviceptr p;
	void *params[] = { &p };

	start("");
	busy = begin_busy(0);
	CHECK(!kill(counts().device_pid, SIGKILL));
	IS(CUDA_ERROR_LAUNCH_FAILED, cu.cuStreamSynchronize(busy.stream));
	IS(CUDA_ERROR_LAUNCH_FAILED, cu.cuMemAlloc_v2(&p, 4));
	OK(more.cuDevicePrimaryCtxReset_v2(0));
	p = allocated(4);
	set_word(p, 1);
	twice = kernel("launch", "twice");
	OK(launch(twice, NULL, params));
	OK(cu.cuCtxSynchronize());
	CHECK(word_at(p) == 3);
	/* With nothing on it. */
	CHECK(!kill(counts().device_pid, SIGKILL));
	while (!cu.cuCtxSynchronize())
		;
	IS(CUDA_ERROR_LAUNCH_FAILED, cu.cuCtxSynchronize());
}

/* ---- virtual memory management */

static const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
static const CUmemAccessDesc access_all = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
#define WANTED 0x7ec000000000

static void vmm(void)
{
	CUmemGenericAllocationHandle a, b;
	CUfunction twice;
	CUdeviceptr p, q, small;
	void *params[] = { &p };
	unsigned value = 1;
	size_t bytes = 0;

	start("");
	twice = kernel("launch", "twice");
	OK(cu.cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	CHECK(bytes == GRANULE);
	/* A hint counts for large ones only, and where nothing is. */
	OK(cu.cuMemAddressReserve(&small, GRANULE, 0, WANTED, 0));
	CHECK(small != WANTED && touch(small) == SEGV_ACCERR);
	OK(cu.cuMemAddressReserve(&p, 64 * GiB, 0, WANTED, 0));
	CHECK(p == WANTED);
	OK(cu.cuMemAddressReserve(&q, 64 * GiB, 0, WANTED, 0));
	CHECK(q != WANTED && q % GRANULE == 0);
	OK(cu.cuMemAddressFree(q, 64 * GiB));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemAddressReserve(&q, GRANULE + 4096, 0, 0, 0));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemCreate(&a, 4096, &prop, 0));
	OK(cu.cuMemCreate(&a, GRANULE, &prop, 0));
	OK(cu.cuMemCreate(&b, 2 * GRANULE, &prop, 0));
	CHECK(counts().used == 3 * GRANULE);
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemMap(p + 4096, GRANULE, 0, a, 0));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemMap(p, 2 * GRANULE, 0, a, 0));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemMap(small + GRANULE, GRANULE, 0, a, 0));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemSetAccess(p, GRANULE, &access_all, 1));
	OK(cu.cuMemMap(p, GRANULE, 0, a, 0));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemMap(p, GRANULE, 0, a, 0));
	OK(cu.cuMemMap(p + GRANULE, 2 * GRANULE, 0, b, 0));
	/* Only what was given access to. */
	IS(CUDA_ERROR_INVALID_VALUE, more.cuMemcpyHtoD_v2(p, &value, 4));
	OK(cu.cuMemSetAccess(p, GRANULE, &access_all, 1));
	OK(more.cuMemcpyHtoD_v2(p, &value, 4));
	IS(CUDA_ERROR_INVALID_VALUE, more.cuMemsetD8_v2(p, 0, 2 * GRANULE));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemSetAccess(p, 2 * GRANULE, &access_all, 1));
	OK(cu.cuMemSetAccess(p, 3 * GRANULE, &access_all, 1));
	OK(more.cuMemsetD8_v2(p, 0, 3 * GRANULE));
	OK(more.cuMemsetD32_v2(p + GRANULE - 4, 5, 2));
	OK(launch(twice, NULL, params));
	OK(cu.cuCtxSynchronize());
	CHECK(word_at(p) == 1 && word_at(p + GRANULE) == 5);
	/* A view over it stays when it is unmapped, and goes with the reservation. */
	put_view(p, GRANULE);
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemAddressFree(p, 64 * GiB));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemUnmap(p, 2 * GRANULE));
	OK(cu.cuMemRelease(b));
	CHECK(counts().used == 3 * GRANULE);
	OK(cu.cuMemUnmap(p, 3 * GRANULE));
	CHECK(counts().used == GRANULE && touch(p) == 0);
	OK(cu.cuMemRelease(a));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemRelease(a));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemAddressFree(p, 32 * GiB));
	OK(cu.cuMemAddressFree(p, 64 * GiB));
	CHECK(touch(p) == SEGV_MAPERR && counts().used == 0);
	OK(cu.cuMemAddressFree(small, GRANULE));
	CHECK(touch(small) == SEGV_ACCERR);
}

/* What has no access is not there for kernels either. */
static void vmm_fault(void)
{
	CUmemGenericAllocationHandle a;
	CUfunction twice;
	CUdeviceptr p;
	void *params[] = { &p };

	start("");
	twice = kernel("launch", "twice");
	OK(cu.cuMemAddressReserve(&p, GRANULE, 0, 0, 0));
	OK(cu.cuMemCreate(&a, GRANULE, &prop, 0));
	OK(cu.cuMemMap(p, GRANULE, 0, a, 0));
	OK(launch(twice, NULL, params));
	IS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuCtxSynchronize());
}

static void elsewhere(void)
{
	CUdeviceptr p;

	start("elsewhere");
	OK(cu.cuMemAddressReserve(&p, 64 * GiB, 0, WANTED, 0));
	CHECK(p != WANTED);
}

static void no_vmm(void)
{
	CUdeviceptr p;
	int value = 1;

	start("no-vmm");
	OK(cu.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
	CHECK(!value);
	IS(CUDA_ERROR_NOT_SUPPORTED, cu.cuMemAddressReserve(&p, 64 * GiB, 0, 0, 0));
}

/* ---- other processes */

static int to_parent[2], to_child[2];

static void ipc(void)
{
	CUipcMemHandle handle;
	CUdeviceptr p;
	char byte = 0;
	pid_t pid;
	int status;

	CHECK(!pipe(to_parent) && !pipe(to_child));
	pid = fork();
	CHECK(pid >= 0);
	start("");
	if (!pid) {
		close(to_child[1]);
		close(to_parent[0]);
		p = allocated(512);
		p = allocated(4096);
		set_word(p, 42);
		OK(more.cuIpcGetMemHandle(&handle, p));
		IS(CUDA_ERROR_INVALID_CONTEXT, more.cuIpcOpenMemHandle_v2(&p, handle, 1));
		CHECK(write(to_parent[1], &handle, sizeof(handle)) == sizeof(handle));
		CHECK(read(to_child[0], &byte, 1) == 1);
		_exit(word_at(p) == 43 ? 0 : 1);
	}
	close(to_parent[1]);
	CHECK(read(to_parent[0], &handle, sizeof(handle)) == sizeof(handle));
	OK(more.cuIpcOpenMemHandle_v2(&p, handle, 1));
	CHECK(word_at(p) == 42);
	set_word(p, 43);
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(p));
	OK(more.cuIpcCloseMemHandle(p));
	CHECK(write(to_child[1], &byte, 1) == 1);
	CHECK(waitpid(pid, &status, 0) == pid && !status);
}

/* ---- names */

static void proc_address(void)
{
	static const struct {
		const char *name;
		int version;
		unsigned flags;
		const char *symbol;	/* NULL: none */
		int status;
	} rows[] = {
		{ "cuMemAlloc", 3020, 0, "cuMemAlloc_v2", 0 },
		{ "cuMemAlloc", 13000, 0, "cuMemAlloc_v2", 0 },
		{ "cuMemAlloc", 2000, 0, "cuMemAlloc", 0 },
		{ "cuMemAlloc", 1000, 0, NULL, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT },
		{ "cuCtxSynchronize", 2000, 0, "cuCtxSynchronize", 0 },
		{ "cuCtxSynchronize", 12080, 0, "cuCtxSynchronize", 0 },
		{ "cuCtxSynchronize", 13000, 0, "cuCtxSynchronize_v2", 0 },
		{ "cuMemcpyBatchAsync", 12080, 0, "cuMemcpyBatchAsync", 0 },
		{ "cuMemcpyBatchAsync", 13000, 0, "cuMemcpyBatchAsync_v2", 0 },
		{ "cuMemcpyBatchAsync", 13000, 2, "cuMemcpyBatchAsync_v2_ptsz", 0 },
		{ "cuGetProcAddress", 11030, 0, "cuGetProcAddress", 0 },
		{ "cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2", 0 },
		{ "cuLaunchKernel", 7000, 2, "cuLaunchKernel_ptsz", 0 },
		{ "cuLaunchKernel", 7000, 1, "cuLaunchKernel", 0 },
		{ "cuMemcpyHtoD", 7000, 2, "cuMemcpyHtoD_v2_ptds", 0 },
		{ "cuInit", 2000, 2, "cuInit", 0 },
		{ "", 0, 0, NULL, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND },
		{ "cuNothing", 13000, 0, NULL, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND },
		{ "cuMemAlloc_v2", 13000, 0, NULL, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND },
	};

	open_driver("");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *p = &p, *q = &q;
		int status = -1;
		CUresult error = rows[i].symbol ? 0 : CUDA_ERROR_NOT_FOUND;

		IS(error, more.cuGetProcAddress_v2(rows[i].name, &p, rows[i].version, rows[i].flags, &status));
		IS(error, more.cuGetProcAddress(rows[i].name, &q, rows[i].version, rows[i].flags));
		CHECK(status == rows[i].status && p == q);
		CHECK(p == (rows[i].symbol ? dlsym(driver, rows[i].symbol) : NULL));
	}
}

static void export_table(void)
{
	const void *table = NULL;
	CUuuid id = { { 0 } };

	open_driver("");
	OK(cu.cuInit(0));
	CHECK(more.cuGetExportTable(&table, &id) && !table);
}

/* ---- misbehaviour */

static void no_device(void)
{
	int n;

	open_driver("no-device");
	IS(CUDA_ERROR_NO_DEVICE, cu.cuInit(0));
	IS(CUDA_ERROR_NOT_INITIALIZED, cu.cuDeviceGetCount(&n));
}

static void stub(void)
{
	open_driver("stub");
	IS(CUDA_ERROR_STUB_LIBRARY, cu.cuInit(0));
}

static void old(void)
{
	CUfunction twice;
	size_t offset;
	CUdeviceptr p;
	void *found;
	int n;

	start("old");
	OK(cu.cuDriverGetVersion(&n));
	CHECK(n == DRIVER_OLD_VERSION);
	twice = kernel("launch", "twice");
	IS(CUDA_ERROR_NOT_SUPPORTED, cu.cuFuncGetParamInfo(twice, 0, &offset, &offset));
	IS(CUDA_ERROR_NOT_SUPPORTED, cu.cuMemAddressReserve(&p, 64 * GiB, 0, 0, 0));
	IS(CUDA_ERROR_NOT_FOUND, more.cuGetProcAddress("cuMemAddressReserve", &found, 11030, 0));
	IS(CUDA_ERROR_NOT_FOUND, more.cuGetProcAddress("cuFuncGetParamInfo", &found, 13000, 0));
	OK(more.cuGetProcAddress("cuCtxSynchronize", &found, 13000, 0));
	CHECK(found == dlsym(driver, "cuCtxSynchronize"));
}

static void no_unified(void)
{
	int value = 1;

	start("no-unified");
	OK(cu.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 0));
	CHECK(!value);
}

static void fail(void)
{
	CUdeviceptr p;

	start("fail=cuMemAlloc_v2:2,fail=cuMemAlloc_v2:3:2,fail=cuCtxSynchronize:1:46");
	OK(cu.cuMemAlloc_v2(&p, 4));
	IS(CUDA_ERROR_UNKNOWN, cu.cuMemAlloc_v2(&p, 4));
	IS(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc_v2(&p, 4));
	OK(cu.cuMemAlloc_v2(&p, 4));
	IS(CUDA_ERROR_DEVICE_UNAVAILABLE, cu.cuCtxSynchronize());
	OK(cu.cuCtxSynchronize());
}

static void lost(void)
{
	CUdeviceptr p;

	start("lost=cuMemAlloc_v2:2:214");
	OK(cu.cuMemAlloc_v2(&p, 4));
	OK(cu.cuCtxSynchronize());
	IS(CUDA_ERROR_ECC_UNCORRECTABLE, cu.cuMemAlloc_v2(&p, 4));
	IS(CUDA_ERROR_ECC_UNCORRECTABLE, cu.cuCtxSynchronize());
	IS(CUDA_ERROR_ECC_UNCORRECTABLE, cu.cuMemFree_v2(p));
	OK(more.cuDevicePrimaryCtxReset_v2(0));
	OK(cu.cuCtxSynchronize());
}

static void ended(void)
{
	int n;

	IS(CUDA_ERROR_DEINITIALIZED, cu.cuDeviceGetCount(&n));
	IS(CUDA_ERROR_DEINITIALIZED, cu.cuInit(0));
	IS(CUDA_ERROR_DEINITIALIZED, cu.cuCtxSynchronize());
	_exit(7);
}

static void not_ended(void)
{
	OK(cu.cuCtxSynchronize());
}

static void leave(void)
{
	atexit(ended);
	start("");
	/* Once more is not again. */
	OK(cu.cuInit(0));
	atexit(not_ended);
	exit(0);
}

/* Handlers of exit() find it as it was, or ended, by when they were registered. */
static void at_exit(void)
{
	char said[1024] = "";
	int status = child(leave, said, sizeof(said));

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* What a context had is nobody's when it has ended, whatever comes to its place. */
static void dead_event(void)
{
	CUevent event;

	start("");
	OK(cu.cuEventCreate(&event, 0));
	OK(more.cuDevicePrimaryCtxReset_v2(0));
	cu.cuEventQuery(event);
}

static void dead_stream(void)
{
	CUstream stream;

	start("");
	OK(cu.cuStreamCreate(&stream, 0));
	OK(more.cuDevicePrimaryCtxReset_v2(0));
	cu.cuStreamQuery(stream);
}

static void dead(void)
{
	void (*const uses[])(void) = { dead_event, dead_stream };

	for (int i = 0; i < 2; i++) {
		char said[1024] = "";
		int status = child(uses[i], said, sizeof(said));

		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == DRIVER_DEAD_STATUS && strstr(said, "gone"));
	}
}

static void signals_open(void)
{
	open_driver("signals");
	cu.cuInit(0);
}

static void signals_blocked(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	open_driver("signals");
	OK(cu.cuInit(0));
	_exit(0);
}

static void signals(void)
{
	char said[1024] = "";
	int status = child(signals_open, said, sizeof(said));

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == DRIVER_SIGNALS_STATUS);
	CHECK(strstr(said, "cuInit was entered with SIGUSR1 unblocked"));
	CHECK(child(signals_blocked, said, sizeof(said)) == 0);
}

static char count_file[] = "/tmp/test_driver.XXXXXX";

static void use_some(void)
{
	char words[128];
	int n;

	snprintf(words, sizeof(words), "count=%s", count_file);
	start(words);
	OK(cu.cuDeviceGetCount(&n));
	OK(cu.cuDeviceGetCount(&n));
}

static void count(void)
{
	char text[4096] = "", said[1024] = "";
	int fd = mkstemp(count_file);
	ssize_t n;

	CHECK(fd >= 0);
	CHECK(child(use_some, said, sizeof(said)) == 0);
	close(fd);
	fd = open(count_file, O_RDONLY);
	n = read(fd, text, sizeof(text) - 1);
	unlink(count_file);
	CHECK(n > 0 && strstr(text, "cuDeviceGetCount 2\n") && strstr(text, "cuInit 1\n"));
	CHECK(!strstr(text, "cuMemAlloc"));
}

static void unknown_word(void)
{
	open_driver("strict,nonsense");
}

static void unknown_function(void)
{
	open_driver("fail=cuNothing:1");
}

static void seeded(void)
{
	open_driver("seed=3");
}

static void words(void)
{
	char said[1024] = "", again[1024] = "";

	CHECK(child(unknown_word, said, sizeof(said)) && strstr(said, "'nonsense'"));
	CHECK(child(unknown_function, said, sizeof(said)) && strstr(said, "cuNothing"));
	CHECK(!child(seeded, said, sizeof(said)) && !child(seeded, again, sizeof(again)));
	CHECK(strstr(said, "seed=3:") && !strcmp(said, again));
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "plain", plain }, { "contexts", contexts }, { "forks", forks }, { "addresses", addresses },
	{ "views", views }, { "async-pool", async_pool }, { "low-memory", low_memory }, { "memory", chosen_memory },
	{ "poison", poison }, { "readable", readable }, { "host", host }, { "managed", managed },
	{ "copies", copies }, { "unified", unified }, { "strict", strict }, { "protected", protected_host },
	{ "staged", staged }, { "late", late }, { "streams", streams }, { "per-thread", per_thread },
	{ "events", event_cases }, { "callbacks", callbacks }, { "order", order }, { "capture", capture },
	{ "modules", modules }, { "handles", handles },
	{ "launches", launches }, { "fault", fault }, { "killed", killed }, { "vmm", vmm },
	{ "vmm-fault", vmm_fault }, { "elsewhere", elsewhere }, { "no-vmm", no_vmm }, { "ipc", ipc },
	{ "proc-address", proc_address }, { "export-table", export_table }, { "no-device", no_device },
	{ "stub", stub }, { "old", old }, { "no-unified", no_unified }, { "fail", fail }, { "lost", lost },
	{ "at-exit", at_exit }, { "dead", dead }, { "signals", signals }, { "count", count }, { "words", words },
};

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: %s LIBRARY KERNELS CASE\n", argv[0]);
		return 2;
	}
	library = argv[1];
	kernels = argv[2];
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[3]))
			continue;
		cases[i].run();
		fflush(NULL);
		_exit(0);
	}
	fprintf(stderr, "there is no case '%s'\n", argv[3]);
	return 2;
}
