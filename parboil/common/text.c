/* SPDX-License-Identifier: MIT */
/* text.c - input files of text, line by line. */
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

void pb_text_open(struct pb_text *ret_text, const char *path)
{
	*ret_text = (struct pb_text){ .file = pb_open(path, "r"), .path = path };
	/* It is read twice, for the reference and by the variant: no pipe will do. */
	pb_file_size(ret_text->file, path);
}

bool pb_text_line(struct pb_text *text)
{
	ssize_t length;

	while (errno = 0, (length = getline(&text->buffer, &text->room, text->file)) >= 0) {
		text->line++;
		if (strlen(text->buffer) < (size_t)length)
			pb_text_die(text, "this line contains a NUL byte");
		text->next = text->buffer + strspn(text->buffer, " \t\r\n");
		if (*text->next)
			return true;
	}
	if (ferror(text->file) || errno)
		pb_die("%s: %s", text->path, strerror(errno));
	text->line++;
	return false;
}

const char *pb_text_word(struct pb_text *text, const char *what)
{
	char *word = text->next + strspn(text->next, " \t\r\n"), *end = word + strcspn(word, " \t\r\n");

	if (word == end)
		pb_text_die(text, "%s is missing", what);
	text->next = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

double pb_text_number(struct pb_text *text, const char *what)
{
	const char *word = pb_text_word(text, what);
	char *end;
	double number = strtod(word, &end);

	if (*end || !isfinite(number))
		pb_text_die(text, "%s is \"%s\", but must be a number", what, word);
	return number;
}

long pb_text_count(struct pb_text *text, const char *what, long min, long max)
{
	const char *word = pb_text_word(text, what);
	char *end;
	long number;

	errno = 0;
	number = strtol(word, &end, 10);
	if (*end || errno || number < min || number > max)
		pb_text_die(text, "%s is \"%s\", but must be a number from %ld to %ld", what, word, min, max);
	return number;
}

void pb_text_line_end(struct pb_text *text)
{
	if (text->next[strspn(text->next, " \t\r\n")])
		pb_text_die(text, "\"%s\" is unexpected at the end of this line", pb_text_word(text, "nothing"));
}

void pb_text_die(const struct pb_text *text, const char *format, ...)
{
	char message[256];
	va_list list;

	va_start(list, format);
	vsnprintf(message, sizeof(message), format, list);
	va_end(list);
	pb_die("%s:%lu: %s", text->path, text->line, message);
}

void pb_text_close(struct pb_text *text)
{
	fclose(text->file);
	free(text->buffer);
}
