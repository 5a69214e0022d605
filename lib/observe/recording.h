/* SPDX-License-Identifier: MIT */
/*
 * recording.h - recordings (ADSM_RECORD): files with all that the program did with its objects, which adsm-replay
 * replays with other settings. docs/observe-recordings.md describes the format.
 *
 * A file is a header of ADSM_RECORDING_HEADER bytes, then events in their order. Events of kind 0 have not been
 * written.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ADSM_RECORDING_MAGIC "ADSMREC"
#define ADSM_RECORDING_VERSION 1u
#define ADSM_RECORDING_HEADER 4096u	/* bytes */
#define ADSM_RECORDING_ORDER 0x01020304u	/* as the program's processor stores it */
#define ADSM_RECORDING_PROTOCOLS 8

struct adsm_recording_header {
	char magic[8];
	uint32_t version;
	uint32_t order;			/* ADSM_RECORDING_ORDER */
	uint32_t header_size, event_size;
	uint32_t page_size;
	uint32_t library;		/* ADSM_VERSION */
	uint32_t pid;
	uint32_t paper;			/* ADSM_PAPER */
	/* the options of protocols */
	uint64_t block_size, rolling_size, fault_ahead, evict_batch;
	char protocol[16];		/* ADSM_PROTOCOL */
	char protocols[ADSM_RECORDING_PROTOCOLS][16];	/* all protocols, as MADE numbers them */
	char program[256];
};

enum adsm_recording_kind {
	ADSM_REC_NONE = 0,
	ADSM_REC_MADE = 1,		/* a: size; b: adsm_recording_made(); detail: ADSM_REC_MADE_* */
	ADSM_REC_NAMED = 2,		/* a, b: 16 bytes of the name; detail: which 16 bytes */
	ADSM_REC_TOUCH = 3,		/* the CPU uses a page for the first time since the library closed it;
					   a: offset of the page; detail: 1 write */
	ADSM_REC_ACCESS = 4,		/* it depends on blocks; a, b: bytes; detail: enum adsm_block_event */
	ADSM_REC_INPUT = 5, ADSM_REC_OUTPUT = 6,	/* a, b: bytes; detail: 1 beside another input */
	ADSM_REC_BULK_LIMITS = 7,	/* of the next BULK; a: device_min; b: step of struct adsm_bulk */
	ADSM_REC_BULK = 8,		/* a: offset; b: size; detail: ADSM_REC_BULK_* */
	ADSM_REC_BULK_END = 9,
	ADSM_REC_DEVICE_WROTE = 10,	/* a, b: bytes */
	ADSM_REC_INEXACT = 11,		/* from here on the object's replay is only approximate */
	ADSM_REC_CALLED = 12,		/* detail: enum adsm_block_event; b: the call's number */
	ADSM_REC_CALLED_ALL = 13,	/* of a device; b: the call's number */
	ADSM_REC_SYNC = 14,		/* of a device; a: all calls to this one have ended; b: only of this
					   call, or 0 */
	ADSM_REC_EVICTED = 15,		/* a, b: bytes that were sent early */
	ADSM_REC_ASSIGNED = 16,		/* detail: 1: unnamed calls no longer use the object, 0: they do */
	ADSM_REC_COUNTED = 17,		/* the object's counters; detail: which pair; a, b: adsm_recording_counters */
	ADSM_REC_FREED = 18,
	ADSM_REC_RESET = 19,		/* adsmStatsReset() */
	ADSM_REC_UNRECORDED = 20,	/* there are objects that are not recorded; a: how many */
	ADSM_REC_END = 21,		/* the program has ended the recording */
	ADSM_REC_N
};

enum {
	ADSM_REC_MADE_POPULATED = 1,	/* the view is readable from the beginning */
	ADSM_REC_MADE_UNIFIED = 2,	/* the device uses the CPU's memory */
	ADSM_REC_MADE_DEVICE_ONLY = 4,
	ADSM_REC_MADE_UNDETECTED = 8,	/* the library does not detect accesses: only counters are recorded */
	ADSM_REC_MADE_SERVICE = 16,	/* helper threads copy for the device */
};

enum {
	ADSM_REC_BULK_INPUT = 1, ADSM_REC_BULK_FILL = 2, ADSM_REC_BULK_STRICT = 4,
	ADSM_REC_BULK_LIBC = 8,		/* the library leaves it to the C library; TOUCHes follow */
};

struct adsm_recording_event {
	uint8_t kind, detail;
	uint16_t thread;		/* the last 16 bits of its id */
	uint32_t object;		/* its id in the report, from 1; or a device */
	uint64_t a, b;
};

/* The field b of MADE. */
static inline uint64_t adsm_recording_made(unsigned block_shift, unsigned device, unsigned protocol)
{
	return block_shift | device << 8 | protocol << 16;
}

/* Pairs of counters, in the order of COUNTED's detail. */
#define ADSM_RECORDING_COUNTERS(X) \
	X(0, h2d_bytes, d2h_bytes) X(1, h2d_transfers, d2h_transfers) X(2, read_faults, write_faults) \
	X(3, signals, ahead_blocks) X(4, evictions, const_bytes)
