/* SPDX-License-Identifier: MIT */
/* alloc.h - allocate and free objects. */
#pragma once

#include "core/objects.h"

int adsm_object_alloc(struct adsm_home *home, size_t size, const struct adsm_object_options *options,
		      void **ret_address);
enum adsm_maker { ADSM_MAKER_ALLOC, ADSM_MAKER_DEVICE_ALLOC, ADSM_MAKER_DRIVER, ADSM_MAKER_MODULE };
/*
 * Can the object at @p be freed, as far as it does not depend on calls? @object: what adsm_object_enter() found there;
 * its lock is held.
 */
int adsm_object_check_free(const struct adsm_object *object, const void *p, enum adsm_maker maker);
/*
 * @maker: how the object must have been made. @wait: wait for the calls that use it; otherwise the caller knows that no
 * call does. @driver_free: for adsm_object_destroy(), or NULL. Returns 1 if the program's own memory is kept for later
 * use.
 */
int adsm_object_free(void *p, enum adsm_maker maker, bool wait, adsm_kept_free *driver_free);
