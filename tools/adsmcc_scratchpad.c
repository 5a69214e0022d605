/* SPDX-License-Identifier: MIT */
/*
 * adsmcc_scratchpad.c - makes code for cores with a local store. There are three steps. First, clang makes bitcode of
 * the text. It is optimised, so that it has few accesses to device memory. Second, adsmcc-spaces replaces these
 * accesses by calls. Third, clang makes code of the result. Loops are not vectorised, because data in the cache is in
 * pieces. They are not unrolled, because the code must fit into a local store.
 */
#include "adsmcc_compile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adsmcc_link.h"
#include "adsmcc_source.h"

const char *find_clang(void)
{
	const char *named = getenv("CLANG");

	return named && *named ? named : ADSM_CLANG_FOUND;
}

/* If installed, it is in bin/../libexec/adsm. In a build folder, it is beside adsmcc. */
const char *find_spaces(void)
{
	const char *folder = own_folder(), *path;

	if (!folder)
		die("--scratchpad: /proc/self/exe: %s", strerror(errno));
	path = format_string("%s/adsmcc-spaces", folder);
	if (!access(path, X_OK))
		return path;
	path = format_string("%s/../" ADSM_LIBEXEC_RELATIVE "/adsmcc-spaces", folder);
	if (!access(path, X_OK))
		return path;
	die("--scratchpad: adsmcc-spaces does not exist beside adsmcc or in ../" ADSM_LIBEXEC_RELATIVE ": the build "
	    "makes it if meson finds LLVM 14 to 19 (Debian: llvm-dev and clang)");
}

struct list store_command(const struct tools *tools, bool in_partitions)
{
	static const char *const fixed[] = {
		/* As for the CPU, so that the results are the same (adsmcc_compile.c). */
		"-std=gnu11", "-O2", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fPIC",
		"-fvisibility=hidden", "-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops",
		"-fno-stack-protector", "-fcf-protection=none", "-Wno-unused-command-line-argument",
		CLANG_BRIEF, NULL
	};
	struct list argv = words_of(tools->clang);

	list_add_all(&argv, fixed);
	list_add_all(&argv, tools->options->items);
	if (in_partitions)
		add_image_options(tools->clang, &argv);
	return argv;
}

int compile_text(const struct text *text, struct list argv, const char *header, const char *bitcode)
{
	/* adsmcc-spaces needs line numbers for its error messages. */
	LIST_ADD(&argv, "-w", "-gline-tables-only", "-DADSM_SCRATCHPAD_", "-include", header, "-emit-llvm", "-c", "-o",
		 bitcode, "-xc", "-");
	return run_tool(&argv, text, NULL, CLANG_COMPILER);
}

int replace_accesses(const struct tools *tools, const char *plain, const char *spaces, const char *calls,
		     const char *lines)
{
	struct list pass = { 0 };

	LIST_ADD(&pass, tools->spaces, plain, spaces, calls, lines);
	return run_tool(&pass, NULL, NULL, "adsmcc-spaces");
}

int make_code(struct list argv, const char *bitcode, const char *code)
{
	LIST_ADD(&argv, "-w", "-g0", "-fstack-size-section", "-shared", "-nostartfiles", "-o", code, bitcode, "-lm");
	return run_tool(&argv, NULL, NULL, CLANG_COMPILER);
}

int link_partitions(struct text *source, const struct partition_options *its_options, const struct text *object)
{
	struct partition_options options = *its_options;
	struct text image = { 0 };

	options.roots = "adsm_run_";
	link_image(object, &options, &image);
	if (!n_errors)
		add_section(source, "adsm_partitions", &image);
	return n_errors ? 1 : 0;
}

/* Make the code in partitions of the same bitcode. */
static int add_partitions(struct text *source, const struct tools *tools, const char *bitcode, const char *object)
{
	struct list argv = store_command(tools, true);
	struct text bytes;
	int status;

	LIST_ADD(&argv, "-w", bitcode);
	status = compile_object(tools->clang, argv, NULL, object, &bytes);
	return status ? status : link_partitions(source, tools->partition, &bytes);
}

int add_scratchpad(struct text *source, const struct text *text, const struct tools *tools, const char *dir)
{
	char *plain = format_string("%s/text.bc", dir), *spaces = format_string("%s/spaces.bc", dir);
	char *calls = format_string("%s/calls", dir), *code = format_string("%s/store", dir);
	const bool automatic = tools->partition && tools->partition->automatic;
	const bool source_says = tools->partition && !automatic;
	struct list argv = store_command(tools, source_says);
	struct text code_bytes, calls_bytes, needs = { 0 };
	int status;

	tokenize(text->bytes);		/* for error messages */
	status = automatic ? compile_shared(text, tools, false, plain) :
		compile_text(text, argv, tools->store_header, plain);
	if (!status)
		status = replace_accesses(tools, plain, spaces, calls, format_string("%s/lines", dir));
	if (!status)
		status = make_code(store_command(tools, source_says), spaces, code);
	if (!status && (!read_file(code, &code_bytes) || !read_file(calls, &calls_bytes)))
		die("%s: %s", dir, strerror(errno));
	if (!status) {
		find_needs(&needs, &code_bytes, &calls_bytes);
		add_section(source, "adsm_store", &code_bytes);
	}
	if (!status && source_says)
		status = add_partitions(source, tools, spaces, format_string("%s/object", dir));
	if (!status && automatic)
		status = add_automatic(source, text, tools, dir, &needs);
	if (!status)
		add_section(source, "adsm_needs", &needs);
	return status;
}
