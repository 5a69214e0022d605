/* SPDX-License-Identifier: MIT */
/*
 * lines.c - tells the C compiler, and so debuggers and messages, which lines of the PTX or of the source the text is
 * of. The text around instructions has a file of its own, which is no file.
 */
#include "writer.h"

#include <string.h>

#define SURROUNDINGS "(adsm)"

/* The file of an instruction's source line; NULL: it has none. */
static const char *source_of(const struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const uint32_t file = (uint32_t)instruction->file;

	return instruction->source_line && file < writer->module->n_files ? writer->module->files[file] : NULL;
}

/* Append the characters of a C string. */
static void print_characters(struct adsm_ptx_writer *writer, const char *text)
{
	for (; *text; text++)
		adsm_ptx_print(writer, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

void adsm_ptx_write_line(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const char *file = writer->source_lines ? source_of(writer, instruction) : NULL;

	if (file) {
		writer->line = instruction->source_line;
	} else if (!writer->source_lines || !writer->line_file) {
		file = writer->ptx_name;
		writer->line = instruction->line;
	} else {
		/* What the compiler has added belongs to the line before it. */
		file = writer->line_file;
	}
	adsm_ptx_print(writer, "#line %d", writer->line);
	if (file != writer->line_file) {
		adsm_ptx_print(writer, " \"");
		print_characters(writer, file);
		adsm_ptx_print(writer, "\"");
	}
	adsm_ptx_print(writer, "\n");
	writer->line_file = file;
}

void adsm_ptx_write_no_line(struct adsm_ptx_writer *writer)
{
	adsm_ptx_print(writer, "#line 1 \"" SURROUNDINGS "\"\n");
	writer->line_file = NULL;
}

void adsm_ptx_print_place(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const char *file = source_of(writer, instruction), *slash = file ? strrchr(file, '/') : NULL;

	adsm_ptx_print(writer, "\"");
	if (file) {
		print_characters(writer, slash ? slash + 1 : file);
		adsm_ptx_print(writer, ":%d (", instruction->source_line);
	}
	adsm_ptx_print(writer, "line %d of the PTX%s\"", instruction->line, file ? ")" : "");
}
