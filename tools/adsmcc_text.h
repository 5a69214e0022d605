/* SPDX-License-Identifier: MIT */
/* adsmcc_text.h - lists, texts and errors of the kernel compiler. A run is short: memory is never freed. */
#ifndef ADSMCC_TEXT_H
#define ADSMCC_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	const char **items;
	size_t n;
};

struct text {
	char *bytes;			/* NUL-terminated */
	size_t size, room;
};

extern int n_errors;

/* "adsmcc: …" on standard error, and no more. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* What is wrong with the source: counted, and the next one is looked for. */
void error_at(const char *file, int file_size, int line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* What is allowed, and may not be what is meant. @file NULL: nobody knows where. */
void warning_at(const char *file, int file_size, int line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* realloc() that does not fail. */
void *grow(void *p, size_t size);
void list_add(struct list *list, const char *item);
bool list_has(const struct list *list, const char *item);
void text_add(struct text *text, const char *bytes, size_t size);
void text_print(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *format_string(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Read @path whole; false with errno. */
bool read_file(const char *path, struct text *ret_text);
/* NULL: to standard output. */
void write_text(const struct text *text, const char *path);
bool starts(const char *string, const char *prefix);

#endif
