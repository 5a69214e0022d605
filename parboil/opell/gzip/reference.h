/* SPDX-License-Identifier: MIT */
/* reference.h - gzip on the CPU, by other ways than the kernels': to hold these against. */
#ifndef PO_GZIP_REFERENCE_H
#define PO_GZIP_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

uint32_t po_gzip_crc(const uint8_t *data, size_t n);

/* The tokens (gzip.h) of a chunk; at most @n. Returns how many they are. */
size_t po_gzip_tokens(const uint8_t *data, size_t n, uint32_t *ret_tokens);

/* The bits of so many symbols in the best code of which no word is longer than @limit. */
uint64_t po_gzip_best(const uint32_t *counts, size_t n, unsigned limit);

struct po_gzip_seen {
	uint32_t *tokens;		/* given; NULL: are not wanted */
	size_t n_tokens;
	unsigned n_blocks, kind;	/* of the last block: 0 stored, 1 fixed, 2 with codes of its own */
	uint64_t literal_bits, distance_bits;	/* of codes' words */
	unsigned longest_literal, longest_distance;	/* of the last block's words */
	size_t size;			/* bytes that were read */
};

/* Decompresses deflate. Returns bytes, or SIZE_MAX where it is damaged or too long. */
size_t po_gzip_inflate(const uint8_t *in, size_t n, uint8_t *out, size_t capacity, struct po_gzip_seen *seen);

#endif
