/* SPDX-License-Identifier: MIT */
/* node/inside.h - what nodes wrote, inside of their letters DONE, where that is little. */
#ifndef ADSM_CLUSTER_INSIDE_H
#define ADSM_CLUSTER_INSIDE_H

#include "pack.h"
#include "runs.h"

#define ADSM_INSIDE_ALL 64		/* pages: of all letters of a launch together; and of one to another node */

/* Another node: all that it wrote, behind what is in @pack, if that is little. Returns how many bytes. */
size_t adsm_inside_put(struct adsm_pack *pack, const struct adsm_run *wrote, size_t n);
/* Node 0: takes the letter, in which so many bytes begin behind *@at. */
void adsm_inside_keep(struct adsm_letter *letter, size_t *at, size_t size);
/* Node 0: these bytes become those of the pages. Without it they are only forgotten. */
void adsm_inside_merge(void);
void adsm_inside_drop(void);

#endif
