/* SPDX-License-Identifier: MIT */
/* sha256.h - SHA-256 (FIPS 180-4): a name for bytes, by their contents. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define ADSM_SHA256_SIZE 32

void adsm_sha256(const void *bytes, size_t size, uint8_t ret_hash[ADSM_SHA256_SIZE]);
