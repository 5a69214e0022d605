/* SPDX-License-Identifier: MIT */
/* os_thread.c - os.h on Linux: signals, cancellation, mutexes, threads, and what threads wait for. */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include "base/syscall.h"

#define LOOK_MAX 8		/* maximum length of a chain of waiting threads */
#define STACK_MAX ((size_t)256 << 20)	/* a stack is not searched further than this from its end */

#ifndef NDEBUG
_Thread_local uint64_t adsm_os_ranks;
#endif

/* ---- signals */

#define RAISED (SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGFPE) | SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGTRAP) | \
		SIGNAL_BIT(SIGABRT))
/*
 * This includes the signal by which the C library cancels a thread (32): a cancelled thread would keep a lock. It does
 * not include the one by which setuid() reaches all threads (33): threads that a driver starts meanwhile inherit the
 * mask, and setuid() would wait for them forever.
 */
#define ASYNCHRONOUS (~(RAISED | SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(33)))

static void block(uint64_t set, struct adsm_sigset *ret_old)
{
	/* In this order, and undone in the reverse order: a handler that runs between the two steps may leave by
	 * siglongjmp(). */
	sys(SYS_rt_sigprocmask, SIG_BLOCK, &set, &ret_old->mask, KERNEL_SIGSET_SIZE);
	ret_old->cancel = adsm_os_cancel_block();
}

void adsm_os_alternate_stack(uintptr_t *ret_start, size_t *ret_size)
{
	stack_t stack = { 0 };

	sys(SYS_sigaltstack, NULL, &stack);
	*ret_start = (uintptr_t)stack.ss_sp;
	*ret_size = stack.ss_flags & SS_DISABLE ? 0 : stack.ss_size;
}

/* Is a page readable? If so, the kernel reads the 8 bytes there, and then refuses the invalid operation with EINVAL. */
NO_SANITIZE static bool is_readable(uintptr_t page)
{
	return sys(SYS_rt_sigprocmask, -1, page, NULL, KERNEL_SIGSET_SIZE) == -EINVAL;
}

/*
 * At a stack's end are known data: the C library's data of the thread, or the kernel's random bytes of the first
 * thread. Below each stack is a guard page. So @address is on this stack if all pages from there to its end are
 * readable. A sanitizer's start calls sigaltstack(), and so this function, before the sanitizer is ready.
 */
NO_SANITIZE uintptr_t adsm_os_stack_end(uintptr_t address)
{
	static _Thread_local struct { uintptr_t low, end; } own;
	uintptr_t low;

	if (!own.end)
		own.end = sys(SYS_gettid) == sys(SYS_getpid) ? (uintptr_t)getauxval(AT_RANDOM) :
			(uintptr_t)pthread_self();
	if (address >= own.end || own.end - address > STACK_MAX)
		return 0;
	low = own.low ? own.low : own.end & ~(ADSM_PAGE_SIZE - 1);
	while (address < low && is_readable(low - ADSM_PAGE_SIZE))
		own.low = low -= ADSM_PAGE_SIZE;
	return address < low ? 0 : own.end;
}

int adsm_os_peek(uintptr_t address, uint64_t *ret_word)
{
	const struct iovec here = { ret_word, sizeof(*ret_word) }, there = { (void *)address, sizeof(*ret_word) };
	long n = sys(SYS_process_vm_readv, sys(SYS_getpid), &here, 1, &there, 1, 0);

	return n < 0 ? (int)n : n == sizeof(*ret_word) ? 0 : -EFAULT;
}

void adsm_os_signals_block(struct adsm_sigset *ret_old)
{
	block(ASYNCHRONOUS | RAISED, ret_old);
}

void adsm_os_signals_block_for_threads(struct adsm_sigset *ret_old)
{
	block(ASYNCHRONOUS, ret_old);
}

void adsm_os_signals_raised(void)
{
	/* SIGSTKFLT stands for SIGSEGV in masks of the program (engine/mask.h). */
	const uint64_t set = RAISED | SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGSTKFLT);

	sys(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, KERNEL_SIGSET_SIZE);
}

bool adsm_os_signals_are_blocked(uint64_t mask)
{
	return mask & SIGNAL_BIT(32);
}

bool adsm_os_is_of_driver(uint64_t mask)
{
	/* The C library unblocks signal 32 in new threads; SIGKILL and SIGSTOP cannot be blocked. */
	return !(ASYNCHRONOUS & ~(mask | SIGNAL_BIT(32) | SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP)));
}

void adsm_os_signals_restore(const struct adsm_sigset *old)
{
	/* Pending signals are delivered in the second call. */
	adsm_os_cancel_restore(&old->cancel);
	sys(SYS_rt_sigprocmask, SIG_SETMASK, &old->mask, NULL, KERNEL_SIGSET_SIZE);
}

void adsm_os_die(int sig)
{
	const uint64_t action[4] = { 0 }, set = SIGNAL_BIT(sig);

	sys(SYS_rt_sigaction, sig, action, NULL, KERNEL_SIGSET_SIZE);
	sys(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, KERNEL_SIGSET_SIZE);
	sys(SYS_tgkill, sys(SYS_getpid), sys(SYS_gettid), sig);
	for (;;)
		sys(SYS_exit_group, 128 + sig);
}

/* ---- cancellation, mutexes */

int adsm_os_cancel_block(void)
{
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	return old;
}

void adsm_os_cancel_restore(const int *old)
{
	pthread_setcancelstate(*old, NULL);
}

void adsm_mutex_init(struct adsm_mutex *mutex, enum adsm_rank rank)
{
	pthread_mutex_init(&mutex->mutex, NULL);
	mutex->rank = (uint8_t)rank;
}

void adsm_mutex_destroy(struct adsm_mutex *mutex)
{
	pthread_mutex_destroy(&mutex->mutex);
}

static void note_locked(struct adsm_mutex *mutex, int cancel)
{
#ifndef NDEBUG
	adsm_os_ranks |= (uint64_t)1 << mutex->rank;
#endif
	mutex->cancel = cancel;
}

void adsm_mutex_lock(struct adsm_mutex *mutex)
{
	const int cancel = adsm_os_cancel_block();

	assert(adsm_rank_fits(mutex->rank));
	pthread_mutex_lock(&mutex->mutex);
	note_locked(mutex, cancel);
}

bool adsm_mutex_trylock(struct adsm_mutex *mutex)
{
	const int cancel = adsm_os_cancel_block();
	const bool has = !pthread_mutex_trylock(&mutex->mutex);

	if (has)
		note_locked(mutex, cancel);
	else
		adsm_os_cancel_restore(&cancel);
	return has;
}

void adsm_mutex_unlock(struct adsm_mutex *mutex)
{
	const int cancel = mutex->cancel;

#ifndef NDEBUG
	adsm_os_ranks &= ~((uint64_t)1 << mutex->rank);
#endif
	pthread_mutex_unlock(&mutex->mutex);
	adsm_os_cancel_restore(&cancel);
}

/* ---- threads */

/* Word number @n of a text, from 0, as a number: with base 16 if it begins with "0x", else with base 10. */
static uint64_t word_at(const char *text, unsigned n)
{
	uint64_t value = 0;
	unsigned base = 10;

	for (; n && *text; text++)
		n -= *text == ' ';
	if (text[0] == '0' && text[1] == 'x') {
		base = 16;
		text += 2;
	}
	for (; (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'f'); text++)
		value = value * base + (uint64_t)(*text <= '9' ? *text - '0' : *text - 'a' + 10);
	return value;
}

/* Reads a file of /proc about a thread; "" if there is none. */
static const char *read_of_thread(int thread_id, const char *name, char *buffer, size_t size)
{
	char path[64] = "/proc/self/task/", digits[12];
	char *p = path + strlen(path), *digit = digits;

	do
		*digit++ = (char)('0' + thread_id % 10);
	while (thread_id /= 10);
	while (digit > digits)
		*p++ = *--digit;
	*p++ = '/';
	strcpy(p, name);
	return adsm_os_read_text(path, buffer, size);
}

/*
 * The thread id of a lock's holder, if the lock is a mutex of the C library; 0: none that is alive. Behind the lock's
 * word are a count, the holder, and the number of its users. That number is 0 in malloc()'s own locks, whatever their
 * other words contain.
 */
static int owner_of(uint64_t lock)
{
	int words[4] = { 0 };
	/* Not by a load, as the memory may be gone. */
	long fd = sys(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (sys(SYS_pread64, fd, words, sizeof(words), lock) != sizeof(words))
		words[2] = 0;
	sys(SYS_close, fd);
	return words[2] > 0 && words[3] && !sys(SYS_tgkill, sys(SYS_getpid), words[2], 0) ? words[2] : 0;
}

/* The address of the lock's word that a thread waits for; 0: it does not wait for a lock. */
static uint64_t lock_of(int thread_id, char *text, size_t size)
{
	uint64_t how;

	/* "number 0xargument 0xargument …"; if it is in no system call, "running" or a negative number. */
	read_of_thread(thread_id, "syscall", text, size);
	how = word_at(text, 2) & FUTEX_CMD_MASK;
	/* Mutexes and malloc() wait in this way, while the word is 2; conditions and joins wait in other ways. */
	if (text[0] >= '0' && text[0] <= '9' && word_at(text, 0) == SYS_futex &&
	    ((how == FUTEX_WAIT && word_at(text, 3) == 2) || how == FUTEX_LOCK_PI))
		return word_at(text, 1);
	return 0;
}

struct adsm_os_look adsm_os_look_at(int thread_id)
{
	const int self = adsm_os_thread_id();
	struct adsm_os_look look = { 0, 0 };
	char text[256];

	/* The limit ends a chain that is a circle. */
	for (int i = 0; i < LOOK_MAX && thread_id; i++) {
		look.lock = lock_of(thread_id, text, sizeof(text));
		look.ran_ns += word_at(read_of_thread(thread_id, "schedstat", text, sizeof(text)), 0);
		thread_id = look.lock ? owner_of(look.lock) : 0;
		if (thread_id == self)
			break;
	}
	return look;
}

int adsm_os_stack_of(int thread_id, uintptr_t *ret_stack)
{
	char text[256];

	read_of_thread(thread_id, "syscall", text, sizeof(text));
	if (!text[0])
		return sys(SYS_tgkill, sys(SYS_getpid), thread_id, 0) == -ESRCH ? -ESRCH : -ENOENT;
	/* "number 0xargument … 0xstack 0xinstruction", "-1 0xstack 0xinstruction", or "running". */
	*ret_stack = text[0] == 'r' ? 0 : (uintptr_t)word_at(text, text[0] == '-' ? 1 : 7);
	return 0;
}

struct thread_start {
	void (*run)(void *);
	void *arg;
	char name[16];
};

void *adsm_os_thread_main(void *arg)
{
	struct thread_start start = *(struct thread_start *)arg;

	free(arg);
	sys(SYS_prctl, PR_SET_NAME, start.name);
	start.run(start.arg);
	return NULL;
}

int adsm_os_thread_start(struct adsm_thread *ret_thread, const char *name, void (*run)(void *), void *arg)
{
	struct thread_start *start = calloc(1, sizeof(*start));
	struct adsm_sigset old;
	pthread_t thread;
	sigset_t all;
	int ret;

	if (!start)
		return -ENOMEM;
	start->run = run;
	start->arg = arg;
	strncpy(start->name, name, sizeof(start->name) - 1);
	/* sigfillset() leaves the C library's own signals open: without them setuid() never returns. */
	sigfillset(&all);
	adsm_os_signals_block(&old);
	/* Not pthread_sigmask(), which the application may have replaced. */
	sys(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, KERNEL_SIGSET_SIZE);
	ret = -pthread_create(&thread, NULL, adsm_os_thread_main, start);
	adsm_os_signals_restore(&old);
	if (ret) {
		free(start);
		return ret;
	}
	ret_thread->handle = (uint64_t)thread;
	return 0;
}

void adsm_os_thread_join(struct adsm_thread *thread)
{
	ADSM_UNCANCELLED;	/* the data that the thread works on may be on this stack */

	pthread_join((pthread_t)thread->handle, NULL);
}

void adsm_os_thread_leave(struct adsm_thread *thread)
{
	pthread_detach((pthread_t)thread->handle);
}

void adsm_os_run(void (*run)(void *), void (*ended)(void *), void *arg)
{
	pthread_cleanup_push(ended, arg);
	run(arg);
	pthread_cleanup_pop(0);
}
