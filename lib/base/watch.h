/* SPDX-License-Identifier: MIT */
/*
 * watch.h - where in the library's memory its counters, devices and objects are, for other processes that read this
 * memory: adsm-info --watch, and the debugger's adsm-gdb.py.
 *
 * The table is a constant in the library's data. A reader finds it by its first bytes. It costs the program nothing,
 * and no code of the library uses it.
 */
#pragma once

#include <stdint.h>

#define ADSM_WATCH_MAGIC "adsm-watch-table"	/* without the NUL: 16 bytes */
#define ADSM_WATCH_VERSION 1		/* changes if the meaning of a field changes */
#define ADSM_WATCH_ALIGNMENT 64

/*
 * The fields. Those that end in _at are addresses; those that end in _size are bytes; all others are offsets of a
 * member in the structure that their name begins with. Counters are those of ADSM_STATS in adsm.h.
 */
#define ADSM_WATCH_FIELDS(X)									\
	X(version)			/* ADSM_WATCH_VERSION */				\
	X(names_at)			/* the names of all fields, separated by blanks */	\
	X(counter_names_at)		/* the names of all counters */				\
	X(total_at)			/* counters of the process */				\
	X(n_homes_at)			/* int32_t: the number of devices */			\
	X(homes_at) X(home_size)	/* an array */						\
	X(home_index) X(home_device) X(home_last_call) X(home_ended)				\
	X(device_name) X(device_lost)	/* text; a pointer, NULL if it is not lost */		\
	X(device_backend) X(backend_name)	/* pointers */					\
	X(n_slots_at)			/* uint32_t: the number of objects, live or not */	\
	X(chunks_at) X(chunk_slots)	/* pointers to arrays of that number of objects */	\
	X(object_size)										\
	X(object_live) X(object_home) X(object_start) X(object_bytes) X(object_generation)	\
	X(object_device_only) X(object_name) X(object_counters)					\
	X(object_n_blocks) X(object_block_shift) X(object_protocol)				\
	X(object_n_in) X(object_lacking) X(object_unsent)	/* n_in: uint32_t for each state */	\
	X(object_blocks)		/* a pointer to an array */				\
	X(block_size) X(block_state)	/* the lowest two bits of that byte */			\
	X(protocol_name)		/* a pointer */

struct adsm_watch {
	char magic[sizeof(ADSM_WATCH_MAGIC) - 1];
#define ADSM_WATCH_FIELD(name) uint64_t name;
	ADSM_WATCH_FIELDS(ADSM_WATCH_FIELD)
#undef ADSM_WATCH_FIELD
};
