/* SPDX-License-Identifier: MIT */
/* split.c - see split.h. */
#include "run/call/split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/block.h"
#include "core/observe.h"
#include "core/replica.h"
#include "core/resident.h"
#include "run/call/call.h"
#include "run/call/moves.h"
#include "run/call/replicate.h"
#include "run/call/residency.h"
#include "run/wait/caller.h"
#include "run/wait/enter.h"
#include "run/wait/pending.h"
#include "run/wait/wait.h"

/* An object that the call writes. */
struct written {
	struct adsm_object *object;
	uint64_t generation;
	uintptr_t start;
	size_t size;
	unsigned access;
	bool sends;			/* the other devices need its bytes */
	struct adsm_memory *memories[ADSM_MAX_DEVICES];	/* of each part but the first */
};

struct split {
	/* What the caller passes may lie in objects that the kernel writes. From the first part on these are used. */
	adsmSplit asked;
	adsmSplitRows rows[ADSM_SPLIT_ROWS_MAX];
	adsmArg *args;			/* with the values and constants of bound */
	struct adsm_call_args call;
	struct adsm_bound bound;
	struct adsm_launch launch;
	struct adsm_home *homes[ADSM_MAX_DEVICES];	/* of the parts */
	unsigned n_homes, n_parts;
	int dimension;			/* which is split */
	struct written written[ADSM_SPLIT_ROWS_MAX];
	size_t n_written;
	const void *where;
};

/* ---- what is split */

/* The first index of a part, and of the one behind the last. */
static uint64_t index_of(const struct split *s, unsigned part)
{
	return (uint64_t)s->launch.grid[s->dimension] * part / s->n_parts;
}

static struct adsm_interval interval_of(const struct split *s, unsigned part)
{
	uint64_t inner = 1;

	for (int i = 0; i < s->dimension; i++)
		inner *= s->launch.grid[i];
	return (struct adsm_interval){ index_of(s, part) * inner,
				       (index_of(s, part + 1) - index_of(s, part)) * inner };
}

/* The bytes of an object that a part writes, by one of the rows; of size 0: none. */
static struct adsm_range range_of(const struct split *s, const struct written *w, const adsmSplitRows *rows,
				  unsigned part)
{
	const size_t offset = (uintptr_t)rows->address - w->start;
	size_t at, end;

	if (offset >= w->size)
		return (struct adsm_range){ 0 };
	if (__builtin_mul_overflow(index_of(s, part), rows->size, &at) || at > w->size - offset)
		at = w->size - offset;
	if (__builtin_mul_overflow(index_of(s, part + 1), rows->size, &end) || end > w->size - offset)
		end = w->size - offset;
	return (struct adsm_range){ offset + at, end - at };
}

/* Do the rows contain all bytes of the object? */
static bool covers(const struct split *s, const struct written *w)
{
	const uint64_t n = s->launch.grid[s->dimension];

	for (size_t i = 0; i < s->asked.n_rows; i++)
		if ((uintptr_t)s->asked.rows[i].address == w->start && s->asked.rows[i].size >= (w->size + n - 1) / n)
			return true;
	return false;
}

/* ---- checks */

static int refuse(const struct split *s, const char *why)
{
	return adsm_fail(-ENOTSUP, "kernel '%s' cannot be split: %s", s->bound.kernel->info->name, why);
}

static int say_freed(const struct split *s)
{
	return adsm_fail(-EINVAL, "kernel '%s': an object that it writes was freed meanwhile",
			 s->bound.kernel->info->name);
}

static int check_kernel(const struct split *s)
{
	const struct adsm_kernel_info *info = s->bound.kernel->info;

	if (!s->bound.named)
		return adsm_fail(-EINVAL, "kernel '%s' cannot be split: the access of a pointer is unknown, or "
				 "ADSM_PAPER=1 is set; declare it, or use adsmIn(), adsmOut(), adsmInOut()",
				 info->name);
	if (info->task)
		return refuse(s, "it is a task, whose workers run at the same time on one device");
	if (info->services)
		return refuse(s, "it calls services");
	if (s->bound.n_onces)
		return refuse(s, "it takes write-once objects");
	for (uint32_t i = 0; i < info->n_variables; i++)
		if (info->params[info->n_params + i].access != ADSM_ACCESS_IN)
			return refuse(s, "it writes a variable of its module, and each device has its own");
	if (info->global_atomics)
		return refuse(s, "it may have atomic operations on objects");
	return 0;
}

static int check_devices(const struct split *s)
{
	for (unsigned k = 0; k < s->n_homes; k++) {
		const struct adsm_device *device = s->homes[k]->device;
		int error = device->backend->status(s->homes[k]->device);

		if (error)
			return error;
		for (unsigned i = 0; i < k; i++)
			if (s->homes[i] == s->homes[k])
				return adsm_fail(-EINVAL, "device %d appears twice in adsmSplit", s->homes[k]->index);
		if (s->n_parts > 1 && !device->caps.intervals)
			return adsm_fail(-ENOTSUP, "kernel '%s' cannot be split: device %d of the backend '%s' runs "
					 "only whole grids", s->bound.kernel->info->name, s->homes[k]->index,
					 device->backend->name);
	}
	return 0;
}

/* ---- the objects */

/* Does the pointer name a variable of the module? Each device has its own. */
static bool is_variable(const struct adsm_bound *bound, const struct adsm_named_pointer *pointer)
{
	return pointer->arg && pointer->arg >= bound->args + bound->kernel->info->n_params &&
		bound->kernel->info->n_variables;
}

static struct adsm_object *enter(const struct adsm_named_pointer *pointer, struct adsm_sigset *ret_old)
{
	struct adsm_object *object = adsm_object_enter(pointer->p, ret_old);

	return object || !pointer->raw ? object : adsm_object_enter((const char *)pointer->p - 1, ret_old);
}

static struct written *find_written(struct split *s, const struct adsm_object *object)
{
	for (size_t i = 0; i < s->n_written; i++)
		if (s->written[i].object == object)
			return &s->written[i];
	return NULL;
}

/* Note an object if the call writes it. Lock held. */
static int note(struct split *s, struct adsm_object *object, unsigned access)
{
	struct written *w = find_written(s, object);

	if (adsm_moves_only_reads(&s->bound, object))
		return 0;
	if (!w && s->n_written == ADSM_SPLIT_ROWS_MAX)
		return adsm_fail(-EINVAL, "kernel '%s' cannot be split: it writes more than %d objects",
				 s->bound.kernel->info->name, ADSM_SPLIT_ROWS_MAX);
	if (!w) {
		w = &s->written[s->n_written++];
		*w = (struct written){ .object = object, .generation = object->generation, .start = object->start,
				       .size = object->size };
	}
	w->access |= access;
	w->sends = w->access != ADSM_ACCESS_OUT || !covers(s, w);
	return 0;
}

static int note_all(struct split *s)
{
	int error = 0;

	for (size_t i = 0; i < s->bound.n_pointers && !error; i++) {
		const struct adsm_named_pointer *pointer = &s->bound.pointers[i];
		struct adsm_sigset old;
		struct adsm_object *object = is_variable(&s->bound, pointer) ? NULL : enter(pointer, &old);

		if (!object)
			continue;
		error = note(s, object, pointer->access);
		adsm_home_unlock(object->home, &old);
	}
	return error;
}

/* Does each written object have rows, and do all rows belong to one? */
static int check_rows(const struct split *s)
{
	bool has[ADSM_SPLIT_ROWS_MAX] = { false };

	for (size_t i = 0; i < s->asked.n_rows; i++) {
		const adsmSplitRows *rows = &s->asked.rows[i];
		bool any = false;

		for (size_t k = 0; k < s->n_written; k++) {
			const bool in = (uintptr_t)rows->address - s->written[k].start < s->written[k].size;

			has[k] |= in;
			any |= in;
		}
		if (!any || !rows->size)
			return adsm_fail(-EINVAL, "rows %zu of adsmSplit: %s", i, any ? "their size is 0" :
					 "their address is not in an object that the kernel writes");
	}
	for (size_t k = 0; k < s->n_written; k++)
		if (!has[k])
			return adsm_fail(-EINVAL, "kernel '%s' writes the object at 0x%lx, and adsmSplit has no rows "
					 "of it", s->bound.kernel->info->name, (unsigned long)s->written[k].start);
	return 0;
}

/* The objects on the first device keep their device memory until the end, or need not any more. Lock held. */
static void set_staying(struct split *s, bool stays)
{
	for (size_t i = 0; i < s->bound.n_uses; i++)
		if (s->bound.uses[i].object->generation == s->bound.uses[i].generation)
			s->bound.uses[i].object->stays = stays;
}

/* Get them the memory, as a call does: other objects make room. */
static int place_all(struct split *s)
{
	struct adsm_home *home = s->homes[0];
	struct adsm_sigset old;
	int error;

	adsm_mutex_lock(&home->call_mutex);
	adsm_home_lock(home, &old);
	adsm_retire(home);
	error = adsm_bind_resident(&s->bound, &old);
	if (!error)
		set_staying(s, true);
	adsm_home_unlock(home, &old);
	adsm_mutex_unlock(&home->call_mutex);
	return error == -EXDEV ? say_freed(s) : error;
}

/* Get a part what it needs of one object. */
static int copy_one(struct split *s, unsigned part, const struct adsm_named_pointer *pointer)
{
	struct adsm_range ranges[ADSM_SPLIT_ROWS_MAX];
	struct adsm_rows rows = { .ranges = ranges };
	struct adsm_home *to = s->homes[part], *from;
	struct adsm_sigset old;
	struct adsm_object *object = enter(pointer, &old);
	struct written *w = object ? find_written(s, object) : NULL;
	uint64_t generation;
	const char *why;
	int result = 0;

	if (!object)
		return 0;	/* the call itself checks the pointer */
	from = object->home;
	generation = object->generation;
	if (from == to) {
		adsm_home_unlock(from, &old);
		return 0;
	}
	why = adsm_object_why_fixed(object, to);
	if (w && w->generation != generation)
		result = say_freed(s);
	else if (why)
		result = adsm_fail(-EINVAL, "kernel '%s' cannot be split: %s cannot be copied to device %d: %s",
				   s->bound.kernel->info->name, ADSM_THE_OBJECT(object), to->index, why);
	if (!result)
		result = adsm_object_place(object);
	if (!result && !adsm_replicate_can(object, to))
		result = 1;
	adsm_home_unlock(from, &old);
	if (!result && w) {
		rows.sends = w->sends;
		for (size_t i = 0; i < s->asked.n_rows; i++)
			ranges[rows.n++] = range_of(s, w, &s->asked.rows[i], part);
	}
	if (!result)
		result = adsm_replicate(object, generation, from, to, w ? &rows : NULL);
	if (w)
		w->memories[part] = rows.memory;
	if (result == 1)	/* it would have to move instead */
		result = from->device->backend->status(from->device) ? -ENODEV :
			adsm_fail(-ENOMEM, "kernel '%s' cannot be split: device %d has no room for a copy of the "
				  "object at %p", s->bound.kernel->info->name, to->index, pointer->p);
	return result;
}

static int copy_all(struct split *s)
{
	int error = 0;

	adsm_because(ADSM_WHY_MOVE, s->where, s->bound.kernel->info->name);
	for (unsigned part = 1; part < s->n_parts; part++)
		for (size_t i = 0; i < s->bound.n_pointers && !error; i++)
			if (!is_variable(&s->bound, &s->bound.pointers[i]))
				error = copy_one(s, part, &s->bound.pointers[i]);
	adsm_because(ADSM_WHY_OTHER, NULL, "");
	return error;
}

/* ---- the parts */

/* Wait for a part, and return its error. */
static int end_part(const struct split *s, struct adsm_home *home, uint64_t seq)
{
	struct adsm_outcome outcome;
	char why[ADSM_FAILURE_TEXT];
	int error = adsm_wait_call(home, seq);

	if (error || !adsm_outcome_get(home, seq, &outcome) || !outcome.status)
		return error;
	adsm_failure_get(home, seq, why);
	return adsm_fail(outcome.status, "kernel '%s': its part on device %d failed: %s", s->bound.kernel->info->name,
			 home->index, *why ? why : adsm_home_reason(home, outcome.status));
}

/* Start all parts, and wait for them. */
static int run_parts(struct split *s)
{
	uint64_t seqs[ADSM_MAX_DEVICES] = { 0 };
	struct adsm_error_kept first;
	int result = 0;

	for (unsigned part = 0; part < s->n_parts && !result; part++) {
		const struct adsm_interval interval = interval_of(s, part);

		result = adsm_call_part(s->homes[part], &s->call, &interval, s->where);
		if (!result)
			seqs[part] = adsm_calls.last_seq[s->homes[part]->index];
	}
	for (unsigned part = 0; part < s->n_parts; part++) {
		int error;

		if (!seqs[part])
			continue;
		/* The sentence belongs to the error that is returned. */
		adsm_error_keep(&first);
		error = end_part(s, s->homes[part], seqs[part]);
		if (result)
			adsm_error_back(&first);
		else
			result = error;
	}
	return result;
}

struct returning {
	const struct split *s;
	struct written *w;
};

/* Move bytes of a part to the memory of the home's device. The host's pages of the object are free for them: the host
 * has not the current bytes. */
static int return_range(const struct split *s, struct written *w, unsigned part, struct adsm_range range)
{
	struct adsm_object *object = w->object;
	char *bytes = object->alias + range.offset;
	uint64_t start = adsm_os_now_ns(), between;
	int error = s->homes[part]->device->backend->to_host(bytes, w->memories[part], range.offset, range.size, NULL);

	between = adsm_os_now_ns();
	if (error)
		return error;
	adsm_note_transfer(object, ADSM_TO_HOST, range.offset, range.size, start, between - start);
	error = s->homes[0]->device->backend->to_device(object->memory, range.offset, bytes, range.size, NULL);
	if (!error)
		adsm_note_transfer(object, ADSM_TO_DEVICE, range.offset, range.size, between,
				   adsm_os_now_ns() - between);
	return error;
}

static int return_rows(void *arg)
{
	const struct returning *r = arg;
	const struct split *s = r->s;
	int error = 0;

	if (adsm_os_populate(r->w->object->alias, r->w->object->span, true))
		return -ENOMEM;
	for (unsigned part = 1; part < s->n_parts; part++)
		for (size_t i = 0; i < s->asked.n_rows && !error; i++) {
			const struct adsm_range range = range_of(s, r->w, &s->asked.rows[i], part);

			if (range.size)
				error = return_range(s, r->w, part, range);
		}
	return error;
}

/* The rows of one object return. The part of the home has ended, so no call uses the object. */
static int return_object(const struct split *s, struct written *w)
{
	struct adsm_object *object = w->object;
	struct adsm_home *home = s->homes[0];
	struct returning r = { s, w };
	struct adsm_sigset old;
	int error = -EAGAIN;

	adsm_home_lock(home, &old);
	adsm_retire(home);
	while (error == -EAGAIN) {
		const uint64_t seq = adsm_object_is_at(object, home) ? adsm_object_user(object) : 0;

		if (!adsm_object_is_at(object, home) || !object->live || object->freeing ||
		    object->generation != w->generation || !object->memory) {
			error = say_freed(s);
		} else if (seq) {
			error = adsm_wait_call_unlocked(home, seq, &old);
			error = error ? error : -EAGAIN;
		} else if (object->blocks.n_holds) {
			error = adsm_fail(-EBUSY, "%s was held during the call", ADSM_THE_OBJECT(object));
		} else if (object->blocks.n_busy || object->blocks.n_sending) {
			if (!adsm_send_queued(home))
				adsm_home_wait(home);
		} else {
			error = adsm_blocks_device_write(object, 0, object->blocks.n, return_rows, &r);
		}
	}
	adsm_home_unlock(home, &old);
	return error;
}

/* ---- all of it */

static int choose_homes(struct split *s)
{
	struct adsm_sigset old;
	struct adsm_object *object;
	int error = 0;

	if (s->asked.n_devices > ADSM_MAX_DEVICES || (s->asked.devices && !s->asked.n_devices))
		return adsm_fail(-EINVAL, "adsmSplit has %zu devices: 1 to %d are possible", s->asked.n_devices,
				 ADSM_MAX_DEVICES);
	for (size_t i = 0; s->asked.devices && i < s->asked.n_devices && !error; i++)
		error = adsm_home_get(s->asked.devices[i], &s->homes[s->n_homes++]);
	if (s->asked.devices)
		return error;
	object = adsm_object_enter(s->asked.rows[0].address, &old);
	if (!object)
		return adsm_fail(-EINVAL, "rows 0 of adsmSplit: their address is not in a live object");
	s->homes[s->n_homes++] = object->home;
	adsm_home_unlock(object->home, &old);
	for (int i = 0; i < adsm_n_homes; i++)
		if (&adsm_homes[i] != s->homes[0])
			s->homes[s->n_homes++] = &adsm_homes[i];
	return 0;
}

/* Take over the arguments of the call, which is bound. */
static int take_args(struct split *s)
{
	const size_t n = s->call.n_args;
	uint64_t *pointers;
	size_t k = 0;

	s->args = malloc((n ? n : 1) * (sizeof(*s->args) + sizeof(*pointers)));
	if (!s->args)
		return adsm_fail(-ENOMEM, "no memory for a call of %zu arguments", n);
	pointers = (uint64_t *)(s->args + n);
	for (size_t i = 0; i < n; i++) {
		adsmArg *own = &s->args[i];
		const struct adsm_launch_arg *arg;

		*own = s->call.args[i];
		if (own->kind == ADSM_ARG_NONE || own->kind == ADSM_ARG_USE)
			continue;
		arg = &s->bound.args[k++];
		if (arg->kind == ADSM_LAUNCH_VALUE || arg->kind == ADSM_LAUNCH_CONST) {
			own->data = arg->data;
		} else if (own->kind == ADSM_ARG_VALUE) {	/* a pointer, to a kernel in CUDA C */
			pointers[i] = arg->offset;
			own->data = &pointers[i];
		}
	}
	s->call.args = s->args;
	return 0;
}

/* How the grid is split. */
static int measure(struct split *s)
{
	int error = adsm_call_check(s->bound.kernel->info, s->homes[0], s->call.grid, s->call.block, &s->launch);

	if (error)
		return error;
	for (s->dimension = 2; s->dimension && s->launch.grid[s->dimension] == 1; s->dimension--)
		;
	s->n_parts = s->launch.grid[s->dimension] < s->n_homes ? s->launch.grid[s->dimension] : s->n_homes;
	return check_devices(s);
}

static int prepare(struct split *s)
{
	int error = check_kernel(s);

	if (!error)
		error = measure(s);
	if (!error)
		error = note_all(s);
	if (!error)
		error = check_rows(s);
	if (!error)
		error = take_args(s);
	return error ? error : adsm_moves_gather(&s->bound, s->where);
}

static int run(struct split *s)
{
	struct adsm_sigset old;
	int error = prepare(s);

	if (!error)
		error = place_all(s);
	if (error)
		return error;
	error = copy_all(s);
	if (!error)
		error = run_parts(s);
	for (size_t i = 0; i < s->n_written && !error && s->n_parts > 1; i++)
		error = return_object(s, &s->written[i]);
	adsm_home_lock(s->homes[0], &old);
	set_staying(s, false);
	adsm_home_unlock(s->homes[0], &old);
	return error;
}

int adsm_call_split(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmSplit *asked, const adsmArg *args,
		    size_t n, const void *where)
{
	int error = adsm_call_admit(kernel);
	struct split *s;

	if (error)
		return error;
	if (!asked->rows || !asked->n_rows || asked->n_rows > ADSM_SPLIT_ROWS_MAX)
		return adsm_fail(-EINVAL, "adsmSplit has %zu rows: 1 to %d are possible", asked->n_rows,
				 ADSM_SPLIT_ROWS_MAX);
	s = calloc(1, sizeof(*s));	/* stacks may be small */
	if (!s)
		return adsm_fail(-ENOMEM, "no memory for a call that is split");
	s->asked = *asked;
	memcpy(s->rows, asked->rows, asked->n_rows * sizeof(*asked->rows));
	s->asked.rows = s->rows;
	s->call = (struct adsm_call_args){ kernel, grid, block, args, n };
	s->where = where;
	adsm_moves_begin();
	error = choose_homes(s);
	if (!error) {
		error = adsm_bind(&s->bound, s->homes[0], kernel, args, n);
		if (!error)
			error = run(s);
		adsm_bind_end(&s->bound);
	}
	for (int i = 0; i < adsm_n_homes; i++)
		adsm_replicas_unwant(&adsm_homes[i]);
	adsm_moves_end(&adsm_homes[0]);
	free(s->args);
	free(s);
	return error;
}
