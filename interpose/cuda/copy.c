/* SPDX-License-Identifier: MIT */
/*
 * copy.c - the program's copies in one dimension.
 *
 * Memory in an object is found by its address. The driver is not asked, because it takes a view for device memory. An
 * end in an object is replaced by the device's address, even if the program passed it as host memory. So the driver
 * never accesses a view. The library itself makes a synchronous copy if both ends are in objects or ordinary memory.
 * The driver makes all other copies, as commands that use these objects.
 */
#include "base/log.h"
#include "command.h"
#include "home.h"
#include "stream.h"
#include "sync.h"

#define STAGED ((size_t)64 << 10)	/* bytes of pageable memory: for no more than that, a driver does not wait */

ADSM_CU_CALLED(cuPointerGetAttribute, (void *value, int attribute, CUdeviceptr p));
ADSM_CU_CALLED(cuStreamSynchronize, (CUstream stream));

/* ---- ends */

enum side { DEVICE, HOST, ANY };	/* as in the function's name; ANY: the address says it */

struct end {
	enum side side;
	CUdeviceptr p;			/* the program's address */
	CUdeviceptr address;		/* for the driver */
	bool object;
	struct adsm_driver_place place;
};

static struct end end_of(enum side side, CUdeviceptr p)
{
	struct end end = { .side = side, .p = p, .address = p };

	end.object = adsm_driver_find((void *)(uintptr_t)p, &end.place);
	if (end.object) {
		end.side = DEVICE;
		end.address = adsm_driver_address(&end.place);
	}
	return end;
}

/* May the library copy here by the CPU? True in an object, and for host memory that is not managed memory. Other copies
 * go to the driver, which reports errors, too. */
static bool is_ordinary(const struct end *end, size_t size)
{
	unsigned type = 0, managed = 0;

	if (end->object || end->side == DEVICE || !end->p)
		return end->object && adsm_driver_has(&end->place, size);
	if (adsm_cuda_is_pageable(end->p))
		return true;
	real_cu(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, end->p);
	real_cu(cuPointerGetAttribute)(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, end->p);
	return type == CU_MEMORYTYPE_HOST && !managed;
}

/* ---- in one dimension */

struct copy {
	struct end dst, src;
	size_t size;
	CUstream stream;
	bool wait;			/* for the stream, as part of the command */
};

/* Returns whether an end is in an object. */
static inline bool copy_begin(struct copy *copy, enum side to, CUdeviceptr dst, enum side from, CUdeviceptr src,
			      size_t size, CUstream stream)
{
	if (!adsm_driver_active() || !size)
		return false;
	copy->dst = end_of(to, dst);
	copy->src = end_of(from, src);
	copy->size = size;
	copy->stream = stream;
	copy->wait = false;
	return copy->dst.object || copy->src.object;
}

static int enqueue_copy(void *arg);

/* Let the driver copy. At least one end is in an object; @home is the home of all objects concerned. */
static CUresult copy_driver(struct copy *copy, struct adsm_home *home)
{
	struct adsm_driver_use uses[2];
	size_t n = 0;

	if (copy->dst.object && copy->src.object && copy->dst.place.start == copy->src.place.start) {
		uses[n++] = (struct adsm_driver_use){ (void *)(uintptr_t)copy->dst.p, ADSM_ACCESS_INOUT };
	} else {
		if (copy->dst.object)
			uses[n++] = (struct adsm_driver_use){ (void *)(uintptr_t)copy->dst.p,
							       adsm_driver_written(&copy->dst.place, copy->size) };
		if (copy->src.object)
			uses[n++] = (struct adsm_driver_use){ (void *)(uintptr_t)copy->src.p, ADSM_ACCESS_IN };
	}
	/* In a stream of another context, the home cannot detect the end of the copy. So the command itself waits. */
	copy->wait = home != adsm_cuda_current_home();
	return adsm_cuda_command(home, uses, n, copy->wait ? NULL : copy->stream, enqueue_copy, copy);
}

/* A synchronous copy. It comes after the earlier commands of its stream, whatever memory they use. */
static CUresult copy_now(struct copy *copy)
{
	CUresult result = adsm_cuda_wait(copy->stream);
	int error;

	if (result != CUDA_SUCCESS)
		return result;
	if (is_ordinary(&copy->dst, copy->size) && is_ordinary(&copy->src, copy->size)) {
		error = adsm_driver_copy((void *)(uintptr_t)copy->dst.p, copy->dst.object ? &copy->dst.place : NULL,
					 (void *)(uintptr_t)copy->src.p, copy->src.object ? &copy->src.place : NULL,
					 copy->size);
		return error ? adsm_cuda_failure(error, copy->stream) : CUDA_SUCCESS;
	}
	result = copy_driver(copy, copy->dst.object ? copy->dst.place.home : copy->src.place.home);
	return result == CUDA_SUCCESS ? adsm_cuda_wait(copy->stream) : result;
}

static CUresult copy_ordered(struct copy *copy)
{
	struct adsm_home *home = copy->dst.object ? copy->dst.place.home : copy->src.place.home;
	CUresult result = CUDA_SUCCESS;

	if (adsm_cuda_capturing(copy->stream))
		return enqueue_copy(copy);
	if (copy->dst.object && copy->src.object && copy->src.place.home != home)
		return copy_now(copy);
	/* For pageable memory the driver would wait inside the command, while the library's locks are held. Only from
	 * small source memory it makes a copy of its own, and does not wait. */
	if (!copy->dst.object && copy->dst.side != DEVICE && adsm_cuda_is_pageable(copy->dst.p))
		return copy_now(copy);
	if (!copy->src.object && copy->src.side != DEVICE && copy->size > STAGED && adsm_cuda_is_pageable(copy->src.p))
		result = adsm_cuda_wait(copy->stream);
	return result == CUDA_SUCCESS ? copy_driver(copy, home) : result;
}

/* @passed: what becomes of the driver's result if no object is concerned. */
#define COPY(name, params, args, to, from, in_stream, run, passed)					\
	ADSM_CU_WRAPPER(name, params)									\
	{												\
		struct copy copy;									\
													\
		if (!copy_begin(&copy, to, (uintptr_t)dst, from, (uintptr_t)src, size, in_stream))	\
			return passed(real_cu(name) args);						\
		return run(&copy);									\
	}
#define COPIES_NOW(name, params, args, to, from, passed)		\
	COPY(name, params, args, to, from, NULL, copy_now, passed)	\
	COPY(name##_ptds, params, args, to, from, CU_STREAM_PER_THREAD, copy_now, passed)
#define COPIES_ORDERED(name, params, args, to, from)					\
	COPY(name, params, args, to, from, stream, copy_ordered, adsm_cuda_passed)	\
	COPY(name##_ptsz, params, args, to, from, adsm_cuda_stream(stream, true), copy_ordered, adsm_cuda_passed)

/* The driver does not wait for the end of a copy inside the device, even if the program did not ask for a stream. */
COPIES_NOW(cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t size), (dst, src, size), ANY, ANY, adsm_cuda_passed)
COPIES_NOW(cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t size), (dst, src, size), DEVICE, HOST, )
COPIES_NOW(cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t size), (dst, src, size), HOST, DEVICE, )
COPIES_NOW(cuMemcpyDtoD_v2, (CUdeviceptr dst, CUdeviceptr src, size_t size), (dst, src, size), DEVICE, DEVICE,
	   adsm_cuda_passed)
COPIES_NOW(cuMemcpyPeer, (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context, size_t size),
	   (dst, dst_context, src, src_context, size), ANY, ANY, adsm_cuda_passed)

COPIES_ORDERED(cuMemcpyAsync, (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream),
	       (dst, src, size, stream), ANY, ANY)
COPIES_ORDERED(cuMemcpyHtoDAsync_v2, (CUdeviceptr dst, const void *src, size_t size, CUstream stream),
	       (dst, src, size, stream), DEVICE, HOST)
COPIES_ORDERED(cuMemcpyDtoHAsync_v2, (void *dst, CUdeviceptr src, size_t size, CUstream stream),
	       (dst, src, size, stream), HOST, DEVICE)
COPIES_ORDERED(cuMemcpyDtoDAsync_v2, (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream),
	       (dst, src, size, stream), DEVICE, DEVICE)
COPIES_ORDERED(cuMemcpyPeerAsync, (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context,
				   size_t size, CUstream stream),
	       (dst, dst_context, src, src_context, size, stream), ANY, ANY)

static int enqueue_copy(void *arg)
{
	const struct copy *c = arg;
	CUdeviceptr dst = c->dst.address, src = c->src.address;
	CUresult result;

	if (c->dst.side == ANY || c->src.side == ANY)
		result = real_cu(cuMemcpyAsync)(dst, src, c->size, c->stream);
	else if (c->src.side == HOST)
		result = real_cu(cuMemcpyHtoDAsync_v2)(dst, (void *)(uintptr_t)src, c->size, c->stream);
	else if (c->dst.side == HOST)
		result = real_cu(cuMemcpyDtoHAsync_v2)((void *)(uintptr_t)dst, src, c->size, c->stream);
	else
		result = real_cu(cuMemcpyDtoDAsync_v2)(dst, src, c->size, c->stream);
	if (result == CUDA_SUCCESS && c->wait)
		result = real_cu(cuStreamSynchronize)(c->stream);
	return result;
}
