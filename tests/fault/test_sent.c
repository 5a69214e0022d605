/* SPDX-License-Identifier: MIT */
/* test_sent.c - signals that are sent while a lock is held or a fault is served: their handlers run after that. */
#include <pthread.h>
#include <setjmp.h>
#include <sys/wait.h>

#include "fault.h"

static const int sent[] = { SIGABRT, SIGTRAP, SIGFPE, SIGILL, SIGBUS, SIGSEGV, SIGUSR1 };
#define N_SENT ((int)(sizeof(sent) / sizeof(sent[0])))

static struct adsm_lock lock = ADSM_LOCK_INIT(ADSM_RANK_HOME);
static volatile int n_handled, n_values;
static volatile bool sends;		/* the fault handler sends them all */
static volatile uintptr_t nowhere = 8;
static volatile int cancel_state = PTHREAD_CANCEL_ENABLE;
static volatile bool interrupts;	/* each change of it is followed by a signal */
static volatile bool waits;		/* the fault handler is to wait, once */
static sigjmp_buf left;

static void send_jump(void)
{
	CHECK(!syscall(SYS_tgkill, getpid(), adsm_os_thread_id(), SIGUSR2));
}

/* The library's calls come here. */
int pthread_setcancelstate(int state, int *old)
{
	if (old)
		*old = cancel_state;
	cancel_state = state;
	if (interrupts)
		send_jump();
	return 0;
}

static void send_all(void)
{
	for (int i = 0; i < N_SENT; i++) {
		siginfo_t info = { .si_signo = sent[i], .si_code = SI_QUEUE, .si_value.sival_int = 77 };

		CHECK(!syscall(SYS_rt_tgsigqueueinfo, getpid(), adsm_os_thread_id(), sent[i], &info));
	}
}

static void wait_for_jump(const struct adsm_fault *unused)
{
	(void)unused;
	send_jump();
	CHECK(!"no signal came");
}

static enum adsm_fault_result on_fault(struct adsm_fault *fault)
{
	const int before = n_handled;
	const bool send = sends;

	if (!in_range(fault->address))
		return ADSM_FAULT_FOREIGN;
	if (waits) {
		waits = false;
		fault->wait = wait_for_jump;
		return ADSM_FAULT_WAIT;
	}
	adsm_lock(&lock);
	sends = false;
	if (send)
		send_all();
	CHECK(n_handled == before);
	permit((void *)(fault->address & ~(ADSM_PAGE_SIZE - 1)), ADSM_PROT_RW);
	adsm_unlock(&lock);
	return ADSM_FAULT_SERVED;
}

/* Touches what no other has touched. */
static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	n_values += info->si_code == SI_QUEUE ? info->si_value.sival_int : 0;
	store(page(n_handled++), 1);
}

static void close_all(void)
{
	CHECK(!adsm_engine_sigsegv.permit(range, RANGE_SIZE, ADSM_PROT_RW, ADSM_PROT_NONE));
	n_handled = n_values = 0;
}

static void check_all(uint64_t mask)
{
	CHECK(n_handled == N_SENT && n_values == 77 * N_SENT && mask_now() == mask);
}

static void on_raised(int sig)
{
	_exit(sig == SIGSEGV ? 42 : 43);
}

/* What an instruction raises does not wait for any lock. */
static int status_of_crash(void)
{
	struct adsm_sigset old;
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		CHECK(!adsm_sigsegv_action(&(struct sigaction){ .sa_handler = on_raised }, &(struct sigaction){ 0 }));
		adsm_os_signals_block(&old);
		load((void *)nowhere);
		_exit(44);
	}
	CHECK(waitpid(child, &status, 0) == child);
	return status;
}

static void on_jump(int sig)
{
	(void)sig;
	siglongjmp(left, 1);
}

/* A program's own handler, that asks the library. */
static void on_chained(int sig, siginfo_t *info, void *context)
{
	CHECK(adsm_sigsegv_handle(sig, info, context));
}

/* Handlers that leave, where a lock is taken, where it is given back, and while a fault waits. */
static void check_jumps(void)
{
	struct sigaction jump = { .sa_handler = on_jump };
	struct sigaction chained = { .sa_sigaction = on_chained, .sa_flags = SA_SIGINFO };
	const uint64_t mask = mask_now();
	struct adsm_sigset old;

	CHECK(!sigaction(SIGUSR2, &jump, NULL) && !sigaction(SIGSEGV, &chained, NULL));
	interrupts = true;
	if (!sigsetjmp(left, 1)) {
		adsm_os_signals_block(&old);
		adsm_os_signals_restore(&old);
		CHECK(!"no signal came");
	}
	interrupts = false;
	CHECK(cancel_state == PTHREAD_CANCEL_ENABLE && mask_now() == mask);
	close_all();
	waits = true;
	if (!sigsetjmp(left, 1))
		store(page(0), 1);
	CHECK(!waits && cancel_state == PTHREAD_CANCEL_ENABLE && mask_now() == mask);
	store(page(0), 1);
	CHECK(cancel_state == PTHREAD_CANCEL_ENABLE && mask_now() == mask);
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_NODEFER };
	struct adsm_sigset old, inner;
	uint64_t mask;
	int status;

	if (WITH_TSAN) {
		puts("skipped: ThreadSanitizer delivers signals late, and with all others masked");
		return 77;
	}
	range_create();
	for (int i = 0; i < N_SENT; i++)
		CHECK(!sigaction(sent[i], &action, NULL));
	CHECK(adsm_engine_sigsegv.start(on_fault) == 0);
	mask = mask_now();

	adsm_os_signals_block(&old);
	adsm_lock(&lock);
	send_all();
	CHECK(!n_handled);
	/* Nor at the end of one within. */
	adsm_os_signals_block(&inner);
	adsm_os_signals_restore(&inner);
	CHECK(!n_handled);
	adsm_unlock(&lock);
	adsm_os_signals_restore(&old);
	check_all(mask);

	close_all();
	sends = true;
	store(page(N_PAGES - 1), 1);
	check_all(mask);

	status = status_of_crash();
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);

	check_jumps();
	return 0;
}
