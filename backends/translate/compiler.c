/* SPDX-License-Identifier: MIT */
/*
 * compiler.c - see compiler.h.
 *
 * A shell runs the compiler in a folder of its own. It copies the output to a file that the library has, removes the
 * folder, also if the program has ended meanwhile, and writes the compiler's status to a pipe.
 */
#include "compiler.h"

#include "base/descriptors.h"
#include "base/log.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHELL "/bin/sh"
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"
#define MESSAGES_MAX 4000

/* Descriptors of the shell: 3 the source, 4 messages, 5 the output, 6 the status. */
enum { SOURCE, MESSAGES, OUTPUT, STATUS, N_FDS };

static const char script[] =
	"trap '' PIPE\n"
	"export PATH=\"${PATH:+$PATH:}" DEFAULT_PATH "\"\n"
	"d=$(mktemp -d \"${TMPDIR:-/tmp}/adsm-ptx.XXXXXX\" 2>&4) || { echo 254 >&6; exit; }\n"
	"trap 'rm -rf \"$d\"' EXIT\n"
	"TMPDIR=$d \"$@\" -o \"$d/kernel.so\" <&3 >&4 2>&4 3<&- 4>&- 5>&- 6>&-\n"
	"status=$?\n"
	"if [ $status = 0 ]; then cat \"$d/kernel.so\" >&5 2>&4 || status=253; fi\n"
	"rm -rf \"$d\"\n"
	"echo $status >&6\n";

/* ---- finding the compiler */

void adsm_compiler_identify(const char *path, char ret_identity[ADSM_COMPILER_ID])
{
	struct stat status;

	*ret_identity = '\0';
	if (!stat(path, &status))
		adsm_format(ret_identity, ADSM_COMPILER_ID, "%lu %lu.%lu %lu", (unsigned long)status.st_size,
			    (unsigned long)status.st_mtim.tv_sec, (unsigned long)status.st_mtim.tv_nsec,
			    (unsigned long)status.st_ino);
}

static bool is_program(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISREG(status.st_mode) && !access(path, X_OK);
}

/* The file that a shell would run. */
static bool find_program(const char *name, char ret_path[PATH_MAX])
{
	const char *folders = adsm_os_getenv("PATH");

	if (strchr(name, '/'))
		return adsm_format(ret_path, PATH_MAX, "%s", name) < PATH_MAX && is_program(ret_path);
	if (!folders || !*folders)
		folders = DEFAULT_PATH;
	for (const char *at = folders; *at;) {
		const int size = (int)strcspn(at, ":");

		if (size && adsm_format(ret_path, PATH_MAX, "%.*s/%s", size, at, name) < PATH_MAX &&
		    is_program(ret_path))
			return true;
		at += size + (at[size] == ':');
	}
	return false;
}

int adsm_compiler_add(struct adsm_compiler *compiler, const char *options)
{
	const size_t used = compiler->n;
	char *copy = strdup(options), *rest = copy, *word;

	if (!copy)
		return adsm_fail(-ENOMEM, "no memory for the options of the C compiler");
	while ((word = strsep(&rest, " \t\n"))) {
		if (!*word)
			continue;
		if (compiler->n + 1 >= ADSM_COMPILER_WORDS) {
			free(copy);
			compiler->n = used;
			return adsm_fail(-E2BIG, "the command of the C compiler has more than %d words: %s",
					 ADSM_COMPILER_WORDS - 1, options);
		}
		compiler->words[compiler->n] = strdup(word);
		if (!compiler->words[compiler->n]) {
			free(copy);
			return adsm_fail(-ENOMEM, "no memory for the options of the C compiler");
		}
		compiler->n++;
	}
	free(copy);
	return 0;
}

int adsm_compiler_find(const char *command, struct adsm_compiler *ret_compiler)
{
	static const char *const defaults[] = { "cc", "gcc", "clang" };
	int ret = 0;

	memset(ret_compiler, 0, sizeof(*ret_compiler));
	/* Whatever starts the program would choose the compiler, by PATH, and its options. */
	if (adsm_os_is_privileged())
		return adsm_fail(-ENOEXEC, "a program with other rights than its user's (set-user-ID) does not compile "
				 "kernels: compile its modules without adsmcc --ptx-only");
	if (*command) {
		ret = adsm_compiler_add(ret_compiler, command);
	} else {
		for (size_t i = 0; !command[0] && i < sizeof(defaults) / sizeof(*defaults); i++) {
			if (!find_program(defaults[i], ret_compiler->path))
				continue;
			command = defaults[i];
			ret = adsm_compiler_add(ret_compiler, command);
			break;
		}
	}
	if (ret)
		return ret;
	if (!ret_compiler->n || !find_program(ret_compiler->words[0], ret_compiler->path))
		return adsm_fail(-ENOEXEC, "kernels in CUDA C need a C compiler when they are first used, but %s%s was "
				 "not found: install one (Debian: gcc or clang), or name one by ADSM_PTX_CC",
				 ret_compiler->n ? ret_compiler->words[0] : "cc",
				 ret_compiler->n ? "" : ", gcc or clang");
	adsm_compiler_identify(ret_compiler->path, ret_compiler->identity);
	return 0;
}

void adsm_compiler_destroy(struct adsm_compiler *compiler)
{
	for (size_t i = 0; i < compiler->n; i++)
		free(compiler->words[i]);
	memset(compiler, 0, sizeof(*compiler));
}

/* ---- running it */

static size_t size_of(int fd)
{
	struct stat status;

	return fstat(fd, &status) ? 0 : (size_t)status.st_size;
}

/* The first @max bytes of a file, and a NUL; NULL: out of memory, or the file is empty. */
static char *read_file(int fd, size_t max, size_t *ret_size)
{
	size_t size = size_of(fd), at = 0;
	char *bytes;

	size = size < max ? size : max;
	bytes = size && size < SIZE_MAX ? malloc(size + 1) : NULL;
	while (bytes && at < size) {
		const ssize_t n = pread(fd, bytes + at, size - at, (off_t)at);

		if (n <= 0)
			break;
		at += (size_t)n;
	}
	if (bytes)
		bytes[at] = '\0';
	*ret_size = at;
	return bytes;
}

/*
 * Wait for the shell's status: a number and a newline. A child that the program forks meanwhile also has the pipe, so
 * its end may not be reported. -1: the shell has ended without a status.
 */
static int await_status(int fd, int pidfd)
{
	struct pollfd polled[] = { { .fd = fd, .events = POLLIN }, { .fd = pidfd, .events = POLLIN } };
	char text[16];
	ssize_t n;

	while (poll(polled, 2, -1) < 0 && errno == EINTR)
		;
	/* If both have ended, the status is in the pipe, unless something killed the shell. */
	if (!(polled[0].revents & POLLIN) && poll(polled, 1, 0) <= 0)
		return -1;
	do
		n = read(fd, text, sizeof(text) - 1);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	return text[0] >= '0' && text[0] <= '9' ? atoi(text) : -1;
}

/* The line of the messages that says what is wrong: the first error, else the first line. */
static const char *find_error(char *messages)
{
	char *error = strstr(messages, "error:"), *line = messages;

	for (char *at = messages; error && at < error; at++)
		if (*at == '\n')
			line = at + 1;
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static int failed(const struct adsm_compiler *compiler, const char *what, int status, int messages_fd)
{
	size_t size;
	char *messages = read_file(messages_fd, MESSAGES_MAX, &size);
	const char *error = messages ? find_error(messages) : "";
	int ret;

	if (status < 0)
		ret = adsm_fail(-EIO, "%s: the C compiler %s was killed", what, compiler->path);
	else if (status == 254)
		ret = adsm_fail(-EIO, "%s: no folder can be made for the C compiler's files (TMPDIR): %s", what, error);
	else if (status == 253)
		ret = adsm_fail(-EIO, "%s: the output of the C compiler %s cannot be read: %s", what, compiler->path,
				error);
	else
		ret = adsm_fail(-ENOEXEC, "%s: the C compiler %s ends with status %d: %s", what, compiler->path,
				status, *error ? error : "it gives no reason");
	free(messages);
	return ret;
}

/* A file of the source. It is not written by a system call, because the program may limit the size of files. */
static int make_source(const char *source, size_t size, int *ret_fd)
{
	const size_t pages = (size + ADSM_PAGE_SIZE - 1) & ~(ADSM_PAGE_SIZE - 1);
	void *copy;
	int ret = adsm_fd_memory("adsm-ptx", size, ret_fd);

	if (!ret)
		ret = adsm_os_map(NULL, pages, *ret_fd, 0, ADSM_PROT_RW, &copy);
	if (ret)
		return ret;
	memcpy(copy, source, size);
	adsm_os_unmap(copy, pages);
	return 0;
}

static int open_files(const char *source, size_t size, int fds[N_FDS], int *ret_status)
{
	int ends[2], ret;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	*ret_status = adsm_fd_lift(ends[0]);
	fds[STATUS] = adsm_fd_lift(ends[1]);
	ret = *ret_status < 0 ? *ret_status : fds[STATUS] < 0 ? fds[STATUS] : 0;
	if (!ret)
		ret = make_source(source, size, &fds[SOURCE]);
	for (int i = MESSAGES; i < STATUS && !ret; i++)
		ret = adsm_fd_memory("adsm-ptx", 0, &fds[i]);
	return ret;
}

static int start(const struct adsm_compiler *compiler, const int *fds, int *ret_pidfd)
{
	char *argv[ADSM_COMPILER_WORDS + 5] = { (char *)(uintptr_t)"sh", (char *)(uintptr_t)"-c",
						(char *)(uintptr_t)script, (char *)(uintptr_t)"adsm" };
	int pid;

	argv[4] = (char *)(uintptr_t)compiler->path;
	memcpy(argv + 5, compiler->words + 1, (compiler->n - 1) * sizeof(*argv));
	return adsm_os_spawn_daemon(SHELL, argv, fds, N_FDS, &pid, ret_pidfd);
}

static void close_all(const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int adsm_compiler_run(const struct adsm_compiler *compiler, const char *what, const char *source, size_t size,
		      void **ret_file, size_t *ret_size)
{
	int fds[N_FDS] = { -1, -1, -1, -1 }, status_fd = -1, pidfd = -1, status;
	int ret = open_files(source, size, fds, &status_fd);

	if (!ret)
		ret = start(compiler, fds, &pidfd);
	if (ret) {
		ret = adsm_fail(ret, "%s: the C compiler %s cannot be started: %s%s", what, compiler->path,
				strerrordesc_np(-ret), adsm_os_limit(ret));
	} else {
		close(fds[STATUS]);
		fds[STATUS] = -1;
		status = await_status(status_fd, pidfd);
		if (status)
			ret = failed(compiler, what, status, fds[MESSAGES]);
	}
	if (!ret) {
		*ret_file = read_file(fds[OUTPUT], SIZE_MAX, ret_size);
		if (!*ret_file)
			ret = adsm_fail(-ENOEXEC, "%s: the C compiler %s made nothing", what, compiler->path);
	}
	close_all(fds, N_FDS);
	close_all(&status_fd, 1);
	close_all(&pidfd, 1);
	return ret;
}
