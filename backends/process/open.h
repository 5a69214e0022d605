/* SPDX-License-Identifier: MIT */
/* open.h - a device process and all that the application has of it: from open() to close(). */
#ifndef ADSM_PROCESS_OPEN_H
#define ADSM_PROCESS_OPEN_H

#include "process.h"

/* All zero; @size: with what a backend has of its own behind. */
void *adsm_process_new(size_t size);
/* Start what was described; the device is freed when it fails. */
int adsm_process_open(struct adsm_process_device *device, const struct adsm_backend_config *config);
void adsm_process_close(struct adsm_device *device);

#endif
