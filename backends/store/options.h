/* SPDX-License-Identifier: MIT */
/* store/options.h - options of cores with a local store, for all backends that have them. */
#pragma once

#include "base/options.h"

#include <stdbool.h>

struct adsm_store_options {
	uint64_t size;			/* ADSM_SCRATCHPAD_SIZE: bytes of a local store */
	uint64_t code;			/* ADSM_SCRATCHPAD_CODE: bytes of the code buffer */
	uint64_t page;			/* ADSM_TASK_PAGE: bytes of a page in tasks */
	uint64_t n_pages;		/* ADSM_TASK_PAGES: pages in a worker's cache; 0: as many as fit */
};

extern struct adsm_store_options adsm_store_options;

static inline bool adsm_is_power(uint64_t n, uint64_t min, uint64_t max)
{
	return n >= min && n <= max && !(n & (n - 1));
}

/* A parser: a power of two within the row's limits, or "auto", which is 0. */
int adsm_parse_power(const struct adsm_option *row, const char *text, uint64_t ret_value[2]);
