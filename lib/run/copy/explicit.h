/* SPDX-License-Identifier: MIT */
/* explicit.h - copies to and from device-only memory that the program requests. */
#pragma once

#include "core/object.h"

int adsm_copy_explicit(void *dst, const void *src, size_t size, enum adsm_direction direction,
		       adsmEvent *ret_event);
int adsm_copy_device(void *dst, const void *src, size_t size);
int adsm_fill_device(void *dst, int value, size_t size);
/* Wait for the asynchronous copies of a device. The caller holds no lock. */
int adsm_wait_copies(struct adsm_home *home);
