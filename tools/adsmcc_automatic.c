/* SPDX-License-Identifier: MIT */
/*
 * adsmcc_automatic.c - makes code for partitions that adsmcc chooses. It has its own bitcode, where functions stay
 * apart: the optimiser inlines small ones only. If a function is still larger than a partition, adsmcc-spaces divides
 * it, and clang makes the code again.
 */
#include "adsmcc_compile.h"

#include <errno.h>
#include <string.h>

#include "adsmcc_link.h"
#include "adsmcc_source.h"

#define ROUNDS 6			/* how often functions are divided, into ever smaller parts */

/* Let clang optimise bitcode. */
static int optimise(struct list argv, const char *from, const char *to)
{
	LIST_ADD(&argv, "-w", "-emit-llvm", "-c", "-o", to, "-xir", from);
	return run_tool(&argv, NULL, NULL, CLANG_COMPILER);
}

int compile_shared(const struct text *text, const struct tools *tools, bool in_partitions, const char *bitcode)
{
	char *plain = format_string("%s.plain", bitcode), *kept = format_string("%s.kept", bitcode);
	struct list argv = store_command(tools, in_partitions), again = store_command(tools, in_partitions);
	struct list pass = { 0 };
	int status;

	if (in_partitions) {
		list_add(&argv, "-fno-inline");
		list_add(&again, "-fno-inline");
	}
	LIST_ADD(&argv, "-Xclang", "-disable-llvm-passes");
	LIST_ADD(&pass, tools->spaces, "--keep", plain, kept);
	status = compile_text(text, argv, tools->store_header, plain);
	if (!status)
		status = run_tool(&pass, NULL, NULL, "adsmcc-spaces");
	return status ? status : optimise(again, kept, bitcode);
}

/* Make bitcode whose accesses are replaced, and whose functions are as few as is good for partitions. */
static int make_bitcode(const struct text *text, const struct tools *tools, const char *dir, const char *bitcode)
{
	char *apart = format_string("%s/apart.bc", dir), *small = format_string("%s/small.bc", dir);
	char *plain = format_string("%s/plain.bc", dir), *spaces = format_string("%s/parts.bc", dir);
	struct list pass = { 0 };
	int status;

	LIST_ADD(&pass, tools->spaces, "--inline", apart, small);
	status = compile_shared(text, tools, true, apart);
	if (!status)
		status = run_tool(&pass, NULL, NULL, "adsmcc-spaces");
	if (!status)
		status = optimise(store_command(tools, true), small, plain);
	if (!status)
		status = replace_accesses(tools, plain, spaces, format_string("%s/plain.calls", dir),
					  format_string("%s/lines", dir));
	return status ? status : optimise(store_command(tools, true), spaces, bitcode);
}

/* Divide the functions of @sizes, and estimate calls. */
static int divide(const struct tools *tools, const char *dir, const char *from, const char *to,
		  const struct text *sizes)
{
	char *path = format_string("%s/sizes", dir);
	struct list pass = { 0 };

	write_text(sizes, path);
	LIST_ADD(&pass, tools->spaces, "--divide", from, to, format_string("%s/parts.calls", dir), path,
		 format_string("%s/groups", dir));
	return run_tool(&pass, NULL, NULL, "adsmcc-spaces");
}

/* Divide functions until each fits into a partition, or ROUNDS times. @ret_bitcode: the file with the result. */
static int make_object(const struct tools *tools, const char *dir, const char *bitcode, const char **ret_bitcode,
		       struct text *ret_object)
{
	double share = 0.8;
	struct text sizes = { 0 };
	int status = 0;

	text_add(&sizes, "", 0);
	for (int i = 0; !status; i++, share *= 0.75) {
		char *next = format_string("%s/parts%d.bc", dir, i);
		struct list argv = store_command(tools, true);

		status = divide(tools, dir, bitcode, next, &sizes);
		LIST_ADD(&argv, "-w", next);
		if (!status)
			status = compile_object(tools->clang, argv, NULL, format_string("%s/object", dir), ret_object);
		*ret_bitcode = bitcode = next;
		sizes = (struct text){ 0 };
		text_add(&sizes, "", 0);
		if (status || n_errors || !list_large(ret_object, tools->partition, share, &sizes) || i == ROUNDS)
			break;
	}
	return status;
}

/* Tables and variables of this code must be those of the code in one piece, in @dir. */
static void check_shared(const char *dir, const struct text *bytes)
{
	const struct object object = read_object(bytes);
	struct text code;

	if (!read_file(format_string("%s/store", dir), &code))
		die("%s: %s", dir, strerror(errno));
	for (size_t i = 0; i < object.n_symbols; i++) {
		const struct object_symbol *symbol = &object.symbols[i];

		if (symbol->size && in_device_memory(&object, symbol) &&
		    !code_contains(&code, symbol->name, symbol->size))
			die("the C compiler has changed '%s' in one kind of code only, for partitions or in one piece: "
			    "declare it __attribute__((used))", symbol->name);
	}
}

/* The stacks of this code. */
static int find_stacks(const struct tools *tools, const char *bitcode, const char *dir, const struct text *calls,
		       struct text *needs)
{
	char *code = format_string("%s/parts", dir);
	int status = make_code(store_command(tools, true), bitcode, code);
	struct text bytes, own = { 0 };

	if (status)
		return status;
	if (!read_file(code, &bytes))
		die("%s: %s", code, strerror(errno));
	find_needs(&own, &bytes, calls);
	raise_stacks(needs, &own);
	return 0;
}

int add_automatic(struct text *source, const struct text *text, const struct tools *tools, const char *dir,
		  struct text *needs)
{
	struct partition_options options = *tools->partition;
	const char *bitcode = format_string("%s/whole.bc", dir);
	struct text object;
	int status = make_bitcode(text, tools, dir, bitcode);

	if (!status)
		status = make_object(tools, dir, bitcode, &bitcode, &object);
	if (status || n_errors)
		return status ? status : 1;
	check_shared(dir, &object);
	if (!read_file(format_string("%s/parts.calls", dir), &options.calls) ||
	    !read_file(format_string("%s/lines", dir), &options.lines))
		die("%s: %s", dir, strerror(errno));
	status = find_stacks(tools, bitcode, dir, &options.calls, needs);
	return status ? status : link_partitions(source, &options, &object);
}
