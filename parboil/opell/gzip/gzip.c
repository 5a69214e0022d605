/* SPDX-License-Identifier: MIT */
/* gzip.c - compresses and decompresses files of gzip, of members that say how large they are, or of one. */
#include "../program.h"
#include "gzip.h"
#include "reference.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
	uint8_t *at;
	size_t n;
};

/* ---- files */

/* In shared memory. */
static struct bytes read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct bytes bytes = { 0 };
	long size;

	if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET))
		ps_die("%s: %s", path, strerror(errno));
	bytes.n = (size_t)size;
	if (bytes.n >= (size_t)1 << 30)
		ps_die("%s is larger than 1 GiB", path);
	bytes.at = ps_shared(bytes.n + 1);
	if (fread(bytes.at, 1, bytes.n, file) != bytes.n)
		ps_die("%s: cannot read all of it", path);
	fclose(file);
	return bytes;
}

static void write_file(const char *path, struct bytes bytes)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(bytes.at, 1, bytes.n, file) != bytes.n || fclose(file))
		ps_die("%s: %s", path, strerror(errno));
}

/*
 * ---- what is compressed if no file is given: by chunks, text of words that are more or less frequent; bytes whose
 * codes' lengths have codes that have to be cut; noise; runs
 */

#define N_WORDS 2000

static void write_text(struct pb_rng *rng, uint8_t *out, size_t n, char (*words)[12])
{
	size_t i = 0;

	while (i < n) {
		const double u = (double)pb_rng_float(rng);
		const char *word = words[(int)(u * u * u * N_WORDS)];

		while (*word && i < n)
			out[i++] = (uint8_t)*word++;
		if (i < n)
			out[i++] = pb_rng_below(rng, 12) ? ' ' : '\n';
	}
}

/* Of each next kind, a bit less frequent, there are as many bytes as of the last two together. */
static void write_bytes(struct pb_rng *rng, uint8_t *out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t first = 0, width = 1, next = 1;

		for (int kind = 0; kind < 10 && pb_rng_below(rng, 100) < 90; kind++) {
			const uint32_t sum = width + next;

			first += width;
			width = next;
			next = sum;
		}
		out[i] = (uint8_t)(first + pb_rng_below(rng, width));
	}
}

static void write_runs(struct pb_rng *rng, uint8_t *out, size_t n)
{
	for (size_t i = 0; i < n;) {
		const uint8_t value = (uint8_t)pb_rng_below(rng, 7);

		for (uint32_t k = pb_rng_below(rng, 400); k && i < n; k--)
			out[i++] = value;
	}
}

static struct bytes generate(size_t n)
{
	struct pb_rng rng = { PO_SEED };
	static char words[N_WORDS][12];
	struct bytes bytes = { ps_shared(n + 1), n };

	for (size_t i = 0; i < N_WORDS; i++)
		for (uint32_t k = 0, length = 2 + pb_rng_below(&rng, 9); k < length; k++)
			words[i][k] = (char)('a' + pb_rng_below(&rng, 26));
	for (size_t i = 0; i * GZIP_CHUNK < n; i++) {
		uint8_t *out = bytes.at + i * GZIP_CHUNK;
		const size_t rest = n - i * GZIP_CHUNK, size = rest < GZIP_CHUNK ? rest : GZIP_CHUNK;

		if (i % 8 == 1)
			write_bytes(&rng, out, size);
		else if (i % 8 == 3)
			for (size_t k = 0; k < size; k++)
				out[k] = (uint8_t)pb_rng_next(&rng);
		else if (i % 8 == 5)
			write_runs(&rng, out, size);
		else
			write_text(&rng, out, size, words);
	}
	return bytes;
}

/* ---- members */

struct member {
	size_t at, header, size;	/* of all of it, header and trailer included */
	uint32_t out_size;
};

static uint32_t word_at(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static size_t after_text(const uint8_t *p, size_t at, size_t n)
{
	while (at < n && p[at])
		at++;
	return at + 1;
}

/* Looks at the header that begins @p. The member has all that is left, where it does not say how large it is. */
static struct member look(const uint8_t *p, size_t n)
{
	struct member member = { .header = 10, .size = n };
	const unsigned flags = n > 3 ? p[3] : 0;

	if (n < 18 || p[0] != 0x1f || p[1] != 0x8b || p[2] != 8 || flags & 0xe0)
		ps_die("the input is not a file of gzip, or has other data after its members");
	if (flags & 4) {
		const size_t end = 12 + (p[10] | (size_t)p[11] << 8);

		for (size_t at = 12; end <= n && at + 4 <= end; at += 4 + (p[at + 2] | (size_t)p[at + 3] << 8))
			if (p[at] == 'B' && p[at + 1] == 'C' && p[at + 2] == 2 && !p[at + 3] && at + 6 <= end)
				member.size = 1 + (p[at + 4] | (size_t)p[at + 5] << 8);
		member.header = end;
	}
	if (flags & 8)
		member.header = after_text(p, member.header, n);
	if (flags & 16)
		member.header = after_text(p, member.header, n);
	if (flags & 2)
		member.header += 2;
	if (member.size > n || member.header + GZIP_TRAILER > member.size)
		ps_die("the file of gzip is truncated");
	member.out_size = word_at(p + member.size - 4);
	return member;
}

/* Returns how many there are, and what they have when decompressed. */
static size_t find_members(struct bytes file, struct member **ret_members, size_t *ret_size)
{
	size_t n = 0, size = 0;

	*ret_members = ps_alloc((file.n / 18 + 1) * sizeof(**ret_members));
	for (size_t at = 0; at < file.n; n++) {
		struct member member = look(file.at + at, file.n - at);

		member.at = at;
		at += member.size;
		size += member.out_size;
		(*ret_members)[n] = member;
	}
	if (!n || size >= (size_t)1 << 30)
		ps_die("%s", n ? "the decompressed data are larger than 1 GiB" : "the file is empty");
	*ret_size = size;
	return n;
}

/* ---- decompressing */

static const char *const results_say[] = {
	[GZIP_OK] = "", [GZIP_DAMAGED] = "is damaged", [GZIP_SHORT] = "is truncated",
	[GZIP_LONG] = "has more bytes than its trailer says",
	[GZIP_WRONG_CRC] = "has another checksum than its trailer says",
	[GZIP_WRONG_SIZE] = "has fewer bytes than its trailer says",
	[GZIP_MORE] = "has other data behind it: a further member is found only if all members say how large they are",
};

static struct bytes decompress(struct po_run *run, struct bytes file)
{
	struct member *members;
	struct bytes out;
	const size_t n = find_members(file, &members, &out.n);
	int *words = ps_shared(n * GZIP_WORDS * sizeof(*words)), *results = ps_shared(n * sizeof(*results));

	out.at = ps_shared(out.n + 1);
	for (size_t i = 0, at = 0; i < n; i++) {
		int *word = words + i * GZIP_WORDS;

		word[GZIP_AT] = (int)(members[i].at + members[i].header);
		word[GZIP_SIZE] = (int)(members[i].size - members[i].header);
		word[GZIP_OUT_AT] = (int)at;
		word[GZIP_OUT_SIZE] = (int)members[i].out_size;
		at += members[i].out_size;
	}
	PO_CALL(run, "decompress", (long)n, 1, adsmPtr(file.at), adsmPtr(words), adsmPtr(out.at), adsmPtr(results));
	po_sync(run);
	for (size_t i = 0; i < n; i++)
		if (results[i])
			ps_wrong(run->wrong, "member %zu %s", i, results_say[results[i]]);
	free(members);
	adsmFree(words);
	adsmFree(results);
	return out;
}

/* What the kernel has made of a file of anybody's. */
static void verify_decompressed(struct po_run *run, struct bytes file, struct bytes out)
{
	const uint64_t start = ps_now_ns();
	struct member *members;
	size_t size, at = 0;
	const size_t n = find_members(file, &members, &size);
	uint8_t *want = ps_alloc(size + 1);

	for (size_t i = 0; i < n; i++) {
		struct po_gzip_seen seen = { 0 };
		const size_t n_in = members[i].size - members[i].header;
		const size_t got = po_gzip_inflate(file.at + members[i].at + members[i].header, n_in, want + at,
						   size - at, &seen);

		if (got != members[i].out_size || seen.size + GZIP_TRAILER != n_in)
			ps_wrong(run->wrong, "the sequential program cannot read member %zu", i);
		at += members[i].out_size;
	}
	if (memcmp(want, out.at, size))
		ps_wrong(run->wrong, "the decompressed data differ from those of the sequential program");
	run->reference_ns = ps_now_ns() - start;
	free(want);
	free(members);
}

/* ---- compressing */

/* The code of an alphabet has as many bits as the best one, or hardly more where its longest words had to be cut. */
static void verify_code(struct po_run *run, size_t chunk, uint64_t bits, const uint32_t *counts, size_t n,
			unsigned longest)
{
	const uint64_t best = po_gzip_best(counts, n, 15);
	size_t n_used = 0;

	for (size_t i = 0; i < n; i++)
		n_used += counts[i] != 0;
	if (n_used > 1 && (bits < best || (bits > best && (longest < 15 || bits > best + best / 50))))
		ps_wrong(run->wrong, "a code of chunk %zu takes %lu bits, the best one %lu", chunk, (unsigned long)bits,
			 (unsigned long)best);
}

/* Of a length or distance, less the least; @bits gets what it has behind its code. */
static unsigned code_of(unsigned value, unsigned group, uint64_t *ret_bits)
{
	unsigned code = 0, bits = 0;

	/* As in reference.c: by groups of codes. */
	for (unsigned end = 1; end <= value; code++) {
		bits += code + 1 >= group && code % (group / 2) == group / 2 - 1;
		end += 1u << bits;
	}
	*ret_bits += bits;
	return code;
}

/* Returns the bits behind codes. */
static uint64_t count_tokens(const uint32_t *tokens, size_t n, uint32_t literals[286], uint32_t distances[30])
{
	uint64_t bits = 0, none = 0;

	literals[256]++;
	for (size_t i = 0; i < n; i++) {
		const unsigned length = tokens[i] >> 16 & 0xff;

		if (!(tokens[i] & GZIP_TOKEN_MATCH)) {
			literals[tokens[i]]++;
			continue;
		}
		literals[length == 255 ? 285 : 257 + code_of(length, 8, length == 255 ? &none : &bits)]++;
		distances[code_of(tokens[i] & 0xffff, 4, &bits)]++;
	}
	return bits;
}

static void verify_member(struct po_run *run, size_t chunk, const uint8_t *in, size_t n, const uint8_t *member,
			  size_t size)
{
	static uint32_t want[GZIP_CHUNK], got[GZIP_CHUNK];
	static uint8_t out[GZIP_CHUNK];
	struct po_gzip_seen seen = { .tokens = got };
	const size_t n_want = po_gzip_tokens(in, n, want);
	const uint8_t *trailer = member + size - GZIP_TRAILER;
	uint32_t literals[286] = { 0 }, distances[30] = { 0 };
	uint64_t fixed = 3;

	if (look(member, size).header != GZIP_HEADER ||
	    po_gzip_inflate(member + GZIP_HEADER, size - GZIP_HEADER, out, n, &seen) != n || memcmp(in, out, n))
		ps_wrong(run->wrong, "chunk %zu cannot be decompressed", chunk);
	else if (seen.size + GZIP_TRAILER + GZIP_HEADER != size || seen.n_blocks != 1 || word_at(trailer + 4) != n ||
		 word_at(trailer) != po_gzip_crc(in, n))
		ps_wrong(run->wrong, "chunk %zu has a wrong size or checksum", chunk);
	else if (seen.kind && (seen.n_tokens != n_want || memcmp(want, got, n_want * sizeof(*want))))
		ps_wrong(run->wrong, "chunk %zu has other matches than the sequential program", chunk);
	else if (seen.size > n + 5)
		ps_wrong(run->wrong, "chunk %zu is larger than the stored form", chunk);
	if (seen.kind != 2)
		return;
	fixed += count_tokens(want, n_want, literals, distances);
	for (unsigned i = 0; i < 286; i++)
		fixed += literals[i] * (i < 144 ? 8u : i < 256 ? 9u : i < 280 ? 7u : 8u);
	for (unsigned i = 0; i < 30; i++)
		fixed += distances[i] * 5u;
	if (seen.size > (fixed + 7) / 8)
		ps_wrong(run->wrong, "chunk %zu is shorter with the fixed codes", chunk);
	verify_code(run, chunk, seen.literal_bits, literals, 286, seen.longest_literal);
	verify_code(run, chunk, seen.distance_bits, distances, 30, seen.longest_distance);
}

static struct bytes compress(struct po_run *run, struct bytes in)
{
	const size_t n_chunks = in.n ? (in.n + GZIP_CHUNK - 1) / GZIP_CHUNK : 1;
	unsigned *tokens = ps_shared(n_chunks * GZIP_CHUNK * sizeof(*tokens));
	uint8_t *slots = ps_shared(n_chunks * GZIP_SLOT);
	int *n_tokens = ps_shared(n_chunks * sizeof(*n_tokens)), *sizes = ps_shared(n_chunks * sizeof(*sizes));
	struct bytes file = { ps_shared(n_chunks * GZIP_SLOT), 0 };

	PO_CALL(run, "compress", (long)n_chunks, 1, adsmPtr(in.at), adsmPtr(tokens), adsmPtr(n_tokens), adsmPtr(slots),
		adsmPtr(sizes), adsmVal((int)in.n));
	po_sync(run);
	for (size_t i = 0; i < n_chunks; i++) {
		const size_t size = (size_t)sizes[i];

		if (size > GZIP_SLOT)
			ps_die("chunk %zu has %zu bytes", i, size);
		memcpy(file.at + file.n, slots + i * GZIP_SLOT, size);
		file.n += size;
	}
	adsmFree(tokens);
	adsmFree(n_tokens);
	adsmFree(slots);
	adsmFree(sizes);
	return file;
}

static void verify_compressed(struct po_run *run, struct bytes in, struct bytes file)
{
	const uint64_t start = ps_now_ns();
	struct member *members;
	size_t size;
	const size_t n = find_members(file, &members, &size);

	if (size != in.n)
		ps_wrong(run->wrong, "%zu bytes are compressed, not %zu", size, in.n);
	for (size_t i = 0; i < n && size == in.n; i++)
		verify_member(run, i, in.at + i * GZIP_CHUNK, members[i].out_size, file.at + members[i].at,
			      members[i].size);
	run->reference_ns = ps_now_ns() - start;
	free(members);
}

/* ---- */

static void run_gzip(struct po_run *run)
{
	struct bytes in = run->input ? read_file(run->input) : generate((size_t)run->v[0]), file = { 0 }, out;

	if (!run->backward) {
		file = compress(run, in);
		if (run->verify)
			verify_compressed(run, in, file);
		snprintf(run->note, sizeof(run->note), "%zu bytes become %zu", in.n, file.n);
	}
	po_result(run, file.at, file.n);
	if (run->output && !run->backward)
		write_file(run->output, file);
	out = decompress(run, run->backward ? in : file);
	po_result(run, out.at, out.n);
	if (run->backward) {
		if (run->verify)
			verify_decompressed(run, in, out);
		if (run->output)
			write_file(run->output, out);
		snprintf(run->note, sizeof(run->note), "%zu bytes become %zu", in.n, out.n);
	} else if (out.n != in.n || memcmp(in.at, out.at, in.n))
		ps_wrong(run->wrong, "the data differ after compression and decompression");
	adsmFree(in.at);
	adsmFree(file.at);
	adsmFree(out.at);
}

static const struct ps_size sizes[] = {
	{ "small", { 6 * GZIP_CHUNK + 40 } }, { "medium", { 60 * GZIP_CHUNK + 1000 } }, { 0 }
};

const struct po_program po_gzip = {
	"gzip", "deflate by strings and Huffman codes, chunk by chunk, and back", "bytes", sizes, true, run_gzip, NULL,
};
