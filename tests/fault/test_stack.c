/* SPDX-License-Identifier: MIT */
/*
 * test_stack.c - alternate stacks that are too small: told in a line, and the end; never a fault for ever. What is not
 * the library's goes to the program's handler there, too.
 */
#include <sys/wait.h>

#include "fault.h"

#define MAPPED ((size_t)65536)		/* of a stack that ends where memory does */
#define LEAST ((size_t)2048)		/* the kernel takes no smaller one */
#define ENOUGH ((size_t)32768)
#define SECONDS 60			/* for a child, which takes no time: only a failure waits */

static char *volatile lowest;			/* where the kernel's frame of a signal ends */
static volatile uintptr_t nowhere = 8;

/* What a child does, the program's handler, and what lies below its stack. */
struct act {
	void (*run)(void);
	void (*handler)(int sig);
	int below;
};

static enum adsm_fault_result on_fault(struct adsm_fault *fault)
{
	if (!in_range(fault->address))
		return ADSM_FAULT_FOREIGN;
	if (fault->cramped)
		return ADSM_FAULT_LOST;
	permit((void *)(fault->address & ~(ADSM_PAGE_SIZE - 1)), ADSM_PROT_RW);
	return ADSM_FAULT_SERVED;
}

static void on_usr1(int sig)
{
	(void)sig;
	lowest = __builtin_frame_address(0);
}

static char *new_stack(int below)
{
	char *memory = mmap(NULL, 2 * MAPPED, below, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED && !mprotect(memory + MAPPED, MAPPED, PROT_READ | PROT_WRITE));
	return memory + MAPPED;
}

static size_t frame_size(void)
{
	stack_t stack = { .ss_sp = new_stack(PROT_NONE), .ss_size = MAPPED }, none = { .ss_flags = SS_DISABLE };
	struct sigaction action = { .sa_handler = on_usr1, .sa_flags = SA_ONSTACK };

	CHECK(!sigaltstack(&stack, NULL) && !sigaction(SIGUSR1, &action, NULL) && !raise(SIGUSR1));
	CHECK(!sigaltstack(&none, NULL));
	return (size_t)((char *)stack.ss_sp + MAPPED - lowest);
}

static void touch(void)
{
	store(page(1), 1);
}

static void crash(void)
{
	load((void *)nowhere);
}

static void send(void)
{
	CHECK(!syscall(SYS_tgkill, getpid(), adsm_os_thread_id(), SIGSEGV));
}

/* Not by a function that must be found first: that needs more room. */
static void on_segv(int sig)
{
	syscall(SYS_exit_group, sig == SIGSEGV ? 42 : 43);
}

/* Needs more than there is. */
static void on_segv_deep(int sig)
{
	static volatile size_t lowest_of_it;		/* not known before, so that none of it can be spared */
	volatile char bytes[ENOUGH];

	bytes[lowest_of_it] = (char)sig;
	syscall(SYS_exit_group, 44 + bytes[lowest_of_it]);
}

static const struct act touches = { touch, SIG_DFL, PROT_NONE }, overruns = { touch, SIG_DFL, PROT_READ | PROT_WRITE };
static const struct act crashes = { crash, on_segv, PROT_NONE }, sends = { send, on_segv, PROT_NONE };
static const struct act deep = { crash, on_segv_deep, PROT_NONE };

static void child(const struct act *act, size_t size, int error)
{
	struct sigaction action = { .sa_handler = act->handler, .sa_flags = SA_ONSTACK }, old;
	stack_t stack = { .ss_sp = new_stack(act->below), .ss_size = size };

	CHECK(dup2(error, 2) == 2);
	if (sigaltstack(&stack, NULL))
		_exit(errno == ENOMEM ? 0 : 3);
	adsm_sigsegv_in_process();
	CHECK(!adsm_sigsegv_action(&action, &old));
	act->run();
	_exit(0);
}

/* The status of a child that does that on such a stack, and whether it has told. */
static int status_of(const struct act *act, size_t size, bool *ret_told)
{
	const struct timespec limit = { .tv_sec = SECONDS };
	int status, said[2];
	char text[512];
	sigset_t set;
	ssize_t n;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	CHECK(!pipe(said) && !sigprocmask(SIG_BLOCK, &set, NULL));
	pid = fork();
	if (!pid)
		child(act, size, said[1]);
	CHECK(pid > 0 && !close(said[1]));
	if (sigtimedwait(&set, NULL, &limit) != SIGCHLD) {
		kill(pid, SIGKILL);
		fprintf(stderr, "a stack of %zu bytes: no end\n", size);
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	n = read(said[0], text, sizeof(text) - 1);
	CHECK(n >= 0 && !close(said[0]));
	text[n] = '\0';
	*ret_told = strstr(text, "too small") != NULL;
	return status;
}

int main(void)
{
	size_t frame, n_told = 0;
	bool told;

	if (WITH_TSAN) {
		puts("skipped: ThreadSanitizer's handlers have stacks of their own needs");
		return 77;
	}
	range_create();
	CHECK(adsm_engine_sigsegv.start(on_fault) == 0);
	frame = frame_size();
	for (size_t size = LEAST; size < frame + ADSM_SIGSEGV_STACK + 256; size += 64) {
		int status = status_of(&touches, size, &told);

		if ((status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)) || (told && !status)) {
			fprintf(stderr, "a stack of %zu bytes: status %x\n", size, status);
			return 1;
		}
		/* Too small it is, and yet there is room to say so. */
		if (size > frame + ADSM_SIGSEGV_STACK / 2 && size < frame + ADSM_SIGSEGV_STACK - 512)
			CHECK(told);
		n_told += told;
	}
	CHECK(n_told);
	/* It does not continue either if the handler is beyond the end; nothing else would report that. */
	for (size_t size = frame - 16; size < frame + 256; size += size < frame + 16 ? 4 : 64)
		CHECK(status_of(&overruns, size, &told) && (told || size < frame));
	for (int i = 0; i < 2; i++) {
		const struct act *act = i ? &sends : &crashes;
		int status = status_of(act, frame + ADSM_SIGSEGV_STACK / 2 + 64, &told);

		if (!WIFEXITED(status) || WEXITSTATUS(status) != 42 || told) {
			fprintf(stderr, "%s: status %x\n", i ? "sent" : "a crash", status);
			return 1;
		}
	}
	CHECK(WIFSIGNALED(status_of(&deep, ENOUGH, &told)) && !told);
	CHECK(!status_of(&touches, ENOUGH, &told) && !told);
	return 0;
}
