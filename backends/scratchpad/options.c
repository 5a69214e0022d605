/* SPDX-License-Identifier: MIT */
/* scratchpad/options.c - rows of the options of the scratchpad backend. */
#include "options.h"

#include <errno.h>
#include <string.h>

#include "store/layout.h"
#include "store/options.h"
#include "list.h"
#include "shared.h"

#define MAX_BUFFERS 64

struct adsm_scratchpad_options adsm_scratchpad_options;

/* SETSxWAYSxLINE */
static int parse_cache(const struct adsm_option *row, const char *text, uint64_t ret_value[2])
{
	uint64_t n[3];

	for (int i = 0; i < 3; i++) {
		if (i && *text++ != 'x')
			return -EINVAL;
		if (adsm_scan_digits(&text, 10, &n[i]))
			return -EINVAL;
	}
	if (*text || !adsm_is_power(n[0], 1, ADSM_SCRATCHPAD_MAX_SETS) ||
	    !adsm_is_power(n[1], 1, ADSM_SCRATCHPAD_MAX_WAYS) ||
	    !adsm_is_power(n[2], ADSM_SCRATCHPAD_MIN_LINE, ADSM_SCRATCHPAD_MAX_LINE))
		return -EINVAL;
	ret_value[0] = n[0] << 32 | n[1];
	ret_value[1] = n[2];
	return 0;
}

static int parse_dirty(const struct adsm_option *row, const char *text, uint64_t ret_value[2])
{
	uint64_t n;

	if (adsm_scan_digits(&text, 10, &n) || *text || !adsm_is_power(n, 1, ADSM_SCRATCHPAD_MIN_LINE))
		return -EINVAL;
	ret_value[0] = n;
	return 0;
}

struct adsm_option adsm_scratchpad_rows[] = {
	{ "SCRATCHPAD_CORES", "auto", "auto, or a number from 1 to 256",
	  "scratchpad: number of cores with a local store; auto: one for each processor",
	  ADSM_FIELD(adsm_scratchpad_options.cores), adsm_parse_number, 1, ADSM_SCRATCHPAD_MAX_CORES, .zero = "auto",
	  .class = "local store" },
	{ "SCRATCHPAD_CACHE", "64x4x128",
	  "SETSxWAYSxLINE, powers of two: up to 65536 sets, up to 64 ways, lines of 16 to 4096 bytes",
	  "scratchpad: geometry of a core's software cache, through which kernels access objects",
	  ADSM_FIELD(adsm_scratchpad_options.cache), parse_cache, .class = "local store" },
	{ "SCRATCHPAD_DIRTY", "1", "1, 2, 4, 8 or 16 bytes",
	  "scratchpad: number of bytes for each dirty bit of a line; if it is more than 1, stores of several cores to "
	  "the bytes of one bit may be lost",
	  ADSM_FIELD(adsm_scratchpad_options.dirty), parse_dirty, .class = "local store", .expert = true },
	{ "SCRATCHPAD_PARTITIONS", "needed", "needed, always",
	  "scratchpad: when a kernel whose module has partitions of code runs in them; needed: if the code buffer is "
	  "too small for all of its code; always: in every call",
	  ADSM_FIELD(adsm_scratchpad_options.partitions), adsm_parse_index, .class = "local store", .expert = true },
	{ "SCRATCHPAD_BUFFERS", "auto", "auto, 1, 2, 4, 8, 16, 32 or 64",
	  "scratchpad: number of sub-buffers for partitions; auto: as many as the code buffer has room for",
	  ADSM_FIELD(adsm_scratchpad_options.buffers), adsm_parse_power, 1, MAX_BUFFERS, .zero = "auto",
	  .class = "local store", .expert = true },
	{ "SCRATCHPAD_POLICY", "lru", "modulus, lru",
	  "scratchpad: which partition is evicted; modulus: the next one in turn; lru: the least recently used one",
	  ADSM_FIELD(adsm_scratchpad_options.policy), adsm_parse_index, .class = "local store", .expert = true },
	{ "SCRATCHPAD_VICTIM", "off", "off, on",
	  "scratchpad: whether a core keeps one evicted partition to which a function will return",
	  ADSM_FIELD(adsm_scratchpad_options.victim), adsm_parse_index, .class = "local store", .expert = true },
	{ "SCRATCHPAD_REGISTERS", "needed", "needed, all",
	  "scratchpad: which registers calls between partitions save; needed: those that the call may change; all: "
	  "every register, as in the first version that the paper on OPELL measures",
	  ADSM_FIELD(adsm_scratchpad_options.registers), adsm_parse_index, .class = "local store", .expert = true },
	{ "SCRATCHPAD_NOTES", "off", "off, or a file",
	  "scratchpad: file that gets the number of calls between partitions, for adsmcc --partition profile:FILE",
	  ADSM_FIELD(adsm_scratchpad_options.notes), adsm_parse_text, .zero = "off",
	  .class = "local store", .expert = true },
	{ "SCRATCHPAD_PREFETCH", "on", "off, on",
	  "scratchpad: whether a core fetches the next line ahead if a kernel misses lines in sequence",
	  ADSM_FIELD(adsm_scratchpad_options.prefetch), adsm_parse_index, .paper = "off",
	  .class = "local store", .expert = true },
	{ "SCRATCHPAD_MEMORY_SIZE", "auto", "auto, or bytes up to 65536G",
	  "scratchpad: bytes of device memory; auto: half of the available memory",
	  ADSM_FIELD(adsm_scratchpad_options.memory_size), adsm_parse_number, 0, (uint64_t)1 << 46, .zero = "auto",
	  .class = "local store" },
	{ "SCRATCHPAD_DEVICE", "auto", "auto, or a file",
	  "scratchpad: file of the device's program; auto: the program installed with the library",
	  ADSM_FIELD(adsm_scratchpad_options.device), adsm_parse_text, .zero = "auto",
	  .class = "local store", .expert = true },
	{ 0 }
};
