/* SPDX-License-Identifier: MIT */
/*
 * adsmcc.c - the kernel compiler: it makes a kernel module of one source file in the dialect of adsm_kernel.h, or of
 * CUDA C (adsmcc_cuda.c).
 *
 * The source is flattened into one text without includes. The text is checked for code that a C compiler accepts, but
 * that a GPU cannot run. Then cc reads it from its standard input. The module contains the same text in section
 * "adsm_text", for compilers of other devices. With --ptx it also has nvcc's output, in section "adsm_ptx", and with
 * --scratchpad, code for cores with a local store. Memory is never freed, because a run is short.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adsm.h"
#include "adsmcc_commands.h"
#include "adsmcc_compile.h"
#include "adsmcc_cuda.h"
#include "adsmcc_header.h"
#include "adsmcc_link.h"
#include "adsmcc_source.h"

/* Append a path as rules for make write it. */
static void add_escaped(struct text *text, const char *path)
{
	for (const char *p = path; *p; p++)
		text_print(text, *p == ' ' || *p == '#' ? "\\%c" : *p == '$' ? "$%c" : "%c", *p);
}

/* Write the list of files that @output was made of, as a rule for make. */
static void write_dependencies(const char *path, const char *output)
{
	struct text text = { 0 };

	add_escaped(&text, output);
	text_print(&text, ":");
	for (size_t i = 0; i < inputs.n; i++) {
		text_print(&text, " \\\n ");
		add_escaped(&text, inputs.items[i]);
	}
	text_print(&text, "\n");
	write_text(&text, path);
}

static const char help[] =
	"usage: adsmcc [options] FILE.c | FILE.cu | FILE.ptx | --header FILE.hpp FILE.adsm |\n"
	"              --compile-commands FILE.json [options] SOURCE...\n"
	"Compile kernels written in the dialect of adsm_kernel.h, in CUDA C or in PTX into a kernel module.\n"
	"\n"
	"  -o FILE           the output (default: FILE.adsm in the current folder)\n"
	"  -I DIR            also search DIR for #include \"file\"\n"
	"  -std=STANDARD     for CUDA C: the C++ standard, as for clang\n"
	"  -D NAME[=VALUE]   define a macro, for every device\n"
	"  -O.. -f.. -g.. -m.. -W..  pass to the C compiler (default: -O3), for CUDA C to clang\n"
	"  --cc CC           the C compiler (default: $CC, else cc)\n"
	"  --ptx[=ARCH]      also embed PTX, so that CUDA devices need no compiler at run time\n"
	"                    (default: compute_75, or the lowest one that nvcc supports)\n"
	"  --nvcc NVCC       the CUDA compiler (default: $NVCC, else nvcc)\n"
	"  --image           write an image of partitions instead of a module, for a partition manager\n"
	"  --scratchpad      also embed code for cores with a local store (the backend scratchpad)\n"
	"  --partition HOW   with --image or --scratchpad: how to choose partitions; prints the partition of each\n"
	"                    function. auto or auto:SIZE: from calls and sizes, up to SIZE bytes (default: 4K);\n"
	"                    each or each:SIZE: one for each function; profile:FILE: as auto, with the calls that a\n"
	"                    run has noted (ADSM_SCRATCHPAD_NOTES); source: by ADSM_PARTITION only, which is the\n"
	"                    default. It may be given twice: auto:SIZE and profile:FILE\n"
	"  --clang CLANG     the clang for CUDA C and --scratchpad (default: $CLANG, else the one found when adsmcc\n"
	"                    was built, else for CUDA C one in $PATH)\n"
	"  --spaces FILE     the pass for --scratchpad (default: adsmcc-spaces beside adsmcc, or the installed one)\n"
	"  --emit-text       write the flattened text instead of a module, to -o or standard output; for CUDA C,\n"
	"                    the C text that adsmcc compiles\n"
	"  --emit-ptx        for CUDA C: write PTX instead of a module, to -o or standard output\n"
	"  --ptx-only        for CUDA C: write a module without code for processors. The library compiles each\n"
	"                    kernel when it is first used, for the processors of the device\n"
	"  --list-kernels    for CUDA C: print each kernel, and the reason if it cannot be translated; write no\n"
	"                    module\n"
	"  --check           for CUDA C: check accesses and barriers while kernels run\n"
	"  --lockstep        for CUDA C: threads of a warp access memory in lockstep, for programs that lack\n"
	"                    __syncwarp(); also if $ADSM_PTX_LOCKSTEP is 1\n"
	"  --explain         for CUDA C: print what each kernel reads and writes, and where; write no module\n"
	"  --header FILE     also write a C++ header that describes the kernels, for adsm.hpp. If the input is a\n"
	"                    module (FILE.adsm), write only the header\n"
	"  --compile-commands FILE\n"
	"                    write no module, but an entry for each source (.c, .cu or .cl) to FILE, which is\n"
	"                    compile_commands.json in most cases; editors with clangd read it. Other entries stay\n"
	"  -MF FILE          write a rule for make that lists all files that were read\n"
	"  --version, --help\n";

/* The path of a header: in @folder, relative to the folder of adsmcc, if installed; else in the source tree. */
static const char *find_header(const char *folder, const char *name)
{
	const char *own = own_folder(), *path = format_string("%s/../%s/%s", own ? own : "", folder, name);

	if (own && !access(path, R_OK))
		return path;
	return format_string("%s/%s", ADSM_INCLUDE_DIR, name);
}

/* The value of option @name at argv[*i]: the rest of this argument, or the next argument. */
static const char *option_value(int argc, char **argv, int *i, const char *name)
{
	const char *rest = argv[*i] + strlen(name);

	if (*rest)
		return *rest == '=' && name[1] == '-' ? rest + 1 : rest;
	if (*i + 1 >= argc)
		die("%s needs a value", name);
	return argv[++*i];
}

static const char *default_output(const char *input, const char *suffix)
{
	const char *slash = strrchr(input, '/'), *name = slash ? slash + 1 : input;
	const char *dot = strrchr(name, '.');

	return format_string("%.*s.%s", dot ? (int)(dot - name) : (int)strlen(name), name, suffix);
}

/* AddressSanitizer calls this. Without it, it would report memory that is never freed as leaks. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

/* The command line. */
struct command {
	const char *compiler, *input, *output, *dependencies, *architecture, *nvcc, *clang, *spaces, *standard;
	const char *header, *commands;
	struct list inputs;
	struct list options;		/* for the C compiler */
	struct list cuda_options;	/* for clang, of CUDA C */
	struct text defines;
	struct partition_options partition;
	bool emit_text, emit_ptx, only_ptx, list_kernels, explain, check, lockstep, image, scratchpad;
};

static void add_define(struct text *defines, const char *macro)
{
	const int name = (int)strcspn(macro, "=");

	text_print(defines, "#define %.*s %s\n", name, macro, macro[name] ? macro + name + 1 : "1");
}

/* Parse an argument for the preprocessor or the compiler, and its value. */
static bool parse_compiler(struct command *command, int argc, char **argv, int *i)
{
	const char *arg = argv[*i], *value;

	if (starts(arg, "-I")) {
		value = option_value(argc, argv, i, "-I");
		list_add(&include_dirs, value);
		list_add(&command->cuda_options, format_string("-I%s", value));
	} else if (starts(arg, "-D")) {
		value = option_value(argc, argv, i, "-D");
		add_define(&command->defines, value);
		list_add(&command->cuda_options, format_string("-D%s", value));
	} else if (starts(arg, "-std=")) {
		command->standard = arg;
		list_add(&command->cuda_options, arg);
	} else if (arg[0] == '-' && arg[1] && strchr("OfgmW", arg[1])) {
		list_add(&command->options, arg);
		list_add(&command->cuda_options, arg);
	} else {
		return false;
	}
	return true;
}

/* Parse one argument, and its value. */
static void parse(struct command *command, int argc, char **argv, int *i)
{
	const char *arg = argv[*i];

	if (!strcmp(arg, "--help")) {
		fputs(help, stdout);
		exit(0);
	} else if (!strcmp(arg, "--version")) {
		printf("adsmcc %d.%d.%d\n", ADSM_VERSION_MAJOR, ADSM_VERSION_MINOR, ADSM_VERSION_PATCH);
		exit(0);
	} else if (!strcmp(arg, "--emit-text")) {
		command->emit_text = true;
	} else if (!strcmp(arg, "--emit-ptx")) {
		command->emit_ptx = true;
	} else if (!strcmp(arg, "--ptx-only")) {
		command->only_ptx = true;
	} else if (!strcmp(arg, "--list-kernels")) {
		command->list_kernels = true;
	} else if (!strcmp(arg, "--explain")) {
		command->explain = true;
	} else if (!strcmp(arg, "--check")) {
		command->check = true;
	} else if (!strcmp(arg, "--lockstep")) {
		command->lockstep = true;
	} else if (!strcmp(arg, "--image")) {
		command->image = true;
	} else if (!strcmp(arg, "--partition") || starts(arg, "--partition=")) {
		parse_partition(option_value(argc, argv, i, "--partition"), &command->partition);
	} else if (!strcmp(arg, "--ptx") || starts(arg, "--ptx=")) {
		command->architecture = arg[5] ? arg + 6 : "";
	} else if (!strcmp(arg, "--nvcc") || starts(arg, "--nvcc=")) {
		command->nvcc = option_value(argc, argv, i, "--nvcc");
	} else if (!strcmp(arg, "--scratchpad")) {
		command->scratchpad = true;
	} else if (!strcmp(arg, "--clang") || starts(arg, "--clang=")) {
		command->clang = option_value(argc, argv, i, "--clang");
	} else if (!strcmp(arg, "--spaces") || starts(arg, "--spaces=")) {
		command->spaces = option_value(argc, argv, i, "--spaces");
	} else if (!strcmp(arg, "--cc") || starts(arg, "--cc=")) {
		command->compiler = option_value(argc, argv, i, "--cc");
	} else if (!strcmp(arg, "--header") || starts(arg, "--header=")) {
		command->header = option_value(argc, argv, i, "--header");
	} else if (!strcmp(arg, "--compile-commands") || starts(arg, "--compile-commands=")) {
		command->commands = option_value(argc, argv, i, "--compile-commands");
	} else if (starts(arg, "-MF")) {
		command->dependencies = option_value(argc, argv, i, "-MF");
	} else if (starts(arg, "-o")) {
		command->output = option_value(argc, argv, i, "-o");
	} else if (parse_compiler(command, argc, argv, i)) {
		return;
	} else if (arg[0] == '-') {
		die("unknown option %s (--help lists all options)", arg);
	} else {
		command->input = arg;
		list_add(&command->inputs, arg);
	}
}

/* Is the input a module that adsmcc has made? */
static bool is_module(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && !strcmp(dot, ".adsm");
}

/* Set defaults, and check how options fit together. */
static void complete(struct command *command)
{
	const char *nvcc;

	if (!command->input)
		die("the source file is missing (see --help)");
	if (command->commands)
		return;
	if (command->inputs.n > 1)
		die("only one source file is possible, not %s and %s", command->inputs.items[0],
		    command->inputs.items[1]);
	if (command->header && (command->emit_text || command->emit_ptx || command->list_kernels || command->explain ||
				command->image))
		die("--header needs a module: it cannot be combined with --emit-text, --emit-ptx, --list-kernels, "
		    "--explain or --image");
	if (is_module(command->input)) {
		if (!command->header)
			die("%s is a module already; only --header takes a module", command->input);
		return;
	}
	if (!command->output && !command->emit_text && !command->emit_ptx && !command->list_kernels &&
	    !command->explain)
		command->output = default_output(command->input, command->image ? "image" : "adsm");
	if (!command->compiler || !*command->compiler)
		command->compiler = "cc";
	if (is_cuda(command->input) || is_ptx(command->input)) {
		if (command->architecture || command->image || command->scratchpad || command->partition.map)
			die("--ptx, --scratchpad, --image and --partition are not for CUDA C and PTX");
		if (command->only_ptx && (command->check || command->lockstep))
			die("--ptx-only cannot be combined with --check or --lockstep (see ADSM_PTX_LOCKSTEP)");
		return;
	}
	if (command->emit_ptx || command->only_ptx || command->list_kernels || command->explain || command->check ||
	    command->lockstep || command->standard)
		die("--emit-ptx, --ptx-only, --list-kernels, --explain, --check, --lockstep and -std are for CUDA C "
		    "(FILE.cu)");
	if (command->partition.map && !command->image && !command->scratchpad)
		die("--partition needs --image or --scratchpad");
	if (command->image && (command->architecture || command->emit_text))
		die("--image cannot be combined with --ptx or --emit-text");
	if (command->architecture && !command->nvcc)
		command->nvcc = find_nvcc();
	if (!command->clang || !*command->clang)
		command->clang = find_clang();
	if (command->scratchpad && !*command->clang)
		die("--scratchpad needs clang and LLVM 14 to 19 (Debian: clang and llvm-dev), but adsmcc was built "
		    "without them");
	if (command->scratchpad && !command->spaces)
		command->spaces = find_spaces();
	nvcc = command->nvcc;
	if (command->architecture && strchr(nvcc, '/') && access(nvcc, X_OK))
		die("--ptx needs nvcc: %s: %s (choose one with --nvcc or NVCC)", nvcc, strerror(errno));
}

/* The path of a file that may not exist yet, by the whole path of its folder. */
static const char *whole_path(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *folder = realpath(slash ? format_string("%.*s", (int)(name - path), path) : ".", NULL);

	return folder ? format_string("%s/%s", folder, name) : path;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat a_info, b_info;

	if (!a || !b || !strcmp(a, "-") || is_special(a))
		return false;
	if (!stat(a, &a_info) && !stat(b, &b_info))
		return a_info.st_dev == b_info.st_dev && a_info.st_ino == b_info.st_ino;
	return !strcmp(whole_path(a), whole_path(b));
}

/* No output may replace the source, or another file of the command line. */
static void check_files(const struct command *command)
{
	const struct { const char *path, *what; } files[] = {
		{ command->input, "the source" }, { command->output, "-o" }, { command->header, "--header" },
		{ command->dependencies, "-MF" }, { command->partition.profile_path, "--partition profile:" },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		for (size_t j = i + 1; j < sizeof(files) / sizeof(files[0]); j++)
			if (is_same_file(files[i].path, files[j].path))
				die("%s and %s are the same file: %s", files[i].what, files[j].what, files[j].path);
}

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && !strcmp(value, "1");
}

/* What the command line says of CUDA C. */
static struct cuda cuda_of(const struct command *command)
{
	return (struct cuda){
		.clang = command->clang && *command->clang ? command->clang : NULL,
		.headers = find_header("include/adsm", "cuda-c"), .options = &command->cuda_options,
		.dependencies = command->dependencies, .emit_ptx = command->emit_ptx,
		.only_ptx = command->only_ptx, .emit_text = command->emit_text,
		.list_kernels = command->list_kernels, .explain = command->explain, .check = command->check,
		.lockstep = command->lockstep || is_set("ADSM_PTX_LOCKSTEP"),
	};
}

/* Make the module of CUDA C, or of PTX. */
static int make_cuda(const struct command *command)
{
	const struct cuda cuda = cuda_of(command);
	const struct tools tools = { .compiler = command->compiler, .options = &command->options };
	const int status = compile_cuda(&cuda, &tools, command->input, command->output);

	if (!status && command->header)
		write_header(command->output, command->header);
	/* For CUDA C clang has written them. */
	if (!status && command->dependencies && is_ptx(command->input)) {
		list_add(&inputs, command->input);
		write_dependencies(command->dependencies, command->output ? command->output : "-");
	}
	return status;
}

int main(int argc, char **argv)
{
	struct command command = { .compiler = getenv("CC") };
	const char *store_header = find_header(ADSM_LIBEXEC_RELATIVE, "adsm_scratchpad.h");
	struct text *flat = &command.defines, text = { 0 }, contents;
	size_t n_kernels;
	int status = 0;

	for (int i = 1; i < argc; i++)
		parse(&command, argc, argv, &i);
	complete(&command);
	check_files(&command);
	if (is_module(command.input) && !command.commands) {
		write_header(command.input, command.header);
		list_add(&inputs, command.input);
		if (command.dependencies)
			write_dependencies(command.dependencies, command.header);
		return 0;
	}
	kernel_header = find_header("include", "adsm_kernel.h");
	if (command.commands) {
		const struct cuda cuda = cuda_of(&command);

		write_commands(command.commands, &cuda, &command.inputs);
		return 0;
	}
	if (is_cuda(command.input) || is_ptx(command.input))
		return make_cuda(&command);
	if (!read_file(command.input, &contents))
		die("%s: %s", command.input, strerror(errno));
	flatten_file(flat, command.input, contents.bytes);
	n_kernels = check_and_enter(&text, flat);
	if (!n_kernels && !n_errors && !command.image)
		error_at(command.input, (int)strlen(command.input), 1,
			 "this file has no kernel (ADSM_KERNEL) and no task (ADSM_TASK)");
	if (n_errors)
		return 1;

	if (command.emit_text)
		write_text(&text, command.output);
	else if (command.image)
		status = compile_image(command.compiler, &command.options, &text, &command.partition, command.output);
	else
		status = compile(&(struct tools){
			.compiler = command.compiler, .options = &command.options,
			.nvcc = command.nvcc, .architecture = command.architecture,
			.add = command.scratchpad ? add_scratchpad : NULL,
			.clang = command.clang, .spaces = command.spaces, .store_header = store_header,
			.partition = partitions_said || command.partition.map ? &command.partition : NULL,
		}, &text, command.output);
	if (command.scratchpad)
		list_add(&inputs, store_header);
	if (!status && command.header)
		write_header(command.output, command.header);
	if (!status && command.dependencies)
		write_dependencies(command.dependencies, command.output ? command.output : "-");
	return status;
}
