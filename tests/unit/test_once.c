/* SPDX-License-Identifier: MIT */
/* test_once.c - the table of threads that wait for units, when one of the processes that have it ends. Wherever in a
 * wait that happens, the count of sleeping threads includes each thread that must still be woken. */
#include "base/once.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "../check.h"

#define STEPS_MAX 1000000
#define ADDRESS UINT64_C(0x7e8000000000)
#define DEVICE 3

static struct adsm_once_table *table;
static struct adsm_once_shared *shared;

static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void begin(struct adsm_once_wait *wait, int device)
{
	struct adsm_once_note note = { .address = ADDRESS, .unit = 5, .device = device, .thread = 1 };

	adsm_once_wait_begin(wait, table, shared, &note);
}

/* The device's: it stops after each instruction. */
static void wait_once(void)
{
	struct adsm_once_wait wait;

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(77);
	raise(SIGSTOP);
	begin(&wait, DEVICE);
	adsm_once_wait_end(&wait);
	_exit(0);
}

static uint32_t n_sleepers(const struct adsm_once_table *of)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ADSM_ONCE_BUCKETS; i++)
		n += of->buckets[i].sleepers;
	return n;
}

static uint32_t n_notes(struct adsm_once_table *of, int device)
{
	struct adsm_once_note note;
	uint32_t n = 0;

	for (uint32_t i = 0; i < ADSM_ONCE_SLOTS; i++)
		n += adsm_once_note_read(of, i, &note) && note.device == device;
	return n;
}

/* It ends here: the program's thread is in the count, and has its note. Returns whether the device had one. */
static bool forget(void)
{
	static struct adsm_once_table now;
	bool had;

	memcpy(&now, table, sizeof(now));
	had = n_notes(&now, DEVICE);
	adsm_once_forget(&now, DEVICE);
	CHECK_EQ(n_notes(&now, DEVICE), 0);
	CHECK_EQ(n_notes(&now, -1), 1);
	CHECKF(n_sleepers(&now) == 1 || n_sleepers(&now) == 2, "%u", n_sleepers(&now));
	return had;
}

/* What the wait changes that counts: its note is in the second slot. */
static uint64_t state_of(const struct adsm_once_wait *wait)
{
	return (uint64_t)table->buckets[wait->bucket].sleepers << 32 | table->slots[1].number << 1 |
		table->slots[1].taken;
}

int main(void)
{
	uint64_t was = UINT64_MAX;
	struct adsm_once_wait wait;
	unsigned n = 0, had = 0;
	pid_t child;
	int status;

	table = map(sizeof(*table));
	shared = map(sizeof(*shared) + 16);
	begin(&wait, -1);
	child = fork();
	CHECK(child >= 0);
	if (!child)
		wait_once();
	CHECK_EQ(waitpid(child, &status, 0), child);
	for (; WIFSTOPPED(status) && n < STEPS_MAX; n++) {
		if (state_of(&wait) != was)
			had += forget();
		was = state_of(&wait);
		CHECK(!ptrace(PTRACE_SINGLESTEP, child, NULL, NULL));
		CHECK_EQ(waitpid(child, &status, 0), child);
	}
	if (WIFSTOPPED(status))
		kill(child, SIGKILL);
	if (WIFSTOPPED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 77)) {
		printf("a process cannot be followed instruction by instruction here\n");
		return 77;
	}
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	printf("%u instructions\n", n);
	CHECK(had);
	CHECK_EQ(n_sleepers(table), 1);
	adsm_once_wait_end(&wait);
	CHECK_EQ(n_sleepers(table), 0);
	return 0;
}
