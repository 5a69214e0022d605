/* SPDX-License-Identifier: MIT */
/*
 * test_foreign.c - SIGSEGVs that are not ours: with the engine started the application sees exactly what
 * it sees without. Every way to handle the signal meets every way to get it, twice, in a child each.
 */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "fault.h"

#define STACK_SIZE 65536

#define DISPOSITIONS(X) \
	X(DEFAULT) X(IGNORED) X(PLAIN) X(WITH_INFO) X(RESETHAND) X(NODEFER) X(WITH_MASK) X(ON_STACK) X(RESTART)
/* Raised by an instruction up to JUMP, sent from there on. */
#define KINDS(X) \
	X(NULL_LOAD) X(READ_ONLY_STORE) X(NON_CANONICAL) X(NO_STACK) X(JUMP) \
	X(KILL) X(KILL_IN_READ) X(RAISE) X(SIGQUEUE) X(PTHREAD_KILL) X(FORGED_ADDRESS)

#define ENUMERATOR(name) name,
#define NAME(name) #name,
enum disposition { DISPOSITIONS(ENUMERATOR) N_DISPOSITIONS };
enum kind { KINDS(ENUMERATOR) N_KINDS };
static const char *const disposition_names[] = { DISPOSITIONS(NAME) };
static const char *const kind_names[] = { KINDS(NAME) };

/* What a child saw; in memory it shares with the test. */
struct report {
	volatile int n;
	int read_result, read_errno;
	struct {
		int sig, code, error, from_sender, value, on_stack;
		uintptr_t address, instruction;
		uint64_t mask, context_mask;
	} calls[4];
	uint64_t mask_after;
};

static struct report *report;
static volatile bool raised;	/* by an instruction: if a handler returned, the same signal would be raised again */
static volatile pid_t sender;
static char *read_only, *stack;
static sigjmp_buf left;

static enum adsm_fault_result on_fault(struct adsm_fault *fault)
{
	errno = 5;
	if (in_range(fault->address))
		_exit(8);	/* none of these is a data access to it */
	return ADSM_FAULT_FOREIGN;
}

/* ---- the application's handlers */

static void record(int sig, siginfo_t *info, ucontext_t *context)
{
	int i = report->n;

	if (i >= 4)
		_exit(7);
	report->calls[i].sig = sig;
	report->calls[i].error = errno;
	report->calls[i].mask = WITH_TSAN ? 0 : mask_now();
	report->calls[i].on_stack = (uintptr_t)__builtin_frame_address(0) - (uintptr_t)stack < STACK_SIZE;
	if (info) {
		report->calls[i].code = info->si_code;
		if (info->si_code > 0) {
			report->calls[i].address = (uintptr_t)info->si_addr;
		} else {
			report->calls[i].from_sender = info->si_pid == sender;
			report->calls[i].value = info->si_code == SI_QUEUE ? info->si_value.sival_int : 0;
		}
		memcpy(&report->calls[i].context_mask, &context->uc_sigmask, 8);
		/* Where a signal from elsewhere meets us is chance. */
		if (raised) {
#if defined(__x86_64__)
			report->calls[i].instruction = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#else
			report->calls[i].instruction = (uintptr_t)context->uc_mcontext.pc;
#endif
		}
	}
	report->n++;
	if (raised)
		siglongjmp(left, 1);
}

static void handler(int sig)
{
	record(sig, NULL, NULL);
}

static void handler_with_info(int sig, siginfo_t *info, void *context)
{
	record(sig, info, context);
}

static void set_disposition(enum disposition d)
{
	struct sigaction action = { .sa_handler = handler };
	stack_t alternate = { .ss_sp = stack, .ss_size = STACK_SIZE };

	if (d == DEFAULT || d == IGNORED)
		action.sa_handler = d == DEFAULT ? SIG_DFL : SIG_IGN;
	if (d == WITH_INFO || d >= NODEFER) {
		action.sa_sigaction = handler_with_info;
		action.sa_flags = SA_SIGINFO;
	}
	if (d == RESETHAND)
		action.sa_flags = SA_RESETHAND;
	if (d == NODEFER)
		action.sa_flags |= SA_NODEFER;
	if (d == RESTART)
		action.sa_flags |= SA_RESTART;
	if (d == WITH_MASK) {
		sigaddset(&action.sa_mask, SIGUSR1);
		sigaddset(&action.sa_mask, SIGRTMIN + 3);
	}
	if (d == ON_STACK) {
		action.sa_flags |= SA_ONSTACK;
		CHECK(sigaltstack(&alternate, NULL) == 0);
	}
	CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
}

/* ---- the faults and the senders */

WILD void call(void *p)
{
	((void (*)(void))(uintptr_t)p)();
}

/* As where a stack has overflown; what has moved its pointer never comes back. */
WILD void load_without_stack(void)
{
#if defined(__x86_64__)
	__asm__ volatile("mov %0, %%rsp\n\tmov (%1), %%eax" : : "r"(page(2)), "r"(NULL) : "eax", "memory");
#else
	__asm__ volatile("mov sp, %0\n\tldr w0, [%1]" : : "r"(page(2)), "r"(NULL) : "x0", "memory");
#endif
}

/* Return once @pid sleeps in system call @nr. */
static void await_sleep(pid_t pid, long nr)
{
	char path[64], text[256] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	while (text[0] < '0' || text[0] > '9' || atol(text) != nr) {
		sched_yield();
		file = fopen(path, "r");
		CHECK(file && fgets(text, sizeof(text), file));
		fclose(file);
	}
}

static void kill_from_another(bool in_read, bool is_handled)
{
	int target = getpid(), n = report->n, fds[2];
	char c;

	CHECK(pipe(fds) == 0);
	sender = fork();
	if (sender == 0) {
		await_sleep(target, in_read ? SYS_read : SYS_wait4);
		kill(target, SIGSEGV);
		/* A read that continues after the handler gets a byte. */
		while (is_handled && report->n == n && getppid() == target)
			sched_yield();
		_exit(write(fds[1], "", 1) != 1);
	}
	if (in_read) {
		report->read_result = (int)read(fds[0], &c, 1);
		report->read_errno = report->read_result < 0 ? errno : 0;
	}
	while (waitpid(sender, NULL, 0) != sender)
		;
	close(fds[0]);
	close(fds[1]);
}

static void get_signal(enum kind kind, bool is_handled)
{
	siginfo_t forged = { .si_signo = SIGSEGV, .si_code = SI_QUEUE };

	sender = getpid();
	switch (kind) {
	case NULL_LOAD:
		load(NULL);
		break;
	case READ_ONLY_STORE:
		store(read_only + 8, 1);
		break;
	case NON_CANONICAL:
		load((void *)0x8000000000000000);
		break;
	case NO_STACK:
		load_without_stack();
		break;
	case JUMP:
		call(page(1) + 16);
		break;
	case KILL:
	case KILL_IN_READ:
		kill_from_another(kind == KILL_IN_READ, is_handled);
		break;
	case RAISE:
		raise(SIGSEGV);
		break;
	case SIGQUEUE:
		sigqueue(getpid(), SIGSEGV, (union sigval){ .sival_int = 4242 });
		break;
	case PTHREAD_KILL:
		pthread_kill(pthread_self(), SIGSEGV);
		break;
	case FORGED_ADDRESS:
		forged.si_addr = page(1);
		syscall(SYS_rt_sigqueueinfo, getpid(), SIGSEGV, &forged);
		break;
	case N_KINDS:
		break;
	}
}

static void child(enum disposition d, enum kind kind, bool with_engine)
{
	uint64_t blocked = SIGNAL_BIT(SIGUSR2);

	/* A page fault earlier leaves its marks in the context of every later signal. */
	set_disposition(PLAIN);
	raised = true;
	if (!sigsetjmp(left, 1))
		load(page(0));
	CHECK(report->n == 1);
	memset(report, 0, sizeof(*report));

	set_disposition(d);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &blocked, NULL, 8);
	if (with_engine)
		CHECK(adsm_engine_sigsegv.start(on_fault) == 0);
	raised = kind <= JUMP;
	for (volatile int round = 0; round < 2; round++) {
		errno = 1234;
		if (!sigsetjmp(left, 1))
			get_signal(kind, d != DEFAULT && d != IGNORED);
	}
	report->mask_after = mask_now();
	_exit(9);
}

static int run(enum disposition d, enum kind kind, bool with_engine, struct report *ret_seen)
{
	int status, pid;

	memset(report, 0, sizeof(*report));
	pid = fork();
	if (pid == 0)
		child(d, kind, with_engine);
	CHECK(waitpid(pid, &status, 0) == pid);
	memcpy(ret_seen, report, sizeof(*report));
	return status;
}

static void compare(enum disposition d, enum kind kind)
{
	struct report without, with;
	int expected = run(d, kind, false, &without), status = run(d, kind, true, &with);

	if (status != expected || memcmp(&with, &without, sizeof(with))) {
		fprintf(stderr, "%s, %s: status %x for %x, %d calls for %d\n", disposition_names[d],
			kind_names[kind], status, expected, with.n, without.n);
		for (int i = 0; i < 2; i++) {
			const struct report *s = i ? &with : &without;

			fprintf(stderr, "  code %d errno %d from_sender %d value %d on_stack %d address %lx "
				"instruction %lx mask %lx context mask %lx read %d (%d)\n", s->calls[0].code,
				s->calls[0].error, s->calls[0].from_sender, s->calls[0].value,
				s->calls[0].on_stack, s->calls[0].address, s->calls[0].instruction,
				s->calls[0].mask, s->calls[0].context_mask, s->read_result, s->read_errno);
		}
		exit(1);
	}
	/* What makes the comparison worth something. */
	if (d == DEFAULT || (d == IGNORED && kind <= JUMP) || (d != ON_STACK && kind == NO_STACK))
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV && with.n == 0);
	else if (d == RESETHAND)
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV && with.n == 1);
	else
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 9 && with.n == (d == IGNORED ? 0 : 2));
	if (d == ON_STACK)
		CHECK(with.calls[0].on_stack && with.calls[1].on_stack);
	if (d == WITH_INFO && kind == SIGQUEUE)
		CHECK(with.calls[0].value == 4242 && with.calls[0].from_sender);
	if (d == RESTART && kind == KILL_IN_READ)
		CHECK(with.read_result == 1);
}

/* Core files are written as before, where they are written here at all. */
static void test_core(void)
{
	char dir[] = "/tmp/adsm-core-XXXXXX", pattern[2] = "";
	struct rlimit limit;
	struct dirent *entry;
	FILE *file = fopen("/proc/sys/kernel/core_pattern", "r");
	DIR *folder;

	if (file && fgets(pattern, sizeof(pattern), file) && pattern[0] != '/' && pattern[0] != '|' &&
	    mkdtemp(dir)) {
		CHECK(chdir(dir) == 0 && getrlimit(RLIMIT_CORE, &limit) == 0);
		limit.rlim_cur = limit.rlim_max;
		CHECK(setrlimit(RLIMIT_CORE, &limit) == 0);
		compare(DEFAULT, NULL_LOAD);
		compare(DEFAULT, KILL);
		folder = opendir(".");
		while (folder && (entry = readdir(folder)))
			unlink(entry->d_name);
		if (folder)
			closedir(folder);
		CHECK(chdir("/") == 0 && rmdir(dir) == 0);
	}
	if (file)
		fclose(file);
}

int main(void)
{
	struct rlimit limit;

	range_create();
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	read_only = mmap(NULL, ADSM_PAGE_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(report != MAP_FAILED && read_only != MAP_FAILED && stack != MAP_FAILED);
	CHECK(getrlimit(RLIMIT_CORE, &limit) == 0);
	limit.rlim_cur = 0;
	CHECK(setrlimit(RLIMIT_CORE, &limit) == 0);
	for (enum disposition d = 0; d < N_DISPOSITIONS; d++) {
		for (enum kind kind = 0; kind < N_KINDS; kind++)
			compare(d, kind);
	}
	test_core();
	return 0;
}
