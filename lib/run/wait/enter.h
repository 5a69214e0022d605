/* SPDX-License-Identifier: MIT */
/* enter.h - find the object of an address that the program gives, and lock its home. */
#pragma once

#include "core/object.h"

/* Like adsm_object_lock(), also with signals blocked. If it returns NULL, signals are as before. */
struct adsm_object *adsm_object_enter(const void *p, struct adsm_sigset *ret_old);
/* The same for a range: @size bytes inside one shared object. If it returns NULL, the error text is set (-EINVAL). */
struct adsm_object *adsm_enter_range(const void *p, size_t size, struct adsm_sigset *ret_old);
