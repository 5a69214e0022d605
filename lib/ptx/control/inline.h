/* SPDX-License-Identifier: MIT */
/* inline.h - device functions whose threads wait for others become a part of their callers. */
#pragma once

#include "ptx/ptx.h"

/*
 * A thread that waits is left and resumed, which a C function that is called cannot be. So put the body of each device
 * function with a barrier, an exchange inside a warp, or a loop that waits for other threads into the functions that
 * call it. What is recursive or called through a pointer stays as it is: barriers and exchanges in it are refused
 * later, and a loop in it waits without leaving its thread. The numbers of variables and functions are not valid
 * afterwards. Returns 0 or -ENOMEM.
 */
int adsm_ptx_inline(struct adsm_ptx_module *module);
