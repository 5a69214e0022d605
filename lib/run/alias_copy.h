/* SPDX-License-Identifier: MIT */
/*
 * alias_copy.h - the CPU's share of a bulk copy: it works on the alias, in large steps, as a system call would (io.h);
 * ordinary memory, which may be anything, is touched with no lock held.
 */
#ifndef ADSM_ALIAS_COPY_H
#define ADSM_ALIAS_COPY_H

#include "run/part.h"

/* One step of a part. The bytes done, or an error. */
long adsm_copy_by_alias(const struct adsm_copy *copy, const struct adsm_part *part);

#endif
