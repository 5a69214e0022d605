/* SPDX-License-Identifier: MIT */
/* options.c - the values of all options of protocols; rows of those that bound what faults and sends take at once. */
#include "list.h"

struct adsm_protocol_options adsm_protocol_options;

struct adsm_option adsm_bound_rows[] = {
	{ "FAULT_AHEAD", "2M", "bytes from 0 to 1G",
	  "maximum bytes that one fault opens or fetches if a thread accesses an object sequentially; reads that have "
	  "reached it also fetch the next window in the background; 0: off",
	  ADSM_FIELD(adsm_protocol_options.fault_ahead), adsm_parse_number, 0, (uint64_t)1 << 30, .paper = "0",
	  .class = "general", .expert = true },
	{ "EVICT_BATCH", "2M", "bytes from 1 to 1G",
	  "maximum bytes of Dirty blocks that the library sends early at a time; 1: one block at a time, and the "
	  "thread that writes closes its view",
	  ADSM_FIELD(adsm_protocol_options.evict_batch), adsm_parse_number, 1, (uint64_t)1 << 30, .paper = "1",
	  .class = "general", .expert = true },
	{ 0 }
};
