/* SPDX-License-Identifier: MIT */
/* direct.h - atomic and volatile accesses: of device memory itself, of which this core's cache then has nothing. */
#ifndef ADSM_SCRATCHPAD_DIRECT_H
#define ADSM_SCRATCHPAD_DIRECT_H

#include <stdbool.h>
#include <stdint.h>

#include "adsm_scratchpad.h"

/* What is said of an atomic operation that is not, of which adsm_direct_may() says no. */
#define ADSM_DIRECT_UNALIGNED "an atomic operation on an address that is not aligned to its size,"

bool adsm_direct_may(uint64_t op, uint64_t address, uint64_t size);
/* An operation on bytes of memory: what was there before. */
uint64_t adsm_direct_operate(uint64_t op, uint8_t *bytes, uint64_t size, uint64_t value);
uint64_t adsm_direct_swap(uint8_t *bytes, uint64_t size, uint64_t expected, uint64_t value);

/* As kernels call them: struct adsm_store says how. */
uint64_t adsm_direct_atomic(struct adsm_store *store, uint64_t op, uint64_t address, uint64_t size, uint64_t value);
uint64_t adsm_direct_exchange(struct adsm_store *store, uint64_t address, uint64_t size, uint64_t expected,
			      uint64_t value);

#endif
