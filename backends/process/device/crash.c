/* SPDX-License-Identifier: MIT */
/* crash.c - see crash.h. */
#include "crash.h"

#include "base/decode.h"
#include "base/os.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Thread_local bool adsm_crash_in_kernel;
_Thread_local uint64_t adsm_crash_launch;
_Thread_local const struct adsm_kernel_block *adsm_crash_block;
_Thread_local uintptr_t adsm_crash_instruction;
void (*adsm_crash_place)(char *ret_text, size_t size);
const char *(*adsm_crash_explain)(int signal, uint64_t address, const char *access);
bool (*adsm_crash_opener)(uintptr_t address);
uint32_t (*adsm_crash_locate)(uintptr_t instruction, uint64_t *ret_offset);

static struct adsm_process_crash *_Atomic crash;
static void (*when_written)(void);

/* Does an instruction raise this signal, if no process sent it? */
static bool is_raised(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL || sig == SIGTRAP || sig == SIGSYS;
}

void adsm_crash_alone(void)
{
	static _Atomic bool is_ending;

	while (atomic_exchange(&is_ending, true))
		pause();
}

static void say_why(struct adsm_process_crash *note, const char *why)
{
	if (why)
		strncpy(note->why, why, sizeof(note->why) - 1);
}

/* Append the worker's place. On a cluster the node's place is already in the text. */
static void say_place(struct adsm_process_crash *note)
{
	const size_t n = strnlen(note->place, sizeof(note->place) - 1);

	if (adsm_crash_place)
		adsm_crash_place(note->place + n, sizeof(note->place) - n);
}

void adsm_crash_where(struct adsm_process_crash *note)
{
	note->launch = adsm_crash_launch;
	note->has_block = adsm_crash_block != NULL;
	if (adsm_crash_block)
		memcpy(note->block, adsm_crash_block->index, sizeof(note->block));
	if (adsm_crash_instruction && adsm_crash_locate)
		note->module = adsm_crash_locate(adsm_crash_instruction, &note->offset);
}

/* Is the address that comes with the signal the one of the instruction? */
static bool is_at_instruction(int sig, const siginfo_t *info)
{
	return (sig == SIGILL || sig == SIGFPE || sig == SIGTRAP) && info->si_code > 0;
}

static _Noreturn void end_by(struct adsm_process_crash *note, int signal)
{
	if (note)
		atomic_store(&note->signal, (uint32_t)signal);
	if (note && when_written)
		when_written();
	_exit(128 + signal);
}

static void crashed(int sig, siginfo_t *info, void *context)
{
	struct adsm_process_crash *note = crash;
	uintptr_t instruction = 0;
	bool write = false;
	const bool is_access = sig == SIGSEGV && info->si_code > 0 &&
		adsm_decode_fault(context, &instruction, &write);

	if (is_access && adsm_crash_opener && adsm_crash_opener((uintptr_t)info->si_addr))
		return;
	adsm_crash_alone();
	if (note) {
		note->in_kernel = adsm_crash_in_kernel;
		note->sent = info->si_code <= 0 ? info->si_pid != getpid() : !is_raised(sig);
		if (info->si_code <= 0 && note->sent) {
			note->sender = (uint32_t)info->si_pid;
			note->user = info->si_uid;
		}
		if (adsm_crash_in_kernel)
			say_place(note);
		/* A signal that was sent has no address. */
		note->address = info->si_code > 0 ? (uintptr_t)info->si_addr : 0;
		if (adsm_crash_explain && note->in_kernel && !note->sent)
			say_why(note, adsm_crash_explain(sig, note->address, !is_access ? "an access" :
							 write ? "a store" : "a load"));
		adsm_crash_instruction = is_access ? instruction :
			is_at_instruction(sig, info) ? (uintptr_t)info->si_addr : 0;
		if (note->in_kernel)
			adsm_crash_where(note);
	}
	end_by(note, sig);
}

static _Noreturn void end_now(int signal, uint64_t address, const char *why, bool is_said)
{
	struct adsm_process_crash *note = crash;
	sigset_t all;

	/* A signal handler would call adsm_crash_alone(), too, and wait for this thread. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	adsm_crash_alone();
	if (note) {
		note->in_kernel = true;
		note->is_said = is_said;
		note->launch = adsm_crash_launch;
		say_place(note);
		note->address = address;
		say_why(note, why);
	}
	end_by(note, signal);
}

void adsm_crash_now(int signal, uint64_t address, const char *why)
{
	end_now(signal, address, why, false);
}

void adsm_crash_say(const char *text)
{
	end_now(SIGABRT, 0, text, true);
}

void adsm_crash_start(void)
{
	/* The signals that instructions raise, and all others that end a process and can be caught. */
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGHUP, SIGINT,
				       SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ,
				       SIGVTALRM, SIGPROF };
	struct sigaction action = { .sa_sigaction = crashed, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	/* No other signal interrupts the handler. */
	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
}

void adsm_crash_note(struct adsm_process_crash *note, void (*written)(void))
{
	when_written = written;
	crash = note;
}

void adsm_crash_take(const struct adsm_process_crash *other)
{
	struct adsm_process_crash *note = crash;

	if (!note)
		return;
	memcpy((char *)note + sizeof(note->signal), (const char *)other + sizeof(other->signal),
	       sizeof(*note) - sizeof(note->signal));
	atomic_store(&note->signal, atomic_load(&other->signal));
}

void adsm_crash_thread(void)
{
	stack_t stack = { .ss_size = (size_t)64 << 10 };

	/* From mmap() and not malloc(): only the kernel has its address, so a leak checker would report it. */
	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp != MAP_FAILED)
		sigaltstack(&stack, NULL);
}

void adsm_crash_thread_end(void)
{
	const stack_t none = { .ss_flags = SS_DISABLE };
	stack_t stack;

	if (!sigaltstack(&none, &stack) && !(stack.ss_flags & SS_DISABLE))
		munmap(stack.ss_sp, stack.ss_size);
}
