/* SPDX-License-Identifier: MIT */
/* diff.c - byte-exact differences between two states of a page. */
#include "diff.h"

#include <string.h>

struct piece { uint16_t offset, length; };

static uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* The first byte in [at, end) that is equal in both (@same), or that differs (!@same). */
static size_t next_byte(const uint8_t *page, const uint8_t *twin, size_t end, size_t at, bool same)
{
	while (at < end) {
		if (!same && at % 8 == 0 && word_at(page + at) == word_at(twin + at))
			at += 8;
		else if ((page[at] == twin[at]) == same)
			break;
		else
			at++;
	}
	return at;
}

size_t adsm_diff(const uint8_t *page, const uint8_t *twin, size_t page_size, uint8_t *out)
{
	size_t size = 0;

	for (size_t at = next_byte(page, twin, page_size, 0, false); at < page_size;) {
		const size_t end = next_byte(page, twin, page_size, at, true);
		const struct piece piece = { (uint16_t)at, (uint16_t)(end - at) };

		memcpy(out + size, &piece, sizeof(piece));
		memcpy(out + size + sizeof(piece), page + at, end - at);
		size += sizeof(piece) + end - at;
		at = next_byte(page, twin, page_size, end, false);
	}
	return size;
}

bool adsm_diff_is_valid(const uint8_t *diff, size_t size, size_t page_size)
{
	struct piece piece;

	for (size_t at = 0; at < size; at += sizeof(piece) + piece.length) {
		if (size - at < sizeof(piece))
			return false;
		memcpy(&piece, diff + at, sizeof(piece));
		if (!piece.length || piece.length > size - at - sizeof(piece) ||
		    (size_t)piece.offset + piece.length > page_size)
			return false;
	}
	return true;
}

void adsm_diff_patch(uint8_t *page, const uint8_t *diff, size_t size)
{
	struct piece piece;

	for (size_t at = 0; at < size; at += sizeof(piece) + piece.length) {
		memcpy(&piece, diff + at, sizeof(piece));
		memcpy(page + piece.offset, diff + at + sizeof(piece), piece.length);
	}
}

void adsm_diff_shift(uint8_t *diff, size_t size, size_t offset)
{
	struct piece piece;

	for (size_t at = 0; at < size; at += sizeof(piece) + piece.length) {
		memcpy(&piece, diff + at, sizeof(piece));
		piece.offset = (uint16_t)(piece.offset + offset);
		memcpy(diff + at, &piece, sizeof(piece));
	}
}

void adsm_diff_merge(uint8_t *page, const uint8_t *other, const uint8_t *twin, size_t page_size)
{
	for (size_t i = 0; i < page_size; i++)
		page[i] = other[i] != twin[i] ? other[i] : page[i];
}
