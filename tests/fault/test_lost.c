/* SPDX-License-Identifier: MIT */
/* test_lost.c - faults that cannot be served: the SIGBUS that a page which cannot be read would give. */
#include <setjmp.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "fault.h"

enum disposition { DEFAULT, IGNORED, HANDLED, HANDLED_SIGINFO, BLOCKED, HANDLED_BLOCKED, N_DISPOSITIONS };

/* What a child saw; in memory it shares with the test. */
struct report {
	int n_handled, code, error, instruction_in_load;
	intptr_t offset;	/* of the address, in the page */
	uint64_t mask, mask_after;
};

static struct report *report;
static char *bad;		/* the page to read */
static sigjmp_buf left;

static enum adsm_fault_result on_fault(struct adsm_fault *fault)
{
	errno = 5;
	return in_range(fault->address) ? ADSM_FAULT_LOST : ADSM_FAULT_FOREIGN;
}

static void on_bus_siginfo(int sig, siginfo_t *info, void *context)
{
	const mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
	uintptr_t instruction = (uintptr_t)m->gregs[REG_RIP];
#else
	uintptr_t instruction = (uintptr_t)m->pc;
#endif

	(void)sig;
	report->n_handled++;
	report->code = info->si_code;
	report->error = errno;
	report->offset = (char *)info->si_addr - bad;
	report->instruction_in_load = instruction - (uintptr_t)load < 256;
	report->mask = mask_now();
	siglongjmp(left, 1);
}

static void on_bus(int sig)
{
	(void)sig;
	report->n_handled++;
	report->error = errno;
	report->mask = mask_now();
	siglongjmp(left, 1);
}

static void child(enum disposition d)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	uint64_t blocked = SIGNAL_BIT(SIGUSR2) | (d >= BLOCKED ? SIGNAL_BIT(SIGBUS) : 0);

	if (d == IGNORED)
		action.sa_handler = SIG_IGN;
	if (d == HANDLED || d == HANDLED_BLOCKED)
		action.sa_handler = on_bus;
	if (d == HANDLED_SIGINFO) {
		action.sa_sigaction = on_bus_siginfo;
		action.sa_flags = SA_SIGINFO;
	}
	sigaddset(&action.sa_mask, SIGUSR1);
	sigaction(SIGBUS, &action, NULL);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &blocked, NULL, 8);
	errno = 1234;
	for (volatile int round = 0; round < 2; round++) {
		if (!sigsetjmp(left, 1))
			load(bad + 20);
		report->mask_after = mask_now();
	}
	_exit(9);
}

static int run(enum disposition d, bool ours, struct report *ret_seen)
{
	int status, pid;
	void *file;
	int fd;

	memset(report, 0, sizeof(*report));
	pid = fork();
	if (pid == 0) {
		if (ours) {
			range_create();
			bad = page(1);
			CHECK(adsm_engine_sigsegv.start(on_fault) == 0);
		} else {
			/* A mapping beyond the end of its file. */
			CHECK(adsm_os_memfd("empty", 0, &fd) == 0);
			CHECK(adsm_os_map(NULL, ADSM_PAGE_SIZE, fd, 0, ADSM_PROT_RW, &file) == 0);
			bad = file;
		}
		child(d);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	*ret_seen = *report;
	return status;
}

int main(void)
{
	struct report kernel, ours;

	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(report != MAP_FAILED);
	for (enum disposition d = 0; d < N_DISPOSITIONS; d++) {
		int kernel_status = run(d, false, &kernel), status = run(d, true, &ours);

		fprintf(stderr, "disposition %d: status %x, handled %d\n", d, status, ours.n_handled);
		CHECK(status == kernel_status);
		CHECK(!memcmp(&ours, &kernel, sizeof(ours)));
		if (d == HANDLED || d == HANDLED_SIGINFO)
			CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 9 && ours.n_handled == 2);
		else
			CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS && ours.n_handled == 0);
		if (d == HANDLED_SIGINFO)
			CHECK(ours.code == BUS_ADRERR && ours.offset == 20 && ours.instruction_in_load);
	}
	return 0;
}
