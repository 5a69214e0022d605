/* SPDX-License-Identifier: MIT */
/* hold.h - ranges that stay accessible: adsmHold(). */
#pragma once

#include <stddef.h>

/* @where: the caller's code address. */
int adsm_hold(const void *p, size_t size, unsigned access, const void *where);
int adsm_unhold(const void *p, size_t size);
