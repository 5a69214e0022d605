/* SPDX-License-Identifier: MIT */
/* node/pages/waiting.h - threads that wait for pages in their signal handlers, and which pages to fetch for them. The
 * table's lock is held in all of these functions. */
#pragma once

#include <stdbool.h>

#include "types.h"

/* Release the lock until all these pages are present, and no other thread works on them. @wake: called if some are
 * missing. */
void adsm_waiting_sleep(struct adsm_run run, void (*wake)(void));
/* Wake the threads whose pages are present. */
void adsm_waiting_release(void);
/* The next pages to fetch for a waiting thread, including those read ahead; they are marked. Takes the lock itself. */
bool adsm_waiting_next(struct adsm_run *ret_run);
/* How many pages to fetch together for a touch of this page: 1, or twice as many as before while touches are in
 * order. */
uint64_t adsm_waiting_ahead(uint64_t page);
/* Forget the order of touches. */
void adsm_waiting_forget(void);
