/* SPDX-License-Identifier: MIT */
/*
 * stream.c - captures, and the end of streams. The library may record the event for the end of a kernel some time
 * after the launch (command.c). A stream that is capturing or has ended permits no event. So events are recorded here,
 * before that.
 */
#include "stream.h"

#include "driver/driver.h"
#include "hook.h"

#define CAPTURE_ERRORS_FIRST 900
#define CAPTURE_ERRORS_LAST 909

ADSM_CU_CALLED(cuStreamIsCapturing, (CUstream stream, int *status));

/* ---- captures */

static _Atomic unsigned n_captures;	/* captures in progress. A number that is too large only costs time */

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
	/* The program's command meets this error, too. So it goes to the driver directly, which reports the error. */
	if (result == CUDA_ERROR_INVALID_HANDLE || (result >= CAPTURE_ERRORS_FIRST && result <= CAPTURE_ERRORS_LAST))
		return true;
	/* Other errors say nothing about captures: the driver may not support them, or the context has failed. */
	return result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* Other streams may join the capture, and the default stream may not be used while certain streams are capturing. So
 * this concerns all streams. */
static void before_capture(void)
{
	/* In this order: after the first line, events of new launches are recorded immediately. */
	atomic_fetch_add(&n_captures, 1);
	adsm_driver_launched(NULL);
}

static CUresult after_capture(CUresult result)
{
	if (result != CUDA_SUCCESS)
		atomic_fetch_sub(&n_captures, 1);
	return result;
}

#define BEGIN(name, params, args)				\
	ADSM_CU_WRAPPER(name, params)				\
	{							\
		before_capture();				\
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

/* A capture that is invalid ends with one of two errors. After other errors it continues. */
static CUresult end_capture(CUresult (*driver)(CUstream stream, CUgraph *graph), CUstream stream, CUgraph *graph)
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
	ADSM_CU_WRAPPER(name, (CUstream stream, CUgraph *graph))	\
	{								\
		return end_capture(real_cu(name), stream, graph);	\
	}
END(cuStreamEndCapture)
END(cuStreamEndCapture_ptsz)

/* ---- the end of streams, whose commands still run to their end */

#define DESTROY(name)					\
	ADSM_CU_WRAPPER(name, (CUstream stream))	\
	{						\
		adsm_driver_launched_on(stream);	\
		return real_cu(name)(stream);		\
	}
DESTROY(cuStreamDestroy)
DESTROY(cuStreamDestroy_v2)
