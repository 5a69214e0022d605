/* SPDX-License-Identifier: MIT */
/* node/handler.c - SIGSEGV and SIGBUS, shared with who had them before. */
#include "handler.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/decode.h"
#include "base/os.h"
#include "base/syscall.h"

static struct {
	const int signal;
	struct sigaction first;		/* found at the start */
	struct sigaction previous;	/* found when it was last taken */
} taken[] = { { .signal = SIGSEGV }, { .signal = SIGBUS } };

static _Atomic(adsm_touch_handler *) touch_handler;	/* NULL: given back */
static ucontext_t been_here;		/* marks the context of a signal that is being forwarded */

/* Not through libc: all zeros are the default. */
static void set_default(int sig)
{
	static const uint64_t action[4];

	sys(SYS_rt_sigaction, sig, action, NULL, KERNEL_SIGSET_SIZE);
}

/* What the kernel would have done without us: the instruction runs once more, or the signal is sent once more. */
static void die(int sig, const siginfo_t *info)
{
	set_default(sig);
	if (info->si_code <= 0)
		sys(SYS_tgkill, getpid(), adsm_os_thread_id(), sig);
}

static void forward(int sig, siginfo_t *info, ucontext_t *context)
{
	const size_t i = sig == SIGBUS;
	/* Whom we forward to had taken it from us, and forwards to us: then it is for who came before us. */
	const bool again = context->uc_link == &been_here;
	const struct sigaction *action = again ? &taken[i].first : &taken[i].previous;
	uint64_t mask, more;

	if (action->sa_handler == SIG_IGN && info->si_code <= 0)
		return;
	if (action->sa_handler == SIG_IGN || action->sa_handler == SIG_DFL) {
		die(sig, info);
		return;
	}
	context->uc_link = &been_here;
	memcpy(&mask, &context->uc_sigmask, sizeof(mask));
	memcpy(&more, &action->sa_mask, sizeof(more));
	mask |= more | SIGNAL_BIT(sig);
	sys(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, KERNEL_SIGSET_SIZE);
	if (action->sa_flags & SA_SIGINFO)
		action->sa_sigaction(sig, info, context);
	else
		action->sa_handler(sig);
	context->uc_link = NULL;
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	const int saved_errno = errno;
	adsm_touch_handler *handler = atomic_load(&touch_handler);
	uintptr_t instruction;
	bool write;

	/* One that was sent has no address. */
	if (!handler || info->si_code <= 0 || !adsm_decode_fault(context, &instruction, &write) ||
	    !handler(sig, (uintptr_t)info->si_addr, write))
		forward(sig, info, context);
	errno = saved_errno;
}

int adsm_handler_take(adsm_touch_handler *handler)
{
	struct sigaction ours = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK }, now;

	/* All are blocked meanwhile: a handler of the program's may touch pages, and want the lock of this thread. */
	memset(&ours.sa_mask, 0xff, sizeof(ours.sa_mask));
	for (size_t i = 0; i < 2; i++) {
		if (sigaction(taken[i].signal, NULL, &now))
			return -errno;
		if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_signal)
			continue;
		taken[i].previous = now;
		if (!atomic_load(&touch_handler))
			taken[i].first = now;
	}
	atomic_store(&touch_handler, handler);
	for (size_t i = 0; i < 2; i++)
		if (sigaction(taken[i].signal, &ours, NULL))
			return -errno;
	return 0;
}

void adsm_handler_give_back(void)
{
	struct sigaction now;

	atomic_store(&touch_handler, NULL);
	for (size_t i = 0; i < 2; i++)
		if (!sigaction(taken[i].signal, NULL, &now) && now.sa_flags & SA_SIGINFO &&
		    now.sa_sigaction == on_signal)
			sigaction(taken[i].signal, &taken[i].first, NULL);
}
