/* SPDX-License-Identifier: MIT */
/* sync.h - waiting for the end of calls. */
#pragma once

#include "core/home.h"

/* Wait for the calling thread's calls. @where: the caller's code address. */
int adsm_sync(const void *where);
/* The program has waited for its own commands. */
int adsm_sync_commands(struct adsm_home *home);
