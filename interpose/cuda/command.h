/* SPDX-License-Identifier: MIT */
/* command.h - gives a command of the program to the driver, as a call of the library. */
#pragma once

#include "cuda/cu.h"
#include "driver/driver.h"

/* adsm_driver_call() for wrappers: the result is a result code of the driver. */
CUresult adsm_cuda_command(struct adsm_home *home, const struct adsm_driver_use *uses, size_t n, CUstream stream,
			   int (*enqueue)(void *arg), void *arg);
/* A command that may use every object of the current context. If there are none, or the stream is capturing, the driver
 * gets it directly: the commands of a capture run later, by cuGraphLaunch(). */
CUresult adsm_cuda_unnamed(CUstream stream, int (*enqueue)(void *arg), void *arg);
