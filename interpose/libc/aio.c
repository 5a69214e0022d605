/* SPDX-License-Identifier: MIT */
/*
 * aio.c - asynchronous input and output.
 *
 * libc's helper threads use a request's aiocb and its buffer after the call has returned, with all signals blocked. A
 * fault in such a thread would end the process. So if the aiocb or the buffer is in shared memory, libc gets a
 * *shadow*: a copy of the aiocb, in ordinary memory, with the alias as its buffer. While the request is in progress,
 * the caller's aiocb stands for the shadow.
 *
 * The first thread that sees the request completed ends the input. The call of a kernel does this too, because a
 * program may wait for a notification only, and never ask for the result. The first thread that asks for the result
 * copies it into the caller's aiocb. (If the program never asks, the aiocb may be gone, so the library does not write
 * to it earlier.) After that, the aiocb is used as it is.
 *
 * If a buffer ends outside shared memory, only its first part is used, and the result is short. pread() does the same
 * if the end of its buffer is not mapped. (Objects side by side are one buffer.)
 */
#undef _FILE_OFFSET_BITS	/* aio_read() and aio_read64() are two names here */
#include <aio.h>
#include <pthread.h>
#include <stdlib.h>

#include "real.h"
#include "base/os.h"
#include "core/shared.h"
#include "run/copy/io.h"

ADSM_REALS(aio_read, aio_write, aio_fsync, lio_listio, aio_error, aio_return, aio_suspend, aio_cancel)

_Static_assert(sizeof(struct aiocb) == sizeof(struct aiocb64), "the names for large files mean the same");

struct shadow {
	struct aiocb cb;		/* what libc uses */
	struct adsm_io io;
	struct iovec room[ADSM_IO_ROOM(1)];
	void *input;			/* the caller's buffer; NULL if libc does not write to it */
	_Atomic unsigned refs;		/* 0: free; else 1 for the request, and 1 for each thread that looks at it */
	_Atomic(uintptr_t) of;		/* the caller's aiocb; odd: publish_result() writes to it; 0: none */
	_Atomic(pthread_t) finisher;
	_Atomic uint32_t finished;
	struct shadow *next;		/* never removed from the list: a signal handler may call aio_error() */
};

static _Atomic(struct shadow *) shadows;
static _Atomic unsigned n_in_use;

/* ---- finding and keeping shadows */

static bool get_ref(struct shadow *s)
{
	unsigned refs = atomic_load(&s->refs);

	while (refs)
		if (atomic_compare_exchange_weak(&s->refs, &refs, refs + 1))
			return true;
	return false;
}

static void put_ref(struct shadow *s)
{
	if (s && atomic_fetch_sub(&s->refs, 1) == 1)
		atomic_fetch_sub(&n_in_use, 1);
}

/* The shadow that an aiocb stands for, or NULL. The caller ends its use by put_ref(). */
static struct shadow *shadow_of(const struct aiocb *cb)
{
	if (!atomic_load_explicit(&n_in_use, memory_order_relaxed) || !cb)
		return NULL;
	for (struct shadow *s = atomic_load(&shadows); s; s = s->next) {
		if ((atomic_load(&s->of) & ~(uintptr_t)1) != (uintptr_t)cb || !get_ref(s))
			continue;
		if ((atomic_load(&s->of) & ~(uintptr_t)1) == (uintptr_t)cb)
			return s;
		put_ref(s);
	}
	return NULL;
}

static struct shadow *new_shadow(void)
{
	struct shadow *s;
	unsigned refs;

	for (s = atomic_load(&shadows); s; s = s->next) {
		refs = 0;
		if (atomic_compare_exchange_strong(&s->refs, &refs, 1))
			break;
	}
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return NULL;
		atomic_store(&s->refs, 1);
		s->next = atomic_load(&shadows);
		while (!atomic_compare_exchange_weak(&shadows, &s->next, s))
			;
	}
	atomic_fetch_add(&n_in_use, 1);
	return s;
}

/* ---- the end of a request */

static void set_result(struct aiocb *cb, int error, ssize_t result)
{
	cb->__error_code = error;
	cb->__return_value = result;
}

/* End the input of a request that libc has completed, or has not accepted. The first thread does this, once. Other
 * threads wait, because the bytes are not available before. */
static void finish(struct shadow *s)
{
	pthread_t nobody = 0;
	struct adsm_sigset old;
	ssize_t n;

	if (atomic_load(&s->finished))
		return;
	n = real(aio_return)(&s->cb);
	/* A signal handler may run during this wait and leave it by a jump, so no thread is the first one yet. */
	if (s->input && n > 0)
		adsm_io_wait(s->input, (size_t)n);
	/* The first thread runs no handlers: others wait for it, so it must not leave. */
	adsm_os_signals_block(&old);
	if (atomic_compare_exchange_strong(&s->finisher, &nobody, pthread_self())) {
		if (adsm_io_end(&s->io, n > 0 ? (size_t)n : 0))
			set_result(&s->cb, EIO, -1);
		adsm_os_raise(&s->finished, false);
	}
	adsm_os_signals_restore(&old);
	/* Code that has interrupted the first thread cannot wait for it. */
	if (nobody && !pthread_equal(nobody, pthread_self()))
		adsm_os_await(&s->finished, false);
}

/* The request has ended: write its result into the caller's aiocb, once. */
static void publish_result(struct shadow *s, struct aiocb *cb)
{
	uintptr_t of = (uintptr_t)cb;

	finish(s);
	if (!atomic_compare_exchange_strong(&s->of, &of, (uintptr_t)cb | 1))
		return;
	set_result(cb, s->cb.__error_code, s->cb.__return_value);
	atomic_store(&s->of, 0);
	put_ref(s);
}

/* Before the call of a kernel: end the inputs of all completed requests, also if the program has not asked for them. */
static void finish_completed(void)
{
	if (!atomic_load(&n_in_use))
		return;
	for (struct shadow *s = atomic_load(&shadows); s; s = s->next) {
		int error;

		if (!atomic_load(&s->of) || !get_ref(s))
			continue;
		/* The shadow may be another request's by now. Before cast() sets `of`, its result is an older one's. */
		error = atomic_load(&s->of) ? real(aio_error)(&s->cb) : EAGAIN;
		/* EAGAIN: libc has not accepted the request yet, or never will. */
		if (error != EINPROGRESS && error != EAGAIN)
			finish(s);
		put_ref(s);
	}
}

/* Returns the state of the request, and ends it if it has completed. errno is kept. */
static int poll_request(struct shadow *s, const struct aiocb *cb)
{
	if (real(aio_error)(&s->cb) != EINPROGRESS)
		publish_result(s, (struct aiocb *)cb);
	return real(aio_error)(&s->cb);
}

static void poll_aiocb(const struct aiocb *cb)
{
	struct shadow *s = shadow_of(cb);

	if (s)
		poll_request(s, cb);
	put_ref(s);
}

/* ---- the start of a request */

/* Make a shadow if the request needs one; else *ret_shadow is NULL. Returns 0 or a negative errno. */
static int cast(struct aiocb *cb, int opcode, struct shadow **ret_shadow)
{
	bool moves = opcode == LIO_READ || opcode == LIO_WRITE;
	const struct iovec whole = { (void *)cb->aio_buf, moves ? cb->aio_nbytes : 0 };
	bool shared = whole.iov_len && adsm_may_be_shared(whole.iov_base, whole.iov_len);
	struct shadow *s;

	/* An earlier request of this aiocb may have ended without a question for its result. */
	poll_aiocb(cb);
	*ret_shadow = NULL;
	if (!shared && !adsm_may_be_shared(cb, sizeof(*cb)))
		return 0;
	s = new_shadow();
	if (!s)
		return -EAGAIN;
	s->cb = *cb;
	/* The result if libc does not accept the request. */
	set_result(&s->cb, EAGAIN, -1);
	s->io = (struct adsm_io){ .detached = true };
	s->input = shared && opcode == LIO_READ ? whole.iov_base : NULL;
	if (shared) {
		if ((opcode == LIO_READ ? adsm_io_begin_input : adsm_io_begin_output)(&s->io, &whole, 1, s->room)) {
			put_ref(s);
			return -EIO;
		}
		s->cb.aio_buf = s->io.vector->iov_base;
		s->cb.aio_nbytes = s->io.vector->iov_len;
	}
	atomic_store(&s->finisher, 0);
	atomic_store(&s->finished, 0);
	/* Before libc gets the request: the notification of its end may come at any time after that. */
	atomic_store(&s->of, (uintptr_t)cb);
	atomic_store(&adsm_io_finish_detached, finish_completed);
	*ret_shadow = s;
	return 0;
}

/* @operation: for aio_fsync(), whose requests have the opcode LIO_NOP here. */
static int start_by_libc(struct aiocb *cb, int opcode, int operation)
{
	if (opcode == LIO_NOP)
		return real(aio_fsync)(operation, cb);
	return opcode == LIO_READ ? real(aio_read)(cb) : real(aio_write)(cb);
}

static __attribute__((noinline)) int submit(struct aiocb *cb, int opcode, int operation)
{
	struct shadow *s;
	int error;

	adsm_io_look_back(ADSM_STACK());
	error = cast(cb, opcode, &s);
	if (error)
		return adsm_refuse(-error);
	if (!s)
		return start_by_libc(cb, opcode, operation);
	if (!start_by_libc(&s->cb, opcode, operation))
		return 0;
	publish_result(s, cb);
	return -1;
}

ADSM_WRAPPER int aio_read(struct aiocb *cb)
{
	return submit(cb, LIO_READ, 0);
}

ADSM_WRAPPER int aio_write(struct aiocb *cb)
{
	return submit(cb, LIO_WRITE, 0);
}

ADSM_WRAPPER int aio_fsync(int operation, struct aiocb *cb)
{
	return submit(cb, LIO_NOP, operation);
}

static bool any_in(struct aiocb *const list[], int n)
{
	if (atomic_load(&n_in_use))
		return true;
	for (int i = 0; i < n; i++)
		if (list[i] && (adsm_may_be_shared(list[i], sizeof(*list[i])) ||
				adsm_may_be_shared((void *)list[i]->aio_buf, list[i]->aio_nbytes)))
			return true;
	return false;
}

static __attribute__((noinline)) int submit_list(int mode, struct aiocb *const list[], int n, struct sigevent *event)
{
	struct aiocb *own[n];
	struct shadow *s;
	int error = 0, result;

	adsm_io_look_back(ADSM_STACK());
	for (int i = 0; i < n; i++) {
		own[i] = list[i];
		if (!list[i] || list[i]->aio_lio_opcode == LIO_NOP)
			continue;
		if (cast(list[i], list[i]->aio_lio_opcode, &s)) {
			/* The other requests are still submitted, as in libc. */
			set_result(list[i], EIO, -1);
			own[i] = NULL;
			error = EIO;
		} else if (s) {
			own[i] = &s->cb;
		}
	}
	result = real(lio_listio)(mode, own, n, event);
	/* Requests that libc has not accepted, or that have already ended. */
	for (int i = 0; i < n; i++)
		if (list[i])
			poll_aiocb(list[i]);
	return result || !error ? result : adsm_refuse(error);
}

ADSM_WRAPPER int lio_listio(int mode, struct aiocb *const list[], int n, struct sigevent *event)
{
	return n > 0 && any_in(list, n) ? submit_list(mode, list, n, event) : real(lio_listio)(mode, list, n, event);
}

/* ---- asking, cancelling and waiting for requests */

ADSM_WRAPPER int aio_error(const struct aiocb *cb)
{
	struct shadow *s = shadow_of(cb);
	int error;

	if (!s)
		return real(aio_error)(cb);
	error = poll_request(s, cb);
	put_ref(s);
	return error;
}

ADSM_WRAPPER ssize_t aio_return(struct aiocb *cb)
{
	struct shadow *s = shadow_of(cb);
	ssize_t n;

	if (!s)
		return real(aio_return)(cb);
	poll_request(s, cb);
	n = real(aio_return)(&s->cb);
	put_ref(s);
	return n;
}

ADSM_WRAPPER int aio_cancel(int fd, struct aiocb *cb)
{
	struct shadow *s = shadow_of(cb);
	int result;

	if (!s)
		return real(aio_cancel)(fd, cb);
	result = real(aio_cancel)(fd, &s->cb);
	poll_request(s, cb);
	put_ref(s);
	return result;
}

/* A list, in part of shadows. A reference to each is kept while libc waits: that wait is a cancellation point. */
struct kept {
	const struct aiocb **list;
	struct shadow **shadows;
	int n;
};

static void put_kept(struct kept *kept)
{
	for (int i = 0; i < kept->n; i++)
		put_ref(kept->shadows[i]);
}

static int suspend(const struct aiocb *const list[], int n, const struct timespec *timeout)
{
	const struct aiocb *own[n];
	struct shadow *shadow[n];
	struct kept kept __attribute__((cleanup(put_kept))) = { own, shadow, 0 };
	int result;

	for (int i = 0; i < n; i++) {
		shadow[i] = shadow_of(list[i]);
		own[i] = shadow[i] ? &shadow[i]->cb : list[i];
		kept.n = i + 1;
	}
	result = real(aio_suspend)(own, n, timeout);
	for (int i = 0; i < n; i++)
		if (shadow[i])
			poll_request(shadow[i], list[i]);
	return result;
}

ADSM_WRAPPER int aio_suspend(const struct aiocb *const list[], int n, const struct timespec *timeout)
{
	return n > 0 && atomic_load(&n_in_use) ? suspend(list, n, timeout) : real(aio_suspend)(list, n, timeout);
}

/* ---- the names for large files */

ADSM_ALSO(aio_read64, aio_read);
ADSM_ALSO(aio_write64, aio_write);
ADSM_ALSO(aio_fsync64, aio_fsync);
ADSM_ALSO(lio_listio64, lio_listio);
ADSM_ALSO(aio_error64, aio_error);
ADSM_ALSO(aio_return64, aio_return);
ADSM_ALSO(aio_suspend64, aio_suspend);
ADSM_ALSO(aio_cancel64, aio_cancel);
