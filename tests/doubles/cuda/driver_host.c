/* SPDX-License-Identifier: MIT */
/* driver_host.c - host memory: allocated and registered; and what may be asked of a pointer of either kind. */
#include "driver_own.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

struct registered {
	struct registered *next;
	uintptr_t p, start, end;
	unsigned flags;
};

static struct registered *registrations;	/* under the lock */

static CUresult host_alloc(struct context *ctx, void **ret, size_t size)
{
	CUdeviceptr p;
	CUresult error = memory_alloc(ctx, size, RANGE_HOST, &p);

	if (!error)
		*ret = (void *)(uintptr_t)p;
	return error;
}

static CUresult host_free(struct context *ctx, void *p)
{
	const struct range *range;
	CUresult error;

	pthread_mutex_lock(&lock);
	range = memory_find_start((uintptr_t)p);
	error = range && range->kind == RANGE_HOST ? 0 : CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_unlock(&lock);
	if (error)
		return error;
	stream_drain(ctx);
	memory_free_now((uintptr_t)p);
	return 0;
}

CU_IN(cuMemHostAlloc, (void **p, size_t size, unsigned flags), host_alloc(ctx, p, size))
CU_IN(cuMemAllocHost_v2, (void **p, size_t size), host_alloc(ctx, p, size))
CU_IN(cuMemFreeHost, (void *p), host_free(ctx, p))

CU_IN(cuMemHostGetFlags, (unsigned *flags, void *p), (*flags = 0, 0))

static struct registered *registered_at(uintptr_t start, uintptr_t end)
{
	struct registered *each = registrations;

	while (each && (each->start >= end || start >= each->end))
		each = each->next;
	return each;
}

static CUresult host_device_pointer(CUdeviceptr *ret, const void *p)
{
	const struct range *range;
	CUresult error = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&lock);
	range = memory_find_locked((uintptr_t)p);
	if ((range && range->kind == RANGE_HOST) || registered_at((uintptr_t)p, (uintptr_t)p + 1)) {
		*ret = (uintptr_t)p;
		error = 0;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

CU_IN(cuMemHostGetDevicePointer_v2, (CUdeviceptr *ret, void *p, unsigned flags), host_device_pointer(ret, p))

static CUresult host_register(void *p, size_t size, unsigned flags)
{
	uintptr_t start = (uintptr_t)p / PAGE * PAGE, end = round_up((uintptr_t)p + size, PAGE);
	struct registered *new;
	CUresult error = 0;

	if (!p || !size || flags > 15)
		return CUDA_ERROR_INVALID_VALUE;
	new = calloc(1, sizeof(*new));
	if (!new)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*new = (struct registered){ .p = (uintptr_t)p, .start = start, .end = end, .flags = flags };
	pthread_mutex_lock(&lock);
	if (memory_is_ours(start, end - start))
		error = CUDA_ERROR_INVALID_VALUE;
	else if (registered_at(start, end))
		error = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	/* Pinned pages are there; what cannot be written to cannot be pinned. Old systems do not tell. */
	else if (madvise((void *)start, end - start, MADV_POPULATE_WRITE) &&
		 !madvise((void *)((uintptr_t)&error / PAGE * PAGE), PAGE, MADV_POPULATE_WRITE))
		error = CUDA_ERROR_INVALID_VALUE;
	if (!error) {
		new->next = registrations;
		registrations = new;
		counts.registered += end - start;
		counts.registered_by = (int)syscall(SYS_gettid);
	}
	pthread_mutex_unlock(&lock);
	if (error)
		free(new);
	return error;
}

/* Only by the address that it was registered with; work that may use it is waited for. */
static CUresult host_unregister(struct context *ctx, void *p)
{
	struct registered **at, *found;

	stream_drain(ctx);
	pthread_mutex_lock(&lock);
	for (at = &registrations; *at && (*at)->p != (uintptr_t)p; at = &(*at)->next)
		;
	found = *at;
	if (found) {
		*at = found->next;
		counts.registered -= found->end - found->start;
	}
	pthread_mutex_unlock(&lock);
	free(found);
	return found ? 0 : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CU_IN(cuMemHostRegister_v2, (void *p, size_t size, unsigned flags), host_register(p, size, flags))
CU_IN(cuMemHostUnregister, (void *p), host_unregister(ctx, p))

/* Every page of it; adjacent registrations count together. */
bool memory_is_pinned(const void *p, size_t size)
{
	uintptr_t at = (uintptr_t)p, end = at + size;
	const struct range *range;
	struct registered *found;
	bool pinned;

	pthread_mutex_lock(&lock);
	range = memory_find_locked(at);
	pinned = range && range->kind == RANGE_HOST;
	while (!pinned && (found = registered_at(at, at + 1))) {
		at = found->end;
		pinned = at >= end;
	}
	pthread_mutex_unlock(&lock);
	return pinned;
}

/* ---- what may be asked of a pointer */

static CUresult address_range(CUdeviceptr *base, size_t *size, CUdeviceptr p)
{
	const struct range *range;

	pthread_mutex_lock(&lock);
	range = memory_find_locked(p);
	if (range && base)
		*base = range->address;
	if (range && size)
		*size = range->size;
	pthread_mutex_unlock(&lock);
	return range ? 0 : CUDA_ERROR_INVALID_VALUE;
}

CU_IN(cuMemGetAddressRange_v2, (CUdeviceptr *base, size_t *size, CUdeviceptr p), address_range(base, size, p))

/* With the lock. */
static CUresult attribute_of(struct context *ctx, void *value, int attribute, CUdeviceptr p)
{
	const struct range *range = memory_find_locked(p);
	struct registered *host = range ? NULL : registered_at((uintptr_t)p, (uintptr_t)p + 1);
	bool on_host = host || (range && range->kind == RANGE_HOST);

	if (!range && !host)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)value = (CUcontext)(range && range->ctx ? range->ctx : ctx);
		return 0;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)value = on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		return 0;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)value = p;
		return 0;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!on_host && range->kind != RANGE_MANAGED)
			return CUDA_ERROR_INVALID_VALUE;
		*(void **)value = (void *)(uintptr_t)p;
		return 0;
	case 6:		/* whether copies always wait */
		*(unsigned *)value = 0;
		return 0;
	case 7:		/* the allocation's number */
		*(unsigned long long *)value = range ? range->id : 0;
		return 0;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned *)value = range && range->kind == RANGE_MANAGED;
		return 0;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)value = 0;
		return 0;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)value = range ? range->address : host->start;
		return 0;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)value = range ? range->size : host->end - host->start;
		return 0;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(char *)value = 1;
		return 0;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

static CUresult pointer_attribute(struct context *ctx, void *value, int attribute, CUdeviceptr p)
{
	CUresult error;

	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	error = attribute_of(ctx, value, attribute, p);
	pthread_mutex_unlock(&lock);
	return error;
}

CU_IN(cuPointerGetAttribute, (void *value, int attribute, CUdeviceptr p), pointer_attribute(ctx, value, attribute, p))

/* What is not known of the pointer is 0, and no error. */
static CUresult pointer_attributes(struct context *ctx, unsigned n, const int *attributes, void **values, CUdeviceptr p)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < n; i++) {
		if (!attribute_of(ctx, values[i], attributes[i], p))
			continue;
		switch (attributes[i]) {
		case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		case CU_POINTER_ATTRIBUTE_IS_MANAGED:
			*(unsigned *)values[i] = 0;
			break;
		case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
			*(int *)values[i] = -2;
			break;
		case CU_POINTER_ATTRIBUTE_MAPPED:
			*(char *)values[i] = 0;
			break;
		default:
			*(uint64_t *)values[i] = 0;
		}
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

CU_IN(cuPointerGetAttributes, (unsigned n, int *attributes, void **values, CUdeviceptr p),
      pointer_attributes(ctx, n, attributes, values, p))
CU_IN(cuPointerSetAttribute, (const void *value, int attribute, CUdeviceptr p), 0)
