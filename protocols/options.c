/* SPDX-License-Identifier: MIT */
/* options.c - the values of all options of protocols; rows of those that bound what faults and sends take at once. */
#include "list.h"

struct adsm_protocol_options adsm_protocol_options;

struct adsm_option adsm_bound_rows[] = {
	{ "FAULT_AHEAD", "2M", "bytes from 0 to 1G",
	  "largest window that a fault in sequence opens or fetches at once; once reads have come so far, the next is "
	  "fetched meanwhile; 0: off",
	  ADSM_FIELD(adsm_protocol_options.fault_ahead), adsm_parse_number, 0, (uint64_t)1 << 30, .paper = "0" },
	{ "EVICT_BATCH", "2M", "bytes from 1 to 1G",
	  "how much is sent early at a time; 1: one block, closed by the writer",
	  ADSM_FIELD(adsm_protocol_options.evict_batch), adsm_parse_number, 1, (uint64_t)1 << 30, .paper = "1" },
	{ 0 }
};
