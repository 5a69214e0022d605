/* SPDX-License-Identifier: MIT */
/* os_spawn.c - os.h on Linux: starts a process that the application's wait functions do not see. */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/syscall.h"

/* Newer than the headers of the oldest system we build on. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* The answers of the processes that take part in a start, in a page that they share. */
struct spawn_answer {
	volatile int pid, error;	/* pid: of the daemon, or 0; error: a negative errno, or 0 */
	_Atomic uint32_t given;
};

/* What the new processes need; all of it is prepared before. */
struct spawn {
	const char *path;
	char *const *argv;
	char **envp;
	int *fds;		/* the daemon's, in order */
	int n_fds;
	bool keep;		/* the intermediate stays */
	uintptr_t thread;	/* an address in this thread's own data */
	struct spawn_answer *answer;
};

NO_SANITIZE static void close_from(int first)
{
	struct rlimit limit = { 0 };

	if (!sys(SYS_close_range, first, ~0u, 0))
		return;
	sys(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
	for (rlim_t fd = (rlim_t)first; fd < limit.rlim_cur; fd++)
		sys(SYS_close, fd);
}

/* The daemon until exec; returns only if an error prevents that. */
NO_SANITIZE static int spawn_exec(struct spawn *spawn)
{
	const uint64_t action[4] = { 0 }, empty = 0;	/* SIG_DFL with nothing set */
	const int first = 3 + spawn->n_fds;
	int null, ret;

	sys(SYS_setsid);
	for (int sig = 1; sig <= 64; sig++)
		sys(SYS_rt_sigaction, sig, action, NULL, KERNEL_SIGSET_SIZE);
	/* First move the descriptors out of the way of the final numbers, then to these. */
	for (int i = 0; i < spawn->n_fds; i++) {
		ret = (int)sys(SYS_fcntl, spawn->fds[i], F_DUPFD, first);
		if (ret < 0)
			return ret;
		spawn->fds[i] = ret;
	}
	null = (int)sys(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
	if (null < 0)
		return null;
	for (int fd = 0; fd < first; fd++) {
		int from = fd < 3 ? null : spawn->fds[fd - 3];

		ret = fd == from ? 0 : (int)sys(SYS_dup3, from, fd, 0);
		if (ret < 0)
			return ret;
	}
	close_from(first);
	sys(SYS_rt_sigprocmask, SIG_SETMASK, &empty, NULL, KERNEL_SIGSET_SIZE);
	return (int)sys(SYS_execve, spawn->path, spawn->argv, spawn->envp);
}

/*
 * The intermediate stays until the daemon has ended, and also the daemon's children, which become its own. It keeps no
 * file of the application. Of the application's memory, which would stay allocated in its present state, it keeps only
 * what is near its stack, its thread's data and its code.
 */
NO_SANITIZE static void spawn_keep(const struct spawn *spawn)
{
	const uintptr_t near = (uintptr_t)1 << 20, stack = (uintptr_t)__builtin_frame_address(0);
	const uintptr_t keep[] = { stack, spawn->thread, (uintptr_t)spawn_keep };
	uintptr_t end = 0;

	sys(SYS_setsid);
	sys(SYS_prctl, PR_SET_NAME, "adsm-keeper");
	close_from(0);
	atomic_store(&spawn->answer->given, 1);
	sys(SYS_futex, &spawn->answer->given, FUTEX_WAKE, 1);
	for (int i = 0; i < 3; i++) {
		uintptr_t next = UINTPTR_MAX;

		for (int k = 0; k < 3; k++)
			if (keep[k] > end && keep[k] < next)
				next = keep[k];
		if (next == UINTPTR_MAX)
			break;
		next &= ~(ADSM_PAGE_SIZE - 1);
		if (next > near + end)
			sys(SYS_munmap, end, next - near - end);
		end = next + near;
	}
	/* Unmap the rest, up to the end of user memory; its address is not known, so try several. */
	for (int bits = 56; bits > 38 && sys(SYS_munmap, end, (1ul << bits) - ADSM_PAGE_SIZE - end); bits--)
		;
	while (sys(SYS_wait4, -1, NULL, __WALL, NULL) != -ECHILD)
		;
}

/* Make a new process whose end sends no signal. QEMU's user-mode emulation does not support this (-EINVAL): there the
 * application gets SIGCHLD for it, as for any child. */
NO_SANITIZE static long clone_untold(unsigned long flags)
{
	long pid = sys(SYS_clone, flags);

	return pid == -EINVAL ? sys(SYS_clone, flags | SIGCHLD) : pid;
}

/* The intermediate process: makes the daemon, waits until that has called exec or ended (CLONE_VFORK, but with separate
 * memory), and exits. As it does not call exec, its exit signal stays 0, so its end sends no signal. */
NO_SANITIZE __attribute__((noreturn)) static void spawn_intermediate(struct spawn *spawn)
{
	long pid;

	if (spawn->keep)
		sys(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1);
	pid = clone_untold(CLONE_VFORK);
	if (pid == 0) {
		spawn->answer->error = spawn_exec(spawn);
	} else if (pid < 0) {
		spawn->answer->error = (int)pid;
	} else {
		spawn->answer->pid = (int)pid;
		if (spawn->keep && !spawn->answer->error)
			spawn_keep(spawn);
	}
	for (;;)
		sys(SYS_exit_group, 0);
}

/* A function of its own, because a sanitizer must not see the child's side of the clone either. */
NO_SANITIZE __attribute__((noinline)) static long spawn_start(struct spawn *spawn)
{
	long pid = clone_untold(0);

	if (pid == 0)
		spawn_intermediate(spawn);
	return pid;
}

/* Orphans become children of a subreaper, or of the first process of the namespace. If that is this process, the daemon
 * would become its child. Then the intermediate stays: waits do not see it, unless they use __WALL or __WCLONE. */
static bool gets_orphans(void)
{
	int is_subreaper = 0;

	sys(SYS_prctl, PR_GET_CHILD_SUBREAPER, &is_subreaper);
	return is_subreaper || sys(SYS_getpid) == 1;
}

/* Intermediates that have stayed. The next start removes those that have ended. Threads may start daemons together. */
static _Atomic int keepers[64];

static void reap_keepers(int new_keeper)
{
	for (size_t i = 0; i < sizeof(keepers) / sizeof(keepers[0]); i++) {
		int keeper = atomic_load(&keepers[i]), none = 0;

		if (keeper && sys(SYS_wait4, keeper, NULL, WNOHANG | __WCLONE, NULL))
			atomic_compare_exchange_strong(&keepers[i], &keeper, 0);
		if (new_keeper && atomic_compare_exchange_strong(&keepers[i], &none, new_keeper))
			new_keeper = 0;
	}
}

/* Prepare the daemon's descriptors, and its environment: the library's without variables that would load libraries into
 * it. */
static int prepare(struct spawn *spawn, const int *fds)
{
	size_t n_env = 0, n = 0;
	long page;

	while (environ && environ[n_env])
		n_env++;
	spawn->envp = calloc(n_env + 1, sizeof(*spawn->envp));
	spawn->fds = calloc((size_t)spawn->n_fds + 1, sizeof(*spawn->fds));
	if (!spawn->envp || !spawn->fds)
		return -ENOMEM;
	for (size_t i = 0; i < n_env; i++) {
		if (strncmp(environ[i], "LD_PRELOAD=", 11) && strncmp(environ[i], "LD_AUDIT=", 9))
			spawn->envp[n++] = environ[i];
	}
	for (int i = 0; i < spawn->n_fds; i++)
		spawn->fds[i] = fds[i];
	page = sys(SYS_mmap, NULL, ADSM_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page < 0 && page >= -4095)
		return (int)page;
	spawn->answer = (struct spawn_answer *)page;
	return 0;
}

/* Wait until the intermediate has ended, or reports that it stays. */
static void await(struct spawn *spawn, long pid)
{
	long ret;

	/* -ECHILD: the application has waited for it with __WALL; so it has ended anyway. */
	do {
		if (spawn->keep)
			adsm_os_wait(&spawn->answer->given, 0, 10000000, true);
		ret = sys(SYS_wait4, pid, NULL, __WALL | (spawn->keep ? WNOHANG : 0), NULL);
	} while (ret == -EINTR || (!ret && !atomic_load(&spawn->answer->given)));
	if (!ret)
		reap_keepers((int)pid);
}

int adsm_os_spawn_daemon(const char *path, char *const argv[], const int *fds, size_t n_fds,
			 int *ret_pid, int *ret_pidfd)
{
	struct spawn spawn = { .path = path, .argv = argv, .n_fds = (int)n_fds, .keep = gets_orphans(),
			       .thread = (uintptr_t)&errno };
	struct adsm_sigset old;
	int ret = prepare(&spawn, fds);
	long pid;

	if (ret)
		goto end;
	/* No handler of the application may run in the new processes. */
	adsm_os_signals_block(&old);
	pid = spawn_start(&spawn);
	adsm_os_signals_restore(&old);
	if (pid < 0) {
		ret = (int)pid;
		goto end;
	}
	await(&spawn, pid);
	ret = spawn.answer->error;
	if (!ret && !spawn.answer->pid)
		ret = -ECHILD;	/* the intermediate was killed */
	if (!ret) {
		*ret_pid = spawn.answer->pid;
		*ret_pidfd = (int)sys(SYS_pidfd_open, spawn.answer->pid, 0);
		if (*ret_pidfd < 0)
			*ret_pidfd = -1;
	}
end:
	if (spawn.answer)
		adsm_os_unmap(spawn.answer, ADSM_PAGE_SIZE);
	free(spawn.envp);
	free(spawn.fds);
	return ret;
}
