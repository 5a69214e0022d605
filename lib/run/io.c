/* SPDX-License-Identifier: MIT */
/*
 * io.c - ranges of shared memory in the hands of system calls and bulk copies.
 *
 * When an input in progress (input.h) ends, what has come is a write of the CPU's, and what has not come is fetched
 * into the holes. A program that stores into bytes whose input is in progress may lose that store, even from a signal
 * handler: it races with whoever delivers. So do two inputs for the same bytes.
 */
#include "run/io.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "core/block.h"
#include "core/index.h"
#include "core/life.h"
#include "core/limits.h"
#include "core/observe.h"
#include "once/wait.h"
#include "run/enter.h"
#include "run/inside.h"
#include "run/left.h"
#include "run/wait.h"

#define SERIAL_STEP UINT64_C(0x9E3779B97F4A7C15)	/* odd: serials all differ, and look like nothing else */

void (*_Atomic adsm_io_finish_detached)(void);

static _Atomic uint64_t last_serial;
_Thread_local struct adsm_io_here adsm_io_here;

/* ---- accesses of a range, block by block */

/* An input lets go of its bytes up to @at: they are the object's again. */
static void shrink(struct adsm_input *input, size_t at)
{
	size_t offset = input->offset, end = offset + input->size;

	at = at < end ? at : end;
	input->offset = at;
	input->size = end - at;
	adsm_input_closed(input->object, offset, at - offset);
}

/*
 * Let the CPU read the bytes from @at to @end, or, with @input, take what that has brought as written. Lock held;
 * dropped for transfers and to wait.
 */
static int access_range(struct adsm_object *object, struct adsm_input *input, size_t at, size_t end,
			struct adsm_sigset *old)
{
	int failed = 0;

	if (adsm_is_paged(object))
		adsm_observer->advice_range(object, at, end, input != NULL);
	while (at < end) {
		uint32_t first = (uint32_t)(at >> object->blocks.shift), n;
		enum adsm_block_event event;
		int error = 0;

		n = adsm_range_step(&object->blocks, input != NULL, at, end, &event);
		if (n) {
			/* Blocks that need no waiting, also not for a call that has ended by now, go in one step. */
			if (n > 1 && adsm_block_must_wait(object, first, event))
				adsm_retire(object->home);
			if (n > 1 && (adsm_block_blocked(object, first) || adsm_block_must_wait(object, first, event)))
				n = 1;
			error = adsm_blocks_ready(object, first, n, event, false, old);
		} else {
			n = 1;
		}
		/* The bytes that have come to the other blocks are there all the same. */
		if (input ? input->object != object : error)
			return failed ? failed : error;
		failed = failed ? failed : error;
		at = (size_t)(first + n) << object->blocks.shift;
		if (input)
			shrink(input, at);
	}
	return failed;
}

/* ---- ranges and objects */

/* Add bytes to what the system is given; false when there is no room: what is there comes short. */
static bool append(struct adsm_io *io, void *p, size_t size, int room)
{
	struct iovec *end = io->vector + io->n;

	if (io->n && (char *)end[-1].iov_base + end[-1].iov_len == p) {
		end[-1].iov_len += size;
		return true;
	}
	if (io->n == room)
		return false;
	*end = (struct iovec){ p, size };
	io->n++;
	return true;
}

#define PLAIN_KEYS 32			/* the C library needs no memory to set these: this may be a signal handler */

static pthread_key_t key;		/* to learn when a thread ends */
static bool has_key;

/* It has left all of its functions, those too that it has left by a jump. */
static void end_thread(void *arg)
{
	adsm_io_here.thread = 0;
	if (adsm_io_here.inputs)
		adsm_io_leave(UINTPTR_MAX, false);
}

/* The child of a fork has another thread, whose number is another one; the inputs are the parent's. */
static void in_child(void)
{
	adsm_io_here = (struct adsm_io_here){ .alternate_inside = adsm_io_here.alternate_inside };
}

__attribute__((constructor)) static void make_key(void)
{
	has_key = !pthread_key_create(&key, end_thread);
	pthread_atfork(NULL, NULL, in_child);
}

static int this_thread(void)
{
	if (!adsm_io_here.thread) {
		adsm_io_here.thread = adsm_os_thread_id();
		if (has_key && key < PLAIN_KEYS)
			pthread_setspecific(key, &adsm_io_here.thread);
	}
	return adsm_io_here.thread;
}

static int start_input(struct adsm_io *io, struct adsm_object *object, size_t offset, size_t size,
		       struct adsm_input **last, struct adsm_sigset *old)
{
	uint32_t first = (uint32_t)(offset >> object->blocks.shift);
	uint32_t end = (uint32_t)((offset + size - 1) >> object->blocks.shift) + 1;
	struct adsm_home *home = object->home;
	uint64_t generation = object->generation;
	struct adsm_input *input;
	int error = 0;

	for (uint32_t b = first; b < end; b++) {
		/* Where both sides have the same memory, nothing can be put right afterwards. */
		uint64_t seq = home->device->caps.unified ? adsm_object_use_seq(object) : 0;
		bool busy = object->blocks.at[b].flags & ADSM_BLOCK_BUSY;

		if (!busy && seq <= atomic_load(&home->completed))
			continue;
		if (busy)
			adsm_home_wait(home);
		else
			error = adsm_wait_unlocked(home, seq, old);
		if (error)
			return error;
		if (!object->live || object->generation != generation)
			return -EINVAL;
		b = first - 1;	/* all of them at one time */
	}
	input = adsm_input_new();
	if (!input)
		return adsm_fail(-ENOMEM, "no memory to note an input");
	adsm_input_link(object, input);
	input->offset = offset;
	input->size = input->wanted = size;
	input->position = io->size;
	input->next_of_io = NULL;
	input->prev_of_io = *last;
	input->frame = io->detached ? 0 : (uintptr_t)&io->serial;
	input->stack_end = io->detached || adsm_io_here.alternate_inside ? 0 : adsm_os_stack_end(input->frame);
	input->thread = io->detached ? 0 : this_thread();
	atomic_store(&input->serial, io->serial);
	if (*last) {
		(*last)->next_of_io = input;
	} else {
		io->inputs = input;
		if (!io->detached) {
			input->next_of_thread = adsm_io_here.inputs;
			adsm_io_here.inputs = input;
		}
	}
	*last = input;
	return 0;
}

/* Bytes in no object: up to the next one. */
static size_t private_part(const char *p, size_t size)
{
	size_t part = adsm_index_next((uintptr_t)p, size) - (uintptr_t)p;

	return part ? part : size;	/* an object that is just being freed */
}

/*
 * This may as well be a signal handler. But only while no signal comes in between: one that did could leave by
 * siglongjmp(), and the thread would be in a handler for ever.
 */
static struct adsm_object *enter(const void *p, struct adsm_sigset *ret_old)
{
	struct adsm_object *object = adsm_object_enter(p, ret_old);

	adsm_in_fault += object != NULL;
	return object;
}

static void leave(struct adsm_home *home, const struct adsm_sigset *old)
{
	adsm_in_fault--;
	adsm_home_unlock(home, old);
}

/* Of @size bytes of an object from @offset on those that the program permits the system to use; *@ret_refused: or all,
 * of which it does not permit the first. */
static size_t permitted_part(const struct adsm_object *object, bool input, size_t offset, size_t size,
			     bool *ret_refused)
{
	size_t part = adsm_limits_allow(object, offset, size, input ? ADSM_PROT_RW : ADSM_PROT_READ);

	*ret_refused = !part;
	return part ? part : size;
}

/* As many bytes as are in the view of a write-once object; 0: it is in none. */
static size_t once_part(struct adsm_io *io, bool input, void **base, size_t size, int *ret_error)
{
	struct adsm_once_object *object = adsm_once_at((uintptr_t)*base);
	size_t offset = object ? (uintptr_t)*base - object->stand_in.start : 0;

	if (!object)
		return 0;
	size = size < object->stand_in.span - offset ? size : object->stand_in.span - offset;
	size = permitted_part(&object->stand_in, input, offset, size, &io->refused);
	if (io->refused)
		return size;
	*ret_error = adsm_once_io(object, offset, size, input, io->where, base);
	return size;
}

/* One range: split where objects begin and end. */
static int begin_range(struct adsm_io *io, bool input, char *p, size_t size, int room, struct adsm_input **last)
{
	while (size) {
		struct adsm_object *object;
		struct adsm_sigset old;
		size_t offset, part;
		void *base = p;
		int error = 0;

		part = once_part(io, input, &base, size, &error);
		object = part ? NULL : enter(p, &old);
		if (part) {
			/* It has its own address by now. */
		} else if (object && !object->device_only && !object->freeing) {
			offset = (uintptr_t)p - object->start;
			part = size < object->span - offset ? size : object->span - offset;
			part = permitted_part(object, input, offset, part, &io->refused);
			/* What the program has closed itself the system is given as it is: EFAULT. */
			base = io->refused ? p : object->alias + offset;
			/* Behind the caller's size there is only the rest of a page, which is nobody's. */
			if (offset < object->size && !io->refused) {
				size_t end = offset + part < object->size ? offset + part : object->size;

				object->lent |= io->lends;
				if (input)
					error = start_input(io, object, offset, end - offset, last, &old);
				else
					error = access_range(object, NULL, offset, end, &old);
			}
		} else {
			part = object ? size : private_part(p, size);
		}
		if (object)
			leave(object->home, &old);
		if (error)
			return error;
		if (!append(io, base, part, room))
			return 0;
		io->size += part;
		/* The system goes no further. */
		if (io->refused)
			return 0;
		p += part;
		size -= part;
	}
	return 0;
}

/* Who calls the wrapper. */
static void begin_cause(const void *caller)
{
	if (adsm_observes(~0u) && adsm_cause.why != ADSM_WHY_COPY && adsm_cause.why != ADSM_WHY_FILL)
		adsm_set_cause(ADSM_WHY_IO, adsm_observer->caller(caller), "");
}

static void end_cause(void)
{
	if (adsm_observes(~0u) && adsm_cause.why == ADSM_WHY_IO)
		adsm_set_cause(ADSM_WHY_OTHER, NULL, "");
}

static int begin(struct adsm_io *io, bool input, const struct iovec *vector, int n, struct iovec *room)
{
	struct adsm_input *last = NULL;
	int saved_errno = errno, error = 0;
	bool inside;

	*io = (struct adsm_io){ .vector = room, .detached = io->detached, .lends = io->lends,
				.where = io->where, .given = vector, .n_given = n, .start_ns = adsm_os_now_ns() };
	if (n == 1)
		io->given_one = *vector;
	io->serial = (atomic_fetch_add(&last_serial, 1) + 1) * SERIAL_STEP;
	begin_cause(io->where);
	/* A driver's call is the system's as it is: where a page is closed, that refuses it. */
	inside = adsm_drivers_have(io->where);
	for (int i = 0; i < n && inside; i++)
		append(io, vector[i].iov_base, vector[i].iov_len, (int)ADSM_IO_ROOM(n));
	for (int i = 0; i < n && !inside && !error && !io->refused; i++)
		error = begin_range(io, input, vector[i].iov_base, vector[i].iov_len, (int)ADSM_IO_ROOM(n), &last);
	if (!io->n)
		io->vector[io->n++] = (struct iovec){ n ? vector[0].iov_base : NULL, 0 };
	if (error) {
		/* All that the program is told otherwise is EIO. */
		adsm_error("%s of shared memory at %p fails: %s (error %d)", input ? "input" : "output",
			   vector[0].iov_base, adsm_error_string(error), error);
		adsm_io_end(io, 0);
	}
	errno = saved_errno;
	return error;
}

int adsm_io_begin_output(struct adsm_io *io, const struct iovec *vector, int n, struct iovec *room)
{
	return begin(io, false, vector, n, room);
}

int adsm_io_begin_input(struct adsm_io *io, const struct iovec *vector, int n, struct iovec *room)
{
	return begin(io, true, vector, n, room);
}

/* ---- the end of inputs */

/* Signals are blocked. */
static void forget(struct adsm_input *input)
{
	struct adsm_input **at = &adsm_io_here.inputs;

	if (input->prev_of_io)
		input->prev_of_io->next_of_io = NULL;

	while (*at && *at != input)
		at = &(*at)->next_of_thread;
	if (*at)
		*at = input->next_of_thread;
}

#define LEFT SIZE_MAX	/* for what has been delivered: nobody knows */

/* Lock held. */
static int settle(struct adsm_object *object, struct adsm_input *input, size_t delivered, struct adsm_sigset *old)
{
	size_t offset = input->offset, rest = input->size - delivered;
	int error = adsm_input_let_go(object, input, delivered), failed = 0;

	if (error)
		adsm_error("%zu bytes at %p could not be fetched after an input that brought less: error %d", rest,
			   (void *)(object->start + offset + delivered), error);
	if (input->object == object)
		failed = access_range(object, input, offset, offset + delivered, old);
	/* While the lock was away the object may have been freed. */
	if (input->object == object) {
		adsm_input_unlink(input);
		adsm_input_closed(object, input->offset, input->size);
	}
	return error ? error : failed;
}

/* *@ret_taken: another thread has ended it, before what was delivered could be noted. */
static int end_input(struct adsm_input *input, size_t delivered, bool *ret_taken)
{
	struct adsm_home *home = input->home;
	struct adsm_sigset old;
	int error = 0;

	adsm_home_lock(home, &old);
	adsm_in_fault++;
	while (input->ending)
		adsm_home_wait(home);
	*ret_taken = input->taken;
	if (input->object && delivered == LEFT)
		adsm_left_end(input->object, input);
	else if (input->object)
		error = settle(input->object, input, delivered, &old);
	/* Not before: a handler that runs while this waits may leave it. */
	forget(input);
	adsm_input_free(input);
	leave(home, &old);
	return error;
}

/*
 * The function goes on, but its inputs for @size bytes from @from on have ended: its thread was taken for one that had
 * left it, on a stack of which the library could not know. What has come is there.
 */
static int go_on(const struct adsm_io *io, size_t from, size_t size)
{
	const struct iovec *given = io->n_given == 1 ? &io->given_one : io->given;
	int failed = 0;

	for (int i = 0; i < io->n_given && size && !failed; i++) {
		const size_t skipped = from < given[i].iov_len ? from : given[i].iov_len;
		const size_t rest = given[i].iov_len - skipped, n = size < rest ? size : rest;
		const struct iovec part = { (char *)given[i].iov_base + skipped, n };
		struct adsm_io again = { .where = io->where };
		struct iovec room[ADSM_IO_ROOM(1)];

		from -= skipped;
		size -= n;
		if (!n)
			continue;
		failed = adsm_io_begin_input(&again, &part, 1, room);
		if (!failed)
			failed = adsm_io_end(&again, n);
	}
	return failed;
}

/* The inputs of an io, of which this is the first. The last goes first: where they overlap, what it has not brought
 * another may have. @io: NULL where @delivered is LEFT. */
static int end_inputs(const struct adsm_io *io, struct adsm_input *input, size_t delivered)
{
	int saved_errno = errno, error = 0;
	struct adsm_input *previous;

	while (input->next_of_io)
		input = input->next_of_io;
	for (; input; input = previous) {
		const size_t position = input->position;
		size_t n = delivered > position ? delivered - position : 0;
		bool taken;
		int failed;

		previous = input->prev_of_io;
		n = n < input->wanted ? n : input->wanted;
		failed = end_input(input, delivered == LEFT ? LEFT : n, &taken);
		if (taken && delivered != LEFT)
			failed = go_on(io, position, n);
		error = error ? error : failed;
	}
	errno = saved_errno;
	return error;
}

static int end_io(struct adsm_io *io, size_t delivered)
{
	struct adsm_input *input = io->inputs;
	int error = 0;

	if (io->start_ns)
		adsm_note_io(io->start_ns, delivered == LEFT ? 0 : delivered);
	io->start_ns = 0;
	/* In a child that was forked meanwhile it is the parent's. */
	if (input && !adsm_is_child()) {
		/* The thread itself ends all inputs of a call together. */
		if (atomic_load(&input->serial) == io->serial)
			error = end_inputs(io, input, delivered);
		else if (delivered != LEFT)
			error = go_on(io, 0, delivered);
	}
	/* Not before: who waits for a call there may be cancelled. */
	io->inputs = NULL;
	end_cause();
	return error;
}

int adsm_io_end(struct adsm_io *io, size_t delivered)
{
	return end_io(io, delivered);
}

void adsm_io_cleanup(struct adsm_io *io)
{
	end_io(io, LEFT);
}

/* ---- calls that are left by jumps */

/* No handler runs meanwhile: it would end the same inputs, and they may be others by then. */
void adsm_io_leave(uintptr_t stack, bool may_return)
{
	struct adsm_input *input, *next;
	struct adsm_sigset old;

	/* Behind a jump to another stack the thread may come back. */
	if (!may_return || (!adsm_io_here.alternate_inside && adsm_os_stack_end(stack)))
		adsm_inside_leave(stack);
	adsm_once_leave(stack, may_return);
	if (!adsm_io_here.inputs || adsm_is_child())
		return;
	adsm_os_signals_block(&old);
	for (input = adsm_io_here.inputs; input; input = next) {
		next = input->next_of_thread;
		if (adsm_left_by_jump(input, stack, may_return))
			end_inputs(NULL, input, LEFT);
	}
	adsm_os_signals_restore(&old);
}

__attribute__((noinline)) void adsm_io_end_left(uintptr_t stack)
{
	struct adsm_input *input, *next;
	struct adsm_sigset old;

	if (adsm_is_child())
		return;
	adsm_os_signals_block(&old);
	for (input = adsm_io_here.inputs; input; input = next) {
		next = input->next_of_thread;
		if (adsm_left_here(input, stack))
			end_inputs(NULL, input, LEFT);
	}
	adsm_os_signals_restore(&old);
}
