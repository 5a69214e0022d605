/* SPDX-License-Identifier: MIT */
/* adsmcc_cuda.c - see adsmcc_cuda.h. */
#include "adsmcc_cuda.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adsmcc_explain.h"
#include "adsmcc_ptx.h"

#define CLANG_COMPILER "clang"

static bool ends(const char *string, const char *suffix)
{
	const size_t size = strlen(string), n = strlen(suffix);

	return size > n && !strcmp(string + size - n, suffix);
}

bool is_cuda(const char *path)
{
	return ends(path, ".cu");
}

bool is_ptx(const char *path)
{
	return ends(path, ".ptx");
}

static bool in_path(const char *name)
{
	const char *path = getenv("PATH");
	char *folder, *rest = format_string("%s", path ? path : "");

	while ((folder = strsep(&rest, ":")))
		if (*folder && !access(format_string("%s/%s", folder, name), X_OK))
			return true;
	return false;
}

/* The clang that adsmcc was built with is there in most cases. */
static const char *find_cuda_clang(void)
{
	static const char *const names[] = {
		"clang", "clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang-14",
	};
	const char *named = getenv("CLANG");

	if (named && *named)
		return named;
	if (!access(ADSM_CLANG_FOUND, X_OK))
		return ADSM_CLANG_FOUND;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (in_path(names[i]))
			return names[i];
	die("CUDA C needs clang 14 to 19 (Debian: clang), which was not found (choose one with --clang or CLANG)");
}

/* Has the folder the headers of CUDA's toolkit? adsmcc uses none of them. */
static bool is_toolkit(const char *folder)
{
	return !access(format_string("%s/cuda_runtime.h", folder), F_OK);
}

/* Is the option one of clang's, for code of a device? -m names a processor, which only the C compiler needs. */
static bool is_for_clang(const char *option)
{
	/* Programs name the folder of CUDA's toolkit, whose headers clang would prefer. */
	return !starts(option, "-m") && !(starts(option, "-I") && is_toolkit(option + 2));
}

/*
 * Where clang looks for headers without being asked, there may be those of CUDA's toolkit, as in /usr/local/include.
 * Then name all of the other folders instead. @clang: the command.
 */
static void add_system_folders(struct list *argv, const struct list *clang)
{
	const struct text nothing = { "", 0, 0 };
	struct list list = { 0 }, folders = { 0 };
	bool has_toolkit = false;
	struct text said;
	char *line, *rest;

	/* clang says its folders on standard error. */
	list_add(&list, "sh");
	list_add(&list, "-c");
	list_add(&list, "exec \"$@\" -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-path=/nonexistent "
		 "--cuda-gpu-arch=sm_80 -E -v /dev/null 2>&1");
	list_add(&list, "sh");
	for (size_t i = 0; i < clang->n; i++)
		list_add(&list, clang->items[i]);
	if (run_tool(&list, &nothing, &said, NULL))
		return;
	rest = strstr(said.bytes, "\n#include <...>");
	rest = rest ? strchr(rest + 1, '\n') : NULL;
	while (rest && (line = strsep(&rest, "\n")) && (!*line || *line == ' ')) {
		if (*line && !is_toolkit(line + 1))
			list_add(&folders, line + 1);
		has_toolkit = has_toolkit || (*line && is_toolkit(line + 1));
	}
	if (!has_toolkit)
		return;
	unsetenv("CPATH");
	unsetenv("CPLUS_INCLUDE_PATH");
	list_add(argv, "-nostdinc");
	for (size_t i = 0; i < folders.n; i++) {
		list_add(argv, "-isystem");
		list_add(argv, folders.items[i]);
	}
}

/* The last option that starts so, or NULL. */
static const char *find_last(const struct list *options, const char *start)
{
	const char *found = NULL;

	for (size_t i = 0; i < options->n; i++)
		if (starts(options->items[i], start))
			found = options->items[i];
	return found;
}

struct list clang_front_end(const struct cuda *cuda)
{
	static const char *const fixed[] = {
		/* For devices only, and without CUDA's toolkit, which clang does not look for. */
		"-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-path=/nonexistent",
		/* The architecture and the version of PTX that lib/ptx/ptx.h names. */
		"--cuda-gpu-arch=sm_80", "-Xclang", "-target-feature", "-Xclang", "+ptx75",
		/* How launches are called: by the functions of cuda_runtime_api.h. */
		"-Xclang", "-target-sdk-version=11.0",
		"-Wno-unused-command-line-argument", NULL
	};
	const struct list clang = words_of(cuda->clang ? cuda->clang : find_cuda_clang());
	struct list argv = { 0 };

	list_add_all(&argv, clang.items);
	list_add_all(&argv, fixed);
	LIST_ADD(&argv, "-isystem", cuda->headers);
	add_system_folders(&argv, &clang);
	LIST_ADD(&argv, "-include", "cuda_runtime.h");
	return argv;
}

void add_clang_options(struct list *argv, const struct list *options)
{
	for (size_t i = 0; i < options->n; i++)
		if (is_for_clang(options->items[i]))
			list_add(argv, options->items[i]);
}

static struct list clang_command(const struct cuda *cuda, const char *input, const char *output, bool is_exact)
{
	struct list argv = clang_front_end(cuda);

	/* Loops with a constant number of turns become code without loops: compilers make vectors of it. */
	LIST_ADD(&argv, "-S", "-O2", "-mllvm", "-unroll-threshold=600");
	add_clang_options(&argv, cuda->options);
	/* Lines of the source, which messages name. */
	if (!find_last(cuda->options, "-g"))
		list_add(&argv, "-gline-directives-only");
	/* clang's optimizations add reads that the source does not have, and whose values are not used. */
	if (is_exact)
		list_add(&argv, "-O0");
	if (cuda->dependencies)
		LIST_ADD(&argv, "-MD", "-MF", cuda->dependencies, "-MQ", output ? output : "-");
	LIST_ADD(&argv, "-o", "-", input);
	return argv;
}

/*
 * The PTX of a source, by clang; or the file itself. @is_exact: it does no more than the source says. Returns an exit
 * status.
 */
static int make_ptx(const struct cuda *cuda, const char *input, const char *output, bool is_exact, struct text *ret_ptx)
{
	const struct text nothing = { "", 0, 0 };
	struct list argv;

	if (is_cuda(input)) {
		if (access(input, R_OK))
			die("%s: %s", input, strerror(errno));
		argv = clang_command(cuda, input, output, is_exact);
		return run_tool(&argv, &nothing, ret_ptx, CLANG_COMPILER);
	}
	if (!read_file(input, ret_ptx))
		die("%s: %s", input, strerror(errno));
	if (strstr(ret_ptx->bytes, "NVIDIA NVVM Compiler") || strstr(ret_ptx->bytes, "Cuda compilation tools"))
		die("%s: a compiler of NVIDIA's made this PTX, and its licence does not permit the translation for "
		    "other devices; adsmcc compiles the CUDA C source itself", input);
	return 0;
}

/*
 * What the C compiler gets of the options. Those of a C++ compiler would be errors. Without an option for debug
 * information there are lines, which messages name.
 */
static struct list c_options(const struct list *options, bool check)
{
	struct list chosen = { 0 };

	list_add(&chosen, "-g1");
	if (check)
		list_add(&chosen, "-O1");
	for (size_t i = 0; i < options->n; i++)
		if (starts(options->items[i], "-gline"))
			list_add(&chosen, "-g1");	/* only clang knows line tables by their name */
		else if (strchr("Ogm", options->items[i][1]))
			list_add(&chosen, options->items[i]);
	return chosen;
}

int compile_cuda(const struct cuda *cuda, const struct tools *tools, const char *input, const char *output)
{
	const struct list options = c_options(cuda->options, cuda->check);
	const char *debug = find_last(cuda->options, "-g"), *dot = strrchr(input, '.');
	const struct adsm_ptx_options translation = {
		.ptx_name = format_string("%.*s.ptx", (int)(dot - input), input),
		.source_lines = debug && strcmp(debug, "-g0"), .check = cuda->check,
		.lockstep = cuda->lockstep,
	};
	struct tools own = *tools;
	const bool is_exact = cuda->check && is_cuda(input) && !find_last(cuda->options, "-O");
	struct text ptx, optimized;
	int status = make_ptx(cuda, input, output, is_exact, &ptx);

	/* Optimized code shows what parameters are used for. */
	if (!status && is_exact)
		status = make_ptx(cuda, input, output, false, &optimized);
	if (status)
		return status;
	if (!strstr(ptx.bytes, ".entry"))
		die("%s: no kernel in this file (__global__)", input);
	if (cuda->emit_ptx) {
		write_text(&ptx, output);
		return 0;
	}
	if (cuda->list_kernels)
		return list_ptx(input, &ptx);
	if (cuda->explain)
		return explain_ptx(input, &ptx);
	if (cuda->emit_text)
		return emit_ptx_text(&translation, input, &ptx, output);
	own.options = &options;
	return compile_ptx(&own, &translation, input, &ptx, is_exact ? &optimized : NULL, cuda->only_ptx, output);
}
