/* SPDX-License-Identifier: MIT */
/*
 * crc.h - centralized release consistency (COMIC++, section 3): what who has main memory does for workers whose local
 * stores have copies of its pages. It copies them, compares what workers have written with a twin and merges it byte by
 * byte, and remembers who changed a page last: that is all of the write notices that an acquire needs.
 *
 * Nothing here knows locks, threads or messages. Calls of different workers may run at once; those of one do not.
 * "Since" is the clock when a copy was made: it has what was merged up to then.
 */
#ifndef ADSM_SCRATCHPAD_CRC_H
#define ADSM_SCRATCHPAD_CRC_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ADSM_CRC_SPANS 4
#define ADSM_CRC_BLOCKS 64		/* in which a page is looked at, where accesses are counted */

/* Who has changed a page: the last one and when, and when anybody else has. */
struct adsm_crc_entry {
	uint64_t last, other;
	uint32_t writer;		/* from 1; 0: nobody */
	uint32_t n_false, run;		/* how often it was given up without need in a task, and in which */
};

/* The same of its blocks: the clock << 16 | writer, from 1; of the others the last one. Under the page's mutex. */
struct adsm_crc_blocks { struct adsm_crc_block { uint64_t last, other; } of[ADSM_CRC_BLOCKS]; };

/* Memory that workers reach by these addresses. */
struct adsm_crc_span {
	uint64_t begin, end;		/* end: 0: there is none */
	uint8_t *bytes;
	const _Atomic uint64_t *live;	/* of its pages of 4 KiB, a bit each: those that are somebody's; NULL: all */
	struct adsm_crc_entry *entries;	/* by page, from the one of begin on; NULL: it is never written */
	struct adsm_crc_blocks *blocks;	/* NULL: not counted */
};

/* The page that was given up without need most often in a task. */
struct adsm_crc_worst { uint64_t address; uint32_t n, worker, writer; };

struct adsm_crc {
	uint32_t page, page_shift;
	struct adsm_crc_span spans[ADSM_CRC_SPANS];
	_Atomic uint64_t clock;		/* ticks with each change */
	pthread_mutex_t merging[16];	/* by page */
	struct adsm_crc_worst worst;	/* under the first of these */
	uint32_t run;
};

/* @page: a power of two, 64 at least. There is no memory yet. */
void adsm_crc_init(struct adsm_crc *crc, uint32_t page);
/* Tables for a span that workers write. @counted: blocks, too. -ENOMEM. They stay. */
int adsm_crc_write_span(struct adsm_crc *crc, struct adsm_crc_span *span, bool counted);
/* The span of @size bytes from @address on; NULL: there is none, or they may not be written. */
struct adsm_crc_span *adsm_crc_find(struct adsm_crc *crc, uint64_t address, uint64_t size, bool write);

/* R1: a copy of the page at @address, as far as there is one. Returns since when it is. */
uint64_t adsm_crc_fetch(struct adsm_crc *crc, uint64_t address, uint8_t *to);
/* R2: what the worker will have written is all that will differ from this: its own copy as it is before. */
void adsm_crc_twin(const struct adsm_crc *crc, const uint8_t *copy, uint8_t *twin);
/*
 * R3, R5: what differs from the twin goes into the page, no other byte does; and the copy, as it is now, is the twin of
 * what comes. Returns which blocks differed, a bit for each.
 */
uint64_t adsm_crc_merge(struct adsm_crc *crc, uint32_t worker, uint64_t address, const uint8_t *copy, uint8_t *twin);
/* The page was changed by other means, in these blocks. */
void adsm_crc_note(struct adsm_crc *crc, uint32_t worker, uint64_t address, uint64_t blocks);
/* R4: has anybody but the worker changed the page since? */
bool adsm_crc_is_stale(struct adsm_crc *crc, uint32_t worker, uint64_t address, uint64_t since);
/*
 * Of one that is: none of @touched, blocks that the worker has used, has changed: they share the page, and no data.
 * Counted where it has blocks; else false.
 */
bool adsm_crc_shares_falsely(struct adsm_crc *crc, uint32_t worker, uint64_t address, uint64_t since,
			     uint64_t touched);

#endif
