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
	struct adsm_home *home = adsm_cuda_concerned();

	if (!home || adsm_cuda_capturing(stream))
		return adsm_cuda_passed(enqueue(arg));
	return adsm_cuda_command(home, NULL, 0, stream, enqueue, arg);
}
