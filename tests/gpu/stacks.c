/* SPDX-License-Identifier: MIT */
/*
 * stacks.c - to be preloaded: a process that gets signal 32 writes the stacks of all its threads to its standard error.
 * No thread can have blocked that signal: libc keeps it, its own for pthread_cancel(), out of every mask, even of
 * threads that block all signals. After a program has cancelled a thread, this does not work.
 *
 * For programs that hang: nothing here needs a lock or the heap.
 */
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SIGNAL 32
#define DEPTH 64

/* As the kernel has it. */
struct kernel_action {
	void (*handler)(int signal, siginfo_t *info, void *context);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

static struct kernel_action before;
static _Atomic(int) told;		/* the thread that is to tell; 0: none */

#ifdef __x86_64__
#define SA_RESTORER 0x04000000
/* Unwinders know a signal's frame by these bytes. */
void stacks_restorer(void) __attribute__((visibility("hidden")));
__asm__(
	".text\n"
	".hidden stacks_restorer\n"
	"	nop\n"
	"stacks_restorer:\n"
	"	mov $15, %rax\n"
	"	syscall\n");
#endif

static int own_id(void)
{
	return (int)syscall(SYS_gettid);
}

static void put(const char *text)
{
	syscall(SYS_write, STDERR_FILENO, text, strlen(text));
}

/* Of the thread that runs this. */
static void tell(void)
{
	char text[64], name[32] = "", path[64];
	void *frames[DEPTH];
	int fd, n;

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", own_id());
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = (int)syscall(SYS_read, fd, name, sizeof(name) - 1);
		name[n > 0 ? n - 1 : 0] = '\0';
		syscall(SYS_close, fd);
	}
	snprintf(text, sizeof(text), "stack of thread %d (%s):\n", own_id(), name);
	put(text);
	n = backtrace(frames, DEPTH);
	backtrace_symbols_fd(frames, n, STDERR_FILENO);
}

/* Ask one thread, and give it a second. */
static void ask(int thread)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	atomic_store(&told, thread);
	syscall(SYS_tgkill, getpid(), thread, SIGNAL);
	for (int i = 0; i < 1000 && atomic_load(&told) == thread; i++)
		nanosleep(&moment, NULL);
	atomic_store(&told, 0);
}

struct linux_dirent64 {
	unsigned long inode, offset;
	unsigned short size;
	unsigned char type;
	char name[];
};

static void tell_all(void)
{
	char entries[4096] __attribute__((aligned(8)));
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long n;

	tell();
	while (fd >= 0 && (n = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < n;) {
			const struct linux_dirent64 *entry = (const void *)(entries + at);
			int thread = atoi(entry->name);

			if (thread > 0 && thread != own_id())
				ask(thread);
			at += entry->size;
		}
	}
	if (fd >= 0)
		syscall(SYS_close, fd);
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
	int own = own_id();

	if (info->si_code == SI_USER)
		tell_all();
	else if (atomic_load(&told) == own) {
		tell();
		atomic_compare_exchange_strong(&told, &own, 0);
	} else if (before.handler && before.handler != (void *)SIG_IGN) {
		before.handler(signal, info, context);
	}
}

__attribute__((constructor)) static void install(void)
{
	struct kernel_action action = { .handler = on_signal, .flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	void *frame;

#ifdef __x86_64__
	action.flags |= SA_RESTORER;
	action.restorer = stacks_restorer;
#endif
	/* The first use loads a library. */
	backtrace(&frame, 1);
	syscall(SYS_rt_sigaction, SIGNAL, &action, &before, sizeof(action.mask));
}
