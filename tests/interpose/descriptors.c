/* SPDX-License-Identifier: MIT */
/* descriptors.c - programs that close what they do not know, and have the numbers for files of their own. */
#include "../sanitizers.h"
#include "conform.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 20000u
#define FROM 500			/* the library's are from there on */
#define MOST 16
#ifdef SYS_poll
#define POLL SYS_poll
#else
#define POLL SYS_ppoll
#endif

static int own[MOST], n_own;

static void find_own(void)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;

	CHECK(folder);
	for (n_own = 0; (entry = readdir(folder));) {
		int fd = atoi(entry->d_name);

		if (fd >= FROM && n_own < MOST)
			own[n_own++] = fd;
	}
	closedir(folder);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* A kernel that the device's process has not seen yet: it has to be asked. */
static int call_new(void)
{
	adsmModule *module = adsmModuleLoad(module_path("double"));
	double *a = alloc(256 * sizeof(*a));
	int error;

	CHECK(module);
	a[255] = 2;
	error = adsmCall(adsmKernelGet(module, "scale"), blocks(256), lanes(), adsmPtr(a), adsmVal(3.0));
	if (!error) {
		SYNC();
		CHECK_EQ(a[255], 6);
	}
	CHECK_OK(adsmFree(a));
	CHECK_OK(adsmModuleUnload(module));
	return error;
}

static void check_works(void)
{
	unsigned *a = words(N, 1), *b = words(N, 7);

	CHECK_OK(call_new());
	CALL("increment", N, adsmPtr(a), adsmVal(N));
	CHECK_OK(adsmFree(b));
	SYNC();
	for (unsigned i = 0; i < N; i++)
		CHECK_AT(a[i], i, 2 + i);
	CHECK_OK(adsmFree(a));
}

/* ---- the program's files, at every number that was anybody's */

#define FILES 40

static struct { int fd; char text[16]; } files[FILES];

static void open_files(void)
{
	for (int i = 0; i < FILES; i++) {
		int fd = memfd_create("mine", 0);

		CHECK(fd >= 0);
		if (i >= FILES / 2) {
			files[i].fd = fcntl(fd, F_DUPFD, FROM);
			close(fd);
			fd = files[i].fd;
		}
		files[i].fd = fd;
		snprintf(files[i].text, sizeof(files[i].text), "file %d", i);
		CHECK_EQ(write(fd, files[i].text, sizeof(files[i].text)), sizeof(files[i].text));
	}
}

static void check_files(void)
{
	for (int i = 0; i < FILES; i++) {
		char text[64];

		CHECK_EQ(pread(files[i].fd, text, sizeof(text), 0), sizeof(files[i].text));
		CHECK(!memcmp(text, files[i].text, sizeof(files[i].text)));
		CHECK_EQ(lseek(files[i].fd, 0, SEEK_CUR), sizeof(files[i].text));
	}
}

static int exit_of(pid_t child)
{
	int status;

	CHECK(child > 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void check_fork(void)
{
	pid_t child = fork();

	if (!child) {
		check_files();
		_exit(0);
	}
	CHECK_EQ(exit_of(child), 0);
	check_files();
}

/* ---- cases */

/* A daemon's habit. */
static void closed_from(void)
{
	unsigned *a = words(N, 1);

	find_own();
	CHECK(n_own > 0);
	closefrom(3);
	open_files();
	check_works();
	check_files();
	check_fork();
	CHECK_OK(adsmFree(a));
	unload();
	CHECK_OK(adsmShutdown());
	check_files();
	check_works();
	check_files();
}

/* The process is watched by one poll(), which has its files whatever becomes of the numbers: from then on. */
static bool is_watched(void)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	bool found = false;

	CHECK(folder);
	while (!found && (entry = readdir(folder))) {
		char path[300], text[64] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		found = fgets(text, sizeof(text), file) && !strcmp(text, "adsm-monitor\n");
		fclose(file);
		if (!found)
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/syscall", entry->d_name);
		file = fopen(path, "r");
		CHECK(file);
		found = fgets(text, sizeof(text), file) && (atoi(text) == SYS_ppoll || atoi(text) == POLL);
		fclose(file);
		break;
	}
	closedir(folder);
	return found;
}

/* By system calls that the library does not see. */
static void closed_raw(void)
{
	unsigned *a = words(N, 1), *b = words(N, 7);

	CALL("increment", N, adsmPtr(a), adsmVal(N));
	SYNC();
	while (!is_watched())
		sched_yield();
	find_own();
	CHECK(n_own > 0);
	CHECK_EQ(syscall(SYS_close_range, 3, ~0u, 0), 0);
	open_files();
	for (int i = 0; i < n_own; i++)
		CHECK(is_open(own[i]));
	/* The device's process cannot be asked any more, which is said; what it has it does. */
	CHECK_ERROR(call_new(), EBADF);
	CHECK_SAYS("closed");
	CHECK_OK(adsmFree(b));
	b = words(N, 8);
	CALL("increment", N, adsmPtr(a), adsmVal(N));
	CALL("increment", N, adsmPtr(b), adsmVal(N));
	SYNC();
	for (unsigned i = 0; i < N; i++) {
		CHECK_AT(a[i], i, 3 + i);
		CHECK_AT(b[i], i, 9 + i);
	}
	check_files();
	check_fork();
	CHECK_OK(adsmFree(a));
	CHECK_OK(adsmFree(b));
	unload();
	CHECK_OK(adsmShutdown());
	check_files();
	/* The next one has a process of its own. */
	check_works();
	check_files();
}

/* Closed when the program starts: what is printed goes nowhere. */
static void closed_at_start(void)
{
	unsigned *a;
	int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100), fd;

	CHECK(saved >= 0);
	for (fd = 0; fd <= STDERR_FILENO; fd++)
		close(fd);
	CHECK_OK(adsmInit());
	a = words(N, 1);
	printf("This is nobody's.\n");
	fflush(stdout);
	CALL("increment", N, adsmPtr(a), adsmVal(N));
	CHECK_EQ(write(STDERR_FILENO, "nor this", 8), -1);
	SYNC();
	for (fd = 0; fd <= STDERR_FILENO; fd++)
		CHECK(!is_open(fd));
	for (unsigned i = 0; i < N; i++)
		CHECK_AT(a[i], i, 2 + i);
	CHECK_OK(adsmFree(a));
	check_works();
	unload();
	CHECK_OK(adsmShutdown());
	CHECK_EQ(dup2(saved, STDERR_FILENO), STDERR_FILENO);
}

/* Each call on numbers of the library's. */
static void refused(void)
{
	int last, file = memfd_create("mine", 0);
	int flags = 0, n;

	check_works();
	/* Once this thread has a table of its own, what moves in it is not in the table of the thread that watches. */
	while (!is_watched())
		sched_yield();
	find_own();
	CHECK(n_own > 0);
	last = own[n_own - 1];
	for (int i = 0; i < n_own; i++) {
		last = own[i] > last ? own[i] : last;
		errno = 0;
		CHECK_EQ(close(own[i]), -1);
		CHECK_EQ(errno, EBADF);
	}
	/* What lies about them goes. */
	CHECK_EQ(dup2(file, 100), 100);
	CHECK_EQ(dup2(file, last + 1), last + 1);
	CHECK_EQ(close_range(100, (unsigned)last + 1, 0), 0);
	CHECK(!is_open(100) && !is_open(last + 1));
	CHECK_EQ(dup2(file, last + 1), last + 1);
	closefrom(100);
	CHECK(!is_open(last + 1));
	CHECK_EQ(close_range((unsigned)own[0], (unsigned)own[0], CLOSE_RANGE_UNSHARE), 0);
	CHECK_EQ(close_range((unsigned)own[0], UINT_MAX, CLOSE_RANGE_CLOEXEC), 0);
	for (int i = 0; i < n_own; i++)
		CHECK(is_open(own[i]));
	/* And what is wrong is wrong. */
	errno = 0;
	CHECK_EQ(close_range((unsigned)own[0], (unsigned)own[0], 0x100), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(close_range((unsigned)own[0], 3, 0), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(close(-1), -1);
	CHECK_EQ(errno, EBADF);
	CHECK_EQ(dup3(file, own[0], -1), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(dup2(-1, own[0]), -1);
	CHECK_EQ(errno, EBADF);
	CHECK_EQ(dup3(-1, own[n_own - 1], O_CLOEXEC), -1);
	CHECK_EQ(errno, EBADF);
	/* Whatever has moved for it: there are no more than before. */
	n = n_own;
	find_own();
	CHECK_EQ(n_own, n);
	check_works();
	/* A program that asks for such a number gets it. */
	for (int i = 0; i < n_own; i++) {
		CHECK_EQ(i & 1 ? dup2(file, own[i]) : dup3(file, own[i], O_CLOEXEC), own[i]);
		flags = fcntl(own[i], F_GETFD);
		CHECK_EQ(flags, i & 1 ? 0 : FD_CLOEXEC);
		check_works();
		CHECK_EQ(write(own[i], "mine", 4), 4);
		CHECK_EQ(close(own[i]), 0);
		CHECK(!is_open(own[i]));
	}
	CHECK_EQ(dup2(file, file), file);
	unload();
	CHECK_OK(adsmShutdown());
	CHECK_EQ(lseek(file, 0, SEEK_CUR), 4 * n_own);
	find_own();
	CHECK_EQ(n_own, 0);
}

/* A child has the numbers, but they are not the library's there. */
static void children(void)
{
	pid_t child;

	check_works();
	find_own();
	CHECK(n_own > 0);
	child = fork();
	if (!child) {
		for (int i = 0; i < n_own; i++)
			CHECK(!is_open(own[i]));
		open_files();
		closefrom(3);
		CHECK(!is_open(files[0].fd) && !is_open(files[FILES - 1].fd));
		_exit(0);
	}
	CHECK_EQ(exit_of(child), 0);
	child = vfork();
	if (!child) {
		/* By a fork() they are closed. */
		if (WITH_TSAN)
			_exit(0);
		if (close(own[0]) || is_open(own[0]) || dup2(STDERR_FILENO, own[0]) != own[0] || close(own[0]))
			_exit(1);
		closefrom(3);
		_exit(0);
	}
	CHECK_EQ(exit_of(child), 0);
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!child) {
		if (close(own[0]) || is_open(own[0]) || close_range(3, ~0u, 0))
			_exit(1);
		_exit(0);
	}
	CHECK_EQ(exit_of(child), 0);
	check_works();
}

static void *close_one(void *fd)
{
	int type;

	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	pthread_cancel(pthread_self());
	close(*(int *)fd);
	return NULL;
}

/* A thread can be cancelled in close(), also of another thread's descriptor. */
static void cancelled(void)
{
	int file = memfd_create("mine", 0);
	pthread_t thread;
	void *result;

	check_works();
	find_own();
	for (int i = 0; i < 2; i++) {
		CHECK(!pthread_create(&thread, NULL, close_one, i ? &file : &own[0]));
		CHECK(!pthread_join(thread, &result));
		CHECK(result == PTHREAD_CANCELED);
	}
	check_works();
}

/* Few numbers: then as high as they go. */
static void limited(void)
{
	struct rlimit limit;

	CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = 40;
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	check_works();
	for (int fd = 3; fd < 40; fd++) {
		if (!is_open(fd) || !close(fd))
			continue;
		CHECK(fd > 30);
		n_own++;
	}
	CHECK(n_own > 0);
	closefrom(3);
	check_works();
}

static const struct conform_case cases[] = {
	CASE("closed-from", closed_from),
	CASE("closed-raw", closed_raw),
	CASE("closed-at-start", closed_at_start),
	CASE("refused", refused),
	CASE("children", children),
	CASE("cancelled", cancelled),
	CASE("limited", limited),
};
CONFORM_MAIN(cases)
