/* SPDX-License-Identifier: MIT */
/* base/lines.c - see lines.h. */
#include "base/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* Where a reader of PTX is. */
struct reader {
	const char *at;			/* the start of the next line, or NULL */
	const char *text;		/* the line without the blanks before it */
	int line, file, source_line;	/* of the source: 0: not known */
};

static const char *skip_blanks(const char *p)
{
	return p + strspn(p, " \t");
}

/* Read a directive with a number after it. Returns what follows the number; NULL: it is another line. */
static const char *directive(const char *text, const char *name, int *ret_number)
{
	const size_t n = strlen(name);
	char *end;

	if (strncmp(text, name, n) || (text[n] != ' ' && text[n] != '\t'))
		return NULL;
	*ret_number = (int)strtol(text + n, &end, 10);
	return end;
}

/* Go to the next line. False: there is none. */
static bool next(struct reader *reader)
{
	const char *const start = reader->at, *rest;
	int file;

	if (!start || !*start)
		return false;
	reader->text = skip_blanks(start);
	reader->at = strchr(start, '\n');
	if (reader->at)
		reader->at++;
	reader->line++;
	rest = directive(reader->text, ".loc", &file);
	if (rest) {
		reader->file = file;
		reader->source_line = atoi(skip_blanks(rest));
	} else if (*start == '}') {
		reader->source_line = 0;	/* the end of a function */
	}
	return true;
}

/* The name that .file gives to a number. */
static bool find_file(const char *ptx, int number, const char **ret_file, size_t *ret_size)
{
	struct reader reader = { .at = ptx };

	while (next(&reader)) {
		int own;
		const char *name = directive(reader.text, ".file", &own);

		name = name && own == number ? skip_blanks(name) : NULL;
		if (!name || *name != '"')
			continue;
		*ret_file = name + 1;
		*ret_size = strcspn(name + 1, "\"\n");
		return true;
	}
	return false;
}

bool adsm_lines_source(const char *ptx, int line, const char **ret_file, size_t *ret_size, int *ret_line)
{
	struct reader reader = { .at = ptx };

	while (reader.line < line)
		if (!next(&reader))
			return false;
	if (reader.source_line <= 0 || !find_file(ptx, reader.file, ret_file, ret_size))
		return false;
	*ret_line = reader.source_line;
	return true;
}

static const char *last_part(const char *path, size_t size)
{
	const char *slash = memrchr(path, '/', size);

	return slash ? slash + 1 : path;
}

/* Is it this file, apart from folders? */
static bool is_file(const char *ptx, int number, const char *file)
{
	const char *name, *last = last_part(file, strlen(file)), *own;
	size_t size, n;

	if (!find_file(ptx, number, &name, &size))
		return false;
	own = last_part(name, size);
	n = size - (size_t)(own - name);
	return strlen(last) == n && !memcmp(own, last, n);
}

/* Is the line an instruction? Labels and directives are none. */
static bool is_instruction(const char *text)
{
	const size_t size = strcspn(text, "\n");
	const size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return *text == '@' || (word && text[word] != ':' && memchr(text, ';', size));
}

/* Add lines to a text. */
static void add(char *text, size_t size, int first, int last)
{
	adsm_append(text, size, first == last ? "%s%d" : "%s%d-%d", *text ? ", " : "", first, last);
}

void adsm_lines_ptx(const char *ptx, const char *file, int source_line, char *ret_text, size_t size)
{
	struct reader reader = { .at = ptx };
	int first = 0, last = 0, n = 0, known = 0;
	bool is_known = false;
	char list[160] = "";

	while (next(&reader)) {
		bool is_here = reader.source_line == source_line && source_line && is_instruction(reader.text);

		/* Mostly all lines are of few files. */
		if (is_here && (!known || known != reader.file)) {
			known = reader.file;
			is_known = is_file(ptx, known, file);
		}
		is_here = is_here && is_known;
		n += is_here;
		if (is_here && !first)
			first = reader.line;
		if (is_here)
			last = reader.line;
		if (first && (!is_here && is_instruction(reader.text))) {
			add(list, sizeof(list), first, last);
			first = 0;
		}
	}
	if (first)
		add(list, sizeof(list), first, last);
	*ret_text = '\0';
	if (n)
		adsm_format(ret_text, size, "line%s %s", n > 1 ? "s" : "", list);
}
