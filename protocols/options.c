/* SPDX-License-Identifier: MIT */
/* options.c - rows of the options of protocols, and of what bounds them. */
#include "protocol.h"

#include <errno.h>

struct adsm_protocol_options adsm_protocol_options;

static int parse_block_size(const struct adsm_option *row, const char *text, uint64_t ret_value[2])
{
	uint64_t value;

	if (adsm_scan_size(text, &value) || (value & (value - 1)))
		return -EINVAL;
	return adsm_parse_number(row, text, ret_value);
}

struct adsm_option adsm_protocol_rows[] = {
	{ "PROTOCOL", "rolling", "batch, lazy, rolling",
	  "the coherence protocol of objects that do not choose their own",
	  ADSM_FIELD(adsm_protocol_options.protocol), adsm_parse_word },
	{ "BLOCK_SIZE", "64K", "a power of two from 4K to 1G",
	  "bytes of a block, for rolling",
	  ADSM_FIELD(adsm_protocol_options.block_size), parse_block_size, 4096, (uint64_t)1 << 30 },
	{ "ROLLING_SIZE", "auto", "auto, or a number of blocks from 1",
	  "how many blocks may be Dirty on a device before the oldest is sent; auto: 2 per live object",
	  ADSM_FIELD(adsm_protocol_options.rolling_size), adsm_parse_number, 1, UINT32_MAX, .zero = "auto" },
	{ "FAULT_AHEAD", "2M", "bytes from 0 to 1G",
	  "largest window that a fault in sequence opens or fetches at once; once reads have come so far, the next is "
	  "fetched meanwhile; 0: off",
	  ADSM_FIELD(adsm_protocol_options.fault_ahead), adsm_parse_number, 0, (uint64_t)1 << 30, .paper = "0" },
	{ "EVICT_BATCH", "2M", "bytes from 1 to 1G",
	  "how much is sent early at a time; 1: one block, closed by the writer",
	  ADSM_FIELD(adsm_protocol_options.evict_batch), adsm_parse_number, 1, (uint64_t)1 << 30, .paper = "1" },
	{ 0 }
};
