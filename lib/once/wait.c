/* SPDX-License-Identifier: MIT */
/* once/wait.c - see wait.h. */
#include "once/wait.h"

#include <errno.h>
#include <pthread.h>

#include "base/error.h"
#include "base/log.h"
#include "core/frame.h"
#include "core/life.h"
#include "core/limits.h"
#include "core/observe.h"
#include "core/view.h"

#define WINDOW ((size_t)64)		/* pages: set ones are opened up to this
					   number before and after a touched one */

#define WAITS_MAX 2			/* waits noted for each thread; a jump does not end further ones */
#define RESERVED ((uintptr_t)1)		/* in place of a frame: the entry is being filled */

/* Sixteen bytes, because thread-local memory is scarce. */
struct entry {
	uintptr_t at;			/* the address of the wait's frame; 0: the entry is free */
	uint32_t number;		/* of the wait */
	uint16_t slot, bucket;		/* slot: the number plus 1, 0 for none */
};

_Static_assert(ADSM_ONCE_SLOTS < UINT16_MAX && ADSM_ONCE_BUCKETS <= UINT16_MAX + 1, "they do not fit");

/*
 * The waits that this thread is in. A signal handler may wait, too, and so may another context that it has switched to.
 * If a jump leaves a wait, the wrapper of the jump ends it; otherwise the thread's next wait does, if it is certain by
 * then (core/frame.h).
 */
static _Thread_local struct {
	struct entry in[WAITS_MAX];
	int thread;			/* this thread's id; 0: unknown; the child of a fork does not wait */
	int error;			/* the error of the wait in a touch of address judged */
	uintptr_t judged;
} mine;

static _Atomic uint32_t n_waits;	/* all waits so far; it may wrap around */

/* The word in the frame of a wait. It is no small number, because stacks contain many of those. */
static uint64_t word_of(uint32_t number)
{
	return (number + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
}

static struct adsm_frame frame_of(const struct entry *entry)
{
	return (struct adsm_frame){ entry->at, adsm_os_stack_end(entry->at), word_of(entry->number) };
}

/* A signal handler of this thread may interrupt, and do the same. */
static bool exchange(struct entry *entry, uintptr_t from, uintptr_t to)
{
	return __atomic_compare_exchange_n(&entry->at, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* End a wait whose function was left. In the child of a fork the table is not mapped, and waits are the parent's. */
static void end_entry(struct entry *entry, const struct entry *copy)
{
	const struct adsm_once_wait left = {
		.table = adsm_once_table, .slot = (int32_t)copy->slot - 1, .bucket = copy->bucket,
		.since_ns = adsm_os_now_ns(),
	};

	if (exchange(entry, copy->at, 0) && !adsm_is_child())
		adsm_once_wait_end(&left);
}

void adsm_once_leave(uintptr_t stack, bool may_return)
{
	for (size_t i = 0; i < WAITS_MAX; i++) {
		const struct entry copy = mine.in[i];
		struct adsm_frame frame;

		if (copy.at <= RESERVED)
			continue;
		frame = frame_of(&copy);
		if (adsm_frame_is_left_by_jump(&frame, stack, may_return))
			end_entry(&mine.in[i], &copy);
	}
}

/* The thread's stack pointer is @stack: end waits that it has left. */
static void end_left(uintptr_t stack)
{
	for (size_t i = 0; i < WAITS_MAX; i++) {
		const struct entry copy = mine.in[i];
		struct adsm_frame frame;

		if (copy.at <= RESERVED || copy.at == stack)
			continue;
		frame = frame_of(&copy);
		if (adsm_frame_is_left(&frame, stack))
			end_entry(&mine.in[i], &copy);
	}
}

struct waiting {
	volatile uint64_t word;		/* in the wait's frame: the result of word_of() */
	uint32_t number;
	unsigned at;			/* the index of its entry; WAITS_MAX: it has none */
	struct adsm_once_wait wait;
	struct adsm_once_object *object;
};

static uintptr_t place_of(const struct waiting *waiting)
{
	return (uintptr_t)&waiting->word;
}

static void begin_wait(struct waiting *waiting, struct adsm_once_note *note)
{
	const uintptr_t at = place_of(waiting);
	unsigned i = 0;

	waiting->number = atomic_fetch_add_explicit(&n_waits, 1, memory_order_relaxed);
	waiting->word = word_of(waiting->number);
	for (unsigned k = 0; k < WAITS_MAX; k++) {
		const struct entry copy = mine.in[k];

		if (copy.at == at)
			end_entry(&mine.in[k], &copy);		/* an earlier wait at the same address */
	}
	end_left(at);
	adsm_once_wait_take(&waiting->wait, adsm_once_table, waiting->object->shared, note);
	while (i < WAITS_MAX && !exchange(&mine.in[i], 0, RESERVED))
		i++;
	waiting->at = i;
	if (i < WAITS_MAX) {
		mine.in[i].number = waiting->number;
		mine.in[i].slot = (uint16_t)(waiting->wait.slot + 1);
		mine.in[i].bucket = (uint16_t)waiting->wait.bucket;
		exchange(&mine.in[i], RESERVED, at);
	}
	adsm_once_wait_show(&waiting->wait);
}

/* Has the wait its entry? Another wait of this thread may have taken it for one that was left. */
static bool is_noted(const struct waiting *waiting)
{
	return waiting->at == WAITS_MAX || (mine.in[waiting->at].at == place_of(waiting) &&
					    mine.in[waiting->at].number == waiting->number);
}

/* Also runs when the thread is cancelled. */
static void end_wait(struct waiting *waiting)
{
	end_left(place_of(waiting));		/* waits of signal handlers that were left by jumps */
	if (adsm_is_child())
		return;
	if (waiting->at == WAITS_MAX || (is_noted(waiting) && exchange(&mine.in[waiting->at], place_of(waiting), 0)))
		adsm_once_wait_end(&waiting->wait);
	adsm_note_once((uintptr_t)waiting->object->handle.address, waiting->wait.unit & ~ADSM_ONCE_ROOM,
		       waiting->wait.since_ns);
}

/* The thread can be cancelled only here. The cleanup is in the frames of the callers. */
static int sleep_cancellable(_Atomic uint32_t *word, uint32_t value, bool far)
{
	int type, ret;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	ret = adsm_once_sleep(word, value, far);
	pthread_setcanceltype(type, NULL);
	return ret;
}

/* AddressSanitizer reports an error of its own if a cancelled thread leaves a frame that it has instrumented. */
__attribute__((no_sanitize("address")))
static int wait_for(struct adsm_once_object *object, uint64_t unit, const void *where,
		    int (*sleep)(_Atomic uint32_t *word, uint32_t value, bool far))
{
	struct adsm_once_note note = { .address = (uintptr_t)object->handle.address, .unit = unit,
				       .where = (uintptr_t)where, .device = ADSM_ONCE_ON_HOST };
	int error = -EAGAIN;

	if (adsm_once_spin(object->shared, unit))
		return 0;
	if (adsm_serving)
		return -EDEADLK;
	if (!mine.thread)
		mine.thread = adsm_os_thread_id();
	note.thread = mine.thread;
	{
		__attribute__((cleanup(end_wait))) struct waiting waiting = {
			.object = object, .at = WAITS_MAX,
		};

		begin_wait(&waiting, &note);
		while (error == -EAGAIN) {
			error = adsm_once_wait_once(&waiting.wait, sleep);
			/* A signal handler has forked while this thread slept. */
			if (error == -EAGAIN && adsm_is_child())
				error = -ENOTSUP;
			if (error == -EAGAIN && !is_noted(&waiting))
				begin_wait(&waiting, &note);
		}
	}
	return error;
}

/* Why a wait has failed. */
static const char *reason(const struct adsm_once_object *object, int error)
{
	int device, failed = adsm_once_failed(object->shared, &device);

	if (adsm_is_child())
		return "the child of a fork cannot use the library before it calls exec";
	if (failed == -ENODEV && error == failed && atomic_load(&adsm_homes[device].device->lost))
		return atomic_load(&adsm_homes[device].device->lost);
	if (failed && error == failed)
		return "a call that sets units of the object has failed, or its own wait has failed";
	if (error == -EDEADLK && adsm_serving)
		return "a kernel waits for this service";
	if (error == -EDEADLK)
		return "all threads and kernels that could change that wait, too (adsmOnceWaiters)";
	return adsm_error_string(error);
}

static int get(struct adsm_once_object *object, size_t unit, const void *where,
	       int (*sleep)(_Atomic uint32_t *word, uint32_t value, bool far))
{
	int error = wait_for(object, unit, where, sleep);

	if (error)
		adsm_fail(error, "unit %zu of the write-once object at %p is not set, and will not be set: %s", unit,
			  object->handle.address, reason(object, error));
	return error;
}

int adsm_once_get(struct adsm_once_object *object, size_t unit, const void *where)
{
	if (unit >= object->handle.count)
		return adsm_fail(-EINVAL, "unit %zu does not exist: the write-once object at %p has %zu units, counted "
				 "from 0", unit, object->handle.address, object->handle.count);
	return get(object, unit, where, sleep_cancellable);
}

/* On a cluster units cannot be emptied. */
static int check_empties(void)
{
	for (int i = 0; i < adsm_n_homes; i++)
		if (adsm_homes[i].device->caps.once_travels)
			return adsm_fail(-ENOTSUP, "units of write-once objects cannot be emptied on a cluster, whose "
					 "nodes have copies of them");
	return 0;
}

int adsm_once_room(struct adsm_once_object *object, size_t unit, const void *where)
{
	int error = 0;

	/* Another writer may set the unit before this one begins. */
	while (!error && adsm_once_fresh(object->shared, unit)) {
		error = check_empties();
		if (error)
			return error;
		error = wait_for(object, unit | ADSM_ONCE_ROOM, where, sleep_cancellable);
		if (error)
			adsm_fail(error, "unit %zu of the write-once object at %p is set, and will not be emptied: %s",
				  unit, object->handle.address, reason(object, error));
	}
	return error;
}

/* Close pages of the view. An open page may not stay: loads would get the bytes of an emptied unit. */
static void close_pages(const struct adsm_once_object *object, size_t first, size_t end)
{
	char *view = object->handle.address, *at = view + first * ADSM_PAGE_SIZE;
	const size_t size = (end - first) * ADSM_PAGE_SIZE;
	int error = object->engine->permit(at, size, ADSM_PROT_READ, ADSM_PROT_NONE);

	if (error == -ENOMEM) {
		adsm_home_recover(&adsm_homes[0]);
		error = object->engine->permit(at, size, ADSM_PROT_READ, ADSM_PROT_NONE);
	}
	/* A closed view is one mapping, or one for each run. Later touches open it again. */
	if (error)
		object->engine->permit(view, object->stand_in.span, ADSM_PROT_READ, ADSM_PROT_NONE);
}

int adsm_once_make_empty(struct adsm_once_object *object, size_t unit)
{
	const size_t first = unit * object->handle.size / ADSM_PAGE_SIZE;
	const size_t end = ((unit + 1) * object->handle.size - 1) / ADSM_PAGE_SIZE + 1;

	int error = check_empties();

	if (error)
		return error;
	/* A thread that opens a page at the same time looks again after that, and closes it. */
	atomic_store(&object->emptied, true);
	if (adsm_once_empty(adsm_once_table, object->shared, (uintptr_t)object->handle.address, unit))
		return adsm_fail(-EINVAL, "unit %zu of the write-once object at %p is not set: only a set unit can be "
				 "emptied", unit, object->handle.address);
	if (atomic_load(&object->opened))
		close_pages(object, first, end);
	return 0;
}

/* ---- touches of the view */

/* The first unit of a page that is not set; the object's count if all are set. */
static size_t missing(const struct adsm_once_object *object, size_t page)
{
	size_t first = adsm_once_unit_at(object, page * ADSM_PAGE_SIZE);
	size_t last = adsm_once_unit_at(object, (page + 1) * ADSM_PAGE_SIZE - 1);

	for (size_t unit = first; unit <= last && unit < object->handle.count; unit++)
		if (!adsm_once_is_set(object->shared, unit))
			return unit;
	return object->handle.count;
}

static bool is_whole(const struct adsm_once_object *object, size_t page)
{
	return missing(object, page) == object->handle.count;
}

static bool is_permitted(const struct adsm_once_object *object, size_t page)
{
	return adsm_limit_at(&object->stand_in, page * ADSM_PAGE_SIZE) != ADSM_PROT_NONE;
}

/* Open a page whose units are all set, and such pages around it. */
static int open_page(struct adsm_once_object *object, size_t page)
{
	size_t first = page, end = page + 1, n_pages = object->stand_in.span / ADSM_PAGE_SIZE, size;
	char *view = object->handle.address;
	int error;

	while (first && page - first < WINDOW && is_whole(object, first - 1) && is_permitted(object, first - 1))
		first--;
	while (end < n_pages && end - page < WINDOW && is_whole(object, end) && is_permitted(object, end))
		end++;
	size = (end - first) * ADSM_PAGE_SIZE;
	atomic_store(&object->opened, true);
	error = object->engine->permit(view + first * ADSM_PAGE_SIZE, size, ADSM_PROT_NONE, ADSM_PROT_READ);
	if (error == -ENOMEM) {
		/* This gives mappings back, as in close_pages(). */
		object->engine->permit(view, object->stand_in.span, ADSM_PROT_READ, ADSM_PROT_NONE);
		adsm_home_recover(&adsm_homes[0]);
		error = object->engine->permit(view + first * ADSM_PAGE_SIZE, size, ADSM_PROT_NONE, ADSM_PROT_READ);
	}
	if (!error)
		adsm_os_populate(view + first * ADSM_PAGE_SIZE, size, false);
	/* There is no lock. If the program has closed a page meanwhile, or has emptied a unit of it, the last of the
	 * threads closes it again. */
	for (; (adsm_is_limited(&object->stand_in) || atomic_load(&object->emptied)) && first < end; first++)
		if (!is_permitted(object, first) || !is_whole(object, first))
			close_pages(object, first, first + 1);
	return error;
}

int adsm_once_limit(struct adsm_once_object *object, size_t offset, size_t size, enum adsm_prot limit)
{
	char *view = (char *)object->handle.address + offset;
	int error;

	if (limit == ADSM_PROT_RW && !adsm_is_limited(&object->stand_in))
		return 0;
	error = adsm_limits_make(&object->stand_in);
	if (error)
		return error;
	adsm_limits_set(&object->stand_in, offset, size, limit);
	if (limit != ADSM_PROT_NONE)
		return 0;	/* the next touch opens it */
	error = object->engine->permit(view, size, ADSM_PROT_READ, ADSM_PROT_NONE);
	if (error == -ENOMEM) {
		adsm_home_recover(&adsm_homes[0]);
		error = object->engine->permit(view, size, ADSM_PROT_READ, ADSM_PROT_NONE);
	}
	return error;
}

/* Runs under the interrupted code's signal mask. A handler may leave it by siglongjmp(). */
static void wait_in_touch(const struct adsm_fault *fault)
{
	int error = wait_for(fault->wait_device, fault->wait_seq, (const void *)fault->instruction, adsm_once_sleep);

	mine.judged = error ? fault->address : 0;
	mine.error = error;
}

static enum adsm_fault_result lost(const struct adsm_once_object *object, const struct adsm_fault *fault, size_t unit,
				   const char *why)
{
	adsm_error("%s of %p fails: unit %zu of the write-once object at %p: %s", fault->write ? "store" : "read",
		   (void *)fault->address, unit, object->handle.address, why);
	return ADSM_FAULT_LOST;
}

static enum adsm_fault_result refuse_store(const struct adsm_once_object *object, const struct adsm_fault *fault,
					   size_t unit)
{
	bool set = unit < object->handle.count && adsm_once_is_set(object->shared, unit);

	return lost(object, fault, unit, set ? "the unit is set, and a unit is written only once" :
		    "write the unit at the address that adsmOnceFresh() returns");
}

enum adsm_fault_result adsm_once_fault(struct adsm_fault *fault)
{
	struct adsm_once_object *object = adsm_once_at(fault->address);
	size_t page, unit;
	int error;

	if (fault->cramped)
		return object ? ADSM_FAULT_LOST : ADSM_FAULT_FOREIGN;
	if (!object) {
		object = fault->write ? adsm_once_of_reader(fault->address) : NULL;
		return object ? refuse_store(object, fault, adsm_once_unit_at(object, fault->address -
					     (uintptr_t)object->handle.data)) : ADSM_FAULT_FOREIGN;
	}
	page = (fault->address - object->stand_in.start) / ADSM_PAGE_SIZE;
	if (adsm_limit_at(&object->stand_in, page * ADSM_PAGE_SIZE) < (fault->write ? ADSM_PROT_RW : ADSM_PROT_READ))
		return ADSM_FAULT_FOREIGN;
	if (fault->write)
		return refuse_store(object, fault, adsm_once_unit_at(object, fault->address - object->stand_in.start));
	unit = missing(object, page);
	if (unit == object->handle.count) {
		mine.judged = 0;
		error = open_page(object, page);
		return error ? lost(object, fault, adsm_once_unit_at(object, page * ADSM_PAGE_SIZE),
				    "the process has no memory mappings left (vm.max_map_count)") : ADSM_FAULT_SERVED;
	}
	if (mine.judged == fault->address) {
		mine.judged = 0;
		return lost(object, fault, unit, reason(object, mine.error));
	}
	fault->wait = wait_in_touch;
	fault->wait_device = object;
	fault->wait_seq = unit;
	return ADSM_FAULT_WAIT;
}

/* ---- system calls */

int adsm_once_io(struct adsm_once_object *object, size_t offset, size_t size, bool input, const void *where,
		 void **ret_address)
{
	size_t unit = adsm_once_unit_at(object, offset), last = adsm_once_unit_at(object, offset + size - 1);

	for (; unit <= last && unit < object->handle.count; unit++) {
		unsigned flag = atomic_load(&object->shared->flags[unit]);

		if (input && flag != ADSM_ONCE_FRESH) {
			adsm_error("input into unit %zu of the write-once object at %p fails: %s", unit,
				   object->handle.address, flag == ADSM_ONCE_SET ?
				   "the unit is set, and a unit is written only once" : "call adsmOnceFresh() before");
			return flag == ADSM_ONCE_SET ? -EEXIST : -EINVAL;
		}
		if (!input) {
			int error = get(object, unit, where, adsm_once_sleep);

			if (error) {
				adsm_error("%s", adsm_last_error());
				return error;
			}
		}
	}
	*ret_address = (input ? (char *)object->handle.room : (char *)object->handle.data) + offset;
	return 0;
}
