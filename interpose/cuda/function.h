/* SPDX-License-Identifier: MIT */
/* function.h - host functions of the program in streams. */
#pragma once

#include "cuda/cu.h"

struct adsm_home;

/*
 * Wait until the host functions of this home have run, before a command is given to the driver.
 *
 * A touch waits for all calls that may write the object, also for calls behind a host function in the same stream.
 * Those calls wait for the function. So a function that touches the object would wait for itself. If the program has
 * not touched shared memory so far, this does not wait.
 */
void adsm_cuda_let_functions_run(struct adsm_home *home, CUstream stream);
/* The home's context has ended: its host functions that have not run by now never will. */
void adsm_cuda_functions_end(const struct adsm_home *home);
