/* SPDX-License-Identifier: MIT */
/* launch.h - structures of kernels and modules, and launches. */
#pragma once

#include "device.h"
#include "driven_code.h"

struct adsm_cuda_entry {
	struct adsm_driven_entry base;
	CUfunction function;		/* NULL: the kernel does nothing */
};

struct adsm_cuda_code {
	struct adsm_driven_code base;
	CUmodule module;		/* NULL: an adopted kernel, or one that does nothing */
	CUfunction adopted;
	struct adsm_cuda_constants *constants;	/* of launches (launch.c), under the compute queue's lock */
};

/* Free the memory of a module's constants. None of its launches may be outstanding. */
void adsm_cuda_constants_destroy(struct adsm_cuda_code *code);
int adsm_cuda_launch(struct adsm_entry *entry, const struct adsm_launch *launch, struct adsm_device_event *ret_event);
