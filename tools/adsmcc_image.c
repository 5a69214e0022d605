/* SPDX-License-Identifier: MIT */
/*
 * adsmcc_image.c - makes an image of partitions. The C compiler makes assembly of the text. make_global() changes that,
 * and the assembler gets it.
 */
#include "adsmcc_source.h"
#include "adsmcc_link.h"
#include "adsmcc_compile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The bytes of a size, which may end with K. 0: invalid. */
static uint32_t parse_size(const char *text)
{
	char *end;
	unsigned long size = strtoul(text, &end, 10);

	if (end == text || (*end && strcmp(end, "K") && strcmp(end, "k")) || size > 262144)
		return 0;
	size *= *end ? 1024 : 1;
	return size < 64 || size > 262144 ? 0 : (uint32_t)size;
}

void parse_partition(const char *how, struct partition_options *options)
{
	const char *colon = strchr(how, ':');
	const int size = colon ? (int)(colon - how) : (int)strlen(how);

	options->map = true;
	if (!options->limit)
		options->limit = PARTITION_LIMIT;
	if (!strcmp(how, "source"))
		return;
	options->automatic = true;
	if (starts(how, "profile:")) {
		options->profile_path = colon + 1;
		if (!read_file(options->profile_path, &options->profile))
			die("--partition %s: %s", how, strerror(errno));
		check_profile(&options->profile, options->profile_path);
	} else if ((size != 4 || strncmp(how, "auto", 4)) && (size != 4 || strncmp(how, "each", 4))) {
		die("--partition %s: valid are 'auto', 'auto:SIZE', 'each', 'each:SIZE', 'profile:FILE' and 'source'",
		    how);
	} else {
		options->each = how[0] == 'e';
		if (colon)
			options->limit = parse_size(colon + 1);
		if (!options->limit)
			die("--partition %s: the size of a partition must be from 64 bytes to 256K", how);
	}
}

void add_image_options(const char *compiler, struct list *argv)
{
	static const char *const needed[] = {
		"-fPIC", "-ffreestanding", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections",
		"-fno-optimize-sibling-calls", "-fno-jump-tables", "-fno-exceptions", "-fno-asynchronous-unwind-tables",
		"-fno-unwind-tables", "-fno-stack-protector", "-fno-common", "-DADSM_PARTITIONED_", "-g0",
		NULL
	};
	const char *macros = predefined_macros(compiler, NULL);

	list_add_all(argv, needed);
	if (strstr(macros, "#define __x86_64__ "))
		list_add(argv, "-fcf-protection=none");
	if (strstr(macros, "#define __aarch64__ ")) {
		list_add(argv, "-mcmodel=tiny");	/* distances from the instruction, not from its page */
		list_add(argv, "-mbranch-protection=none");
	}
	if (!strstr(macros, "#define __clang__ "))
		list_add(argv, "-fno-ipa-ra");		/* keep to the ABI even if the callee is known */
}

static struct list image_command(const char *compiler, const struct list *options)
{
	static const char *const fixed[] = {
		"-std=gnu11", "-O2", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", NULL
	};
	struct list argv = words_of(compiler);

	if (!argv.n)
		die("--cc or CC is empty: it must name a C compiler");
	list_add_all(&argv, fixed);
	list_add(&argv, brief_errors(compiler));
	list_add_all(&argv, options->items);
	add_image_options(compiler, &argv);
	return argv;
}

/* The name behind the directive @what in a line of assembly. *ret_size 0: the line has no such directive. */
static const char *named_by(const char *line, const char *what, int *ret_size)
{
	const char *p = line + strspn(line, " \t");

	*ret_size = 0;
	if (!starts(p, what))
		return p;
	p += strlen(what);
	p += strspn(p, " \t");
	*ret_size = (int)strcspn(p, ", \t\n");
	return p;
}

/*
 * Append @assembly to @out, with a global symbol for each function. Then the assembler leaves all references to
 * functions to the linker, also those inside the function itself. Functions that were static get hidden symbols.
 */
static void make_global(struct text *out, char *assembly)
{
	struct list global = { 0 };
	const char *name;
	char *line;
	int size;

	for (const char *p = assembly; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		name = named_by(p, ".globl", &size);
		if (!size)
			name = named_by(p, ".global", &size);
		if (size)
			list_add(&global, format_string("%.*s", size, name));
	}
	while ((line = strsep(&assembly, "\n"))) {
		name = named_by(line, ".type", &size);
		if (size && strstr(name, "function") && !list_has(&global, format_string("%.*s", size, name)))
			text_print(out, "\t.globl\t%.*s\n\t.hidden\t%.*s\n", size, name, size, name);
		text_print(out, "%s\n", line);
	}
}

static int assemble(const char *compiler, const struct text *assembly, const char *object)
{
	struct list argv = words_of(compiler);

	LIST_ADD(&argv, "-c", "-o", object, "-xassembler", "-");
	return run_tool(&argv, assembly, NULL, C_COMPILER);
}

int compile_object(const char *compiler, struct list argv, const struct text *input, const char *object,
		   struct text *ret_object)
{
	struct text assembly = { 0 }, changed = { 0 };
	int status;

	LIST_ADD(&argv, "-S", "-o", "-");
	status = run_tool(&argv, input, &assembly, C_COMPILER);
	if (!status) {
		text_add(&changed, "", 0);
		make_global(&changed, assembly.bytes);
		status = assemble(compiler, &changed, object);
	}
	if (!status && !read_file(object, ret_object))
		die("%s: %s", object, strerror(errno));
	unlink(object);
	return status;
}

int compile_image(const char *compiler, const struct list *options, const struct text *text,
		  const struct partition_options *partition, const char *output)
{
	struct list argv = image_command(compiler, options);
	const char *path = begin_work(output);
	struct text bytes, image = { 0 };
	int status;

	LIST_ADD(&argv, "-xc", "-");
	status = compile_object(compiler, argv, text, path, &bytes);
	if (!status) {
		link_image(&bytes, partition, &image);
		status = n_errors ? 1 : 0;
	}
	if (!status)
		write_text(&image, path);
	return end_work(status, path, output);
}
