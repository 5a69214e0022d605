/* SPDX-License-Identifier: MIT */
/* warnings.h - warnings that the program has not requested: only for extreme cases, one line each, and few lines. They
 * are always on, and use what is counted anyway. */
#pragma once

#include "core/observe.h"

/* Warn if an object's blocks are often written again after they were sent early; and if they are fetched very often. */
void adsm_judge(struct adsm_object *object, enum adsm_habit habit);

/* The library ends: warn if it mostly moved data. At most once in a process. */
void adsm_warn_at_end(void);
