/* SPDX-License-Identifier: MIT */
/* partition_call.h - the code that runs in calls between partitions and in returns; loading a partition. */
#pragma once

#include "partition_types.h"

/* partition_*.S call these: they return the callee's address, and the caller's. Registers with arguments were saved,
 * except vector registers, which nothing here may use: see partition_call.c. */
uintptr_t adsm_partition_push(struct adsm_partitions *partitions, uint32_t symbol, uintptr_t address);
uintptr_t adsm_partition_pop(struct adsm_partitions *partitions);

/* Load a partition into a sub-buffer, as calls do. For a benchmark. */
void adsm_partition_load(struct adsm_partitions *partitions, uint32_t partition, uint32_t buffer);

/* Call this after code was written and before it runs. */
void adsm_partition_serialise(void *code, size_t size);
