/* SPDX-License-Identifier: MIT */
/*
 * table.c - see table.h. Two names that differ in one place become one, with both words in braces. So the table says
 * neither less nor more than what is tried.
 */
#include "table.h"

#include "threads.h"

#include <stdlib.h>

/* Words that may stand at one place. */
static const char *const alternatives[] = {
	" eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan ",
	" rn rz rm rp ",
	" rni rzi rmi rpi ",
	" sc relaxed acquire release acq_rel ",
	" cta gpu sys ",
	" global shared local const param ",
	" commit_group wait_group wait_all ",
	" finite infinite number notanumber normal subnormal ",
	" f4e b4e rc8 ecl ecr rc16 ",
	" wrap clamp ",
	" and or xor ",
	" inc dec ",
	" min max ",
	" v2 v4 ",
	" lo hi ",
	" approx full ",
	" L1 L2 ",
	" ca cg cs lu cv wb wt ",
	" volatile weak ",
	" any all uni ",
	" up down bfly idx ",
	" m16n8k4 m16n8k8 m16n8k16 ",
	" x1 x2 x4 ",
	" 1d 2d 3d a1d a2d ",
	" add exch cas ",
};
static const char types[] = " pred b8 u8 s8 b16 u16 s16 f16 bf16 b32 u32 s32 f32 f16x2 bf16x2 tf32 b64 u64 s64 f64 ";

#define ALTERNATIVES (sizeof(alternatives) / sizeof(*alternatives))
#define PARTS 9
#define ROWS 24576

/* A part of a pattern: the words that stand at its place. */
struct part {
	int of;				/* an index of alternatives; -1: one word; -2: types */
	bool optional;
	char words[160];
};

struct pattern {
	char opcode[24];
	int index;			/* in the order of the forms */
	bool merged;			/* into another one */
	int n;
	struct part parts[PARTS];
};

static struct pattern patterns[ROWS];
static int n_patterns;

const char *table_next(const char *text, char *name, size_t size)
{
	while (*text) {
		const size_t length = strcspn(text, " ;:,");

		if (strchr("{}; \n\t", *text)) {
			text++;
		} else if (text[0] == '@' || text[length] == ':') {
			/* A guard, or a label. Names may have colons: shared::cta. */
			if (text[0] != '@' && text[length + 1] == ':')
				break;
			text += length + 1;
		} else if (text[0] == '.') {
			text += strcspn(text, ";");
		} else {
			break;
		}
	}
	if (!*text)
		return NULL;
	snprintf(name, size, "%.*s", (int)strcspn(text, " ;"), text);
	return text + strcspn(text, ";");
}

void table_opcode(const char *text, char *opcode, size_t size)
{
	char name[128];

	for (const char *at = table_next(text, name, sizeof(name)); at; at = table_next(at, name, sizeof(name))) {
		name[strcspn(name, ".")] = '\0';
		if (at != text || !strcmp(name, "call"))
			snprintf(opcode, size, "%s", name);
		if (!strstr(text, "call ") || !strcmp(name, "call"))
			break;
	}
}

static bool has_word(const char *list, const char *word)
{
	char padded[48];

	snprintf(padded, sizeof(padded), " %.40s ", word);
	return strstr(list, padded) != NULL;
}

static int class_of(const char *opcode, const char *word)
{
	if (has_word(types, word))
		return -2;
	for (size_t i = 0; i < ALTERNATIVES; i++)
		if (has_word(alternatives[i], word) && strcmp(opcode, "membar") != 0)
			return (int)i;
	return -1;
}

/* The parts of an instruction's name. */
static void split(const char *name, struct pattern *ret_pattern)
{
	struct pattern pattern = { .n = 0 };

	snprintf(pattern.opcode, sizeof(pattern.opcode), "%.*s", (int)strcspn(name, "."), name);
	for (const char *at = name + strlen(pattern.opcode); *at == '.';) {
		const size_t size = strcspn(++at, ".");
		struct part *part = &pattern.parts[pattern.n];
		char word[40];

		snprintf(word, sizeof(word), "%.*s", (int)size, at);
		if (pattern.n == PARTS)
			break;
		part->of = class_of(pattern.opcode, word);
		snprintf(part->words, sizeof(part->words), " %s ", word);
		pattern.n++;
		at += size;
	}
	*ret_pattern = pattern;
}

static bool are_equal(const struct part *a, const struct part *b)
{
	return a->of == b->of && a->optional == b->optional && !strcmp(a->words, b->words);
}

/* The only part that two patterns differ in; -1: they differ in more, or in words without alternatives. */
static int difference(const struct pattern *a, const struct pattern *b)
{
	int found = -1;

	if (a->n != b->n)
		return -1;
	for (int i = 0; i < a->n; i++) {
		if (are_equal(&a->parts[i], &b->parts[i]))
			continue;
		if (found >= 0 || a->parts[i].of != b->parts[i].of || a->parts[i].of == -1 ||
		    a->parts[i].optional != b->parts[i].optional)
			return -1;
		found = i;
	}
	return found;
}

/* The only part of @b that @a lacks; -1: they differ in more. */
static int addition(const struct pattern *a, const struct pattern *b)
{
	int found = -1;

	if (a->n + 1 != b->n)
		return -1;
	for (int i = 0; i < b->n; i++) {
		if (i - (found >= 0) < a->n && are_equal(&a->parts[i - (found >= 0)], &b->parts[i]))
			continue;
		if (found >= 0)
			return -1;
		found = i;
	}
	return found;
}

static int compare_patterns(const void *a, const void *b)
{
	const struct pattern *x = a, *y = b;
	const int order = strcmp(x->opcode, y->opcode);

	return order ? order : x->n != y->n ? x->n - y->n : x->index - y->index;
}

/* Put the patterns that are left in the order of their opcodes. Returns whether some have been merged. */
static bool close_up(void)
{
	int n = 0;

	for (int i = 0; i < n_patterns; i++)
		if (!patterns[i].merged)
			patterns[n++] = patterns[i];
	if (n == n_patterns)
		return false;
	n_patterns = n;
	return true;
}

/* Make one of each two patterns that differ in one part, the types first. Returns whether there were some. */
static bool merge(bool only_types)
{
	for (int i = 0; i < n_patterns; i++) {
		for (int j = i + 1; j < n_patterns && !patterns[i].merged &&
		     !strcmp(patterns[i].opcode, patterns[j].opcode) && patterns[i].n == patterns[j].n; j++) {
			const int part = patterns[j].merged ? -1 : difference(&patterns[i], &patterns[j]);
			char *words;

			if (part < 0 || (only_types && patterns[i].parts[part].of != -2))
				continue;
			words = patterns[i].parts[part].words;
			if (strlen(words) + strlen(patterns[j].parts[part].words) > sizeof(patterns->parts->words))
				continue;
			strcpy(words + strlen(words) - 1, patterns[j].parts[part].words);
			patterns[j].merged = true;
		}
	}
	return close_up();
}

/* Make one of each two patterns if one of them has a part more. Returns whether there were some. */
static bool make_optional(void)
{
	for (int i = 0; i < n_patterns; i++) {
		for (int j = i + 1; j < n_patterns && !patterns[i].merged &&
		     !strcmp(patterns[i].opcode, patterns[j].opcode) && patterns[j].n <= patterns[i].n + 1; j++) {
			const int part = patterns[j].merged ? -1 : addition(&patterns[i], &patterns[j]);

			if (part < 0)
				continue;
			patterns[j].parts[part].optional = true;
			patterns[i].merged = true;
		}
	}
	return close_up();
}

bool table_is_new(char **names, const char *name)
{
	uint32_t hash = 2166136261u;

	for (const char *at = name; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 16777619u;
	while (names[hash % TABLE_NAMES] && strcmp(names[hash % TABLE_NAMES], name) != 0)
		hash++;
	if (names[hash % TABLE_NAMES])
		return false;
	names[hash % TABLE_NAMES] = strdup(name);
	return true;
}

/* The names of all instructions of a text, each once. */
static void add_text(const char *text)
{
	static char *names[TABLE_NAMES];
	char name[128];

	for (text = table_next(text, name, sizeof(name)); text; text = table_next(text, name, sizeof(name))) {
		if (!table_is_new(names, name))
			continue;
		if (n_patterns == ROWS)
			abort();
		split(name, &patterns[n_patterns]);
		patterns[n_patterns].index = n_patterns;
		n_patterns++;
	}
}

static void print_pattern(FILE *out, const struct pattern *pattern)
{
	fprintf(out, "%s", pattern->opcode);
	for (int i = 0; i < pattern->n; i++) {
		const char *words = pattern->parts[i].words + 1;
		const bool several = strchr(words, ' ')[1] != '\0', optional = pattern->parts[i].optional;

		fprintf(out, "%s.%s", optional ? "[" : "", several ? "{" : "");
		for (const char *at = words; *at; at = strchr(at, ' ') + 1)
			fprintf(out, "%s%.*s", at == words ? "" : ", ", (int)strcspn(at, " "), at);
		fprintf(out, "%s%s", several ? "}" : "", optional ? "]" : "");
	}
}

void table_print(FILE *out, const struct form *forms, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add_text(forms[i].text);
	for (size_t i = 0; threads_text(i); i++)
		add_text(threads_text(i));
	qsort(patterns, (size_t)n_patterns, sizeof(*patterns), compare_patterns);
	merge(true);
	while (merge(false))
		;
	for (bool more = true; more;) {
		more = make_optional();
		while (merge(false))
			more = true;
	}
	fprintf(out, "| Instruction | Forms |\n|---|---|\n");
	for (int i = 0; i < n_patterns; i++) {
		const bool first = !i || strcmp(patterns[i].opcode, patterns[i - 1].opcode) != 0;
		const bool last = i == n_patterns - 1 || strcmp(patterns[i].opcode, patterns[i + 1].opcode) != 0;

		if (first)
			fprintf(out, "| `%s` | ", patterns[i].opcode);
		fprintf(out, "%s`", first ? "" : "; ");
		print_pattern(out, &patterns[i]);
		fprintf(out, "`%s", last ? " |\n" : "");
	}
}

double table_error(const struct bound *bound, double error)
{
	return bound->kind == 'u' ? ceil(error * 10) / 10 : error == 0 ? -INFINITY : ceil(log2(error) * 10) / 10;
}

/* A number of the table: 2, pi, or a power of 2. */
static void print_size(FILE *out, double size)
{
	int exponent;

	if (fabs(size / 3.14159265358979323846 - rint(size / 3.14159265358979323846)) < 1e-9 && size > 3 && size < 1000)
		fprintf(out, "%.0fπ", size / 3.14159265358979323846);
	else if (size >= 0.5 && size <= 2)
		fprintf(out, "%g", size);
	else
		fprintf(out, "2^%d", (frexp(size, &exponent), exponent - 1));
}

static void print_operand(FILE *out, const struct bound *bound)
{
	if (!bound->most || (bound->least == 0 && isinf(bound->most))) {
		fprintf(out, "any");
		return;
	}
	if (bound->least > 0) {
		print_size(out, bound->least);
		fprintf(out, isinf(bound->most) ? " and more" : " to ");
	} else {
		fprintf(out, "up to ");
	}
	if (!isinf(bound->most))
		print_size(out, bound->most);
}

void table_print_bounds(FILE *out, const struct form *forms, size_t n)
{
	fprintf(out, "| Form | Size of the operand | Bound | Largest error | Section |\n|---|---|---|---|---|\n");
	for (size_t i = 0; i < n; i++) {
		const char *text = forms[i].text;
		char name[64];

		if (!forms[i].section)
			continue;
		table_next(text, name, sizeof(name));
		for (int j = 0; j < forms[i].n_bounds; j++) {
			const struct bound *bound = &forms[i].bounds[j];

			if (bound->kind == 'l')
				continue;
			fprintf(out, "| `%s` | %s", name, bound->operand ? "divisor: " : "");
			print_operand(out, bound);
			if (isinf(bound->limit))
				fprintf(out, " | exact | 0");
			else if (bound->kind == 'u')
				fprintf(out, " | %g ulp%s | %g ulp", bound->limit, bound->ours ? ", ours" : "",
					bound->seen);
			else
				fprintf(out, " | 2^%g %s%s | 2^%g", bound->limit, bound->kind == 'r' ? "relative" :
					"absolute", bound->ours ? ", ours" : "", bound->seen);
			fprintf(out, " | %s |\n", forms[i].section);
		}
	}
}
