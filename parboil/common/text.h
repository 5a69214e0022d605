/* SPDX-License-Identifier: MIT */
/* text.h - input files of text, line by line; what is wrong with one ends the program: "FILE:LINE: ...". */
#ifndef PARBOIL_TEXT_H
#define PARBOIL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct pb_text {
	FILE *file;
	const char *path;
	unsigned long line;		/* number of the current line, from 1 */
	char *buffer, *next;		/* of the line: all, and what has not been read */
	size_t room;
};

void pb_text_open(struct pb_text *ret_text, const char *path);
/* Go to the next line that is not blank; false at the end of the file. */
bool pb_text_line(struct pb_text *text);
/* The next word or number of the line. @what names it in the message where it is missing or malformed.
 * A word stays until the next line. Numbers are finite. */
const char *pb_text_word(struct pb_text *text, const char *what);
double pb_text_number(struct pb_text *text, const char *what);
long pb_text_count(struct pb_text *text, const char *what, long min, long max);
/* Die unless the whole line has been read. */
void pb_text_line_end(struct pb_text *text);
_Noreturn void pb_text_die(const struct pb_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void pb_text_close(struct pb_text *text);

#endif
