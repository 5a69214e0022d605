/* SPDX-License-Identifier: MIT */
/* engine_sigsegv.c - fault engine: mprotect(), and SIGSEGV handled in the thread that faulted. */
#include "engine.h"

#include "os.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define KERNEL_SIGSET_SIZE 8	/* bytes of a signal mask, as the kernel counts and stores it */
#define SIGNAL_BIT(sig) (UINT64_C(1) << ((sig) - 1))

static _Atomic(adsm_fault_handler *) fault_handler;	/* NULL: stopped; every fault is foreign */
static struct sigaction previous;			/* who had the signal before */
static atomic_bool previous_is_reset;			/* its SA_RESETHAND has happened: now SIG_DFL */

/* ---- what the processor says of a fault */

bool adsm_decode_esr(uint64_t esr, bool *ret_write)
{
	/* Exception class 0x24: data abort from user code. Cache maintenance (bit 8) only claims to write. */
	if ((esr >> 26 & 0x3f) != 0x24)
		return false;
	*ret_write = (esr & 1 << 6) && !(esr & 1 << 8);
	return true;
}

bool adsm_decode_fault(const void *ucontext, uintptr_t *ret_instruction, bool *ret_write)
{
	const mcontext_t *m = &((const ucontext_t *)ucontext)->uc_mcontext;
#if defined(__x86_64__)
	/* Page fault; its error code: bit 1 a write, bit 4 an instruction fetch. */
	if (m->gregs[REG_TRAPNO] != 14 || m->gregs[REG_ERR] & 1 << 4)
		return false;
	*ret_instruction = (uintptr_t)m->gregs[REG_RIP];
	*ret_write = m->gregs[REG_ERR] & 1 << 1;
	return true;
#elif defined(__aarch64__)
	/* Records of {magic, size}, ended by one of zeros; ours is followed by the register. */
	const unsigned char *p = m->__reserved, *end = p + sizeof(m->__reserved);

	*ret_instruction = (uintptr_t)m->pc;
	while (end - p >= 16) {
		uint32_t head[2];
		uint64_t esr;

		memcpy(head, p, sizeof(head));
		if (head[0] == ESR_MAGIC) {
			memcpy(&esr, p + sizeof(head), sizeof(esr));
			return adsm_decode_esr(esr, ret_write);
		}
		if (!head[0] || head[1] < sizeof(head) || head[1] > (size_t)(end - p))
			break;
		p += head[1];
	}
	return false;
#else
#error "the fault context of this processor is not known here"
#endif
}

/* ---- masks and signals, in the handler */

/* The kernel stores only this much of a sigset_t in the context. */
static uint64_t mask_bits(const sigset_t *set)
{
	uint64_t bits;

	memcpy(&bits, set, sizeof(bits));
	return bits;
}

static void set_mask(uint64_t bits)
{
	const struct adsm_sigset set = { .bits = { bits } };

	adsm_os_signals_restore(&set);
}

/* SIG_DFL is all zeros. Not through libc: its sigaction() may be wrapped. */
static void set_default(int sig)
{
	static const uint64_t action[4];

	syscall(SYS_rt_sigaction, sig, action, NULL, KERNEL_SIGSET_SIZE);
}

static bool is_ignored(int sig)
{
	uint64_t action[4] = { 0 };	/* the handler comes first */

	syscall(SYS_rt_sigaction, sig, NULL, action, KERNEL_SIGSET_SIZE);
	return action[0] == (uintptr_t)SIG_IGN;
}

/* To this thread, on its return from the handler: the mask that return restores lets it through. */
static void queue_to_self(int sig, const siginfo_t *info)
{
	uint64_t bit = SIGNAL_BIT(sig);

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &bit, NULL, KERNEL_SIGSET_SIZE);
	/* Where a filter forbids that, the signal alone is better than to fault for ever. */
	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), adsm_os_thread_id(), sig, info))
		syscall(SYS_tgkill, getpid(), adsm_os_thread_id(), sig);
}

/* A fault of ours that cannot be served, as the kernel raises SIGBUS for a page that cannot be read. */
static void raise_sigbus(uintptr_t address, ucontext_t *context)
{
	siginfo_t info;

	/* What the instruction itself raises can be neither blocked nor ignored. */
	if (mask_bits(&context->uc_sigmask) & SIGNAL_BIT(SIGBUS) || is_ignored(SIGBUS)) {
		set_default(SIGBUS);
		sigdelset(&context->uc_sigmask, SIGBUS);
	}
	memset(&info, 0, sizeof(info));
	info.si_signo = SIGBUS;
	info.si_code = BUS_ADRERR;
	info.si_addr = (void *)address;
	queue_to_self(SIGBUS, &info);
}

/* Do with a signal what the kernel would have done, had we not been there. */
static void forward(int sig, siginfo_t *info, ucontext_t *context)
{
	const bool sent = info->si_code <= 0;	/* by a process; else raised by the instruction itself */
	bool is_default = previous.sa_handler == SIG_DFL;

	if (previous.sa_handler == SIG_IGN) {
		if (sent)
			return;
		is_default = true;
	} else if (!is_default && previous.sa_flags & SA_RESETHAND) {
		is_default = atomic_exchange(&previous_is_reset, true);
	}
	if (is_default) {
		/* The instruction faults again, at once and for good; what was sent is sent again. */
		set_default(sig);
		if (sent)
			queue_to_self(sig, info);
		return;
	}
	set_mask(mask_bits(&context->uc_sigmask) | mask_bits(&previous.sa_mask) |
		 (previous.sa_flags & SA_NODEFER ? 0 : SIGNAL_BIT(sig)));
	if (previous.sa_flags & SA_SIGINFO)
		previous.sa_sigaction(sig, info, context);
	else
		previous.sa_handler(sig);
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	const int saved_errno = errno;
	adsm_fault_handler *handler = atomic_load(&fault_handler);
	ucontext_t *uc = context;
	struct adsm_sigset unused;
	uintptr_t instruction;
	bool write;

	if (!handler || (info->si_code != SEGV_MAPERR && info->si_code != SEGV_ACCERR) ||
	    !adsm_decode_fault(uc, &instruction, &write)) {
		forward(sig, info, uc);
		return;
	}
	for (;;) {
		struct adsm_fault fault = {
			.address = (uintptr_t)info->si_addr,
			.instruction = instruction,
			.write = write,
		};
		enum adsm_fault_result result = handler(&fault);

		errno = saved_errno;
		switch (result) {
		case ADSM_FAULT_SERVED:
			return;
		case ADSM_FAULT_FOREIGN:
			forward(sig, info, uc);
			return;
		case ADSM_FAULT_LOST:
			raise_sigbus(fault.address, uc);
			errno = saved_errno;
			return;
		case ADSM_FAULT_WAIT:
			/* The application's signal handlers run meanwhile, and may never come back. */
			set_mask(mask_bits(&uc->uc_sigmask));
			fault.wait(&fault);
			adsm_os_signals_block(&unused);
			errno = saved_errno;
			break;
		}
	}
}

/* ---- the engine */

static int start(adsm_fault_handler *handler)
{
	/* What an instruction raises: it kills while blocked. */
	static const int synchronous[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT };
	struct sigaction action = { .sa_sigaction = on_signal };

	if (sigaction(SIGSEGV, NULL, &previous))
		return -errno;
	atomic_store(&previous_is_reset, false);
	/*
	 * All others are masked: their handlers may touch objects, and wait for locks of this thread. Not by
	 * sigfillset(), which leaves out what the C library keeps for itself: a cancelled thread keeps a lock.
	 */
	memset(&action.sa_mask, 0xff, sizeof(action.sa_mask));
	for (size_t i = 0; i < sizeof(synchronous) / sizeof(synchronous[0]); i++)
		sigdelset(&action.sa_mask, synchronous[i]);
	action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
	/* A system call that a sent SIGSEGV interrupts goes on where it would have. */
	action.sa_flags |= previous.sa_handler == SIG_IGN ? SA_RESTART : previous.sa_flags & SA_RESTART;
	atomic_store(&fault_handler, handler);
	if (sigaction(SIGSEGV, &action, NULL)) {
		atomic_store(&fault_handler, NULL);
		return -errno;
	}
	return 0;
}

static void stop(void)
{
	struct sigaction now;

	atomic_store(&fault_handler, NULL);
	/* Somebody who took the signal after us may still call us: then all is forwarded. */
	if (sigaction(SIGSEGV, NULL, &now) || now.sa_sigaction != on_signal)
		return;
	if (atomic_load(&previous_is_reset))
		previous.sa_handler = SIG_DFL;
	sigaction(SIGSEGV, &previous, NULL);
}

static int protect_ro(void *view, size_t size)
{
	return adsm_os_protect(view, size, ADSM_PROT_READ);
}

static int protect_rw(void *view, size_t size)
{
	return adsm_os_protect(view, size, ADSM_PROT_RW);
}

static int protect_none(void *view, size_t size)
{
	return adsm_os_protect(view, size, ADSM_PROT_NONE);
}

const struct adsm_engine adsm_engine_sigsegv = {
	.name = "sigsegv",
	.start = start,
	.stop = stop,
	.open_ro = protect_ro,
	.open_rw = protect_rw,
	.upgrade = protect_rw,
	.protect = protect_ro,
	.close = protect_none,
};
