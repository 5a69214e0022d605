/* SPDX-License-Identifier: MIT */
/*
 * partition.h - the partition manager: code of an image (base/image.h) runs in a buffer that need not hold all of it
 * (OPELL, section 4). Functions in different partitions call each other as any C functions do; on the way the manager
 * brings the callee's partition into a sub-buffer and, at the return, the caller's back into the one it called from.
 *
 * A manager belongs to one core: one thread at a time. What is said here of registers is the ABI's: arguments on the
 * stack and in all registers arrive where they were put, and so do results. No exceptions and no longjmp() out of a
 * partition, but for adsm_partition_reset().
 */
#ifndef ADSM_SCRATCHPAD_PARTITION_H
#define ADSM_SCRATCHPAD_PARTITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "partition_types.h"

#define ADSM_PARTITION_DEPTH 256u	/* of the partition stack, where nothing else is said */

struct adsm_partition_config {
	const struct adsm_image *image;	/* checked; it and its bytes outlive the manager */
	size_t buffer_size;		/* bytes for all code, resident and loaded; 0: as many as fit the largest */
	uint32_t n_buffers;		/* sub-buffers: 1, 2, 4 … 64 */
	uint32_t depth;			/* calls between partitions that may be open at once; 0: ADSM_PARTITION_DEPTH */
	enum adsm_policy_kind policy;
	bool victim;			/* have a victim entry when there is something to put in */
	void *context;			/* of the functions */
	/* The address of what is not in the image, a function or a variable; NULL: there is no such. */
	void *(*resolve)(void *context, const char *name);
	/* A call that cannot go on, in the midst of it: ends the process, or leaves by longjmp(). */
	void (*fail)(void *context, const char *text);
};

/*
 * Create a manager: resident code and stubs are loaded, partitions are not. -EINVAL (a configuration that cannot be),
 * -ENOSPC (the buffer is too small: the text has the sizes), -ENOENT (an import that nobody has), -ENOMEM, -EACCES (the
 * system gives no memory that may be executed); @ret_text has ADSM_PARTITION_TEXT bytes.
 */
int adsm_partition_create(const struct adsm_partition_config *config, struct adsm_partitions **ret_partitions,
			  char *ret_text);
/* Bytes of a local store that such a manager has beside its buffer: partition stack, tables, the victim entry. */
size_t adsm_partition_beside(const struct adsm_partition_config *config);
/* Bytes of the smallest buffer that such a manager has room in. */
size_t adsm_partition_needs(const struct adsm_partition_config *config);
/* NULL is fine. None of its code runs. */
void adsm_partition_destroy(struct adsm_partitions *partitions);

/*
 * The address of a function, which may be called by this core as one of that type. NULL: the image has no such
 * function, or it is called only from inside.
 */
void *adsm_partition_function(const struct adsm_partitions *partitions, const char *name);

struct adsm_partition_counters adsm_partition_counters(const struct adsm_partitions *partitions);
enum adsm_policy_state adsm_partition_state(const struct adsm_partitions *partitions, uint32_t partition);
/* Bytes of the code buffer. */
size_t adsm_partition_size(const struct adsm_partitions *partitions);
/* Bytes of the victim entry, while there is one. */
size_t adsm_partition_victim_size(const struct adsm_partitions *partitions);
/*
 * Tear the victim entry down, because its memory is wanted; @allowed: there may be a new one later. Not while a call
 * between partitions is under way; what a partition calls may call this.
 */
void adsm_partition_victim(struct adsm_partitions *partitions, bool allowed);
/* What was running has been left for good, by a jump out of it. */
void adsm_partition_reset(struct adsm_partitions *partitions);
/* The counters begin at 0, and what is loaded stays. Nothing runs. */
void adsm_partition_count(struct adsm_partitions *partitions);
/* From now on it is noted when partitions are loaded; NULL: no longer. Nothing runs. */
void adsm_partition_watch(struct adsm_partitions *partitions, struct adsm_spans *spans);
/*
 * From now on calls and returns are noted, by @log, in which nothing is loaded, as in the manager; NULL: no longer.
 * Nothing runs. What is noted knows nothing of adsm_partition_victim() and _forget().
 */
void adsm_partition_record(struct adsm_partitions *partitions, struct adsm_policy_log *log);
/* All sub-buffers are empty from now on; the counters begin at 0. Nothing runs. */
void adsm_partition_empty(struct adsm_partitions *partitions);
/*
 * The function that the code at this address belongs to just now; NULL: none of the image's. For a handler of signals.
 */
const char *adsm_partition_where(const struct adsm_partitions *partitions, uintptr_t address);

/* A partition is in no sub-buffer any more. */
void adsm_partition_forget(struct adsm_partitions *partitions, uint32_t partition);

#endif
