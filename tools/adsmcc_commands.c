/* SPDX-License-Identifier: MIT */
/* adsmcc_commands.c - see adsmcc_commands.h. The format is that of clang's "JSON compilation database". */
#include "adsmcc_commands.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "adsmcc_source.h"

static void add_string(struct text *out, const char *string)
{
	text_add(out, "\"", 1);
	for (; *string; string++) {
		if (*string == '"' || *string == '\\')
			text_print(out, "\\%c", *string);
		else if ((unsigned char)*string < 0x20)
			text_print(out, "\\u%04x", *string);
		else
			text_add(out, string, 1);
	}
	text_add(out, "\"", 1);
}

/* ---- entries that the file has */

/* The character behind the string that begins at @p. */
static const char *skip_string(const char *p)
{
	for (p++; *p && *p != '"'; p++)
		if (*p == '\\' && p[1])
			p++;
	return *p ? p + 1 : p;
}

/* The character behind the object or the list that begins at @p. */
static const char *skip_value(const char *p)
{
	int depth = 0;

	for (; *p; ) {
		if (*p == '"') {
			p = skip_string(p);
			continue;
		}
		depth += *p == '{' || *p == '[';
		depth -= *p == '}' || *p == ']';
		p++;
		if (!depth)
			return p;
	}
	return p;
}

/* Has the entry from @p to @end the member "file" with this string, which is in quotation marks? */
static bool is_entry_of(const char *p, const char *end, const char *file)
{
	int depth = 0;

	while (p < end) {
		if (*p == '"') {
			const char *behind = skip_string(p);
			const char *colon = behind + strspn(behind, " \t\r\n");

			if (depth == 1 && *colon == ':' && starts(p, "\"file\"")) {
				p = colon + 1 + strspn(colon + 1, " \t\r\n");
				return starts(p, file);
			}
			p = behind;
			continue;
		}
		depth += *p == '{' || *p == '[';
		depth -= *p == '}' || *p == ']';
		p++;
	}
	return false;
}

/* Append the entries of @old whose file is not in @files. False: @old is no list of entries. */
static bool keep_entries(struct text *out, const char *old, const struct list *files)
{
	const char *p = old + strspn(old, " \t\r\n"), *end;

	if (!*p)
		return true;
	if (*p != '[')
		return false;
	for (p++; *(p += strspn(p, " \t\r\n,")) == '{'; p = end) {
		bool replaced = false;

		end = skip_value(p);
		for (size_t i = 0; i < files->n; i++)
			replaced = replaced || is_entry_of(p, end, files->items[i]);
		if (!replaced)
			text_print(out, "%s\n  %.*s", out->size > 1 ? "," : "", (int)(end - p), p);
	}
	return *p == ']';
}

/* ---- new entries */

/* Only these options matter to a parser. */
static bool is_for_parser(const char *option, bool is_c)
{
	return strchr("IDW", option[1]) || starts(option, "-std=") || (is_c && option[1] == 'm');
}

static struct list arguments_of(const struct cuda *cuda, const char *input)
{
	const bool is_cl = strlen(input) > 3 && !strcmp(input + strlen(input) - 3, ".cl");
	struct list argv = { 0 }, options = { 0 };

	for (size_t i = 0; i < cuda->options->n; i++)
		if (is_for_parser(cuda->options->items[i], !is_cl && !is_cuda(input)))
			list_add(&options, cuda->options->items[i]);
	if (is_cuda(input)) {
		argv = clang_front_end(cuda);
		add_clang_options(&argv, &options);
		return argv;
	}
	if (is_cl)
		LIST_ADD(&argv, "clang", "-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header");
	else
		LIST_ADD(&argv, "clang", "-x", "c", "-std=gnu11", "-isystem",
			 format_string("%.*s", (int)(strrchr(kernel_header, '/') - kernel_header), kernel_header));
	list_add_all(&argv, options.items);
	return argv;
}

/* Append a comma and an entry. */
static void add_entry(struct text *out, const struct cuda *cuda, const char *folder, const char *input,
		      const char *file)
{
	const struct list argv = arguments_of(cuda, input);

	text_print(out, ",\n  {\n    \"directory\": ");
	add_string(out, folder);
	text_print(out, ",\n    \"file\": %s,\n    \"arguments\": [", file);
	for (size_t i = 0; i < argv.n; i++) {
		add_string(out, argv.items[i]);
		text_add(out, ", ", 2);
	}
	text_print(out, "%s]\n  }", file);
}

/* The path of a source in quotation marks. */
static const char *name_of(const char *input)
{
	const char *path = realpath(input, NULL);
	struct text name = { 0 };

	if (!path)
		die("%s: %s", input, strerror(errno));
	if (is_ptx(input))
		die("--compile-commands: %s is PTX, for which there is no parser", input);
	add_string(&name, path);
	return name.bytes;
}

static bool replace_contents(int fd, const struct text *text)
{
	size_t done = 0;
	ssize_t n;

	for (; done < text->size; done += (size_t)n) {
		n = pwrite(fd, text->bytes + done, text->size - done, (off_t)done);
		if (n <= 0)
			return false;
	}
	return !ftruncate(fd, (off_t)done);
}

void write_commands(const char *path, const struct cuda *cuda, const struct list *inputs)
{
	struct list files = { 0 };
	struct text old, own = { 0 }, out = { 0 };
	char folder[PATH_MAX];
	int fd, error;

	for (size_t i = 0; i < inputs->n; i++)
		list_add(&files, name_of(inputs->items[i]));
	if (!getcwd(folder, sizeof(folder)))
		die("the working directory: %s", strerror(errno));
	for (size_t i = 0; i < inputs->n; i++)
		add_entry(&own, cuda, folder, inputs->items[i], files.items[i]);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	/* Several adsmcc may add to the file at the same time. */
	if (fd < 0 || flock(fd, LOCK_EX) || !read_file(path, &old))
		die("%s: %s", path, strerror(errno));
	text_add(&out, "[", 1);
	if (!keep_entries(&out, old.bytes, &files))
		die("%s: this file exists, and is not a list of compile commands", path);
	/* Each entry begins with a comma, which the first one of the file does not need. */
	text_print(&out, "%s\n]\n", own.bytes + (out.size == 1));
	/* A limit of the size is an error, not the end: the old contents come back, whose place the file still has. */
	signal(SIGXFSZ, SIG_IGN);
	if (replace_contents(fd, &out) && !close(fd))
		return;
	error = errno;
	replace_contents(fd, &old);
	die("%s: %s", path, strerror(error));
}
