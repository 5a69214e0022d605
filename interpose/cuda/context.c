/* SPDX-License-Identifier: MIT */
/* context.c - the start of the driver, and the end of contexts: the library first ends its queues and memory there. */
#include "function.h"
#include "handles.h"
#include "home.h"
#include "loan.h"
#include "memory.h"
#include "start/at_exit.h"

#define DEVICES_MAX 64		/* whose primary contexts are counted */
#define ATTACHED_MAX 64		/* contexts to which the program is attached more than once */

ADSM_CU_CALLED(cuCtxGetCurrent, (CUcontext *context));
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
static struct adsm_mutex contexts_lock = ADSM_MUTEX_INIT(ADSM_RANK_TABLE);

/* How often the program has attached to a context, apart from making it. If there are too many such contexts, the
 * library no longer knows which detachment ends one, and ends nothing. */
static struct { CUcontext context; unsigned n; } attached[ATTACHED_MAX];
static bool too_many_attached;

/* The entry of a context, or a free one (NULL), or ATTACHED_MAX. Lock held. */
static size_t find_attached(CUcontext context)
{
	size_t i = 0;

	while (i < ATTACHED_MAX && attached[i].context != context)
		i++;
	return i;
}

/* The context ends, however often the program is attached. */
static void forget_attached(CUcontext context)
{
	size_t i;

	adsm_mutex_lock(&contexts_lock);
	i = find_attached(context);
	if (i < ATTACHED_MAX) {
		attached[i].context = NULL;
		attached[i].n = 0;
	}
	adsm_mutex_unlock(&contexts_lock);
}

/*
 * The context is about to end. End the library's parts of it first; after that, no command can use its objects.
 * @always: the context ends even if it is still retained.
 */
static void end_context(CUcontext context, bool always)
{
	struct adsm_home *home;

	if (!context)
		return;
	forget_attached(context);
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

ADSM_CU_WRAPPER(cuCtxAttach, (CUcontext *context, unsigned flags))
{
	CUresult result;
	size_t i;

	ADSM_LOANS_FOR(result, real_cu(cuCtxAttach)(context, flags), ADSM_LOAN(context, sizeof(*context)));
	if (result != CUDA_SUCCESS)
		return result;
	adsm_mutex_lock(&contexts_lock);
	i = find_attached(*context);
	if (i == ATTACHED_MAX)
		i = find_attached(NULL);
	if (i < ATTACHED_MAX) {
		attached[i].context = *context;
		attached[i].n++;
	} else {
		too_many_attached = true;
	}
	adsm_mutex_unlock(&contexts_lock);
	return result;
}

/* The program detaches from a context once. Returns the context if that ends it, else NULL. The driver refuses to
 * detach from a context that is not current, and from a primary one. */
static CUcontext context_to_detach(CUcontext context)
{
	CUcontext current = NULL;
	bool ends;
	size_t i;

	if (!context || real_cu(cuCtxGetCurrent)(&current) != CUDA_SUCCESS || current != context)
		return NULL;
	adsm_mutex_lock(&contexts_lock);
	i = find_attached(context);
	ends = i == ATTACHED_MAX && !too_many_attached;
	for (size_t k = 0; k < DEVICES_MAX; k++)
		ends &= primary[k].context != context;
	if (i < ATTACHED_MAX && !--attached[i].n)
		attached[i].context = NULL;
	adsm_mutex_unlock(&contexts_lock);
	return ends ? context : NULL;
}

END(cuCtxDetach, CUcontext, context, context_to_detach(context), true)

ADSM_CU_WRAPPER(cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice device))
{
	CUresult result;

	ADSM_LOANS_FOR(result, real_cu(cuDevicePrimaryCtxRetain)(context, device),
		       ADSM_LOAN(context, sizeof(*context)));
	if (result == CUDA_SUCCESS && device >= 0 && device < DEVICES_MAX) {
		adsm_mutex_lock(&contexts_lock);
		primary[device].context = *context;
		primary[device].n++;
		adsm_mutex_unlock(&contexts_lock);
	}
	return result;
}

/* The program releases the primary context once. Returns the context if that was the last time, else NULL. */
static CUcontext context_to_release(CUdevice device)
{
	CUcontext context = NULL;

	if (device < 0 || device >= DEVICES_MAX)
		return NULL;
	adsm_mutex_lock(&contexts_lock);
	if (primary[device].n && !--primary[device].n) {
		context = primary[device].context;
		primary[device].context = NULL;
	}
	adsm_mutex_unlock(&contexts_lock);
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
		adsm_mutex_lock(&contexts_lock);
		context = primary[device].context;
		adsm_mutex_unlock(&contexts_lock);
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
