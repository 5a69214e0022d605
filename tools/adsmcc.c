/* SPDX-License-Identifier: MIT */
/*
 * adsmcc.c - the kernel compiler: makes a kernel module of one source file in the dialect of
 * adsm_kernel.h.
 *
 * The source is flattened into one text without includes, checked for what a C compiler would accept
 * and a GPU could not run, and given to cc on its standard input. The module carries the same text in
 * section "adsm_text", for compilers of other devices; with --ptx also what nvcc makes of it, in section
 * "adsm_ptx". A run is short: memory is never freed.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adsm.h"

#define PATH_SIZE 4096
#define NVCC "CUDA compiler"

extern char **environ;

struct list {
	const char **items;
	size_t n;
};

struct text {
	char *bytes;			/* NUL-terminated */
	size_t size, room;
};

static const char *kernel_header;	/* the path of adsm_kernel.h */
static struct list include_dirs;	/* -I */
static struct list inputs;		/* every file read, for -MF */
static struct list once;		/* files not to include again */
static int n_errors;

static void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void die(const char *format, ...)
{
	va_list args;

	fputs("adsmcc: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static void error_at(const char *file, int file_size, int line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static void error_at(const char *file, int file_size, int line, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%.*s:%d: error: ", file_size, file, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	n_errors++;
}

static void *grow(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p)
		die("out of memory");
	return p;
}

static void list_add(struct list *list, const char *item)
{
	list->items = grow(list->items, (list->n + 1) * sizeof(*list->items));
	list->items[list->n++] = item;
}

static bool list_has(const struct list *list, const char *item)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->items[i], item))
			return true;
	return false;
}

static void text_add(struct text *text, const char *bytes, size_t size)
{
	if (text->size + size >= text->room) {
		text->room = 2 * (text->size + size) + 1;
		text->bytes = grow(text->bytes, text->room);
	}
	memcpy(text->bytes + text->size, bytes, size);
	text->size += size;
	text->bytes[text->size] = '\0';
}

static void text_print(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void text_print(struct text *text, const char *format, ...)
{
	char *line;
	va_list args;
	int size;

	va_start(args, format);
	size = vasprintf(&line, format, args);
	va_end(args);
	if (size < 0)
		die("out of memory");
	text_add(text, line, (size_t)size);
	free(line);
}

static char *format_string(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *format_string(const char *format, ...)
{
	char *string;
	va_list args;

	va_start(args, format);
	if (vasprintf(&string, format, args) < 0)
		die("out of memory");
	va_end(args);
	return string;
}

/* Read @path whole; false with errno. */
static bool read_file(const char *path, struct text *ret_text)
{
	struct text text = { 0 };
	char buffer[65536];
	size_t n;
	FILE *file = fopen(path, "r");

	if (!file)
		return false;
	text_add(&text, "", 0);
	while ((n = fread(buffer, 1, sizeof(buffer), file)) > 0)
		text_add(&text, buffer, n);
	if (ferror(file)) {
		int error = errno;

		fclose(file);
		errno = error;
		return false;
	}
	fclose(file);
	*ret_text = text;
	return true;
}

static void write_text(const struct text *text, const char *path)
{
	FILE *file = path ? fopen(path, "w") : stdout;

	if (!file || fwrite(text->bytes, 1, text->size, file) != text->size || fflush(file))
		die("%s: %s", path ? path : "standard output", strerror(errno));
	if (path)
		fclose(file);
}

static bool starts(const char *string, const char *prefix)
{
	return !strncmp(string, prefix, strlen(prefix));
}

/* ---- flattening -------------------------------------------------------------------------- */

struct file {
	const char *path;
	const struct file *includer;
};

static void text_add_line_marker(struct text *text, int line, const char *path)
{
	text_print(text, "#line %d \"", line);
	for (; *path; path++)
		text_print(text, *path == '"' || *path == '\\' ? "\\%c" : "%c", *path);
	text_print(text, "\"\n");
}

/* Where the line at @p ends: its newline, or the end of the text. Follows comments over it. */
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

/* If the line at @p is the preprocessor's @name, what follows the name; else NULL. */
static const char *directive(const char *p, const char *name)
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

/* The file that "@name" means in @file, read into @ret_text; NULL where there is none. */
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
	if (!included.path && !strcmp(name, "adsm_kernel.h")) {
		included.path = kernel_header;
		if (!read_file(kernel_header, &text))
			die("%s: %s", kernel_header, strerror(errno));
	}
	if (!included.path && *spec == '<') {
		error_at(file->path, path_size, line, "kernels run on every device and cannot use <%s>: only "
			 "<adsm_kernel.h> and \"local\" files may be included", name);
		return;
	}
	if (!included.path) {
		error_at(file->path, path_size, line, "cannot read \"%s\": %s", name, strerror(errno));
		return;
	}
	if (!list_has(&inputs, included.path))
		list_add(&inputs, included.path);
	/* A file that is being included already guards itself, or the C preprocessor would never end. */
	for (const struct file *f = file; f; f = f->includer)
		if (!strcmp(f->path, included.path))
			return;
	if (!list_has(&once, included.path))
		flatten(out, &included, text.bytes);
	if (included.path == kernel_header)
		list_add(&once, kernel_header);
	text_add_line_marker(out, line, file->path);
}

/* Append @p, the contents of @file, with its includes in place. */
static void flatten(struct text *out, const struct file *file, const char *p)
{
	bool in_comment = false;
	int line = 1;

	/* The module says nothing of where the compiler is installed. */
	text_add_line_marker(out, 1, file->path == kernel_header ? "adsm_kernel.h" : file->path);
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

/* ---- tokens ------------------------------------------------------------------------------ */

struct token {
	const char *start;
	int size;			/* 0: the end */
	bool word;
	int line;
	const char *file;		/* not terminated */
	int file_size;
};

static struct token *tokens;
static size_t n_tokens;

static const char *skip_string(const char *p)
{
	const char quote = *p++;

	while (*p && *p != quote && *p != '\n')
		p += p[0] == '\\' && p[1] ? 2 : 1;
	return *p == quote ? p + 1 : p;
}

/* Split @p into words, numbers, strings and single characters; comments and directives are left out. */
static void tokenize(const char *p)
{
	struct token token = { .line = 1, .file = "" };
	bool line_start = true, in_directive = false;
	size_t room = 0;

	for (;;) {
		if (*p == '\n') {
			token.line++;
			line_start = true;
			in_directive = false;
			p++;
			continue;
		}
		if (p[0] == '\\' && p[1] == '\n') {
			token.line++;
			p += 2;
			continue;
		}
		if (p[0] == '/' && p[1] == '/') {
			p += strcspn(p, "\n");
			continue;
		}
		if (p[0] == '/' && p[1] == '*') {
			for (p += 2; *p && !(p[0] == '*' && p[1] == '/'); p++)
				token.line += *p == '\n';
			p += *p ? 2 : 0;
			continue;
		}
		if (*p && isspace((unsigned char)*p)) {
			p++;
			continue;
		}
		if (line_start && *p == '#') {
			const char *spec = directive(p, "line");

			in_directive = true;
			if (spec && isdigit((unsigned char)*spec)) {
				token.line = atoi(spec) - 1;
				spec += strcspn(spec, "\"\n");
				if (*spec == '"') {
					token.file = spec + 1;
					token.file_size = (int)(skip_string(spec) - spec - 2);
				}
				p += strcspn(p, "\n");
				continue;
			}
		}
		line_start = false;
		token.start = p;
		token.word = isalpha((unsigned char)*p) || *p == '_';
		if (*p == '"' || *p == '\'')
			p = skip_string(p);
		else if (token.word || isdigit((unsigned char)*p))
			while (isalnum((unsigned char)*p) || *p == '_' || *p == '.')
				p++;
		else if (*p)
			p++;
		token.size = (int)(p - token.start);
		if (in_directive && token.size)
			continue;
		if (n_tokens == room) {
			room = room ? room * 2 : 4096;
			tokens = grow(tokens, room * sizeof(*tokens));
		}
		tokens[n_tokens++] = token;
		if (!token.size)
			return;
	}
}

static bool is(size_t i, const char *string)
{
	return (size_t)tokens[i].size == strlen(string) &&
	       !memcmp(tokens[i].start, string, (size_t)tokens[i].size);
}

static bool is_end(size_t i)
{
	return !tokens[i].size;
}

#define error_at_token(i, ...) \
	error_at(tokens[i].file, tokens[i].file_size, tokens[i].line, __VA_ARGS__)

/* Behind the bracket that closes the one at @i, or at the end. */
static size_t skip_group(size_t i)
{
	int depth = 0;

	for (; !is_end(i); i++) {
		if (is(i, "(") || is(i, "[") || is(i, "{"))
			depth++;
		else if ((is(i, ")") || is(i, "]") || is(i, "}")) && --depth == 0)
			return i + 1;
	}
	return i;
}

/* ---- checking phases --------------------------------------------------------------------- */

/* Walk over the statement at @i, up to where the next one starts. @breakable: a break in it ends a loop or
 * switch inside the phase. */
static size_t check_breaks(size_t i, bool breakable)
{
	if (is(i, "{")) {
		for (i++; !is_end(i) && !is(i, "}"); )
			i = check_breaks(i, breakable);
		return is_end(i) ? i : i + 1;
	}
	if (is(i, "for") || is(i, "while") || is(i, "switch")) {
		i++;
		return check_breaks(is(i, "(") ? skip_group(i) : i, true);
	}
	if (is(i, "do")) {
		i = check_breaks(i + 1, true);
		if (is(i, "while"))
			i++;
		/* The condition and its semicolon are the rest, as of any expression. */
	} else if (is(i, "if")) {
		i++;
		i = check_breaks(is(i, "(") ? skip_group(i) : i, breakable);
		return is(i, "else") ? check_breaks(i + 1, breakable) : i;
	} else if (is(i, "case") || (tokens[i].word && is(i + 1, ":"))) {
		while (!is_end(i) && !is(i, ":"))
			i++;
		i += !is_end(i);
		return is(i, "}") ? i : check_breaks(i, breakable);
	} else if (is(i, "break") && !breakable) {
		error_at_token(i, "break would leave the ADSM_THREADS phase");
	}
	while (!is_end(i) && !is(i, ";") && !is(i, "}"))
		i = is(i, "(") || is(i, "[") || is(i, "{") ? skip_group(i) : i + 1;
	return is(i, ";") ? i + 1 : i;
}

/* @i is behind ADSM_THREADS. Returns where the phase ends. */
static size_t check_phase(size_t i)
{
	static const char *const outside_only[] = {
		"ADSM_THREADS", "ADSM_BARRIER", "ADSM_SHARED", "ADSM_PRIVATE", "ADSM_KERNEL", "ADSM_KERNEL_MAX",
	};
	size_t end;

	if (!is(i, "{")) {
		error_at_token(i, "ADSM_THREADS must be followed by a body in braces");
		return i;
	}
	end = skip_group(i);
	for (size_t j = i; j < end; j++) {
		if (is(j, "return"))
			error_at_token(j, "return inside an ADSM_THREADS phase (continue ends the thread's phase)");
		if (is(j, "goto"))
			error_at_token(j, "goto inside an ADSM_THREADS phase");
		for (size_t k = 0; k < sizeof(outside_only) / sizeof(outside_only[0]); k++)
			if (is(j, outside_only[k]))
				error_at_token(j, "%s inside an ADSM_THREADS phase", outside_only[k]);
	}
	check_breaks(i, false);
	return end;
}

/*
 * Check the tokens of @in and append the text to @out, with ADSM_ENTER(parameters) behind the opening
 * brace of each kernel: a macro cannot put anything there itself, and OpenCL needs it. Lines stay as
 * they are. Returns the number of kernels.
 */
static size_t check_and_enter(struct text *out, const struct text *in)
{
	const char *copied = in->bytes;
	size_t n_kernels = 0, i = 0;

	tokenize(in->bytes);
	while (!is_end(i)) {
		const bool kernel_max = is(i, "ADSM_KERNEL_MAX");
		size_t end;

		if (is(i, "ADSM_THREADS")) {
			i = check_phase(i + 1);
			continue;
		}
		if ((!kernel_max && !is(i, "ADSM_KERNEL")) || !is(i + 1, "(")) {
			i++;
			continue;
		}
		n_kernels++;
		end = skip_group(i + 1);
		if (!is(end, "{")) {
			error_at_token(i, "a kernel must be followed by its body in braces");
			i = end;
			continue;
		}
		text_add(out, copied, (size_t)(tokens[end].start + 1 - copied));
		copied = tokens[end].start + 1;
		text_print(out, " ADSM_ENTER(");
		for (int commas = kernel_max ? 2 : 1; i < end - 1; i++) {
			if (commas <= 0)
				text_print(out, "%.*s ", tokens[i].size, tokens[i].start);
			else if (is(i, ","))
				commas--;
		}
		text_print(out, ")");
		i = end + 1;
	}
	text_add(out, copied, (size_t)(in->bytes + in->size - copied));
	return n_kernels;
}

/* ---- running the compiler ---------------------------------------------------------------- */

static volatile sig_atomic_t caught_signal;
static volatile pid_t child;

static void on_signal(int sig)
{
	caught_signal = sig;
	if (child)
		kill(child, sig);
}

/*
 * Run @argv with @input as its standard input. @ret_output: what it writes to its standard output; NULL: that is ours.
 * @what it is, and how to choose another, for messages. Returns its exit status.
 */
static int run(char *const *argv, const struct text *input, struct text *ret_output, const char *what)
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
	int out = ret_output ? memfd_create("adsmcc", MFD_CLOEXEC) : STDOUT_FILENO;

	if (!file || out < 0 || fwrite(input->bytes, 1, input->size, file) != input->size || fflush(file) ||
	    lseek(fd, 0, SEEK_SET)) {
		fprintf(stderr, "adsmcc: cannot pass the source to %s: %s\n", argv[0], strerror(errno));
		return 1;
	}

	/* What ends us ends the compiler, and then we clean up. */
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
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &old);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	error = posix_spawnp(&pid, argv[0], &files, &attr, argv, environ);
	if (!error)
		child = pid;
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (error) {
		fprintf(stderr, "adsmcc: cannot run the %s '%s': %s (choose one with %s)\n", what, argv[0],
			strerror(error), strcmp(what, NVCC) ? "--cc or CC" : "--nvcc or NVCC");
		return 1;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid: %s", strerror(errno));
	child = 0;
	if (WIFSIGNALED(status)) {
		if (!caught_signal)
			fprintf(stderr, "adsmcc: %s: %s\n", argv[0], strsignal(WTERMSIG(status)));
		return 128 + WTERMSIG(status);
	}
	if (ret_output && !read_file(format_string("/proc/self/fd/%d", out), ret_output))
		die("%s: %s", argv[0], strerror(errno));
	return WEXITSTATUS(status);
}

/* What a signal ended is gone, and so are we. */
static void end_if_caught(void)
{
	if (caught_signal) {
		signal(caught_signal, SIG_DFL);
		raise(caught_signal);
	}
}

/* The bytes of @text and a NUL, as an array in section @name. */
static void add_section(struct text *source, const char *name, const struct text *text)
{
	text_print(source, "#line 1 \"%s\"\nstatic const unsigned char %s_[] "
		   "__attribute__((used, section(\"%s\"), aligned(1))) = {\n", name, name, name);
	for (size_t i = 0; i < text->size; i++)
		text_print(source, "%u,%s", (unsigned char)text->bytes[i], i % 32 == 31 ? "\n" : "");
	text_print(source, "0};\n");
}

/* ---- PTX --------------------------------------------------------------------------------- */

static const char *find_nvcc(void)
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

/* As old as can be, so that all devices take it: compute_75, or the lowest there is. */
static const char *choose_architecture(const char *nvcc)
{
	char *const argv[] = { (char *)nvcc, "--list-gpu-arch", NULL };
	const struct text nothing = { "", 0, 0 };
	struct text list = { 0 };
	char *line, *rest;
	int lowest = 0;

	if (run(argv, &nothing, &list, NVCC))
		return "compute_75";
	for (rest = list.bytes; (line = strsep(&rest, "\n")); ) {
		const int number = starts(line, "compute_") ? atoi(line + strlen("compute_")) : 0;

		if (number >= 75 && (!lowest || number < lowest))
			lowest = number;
	}
	return format_string("compute_%d", lowest ? lowest : 75);
}

/* Add what nvcc makes of @text to the module's @source; it works in @dir. Returns its exit status. */
static int add_ptx(struct text *source, const struct text *text, const char *nvcc, const char *architecture,
		   const char *dir)
{
	const struct text nothing = { "", 0, 0 };
	char *input = format_string("%s/text.cu", dir), *output = format_string("%s/text.ptx", dir);
	struct list argv = { 0 };
	struct text ptx;
	int status;

	if (!*architecture)
		architecture = choose_architecture(nvcc);
	list_add(&argv, nvcc);
	list_add(&argv, "-x");
	list_add(&argv, "cu");
	list_add(&argv, "--ptx");
	list_add(&argv, "--fmad=false");	/* the same numbers, as above */
	list_add(&argv, "-Wno-deprecated-gpu-targets");
	list_add(&argv, format_string("-arch=%s", architecture));
	list_add(&argv, "-o");
	list_add(&argv, output);
	list_add(&argv, input);
	list_add(&argv, NULL);
	write_text(text, input);
	status = run((char *const *)argv.items, &nothing, NULL, NVCC);
	if (status)
		fprintf(stderr, "adsmcc: --ptx: %s made no PTX\n", nvcc);
	else if (read_file(output, &ptx))
		add_section(source, "adsm_ptx", &ptx);
	else
		die("%s: %s", output, strerror(errno));
	unlink(input);
	unlink(output);
	return status;
}

/*
 * Compile @text into the module @output, which appears only when all went well: the linker writes into a
 * directory next to it, removed in any case. @nvcc: NULL: no PTX.
 */
static int compile(const char *compiler, const struct list *options, const struct text *text, const char *nvcc,
		   const char *architecture, const char *output)
{
	static const char *const fixed[] = {
		/*
		 * Nobody looks at errno or at the floating-point exception flags of a kernel, and conditional
		 * code can only be vectorised without them. No contraction: a kernel gives the same numbers
		 * with each compiler and on each CPU, whether that has fused multiply-add or not.
		 */
		"-std=gnu11", "-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fPIC",
		"-fvisibility=hidden",
	};
	struct list argv = { 0 };
	struct text source = { 0 };
	char *word, *rest = format_string("%s", compiler);
	char *dir = format_string("%s.XXXXXX", output), *module;
	int status;

	while ((word = strsep(&rest, " ")))
		if (*word)
			list_add(&argv, word);
	if (!argv.n)
		die("--cc or CC names no compiler");
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		list_add(&argv, fixed[i]);
	for (size_t i = 0; i < options->n; i++)
		list_add(&argv, options->items[i]);
	if (!mkdtemp(dir))
		die("%s: %s", output, strerror(errno));
	module = format_string("%s/module", dir);
	list_add(&argv, "-shared");
	list_add(&argv, "-o");
	list_add(&argv, module);
	list_add(&argv, "-xc");
	list_add(&argv, "-");
	list_add(&argv, "-xnone");
	list_add(&argv, "-lm");
	list_add(&argv, NULL);

	text_add(&source, text->bytes, text->size);
	add_section(&source, "adsm_text", text);
	status = nvcc ? add_ptx(&source, text, nvcc, architecture, dir) : 0;
	if (!status && !caught_signal)
		status = run((char *const *)argv.items, &source, NULL, "C compiler");
	if (!status && !caught_signal && rename(module, output)) {
		fprintf(stderr, "adsmcc: %s: %s\n", output, strerror(errno));
		status = 1;
	}
	unlink(module);
	rmdir(dir);
	end_if_caught();
	return status;
}

/* The files @output was made of, as a rule of make. */
static void write_dependencies(const char *path, const char *output)
{
	struct text text = { 0 };

	text_print(&text, "%s:", output);
	for (size_t i = 0; i < inputs.n; i++) {
		text_print(&text, " \\\n ");
		for (const char *p = inputs.items[i]; *p; p++)
			text_print(&text, *p == ' ' || *p == '#' ? "\\%c" : *p == '$' ? "$%c" : "%c", *p);
	}
	text_print(&text, "\n");
	write_text(&text, path);
}

/* ---- command line ------------------------------------------------------------------------ */

static const char help[] =
	"usage: adsmcc [options] FILE.c\n"
	"Compile kernels written in the dialect of adsm_kernel.h into a kernel module.\n"
	"\n"
	"  -o FILE           the module (default: FILE.adsm in the current directory)\n"
	"  -I DIR            also look for #include \"file\" in DIR\n"
	"  -D NAME[=VALUE]   define a macro, for every device\n"
	"  -O.. -f.. -g.. -m.. -W..  passed to the C compiler (default: -O3)\n"
	"  --cc CC           the C compiler (default: $CC, else cc)\n"
	"  --ptx[=ARCH]      also embed PTX for CUDA devices, which then need no compiler at run time;\n"
	"                    for compute_75, or the lowest nvcc knows, or ARCH\n"
	"  --nvcc NVCC       the CUDA compiler (default: $NVCC, else nvcc)\n"
	"  --emit-text       write the flattened text instead, to -o or standard output\n"
	"  -MF FILE          write a make rule that names the files read\n"
	"  --version, --help\n";

/* Installed: bin/../include. In a build folder: where the sources are. */
static const char *find_kernel_header(void)
{
	char self[PATH_SIZE], *slash, *path;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
		path = format_string("%.*s/../include/adsm_kernel.h", slash ? (int)(slash - self) : 0, self);
		if (!access(path, R_OK))
			return path;
	}
	return ADSM_INCLUDE_DIR "/adsm_kernel.h";
}

/* The value of option @name at argv[*i]: the rest of it, or the next argument. */
static const char *option_value(int argc, char **argv, int *i, const char *name)
{
	const char *rest = argv[*i] + strlen(name);

	if (*rest)
		return *rest == '=' && name[1] == '-' ? rest + 1 : rest;
	if (*i + 1 >= argc)
		die("%s needs a value", name);
	return argv[++*i];
}

static const char *default_output(const char *input)
{
	const char *slash = strrchr(input, '/'), *name = slash ? slash + 1 : input;
	const char *dot = strrchr(name, '.');

	return format_string("%.*s.adsm", dot ? (int)(dot - name) : (int)strlen(name), name);
}

/* Asked by AddressSanitizer, which would call what is never freed leaks. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

int main(int argc, char **argv)
{
	const char *compiler = getenv("CC"), *input = NULL, *output = NULL, *dependencies = NULL;
	const char *architecture = NULL, *nvcc = NULL;
	struct list options = { 0 };
	struct text flat = { 0 }, text = { 0 }, contents;
	bool emit_text = false;
	size_t n_kernels;
	int status = 0;

	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i];

		if (!strcmp(arg, "--help")) {
			fputs(help, stdout);
			return 0;
		} else if (!strcmp(arg, "--version")) {
			printf("adsmcc %d.%d.%d\n", ADSM_VERSION_MAJOR, ADSM_VERSION_MINOR, ADSM_VERSION_PATCH);
			return 0;
		} else if (!strcmp(arg, "--emit-text")) {
			emit_text = true;
		} else if (!strcmp(arg, "--ptx") || starts(arg, "--ptx=")) {
			architecture = arg[5] ? arg + 6 : "";
		} else if (!strcmp(arg, "--nvcc") || starts(arg, "--nvcc=")) {
			nvcc = option_value(argc, argv, &i, "--nvcc");
		} else if (!strcmp(arg, "--cc") || starts(arg, "--cc=")) {
			compiler = option_value(argc, argv, &i, "--cc");
		} else if (starts(arg, "-MF")) {
			dependencies = option_value(argc, argv, &i, "-MF");
		} else if (starts(arg, "-o")) {
			output = option_value(argc, argv, &i, "-o");
		} else if (starts(arg, "-I")) {
			list_add(&include_dirs, option_value(argc, argv, &i, "-I"));
		} else if (starts(arg, "-D")) {
			const char *macro = option_value(argc, argv, &i, "-D");
			const int name = (int)strcspn(macro, "=");

			text_print(&flat, "#define %.*s %s\n", name, macro, macro[name] ? macro + name + 1 : "1");
		} else if (arg[0] == '-' && arg[1] && strchr("OfgmW", arg[1])) {
			list_add(&options, arg);
		} else if (arg[0] == '-') {
			die("unknown option %s (--help lists them)", arg);
		} else if (input) {
			die("one source file makes one module: %s and %s", input, arg);
		} else {
			input = arg;
		}
	}
	if (!input)
		die("no source file (--help says more)");
	if (!output && !emit_text)
		output = default_output(input);
	if (!compiler || !*compiler)
		compiler = "cc";

	if (architecture && !nvcc)
		nvcc = find_nvcc();
	if (architecture && strchr(nvcc, '/') && access(nvcc, X_OK))
		die("--ptx needs nvcc: %s: %s (choose one with --nvcc or NVCC)", nvcc, strerror(errno));

	kernel_header = find_kernel_header();
	if (!read_file(input, &contents))
		die("%s: %s", input, strerror(errno));
	list_add(&inputs, input);
	flatten(&flat, &(const struct file){ input, NULL }, contents.bytes);
	n_kernels = check_and_enter(&text, &flat);
	if (!n_kernels && !n_errors)
		error_at(input, (int)strlen(input), 1, "no kernel in this file (ADSM_KERNEL)");
	if (n_errors)
		return 1;

	if (emit_text)
		write_text(&text, output);
	else
		status = compile(compiler, &options, &text, architecture ? nvcc : NULL, architecture, output);
	if (!status && dependencies)
		write_dependencies(dependencies, output ? output : "-");
	return status;
}
