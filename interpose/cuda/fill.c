/* SPDX-License-Identifier: MIT */
/* fill.c - the program's fills, and its writes of and waits for single words in the order of a stream. */
#include "command.h"

#include <stdlib.h>
#include <string.h>

#include "home.h"
#include "stream.h"
#include "sync.h"

ADSM_CU_CALLED(cuStreamSynchronize, (CUstream stream));

/* ---- fills */

struct fill {
	CUdeviceptr dst;		/* the program's address */
	struct adsm_driver_place place;
	unsigned unit, value;		/* bytes of an element: 1, 2 or 4 */
	size_t pitch, n, height;	/* n: elements in a row; height 1: a fill in one dimension */
	CUstream stream;
	bool wait;			/* for the stream, as part of the command */
};

static inline bool fill_begin(struct fill *fill, CUdeviceptr dst)
{
	if (!adsm_driver_active() || !fill->n || !fill->height)
		return false;
	fill->dst = dst;
	return adsm_driver_find((void *)(uintptr_t)dst, &fill->place);
}

static int enqueue_fill(void *arg);

static CUresult fill_ordered(struct fill *fill)
{
	struct adsm_driver_use use = { (void *)(uintptr_t)fill->dst, ADSM_ACCESS_INOUT };

	if (adsm_cuda_capturing(fill->stream))
		return enqueue_fill(fill);
	if (fill->height == 1)
		use.access = adsm_driver_written(&fill->place, fill->n * fill->unit);
	/* In a stream of another context, the home cannot detect the end of the fill. So the command itself waits. */
	fill->wait = fill->place.home != adsm_cuda_current_home();
	return adsm_cuda_command(fill->place.home, &use, 1, fill->wait ? NULL : fill->stream, enqueue_fill, fill);
}

/* The library itself fills with bytes. Other fills are commands to the driver, which does not wait for them. */
static CUresult fill_now(struct fill *fill)
{
	CUresult result;
	int error;

	if (fill->height > 1 || fill->unit > 1 || !adsm_driver_has(&fill->place, fill->n))
		return fill_ordered(fill);
	result = adsm_cuda_wait(fill->stream);
	if (result != CUDA_SUCCESS)
		return result;
	error = adsm_driver_fill((void *)(uintptr_t)fill->dst, &fill->place, (int)fill->value, fill->n);
	return error ? adsm_cuda_failure(error, fill->stream) : CUDA_SUCCESS;
}

#define FILL(name, per_thread, params, args, given, run, ...)							\
	ADSM_CU_WRAPPER(name, params)										\
	{													\
		struct fill fill = { .stream = adsm_cuda_stream(given, per_thread), .unit = sizeof(value),	\
				     .value = value, .n = n, __VA_ARGS__ };					\
														\
		return fill_begin(&fill, dst) ? run(&fill) : adsm_cuda_passed(real_cu(name) args);		\
	}
#define FILL_NOW(name, params, args, ...)				\
	FILL(name, false, params, args, NULL, fill_now, __VA_ARGS__)	\
	FILL(name##_ptds, true, params, args, NULL, fill_now, __VA_ARGS__)
#define FILL_ORDERED(name, params, args, ...)					\
	FILL(name, false, params, args, stream, fill_ordered, __VA_ARGS__)	\
	FILL(name##_ptsz, true, params, args, stream, fill_ordered, __VA_ARGS__)
#define FILLS(now, ordered, type)								\
	FILL_NOW(now, (CUdeviceptr dst, type value, size_t n), (dst, value, n), .height = 1)	\
	FILL_ORDERED(ordered, (CUdeviceptr dst, type value, size_t n, CUstream stream),		\
		     (dst, value, n, stream), .height = 1)
#define FILLS_2D(now, ordered, type)										\
	FILL_NOW(now, (CUdeviceptr dst, size_t pitch, type value, size_t n, size_t height),			\
		 (dst, pitch, value, n, height), .pitch = pitch, .height = height)				\
	FILL_ORDERED(ordered,											\
		     (CUdeviceptr dst, size_t pitch, type value, size_t n, size_t height, CUstream stream),	\
		     (dst, pitch, value, n, height, stream), .pitch = pitch, .height = height)

FILLS(cuMemsetD8_v2, cuMemsetD8Async, unsigned char)
FILLS(cuMemsetD16_v2, cuMemsetD16Async, unsigned short)
FILLS(cuMemsetD32_v2, cuMemsetD32Async, unsigned)
FILLS_2D(cuMemsetD2D8_v2, cuMemsetD2D8Async, unsigned char)
FILLS_2D(cuMemsetD2D16_v2, cuMemsetD2D16Async, unsigned short)
FILLS_2D(cuMemsetD2D32_v2, cuMemsetD2D32Async, unsigned)

static CUresult give_fill(const struct fill *f)
{
	CUdeviceptr dst = adsm_driver_address(&f->place);
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

static int enqueue_fill(void *arg)
{
	const struct fill *f = arg;
	CUresult result = give_fill(f);

	if (result == CUDA_SUCCESS && f->wait)
		result = real_cu(cuStreamSynchronize)(f->stream);
	return result;
}

/* ---- single words that a stream writes or waits for. The program may end a wait after it has accessed shared memory.
 * So the library notes the end of earlier launches before the driver gets a wait. */

struct word {
	CUresult (*word)(CUstream stream, CUdeviceptr dst, uint32_t value, unsigned flags);
	CUresult (*two)(CUstream stream, CUdeviceptr dst, uint64_t value, unsigned flags);	/* instead */
	CUstream given;			/* the program's argument, for the driver */
	unsigned access;
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

/*
 * Send what the CPU has written to a word that the stream will wait for. The library does not note the wait itself as a
 * call. Otherwise the copy that ends the wait would wait for that call, and the stream for the copy.
 */
static CUresult send_word(struct adsm_home *home, const struct adsm_driver_use *use, CUstream stream)
{
	int error = adsm_driver_send(home, use, stream);

	return error ? adsm_cuda_failure(error, stream) : CUDA_SUCCESS;
}

static CUresult use_word(struct word *word, bool per_thread)
{
	struct adsm_driver_use use = { (void *)(uintptr_t)word->dst, word->access };
	CUstream stream = adsm_cuda_stream(word->given, per_thread);
	const bool waits = word->access == ADSM_ACCESS_IN;
	struct adsm_home *home = adsm_cuda_concerned_by(stream);
	struct adsm_driver_place place;
	CUresult result = CUDA_SUCCESS;

	if (!home || adsm_cuda_capturing(stream))
		return adsm_cuda_passed(enqueue_word(word));
	if (waits)
		adsm_driver_launched(home);
	if (adsm_driver_find(use.p, &place) && place.home == home) {
		word->dst = adsm_driver_address(&place);
		if (!waits)
			return adsm_cuda_command(home, &use, 1, stream, enqueue_word, word);
		result = send_word(home, &use, stream);
	}
	return result != CUDA_SUCCESS ? result : adsm_cuda_passed(enqueue_word(word));
}

#define WORD(name, per_thread, access_, type, which)								\
	ADSM_CU_WRAPPER(name, (CUstream stream, CUdeviceptr dst, type value, unsigned flags))			\
	{													\
		struct word word = { .which = real_cu(name), .given = stream, .access = access_, .dst = dst,	\
				     .value = value, .flags = flags };						\
														\
		return use_word(&word, per_thread);								\
	}
#define WORDS(name, access, type, which)		\
	WORD(name, false, access, type, which)		\
	WORD(name##_ptsz, true, access, type, which)

WORDS(cuStreamWriteValue32, ADSM_ACCESS_INOUT, uint32_t, word)
WORDS(cuStreamWriteValue32_v2, ADSM_ACCESS_INOUT, uint32_t, word)
WORDS(cuStreamWriteValue64, ADSM_ACCESS_INOUT, uint64_t, two)
WORDS(cuStreamWriteValue64_v2, ADSM_ACCESS_INOUT, uint64_t, two)
WORDS(cuStreamWaitValue32, ADSM_ACCESS_IN, uint32_t, word)
WORDS(cuStreamWaitValue32_v2, ADSM_ACCESS_IN, uint32_t, word)
WORDS(cuStreamWaitValue64, ADSM_ACCESS_IN, uint64_t, two)
WORDS(cuStreamWaitValue64_v2, ADSM_ACCESS_IN, uint64_t, two)

/* ---- batches of writes and waits in a stream */

#define WAIT_VALUE_32 1
#define WRITE_VALUE_32 2
#define WAIT_VALUE_64 4
#define WRITE_VALUE_64 5

/* All operations with an address begin in this way. */
typedef union { struct { int operation; CUdeviceptr address; } any; uint64_t pad[6]; } CUstreamBatchMemOpParams;

struct operations {
	CUresult (*driver)(CUstream stream, unsigned n, CUstreamBatchMemOpParams *list, unsigned flags);
	CUstream given;			/* the program's argument, for the driver */
	unsigned n, flags;
	CUstreamBatchMemOpParams *list;
};

static int enqueue_operations(void *arg)
{
	const struct operations *o = arg;

	return o->driver(o->given, o->n, o->list, o->flags);
}

/* How an operation accesses its word; 0: it has no word. */
static unsigned access_of(const CUstreamBatchMemOpParams *operation)
{
	switch (operation->any.operation) {
	case WAIT_VALUE_32:
	case WAIT_VALUE_64:
		return ADSM_ACCESS_IN;
	case WRITE_VALUE_32:
	case WRITE_VALUE_64:
		return ADSM_ACCESS_INOUT;
	default:
		return 0;
	}
}

/*
 * Put the device's addresses in the list, and send the words that the stream will wait for. @uses gets the objects that
 * the operations write; *ret_n may be more than its size. *ret_written: the operations up to the last of these writes.
 */
static CUresult prepare(struct adsm_home *home, const struct operations *operations, CUstream stream,
			struct adsm_driver_use *uses, size_t *ret_n, unsigned *ret_written)
{
	CUresult result = CUDA_SUCCESS;
	struct adsm_driver_place place;

	*ret_n = 0;
	*ret_written = 0;
	for (unsigned i = 0; i < operations->n && result == CUDA_SUCCESS; i++) {
		CUstreamBatchMemOpParams *operation = &operations->list[i];
		struct adsm_driver_use use = { (void *)(uintptr_t)operation->any.address, access_of(operation) };

		if (use.access == ADSM_ACCESS_IN)
			adsm_driver_launched(home);
		if (!use.access || !adsm_driver_find(use.p, &place) || place.home != home)
			continue;
		operation->any.address = adsm_driver_address(&place);
		if (use.access == ADSM_ACCESS_IN) {
			result = send_word(home, &use, stream);
			continue;
		}
		if (*ret_n < ADSM_DRIVER_USES)
			uses[*ret_n] = use;
		++*ret_n;
		*ret_written = i + 1;
	}
	return result;
}

/* Only the operations up to the last write are a command of the library. A copy that ends one of the waits behind them
 * may write an object that the list has written. So the end of the command must not lie behind these waits. */
static CUresult give_operations(struct adsm_home *home, struct operations *operations, CUstream stream)
{
	struct adsm_driver_use uses[ADSM_DRIVER_USES];
	struct operations first = *operations;
	CUresult result;
	size_t n;

	result = prepare(home, operations, stream, uses, &n, &first.n);
	if (result == CUDA_SUCCESS && first.n)
		result = adsm_cuda_command(home, uses, n <= ADSM_DRIVER_USES ? n : 0, stream, enqueue_operations,
					   &first);
	operations->list += first.n;
	operations->n -= first.n;
	if (result != CUDA_SUCCESS || !operations->n)
		return result;
	/* A command without names may get its event late, which would then lie behind these waits. */
	if (n > ADSM_DRIVER_USES)
		adsm_driver_launched(home);
	return adsm_cuda_passed(enqueue_operations(operations));
}

static CUresult run_operations(struct operations *operations, bool per_thread)
{
	CUstream stream = adsm_cuda_stream(operations->given, per_thread);
	struct adsm_home *home = operations->list ? adsm_cuda_concerned_by(stream) : NULL;
	CUstreamBatchMemOpParams *own;
	CUresult result;

	if (!home || !operations->n || adsm_cuda_capturing(stream))
		return adsm_cuda_passed(enqueue_operations(operations));
	own = malloc(operations->n * sizeof(*own));
	if (!own)
		return CUDA_ERROR_OUT_OF_MEMORY;
	operations->list = memcpy(own, operations->list, operations->n * sizeof(*own));
	result = give_operations(home, operations, stream);
	free(own);
	return result;
}

#define OPERATIONS(name, per_thread)										\
	ADSM_CU_WRAPPER(name, (CUstream stream, unsigned n, CUstreamBatchMemOpParams *list, unsigned flags))	\
	{													\
		return run_operations(&(struct operations){ real_cu(name), stream, n, flags, list }, per_thread); \
	}
OPERATIONS(cuStreamBatchMemOp, false)
OPERATIONS(cuStreamBatchMemOp_ptsz, true)
OPERATIONS(cuStreamBatchMemOp_v2, false)
OPERATIONS(cuStreamBatchMemOp_v2_ptsz, true)
