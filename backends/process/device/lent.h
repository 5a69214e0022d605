/* SPDX-License-Identifier: MIT */
/*
 * lent.h - memory that kernels ask for while they run (ADSM_ALLOC): a range of addresses of its own, of which only so
 * much is there as is used. All of it is given back when the launch ends. Any thread of a kernel.
 */
#ifndef ADSM_PROCESS_LENT_H
#define ADSM_PROCESS_LENT_H

#include <stdbool.h>
#include <stdint.h>

/* Where what is allocated lies; once, before all else. Without address space there is nothing. */
void adsm_lent_start(void);
void adsm_lent_range(uint64_t *ret_begin, uint64_t *ret_end);
/* What so many bytes take of the device's memory; 0: there is no such size. */
uint64_t adsm_lent_cost(uint64_t size);
/* @cost bytes, aligned to 64, undefined; 0: there is no room. */
uint64_t adsm_lent_alloc(uint64_t cost);
/* What it had taken; 0: it is none of these. */
uint64_t adsm_lent_free(uint64_t address);
/* All is gone: what all had taken. Nothing else may run. */
uint64_t adsm_lent_reset(void);

#endif
