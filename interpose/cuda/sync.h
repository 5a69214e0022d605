/* SPDX-License-Identifier: MIT */
/* sync.h - waiting for the driver's commands. */
#pragma once

#include <stdbool.h>

#include "cuda/cu.h"

struct adsm_home;

/* The program has waited for commands. With a protocol that detects no touches (batch), objects are fetched now. */
int adsm_cuda_acquire(struct adsm_home *home);
/* Wait for a stream of the program, as cuStreamSynchronize() does. After that, the program may read objects. */
CUresult adsm_cuda_wait(CUstream stream);
/* Is this host memory that the driver does not know? Even asynchronous copies of it may wait inside the driver. */
bool adsm_cuda_is_pageable(CUdeviceptr p);
/* Converts a negative errno to a CUresult. If the context has failed, the result is the driver's error. */
CUresult adsm_cuda_failure(int error, CUstream stream);
