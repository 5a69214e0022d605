/* SPDX-License-Identifier: MIT */
/*
 * partition.h - the partition manager: the code of an image (base/image.h) runs in a buffer that may be too small for
 * all of it (OPELL, section 4). Functions in different partitions call each other like any C functions. During the call
 * the manager loads the callee's partition into a sub-buffer; at the return it loads the caller's partition again, into
 * the sub-buffer that it called from.
 *
 * A manager belongs to one core: one thread at a time uses it. Calls follow the ABI: arguments on the stack and in all
 * registers arrive unchanged, and so do results. Exceptions and longjmp() must not leave a partition, except with
 * adsm_partition_reset().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "partition_types.h"

#define ADSM_PARTITION_DEPTH 256u	/* default size of the partition stack */

struct adsm_partition_config {
	const struct adsm_image *image;	/* checked; the image and its bytes must outlive the manager */
	size_t buffer_size;		/* bytes for all code, resident and loaded; 0: the smallest possible */
	uint32_t n_buffers;		/* sub-buffers: 1, 2, 4 … 64 */
	uint32_t depth;			/* maximum number of open calls between partitions; 0: ADSM_PARTITION_DEPTH */
	enum adsm_policy_kind policy;
	bool victim;			/* keep a victim entry when there is something to put into it */
	bool all_registers;		/* calls and returns save all registers, not only those that are necessary */
	void *context;			/* for the two functions */
	/* The address of a function or variable that is not in the image; NULL: unknown name. */
	void *(*resolve)(void *context, const char *name);
	/* A call cannot continue: must end the process, or leave by longjmp(). */
	void (*fail)(void *context, const char *text);
};

/*
 * Create a manager: resident code and stubs are loaded, partitions are not. @ret_text has ADSM_PARTITION_TEXT bytes.
 * Returns 0, or with a text:
 * - -EINVAL: invalid configuration
 * - -ENOSPC: the buffer is too small; the text has the sizes
 * - -ENOENT: a name that resolve() does not know
 * - -ENOMEM: no memory
 * - -EACCES: the system permits no executable memory
 */
int adsm_partition_create(const struct adsm_partition_config *config, struct adsm_partitions **ret_partitions,
			  char *ret_text);
/* Bytes of a local store that such a manager needs besides its buffer: partition stack, state, list of partitions,
 * victim entry. */
size_t adsm_partition_beside(const struct adsm_partition_config *config);
/* Of these bytes, those of the partition stack, and of the victim entry. */
size_t adsm_partition_stack(const struct adsm_partition_config *config);
size_t adsm_partition_victim_needs(const struct adsm_partition_config *config);
/* Bytes of the smallest buffer for such a manager. */
size_t adsm_partition_needs(const struct adsm_partition_config *config);
/* NULL is valid. None of its code may run. */
void adsm_partition_destroy(struct adsm_partitions *partitions);

/* The address of a function, which this core may call with the function's type. NULL: the image has no such function,
 * or only the image itself calls it. */
void *adsm_partition_function(const struct adsm_partitions *partitions, const char *name);

struct adsm_partition_counters adsm_partition_counters(const struct adsm_partitions *partitions);
enum adsm_policy_state adsm_partition_state(const struct adsm_partitions *partitions, uint32_t partition);
/* Bytes of the code buffer. */
size_t adsm_partition_size(const struct adsm_partitions *partitions);
/* Bytes of the victim entry; 0 if there is none. */
size_t adsm_partition_victim_size(const struct adsm_partitions *partitions);
/* Free the victim entry, because its memory is needed; @allowed: there may be a new one later. Not while a call between
 * partitions is in progress; functions that a partition calls may call this. */
void adsm_partition_victim(struct adsm_partitions *partitions, bool allowed);
/* The running code was left permanently, by a jump out of it. */
void adsm_partition_reset(struct adsm_partitions *partitions);
/* Reset the counters; loaded partitions stay. Nothing runs. */
void adsm_partition_count(struct adsm_partitions *partitions);
/* From now on, record when partitions are loaded; NULL: stop that. Nothing runs. */
void adsm_partition_watch(struct adsm_partitions *partitions, struct adsm_spans *spans);
/* From now on, record calls and returns in @log; NULL: stop that. Neither the log nor the manager has any partition
 * loaded. Nothing runs. The log does not record adsm_partition_victim() and adsm_partition_forget(). */
void adsm_partition_record(struct adsm_partitions *partitions, struct adsm_policy_log *log);
/* Empty all sub-buffers, and reset the counters. Nothing runs. */
void adsm_partition_empty(struct adsm_partitions *partitions);
/* The function whose code is at this address now; NULL: none of the image. May be called in signal handlers. */
const char *adsm_partition_where(const struct adsm_partitions *partitions, uintptr_t address);

/* Remove a partition from its sub-buffer. */
void adsm_partition_forget(struct adsm_partitions *partitions, uint32_t partition);
