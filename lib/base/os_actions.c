/* SPDX-License-Identifier: MIT */
/* os_actions.c - os.h on Linux: restores the signal actions of the program that drivers change when they are loaded. */
#include <link.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "base/os.h"
#include "base/syscall.h"

/* The structure of the system call. */
struct action {
	uint64_t handler, flags, restorer, mask;
};

/* The only known signal for which a driver may need its own handler while the program has none. */
#define SHARED SIGFPE
static struct action driver;			/* the driver's action for it */

static int get_action(int sig, struct action *ret_action)
{
	*ret_action = (struct action){ 0 };
	return (int)sys(SYS_rt_sigaction, sig, NULL, ret_action, KERNEL_SIGSET_SIZE);
}

static void set_action(int sig, const struct action *action)
{
	sys(SYS_rt_sigaction, sig, action, NULL, KERNEL_SIGSET_SIZE);
}

struct place {
	uintptr_t address;
	size_t n;
};

static int look_for_place(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct place *place = arg;

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    place->address - (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) < info->dlpi_phdr[i].p_memsz)
			return 1;
	place->n++;
	return 0;
}

size_t adsm_os_library_index(uintptr_t address)
{
	struct place place = { address, 0 };

	dl_iterate_phdr(look_for_place, &place);
	return place.n;
}

void adsm_os_actions_get(struct adsm_actions *ret_actions)
{
	for (int sig = 1; sig <= 64; sig++)
		sys(SYS_rt_sigaction, sig, NULL, ret_actions->words[sig], KERNEL_SIGSET_SIZE);
	ret_actions->n_libraries = adsm_os_library_index(0);
}

/* A driver that runs kernels in threads of this process handles divisions by zero there, and the kernels continue. All
 * other threads have the program's action, which is the default one. */
static void on_shared(int sig, siginfo_t *info, void *context)
{
	static const struct action none;
	const uint64_t set_of_one = SIGNAL_BIT(sig);
	uint64_t mask;

	memcpy(&mask, &((ucontext_t *)context)->uc_sigmask, sizeof(mask));
	if (adsm_os_is_of_driver(mask)) {
		((void (*)(int, siginfo_t *, void *))driver.handler)(sig, info, context);
		return;
	}
	set_action(sig, &none);
	if (info->si_code > 0)
		return;		/* the instruction raises it again */
	sys(SYS_rt_sigprocmask, SIG_BLOCK, &set_of_one, NULL, KERNEL_SIGSET_SIZE);
	sys(SYS_rt_tgsigqueueinfo, sys(SYS_getpid), sys(SYS_gettid), sig, info);
}

void adsm_os_actions_restore(const struct adsm_actions *actions, bool shares)
{
	for (int sig = 1; sig <= 64; sig++) {
		const struct action *was = (const struct action *)(const void *)actions->words[sig];
		struct place place = { 0, 0 };
		struct action now;

		if (get_action(sig, &now) || !memcmp(&now, was, sizeof(now)) || now.handler == (uintptr_t)on_shared)
			continue;
		/* If not, the handler is the C library's, or another thread of the program has set it meanwhile. */
		place.address = now.handler;
		if (!dl_iterate_phdr(look_for_place, &place) || place.n < actions->n_libraries)
			continue;
		if (sig == SHARED && shares && was->handler == (uintptr_t)SIG_DFL) {
			driver = now;
			now.handler = (uintptr_t)on_shared;
			now.flags |= SA_SIGINFO;
			set_action(sig, &now);
		} else {
			set_action(sig, was);
		}
	}
}
