/* SPDX-License-Identifier: MIT */
/* once.c - see once.h. */
#include "base/once.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/os.h"

#define SPINS 50			/* pauses before a thread sleeps */

_Static_assert(sizeof(struct adsm_once_note) % sizeof(uint64_t) == 0, "a note is whole words");

static uint32_t bucket_of(uint64_t address, uint64_t unit)
{
	/* Consecutive units, and consecutive objects, get different buckets. */
	uint64_t hash = ((unit & ~ADSM_ONCE_ROOM) + (address >> 12)) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(hash >> 54) % ADSM_ONCE_BUCKETS;
}

/* Wake the threads that wait for many units. */
static void ring(struct adsm_once_table *table)
{
	if (!atomic_load(&table->n_listeners))
		return;
	atomic_fetch_add(&table->doorbell, 1);
	adsm_os_wake(&table->doorbell, INT_MAX, true);
}

/* Wake all threads that sleep on a bucket, for any object. */
static void wake(struct adsm_once_table *table, struct adsm_once_bucket *bucket)
{
	atomic_fetch_add(&bucket->tick, 1);
	adsm_os_wake(&bucket->tick, INT_MAX, false);
	adsm_os_wake(&bucket->tick, INT_MAX, true);
	ring(table);
}

/* Wake the threads that sleep on a bucket, because a unit of this object has changed. */
static void wake_for(struct adsm_once_table *table, struct adsm_once_shared *shared, struct adsm_once_bucket *bucket)
{
	atomic_store_explicit(&bucket->cpu, adsm_os_cpu(), memory_order_relaxed);
	atomic_fetch_add(&bucket->tick, 1);
	adsm_os_wake(&bucket->tick, INT_MAX, atomic_load(&shared->far));
	ring(table);
}

int adsm_once_fresh(struct adsm_once_shared *shared, uint64_t unit)
{
	uint8_t was = ADSM_ONCE_EMPTY;

	if (atomic_compare_exchange_strong_explicit(&shared->flags[unit], &was, ADSM_ONCE_FRESH, memory_order_relaxed,
						    memory_order_relaxed))
		return 0;
	return was == ADSM_ONCE_FRESH ? 0 : -EEXIST;
}

int adsm_once_set(struct adsm_once_table *table, struct adsm_once_shared *shared, uint64_t address, uint64_t unit)
{
	struct adsm_once_bucket *bucket = &table->buckets[bucket_of(address, unit)];
	uint8_t was = ADSM_ONCE_FRESH;

	if (!atomic_compare_exchange_strong(&shared->flags[unit], &was, ADSM_ONCE_SET))
		return was == ADSM_ONCE_SET ? -EEXIST : -EINVAL;
	if (atomic_load(&bucket->sleepers))
		wake_for(table, shared, bucket);
	return 0;
}

int adsm_once_empty(struct adsm_once_table *table, struct adsm_once_shared *shared, uint64_t address, uint64_t unit)
{
	struct adsm_once_bucket *bucket = &table->buckets[bucket_of(address, unit)];
	uint8_t was = ADSM_ONCE_SET;

	if (!atomic_compare_exchange_strong(&shared->flags[unit], &was, ADSM_ONCE_EMPTY))
		return -EINVAL;
	if (atomic_load(&bucket->sleepers))
		wake_for(table, shared, bucket);
	return 0;
}

void adsm_once_wake_unit(struct adsm_once_table *table, uint64_t address, uint64_t unit)
{
	struct adsm_once_bucket *bucket = &table->buckets[bucket_of(address, unit)];

	if (atomic_load(&bucket->sleepers))
		wake(table, bucket);
}

/* A futex of one process is a fifth faster. A thread that sleeps on such a futex looks again, and then finds that other
 * processes take part. */
void adsm_once_go_far(struct adsm_once_table *table, struct adsm_once_shared *shared)
{
	if (!atomic_load(&shared->far) && !atomic_exchange(&shared->far, 1))
		adsm_once_wake_all(table);
}

void adsm_once_fail(struct adsm_once_shared *shared, int device, int error)
{
	uint32_t none = 0;

	atomic_compare_exchange_strong(&shared->failed, &none, (uint32_t)-error << 8 | (uint32_t)device);
}

int adsm_once_failed(const struct adsm_once_shared *shared, int *ret_device)
{
	uint32_t failed = atomic_load(&shared->failed);

	*ret_device = (int)(failed & 0xff);
	return -(int)(failed >> 8);
}

/* For the last wait of this thread that did not only spin. */
static _Thread_local struct {
	unsigned cpu;			/* processor where it began */
	bool alone;			/* the thread that set the unit ran on the same processor */
} mine;

/* A thread that needs this processor to set the unit cannot do so while this thread spins. */
bool adsm_once_spin(const struct adsm_once_shared *shared, uint64_t unit)
{
	for (int i = 0; i < SPINS; i++) {
		if (adsm_once_is_over(shared, unit))
			return true;
		if (mine.alone)
			return false;
#if defined(__x86_64__)
		__builtin_ia32_pause();
#elif defined(__aarch64__)
		__asm__ volatile("yield");
#endif
	}
	return false;
}

/* ---- waiting */

static void write_note(struct adsm_once_slot *slot, const struct adsm_once_note *note)
{
	uint64_t words[ADSM_ONCE_WORDS];

	memcpy(words, note, sizeof(words));
	for (size_t i = 0; i < ADSM_ONCE_WORDS; i++)
		atomic_store_explicit(&slot->note[i], words[i], memory_order_relaxed);
}

static int32_t take_slot(struct adsm_once_table *table, uint32_t bucket, const struct adsm_once_note *note)
{
	for (uint32_t i = 0; i < ADSM_ONCE_SLOTS; i++) {
		struct adsm_once_slot *slot = &table->slots[i];
		uint32_t was = 0, high = atomic_load(&table->high);

		if (atomic_load_explicit(&slot->taken, memory_order_relaxed) ||
		    !atomic_compare_exchange_strong(&slot->taken, &was, 1))
			continue;
		while (high <= i && !atomic_compare_exchange_weak(&table->high, &high, i + 1))
			;
		atomic_store(&slot->bucket, bucket);
		write_note(slot, note);
		return (int32_t)i;
	}
	return -1;
}

static void give_slot(struct adsm_once_slot *slot)
{
	if (atomic_load(&slot->number) & 1)
		atomic_fetch_add(&slot->number, 1);
	atomic_store(&slot->taken, 0);
}

void adsm_once_wait_take(struct adsm_once_wait *wait, struct adsm_once_table *table, struct adsm_once_shared *shared,
			 struct adsm_once_note *note)
{
	note->since_ns = adsm_os_now_ns();
	wait->table = table;
	wait->shared = shared;
	wait->unit = note->unit;
	wait->since_ns = note->since_ns;
	wait->bucket = bucket_of(note->address, note->unit);
	mine.cpu = adsm_os_cpu();
	/* In this order, and undone in the reverse order: see adsm_once_forget(). */
	atomic_fetch_add(&table->buckets[wait->bucket].sleepers, 1);
	wait->slot = take_slot(table, wait->bucket, note);
	wait->number = 0;
}

void adsm_once_wait_show(struct adsm_once_wait *wait)
{
	struct adsm_once_table *table = wait->table;

	if (wait->slot >= 0)
		wait->number = atomic_fetch_add(&table->slots[wait->slot].number, 1) + 1;
	if (atomic_load(&table->idle))
		adsm_once_rouse(table);
}

void adsm_once_wait_begin(struct adsm_once_wait *wait, struct adsm_once_table *table, struct adsm_once_shared *shared,
			  struct adsm_once_note *note)
{
	adsm_once_wait_take(wait, table, shared, note);
	adsm_once_wait_show(wait);
}

void adsm_once_wait_end(const struct adsm_once_wait *wait)
{
	struct adsm_once_bucket *bucket = &wait->table->buckets[wait->bucket];

	mine.alone = atomic_load_explicit(&bucket->cpu, memory_order_relaxed) == mine.cpu;
	if (wait->slot >= 0)
		give_slot(&wait->table->slots[wait->slot]);
	atomic_fetch_sub(&bucket->sleepers, 1);
	atomic_fetch_add_explicit(&wait->table->waits, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&wait->table->wait_ns, adsm_os_now_ns() - wait->since_ns, memory_order_relaxed);
}

int adsm_once_sleep(_Atomic uint32_t *word, uint32_t value, bool far)
{
	return adsm_os_wait(word, value, 0, far);
}

int adsm_once_wait_once(const struct adsm_once_wait *wait,
			int (*sleep)(_Atomic uint32_t *word, uint32_t value, bool far))
{
	struct adsm_once_bucket *bucket = &wait->table->buckets[wait->bucket];
	uint32_t tick = atomic_load(&bucket->tick);
	bool far = atomic_load(&wait->shared->far);	/* behind the tick, which changes behind it */
	uint64_t verdict;
	int device, error = adsm_once_failed(wait->shared, &device);

	if ((atomic_load(&wait->shared->flags[wait->unit & ~ADSM_ONCE_ROOM]) == ADSM_ONCE_SET) !=
	    ((wait->unit & ADSM_ONCE_ROOM) != 0))
		return 0;
	if (error)
		return error;
	verdict = wait->slot >= 0 ? atomic_load(&wait->table->slots[wait->slot].verdict) : 0;
	if (verdict >> 32 == wait->number && verdict)
		return -(int)(uint32_t)verdict;
	sleep(&bucket->tick, tick, far);
	return -EAGAIN;
}

/* ---- for threads that look at waits */

void adsm_once_rouse(struct adsm_once_table *table)
{
	if (atomic_exchange(&table->idle, 0))
		adsm_os_wake(&table->idle, INT_MAX, true);
}

void adsm_once_idle(struct adsm_once_table *table, bool (*busy)(void))
{
	atomic_store(&table->idle, 1);
	if (!busy())
		adsm_os_wait(&table->idle, 1, 0, true);
	atomic_store(&table->idle, 0);
}

static bool read_note(struct adsm_once_table *table, uint32_t i, struct adsm_once_note *ret_note,
		      uint32_t *ret_number)
{
	struct adsm_once_slot *slot = &table->slots[i];
	uint64_t words[ADSM_ONCE_WORDS];
	uint32_t number = atomic_load(&slot->number);

	if (i >= atomic_load(&table->high) || !(number & 1))
		return false;
	for (size_t w = 0; w < ADSM_ONCE_WORDS; w++)
		words[w] = atomic_load_explicit(&slot->note[w], memory_order_acquire);
	if (atomic_load(&slot->number) != number)
		return false;
	memcpy(ret_note, words, sizeof(words));
	*ret_number = number;
	return true;
}

bool adsm_once_note_read(struct adsm_once_table *table, uint32_t slot, struct adsm_once_note *ret_note)
{
	uint32_t number;

	return read_note(table, slot, ret_note, &number);
}

bool adsm_once_note_new(struct adsm_once_table *table, uint32_t slot, uint32_t *number,
			struct adsm_once_note *ret_note)
{
	uint32_t now;

	if (!read_note(table, slot, ret_note, &now) || now == *number)
		return false;
	*number = now;
	return true;
}

bool adsm_once_is_judged(struct adsm_once_table *table, uint32_t i)
{
	uint64_t verdict = atomic_load(&table->slots[i].verdict);

	return verdict && verdict >> 32 == atomic_load(&table->slots[i].number);
}

void adsm_once_judge(struct adsm_once_table *table, uint32_t i, const struct adsm_once_note *note, int error)
{
	struct adsm_once_slot *slot = &table->slots[i];
	struct adsm_once_note now;
	uint32_t number;

	if (!read_note(table, i, &now, &number) || memcmp(&now, note, sizeof(now)))
		return;
	atomic_store(&slot->verdict, (uint64_t)number << 32 | (uint32_t)-error);
	wake(table, &table->buckets[atomic_load(&slot->bucket) % ADSM_ONCE_BUCKETS]);
}

void adsm_once_wake_all(struct adsm_once_table *table)
{
	for (uint32_t i = 0; i < ADSM_ONCE_BUCKETS; i++)
		if (atomic_load(&table->buckets[i].sleepers))
			wake(table, &table->buckets[i]);
}

/*
 * Wherever the process has ended, a wait whose note is complete has been counted in its bucket, and is still counted.
 * So no count becomes too small; otherwise the sleep of other threads would be overlooked. If a count stays one too
 * large, setting a unit costs a system call more.
 */
void adsm_once_forget(struct adsm_once_table *table, int device)
{
	struct adsm_once_note note;

	for (uint32_t i = 0; i < ADSM_ONCE_SLOTS; i++) {
		struct adsm_once_slot *slot = &table->slots[i];

		if (!adsm_once_note_read(table, i, &note) || note.device != device)
			continue;
		atomic_fetch_sub(&table->buckets[atomic_load(&slot->bucket) % ADSM_ONCE_BUCKETS].sleepers, 1);
		give_slot(slot);
	}
}
