/* SPDX-License-Identifier: MIT */
/* adsmcc_compile.c - makes a module of the text, by the C compiler and nvcc. */
#include "adsmcc_compile.h"
#include "adsmcc_source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NVCC "CUDA compiler"

extern char **environ;

static volatile sig_atomic_t caught_signal;
static volatile pid_t child;

static void on_signal(int sig)
{
	caught_signal = sig;
	if (child)
		kill(child, sig);
}

static int cannot_run(const char *tool, const char *what, int error)
{
	const char *choose;

	if (!what)
		return 1;
	choose = !strcmp(what, NVCC) ? "--nvcc or NVCC" :
		!strcmp(what, C_COMPILER) ? "--cc or CC" : "--clang or CLANG";
	fprintf(stderr, "adsmcc: cannot run the %s '%s': %s (choose one with %s)\n", what, tool, strerror(error),
		choose);
	return 1;
}

int run_tool(const struct list *argv, const struct text *input, struct text *ret_output, const char *what)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	const struct sigaction action = { .sa_handler = on_signal };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t block, old;
	pid_t pid;
	int status, error;
	int fd = memfd_create("adsmcc", MFD_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	const char *tool = argv->items[0];
	int out = ret_output ? memfd_create("adsmcc", MFD_CLOEXEC) : STDOUT_FILENO;

	if (!file || out < 0 || (input && fwrite(input->bytes, 1, input->size, file) != input->size) || fflush(file) ||
	    lseek(fd, 0, SEEK_SET)) {
		fprintf(stderr, "adsmcc: cannot pass the source to %s: %s\n", tool, strerror(errno));
		return 1;
	}

	/* A signal that would end adsmcc is passed on to the compiler. adsmcc then cleans up, and ends. */
	sigemptyset(&block);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&block, signals[i]);
	sigprocmask(SIG_BLOCK, &block, &old);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction current;

		if (!sigaction(signals[i], NULL, &current) && current.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, fd, 0);
	if (ret_output)
		posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	if (!what)
		posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &old);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	error = posix_spawnp(&pid, tool, &files, &attr, (char *const *)argv->items, environ);
	if (!error)
		child = pid;
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (error)
		return cannot_run(tool, what, error);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid: %s", strerror(errno));
	child = 0;
	if (WIFSIGNALED(status)) {
		if (!caught_signal && what)
			fprintf(stderr, "adsmcc: %s: %s\n", tool, strsignal(WTERMSIG(status)));
		return 128 + WTERMSIG(status);
	}
	if (ret_output && !read_file(format_string("/proc/self/fd/%d", out), ret_output))
		die("%s: %s", tool, strerror(errno));
	return WEXITSTATUS(status);
}

/* If a signal has been caught, end by it. */
static void end_if_caught(void)
{
	if (caught_signal) {
		signal(caught_signal, SIG_DFL);
		raise(caught_signal);
	}
}

void add_section(struct text *source, const char *name, const struct text *text)
{
	text_print(source, "#line 1 \"%s\"\nstatic const unsigned char %s_[] "
		   "__attribute__((used, section(\"%s\"), aligned(1))) = {\n", name, name, name);
	for (size_t i = 0; i < text->size; i++)
		text_print(source, "%u,%s", (unsigned char)text->bytes[i], i % 32 == 31 ? "\n" : "");
	text_print(source, "0};\n");
}

/* ---- PTX --------------------------------------------------------------------------------- */

const char *find_nvcc(void)
{
	const char *toolkit = getenv("CUDA_PATH"), *named = getenv("NVCC"), *path = getenv("PATH");
	char *folder, *rest = format_string("%s:%s/bin:/usr/local/cuda/bin", path ? path : "", toolkit ? toolkit : "");

	if (named && *named)
		return named;
	while ((folder = strsep(&rest, ":"))) {
		char *nvcc = format_string("%s/nvcc", folder);

		if (*folder && !access(nvcc, X_OK))
			return nvcc;
	}
	die("--ptx needs nvcc, a part of the CUDA toolkit, which was not found (choose one with --nvcc or NVCC)");
}

/* The oldest architecture, because newer devices run its code, too: compute_75, or the lowest that nvcc supports. */
static const char *choose_architecture(const char *nvcc)
{
	struct list argv = { 0 };
	struct text list = { 0 };
	char *line, *rest;
	int lowest = 0;

	LIST_ADD(&argv, nvcc, "--list-gpu-arch");
	if (run_tool(&argv, NULL, &list, NVCC))
		return "compute_75";
	for (rest = list.bytes; (line = strsep(&rest, "\n")); ) {
		const int number = starts(line, "compute_") ? atoi(line + strlen("compute_")) : 0;

		if (number >= 75 && (!lowest || number < lowest))
			lowest = number;
	}
	return format_string("compute_%d", lowest ? lowest : 75);
}

/* Add nvcc's PTX of @text to the module's @source. @dir: for temporary files. Returns nvcc's exit status. */
static int add_ptx(struct text *source, const struct text *text, const char *nvcc, const char *architecture,
		   const char *dir)
{
	char *input = format_string("%s/text.cu", dir), *output = format_string("%s/text.ptx", dir);
	struct list argv = { 0 };
	struct text ptx;
	int status;

	if (!*architecture)
		architecture = choose_architecture(nvcc);
	/* --fmad: for the same results as on the CPU, see compiler_command() */
	LIST_ADD(&argv, nvcc, "-x", "cu", "--ptx", "--fmad=false", "-Wno-deprecated-gpu-targets",
		 format_string("-arch=%s", architecture), "-o", output, input);
	write_text(text, input);
	status = run_tool(&argv, NULL, NULL, NVCC);
	if (status)
		fprintf(stderr, "adsmcc: --ptx: %s wrote no PTX\n", nvcc);
	else if (read_file(output, &ptx))
		add_section(source, "adsm_ptx", &ptx);
	else
		die("%s: %s", output, strerror(errno));
	return status;
}

const char *brief_errors(const char *compiler)
{
	static const char *option;	/* there is one C compiler in a run */
	struct list argv = words_of(compiler);
	struct text macros = { 0 };

	if (option)
		return option;
	LIST_ADD(&argv, "-dM", "-E", "-xc", "-");
	/* If the compiler fails, it will fail again, with a message. */
	option = !run_tool(&argv, NULL, &macros, NULL) && strstr(macros.bytes, " __clang__ ") ? CLANG_BRIEF :
		"-ftrack-macro-expansion=0";
	return option;
}

/* The command and the options of every run of the C compiler. */
static struct list compiler_command(const char *compiler, const struct list *options)
{
	static const char *const fixed[] = {
		/*
		 * Kernels do not use errno or the floating-point exception flags, and with them, conditional
		 * code could not be vectorised. Contraction is off, so that a kernel has the same results
		 * with each compiler and on each CPU, with or without fused multiply-add.
		 */
		"-std=gnu11", "-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fPIC",
		"-fvisibility=hidden", NULL
	};
	struct list argv = words_of(compiler);

	if (!argv.n)
		die("--cc or CC is empty: it must name a C compiler");
	list_add_all(&argv, fixed);
	list_add(&argv, brief_errors(compiler));
	list_add_all(&argv, options->items);
	return argv;
}

/* Add the macros of find_atomics() to the module's @source, before the text. @argv: the preprocessor; @dir: for
 * temporary files. */
static int add_atomics(struct text *source, struct list *argv, const struct text *text, const char *dir)
{
	char *output = format_string("%s/text.i", dir);
	struct text preprocessed;
	int status;

	LIST_ADD(argv, "-E", "-w", "-o", output, "-xc", "-");	/* -w: the compilation will print the warnings */
	status = run_tool(argv, text, NULL, C_COMPILER);
	if (!status && !caught_signal && read_file(output, &preprocessed))
		find_atomics(source, preprocessed.bytes);
	return status;
}

/* The folder of temporary files. It is removed when adsmcc ends, also by die() or a signal. */
static char *work_dir;

static void remove_work(void)
{
	DIR *dir = work_dir ? opendir(work_dir) : NULL;
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	if (work_dir)
		rmdir(work_dir);
	work_dir = NULL;
}

/* Make a pointer that loses its const an error, in gcc and in clang. */
static const char strict[] =
	"#ifdef __clang__\n"
	"#pragma clang diagnostic error \"-Wincompatible-pointer-types-discards-qualifiers\"\n"
	"#else\n"
	"#pragma GCC diagnostic error \"-Wdiscarded-qualifiers\"\n"
	"#pragma GCC diagnostic error \"-Wdiscarded-array-qualifiers\"\n"
	"#endif\n"
	"#pragma GCC diagnostic error \"-Wcast-qual\"\n";

/* Is the variable @name never changed, in the module that @argv makes of @before and @text? */
static bool is_constant(const struct list *argv, const char *module, const struct text *before,
			const struct text *text, const char *name)
{
	const char *output = format_string("%s.const", module);
	struct list other = { 0 }, variables;
	struct text source = { 0 }, made;

	for (size_t i = 0; i < argv->n; i++) {
		const char *word = argv->items[i];

		if (!strcmp(word, "-w"))
			return false;	/* warnings are off, so they cannot become errors */
		list_add(&other, word == module ? output : word);
	}
	text_print(&source, "%s%s", before->bytes, strict);
	if (!make_constant(&source, text, name) || run_tool(&other, &source, NULL, NULL) ||
	    !read_file(output, &made))
		return false;
	variables = find_variables(&made, text);
	return !list_has(&variables, name);
}

/*
 * Compile @source, which is @before, @text and sections, by @argv into @module. If kernels may change variables,
 * compile once more, with the list of these variables in the module.
 */
static int make_module(const struct list *argv, struct text *source, const struct text *before,
		       const struct text *text, const char *module)
{
	int status = run_tool(argv, source, NULL, C_COMPILER);
	struct list found, changed = { 0 };
	struct text made, names = { 0 };

	if (status || caught_signal)
		return status;
	if (!read_file(module, &made))
		die("%s: %s", module, strerror(errno));
	found = find_variables(&made, text);
	for (size_t i = 0; i < found.n; i++) {
		if (is_constant(argv, module, before, text, found.items[i]))
			continue;
		text_print(&names, "%s%s", changed.n ? ", " : "", found.items[i]);
		list_add(&changed, found.items[i]);
	}
	if (!changed.n)
		return 0;
	tokenize(text->bytes);
	warn_variables(&changed);
	add_section(source, "adsm_variables", &names);
	return run_tool(argv, source, NULL, C_COMPILER);
}

char *begin_work(const char *output)
{
	work_dir = temporary_name(output);
	if (!mkdtemp(work_dir))
		die("%s: %s", output, strerror(errno));
	atexit(remove_work);
	return format_string("%s/module", work_dir);
}

/* The command becomes one that makes a module of its standard input. */
static void make_shared(struct list *argv, const char *module)
{
	LIST_ADD(argv, "-shared", "-o", module, "-xc", "-", "-lm");
}

int end_work(int status, const char *module, const char *output)
{
	struct text bytes;

	if (!status && !caught_signal && is_special(output)) {
		if (!read_file(module, &bytes))
			die("%s: %s", module, strerror(errno));
		write_text(&bytes, output);
	} else if (!status && !caught_signal && rename(module, output)) {
		fprintf(stderr, "adsmcc: %s: %s\n", output, strerror(errno));
		status = 1;
	}
	remove_work();
	end_if_caught();
	return status;
}

int compile_source(const char *compiler, const struct list *options, const struct text *source, const char *output)
{
	struct list argv = compiler_command(compiler, options);
	char *module = begin_work(output);

	make_shared(&argv, module);
	return end_work(run_tool(&argv, source, NULL, C_COMPILER), module, output);
}

int compile(const struct tools *tools, const struct text *text, const char *output)
{
	struct list argv = compiler_command(tools->compiler, tools->options);
	struct list preprocessor = compiler_command(tools->compiler, tools->options);
	struct text source = { 0 }, before = { 0 };
	char *module = begin_work(output), *dir = work_dir;
	int status;

	status = add_atomics(&source, &preprocessor, text, dir);
	make_shared(&argv, module);
	text_print(&before, "%s", source.bytes ? source.bytes : "");
	text_add(&source, text->bytes, text->size);
	add_section(&source, "adsm_text", text);
	if (!status && !caught_signal && tools->architecture)
		status = add_ptx(&source, text, tools->nvcc, tools->architecture, dir);
	if (!status && !caught_signal && tools->add)
		status = tools->add(&source, text, tools, dir);
	if (!status && !caught_signal)
		status = make_module(&argv, &source, &before, text, module);
	return end_work(status, module, output);
}
