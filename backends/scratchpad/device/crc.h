/* SPDX-License-Identifier: MIT */
/*
 * crc.h - centralized release consistency (CRC; COMIC++, section 3): the side of main memory, for workers that have
 * copies of its pages in their local stores. It copies pages to workers, compares what they have written with a twin,
 * merges that byte by byte, and records who changed a page last. These records are all write notices that an acquire
 * needs.
 *
 * It knows no locks, threads or messages. Different workers may call it at the same time; a worker makes one call at a
 * time. "Since" is the clock's value when a copy was made: the copy contains what was merged up to then.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ADSM_CRC_SPANS 4
#define ADSM_CRC_BLOCKS 64		/* parts of a page that are observed separately, if accesses are counted */

/* Changes of a page: the last one, with its writer, and the last one by any other worker. */
struct adsm_crc_entry {
	uint64_t last, other;
	uint32_t writer;		/* number + 1; 0: no worker */
	uint32_t n_false, run;		/* how often it was given up in vain in a task, and in which task */
};

/* The same for its blocks: clock << 16 | writer + 1; and the last change by another. The page's mutex protects it. */
struct adsm_crc_blocks { struct adsm_crc_block { uint64_t last, other; } of[ADSM_CRC_BLOCKS]; };

/* Memory that workers access by these addresses. */
struct adsm_crc_span {
	uint64_t begin, end;		/* end 0: unused entry */
	uint8_t *bytes;
	const _Atomic uint64_t *live;	/* a bit for each page of 4 KiB: is it allocated? NULL: all are */
	struct adsm_crc_entry *entries;	/* one for each page from that of begin on; NULL: read-only */
	struct adsm_crc_blocks *blocks;	/* NULL: not counted */
};

/* The page that was given up in vain most often in a task. */
struct adsm_crc_worst { uint64_t address; uint32_t n, worker, writer; };

struct adsm_crc {
	uint32_t page, page_shift;
	struct adsm_crc_span spans[ADSM_CRC_SPANS];
	_Atomic uint64_t clock;		/* is increased by each change */
	pthread_mutex_t merging[16];	/* selected by page */
	struct adsm_crc_worst worst;	/* protected by merging[0] */
	uint32_t run;
};

/* @page: a power of two, at least 64. Initially there are no spans. */
void adsm_crc_init(struct adsm_crc *crc, uint32_t page);
/* Make the tables of a span that workers write. @counted: also for blocks. They are never freed. Returns 0 or
 * -ENOMEM. */
int adsm_crc_write_span(struct adsm_crc *crc, struct adsm_crc_span *span, bool counted);
/* The span that contains @size bytes from @address on; NULL: none, or they may not be written. */
struct adsm_crc_span *adsm_crc_find(struct adsm_crc *crc, uint64_t address, uint64_t size, bool write);

/* R1: copy the page at @address, as far as it exists. Returns the time of the copy. */
uint64_t adsm_crc_fetch(struct adsm_crc *crc, uint64_t address, uint8_t *to);
/* R2: copy the worker's page before it writes: what differs from this twin later is what it has written. */
void adsm_crc_twin(const struct adsm_crc *crc, const uint8_t *copy, uint8_t *twin);
/* R3, R5: write the bytes that differ from the twin to the page, and no others. The copy becomes the twin for what
 * follows. Returns a bit for each block that differed. */
uint64_t adsm_crc_merge(struct adsm_crc *crc, uint32_t worker, uint64_t address, const uint8_t *copy, uint8_t *twin);
/* The page was changed in other ways, in these blocks. */
void adsm_crc_note(struct adsm_crc *crc, uint32_t worker, uint64_t address, uint64_t blocks);
/* R4: has another worker changed the page since then? */
bool adsm_crc_is_stale(struct adsm_crc *crc, uint32_t worker, uint64_t address, uint64_t since);
/* For a stale page: true if none of the blocks that the worker has used (@touched) has changed: the workers share the
 * page, but no data. Counts that. Returns false if the span has no blocks. */
bool adsm_crc_shares_falsely(struct adsm_crc *crc, uint32_t worker, uint64_t address, uint64_t since,
			     uint64_t touched);
