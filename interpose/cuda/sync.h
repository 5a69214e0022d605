/* SPDX-License-Identifier: MIT */
/* sync.h - waiting for the driver's commands. */
#ifndef ADSM_CUDA_SYNC_H
#define ADSM_CUDA_SYNC_H

#include <stdbool.h>

#include "cuda/cu.h"

struct adsm_home;

/* Wait for the home's calls that the library knows of. */
int adsm_cuda_wait_calls(struct adsm_home *home);
/* The program has waited for commands: with protocols that see no accesses, objects are fetched. */
int adsm_cuda_acquire(struct adsm_home *home);
/* Wait for a stream of the program's, as cuStreamSynchronize() does; after it, objects may be looked at. */
CUresult adsm_cuda_wait(CUstream stream);
/* Is it memory of the host that the driver does not know? Copies of it may wait in the driver, asynchronous too. */
bool adsm_cuda_is_pageable(CUdeviceptr p);
/* What the library could not do, as a CUresult; of a context that has failed the driver's own error. */
CUresult adsm_cuda_failure(int error, CUstream stream);

#endif
