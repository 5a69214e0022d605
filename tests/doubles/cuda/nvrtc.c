/* SPDX-License-Identifier: MIT */
/*
 * nvrtc.c - a double of the toolkit's run-time compiler: libnvrtc.so, for the driver's double.
 *
 * It takes the text of a kernel module as it takes CUDA, and compiles it natively: CC (or cc) makes a shared object,
 * and its bytes are the "PTX", which nothing but the driver's double loads. What is CUDA and not the dialect fails,
 * with what the C compiler says for a log.
 *
 * Words in TEST_NVRTC, separated by commas:
 *   no-memory	creating a program fails with OUT_OF_MEMORY
 *   fail		compiling fails with INTERNAL_ERROR, whatever the text
 *
 * TEST_NVRTC_CACHE names a folder: what was compiled once is taken from there.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
#define MAX_ARGS 64

enum {
	NVRTC_SUCCESS = 0,
	NVRTC_ERROR_OUT_OF_MEMORY = 1,
	NVRTC_ERROR_INVALID_INPUT = 3,
	NVRTC_ERROR_INVALID_PROGRAM = 4,
	NVRTC_ERROR_INVALID_OPTION = 5,
	NVRTC_ERROR_COMPILATION = 6,
	NVRTC_ERROR_INTERNAL_ERROR = 11,
};

typedef int nvrtcResult;
typedef struct program *nvrtcProgram;

struct program {
	uint64_t magic;
	char *text;
	char *log;			/* never NULL */
	char *object;			/* NULL: not compiled */
	size_t object_size;
};

#define MAGIC 0x7472766e61736461u	/* of an existing program */

extern char **environ;

API nvrtcResult nvrtcVersion(int *major, int *minor);
API nvrtcResult nvrtcGetNumSupportedArchs(int *n);
API nvrtcResult nvrtcGetSupportedArchs(int *archs);
API const char *nvrtcGetErrorString(nvrtcResult result);
API nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *text, const char *name, int n_headers,
				   const char *const *headers, const char *const *header_names);
API nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program);
API nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int n_options, const char *const *options);
API nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size);
API nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *ptx);
API nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size);
API nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log);

static const int archs[] = { 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121 };

#define N(array) (sizeof(array) / sizeof((array)[0]))

static bool word(const char *wanted)
{
	const char *plan = getenv("TEST_NVRTC");

	for (size_t size = strlen(wanted); plan; plan = strchr(plan, ',') ? strchr(plan, ',') + 1 : NULL)
		if (!strncmp(plan, wanted, size) && (!plan[size] || plan[size] == ','))
			return true;
	return false;
}

static bool valid(nvrtcProgram program)
{
	return program && program->magic == MAGIC;
}

nvrtcResult nvrtcVersion(int *major, int *minor)
{
	if (!major || !minor)
		return NVRTC_ERROR_INVALID_INPUT;
	*major = 13;
	*minor = 0;
	return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetNumSupportedArchs(int *n)
{
	if (!n)
		return NVRTC_ERROR_INVALID_INPUT;
	*n = N(archs);
	return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int *ret_archs)
{
	if (!ret_archs)
		return NVRTC_ERROR_INVALID_INPUT;
	memcpy(ret_archs, archs, sizeof(archs));
	return NVRTC_SUCCESS;
}

const char *nvrtcGetErrorString(nvrtcResult result)
{
	switch (result) {
	case NVRTC_SUCCESS:
		return "NVRTC_SUCCESS";
	case NVRTC_ERROR_OUT_OF_MEMORY:
		return "NVRTC_ERROR_OUT_OF_MEMORY";
	case NVRTC_ERROR_INVALID_INPUT:
		return "NVRTC_ERROR_INVALID_INPUT";
	case NVRTC_ERROR_INVALID_PROGRAM:
		return "NVRTC_ERROR_INVALID_PROGRAM";
	case NVRTC_ERROR_INVALID_OPTION:
		return "NVRTC_ERROR_INVALID_OPTION";
	case NVRTC_ERROR_COMPILATION:
		return "NVRTC_ERROR_COMPILATION";
	case NVRTC_ERROR_INTERNAL_ERROR:
		return "NVRTC_ERROR_INTERNAL_ERROR";
	default:
		return "NVRTC_ERROR unknown";
	}
}

/* No device of CUDA's has them, but the C compiler would. */
static void leave_out_tasks(char *text)
{
	static const char guard[] = "\n#ifdef ADSM_TASKS\n", never[] = "\n#if 0            \n";

	_Static_assert(sizeof(guard) == sizeof(never), "in place");
	while ((text = strstr(text, guard)))
		memcpy(text, never, strlen(never));
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *ret_program, const char *text, const char *name, int n_headers,
			       const char *const *headers, const char *const *header_names)
{
	nvrtcProgram program;

	if (!ret_program || !text || n_headers < 0 || (n_headers && (!headers || !header_names)))
		return NVRTC_ERROR_INVALID_INPUT;
	if (word("no-memory"))
		return NVRTC_ERROR_OUT_OF_MEMORY;
	program = calloc(1, sizeof(*program));
	if (program) {
		program->text = strdup(text);
		if (program->text)
			leave_out_tasks(program->text);
		program->log = strdup("");
	}
	if (!program || !program->text || !program->log) {
		if (program) {
			free(program->text);
			free(program->log);
		}
		free(program);
		return NVRTC_ERROR_OUT_OF_MEMORY;
	}
	program->magic = MAGIC;
	*ret_program = program;
	return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
	if (!program || !valid(*program))
		return NVRTC_ERROR_INVALID_PROGRAM;
	(*program)->magic = 0;
	free((*program)->text);
	free((*program)->log);
	free((*program)->object);
	free(*program);
	*program = NULL;
	return NVRTC_SUCCESS;
}

/* ---- options */

enum value { NONE, BOOL, NUMBER, ARCH, ANY };

static const struct option {
	const char *name, *short_name;
	enum value value;
	char pass;			/* what the C compiler calls it; 0: it is not told */
} known[] = {
	{ "--gpu-architecture", "-arch", ARCH, 0 },
	{ "--define-macro", "-D", ANY, 'D' },
	{ "--undefine-macro", "-U", ANY, 'U' },
	{ "--include-path", "-I", ANY, 'I' },
	{ "--pre-include", "-include", ANY, 0 },
	{ "--std", "-std", ANY, 0 },
	{ "--fmad", "-fmad", BOOL, 0 },
	{ "--ftz", "-ftz", BOOL, 0 },
	{ "--prec-div", "-prec-div", BOOL, 0 },
	{ "--prec-sqrt", "-prec-sqrt", BOOL, 0 },
	{ "--use_fast_math", "-use_fast_math", NONE, 0 },
	{ "--extra-device-vectorization", "-extra-device-vectorization", NONE, 0 },
	{ "--maxrregcount", "-maxrregcount", NUMBER, 0 },
	{ "--device-c", "-dc", NONE, 0 },
	{ "--device-w", "-dw", NONE, 0 },
	{ "--relocatable-device-code", "-rdc", BOOL, 0 },
	{ "--device-debug", "-G", NONE, 0 },
	{ "--dopt", "-dopt", ANY, 0 },
	{ "--generate-line-info", "-lineinfo", NONE, 0 },
	{ "--restrict", "-restrict", NONE, 0 },
	{ "--disable-warnings", "-w", NONE, 0 },
	{ "--device-as-default-execution-space", "-default-device", NONE, 0 },
	{ "--no-source-include", "-no-source-include", NONE, 0 },
	{ "--ptxas-options", "-Xptxas", ANY, 0 },
	{ "--diag-suppress", "-diag-suppress", ANY, 0 },
	{ "--minimal", "-minimal", NONE, 0 },
};

static bool value_is_good(enum value kind, const char *value)
{
	const char *number;
	char *end;
	long arch;

	switch (kind) {
	case NONE:
		return !value;
	case BOOL:
		return value && (!strcmp(value, "true") || !strcmp(value, "false"));
	case NUMBER:
		return value && *value && strspn(value, "0123456789") == strlen(value);
	case ANY:
		return value && *value;
	case ARCH:
		if (!value)
			return false;
		if (!strncmp(value, "compute_", 8))
			number = value + 8;
		else if (!strncmp(value, "sm_", 3))
			number = value + 3;
		else
			return false;
		arch = strtol(number, &end, 10);
		if (*end && strcmp(end, "a") && strcmp(end, "f"))
			return false;
		for (size_t i = 0; i < N(archs); i++)
			if (arch == archs[i])
				return true;
	}
	return false;
}

/* The option at options[*i] and its value, which may be the next one: *i moves on to it. */
static const struct option *option_at(const char *const *options, int n, int *i, const char **ret_value)
{
	const char *text = options[*i];

	for (size_t k = 0; k < N(known); k++) {
		const char *names[] = { known[k].name, known[k].short_name };

		for (size_t j = 0; j < 2; j++) {
			size_t size = strlen(names[j]);

			if (strncmp(text, names[j], size))
				continue;
			*ret_value = NULL;
			if (text[size] == '=')
				*ret_value = text + size + 1;
			else if (size == 2 && known[k].value == ANY && text[size])
				*ret_value = text + size + strspn(text + size, " ");
			else if (text[size])
				continue;
			else if (known[k].value != NONE && *i + 1 < n)
				*ret_value = options[++*i];
			return value_is_good(known[k].value, *ret_value) ? &known[k] : NULL;
		}
	}
	return NULL;
}

/* ---- compiling */

static uint64_t hash(uint64_t seed, const char *string)
{
	do
		seed = (seed ^ (unsigned char)*string) * 0x100000001b3u;
	while (*string++);
	return seed;
}

/* A file's bytes, and one 0 behind them, as PTX has. */
static char *read_whole(int fd, size_t *ret_size)
{
	struct stat info;
	char *bytes;
	size_t have = 0;

	if (fstat(fd, &info) || !(bytes = calloc(1, (size_t)info.st_size + 1)))
		return NULL;
	while (have < (size_t)info.st_size) {
		ssize_t n = pread(fd, bytes + have, (size_t)info.st_size - have, (off_t)have);

		if (n <= 0) {
			free(bytes);
			return NULL;
		}
		have += (size_t)n;
	}
	*ret_size = have;
	return bytes;
}

/* The environment without what would change the compiler; the caller frees the array. */
static char **clean_environment(void)
{
	char **clean;
	size_t n = 0, kept = 0;

	while (environ && environ[n])
		n++;
	clean = calloc(n + 1, sizeof(*clean));
	for (size_t i = 0; clean && i < n; i++)
		if (strncmp(environ[i], "LD_PRELOAD=", 11) && strncmp(environ[i], "LD_LIBRARY_PATH=", 16) &&
		    strncmp(environ[i], "ADSM_", 5))
			clean[kept++] = environ[i];
	return clean;
}

/* Run the compiler: @text in, messages to @messages. Its exit status, -1: could not be run. */
static int run_compiler(char *const *argv, int text, int messages)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, pipe_only;
	char **environment = clean_environment();
	pid_t pid;
	int status = -1;

	if (!environment)
		return -1;
	sigemptyset(&none);
	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, text, 0);
	posix_spawn_file_actions_adddup2(&files, messages, 1);
	posix_spawn_file_actions_adddup2(&files, messages, 2);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &pipe_only);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (!posix_spawnp(&pid, argv[0], &files, &attr, argv, environment)) {
		while (waitpid(pid, &status, 0) < 0)
			if (errno != EINTR) {
				status = -1;
				break;
			}
		if (status != -1)
			status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
	}
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	free(environment);
	return status;
}

static void set_log(nvrtcProgram program, char *log)
{
	if (!log)
		return;
	free(program->log);
	program->log = log;
}

/* @extra: -D, -U and -I of the caller. */
static nvrtcResult compile(nvrtcProgram program, char *const *extra, size_t n_extra)
{
	const char *fixed[] = { "-std=gnu11", "-O1", "-w", "-fPIC", "-shared", "-ffp-contract=off",
				"-fvisibility=hidden" };
	const char *last[] = { "-xc", "-", "-xnone", "-lm" }, *cc = getenv("CC");
	char compiler[256], output[] = "/tmp/nvrtc-double-XXXXXX", *argv[MAX_ARGS + 32], *rest = compiler, *one;
	int text = memfd_create("text", MFD_CLOEXEC), messages = memfd_create("messages", MFD_CLOEXEC);
	int made = mkostemp(output, O_CLOEXEC), status, fd;
	size_t n = 0, size = strlen(program->text);
	nvrtcResult result = NVRTC_ERROR_INTERNAL_ERROR;

	snprintf(compiler, sizeof(compiler), "%s", cc && *cc ? cc : "cc");
	while ((one = strsep(&rest, " ")) && n < 16)
		if (*one)
			argv[n++] = one;
	for (size_t i = 0; i < N(fixed); i++)
		argv[n++] = (char *)(uintptr_t)fixed[i];
	for (size_t i = 0; i < n_extra; i++)
		argv[n++] = extra[i];
	argv[n++] = "-o";
	argv[n++] = output;
	for (size_t i = 0; i < N(last); i++)
		argv[n++] = (char *)(uintptr_t)last[i];
	argv[n] = NULL;
	if (text < 0 || messages < 0 || made < 0 || write(text, program->text, size) != (ssize_t)size ||
	    lseek(text, 0, SEEK_SET))
		goto close_files;
	status = run_compiler(argv, text, messages);
	set_log(program, read_whole(messages, &size));
	if (status > 0) {
		result = NVRTC_ERROR_COMPILATION;
	} else if (!status && (fd = open(output, O_RDONLY | O_CLOEXEC)) >= 0) {	/* the linker makes a new file of it */
		program->object = read_whole(fd, &program->object_size);
		close(fd);
		if (program->object)
			result = NVRTC_SUCCESS;
	}

close_files:
	if (text >= 0)
		close(text);
	if (messages >= 0)
		close(messages);
	if (made >= 0) {
		close(made);
		unlink(output);
	}
	return result;
}

/* What was compiled once, of the same text with the same options. */
static bool cache_path(nvrtcProgram program, char *const *extra, size_t n_extra, char *path, size_t room)
{
	const char *folder = getenv("TEST_NVRTC_CACHE"), *cc = getenv("CC");
	uint64_t key = hash(hash(0xcbf29ce484222325u, program->text), cc ? cc : "");

	if (!folder || !*folder)
		return false;
	for (size_t i = 0; i < n_extra; i++)
		key = hash(key, extra[i]);
	mkdir(folder, 0777);
	return snprintf(path, room, "%s/%016llx.so", folder, (unsigned long long)key) < (int)room - 32;
}

static bool cache_get(nvrtcProgram program, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	program->object = read_whole(fd, &program->object_size);
	close(fd);
	return program->object;
}

static void cache_put(nvrtcProgram program, const char *path)
{
	char own[600];
	int fd;

	snprintf(own, sizeof(own), "%s.%ld", path, (long)getpid());
	fd = open(own, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	if (write(fd, program->object, program->object_size) != (ssize_t)program->object_size || rename(own, path))
		unlink(own);
	close(fd);
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int n_options, const char *const *options)
{
	char *extra[MAX_ARGS], path[512], *log;
	size_t n_extra = 0;
	nvrtcResult result;
	bool cached;

	if (!valid(program))
		return NVRTC_ERROR_INVALID_PROGRAM;
	if (n_options < 0 || (n_options && !options))
		return NVRTC_ERROR_INVALID_INPUT;
	for (int i = 0; i < n_options; i++) {
		const char *value = NULL;
		const int at = i;
		const struct option *option = options[i] ? option_at(options, n_options, &i, &value) : NULL;

		if (!option || n_extra == MAX_ARGS) {
			if (asprintf(&log, "nvrtc: error: invalid option '%s'\n", options[at] ? options[at] : "") >= 0)
				set_log(program, log);
			result = NVRTC_ERROR_INVALID_OPTION;
			goto free_extra;
		}
		if (option->pass && asprintf(&extra[n_extra], "-%c%s", option->pass, value) >= 0)
			n_extra++;
	}
	free(program->object);
	program->object = NULL;
	if (word("fail")) {
		set_log(program, strdup("nvrtc: error: it was told to fail\n"));
		result = NVRTC_ERROR_INTERNAL_ERROR;
		goto free_extra;
	}
	cached = cache_path(program, extra, n_extra, path, sizeof(path));
	if (cached && cache_get(program, path)) {
		result = NVRTC_SUCCESS;
	} else {
		result = compile(program, extra, n_extra);
		if (cached && !result)
			cache_put(program, path);
	}

free_extra:
	while (n_extra)
		free(extra[--n_extra]);
	return result;
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size)
{
	if (!valid(program) || !program->object)
		return NVRTC_ERROR_INVALID_PROGRAM;
	if (!size)
		return NVRTC_ERROR_INVALID_INPUT;
	*size = program->object_size + 1;
	return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *ptx)
{
	if (!valid(program) || !program->object)
		return NVRTC_ERROR_INVALID_PROGRAM;
	if (!ptx)
		return NVRTC_ERROR_INVALID_INPUT;
	memcpy(ptx, program->object, program->object_size + 1);
	return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size)
{
	if (!valid(program))
		return NVRTC_ERROR_INVALID_PROGRAM;
	if (!size)
		return NVRTC_ERROR_INVALID_INPUT;
	*size = strlen(program->log) + 1;
	return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log)
{
	if (!valid(program))
		return NVRTC_ERROR_INVALID_PROGRAM;
	if (!log)
		return NVRTC_ERROR_INVALID_INPUT;
	strcpy(log, program->log);
	return NVRTC_SUCCESS;
}
