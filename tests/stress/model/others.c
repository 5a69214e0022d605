/* SPDX-License-Identifier: MIT */
/* others.c - signals whose handlers touch shared memory, and children that end immediately. */
#include "model.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Those that compilers inside drivers do not take for themselves. */
static const int signals[] = { SIGURG, SIGIO, SIGALRM, SIGVTALRM };
static pid_t process;
extern char **environ;

/* Only the handler touches its object, except calls while all threads wait with signals blocked. */
static void on_signal(int sig)
{
	const int errno_ = errno;
	struct piece piece;
	unsigned char *shadow;
	volatile unsigned char *p;
	size_t at;

	/* ThreadSanitizer keeps a signal, and calls for it in the child of a fork, too. */
	if (getpid() != process)
		return;
	/* A driver's thread; or one that is inside malloc, say, where a driver cannot be called for it. */
	if (!me || !me->for_signals.p || (round_is.drivers && !me->may_touch))
		return;
	piece = (struct piece){ &me->for_signals, 0, me->for_signals.size / 2 };
	if (me->n_signal_pieces && draw_from(&me->signal_state) % 3)
		piece = me->signal_pieces[draw_from(&me->signal_state) % me->n_signal_pieces];
	at = piece.first + draw_from(&me->signal_state) % piece.size;
	p = piece.object->p + at;
	shadow = piece.object->shadow + at;
	if (*p != *shadow)
		fail_byte(piece.object, at, *p, *shadow);
	if (draw_from(&me->signal_state) % 2)
		*p = ++*shadow;
	atomic_fetch_add_explicit(&record->n_bytes, 1, memory_order_relaxed);
	errno = errno_;
}

static sigset_t all_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&set, signals[i]);
	return set;
}

void block_signals(bool block)
{
	const sigset_t set = all_signals();

	CHECK(!pthread_sigmask(block ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL));
}

void start_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = round_is.interrupts ? 0 : SA_RESTART,
				    .sa_mask = all_signals() };

	/* Neither may come in the midst of the other. */
	start_leaving(&action.sa_mask, round_is.stacks);
	sigaddset(&action.sa_mask, LEAVE_SIGNAL);
	start_behind(&action.sa_mask);
	process = getpid();
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		CHECK(!sigaction(signals[i], &action, NULL));
}

void stop_signals(void)
{
	const struct itimerval never = { 0 };

	CHECK(!setitimer(ITIMER_REAL, &never, NULL));
}

/* To this thread, to another, to any, or later. */
void send_signal(void)
{
	const int sig = signals[draw(sizeof(signals) / sizeof(signals[0]))];
	const union sigval value = { .sival_int = 1 };
	const struct itimerval soon = { .it_value.tv_usec = (long)draw(2000) + 1,
					.it_interval.tv_usec = draw(2) ? (long)draw(5000) + 500 : 0 };

	note("signal", NULL, (unsigned)sig);
	switch (draw(5)) {
	case 0:
		me->may_touch = 1;
		CHECK(!raise(sig));
		me->may_touch = 0;
		break;
	case 1: CHECK(!pthread_sigqueue(workers[draw(round_is.n_workers)].thread, sig, value)); break;
	case 2: CHECK(!pthread_kill(workers[draw(round_is.n_workers)].thread, sig)); break;
	case 3: CHECK(!sigqueue(getpid(), sig, value)); break;
	case 4: CHECK(!setitimer(ITIMER_REAL, &soon, NULL)); break;
	}
}

/* ---- children */

void fork_child(void)
{
	static char name[] = "true";
	char *const arguments[] = { name, NULL };
	const size_t how = draw(3);
	pid_t child;
	int status, error = 0;

	if (draw(3))
		return;
	note("child", NULL, (unsigned)how);
	if (how == 0) {
		child = fork();
		if (!child)
			_exit(7);
	} else if (how == 1) {
		child = vfork();
		if (!child)
			_exit(7);
	} else {
		error = posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ);
	}
	CHECK(!error && child > 0);
	while (waitpid(child, &status, 0) < 0)
		CHECK(errno == EINTR);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), how == 2 ? 0 : 7);
}
