/* SPDX-License-Identifier: MIT */
/* direct.h - atomic and volatile accesses: of device memory itself, of which this core's cache then has nothing. */
#ifndef ADSM_SCRATCHPAD_DIRECT_H
#define ADSM_SCRATCHPAD_DIRECT_H

#include <stdint.h>

#include "adsm_scratchpad.h"

/* As kernels call them: struct adsm_store says how. */
uint64_t adsm_direct_atomic(struct adsm_store *store, uint64_t op, uint64_t address, uint64_t size, uint64_t value);
uint64_t adsm_direct_exchange(struct adsm_store *store, uint64_t address, uint64_t size, uint64_t expected,
			      uint64_t value);

#endif
