/* SPDX-License-Identifier: MIT */
/*
 * alias_copy.h - the CPU's part of a bulk copy. It works on the alias in large steps, as a system call would (io.h).
 * Ordinary memory, which may have any mapping, is accessed without a lock.
 */
#pragma once

#include "run/copy/part.h"

/* Do one step of a part. Returns the number of bytes done, or a negative errno. */
long adsm_copy_by_alias(const struct adsm_copy *copy, const struct adsm_part *part);
