/* SPDX-License-Identifier: MIT */
/* node/crashes.c - why a node cannot continue. */
#include "node.h"

#include "base/log.h"
#include "base/os.h"
#include "process/device/crash.h"
#include "process/ended.h"
#include "store/core.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How long a node that crashes waits until its communication thread has reported that. */
#define WAIT_NS 4000000000ull

/* The report to node 0. */
struct report {
	struct adsm_process_crash crash;
	uint32_t why;			/* an error of a kernel: 1 + enum adsm_pages_wrong; 0: a signal */
	char text[ADSM_PROCESS_TEXT];	/* the whole text; "": the text is made from the other members */
};

static struct report report;
static struct adsm_process_shared *shared;
static int communication_thread;

/* Called in the signal handler. */
static void on_written(void)
{
	struct adsm_process_crash *crash = shared ? &shared->crash : &report.crash;
	char how[ADSM_PROCESS_TEXT];

	/* If the launcher ends this node because another one has ended, that one's reason counts: delete this
	 * record. */
	if (crash->sent && (pid_t)crash->sender == getppid()) {
		atomic_store(&crash->signal, 0);
	} else if (!shared && adsm_os_thread_id() == communication_thread) {
		adsm_process_how_crashed(crash, how, sizeof(how));
		adsm_comm_fail("%s", how);
	} else if (!shared) {
		adsm_comm_wake();
		adsm_os_sleep_until_ns(adsm_os_now_ns() + WAIT_NS);
	}
}

void adsm_crashes_start(struct adsm_process_shared *of_application)
{
	shared = of_application;
	communication_thread = adsm_os_thread_id();
	adsm_crash_note(shared ? &shared->crash : &report.crash, on_written);
}

/* Make the text, if the crash's record alone does not contain it. May be called in a signal handler. */
static void say_why(uint64_t address, enum adsm_pages_wrong why, const char *place)
{
	const uint64_t done = atomic_load(&shared->queue.done);
	const struct adsm_process_slot *slot = &shared->slots[done % ADSM_PROCESS_SLOTS];
	const struct adsm_process_pointer *pointers = shared->pointers[done % ADSM_PROCESS_SLOTS];
	char text[ADSM_PROCESS_TEXT];
	uint32_t i = 0;

	while (i < slot->n_pointers && address - pointers[i].base >= pointers[i].size)
		i++;
	if (why == ADSM_PAGES_NO_MEMORY)
		adsm_format(text, sizeof(text), "kernel '%s' found no memory%s, or needs more mappings than the system "
			    "allows a process (vm.max_map_count)", slot->name, place);
	else if (why == ADSM_PAGES_PLAIN)
		adsm_format(text, sizeof(text), "task '%s' touched address 0x%lx%s: " ADSM_CORE_PLAIN, slot->name,
			    (unsigned long)address, place);
	else if (i < slot->n_pointers)
		adsm_format(text, sizeof(text), "kernel '%s' wrote to address 0x%lx%s, in the memory of its parameter "
			    "%u, which its declaration or the call marks as only read", slot->name,
			    (unsigned long)address, place, pointers[i].arg + 1);
	else
		adsm_format(text, sizeof(text), "kernel '%s' wrote to address 0x%lx%s, which is read-only in this call",
			    slot->name, (unsigned long)address, place);
	adsm_process_say_end(shared, text);
}

void adsm_crashes_of_kernel(uint64_t address, enum adsm_pages_wrong why)
{
	struct adsm_process_crash crash = { .in_kernel = 1, .address = address };

	/* Mostly several threads of a kernel do the same at the same time. */
	adsm_crash_alone();
	if (shared && why != ADSM_PAGES_ILLEGAL) {
		say_why(address, why, shared->crash.place);
		_exit(1);
	}
	report.why = why == ADSM_PAGES_ILLEGAL ? 0 : 1 + why;
	adsm_crash_instruction = adsm_touch_instruction;
	adsm_crash_where(&crash);
	atomic_store(&crash.signal, SIGSEGV);
	if (shared)
		memcpy(crash.place, shared->crash.place, sizeof(crash.place));
	adsm_crash_take(&crash);
	if (!shared) {
		adsm_comm_wake();
		adsm_os_sleep_until_ns(adsm_os_now_ns() + WAIT_NS);
	}
	_exit(128 + SIGSEGV);
}

void adsm_crashes_refuse(const char *text)
{
	adsm_crash_alone();
	adsm_format(report.text, sizeof(report.text), "%s", text);
	atomic_store(&report.crash.signal, SIGABRT);
	adsm_comm_wake();
	adsm_os_sleep_until_ns(adsm_os_now_ns() + WAIT_NS);
	_exit(1);
}

void adsm_crashes_poll(void)
{
	if (!atomic_load(&report.crash.signal))
		return;
	adsm_comm_send(0, ADSM_TAG_NOTE, &report, sizeof(report));
	while (adsm_comm_is_busy())
		adsm_comm_rest(ADSM_COMM_BUSY_NS);
	/* Node 0 will end the job. */
	adsm_os_sleep_until_ns(adsm_os_now_ns() + WAIT_NS);
	_exit(128 + SIGSEGV);
}

void adsm_crashes_tell(const char *place, const void *data, size_t size)
{
	struct report received;
	char where[sizeof(received.crash.place)];	/* in which worker */

	if (size != sizeof(received) || !shared)
		_exit(1);
	adsm_crash_alone();
	memcpy(&received, data, sizeof(received));
	memcpy(where, received.crash.place, sizeof(where));
	where[sizeof(where) - 1] = '\0';
	adsm_format(received.crash.place, sizeof(received.crash.place), "%s%s", place, where);
	if (*received.text)
		adsm_process_say_end(shared, received.text);
	else if (received.why)
		say_why(received.crash.address, (enum adsm_pages_wrong)(received.why - 1), place);
	else
		adsm_crash_take(&received.crash);
	_exit(1);
}
