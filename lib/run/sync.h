/* SPDX-License-Identifier: MIT */
/* sync.h - the end of calls, as threads ask for it. */
#ifndef ADSM_SYNC_H
#define ADSM_SYNC_H

#include "core/home.h"

/* The calling thread's calls. @where: code address of who asks. */
int adsm_sync(const void *where);
/* The program has waited for its own commands. */
int adsm_sync_commands(struct adsm_home *home);

#endif
