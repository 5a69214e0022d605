/* SPDX-License-Identifier: MIT */
/* partition_call.h - what happens in calls between partitions, and in their returns; loads. */
#ifndef ADSM_SCRATCHPAD_PARTITION_CALL_H
#define ADSM_SCRATCHPAD_PARTITION_CALL_H

#include "partition_types.h"

/*
 * Called by partition_*.S: the callee's address, and the caller's. Registers with arguments were saved, but for the
 * vectors', which nothing here may touch: partition_call.c is compiled so that it does not, and calls nothing else.
 */
uintptr_t adsm_partition_push(struct adsm_partitions *partitions, uint32_t symbol, uintptr_t address);
uintptr_t adsm_partition_pop(struct adsm_partitions *partitions);

/* Load a partition into a sub-buffer, as calls do: the time that takes is one of the benchmarks. */
void adsm_partition_load(struct adsm_partitions *partitions, uint32_t partition, uint32_t buffer);
/* Copy bytes, without a vector register. */
void adsm_partition_copy(void *to, const void *from, size_t size);

/* What comes after bytes of code were written and before they run. */
void adsm_partition_serialise(void *code, size_t size);

#endif
