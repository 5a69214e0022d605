/* SPDX-License-Identifier: MIT */
/* api_cuda.c - the public functions for programs that use CUDA themselves. */
#include <errno.h>

#include "api/told.h"
#include "adsm_cuda.h"
#include "driver/handles.h"
#include "base/log.h"

static const struct adsm_handles_api api = {
	"cuda", "adsmCuda", "the library was built without CUDA",
};

/* Contexts and devices of the backend are pointers; CUDA's devices are numbers. */
int adsmCudaUse(struct CUctx_st *context, int device)
{
	ADSM_TELLS;

	if (device < 0)
		return adsm_fail(-EINVAL, "adsmCudaUse(): %d is no device", device);
	return ADSM_TOLD(adsm_handles_use(&api, context, (void *)(intptr_t)device));
}

int adsmCudaGet(int device, adsmCudaHandles *ret_handles)
{
	ADSM_TELLS;
	struct adsm_native native;
	int error = adsm_handles_get(&api, device, ret_handles ? ret_handles->struct_size : 0, sizeof(*ret_handles),
				     &native);

	if (error || !ret_handles)
		return ADSM_TOLD(error);
	ret_handles->context = native.context;
	ret_handles->device = (int)(intptr_t)native.device;
	ret_handles->compute = native.queues[ADSM_QUEUE_COMPUTE];
	ret_handles->to_device = native.queues[ADSM_QUEUE_TO_DEVICE];
	ret_handles->to_host = native.queues[ADSM_QUEUE_TO_HOST];
	return 0;
}

int adsmCudaRelease(const adsmArg *uses, size_t n, struct CUstream_st *stream)
{
	ADSM_TELLS;
	struct adsm_home *home;
	uint64_t seq;
	int error = adsm_handles_release(&api, uses, n, __builtin_return_address(0), &home, &seq);

	return ADSM_TOLD(error || !n ? error : home->device->backend->driver->queue_follow(home->device, stream));
}

adsmKernel *adsmCudaKernel(int device, struct CUfunc_st *function)
{
	return adsm_handles_kernel(&api, device, function);
}

int adsmCudaKernelFree(adsmKernel *kernel)
{
	ADSM_TELLS;

	return ADSM_TOLD(adsm_handles_kernel_free(&api, kernel));
}
