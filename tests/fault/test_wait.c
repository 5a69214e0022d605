/* SPDX-License-Identifier: MIT */
/* test_wait.c - faults that wait: the application's signals are delivered, and their handlers may leave permanently. */
#include <setjmp.h>
#include <sys/time.h>

#include "fault.h"

static int wake[2];			/* a byte here ends the wait */
static volatile int n_asked, n_waits, n_handled, n_nested;
static uint64_t mask_in_wait;
static volatile bool leave;		/* the next handler does not return */
static sigjmp_buf left;

static void wait_for_byte(const struct adsm_fault *fault)
{
	char c;

	CHECK(in_range(fault->address) && fault->wait_seq == 42);
	n_waits++;
	mask_in_wait = mask_now();
	CHECK(syscall(SYS_tgkill, getpid(), adsm_os_thread_id(), SIGUSR1) == 0);
	while (syscall(SYS_read, wake[0], &c, 1) != 1)
		CHECK(errno == EINTR);
}

/* Pages 0 to 7 wait once, the others are served immediately. */
static enum adsm_fault_result on_fault(struct adsm_fault *fault)
{
	static volatile bool waited[8];
	uintptr_t i = (fault->address - (uintptr_t)range) / ADSM_PAGE_SIZE;

	if (!in_range(fault->address))
		return ADSM_FAULT_FOREIGN;
	CHECK(!fault->wait && !fault->wait_seq);	/* asked anew each time */
	CHECK(mask_now() & SIGNAL_BIT(SIGUSR1));
	n_asked++;
	if (i < 8 && !waited[i]) {
		waited[i] = true;
		fault->wait = wait_for_byte;
		fault->wait_seq = 42;
		errno = 5;
		return ADSM_FAULT_WAIT;
	}
	permit((void *)(fault->address & ~(ADSM_PAGE_SIZE - 1)), ADSM_PROT_RW);
	return ADSM_FAULT_SERVED;
}

/* Comes while the wait lasts: touches another object, then ends the wait or leaves it. */
static void on_usr1(int sig)
{
	int saved_errno = errno;

	(void)sig;
	n_handled++;
	store(page(8 + n_handled), 1);
	n_nested++;
	if (leave)
		siglongjmp(left, 1);
	CHECK(errno == 1234);
	CHECK(write(wake[1], "", 1) == 1);
	errno = saved_errno;
}

static void on_alarm(int sig)
{
	(void)sig;
	CHECK(write(wake[1], "", 1) == 1);
}

static void on_usr1_quiet(int sig)
{
	(void)sig;
	n_handled++;
}

int main(void)
{
	struct sigaction usr1 = { .sa_handler = on_usr1 }, quiet = { .sa_handler = on_usr1_quiet };
	struct sigaction alarm_action = { .sa_handler = on_alarm };
	struct itimerval soon = { .it_value = { .tv_usec = 2000 } };
	uint64_t blocked = SIGNAL_BIT(SIGUSR2), before;

	if (WITH_TSAN) {
		puts("skipped: ThreadSanitizer delivers signals late, and with all others masked");
		return 77;
	}
	range_create();
	CHECK(pipe(wake) == 0);
	CHECK(adsm_engine_sigsegv.start(on_fault) == 0);
	sigaction(SIGUSR1, &usr1, NULL);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &blocked, NULL, 8);
	before = mask_now();

	/* The handler that ends the wait runs in it, and its own touch is served. */
	errno = 1234;
	store(page(0), 1);
	CHECK(errno == 1234);
	CHECK(n_waits == 1 && n_handled == 1 && n_nested == 1 && n_asked == 3);
	CHECK(mask_in_wait == before && mask_now() == before);

	/* Left permanently: nothing remains locked, masked or half done. */
	leave = true;
	if (!sigsetjmp(left, 1)) {
		store(page(1), 1);
		CHECK(!"the wait ended by itself");
	}
	leave = false;
	CHECK(n_waits == 2 && n_handled == 2 && mask_now() == before);
	store(page(9 + n_handled), 1);
	errno = 1234;
	store(page(2), 1);
	CHECK(n_waits == 3 && n_handled == 3 && mask_now() == before);

	/* A timer, too. */
	sigaction(SIGUSR1, &quiet, NULL);
	sigaction(SIGALRM, &alarm_action, NULL);
	CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
	store(page(3), 1);
	CHECK(n_waits == 4 && n_handled == 4 && mask_now() == before);
	return 0;
}
