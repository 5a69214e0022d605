/* SPDX-License-Identifier: MIT */
/* device_copy.h - the device's part of a bulk copy: whole blocks, where this moves fewer bytes. */
#pragma once

#include "run/copy/part.h"

/*
 * Have the device write whole blocks of the destination if it has the source. Returns the number of bytes done, or a
 * negative errno. 0: the CPU must do the part, whose size this function may have reduced.
 */
long adsm_copy_on_device(const struct adsm_copy *copy, struct adsm_part *part);
