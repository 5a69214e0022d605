/* SPDX-License-Identifier: MIT */
/* device_copy.h - the device's share of a bulk copy: whole blocks, where that moves fewer bytes. */
#ifndef ADSM_DEVICE_COPY_H
#define ADSM_DEVICE_COPY_H

#include "run/part.h"

/*
 * Have whole blocks of the destination written by the device, where it has the source. The bytes done; 0: as many
 * as the part now says are for the CPU; or an error.
 */
long adsm_copy_on_device(const struct adsm_copy *copy, struct adsm_part *part);

#endif
