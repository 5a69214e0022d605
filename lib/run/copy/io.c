/* SPDX-License-Identifier: MIT */
/*
 * io.c - ranges of shared memory that system calls and bulk copies use directly.
 *
 * When an input (input.h) ends, the bytes that have come count as written by the CPU. Those that have not come are
 * fetched into the holes. If a program stores into bytes of an input, even from a signal handler, the store may be
 * lost: this is a race with the system call. The same is true of two inputs for the same bytes.
 */
#include "run/copy/io.h"

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
#include "run/wait/enter.h"
#include "run/wait/in_driver.h"
#include "run/wait/left.h"
#include "run/wait/wait.h"

#define SERIAL_STEP UINT64_C(0x9E3779B97F4A7C15)	/* odd: all serials differ, and do not
							   look like addresses or small numbers */

void (*_Atomic adsm_io_finish_detached)(void);

static _Atomic uint64_t last_serial;
_Thread_local struct adsm_io_here adsm_io_here;

/* ---- accesses of a range, block by block */

/* An input gives up its bytes up to @at: transfers may use them again. */
static void shrink(struct adsm_input *input, size_t at)
{
	size_t offset = input->offset, end = offset + input->size;

	at = at < end ? at : end;
	input->offset = at;
	input->size = end - at;
	adsm_input_closed(input->object, offset, at - offset);
}

/*
 * Let the CPU read the bytes from @at to @end; or, with @input, note them as written by it. Lock held; it is given back
 * during transfers and waits.
 */
static int access_range(struct adsm_object *object, struct adsm_input *input, size_t at, size_t end,
			struct adsm_sigset *old)
{
	int failed = 0;

	adsm_act(object, input ? ADSM_ACT_INPUT : ADSM_ACT_OUTPUT, ADSM_EVENT_NONE, at, end);
	while (at < end) {
		uint32_t first = (uint32_t)(at >> object->blocks.shift), n;
		enum adsm_block_event event;
		int error = 0;

		n = adsm_range_step(&object->blocks, input != NULL, at, end, &event);
		if (n) {
			/* Several blocks go in one step if none must wait. Note
			 * calls that have ended first, because they need no wait. */
			if (n > 1 && adsm_block_must_wait(object, first, event))
				adsm_retire(object->home);
			if (n > 1 && (adsm_block_blocked(object, first) || adsm_block_must_wait(object, first, event)))
				n = 1;
			error = adsm_blocks_ready(object, first, n, event, false, old);
			if (error == -EAGAIN)
				continue;
		} else {
			n = 1;
		}
		/* If an input fails for one block, the bytes in the others are still noted. */
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

/* Add bytes to the vector for the system. Returns false if there is no room; the system then gets fewer bytes. */
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

#define PLAIN_KEYS 32			/* the C library needs no memory to set these
					   keys, and this may be a signal handler */

static pthread_key_t key;		/* its destructor shows that a thread ends */
static bool has_key;

/* A thread that ends has left all of its functions, also those that it left by a jump. */
static void end_thread(void *arg)
{
	adsm_io_here.thread = 0;
	if (adsm_io_here.inputs)
		adsm_io_leave(UINTPTR_MAX, false);
}

/* The child of a fork has one thread, with another number. The inputs are the parent's. */
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
		/* If both sides share the memory, input during a call
		 * cannot be corrected afterwards, so it waits for the call. */
		uint64_t seq = home->device->caps.unified ? adsm_object_user(object) : 0;
		bool busy = object->blocks.at[b].flags & ADSM_BLOCK_BUSY;

		if (!busy && !seq)
			continue;
		if (busy)
			adsm_home_wait(home);
		else
			error = adsm_wait_unlocked(home, seq, old);
		if (error)
			return error;
		if (!adsm_object_is_at(object, home))
			return -ESTALE;
		if (!object->live || object->generation != generation)
			return -EINVAL;
		b = first - 1;	/* begin again: all blocks must be free at the same time */
	}
	input = adsm_input_new();
	if (!input)
		return adsm_fail(-ENOMEM, "no memory for the record of an input");
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

/* The number of bytes before the next object. */
static size_t private_part(const char *p, size_t size)
{
	size_t part = adsm_index_next((uintptr_t)p, size) - (uintptr_t)p;

	return part ? part : size;	/* an object that is just being freed */
}

/*
 * The caller may be a signal handler, so adsm_in_fault is set. This needs blocked signals: a handler that runs
 * meanwhile could leave by siglongjmp(), and the thread would count as in a handler forever.
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

/*
 * How many of @size bytes from @offset on the program permits the system to use. If it does not permit the first one,
 * *@ret_refused is set, and the result is @size.
 */
static size_t permitted_part(const struct adsm_object *object, bool input, size_t offset, size_t size,
			     bool *ret_refused)
{
	size_t part = adsm_limits_allow(object, offset, size, input ? ADSM_PROT_RW : ADSM_PROT_READ);

	*ret_refused = !part;
	return part ? part : size;
}

/* How many bytes lie in the view of a write-once object; 0: none. *base becomes their address for the system. */
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

/* Add one range, split where objects begin and end. */
static int begin_range(struct adsm_io *io, bool input, char *p, size_t size, int room, struct adsm_input **last)
{
	while (size) {
		struct adsm_object *object;
		struct adsm_home *home;
		struct adsm_sigset old;
		size_t offset, part;
		void *base = p;
		int error = 0;

		part = once_part(io, input, &base, size, &error);
		object = part ? NULL : enter(p, &old);
		home = object ? object->home : NULL;
		if (part) {
			/* *base is set. */
		} else if (object && !object->device_only && !object->freeing) {
			offset = (uintptr_t)p - object->start;
			part = size < object->span - offset ? size : object->span - offset;
			part = permitted_part(object, input, offset, part, &io->refused);
			/* If the program itself has closed the page, the
			 * system gets the view's address and returns EFAULT. */
			base = io->refused ? p : object->alias + offset;
			/* After the object's size there is only the rest of a page, which belongs to nothing. */
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
			leave(home, &old);
		if (error == -ESTALE)
			continue;
		if (error)
			return error;
		if (!append(io, base, part, room))
			return 0;
		io->size += part;
		/* The system stops here. */
		if (io->refused)
			return 0;
		p += part;
		size -= part;
	}
	return 0;
}

/* Note the caller of the wrapper as the cause. */
static void begin_cause(const struct adsm_io *io)
{
	if (adsm_observes(~0u) && !io->within && adsm_cause.why != ADSM_WHY_COPY && adsm_cause.why != ADSM_WHY_FILL)
		adsm_set_cause(ADSM_WHY_IO, adsm_observer->caller(io->where), "");
}

static void end_cause(const struct adsm_io *io)
{
	if (adsm_observes(~0u) && !io->within && adsm_cause.why == ADSM_WHY_IO)
		adsm_set_cause(ADSM_WHY_OTHER, NULL, "");
}

static int begin(struct adsm_io *io, bool input, const struct iovec *vector, int n, struct iovec *room)
{
	struct adsm_input *last = NULL;
	int saved_errno = errno, error = 0;
	bool inside;

	*io = (struct adsm_io){ .vector = room, .detached = io->detached, .lends = io->lends,
				.within = io->within, .where = io->where, .given = vector, .n_given = n,
				.start_ns = adsm_os_now_ns() };
	if (n == 1)
		io->given_one = *vector;
	io->serial = (atomic_fetch_add(&last_serial, 1) + 1) * SERIAL_STEP;
	begin_cause(io);
	/* A driver's call goes to the system unchanged. If a page is closed, the system refuses it. */
	inside = adsm_drivers_have(io->where);
	for (int i = 0; i < n && inside; i++)
		append(io, vector[i].iov_base, vector[i].iov_len, (int)ADSM_IO_ROOM(n));
	for (int i = 0; i < n && !inside && !error && !io->refused; i++)
		error = begin_range(io, input, vector[i].iov_base, vector[i].iov_len, (int)ADSM_IO_ROOM(n), &last);
	if (!io->n)
		io->vector[io->n++] = (struct iovec){ n ? vector[0].iov_base : NULL, 0 };
	if (error) {
		/* Otherwise the program would learn no more than EIO. */
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

/* Remove an input from the lists of its io and its thread. Signals are blocked. */
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

#define LEFT SIZE_MAX	/* in place of a number of delivered bytes: the function was left, and the number is unknown */

/* End an input that has brought @delivered bytes. Lock held. */
static int settle(struct adsm_object *object, struct adsm_input *input, size_t delivered, struct adsm_sigset *old)
{
	size_t offset = input->offset, rest = input->size - delivered;
	int error = adsm_input_let_go(object, input, delivered), failed = 0;

	if (error)
		adsm_error("%zu bytes at %p could not be fetched after an input that was shorter than its buffer: "
			   "error %d", rest, (void *)(object->start + offset + delivered), error);
	if (input->object == object)
		failed = access_range(object, input, offset, offset + delivered, old);
	/* The object may have been freed while the lock was given back. */
	if (input->object == object) {
		adsm_input_unlink(input);
		adsm_input_closed(object, input->offset, input->size);
	}
	return error ? error : failed;
}

/* *@ret_taken: another thread has ended the input, before it was known how much was delivered. */
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
	/* Not earlier: a signal handler that runs during the wait
	 * may leave this function, and the input must then be found. */
	forget(input);
	adsm_input_free(input);
	leave(home, &old);
	return error;
}

/*
 * The function still runs, but another thread has ended its inputs: it was taken for a function that its thread had
 * left, on a stack unknown to the library. The @size bytes from @from on were delivered, so note them as written again.
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

/*
 * End the inputs of an io, whose first is @input. The last one ends first: if ranges overlap, bytes that a later range
 * did not bring may have been brought by an earlier one. @io is NULL if @delivered is LEFT.
 */
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

int adsm_io_end(struct adsm_io *io, size_t delivered)
{
	struct adsm_input *input = io->inputs;
	int error = 0;

	if (io->start_ns)
		adsm_note_io(io->start_ns, delivered == LEFT ? 0 : delivered);
	io->start_ns = 0;
	/* In the child of a fork the input is the parent's. */
	if (input && !adsm_is_child()) {
		/* The thread itself ends all inputs of a call together, so the first serial tells for all. */
		if (atomic_load(&input->serial) == io->serial)
			error = end_inputs(io, input, delivered);
		else if (delivered != LEFT)
			error = go_on(io, 0, delivered);
	}
	/* Not earlier: the thread may be cancelled while it waits for
	 * a call here, and the cleanup must then find the inputs. */
	io->inputs = NULL;
	end_cause(io);
	return error;
}

/* The last call that a write of some block of these bytes has to wait for; 0: none. */
static uint64_t last_call(const struct adsm_object *object, size_t at, size_t end)
{
	uint64_t last = 0;

	end = end < object->size ? end : object->size;
	for (; at < end; at = (at | (adsm_block_size(object) - 1)) + 1) {
		uint64_t seq = adsm_block_must_wait(object, (uint32_t)(at >> object->blocks.shift), ADSM_EVENT_WRITE);

		last = seq > last ? seq : last;
	}
	return last;
}

void adsm_io_wait(const void *p, size_t size)
{
	const char *at = p, *end = at + size;

	while (at < end) {
		struct adsm_sigset old;
		struct adsm_object *object = enter(at, &old);
		size_t part = (size_t)(end - at), offset;
		struct adsm_home *home;
		uint64_t seq;

		if (!object) {
			at += private_part(at, part);
			continue;
		}
		home = object->home;
		offset = (uintptr_t)at - object->start;
		part = part < object->span - offset ? part : object->span - offset;
		seq = object->device_only || object->freeing ? 0 : last_call(object, offset, offset + part);
		if (seq)
			adsm_wait_unlocked(home, seq, &old);
		leave(home, &old);
		at += part;
	}
}

void adsm_io_cleanup(struct adsm_io *io)
{
	adsm_io_end(io, LEFT);
}

/* ---- calls that are left by jumps */

/*
 * Signals are blocked: a handler could end the same inputs, and their entries could already belong to other inputs when
 * this function continues.
 */
static void end_left(uintptr_t stack, bool by_jump, bool may_return)
{
	struct adsm_input *input, *next;
	struct adsm_sigset old;

	if (adsm_is_child())
		return;
	adsm_os_signals_block(&old);
	for (input = adsm_io_here.inputs; input; input = next) {
		next = input->next_of_thread;
		if (by_jump ? adsm_left_by_jump(input, stack, may_return) : adsm_left_here(input, stack))
			end_inputs(NULL, input, LEFT);
	}
	adsm_os_signals_restore(&old);
}

void adsm_io_leave(uintptr_t stack, bool may_return)
{
	/* After a jump to another stack the thread may come back. */
	if (!may_return || (!adsm_io_here.alternate_inside && adsm_os_stack_end(stack)))
		adsm_in_driver_leave(stack);
	adsm_once_leave(stack, may_return);
	if (adsm_io_here.inputs)
		end_left(stack, true, may_return);
}

__attribute__((noinline)) void adsm_io_end_left(uintptr_t stack)
{
	end_left(stack, false, false);
}
