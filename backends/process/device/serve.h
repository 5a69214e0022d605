/* SPDX-License-Identifier: MIT */
/* serve.h - what a device process does for the application: it answers requests, and runs launches in their order. */
#ifndef ADSM_PROCESS_SERVE_H
#define ADSM_PROCESS_SERVE_H

/* Answer requests until the application is gone. Kernels may still run then: only _exit() is safe. */
void adsm_serve(void);

#endif
