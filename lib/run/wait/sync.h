/* SPDX-License-Identifier: MIT */
/* sync.h - waiting for the end of calls. */
#pragma once

#include "core/home.h"

/* Wait for the calling thread's calls. @where: the caller's code address. */
int adsm_sync(const void *where);
/* Call @seq has ended: fetch its objects whose accesses are not detected, except those of later calls. */
int adsm_sync_call(struct adsm_home *home, uint64_t seq);
/* The program has waited for its own commands. */
int adsm_sync_commands(struct adsm_home *home);
