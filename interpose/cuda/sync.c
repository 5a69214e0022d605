/* SPDX-License-Identifier: MIT */
/* sync.c - waiting for the driver's commands: when it succeeds, objects may be looked at. */
#include "sync.h"

#include "entries.h"
#include "home.h"
#include "run/wait.h"

ADSM_CU(cuCtxSynchronize);
ADSM_CU(cuCtxSynchronize_v2);
ADSM_CU(cuStreamSynchronize);
ADSM_CU(cuStreamSynchronize_ptsz);
ADSM_CU(cuStreamQuery);
ADSM_CU(cuStreamQuery_ptsz);
ADSM_CU(cuEventSynchronize);
ADSM_CU(cuEventQuery);

/* What the driver has waited for, the library sees end a little later. */
int adsm_cuda_wait_calls(struct adsm_home *home)
{
	struct adsm_sigset old;
	uint64_t seq;

	adsm_home_lock(home, &old);
	seq = home->last_seq;
	adsm_home_unlock(home, &old);
	return adsm_wait_call(home, seq);
}

int adsm_cuda_acquire(struct adsm_home *home)
{
	int error = 0;

	/* A touch waits for what it needs; where none is seen, all that runs now ends before objects are fetched. */
	if (atomic_load_explicit(&home->n_undetected, memory_order_relaxed))
		error = adsm_cuda_wait_calls(home);
	return error ? error : adsm_driver_sync(home);
}

/* The driver said @result. */
static CUresult acquire_of(CUresult result, struct adsm_home *home)
{
	int error = result == CUDA_SUCCESS && home ? adsm_cuda_acquire(home) : 0;

	return error ? adsm_cuda_result(error) : result;
}

static CUresult acquire(CUresult result)
{
	return acquire_of(result, result == CUDA_SUCCESS ? adsm_cuda_concerned() : NULL);
}

CUresult adsm_cuda_wait(CUstream stream)
{
	return acquire(real_cu(cuStreamSynchronize)(stream));
}

CUresult adsm_cuda_failure(int error, CUstream stream)
{
	CUresult result = error == -ENODEV || error == -EIO ? real_cu(cuStreamQuery)(stream) : CUDA_SUCCESS;

	return result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY ? result : adsm_cuda_result(error);
}

ADSM_WRAPPER CUresult cuCtxSynchronize(void)
{
	return acquire(real_cu(cuCtxSynchronize)());
}

ADSM_WRAPPER CUresult cuCtxSynchronize_v2(CUcontext context)
{
	CUresult result = real_cu(cuCtxSynchronize_v2)(context);
	struct adsm_home *home;

	if (!context || !adsm_driver_active())
		return acquire(result);
	home = adsm_driver_home_of(context);
	return acquire_of(result, home && !adsm_cuda_has_ended(home) ? home : NULL);
}

ADSM_WRAPPER CUresult cuStreamSynchronize(CUstream stream)
{
	return acquire(real_cu(cuStreamSynchronize)(stream));
}

ADSM_WRAPPER CUresult cuStreamSynchronize_ptsz(CUstream stream)
{
	return acquire(real_cu(cuStreamSynchronize_ptsz)(stream));
}

ADSM_WRAPPER CUresult cuStreamQuery(CUstream stream)
{
	return acquire(real_cu(cuStreamQuery)(stream));
}

ADSM_WRAPPER CUresult cuStreamQuery_ptsz(CUstream stream)
{
	return acquire(real_cu(cuStreamQuery_ptsz)(stream));
}

ADSM_WRAPPER CUresult cuEventSynchronize(CUevent event)
{
	return acquire(real_cu(cuEventSynchronize)(event));
}

ADSM_WRAPPER CUresult cuEventQuery(CUevent event)
{
	return acquire(real_cu(cuEventQuery)(event));
}
