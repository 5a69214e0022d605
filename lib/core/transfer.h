/* SPDX-License-Identifier: MIT */
/* transfer.h - moving bytes between alias and device, with the lock held, which is given away meanwhile. */
#ifndef ADSM_TRANSFER_H
#define ADSM_TRANSFER_H

#include "core/input.h"

/* Move the bytes of an object from @at to @end, inside the caller's size, but for what @around says. */
int adsm_transfer(struct adsm_object *object, struct adsm_around around, enum adsm_direction direction, size_t at,
		  size_t end);
/* Give the run of a begun change pages, as cold ones cost more than a transfer, and fetch its bytes if that is planned:
 * those that inputs are for stay holes. */
int adsm_run_fetch(struct adsm_object *object, const struct adsm_change *change);
/* Send a run; of blocks with holes only what was fetched or written. */
int adsm_run_send(struct adsm_object *object, uint32_t first, uint32_t n);

#endif
