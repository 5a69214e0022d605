/* SPDX-License-Identifier: MIT */
/* waits.c - calls that change the signal mask while they last. */
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include "engine/mask.h"
#include "range.h"

/* Headers do not declare these any longer, or declare them only for other standards. */
int __sigpause(int sig_or_mask, int is_sig);
int __xpg_sigpause(int sig);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask, size_t size);

ADSM_REALS(sigsuspend, ppoll, __ppoll_chk, pselect, epoll_pwait, epoll_pwait2)

struct waiting {
	bool entered;
	struct adsm_mask_call outer;
	sigset_t mask;
};

static const sigset_t *enter(struct waiting *waiting, const sigset_t *mask)
{
	if (!mask || !atomic_load_explicit(&adsm_mask_hidden, memory_order_relaxed) ||
	    (!adsm_may_be_shared(mask, sizeof(uint64_t)) && !adsm_range_readable(mask, sizeof(uint64_t))))
		return mask;
	/* The caller's set may be only one word long, as the kernel's. */
	sigemptyset(&waiting->mask);
	waiting->mask.__val[0] = adsm_mask_to_kernel(mask->__val[0]);
	adsm_mask_enter(mask->__val[0], &waiting->outer);
	waiting->entered = true;
	return &waiting->mask;
}

static void leave(struct waiting *waiting)
{
	if (waiting->entered)
		adsm_mask_leave(&waiting->outer);
}

ADSM_WRAPPER int sigsuspend(const sigset_t *mask)
{
	struct waiting waiting ADSM_CLEANUP(leave) = { .entered = false };

	return real(sigsuspend)(enter(&waiting, mask));
}
ADSM_ALSO(__sigsuspend, sigsuspend);

ADSM_WRAPPER int __sigpause(int sig_or_mask, int is_sig)
{
	sigset_t mask;

	sigemptyset(&mask);
	if (!is_sig)
		mask.__val[0] = (unsigned)sig_or_mask;
	else if (pthread_sigmask(SIG_BLOCK, NULL, &mask) || sigdelset(&mask, sig_or_mask))
		return -1;
	return sigsuspend(&mask);
}

ADSM_WRAPPER int __xpg_sigpause(int sig)
{
	return __sigpause(sig, 1);
}

/* Headers define sigpause() as __xpg_sigpause(), so the symbol needs another name in C. */
ADSM_WRAPPER int adsm_sigpause(int mask) __asm__("sigpause");
int adsm_sigpause(int mask)
{
	return __sigpause(mask, 0);
}

/* An argument in shared memory that the system writes; if it is @valid before the call, the system also reads it. */
struct lent {
	struct adsm_io io;
	struct iovec room[ADSM_IO_ROOM(1)];
};

static void lend_end(struct lent *lent)
{
	adsm_io_cleanup(&lent->io);
}

/* *ret_p: the argument's address for the system, if it is in one piece. Returns 0 or a negative errno. */
static int lend(struct lent *lent, void *p, size_t size, bool valid, void *ret_p)
{
	int error = adsm_range_begin(&lent->io, &p, size, lent->room, valid ? ADSM_UPDATE : ADSM_INPUT);

	if (!error)
		*(void **)ret_p = p;
	return error;
}

/* Returns 0 or a negative errno, as lend(). */
static int take_timeout(const struct timespec **timeout, struct timespec *copy)
{
	int error;

	if (!adsm_may_be_shared(*timeout, sizeof(*copy)))
		return 0;
	error = adsm_range_take(copy, *timeout, sizeof(*copy));
	if (!error)
		*timeout = copy;
	return error == -EFAULT ? 0 : error;
}

ADSM_WRAPPER int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	struct waiting waiting ADSM_CLEANUP(leave) = { .entered = false };
	struct lent lent ADSM_CLEANUP(lend_end) = { 0 };
	struct timespec copy;
	int result;

	adsm_io_look_back(ADSM_STACK());
	if (take_timeout(&timeout, &copy) || lend(&lent, fds, n * sizeof(*fds), true, &fds))
		return adsm_refuse(EIO);
	result = real(ppoll)(fds, n, timeout, enter(&waiting, mask));
	if (adsm_io_end(&lent.io, result >= 0 || errno == EINTR ? n * sizeof(*fds) : 0))
		return adsm_refuse(EIO);
	return result;
}

ADSM_WRAPPER int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
			     size_t size)
{
	if (size / sizeof(*fds) < n)
		return real(__ppoll_chk)(fds, n, timeout, mask, size);
	return ppoll(fds, n, timeout, mask);
}

ADSM_WRAPPER int pselect(int n, fd_set *to_read, fd_set *to_write, fd_set *except, const struct timespec *timeout,
			 const sigset_t *mask)
{
	const size_t size = n > 0 ? ((size_t)n + 63) / 64 * sizeof(uint64_t) : 0;
	struct waiting waiting ADSM_CLEANUP(leave) = { .entered = false };
	struct lent lent_read ADSM_CLEANUP(lend_end) = { 0 }, lent_write ADSM_CLEANUP(lend_end) = { 0 };
	struct lent lent_except ADSM_CLEANUP(lend_end) = { 0 };
	struct timespec copy;
	int result;

	adsm_io_look_back(ADSM_STACK());
	if (take_timeout(&timeout, &copy) || lend(&lent_read, to_read, size, true, &to_read) ||
	    lend(&lent_write, to_write, size, true, &to_write) || lend(&lent_except, except, size, true, &except))
		return adsm_refuse(EIO);
	result = real(pselect)(n, to_read, to_write, except, timeout, enter(&waiting, mask));
	if (result >= 0 && (adsm_io_end(&lent_read.io, size) || adsm_io_end(&lent_write.io, size) ||
			    adsm_io_end(&lent_except.io, size)))
		return adsm_refuse(EIO);
	return result;
}

#define EPOLL(name, type, take)											\
	ADSM_WRAPPER int name(int fd, struct epoll_event *events, int n, type timeout, const sigset_t *mask)	\
	{													\
		struct waiting waiting ADSM_CLEANUP(leave) = { .entered = false };				\
		struct lent lent ADSM_CLEANUP(lend_end) = { 0 };						\
		int result;											\
														\
		adsm_io_look_back(ADSM_STACK());								\
		if (take || (n > 0 && lend(&lent, events, (size_t)n * sizeof(*events), false, &events)))	\
			return adsm_refuse(EIO);								\
		result = real(name)(fd, events, n, timeout, enter(&waiting, mask));				\
		if (adsm_io_end(&lent.io, result > 0 ? (size_t)result * sizeof(*events) : 0))			\
			return adsm_refuse(EIO);								\
		return result;											\
	}
EPOLL(epoll_pwait, int, false)
EPOLL(epoll_pwait2, const struct timespec *, take_timeout(&timeout, &(struct timespec){ 0 }))
