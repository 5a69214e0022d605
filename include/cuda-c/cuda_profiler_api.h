/* SPDX-License-Identifier: MIT */
/* cuda_profiler_api.h - cudaProfilerStart() and cudaProfilerStop(). */
#ifndef ADSM_CUDA_CUDA_PROFILER_API_H
#define ADSM_CUDA_CUDA_PROFILER_API_H

#include "cuda_runtime_api.h"

#endif
