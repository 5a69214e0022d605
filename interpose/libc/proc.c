/* SPDX-License-Identifier: MIT */
/* proc.c - other programs and children: exec, spawn, wait. And jumps out of a call: longjmp() and setcontext(). */
#include <dlfcn.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <wordexp.h>

#include "base/decode.h"
#include "base/os.h"
#include "engine/mask.h"
#include "range.h"
#include "core/observe.h"
#include "core/shared.h"
#include "run/wait/in_driver.h"
#include "run/copy/io.h"

ADSM_REALS(execve, execv, execvp, execvpe, fexecve, execveat, posix_spawn, posix_spawnp)
#if __GLIBC_PREREQ(2, 39)
ADSM_REALS(pidfd_spawn, pidfd_spawnp)
#endif
ADSM_REALS(popen, wordexp, wait, waitpid, wait4, waitid, longjmp, _longjmp, siglongjmp)

/* ---- exec: the kernel reads the arguments, so arguments in shared memory are copied to the stack */

#define COPY_MAX ((size_t)256 << 10)	/* bytes */

/* One call of exec or spawn. Each function uses the fields that it needs. */
struct exec {
	int (*go)(const struct exec *exec);
	const char *path;
	char *const *argv, *const *envp;
	int fd, flags;
	pid_t *pid;			/* of pidfd_spawn() and pidfd_spawnp(): a descriptor */
	const posix_spawn_file_actions_t *actions;
	const posix_spawnattr_t *attr;
	bool spawns;			/* the result is an error number, not -1 and errno */
};

/* Is this in an object? For other addresses in the range of shared memory the kernel returns EFAULT. */
static bool is_shared(const void *p)
{
	return adsm_may_be_shared(p, 1) && adsm_is_shared(p);
}

/* The entries of a vector, including the NULL. The bytes that must be copied are added to *size. False: the system is
 * to get the vector as it is, and returns EFAULT. */
static bool count(char *const *vector, size_t *ret_n, size_t *size)
{
	size_t n = 0;

	*size += is_shared(vector);
	while (vector) {
		if (!is_shared(&vector[n]) && !adsm_range_readable(&vector[n], sizeof(*vector)))
			return false;
		*size += is_shared(vector[n]) ? strlen(vector[n]) + 1 : 0;
		if (!vector[n++])
			break;
	}
	*ret_n = n;
	return true;
}

static const char *copy_string(const char *s, char **room, const char *end)
{
	char *copy = *room;
	size_t length;

	if (!is_shared(s) || copy == end)
		return s;
	length = strnlen(s, (size_t)(end - copy) - 1);	/* other threads may have made it longer since count() */
	memcpy(copy, s, length);
	copy[length] = '\0';
	*room += length + 1;
	return copy;
}

static char *const *copy_vector(const char **copy, char *const *vector, size_t n, char **room, const char *end)
{
	for (size_t i = 0; i < n; i++)
		copy[i] = copy_string(vector[i], room, end);
	return n ? (char *const *)copy : vector;
}

/* The new program gets the signal mask as this program sees it (engine/mask.h). */
struct exposed {
	bool is;
	uint64_t mask;
};

static void hide_again(const struct exposed *exposed)
{
	if (exposed->is)
		adsm_mask_unexpose(exposed->mask);
}

static struct exposed expose(void)
{
	struct exposed exposed = { .is = atomic_load_explicit(&adsm_mask_hidden, memory_order_relaxed) };

	if (exposed.is)
		exposed.mask = adsm_mask_expose();
	return exposed;
}

/* A handler that touches a closed page meanwhile would end the process, so this is only for calls that do not wait. */
#define EXPOSED __attribute__((cleanup(hide_again), unused)) const struct exposed exposed_ = expose()

/* exec ends the observers, but not in the child of vfork(), because the parent continues to use them. */
static int go(const struct exec *exec)
{
	int ret, saved_errno;

	/* spawn() has put the mask into the attributes. */
	if (exec->spawns)
		return exec->go(exec);
	adsm_observe_exec(false);
	{
		EXPOSED;

		ret = exec->go(exec);
	}
	saved_errno = errno;
	adsm_observe_exec(true);
	errno = saved_errno;
	return ret;
}

/* Also in the child of vfork(). The copies are on the stack, so nothing needs to be freed after a successful call. */
static int run(struct exec *exec)
{
	size_t size = 0, n_argv, n_envp;

	if (!atomic_load_explicit(&adsm_shared_range.size, memory_order_relaxed))
		return go(exec);
	if (!count(exec->argv, &n_argv, &size) || !count(exec->envp, &n_envp, &size))
		return go(exec);
	size += is_shared(exec->path) ? strlen(exec->path) + 1 : 0;
	if (!size)
		return go(exec);
	if (size + (n_argv + n_envp) * sizeof(char *) > COPY_MAX)
		return exec->spawns ? E2BIG : adsm_refuse(E2BIG);

	const char *argv[n_argv + 1], *envp[n_envp + 1];
	char strings[size], *room = strings;

	exec->path = copy_string(exec->path, &room, strings + size);
	exec->argv = copy_vector(argv, exec->argv, n_argv, &room, strings + size);
	exec->envp = copy_vector(envp, exec->envp, n_envp, &room, strings + size);
	return go(exec);
}

/* A row: the function, the call of libc's by what is in @e, and the fields to set. */
#define EXEC(name, params, call, ...)						\
	static int go_##name(const struct exec *e)				\
	{									\
		return call;							\
	}									\
	ADSM_WRAPPER int name params						\
	{									\
		return run(&(struct exec){ .go = go_##name, __VA_ARGS__ });	\
	}
EXEC(execve, (const char *path, char *const argv[], char *const envp[]), real(execve)(e->path, e->argv, e->envp),
     .path = path, .argv = argv, .envp = envp)
EXEC(execv, (const char *path, char *const argv[]),
     e->envp == environ ? real(execv)(e->path, e->argv) : go_execve(e),
     .path = path, .argv = argv, .envp = environ)
EXEC(execvpe, (const char *file, char *const argv[], char *const envp[]), real(execvpe)(e->path, e->argv, e->envp),
     .path = file, .argv = argv, .envp = envp)
EXEC(execvp, (const char *file, char *const argv[]),
     e->envp == environ ? real(execvp)(e->path, e->argv) : go_execvpe(e),
     .path = file, .argv = argv, .envp = environ)
EXEC(fexecve, (int fd, char *const argv[], char *const envp[]), real(fexecve)(e->fd, e->argv, e->envp),
     .fd = fd, .argv = argv, .envp = envp)
EXEC(execveat, (int fd, const char *path, char *const argv[], char *const envp[], int flags),
     real(execveat)(e->fd, e->path, e->argv, e->envp, e->flags),
     .fd = fd, .path = path, .argv = argv, .envp = envp, .flags = flags)

static int run_list(int (*go)(const struct exec *), const char *path, const char *first, va_list list)
{
	size_t n = 1;
	va_list again;

	va_copy(again, list);
	for (const char *s = first; s; s = va_arg(again, const char *))
		n++;
	va_end(again);

	char *argv[n];

	argv[0] = (char *)(uintptr_t)first;
	for (size_t i = 1; i < n; i++)
		argv[i] = va_arg(list, char *);
	return run(&(struct exec){ .go = go, .path = path, .argv = argv,
				   .envp = go == go_execve ? va_arg(list, char *const *) : environ });
}

#define LIST(name, go)								\
	ADSM_WRAPPER int name(const char *path, const char *arg, ...)		\
	{									\
		va_list list;							\
		int ret;							\
										\
		va_start(list, arg);						\
		ret = run_list(go, path, arg, list);				\
		va_end(list);							\
		return ret;							\
	}
LIST(execl, go_execv)
LIST(execlp, go_execvp)
LIST(execle, go_execve)

/* The child gets the mask by its attributes, unless the program has put one there. @own: room for them. */
static void set_mask(struct exec *exec, posix_spawnattr_t *own)
{
	sigset_t mask;
	short flags = 0;

	if (!atomic_load_explicit(&adsm_mask_hidden, memory_order_relaxed))
		return;
	if (exec->attr)
		posix_spawnattr_getflags(exec->attr, &flags);
	if (flags & POSIX_SPAWN_SETSIGMASK)
		return;
	if (!exec->attr)
		posix_spawnattr_init(own);
	else if (exec->attr != own)
		*own = *exec->attr;
	sigprocmask(SIG_BLOCK, NULL, &mask);
	posix_spawnattr_setsigmask(own, &mask);
	posix_spawnattr_setflags(own, (short)(flags | POSIX_SPAWN_SETSIGMASK));
	exec->attr = own;
}

/* libc reads the actions and attributes, and writes the child's id, with all signals blocked. So it gets copies. */
static int spawn(struct exec *exec)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	pid_t *ret_pid = exec->pid, pid;
	int ret;

	if (is_shared(ret_pid))
		exec->pid = &pid;
	if (is_shared(exec->actions)) {
		actions = *exec->actions;
		exec->actions = &actions;
	}
	if (is_shared(exec->attr)) {
		attr = *exec->attr;
		exec->attr = &attr;
	}
	set_mask(exec, &attr);
	ret = run(exec);
	if (!ret && exec->pid == &pid)
		*ret_pid = pid;
	return ret;
}

#define SPAWN(name)												\
	static int go_##name(const struct exec *e)								\
	{													\
		return real(name)(e->pid, e->path, e->actions, e->attr, e->argv, e->envp);			\
	}													\
	ADSM_WRAPPER int name(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,		\
			      const posix_spawnattr_t *attr, char *const argv[], char *const envp[])		\
	{													\
		return spawn(&(struct exec){ .go = go_##name, .pid = pid, .path = path, .actions = actions,	\
					     .attr = attr, .argv = argv, .envp = envp, .spawns = true });	\
	}
SPAWN(posix_spawn)
SPAWN(posix_spawnp)
#if __GLIBC_PREREQ(2, 39)
SPAWN(pidfd_spawn)
SPAWN(pidfd_spawnp)
#endif

/*
 * ---- commands for the shell. The library has its own system(). While libc's system() waits, the thread has the signal
 * mask of the child, and SIGSEGV may be blocked in it. libc also passes the environment to the kernel uncopied.
 */

static struct {
	struct adsm_mutex lock;
	int n;				/* calls of system() in progress */
	struct sigaction interrupt, quit;	/* the program's, meanwhile */
} commands = { .lock = ADSM_MUTEX_INIT(ADSM_RANK_TABLE) };

struct command {
	pid_t pid;			/* 0: there is no child */
	sigset_t mask;
};

static void begin_command(struct command *command, posix_spawnattr_t *attr)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t child, defaults;

	sigemptyset(&child);
	sigemptyset(&defaults);
	sigaddset(&child, SIGCHLD);
	adsm_mutex_lock(&commands.lock);
	if (!commands.n++) {
		sigaction(SIGINT, &ignore, &commands.interrupt);
		sigaction(SIGQUIT, &ignore, &commands.quit);
	}
	if (commands.interrupt.sa_handler != SIG_IGN)
		sigaddset(&defaults, SIGINT);
	if (commands.quit.sa_handler != SIG_IGN)
		sigaddset(&defaults, SIGQUIT);
	adsm_mutex_unlock(&commands.lock);
	sigprocmask(SIG_BLOCK, &child, &command->mask);
	posix_spawnattr_init(attr);
	posix_spawnattr_setsigmask(attr, &command->mask);
	posix_spawnattr_setsigdefault(attr, &defaults);
	posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static void end_command(struct command *command)
{
	const int saved_errno = errno;

	/* The wait was cancelled. */
	if (command->pid) {
		kill(command->pid, SIGKILL);
		while (real(waitpid)(command->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	adsm_mutex_lock(&commands.lock);
	if (!--commands.n) {
		sigaction(SIGINT, &commands.interrupt, NULL);
		sigaction(SIGQUIT, &commands.quit, NULL);
	}
	adsm_mutex_unlock(&commands.lock);
	sigprocmask(SIG_SETMASK, &command->mask, NULL);
	errno = saved_errno;
}

ADSM_WRAPPER int system(const char *text)
{
	char *const argv[] = { "sh", "-c", "--", (char *)(uintptr_t)(text ? text : "exit 0"), NULL };
	int status = 127 << 8, error;
	posix_spawnattr_t attr;
	struct command command __attribute__((cleanup(end_command))) = { 0 };

	begin_command(&command, &attr);
	error = posix_spawn(&command.pid, "/bin/sh", NULL, &attr, argv, environ);
	if (error) {
		command.pid = 0;
		errno = error;
	} else {
		while (real(waitpid)(command.pid, &status, 0) < 0) {
			if (errno == EINTR)
				continue;
			status = -1;
			break;
		}
		command.pid = 0;
	}
	return text ? status : !status;
}

/* A longer string is not copied: the shell could not get it as an argument either. */
#define PRIVATE(s) (is_shared(s) && strlen(s) < COPY_MAX ? strdupa(s) : (s))

/* The kernel can read the program's environment from here to the next call of a kernel. */
static void open_environment(void)
{
	size_t size = 0, n;

	if (atomic_load_explicit(&adsm_shared_range.size, memory_order_relaxed))
		count(environ, &n, &size);
	/* The compiler must not drop the accesses. */
	__asm__ volatile("" : : "r"(size));
}

ADSM_WRAPPER FILE *popen(const char *command, const char *mode)
{
	command = PRIVATE(command);
	mode = PRIVATE(mode);
	open_environment();

	EXPOSED;

	return real(popen)(command, mode);
}

ADSM_WRAPPER int wordexp(const char *restrict text, wordexp_t *restrict words, int flags)
{
	open_environment();
	return real(wordexp)(text, words, flags);
}

/* ---- wait */

ADSM_WRAPPER pid_t wait(int *status)
{
	if (!adsm_may_be_shared(status, sizeof(*status)))
		return real(wait)(status);
	return wait4(-1, status, 0, NULL);
}

ADSM_WRAPPER pid_t waitpid(pid_t pid, int *status, int options)
{
	if (!adsm_may_be_shared(status, sizeof(*status)))
		return real(waitpid)(pid, status, options);
	return wait4(pid, status, options, NULL);
}
ADSM_ALSO(__wait, wait);
ADSM_ALSO(__waitpid, waitpid);

ADSM_WRAPPER pid_t wait3(int *status, int options, struct rusage *usage)
{
	return wait4(-1, status, options, usage);
}

ADSM_WRAPPER pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	bool shared = adsm_may_be_shared(status, sizeof(*status));
	bool shared_usage = adsm_may_be_shared(usage, sizeof(*usage));
	struct rusage private_usage;
	int private, error = 0;

	if (shared || shared_usage)
		adsm_io_look_back(ADSM_STACK());
	pid = real(wait4)(pid, shared ? &private : status, options, shared_usage ? &private_usage : usage);
	if (pid > 0 && shared)
		error = adsm_range_give(status, &private, sizeof(private));
	if (pid > 0 && shared_usage && !error)
		error = adsm_range_give(usage, &private_usage, sizeof(private_usage));
	return error ? adsm_range_refuse(error) : pid;
}

ADSM_WRAPPER int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	siginfo_t private;
	int ret, error;

	if (!adsm_may_be_shared(info, sizeof(*info)))
		return real(waitid)(type, id, info, options);
	adsm_io_look_back(ADSM_STACK());
	/* The system writes parts of *info, also if it fails. So its old bytes are copied first. */
	error = adsm_range_take(&private, info, sizeof(private));
	if (error == -EFAULT)
		return real(waitid)(type, id, info, options);
	if (error)
		return adsm_refuse(EIO);
	ret = real(waitid)(type, id, &private, options);
	error = adsm_range_give(info, &private, sizeof(private));
	return error ? adsm_range_refuse(error) : ret;
}

/* ---- longjmp */

/* A function of glibc without a public prototype. Other C libraries may lack it. */
void __longjmp_chk(jmp_buf env, int value) __attribute__((noreturn));
ADSM_REAL(__longjmp_chk);

static bool target_known;	/* stack_pointer() works with this C library's jmp_buf */

static const uintptr_t *guard;	/* aarch64: the value that the addresses in a jmp_buf are XORed with */

static uintptr_t stack_pointer(const struct __jmp_buf_tag *env)
{
#if defined(__x86_64__)
	uintptr_t stack = (uintptr_t)env->__jmpbuf[6];

	__asm__("ror $17, %0\n\txor %%fs:0x30, %0" : "+r"(stack) : : "cc");
	return stack;
#elif defined(__aarch64__)
	return (uintptr_t)env->__jmpbuf[13] ^ (guard ? *guard : 0);
#else
#error "the jmp_buf of this processor is not known here"
#endif
}

__attribute__((constructor)) static void try_setjmp(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	jmp_buf env;

	guard = dlsym(RTLD_DEFAULT, "__pointer_chk_guard");
	_setjmp(env);
	target_known = here - stack_pointer(env) < 65536;
}

/* If the target of the jump is not known, all inputs of the thread end, also those of functions that still run. */
static void leave(struct __jmp_buf_tag *env)
{
	uintptr_t stack = target_known ? stack_pointer(env) : UINTPTR_MAX;

	if (atomic_load_explicit(&adsm_mask_hidden, memory_order_relaxed)) {
		adsm_mask_jump(stack);
		/* A mask that was saved before the library hid SIGSEGV. */
		if (env->__mask_was_saved && sigismember(&env->__saved_mask, SIGSEGV) == 1)
			env->__saved_mask.__val[0] = adsm_mask_to_kernel(env->__saved_mask.__val[0]);
	}
	if (atomic_load_explicit(&adsm_shared_range.size, memory_order_relaxed))
		adsm_io_leave(stack, false);
}

#define JUMP(name)					\
	ADSM_WRAPPER void name(jmp_buf env, int value)	\
	{						\
		leave(env);				\
		real(name)(env, value);			\
		__builtin_unreachable();		\
	}
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)

/*
 * ---- setcontext. The calling context is not necessarily left: another call may switch back to it later. Only
 * functions below the target on the same stack are left.
 */
ADSM_REALS(setcontext, swapcontext)

/*
 * Convert a context's mask to the kernel's form. A mask that the kernel has stored is in that form already. A mask that
 * the program has written is recognized by SIGSEGV, or, if made by sigfillset(), also by SIGKILL and SIGSTOP, which the
 * kernel never stores.
 */
static void hide_in_context(const ucontext_t *context)
{
	const uint64_t never = UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1);
	uint64_t *word = (uint64_t *)(uintptr_t)&context->uc_sigmask;

	if (atomic_load_explicit(&adsm_mask_hidden, memory_order_relaxed) &&
	    *word & (never | UINT64_C(1) << (SIGSEGV - 1)))
		*word = adsm_mask_to_kernel(*word & ~never);
}

ADSM_WRAPPER int setcontext(const ucontext_t *context)
{
	const uintptr_t inside = adsm_in_driver.frame;
	int error;

	if (atomic_load_explicit(&adsm_shared_range.size, memory_order_relaxed))
		adsm_io_leave(adsm_decode_stack(context), true);
	if (atomic_load_explicit(&adsm_mask_hidden, memory_order_relaxed))
		adsm_mask_jump(adsm_decode_stack(context));
	hide_in_context(context);
	error = real(setcontext)(context);
	/* setcontext() has failed. The calls whose inputs were ended detect that when they return. */
	adsm_in_driver.frame = inside;
	return error;
}

ADSM_WRAPPER int swapcontext(ucontext_t *old, const ucontext_t *context)
{
	hide_in_context(context);
	return real(swapcontext)(old, context);
}
