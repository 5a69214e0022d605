/* SPDX-License-Identifier: MIT */
/* text.c - the C text that grows, and how the translation of a function ends early. */
#include "writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void adsm_ptx_print(struct adsm_ptx_writer *writer, const char *format, ...)
{
	struct adsm_ptx_text *text = &writer->text;
	va_list args;
	int size;

	for (;;) {
		const size_t left = text->room - text->size;

		va_start(args, format);
		size = vsnprintf(left ? text->bytes + text->size : NULL, left, format, args);
		va_end(args);
		if (size < 0)
			adsm_ptx_refuse(writer, "a C text cannot be formatted");
		if ((size_t)size < left)
			break;

		const size_t room = 2 * (text->room + (size_t)size) + 256;
		char *bytes = realloc(text->bytes, room);

		if (!bytes)
			adsm_ptx_refuse(writer, "there is not enough memory for the C text");
		text->bytes = bytes;
		text->room = room;
	}
	text->size += (size_t)size;
}

void adsm_ptx_refuse(struct adsm_ptx_writer *writer, const char *format, ...)
{
	struct adsm_ptx_error *error = writer->error;
	va_list args;

	error->line = writer->instruction ? writer->instruction->line : writer->function ? writer->function->line : 0;
	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	longjmp(writer->refused, 1);
}
