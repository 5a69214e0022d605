/* SPDX-License-Identifier: MIT */
/*
 * memory.c - the program's own device memory becomes objects: allocation, the end of it, and questions about it.
 *
 * An object has pages of its own. So sizes are rounded up to whole pages, and where the driver's address is in the
 * middle of one, the allocation is repeated one page larger and the first whole page is handed out. The table knows
 * what the driver gave.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "entries.h"
#include "base/log.h"

#define CONTEXTS_MAX 64		/* that are open to their peers */
#define POOLS_MAX 64		/* that are open to others */

CUresult cuCtxGetCurrent(CUcontext *context);
CUresult cuCtxGetDevice(CUdevice *device);
ADSM_CU_CALLED(cuCtxGetCurrent);
ADSM_CU_CALLED(cuCtxGetDevice);
CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device);
ADSM_CU_CALLED(cuDeviceGetMemPool);
CUresult cuCtxPushCurrent_v2(CUcontext context);
CUresult cuCtxPopCurrent_v2(CUcontext *context);
CUresult cuThreadExchangeStreamCaptureMode(int *mode);
ADSM_CU_CALLED(cuCtxPushCurrent_v2);
ADSM_CU_CALLED(cuCtxPopCurrent_v2);
ADSM_CU_CALLED(cuThreadExchangeStreamCaptureMode);

_Atomic uint32_t adsm_cuda_past;

/* ---- the table: what was handed out, in order of addresses. No handler of signals may use the driver, so none comes
 * here; and the lock is a leaf. */

struct allocation {
	CUdeviceptr given, driver;	/* to the program; by the driver */
	size_t size;			/* as the program asked for it */
	CUcontext context;
	CUdevice device;
	bool ordered;			/* in a stream's order, from a pool: such memory is not kept */
	CUmemoryPool pool;		/* NULL: that which the device had then */
	bool freed;			/* by the program, and kept: kept.h */
};

static struct adsm_mutex table_lock = ADSM_MUTEX_INIT;
static struct allocation *table;
static size_t table_room;
static _Atomic size_t n_table;

/* The index of the first one that begins after @p. */
static size_t table_above(CUdeviceptr p)
{
	size_t low = 0, high = n_table;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table[middle].given <= p)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int table_put(const struct allocation *allocation)
{
	int error = 0;
	size_t i;

	adsm_mutex_lock(&table_lock);
	if (n_table == table_room) {
		size_t room = table_room ? 2 * table_room : 64;
		struct allocation *larger = realloc(table, room * sizeof(*larger));

		if (larger) {
			table = larger;
			table_room = room;
		} else {
			error = adsm_fail(-ENOMEM, "no memory for the table of allocations");
		}
	}
	if (!error) {
		i = table_above(allocation->given);
		memmove(table + i + 1, table + i, (n_table - i) * sizeof(*table));
		table[i] = *allocation;
		n_table++;
	}
	adsm_mutex_unlock(&table_lock);
	return error;
}

static void remove_locked(size_t i)
{
	n_table--;
	memmove(table + i, table + i + 1, (n_table - i) * sizeof(*table));
}

/* Most programs ask about what is not here: they do not take the lock. */
static bool table_empty(void)
{
	return !atomic_load_explicit(&n_table, memory_order_acquire);
}

/* The one that begins at @p, freed or not; with the lock. */
static struct allocation *table_at(CUdeviceptr p)
{
	size_t i = table_above(p);

	return i && table[i - 1].given == p ? &table[i - 1] : NULL;
}

/* Take it out. */
static bool table_take(CUdeviceptr p, struct allocation *ret_allocation)
{
	struct allocation *found;

	adsm_mutex_lock(&table_lock);
	found = table_at(p);
	if (found) {
		*ret_allocation = *found;
		remove_locked((size_t)(found - table));
	}
	adsm_mutex_unlock(&table_lock);
	return found;
}

/* The program frees it: one thread only has it then. */
static bool table_free(CUdeviceptr p, struct allocation *ret_allocation)
{
	struct allocation *found;

	if (table_empty())
		return false;
	adsm_mutex_lock(&table_lock);
	found = table_at(p);
	if (found) {
		*ret_allocation = *found;
		found->freed = true;
	}
	adsm_mutex_unlock(&table_lock);
	return found;
}

/* It is the program's, again. */
static void table_hand_out(CUdeviceptr p, size_t size)
{
	struct allocation *found;

	adsm_mutex_lock(&table_lock);
	found = table_at(p);
	if (found) {
		found->size = size;
		found->freed = false;
	}
	adsm_mutex_unlock(&table_lock);
}

/* Take out any one of a context. */
static bool table_take_of(CUcontext context, struct allocation *ret_allocation)
{
	bool found = false;

	adsm_mutex_lock(&table_lock);
	for (size_t i = n_table; i-- && !found; )
		if (table[i].context == context) {
			*ret_allocation = table[i];
			remove_locked(i);
			found = true;
		}
	adsm_mutex_unlock(&table_lock);
	return found;
}

/* The one that @p is in. */
static bool table_find(CUdeviceptr p, struct allocation *ret_allocation)
{
	bool found = false;
	size_t i;

	if (table_empty())
		return false;
	adsm_mutex_lock(&table_lock);
	i = table_above(p);
	if (i && p - table[i - 1].given < table[i - 1].size && !table[i - 1].freed) {
		*ret_allocation = table[i - 1];
		found = true;
	}
	adsm_mutex_unlock(&table_lock);
	return found;
}

/* The next one of a context above @p. */
static bool table_next_of(CUcontext context, CUdeviceptr p, struct allocation *ret_allocation)
{
	bool found = false;

	adsm_mutex_lock(&table_lock);
	for (size_t i = table_above(p); i < n_table && !found; i++)
		if (table[i].context == context && !table[i].freed) {
			*ret_allocation = table[i];
			found = true;
		}
	adsm_mutex_unlock(&table_lock);
	return found;
}

/* ---- contexts whose memory other contexts' kernels may use: no objects are made there */

static _Atomic(CUcontext) shared_contexts[CONTEXTS_MAX];

/* Is it one? @add: from now on; false where there are too many. */
static bool context_shared(CUcontext context, bool add)
{
	for (size_t i = 0; i < CONTEXTS_MAX; i++) {
		CUcontext other = atomic_load_explicit(&shared_contexts[i], memory_order_acquire);

		if (!other && (!add || atomic_compare_exchange_strong(&shared_contexts[i], &other, context)))
			return add;
		if (other == context)
			return true;
	}
	return false;
}

/* ---- pools whose memory others than their own device may use: likewise */

static struct { CUmemoryPool pool; uint64_t devices; } open_pools[POOLS_MAX];	/* devices: a bit each */
static _Atomic size_t n_open_pools;
static struct adsm_mutex pools_lock = ADSM_MUTEX_INIT;

static uint64_t device_bit(int device)
{
	return (uint64_t)1 << (device & 63);
}

/* @devices: further ones. Who may use it then; what there are too many of, all may use. */
static uint64_t pool_devices(CUmemoryPool pool, uint64_t devices)
{
	size_t i = 0;

	adsm_mutex_lock(&pools_lock);
	while (i < n_open_pools && open_pools[i].pool != pool)
		i++;
	if (i < POOLS_MAX && devices) {
		open_pools[i].pool = pool;
		open_pools[i].devices |= devices;
		if (i == n_open_pools)
			n_open_pools++;
	}
	devices = i < n_open_pools ? open_pools[i].devices : i == POOLS_MAX ? UINT64_MAX : 0;
	adsm_mutex_unlock(&pools_lock);
	return devices;
}

/* May others use what is allocated there now? @pool: NULL: the one that the device has. */
static bool pool_shared(CUmemoryPool pool, CUdevice device)
{
	if (!atomic_load_explicit(&n_open_pools, memory_order_acquire))
		return false;
	if (!pool && real_cu(cuDeviceGetMemPool)(&pool, device))
		return true;
	return pool_devices(pool, 0) & ~device_bit(device);
}

/* ---- allocation */

/* How the program allocates. */
struct source {
	CUresult (*alloc)(const struct source *source, CUdeviceptr *p, size_t size);
	CUresult (*free)(const struct source *source, CUdeviceptr p);
	CUmemoryPool pool;
	bool ordered, per_thread;	/* in the order of a stream; what NULL means as one */
	CUstream stream;
};

static int nothing(void *arg)
{
	(void)arg;
	return CUDA_SUCCESS;
}

static size_t whole_pages(size_t size)
{
	return (size + ADSM_PAGE_SIZE - 1) & ~(ADSM_PAGE_SIZE - 1);
}

/* Make an object of it. Negative: it is the driver's memory, as before. */
static int adopt(const struct source *source, const struct allocation *allocation)
{
	struct adsm_foreign_use use = { (void *)(uintptr_t)allocation->given, ADSM_ACCESS_OUT };
	struct adsm_home *home;
	struct allocation gone;
	int result = CUDA_SUCCESS;
	int error;

	if (context_shared(allocation->context, false) ||
	    (source->ordered && pool_shared(allocation->pool, allocation->device)))
		return adsm_fail(-ENOTSUP, "other devices' kernels may use it");
	error = adsm_foreign_home("cuda", allocation->context, (void *)(intptr_t)allocation->device,
				  &home);
	if (error)
		return error;
	if (adsm_cuda_has_ended(home))
		return adsm_fail(-ENODEV, "the program has ended this context before");
	error = table_put(allocation);
	if (error)
		return error;
	error = adsm_foreign_adopt(home, allocation->given, allocation->size);
	if (error)
		goto take;
	/* The memory is the program's once the stream has come here: before, another's kernel may be using it. */
	if (source->ordered)
		error = adsm_foreign_call(home, &use, 1, adsm_cuda_stream(source->stream, source->per_thread), nothing,
					  NULL, &result);
	if (error)
		goto forget;
	return 0;
forget:
	adsm_foreign_forget(use.p, true, NULL);
take:
	table_take(allocation->given, &gone);
	return error;
}

/* Pools may be anywhere: on the CPU's side, on another device, or of managed memory, which moves by itself. */
static bool is_of_device(CUdeviceptr p, CUdevice device);

/* Once: a touch of it is the program's end. */
static void stays_driver(const char *why)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		adsm_warn("the program's device memory stays the driver's alone: %s", why);
}

/* Of what the program has freed before, in the same context: without the driver. */
static bool allocate_kept(CUcontext context, CUdeviceptr *ret_p, size_t size)
{
	struct adsm_home *home = adsm_foreign_home_of(context);
	uint64_t p;

	if (!home || adsm_cuda_has_ended(home) || context_shared(context, false) ||
	    adsm_foreign_reuse(home, size, &p))
		return false;
	table_hand_out(p, size);
	*ret_p = p;
	return true;
}

static CUresult allocate_pages(const struct source *source, CUdeviceptr *ret_p, size_t size)
{
	CUresult result = source->alloc(source, ret_p, whole_pages(size));

	if (result == CUDA_SUCCESS && *ret_p % ADSM_PAGE_SIZE) {
		source->free(source, *ret_p);
		result = source->alloc(source, ret_p, whole_pages(size) + ADSM_PAGE_SIZE);
	}
	return result;
}

static CUresult allocate_at(const struct source *source, CUdeviceptr *ret_p, size_t size)
{
	struct allocation allocation = { .size = size, .ordered = source->ordered, .pool = source->pool };
	CUresult result;
	int error;

	if (!ret_p || !size || size > SIZE_MAX / 2 || !adsm_cuda_makes_objects() ||
	    (source->ordered && adsm_cuda_capturing(adsm_cuda_stream(source->stream, source->per_thread))) ||
	    real_cu(cuCtxGetCurrent)(&allocation.context) || !allocation.context)
		return source->alloc(source, ret_p, size);
	if (!source->ordered && allocate_kept(allocation.context, ret_p, size))
		return CUDA_SUCCESS;

	if (real_cu(cuCtxGetDevice)(&allocation.device))
		return source->alloc(source, ret_p, size);
	result = allocate_pages(source, &allocation.driver, size);
	if (result == CUDA_ERROR_OUT_OF_MEMORY && adsm_foreign_give_up(NULL))
		result = allocate_pages(source, &allocation.driver, size);
	if (result != CUDA_SUCCESS) {	/* may be because of the rounding */
		result = source->alloc(source, ret_p, size);
		if (result == CUDA_SUCCESS)
			stays_driver("no room for whole pages");
		return result;
	}
	allocation.given = whole_pages(allocation.driver);
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

	ADSM_CUDA_LENT(result, allocate_at(source, ret_p, size), ADSM_CUDA_LOAN(ret_p, sizeof(*ret_p)));
	return result;
}

ADSM_CU(cuMemAlloc_v2);
ADSM_CU(cuMemAllocPitch_v2);
ADSM_CU(cuMemAllocAsync);
ADSM_CU(cuMemAllocAsync_ptsz);
ADSM_CU(cuMemAllocFromPoolAsync);
ADSM_CU(cuMemAllocFromPoolAsync_ptsz);
ADSM_CU(cuMemFree_v2);
ADSM_CU(cuMemFreeAsync);
ADSM_CU(cuMemFreeAsync_ptsz);

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

/* The driver says what the pitch is; the memory has to be larger than it would make it. */
ADSM_WRAPPER CUresult cuMemAllocPitch_v2(CUdeviceptr *p, size_t *pitch, size_t width, size_t height, unsigned element)
{
	CUdeviceptr shared;
	CUresult result;

	ADSM_CUDA_LENT(result, real_cu(cuMemAllocPitch_v2)(p, pitch, width, height, element),
		       ADSM_CUDA_LOAN(p, sizeof(*p)), ADSM_CUDA_LOAN(pitch, sizeof(*pitch)));
	if (result != CUDA_SUCCESS || !adsm_cuda_makes_objects())
		return result;
	/* Not before: two of the size may not fit; and if the driver has changed its mind, this one is lost. */
	real_cu(cuMemFree_v2)(*p);
	result = allocate(&(struct source){ .alloc = alloc_plain, .free = free_plain }, &shared, *pitch * height);
	if (result == CUDA_SUCCESS)
		*p = shared;
	return result;
}

#define ALLOC_ORDERED(name, per_thread_)								\
	ADSM_WRAPPER CUresult name(CUdeviceptr *p, size_t size, CUstream stream)			\
	{												\
		struct source source = { .alloc = alloc_ordered, .free = free_ordered, .ordered = true,	\
					 .per_thread = per_thread_, .stream = stream };		\
													\
		return allocate(&source, p, size);							\
	}
ALLOC_ORDERED(cuMemAllocAsync, false)
ALLOC_ORDERED(cuMemAllocAsync_ptsz, true)

#define ALLOC_POOL(name, per_thread_)									\
	ADSM_WRAPPER CUresult name(CUdeviceptr *p, size_t size, CUmemoryPool pool, CUstream stream)	\
	{												\
		struct source source = { .alloc = alloc_pool, .free = free_ordered, .pool = pool,	\
					 .ordered = true, .per_thread = per_thread_, .stream = stream };	\
													\
		return allocate(&source, p, size);							\
	}
ALLOC_POOL(cuMemAllocFromPoolAsync, false)
ALLOC_POOL(cuMemAllocFromPoolAsync_ptsz, true)

/* ---- freeing: the pages are the driver's again before it hears of it */

/*
 * The driver waits for all commands when it frees memory, and so does this where it is kept instead: for the calls that
 * the library knows of. Where others have passed it by since the driver did so last, the driver has to: false.
 */
static bool wait_as_driver(struct adsm_home *home)
{
	static _Atomic unsigned epochs[ADSM_MAX_DEVICES];	/* of the last time */
	uint32_t bit = (uint32_t)1 << home->index;
	bool first = atomic_exchange(&epochs[home->index], adsm_life.epoch) != adsm_life.epoch;

	if ((atomic_fetch_and(&adsm_cuda_past, ~bit) & bit) || first || adsm_cuda_has_ended(home))
		return false;
	return !adsm_cuda_wait_calls(home);
}

/* What was kept of freed memory goes back to the driver. Any thread, any context current, captures or not. */
static void free_kept(uintptr_t start)
{
	int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	struct allocation allocation;
	struct adsm_sigset old;
	CUcontext popped;

	if (!table_take(start, &allocation))
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
	struct allocation allocation;
	struct adsm_home *home;
	CUresult result;
	bool may_keep;
	int error;

	if (source->ordered && !table_empty() &&
	    adsm_cuda_capturing(adsm_cuda_stream(source->stream, source->per_thread)))
		return source->free(source,
				    table_find(p, &allocation) && allocation.given == p ? allocation.driver : p);
	if (!table_free(p, &allocation))
		return source->free(source, p);
	if (allocation.freed)
		return CUDA_ERROR_INVALID_VALUE;
	home = adsm_foreign_home_of(allocation.context);
	may_keep = !source->ordered && !allocation.ordered && home && wait_as_driver(home);
	/* In a stream's order nothing is waited for: what uses it comes before, and the driver's memory stays. */
	error = adsm_foreign_forget((void *)(uintptr_t)p, !source->ordered, may_keep ? free_kept : NULL);
	if (error == 1)
		return CUDA_SUCCESS;
	if (error == -EBUSY) {
		table_hand_out(p, allocation.size);
		return adsm_cuda_result(error);
	}
	/* Any other error: the library was shut down meanwhile, and the object with it. */
	table_take(p, &allocation);
	result = source->free(source, allocation.driver);
	if (result != CUDA_SUCCESS) {
		allocation.freed = false;
		table_put(&allocation);
		adsm_cuda_passed(result);
	}
	return result;
}

ADSM_WRAPPER CUresult cuMemFree_v2(CUdeviceptr p)
{
	return give_back(&(struct source){ .free = free_plain }, p);
}

ADSM_WRAPPER CUresult cuMemFreeAsync(CUdeviceptr p, CUstream stream)
{
	return give_back(&(struct source){ .free = free_ordered, .ordered = true, .stream = stream }, p);
}

ADSM_WRAPPER CUresult cuMemFreeAsync_ptsz(CUdeviceptr p, CUstream stream)
{
	struct source source = { .free = free_ordered, .ordered = true, .per_thread = true, .stream = stream };

	return give_back(&source, p);
}

/* ---- the end of contexts, with all memory that is there */

void adsm_cuda_forget(CUcontext context)
{
	struct allocation allocation;

	while (!table_empty() && table_take_of(context, &allocation))
		if (adsm_foreign_forget((void *)(uintptr_t)allocation.given, true, NULL) == -EBUSY)
			adsm_warn("the program ends the context of shared memory that is held, at %p",
				  (void *)(uintptr_t)allocation.given);
}

/* ---- questions: the answers speak of what the program was given */

ADSM_CU(cuMemGetAddressRange_v2);
ADSM_CU(cuPointerGetAttribute);
ADSM_CU(cuPointerGetAttributes);

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

ADSM_WRAPPER CUresult cuMemGetAddressRange_v2(CUdeviceptr *start, size_t *size, CUdeviceptr p)
{
	struct allocation allocation;
	CUresult result;

	ADSM_CUDA_LENT(result, real_cu(cuMemGetAddressRange_v2)(start, size, p),
		       ADSM_CUDA_LOAN(start, sizeof(*start)), ADSM_CUDA_LOAN(size, sizeof(*size)));
	if (result == CUDA_SUCCESS && table_find(p, &allocation)) {
		if (start)
			*start = allocation.given;
		if (size)
			*size = allocation.size;
	}
	return result;
}

/* Of the longest value there is, as far as it goes on. */
static size_t value_size(const void *value, int attribute)
{
	return attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS ? 16 : (uintptr_t)value % 8 ? 4 : 8;
}

/* Ours to answer? */
static bool answer(const struct allocation *allocation, void *value, int attribute, CUdeviceptr p)
{
	struct adsm_foreign_place place;

	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!adsm_foreign_find((void *)(uintptr_t)p, &place))
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

ADSM_WRAPPER CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr p)
{
	struct allocation allocation;
	CUresult result;

	if (value && table_find(p, &allocation) && answer(&allocation, value, attribute, p))
		return CUDA_SUCCESS;
	ADSM_CUDA_LENT(result, real_cu(cuPointerGetAttribute)(value, attribute, p),
		       ADSM_CUDA_LOAN(value, value_size(value, attribute)));
	return result;
}

/* The lists, and what they point to, which only a list of the library's own can have elsewhere. */
static CUresult get_attributes(unsigned n, int *attributes, void **values, CUdeviceptr p)
{
	struct adsm_cuda_loan *loans = NULL;
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
		loans[i] = (struct adsm_cuda_loan)ADSM_CUDA_LOAN(own[i], value_size(own[i], attributes[i]));
	}
	if (loans && own)
		adsm_cuda_lend(loans, n);
	ADSM_CUDA_LENT(result, real_cu(cuPointerGetAttributes)(n, attributes, loans && own ? own : values, p),
		       ADSM_CUDA_LOAN(attributes, n * sizeof(*attributes)),
		       ADSM_CUDA_LOAN(values, n * sizeof(*values)));
	if (loans && own)
		adsm_cuda_take_back(loans, n);
	free(own);
	free(loans);
	return result;
}

ADSM_WRAPPER CUresult cuPointerGetAttributes(unsigned n, int *attributes, void **values, CUdeviceptr p)
{
	struct allocation allocation;
	CUresult result = get_attributes(n, attributes, values, p);

	if (result == CUDA_SUCCESS && table_find(p, &allocation))
		for (unsigned i = 0; i < n; i++)
			answer(&allocation, values[i], attributes[i], p);
	return result;
}

/* ---- memory that others get at: it is the driver's alone again, since nobody says when they write it */

ADSM_CU(cuIpcGetMemHandle);
ADSM_CU(cuMemPoolExportPointer);
ADSM_CU(cuMemPoolSetAccess);
ADSM_CU(cuMemGetHandleForAddressRange);
ADSM_CU(cuCtxEnablePeerAccess);

enum reason { IPC, POOL_POINTER, RANGE_HANDLE, PEER, POOL_ACCESS, N_REASONS };

/* Once for each reason. */
static void stops_sharing(const struct allocation *allocation, enum reason reason)
{
	static const char *const texts[] = {
		[IPC] = "other processes may open it (cuIpcGetMemHandle)",
		[POOL_POINTER] = "other processes may import it (cuMemPoolExportPointer)",
		[RANGE_HANDLE] = "other devices may get at it (cuMemGetHandleForAddressRange)",
		[PEER] = "other devices' kernels may use it (cuCtxEnablePeerAccess)",
		[POOL_ACCESS] = "other devices may use its pool (cuMemPoolSetAccess)",
	};
	static atomic_flag said[N_REASONS];

	adsm_log(atomic_flag_test_and_set(&said[reason]) ? ADSM_LOG_INFO : ADSM_LOG_WARN,
		 "the CPU cannot use the %zu bytes at %p any more: %s, and nobody would say when they write there",
		 allocation->size, (void *)(uintptr_t)allocation->given, texts[reason]);
}

/* What the CPU has written goes to the device, then the object ends; the allocation goes on. */
static CUresult surrender(const struct allocation *allocation, enum reason reason)
{
	struct adsm_foreign_use use = { (void *)(uintptr_t)allocation->given, ADSM_ACCESS_INOUT };
	struct adsm_foreign_place place;
	int result, error;

	if (!adsm_foreign_active() || !adsm_foreign_find(use.p, &place) || adsm_cuda_has_ended(place.home))
		return CUDA_SUCCESS;
	error = adsm_foreign_call(place.home, &use, 1, NULL, nothing, NULL, &result);
	if (!error)
		error = adsm_foreign_forget(use.p, true, NULL);
	if (!error)
		stops_sharing(allocation, reason);
	return error ? adsm_cuda_result(error) : CUDA_SUCCESS;
}

/* To other processes, which get what the driver allocated: *p becomes that. */
static CUresult export(CUdeviceptr *p, enum reason reason)
{
	struct allocation allocation;
	CUresult result;

	if (!table_find(*p, &allocation))
		return CUDA_SUCCESS;
	result = surrender(&allocation, reason);
	if (result != CUDA_SUCCESS)
		return result;
	if (allocation.given != allocation.driver)
		adsm_warn("in other processes, memory at %p begins %zu bytes later",
			  (void *)(uintptr_t)allocation.given, (size_t)(allocation.given - allocation.driver));
	if (*p == allocation.given)
		*p = allocation.driver;
	return CUDA_SUCCESS;
}

ADSM_WRAPPER CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr p)
{
	CUresult result = handle ? export(&p, IPC) : CUDA_SUCCESS;

	if (result == CUDA_SUCCESS)
		ADSM_CUDA_LENT(result, real_cu(cuIpcGetMemHandle)(handle, p), ADSM_CUDA_LOAN(handle, sizeof(*handle)));
	return result;
}

ADSM_WRAPPER CUresult cuMemPoolExportPointer(void *data, CUdeviceptr p)
{
	CUresult result = data ? export(&p, POOL_POINTER) : CUDA_SUCCESS;

	if (result == CUDA_SUCCESS)
		ADSM_CUDA_LENT(result, real_cu(cuMemPoolExportPointer)(data, p), ADSM_CUDA_LOAN(data, 64));
	return result;
}

ADSM_WRAPPER CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr p, size_t size, int type,
						    unsigned long long flags)
{
	struct allocation allocation;
	CUresult result = table_find(p, &allocation) ? surrender(&allocation, RANGE_HANDLE) : CUDA_SUCCESS;

	if (result == CUDA_SUCCESS)
		ADSM_CUDA_LENT(result, real_cu(cuMemGetHandleForAddressRange)(handle, p, size, type, flags),
			       ADSM_CUDA_LOAN(handle, sizeof(int)));
	return result;
}

/* Kernels of the current context may use all of the peer's memory from now on, and only its own are released to. */
ADSM_WRAPPER CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
	struct allocation allocation;
	CUresult result = real_cu(cuCtxEnablePeerAccess)(peer, flags);

	if (result != CUDA_SUCCESS || !context_shared(peer, true))
		return result;
	for (CUdeviceptr p = 0; table_next_of(peer, p, &allocation); p = allocation.given)
		if (surrender(&allocation, PEER) != CUDA_SUCCESS)
			adsm_warn("memory at %p stays shared memory, which other devices' kernels must not use",
				  (void *)(uintptr_t)allocation.given);
	return result;
}

/* The next one of a pool above @p, which others of these devices may use. */
static bool table_next_in(CUmemoryPool pool, uint64_t devices, CUdeviceptr p, struct allocation *ret_allocation)
{
	bool found = false;
	size_t i;

	adsm_mutex_lock(&table_lock);
	for (i = table_above(p); i < n_table && !found; i++)
		if (table[i].ordered && (!table[i].pool || table[i].pool == pool) &&
		    (devices & ~device_bit(table[i].device))) {
			*ret_allocation = table[i];
			found = true;
		}
	adsm_mutex_unlock(&table_lock);
	return found;
}

/* Of allocations that name no pool it is not known whether they are of this one. */
ADSM_WRAPPER CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t n)
{
	struct allocation allocation;
	uint64_t devices = 0;
	CUresult result;

	ADSM_CUDA_LENT(result, real_cu(cuMemPoolSetAccess)(pool, access, n),
		       ADSM_CUDA_LOAN(access, n * sizeof(*access)));
	if (result != CUDA_SUCCESS)
		return result;
	for (size_t i = 0; i < n; i++)
		if (access[i].flags)
			devices |= access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE ?
				device_bit(access[i].location.id) : UINT64_MAX;
	devices = pool_devices(pool, devices);
	for (CUdeviceptr p = 0; devices && table_next_in(pool, devices, p, &allocation); p = allocation.given)
		if (surrender(&allocation, POOL_ACCESS) != CUDA_SUCCESS)
			adsm_warn("memory at %p stays shared memory, which other devices must not use",
				  (void *)(uintptr_t)allocation.given);
	return result;
}
