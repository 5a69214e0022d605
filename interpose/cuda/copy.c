/* SPDX-License-Identifier: MIT */
/*
 * copy.c - the program's copies and fills.
 *
 * What is in an object is found by its address, never by asking the driver, for which a view is device memory. An end
 * in an object becomes the device's address, whichever side the program took it for: so the driver never looks at a
 * view. What returns when the bytes have moved is done by the library where both ends are objects or ordinary memory;
 * all the rest is the driver's, as a command that uses these objects.
 */
#include "entries.h"
#include "base/log.h"

CUresult cuCtxGetCurrent(CUcontext *context);
ADSM_CU_CALLED(cuCtxGetCurrent);
ADSM_CU_CALLED(cuPointerGetAttribute);
ADSM_CU_CALLED(cuStreamSynchronize);

/* ---- ends */

enum side { DEVICE, HOST, ANY };	/* as the function has it; ANY: by the address */

struct end {
	enum side side;
	CUdeviceptr p;			/* the program's */
	CUdeviceptr address;		/* for the driver */
	bool object;
	struct adsm_foreign_place place;
};

/* The device's address of one in an object. */
static CUdeviceptr device_address(CUdeviceptr p)
{
	int saved = errno;
	CUdeviceptr address = adsmSafe((void *)(uintptr_t)p);

	errno = saved;
	return address ? address : p;
}

static struct end end_of(enum side side, CUdeviceptr p)
{
	struct end end = { .side = side, .p = p, .address = p };

	end.object = adsm_foreign_find((void *)(uintptr_t)p, &end.place);
	if (end.object) {
		end.side = DEVICE;
		end.address = device_address(p);
	}
	return end;
}

/* Does it end in the object that it begins in? */
static bool is_inside(const struct end *end, size_t size)
{
	return size <= end->place.size - end->place.offset;
}

/* May the CPU read and write it with nothing but the program's own waiting? What is wrong is the driver's to say. */
static bool is_ordinary(const struct end *end, size_t size)
{
	unsigned type = 0, managed = 0;

	if (end->object || end->side == DEVICE || !end->p)
		return end->object && is_inside(end, size);
	if (real_cu(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, end->p) != CUDA_SUCCESS)
		return true;
	real_cu(cuPointerGetAttribute)(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, end->p);
	return type == CU_MEMORYTYPE_HOST && !managed;
}

/* ---- in one dimension */

struct copy {
	struct end dst, src;
	size_t size;
	CUstream stream;
	bool wait;			/* for it, inside of the command */
};

/* Is the library concerned? */
static inline bool copy_begin(struct copy *copy, enum side to, CUdeviceptr dst, enum side from, CUdeviceptr src,
			      size_t size, CUstream stream)
{
	if (!adsm_foreign_active() || !size)
		return false;
	copy->dst = end_of(to, dst);
	copy->src = end_of(from, src);
	copy->size = size;
	copy->stream = stream;
	copy->wait = false;
	return copy->dst.object || copy->src.object;
}

static int enqueue_copy(void *arg);

static unsigned written(const struct adsm_foreign_place *place, size_t size)
{
	return !place->offset && size >= place->size ? ADSM_ACCESS_OUT : ADSM_ACCESS_INOUT;
}

/* By the driver, one object at least; @home: that of all there are. */
static CUresult copy_driver(struct copy *copy, struct adsm_home *home)
{
	struct adsm_foreign_use uses[2];
	size_t n = 0;

	if (copy->dst.object && copy->src.object && copy->dst.place.start == copy->src.place.start) {
		uses[n++] = (struct adsm_foreign_use){ (void *)(uintptr_t)copy->dst.p, ADSM_ACCESS_INOUT };
	} else {
		if (copy->dst.object)
			uses[n++] = (struct adsm_foreign_use){ (void *)(uintptr_t)copy->dst.p,
							       written(&copy->dst.place, copy->size) };
		if (copy->src.object)
			uses[n++] = (struct adsm_foreign_use){ (void *)(uintptr_t)copy->src.p, ADSM_ACCESS_IN };
	}
	/* A stream of another context: the home cannot see its commands end, so they have when it looks. */
	copy->wait = home != adsm_cuda_current_home();
	return adsm_cuda_command(home, uses, n, copy->wait ? NULL : copy->stream, enqueue_copy, copy);
}

/* What comes before on the default stream comes before the copy, whatever memory it is about. */
static CUresult copy_now(struct copy *copy)
{
	CUresult result = adsm_cuda_wait(copy->stream);
	int error;

	if (result != CUDA_SUCCESS)
		return result;
	if (is_ordinary(&copy->dst, copy->size) && is_ordinary(&copy->src, copy->size)) {
		error = adsm_foreign_copy((void *)(uintptr_t)copy->dst.p, (void *)(uintptr_t)copy->src.p, copy->size);
		return error ? adsm_cuda_failure(error, copy->stream) : CUDA_SUCCESS;
	}
	result = copy_driver(copy, copy->dst.object ? copy->dst.place.home : copy->src.place.home);
	return result == CUDA_SUCCESS ? adsm_cuda_wait(copy->stream) : result;
}

static CUresult copy_ordered(struct copy *copy)
{
	struct adsm_home *home = copy->dst.object ? copy->dst.place.home : copy->src.place.home;

	if (adsm_cuda_capturing(copy->stream))
		return enqueue_copy(copy);
	if (copy->dst.object && copy->src.object && copy->src.place.home != home)
		return copy_now(copy);
	return copy_driver(copy, home);
}

#define COPY_NOW(name, per_thread, params, args, to, from)						\
	ADSM_CU(name);											\
	ADSM_WRAPPER CUresult name params								\
	{												\
		struct copy copy;									\
													\
		if (!copy_begin(&copy, to, (uintptr_t)dst, from, (uintptr_t)src, size,			\
				adsm_cuda_stream(NULL, per_thread)))					\
			return real_cu(name) args;							\
		return copy_now(&copy);									\
	}
#define COPIES_NOW(name, params, args, to, from)							\
	COPY_NOW(name, false, params, args, to, from)							\
	COPY_NOW(name##_ptds, true, params, args, to, from)

COPIES_NOW(cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t size), (dst, src, size), ANY, ANY)
COPIES_NOW(cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t size), (dst, src, size), DEVICE, HOST)
COPIES_NOW(cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t size), (dst, src, size), HOST, DEVICE)
COPIES_NOW(cuMemcpyDtoD_v2, (CUdeviceptr dst, CUdeviceptr src, size_t size), (dst, src, size), DEVICE, DEVICE)
COPIES_NOW(cuMemcpyPeer, (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context, size_t size),
	   (dst, dst_context, src, src_context, size), ANY, ANY)

#define COPY_ORDERED(name, per_thread, params, args, to, from)						\
	ADSM_CU(name);											\
	ADSM_WRAPPER CUresult name params								\
	{												\
		struct copy copy;									\
													\
		if (!copy_begin(&copy, to, (uintptr_t)dst, from, (uintptr_t)src, size,			\
				adsm_cuda_stream(stream, per_thread)))					\
			return adsm_cuda_passed(real_cu(name) args);					\
		return copy_ordered(&copy);								\
	}
#define COPIES_ORDERED(name, params, args, to, from)							\
	COPY_ORDERED(name, false, params, args, to, from)						\
	COPY_ORDERED(name##_ptsz, true, params, args, to, from)

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

/* ---- in two and three dimensions: the descriptor says which memory an end is in */

union shape {
	CUDA_MEMCPY2D two;
	CUDA_MEMCPY3D three;
	CUDA_MEMCPY3D_PEER peer;
};

/* The driver's functions for them: one of these. */
struct by_shape {
	CUresult (*two)(const CUDA_MEMCPY2D *copy);
	CUresult (*two_async)(const CUDA_MEMCPY2D *copy, CUstream stream);
	CUresult (*three)(const CUDA_MEMCPY3D *copy);
	CUresult (*three_async)(const CUDA_MEMCPY3D *copy, CUstream stream);
	CUresult (*peer)(const CUDA_MEMCPY3D_PEER *copy);
	CUresult (*peer_async)(const CUDA_MEMCPY3D_PEER *copy, CUstream stream);
};

struct shaped {
	struct by_shape driver;
	union shape copy;		/* as the driver gets it */
	CUstream stream;		/* of the program's; where it gave none, its default stream */
	CUstream given;			/* for the driver: the function knows its flavour */
	bool now;			/* returns when the bytes have moved, where the CPU's side is concerned */
	struct adsm_foreign_use uses[2];
	size_t n_uses;
	struct adsm_home *home;
	bool mixed;			/* objects of several homes */
	bool to_host;			/* the program takes an object for the CPU's */
};

static int enqueue_shaped(void *arg)
{
	const struct shaped *s = arg;

	if (s->driver.two)
		return s->driver.two(&s->copy.two);
	if (s->driver.two_async)
		return s->driver.two_async(&s->copy.two, s->given);
	if (s->driver.three)
		return s->driver.three(&s->copy.three);
	if (s->driver.three_async)
		return s->driver.three_async(&s->copy.three, s->given);
	if (s->driver.peer)
		return s->driver.peer(&s->copy.peer);
	return s->driver.peer_async(&s->copy.peer, s->given);
}

/* An end's first byte is @offset from its base. In an object it becomes the device's: true. */
static bool shaped_end(struct shaped *shaped, int *type, const void *host, CUdeviceptr *device, size_t offset,
		       unsigned access)
{
	CUdeviceptr p = *type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : *device;
	struct adsm_foreign_place place;

	if (*type == CU_MEMORYTYPE_ARRAY || !adsm_foreign_find((void *)(uintptr_t)(p + offset), &place))
		return false;
	shaped->mixed |= shaped->home && shaped->home != place.home;
	shaped->to_host |= *type == CU_MEMORYTYPE_HOST && access != ADSM_ACCESS_IN;
	shaped->home = place.home;
	shaped->uses[shaped->n_uses++] = (struct adsm_foreign_use){ (void *)(uintptr_t)(p + offset), access };
	*type = CU_MEMORYTYPE_DEVICE;
	*device = device_address(p + offset) - offset;
	return true;
}

static CUresult copy_shaped(struct shaped *shaped)
{
	CUresult result;

	if (adsm_cuda_capturing(shaped->stream))
		return enqueue_shaped(shaped);
	if (shaped->mixed || shaped->home != adsm_cuda_current_home())
		return adsm_cuda_result(adsm_fail(-ENOTSUP, "a copy in two or three dimensions is of the current "
						  "context's shared memory only"));
	/* Both in one object: it is written. */
	if (shaped->n_uses == 2) {
		struct adsm_foreign_place a, b;

		if (adsm_foreign_find(shaped->uses[0].p, &a) && adsm_foreign_find(shaped->uses[1].p, &b) &&
		    a.start == b.start)
			shaped->n_uses = 1;
	}
	/* It may wait inside the driver, for all that comes before: better out here, where nothing is locked. */
	result = shaped->now ? adsm_cuda_wait(shaped->stream) : CUDA_SUCCESS;
	if (result == CUDA_SUCCESS)
		result = adsm_cuda_command(shaped->home, shaped->uses, shaped->n_uses, shaped->stream, enqueue_shaped,
					   shaped);
	/* For the driver that was a copy on the device, which it need not wait for. */
	if (result == CUDA_SUCCESS && shaped->now && shaped->to_host)
		result = adsm_cuda_wait(shaped->stream);
	return result;
}

/* Of the destination first: where both ends are in one object, its use is the one that counts. */
#define SHAPED_ENDS(s, c, dst_offset, src_offset)							\
	((int)shaped_end(s, &(c)->dstMemoryType, (c)->dstHost, &(c)->dstDevice, dst_offset, ADSM_ACCESS_INOUT) | \
	 (int)shaped_end(s, &(c)->srcMemoryType, (c)->srcHost, &(c)->srcDevice, src_offset, ADSM_ACCESS_IN))
#define OFFSET_2D(c, end) ((c)->end##Y * (c)->end##Pitch + (c)->end##XInBytes)
#define OFFSET_3D(c, end) (((c)->end##Z * (c)->end##Height + (c)->end##Y) * (c)->end##Pitch + (c)->end##XInBytes)

/* Is the library concerned? */
static bool shaped_2d(struct shaped *shaped, const CUDA_MEMCPY2D *copy)
{
	CUDA_MEMCPY2D *own = &shaped->copy.two;

	if (!copy || !adsm_foreign_active())
		return false;
	*own = *copy;
	return SHAPED_ENDS(shaped, own, OFFSET_2D(own, dst), OFFSET_2D(own, src));
}

static bool shaped_3d(struct shaped *shaped, const CUDA_MEMCPY3D *copy)
{
	CUDA_MEMCPY3D *own = &shaped->copy.three;

	if (!copy || !adsm_foreign_active())
		return false;
	*own = *copy;
	return SHAPED_ENDS(shaped, own, OFFSET_3D(own, dst), OFFSET_3D(own, src));
}

static bool shaped_peer(struct shaped *shaped, const CUDA_MEMCPY3D_PEER *copy)
{
	CUDA_MEMCPY3D_PEER *own = &shaped->copy.peer;
	CUcontext context = NULL;

	if (!copy || !adsm_foreign_active())
		return false;
	*own = *copy;
	if (!SHAPED_ENDS(shaped, own, OFFSET_3D(own, dst), OFFSET_3D(own, src)))
		return false;
	/* What was the CPU's had none. */
	real_cu(cuCtxGetCurrent)(&context);
	if (copy->dstMemoryType == CU_MEMORYTYPE_HOST)
		own->dstContext = context;
	if (copy->srcMemoryType == CU_MEMORYTYPE_HOST)
		own->srcContext = context;
	return true;
}

#define SHAPED_NOW(name, per_thread, type, kind, ends)							\
	ADSM_CU(name);											\
	ADSM_WRAPPER CUresult name(const type *copy)							\
	{												\
		struct shaped shaped = { .driver.kind = real_cu(name), .now = true,			\
					 .stream = adsm_cuda_stream(NULL, per_thread) };		\
													\
		return ends(&shaped, copy) ? copy_shaped(&shaped) : shaped.driver.kind(copy);		\
	}
SHAPED_NOW(cuMemcpy2D_v2, false, CUDA_MEMCPY2D, two, shaped_2d)
SHAPED_NOW(cuMemcpy2D_v2_ptds, true, CUDA_MEMCPY2D, two, shaped_2d)
SHAPED_NOW(cuMemcpy2DUnaligned_v2, false, CUDA_MEMCPY2D, two, shaped_2d)
SHAPED_NOW(cuMemcpy2DUnaligned_v2_ptds, true, CUDA_MEMCPY2D, two, shaped_2d)
SHAPED_NOW(cuMemcpy3D_v2, false, CUDA_MEMCPY3D, three, shaped_3d)
SHAPED_NOW(cuMemcpy3D_v2_ptds, true, CUDA_MEMCPY3D, three, shaped_3d)
SHAPED_NOW(cuMemcpy3DPeer, false, CUDA_MEMCPY3D_PEER, peer, shaped_peer)
SHAPED_NOW(cuMemcpy3DPeer_ptds, true, CUDA_MEMCPY3D_PEER, peer, shaped_peer)

#define SHAPED_ORDERED(name, per_thread, type, kind, ends)						\
	ADSM_CU(name);											\
	ADSM_WRAPPER CUresult name(const type *copy, CUstream given)					\
	{												\
		struct shaped shaped = { .driver.kind = real_cu(name), .given = given,			\
					 .stream = adsm_cuda_stream(given, per_thread) };		\
													\
		return ends(&shaped, copy) ? copy_shaped(&shaped) :					\
			adsm_cuda_passed(shaped.driver.kind(copy, given));				\
	}
SHAPED_ORDERED(cuMemcpy2DAsync_v2, false, CUDA_MEMCPY2D, two_async, shaped_2d)
SHAPED_ORDERED(cuMemcpy2DAsync_v2_ptsz, true, CUDA_MEMCPY2D, two_async, shaped_2d)
SHAPED_ORDERED(cuMemcpy3DAsync_v2, false, CUDA_MEMCPY3D, three_async, shaped_3d)
SHAPED_ORDERED(cuMemcpy3DAsync_v2_ptsz, true, CUDA_MEMCPY3D, three_async, shaped_3d)
SHAPED_ORDERED(cuMemcpy3DPeerAsync, false, CUDA_MEMCPY3D_PEER, peer_async, shaped_peer)
SHAPED_ORDERED(cuMemcpy3DPeerAsync_ptsz, true, CUDA_MEMCPY3D_PEER, peer_async, shaped_peer)

/* ---- arrays: one row of a copy in two dimensions, where the other end is in an object */

/* @p is what the function takes it for. */
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
	ADSM_CU(name);											\
	ADSM_WRAPPER CUresult name params								\
	{												\
		struct shaped shaped = { .driver.two = real_cu(row), .now = true,			\
					 .stream = adsm_cuda_stream(NULL, per_thread) };		\
		CUDA_MEMCPY2D copy = __VA_ARGS__;							\
													\
		return size && shaped_2d(&shaped, &copy) ? copy_shaped(&shaped) : real_cu(name) args;	\
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

#define ARRAY_ORDERED(name, row, per_thread, params, args, ...)						\
	ADSM_CU(name);											\
	ADSM_WRAPPER CUresult name params								\
	{												\
		struct shaped shaped = { .driver.two_async = real_cu(row), .given = stream,		\
					 .stream = adsm_cuda_stream(stream, per_thread) };		\
		CUDA_MEMCPY2D copy = __VA_ARGS__;							\
													\
		return size && shaped_2d(&shaped, &copy) ? copy_shaped(&shaped) :			\
			adsm_cuda_passed(real_cu(name) args);						\
	}
#define ARRAYS_ORDERED(name, params, args, ...)								\
	ARRAY_ORDERED(name, cuMemcpy2DAsync_v2, false, params, args, __VA_ARGS__)			\
	ARRAY_ORDERED(name##_ptsz, cuMemcpy2DAsync_v2_ptsz, true, params, args, __VA_ARGS__)

ARRAYS_ORDERED(cuMemcpyHtoAAsync_v2, (CUarray dst, size_t offset, const void *src, size_t size, CUstream stream),
	       (dst, offset, src, size, stream), to_array(dst, offset, CU_MEMORYTYPE_HOST, (uintptr_t)src, size))
ARRAYS_ORDERED(cuMemcpyAtoHAsync_v2, (void *dst, CUarray src, size_t offset, size_t size, CUstream stream),
	       (dst, src, offset, size, stream), from_array(CU_MEMORYTYPE_HOST, (uintptr_t)dst, src, offset, size))

/* ---- many copies at once: they may use any object */

struct batch {
	__typeof__(&cuMemcpyBatchAsync) one;
	__typeof__(&cuMemcpyBatchAsync_v2) one_v2;
	__typeof__(&cuMemcpy3DBatchAsync) three;
	__typeof__(&cuMemcpy3DBatchAsync_v2) three_v2;
	CUdeviceptr *dst, *src;
	size_t *sizes, n, *indices, n_attributes, *failed;
	void *attributes, *copies;
	unsigned long long flags;
	CUstream stream;
};

static int enqueue_batch(void *arg)
{
	const struct batch *b = arg;

	if (b->one)
		return b->one(b->dst, b->src, b->sizes, b->n, b->attributes, b->indices, b->n_attributes, b->failed,
			      b->stream);
	if (b->one_v2)
		return b->one_v2(b->dst, b->src, b->sizes, b->n, b->attributes, b->indices, b->n_attributes, b->stream);
	if (b->three)
		return b->three(b->n, b->copies, b->failed, b->flags, b->stream);
	return b->three_v2(b->n, b->copies, b->flags, b->stream);
}

static CUresult copy_batch(struct batch *batch, bool per_thread)
{
	CUstream stream = adsm_cuda_stream(batch->stream, per_thread);
	struct adsm_home *home = adsm_cuda_concerned();

	if (!home || adsm_cuda_capturing(stream))
		return adsm_cuda_passed(enqueue_batch(batch));
	return adsm_cuda_command(home, NULL, 0, stream, enqueue_batch, batch);
}

#define BATCH(name, per_thread)										\
	ADSM_CU(name);											\
	ADSM_WRAPPER CUresult name(CUdeviceptr *dst, CUdeviceptr *src, size_t *sizes, size_t n, void *attributes, \
				   size_t *indices, size_t n_attributes, size_t *failed, CUstream stream) \
	{												\
		struct batch batch = { .one = real_cu(name), .dst = dst, .src = src, .sizes = sizes, .n = n,	\
				       .attributes = attributes, .indices = indices,			\
				       .n_attributes = n_attributes, .failed = failed, .stream = stream }; \
													\
		return copy_batch(&batch, per_thread);							\
	}
BATCH(cuMemcpyBatchAsync, false)
BATCH(cuMemcpyBatchAsync_ptsz, true)

#define BATCH_V2(name, per_thread)									\
	ADSM_CU(name);											\
	ADSM_WRAPPER CUresult name(CUdeviceptr *dst, CUdeviceptr *src, size_t *sizes, size_t n, void *attributes, \
				   size_t *indices, size_t n_attributes, CUstream stream)		\
	{												\
		struct batch batch = { .one_v2 = real_cu(name), .dst = dst, .src = src, .sizes = sizes, .n = n, \
				       .attributes = attributes, .indices = indices,			\
				       .n_attributes = n_attributes, .stream = stream };		\
													\
		return copy_batch(&batch, per_thread);							\
	}
BATCH_V2(cuMemcpyBatchAsync_v2, false)
BATCH_V2(cuMemcpyBatchAsync_v2_ptsz, true)

#define BATCH_3D(name, per_thread)									\
	ADSM_CU(name);											\
	ADSM_WRAPPER CUresult name(size_t n, void *copies, size_t *failed, unsigned long long flags,	\
				   CUstream stream)							\
	{												\
		struct batch batch = { .three = real_cu(name), .n = n, .copies = copies, .failed = failed,	\
				       .flags = flags, .stream = stream };				\
													\
		return copy_batch(&batch, per_thread);							\
	}
BATCH_3D(cuMemcpy3DBatchAsync, false)
BATCH_3D(cuMemcpy3DBatchAsync_ptsz, true)

#define BATCH_3D_V2(name, per_thread)									\
	ADSM_CU(name);											\
	ADSM_WRAPPER CUresult name(size_t n, void *copies, unsigned long long flags, CUstream stream)	\
	{												\
		struct batch batch = { .three_v2 = real_cu(name), .n = n, .copies = copies, .flags = flags,	\
				       .stream = stream };						\
													\
		return copy_batch(&batch, per_thread);							\
	}
BATCH_3D_V2(cuMemcpy3DBatchAsync_v2, false)
BATCH_3D_V2(cuMemcpy3DBatchAsync_v2_ptsz, true)

/* ---- fills */

struct fill {
	struct end dst;
	unsigned unit, value;		/* bytes of an element: 1, 2 or 4 */
	size_t pitch, n, height;	/* n: elements, of a row; height 1: in one dimension */
	CUstream stream;
};

static inline bool fill_begin(struct fill *fill, CUdeviceptr dst)
{
	if (!adsm_foreign_active() || !fill->n || !fill->height)
		return false;
	fill->dst = end_of(DEVICE, dst);
	return fill->dst.object;
}

static int enqueue_fill(void *arg);

static CUresult fill_ordered(struct fill *fill)
{
	struct adsm_foreign_use use = { (void *)(uintptr_t)fill->dst.p, ADSM_ACCESS_INOUT };

	if (adsm_cuda_capturing(fill->stream))
		return enqueue_fill(fill);
	if (fill->height == 1)
		use.access = written(&fill->dst.place, fill->n * fill->unit);
	if (fill->dst.place.home != adsm_cuda_current_home())
		return adsm_cuda_result(adsm_fail(-ENOTSUP, "a fill is of the current context's shared memory only"));
	return adsm_cuda_command(fill->dst.place.home, &use, 1, fill->stream, enqueue_fill, fill);
}

/* Bytes the library fills; the rest is the driver's, which does not wait for fills. */
static CUresult fill_now(struct fill *fill)
{
	CUresult result;
	int error;

	if (fill->height > 1 || fill->unit > 1 || !is_inside(&fill->dst, fill->n))
		return fill_ordered(fill);
	result = adsm_cuda_wait(fill->stream);
	if (result != CUDA_SUCCESS)
		return result;
	error = adsm_foreign_fill((void *)(uintptr_t)fill->dst.p, (int)fill->value, fill->n);
	return error ? adsm_cuda_failure(error, fill->stream) : CUDA_SUCCESS;
}

#define FILL(name, per_thread, params, args, given, run, ...)						\
	ADSM_CU(name);											\
	ADSM_WRAPPER CUresult name params								\
	{												\
		struct fill fill = { .stream = adsm_cuda_stream(given, per_thread), .unit = sizeof(value),	\
				     .value = value, .n = n, __VA_ARGS__ };				\
													\
		return fill_begin(&fill, dst) ? run(&fill) : adsm_cuda_passed(real_cu(name) args);	\
	}
#define FILLS(now, ordered, type)									\
	FILL(now, false, (CUdeviceptr dst, type value, size_t n), (dst, value, n), NULL, fill_now, .height = 1)	\
	FILL(now##_ptds, true, (CUdeviceptr dst, type value, size_t n), (dst, value, n), NULL, fill_now,	\
	     .height = 1)										\
	FILL(ordered, false, (CUdeviceptr dst, type value, size_t n, CUstream stream),			\
	     (dst, value, n, stream), stream, fill_ordered, .height = 1)				\
	FILL(ordered##_ptsz, true, (CUdeviceptr dst, type value, size_t n, CUstream stream),		\
	     (dst, value, n, stream), stream, fill_ordered, .height = 1)
#define FILLS_2D(now, ordered, type)									\
	FILL(now, false, (CUdeviceptr dst, size_t pitch, type value, size_t n, size_t height),		\
	     (dst, pitch, value, n, height), NULL, fill_now, .pitch = pitch, .height = height)		\
	FILL(now##_ptds, true, (CUdeviceptr dst, size_t pitch, type value, size_t n, size_t height),	\
	     (dst, pitch, value, n, height), NULL, fill_now, .pitch = pitch, .height = height)		\
	FILL(ordered, false, (CUdeviceptr dst, size_t pitch, type value, size_t n, size_t height, CUstream stream), \
	     (dst, pitch, value, n, height, stream), stream, fill_ordered, .pitch = pitch, .height = height)	\
	FILL(ordered##_ptsz, true,									\
	     (CUdeviceptr dst, size_t pitch, type value, size_t n, size_t height, CUstream stream),	\
	     (dst, pitch, value, n, height, stream), stream, fill_ordered, .pitch = pitch, .height = height)

FILLS(cuMemsetD8_v2, cuMemsetD8Async, unsigned char)
FILLS(cuMemsetD16_v2, cuMemsetD16Async, unsigned short)
FILLS(cuMemsetD32_v2, cuMemsetD32Async, unsigned)
FILLS_2D(cuMemsetD2D8_v2, cuMemsetD2D8Async, unsigned char)
FILLS_2D(cuMemsetD2D16_v2, cuMemsetD2D16Async, unsigned short)
FILLS_2D(cuMemsetD2D32_v2, cuMemsetD2D32Async, unsigned)

static int enqueue_fill(void *arg)
{
	const struct fill *f = arg;
	CUdeviceptr dst = f->dst.address;
	unsigned char byte = (unsigned char)f->value;
	unsigned short half = (unsigned short)f->value;

	if (f->height > 1 && f->unit == 1)
		return real_cu(cuMemsetD2D8Async)(dst, f->pitch, byte, f->n, f->height, f->stream);
	if (f->height > 1 && f->unit == 2)
		return real_cu(cuMemsetD2D16Async)(dst, f->pitch, half, f->n, f->height, f->stream);
	if (f->height > 1)
		return real_cu(cuMemsetD2D32Async)(dst, f->pitch, f->value, f->n, f->height, f->stream);
	if (f->unit == 1)
		return real_cu(cuMemsetD8Async)(dst, byte, f->n, f->stream);
	if (f->unit == 2)
		return real_cu(cuMemsetD16Async)(dst, half, f->n, f->stream);
	return real_cu(cuMemsetD32Async)(dst, f->value, f->n, f->stream);
}

/* ---- words written in the order of a stream */

struct word {
	CUresult (*word)(CUstream stream, CUdeviceptr dst, uint32_t value, unsigned flags);
	CUresult (*two)(CUstream stream, CUdeviceptr dst, uint64_t value, unsigned flags);	/* instead */
	CUstream given;			/* for the driver */
	CUdeviceptr dst;
	uint64_t value;
	unsigned flags;
};

static int enqueue_word(void *arg)
{
	const struct word *w = arg;

	return w->two ? w->two(w->given, w->dst, w->value, w->flags) :
		w->word(w->given, w->dst, (uint32_t)w->value, w->flags);
}

static CUresult write_word(struct word *word, bool per_thread)
{
	struct adsm_foreign_use use = { (void *)(uintptr_t)word->dst, ADSM_ACCESS_INOUT };
	CUstream stream = adsm_cuda_stream(word->given, per_thread);
	struct adsm_foreign_place place;

	if (!adsm_foreign_active() || !adsm_foreign_find(use.p, &place) || adsm_cuda_capturing(stream) ||
	    place.home != adsm_cuda_current_home())
		return adsm_cuda_passed(enqueue_word(word));
	word->dst = device_address(word->dst);
	return adsm_cuda_command(place.home, &use, 1, stream, enqueue_word, word);
}

#define WORD(name, per_thread, type, which)								\
	ADSM_CU(name);											\
	ADSM_WRAPPER CUresult name(CUstream stream, CUdeviceptr dst, type value, unsigned flags)	\
	{												\
		struct word word = { .which = real_cu(name), .given = stream, .dst = dst, .value = value,	\
				     .flags = flags };							\
													\
		return write_word(&word, per_thread);							\
	}
#define WORDS(name, type, which)	\
	WORD(name, false, type, which)	\
	WORD(name##_ptsz, true, type, which)

WORDS(cuStreamWriteValue32, uint32_t, word)
WORDS(cuStreamWriteValue32_v2, uint32_t, word)
WORDS(cuStreamWriteValue64, uint64_t, two)
WORDS(cuStreamWriteValue64_v2, uint64_t, two)

/* ---- several of them, and what a stream waits for: only the objects that are written */

#define WRITE_VALUE_32 2
#define WRITE_VALUE_64 5

struct operations {
	__typeof__(&cuStreamBatchMemOp) driver;
	CUstream given;			/* for the driver */
	unsigned n, flags;
	CUstreamBatchMemOpParams *list;
};

static int enqueue_operations(void *arg)
{
	const struct operations *o = arg;

	return o->driver(o->given, o->n, o->list, o->flags);
}

static CUresult run_operations(struct operations *operations, bool per_thread)
{
	CUstream stream = adsm_cuda_stream(operations->given, per_thread);
	struct adsm_home *home = operations->list ? adsm_cuda_concerned() : NULL;
	struct adsm_foreign_use uses[ADSM_FOREIGN_USES];
	struct adsm_foreign_place place;
	size_t n = 0;

	for (unsigned i = 0; home && i < operations->n && n <= ADSM_FOREIGN_USES; i++) {
		const void *p = (void *)(uintptr_t)operations->list[i].any.address;
		int operation = operations->list[i].any.operation;

		if ((operation != WRITE_VALUE_32 && operation != WRITE_VALUE_64) || !adsm_foreign_find(p, &place))
			continue;
		if (n < ADSM_FOREIGN_USES)
			uses[n] = (struct adsm_foreign_use){ p, ADSM_ACCESS_INOUT };
		n++;
	}
	if (!n || adsm_cuda_capturing(stream))
		return adsm_cuda_passed(enqueue_operations(operations));
	return adsm_cuda_command(home, uses, n <= ADSM_FOREIGN_USES ? n : 0, stream, enqueue_operations, operations);
}

#define OPERATIONS(name, per_thread)									\
	ADSM_CU(name);											\
	ADSM_WRAPPER CUresult name(CUstream stream, unsigned n, CUstreamBatchMemOpParams *list, unsigned flags) \
	{												\
		return run_operations(&(struct operations){ real_cu(name), stream, n, flags, list }, per_thread); \
	}
OPERATIONS(cuStreamBatchMemOp, false)
OPERATIONS(cuStreamBatchMemOp_ptsz, true)
OPERATIONS(cuStreamBatchMemOp_v2, false)
OPERATIONS(cuStreamBatchMemOp_v2_ptsz, true)
