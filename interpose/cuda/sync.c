/* SPDX-License-Identifier: MIT */
/* sync.c - waiting for the driver's commands. After a successful wait, the program may read objects. */
#include "sync.h"

#include "home.h"
#include "run/wait/wait.h"

ADSM_CU_CALLED(cuPointerGetAttribute, (void *value, int attribute, CUdeviceptr p));

int adsm_cuda_acquire(struct adsm_home *home)
{
	int error = 0;

	/* A touch waits for the calls that it needs. If touches are not detected, wait for all calls that run now, even
	 * if the driver has waited: the library notes the end of a call a little later. */
	if (atomic_load_explicit(&home->n_undetected, memory_order_relaxed))
		error = adsm_wait_calls(home);
	return error ? error : adsm_driver_sync(home);
}

/* Do touches of the home's objects not fetch, and can the library? */
static bool must_fetch(const struct adsm_home *home)
{
	return atomic_load(&home->n_undetected) && !adsm_cuda_has_ended(home) && !atomic_load(&home->device->lost);
}

/*
 * @result: of the driver. @home: of the context that the program has waited for. An event may be another context's, and
 * a stream may have waited for one. So objects of other homes are fetched, too, if touches do not fetch them.
 */
static CUresult acquire_of(CUresult result, struct adsm_home *home)
{
	int error = 0;

	for (int i = 0; result == CUDA_SUCCESS && adsm_driver_active() && i < adsm_n_homes && !error; i++) {
		struct adsm_home *each = &adsm_homes[i];

		if (each == home || must_fetch(each))
			error = adsm_cuda_acquire(each);
	}
	return error ? adsm_cuda_result(error) : result;
}

static CUresult acquire(CUresult result)
{
	return acquire_of(result, result == CUDA_SUCCESS ? adsm_cuda_concerned() : NULL);
}

#define WAIT(name, params, args)			\
	ADSM_CU_WRAPPER(name, params)			\
	{						\
		return acquire(real_cu(name) args);	\
	}
WAIT(cuCtxSynchronize, (void), ())
WAIT(cuStreamSynchronize, (CUstream stream), (stream))
WAIT(cuStreamSynchronize_ptsz, (CUstream stream), (stream))
WAIT(cuStreamQuery, (CUstream stream), (stream))
WAIT(cuStreamQuery_ptsz, (CUstream stream), (stream))
WAIT(cuEventSynchronize, (CUevent event), (event))
WAIT(cuEventQuery, (CUevent event), (event))

CUresult adsm_cuda_wait(CUstream stream)
{
	return acquire(real_cu(cuStreamSynchronize)(stream));
}

bool adsm_cuda_is_pageable(CUdeviceptr p)
{
	unsigned type;

	return real_cu(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) != CUDA_SUCCESS;
}

CUresult adsm_cuda_failure(int error, CUstream stream)
{
	CUresult result = error == -ENODEV || error == -EIO ? real_cu(cuStreamQuery)(stream) : CUDA_SUCCESS;

	return result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY ? result : adsm_cuda_result(error);
}

ADSM_CU_WRAPPER(cuCtxSynchronize_v2, (CUcontext context))
{
	CUresult result = real_cu(cuCtxSynchronize_v2)(context);
	struct adsm_home *home;

	if (!context || !adsm_driver_active())
		return acquire(result);
	home = adsm_driver_home_of(context);
	return acquire_of(result, home && !adsm_cuda_has_ended(home) ? home : NULL);
}
