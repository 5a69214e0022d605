/* SPDX-License-Identifier: MIT */
/* adsmcc_text.h - lists, texts and errors of the kernel compiler. Memory is never freed, because a run is short. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct list {
	const char **items;		/* a NULL follows the last one */
	size_t n;
};

struct text {
	char *bytes;			/* NUL-terminated */
	size_t size, room;
};

extern int n_errors;

/* Print "adsmcc: …" on standard error, and exit. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* Report an error in the source and count it. The caller continues, to find more errors. */
void error_at(const char *file, int file_size, int line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Warn of code that is allowed, but may be a mistake. @file NULL: the place is not known. */
void warning_at(const char *file, int file_size, int line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* realloc(); if there is no memory, adsmcc exits. */
void *grow(void *p, size_t size);
void list_add(struct list *list, const char *item);
/* Add items up to NULL. */
void list_add_all(struct list *list, const char *const *items);
#define LIST_ADD(list, ...) list_add_all(list, (const char *const []){ __VA_ARGS__, NULL })
/* The words of @command, which are separated by spaces. */
struct list words_of(const char *command);
bool list_has(const struct list *list, const char *item);
void text_add(struct text *text, const char *bytes, size_t size);
void text_print(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *format_string(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Read the whole file @path. False: errno has the error. */
bool read_file(const char *path, struct text *ret_text);
/* Is the path a device, a pipe, or anything else that a new file must not replace? */
bool is_special(const char *path);
/* A template for mkstemp() or mkdtemp(), beside the output if that is a file, or will be. */
char *temporary_name(const char *output);
/* @path NULL: standard output. */
void write_text(const struct text *text, const char *path);
bool starts(const char *string, const char *prefix);
/* The folder of the program that runs. NULL: errno has the error. */
const char *own_folder(void);
