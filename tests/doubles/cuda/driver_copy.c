/* SPDX-License-Identifier: MIT */
/*
 * driver_copy.c - copies, fills, and words that streams write or wait for. An address of the device's is device memory,
 * wherever it is given; the CPU's memory is reached by a system call, since it may be anything: what cannot be read is
 * an error that sticks.
 */
#include "driver_own.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define BOUNCE (64 * KiB)

struct end {
	bool device;
	uint64_t p;			/* of the box's first byte */
	size_t pitch, slice;
};

struct copy {				/* the data of a command; staged bytes behind it */
	struct end dst, src;
	size_t width, height, depth;
	bool staged;
};

struct fill {
	CUdeviceptr p;
	size_t pitch, width, height;	/* width: elements */
	unsigned size, value;
};

/* Between the CPU's memory and ours; false where it cannot be touched. */
static bool move_host(uint64_t host, void *ours, size_t size, bool to_host)
{
	struct iovec local = { (void *)(uintptr_t)host, size }, remote = { ours, size };
	long call = to_host ? SYS_process_vm_readv : SYS_process_vm_writev;
	ssize_t n = syscall(call, getpid(), &local, 1UL, &remote, 1UL, 0UL);

	if (n == (ssize_t)size)
		return true;
	driver_say("the CPU's memory at %p cannot be %s", (void *)(uintptr_t)(host + (n > 0 ? (size_t)n : 0)),
		   to_host ? "written" : "read");
	return false;
}

/* Bytes of one end to ours, or back. */
static CUresult move_end(bool device, uint64_t p, char *ours, size_t size, bool to_end)
{
	while (device && size) {
		size_t n;
		char *place = memory_place(p, &n);

		if (!place)
			return CUDA_ERROR_ILLEGAL_ADDRESS;
		if (n > size)
			n = size;
		if (to_end)
			memcpy(place, ours, n);
		else
			memcpy(ours, place, n);
		p += n;
		ours += n;
		size -= n;
	}
	return !size || move_host(p, ours, size, to_end) ? 0 : CUDA_ERROR_ILLEGAL_ADDRESS;
}

static CUresult move(bool to_device, uint64_t dst, bool from_device, uint64_t src, size_t size)
{
	char *bounce;
	CUresult error = 0;
	size_t n;

	/* Straight between the memories, where both are in one piece. */
	if (to_device != from_device) {
		char *place = memory_place(to_device ? dst : src, &n);

		if (place && n >= size)
			return move_host(to_device ? src : dst, place, size, from_device) ? 0 :
			       CUDA_ERROR_ILLEGAL_ADDRESS;
	}
	bounce = malloc(BOUNCE);
	if (!bounce)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t done = 0; done < size && !error; done += n) {
		n = size - done < BOUNCE ? size - done : BOUNCE;
		error = move_end(from_device, src + done, bounce, n, false);
		if (!error)
			error = move_end(to_device, dst + done, bounce, n, true);
	}
	free(bounce);
	return error;
}

static CUresult run_copy(struct op *op)
{
	struct copy copy;
	CUresult error = 0;

	memcpy(&copy, op->data, sizeof(copy));
	for (size_t z = 0; z < copy.depth; z++) {
		for (size_t y = 0; y < copy.height && !error; y++) {
			uint64_t dst = copy.dst.p + z * copy.dst.slice + y * copy.dst.pitch;
			uint64_t src = copy.src.p + z * copy.src.slice + y * copy.src.pitch;

			if (copy.staged)
				error = move_end(true, dst, (char *)op->data + sizeof(copy) +
						 (z * copy.height + y) * copy.width, copy.width, true);
			else
				error = move(copy.dst.device, dst, copy.src.device, src, copy.width);
		}
	}
	return error;
}

/* Does an end begin in memory of the device's? */
static bool is_device(uint64_t p)
{
	size_t n;

	return memory_place(p, &n) != NULL;
}

static size_t extent(const struct end *end, const struct copy *copy)
{
	return (copy->depth - 1) * end->slice + (copy->height - 1) * end->pitch + copy->width;
}

static CUresult stage(struct copy *copy, char *to)
{
	for (size_t z = 0; z < copy->depth; z++) {
		for (size_t y = 0; y < copy->height; y++, to += copy->width) {
			if (!move_host(copy->src.p + z * copy->src.slice + y * copy->src.pitch, to, copy->width, false))
				return CUDA_ERROR_INVALID_VALUE;
		}
	}
	return 0;
}

enum told { HOST, DEVICE, WHATEVER };	/* what the caller says of an end */

static CUresult classify(struct end *end, const struct copy *copy, enum told told)
{
	bool device = is_device(end->p);

	end->device = device;
	if (told == HOST && device) {
		if (plan.strict)
			return CUDA_ERROR_INVALID_VALUE;
		driver_count(&counts.device_to_itself);
	}
	if (told == DEVICE && !device) {
		/* Pinned memory has an address there too. */
		if (!memory_is_pinned((void *)(uintptr_t)end->p, extent(end, copy)))
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (device && !memory_is_device(end->p, extent(end, copy)))
		return CUDA_ERROR_INVALID_VALUE;
	return 0;
}

/* @async: returns immediately; else when it is done, except from device to device, which is never waited for. */
static CUresult copy_box(struct context *ctx, CUstream stream, bool per_thread, struct copy copy, enum told dst,
			 enum told src, bool async)
{
	struct op op = { .run = run_copy };
	CUresult error;
	size_t size, staged = 0;
	bool pinned;

	if (!copy.width || !copy.height || !copy.depth)
		return 0;
	error = classify(&copy.dst, &copy, dst);
	if (!error)
		error = classify(&copy.src, &copy, src);
	if (error)
		return error;
	size = copy.width * copy.height * copy.depth;
	if (copy.dst.device != copy.src.device) {
		const struct end *host = copy.dst.device ? &copy.src : &copy.dst;

		pinned = memory_is_pinned((void *)(uintptr_t)host->p, extent(host, &copy));
		driver_count(pinned ? &counts.pinned : &counts.pageable);
		if (copy.dst.device && !pinned && async && !plan.late && !stream_is_capturing(ctx, stream, per_thread))
			staged = size;
	}
	copy.staged = staged != 0;
	op.data_size = sizeof(copy) + staged;
	op.data = malloc(op.data_size);
	if (!op.data)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(op.data, &copy, sizeof(copy));
	if (staged) {
		error = stage(&copy, (char *)op.data + sizeof(copy));
		if (error) {
			free(op.data);
			return error;
		}
	}
	return stream_submit(ctx, stream, per_thread, op, !async && !(copy.dst.device && copy.src.device));
}

static CUresult copy_line(struct context *ctx, CUstream stream, bool per_thread, uint64_t dst, enum told dst_told,
			  uint64_t src, enum told src_told, size_t size, bool async)
{
	struct copy copy = { .dst.p = dst, .src.p = src, .width = size, .height = 1, .depth = 1 };

	return copy_box(ctx, stream, per_thread, copy, dst_told, src_told, async);
}

#define P(p) ((uint64_t)(uintptr_t)(p))
#define LINE_NOW(name, params, dst, dst_told, src, src_told) \
	CU_TWO(name, _ptds, params, copy_line(ctx, NULL, per_thread, dst, dst_told, src, src_told, size, false))
#define LINE_LATER(name, params, dst, dst_told, src, src_told) \
	CU_TWO(name, _ptsz, params, copy_line(ctx, stream, per_thread, dst, dst_told, src, src_told, size, true))

CU_OBSOLETE(cuMemcpyHtoD)
CU_OBSOLETE(cuMemcpyDtoH)
CU_OBSOLETE(cuMemcpyDtoD)
CU_OBSOLETE(cuMemcpyHtoDAsync)
CU_OBSOLETE(cuMemcpyDtoHAsync)
CU_OBSOLETE(cuMemcpyDtoDAsync)
LINE_NOW(cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t size), dst, WHATEVER, src, WHATEVER)
LINE_NOW(cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t size), dst, DEVICE, P(src), HOST)
LINE_NOW(cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t size), P(dst), HOST, src, DEVICE)
LINE_NOW(cuMemcpyDtoD_v2, (CUdeviceptr dst, CUdeviceptr src, size_t size), dst, DEVICE, src, DEVICE)
LINE_NOW(cuMemcpyPeer, (CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t size), dst, DEVICE,
	 src, DEVICE)
LINE_LATER(cuMemcpyAsync, (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream), dst, WHATEVER, src,
	   WHATEVER)
LINE_LATER(cuMemcpyHtoDAsync_v2, (CUdeviceptr dst, const void *src, size_t size, CUstream stream), dst, DEVICE,
	   P(src), HOST)
LINE_LATER(cuMemcpyDtoHAsync_v2, (void *dst, CUdeviceptr src, size_t size, CUstream stream), P(dst), HOST, src, DEVICE)
LINE_LATER(cuMemcpyDtoDAsync_v2, (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream), dst, DEVICE, src,
	   DEVICE)
LINE_LATER(cuMemcpyPeerAsync, (CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t size,
			       CUstream stream), dst, DEVICE, src, DEVICE)

/* ---- many at the same time */

static CUresult batch(struct context *ctx, const CUdeviceptr *dsts, const CUdeviceptr *srcs, const size_t *sizes,
		      size_t n, size_t *ret_failed, CUstream stream, bool per_thread)
{
	if (!n || !dsts || !srcs || !sizes || !stream)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		CUresult error = copy_line(ctx, stream, per_thread, dsts[i], WHATEVER, srcs[i], WHATEVER, sizes[i],
					   true);

		if (error && ret_failed)
			*ret_failed = i;
		if (error)
			return error;
	}
	return 0;
}

CU_TWO(cuMemcpyBatchAsync, _ptsz, (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t n,
				   CUmemcpyAttributes *attrs, size_t *indexes, size_t n_attrs, size_t *failed,
				   CUstream stream), batch(ctx, dsts, srcs, sizes, n, failed, stream, per_thread))
CU_TWO(cuMemcpyBatchAsync_v2, _ptsz, (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t n,
				      CUmemcpyAttributes *attrs, size_t *indexes, size_t n_attrs, CUstream stream),
       batch(ctx, dsts, srcs, sizes, n, NULL, stream, per_thread))
CU_TWO(cuMemcpy3DBatchAsync, _ptsz, (size_t n, void *ops, size_t *failed, unsigned long long flags, CUstream stream),
       CUDA_ERROR_NOT_SUPPORTED)
CU_TWO(cuMemcpy3DBatchAsync_v2, _ptsz, (size_t n, void *ops, unsigned long long flags, CUstream stream),
       CUDA_ERROR_NOT_SUPPORTED)

/* Nothing is compressed here: the bytes are copied. */
static CUresult decompress(struct context *ctx, const CUmemDecompressParams *list, size_t n, size_t *ret_failed,
			   CUstream stream, bool per_thread)
{
	for (size_t i = 0; i < n; i++) {
		CUresult error = copy_line(ctx, stream, per_thread, P(list[i].dst), WHATEVER, P(list[i].src), WHATEVER,
					   list[i].srcNumBytes, true);

		if (error && ret_failed)
			*ret_failed = i;
		if (error)
			return error;
	}
	return 0;
}

CU_TWO(cuMemBatchDecompressAsync, _ptsz, (CUmemDecompressParams *list, size_t n, unsigned flags, size_t *failed,
					  CUstream stream), decompress(ctx, list, n, failed, stream, per_thread))

/* ---- in two and three dimensions */

/* What a descriptor says of an end: its base and what is meant by it. */
static CUresult end_of(int type, const void *host, CUdeviceptr device, uint64_t *ret_p, enum told *ret_told)
{
	*ret_p = type == CU_MEMORYTYPE_HOST ? P(host) : device;
	*ret_told = type == CU_MEMORYTYPE_HOST ? HOST : type == CU_MEMORYTYPE_DEVICE ? DEVICE : WHATEVER;
	return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED ? 0 :
	       CUDA_ERROR_INVALID_VALUE;
}

static CUresult copy_2d(struct context *ctx, const CUDA_MEMCPY2D *d, CUstream stream, bool per_thread, bool async)
{
	struct copy copy = { .width = d->WidthInBytes, .height = d->Height, .depth = 1 };
	enum told dst, src;

	if (end_of(d->dstMemoryType, d->dstHost, d->dstDevice, &copy.dst.p, &dst) ||
	    end_of(d->srcMemoryType, d->srcHost, d->srcDevice, &copy.src.p, &src))
		return CUDA_ERROR_INVALID_VALUE;
	copy.dst.pitch = d->dstPitch ? d->dstPitch : d->WidthInBytes;
	copy.src.pitch = d->srcPitch ? d->srcPitch : d->WidthInBytes;
	if (copy.dst.pitch < d->WidthInBytes + d->dstXInBytes || copy.src.pitch < d->WidthInBytes + d->srcXInBytes)
		return CUDA_ERROR_INVALID_VALUE;
	copy.dst.p += d->dstY * copy.dst.pitch + d->dstXInBytes;
	copy.src.p += d->srcY * copy.src.pitch + d->srcXInBytes;
	return copy_box(ctx, stream, per_thread, copy, dst, src, async);
}

static CUresult copy_3d(struct context *ctx, const CUDA_MEMCPY3D *d, CUstream stream, bool per_thread, bool async)
{
	struct copy copy = { .width = d->WidthInBytes, .height = d->Height, .depth = d->Depth };
	enum told dst, src;

	if (end_of(d->dstMemoryType, d->dstHost, d->dstDevice, &copy.dst.p, &dst) ||
	    end_of(d->srcMemoryType, d->srcHost, d->srcDevice, &copy.src.p, &src))
		return CUDA_ERROR_INVALID_VALUE;
	copy.dst.pitch = d->dstPitch ? d->dstPitch : d->WidthInBytes;
	copy.src.pitch = d->srcPitch ? d->srcPitch : d->WidthInBytes;
	copy.dst.slice = copy.dst.pitch * (d->dstHeight ? d->dstHeight : d->Height);
	copy.src.slice = copy.src.pitch * (d->srcHeight ? d->srcHeight : d->Height);
	if (copy.dst.pitch < d->WidthInBytes + d->dstXInBytes || copy.src.pitch < d->WidthInBytes + d->srcXInBytes)
		return CUDA_ERROR_INVALID_VALUE;
	copy.dst.p += d->dstZ * copy.dst.slice + d->dstY * copy.dst.pitch + d->dstXInBytes;
	copy.src.p += d->srcZ * copy.src.slice + d->srcY * copy.src.pitch + d->srcXInBytes;
	return copy_box(ctx, stream, per_thread, copy, dst, src, async);
}

CU_OBSOLETE(cuMemcpy2D)
CU_OBSOLETE(cuMemcpy2DUnaligned)
CU_OBSOLETE(cuMemcpy2DAsync)
CU_OBSOLETE(cuMemcpy3D)
CU_OBSOLETE(cuMemcpy3DAsync)
CU_TWO(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D *copy), copy_2d(ctx, copy, NULL, per_thread, false))
CU_TWO(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D *copy), copy_2d(ctx, copy, NULL, per_thread, false))
CU_TWO(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D *copy, CUstream stream),
       copy_2d(ctx, copy, stream, per_thread, true))
CU_TWO(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D *copy), copy_3d(ctx, copy, NULL, per_thread, false))
CU_TWO(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D *copy, CUstream stream),
       copy_3d(ctx, copy, stream, per_thread, true))
CU_TWO(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER *copy), copy_3d(ctx, copy, NULL, per_thread, false))
CU_TWO(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER *copy, CUstream stream),
       copy_3d(ctx, copy, stream, per_thread, true))

/* ---- arrays, which this device has not got */

#define NO_ARRAYS(name, suffix) \
	CU_OBSOLETE(name) \
	CU_TWO(name##_v2, suffix, (void), CUDA_ERROR_NOT_SUPPORTED)
NO_ARRAYS(cuMemcpyAtoA, _ptds)
NO_ARRAYS(cuMemcpyAtoD, _ptds)
NO_ARRAYS(cuMemcpyAtoH, _ptds)
NO_ARRAYS(cuMemcpyAtoHAsync, _ptsz)
NO_ARRAYS(cuMemcpyDtoA, _ptds)
NO_ARRAYS(cuMemcpyHtoA, _ptds)
NO_ARRAYS(cuMemcpyHtoAAsync, _ptsz)

/* ---- fills; one of no bytes does nothing, and is not waited for */

static CUresult run_fill(struct op *op)
{
	struct fill fill;
	CUresult error = 0;
	size_t size;
	char *row;

	memcpy(&fill, op->data, sizeof(fill));
	size = fill.width * fill.size;
	row = malloc(size < BOUNCE ? size : BOUNCE);
	if (!row)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < size && i < BOUNCE; i += fill.size)
		memcpy(row + i, &fill.value, fill.size);
	for (size_t y = 0; y < fill.height; y++) {
		for (size_t x = 0; x < size && !error; x += BOUNCE)
			error = move_end(true, fill.p + y * fill.pitch + x, row, size - x < BOUNCE ? size - x : BOUNCE,
					 true);
	}
	free(row);
	return error;
}

static CUresult fill(struct context *ctx, CUstream stream, bool per_thread, struct fill fill)
{
	struct op op = { .run = run_fill, .data_size = sizeof(fill) };

	if (!fill.width || !fill.height)
		return 0;
	if (fill.p % fill.size || !memory_is_device(fill.p, (fill.height - 1) * fill.pitch + fill.width * fill.size))
		return CUDA_ERROR_INVALID_VALUE;
	op.data = malloc(sizeof(fill));
	if (!op.data)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(op.data, &fill, sizeof(fill));
	return stream_submit(ctx, stream, per_thread, op, false);
}

#define FILL(bits, type) \
	CU_OBSOLETE(cuMemsetD##bits) \
	CU_OBSOLETE(cuMemsetD2D##bits) \
	CU_TWO(cuMemsetD##bits##_v2, _ptds, (CUdeviceptr p, type value, size_t n), \
	       fill(ctx, NULL, per_thread, (struct fill){ p, 0, n, 1, sizeof(type), value })) \
	CU_TWO(cuMemsetD##bits##Async, _ptsz, (CUdeviceptr p, type value, size_t n, CUstream stream), \
	       fill(ctx, stream, per_thread, (struct fill){ p, 0, n, 1, sizeof(type), value })) \
	CU_TWO(cuMemsetD2D##bits##_v2, _ptds, (CUdeviceptr p, size_t pitch, type value, size_t n, size_t height), \
	       fill(ctx, NULL, per_thread, (struct fill){ p, pitch, n, height, sizeof(type), value })) \
	CU_TWO(cuMemsetD2D##bits##Async, _ptsz, (CUdeviceptr p, size_t pitch, type value, size_t n, size_t height, \
						 CUstream stream), \
	       fill(ctx, stream, per_thread, (struct fill){ p, pitch, n, height, sizeof(type), value }))
FILL(8, unsigned char)
FILL(16, unsigned short)
FILL(32, unsigned)

/* ---- words that streams write or wait for */

/* As the driver's type: of all operations the double has writes, and waits until a word is a value. */
struct memop { int operation; CUdeviceptr p; uint64_t value; unsigned flags; uint64_t rest[2]; };

#define MEMOP_WAIT_32 1
#define MEMOP_WRITE_32 2
#define MEMOP_WAIT_64 4
#define MEMOP_WRITE_64 5
#define MEMOP_WAIT_EQUAL 1
#define MEMOP_WAIT_NS 10000000000u

static bool memop_waits(const struct memop *memop)
{
	return memop->operation == MEMOP_WAIT_32 || memop->operation == MEMOP_WAIT_64;
}

static bool memop_writes(const struct memop *memop)
{
	return memop->operation == MEMOP_WRITE_32 || memop->operation == MEMOP_WRITE_64;
}

static size_t memop_size(const struct memop *memop)
{
	return memop->operation == MEMOP_WAIT_32 || memop->operation == MEMOP_WRITE_32 ? 4 : 8;
}

static CUresult run_memop(struct op *op)
{
	const uint64_t until = driver_now_ns() + MEMOP_WAIT_NS;
	struct memop memop;
	CUresult error;
	bool device;

	memcpy(&memop, op->data, sizeof(memop));
	device = is_device(memop.p);
	if (memop_writes(&memop))
		return move_end(device, memop.p, (char *)&memop.value, memop_size(&memop), true);
	do {
		uint64_t now = 0;

		error = move_end(device, memop.p, (char *)&now, memop_size(&memop), false);
		if (error || now == memop.value)
			return error;
		usleep(1000);
	} while (driver_now_ns() < until);
	driver_say("a stream waits for a value that does not come");
	return CUDA_ERROR_LAUNCH_TIMEOUT;
}

static CUresult submit_memops(struct context *ctx, CUstream stream, bool per_thread, const struct memop *memops,
			      unsigned n)
{
	CUresult error = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct memop *memop = &memops[i];

		if (!(memop_waits(memop) && memop->flags == MEMOP_WAIT_EQUAL) &&
		    !(memop_writes(memop) && !memop->flags))
			return CUDA_ERROR_NOT_SUPPORTED;
		if (!memory_is_device(memop->p, memop_size(memop)) &&
		    !memory_is_pinned((void *)(uintptr_t)memop->p, memop_size(memop)))
			return CUDA_ERROR_INVALID_VALUE;
	}
	for (unsigned i = 0; i < n && !error; i++) {
		struct op op = { .run = run_memop, .data_size = sizeof(*memops), .data = malloc(sizeof(*memops)) };

		if (!op.data)
			return CUDA_ERROR_OUT_OF_MEMORY;
		memcpy(op.data, &memops[i], sizeof(*memops));
		error = stream_submit(ctx, stream, per_thread, op, false);
	}
	return error;
}

#define MEMOP(name, value_type, operation) \
	CU_TWO(name, _ptsz, (CUstream stream, CUdeviceptr p, value_type value, unsigned flags), \
	       submit_memops(ctx, stream, per_thread, &(struct memop){ operation, p, value, flags, { 0 } }, 1)) \
	CU_TWO(name##_v2, _ptsz, (CUstream stream, CUdeviceptr p, value_type value, unsigned flags), \
	       submit_memops(ctx, stream, per_thread, &(struct memop){ operation, p, value, flags, { 0 } }, 1))
MEMOP(cuStreamWaitValue32, uint32_t, MEMOP_WAIT_32)
MEMOP(cuStreamWaitValue64, uint64_t, MEMOP_WAIT_64)
MEMOP(cuStreamWriteValue32, uint32_t, MEMOP_WRITE_32)
MEMOP(cuStreamWriteValue64, uint64_t, MEMOP_WRITE_64)
CU_TWO(cuStreamBatchMemOp, _ptsz, (CUstream stream, unsigned n, void *ops, unsigned flags),
       submit_memops(ctx, stream, per_thread, ops, n))
CU_TWO(cuStreamBatchMemOp_v2, _ptsz, (CUstream stream, unsigned n, void *ops, unsigned flags),
       submit_memops(ctx, stream, per_thread, ops, n))
