/* SPDX-License-Identifier: MIT */
/*
 * timer.c - timers that call a function. libc calls it in a thread where it has blocked all signals, without using a
 * wrapper. A touch of a closed page would end the process there. So libc gets another function, which unblocks SIGSEGV
 * and then calls the program's.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "range.h"
#include "real.h"

#define CHUNKS 64
#define CHUNK 64			/* timers in a chunk; at most 4096 at the same time */
#define NO_TIMER ((timer_t)-1)

ADSM_REALS(timer_create, timer_delete)

/* Belongs to one timer until it is deleted. The memory is never freed, because a thread may be about to read it. */
struct slot {
	_Atomic uint32_t number;	/* odd: in use. A new number for each timer that uses the slot */
	void (*function)(union sigval);
	union sigval value;
	timer_t timer;
};

static _Atomic(struct slot *) chunks[CHUNKS];

static struct slot *chunk_at(unsigned i)
{
	struct slot *chunk = atomic_load(&chunks[i]), *none = NULL, *made;

	if (chunk)
		return chunk;
	made = calloc(CHUNK, sizeof(*made));
	if (!made)
		return NULL;
	if (atomic_compare_exchange_strong(&chunks[i], &none, made))
		return made;
	free(made);
	return none;
}

/* Returns NULL if there are too many timers, or no memory. *ret_name: the slot's index and number, in one value. */
static struct slot *take_slot(const struct sigevent *event, union sigval *ret_name)
{
	for (unsigned i = 0; i < CHUNKS * CHUNK; i++) {
		struct slot *chunk = chunk_at(i / CHUNK), *slot;
		uint32_t number;

		if (!chunk)
			return NULL;
		slot = &chunk[i % CHUNK];
		number = atomic_load(&slot->number);
		if (number & 1 || !atomic_compare_exchange_strong(&slot->number, &number, number + 1))
			continue;
		slot->function = event->sigev_notify_function;
		slot->value = event->sigev_value;
		slot->timer = NO_TIMER;
		ret_name->sival_ptr = (void *)((uintptr_t)(number + 1) << 32 | i);
		return slot;
	}
	return NULL;
}

static void call(union sigval name)
{
	const uint64_t segv = (uint64_t)1 << (SIGSEGV - 1);
	const uint32_t i = (uint32_t)(uintptr_t)name.sival_ptr;
	const struct slot *slot = &atomic_load(&chunks[i / CHUNK])[i % CHUNK];
	void (*function)(union sigval) = slot->function;
	union sigval value = slot->value;

	/* Another number: the timer was deleted meanwhile, and the values read above may be another timer's. */
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load(&slot->number) != (uint32_t)((uintptr_t)name.sival_ptr >> 32))
		return;
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &segv, NULL, sizeof(segv));
	function(value);
}

ADSM_WRAPPER int timer_create(clockid_t clock, struct sigevent *event, timer_t *ret_timer)
{
	struct slot *slot = NULL;
	struct sigevent own;
	timer_t timer;
	int error;

	adsm_io_look_back(ADSM_STACK());
	error = event ? adsm_range_take(&own, event, sizeof(own)) : 0;
	if (error == -EFAULT)
		return real(timer_create)(clock, event, ret_timer);
	if (error)
		return adsm_range_refuse(error);
	if (event && own.sigev_notify == SIGEV_THREAD && own.sigev_notify_function) {
		slot = take_slot(&own, &own.sigev_value);
		if (!slot)
			return adsm_refuse(EAGAIN);
		own.sigev_notify_function = call;
	}
	error = real(timer_create)(clock, event ? &own : NULL, &timer);
	if (slot && !error)
		slot->timer = timer;
	else if (slot)
		atomic_fetch_add(&slot->number, 1);
	if (error)
		return error;
	error = adsm_range_give(ret_timer, &timer, sizeof(timer));
	if (!error)
		return 0;
	timer_delete(timer);	/* the program did not get its id */
	return adsm_range_refuse(error);
}

ADSM_WRAPPER int timer_delete(timer_t timer)
{
	struct slot *own = NULL;
	int ret;

	/* Find the slot before the timer is deleted: after that, a new timer may have the same id. */
	for (unsigned i = 0; i < CHUNKS * CHUNK && !own; i++) {
		struct slot *chunk = atomic_load(&chunks[i / CHUNK]);

		if (!chunk)
			break;
		if (atomic_load(&chunk[i % CHUNK].number) & 1 && chunk[i % CHUNK].timer == timer)
			own = &chunk[i % CHUNK];
	}
	ret = real(timer_delete)(timer);
	if (own && !ret) {
		own->timer = NO_TIMER;
		atomic_fetch_add(&own->number, 1);
	}
	return ret;
}
