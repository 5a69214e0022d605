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
void (*adsm_crash_place)(char *ret_text, size_t size);

static struct adsm_process_crash *_Atomic crash;
static void (*when_written)(void);
static const char *(*explainer)(int signal, uint64_t address, const char *access);
static bool (*opener)(uintptr_t address);
static uint32_t (*locator)(uintptr_t instruction, uint64_t *ret_offset);

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

static void crashed(int sig, siginfo_t *info, void *context)
{
	struct adsm_process_crash *note = crash;
	uintptr_t instruction = 0;
	bool write = false;
	const bool is_access = sig == SIGSEGV && info->si_code > 0 &&
		adsm_decode_fault(context, &instruction, &write);

	if (is_access && opener && opener((uintptr_t)info->si_addr))
		return;
	adsm_crash_alone();
	if (note) {
		note->in_kernel = adsm_crash_in_kernel;
		note->sent = info->si_code <= 0 ? info->si_pid != getpid() : !is_raised(sig);
		if (info->si_code <= 0 && note->sent) {
			note->sender = (uint32_t)info->si_pid;
			note->user = info->si_uid;
		}
		if (adsm_crash_in_kernel && adsm_crash_place)
			adsm_crash_place(note->place, sizeof(note->place));
		/* A signal that was sent has no address. */
		note->address = info->si_code > 0 ? (uintptr_t)info->si_addr : 0;
		if (explainer && note->in_kernel && !note->sent)
			say_why(note, explainer(sig, note->address, !is_access ? "an access" :
						write ? "a store" : "a load"));
		if (is_access && locator && note->in_kernel)
			note->module = locator(instruction, &note->offset);
		atomic_store(&note->signal, (uint32_t)sig);
		if (when_written)
			when_written();
	}
	_exit(128 + sig);
}

void adsm_crash_explain(const char *(*explain)(int signal, uint64_t address, const char *access))
{
	explainer = explain;
}

void adsm_crash_opener(bool (*open)(uintptr_t address))
{
	opener = open;
}

void adsm_crash_locate(uint32_t (*locate)(uintptr_t instruction, uint64_t *ret_offset))
{
	locator = locate;
}

void adsm_crash_now(int signal, uint64_t address, const char *why)
{
	struct adsm_process_crash *note = crash;
	sigset_t all;

	/* A signal handler would call adsm_crash_alone(), too, and wait for this thread. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	adsm_crash_alone();
	if (note) {
		note->in_kernel = true;
		if (adsm_crash_place)
			adsm_crash_place(note->place, sizeof(note->place));
		note->address = address;
		say_why(note, why);
		atomic_store(&note->signal, (uint32_t)signal);
		if (when_written)
			when_written();
	}
	_exit(128 + signal);
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
	note->in_kernel = other->in_kernel;
	note->sent = other->sent;
	note->sender = other->sender;
	note->user = other->user;
	note->module = other->module;
	note->offset = other->offset;
	note->address = other->address;
	memcpy(note->place, other->place, sizeof(note->place));
	memcpy(note->why, other->why, sizeof(note->why));
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
