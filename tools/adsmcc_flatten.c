/* SPDX-License-Identifier: MIT */
/* adsmcc_flatten.c - makes one text without includes of a source file and all that it includes. */
#include "adsmcc_source.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "adsmcc_text.h"

const char *kernel_header;
struct list include_dirs, inputs;
static struct list once;		/* files that are included only once */

struct file {
	const char *path;
	const struct file *includer;
};

/* The library's own headers, which are in one folder. */
static const char *const own_names[] = { "adsm_kernel.h", "adsm_kernel_services.h", "adsm_kernel_units.h",
					 "comic_pp_ape.h" };
#define N_OWN (sizeof(own_names) / sizeof(own_names[0]))
static const char *own_paths[N_OWN];

/* The path of the own header with this name, always the same string; NULL: there is none. */
static const char *own_header(const char *name)
{
	const char *slash = strrchr(kernel_header, '/');

	for (size_t i = 0; i < N_OWN; i++) {
		if (strcmp(name, own_names[i]))
			continue;
		if (!own_paths[i])
			own_paths[i] = format_string("%.*s/%s", (int)(slash - kernel_header), kernel_header, name);
		return own_paths[i];
	}
	return NULL;
}

/* The name of the own header with this path; NULL: it is another file. */
static const char *own_name(const char *path)
{
	for (size_t i = 0; i < N_OWN; i++)
		if (path == own_paths[i])
			return own_names[i];
	return NULL;
}

static void text_add_line_marker(struct text *text, int line, const char *path)
{
	text_print(text, "#line %d \"", line);
	for (; *path; path++)
		text_print(text, *path == '"' || *path == '\\' ? "\\%c" : "%c", *path);
	text_print(text, "\"\n");
}

/* The end of the line at @p: its newline, or the end of the text. *in_comment: whether a comment is open, updated. */
static const char *line_end(const char *p, bool *in_comment)
{
	char quote = 0;

	for (; *p && *p != '\n'; p++) {
		if (*in_comment) {
			if (p[0] == '*' && p[1] == '/') {
				*in_comment = false;
				p++;
			}
		} else if (quote) {
			if (*p == '\\' && p[1] && p[1] != '\n')
				p++;
			else if (*p == quote)
				quote = 0;
		} else if (*p == '"' || *p == '\'') {
			quote = *p;
		} else if (p[0] == '/' && p[1] == '/') {
			return p + strcspn(p, "\n");
		} else if (p[0] == '/' && p[1] == '*') {
			*in_comment = true;
			p++;
		}
	}
	return p;
}

const char *directive(const char *p, const char *name)
{
	p += strspn(p, " \t");
	if (*p++ != '#')
		return NULL;
	p += strspn(p, " \t");
	if (strncmp(p, name, strlen(name)))
		return NULL;
	p += strlen(name);
	return isalnum((unsigned char)*p) || *p == '_' ? NULL : p + strspn(p, " \t");
}

/* The path of the file that "@name" means in @file. Its contents are read into @ret_text. NULL: there is none. */
static const char *find_include(const struct file *file, const char *name, struct text *ret_text)
{
	const char *slash = strrchr(file->path, '/');
	char *path;

	if (name[0] == '/')
		path = format_string("%s", name);
	else
		path = format_string("%.*s%s", slash ? (int)(slash - file->path + 1) : 0, file->path, name);
	if (read_file(path, ret_text))
		return path;
	for (size_t i = 0; i < include_dirs.n && name[0] != '/'; i++) {
		path = format_string("%s/%s", include_dirs.items[i], name);
		if (read_file(path, ret_text))
			return path;
	}
	return NULL;
}

/* The path for messages. For own headers it is the name: a module does not depend on where adsmcc is installed. */
static const char *shown_path(const struct file *file)
{
	return own_name(file->path) ? own_name(file->path) : file->path;
}

static void flatten(struct text *out, const struct file *file, const char *p);

static void flatten_include(struct text *out, const struct file *file, int line, const char *spec)
{
	const int path_size = (int)strlen(file->path);
	const char close = *spec == '<' ? '>' : '"';
	const size_t size = *spec ? strcspn(spec + 1, close == '>' ? ">\n" : "\"\n") : 0;
	struct file included = { NULL, file };
	struct text text = { 0 };
	char *name;

	if ((*spec != '<' && *spec != '"') || spec[1 + size] != close) {
		error_at(file->path, path_size, line, "#include needs \"file\" or <adsm_kernel.h>");
		return;
	}
	name = format_string("%.*s", (int)size, spec + 1);
	if (*spec == '"')
		included.path = find_include(file, name, &text);
	if (!included.path && own_header(name)) {
		included.path = own_header(name);
		if (!read_file(included.path, &text))
			die("%s: %s", included.path, strerror(errno));
	}
	if (!included.path && *spec == '<') {
		error_at(file->path, path_size, line, "kernels run on every device and cannot use <%s>: only "
			 "<adsm_kernel.h>, <comic_pp_ape.h> and \"local\" files may be included", name);
		return;
	}
	if (!included.path) {
		error_at(file->path, path_size, line, "cannot read \"%s\": %s", name, strerror(errno));
		return;
	}
	if (!list_has(&inputs, included.path))
		list_add(&inputs, included.path);
	/* A file that includes itself again must have a guard: without one, the C preprocessor would not end either. */
	for (const struct file *f = file; f; f = f->includer)
		if (!strcmp(f->path, included.path))
			return;
	if (!list_has(&once, included.path))
		flatten(out, &included, text.bytes);
	if (own_name(included.path))
		list_add(&once, included.path);
	text_add_line_marker(out, line, shown_path(file));
}

/* Append @p, the contents of @file, with its includes replaced by the included files. */
static void flatten(struct text *out, const struct file *file, const char *p)
{
	bool in_comment = false;
	int line = 1;

	text_add_line_marker(out, 1, shown_path(file));
	for (; *p; line++) {
		const bool code = !in_comment;
		const char *end = line_end(p, &in_comment), *spec;

		if (code && (spec = directive(p, "include"))) {
			flatten_include(out, file, line, spec);
			text_add(out, "\n", 1);
		} else if (code && (spec = directive(p, "pragma")) && !strncmp(spec, "once", 4)) {
			list_add(&once, file->path);
			text_add(out, "\n", 1);
		} else {
			text_add(out, p, (size_t)(end - p));
			text_add(out, "\n", 1);
		}
		p = *end ? end + 1 : end;
	}
}

void flatten_file(struct text *out, const char *path, const char *contents)
{
	list_add(&inputs, path);
	flatten(out, &(const struct file){ path, NULL }, contents);
}
