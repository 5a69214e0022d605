/* SPDX-License-Identifier: MIT */
/* command.c - gives a command of the program to the driver, as a call of the library. */
#include "command.h"

#include "cuda/options.h"
#include "function.h"
#include "home.h"
#include "stream.h"
#include "sync.h"

/* May the event that marks the end of the commands be recorded later, and by another thread? */
static bool may_wait(CUstream stream)
{
	return stream != CU_STREAM_PER_THREAD && !adsm_cuda_captures() &&
		adsm_cuda_options.events == ADSM_CUDA_EVENTS_LATE;
}

CUresult adsm_cuda_command(struct adsm_home *home, const struct adsm_driver_use *uses, size_t n, CUstream stream,
			   int (*enqueue)(void *arg), void *arg)
{
	int result = CUDA_SUCCESS, error;

	adsm_cuda_let_functions_run(home, stream);
	error = !n && may_wait(stream) ? adsm_driver_launch(home, stream, enqueue, arg, &result) :
		adsm_driver_call(home, uses, n, stream, enqueue, arg, &result);
	return error ? adsm_cuda_failure(error, stream) : result;
}

CUresult adsm_cuda_unnamed(CUstream stream, int (*enqueue)(void *arg), void *arg)
{
	struct adsm_home *home = adsm_cuda_concerned_by(stream);

	if (!home || adsm_cuda_capturing(stream))
		return adsm_cuda_passed(enqueue(arg));
	return adsm_cuda_command(home, NULL, 0, stream, enqueue, arg);
}

void adsm_cuda_other(struct adsm_cuda_others *others, struct adsm_home *own, struct adsm_home *home, CUstream stream)
{
	if (!home || home == own || adsm_cuda_has_ended(home))
		return;
	for (size_t i = 0; i < others->n; i++)
		if (others->list[i].home == home)
			return;
	others->list[others->n].home = home;
	others->list[others->n++].stream = stream;
}

/* Release all objects of a home to a command of another home. */
static CUresult release_home(struct adsm_home *home, CUstream stream)
{
	int result, error;

	adsm_cuda_let_functions_run(home, stream);
	error = adsm_driver_call(home, NULL, 0, stream, NULL, NULL, &result);
	return error ? adsm_cuda_failure(error, stream) : CUDA_SUCCESS;
}

/* The locks of two homes cannot be held together. So the objects of the others are released before the command, and
 * again after it: a touch may have fetched blocks meanwhile. */
CUresult adsm_cuda_unnamed_with(const struct adsm_cuda_others *others, CUstream stream, int (*enqueue)(void *arg),
				void *arg)
{
	size_t n = adsm_cuda_capturing(stream) ? 0 : others->n;
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 0; i < n && result == CUDA_SUCCESS; i++)
		result = release_home(others->list[i].home, others->list[i].stream);
	if (result == CUDA_SUCCESS)
		result = adsm_cuda_unnamed(stream, enqueue, arg);
	for (size_t i = 0; i < n && result == CUDA_SUCCESS; i++) {
		if (others->list[i].stream == stream)
			result = adsm_cuda_wait(stream);
		if (result == CUDA_SUCCESS)
			result = release_home(others->list[i].home, others->list[i].stream);
	}
	return result;
}
