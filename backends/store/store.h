/* SPDX-License-Identifier: MIT */
/* store.h - functions of struct adsm_store that any store can build on its read() and write(). */
#pragma once

#include <stdint.h>

#include "adsm_scratchpad.h"

uint64_t adsm_store_get(struct adsm_store *store, uint64_t address, uint64_t size);
void adsm_store_put(struct adsm_store *store, uint64_t address, uint64_t size, uint64_t value);
void adsm_store_move(struct adsm_store *store, uint64_t to, uint64_t from, uint64_t size);
void adsm_store_fill(struct adsm_store *store, uint64_t to, uint64_t byte, uint64_t size);
