/* SPDX-License-Identifier: MIT */
/* address.c - where objects are: in the library's range, where the driver puts them with the CPU's view at that
 * address, or at separate addresses. */
#include "address.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "options.h"

/* ---- separate: where the driver puts them */

static CUresult separate_alloc(struct adsm_cuda_device *device, struct adsm_cuda_mem *memory, uint64_t wanted)
{
	CUresult error = adsm_cu.cuMemAlloc_v2(&memory->allocated, memory->base.size);

	memory->base.address = memory->allocated;
	return error;
}

static void separate_free(struct adsm_cuda_device *device, struct adsm_cuda_mem *memory)
{
	adsm_cuda_errno(device, adsm_cu.cuMemFree_v2(memory->allocated), "cuMemFree");
}

static const struct adsm_cuda_memory_kind separate_kind = {
	.name = "separate",
	.alloc = separate_alloc,
	.free = separate_free,
};

/* ---- view: where the driver puts them, in pages of their own; the CPU's view is mapped there */

static CUresult view_alloc(struct adsm_cuda_device *device, struct adsm_cuda_mem *memory, uint64_t wanted)
{
	CUresult error = separate_alloc(device, memory, wanted);

	if (error || memory->allocated % ADSM_PAGE_SIZE == 0)
		return error;
	/* The driver returned a part of a larger piece: with one page more it contains enough whole pages. */
	adsm_cu.cuMemFree_v2(memory->allocated);
	error = adsm_cu.cuMemAlloc_v2(&memory->allocated, memory->base.size + ADSM_PAGE_SIZE);
	memory->base.address = (memory->allocated + ADSM_PAGE_SIZE - 1) & ~(CUdeviceptr)(ADSM_PAGE_SIZE - 1);
	return error;
}

/* Can the CPU read memory at @p? A system call checks that without a fault. */
static bool is_readable(const void *p)
{
	int fds[2];
	bool readable;

	if (syscall(SYS_pipe2, fds, O_CLOEXEC))
		return true;
	readable = syscall(SYS_write, fds[1], p, 1) == 1;
	syscall(SYS_close, fds[0]);
	syscall(SYS_close, fds[1]);
	return readable;
}

/* Is the CPU's side of the driver's addresses reserved, closed and unused? Returns NULL, or why not. */
static const char *try_view(struct adsm_cuda_device *device, void *p)
{
	void *at;

	if (!adsm_os_reserve((uintptr_t)p, ADSM_PAGE_SIZE, &at)) {
		adsm_os_unmap(at, ADSM_PAGE_SIZE);
		return "the driver does not reserve the addresses of device memory on the CPU's side";
	}
	if (is_readable(p))
		return "the addresses of device memory are in use on the CPU's side";
	if (adsm_os_duplicate(device->alias_base, ADSM_PAGE_SIZE, p))
		return "the library cannot map memory over the driver's addresses";
	adsm_os_unmap_to_reserve(p, ADSM_PAGE_SIZE);
	return NULL;
}

static int view_init(struct adsm_cuda_device *device, const char **ret_reason)
{
	struct adsm_cuda_mem trial = { .base = { .device = &device->base.base, .size = ADSM_PAGE_SIZE } };
	CUresult error;
	int unified = 0;

	*ret_reason = "the device has no unified addressing";
	if (adsm_cu.cuDeviceGetAttribute(&unified, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, device->id) || !unified)
		return 1;
	error = view_alloc(device, &trial, 0);
	if (error) {
		*ret_reason = adsm_cu_error_name(error);
		return 1;
	}
	*ret_reason = try_view(device, (void *)(uintptr_t)trial.base.address);
	separate_free(device, &trial);
	return *ret_reason ? 1 : 0;
}

static const struct adsm_cuda_memory_kind view_kind = {
	.name = "view",
	.dictates_address = true,
	.init = view_init,
	.alloc = view_alloc,
	.free = separate_free,
};

/* ---- arena: in a range of the driver that has the addresses of the library's arena */

/* Device memory is mapped there in granules. Small objects share granules, also with the end of a large object: so the
 * users of a granule are counted. Granules that one object covers completely are one mapping. */
struct granule {
	CUmemGenericAllocationHandle handle;
	uint32_t n_users;
	uint32_t n;			/* granules of the mapping that begins here; 0: none begins here */
};

/* There is one for the process: the first device has the range, in each context that is opened on it. */
static struct {
	struct adsm_lock lock;
	unsigned n_devices;		/* opened contexts that share the range */
	CUdevice id;
	uintptr_t base;
	char *alias;			/* another mapping of the same bytes */
	size_t size, granularity;
	size_t n_mapped;		/* number of mappings */
	bool vacant;			/* neither the library nor the driver has the range */
	struct granule *granules;
} arena = { .lock = ADSM_LOCK_INIT(ADSM_RANK_GRANULES) };

static CUmemAllocationProp properties(CUdevice id)
{
	return (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, id },
	};
}

static size_t table_size(void)
{
	size_t bytes = arena.size / arena.granularity * sizeof(struct granule);

	return (bytes + ADSM_PAGE_SIZE - 1) & ~(ADSM_PAGE_SIZE - 1);
}

static CUresult map_granules(size_t first, size_t n)
{
	const CUmemAccessDesc access = { { CU_MEM_LOCATION_TYPE_DEVICE, arena.id },
					 CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	const CUmemAllocationProp prop = properties(arena.id);
	CUdeviceptr p = arena.base + first * arena.granularity;
	struct granule *granule = &arena.granules[first];
	size_t size = n * arena.granularity;
	CUresult error;

	error = adsm_cu.cuMemCreate(&granule->handle, size, &prop, 0);
	if (error)
		return error;
	error = adsm_cu.cuMemMap(p, size, 0, granule->handle, 0);
	if (error)
		goto release;
	error = adsm_cu.cuMemSetAccess(p, size, &access, 1);
	if (error)
		goto unmap;
	granule->n = (uint32_t)n;
	for (size_t i = 0; i < n; i++)
		granule[i].n_users = 1;
	arena.n_mapped++;
	return CUDA_SUCCESS;

unmap:
	adsm_cu.cuMemUnmap(p, size);
release:
	adsm_cu.cuMemRelease(granule->handle);
	return error;
}

/* Views in the range do not change. */
static CUresult unmap_granules(size_t first)
{
	struct granule *granule = &arena.granules[first];
	CUresult error = adsm_cu.cuMemUnmap(arena.base + first * arena.granularity, granule->n * arena.granularity);
	CUresult released = adsm_cu.cuMemRelease(granule->handle);

	granule->n = 0;
	arena.n_mapped--;
	return error ? error : released;
}

/* Remove one user from the granules from @first up to @end. */
static CUresult drop_granules(size_t first, size_t end)
{
	CUresult error = CUDA_SUCCESS;

	while (first < end) {
		size_t n = arena.granules[first].n, left = 0;

		for (size_t i = 0; i < n; i++)
			left = --arena.granules[first + i].n_users;
		if (!left) {
			CUresult failed = unmap_granules(first);

			error = error ? error : failed;
		}
		first += n;
	}
	return error;
}

/* How many granules from @i on become one mapping: consecutive granules that only this object uses. */
static size_t run_length(size_t i, uintptr_t start, uintptr_t end)
{
	size_t n = 0, granularity = arena.granularity;

	while (arena.base + (i + n) * granularity >= start && arena.base + (i + n + 1) * granularity <= end &&
	       !arena.granules[i + n].n_users)
		n++;
	return n ? n : 1;
}

static CUresult take_granules(uintptr_t start, uintptr_t end)
{
	size_t first = (start - arena.base) / arena.granularity;
	size_t last = (end - 1 - arena.base) / arena.granularity;
	CUresult error = CUDA_SUCCESS;
	size_t i = first;

	while (i <= last) {
		size_t n = 1;

		if (arena.granules[i].n_users) {
			arena.granules[i].n_users++;
		} else {
			n = run_length(i, start, end);
			error = map_granules(i, n);
			if (error)
				break;
		}
		i += n;
	}
	if (error)
		drop_granules(first, i);
	return error;
}

static CUresult arena_alloc(struct adsm_cuda_device *device, struct adsm_cuda_mem *memory, uint64_t wanted)
{
	CUresult error;

	if (!wanted)
		return separate_alloc(device, memory, wanted);
	adsm_lock(&arena.lock);
	error = take_granules(wanted, wanted + memory->base.size);
	adsm_unlock(&arena.lock);
	memory->base.address = wanted;
	return error;
}

static void arena_free(struct adsm_cuda_device *device, struct adsm_cuda_mem *memory)
{
	uintptr_t start = memory->base.address, end = start + memory->base.size;
	CUresult error;

	if (memory->allocated) {
		separate_free(device, memory);
		return;
	}
	adsm_lock(&arena.lock);
	error = drop_granules((start - arena.base) / arena.granularity,
			      (end - 1 - arena.base) / arena.granularity + 1);
	adsm_unlock(&arena.lock);
	adsm_cuda_errno(device, error, "cuMemUnmap");
}

static void free_range(void)
{
	arena.vacant = !adsm_cu.cuMemAddressFree(arena.base, arena.size);
}

/* Map the file over the reserved range: closed, and not inherited by the child of a fork. */
static int map_range(void)
{
	int ret = adsm_os_duplicate(arena.alias, arena.size, (void *)arena.base);

	return ret ? ret : adsm_os_protect((void *)arena.base, arena.size, ADSM_PROT_NONE);
}

/* The library reserves the range again, inaccessible. */
static int take_back(void)
{
	void *p;
	int ret;

	/* If the driver does not free the range, it is inaccessible, too. */
	if (!arena.vacant)
		return 0;
	arena.vacant = false;
	ret = adsm_os_reserve(arena.base, arena.size, &p);
	if (!ret)
		ret = map_range();
	if (ret == -EEXIST)
		return adsm_fail(ret, "another thread mapped memory at the arena's addresses while the library gave "
				 "them to the driver; ADSM_CUDA_MEMORY=view or separate avoids that");
	return ret ? adsm_fail(ret,
			       "the library cannot reserve the arena's addresses again after the driver had them") : 0;
}

static void end_range(void)
{
	for (size_t i = 0; i < arena.size / arena.granularity && arena.n_mapped; i++)
		if (arena.granules[i].n)
			unmap_granules(i);
	free_range();
	adsm_os_unmap(arena.granules, table_size());
	arena.granules = NULL;
	arena.n_devices = 0;
}

static void arena_end(struct adsm_cuda_device *device)
{
	if (--arena.n_devices)
		return;
	end_range();
	/* After a crash the driver may refuse to free the range, and unmap it when it ends. */
	if (!arena.vacant)
		device->leave_arena();
	if (take_back())
		adsm_warn("%s", adsm_last_error());
}

static bool has_virtual_memory(const struct adsm_cuda_device *device)
{
	int supported = 0;

	return adsm_cu.cuMemAddressReserve && adsm_cu.cuMemAddressFree && adsm_cu.cuMemCreate && adsm_cu.cuMemRelease &&
		adsm_cu.cuMemMap && adsm_cu.cuMemUnmap && adsm_cu.cuMemSetAccess &&
		adsm_cu.cuMemGetAllocationGranularity &&
		!adsm_cu.cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
					      device->id) &&
		supported;
}

/* Unmap the range, so that the driver can reserve it. Returns NULL, or why the driver does not: then the range stays
 * unmapped. */
static const char *reserve_range(void)
{
	CUdeviceptr p = 0;
	CUresult error;

	adsm_os_unmap((void *)arena.base, arena.size);
	arena.vacant = true;
	error = adsm_cu.cuMemAddressReserve(&p, arena.size, 0, arena.base, 0);
	if (error)
		return adsm_cu_error_name(error);
	if (p != arena.base) {
		adsm_cu.cuMemAddressFree(p, arena.size);
		return "the driver reserved other addresses than requested";
	}
	/* Map the file again. */
	arena.vacant = false;
	if (map_range()) {
		free_range();
		return "the library cannot map memory over the driver's addresses";
	}
	return NULL;
}

/* Reserve the range, and map a granule once as a test. The table is allocated first: otherwise it might get the arena's
 * addresses. */
static const char *start_range(void)
{
	const char *reason;
	CUresult error;

	arena.granules = adsm_os_table(table_size());
	if (!arena.granules)
		return "not enough address space for the table of granules";
	reason = reserve_range();
	if (reason) {
		adsm_os_unmap(arena.granules, table_size());
		return reason;
	}
	error = map_granules(0, 1);
	if (!error)
		error = drop_granules(0, 1);
	if (error)
		end_range();
	return error ? adsm_cu_error_name(error) : NULL;
}

static int arena_init(struct adsm_cuda_device *device, const char **ret_reason)
{
	const CUmemAllocationProp prop = properties(device->id);
	size_t granularity = 0;

	*ret_reason = "the device has no virtual memory management";
	if (!has_virtual_memory(device))
		return 1;
	if (arena.n_devices && arena.id == device->id) {
		arena.n_devices++;
		return 0;
	}
	/* Objects share granules, and a granule belongs to one device. And there may already be objects in the
	 * range. */
	*ret_reason = "only the first device can have the arena's addresses";
	if (device->index)
		return 1;
	*ret_reason = "the arena is not a multiple of the device's allocation granularity";
	if (adsm_cu.cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) ||
	    !granularity || device->arena_base % granularity || device->arena_size % granularity)
		return 1;
	arena.id = device->id;
	arena.base = device->arena_base;
	arena.alias = device->alias_base;
	arena.size = device->arena_size;
	arena.granularity = granularity;
	*ret_reason = start_range();
	if (*ret_reason)
		return take_back() ? -ENOMEM : 1;
	arena.n_devices = 1;
	return 0;
}

static const struct adsm_cuda_memory_kind arena_kind = {
	.name = "arena",
	.given_address = true,
	.init = arena_init,
	.end = arena_end,
	.alloc = arena_alloc,
	.free = arena_free,
};

/* ---- the choice */

/* In the order of the words of ADSM_CUDA_MEMORY, which is also the order of "auto". */
static const struct adsm_cuda_memory_kind *const kinds[] = {
	[ADSM_CUDA_ARENA] = &arena_kind,
	[ADSM_CUDA_VIEW] = &view_kind,
	[ADSM_CUDA_SEPARATE] = &separate_kind,
};

int adsm_cuda_memory_choose(struct adsm_cuda_device *device)
{
	enum adsm_cuda_memory asked = adsm_cuda_options.memory;

	for (int i = ADSM_CUDA_ARENA; i <= ADSM_CUDA_SEPARATE; i++) {
		const struct adsm_cuda_memory_kind *kind = kinds[i];
		const char *reason = NULL;
		int ret;

		if (asked != ADSM_CUDA_AUTO && asked != (enum adsm_cuda_memory)i)
			continue;
		ret = kind->init ? kind->init(device, &reason) : 0;
		if (ret < 0)
			return ret;
		if (!ret) {
			device->memory_kind = kind;
			device->base.base.caps.given_address = kind->given_address;
			device->base.base.caps.dictates_address = kind->dictates_address;
			strcpy(device->base.base.caps.memory, kind->name);
			adsm_info("%s: memory is kept as '%s'", device->base.base.name, kind->name);
			return 0;
		}
		adsm_info("%s: not '%s': %s", device->base.base.name, kind->name, reason);
		if (asked != ADSM_CUDA_AUTO)
			return adsm_fail(-ENOTSUP, "ADSM_CUDA_MEMORY=%s: %s does not support it: %s", kind->name,
					 device->base.base.name, reason);
	}
	return -ENOTSUP;
}
