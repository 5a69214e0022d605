/* SPDX-License-Identifier: MIT */
/* copy_shape.c - the program's copies in two and three dimensions, and copies of CUDA arrays. */
#include "base/log.h"
#include "command.h"
#include "home.h"
#include "stream.h"
#include "sync.h"

ADSM_CU_CALLED(cuCtxGetCurrent, (CUcontext *context));

typedef struct {
	size_t srcXInBytes, srcY, srcZ, srcLOD;
	int srcMemoryType;
	const void *srcHost;
	CUdeviceptr srcDevice;
	CUarray srcArray;
	CUcontext srcContext;
	size_t srcPitch, srcHeight;
	size_t dstXInBytes, dstY, dstZ, dstLOD;
	int dstMemoryType;
	void *dstHost;
	CUdeviceptr dstDevice;
	CUarray dstArray;
	CUcontext dstContext;
	size_t dstPitch, dstHeight;
	size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D_PEER;

/* ---- in two and three dimensions: the descriptor has the kind of memory of each end */

union shape {
	CUDA_MEMCPY2D two;
	CUDA_MEMCPY3D three;
	CUDA_MEMCPY3D_PEER peer;
};

struct shaped {
	/* The driver's function for a synchronous copy; or, if that is NULL, for one in the order of a stream. */
	CUresult (*now)(const void *copy);
	CUresult (*ordered)(const void *copy, CUstream stream);
	union shape copy;		/* as the driver gets it */
	CUstream stream;		/* the program's stream; for NULL, the default stream that it means */
	CUstream given;			/* the program's argument, for the driver */
	bool pageable;			/* an end is host memory that the driver does not know */
	struct adsm_driver_use uses[2];
	size_t n_uses;
	struct adsm_home *home;
	bool mixed;			/* objects of several homes */
	bool to_host;			/* the destination is an object that the program passes as host memory */
};

static int enqueue_shaped(void *arg)
{
	const struct shaped *s = arg;

	return s->now ? s->now(&s->copy) : s->ordered(&s->copy, s->given);
}

/* @offset: from an end's base to its first byte. True: it is in an object, and *device is the device's address. */
static bool shaped_end(struct shaped *shaped, int *type, const void *host, CUdeviceptr *device, size_t offset,
		       unsigned access)
{
	CUdeviceptr p = *type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : *device;
	struct adsm_driver_place place;

	if (*type == CU_MEMORYTYPE_ARRAY)
		return false;
	if (!adsm_driver_find((void *)(uintptr_t)(p + offset), &place)) {
		shaped->pageable |= *type == CU_MEMORYTYPE_HOST && adsm_cuda_is_pageable(p + offset);
		return false;
	}
	shaped->mixed |= shaped->home && shaped->home != place.home;
	shaped->to_host |= *type == CU_MEMORYTYPE_HOST && access != ADSM_ACCESS_IN;
	shaped->home = place.home;
	shaped->uses[shaped->n_uses++] = (struct adsm_driver_use){ (void *)(uintptr_t)(p + offset), access };
	*type = CU_MEMORYTYPE_DEVICE;
	*device = adsm_driver_address(&place) - offset;
	return true;
}

static CUresult copy_shaped(struct shaped *shaped)
{
	CUresult result;

	if (adsm_cuda_capturing(shaped->stream))
		return enqueue_shaped(shaped);
	if (shaped->mixed || shaped->home != adsm_cuda_current_home())
		return adsm_cuda_result(adsm_fail(-ENOTSUP, "a copy in two or three dimensions can use only shared "
						  "memory of the current context"));
	/* If both ends are in one object, one use is enough: the first, which writes. */
	if (shaped->n_uses == 2) {
		struct adsm_driver_place a, b;

		if (adsm_driver_find(shaped->uses[0].p, &a) && adsm_driver_find(shaped->uses[1].p, &b) &&
		    a.start == b.start)
			shaped->n_uses = 1;
	}
	/* The driver may wait for earlier commands in such a copy. So wait here, where no lock is held. */
	result = shaped->now || shaped->pageable ? adsm_cuda_wait(shaped->stream) : CUDA_SUCCESS;
	if (result == CUDA_SUCCESS)
		result = adsm_cuda_command(shaped->home, shaped->uses, shaped->n_uses, shaped->stream, enqueue_shaped,
					   shaped);
	/* The driver has got a copy on the device, and does not wait for its end. */
	if (result == CUDA_SUCCESS && shaped->now && shaped->to_host)
		result = adsm_cuda_wait(shaped->stream);
	return result;
}

/* The destination comes first: if both ends are in one object, its use counts. */
#define SHAPED_ENDS(s, c, dst_offset, src_offset)							\
	((int)shaped_end(s, &(c)->dstMemoryType, (c)->dstHost, &(c)->dstDevice, dst_offset, ADSM_ACCESS_INOUT) | \
	 (int)shaped_end(s, &(c)->srcMemoryType, (c)->srcHost, &(c)->srcDevice, src_offset, ADSM_ACCESS_IN))
#define OFFSET_2D(c, end) ((c)->end##Y * (c)->end##Pitch + (c)->end##XInBytes)
#define OFFSET_3D(c, end) (((c)->end##Z * (c)->end##Height + (c)->end##Y) * (c)->end##Pitch + (c)->end##XInBytes)

/* These return whether an end is in an object. */
#define SHAPED(name, type, field, offset)						\
	static bool name(struct shaped *shaped, const type *copy)			\
	{										\
		type *own = &shaped->copy.field;					\
											\
		if (!copy || !adsm_driver_active())					\
			return false;							\
		*own = *copy;								\
		return SHAPED_ENDS(shaped, own, offset(own, dst), offset(own, src));	\
	}
SHAPED(shaped_2d, CUDA_MEMCPY2D, two, OFFSET_2D)
SHAPED(shaped_3d, CUDA_MEMCPY3D, three, OFFSET_3D)
SHAPED(peer_ends, CUDA_MEMCPY3D_PEER, peer, OFFSET_3D)

static bool shaped_peer(struct shaped *shaped, const CUDA_MEMCPY3D_PEER *copy)
{
	CUcontext context = NULL;

	if (!peer_ends(shaped, copy))
		return false;
	/* An end that was host memory had no context. */
	real_cu(cuCtxGetCurrent)(&context);
	if (copy->dstMemoryType == CU_MEMORYTYPE_HOST)
		shaped->copy.peer.dstContext = context;
	if (copy->srcMemoryType == CU_MEMORYTYPE_HOST)
		shaped->copy.peer.srcContext = context;
	return true;
}

#define SHAPED_NOW(name, per_thread, ends)									\
	ADSM_CU_WRAPPER(name, (const void *copy))								\
	{													\
		struct shaped shaped = { .now = real_cu(name), .stream = adsm_cuda_stream(NULL, per_thread) };	\
														\
		return ends(&shaped, copy) ? copy_shaped(&shaped) : adsm_cuda_passed(shaped.now(copy));		\
	}
SHAPED_NOW(cuMemcpy2D_v2, false, shaped_2d)
SHAPED_NOW(cuMemcpy2D_v2_ptds, true, shaped_2d)
SHAPED_NOW(cuMemcpy2DUnaligned_v2, false, shaped_2d)
SHAPED_NOW(cuMemcpy2DUnaligned_v2_ptds, true, shaped_2d)
SHAPED_NOW(cuMemcpy3D_v2, false, shaped_3d)
SHAPED_NOW(cuMemcpy3D_v2_ptds, true, shaped_3d)
SHAPED_NOW(cuMemcpy3DPeer, false, shaped_peer)
SHAPED_NOW(cuMemcpy3DPeer_ptds, true, shaped_peer)

#define SHAPED_ORDERED(name, per_thread, ends)							\
	ADSM_CU_WRAPPER(name, (const void *copy, CUstream given))				\
	{											\
		struct shaped shaped = { .ordered = real_cu(name), .given = given,		\
					 .stream = adsm_cuda_stream(given, per_thread) };	\
												\
		return ends(&shaped, copy) ? copy_shaped(&shaped) :				\
			adsm_cuda_passed(shaped.ordered(copy, given));				\
	}
SHAPED_ORDERED(cuMemcpy2DAsync_v2, false, shaped_2d)
SHAPED_ORDERED(cuMemcpy2DAsync_v2_ptsz, true, shaped_2d)
SHAPED_ORDERED(cuMemcpy3DAsync_v2, false, shaped_3d)
SHAPED_ORDERED(cuMemcpy3DAsync_v2_ptsz, true, shaped_3d)
SHAPED_ORDERED(cuMemcpy3DPeerAsync, false, shaped_peer)
SHAPED_ORDERED(cuMemcpy3DPeerAsync_ptsz, true, shaped_peer)

/* ---- CUDA arrays: if the other end is in an object, the copy becomes a copy of one row in two dimensions */

/* @p: an address of the kind @type. */
static CUDA_MEMCPY2D to_array(CUarray dst, size_t offset, int type, CUdeviceptr p, size_t size)
{
	return (CUDA_MEMCPY2D){ .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = dst, .dstXInBytes = offset,
				.srcMemoryType = type, .srcHost = (void *)(uintptr_t)p, .srcDevice = p,
				.srcPitch = size, .WidthInBytes = size, .Height = 1 };
}

static CUDA_MEMCPY2D from_array(int type, CUdeviceptr p, CUarray src, size_t offset, size_t size)
{
	return (CUDA_MEMCPY2D){ .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = src, .srcXInBytes = offset,
				.dstMemoryType = type, .dstHost = (void *)(uintptr_t)p, .dstDevice = p,
				.dstPitch = size, .WidthInBytes = size, .Height = 1 };
}

#define ARRAY_NOW(name, row, per_thread, params, args, ...)						\
	ADSM_CU_WRAPPER(name, params)									\
	{												\
		struct shaped shaped = { .now = real_cu(row),						\
					 .stream = adsm_cuda_stream(NULL, per_thread) };		\
		CUDA_MEMCPY2D copy = __VA_ARGS__;							\
													\
		return size && shaped_2d(&shaped, &copy) ? copy_shaped(&shaped) :			\
			adsm_cuda_passed(real_cu(name) args);						\
	}
#define ARRAYS_NOW(name, params, args, ...)								\
	ARRAY_NOW(name, cuMemcpy2D_v2, false, params, args, __VA_ARGS__)				\
	ARRAY_NOW(name##_ptds, cuMemcpy2D_v2_ptds, true, params, args, __VA_ARGS__)

ARRAYS_NOW(cuMemcpyDtoA_v2, (CUarray dst, size_t offset, CUdeviceptr src, size_t size), (dst, offset, src, size),
	   to_array(dst, offset, CU_MEMORYTYPE_DEVICE, src, size))
ARRAYS_NOW(cuMemcpyAtoD_v2, (CUdeviceptr dst, CUarray src, size_t offset, size_t size), (dst, src, offset, size),
	   from_array(CU_MEMORYTYPE_DEVICE, dst, src, offset, size))
ARRAYS_NOW(cuMemcpyHtoA_v2, (CUarray dst, size_t offset, const void *src, size_t size), (dst, offset, src, size),
	   to_array(dst, offset, CU_MEMORYTYPE_HOST, (uintptr_t)src, size))
ARRAYS_NOW(cuMemcpyAtoH_v2, (void *dst, CUarray src, size_t offset, size_t size), (dst, src, offset, size),
	   from_array(CU_MEMORYTYPE_HOST, (uintptr_t)dst, src, offset, size))

#define ARRAY_ORDERED(name, row, per_thread, params, args, ...)					\
	ADSM_CU_WRAPPER(name, params)								\
	{											\
		struct shaped shaped = { .ordered = real_cu(row), .given = stream,		\
					 .stream = adsm_cuda_stream(stream, per_thread) };	\
		CUDA_MEMCPY2D copy = __VA_ARGS__;						\
												\
		return size && shaped_2d(&shaped, &copy) ? copy_shaped(&shaped) :		\
			adsm_cuda_passed(real_cu(name) args);					\
	}
#define ARRAYS_ORDERED(name, params, args, ...)								\
	ARRAY_ORDERED(name, cuMemcpy2DAsync_v2, false, params, args, __VA_ARGS__)			\
	ARRAY_ORDERED(name##_ptsz, cuMemcpy2DAsync_v2_ptsz, true, params, args, __VA_ARGS__)

ARRAYS_ORDERED(cuMemcpyHtoAAsync_v2, (CUarray dst, size_t offset, const void *src, size_t size, CUstream stream),
	       (dst, offset, src, size, stream), to_array(dst, offset, CU_MEMORYTYPE_HOST, (uintptr_t)src, size))
ARRAYS_ORDERED(cuMemcpyAtoHAsync_v2, (void *dst, CUarray src, size_t offset, size_t size, CUstream stream),
	       (dst, src, offset, size, stream), from_array(CU_MEMORYTYPE_HOST, (uintptr_t)dst, src, offset, size))
