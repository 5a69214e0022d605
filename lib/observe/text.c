/* SPDX-License-Identifier: MIT */
/* text.c - numbers and names as text. */
#include "observe/text.h"

#include "base/log.h"

const char *const adsm_why_words[ADSM_N_WHYS] = {
	[ADSM_WHY_OTHER] = "other", [ADSM_WHY_READ] = "read", [ADSM_WHY_WRITE] = "write", [ADSM_WHY_COPY] = "copy",
	[ADSM_WHY_FILL] = "fill", [ADSM_WHY_IO] = "io", [ADSM_WHY_HOLD] = "hold", [ADSM_WHY_CALL] = "call",
	[ADSM_WHY_SYNC] = "sync", [ADSM_WHY_EVICT] = "evict", [ADSM_WHY_ROOM] = "room",
	[ADSM_WHY_PREFETCH] = "prefetch", [ADSM_WHY_MOVE] = "move",
};

struct adsm_number adsm_tenths_text(uint64_t tenths, const char *unit)
{
	struct adsm_number number;

	adsm_format(number.text, sizeof(number.text), "%lu.%lu%s", tenths / 10, tenths % 10, unit);
	return number;
}

struct adsm_number adsm_size_text(uint64_t size, bool rounded)
{
	static const char *const units[] = { " KiB", " MiB", " GiB", " TiB", " PiB", " EiB" };
	unsigned unit = 0, shift = 10;
	struct adsm_number bytes;
	uint64_t tenths;

	if (size < 1024) {
		adsm_format(bytes.text, sizeof(bytes.text), "%lu B", size);
		return bytes;
	}
	for (; size >> shift >= 1024; shift += 10)
		unit++;
	tenths = rounded ? ((size >> (shift - 10)) * 10 + 512) >> 10 : size * 10 >> shift;
	if (tenths >= 10240 && unit < 5) {
		tenths = 10;
		unit++;
	}
	return adsm_tenths_text(tenths, units[unit]);
}

size_t adsm_json_piece(const char **text, char room[ADSM_JSON_PIECE_SIZE], const char **ret_piece)
{
	const char *c = *text;
	size_t n = 0;

	/* Most text consists of these characters. */
	while (c[n] >= ' ' && c[n] < 0x7f && c[n] != '"' && c[n] != '\\')
		n++;
	*ret_piece = n ? c : room;
	if (n || !*c) {
		*text += n;
		return n;
	}
	n = adsm_utf8_length(c);
	*text += n ? n : 1;
	if (!n)
		return (size_t)adsm_format(room, ADSM_JSON_PIECE_SIZE, "\\ufffd");
	if (*c == '"' || *c == '\\')
		return (size_t)adsm_format(room, ADSM_JSON_PIECE_SIZE, "\\%c", *c);
	if (n == 1)
		return (size_t)adsm_format(room, ADSM_JSON_PIECE_SIZE, "\\u00%x%x", *c >> 4, *c & 15);
	*ret_piece = c;
	return n;
}
