/* SPDX-License-Identifier: MIT */
/* api/cuda.c - the public functions for programs that use CUDA themselves. */
#include <errno.h>

#include "api/sized.h"
#include "api/told.h"
#include "adsm_cuda.h"
#include "driver/handles.h"
#include "base/log.h"

static const struct adsm_handles_api api = {
	"cuda", "adsmCuda", "the library was built without CUDA",
};

/* The backend's contexts and devices are pointers; CUDA's devices are numbers. */
int adsmCudaUse(struct CUctx_st *context, int device)
{
	ADSM_TELLS;

	if (device < 0)
		return adsm_fail(-EINVAL, "adsmCudaUse(): device %d is negative", device);
	return ADSM_TOLD(adsm_handles_use(&api, context, (void *)(intptr_t)device));
}

int adsmCudaGet(int device, adsmCudaHandles *ret_handles)
{
	static const struct adsm_sized sized = ADSM_SIZED(adsmCudaHandles, "struct_size", to_host);
	ADSM_TELLS;
	struct adsm_native native;
	adsmCudaHandles handles;
	const size_t room = ret_handles ? ret_handles->struct_size : 0;
	int error = adsm_sized_check(&sized, ret_handles, room);

	if (!error)
		error = adsm_handles_get(&api, device, &native);
	if (error)
		return ADSM_TOLD(error);
	handles.struct_size = room;
	handles.context = native.context;
	handles.device = (int)(intptr_t)native.device;
	handles.compute = native.queues[ADSM_QUEUE_COMPUTE];
	handles.to_device = native.queues[ADSM_QUEUE_TO_DEVICE];
	handles.to_host = native.queues[ADSM_QUEUE_TO_HOST];
	adsm_sized_give(&sized, &handles, ret_handles, room);
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
