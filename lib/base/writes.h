/* SPDX-License-Identifier: MIT */
/* writes.h - does a call of a kernel write all of an object? The module says what its stores are (writes_text.h). */
#pragma once

#include "base/writes_text.h"

/*
 * Does a launch write all bytes from @first to @end, as distances from the address that the parameter has? @line: the
 * first one of the parameter (adsm_writes_find()). False: perhaps not.
 */
bool adsm_writes_cover(const char *line, const struct adsm_writes_launch *launch, int64_t first, int64_t end);
