/* SPDX-License-Identifier: MIT */
/* blocks.h - the blocks of an object: their states, what their views permit, and who is at work on them. */
#ifndef ADSM_BLOCKS_H
#define ADSM_BLOCKS_H

#include "protocol.h"

#define ADSM_STREAMS 8			/* sequential accesses told apart in one object */

/* One access pattern that walks through an object: where it should fault next, what it opened last. */
struct adsm_stream {
	uint32_t next, window;		/* blocks */
};

struct adsm_blocks {
	const struct adsm_protocol *protocol;
	struct adsm_block *at;
	uint32_t n;
	unsigned shift;			/* a block has 1 << shift bytes */
	uint32_t n_in[ADSM_N_STATES];	/* blocks in each state */
	uint32_t open_first, open_end;	/* blocks outside are Invalid and closed */
	uint32_t n_busy, n_sending;	/* fetches, wanted ahead too, and fills; sends under way or queued */
	uint32_t n_holds;
	struct adsm_stream streams[ADSM_STREAMS];
	unsigned next_stream;
};

#endif
