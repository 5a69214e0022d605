/* SPDX-License-Identifier: MIT */
/* once.c - write-once units: threads that wait for them, set them, and end waits. */
#include "step.h"

#include "lib/base/once.c"

#include <sys/mman.h>

#define ADDRESS UINT64_C(0x7e8000000000)

static struct adsm_once_table *table;
static struct adsm_once_shared *shared;
static int results[2];

/* The table is large. Scenarios use two of its buckets and three of its slots. */
static void make_table(void)
{
	void *p = mmap(NULL, sizeof(*table) + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	table = p;
	shared = (struct adsm_once_shared *)(table + 1);
	for (uint64_t unit = 0; unit < 2; unit++)
		step_memory(&table->buckets[bucket_of(ADDRESS, unit)], sizeof(table->buckets[0]));
	/* All other buckets are empty. */
	for (uint32_t i = 0, from = 0; i <= ADSM_ONCE_BUCKETS; i++)
		if (i == ADSM_ONCE_BUCKETS || i == bucket_of(ADDRESS, 0) || i == bucket_of(ADDRESS, 1)) {
			step_plain(&table->buckets[from], (i - from) * sizeof(table->buckets[0]));
			from = i + 1;
		}
	step_plain(&table->slots[3], (ADSM_ONCE_SLOTS - 3) * sizeof(table->slots[0]));
	step_memory(table->slots, 3 * sizeof(table->slots[0]));
	step_memory(&table->high, (size_t)((uint8_t *)shared - (uint8_t *)&table->high));
	step_memory(shared, sizeof(*shared) + 8);
	for (int i = 0; i < 2; i++) {
		adsm_once_fresh(shared, (uint64_t)i);
		results[i] = 1;
	}
}

static void wait_for(void *arg)
{
	const uintptr_t unit = (uintptr_t)arg;
	struct adsm_once_note note = { .address = ADDRESS, .unit = unit, .device = -1 };
	struct adsm_once_wait wait;

	adsm_once_wait_begin(&wait, table, shared, &note);
	while ((results[unit] = adsm_once_wait_once(&wait, adsm_once_sleep)) == -EAGAIN)
		;
	adsm_once_wait_end(&wait);
}

/* Another thread that waits for the same unit. */
static void wait_too(void *arg)
{
	wait_for(arg);
}

static void set(void *arg)
{
	STEP_CHECK(!adsm_once_set(table, shared, ADDRESS, (uintptr_t)arg));
}

/* The unit is set; the thread waits until it is empty, and begins to write it. */
static void wait_for_room(void *arg)
{
	struct adsm_once_note note = { .address = ADDRESS, .unit = ADSM_ONCE_ROOM, .device = -1 };
	struct adsm_once_wait wait;

	set((void *)0);
	adsm_once_wait_begin(&wait, table, shared, &note);
	while ((results[0] = adsm_once_wait_once(&wait, adsm_once_sleep)) == -EAGAIN)
		;
	adsm_once_wait_end(&wait);
	STEP_CHECK(!adsm_once_fresh(shared, 0));
	set((void *)0);
}

/* Reads the unit, and empties it; then the next generation. */
static void read_twice(void *arg)
{
	wait_for((void *)0);
	STEP_CHECK(!adsm_once_empty(table, shared, ADDRESS, 0));
	wait_for((void *)0);
}

static void set_both(void *arg)
{
	set((void *)0);
	set((void *)1);
}

static void go_far(void *arg)
{
	adsm_once_go_far(table, shared);
}

static void fail(void *arg)
{
	adsm_once_fail(shared, 0, -ENODEV);
	adsm_once_wake_all(table);
}

/* End the wait that the thread finds, if it finds one. Then set the unit. */
static void judge(void *arg)
{
	struct adsm_once_note note;

	if (adsm_once_note_read(table, 0, &note))
		adsm_once_judge(table, 0, &note, -EDEADLK);
	set(arg);
}

static bool nobody_sleeps(void)
{
	for (uint64_t unit = 0; unit < 2; unit++)
		if (table->buckets[bucket_of(ADDRESS, unit)].sleepers)
			return false;
	return true;
}

static void start_two(void)
{
	make_table();
	step_thread("waiter", wait_for, (void *)0, 0);
	step_thread("other", wait_too, (void *)0, 0);
	step_thread("setter", set, (void *)0, 0);
}

static void start_units(void)
{
	make_table();
	step_thread("waiter", wait_for, (void *)0, 0);
	step_thread("other", wait_for, (void *)1, 0);
	step_thread("setter", set_both, NULL, 0);
}

static void start_room(void)
{
	make_table();
	step_thread("writer", wait_for_room, NULL, 0);
	step_thread("reader", read_twice, NULL, 0);
}

static void start_far(void)
{
	make_table();
	step_thread("waiter", wait_for, (void *)0, 0);
	step_thread("call", go_far, NULL, 0);
	step_thread("setter", set, (void *)0, 0);
}

static void start_failure(void)
{
	make_table();
	step_thread("waiter", wait_for, (void *)0, 0);
	step_thread("device", fail, NULL, 0);
}

static void start_verdict(void)
{
	make_table();
	step_thread("waiter", wait_for, (void *)0, 0);
	step_thread("judge", judge, (void *)0, 0);
}

/* The thread that looks for deadlocks sleeps while no thread waits, and ends the wait that it finds. */
static bool stopping;

/* The wait in the first slot has read the judgement, and has ended. */
static bool wait_is_over(void *arg)
{
	return !adsm_once_is_judged(table, 0) || !(table->slots[0].number & 1);
}

static bool is_busy(void)
{
	struct adsm_once_note note;

	return adsm_once_note_read(table, 0, &note) || stopping;
}

static void look_on(void *arg)
{
	struct adsm_once_note note;

	while (!stopping) {
		if (!adsm_once_note_read(table, 0, &note))
			adsm_once_idle(table, is_busy);
		else if (!adsm_once_is_judged(table, 0))
			adsm_once_judge(table, 0, &note, -EDEADLK);
		else
			step_await(wait_is_over, NULL);
	}
}

static void wait_twice(void *arg)
{
	for (int i = 0; i < 2; i++) {
		wait_for(arg);
		STEP_CHECK(results[0] == -EDEADLK);
	}
	step_at(NULL, "", 0, "stops");
	stopping = true;
	adsm_once_rouse(table);
}

static void start_looker(void)
{
	make_table();
	stopping = false;
	step_thread("looker", look_on, NULL, 0);
	step_thread("waiter", wait_twice, (void *)0, 0);
}

/* A node of a cluster that waits for many units: it checks them, and another thread of the node listens. */
static _Atomic uint32_t doorbell;
static struct adsm_once_wait wanted;

static void listen(void *arg)
{
	for (;;) {
		uint32_t rings = atomic_load(&table->doorbell);

		atomic_fetch_add(&doorbell, 1);
		adsm_os_wake(&doorbell, INT_MAX, false);
		adsm_os_wait(&table->doorbell, rings, 0, true);
	}
}

static void look(void *arg)
{
	struct adsm_once_note note = { .address = ADDRESS, .unit = 0, .device = 0 };

	atomic_store(&table->n_listeners, 1);
	adsm_once_wait_begin(&wanted, table, shared, &note);
	for (;;) {
		uint32_t count = atomic_load(&doorbell);

		if (adsm_once_is_set(shared, 0))
			break;
		adsm_os_wait(&doorbell, count, 0, false);
	}
	adsm_once_wait_end(&wanted);
	atomic_store(&table->n_listeners, 0);
}

static void start_listener(void)
{
	make_table();
	step_thread("listener", listen, NULL, STEP_SERVER);
	step_thread("node", look, NULL, 0);
	step_thread("setter", set, (void *)0, 0);
}

/* A process that waits is killed. Other threads still wait, and are woken. */
static void wait_on_device(void *arg)
{
	struct adsm_once_note note = { .address = ADDRESS, .unit = 0, .device = 3 };
	struct adsm_once_wait wait;

	adsm_once_wait_begin(&wait, table, shared, &note);
	while (adsm_once_wait_once(&wait, adsm_once_sleep) == -EAGAIN)
		;
	adsm_once_wait_end(&wait);
}

static bool device_is_killed(void *arg)
{
	return step_killed("device");
}

static bool device_is_over(void *arg)
{
	return step_over("device");
}

static void forget(void *arg)
{
	step_await(device_is_over, NULL);
	if (device_is_killed(NULL))
		adsm_once_forget(table, 3);
	set((void *)0);
}

static void start_killed(void)
{
	make_table();
	adsm_once_fresh(shared, 1);
	step_thread("device", wait_on_device, NULL, STEP_MORTAL);
	step_thread("waiter", wait_for, (void *)0, 0);
	step_thread("library", forget, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "two wait for a unit", .start = start_two, .settled = nobody_sleeps },
		{ .name = "two wait for two units", .start = start_units, .settled = nobody_sleeps, .signals = 1 },
		{ .name = "two generations of a unit", .start = start_room, .settled = nobody_sleeps },
		{ .name = "an object goes far", .start = start_far, .settled = nobody_sleeps, .signals = 1 },
		{ .name = "a call fails", .start = start_failure, .settled = nobody_sleeps, .signals = 1 },
		{ .name = "a deadlock is told", .start = start_verdict, .settled = nobody_sleeps, .signals = 1 },
		{ .name = "who looks on sleeps", .start = start_looker, .settled = nobody_sleeps, .signals = 1 },
		{ .name = "a listener", .start = start_listener, .settled = nobody_sleeps },
		{ .name = "a device is killed", .start = start_killed },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
