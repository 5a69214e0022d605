/* SPDX-License-Identifier: MIT */
/* alloc.h - objects from outside: made, freed, looked up. */
#ifndef ADSM_ALLOC_H
#define ADSM_ALLOC_H

#include "core/objects.h"

int adsm_object_alloc(struct adsm_home *home, size_t size, const struct adsm_object_options *options,
		      void **ret_address);
enum adsm_maker { ADSM_MAKER_ALLOC, ADSM_MAKER_DEVICE_ALLOC, ADSM_MAKER_DRIVER };
/*
 * @maker: what it has to have been made by. @wait: for the calls that use it; else the caller knows that none does.
 * @driver_free: as adsm_object_destroy() has it, NULL elsewhere. Returns 1 where the program's own memory is kept.
 */
int adsm_object_free(void *p, enum adsm_maker maker, bool wait, adsm_kept_free *driver_free);

#endif
