/* SPDX-License-Identifier: MIT */
/*
 * leave.c - ways out of system calls that wait for input: jumps of all kinds out of handlers, exceptions, cancellation.
 * Nothing has come then, or some bytes; whatever it was, the accelerator has the same from then on.
 */
#include "../../sanitizers.h"
#include "model.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum jump { SIGLONGJMP, LONGJMP, THROW, SETCONTEXT, BUILTIN, EDITED, N_JUMPS };

#define N_SAFE_JUMPS 3		/* AddressSanitizer knows these, in its record of what is on the stack */
#define STACK_SIZE 65536

/* Where there is a C++ compiler: throw.cpp. */
bool model_catches(void (*call)(void *), void *arg) __attribute__((weak));
void model_throws(void) __attribute__((weak));

static _Thread_local struct {
	volatile sig_atomic_t armed;
	volatile bool gone;
	volatile enum jump jump;
	sigjmp_buf buf;
	void *builtin[5];
	ucontext_t context;
} out;

/* ---- the handler */

/* It returns, but to other code, as those of some runtimes do. */
static void edit(ucontext_t *interrupted)
{
#if defined(__x86_64__)
	static const int kept[] = { REG_RIP, REG_RSP, REG_RBP, REG_RBX, REG_R12, REG_R13, REG_R14, REG_R15 };

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		interrupted->uc_mcontext.gregs[kept[i]] = out.context.uc_mcontext.gregs[kept[i]];
	interrupted->uc_mcontext.gregs[REG_RAX] = 0;
#else
	memcpy(interrupted->uc_mcontext.regs + 19, out.context.uc_mcontext.regs + 19, 12 * sizeof(long));
	interrupted->uc_mcontext.regs[0] = 0;
	interrupted->uc_mcontext.sp = out.context.uc_mcontext.sp;
	interrupted->uc_mcontext.pc = out.context.uc_mcontext.pc;
#endif
}

static void on_leave(int sig, siginfo_t *info, void *interrupted)
{
	if (!me || !out.armed)
		return;
	out.armed = 0;
	out.gone = true;
	switch (out.jump) {
	case SIGLONGJMP:
		siglongjmp(out.buf, 1);
	case LONGJMP:
		longjmp(out.buf, 1);
	case THROW:
		model_throws();
		break;
	case SETCONTEXT:
		setcontext(&out.context);
		break;
	case BUILTIN:
		__builtin_longjmp(out.builtin, 1);
		break;
	default:
		edit(interrupted);
	}
}

void start_leaving(const sigset_t *others, bool on_stack)
{
	struct sigaction action = { .sa_sigaction = on_leave, .sa_mask = *others,
				    .sa_flags = SA_SIGINFO | SA_RESTART | (on_stack ? SA_ONSTACK : 0) };

	CHECK(!sigaction(LEAVE_SIGNAL, &action, NULL));
}

/* Handlers of this thread's have a stack of their own, in rounds that use it. */
void begin_stack(void)
{
	stack_t stack = { .ss_sp = me->stack, .ss_size = STACK_SIZE };

	stack.ss_sp = me->stack = malloc(STACK_SIZE);
	CHECK(me->stack && !sigaltstack(&stack, NULL));
}

void end_stack(void)
{
	const stack_t none = { .ss_flags = SS_DISABLE };

	CHECK(!sigaltstack(&none, NULL));
	free(me->stack);
}

/* ---- being sent out */

void send_out(struct worker *worker, unsigned n_left)
{
	const struct timespec pause = { 0, 50000 };

	while (atomic_load(&worker->n_left) < n_left) {
		CHECK(!pthread_kill(worker->thread, LEAVE_SIGNAL));
		nanosleep(&pause, NULL);
	}
}

static enum jump any_jump(void)
{
	const enum jump jump = (enum jump)draw(WITH_ASAN ? N_SAFE_JUMPS : N_JUMPS);

	return jump == THROW && !model_throws ? SIGLONGJMP : jump;
}

static __attribute__((noinline)) void go_in(void (*call)(void *), void *arg)
{
	switch (out.jump) {
	case SIGLONGJMP:
		if (!sigsetjmp(out.buf, 1))
			call(arg);
		break;
	case LONGJMP:
		if (!sigsetjmp(out.buf, 0))
			call(arg);
		break;
	case THROW:
		CHECK(model_catches(call, arg));
		break;
	case BUILTIN:
		if (!__builtin_setjmp(out.builtin))
			call(arg);
		break;
	default:
		CHECK(!getcontext(&out.context));
		if (!out.gone)
			call(arg);
	}
}

/* Run @call, which waits until the thread is sent out of it. */
static void run_left(enum jump jump, void (*call)(void *), void *arg)
{
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, LEAVE_SIGNAL);
	CHECK(!pthread_sigmask(SIG_UNBLOCK, &set, &old));
	out.jump = jump;
	out.gone = false;
	go_in(call, arg);
	CHECK(out.gone);
	CHECK(!pthread_sigmask(SIG_SETMASK, &old, NULL));
	/* Of other jumps the library learns now. */
	if (jump == BUILTIN || jump == EDITED)
		sync_all();
	atomic_fetch_add(&me->n_left, 1);
}

/* ---- calls that wait */

struct wait {
	const struct spot *spot;
	enum channel channel;
	size_t call;
	int flags;
};

static void wait_in(void *arg)
{
	const struct wait *w = arg;
	const size_t first = w->spot->size / 2;
	struct iovec vector[2] = { { w->spot->p, first }, { w->spot->p + first, w->spot->size - first } };
	struct msghdr message = { .msg_iov = vector, .msg_iovlen = 2 };
	const int fd = me->in[w->channel];
	ssize_t n;

	out.armed = 1;
	/* Another signal ends a call that has brought some. */
	do
		switch (w->call) {
		case 0: n = read(fd, w->spot->p, w->spot->size); break;
		case 1: n = readv(fd, vector, 2); break;
		case 2: n = recv(fd, w->spot->p, w->spot->size, w->flags); break;
		default: n = recvmsg(fd, &message, w->flags);
		}
	while ((n < 0 && errno == EINTR) || (n > 0 && w->flags));
	FAIL("a call that nothing comes to has returned %zd", n);
}

/* Other threads work on with the object meanwhile, and kernels. */
void leave_late(const struct spot *s)
{
	struct wait w = { .spot = s, .channel = CHANNEL_PIPE, .call = draw(2) };

	run_left(any_jump(), wait_in, &w);
}

/* Some of @sent bytes have come; which ones is unknown. */
static void see_what_came(const struct spot *s, size_t sent)
{
	size_t n = 0;

	for (size_t i = 0; i < s->size; i++) {
		const unsigned char got = s->p[i];

		if (got == s->shadow[i])
			continue;
		if (i >= sent || got != buffer[i])
			fail_byte(s->object, (size_t)(s->p - s->object->p) + i, got, s->shadow[i]);
		s->shadow[i] = got;
		n++;
	}
	atomic_fetch_add_explicit(&record->n_bytes, s->size, memory_order_relaxed);
	note("some had come", s, (unsigned)n);
	while (recv(me->in[CHANNEL_STREAM], expected, sizeof(expected), MSG_DONTWAIT) > 0)
		;
	CHECK(errno == EAGAIN || errno == EINTR);
}

void leave_call(void)
{
	const struct request request = { .leaves = me, .n_left = atomic_load(&me->n_left) + 1 };
	const struct spot s = any_spot(SPOT_MAX);
	struct wait w = { .spot = &s, .channel = CHANNEL_PIPE + (enum channel)draw(3) };
	const enum jump jump = any_jump();
	const size_t sent = w.channel == CHANNEL_STREAM && s.size > 1 && draw(2) ? draw(s.size - 1) + 1 : 0;

	w.call = draw(w.channel == CHANNEL_PIPE ? 2 : 4);
	if (sent) {
		w.flags = MSG_WAITALL;
		w.call = 2 + draw(2);
		make_bytes(buffer, sent, draw_from(&me->state));
		CHECK_EQ(write(me->out[CHANNEL_STREAM], buffer, sent), sent);
	}
	note("left", &s, (unsigned)jump);
	CHECK_EQ(write(requests[1], &request, sizeof(request)), sizeof(request));
	run_left(jump, wait_in, &w);
	if (sent)
		see_what_came(&s, sent);
	else
		look_at(&s);
}

/* ---- cancellation */

struct cancelled {
	struct spot spot;
	int fd;
	atomic_bool begun;
};

static void *read_for_ever(void *arg)
{
	struct cancelled *c = arg;

	atomic_store(&c->begun, true);
	FAIL("a read that nothing comes to has returned %zd", read(c->fd, c->spot.p, c->spot.size));
}

void cancel_call(void)
{
	struct cancelled c = { .spot = any_spot(SPOT_MAX), .fd = me->in[CHANNEL_PIPE] };
	sigset_t all, old;
	pthread_t thread;
	void *result;

	note("cancelled", &c.spot, 0);
	sigfillset(&all);
	CHECK(!pthread_sigmask(SIG_SETMASK, &all, &old));
	CHECK(!pthread_create(&thread, NULL, read_for_ever, &c));
	CHECK(!pthread_sigmask(SIG_SETMASK, &old, NULL));
	for (size_t left = draw(20); left > 0 || !atomic_load(&c.begun); left -= left > 0)
		sched_yield();
	CHECK(!pthread_cancel(thread) && !pthread_join(thread, &result));
	CHECK(result == PTHREAD_CANCELED);
	look_at(&c.spot);
}
