/* SPDX-License-Identifier: MIT */
/* explicit.h - device-only memory: copies that programs ask for. */
#ifndef ADSM_EXPLICIT_H
#define ADSM_EXPLICIT_H

#include "core/object.h"

int adsm_copy_explicit(void *dst, const void *src, size_t size, enum adsm_direction direction,
		       adsmEvent *ret_event);
int adsm_copy_device(void *dst, const void *src, size_t size);
int adsm_fill_device(void *dst, int value, size_t size);
int adsm_event_wait(adsmEvent event);
/* Wait for the explicit asynchronous copies of a device. No lock held. */
int adsm_wait_copies(struct adsm_home *home);

#endif
