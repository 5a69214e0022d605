/* SPDX-License-Identifier: MIT */
/* driver_vmm.c - virtual memory management: reservations, handles, and mappings of those in these. */
#include "driver_own.h"

#include <stdlib.h>
#include <sys/mman.h>

#define HANDLE_FIRST 0x1000

#define VMM_ENTER(name) do { \
		ENTER(name, INITIALISED); \
		if (plan.old || plan.no_vmm) \
			return CUDA_ERROR_NOT_SUPPORTED; \
	} while (0)

struct reservation {
	struct reservation *next;
	uint64_t address;
	size_t size;
	bool own;
};

struct handle {
	struct handle *next;
	CUmemGenericAllocationHandle id;
	size_t size;
	uint64_t offset;
	unsigned refs, mapped;
};

struct mapping {
	struct mapping *next;
	uint64_t address;
	struct handle *handle;
	bool access;
};

/* All under the lock. */
static struct granules vmm_pool;
static struct reservation *reservations;
static struct handle *handles;
static struct mapping *mappings;
static uint64_t n_handles = HANDLE_FIRST;

void vmm_reset(void)
{
	while (reservations) {
		struct reservation *r = reservations;

		reservations = r->next;
		if (r->own)
			munmap((void *)(uintptr_t)r->address, r->size);
		free(r);
	}
	while (mappings) {
		struct mapping *mapping = mappings;

		mappings = mapping->next;
		free(mapping);
	}
	while (handles) {
		struct handle *handle = handles;

		handles = handle->next;
		free(handle);
	}
	granules_make(&vmm_pool, 0, VMM_POOL_SIZE);
}

bool vmm_has(uint64_t address, size_t size)
{
	for (struct reservation *r = reservations; r; r = r->next) {
		if (address < r->address + r->size && r->address < address + size)
			return true;
	}
	return granules_have(&vmm_pool, address, size);
}

static struct handle *handle_of(CUmemGenericAllocationHandle id)
{
	struct handle *handle = handles;

	while (handle && handle->id != id)
		handle = handle->next;
	return handle;
}

static struct mapping *mapping_in(uint64_t address, size_t size)
{
	struct mapping *mapping = mappings;

	while (mapping && (mapping->address >= address + size ||
			   address >= mapping->address + mapping->handle->size))
		mapping = mapping->next;
	return mapping;
}

/* Whole mappings and nothing else. */
static bool is_mapped(uint64_t address, size_t size)
{
	for (uint64_t at = address; at < address + size;) {
		struct mapping *mapping = mapping_in(at, 1);

		if (!mapping || mapping->address != at || mapping->handle->size > address + size - at)
			return false;
		at += mapping->handle->size;
	}
	return size > 0;
}

static bool is_valid_prop(const CUmemAllocationProp *prop)
{
	return prop && prop->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
	       prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE && !prop->location.id;
}

CU(cuMemGetAllocationGranularity, (size_t *bytes, const CUmemAllocationProp *prop, int which))
{
	VMM_ENTER(cuMemGetAllocationGranularity);
	if (!bytes || !is_valid_prop(prop) || which < 0 || which > 1)
		return CUDA_ERROR_INVALID_VALUE;
	*bytes = GRANULE;
	return 0;
}

CU(cuMemAddressReserve, (CUdeviceptr *p, size_t size, size_t align, CUdeviceptr wanted, unsigned long long flags))
{
	struct reservation *r;
	uint64_t address = 0;

	VMM_ENTER(cuMemAddressReserve);
	if (!p || !size || size % GRANULE || flags || (align & (align - 1)))
		return CUDA_ERROR_INVALID_VALUE;
	r = calloc(1, sizeof(*r));
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (align < GRANULE)
		align = GRANULE;
	pthread_mutex_lock(&lock);
	r->own = size >= VMM_OWN || align > GRANULE;
	if (!r->own) {
		address = granules_take(&vmm_pool, size);
		if (address == UINT64_MAX)
			address = 0;
		r->own = !address;
	} else if (wanted && wanted % align == 0 && !plan.elsewhere) {
		address = address_reserve_at(wanted, size);
	}
	if (!address)
		address = address_reserve(size, align);
	if (address) {
		r->address = address;
		r->size = size;
		r->next = reservations;
		reservations = r;
		*p = address;
	}
	pthread_mutex_unlock(&lock);
	if (!address)
		free(r);
	return address ? 0 : CUDA_ERROR_OUT_OF_MEMORY;
}

CU(cuMemAddressFree, (CUdeviceptr p, size_t size))
{
	struct reservation **at, *found;

	VMM_ENTER(cuMemAddressFree);
	pthread_mutex_lock(&lock);
	for (at = &reservations; *at && (*at)->address != p; at = &(*at)->next)
		;
	found = *at;
	if (!found || found->size != size || mapping_in(p, size)) {
		pthread_mutex_unlock(&lock);
		return CUDA_ERROR_INVALID_VALUE;
	}
	*at = found->next;
	if (found->own)
		address_release(p, size);
	else
		granules_give(&vmm_pool, p, size);
	pthread_mutex_unlock(&lock);
	free(found);
	return 0;
}

CU(cuMemCreate, (CUmemGenericAllocationHandle *ret, size_t size, const CUmemAllocationProp *prop,
		 unsigned long long flags))
{
	struct handle *handle;
	bool taken;

	VMM_ENTER(cuMemCreate);
	if (!ret || !size || size % GRANULE || !is_valid_prop(prop) || flags)
		return CUDA_ERROR_INVALID_VALUE;
	handle = calloc(1, sizeof(*handle));
	if (!handle)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&lock);
	taken = memory_take(size, &handle->offset);
	if (taken) {
		handle->id = ++n_handles;
		handle->size = size;
		handle->refs = 1;
		handle->next = handles;
		handles = handle;
		*ret = handle->id;
	}
	pthread_mutex_unlock(&lock);
	if (!taken)
		free(handle);
	return taken ? 0 : CUDA_ERROR_OUT_OF_MEMORY;
}

static void handle_put(struct handle *handle)
{
	struct handle **at = &handles;

	if (handle->refs || handle->mapped)
		return;
	while (*at != handle)
		at = &(*at)->next;
	*at = handle->next;
	memory_give(handle->offset, handle->size);
	free(handle);
}

CU(cuMemRelease, (CUmemGenericAllocationHandle id))
{
	struct handle *handle;
	CUresult error = CUDA_ERROR_INVALID_VALUE;

	VMM_ENTER(cuMemRelease);
	pthread_mutex_lock(&lock);
	handle = handle_of(id);
	if (handle && handle->refs) {
		handle->refs--;
		handle_put(handle);
		error = 0;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

CU(cuMemMap, (CUdeviceptr p, size_t size, size_t offset, CUmemGenericAllocationHandle id, unsigned long long flags))
{
	CUresult error = CUDA_ERROR_INVALID_VALUE;
	struct reservation *r;
	struct mapping *mapping;
	struct handle *handle;

	VMM_ENTER(cuMemMap);
	if (p % GRANULE || offset || flags)
		return CUDA_ERROR_INVALID_VALUE;
	mapping = calloc(1, sizeof(*mapping));
	if (!mapping)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&lock);
	handle = handle_of(id);
	for (r = reservations; r && p - r->address >= r->size; r = r->next)
		;
	if (handle && handle->refs && r && handle->size == size && size <= r->size - (p - r->address) &&
	    !mapping_in(p, size)) {
		*mapping = (struct mapping){ .next = mappings, .address = p, .handle = handle };
		mappings = mapping;
		handle->mapped++;
		error = 0;
	}
	pthread_mutex_unlock(&lock);
	if (error)
		free(mapping);
	return error;
}

static void set_access(struct mapping *mapping, bool access)
{
	if (mapping->access == access)
		return;
	mapping->access = access;
	if (access) {
		device_range(DRIVER_MAP, mapping->address, mapping->handle->size, mapping->handle->offset);
		memory_add_range((struct range){ .address = mapping->address, .size = mapping->handle->size,
						 .kind = RANGE_VMM, .bytes = memory_bytes + mapping->handle->offset });
	} else {
		device_range(DRIVER_UNMAP, mapping->address, mapping->handle->size, 0);
		memory_remove_range(mapping->address);
	}
}

CU(cuMemUnmap, (CUdeviceptr p, size_t size))
{
	CUresult error = CUDA_ERROR_INVALID_VALUE;

	VMM_ENTER(cuMemUnmap);
	if (driver_current())
		stream_drain(driver_current());
	pthread_mutex_lock(&lock);
	if (is_mapped(p, size)) {
		for (uint64_t at = p; at < p + size;) {
			struct mapping **place = &mappings, *mapping = mapping_in(at, 1);

			at += mapping->handle->size;
			set_access(mapping, false);
			while (*place != mapping)
				place = &(*place)->next;
			*place = mapping->next;
			mapping->handle->mapped--;
			handle_put(mapping->handle);
			free(mapping);
		}
		error = 0;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

CU(cuMemSetAccess, (CUdeviceptr p, size_t size, const CUmemAccessDesc *desc, size_t n))
{
	CUresult error = CUDA_ERROR_INVALID_VALUE;

	VMM_ENTER(cuMemSetAccess);
	if (!desc || n != 1 || desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE || desc->location.id ||
	    (desc->flags != 0 && desc->flags != 1 && desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	if (is_mapped(p, size)) {
		for (uint64_t at = p; at < p + size;) {
			struct mapping *mapping = mapping_in(at, 1);

			at += mapping->handle->size;
			set_access(mapping, desc->flags != 0);
		}
		error = 0;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

CU(cuMemGetAccess, (unsigned long long *flags, const CUmemLocation *location, CUdeviceptr p))
{
	struct mapping *mapping;

	VMM_ENTER(cuMemGetAccess);
	pthread_mutex_lock(&lock);
	mapping = mapping_in(p, 1);
	if (mapping)
		*flags = mapping->access ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : 0;
	pthread_mutex_unlock(&lock);
	return mapping ? 0 : CUDA_ERROR_INVALID_VALUE;
}

CU(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle *ret, void *p))
{
	struct mapping *mapping;

	VMM_ENTER(cuMemRetainAllocationHandle);
	pthread_mutex_lock(&lock);
	mapping = mapping_in((uintptr_t)p, 1);
	if (mapping) {
		mapping->handle->refs++;
		*ret = mapping->handle->id;
	}
	pthread_mutex_unlock(&lock);
	return mapping ? 0 : CUDA_ERROR_INVALID_VALUE;
}

CU(cuMemMapArrayAsync, (void *infos, unsigned n, CUstream stream))
{
	VMM_ENTER(cuMemMapArrayAsync);
	return CUDA_ERROR_NOT_SUPPORTED;
}

CU(cuMemMapArrayAsync_ptsz, (void *infos, unsigned n, CUstream stream))
{
	VMM_ENTER(cuMemMapArrayAsync_ptsz);
	return CUDA_ERROR_NOT_SUPPORTED;
}

CU(cuMemExportToShareableHandle, (void *handle, CUmemGenericAllocationHandle id, int type, unsigned long long flags))
{
	VMM_ENTER(cuMemExportToShareableHandle);
	return CUDA_ERROR_NOT_SUPPORTED;
}

CU_IN(cuMemGetHandleForAddressRange, (void *handle, CUdeviceptr p, size_t size, int type, unsigned long long flags),
      CUDA_ERROR_NOT_SUPPORTED)
