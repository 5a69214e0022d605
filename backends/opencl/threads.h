/* SPDX-License-Identifier: MIT */
/* opencl/threads.h - which threads of this process are the driver's. They run kernels, and no code of the program. */
#pragma once

#include <stdbool.h>

/* Call these before and after code of the driver that starts threads. Signals are blocked for threads. */
void adsm_cl_threads_begin(void);
void adsm_cl_threads_end(void);
/* The program uses the driver itself, so that its functions may run in threads of the driver. */
void adsm_cl_threads_share(void);
/* Is it a thread of the driver? */
bool adsm_cl_threads_has(int thread);
