/* SPDX-License-Identifier: MIT */
/*
 * fuzz_parse.c - damaged PTX: a text is parsed or refused, whatever it is. Its kernels are analysed, and are
 * translated or refused. Usage: fuzz_parse FILE... Case N is the same in every run: TEST_PTX_CASE=N runs only this one,
 * and prints its text. TEST_PTX_CASES: their number.
 */
#include "../check.h"
#include "ptx/access/access.h"
#include "ptx/access/writes.h"
#include "ptx/code/translate.h"
#include "tree.h"

#include <stdlib.h>

#define FEW 3000
#define MANY 1000000
#define MOST_TEXTS 32
#define LARGEST 65536			/* bytes of a text */

struct text {
	char *bytes;
	size_t size;
};

static struct text texts[MOST_TEXTS];
static size_t n_texts;
static uint64_t state, current;

/* What a sanitizer calls before it ends the process. */
void __asan_on_error(void);
void __ubsan_on_report(void);

static void name_case(void)
{
	fprintf(stderr, "fuzz_parse: case %llu\n", (unsigned long long)current);
}

void __asan_on_error(void)
{
	name_case();
}

void __ubsan_on_report(void)
{
	name_case();
}

/* SplitMix64 */
static uint64_t draw(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static size_t below(size_t n)
{
	return n ? draw() % n : 0;
}

/* Replace @n bytes at @at. */
static void replace(struct text *text, size_t at, size_t n, const char *bytes, size_t size)
{
	char copy[4096];

	if (at > text->size || n > text->size - at || size > sizeof(copy) || text->size - n + size > LARGEST)
		return;
	memcpy(copy, bytes, size);
	memmove(text->bytes + at + size, text->bytes + at + n, text->size - at - n);
	memcpy(text->bytes + at, copy, size);
	text->size += size - n;
}

static bool in_token(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || strchr("_$%.", c);
}

/* A token at a random place: a word, or one character. */
static size_t token(const struct text *text, size_t *ret_n)
{
	size_t at = below(text->size), end;

	while (at && in_token(text->bytes[at]) && in_token(text->bytes[at - 1]))
		at--;
	end = at;
	while (end < text->size && in_token(text->bytes[end]))
		end++;
	*ret_n = end > at ? end - at : at < text->size;
	return at;
}

static size_t line(const struct text *text, size_t *ret_n)
{
	size_t at = below(text->size), end;

	while (at && text->bytes[at - 1] != '\n')
		at--;
	end = at;
	while (end < text->size && text->bytes[end] != '\n')
		end++;
	*ret_n = end + (end < text->size) - at;
	return at;
}

static void change_bytes(struct text *text)
{
	const char byte = (char)draw();
	const size_t at = below(text->size), n = below(3);

	replace(text, at, n < text->size - at ? n : 0, &byte, below(2));
}

static void change_token(struct text *text)
{
	static const char *const words[] = {
		"0", "1", "-1", "4294967295", "0xffffffffffffffff", "1073741824", "0f7fc00000", "1e400", "{", "}", "[",
		"]", "(", ")", ";", ",", ":", "|", "!", "@", "<", ">", "=", "+", "-", "_", "%r1", "%p1", "%tid.x",
		".reg", ".param", ".v4", ".align", ".pred", ".func", ".entry", ".branchtargets", "call", "bra", "ld",
		"st", "\"", "//", "/*", "*/", ".global", ".extern", "generic(", "0xff(", "(1<<63)/-1",
		"%r<1000000000>", "[1099511627776]", ".loc 1 2 3",
	};
	const struct text *other = &texts[below(n_texts)];
	size_t n, m, from, at = token(text, &n);

	if (draw() & 1) {
		const char *word = words[below(sizeof(words) / sizeof(*words))];

		replace(text, at, draw() & 1 ? n : 0, word, strlen(word));
		return;
	}
	from = token(other, &m);
	replace(text, at, draw() & 1 ? n : 0, other->bytes + from, draw() % 4 ? m : 0);
}

static void change_line(struct text *text)
{
	const struct text *other = draw() & 1 ? text : &texts[below(n_texts)];
	size_t n, m, from, at = line(text, &n);

	from = line(other, &m);
	/* A copy of some lines, or of one. */
	if (!(draw() & 7)) {
		m = 1 + below(2000);
		if (m > other->size - from)
			m = other->size - from;
	}
	replace(text, at, draw() & 1 ? n : 0, other->bytes + from, draw() % 4 ? m : 0);
}

static void change(struct text *text)
{
	switch (draw() % 8) {
	case 0: case 1: change_bytes(text); return;
	case 2: case 3: case 4: change_token(text); return;
	case 5: case 6: change_line(text); return;
	default:
		if (!(draw() & 15))
			text->size = below(text->size);
		return;
	}
}

static void analyse(const struct adsm_ptx_module *module)
{
	for (uint32_t i = 0; i < module->n_functions; i++) {
		struct adsm_ptx_access access;
		struct adsm_ptx_writes writes;

		if (!module->functions[i]->is_entry || !module->functions[i]->has_body)
			continue;
		CHECKF(!adsm_ptx_access_find(module, module->functions[i], &access), "case %llu",
		       (unsigned long long)current);
		CHECKF(!adsm_ptx_writes_find(module, module->functions[i], &access, &writes), "case %llu",
		       (unsigned long long)current);
		for (uint32_t j = 0; j < writes.n; j++)
			free(adsm_ptx_write_text(&writes.list[j], "k"));
		adsm_ptx_writes_destroy(&writes);
		adsm_ptx_access_destroy(&access);
	}
}

/* What cannot be translated is refused with a sentence, and the place. */
static void translate(struct adsm_ptx_module *module)
{
	struct adsm_ptx_translation translation;
	struct adsm_ptx_error error = { 0 };
	const int result = adsm_ptx_translate(module, &translation, &error);

	CHECKF(!result || (result == -ENOEXEC && *error.text), "case %llu: %d", (unsigned long long)current, result);
	if (result)
		return;
	for (uint32_t i = 0; i < translation.n_kernels; i++)
		CHECKF(!translation.kernels[i].is_refused || *translation.kernels[i].error.text, "case %llu",
		       (unsigned long long)current);
	adsm_ptx_translation_destroy(&translation);
}

/* Returns whether the text was accepted. */
static bool run_case(uint64_t number, char *room, bool print)
{
	struct adsm_ptx_module *module = NULL;
	struct adsm_ptx_error error = { 0 };
	struct text text = { .bytes = room };
	const char *wrong;
	char *copy;
	int result;

	current = number;
	state = number;
	text.size = texts[number % n_texts].size;
	memcpy(room, texts[number % n_texts].bytes, text.size);
	for (size_t n = 1 + below(4) * below(4); n--;)
		change(&text);
	if (print)
		fwrite(text.bytes, 1, text.size, stdout);
	/* What is read beyond the text is found. */
	copy = malloc(text.size ? text.size : 1);
	CHECK(copy);
	memcpy(copy, text.bytes, text.size);
	result = adsm_ptx_parse(copy, text.size, &module, &error);
	free(copy);
	CHECKF(!result || result == -ENOEXEC, "case %llu: %d", (unsigned long long)number, result);
	if (result) {
		CHECKF(!module && *error.text && strlen(error.text) < sizeof(error.text), "case %llu",
		       (unsigned long long)number);
		return false;
	}
	wrong = tree_check(module);
	CHECKF(!wrong, "case %llu: %s", (unsigned long long)number, wrong);
	analyse(module);
	translate(module);
	adsm_ptx_destroy(module);
	return true;
}

static void read_text(const char *name)
{
	FILE *file = fopen(name, "r");
	struct text *text = &texts[n_texts++];

	CHECKF(file && n_texts <= MOST_TEXTS, "%s", name);
	text->bytes = malloc(LARGEST);
	CHECK(text->bytes);
	text->size = fread(text->bytes, 1, LARGEST, file);
	fclose(file);
}

int main(int argc, char **argv)
{
	const char *one = getenv("TEST_PTX_CASE"), *number = getenv("TEST_PTX_CASES");
	const uint64_t n = number ? strtoull(number, NULL, 10) : getenv("TEST_FULL") ? MANY : FEW;
	char *room = malloc(LARGEST);
	uint64_t accepted = 0;

	CHECK(argc > 1 && room);
	for (int i = 1; i < argc; i++)
		read_text(argv[i]);
	if (one) {
		run_case(strtoull(one, NULL, 10), room, true);
		return 0;
	}
	for (uint64_t i = 0; i < n; i++)
		accepted += run_case(i, room, false);
	printf("%llu damaged texts: %llu accepted\n", (unsigned long long)n, (unsigned long long)accepted);
	/* A damage that always makes a text invalid would test little. */
	CHECKF(accepted > n / 50 && accepted < n, "%llu", (unsigned long long)accepted);
	return 0;
}
