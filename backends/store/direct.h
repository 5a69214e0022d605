/* SPDX-License-Identifier: MIT */
/* direct.h - atomic and volatile accesses, which use device memory itself. This core's cache then drops its copy. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "adsm_scratchpad.h"

/* The error text for an operation that adsm_direct_may() rejects. */
#define ADSM_DIRECT_UNALIGNED "an atomic operation at an address that is not a multiple of its size"

bool adsm_direct_may(uint64_t op, uint64_t address, uint64_t size);
/* Operate on bytes of memory. Returns the previous value. */
uint64_t adsm_direct_operate(uint64_t op, uint8_t *bytes, uint64_t size, uint64_t value);
uint64_t adsm_direct_swap(uint8_t *bytes, uint64_t size, uint64_t expected, uint64_t value);

/* For kernels: see struct adsm_store. */
uint64_t adsm_direct_atomic(struct adsm_store *store, uint64_t op, uint64_t address, uint64_t size, uint64_t value);
uint64_t adsm_direct_exchange(struct adsm_store *store, uint64_t address, uint64_t size, uint64_t expected,
			      uint64_t value);
