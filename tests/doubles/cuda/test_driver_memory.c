/* SPDX-License-Identifier: MIT */
/* test_driver_memory.c - the driver double's memory: of all kinds, views over it, copies, virtual memory, processes. */
#include "test_driver.h"

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
	/* Both registrations in one range, then a page that is not registered. */
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

static const struct driver_case cases[] = {
	{ "addresses", addresses }, { "views", views }, { "async-pool", async_pool }, { "low-memory", low_memory },
	{ "memory", chosen_memory }, { "poison", poison }, { "readable", readable }, { "host", host },
	{ "managed", managed }, { "copies", copies }, { "unified", unified }, { "strict", strict },
	{ "protected", protected_host }, { "vmm", vmm }, { "vmm-fault", vmm_fault }, { "elsewhere", elsewhere },
	{ "no-vmm", no_vmm }, { "ipc", ipc },
};
DRIVER_MAIN(cases)
