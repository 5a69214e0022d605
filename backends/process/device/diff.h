/* SPDX-License-Identifier: MIT */
/* diff.h - byte-exact differences between two states of a page. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A page has at most 32 KiB and is a multiple of 8 bytes. A diff is a list of {uint16 offset, uint16 length, the
 * bytes}, in the machine's byte order and in ascending order. It contains no unchanged byte: so diffs of two nodes that
 * wrote neighbouring bytes do not overlap. In the longest diff every second byte has
 * changed, and one more: it has the maximum number of pieces, and all bytes except the gaps between them.
 */
#define ADSM_DIFF_MAX(page_size) ((page_size) / 2 * 5 + 1)

/* Write the diff of a page against its twin. Returns its size, 0 if they are equal. @out: ADSM_DIFF_MAX(page_size)
 * bytes. */
size_t adsm_diff(const uint8_t *page, const uint8_t *twin, size_t page_size, uint8_t *out);
/* Does the diff stay within a page and within its own size? It comes from a network. */
bool adsm_diff_is_valid(const uint8_t *diff, size_t size, size_t page_size);
void adsm_diff_patch(uint8_t *page, const uint8_t *diff, size_t size);
/* Make a diff of a part of a page, which is @offset bytes into the page, a diff of the page. */
void adsm_diff_shift(uint8_t *diff, size_t size, size_t offset);
/* Copy those bytes of @other to @page that differ from @twin. */
void adsm_diff_merge(uint8_t *page, const uint8_t *other, const uint8_t *twin, size_t page_size);
