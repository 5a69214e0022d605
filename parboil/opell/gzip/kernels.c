/* SPDX-License-Identifier: MIT */
/*
 * kernels.c - gzip: DEFLATE (RFC 1951) in members of gzip (RFC 1952), a chunk for each block of threads, of one thread.
 * Compressing: strings that were there before are found by a hash of three bytes, the longest and of these the nearest;
 * one that is followed by a longer one, a byte later, is given up (lazy evaluation); what is left goes by Huffman codes
 * of the chunk's own, by the fixed ones, or as it is, whichever is shortest. Each part is a partition of code:
 *
 *	1 crc	2 matches	3 lazy evaluation	4 counts and trees	5 bits out	6 blocks out
 *		7 bits in	8 codes in		9 copies		10 blocks in
 */
#include <adsm_kernel.h>

#include "gzip.h"

#define HASHES 4096
#define NONE 0xffff
#define N_LITERALS 286
#define N_DISTANCES 30
#define N_LENGTHS 19
/* Where the alphabets begin in what there is of each symbol. */
#define LITERALS 0
#define DISTANCES 288
#define LENGTHS 320
#define N_SYMBOLS 340
#define END_OF_BLOCK 256
#define MAX_CODE 15
#define MAX_LENGTH_CODE 7

typedef unsigned char byte_t;
typedef unsigned short short_t;

/* The order in which lengths of the codes of lengths are written. */
ADSM_TABLE(byte_t, length_order, N_LENGTHS) = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 };
/* The CRC of each four bits. */
ADSM_TABLE(unsigned, crc_table, 16) = {
	0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
	0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
};

ADSM_PARTITION(1) ADSM_FUNCTION unsigned crc_of(const ADSM_SPACE_GLOBAL byte_t *in, int n)
{
	unsigned crc = 0xffffffffu;

	for (int i = 0; i < n; i++) {
		crc ^= in[i];
		crc = crc >> 4 ^ crc_table[crc & 15];
		crc = crc >> 4 ^ crc_table[crc & 15];
	}
	return ~crc;
}

/* ---- lengths and distances: their codes, and what a code has in bits behind it */

ADSM_FUNCTION int log2_of(unsigned n)
{
	int log = 0;

	while (n >>= 1)
		log++;
	return log;
}

ADSM_FUNCTION int length_code(int length)
{
	const int l = length - GZIP_MIN_MATCH, e = log2_of((unsigned)l) - 2;

	return length == GZIP_MAX_MATCH ? 28 : l < 8 ? l : 4 * e + (l >> e);
}

ADSM_FUNCTION int length_bits(int code)
{
	return code < 8 || code == 28 ? 0 : (code - 4) >> 2;
}

ADSM_FUNCTION int length_base(int code)
{
	return GZIP_MIN_MATCH + (code == 28 ? 255 : code < 8 ? code : (4 + (code & 3)) << length_bits(code));
}

ADSM_FUNCTION int distance_code(int distance)
{
	const int d = distance - 1, e = log2_of((unsigned)d) - 1;

	return d < 4 ? d : 2 * e + (d >> e);
}

ADSM_FUNCTION int distance_bits(int code)
{
	return code < 4 ? 0 : (code - 2) >> 1;
}

ADSM_FUNCTION int distance_base(int code)
{
	return 1 + (code < 4 ? code : (2 + (code & 1)) << distance_bits(code));
}

/* ---- compressing */

struct deflate {
	const ADSM_SPACE_GLOBAL byte_t *in;
	int n;
	ADSM_SPACE_SHARED short_t *head, *prev;	/* the last place of a hash; the one before a place */
	ADSM_SPACE_GLOBAL unsigned *tokens;
	int n_tokens;
	ADSM_SPACE_SHARED unsigned *counts;	/* of each symbol */
	ADSM_SPACE_SHARED byte_t *lengths;	/* of its code; 0: it has none */
	ADSM_SPACE_SHARED short_t *codes;
	/* For a tree: first its leaves, by weight, then the other nodes. */
	ADSM_SPACE_SHARED unsigned *weights;
	ADSM_SPACE_SHARED short_t *parents, *order;
	ADSM_SPACE_GLOBAL byte_t *out;
	int n_out;
	unsigned bits;				/* which are not yet out */
	int n_bits;
};

/* Enters the place, and returns the last one that had its hash before. */
ADSM_FUNCTION int enter(struct deflate *s, int at)
{
	const ADSM_SPACE_GLOBAL byte_t *p = s->in + at;
	const unsigned three = (unsigned)p[0] << 16 | (unsigned)p[1] << 8 | p[2];
	const int hash = (int)(three * 0x9e3779b1u >> 20);
	const int last = s->head[hash];

	s->prev[at] = (short_t)last;
	s->head[hash] = (short_t)at;
	return last;
}

/* The length of the longest string before that is as this one; 0: less than three bytes. Enters the place. */
ADSM_PARTITION(2) ADSM_FUNCTION int match(struct deflate *s, int at, int *ret_distance)
{
	const ADSM_SPACE_GLOBAL byte_t *in = s->in;
	const int limit = s->n - at < GZIP_MAX_MATCH ? s->n - at : GZIP_MAX_MATCH;
	int best = GZIP_MIN_MATCH - 1;

	if (limit < GZIP_MIN_MATCH)
		return 0;
	for (int place = enter(s, at); place != NONE && best < limit; place = s->prev[place]) {
		int n = 0;

		if (in[place + best] != in[at + best])
			continue;
		while (n < limit && in[place + n] == in[at + n])
			n++;
		if (n > best) {
			best = n;
			*ret_distance = at - place;
		}
	}
	return best < GZIP_MIN_MATCH ? 0 : best;
}

/* Enters places that are within a match. */
ADSM_PARTITION(2) ADSM_FUNCTION void enter_all(struct deflate *s, int at, int end)
{
	for (; at < end && at + GZIP_MIN_MATCH <= s->n; at++)
		enter(s, at);
}

ADSM_PARTITION(4) ADSM_FUNCTION void count_byte(struct deflate *s, int byte)
{
	s->tokens[s->n_tokens++] = (unsigned)byte;
	s->counts[LITERALS + byte]++;
}

ADSM_PARTITION(4) ADSM_FUNCTION void count_match(struct deflate *s, int length, int distance)
{
	s->tokens[s->n_tokens++] =
		GZIP_TOKEN_MATCH | (unsigned)(length - GZIP_MIN_MATCH) << 16 | (unsigned)(distance - 1);
	s->counts[LITERALS + END_OF_BLOCK + 1 + length_code(length)]++;
	s->counts[DISTANCES + distance_code(distance)]++;
}

ADSM_PARTITION(3) ADSM_FUNCTION void evaluate(struct deflate *s)
{
	/* What begins a byte before, if it is open whether that is taken. */
	int at = 0, last = 0, last_distance = 0, open = 0;

	while (at < s->n) {
		int distance = 0, length = match(s, at, &distance);

		if (open && last && length <= last) {
			count_match(s, last, last_distance);
			enter_all(s, at + 1, at - 1 + last);
			at += last - 1;
			open = 0;
			continue;
		}
		if (open)
			count_byte(s, s->in[at - 1]);
		open = 1;
		last = length;
		last_distance = distance;
		at++;
	}
	/* No match begins at the last byte. */
	if (open)
		count_byte(s, s->in[at - 1]);
}

/* Symbols that occur, by their counts in 2^@scale. Returns how many they are. */
ADSM_FUNCTION int sort_symbols(struct deflate *s, int first, int n, int scale)
{
	int n_leaves = 0;

	for (int symbol = 0; symbol < n; symbol++) {
		const unsigned weight = (s->counts[first + symbol] + (1u << scale) - 1) >> scale;
		int i = n_leaves;

		s->lengths[first + symbol] = 0;
		if (!weight)
			continue;
		for (; i && s->weights[i - 1] > weight; i--) {
			s->weights[i] = s->weights[i - 1];
			s->order[i] = s->order[i - 1];
		}
		s->weights[i] = weight;
		s->order[i] = (short_t)symbol;
		n_leaves++;
	}
	return n_leaves;
}

/* Joins the two lightest nodes until there is one: leaves come by weight, and what is joined comes so by itself. */
ADSM_FUNCTION void join(struct deflate *s, int n_leaves)
{
	int leaf = 0, inner = n_leaves;

	for (int node = n_leaves; node < 2 * n_leaves - 1; node++) {
		unsigned sum = 0;

		for (int i = 0; i < 2; i++) {
			const int from_leaves = leaf < n_leaves &&
				(inner == node || s->weights[leaf] <= s->weights[inner]);
			const int lightest = from_leaves ? leaf++ : inner++;

			sum += s->weights[lightest];
			s->parents[lightest] = (short_t)node;
		}
		s->weights[node] = sum;
	}
}

/* Codes in the order of their lengths, and of the symbols; their first bit is their lowest. */
ADSM_PARTITION(4) ADSM_FUNCTION void assign_codes(struct deflate *s, int first, int n)
{
	unsigned code = 0;

	for (int length = 1; length <= MAX_CODE; length++, code <<= 1) {
		for (int symbol = first; symbol < first + n; symbol++) {
			unsigned reversed = 0;

			if (s->lengths[symbol] != length)
				continue;
			for (int bit = 0; bit < length; bit++)
				reversed |= (code >> bit & 1) << (length - 1 - bit);
			s->codes[symbol] = (short_t)reversed;
			code++;
		}
	}
}

/*
 * Codes of an alphabet, by Huffman; where one would be too long all counts are halved, and it is tried again. Of two
 * symbols at least, which occur or not: not all who read deflate like a code of one.
 */
ADSM_PARTITION(4) ADSM_FUNCTION void build(struct deflate *s, int first, int n, int max_length)
{
	int longest, scale = 0, n_leaves = sort_symbols(s, first, n, 0);

	for (int symbol = first; n_leaves < 2; symbol++) {
		n_leaves += !s->counts[symbol];
		s->counts[symbol] += !s->counts[symbol];
	}
	do {
		const int root = 2 * n_leaves - 2;

		sort_symbols(s, first, n, scale++);
		join(s, n_leaves);
		/* From now on weights are depths. */
		longest = 0;
		s->weights[root] = 0;
		for (int node = root - 1; node >= 0; node--)
			s->weights[node] = s->weights[s->parents[node]] + 1;
		for (int leaf = 0; leaf < n_leaves; leaf++) {
			const int depth = (int)s->weights[leaf];

			longest = depth > longest ? depth : longest;
			s->lengths[first + s->order[leaf]] = (byte_t)depth;
		}
	} while (longest > max_length);
	assign_codes(s, first, n);
}

ADSM_PARTITION(5) ADSM_FUNCTION void put(struct deflate *s, unsigned bits, int n)
{
	s->bits |= bits << s->n_bits;
	for (s->n_bits += n; s->n_bits >= 8; s->n_bits -= 8, s->bits >>= 8)
		s->out[s->n_out++] = (byte_t)s->bits;
}

ADSM_FUNCTION void put_symbol(struct deflate *s, int symbol)
{
	put(s, s->codes[symbol], s->lengths[symbol]);
}

ADSM_FUNCTION int end_of(const struct deflate *s, int first, int n, int least)
{
	while (n > least && !s->lengths[first + n - 1])
		n--;
	return n;
}

/* One step of the lengths of codes: counted, or put. */
ADSM_FUNCTION void put_length(struct deflate *s, int counting, int symbol, int bits, int n_bits)
{
	if (counting) {
		s->counts[LENGTHS + symbol]++;
		return;
	}
	put_symbol(s, LENGTHS + symbol);
	put(s, (unsigned)bits, n_bits);
}

/* The lengths of both alphabets' codes as one sequence: what repeats is said by its number. */
ADSM_PARTITION(6) ADSM_FUNCTION void put_lengths(struct deflate *s, int counting, int n_literals, int n_distances)
{
	const int n = n_literals + n_distances;

	for (int i = 0, run; i < n; i += run) {
		const int length = s->lengths[i < n_literals ? LITERALS + i : DISTANCES + i - n_literals];
		int rest;

		for (run = 1; i + run < n; run++) {
			const int k = i + run;

			if (s->lengths[k < n_literals ? LITERALS + k : DISTANCES + k - n_literals] != length)
				break;
		}
		rest = run;
		if (length) {
			put_length(s, counting, length, 0, 0);
			rest--;
		}
		while (rest >= 3) {
			const int most = length ? 6 : rest < 11 ? 10 : 138, some = rest < most ? rest : most;

			if (length)
				put_length(s, counting, 16, some - 3, 2);
			else if (some < 11)
				put_length(s, counting, 17, some - 3, 3);
			else
				put_length(s, counting, 18, some - 11, 7);
			rest -= some;
		}
		while (rest--)
			put_length(s, counting, length, 0, 0);
	}
}

/* Bits of the block with the codes that there are. */
ADSM_PARTITION(6) ADSM_FUNCTION int cost_of(const struct deflate *s)
{
	int bits = s->lengths[END_OF_BLOCK];

	for (int i = 0; i < s->n_tokens; i++) {
		const unsigned token = s->tokens[i];
		int length, distance;

		if (!(token & GZIP_TOKEN_MATCH)) {
			bits += s->lengths[token];
			continue;
		}
		length = length_code((int)(token >> 16 & 0xff) + GZIP_MIN_MATCH);
		distance = distance_code((int)(token & 0xffff) + 1);
		bits += s->lengths[END_OF_BLOCK + 1 + length] + length_bits(length);
		bits += s->lengths[DISTANCES + distance] + distance_bits(distance);
	}
	return bits;
}

ADSM_PARTITION(6) ADSM_FUNCTION void put_tokens(struct deflate *s)
{
	for (int i = 0; i < s->n_tokens; i++) {
		const unsigned token = s->tokens[i];
		int length, distance, code;

		if (!(token & GZIP_TOKEN_MATCH)) {
			put_symbol(s, LITERALS + (int)token);
			continue;
		}
		length = (int)(token >> 16 & 0xff) + GZIP_MIN_MATCH;
		code = length_code(length);
		put_symbol(s, END_OF_BLOCK + 1 + code);
		put(s, (unsigned)(length - length_base(code)), length_bits(code));
		distance = (int)(token & 0xffff) + 1;
		code = distance_code(distance);
		put_symbol(s, DISTANCES + code);
		put(s, (unsigned)(distance - distance_base(code)), distance_bits(code));
	}
	put_symbol(s, LITERALS + END_OF_BLOCK);
}

ADSM_PARTITION(6) ADSM_FUNCTION void put_stored(struct deflate *s)
{
	put(s, 1, 3);
	put(s, 0, (8 - s->n_bits) & 7);
	put(s, (unsigned)s->n, 16);
	put(s, ~(unsigned)s->n & 0xffff, 16);
	for (int i = 0; i < s->n; i++)
		put(s, s->in[i], 8);
}

ADSM_FUNCTION int fixed_length(int symbol)
{
	return symbol >= DISTANCES ? 5 : symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8;
}

/* All of the chunk in one block, in the shortest of its three forms. */
ADSM_PARTITION(6) ADSM_FUNCTION void put_block(struct deflate *s)
{
	int n_literals, n_distances, n_lengths = N_LENGTHS, own, fixed;

	s->counts[END_OF_BLOCK]++;
	build(s, LITERALS, N_LITERALS, MAX_CODE);
	build(s, DISTANCES, N_DISTANCES, MAX_CODE);
	n_literals = end_of(s, LITERALS, N_LITERALS, 257);
	n_distances = end_of(s, DISTANCES, N_DISTANCES, 1);
	put_lengths(s, 1, n_literals, n_distances);
	own = cost_of(s) + 2 * (int)s->counts[LENGTHS + 16] + 3 * (int)s->counts[LENGTHS + 17] +
		7 * (int)s->counts[LENGTHS + 18] + 14;
	build(s, LENGTHS, N_LENGTHS, MAX_LENGTH_CODE);
	while (n_lengths > 4 && !s->lengths[LENGTHS + length_order[n_lengths - 1]])
		n_lengths--;
	own += 3 * n_lengths;
	for (int i = 0; i < N_LENGTHS; i++)
		own += (int)s->counts[LENGTHS + i] * s->lengths[LENGTHS + i];
	/* Kept aside, as the fixed codes come into their place. */
	for (int symbol = 0; symbol < LENGTHS; symbol++) {
		s->order[symbol] = s->lengths[symbol];
		s->lengths[symbol] = (byte_t)fixed_length(symbol);
	}
	fixed = cost_of(s);
	if ((own < fixed ? own : fixed) + 3 > 8 * (s->n + 5)) {
		put_stored(s);
		return;
	}
	if (own < fixed) {
		for (int symbol = 0; symbol < LENGTHS; symbol++)
			s->lengths[symbol] = (byte_t)s->order[symbol];
		put(s, 5, 3);
		put(s, (unsigned)(n_literals - 257 + ((n_distances - 1) << 5) + ((n_lengths - 4) << 10)), 14);
		for (int i = 0; i < n_lengths; i++)
			put(s, s->lengths[LENGTHS + length_order[i]], 3);
		put_lengths(s, 0, n_literals, n_distances);
	} else {
		assign_codes(s, LITERALS, 288);
		assign_codes(s, DISTANCES, 32);
		put(s, 3, 3);
	}
	put_tokens(s);
}

ADSM_KERNEL_MAX(compress, 1, ADSM_IN(unsigned char, in), ADSM_OUT(unsigned, tokens), ADSM_OUT(int, n_tokens),
		ADSM_OUT(unsigned char, out), ADSM_OUT(int, sizes), ADSM_VAL(int, n))
{
	ADSM_SHARED(unsigned short, head, HASHES);
	ADSM_SHARED(unsigned short, prev, GZIP_CHUNK);
	ADSM_SHARED(unsigned, counts, N_SYMBOLS);
	ADSM_SHARED(unsigned char, lengths, N_SYMBOLS);
	ADSM_SHARED(unsigned short, codes, N_SYMBOLS);
	ADSM_SHARED(unsigned, weights, 2 * N_LITERALS);
	ADSM_SHARED(unsigned short, parents, 2 * N_LITERALS);
	ADSM_SHARED(unsigned short, order, N_SYMBOLS);

	ADSM_THREADS {
		const int first = ADSM_BLOCK_X * GZIP_CHUNK;
		unsigned crc;
		struct deflate s;

		s.in = in + first;
		s.n = n - first < GZIP_CHUNK ? n - first : GZIP_CHUNK;
		s.head = head;
		s.prev = prev;
		s.tokens = tokens + (long)ADSM_BLOCK_X * GZIP_CHUNK;
		s.n_tokens = 0;
		s.counts = counts;
		s.lengths = lengths;
		s.codes = codes;
		s.weights = weights;
		s.parents = parents;
		s.order = order;
		s.out = out + (long)ADSM_BLOCK_X * GZIP_SLOT;
		s.n_out = 0;
		s.bits = 0;
		s.n_bits = 0;
		for (int i = 0; i < HASHES; i++)
			head[i] = NONE;
		for (int i = 0; i < N_SYMBOLS; i++)
			counts[i] = 0;
		crc = crc_of(s.in, s.n);
		evaluate(&s);
		/* Magic, deflate, an extra field; no time, no flags, no system; the field's size, 'BC', two bytes. */
		put(&s, 0x8b1f, 16);
		put(&s, 0x0408, 16);
		put(&s, 0, 16);
		put(&s, 0, 16);
		put(&s, 0xff00, 16);
		put(&s, 6, 16);
		put(&s, 0x4342, 16);
		put(&s, 2, 16);
		put(&s, 0, 16);
		put_block(&s);
		put(&s, 0, (8 - s.n_bits) & 7);
		put(&s, crc & 0xffff, 16);
		put(&s, crc >> 16, 16);
		put(&s, (unsigned)s.n, 16);
		put(&s, 0, 16);
		s.out[GZIP_HEADER - 2] = (unsigned char)(s.n_out - 1);
		s.out[GZIP_HEADER - 1] = (unsigned char)((s.n_out - 1) >> 8);
		sizes[ADSM_BLOCK_X] = s.n_out;
		n_tokens[ADSM_BLOCK_X] = s.n_tokens;
	}
}

/* ---- decompressing: whatever deflate has, not only what is above */

/* A code: how many of each length there are, and the symbols by their codes. */
struct tree {
	ADSM_SPACE_SHARED short_t *counts, *symbols;
};

struct inflate {
	const ADSM_SPACE_GLOBAL byte_t *in;
	int n, at;
	unsigned bits;
	int n_bits;
	ADSM_SPACE_GLOBAL byte_t *out;
	int n_out, capacity;
	ADSM_SPACE_SHARED byte_t *lengths;	/* of codes, while they are read */
	struct tree literals, distances;
	int error;
};

/* At least so many bits are there; behind the end of what there is they are 0. */
ADSM_PARTITION(7) ADSM_FUNCTION unsigned need(struct inflate *s, int n)
{
	for (; s->n_bits < n; s->n_bits += 8, s->at++)
		if (s->at < s->n)
			s->bits |= (unsigned)s->in[s->at] << s->n_bits;
	return s->bits & ((1u << n) - 1);
}

ADSM_FUNCTION void drop(struct inflate *s, int n)
{
	s->bits >>= n;
	s->n_bits -= n;
	if (s->at - s->n_bits / 8 > s->n)
		s->error = GZIP_SHORT;
}

ADSM_PARTITION(7) ADSM_FUNCTION int take(struct inflate *s, int n)
{
	const unsigned bits = need(s, n);

	drop(s, n);
	return (int)bits;
}

/* A code must leave nothing open, but one of a single symbol, or of none. */
ADSM_PARTITION(8) ADSM_FUNCTION void read_code(struct inflate *s, const struct tree *tree, int first, int n)
{
	short_t next[MAX_CODE + 1];
	int open = 1, n_codes;

	for (int length = 0; length <= MAX_CODE; length++)
		tree->counts[length] = 0;
	for (int symbol = 0; symbol < n; symbol++)
		tree->counts[s->lengths[first + symbol]]++;
	n_codes = n - tree->counts[0];
	tree->counts[0] = 0;
	next[0] = 0;
	for (int length = 1; length <= MAX_CODE; length++) {
		next[length] = (short_t)(next[length - 1] + tree->counts[length - 1]);
		open = 2 * open - tree->counts[length];
		if (open < 0)
			s->error = GZIP_DAMAGED;
	}
	if (open > 0 && n_codes > 1)
		s->error = GZIP_DAMAGED;
	for (int symbol = 0; symbol < n && !s->error; symbol++)
		if (s->lengths[first + symbol])
			tree->symbols[next[s->lengths[first + symbol]]++] = (short_t)symbol;
}

ADSM_PARTITION(8) ADSM_FUNCTION int read_symbol(struct inflate *s, const struct tree *tree)
{
	const unsigned bits = need(s, MAX_CODE);
	int code = 0, first = 0, index = 0;

	for (int length = 1; length <= MAX_CODE; length++) {
		const int count = tree->counts[length];

		code |= (int)(bits >> (length - 1) & 1);
		if (code - first < count) {
			drop(s, length);
			return tree->symbols[index + code - first];
		}
		index += count;
		first = (first + count) << 1;
		code <<= 1;
	}
	s->error = GZIP_DAMAGED;
	return 0;
}

ADSM_PARTITION(9) ADSM_FUNCTION void copy_match(struct inflate *s, int length, int distance)
{
	if (distance > s->n_out)
		s->error = GZIP_DAMAGED;
	else if (length > s->capacity - s->n_out)
		s->error = GZIP_LONG;
	for (int i = 0; i < length && !s->error; i++, s->n_out++)
		s->out[s->n_out] = s->out[s->n_out - distance];
}

ADSM_PARTITION(9) ADSM_FUNCTION void copy_stored(struct inflate *s)
{
	int n;

	drop(s, s->n_bits & 7);
	n = take(s, 16);
	if (take(s, 16) != (~n & 0xffff))
		s->error = GZIP_DAMAGED;
	if (n > s->capacity - s->n_out)
		s->error = GZIP_LONG;
	for (int i = 0; i < n && !s->error; i++)
		s->out[s->n_out++] = (byte_t)take(s, 8);
}

/* The block's own codes. */
ADSM_PARTITION(10) ADSM_FUNCTION void read_codes(struct inflate *s)
{
	const int n_literals = take(s, 5) + 257, n_distances = take(s, 5) + 1, n_lengths = take(s, 4) + 4;
	int n = 0;

	for (int i = 0; i < N_LENGTHS; i++)
		s->lengths[length_order[i]] = (byte_t)(i < n_lengths ? take(s, 3) : 0);
	read_code(s, &s->literals, 0, N_LENGTHS);
	while (n < n_literals + n_distances && !s->error) {
		const int symbol = read_symbol(s, &s->literals);
		const int length = symbol < 16 ? symbol : symbol > 16 || !n ? 0 : s->lengths[n - 1];
		int times = symbol < 16 ? 1 : symbol == 16 ? 3 + take(s, 2) : symbol == 17 ? 3 + take(s, 3) :
			11 + take(s, 7);

		if ((symbol == 16 && !n) || times > n_literals + n_distances - n)
			s->error = GZIP_DAMAGED;
		while (times-- && !s->error)
			s->lengths[n++] = (byte_t)length;
	}
	if (s->error)
		return;
	if (!s->lengths[END_OF_BLOCK])
		s->error = GZIP_DAMAGED;
	read_code(s, &s->distances, n_literals, n_distances);
	read_code(s, &s->literals, 0, n_literals);
}

ADSM_PARTITION(10) ADSM_FUNCTION void read_block(struct inflate *s)
{
	while (!s->error) {
		int symbol = read_symbol(s, &s->literals), length, distance;

		if (symbol == END_OF_BLOCK || s->error)
			return;
		if (symbol < END_OF_BLOCK) {
			if (s->n_out == s->capacity)
				s->error = GZIP_LONG;
			else
				s->out[s->n_out++] = (byte_t)symbol;
			continue;
		}
		symbol -= END_OF_BLOCK + 1;
		length = length_base(symbol) + take(s, length_bits(symbol));
		distance = read_symbol(s, &s->distances);
		if (symbol >= N_LITERALS - 257 || distance >= N_DISTANCES) {
			s->error = GZIP_DAMAGED;
			return;
		}
		distance = distance_base(distance) + take(s, distance_bits(distance));
		copy_match(s, length, distance);
	}
}

ADSM_PARTITION(10) ADSM_FUNCTION void inflate(struct inflate *s)
{
	int last = 0;

	while (!last && !s->error) {
		int kind;

		last = take(s, 1);
		kind = take(s, 2);
		if (!kind) {
			copy_stored(s);
			continue;
		}
		if (kind == 1) {
			for (int symbol = 0; symbol < 288 + 32; symbol++)
				s->lengths[symbol] = (byte_t)fixed_length(symbol);
			read_code(s, &s->literals, 0, 288);
			read_code(s, &s->distances, 288, 32);
		} else if (kind == 2)
			read_codes(s);
		else
			s->error = GZIP_DAMAGED;
		if (!s->error)
			read_block(s);
	}
	drop(s, s->n_bits & 7);
}

ADSM_KERNEL_MAX(decompress, 1, ADSM_IN(unsigned char, in), ADSM_IN(int, members), ADSM_OUT(unsigned char, out),
		ADSM_OUT(int, results))
{
	ADSM_SHARED(unsigned char, lengths, 320);
	ADSM_SHARED(unsigned short, counts, 2 * (MAX_CODE + 1));
	ADSM_SHARED(unsigned short, symbols, 288 + 32);

	ADSM_THREADS {
		const ADSM_SPACE_GLOBAL int *member = members + ADSM_BLOCK_X * GZIP_WORDS;
		unsigned crc, size;
		struct inflate s;

		s.in = in + member[GZIP_AT];
		s.n = member[GZIP_SIZE];
		s.at = 0;
		s.bits = 0;
		s.n_bits = 0;
		s.out = out + member[GZIP_OUT_AT];
		s.n_out = 0;
		s.capacity = member[GZIP_OUT_SIZE];
		s.lengths = lengths;
		s.literals.counts = counts;
		s.literals.symbols = symbols;
		s.distances.counts = counts + MAX_CODE + 1;
		s.distances.symbols = symbols + 288;
		s.error = GZIP_OK;
		inflate(&s);
		crc = (unsigned)take(&s, 16);
		crc |= (unsigned)take(&s, 16) << 16;
		size = (unsigned)take(&s, 16);
		size |= (unsigned)take(&s, 16) << 16;
		/* The room for the output is what the last bytes of the input say. */
		if (!s.error && s.at - s.n_bits / 8 != s.n)
			s.error = GZIP_MORE;
		if (!s.error && size != (unsigned)s.n_out)
			s.error = GZIP_WRONG_SIZE;
		if (!s.error && crc != crc_of(s.out, s.n_out))
			s.error = GZIP_WRONG_CRC;
		results[ADSM_BLOCK_X] = s.error;
	}
}
