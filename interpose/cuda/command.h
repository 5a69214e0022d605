/* SPDX-License-Identifier: MIT */
/* command.h - a command of the program's to the driver, as a call of the library's. */
#ifndef ADSM_CUDA_COMMAND_H
#define ADSM_CUDA_COMMAND_H

#include "cuda/cu.h"
#include "driver/driver.h"

/* adsm_driver_call() for wrappers: its result is the driver's. */
CUresult adsm_cuda_command(struct adsm_home *home, const struct adsm_driver_use *uses, size_t n, CUstream stream,
			   int (*enqueue)(void *arg), void *arg);

#endif
