/* SPDX-License-Identifier: MIT */
/*
 * copy.c - bulk copies and fills of shared memory.
 *
 * Whole blocks are copied and filled by the device where that moves fewer bytes. The CPU works on the alias, in
 * large steps, as a system call would (io.h): ordinary memory, which may be anything, is touched with no lock held.
 */
#include "run/copy.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/options.h"
#include "core/arena.h"
#include "core/block.h"
#include "core/copier.h"
#include "core/index.h"
#include "core/observe.h"
#include "run/enter.h"
#include "run/inside.h"
#include "run/io.h"
#include "run/views.h"
#include "run/wait.h"

/* The CPU's bytes at a time: they are fetched, copied and entered while a cache still has them. */
#define STEP ((size_t)1 << 20)

/*
 * Where all blocks are open anyhow, less than this is not worth the device. To fill 64 KiB there takes 7 us, and the
 * program's next accesses 10 us more; the CPU takes 1 us, and 6 for sending it if a kernel is next. With 256 KiB it is
 * 13 and 28 against 3 and 25.
 */
#define DEVICE_MIN ((size_t)256 << 10)

/* A bulk copy, or a fill; what is left of it. */
struct bulk {
	char *dst;
	const char *src;
	size_t size;
	bool fill;
	int value;
	bool strict;			/* failures are told; else libc goes on on the views, and meets them there */
	bool direct;			/* strict, and see adsm_copy_direct() */
	bool in_handler;		/* of a signal, maybe: no sentences, no backend that is not made for it */
	const void *where;		/* who wants it: a return address; NULL: not known */
	void *(*move)(void *, const void *, size_t);
	void *(*set)(void *, int, size_t);
};

/* The first bytes of it that belong together: each side ordinary memory or inside one object. */
struct part {
	struct adsm_object *to, *from;	/* NULL: ordinary */
	size_t size;
};

static void run(const struct bulk *bulk, void *dst, const void *src, size_t size)
{
	if (bulk->fill)
		bulk->set(dst, bulk->value, size);
	else
		bulk->move(dst, src, size);
}

/* The shared object a byte is in, or NULL. Without a lock: it stays so as long as nobody frees it. */
static struct adsm_object *shared_at(const char *p)
{
	struct adsm_object *object = adsm_index_find((uintptr_t)p);

	return object && object->live && !object->device_only && !object->freeing &&
		(uintptr_t)p - object->start < object->size ? object : NULL;
}

/* How many of the bytes from @p on belong together, and to what; *size at most. Errors for other memory of ours. */
int adsm_copy_part(const char *p, bool in_handler, struct adsm_object **ret_object, size_t *size)
{
	struct adsm_object *object = shared_at(p);
	uintptr_t a = (uintptr_t)p;
	size_t rest;

	if (object)
		rest = object->start + object->size - a;
	else if (adsm_arena_has(a) || adsm_index_find(a))
		return in_handler ? -EINVAL : adsm_fail(-EINVAL, "%p is in no live shared object", (void *)a);
	else if (a < adsm_arena.base && *size > adsm_arena.base - a)
		rest = adsm_index_next(a, adsm_arena.base - a) - a;
	else
		rest = adsm_index_next(a, *size) - a;
	*ret_object = object;
	*size = *size < rest ? *size : rest;
	return 0;
}

/* What is told of its failure begins nothing that it cannot end: no range ends beyond the object that it begins in. */
int adsm_copy_check(const char *start, size_t total, bool in_handler)
{
	const struct adsm_object *inside = NULL;
	const char *p = start;
	size_t left = total, size;

	if (total > PTRDIFF_MAX || (uintptr_t)start > UINTPTR_MAX - total)
		return in_handler ? -EINVAL :
			adsm_fail(-EINVAL, "%zu bytes at %p: no memory is that large", total, start);
	if (!adsm_may_be_shared(start, total))
		return 0;
	for (; left; p += size, left -= size) {
		struct adsm_object *object;
		int error;

		size = left;
		error = adsm_copy_part(p, in_handler, &object, &size);
		if (!error && inside && !object)
			error = -EINVAL;
		if (error && inside && !in_handler)
			adsm_fail(error, "%zu bytes at %p are not inside live objects: the one at %p has %zu bytes",
				  total, start, (void *)inside->start, inside->size);
		if (error)
			return error;
		inside = object;
	}
	return 0;
}

static int device_failed(int error, const char *what, size_t size)
{
	return error ? adsm_fail(error, "the device could not %s %zu bytes: %s", what, size,
				 adsm_error_string(error)) : 0;
}

/* ---- whole blocks on the device */

struct device_write {
	struct adsm_object *dst, *src;
	const char *host;		/* where the source is no object; without that either: a fill */
	size_t dst_offset, src_offset, size;
	uint8_t value;
};

static int device_write(void *arg)
{
	const struct device_write *w = arg;
	const struct adsm_backend *backend = w->dst->home->device->backend;
	uint64_t start = adsm_os_now_ns();
	int error;

	if (w->host) {
		error = backend->to_device(w->dst->memory, w->dst_offset, w->host, w->size, NULL);
		if (!error)
			adsm_note_transfer(w->dst, ADSM_TO_DEVICE, w->dst_offset, w->size, start,
					   adsm_os_now_ns() - start);
		return error;
	}
	return w->src ? backend->copy(w->dst->memory, w->dst_offset, w->src->memory, w->src_offset, w->size, NULL) :
		backend->fill(w->dst->memory, w->dst_offset, w->value, w->size, NULL);
}

/*
 * Wait until no call uses and nothing moves these blocks, and none may write the source. Lock held; it may be
 * dropped meanwhile.
 */
static int quiet(struct adsm_object *object, const struct adsm_object *source, uint32_t first, uint32_t n,
		 struct adsm_sigset *old)
{
	struct adsm_home *home = object->home;
	uint64_t birth = object->birth, source_birth = source ? source->birth : 0;
	int error = 0;

	for (;;) {
		uint64_t seq = adsm_object_use_seq(object), written = source ? adsm_object_write_seq(source) : 0;
		bool busy = home->gate || object->blocks.n_sending;

		if (!object->live || object->freeing || object->birth != birth ||
		    (source && (!source->live || source->freeing || source->birth != source_birth)))
			return adsm_fail(-EINVAL, "the object was freed meanwhile");
		for (uint32_t b = first; b < first + n && !busy; b++)
			busy = object->blocks.at[b].flags & ADSM_BLOCK_BUSY;
		seq = seq > written ? seq : written;
		if (busy) {
			if (!adsm_send_queued(home))
				adsm_home_wait(home);
		} else if (seq > atomic_load(&home->completed)) {
			error = adsm_wait_unlocked(home, seq, old);
			if (error)
				return error;
		} else {
			return 0;
		}
	}
}

/* What the protocol cannot take from the CPU unseen stays there; and with a lost device, all does. Ask once
 * more after waiting: that is when a loss shows. */
static bool may_take(const struct adsm_object *object)
{
	return object->blocks.detects && !object->home->lost_seq;
}

/* Does the device have the current bytes of the whole range? */
static bool device_has(const struct adsm_object *object, size_t offset, size_t size)
{
	uint32_t last = (uint32_t)((offset + size - 1) >> object->blocks.shift);

	for (uint32_t b = (uint32_t)(offset >> object->blocks.shift); b <= last; b++)
		if (adsm_blocks_unsent(&object->blocks, b) ||
		    (object->blocks.at[b].flags & (ADSM_BLOCK_BUSY | ADSM_BLOCK_QUEUED | ADSM_BLOCK_SENDING)))
			return false;
	return true;
}

/* Can the device write what @w says of a block? A part of it only where the CPU did not write the rest. */
static bool can_write(const struct device_write *w, uint32_t b)
{
	const struct adsm_object *dst = w->dst;
	size_t start = (size_t)b << dst->blocks.shift, end = start + adsm_run_size(dst, b, 1);
	size_t from = w->dst_offset > start ? w->dst_offset : start;
	size_t to = w->dst_offset + w->size < end ? w->dst_offset + w->size : end;

	if (dst->blocks.at[b].holds || (adsm_blocks_unsent(&dst->blocks, b) && (from > start || to < end)))
		return false;
	return !w->src || device_has(w->src, w->src_offset + (from - w->dst_offset), to - from);
}

/*
 * Of @n blocks, how many from the first on the device can write; or, where it cannot write that, how many it cannot:
 * *w is what there is of these.
 */
static uint32_t same_way(struct device_write *w, uint32_t first, uint32_t n, bool *ret_device)
{
	unsigned shift = w->dst->blocks.shift;
	uint32_t count = 0;
	size_t end;

	for (; count < n; count++) {
		bool device = can_write(w, first + count);

		if (count && (device != *ret_device || (!device && (size_t)count << shift >= STEP)))
			break;
		*ret_device = device;
	}
	end = (size_t)(first + count) << shift;
	if (w->size > end - w->dst_offset)
		w->size = end - w->dst_offset;
	return count;
}

/*
 * Have whole blocks of the destination written by the device, where it has the source. The bytes done; 0: as many
 * as the part now says are for the CPU; or an error.
 */
static long on_device(const struct bulk *bulk, struct part *part)
{
	struct adsm_sigset old;
	struct adsm_object *object = adsm_object_enter(bulk->dst, &old);
	struct device_write w = { .dst = object, .value = (uint8_t)bulk->value };
	size_t offset, head, end;
	uint32_t first, n, same;
	bool device = false;
	long result = 0;

	if (!object)
		return bulk->in_handler ? -EINVAL : adsm_fail(-EINVAL, "the object was freed meanwhile");
	adsm_in_fault += bulk->in_handler;
	offset = (uintptr_t)bulk->dst - object->start;
	head = bulk->direct ? 0 : -offset & (adsm_block_size(object) - 1);
	end = offset + part->size;
	if (object != part->to || head >= part->size || !may_take(object))
		goto unlock;
	if (!bulk->fill && !part->from) {
		w.host = bulk->src;
	} else if (!bulk->fill) {
		/* Both live under one lock, or not on one device. */
		w.src = adsm_object_find_locked(object->home, (uintptr_t)bulk->src);
		if (!w.src || w.src != part->from)
			goto unlock;
		w.src_offset = (uintptr_t)bulk->src + head - w.src->start;
	}
	adsm_retire(object->home);
	first = (uint32_t)((offset + head) >> object->blocks.shift);
	if (bulk->direct || end == object->size)
		end += adsm_block_size(object) - 1;	/* and a part of one more */
	n = (uint32_t)(end >> object->blocks.shift) - first;
	result = n ? quiet(object, w.src, first, n, &old) : 0;
	if (result || !n || !may_take(object))
		goto unlock;
	w.dst_offset = offset + head;
	w.size = part->size - head;
	same = same_way(&w, first, n, &device);
	if (!device) {
		if (same < n)
			part->size = head + w.size;
	} else if (head) {
		part->size = head;
	} else {
		if (w.src)
			w.src->blocks.n_busy++;	/* no call and no free comes in between */
		result = adsm_blocks_device_write(object, first, same, device_write, &w);
		if (w.src) {
			w.src->blocks.n_busy--;
			adsm_home_notify(object->home);
		}
		if (!result)
			result = (long)w.size;
		else if (result == -ENODEV)	/* a loss that nothing had shown before: for the CPU, as after it */
			result = 0;
		else
			result = device_failed((int)result, bulk->fill ? "fill" : "copy", w.size);
	}
unlock:
	adsm_in_fault -= bulk->in_handler;
	adsm_home_unlock(object->home, &old);
	return result;
}

/* ---- the CPU's part */

/* So many bytes of a part in one step: no block of the destination in two, or what covers it would fetch it. */
static size_t step_size(const struct bulk *bulk, const struct part *part)
{
	size_t offset, end, mask;

	if (!part->to)
		return part->size < STEP ? part->size : STEP;
	offset = (uintptr_t)bulk->dst - part->to->start;
	mask = adsm_block_size(part->to) - 1;
	end = (offset + STEP) & ~mask;
	if (end <= offset)
		end = (offset | mask) + 1;
	return part->size < end - offset ? part->size : end - offset;
}

/* What io.h does it does as if in a signal handler, where a first sentence finds no place. */
static int io_failed(bool in_handler, int error, size_t size, const void *dst)
{
	return in_handler ? error : adsm_fail(error, "%zu bytes could not be copied to %p: %s", size, dst,
					      adsm_error_string(error));
}

/*
 * Is block @b, of which the bytes from @start to @end are wanted, read from the device past the alias? What the CPU has
 * never used takes no memory there; of the rest, whole blocks are kept, so that another copy is served there.
 */
static bool goes_straight(const struct adsm_object *object, uint32_t b, size_t start, size_t end)
{
	size_t at = (size_t)b << object->blocks.shift;
	bool whole = at >= start && at + adsm_run_size(object, b, 1) <= end;

	return adsm_blocks_lack(&object->blocks, b) &&
		(!whole || !(object->blocks.at[b].flags & ADSM_BLOCK_BACKED));
}

/*
 * Of the next bytes of the source, how many go together: those that are read straight from the device, up to @limit, or
 * those before such. As it looks now.
 */
static size_t source_step(const struct bulk *bulk, const struct part *part, size_t limit, bool *ret_straight)
{
	size_t step = step_size(bulk, part), offset, at, end;
	struct adsm_sigset old;
	struct adsm_object *object = adsm_object_enter(bulk->src, &old);

	*ret_straight = false;
	if (!object)
		return step;
	offset = at = (uintptr_t)bulk->src - object->start;
	end = offset + part->size;
	if (object == part->from && !object->device_only) {
		*ret_straight = goes_straight(object, (uint32_t)(at >> object->blocks.shift), offset, end);
		step = *ret_straight ? limit : step;
		do
			at = (at | (adsm_block_size(object) - 1)) + 1;
		while (at < offset + step &&
		       goes_straight(object, (uint32_t)(at >> object->blocks.shift), offset, end) == *ret_straight);
		step = at - offset < step ? at - offset : step;
	}
	adsm_home_unlock(object->home, &old);
	return step;
}

struct device_read {
	struct adsm_object *src;
	void *dst;
	size_t offset, size;
};

static int device_read(void *arg)
{
	const struct device_read *r = arg;
	uint64_t start = adsm_os_now_ns();
	int error = r->src->home->device->backend->to_host(r->dst, r->src->memory, r->offset, r->size, NULL);

	if (!error)
		adsm_note_transfer(r->src, ADSM_TO_HOST, r->offset, r->size, start, adsm_os_now_ns() - start);
	return error;
}

/* Of the bytes from @start to @end, how many of the first ones only the device has, or else, of one block, the CPU. */
static size_t on_one_side(const struct adsm_object *object, size_t start, size_t end, bool *ret_device)
{
	size_t at = start;

	*ret_device = adsm_blocks_lack(&object->blocks, (uint32_t)(start >> object->blocks.shift));
	do
		at = (at | (adsm_block_size(object) - 1)) + 1;
	while (*ret_device && at < end && adsm_blocks_lack(&object->blocks, (uint32_t)(at >> object->blocks.shift)) &&
	       !(object->blocks.at[at >> object->blocks.shift].flags & ADSM_BLOCK_BUSY));
	return (at < end ? at : end) - start;
}

/* Bytes of an object, to memory that is no view; what only the device has comes from there, and states stay. */
static int read_straight(const struct bulk *bulk, const struct part *part, char *dst, size_t size)
{
	struct adsm_sigset old;
	struct adsm_object *object = adsm_object_enter(bulk->src, &old);
	struct adsm_home *home = object ? object->home : NULL;
	uint64_t birth = object ? object->birth : 0;
	size_t at = object ? (uintptr_t)bulk->src - object->start : 0, end = at + size;
	int error = object && object == part->from && !object->device_only ? 0 : -EINVAL;

	while (!error && at < end) {
		struct device_read r = { object, dst, at, 0 };
		bool device;

		if (!object->live || object->freeing || object->birth != birth) {
			error = -EINVAL;
			break;
		}
		/* Or somebody has fetched some meanwhile. */
		r.size = on_one_side(object, at, end, &device);
		if (object->blocks.at[at >> object->blocks.shift].flags & ADSM_BLOCK_BUSY) {
			adsm_home_wait(home);
			continue;
		}
		if (device && adsm_object_write_seq(object) > atomic_load(&home->completed)) {
			error = adsm_wait_unlocked(home, adsm_object_write_seq(object), &old);
			continue;
		}
		if (device && adsm_object_lost(object)) {
			error = -ENODEV;
			break;
		}
		object->blocks.n_busy++;	/* no call and no free comes in between */
		adsm_unlock(&home->lock);
		if (device)
			error = adsm_backend_run(home, device_read, &r);
		else
			memcpy(dst, object->alias + at, r.size);
		adsm_lock(&home->lock);
		object->blocks.n_busy--;
		adsm_home_notify(home);
		at += r.size;
		dst += r.size;
	}
	if (object)
		adsm_home_unlock(home, &old);
	return error;
}

/* One step through the aliases. The bytes done, or an error. */
static long by_alias(const struct bulk *bulk, const struct part *part)
{
	bool straight = false;
	size_t size = bulk->direct && part->from && part->from != part->to ?
		source_step(bulk, part, part->to ? step_size(bulk, part) : part->size, &straight) :
		step_size(bulk, part);
	struct iovec to = { bulk->dst, size }, from = { (char *)bulk->src, size };
	struct iovec to_room[ADSM_IO_ROOM(1)], from_room[ADSM_IO_ROOM(1)];
	struct adsm_io output = { .vector = &from, .n = 1 };
	struct adsm_io input __attribute__((cleanup(adsm_io_cleanup))) = { .vector = &to, .n = 1 };
	int error = 0;

	/* In this order: where they share a block, its fetch leaves no hole for the input. */
	if (part->from && !straight)
		error = adsm_io_begin_output(&output, &from, 1, from_room);
	if (!error && part->to)
		error = adsm_io_begin_input(&input, &to, 1, to_room);
	if (!error && straight)
		error = read_straight(bulk, part, input.vector->iov_base, size);
	else if (!error)
		run(bulk, input.vector->iov_base, output.vector->iov_base, size);
	if (!error)
		error = adsm_io_end(&input, size);
	return error ? io_failed(bulk->in_handler, error, size, bulk->dst) : (long)size;
}

/* ---- who does what */

struct look {
	bool whole;			/* a block is covered */
	bool open;			/* all blocks are open for the access */
	bool unseen;			/* not shared, or its accesses are not detected */
};

/* Without a lock: if it was wrong, an access faults that was thought not to. */
__attribute__((no_sanitize("thread")))
static void look_at(const char *p, size_t size, unsigned needed, struct look *look)
{
	const struct adsm_object *object = shared_at(p);
	size_t offset, end, first;

	if (!object || !object->blocks.detects) {
		look->unseen = true;
		return;
	}
	offset = (uintptr_t)p - object->start;
	end = size < object->size - offset ? offset + size : object->size;
	first = (offset + adsm_block_size(object) - 1) & ~(adsm_block_size(object) - 1);
	if (first < end && (end == object->size || end - first >= adsm_block_size(object)))
		look->whole = true;
	for (; look->open && offset < end; offset = (offset | (adsm_block_size(object) - 1)) + 1)
		look->open = object->blocks.at[offset >> object->blocks.shift].view >= needed;
}

/* Is there no reason to do it otherwise than libc would, on the views? *ret_open: nothing of it is seen. Or else:
 * @device: not on the device. */
static bool for_libc(const struct bulk *bulk, bool to, bool from, bool *device, bool *ret_open)
{
	struct look look = { .open = true };

	if (to)
		look_at(bulk->dst, bulk->size, ADSM_PROT_RW, &look);
	if (from)
		look_at(bulk->src, bulk->size, ADSM_PROT_READ, &look);
	if (look.open && bulk->size < DEVICE_MIN && !adsm_paper)
		*device = false;
	*ret_open = look.open && !adsm_observes(ADSM_OBSERVE_ADVICE);
	return !look.whole || look.unseen || (look.open && !*device);
}

/* The next bytes: what they belong to, and the device's share of the work. As on_device(). */
static long next(const struct bulk *bulk, bool device, struct part *part)
{
	long done = adsm_copy_part(bulk->dst, bulk->in_handler, &part->to, &part->size);

	if (!done && !bulk->fill)
		done = adsm_copy_part(bulk->src, bulk->in_handler, &part->from, &part->size);
	if (!done && device && part->to && (bulk->fill || part->from || bulk->direct))
		done = on_device(bulk, part);
	return done;
}

/* Tell what is about to be done, or has been: how that is, depends on the blocks. */
static void tell_advice(const struct bulk *bulk, const char *p, bool input, bool ended)
{
	struct adsm_bulk told = {
		.size = bulk->size, .input = input, .fill = bulk->fill, .strict = bulk->strict, .step = STEP,
		.device_min = adsm_paper ? 0 : DEVICE_MIN,
	};
	struct adsm_sigset old;
	struct adsm_object *object = adsm_object_enter(p, &old);
	bool other;

	if (!object)
		return;
	other = !bulk->fill && shared_at(input ? bulk->src : bulk->dst);
	told.offset = (uintptr_t)p - object->start;
	if (adsm_advises(object) && ended)
		adsm_advice_bulk_end(object);
	else if (adsm_advises(object) && (other || bulk->direct || told.size > object->size - told.offset))
		adsm_advice_inexact(object);
	else if (adsm_advises(object))
		adsm_advice_bulk(object, &told);
	adsm_home_unlock(object->home, &old);
}

static void run_on_views(const struct bulk *bulk)
{
	if (bulk->fill)
		adsm_views_set(bulk->dst, bulk->value, bulk->size, bulk->set);
	else
		adsm_views_move(bulk->dst, bulk->src, bulk->size, bulk->move);
}

/* 0, or what went wrong; never that where libc goes on. */
static int work_on(struct bulk bulk)
{
	bool to = adsm_may_be_shared(bulk.dst, bulk.size);
	bool from = !bulk.fill && adsm_may_be_shared(bulk.src, bulk.size);
	bool overlap = !bulk.fill && bulk.dst < bulk.src + bulk.size && bulk.src < bulk.dst + bulk.size;
	bool device = to && (from || bulk.fill || bulk.direct) && !overlap, open = false;

	if (!bulk.strict && (overlap || for_libc(&bulk, to, from, &device, &open))) {
		if (open)
			run(&bulk, bulk.dst, bulk.src, bulk.size);
		else
			run_on_views(&bulk);
		return 0;
	}
	while (bulk.size) {
		struct part part = { .size = bulk.size };
		long done;

		done = next(&bulk, device, &part);
		if (!done)
			done = by_alias(&bulk, &part);
		if (done < 0 && bulk.strict)
			return (int)done;
		if (done < 0) {
			run_on_views(&bulk);
			return 0;
		}
		bulk.dst += done;
		if (!bulk.fill)
			bulk.src += done;
		bulk.size -= (size_t)done;
	}
	return 0;
}

static void tell_ends(const struct bulk *bulk, bool ended)
{
	if (!adsm_observes(ADSM_OBSERVE_ADVICE) || !bulk->size)
		return;
	tell_advice(bulk, bulk->dst, true, ended);
	if (!bulk->fill)
		tell_advice(bulk, bulk->src, false, ended);
}

/* A signal handler copies, too, and what it interrupted goes on. */
static void begin_cause(struct adsm_cause *ret_before, enum adsm_why why, const void *where)
{
	if (!adsm_observes(~0u))
		return;
	*ret_before = adsm_cause;
	adsm_set_cause(why, where, "");
}

static void end_cause(const struct adsm_cause *before)
{
	if (adsm_observes(~0u))
		adsm_cause = *before;
}

static int check_ranges(const struct bulk *bulk)
{
	int error = bulk->strict ? adsm_copy_check(bulk->dst, bulk->size, bulk->in_handler) : 0;

	return error || !bulk->strict || bulk->fill ? error : adsm_copy_check(bulk->src, bulk->size, bulk->in_handler);
}

static int work(struct bulk bulk)
{
	struct adsm_cause before;
	int error = check_ranges(&bulk);

	if (error)
		return error;
	begin_cause(&before, bulk.fill ? ADSM_WHY_FILL : ADSM_WHY_COPY, bulk.where);
	tell_ends(&bulk, false);
	error = work_on(bulk);
	tell_ends(&bulk, true);
	end_cause(&before);
	return error;
}

int adsm_memcpy(void *dst, const void *src, size_t size, const void *where)
{
	return work((struct bulk){ .dst = dst, .src = src, .size = size, .strict = true, .move = memmove,
				   .where = where });
}

int adsm_io_copy(void *dst, const void *src, size_t size)
{
	int saved_errno = errno, error;

	error = work((struct bulk){ .dst = dst, .src = src, .size = size, .strict = true, .in_handler = true,
				    .move = memmove });
	errno = saved_errno;
	return error;
}

int adsm_memset(void *dst, int value, size_t size, const void *where)
{
	return work((struct bulk){ .dst = dst, .size = size, .fill = true, .value = value, .strict = true,
				   .set = memset, .where = where });
}

int adsm_copy_direct(void *dst, const void *src, size_t size)
{
	return work((struct bulk){ .dst = dst, .src = src, .size = size, .strict = true, .direct = true,
				   .move = memmove });
}

int adsm_fill_direct(void *dst, int value, size_t size)
{
	return work((struct bulk){ .dst = dst, .size = size, .fill = true, .value = value, .strict = true,
				   .direct = true, .set = memset });
}

/* What the caller is, when libc touches shared memory for it; what it was before. */
static uintptr_t enter_for(const void *where)
{
	uintptr_t outer = adsm_inside_frame;

	if (adsm_inside_has(where))
		adsm_inside_frame = (uintptr_t)__builtin_frame_address(0);
	return outer;
}

void adsm_move_shared(void *dst, const void *src, size_t size, void *(*libc)(void *, const void *, size_t),
		      const void *where)
{
	int saved_errno = errno;
	struct adsm_cause before;

	/* No block is smaller: what covers none is libc's. And nothing may wait for a driver that waits for this. */
	if (size < ADSM_PAGE_SIZE || adsm_inside_has(where)) {
		uintptr_t outer = enter_for(where);

		begin_cause(&before, ADSM_WHY_COPY, where);
		adsm_views_move(dst, src, size, libc);
		end_cause(&before);
		adsm_inside_frame = outer;
		return;
	}
	work((struct bulk){ .dst = dst, .src = src, .size = size, .in_handler = true, .move = libc, .where = where });
	errno = saved_errno;
}

void adsm_set_shared(void *dst, int value, size_t size, void *(*libc)(void *, int, size_t), const void *where)
{
	int saved_errno = errno;
	struct adsm_cause before;

	if (size < ADSM_PAGE_SIZE || adsm_inside_has(where)) {
		uintptr_t outer = enter_for(where);

		begin_cause(&before, ADSM_WHY_FILL, where);
		adsm_views_set(dst, value, size, libc);
		end_cause(&before);
		adsm_inside_frame = outer;
		return;
	}
	work((struct bulk){ .dst = dst, .size = size, .fill = true, .value = value, .in_handler = true, .set = libc,
			    .where = where });
	errno = saved_errno;
}

/* ---- small arguments */

long adsm_io_copy_string(char *buffer, const char *s, size_t size)
{
	size_t at = 0;

	while (at < size) {
		/* To the end of the page: behind that there may be no object. */
		size_t part = ADSM_PAGE_SIZE - ((uintptr_t)(s + at) & (ADSM_PAGE_SIZE - 1));
		struct adsm_object *object;
		struct adsm_sigset old;
		const char *end;
		int error;

		object = adsm_object_enter(s + at, &old);
		if (!object)
			return -EINVAL;
		if (part > object->start + object->size - (uintptr_t)(s + at))
			part = object->start + object->size - (uintptr_t)(s + at);
		adsm_home_unlock(object->home, &old);
		part = part < size - at ? part : size - at;
		error = adsm_io_copy(buffer + at, s + at, part);
		if (error)
			return error;
		end = memchr(buffer + at, 0, part);
		if (end)
			return end + 1 - buffer;
		at += part;
	}
	return (long)at;
}
