/* SPDX-License-Identifier: MIT */
/* stream.h - which streams capture. */
#ifndef ADSM_CUDA_STREAM_H
#define ADSM_CUDA_STREAM_H

#include <stdbool.h>

#include "cuda/cu.h"

/* Does any stream capture? */
bool adsm_cuda_captures(void);
/* Commands of this stream are recorded, not run; or it is in no state to tell. */
bool adsm_cuda_capturing(CUstream stream);

#endif
