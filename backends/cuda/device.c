/* SPDX-License-Identifier: MIT */
/* device.c - enters and leaves the context of a device, converts errors of the driver, and marks devices as lost. */
#include "device.h"

#include <errno.h>
#include <limits.h>

/* ---- contexts */

/* While a program captures a stream, only threads in the relaxed capture mode may allocate and wait. */
static void exchange_capture(int *mode)
{
	if (adsm_cu.cuThreadExchangeStreamCaptureMode)
		adsm_cu.cuThreadExchangeStreamCaptureMode(mode);
}

static void go_outside(struct adsm_cuda_device *device)
{
	if (atomic_fetch_sub(&device->n_inside, 1) == 1 && adsm_driven_is_lost(&device->base))
		adsm_os_wake(&device->n_inside, INT_MAX, false);
}

CUresult adsm_cuda_enter(struct adsm_cuda_device *device, struct adsm_cuda_scope *scope)
{
	CUresult error = CUDA_ERROR_CONTEXT_IS_DESTROYED;

	adsm_os_signals_block(&scope->old);
	/* Count this thread before reading lost: adsm_cuda_end() sets lost, and then waits for the threads inside. */
	atomic_fetch_add(&device->n_inside, 1);
	/* The context of a lost device may no longer exist, or may not answer. */
	if (!adsm_driven_is_lost(&device->base))
		error = adsm_cu.cuCtxPushCurrent_v2(device->context);
	scope->device = error ? NULL : device;
	scope->capture = CU_STREAM_CAPTURE_MODE_RELAXED;
	if (error) {
		go_outside(device);
		adsm_os_signals_restore(&scope->old);
	} else {
		exchange_capture(&scope->capture);
	}
	return error;
}

void adsm_cuda_leave(struct adsm_cuda_scope *scope)
{
	CUcontext context;

	if (!scope->device)
		return;
	exchange_capture(&scope->capture);
	adsm_cu.cuCtxPopCurrent_v2(&context);
	go_outside(scope->device);
	adsm_os_signals_restore(&scope->old);
}

/* ---- errors */

const char *adsm_cuda_loss(CUresult error)
{
	switch (error) {
	case CUDA_ERROR_ILLEGAL_ADDRESS:
		return "a kernel accessed memory at an invalid address";
	case CUDA_ERROR_MISALIGNED_ADDRESS:
	case CUDA_ERROR_INVALID_ADDRESS_SPACE:
		return "a kernel used a misaligned address, or the wrong address space";
	case CUDA_ERROR_ASSERT:
		return "an assert() in a kernel failed";
	case CUDA_ERROR_HARDWARE_STACK_ERROR:
		return "a kernel's stack overflowed or was overwritten";
	case CUDA_ERROR_ILLEGAL_INSTRUCTION:
	case CUDA_ERROR_INVALID_PC:
		return "a kernel executed invalid code";
	case CUDA_ERROR_LAUNCH_FAILED:
	case CUDA_ERROR_TENSOR_MEMORY_LEAK:
		return "a kernel crashed";
	case CUDA_ERROR_LAUNCH_TIMEOUT:
		return "a kernel exceeded the time limit of a device with a display";
	case CUDA_ERROR_ECC_UNCORRECTABLE:
		return "its memory had an uncorrectable error: see nvidia-smi";
	case CUDA_ERROR_NVLINK_UNCORRECTABLE:
	case CUDA_ERROR_CONTAINED:
		return "it had an uncorrectable error: see nvidia-smi";
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
		return "the program destroyed its context";
	case CUDA_ERROR_DEVICE_UNAVAILABLE:
		return "other processes use it, or it is being removed";
	case CUDA_ERROR_DEINITIALIZED:
		return "the driver has ended, because the process exits";
	default:
		return NULL;
	}
}

static void lose_by(struct adsm_cuda_device *device, CUresult error, const char *what)
{
	/* At the end of a process this is not an error. */
	enum adsm_log_level level = error == CUDA_ERROR_DEINITIALIZED ? ADSM_LOG_INFO : ADSM_LOG_ERROR;
	bool for_good = error != CUDA_ERROR_DEINITIALIZED && error != CUDA_ERROR_CONTEXT_IS_DESTROYED;
	ADSM_SIGNALS_BLOCKED;
	char text[256];

	adsm_format(text, sizeof(text), "%s failed with %s: %s%s", what, adsm_cu_error_name(error),
		    adsm_cuda_loss(error), for_good ? "; only a new process can use the device" : "");
	adsm_driven_lose(&device->base, level, text);
}

int adsm_cuda_errno(struct adsm_cuda_device *device, CUresult error, const char *what)
{
	if (!error)
		return 0;
	/* Drivers return this error for the handle of a destroyed context. */
	if (error == CUDA_ERROR_INVALID_CONTEXT)
		error = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	if (adsm_cuda_loss(error)) {
		lose_by(device, error, what);
		return -ENODEV;
	}
	adsm_info("%s: %s failed with %s", device->base.base.name, what, adsm_cu_error_name(error));
	switch (error) {
	case CUDA_ERROR_OUT_OF_MEMORY:
		return -ENOMEM;
	case CUDA_ERROR_INVALID_VALUE:
	case CUDA_ERROR_INVALID_HANDLE:
	case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
		return -EINVAL;
	case CUDA_ERROR_NOT_SUPPORTED:
		return -ENOTSUP;
	case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
	case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
		return -EAGAIN;
	default:
		return -EIO;
	}
}

int adsm_cuda_error(struct adsm_cuda_device *device, CUresult error, const char *what)
{
	int ret = adsm_cuda_errno(device, error, what);

	if (ret == -ENODEV)
		return adsm_driven_status(&device->base.base);
	return ret ? adsm_fail(ret, "%s: %s failed with %s", device->base.base.name, what,
			       adsm_cu_error_name(error)) : 0;
}
