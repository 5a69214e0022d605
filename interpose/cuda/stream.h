/* SPDX-License-Identifier: MIT */
/* stream.h - which streams are capturing. */
#pragma once

#include <stdbool.h>

#include "cuda/cu.h"

/* Is any stream capturing? */
bool adsm_cuda_captures(void);
/* Is the stream capturing, so that its commands are recorded and not run? True also if it cannot be asked. */
bool adsm_cuda_capturing(CUstream stream);
