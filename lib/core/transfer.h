/* SPDX-License-Identifier: MIT */
/* transfer.h - transfers between alias and device. The caller holds the lock, which is given away meanwhile. */
#pragma once

#include "core/input.h"

/* Move the bytes [@at, @end) of an object, which are inside the caller's size, without those that @around leaves
 * out. */
int adsm_transfer(struct adsm_object *object, struct adsm_around around, enum adsm_direction direction, size_t at,
		  size_t end);
/* Give the run of a begun change host pages, as fresh pages cost more than a transfer; then fetch its bytes if the
 * change plans that. Bytes of inputs in progress stay holes. */
int adsm_run_fetch(struct adsm_object *object, const struct adsm_change *change);
/* Send a run; of a block with holes, only what was fetched or written. */
int adsm_run_send(struct adsm_object *object, uint32_t first, uint32_t n);
