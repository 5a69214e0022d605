/* SPDX-License-Identifier: MIT */
/* citizen.c - the library does not disturb its process: children, signals, descriptors, user ids. */
#include "conform.h"

#include <adsm_lend.h>

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 20000u

/* Use the library once: allocate, call, touch, free. */
static void work(void)
{
	unsigned *a = words(N, 0);

	CALL("increment", N, adsmPtr(a), adsmVal(N));
	SYNC();
	CHECK_EQ(a[N - 1], N);
	CHECK_OK(adsmFree(a));
}

static volatile sig_atomic_t children;

static void on_child(int signal)
{
	children++;
}

static void no_child(void)
{
	CHECK_EQ(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	CHECK_EQ(errno, ECHILD);
	CHECK_EQ(wait(NULL), -1);
	CHECK_EQ(errno, ECHILD);
}

static bool gone(int pidfd)
{
	struct pollfd poll_fd = { pidfd, POLLIN, 0 };

	return poll(&poll_fd, 1, -1) == 1;
}

/* A descriptor (pidfd) of a process; -1: the process has ended. */
static int process(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	CHECK(fd >= 0 || errno == ESRCH);
	return fd;
}

/* Tests ignore that a real driver runs helpers (nvidia-modprobe), and keeps descriptors that programs inherit. */
static bool real_driver(void)
{
	return getenv("TEST_GPU") != NULL;
}

/* The device's process is not a child of the program, not even when it is killed. */
static void waits(void)
{
	pid_t device, child;
	int status;

	signal(SIGCHLD, on_child);
	CHECK_OK(adsmInit());
	no_child();
	work();
	no_child();
	/* A GPU is no process. Its double is one, but is not started again after it was killed. */
	device = strcmp(getenv("ADSM_BACKEND"), "cuda") ? device_process() : 0;
	if (device) {
		int fd = process(device);

		CHECK(fd >= 0);
		CHECK(!kill(device, SIGKILL));
		CHECK(gone(fd));
		close(fd);
		no_child();
	}
	unload();
	CHECK_OK(adsmShutdown());
	work();
	unload();
	CHECK_OK(adsmShutdown());
	no_child();
	CHECK(children == 0 || real_driver());
	/* The program can still wait for its own children. */
	CHECK_OK(adsmInit());
	children = 0;
	child = fork();
	if (!child)
		_exit(3);
	CHECK_EQ(waitpid(-1, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	CHECK_EQ(children, 1);
	no_child();
}

/* The device holds no copy of a descriptor that was open when it started. */
static void pipes(void)
{
	int ends[2];
	struct pollfd poll_fd;
	char byte;

	CHECK(!pipe(ends));
	work();
	CHECK(!close(ends[1]));
	poll_fd = (struct pollfd){ ends[0], POLLIN, 0 };
	CHECK_EQ(poll(&poll_fd, 1, -1), 1);
	CHECK_EQ(read(ends[0], &byte, 1), 0);
}

/* List the open descriptors of a program started here. With a real driver, leave out its kinds of files. */
static void descriptors(char *text, size_t size)
{
	static const char every[] = "exec ls /proc/self/fd";
	static const char own[] = "ls -l /proc/self/fd | "
		"sed -E '/nvidia|anon_inode|pipe:|socket:|proc/d; s/.* ([0-9]+ ->)/\\1/'";
	FILE *ls = popen(real_driver() ? own : every, "r");

	CHECK(ls);
	text[fread(text, 1, size - 1, ls)] = 0;
	CHECK(!pclose(ls));
}

/* A program that is started from this one inherits no descriptor of the library. */
static void inherits(void)
{
	char before[4096], after[4096];
	unsigned *a;

	descriptors(before, sizeof(before));
	work();
	a = words(N, 0);
	descriptors(after, sizeof(after));
	if (strcmp(before, after))
		FAIL("descriptors were\n%sand are\n%s", before, after);
	CHECK_EQ(a[N - 1], N - 1);
}

/* Every thread of the process runs as @uid. */
static bool all_run_as(uid_t uid)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	char path[300], line[256];
	bool all = true;

	CHECK(tasks);
	while ((entry = readdir(tasks))) {
		unsigned now;
		FILE *file;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		while (fgets(line, sizeof(line), file))
			if (sscanf(line, "Uid: %u", &now) == 1 && now != uid)
				all = false;
		fclose(file);
	}
	closedir(tasks);
	return all;
}

static void *become_nobody(void *unused)
{
	uid_t uid = geteuid() ? geteuid() : 65534;
	gid_t gid = geteuid() ? getegid() : 65534;

	/* Both calls wait until every thread of the process has changed its ids. */
	CHECK(!setresgid(gid, gid, gid));
	CHECK(!setresuid(uid, uid, uid));
	CHECK(all_run_as(uid));
	return NULL;
}

static void users(void)
{
	pthread_t thread;
	unsigned *a = words(N, 0);

	work();
	CHECK(!pthread_create(&thread, NULL, become_nobody, NULL));
	CHECK(!pthread_join(thread, NULL));
	CALL("increment", N, adsmPtr(a), adsmVal(N));
	SYNC();
	CHECK_EQ(a[N - 1], N);
	work();
	CHECK_OK(adsmFree(a));
	unload();
	CHECK_OK(adsmShutdown());
}

static volatile sig_atomic_t interrupts;

static void on_interrupt(int signal)
{
	interrupts++;
}

/* Ctrl-C and a hang-up reach the program, but not the device's process. */
static void groups(void)
{
	unsigned *a;

	setpgid(0, 0);
	CHECK_EQ(getpgrp(), getpid());
	signal(SIGINT, on_interrupt);
	signal(SIGHUP, on_interrupt);
	signal(SIGTERM, on_interrupt);
	a = words(N, 0);
	work();
	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(a), adsmVal(N));
	CHECK(!kill(0, SIGINT) && !kill(0, SIGHUP) && !kill(0, SIGTERM));
	SYNC();
	CHECK_EQ(interrupts, 3);
	CHECK_EQ(a[N - 1], N);
	work();
}

/* Run a function in a child, and return its status. */
static int in_child(void (*run)(unsigned *), unsigned *a)
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		run(a);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	return status;
}

static void child_calls(unsigned *a)
{
	int own = 0;
	adsmLoan *loan;
	adsmStats all;
	void *q;

	for (unsigned access = ADSM_ACCESS_IN; access <= ADSM_ACCESS_INOUT; access++) {
		CHECK_ERROR(adsmLend(a + 1, 4, access, &loan, &q), ENOTSUP);
		CHECK_OK(adsmLend(&own, sizeof(own), access, &loan, &q));
		CHECK(q == &own && !loan);
	}
	CHECK_ERROR(adsmInit(), ENOTSUP);
	CHECK_NULL(adsmAlloc(1), ENOTSUP);
	CHECK_ERROR(adsmSync(), ENOTSUP);
	CHECK_ERROR(adsmFree(a), ENOTSUP);
	CHECK_ERROR(adsmMemset(a, 0, 4), ENOTSUP);
	CHECK_ERROR(adsmStatsGet(&all, sizeof(all)), ENOTSUP);
	CHECK_ERROR(adsmShutdown(), ENOTSUP);
}

static void child_reads(unsigned *a)
{
	touch_read(a);
}

static void child_writes(unsigned *a)
{
	touch_write(a + 5);
}

static void child_execs(unsigned *a)
{
	execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
}

/* The child of a fork cannot use objects, and does no harm to its parent. */
static void forks(void)
{
	unsigned *a, *b;
	int status;

	/* A sanitizer's handler would call exit(). */
	signal(SIGSEGV, SIG_DFL);
	a = words(N, 0);
	b = words(N, 0);
	CALL("increment", N, adsmPtr(a), adsmVal(N));
	SYNC();
	status = in_child(child_calls, a);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
	for (unsigned i = 0; i < 2; i++) {
		/* Once with an Invalid object, once with an open one. */
		status = in_child(child_reads, i ? a : b);
		CHECK(WIFSIGNALED(status));
		CHECK_EQ(WTERMSIG(status), SIGSEGV);
		status = in_child(child_writes, i ? a : b);
		CHECK(WIFSIGNALED(status));
		CHECK_EQ(WTERMSIG(status), SIGSEGV);
	}
	status = in_child(child_execs, a);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 5);
	/* While a kernel runs, too. */
	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(a), adsmVal(N));
	status = in_child(child_calls, a);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
	SYNC();
	for (unsigned i = 0; i < N; i++) {
		CHECK_AT(a[i], i, i + 2);
		CHECK_AT(b[i], i, i);
	}
	work();
	CHECK_OK(adsmFree(a));
	CHECK_OK(adsmFree(b));
}

static void *leave_by_thread(void *unused)
{
	exit(0);
}

/* In whatever way a program ends, its device process ends, too. */
static void ends(void)
{
	for (unsigned how = 0; how < 5; how++) {
		int said[2], fd, status;
		pid_t child, device = 0;

		fflush(stdout);
		CHECK(!pipe(said));
		child = fork();
		CHECK(child >= 0);
		if (!child) {
			unsigned *a = words(N, 0);
			pthread_t thread;

			work();
			device = device_process();
			CHECK_EQ(write(said[1], &device, sizeof(device)), sizeof(device));
			if (how > 0)	/* while a kernel runs that never ends */
				CALL("late_increment", 1, adsmVal(1ul << 40), adsmPtr(a), adsmVal(N));
			if (how == 2)
				_exit(0);
			if (how == 3)
				raise(SIGKILL);
			if (how == 4) {
				pthread_create(&thread, NULL, leave_by_thread, NULL);
				pthread_join(thread, NULL);
			}
			exit(0);
		}
		close(said[1]);
		CHECK_EQ(read(said[0], &device, sizeof(device)), sizeof(device));
		close(said[0]);
		fd = device ? process(device) : -1;
		CHECK_EQ(waitpid(child, &status, 0), child);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
			_exit(77);	/* the child has printed the reason */
		if (how == 3)
			CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		else
			CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		if (fd >= 0 && !gone(fd)) {
			kill(device, SIGKILL);
			FAIL("device process %d outlived its program (%u)", (int)device, how);
		}
		close(fd);
	}
}

static void child_works(unsigned *unused)
{
	CHECK_OK(adsmInit());
	work();
}

/* adsmShutdown() ends the device process, too. */
static void ends_at_shutdown(void)
{
	pid_t device;
	int fd;

	work();
	if (!is_process(device_props().backend))
		skip("the driver's device is not ours to end");
	device = device_process();
	CHECK(device);
	fd = process(device);
	CHECK(fd >= 0);
	unload();
	CHECK_OK(adsmShutdown());
	CHECK(gone(fd));
	/* After that, a child may start the library again. */
	CHECK_EQ(in_child(child_works, NULL), 0);
	work();
}

static unsigned *kept;

static void look_again(void)
{
	/* A destructor may still read objects. */
	if (kept[3] != 4)
		_exit(9);
}

static void at_exit(void)
{
	atexit(look_again);
	kept = words(N, 0);
	CALL("increment", N, adsmPtr(kept), adsmVal(N));
	SYNC();
}

/* A kernel crashes while this thread has the loader's lock. */
static int crash_in_loader(struct dl_phdr_info *info, size_t size, void *module)
{
	unsigned *a = words(N, 0);
	int error;

	CHECK(!dlopen("libdw.so.1", RTLD_NOW | RTLD_NOLOAD));
	error = adsmCall(adsmKernelGet(module, "crash"), blocks(1), blocks(1), adsmPtr(a), adsmVal(1u << 30));
	CHECK((error ? error : adsmSync()) < 0);
	CHECK_SAYS("kernel 'crash' crashed with SIGSEGV at address 0x");
	CHECK_SAYS("of its module");
	return 1;
}

/* The device is lost nevertheless. What the loader would be needed for, the line of the crash, is left out. */
static void loads(void)
{
	adsmModule *module = adsmModuleLoad(module_path("crash"));

	if (strcmp(device_props().backend, "cpu"))
		skip("other devices do not look for the line");
	CHECK(module);
	CHECK_EQ(dl_iterate_phdr(crash_in_loader, module), 1);
}

static const struct conform_case cases[] = {
	CASE("waits", waits),
	CASE("pipes", pipes),
	CASE("inherits", inherits),
	CASE("users", users),
	CASE("groups", groups),
	CASE("forks", forks),
	CASE("ends", ends),
	CASE("ends-at-shutdown", ends_at_shutdown),
	CASE("at-exit", at_exit),
	CASE("loads", loads),
};
CONFORM_MAIN(cases)
