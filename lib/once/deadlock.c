/* SPDX-License-Identifier: MIT */
/* once/deadlock.c - see deadlock.h. */
#include "once/deadlock.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "once/once.h"

#define FIRST_NS ((uint64_t)100000000)	/* how long a wait lasts until the first look;
					   the time to each further look doubles */
#define LAST_NS ((uint64_t)2000000000)
#define TOLD_MAX 16			/* waits that the log lists */

#define BIT(signal) (UINT64_C(1) << ((signal) - 1))
#define OWN_SIGNALS (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(32) | BIT(33))
/* Signals that a helper thread does not block: those that instructions raise, and those that cannot be blocked. */
#define NEVER_BLOCKED (OWN_SIGNALS | BIT(SIGTRAP) | BIT(SIGABRT) | BIT(SIGKILL) | BIT(SIGSTOP))

static struct adsm_thread thread;
static bool started;
static _Atomic uint32_t stopping;

static struct adsm_once_note notes[2][ADSM_ONCE_SLOTS];	/* of this look, and of the previous one */
static uint32_t slots[ADSM_ONCE_SLOTS];
static size_t n_notes[2];
static bool goes_on;			/* a thread is to leave its wait, but has not run yet */

/* ---- the threads of the program */

/* Read what the system reports about a thread of this process. */
static const char *read_of(const char *task, const char *what, char *buffer, size_t size)
{
	char path[64];

	adsm_format(path, sizeof(path), "/proc/self/task/%s/%s", task, what);
	return adsm_os_read_text(path, buffer, size);
}

/* The set of signals after @word in a file of /proc; all signals if there is no such word. */
static uint64_t signals_of(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at ? strtoull(at + strlen(word), NULL, 16) : UINT64_MAX;
}

/* Is it a helper thread of the library? Helpers have such a name, which a thread of the program may have, too, and they
 * block signals. A compiler works for a thread that waits for it. */
static bool is_helper(const char *task)
{
	char name[64], text[4096];

	return !strncmp(read_of(task, "comm", name, sizeof(name)), "adsm-", 5) && strncmp(name, "adsm-compiler", 13) &&
		!(~signals_of(read_of(task, "status", text, sizeof(text)), "SigBlk:") & ~NEVER_BLOCKED);
}

static bool has_ended(const char *task)
{
	char text[512];
	const char *at = strrchr(read_of(task, "stat", text, sizeof(text)), ')');

	return !at || at[2] == 'Z' || at[2] == 'X';
}

/* Is it memory that the library shares with devices? A thread in adsmSync() sleeps there. */
static bool is_shared_with_device(unsigned long address)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long first, end;
	bool is = false;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &first, &end) == 2 && address >= first && address < end) {
			is = strstr(line, "memfd:adsm-device-queue");
			break;
		}
	if (maps)
		fclose(maps);
	return is;
}

/* Does the thread sleep, without a time limit, until another thread of this process acts? Or until a device acts, which
 * is looked at elsewhere? */
static bool sleeps_for_ever(const char *task)
{
	unsigned long word, op, value, timeout;
	char text[256], path[64];
	long number;

	if (sscanf(read_of(task, "syscall", text, sizeof(text)), "%ld %lx %lx %lx %lx", &number, &word, &op, &value,
		   &timeout) != 5 || number != SYS_futex || timeout)
		return false;
	if ((op & FUTEX_CMD_MASK) != FUTEX_WAIT && (op & FUTEX_CMD_MASK) != FUTEX_WAIT_BITSET)
		return false;
	if (op & FUTEX_PRIVATE_FLAG)
		return true;
	/* pthread_join() is woken by the system itself. A mutex that processes share waits by FUTEX_WAIT. */
	adsm_format(path, sizeof(path), "/proc/self/task/%d", (int)value);
	return ((op & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && !access(path, F_OK)) || is_shared_with_device(word);
}

/* Is it a thread where a driver runs blocks? It blocks all signals. */
static bool is_driver(const char *task)
{
	char text[4096];

	for (int i = 0; i < adsm_n_homes; i++)
		if (adsm_homes[i].device->caps.once_polls &&
		    adsm_homes[i].device->backend->once->has_thread(adsm_homes[i].device, atoi(task)))
			return !(~signals_of(read_of(task, "status", text, sizeof(text)), "SigBlk:") & ~NEVER_BLOCKED);
	return false;
}

/* The number of blocks of all devices that wait. */
static size_t waiting_blocks(void)
{
	size_t n = 0;

	for (size_t i = 0; i < n_notes[0]; i++)
		n += notes[0][i].device >= 0;
	return n;
}

/*
 * Blocks that poll wake no thread, and do not record that their wait is over. A helper thread does that. Has it looked
 * at all of them since the count was @looks? The look at that time may have begun earlier.
 */
static bool have_been_looked_at(uint32_t looks)
{
	for (int i = 0; i < adsm_n_homes; i++)
		if (adsm_homes[i].device->caps.once_polls && waiting_blocks())
			return atomic_load(&adsm_once_table->looks) - looks >= 2;
	return true;
}

static bool waits_for_unit(int id)
{
	for (size_t i = 0; i < n_notes[0]; i++)
		if (notes[0][i].device < 0 && notes[0][i].thread == id)
			return true;
	return false;
}

/* How often a thread was given the processor. The number has grown if the thread has run between two looks. */
static uint64_t turns_of(const char *task)
{
	static const char *const keys[] = { "\nvoluntary_ctxt_switches:", "\nnonvoluntary_ctxt_switches:" };
	char text[4096];
	uint64_t n = 0;

	read_of(task, "status", text, sizeof(text));
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *at = strstr(text, keys[i]);

		n += at ? strtoull(at + strlen(keys[i]), NULL, 10) : 0;
	}
	return n;
}

/* The threads are looked at one after the other. Two threads that wake each other in turns may each be asleep when it
 * is looked at, but their numbers of turns grow. */
static bool threads_are_stuck(uint64_t *ret_turns)
{
	DIR *folder = opendir("/proc/self/task");
	bool stuck = folder != NULL;
	struct dirent *entry;
	size_t n_active = 0;	/* threads of drivers */

	*ret_turns = 0;
	while (stuck && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.' || is_helper(entry->d_name))
			continue;
		if (is_driver(entry->d_name)) {
			n_active += !sleeps_for_ever(entry->d_name);
			continue;
		}
		stuck = waits_for_unit(atoi(entry->d_name)) || sleeps_for_ever(entry->d_name) ||
			has_ended(entry->d_name);
		*ret_turns += turns_of(entry->d_name);
	}
	if (folder)
		closedir(folder);
	/* A block that polls keeps one thread of its driver. */
	return stuck && n_active <= waiting_blocks();
}

/* Can a signal handler of the program run? It may set units. The engine handles SIGSEGV, which a sleeping thread does
 * not raise, and the C library has two signals of its own. */
static bool may_be_interrupted(void)
{
	char text[4096];

	return signals_of(adsm_os_read_text("/proc/self/status", text, sizeof(text)), "SigCgt:") & ~OWN_SIGNALS;
}

/* ---- devices */

static bool device_is_stuck(struct adsm_home *home)
{
	uint32_t running = atomic_load(&adsm_once_table->running[home->index]), waiting = 0;
	uint32_t elsewhere = atomic_load(&adsm_once_table->elsewhere[home->index]);
	struct adsm_sigset old;
	bool idle;
	int status;

	adsm_home_lock(home, &old);
	idle = adsm_calls_ended(home, home->last_seq) ||
		(atomic_load(&home->device->lost) && (!home->device->caps.once || atomic_load(&home->once_lost)));
	/* In a single lane the end of the last call is the end of all. */
	for (uint64_t seq = idle ? 0 : adsm_call_unfinished(home); seq && !idle; seq++) {
		seq = home->n_lanes > 1 ? seq : home->last_seq;
		if (!adsm_call_ended(home, seq) && adsm_call_query(home, seq, &status) <= 0)
			break;
		idle = seq == home->last_seq;
	}
	adsm_home_unlock(home, &old);
	for (size_t i = 0; i < n_notes[0]; i++)
		waiting += notes[0][i].device == home->index;
	running += elsewhere;
	/* Their threads are looked at elsewhere. A launch may also wait for its turn. */
	if (home->device->caps.once_polls)
		running = waiting = (uint32_t)waiting_blocks();
	/* A thread that waited for the end of the device's calls may not have noted it yet. */
	return idle ? !atomic_load(&adsm_once_in_calls[home->index]) : running && waiting >= running;
}

/* ---- looking */

/*
 * Is this wait about to end, though its thread has not run yet? Either it was ended as a deadlock, or its unit is set.
 * In the second case only helper threads of the library matter: they count themselves as busy only when they run, and
 * threads_are_stuck() does not look at them.
 */
static bool has_been_woken(uint32_t slot, const struct adsm_once_note *note, bool waits)
{
	char task[16];

	if (waits || note->device >= 0)
		return waits && adsm_once_is_judged(adsm_once_table, slot);
	adsm_format(task, sizeof(task), "%d", note->thread);
	return is_helper(task);
}

static void take_notes(void)
{
	memcpy(notes[1], notes[0], n_notes[0] * sizeof(notes[0][0]));
	n_notes[1] = n_notes[0];
	n_notes[0] = 0;
	goes_on = false;
	adsm_mutex_lock(&adsm_once_mutex);
	for (uint32_t i = 0; i < ADSM_ONCE_SLOTS; i++) {
		struct adsm_once_note *note = &notes[0][n_notes[0]];
		bool waits;

		if (!adsm_once_note_read(adsm_once_table, i, note))
			continue;
		waits = adsm_once_awaited(note);
		goes_on |= has_been_woken(i, note, waits);
		if (waits)
			slots[n_notes[0]++] = i;
	}
	adsm_mutex_unlock(&adsm_once_mutex);
}

static bool is_as_before(void)
{
	return n_notes[0] && n_notes[0] == n_notes[1] && n_notes[0] < ADSM_ONCE_SLOTS &&
		!memcmp(notes[0], notes[1], n_notes[0] * sizeof(notes[0][0]));
}

static bool is_deadlock(uint64_t *ret_turns)
{
	/* A thread for calls by ranges counts as busy, or it waits for a device.
	 * So the count is read before and after the devices are looked at. */
	if (atomic_load(&adsm_once_busy))
		return false;
	for (int i = 0; i < adsm_n_homes; i++)
		if (!device_is_stuck(&adsm_homes[i]))
			return false;
	return !goes_on && !atomic_load(&adsm_once_busy) && !may_be_interrupted() && threads_are_stuck(ret_turns);
}

static void end_waits(void)
{
	uint64_t now = adsm_os_now_ns();

	adsm_error("deadlock: all threads wait, and %zu waits are for units of write-once objects that no thread or "
		   "kernel can set", n_notes[0]);
	for (size_t i = 0; i < n_notes[0] && i < TOLD_MAX; i++) {
		const struct adsm_once_note *note = &notes[0][i];
		char who[ADSM_ONCE_KERNEL + 96], node[32] = "";

		if (note->node)
			adsm_format(node, sizeof(node), ", node %lu", (unsigned long)note->node - 1);
		if (note->device < 0)
			adsm_format(who, sizeof(who), "thread %d, at %p,", note->thread, (void *)note->where);
		else
			adsm_format(who, sizeof(who), "kernel '%s' on device %d%s, block %lu,", note->kernel,
				    note->device, node, (unsigned long)note->where);
		adsm_error("deadlock: %s waits for %sunit %lu of the write-once object at %p, for %lu ms so far", who,
			   note->unit & ADSM_ONCE_ROOM ? "room in " : "",
			   (unsigned long)(note->unit & ~ADSM_ONCE_ROOM), (void *)note->address,
			   (unsigned long)((now - note->since_ns) / 1000000));
	}
	for (size_t i = 0; i < n_notes[0]; i++)
		adsm_once_judge(adsm_once_table, slots[i], &notes[0][i], -EDEADLK);
}

static bool is_busy(void)
{
	take_notes();
	return n_notes[0] || atomic_load(&stopping);
}

static void look_on(void *arg)
{
	uint64_t pause = FIRST_NS, turns[2];
	uint32_t looks;
	bool looked;

	while (!atomic_load(&stopping)) {
		take_notes();
		if (!n_notes[0]) {
			adsm_once_idle(adsm_once_table, is_busy);
			pause = FIRST_NS;
		} else if (!is_as_before()) {
			pause = FIRST_NS;
		} else if (is_deadlock(&turns[0])) {
			/* Look twice: a thread that was just woken may not have run yet. The notes are taken last: if
			 * the units are still not set, no thread was woken meanwhile. */
			looks = atomic_load(&adsm_once_table->looks);
			adsm_os_wait(&stopping, 0, FIRST_NS, false);
			looked = have_been_looked_at(looks);
			take_notes();
			if (looked && is_as_before() && is_deadlock(&turns[1]) && turns[0] == turns[1]) {
				take_notes();
				if (is_as_before())
					end_waits();
			}
			n_notes[0] = 0;
		} else {
			pause = pause < LAST_NS ? 2 * pause : LAST_NS;
		}
		adsm_os_wait(&stopping, 0, pause, false);
	}
}

int adsm_deadlock_start(void)
{
	int error;

	atomic_store(&stopping, 0);
	n_notes[0] = n_notes[1] = 0;
	error = adsm_os_thread_start(&thread, "adsm-deadlock", look_on, NULL);
	started = !error;
	return error ? adsm_fail(error, "cannot start a thread for write-once objects (ulimit -u, ulimit -v)") : 0;
}

void adsm_deadlock_stop(void)
{
	if (!started)
		return;
	started = false;
	atomic_store(&stopping, 1);
	adsm_os_wake(&stopping, INT_MAX, false);
	adsm_once_rouse(adsm_once_table);
	adsm_os_thread_join(&thread);
}
