/* SPDX-License-Identifier: MIT */
/*
 * node/pages/waiting.h - threads that wait in their handlers for pages, and which pages to fetch for them. All with the
 * table's lock.
 */
#ifndef ADSM_CLUSTER_WAITING_H
#define ADSM_CLUSTER_WAITING_H

#include <stdbool.h>

#include "types.h"

/* Give the lock back until all these pages are here, and nobody works on them. @wake: if some are not here. */
void adsm_waiting_sleep(struct adsm_run run, void (*wake)(void));
/* Let those go whose pages are here. */
void adsm_waiting_release(void);
/* The next pages to fetch for somebody, and such as he will want next; they are marked. Takes the lock itself. */
bool adsm_waiting_next(struct adsm_run *ret_run);
/* How many pages to bring at once for a touch of this one: 1, and twice as many while touches go on in order. */
uint64_t adsm_waiting_ahead(uint64_t page);
/* Nobody has touched anything yet. */
void adsm_waiting_forget(void);

#endif
