/* SPDX-License-Identifier: MIT */
/* context.c - the start of the driver, and the end of contexts: the library first ends its queues and memory there. */
#include "function.h"
#include "handles.h"
#include "home.h"
#include "loan.h"
#include "memory.h"
#include "start/at_exit.h"

#define DEVICES_MAX 64		/* whose primary contexts are counted */

ADSM_CU_CALLED(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned *flags, int *active));

/* Exit handlers that the program sets after this call run before the driver ends, and can still use the library. */
ADSM_CU_WRAPPER(cuInit, (unsigned flags))
{
	CUresult result = real_cu(cuInit)(flags);

	if (result == CUDA_SUCCESS)
		adsm_at_exit_watch();
	return result;
}

/* How often the program has retained a device's primary context. The count may be wrong, because the library does not
 * see all calls. Then the library's own reference keeps the context alive. */
static struct { CUcontext context; unsigned n; } primary[DEVICES_MAX];
static struct adsm_mutex primary_lock = ADSM_MUTEX_INIT(ADSM_RANK_TABLE);

/*
 * The context is about to end. End the library's parts of it first; after that, no command can use its objects.
 * @always: the context ends even if it is still retained.
 */
static void end_context(CUcontext context, bool always)
{
	struct adsm_home *home;

	if (!context)
		return;
	home = adsm_driver_home_of(context);
	/* The context's streams end with it, so their launches must be noted now. */
	if (home && !adsm_cuda_has_ended(home))
		adsm_driver_launched(home);
	adsm_cuda_forget_handles(context);
	if (home)
		adsm_driver_give_up(home);
	adsm_cuda_forget(context);
	if (home && !adsm_cuda_has_ended(home) && adsm_driver_end(home, always)) {
		adsm_cuda_functions_end(home);
		adsm_cuda_ended[home->index] = adsm_life.epoch;
	}
}

#define END(name, type, of, context, always)	\
	ADSM_CU_WRAPPER(name, (type of))	\
	{					\
		end_context(context, always);	\
		return real_cu(name)(of);	\
	}
END(cuCtxDestroy, CUcontext, context, context, true)
END(cuCtxDestroy_v2, CUcontext, context, context, true)

ADSM_CU_WRAPPER(cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice device))
{
	CUresult result;

	ADSM_LOANS_FOR(result, real_cu(cuDevicePrimaryCtxRetain)(context, device),
		       ADSM_LOAN(context, sizeof(*context)));
	if (result == CUDA_SUCCESS && device >= 0 && device < DEVICES_MAX) {
		adsm_mutex_lock(&primary_lock);
		primary[device].context = *context;
		primary[device].n++;
		adsm_mutex_unlock(&primary_lock);
	}
	return result;
}

/* The program releases the primary context once. Returns the context if that was the last time, else NULL. */
static CUcontext context_to_release(CUdevice device)
{
	CUcontext context = NULL;

	if (device < 0 || device >= DEVICES_MAX)
		return NULL;
	adsm_mutex_lock(&primary_lock);
	if (primary[device].n && !--primary[device].n) {
		context = primary[device].context;
		primary[device].context = NULL;
	}
	adsm_mutex_unlock(&primary_lock);
	return context;
}

END(cuDevicePrimaryCtxRelease, CUdevice, device, context_to_release(device), false)
END(cuDevicePrimaryCtxRelease_v2, CUdevice, device, context_to_release(device), false)

/* The context that a reset ends, even if the library has not seen the program retain it. */
static CUcontext context_to_reset(CUdevice device)
{
	CUcontext context = NULL;
	unsigned flags;
	int active;

	if (device >= 0 && device < DEVICES_MAX) {
		adsm_mutex_lock(&primary_lock);
		context = primary[device].context;
		adsm_mutex_unlock(&primary_lock);
	}
	if (context)
		return context;
	if (!adsm_started() || real_cu(cuDevicePrimaryCtxGetState)(device, &flags, &active) || !active ||
	    real_cu(cuDevicePrimaryCtxRetain)(&context, device))
		return NULL;
	real_cu(cuDevicePrimaryCtxRelease)(device);
	return context;
}

END(cuDevicePrimaryCtxReset, CUdevice, device, context_to_reset(device), true)
END(cuDevicePrimaryCtxReset_v2, CUdevice, device, context_to_reset(device), true)
