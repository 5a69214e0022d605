/* SPDX-License-Identifier: MIT */
/*
 * late.c - a program that never heard of the library, which is preloaded; a plug-in starts it, when there are handlers
 * and masks already: late PLUGIN CASE.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define CHECK_OUT stdout
#include "../check.h"

#define WILD ((volatile unsigned *)0x5eed0)	/* where nothing is */

static volatile unsigned char *object;
static size_t size;
static int (*shut)(int value);
static volatile unsigned n;
static volatile int value;
static sigjmp_buf left;

static void load(const char *path)
{
	void *plugin = dlopen(path, RTLD_NOW);
	void *(*open_object)(size_t *);

	if (!plugin)
		FAIL("%s", dlerror());
	open_object = (void *(*)(size_t *))dlsym(plugin, "plugin_open");
	shut = (int (*)(int))dlsym(plugin, "plugin_shut");
	CHECK(open_object && shut);
	object = open_object(&size);
	CHECK(object);
}

/* The object is closed before: @value tells that the bytes are right. */
static void use(int sig)
{
	n++;
	value = object[size / 2];
	if (sig == SIGSEGV)
		siglongjmp(left, 1);
}

static void fault(void)
{
	if (!sigsetjmp(left, 1))
		*WILD = 1;
}

static void set(int sig, void (*handler)(int), bool full)
{
	struct sigaction action = { .sa_handler = handler };

	if (full)
		sigfillset(&action.sa_mask);
	CHECK(!sigaction(sig, &action, NULL));
}

static void check_mask(int sig, bool blocked)
{
	sigset_t mask;

	CHECK(!sigprocmask(SIG_BLOCK, NULL, &mask));
	CHECK_EQ(sigismember(&mask, sig), blocked);
}

/* Handlers older than the library's start touch objects. */
static void touch(const char *path)
{
	struct sigaction action;

	set(SIGUSR1, use, true);
	set(SIGUSR2, use, false);
	set(SIGSEGV, use, false);
	load(path);
	for (int i = 1; i < 9; i++) {
		shut(i);
		if (i % 4 < 2)
			raise(i % 4 ? SIGUSR1 : SIGUSR2);
		else
			fault();
		CHECK_EQ(n, i);
		CHECK_EQ(value, i);
	}
	CHECK(!sigaction(SIGUSR1, NULL, &action));
	CHECK_EQ(sigismember(&action.sa_mask, SIGSEGV), 1);
	CHECK_EQ(sigismember(&action.sa_mask, SIGSTKFLT), 1);
	CHECK(!sigaction(SIGUSR2, NULL, &action));
	CHECK_EQ(sigismember(&action.sa_mask, SIGSEGV), 0);
}

extern const char behind_wild_load[];

__attribute__((noinline)) static void wild_load(void)
{
#if defined(__x86_64__)
	__asm__ volatile("mov (%0), %%eax\n\t.globl behind_wild_load\nbehind_wild_load:" : : "r"(WILD) : "eax");
#else
	__asm__ volatile("ldr w0, [%0]\n\t.globl behind_wild_load\nbehind_wild_load:" : : "r"(WILD) : "x0");
#endif
}

/* As V8 checks faults: with the signal open; the handler restores the mask, and the program continues after the
 * access. */
static void look(int sig, siginfo_t *info, void *context)
{
	sigset_t mask, old;

	n++;
	sigemptyset(&mask);
	sigaddset(&mask, SIGSEGV);
	CHECK(!sigprocmask(SIG_UNBLOCK, &mask, &old));
	CHECK_EQ(sigismember(&old, SIGSEGV), 1);
	CHECK(!sigprocmask(SIG_SETMASK, &old, NULL));
	check_mask(sig, true);
#if defined(__x86_64__)
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] = (greg_t)behind_wild_load;
#else
	((ucontext_t *)context)->uc_mcontext.pc = (uintptr_t)behind_wild_load;
#endif
}

static void look_at_faults(const char *path)
{
	struct sigaction action = { .sa_sigaction = look, .sa_flags = SA_SIGINFO };

	CHECK(!sigaction(SIGSEGV, &action, NULL));
	wild_load();
	load(path);
	for (unsigned i = 0; i < 5; i++) {
		wild_load();
		CHECK_EQ(n, i + 2);
		check_mask(SIGSEGV, false);
	}
}

static void count(int sig)
{
	n++;
	siglongjmp(left, 1);
}

/* All are blocked when the library starts: so is SIGSEGV then, and objects can be touched. */
static void blocked(const char *path)
{
	sigset_t all, none;

	set(SIGSEGV, count, false);
	sigfillset(&all);
	sigemptyset(&none);
	CHECK(!sigprocmask(SIG_SETMASK, &all, NULL));
	load(path);
	shut(7);
	CHECK_EQ(object[size / 2], 7);
	check_mask(SIGSEGV, true);
	check_mask(SIGSTKFLT, true);
	CHECK(!sigprocmask(SIG_SETMASK, &none, NULL));
	fault();
	CHECK_EQ(n, 1);
}

/* All but SIGSEGV are: it is not blocked. So it is in the mask that an older jump restores. */
static void others(const char *path)
{
	static sigjmp_buf back;
	volatile bool again = false;
	sigset_t all;

	set(SIGSEGV, count, false);
	sigfillset(&all);
	CHECK(!sigprocmask(SIG_SETMASK, &all, NULL));
	if (sigsetjmp(back, 1)) {
		shut(9);
		CHECK_EQ(object[size / 2], 9);
		check_mask(SIGSEGV, true);
		return;
	}
	sigdelset(&all, SIGSEGV);
	CHECK(!sigprocmask(SIG_SETMASK, &all, NULL));
	load(path);
	for (unsigned i = 0; i < 3; i++) {
		fault();
		CHECK_EQ(n, i + 1);
		check_mask(SIGSEGV, false);
		check_mask(SIGSTKFLT, true);
	}
	CHECK(!again);
	again = true;
	siglongjmp(back, 1);
}

/* ---- threads: older than the library's start, and made by such behind it */

static sem_t started;
static _Thread_local sigjmp_buf mine;

static void count_here(int sig)
{
	siglongjmp(mine, 1);
}

/* A fault of this thread's runs the handler. */
static void fault_here(void)
{
	if (!sigsetjmp(mine, 1)) {
		*WILD = 1;
		FAIL("behind a wild store");
	}
}

static void run(pthread_t *thread, void *(*start)(void *), void *arg)
{
	CHECK(!pthread_create(thread, NULL, start, arg));
}

static void *has_it_open(void *unused)
{
	fault_here();
	check_mask(SIGSEGV, false);
	CHECK_EQ(object[size / 2], 5);
	return unused;
}

static void *has_it_blocked(void *unused)
{
	sigset_t mask;

	/* Before it has called anything. */
	CHECK_EQ(object[size / 2], 5);
	check_mask(SIGSEGV, true);
	check_mask(SIGSTKFLT, false);
	sigemptyset(&mask);
	sigaddset(&mask, SIGSEGV);
	CHECK(!pthread_sigmask(SIG_UNBLOCK, &mask, NULL));
	fault_here();
	return unused;
}

/* It has called nothing of the library's when it makes a thread. */
static void *makes_one(void *run_there)
{
	void *(*const start)(void *) = (void *(*)(void *))run_there;
	pthread_t thread;

	while (sem_wait(&started))
		;
	run(&thread, start, NULL);
	CHECK(!pthread_join(thread, NULL));
	check_mask(SIGSTKFLT, start == has_it_open);
	return start(NULL);
}

static void block(int sig, bool all)
{
	sigset_t mask;

	sigemptyset(&mask);
	if (all)
		sigfillset(&mask);
	if (sig)
		all ? sigdelset(&mask, sig) : sigaddset(&mask, sig);
	CHECK(!pthread_sigmask(SIG_SETMASK, &mask, NULL));
}

/* SIGSEGV blocked, or all but that: by this thread behind the start, and by others before it. */
static void inherited(const char *path)
{
	pthread_t older[2], thread;

	CHECK(!sem_init(&started, 0, 0));
	set(SIGSEGV, count_here, false);
	block(SIGSEGV, true);
	run(&older[0], makes_one, (void *)has_it_open);
	block(SIGSEGV, false);
	run(&older[1], makes_one, (void *)has_it_blocked);
	block(0, false);
	load(path);
	shut(5);
	block(SIGSEGV, false);
	run(&thread, has_it_blocked, NULL);
	CHECK(!pthread_join(thread, NULL));
	check_mask(SIGSEGV, true);
	block(SIGSEGV, true);
	run(&thread, has_it_open, NULL);
	CHECK(!pthread_join(thread, NULL));
	for (int i = 0; i < 2; i++)
		CHECK(!sem_post(&started));
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_join(older[i], NULL));
}

/* The child of vfork() looks at its mask, in its parent's memory. */
static void *forks(void *unused)
{
	pid_t child;
	int status;

	while (sem_wait(&started))
		;
	child = vfork();
	if (!child) {
		check_mask(SIGSEGV, true);
		check_mask(SIGSEGV, true);
		_exit(7);
	}
	CHECK(child > 0);
	while (waitpid(child, &status, 0) < 0)
		;
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	check_mask(SIGSEGV, true);
	return has_it_blocked(unused);
}

static void vforked(const char *path)
{
	pthread_t older;

	CHECK(!sem_init(&started, 0, 0));
	set(SIGSEGV, count_here, false);
	block(SIGSEGV, false);
	run(&older, forks, NULL);
	block(0, false);
	load(path);
	shut(5);
	CHECK(!sem_post(&started));
	CHECK(!pthread_join(older, NULL));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(const char *path);
	} cases[] = { { "touch", touch }, { "look", look_at_faults }, { "blocked", blocked }, { "others", others },
		      { "inherited", inherited }, { "vforked", vforked } };

	CHECK_EQ(argc, 3);
	if (getenv("TEST_SKIP")) {
		printf("skipped: %s\n", getenv("TEST_SKIP"));
		return 77;
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(argv[2], cases[i].name))
			continue;
		cases[i].run(argv[1]);
		return 0;
	}
	FAIL("no case %s", argv[2]);
}
