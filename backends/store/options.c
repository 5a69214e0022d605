/* SPDX-License-Identifier: MIT */
/* store/options.c - rows of the options of local stores. */
#include "options.h"

#include <errno.h>
#include <string.h>

#include "layout.h"
#include "list.h"

#define MAX_PAGES 4096

struct adsm_store_options adsm_store_options;

static int parse_page(const struct adsm_option *row, const char *text, uint64_t ret_value[2])
{
	int ret = adsm_parse_number(row, text, ret_value);

	return ret ? ret : adsm_is_power(ret_value[0], row->min, row->max) ? 0 : -EINVAL;
}

int adsm_parse_power(const struct adsm_option *row, const char *text, uint64_t ret_value[2])
{
	uint64_t n = 0;

	if (strcmp(text, "auto") &&
	    (adsm_scan_digits(&text, 10, &n) || *text || !adsm_is_power(n, row->min, row->max)))
		return -EINVAL;
	ret_value[0] = n;
	return 0;
}

struct adsm_option adsm_store_rows[] = {
	{ "SCRATCHPAD_SIZE", "256K", "bytes from 16K to 8M",
	  "scratchpad: bytes of the local store of a core, including its stack, cache and code buffer",
	  ADSM_FIELD(adsm_store_options.size), adsm_parse_number, ADSM_SCRATCHPAD_MIN_SIZE,
	  ADSM_SCRATCHPAD_MAX_SIZE, .class = "local store" },
	{ "SCRATCHPAD_CODE", "64K", "bytes up to 8M",
	  "scratchpad: bytes of the code buffer of a core, for all functions of a kernel or for some of its "
	  "partitions",
	  ADSM_FIELD(adsm_store_options.code), adsm_parse_number, 0, ADSM_SCRATCHPAD_MAX_SIZE, .class = "local store" },
	{ "TASK_PAGE", "16K", "2K, 4K, 8K, 16K or 32K bytes",
	  "scratchpad: bytes of a page; workers of tasks copy pages into their local stores and send them back",
	  ADSM_FIELD(adsm_store_options.page), parse_page, ADSM_SCRATCHPAD_MIN_PAGE, ADSM_SCRATCHPAD_MAX_PAGE,
	  .class = "local store" },
	{ "TASK_PAGES", "auto", "auto, or a power of two up to 4096",
	  "scratchpad: number of pages in the local store of a worker; auto: the largest power of two that leaves at "
	  "least a quarter of the store, without its code buffer, for the stack",
	  ADSM_FIELD(adsm_store_options.n_pages), adsm_parse_power, 1, MAX_PAGES, .zero = "auto",
	  .class = "local store", .expert = true },
	{ 0 }
};
