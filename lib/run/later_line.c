/* SPDX-License-Identifier: MIT */
/* later_line.c - see later_line.h. */
#include "run/later_line.h"

struct adsm_later_line adsm_later_lines[ADSM_MAX_DEVICES];
struct adsm_mutex adsm_later_mutex = ADSM_MUTEX_INIT(ADSM_RANK_LATER);
_Atomic uint32_t adsm_later_ended;
