/* SPDX-License-Identifier: MIT */
/*
 * stream.c - streams capture, and end. The library asks a stream for the end of its kernels some time after their
 * launch; here it asks at once, before it no longer may.
 */
#include "stream.h"

#include "driver/driver.h"
#include "entries.h"
#include "hook.h"

#define CAPTURE_ERRORS_FIRST 900
#define CAPTURE_ERRORS_LAST 909

CUresult cuStreamIsCapturing(CUstream stream, int *status);
ADSM_CU_CALLED(cuStreamIsCapturing);

/* ---- captures */

static _Atomic unsigned n_captures;	/* that have begun, and not ended; too many only cost time */

bool adsm_cuda_captures(void)
{
	return atomic_load(&n_captures);
}

bool adsm_cuda_capturing(CUstream stream)
{
	int status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult result;

	if (!adsm_cuda_captures())
		return false;
	result = real_cu(cuStreamIsCapturing)(stream, &status);
	/* The program's own command meets that too, and it is the driver that says so. */
	if (result == CUDA_ERROR_INVALID_HANDLE || (result >= CAPTURE_ERRORS_FIRST && result <= CAPTURE_ERRORS_LAST))
		return true;
	/* Any other says nothing about it: a driver that cannot capture, a context that has failed. */
	return result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* Any other stream may join the capture, and the default stream may not be used while one of its own does. */
static void before_capture(void)
{
	/* In this order: from here on the end of what is launched is asked for at once. */
	atomic_fetch_add(&n_captures, 1);
	adsm_driver_launched(NULL);
}

static CUresult after_capture(CUresult result)
{
	if (result != CUDA_SUCCESS)
		atomic_fetch_sub(&n_captures, 1);
	return result;
}

#define BEGIN(name, params, args)		\
	ADSM_CU(name);				\
	ADSM_WRAPPER CUresult name params	\
	{					\
		before_capture();		\
		return after_capture(real_cu(name) args);	\
	}
BEGIN(cuStreamBeginCapture, (CUstream stream), (stream))
BEGIN(cuStreamBeginCapture_ptsz, (CUstream stream), (stream))
BEGIN(cuStreamBeginCapture_v2, (CUstream stream, int mode), (stream, mode))
BEGIN(cuStreamBeginCapture_v2_ptsz, (CUstream stream, int mode), (stream, mode))
BEGIN(cuStreamBeginCaptureToGraph, (CUstream stream, CUgraph graph, const void *dependencies, const void *data,
				    size_t n, int mode), (stream, graph, dependencies, data, n, mode))
BEGIN(cuStreamBeginCaptureToGraph_ptsz, (CUstream stream, CUgraph graph, const void *dependencies, const void *data,
					 size_t n, int mode), (stream, graph, dependencies, data, n, mode))

/* A broken capture ends with an error; after other errors the capture goes on. */
static CUresult end_capture(__typeof__(&cuStreamEndCapture) driver, CUstream stream, CUgraph *graph)
{
	CUgraph made = graph ? *graph : NULL;	/* the driver may not write to shared memory: query.c */
	CUresult result = driver(stream, graph ? &made : NULL);
	bool ended = result == CUDA_SUCCESS || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
		result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	unsigned n = atomic_load(&n_captures);

	if (graph)
		*graph = made;
	while (ended && n && !atomic_compare_exchange_weak(&n_captures, &n, n - 1))
		;
	return result;
}

#define END(name)							\
	ADSM_CU(name);							\
	ADSM_WRAPPER CUresult name(CUstream stream, CUgraph *graph)	\
	{								\
		return end_capture(real_cu(name), stream, graph);	\
	}
END(cuStreamEndCapture)
END(cuStreamEndCapture_ptsz)

/* ---- the end of streams; their commands go on */

#define DESTROY(name)					\
	ADSM_CU(name);					\
	ADSM_WRAPPER CUresult name(CUstream stream)	\
	{						\
		adsm_driver_launched_on(stream);	\
		return real_cu(name)(stream);		\
	}
DESTROY(cuStreamDestroy)
DESTROY(cuStreamDestroy_v2)
