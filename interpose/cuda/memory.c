/* SPDX-License-Identifier: MIT */
/*
 * memory.c - makes objects of device memory that the program allocates by the driver: allocating, freeing, queries.
 *
 * An object has its own pages. So sizes are rounded up to whole pages. If the driver's address is not at the start of a
 * page, the allocation is repeated with one page more, and the program gets the address of the first whole page. The
 * table in allocations.c has the driver's address, too.
 */
#include "memory.h"

#include <stdlib.h>

#include "allocations.h"
#include "base/log.h"
#include "base/os.h"
#include "home.h"
#include "loan.h"
#include "others.h"
#include "stream.h"
#include "sync.h"
#include "core/shared.h"
#include "run/wait/wait.h"

ADSM_CU_CALLED(cuCtxGetDevice, (CUdevice *device));
ADSM_CU_CALLED(cuCtxPushCurrent_v2, (CUcontext context));
ADSM_CU_CALLED(cuCtxPopCurrent_v2, (CUcontext *context));
ADSM_CU_CALLED(cuThreadExchangeStreamCaptureMode, (int *mode));

/* ---- allocation */

/* The function by which the program allocates or frees, and its arguments. */
struct source {
	CUresult (*alloc)(const struct source *source, CUdeviceptr *p, size_t size);
	CUresult (*free)(const struct source *source, CUdeviceptr p);
	CUmemoryPool pool;
	bool ordered, per_thread;	/* in the order of a stream; whether NULL is the thread's default stream */
	CUstream stream;
};

static int check_access(const struct source *source, const struct adsm_cuda_allocation *allocation)
{
	if (!adsm_cuda_context_is_open(allocation->context) &&
	    !(source->ordered && adsm_cuda_pool_is_open(allocation->pool, allocation->device)))
		return 0;
	return adsm_fail(-ENOTSUP, "other devices' kernels may access it");
}

/* Make an object of the allocation. If the result is negative, the memory stays ordinary device memory. */
static int adopt(const struct source *source, const struct adsm_cuda_allocation *allocation)
{
	struct adsm_driver_use use = { (void *)(uintptr_t)allocation->given, ADSM_ACCESS_OUT };
	struct adsm_home *home;
	struct adsm_cuda_allocation gone;
	int result = CUDA_SUCCESS, error;

	error = check_access(source, allocation);
	if (!error)
		error = adsm_driver_home("cuda", allocation->context, (void *)(intptr_t)allocation->device, &home);
	if (error)
		return error;
	if (adsm_cuda_has_ended(home))
		return adsm_fail(-ENODEV, "the program has ended the context");
	error = adsm_cuda_allocation_put(allocation);
	if (error)
		return error;
	error = adsm_driver_adopt(home, allocation->given, allocation->size);
	if (error)
		goto take;
	/* Until the stream arrives here, kernels of the memory's former owner may still use it. */
	if (source->ordered)
		error = adsm_driver_call(home, &use, 1, adsm_cuda_stream(source->stream, source->per_thread), NULL,
					 NULL, &result);
	/* Another thread may have opened it meanwhile, and have found no object yet. */
	if (!error)
		error = check_access(source, allocation);
	if (error)
		goto forget;
	return 0;
forget:
	adsm_driver_forget(use.p, true, NULL);
take:
	adsm_cuda_allocation_take(allocation->given, &gone);
	return error;
}

/* A pool's memory may also be on the host, on another device, or be managed memory. */
static bool is_of_device(CUdeviceptr p, CUdevice device);

/* Warn once, because a touch of such memory crashes the program. */
static void stays_driver(const char *why)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		adsm_warn("an allocation of the program does not become shared memory: %s", why);
}

/* Use kept memory of the same context, without a call of the driver. */
static bool allocate_kept(CUcontext context, CUdeviceptr *ret_p, size_t size)
{
	struct adsm_home *home = adsm_driver_home_of(context);
	uint64_t p;

	if (!home || adsm_cuda_has_ended(home) || adsm_cuda_context_is_open(context) ||
	    adsm_driver_reuse(home, size, &p))
		return false;
	adsm_cuda_allocation_hand_out(p, size);
	/* As in adopt(): then it is only device memory. */
	if (adsm_cuda_context_is_open(context))
		adsm_driver_forget((void *)(uintptr_t)p, true, NULL);
	*ret_p = p;
	return true;
}

static CUresult allocate_pages(const struct source *source, CUdeviceptr *ret_p, size_t size)
{
	CUresult result = source->alloc(source, ret_p, adsm_whole_pages(size));

	if (result == CUDA_SUCCESS && *ret_p % ADSM_PAGE_SIZE) {
		source->free(source, *ret_p);
		result = source->alloc(source, ret_p, adsm_whole_pages(size) + ADSM_PAGE_SIZE);
	}
	return result;
}

static CUresult allocate_at(const struct source *source, CUdeviceptr *ret_p, size_t size)
{
	struct adsm_cuda_allocation allocation = { .size = size, .ordered = source->ordered, .pool = source->pool };
	CUstream stream = adsm_cuda_stream(source->stream, source->per_thread);
	CUresult result;
	int error;

	if (!ret_p || !size || size > SIZE_MAX / 2 || !adsm_cuda_makes_objects() ||
	    (source->ordered && adsm_cuda_capturing(stream)))
		return source->alloc(source, ret_p, size);
	allocation.context = adsm_cuda_context_of(stream);
	if (!allocation.context)
		return source->alloc(source, ret_p, size);
	if (!source->ordered && allocate_kept(allocation.context, ret_p, size))
		return CUDA_SUCCESS;

	if (real_cu(cuCtxGetDevice)(&allocation.device))
		return source->alloc(source, ret_p, size);
	result = allocate_pages(source, &allocation.driver, size);
	if (result == CUDA_ERROR_OUT_OF_MEMORY && adsm_driver_give_up(NULL))
		result = allocate_pages(source, &allocation.driver, size);
	if (result != CUDA_SUCCESS) {	/* the reason may be the rounding to pages */
		result = source->alloc(source, ret_p, size);
		if (result == CUDA_SUCCESS)
			stays_driver("no room for whole pages");
		return result;
	}
	allocation.given = adsm_whole_pages(allocation.driver);
	if (source->ordered && !is_of_device(allocation.driver, allocation.device)) {
		*ret_p = allocation.driver;
		return CUDA_SUCCESS;
	}
	error = adopt(source, &allocation);
	if (error)
		stays_driver(adsm_last_error());
	*ret_p = error ? allocation.driver : allocation.given;
	return CUDA_SUCCESS;
}

static CUresult allocate(const struct source *source, CUdeviceptr *ret_p, size_t size)
{
	CUresult result;

	ADSM_LOANS_FOR(result, allocate_at(source, ret_p, size), ADSM_LOAN(ret_p, sizeof(*ret_p)));
	return result;
}

ADSM_CU(cuMemAlloc_v2, (CUdeviceptr *p, size_t size));
ADSM_CU(cuMemAllocAsync, (CUdeviceptr *p, size_t size, CUstream stream));
ADSM_CU(cuMemAllocAsync_ptsz, (CUdeviceptr *p, size_t size, CUstream stream));
ADSM_CU(cuMemAllocFromPoolAsync, (CUdeviceptr *p, size_t size, CUmemoryPool pool, CUstream stream));
ADSM_CU(cuMemAllocFromPoolAsync_ptsz, (CUdeviceptr *p, size_t size, CUmemoryPool pool, CUstream stream));
ADSM_CU(cuMemFree_v2, (CUdeviceptr p));
ADSM_CU(cuMemFreeAsync, (CUdeviceptr p, CUstream stream));
ADSM_CU(cuMemFreeAsync_ptsz, (CUdeviceptr p, CUstream stream));

static CUresult alloc_plain(const struct source *source, CUdeviceptr *p, size_t size)
{
	(void)source;
	return real_cu(cuMemAlloc_v2)(p, size);
}

static CUresult free_plain(const struct source *source, CUdeviceptr p)
{
	(void)source;
	return real_cu(cuMemFree_v2)(p);
}

static CUresult alloc_ordered(const struct source *source, CUdeviceptr *p, size_t size)
{
	return source->per_thread ? real_cu(cuMemAllocAsync_ptsz)(p, size, source->stream) :
		real_cu(cuMemAllocAsync)(p, size, source->stream);
}

static CUresult alloc_pool(const struct source *source, CUdeviceptr *p, size_t size)
{
	return source->per_thread ? real_cu(cuMemAllocFromPoolAsync_ptsz)(p, size, source->pool, source->stream) :
		real_cu(cuMemAllocFromPoolAsync)(p, size, source->pool, source->stream);
}

static CUresult free_ordered(const struct source *source, CUdeviceptr p)
{
	return source->per_thread ? real_cu(cuMemFreeAsync_ptsz)(p, source->stream) :
		real_cu(cuMemFreeAsync)(p, source->stream);
}

ADSM_WRAPPER CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t size)
{
	return allocate(&(struct source){ .alloc = alloc_plain, .free = free_plain }, p, size);
}

/* The driver chooses the pitch. Its own allocation is not rounded to pages, so it is freed and repeated here. */
ADSM_CU_WRAPPER(cuMemAllocPitch_v2, (CUdeviceptr *p, size_t *pitch, size_t width, size_t height, unsigned element))
{
	CUdeviceptr asked = 0, shared;
	CUresult result;

	do
		ADSM_LOANS_FOR(result, real_cu(cuMemAllocPitch_v2)(p ? &asked : NULL, pitch, width, height, element),
			       ADSM_LOAN(pitch, sizeof(*pitch)));
	while (result == CUDA_ERROR_OUT_OF_MEMORY && adsm_driver_give_up(NULL));
	if (result == CUDA_SUCCESS && adsm_cuda_makes_objects()) {
		/* Free it first: there may be no room for two. If the second one fails, so does this function. */
		real_cu(cuMemFree_v2)(asked);
		result = allocate(&(struct source){ .alloc = alloc_plain, .free = free_plain }, &shared,
				  *pitch * height);
		asked = shared;
	}
	if (result == CUDA_SUCCESS)
		*p = asked;
	return result;
}

#define ALLOC(name, per_thread_, alloc_, pool_, ...)								\
	ADSM_WRAPPER CUresult name(__VA_ARGS__)									\
	{													\
		struct source source = { .alloc = alloc_, .free = free_ordered, .pool = pool_,			\
					 .ordered = true, .per_thread = per_thread_, .stream = stream };	\
														\
		return allocate(&source, p, size);								\
	}
ALLOC(cuMemAllocAsync, false, alloc_ordered, NULL, CUdeviceptr *p, size_t size, CUstream stream)
ALLOC(cuMemAllocAsync_ptsz, true, alloc_ordered, NULL, CUdeviceptr *p, size_t size, CUstream stream)
ALLOC(cuMemAllocFromPoolAsync, false, alloc_pool, pool, CUdeviceptr *p, size_t size, CUmemoryPool pool, CUstream stream)
ALLOC(cuMemAllocFromPoolAsync_ptsz, true, alloc_pool, pool, CUdeviceptr *p, size_t size, CUmemoryPool pool,
      CUstream stream)

/* ---- freeing: the object ends before the driver frees the memory */

/*
 * Wait for all commands, as the driver does when it frees memory. The library can only wait for calls that it knows of.
 * Returns false if the driver has got other commands since it last freed memory. Then the memory cannot be kept: the
 * driver must free it.
 */
static bool wait_as_driver(struct adsm_home *home)
{
	static _Atomic unsigned epochs[ADSM_MAX_DEVICES];	/* adsm_life.epoch at the last call of this function */
	uint32_t bit = (uint32_t)1 << home->index;
	bool first = atomic_exchange(&epochs[home->index], adsm_life.epoch) != adsm_life.epoch;

	if ((atomic_fetch_and(&adsm_cuda_past, ~bit) & bit) || first || adsm_cuda_has_ended(home))
		return false;
	return !adsm_wait_calls(home);
}

/* Give kept memory back to the driver. May be called in any thread, with any context current, and during captures. */
static void free_kept(uintptr_t start)
{
	int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	struct adsm_cuda_allocation allocation;
	struct adsm_sigset old;
	CUcontext popped;

	if (!adsm_cuda_allocation_take(start, &allocation))
		return;
	adsm_os_signals_block(&old);
	if (real_cu(cuCtxPushCurrent_v2)(allocation.context) == CUDA_SUCCESS) {
		real_cu(cuThreadExchangeStreamCaptureMode)(&mode);
		real_cu(cuMemFree_v2)(allocation.driver);
		real_cu(cuThreadExchangeStreamCaptureMode)(&mode);
		real_cu(cuCtxPopCurrent_v2)(&popped);
	}
	adsm_os_signals_restore(&old);
}

static CUresult give_back(const struct source *source, CUdeviceptr p)
{
	struct adsm_cuda_allocation allocation;
	struct adsm_driver_place place;
	struct adsm_home *home;
	CUresult result;
	bool may_keep;
	int error;

	if (source->ordered && !adsm_cuda_allocation_none() &&
	    adsm_cuda_capturing(adsm_cuda_stream(source->stream, source->per_thread)))
		return source->free(source, adsm_cuda_allocation_find(p, &allocation) && allocation.given == p ?
				    allocation.driver : p);
	if (!adsm_cuda_allocation_free(p, &allocation))
		return source->free(source, p);
	if (allocation.freed)
		return CUDA_ERROR_INVALID_VALUE;
	home = adsm_driver_home_of(allocation.context);
	may_keep = !source->ordered && !allocation.ordered && home && wait_as_driver(home);
	/* cuMemFreeAsync() waits for nothing but calls by ranges, which have no place in the stream's order. Commands
	 * that use the memory come before it there. */
	error = adsm_driver_forget((void *)(uintptr_t)p, !source->ordered, may_keep ? free_kept : NULL);
	if (error == 1)
		return CUDA_SUCCESS;
	/* The object is held, a call by ranges needs it, or waiting for its calls failed: object and memory stay. */
	if (error && adsm_driver_find((void *)(uintptr_t)p, &place)) {
		adsm_cuda_allocation_hand_out(p, allocation.size);
		return adsm_cuda_result(error);
	}
	/* The object has ended, here or because the library was shut down meanwhile. */
	adsm_cuda_allocation_take(p, &allocation);
	result = source->free(source, allocation.driver);
	if (result != CUDA_SUCCESS) {
		allocation.freed = false;
		adsm_cuda_allocation_put(&allocation);
		adsm_cuda_passed(result);
	}
	return result;
}

ADSM_WRAPPER CUresult cuMemFree_v2(CUdeviceptr p)
{
	return give_back(&(struct source){ .free = free_plain }, p);
}

#define FREE(name, per_thread_)											\
	ADSM_WRAPPER CUresult name(CUdeviceptr p, CUstream stream)						\
	{													\
		struct source source = { .free = free_ordered, .ordered = true, .per_thread = per_thread_,	\
					 .stream = stream };							\
														\
		return give_back(&source, p);									\
	}
FREE(cuMemFreeAsync, false)
FREE(cuMemFreeAsync_ptsz, true)

/* ---- the end of a context, with all its memory */

void adsm_cuda_forget(CUcontext context)
{
	struct adsm_cuda_allocation allocation;

	while (adsm_cuda_allocation_take_of(context, &allocation))
		if (adsm_driver_forget((void *)(uintptr_t)allocation.given, true, NULL) == -EBUSY)
			adsm_warn("the program has ended the context of shared memory at %p: %s",
				  (void *)(uintptr_t)allocation.given, adsm_last_error());
}

/* ---- queries: the results describe the memory as the program knows it */

ADSM_CU_WRAPPER(cuMemGetAddressRange_v2, (CUdeviceptr *start, size_t *size, CUdeviceptr p))
{
	struct adsm_cuda_allocation allocation;
	CUresult result;

	ADSM_LOANS_FOR(result, real_cu(cuMemGetAddressRange_v2)(start, size, p),
		       ADSM_LOAN(start, sizeof(*start)), ADSM_LOAN(size, sizeof(*size)));
	if (result == CUDA_SUCCESS && adsm_cuda_allocation_find(p, &allocation)) {
		if (start)
			*start = allocation.given;
		if (size)
			*size = allocation.size;
	}
	return result;
}

/* The size of the value, or more. A value at an address that is no multiple of 8 has 4 bytes. */
static size_t value_size(const void *value, int attribute)
{
	return attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS ? 16 : (uintptr_t)value % 8 ? 4 : 8;
}

/* Answer a query from the table. False: the driver answers it. */
static bool answer(const struct adsm_cuda_allocation *allocation, void *value, int attribute, CUdeviceptr p)
{
	struct adsm_driver_place place;

	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!adsm_driver_find((void *)(uintptr_t)p, &place))
			return false;
		*(void **)value = (void *)(uintptr_t)p;
		return true;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)value = allocation->given;
		return true;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)value = allocation->size;
		return true;
	default:
		return false;
	}
}

ADSM_CU_WRAPPER(cuPointerGetAttribute, (void *value, int attribute, CUdeviceptr p))
{
	struct adsm_cuda_allocation allocation;
	CUresult result;

	if (value && adsm_cuda_allocation_find(p, &allocation) && answer(&allocation, value, attribute, p))
		return CUDA_SUCCESS;
	ADSM_LOANS_FOR(result, real_cu(cuPointerGetAttribute)(value, attribute, p),
		       ADSM_LOAN(value, value_size(value, attribute)));
	return result;
}

static bool is_of_device(CUdeviceptr p, CUdevice device)
{
	unsigned type, managed = 0;
	int ordinal;

	real_cu(cuPointerGetAttribute)(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p);
	return !managed && real_cu(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) == CUDA_SUCCESS &&
		type == CU_MEMORYTYPE_DEVICE &&
		real_cu(cuPointerGetAttribute)(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p) == CUDA_SUCCESS &&
		ordinal == device;
}

ADSM_CU(cuPointerGetAttributes, (unsigned n, int *attributes, void **values, CUdeviceptr p));

/* Lends the driver the lists, and the values that @values points to. For these, @values is replaced by a copy. */
static CUresult get_attributes(unsigned n, int *attributes, void **values, CUdeviceptr p)
{
	struct adsm_loan *loans = NULL;
	void **own = NULL;
	bool shared = false;
	CUresult result;

	for (unsigned i = 0; attributes && values && i < n; i++)
		shared |= adsm_may_be_shared(values[i], value_size(values[i], attributes[i]));
	if (shared) {
		loans = calloc(n, sizeof(*loans));
		own = calloc(n, sizeof(*own));
	}
	for (unsigned i = 0; loans && own && i < n; i++) {
		own[i] = values[i];
		loans[i] = (struct adsm_loan)ADSM_LOAN(own[i], value_size(own[i], attributes[i]));
	}
	if (loans && own)
		adsm_loans_begin(loans, n);
	ADSM_LOANS_FOR(result, real_cu(cuPointerGetAttributes)(n, attributes, loans && own ? own : values, p),
		       ADSM_LOAN(attributes, n * sizeof(*attributes)),
		       ADSM_LOAN(values, n * sizeof(*values)));
	if (loans && own)
		adsm_loans_end(loans, n);
	free(own);
	free(loans);
	return result;
}

ADSM_WRAPPER CUresult cuPointerGetAttributes(unsigned n, int *attributes, void **values, CUdeviceptr p)
{
	struct adsm_cuda_allocation allocation;
	CUresult result = get_attributes(n, attributes, values, p);

	if (result == CUDA_SUCCESS && adsm_cuda_allocation_find(p, &allocation))
		for (unsigned i = 0; i < n; i++)
			answer(&allocation, values[i], attributes[i], p);
	return result;
}
