/* SPDX-License-Identifier: MIT */
/* adsmcc_text.c - lists, texts and errors of the kernel compiler. */
#include "adsmcc_text.h"

#include <errno.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int n_errors;

void die(const char *format, ...)
{
	va_list args;

	fputs("adsmcc: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

void error_at(const char *file, int file_size, int line, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%.*s:%d: error: ", file_size, file, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	n_errors++;
}

void warning_at(const char *file, int file_size, int line, const char *format, ...)
{
	va_list args;

	if (file)
		fprintf(stderr, "%.*s:%d: warning: ", file_size, file, line);
	else
		fprintf(stderr, "adsmcc: warning: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void *grow(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p)
		die("out of memory");
	return p;
}

void list_add(struct list *list, const char *item)
{
	list->items = grow(list->items, (list->n + 2) * sizeof(*list->items));
	list->items[list->n++] = item;
	list->items[list->n] = NULL;
}

void list_add_all(struct list *list, const char *const *items)
{
	while (items && *items)
		list_add(list, *items++);
}

struct list words_of(const char *command)
{
	struct list list = { 0 };
	char *word, *rest = format_string("%s", command);

	while ((word = strsep(&rest, " ")))
		if (*word)
			list_add(&list, word);
	return list;
}

bool list_has(const struct list *list, const char *item)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->items[i], item))
			return true;
	return false;
}

void text_add(struct text *text, const char *bytes, size_t size)
{
	if (text->size + size >= text->room) {
		text->room = 2 * (text->size + size) + 1;
		text->bytes = grow(text->bytes, text->room);
	}
	memcpy(text->bytes + text->size, bytes, size);
	text->size += size;
	text->bytes[text->size] = '\0';
}

void text_print(struct text *text, const char *format, ...)
{
	char *line;
	va_list args;
	int size;

	va_start(args, format);
	size = vasprintf(&line, format, args);
	va_end(args);
	if (size < 0)
		die("out of memory");
	text_add(text, line, (size_t)size);
	free(line);
}

char *format_string(const char *format, ...)
{
	char *string;
	va_list args;

	va_start(args, format);
	if (vasprintf(&string, format, args) < 0)
		die("out of memory");
	va_end(args);
	return string;
}

bool read_file(const char *path, struct text *ret_text)
{
	struct text text = { 0 };
	char buffer[65536];
	size_t n;
	FILE *file = fopen(path, "r");

	if (!file)
		return false;
	text_add(&text, "", 0);
	while ((n = fread(buffer, 1, sizeof(buffer), file)) > 0)
		text_add(&text, buffer, n);
	if (ferror(file))
		return false;
	fclose(file);
	*ret_text = text;
	return true;
}

bool is_special(const char *path)
{
	struct stat info;

	return !stat(path, &info) && !S_ISREG(info.st_mode);
}

char *temporary_name(const char *output)
{
	const char *folder = getenv("TMPDIR");

	return is_special(output) ? format_string("%s/adsmcc.XXXXXX", folder && *folder ? folder : "/tmp") :
		format_string("%s.XXXXXX", output);
}

void write_text(const struct text *text, const char *path)
{
	FILE *file = path ? fopen(path, "w") : stdout;

	if (!file || fwrite(text->bytes, 1, text->size, file) != text->size || fflush(file))
		die("%s: %s", path ? path : "standard output", strerror(errno));
	if (path)
		fclose(file);
}

bool starts(const char *string, const char *prefix)
{
	return !strncmp(string, prefix, strlen(prefix));
}

const char *own_folder(void)
{
	char *self = realpath("/proc/self/exe", NULL);

	return self ? dirname(self) : NULL;
}
