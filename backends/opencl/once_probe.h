/* SPDX-License-Identifier: MIT */
/* opencl/once_probe.h - tries whether kernels see what the host stores while they run. */
#pragma once

#include "device.h"

/* Compiles and runs a kernel. Signals are blocked for threads. */
bool adsm_cl_once_probe(struct adsm_cl_device *device);
