/* SPDX-License-Identifier: MIT */
/* reference.c - see reference.h. */
#include "reference.h"

#include "../program.h"
#include "gzip.h"

#include <stdlib.h>
#include <string.h>

uint32_t po_gzip_crc(const uint8_t *data, size_t n)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < n; i++)
		for (int bit = 0; bit < 8; bit++) {
			const bool odd = (crc ^ data[i] >> bit) & 1;

			crc = crc >> 1 ^ (odd ? UINT32_C(0xedb88320) : 0);
		}
	return crc ^ UINT32_MAX;
}

/* ---- what is to be found in a chunk: all places where two bytes are the same are looked at */

static unsigned pair_at(const uint8_t *data)
{
	return data[0] | (unsigned)data[1] << 8;
}

/* For each place the longest match and its distance: lengths[i] is 0 where there is none. */
static void find_matches(const uint8_t *data, size_t n, uint32_t *lengths, uint32_t *distances)
{
	static uint32_t first[65536 + 1], next[65536];
	uint32_t *places = ps_alloc((n + 1) * sizeof(*places));

	memset(first, 0, sizeof(first));
	memset(lengths, 0, n * sizeof(*lengths));
	for (size_t i = 0; i + 1 < n; i++)
		first[pair_at(data + i) + 1]++;
	for (size_t i = 0; i < 65536; i++)
		first[i + 1] += first[i];
	memcpy(next, first, sizeof(next));
	for (size_t i = 0; i + 1 < n; i++) {
		const unsigned pair = pair_at(data + i);
		const size_t most = n - i < GZIP_MAX_MATCH ? n - i : GZIP_MAX_MATCH;

		for (uint32_t k = next[pair]; k > first[pair] && lengths[i] < most; k--) {
			const uint8_t *old = data + places[k - 1];
			uint32_t same = 2;

			if (lengths[i] && old[lengths[i]] != data[i + lengths[i]])
				continue;
			while (same < most && old[same] == data[i + same])
				same++;
			if (same >= GZIP_MIN_MATCH && same > lengths[i]) {
				lengths[i] = same;
				distances[i] = (uint32_t)i - places[k - 1];
			}
		}
		places[next[pair]++] = (uint32_t)i;
	}
	free(places);
}

size_t po_gzip_tokens(const uint8_t *data, size_t n, uint32_t *ret_tokens)
{
	uint32_t *lengths = ps_alloc((n + 1) * sizeof(*lengths)), *distances = ps_alloc((n + 1) * sizeof(*distances));
	size_t n_tokens = 0;

	find_matches(data, n, lengths, distances);
	for (size_t i = 0; i < n;) {
		/* A longer one a byte later is better. */
		const bool taken = lengths[i] && (i + 1 == n || lengths[i + 1] <= lengths[i]);

		ret_tokens[n_tokens++] = taken ? GZIP_TOKEN_MATCH | (lengths[i] - GZIP_MIN_MATCH) << 16 |
			(distances[i] - 1) : data[i];
		i += taken ? lengths[i] : 1;
	}
	free(lengths);
	free(distances);
	return n_tokens;
}

/* ---- the best code: package and merge (Larmore, Hirschberg) */

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t po_gzip_best(const uint32_t *counts, size_t n, unsigned limit)
{
	uint64_t coins[288], list[2 * 288], bits = 0;
	size_t n_coins = 0, n_list = 0;

	for (size_t i = 0; i < n; i++)
		if (counts[i])
			coins[n_coins++] = counts[i];
	if (n_coins < 2)
		return n_coins ? coins[0] : 0;
	for (unsigned level = 0; level < limit; level++) {
		size_t n_packages = n_list / 2;

		for (size_t i = 0; i < n_packages; i++)
			list[i] = list[2 * i] + list[2 * i + 1];
		memcpy(list + n_packages, coins, n_coins * sizeof(*coins));
		n_list = n_packages + n_coins;
		qsort(list, n_list, sizeof(*list), by_value);
	}
	for (size_t i = 0; i < 2 * n_coins - 2; i++)
		bits += list[i];
	return bits;
}

/* ---- decompressing by tables that are as large as the longest word allows */

struct reader {
	const uint8_t *in;
	size_t n, bit;
	bool bad;
	struct po_gzip_seen *seen;
	uint8_t *out;
	size_t n_out, capacity;
	uint16_t literals[1 << 15], distances[1 << 15];	/* by the next 15 bits: symbol << 4 | bits of the word */
};

static unsigned peek(const struct reader *r, unsigned n)
{
	unsigned value = 0;

	for (unsigned i = 0; i < n; i++) {
		const size_t at = r->bit + i;

		if (at / 8 < r->n)
			value |= (r->in[at / 8] >> at % 8 & 1u) << i;
	}
	return value;
}

static unsigned get(struct reader *r, unsigned n)
{
	const unsigned value = peek(r, n);

	r->bit += n;
	r->bad |= r->bit > 8 * r->n;
	return value;
}

/* Returns the longest word. */
static unsigned make_table(struct reader *r, const uint8_t *lengths, size_t n, uint16_t table[1 << 15])
{
	unsigned code = 0, longest = 0;

	memset(table, 0, sizeof(uint16_t) << 15);
	for (unsigned length = 1; length < 16; length++) {
		for (size_t symbol = 0; symbol < n; symbol++) {
			unsigned word = 0;

			if (lengths[symbol] != length)
				continue;
			longest = length;
			if (code >> length) {
				r->bad = true;
				return longest;
			}
			for (unsigned i = 0; i < length; i++)
				word |= (code >> i & 1) << (length - 1 - i);
			for (; word < 1 << 15; word += 1u << length)
				table[word] = (uint16_t)(symbol << 4 | length);
			code++;
		}
		code <<= 1;
	}
	return longest;
}

static unsigned get_symbol(struct reader *r, const uint16_t *table, uint64_t *bits)
{
	const uint16_t found = table[peek(r, 15)];

	r->bad |= !found;
	get(r, found & 15);
	*bits += found & 15;
	return found >> 4;
}

static void read_own_codes(struct reader *r)
{
	static const uint8_t order[19] = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 };
	const unsigned n_literals = get(r, 5) + 257, n_distances = get(r, 5) + 1, n_lengths = get(r, 4) + 4;
	uint8_t lengths[288 + 32 + 138] = { 0 };
	uint64_t bits = 0;

	for (unsigned i = 0; i < n_lengths; i++)
		lengths[order[i]] = (uint8_t)get(r, 3);
	make_table(r, lengths, 19, r->literals);
	for (unsigned i = 0; i < n_literals + n_distances && !r->bad;) {
		const unsigned symbol = get_symbol(r, r->literals, &bits);

		if (symbol < 16) {
			lengths[i++] = (uint8_t)symbol;
			continue;
		}
		r->bad |= symbol == 16 && !i;
		const unsigned times = symbol == 16 ? 3 + get(r, 2) : symbol == 17 ? 3 + get(r, 3) : 11 + get(r, 7);
		const uint8_t length = symbol == 16 && i ? lengths[i - 1] : 0;

		memset(lengths + i, length, times);
		i += times;
		r->bad |= i > n_literals + n_distances;
	}
	r->seen->longest_literal = make_table(r, lengths, n_literals, r->literals);
	r->seen->longest_distance = make_table(r, lengths + n_literals, n_distances, r->distances);
}

static void use_fixed_codes(struct reader *r)
{
	uint8_t lengths[288];

	memset(lengths, 8, 144);
	memset(lengths + 144, 9, 112);
	memset(lengths + 256, 7, 24);
	memset(lengths + 280, 8, 8);
	make_table(r, lengths, 288, r->literals);
	memset(lengths, 5, 32);
	make_table(r, lengths, 32, r->distances);
}

/* Of the n-th code what it stands for: codes come in groups, of which each next has a bit more behind each code. */
static unsigned value_of(struct reader *r, unsigned code, unsigned group, unsigned first)
{
	unsigned bits = 0, value = first;

	for (unsigned i = 0; i < code; i++) {
		value += 1u << bits;
		bits += i + 1 >= group && i % (group / 2) == group / 2 - 1;
	}
	return value + get(r, bits);
}

static void token(struct reader *r, uint32_t value)
{
	if (r->seen->tokens)
		r->seen->tokens[r->seen->n_tokens] = value;
	r->seen->n_tokens++;
}

static void read_tokens(struct reader *r)
{
	while (!r->bad) {
		const unsigned symbol = get_symbol(r, r->literals, &r->seen->literal_bits);
		unsigned length, distance;

		if (symbol == 256)
			return;
		if (symbol < 256) {
			r->bad |= r->n_out == r->capacity;
			if (r->bad)
				return;
			token(r, symbol);
			r->out[r->n_out++] = (uint8_t)symbol;
			continue;
		}
		length = symbol == 285 ? 258 : value_of(r, symbol - 257, 8, 3);
		distance = value_of(r, get_symbol(r, r->distances, &r->seen->distance_bits), 4, 1);
		r->bad |= distance > r->n_out || length > r->capacity - r->n_out;
		if (r->bad)
			return;
		token(r, GZIP_TOKEN_MATCH | (length - GZIP_MIN_MATCH) << 16 | (distance - 1));
		for (const size_t end = r->n_out + length; r->n_out < end; r->n_out++)
			r->out[r->n_out] = r->out[r->n_out - distance];
	}
}

static void read_stored(struct reader *r)
{
	unsigned n;

	r->bit = (r->bit + 7) / 8 * 8;
	n = get(r, 16);
	r->bad |= (n ^ get(r, 16)) != 0xffff || r->bit / 8 + n > r->n || n > r->capacity - r->n_out;
	if (r->bad)
		return;
	memcpy(r->out + r->n_out, r->in + r->bit / 8, n);
	r->n_out += n;
	r->bit += 8 * (size_t)n;
}

size_t po_gzip_inflate(const uint8_t *in, size_t n, uint8_t *out, size_t capacity, struct po_gzip_seen *seen)
{
	struct reader *r = ps_alloc(sizeof(*r));
	size_t ret;
	bool last = false;

	*r = (struct reader){ .in = in, .n = n, .out = out, .capacity = capacity, .seen = seen };
	while (!last && !r->bad) {
		last = get(r, 1);
		seen->kind = get(r, 2);
		seen->n_blocks++;
		if (!seen->kind) {
			read_stored(r);
			continue;
		}
		if (seen->kind == 1)
			use_fixed_codes(r);
		else if (seen->kind == 2)
			read_own_codes(r);
		else
			r->bad = true;
		if (!r->bad)
			read_tokens(r);
	}
	seen->size = (r->bit + 7) / 8;
	ret = r->bad ? SIZE_MAX : r->n_out;
	free(r);
	return ret;
}
