/* SPDX-License-Identifier: MIT */
/* core/options.c - option rows of objects, and of memory that the CPU and a device share. */
#include "core/options.h"

#include <errno.h>
#include <string.h>

#include "base/os.h"

struct adsm_core_options adsm_core_options;

static int parse_arena(const struct adsm_option *row, const char *text, uint64_t ret_value[2])
{
	size_t n_zero = strlen(row->zero);
	uint64_t address = 0, size = 0;

	if (!strncmp(text, row->zero, n_zero))
		text += n_zero;
	else if (adsm_scan_digits(&text, 0, &address))
		return -EINVAL;
	if (*text == ',' ? adsm_scan_size(text + 1, &size) || size < row->min : *text)
		return -EINVAL;
	if (address > row->max || size > row->max || (address | size) % ADSM_PAGE_SIZE)
		return -EINVAL;
	ret_value[0] = address;
	ret_value[1] = size;
	return 0;
}

struct adsm_option adsm_touch_rows[] = {
	{ "TOUCH", "wait", "wait, error",
	  "effect of a faulting access to data that a running call uses; wait: the access waits until the call ends; "
	  "error: the thread gets SIGBUS",
	  ADSM_FIELD(adsm_core_options.touch), adsm_parse_index, .class = "general" },
	{ 0 }
};

struct adsm_option adsm_memory_rows[] = {
	{ "ARENA", "auto", "auto or an address, optionally with a size: 0x7e8000000000,64G or auto,64G; in whole pages",
	  "address range of objects; auto: the library chooses it",
	  ADSM_FIELD(adsm_core_options.arena), parse_arena, (uint64_t)1 << 20, (uint64_t)1 << 47, .zero = "auto",
	  .class = "general" },
	{ "KEEP", "256M", "bytes from 0 to 1024G",
	  "maximum bytes of freed objects that the library keeps for new objects; the limit holds for the host and "
	  "for each OpenCL or CUDA device",
	  ADSM_FIELD(adsm_core_options.keep), adsm_parse_number, 0, (uint64_t)1 << 40, .class = "general" },
	{ "OVERSUBSCRIBE", "on", "off, on",
	  "on: objects of a device may need more memory than it has, and some move to the host when a call needs "
	  "room; off: adsmAlloc() allocates device memory, and fails if the device is full; always off with "
	  "ADSM_PAPER=1, ADSM_EVICT_BATCH=1, unified memory, and where the driver chooses addresses",
	  ADSM_FIELD(adsm_core_options.oversubscribe), adsm_parse_index, .class = "general" },
	{ 0 }
};
