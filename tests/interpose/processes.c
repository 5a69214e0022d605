/* SPDX-License-Identifier: MIT */
/* processes.c - a process that has shared objects: its children, what it executes, its waits, its jumps. */
#include "conform.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

#include "../sanitizers.h"

#define N 20000u

static void increment(unsigned *a)
{
	CALL("increment", N, adsmPtr(a), adsmVal(N));
	SYNC();
}

static void check_words(const unsigned *a, unsigned first)
{
	for (unsigned i = 0; i < N; i++)
		CHECK_AT(a[i], i, first + i);
}

/* Only the accelerator has it: the kernel of the system cannot read it. */
static void close_view(void *p)
{
	CALL("increment", 1, adsmPtr((unsigned *)p), adsmVal(0));
	SYNC();
}

static int ending(pid_t child)
{
	int status;

	CHECK(child > 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	return status;
}

#define CHECK_EXIT(child, code) do { \
	int status_ = ending(child); \
	CHECK(WIFEXITED(status_)); \
	CHECK_EQ(WEXITSTATUS(status_), code); \
} while (0)

/* ---- fork */

/* What is open, as one text. */
static void descriptors(char *text, size_t size)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	char path[300];

	CHECK(folder);
	*text = 0;
	while ((entry = readdir(folder))) {
		size_t used = strlen(text);
		ssize_t n;

		if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(folder))
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		n = readlink(path, text + used, size - used - 1);
		CHECK(n > 0);
		text[used + (size_t)n] = 0;
		strcat(text, " ");
	}
	closedir(folder);
}

/* A child that dies of an access, and says why, once. */
static void check_access_dies(pid_t (*make)(void), void (*touch)(volatile unsigned *), unsigned *p)
{
	char text[4096] = "";
	size_t used = 0;
	int ends[2], status;
	pid_t child;
	ssize_t n;

	CHECK(!pipe(ends));
	child = make();
	if (!child) {
		dup2(ends[1], STDERR_FILENO);
		touch(p);
		_exit(0);
	}
	close(ends[1]);
	while ((n = read(ends[0], text + used, sizeof(text) - used - 1)) > 0)
		used += (size_t)n;
	close(ends[0]);
	status = ending(child);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), SIGSEGV);
	CHECK(strstr(text, "child of a fork"));
	CHECK(!strstr(strstr(text, "child of a fork") + 1, "child of a fork"));
}

/* Every call says no, and a system call EFAULT; nothing waits. */
static void check_no_part(unsigned *a)
{
	char *const argv[] = { "sh", "-c", (char *)a, NULL };
	int ends[2];

	CHECK(!pipe(ends));
	CHECK_EQ(write(ends[1], a, N * sizeof(*a)), -1);
	CHECK_EQ(errno, EFAULT);
	CHECK_EQ(write(ends[1], "bytes", 5), 5);
	CHECK_EQ(read(ends[0], a, N * sizeof(*a)), -1);
	CHECK_EQ(errno, EFAULT);
	close(ends[0]);
	close(ends[1]);
	CHECK_EQ(execv("/bin/sh", argv), -1);
	CHECK_EQ(errno, EFAULT);
	CHECK_ERROR(adsmInit(), ENOTSUP);
	CHECK_NULL(adsmAlloc(1), ENOTSUP);
	CHECK_ERROR(adsmSync(), ENOTSUP);
	CHECK_ERROR(adsmFree(a), ENOTSUP);
	CHECK_ERROR(adsmShutdown(), ENOTSUP);
}

static pid_t fork_twice(void)
{
	pid_t child = fork();

	if (child)
		return child;
	child = fork();
	if (!child)
		return 0;
	/* As the child ends, so does this one. */
	if (WIFSIGNALED(ending(child)))
		raise(SIGSEGV);
	_exit(0);
}

static unsigned *destroyed;
static int destroyed_status;

static void at_exit(void)
{
	if (destroyed)
		_exit(adsmFree(destroyed) == -ENOTSUP ? destroyed_status : 1);
}

static void fork_child(void)
{
	char before[4096], after[4096];
	unsigned *a, *b;
	pid_t child;

	signal(SIGSEGV, SIG_DFL);	/* a sanitizer's handler would exit() instead */
	descriptors(before, sizeof(before));
	a = words(N, 0);
	b = words(N, 0);
	increment(a);
	child = fork();
	if (!child) {
		descriptors(after, sizeof(after));
		if (strcmp(before, after))
			FAIL("descriptors were %sand are %s", before, after);
		check_no_part(a);
		_exit(7);
	}
	CHECK_EXIT(child, 7);
	for (unsigned i = 0; i < 2; i++) {
		check_access_dies(i ? fork : fork_twice, touch_read, a);
		check_access_dies(i ? fork : fork_twice, touch_write, b);
	}
	/* While a kernel runs, and out through destructors. */
	atexit(at_exit);
	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(b), adsmVal(N));
	fflush(stdout);
	child = fork();
	if (!child) {
		destroyed = a;
		destroyed_status = 8;
		exit(0);
	}
	CHECK_EXIT(child, 8);
	SYNC();
	check_words(a, 1);
	check_words(b, 1);
	increment(a);
	check_words(a, 2);
	CHECK_OK(adsmFree(a));
	CHECK_OK(adsmFree(b));
}

/* Made without the C library: its handlers do not run. */
static pid_t fork_raw_once(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void fork_raw(void)
{
	static pid_t (*const forks[])(void) = { fork_raw_once, _Fork };
	unsigned *a, *b;

	signal(SIGSEGV, SIG_DFL);
	a = words(N, 0);
	b = words(N, 0);
	increment(a);
	for (size_t i = 0; i < 2; i++) {
		pid_t child = forks[i]();

		if (!child) {
			check_no_part(i ? a : b);
			_exit(7);
		}
		CHECK_EXIT(child, 7);
		child = forks[i]();
		if (!child) {
			CHECK_ERROR(adsmInit(), ENOTSUP);
			check_no_part(a);
			_exit(7);
		}
		CHECK_EXIT(child, 7);
		check_access_dies(forks[i], touch_read, a);
		check_access_dies(forks[i], touch_write, b);
	}
	increment(a);
	check_words(a, 2);
	check_words(b, 0);
}

static void *fork_often(void *a)
{
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();

		if (!child) {
			if (adsmSync() != -ENOTSUP)
				_exit(1);
			if (i % 2)
				_exit(7);
			destroyed = a;
			destroyed_status = 7;
			exit(0);
		}
		CHECK_EXIT(child, 7);
	}
	return NULL;
}

static void fork_threads(void)
{
	unsigned *a = words(N, 0), n = 0;
	pthread_t threads[2];

	atexit(at_exit);
	kernel("increment");
	fflush(stdout);
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&threads[i], NULL, fork_often, a));
	for (int i = 0; i < 2; i++) {
		while (pthread_tryjoin_np(threads[i], NULL)) {
			increment(a);
			n++;
			CHECK_EQ(a[n % N], n % N + n);
			a[n % N] += 0;
		}
	}
	check_words(a, n);
	CHECK_OK(adsmFree(a));
	unload();
	CHECK_OK(adsmShutdown());
}

static atomic_int starter;

static void *start(void *unused)
{
	atomic_store(&starter, gettid());
	CHECK_OK(adsmInit());
	return NULL;
}

/* A child that is made while another thread is starting the library, which waits for its log to be read. */
static void fork_start(void)
{
	int ends[2], log = dup(STDERR_FILENO), size;
	pthread_t thread;
	unsigned *a;
	pid_t child;
	char *full;

	CHECK(!pipe(ends));
	size = fcntl(ends[1], F_SETPIPE_SZ, 4096);
	CHECK(size > 0);
	full = calloc((size_t)size, 1);
	CHECK(full);
	set("log", "info");
	fflush(stdout);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(write(ends[1], full, (size_t)size), size);
		atomic_store(&starter, 0);
		CHECK_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
		CHECK(!pthread_create(&thread, NULL, start, NULL));
		while (!atomic_load(&starter) || !asleep(atomic_load(&starter)))
			sched_yield();
		for (int k = 0; k < 3; k++) {
			child = fork();
			if (!child) {
				CHECK_EQ(dup2(log, STDERR_FILENO), STDERR_FILENO);
				CHECK_ERROR(adsmInit(), ENOTSUP);
				CHECK_NULL(adsmAlloc(1), ENOTSUP);
				_exit(7);
			}
			CHECK_EXIT(child, 7);
		}
		CHECK_EQ(dup2(log, STDERR_FILENO), STDERR_FILENO);
		CHECK_EQ(read(ends[0], full, (size_t)size), size);
		CHECK(!pthread_join(thread, NULL));
		CHECK(read(ends[0], full, (size_t)size) > 0);
		memset(full, 0, (size_t)size);
		a = words(N, 0);
		increment(a);
		check_words(a, 1);
		CHECK_OK(adsmFree(a));
		unload();
		CHECK_OK(adsmShutdown());
	}
	free(full);
}

/* ---- exec */

/* What is executed, all of it in one shared object that only the accelerator has. */
struct order {
	char path[16], file[16], arg[3][128], env[64], large[512 << 10];
	char *argv[6], *envp[2];
};

static struct order *make_order(void)
{
	struct order *order = alloc(sizeof(*order));

	strcpy(order->path, "/bin/sh");
	strcpy(order->file, "sh");
	strcpy(order->arg[0], "-c");
	strcpy(order->arg[1], "[ \"$1\" = 'two words' ] || exit 1; [ \"$CHOSEN\" ] && exit 7; exit 6");
	strcpy(order->arg[2], "two words");
	strcpy(order->env, "CHOSEN=yes");
	memset(order->large, 'x', sizeof(order->large) - 1);
	order->large[sizeof(order->large) - 1] = 0;
	order->argv[0] = order->file;
	order->argv[1] = order->arg[0];
	order->argv[2] = order->arg[1];
	order->argv[3] = order->file;
	order->argv[4] = order->arg[2];
	order->argv[5] = NULL;
	order->envp[0] = order->env;
	order->envp[1] = NULL;
	return order;
}

static void via_execve(struct order *o)
{
	execve(o->path, o->argv, o->envp);
}

static void via_execv(struct order *o)
{
	execv(o->path, o->argv);
}

static void via_execvp(struct order *o)
{
	execvp(o->file, o->argv);
}

static void via_execvpe(struct order *o)
{
	execvpe(o->file, o->argv, o->envp);
}

static void via_fexecve(struct order *o)
{
	fexecve(open("/bin/sh", O_RDONLY | O_CLOEXEC), o->argv, o->envp);
}

static void via_execveat(struct order *o)
{
	execveat(AT_FDCWD, o->path, o->argv, o->envp, 0);
}

static void via_execl(struct order *o)
{
	execl(o->path, o->file, o->arg[0], o->arg[1], o->file, o->arg[2], NULL);
}

static void via_execlp(struct order *o)
{
	execlp(o->file, o->file, o->arg[0], o->arg[1], o->file, o->arg[2], NULL);
}

static void via_execle(struct order *o)
{
	execle(o->path, o->file, o->arg[0], o->arg[1], o->file, o->arg[2], NULL, o->envp);
}

/* Some of it is private. */
static void via_private_vectors(struct order *o)
{
	char *argv[] = { o->file, o->arg[0], o->arg[1], o->file, "two words", NULL };
	char *envp[] = { "OTHER=1", o->env, NULL };

	execve("/bin/sh", argv, envp);
}

static const struct exec_call {
	void (*run)(struct order *order);
	int code;		/* with the environment given, or the program's own */
} exec_calls[] = {
	{ via_execve, 7 }, { via_execv, 6 }, { via_execvp, 6 }, { via_execvpe, 7 }, { via_fexecve, 7 },
	{ via_execveat, 7 }, { via_execl, 6 }, { via_execlp, 6 }, { via_execle, 7 }, { via_private_vectors, 7 },
};

/* A sanitizer may make it fork(). */
static void need_vfork(void)
{
	static volatile bool shared;
	pid_t child = vfork();

	if (!child) {
		shared = true;
		_exit(0);
	}
	CHECK_EXIT(child, 0);
	if (!shared)
		skip("the child of vfork() has memory of its own here");
}

/* In a child that shares all memory; the errno of what failed, as its exit status. */
static int exec_by(void (*run)(struct order *), struct order *order)
{
	pid_t child = vfork();
	int status;

	if (!child) {
		run(order);
		_exit(errno);
	}
	status = ending(child);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void vfork_exec(void)
{
	char *const argv[] = { "sh", "-c", "exit 9", NULL };
	unsigned *a;
	pid_t child;

	need_vfork();
	a = words(N, 0);
	increment(a);
	/* Memory is the parent's there, shared objects too. */
	child = vfork();
	if (!child) {
		unsigned first = a[0];

		a[1] = 5;
		if (first != 1)
			_exit(1);
		execv("/bin/sh", argv);
		_exit(2);
	}
	CHECK_EXIT(child, 9);
	CHECK_EQ(a[1], 5);
	a[1] = 2;
	increment(a);
	check_words(a, 2);
}

static void too_large(struct order *o)
{
	o->argv[4] = o->large;
	execve(o->path, o->argv, o->envp);
}

static char *nowhere;

static void not_there(struct order *o)
{
	o->argv[4] = nowhere;
	execve("/bin/sh", o->argv, o->envp);
}

static void exec_shared_args(void)
{
	struct order *order;
	unsigned *a;

	need_vfork();
	order = make_order();
	a = words(N, 0);
	unsetenv("CHOSEN");
	for (size_t i = 0; i < sizeof(exec_calls) / sizeof(exec_calls[0]); i++) {
		int code;

		close_view(order);
		code = exec_by(exec_calls[i].run, order);
		if (code != exec_calls[i].code)
			FAIL("exec call %zu: exit status %d, not %d", i, code, exec_calls[i].code);
	}
	/* The program's own environment may lie there too. */
	putenv(order->env);
	close_view(order);
	CHECK_EQ(exec_by(via_execv, order), 7);
	close_view(order);
	CHECK_EQ(exec_by(via_execvp, order), 7);
	unsetenv("CHOSEN");
	CHECK_EQ(exec_by(too_large, order), E2BIG);
	nowhere = alloc(1);
	CHECK_OK(adsmFree(nowhere));
	CHECK_EQ(exec_by(not_there, order), EFAULT);
	increment(a);
	check_words(a, 1);
	CHECK_OK(adsmFree(order));
}

static sem_t command_runs;

static void on_command(int sig)
{
	CHECK(!sem_post(&command_runs));
}

static void *run_command(void *unused)
{
	system("kill -USR1 $PPID; exec sleep 100");
	return NULL;
}

static void spawn(void)
{
	struct shared {
		posix_spawn_file_actions_t actions;
		posix_spawnattr_t attr;
		pid_t pid;
		int status;
		struct rusage usage;
		siginfo_t info;
		char command[32], line[32];
	} *shared = alloc(sizeof(*shared));
	struct order *order = make_order();
	pthread_t thread;
	wordexp_t words;
	void *result;
	FILE *pipe;

	CHECK(!sem_init(&command_runs, 0, 0) && signal(SIGUSR1, on_command) != SIG_ERR);
	CHECK(!posix_spawn_file_actions_init(&shared->actions));
	CHECK(!posix_spawn_file_actions_addopen(&shared->actions, 0, "/dev/null", O_RDONLY, 0));
	CHECK(!posix_spawnattr_init(&shared->attr));
	for (int i = 0; i < 2; i++) {
		close_view(shared);
		close_view(order);
		CHECK(!(i ? posix_spawn : posix_spawnp)(&shared->pid, i ? order->path : order->file,
							&shared->actions, &shared->attr, order->argv, order->envp));
		CHECK_EXIT(shared->pid, 7);
	}
	order->argv[4] = order->large;
	CHECK_EQ(posix_spawn(&shared->pid, order->path, NULL, NULL, order->argv, order->envp), E2BIG);
	/* A shell's command; what wait says goes to shared memory. */
	strcpy(shared->command, "echo a line; exit 5");
	close_view(shared);
	pipe = popen(shared->command, "r");
	CHECK(pipe);
	CHECK(fgets(shared->line, sizeof(shared->line), pipe) && !strcmp(shared->line, "a line\n"));
	CHECK_EQ(WEXITSTATUS(pclose(pipe)), 5);
	strcpy(shared->command, "exit 6");
	close_view(shared);
	CHECK_EQ(WEXITSTATUS(system(shared->command)), 6);
	/* The environment lies there, too. */
	putenv(order->env);
	close_view(order);
	CHECK_EQ(WEXITSTATUS(system("exit ${CHOSEN:+7}")), 7);
	close_view(order);
	close_view(shared);
	strcpy(shared->command, "r");
	close_view(shared);
	pipe = popen("exit ${CHOSEN:+7}", shared->command);
	CHECK(pipe);
	CHECK_EQ(WEXITSTATUS(pclose(pipe)), 7);
	close_view(order);
	CHECK(!wordexp("$(echo $CHOSEN)", &words, 0) && words.we_wordc == 1 && !strcmp(words.we_wordv[0], "yes"));
	wordfree(&words);
	unsetenv("CHOSEN");
	/* The command ends with the thread that waits for it. */
	CHECK(!pthread_create(&thread, NULL, run_command, NULL) );
	while (sem_wait(&command_runs))
		;
	CHECK(!pthread_cancel(thread) && !pthread_join(thread, &result));
	CHECK(result == PTHREAD_CANCELED);
	CHECK(wait(NULL) == -1 && errno == ECHILD);
	for (int i = 0; i < 5; i++) {
		pid_t child = fork(), got;

		if (!child)
			_exit(10 + i);
		shared->status = 77;
		memset(&shared->usage, 0xff, sizeof(shared->usage));
		close_view(shared);
		got = i == 0 ? wait(&shared->status) : i == 1 ? waitpid(child, &shared->status, 0) :
			i == 2 ? wait3(&shared->status, 0, &shared->usage) :
			i == 3 ? wait4(child, &shared->status, 0, &shared->usage) :
			waitid(P_PID, (id_t)child, &shared->info, WEXITED) ? -1 : child;
		CHECK_EQ(got, child);
		if (i == 4) {
			CHECK_EQ(shared->info.si_pid, child);
			CHECK_EQ(shared->info.si_status, 14);
			continue;
		}
		CHECK(WIFEXITED(shared->status));
		CHECK_EQ(WEXITSTATUS(shared->status), 10 + i);
		if (i >= 2)
			CHECK(shared->usage.ru_utime.tv_usec >= 0);
	}
	shared->status = 77;
	close_view(shared);
	CHECK_EQ(waitpid(-1, &shared->status, WNOHANG), -1);
	CHECK_EQ(errno, ECHILD);
	CHECK_EQ(shared->status, 77);
	CHECK(!posix_spawn_file_actions_destroy(&shared->actions));
	CHECK_OK(adsmFree(shared));
}

/* ---- a process that orphans come to */

static atomic_int n_sigchld;

static void on_child(int signal)
{
	n_sigchld++;
}

static void no_child(void)
{
	siginfo_t info;

	CHECK_EQ(wait(NULL), -1);
	CHECK_EQ(errno, ECHILD);
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_EQ(errno, ECHILD);
	CHECK_EQ(waitpid(0, NULL, WNOHANG | WUNTRACED | WCONTINUED), -1);
	CHECK_EQ(errno, ECHILD);
	CHECK_EQ(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), -1);
	CHECK_EQ(errno, ECHILD);
}

static void *wait_for_any(void *unused)
{
	pid_t child = wait(NULL);

	CHECK(child > 0 || errno == ECHILD);
	return (void *)(uintptr_t)(child > 0);
}

static void kill_device(void)
{
	pid_t device = device_process();
	struct pollfd ended = { .events = POLLIN };

	if (!device)
		return;
	ended.fd = (int)syscall(SYS_pidfd_open, device, 0);
	CHECK(ended.fd >= 0);
	CHECK(!kill(device, SIGKILL));
	CHECK_EQ(poll(&ended, 1, -1), 1);
	close(ended.fd);
}

static void gets_orphans(void)
{
	unsigned *a;
	pid_t child, grandchild;
	int ends[2], told[2], status, n;
	pthread_t threads[2];
	void *got;

	signal(SIGCHLD, on_child);
	for (int i = 0; i < 3; i++) {
		a = words(N, 0);
		increment(a);
		check_words(a, 1);
		no_child();
		if (i == 1)
			kill_device();
		CHECK_OK(adsmFree(a));
		unload();
		CHECK_OK(adsmShutdown());
		no_child();
	}
	CHECK_EQ(n_sigchld, 0);
	a = words(N, 0);
	/* The program's own children and orphans are its own. */
	CHECK(!pipe(ends) && !pipe(told));
	child = fork();
	if (!child) {
		grandchild = fork();
		if (!grandchild) {
			close(ends[1]);
			_exit(read(ends[0], &child, sizeof(child)) ? 1 : 4);
		}
		CHECK_EQ(write(told[1], &grandchild, sizeof(grandchild)), sizeof(grandchild));
		_exit(3);
	}
	CHECK_EQ(waitpid(-1, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	CHECK_EQ(read(told[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), 0);
	close(ends[1]);
	CHECK_EQ(wait(&status), grandchild);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 4);
	close(ends[0]);
	no_child();
	/* Two threads wait for one child: one of them gets ECHILD. */
	CHECK(!pipe(ends));
	child = fork();
	if (!child) {
		close(ends[1]);
		_exit((int)read(ends[0], &status, sizeof(status)));
	}
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&threads[i], NULL, wait_for_any, NULL));
	close(ends[1]);
	for (int i = n = 0; i < 2; i++) {
		CHECK(!pthread_join(threads[i], &got));
		n += got != NULL;
	}
	CHECK_EQ(n, 1);
	close(ends[0]);
	no_child();
	increment(a);
	check_words(a, 1);
}

static void wait_subreaper(void)
{
	CHECK(!prctl(PR_SET_CHILD_SUBREAPER, 1));
	gets_orphans();
}

static void wait_pid1(void)
{
	pid_t child;

	if (unshare(CLONE_NEWPID | CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)))
		skip("no namespaces for this user");
	child = fork();
	if (!child) {
		CHECK_EQ(getpid(), 1);
		if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("proc", "/proc", "proc", 0, NULL))
			skip("cannot mount /proc");
		gets_orphans();
		_exit(0);
	}
	/* Nothing can be started here any more, which a sanitizer does at exit. */
	_exit(WEXITSTATUS(ending(child)));
}

/* ---- longjmp */

static sigjmp_buf target;
static int how;
static bool stay;
static atomic_bool reading;	/* or about to */

static void on_signal(int signal)
{
	jmp_buf inside;

	if (stay) {
		/* A jump that leaves nothing. */
		if (!setjmp(inside))
			longjmp(inside, 1);
		return;
	}
	if (how == 0)
		siglongjmp(target, 1);
	if (how == 1)
		longjmp(target, 1);
	_longjmp(target, 1);
}

struct watcher {
	pid_t tid;
	pthread_t thread;
	int fd;			/* to write to afterwards, or -1 */
};

/* Signal a thread that sleeps in a call. */
static void *interrupt(void *arg)
{
	struct watcher *watcher = arg;

	while (!atomic_load(&reading) || !asleep(watcher->tid))
		sched_yield();
	CHECK(!pthread_kill(watcher->thread, SIGUSR1));
	if (watcher->fd >= 0)
		CHECK_EQ(write(watcher->fd, "delivered", 8), 8);
	return NULL;
}

static void *check_thread(void *a)
{
	check_words(a, how + 1);
	return NULL;
}

static void longjmp_reads(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct watcher watcher = { (pid_t)syscall(SYS_gettid), pthread_self(), -1 };
	unsigned *a = words(N, 0), two[2] = { 100, 200 };
	pthread_t thread;
	sigset_t set;
	int ends[2];

	CHECK(!pipe(ends));
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	for (how = 0; how < 3; how++) {
		increment(a);
		CHECK(!pthread_create(&thread, NULL, interrupt, &watcher));
		if (!sigsetjmp(target, 1)) {
			atomic_store(&reading, true);
			CHECK_EQ(read(ends[0], a, N * sizeof(*a)), 0);
			FAIL("read() was not left");
		}
		CHECK(!pthread_join(thread, NULL));
		atomic_store(&reading, false);
		check_words(a, (unsigned)how + 1);
		CHECK(!pthread_create(&thread, NULL, check_thread, a));
		CHECK(!pthread_join(thread, NULL));
		/* A later input is one like any. */
		CHECK_EQ(write(ends[1], two, sizeof(two)), sizeof(two));
		CHECK_EQ(read(ends[0], a, N * sizeof(*a)), sizeof(two));
		CHECK_EQ(a[0], 100);
		CHECK_EQ(a[1], 200);
		CHECK_EQ(a[2], how + 3);
		a[0] = (unsigned)how + 1;
		a[1] = (unsigned)how + 2;
		sigemptyset(&set);
		sigprocmask(SIG_SETMASK, &set, NULL);
	}
	/* Jumps inside the handler leave the interrupted call alone. */
	stay = true;
	action.sa_flags = SA_RESTART;
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	watcher.fd = ends[1];
	increment(a);
	CHECK(!pthread_create(&thread, NULL, interrupt, &watcher));
	atomic_store(&reading, true);
	CHECK_EQ(read(ends[0], a, N * sizeof(*a)), 8);
	CHECK(!pthread_join(thread, NULL));
	CHECK(!memcmp(a, "delivere", 8));
	CHECK_EQ(a[2], 6);
	increment(a);
	CHECK_EQ(a[2], 7);
	CHECK_EQ(*(char *)a, 'd' + 1);
}

/* ---- the end, without exit() */

static void *end_last(void *first)
{
	CHECK(!pthread_join(*(pthread_t *)first, NULL));
	CHECK_OK(adsmShutdown());
	return NULL;
}

/* The C library ends the process with its last thread. The library must have none then. */
static void last_thread(void)
{
	const char *backend = getenv("ADSM_BACKEND");
	static pthread_t first;
	pthread_t last;

	/* To choose a backend itself, the library loads drivers. */
	if (!backend || strcmp(backend, "cpu"))
		skip("a driver has threads of its own");
	if (WITH_TSAN)
		skip("ThreadSanitizer has a thread of its own");
	CHECK_OK(adsmInit());
	first = pthread_self();
	CHECK(!pthread_create(&last, NULL, end_last, &first));
	pthread_exit(NULL);
}

static const struct conform_case cases[] = {
	CASE("fork-child", fork_child),
	CASE("fork-raw", fork_raw),
	CASE("fork-threads", fork_threads),
	CASE("fork-start", fork_start),
	CASE("vfork-exec", vfork_exec),
	CASE("exec-shared-args", exec_shared_args),
	CASE("spawn", spawn),
	CASE("wait-subreaper", wait_subreaper),
	CASE("wait-pid1", wait_pid1),
	CASE("longjmp-reads", longjmp_reads),
	CASE("last-thread", last_thread),
};
CONFORM_MAIN(cases)
