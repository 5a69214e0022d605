/* SPDX-License-Identifier: MIT */
/* function.h - the program's functions in the order of a stream. */
#ifndef ADSM_CUDA_FUNCTION_H
#define ADSM_CUDA_FUNCTION_H

#include "cuda/cu.h"

struct adsm_home;

/*
 * A touch waits for the calls that may write the object, those behind a function in a stream too; these wait for the
 * function, and one that touches would never end. So in programs that do touch shared memory, a command is given to the
 * driver when no function is outstanding. Other programs are let alone: their functions use no shared memory.
 */
void adsm_cuda_let_functions_run(struct adsm_home *home, CUstream stream);
/* The home's context ends: what has not run by now never does. */
void adsm_cuda_functions_end(const struct adsm_home *home);

#endif
