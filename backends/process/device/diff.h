/* SPDX-License-Identifier: MIT */
/* diff.h - byte-exact differences between two states of a page. */
#ifndef ADSM_PROCESS_DIFF_H
#define ADSM_PROCESS_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A page has 32 KiB at most, and is any number of 8 bytes. A diff is a list of {uint16 offset, uint16 length, the
 * bytes}, in the machine's byte order, ascending: no byte that did not change is in it, so diffs of two nodes that
 * wrote neighbouring bytes do not touch each other. At its longest every other byte changed, and one more: as many
 * pieces as there can be, and all but the gaps between them.
 */
#define ADSM_DIFF_MAX(page_size) ((page_size) / 2 * 5 + 1)

/* Of a page against its twin; returns its size, 0 where nothing differs. @out: ADSM_DIFF_MAX(page_size) bytes. */
size_t adsm_diff(const uint8_t *page, const uint8_t *twin, size_t page_size, uint8_t *out);
/* Does it stay within a page and its own size? It comes from a network. */
bool adsm_diff_is_valid(const uint8_t *diff, size_t size, size_t page_size);
void adsm_diff_patch(uint8_t *page, const uint8_t *diff, size_t size);
/* The bytes of @other that are not those of @twin go into @page. */
void adsm_diff_merge(uint8_t *page, const uint8_t *other, const uint8_t *twin, size_t page_size);

#endif
