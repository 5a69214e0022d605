/* SPDX-License-Identifier: MIT */
/* transfer.h - moving bytes between alias and device. */
#ifndef ADSM_TRANSFER_H
#define ADSM_TRANSFER_H

#include "core/object.h"

/*
 * Move a range of an object, synchronously and without the lock. @offset, @size: bytes, inside the caller's
 * size. Counts bytes, transfers and time.
 */
int adsm_transfer(struct adsm_object *object, enum adsm_direction direction, size_t offset, size_t size);

#endif
