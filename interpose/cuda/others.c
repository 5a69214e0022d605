/* SPDX-License-Identifier: MIT */
/* others.c - device memory that other processes or the kernels of other devices can access. The library cannot detect
 * their writes. So it makes no objects of such memory, and ends those that exist. */
#include "others.h"

#include "allocations.h"
#include "base/log.h"
#include "base/os.h"
#include "home.h"
#include "loan.h"

#define CONTEXTS_MAX 64		/* contexts that are open to peers */
#define POOLS_MAX 64		/* pools that are open to others */

typedef struct { char reserved[64]; } CUipcMemHandle;

ADSM_CU_CALLED(cuDeviceGetMemPool, (CUmemoryPool *pool, CUdevice device));

/* ---- contexts whose memory other contexts' kernels may use */

static _Atomic(CUcontext) open_contexts[CONTEXTS_MAX];

/* Is the context open to others? @add: make it open. If there are too many, every context counts as open. */
static bool context_open(CUcontext context, bool add)
{
	for (size_t i = 0; i < CONTEXTS_MAX; i++) {
		CUcontext other = atomic_load_explicit(&open_contexts[i], memory_order_acquire);

		if (!other && (!add || atomic_compare_exchange_strong(&open_contexts[i], &other, context)))
			return add;
		if (other == context)
			return true;
	}
	return true;
}

bool adsm_cuda_context_is_open(CUcontext context)
{
	return context_open(context, false);
}

/* ---- pools whose memory not only their own device may use */

static struct { CUmemoryPool pool; uint64_t devices; } open_pools[POOLS_MAX];	/* devices: one bit for each */
static _Atomic size_t n_open_pools;
static struct adsm_mutex pools_lock = ADSM_MUTEX_INIT(ADSM_RANK_TABLE);

static uint64_t device_bit(int device)
{
	return (uint64_t)1 << (device & 63);
}

/* Add @devices to the devices that may use the pool, and return all of them. If there are too many pools: all bits. */
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

bool adsm_cuda_pool_is_open(CUmemoryPool pool, CUdevice device)
{
	if (!atomic_load_explicit(&n_open_pools, memory_order_acquire))
		return false;
	if (!pool && real_cu(cuDeviceGetMemPool)(&pool, device))
		return true;
	return pool_devices(pool, 0) & ~device_bit(device);
}

/* ---- memory becomes accessible to others: its object ends, and the memory is only device memory again */

enum reason { IPC, POOL_POINTER, RANGE_HANDLE, PEER, POOL_ACCESS, N_REASONS };

/* The first time for each reason this is a warning. */
static void stops_sharing(const struct adsm_cuda_allocation *allocation, enum reason reason)
{
	static const char *const texts[] = {
		[IPC] = "other processes may open it (cuIpcGetMemHandle)",
		[POOL_POINTER] = "other processes may import it (cuMemPoolExportPointer)",
		[RANGE_HANDLE] = "other devices may access it (cuMemGetHandleForAddressRange)",
		[PEER] = "other devices' kernels may access it (cuCtxEnablePeerAccess)",
		[POOL_ACCESS] = "other devices may access its pool (cuMemPoolSetAccess)",
	};
	static atomic_flag said[N_REASONS];

	adsm_log(atomic_flag_test_and_set(&said[reason]) ? ADSM_LOG_INFO : ADSM_LOG_WARN, "the CPU cannot use the %zu "
		 "bytes at %p any more: %s, and the library does not detect their writes", allocation->size,
		 (void *)(uintptr_t)allocation->given, texts[reason]);
}

/* Release the object to the device, then end it. The allocation stays. */
static CUresult surrender(const struct adsm_cuda_allocation *allocation, enum reason reason)
{
	struct adsm_driver_use use = { (void *)(uintptr_t)allocation->given, ADSM_ACCESS_INOUT };
	struct adsm_driver_place place;
	int result, error;

	if (!adsm_driver_active() || !adsm_driver_find(use.p, &place) || adsm_cuda_has_ended(place.home))
		return CUDA_SUCCESS;
	error = adsm_driver_call(place.home, &use, 1, NULL, NULL, NULL, &result);
	if (!error)
		error = adsm_driver_forget(use.p, true, NULL);
	if (!error)
		stops_sharing(allocation, reason);
	/* If the object has ended, the thread that has just made it was earlier. */
	return error && adsm_driver_find(use.p, &place) ? adsm_cuda_result(error) : CUDA_SUCCESS;
}

/* Other processes get the driver's whole allocation. So *p becomes its address. */
static CUresult export(CUdeviceptr *p, enum reason reason)
{
	struct adsm_cuda_allocation allocation;
	CUresult result;

	if (!adsm_cuda_allocation_find(*p, &allocation))
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

ADSM_CU_WRAPPER(cuIpcGetMemHandle, (CUipcMemHandle *handle, CUdeviceptr p))
{
	CUresult result = handle ? export(&p, IPC) : CUDA_SUCCESS;

	if (result == CUDA_SUCCESS)
		ADSM_LOANS_FOR(result, real_cu(cuIpcGetMemHandle)(handle, p), ADSM_LOAN(handle, sizeof(*handle)));
	return result;
}

ADSM_CU_WRAPPER(cuMemPoolExportPointer, (void *data, CUdeviceptr p))
{
	CUresult result = data ? export(&p, POOL_POINTER) : CUDA_SUCCESS;

	if (result == CUDA_SUCCESS)
		ADSM_LOANS_FOR(result, real_cu(cuMemPoolExportPointer)(data, p), ADSM_LOAN(data, 64));
	return result;
}

ADSM_CU_WRAPPER(cuMemGetHandleForAddressRange, (void *handle, CUdeviceptr p, size_t size, int type,
						unsigned long long flags))
{
	struct adsm_cuda_allocation allocation;
	CUresult result = CUDA_SUCCESS;

	if (adsm_cuda_allocation_find(p, &allocation))
		result = surrender(&allocation, RANGE_HANDLE);
	if (result == CUDA_SUCCESS)
		ADSM_LOANS_FOR(result, real_cu(cuMemGetHandleForAddressRange)(handle, p, size, type, flags),
			       ADSM_LOAN(handle, sizeof(int)));
	return result;
}

/* From now on, kernels of the current context may use all memory of the peer. But a launch releases only the objects of
 * the current context. So the peer's objects end. */
ADSM_CU_WRAPPER(cuCtxEnablePeerAccess, (CUcontext peer, unsigned flags))
{
	struct adsm_cuda_allocation allocation;
	CUresult result = real_cu(cuCtxEnablePeerAccess)(peer, flags);

	if (result != CUDA_SUCCESS)
		return result;
	context_open(peer, true);
	for (CUdeviceptr p = 0; adsm_cuda_allocation_next(p, &allocation); p = allocation.given)
		if (allocation.context == peer && !allocation.freed && surrender(&allocation, PEER) != CUDA_SUCCESS)
			adsm_warn("memory at %p stays shared memory, which other devices' kernels must not use",
				  (void *)(uintptr_t)allocation.given);
	return result;
}

/* Is it in the pool, and may devices in @devices other than its own use it? Without a pool's name it may be in any. */
static bool is_reached(const struct adsm_cuda_allocation *allocation, CUmemoryPool pool, uint64_t devices)
{
	return allocation->ordered && (!allocation->pool || allocation->pool == pool) &&
		(devices & ~device_bit(allocation->device));
}

ADSM_CU_WRAPPER(cuMemPoolSetAccess, (CUmemoryPool pool, const CUmemAccessDesc *access, size_t n))
{
	struct adsm_cuda_allocation allocation;
	uint64_t devices = 0;
	CUresult result;

	ADSM_LOANS_FOR(result, real_cu(cuMemPoolSetAccess)(pool, access, n),
		       ADSM_LOAN(access, n * sizeof(*access)));
	if (result != CUDA_SUCCESS)
		return result;
	for (size_t i = 0; i < n; i++)
		if (access[i].flags)
			devices |= access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE ?
				device_bit(access[i].location.id) : UINT64_MAX;
	devices = pool_devices(pool, devices);
	for (CUdeviceptr p = 0; devices && adsm_cuda_allocation_next(p, &allocation); p = allocation.given)
		if (is_reached(&allocation, pool, devices) && surrender(&allocation, POOL_ACCESS) != CUDA_SUCCESS)
			adsm_warn("memory at %p stays shared memory, which other devices must not use",
				  (void *)(uintptr_t)allocation.given);
	return result;
}
