/* SPDX-License-Identifier: MIT */
/* copy.c - bulk copies and fills of shared memory: which part is for the device, the CPU or libc. */
#include "run/copy/copy.h"

#include <errno.h>
#include <string.h>

#include "core/limits.h"
#include "core/observe.h"
#include "core/options.h"
#include "core/shared.h"
#include "once/wait.h"
#include "run/copy/alias_copy.h"
#include "run/copy/device_copy.h"
#include "run/wait/enter.h"
#include "run/wait/in_driver.h"
#include "run/copy/views.h"

/*
 * If all blocks are open, a smaller copy or fill is not worth the device. A fill of 64 KiB there takes 7 us, and the
 * program's next accesses 10 us more; the CPU takes 1 us, and 6 us to send it if a kernel is next. For 256 KiB the
 * times are 13 and 28 against 3 and 25.
 */
#define DEVICE_MIN ((size_t)256 << 10)

struct look {
	bool whole;			/* the range covers a whole block */
	bool open;			/* all blocks are open for the access */
	bool unseen;			/* not shared, or accesses are not detected,
					   or the program itself limits them */
};

/* Without a lock. If the result is wrong, an access faults that was expected not to. */
__attribute__((no_sanitize("thread")))
static void look_at(const char *p, size_t size, unsigned needed, struct look *look)
{
	const struct adsm_object *object = adsm_shared_at(p);
	size_t offset, end, first;

	if (!object || !object->blocks.detects || adsm_is_limited(object)) {
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

/*
 * Can libc do the copy on the views just as well? *ret_open: it causes no fault, and no observer looks. If the result
 * is false, @device is cleared if the device should not take part.
 */
static bool for_libc(const struct adsm_copy *copy, bool to, bool from, bool *device, bool *ret_open)
{
	struct look look = { .open = true };

	if (to)
		look_at(copy->dst, copy->size, ADSM_PROT_RW, &look);
	if (from)
		look_at(copy->src, copy->size, ADSM_PROT_READ, &look);
	if (look.open && copy->size < DEVICE_MIN && !adsm_paper)
		*device = false;
	*ret_open = look.open && !adsm_observes(ADSM_OBSERVE_PAGES);
	return !look.whole || look.unseen || (look.open && !*device);
}

/* The next part: its objects, and the device's share of the work. Returns like adsm_copy_on_device(). */
static long next(const struct adsm_copy *copy, bool device, struct adsm_part *part)
{
	long done = adsm_copy_part(copy->dst, copy->in_handler, &part->to, &part->size);

	if (!done && !copy->fill)
		done = adsm_copy_part(copy->src, copy->in_handler, &part->from, &part->size);
	/* Where the program itself has closed pages, libc gets the fault on the views, or the alias refuses. */
	if (!done && device && part->to && (copy->fill || part->from || copy->direct) &&
	    !adsm_is_limited(part->to) && !(part->from && adsm_is_limited(part->from)))
		done = adsm_copy_on_device(copy, part);
	return done;
}

/* Report a copy to advice before it begins and after it has ended: its cost depends on the states of the blocks. */
static void tell_advice(const struct adsm_copy *copy, const char *p, bool input, bool ended)
{
	struct adsm_bulk told = {
		.size = copy->size, .input = input, .fill = copy->fill, .strict = copy->strict, .step = ADSM_COPY_STEP,
		.device_min = adsm_paper ? 0 : DEVICE_MIN,
	};
	struct adsm_sigset old;
	struct adsm_object *object = adsm_object_enter(p, &old);
	bool other;

	if (!object)
		return;
	other = !copy->fill && adsm_shared_at(input ? copy->src : copy->dst);
	told.offset = (uintptr_t)p - object->start;
	if (ended)
		adsm_act(object, ADSM_ACT_BULK_END, ADSM_EVENT_NONE, 0, 0);
	else if (other || copy->direct || told.size > object->size - told.offset)
		adsm_act_inexact(object);
	else if (adsm_is_paged(object))
		adsm_observer->advice_act(&(struct adsm_act){
			.kind = ADSM_ACT_BULK, .home = object->home, .object = object, .bulk = &told,
		});
	adsm_home_unlock(object->home, &old);
}

static void run_on_views(const struct adsm_copy *copy)
{
	if (copy->fill)
		adsm_views_set(copy->dst, copy->value, copy->size, copy->set);
	else
		adsm_views_move(copy->dst, copy->src, copy->size, copy->move);
}

/* Returns 0, or an error of a strict copy. If the copy is not strict, libc does the rest. */
static int work_on(struct adsm_copy copy)
{
	bool to = adsm_may_be_shared(copy.dst, copy.size);
	bool from = !copy.fill && adsm_may_be_shared(copy.src, copy.size);
	bool overlap = !copy.fill && copy.dst < copy.src + copy.size && copy.src < copy.dst + copy.size;
	bool device = to && (from || copy.fill || copy.direct) && !overlap, open = false;

	if (!copy.strict && (overlap || for_libc(&copy, to, from, &device, &open))) {
		if (open)
			adsm_copy_run(&copy, copy.dst, copy.src, copy.size);
		else
			run_on_views(&copy);
		return 0;
	}
	while (copy.size) {
		struct adsm_part part = { .size = copy.size };
		long done;

		done = next(&copy, device, &part);
		if (!done)
			done = adsm_copy_by_alias(&copy, &part);
		if (done < 0 && copy.strict)
			return (int)done;
		if (done < 0) {
			run_on_views(&copy);
			return 0;
		}
		copy.dst += done;
		if (!copy.fill)
			copy.src += done;
		copy.size -= (size_t)done;
	}
	return 0;
}

static void tell_ends(const struct adsm_copy *copy, bool ended)
{
	if (!adsm_observes(ADSM_OBSERVE_PAGES) || !copy->size)
		return;
	tell_advice(copy, copy->dst, true, ended);
	if (!copy->fill)
		tell_advice(copy, copy->src, false, ended);
}

/* A signal handler may copy, too. The cause of the code that it interrupted is kept and restored. */
static void begin_cause(struct adsm_cause *ret_before, enum adsm_why why, const void *where)
{
	if (!adsm_observes(~0u))
		return;
	*ret_before = adsm_cause;
	if (why == ADSM_WHY_IO)
		where = adsm_observer->caller(NULL);
	adsm_set_cause(why, where, "");
}

static void end_cause(const struct adsm_cause *before)
{
	if (adsm_observes(~0u))
		adsm_cause = *before;
}

static int check_ranges(const struct adsm_copy *copy)
{
	int error = copy->strict ? adsm_copy_check(copy->dst, copy->size, copy->in_handler) : 0;

	if (!error && copy->strict && !copy->fill)
		error = adsm_copy_check(copy->src, copy->size, copy->in_handler);
	if (!error && copy->strict)
		error = adsm_copy_permitted(copy->dst, copy->size, ADSM_PROT_RW, copy->in_handler);
	if (!error && copy->strict && !copy->fill)
		error = adsm_copy_permitted(copy->src, copy->size, ADSM_PROT_READ, copy->in_handler);
	return error;
}

static int work(struct adsm_copy copy)
{
	struct adsm_cause before;
	int error = check_ranges(&copy);

	if (error)
		return error;
	begin_cause(&before, copy.io ? ADSM_WHY_IO : copy.fill ? ADSM_WHY_FILL : ADSM_WHY_COPY, copy.where);
	tell_ends(&copy, false);
	error = work_on(copy);
	tell_ends(&copy, true);
	end_cause(&before);
	return error;
}

int adsm_memcpy(void *dst, const void *src, size_t size, const void *where)
{
	return work((struct adsm_copy){ .dst = dst, .src = src, .size = size, .strict = true, .move = memmove,
					.where = where });
}

/*
 * Copy from a write-once object. If @waits, the caller only reads, and waits for units that are not set. Otherwise the
 * range may be one that the system is to fill, and an unset unit is an error.
 */
static int copy_once(void *dst, struct adsm_once_object *object, const void *src, size_t size, bool waits)
{
	size_t offset = (uintptr_t)src - object->stand_in.start, unit, last;
	void *address;
	int error;

	if (offset >= object->stand_in.size || size > object->stand_in.size - offset)
		return -EINVAL;
	if (adsm_limits_allow(&object->stand_in, offset, size, ADSM_PROT_READ) < size)
		return -EFAULT;
	unit = adsm_once_unit_at(object, offset);
	last = adsm_once_unit_at(object, offset + size - 1);
	for (; !waits && unit <= last; unit++)
		if (!adsm_once_is_set(object->shared, unit))
			return -EINVAL;
	error = adsm_once_io(object, offset, size, false, NULL, &address);
	if (!error)
		memcpy(dst, address, size);
	return error;
}

int adsm_io_copy(void *dst, const void *src, size_t size)
{
	struct adsm_once_object *once = adsm_once_at((uintptr_t)src);
	int saved_errno = errno, error;

	if (once && size)
		error = copy_once(dst, once, src, size, false);
	else
		error = work((struct adsm_copy){ .dst = dst, .src = src, .size = size, .strict = true,
						 .in_handler = true, .io = true, .move = memmove });
	errno = saved_errno;
	return error;
}

int adsm_io_fill(void *dst, int value, size_t size)
{
	int saved_errno = errno, error;

	error = work((struct adsm_copy){ .dst = dst, .size = size, .fill = true, .value = value, .strict = true,
					 .in_handler = true, .io = true, .set = memset });
	errno = saved_errno;
	return error;
}

int adsm_memset(void *dst, int value, size_t size, const void *where)
{
	return work((struct adsm_copy){ .dst = dst, .size = size, .fill = true, .value = value, .strict = true,
					.set = memset, .where = where });
}

int adsm_copy_direct(void *dst, const void *src, size_t size)
{
	return work((struct adsm_copy){ .dst = dst, .src = src, .size = size, .strict = true, .direct = true,
					.move = memmove });
}

int adsm_fill_direct(void *dst, int value, size_t size)
{
	return work((struct adsm_copy){ .dst = dst, .size = size, .fill = true, .value = value, .strict = true,
					.direct = true, .set = memset });
}

/*
 * If a driver calls the wrapper, note its frame before libc touches shared memory in it. Returns the frame noted
 * before.
 */
static uintptr_t enter_for(const void *where)
{
	uintptr_t outer = adsm_in_driver.frame;

	if (adsm_drivers_have(where))
		adsm_in_driver.frame = (uintptr_t)__builtin_frame_address(0);
	return outer;
}

void adsm_move_shared(void *dst, const void *src, size_t size, void *(*libc)(void *, const void *, size_t),
		      const void *where)
{
	struct adsm_cause before;
	int saved_errno;

	/* A block has at least one page, so libc does what is smaller. A driver's
	 * call must not wait here: what it would wait for may need that driver. */
	if (size < ADSM_PAGE_SIZE || adsm_drivers_have(where)) {
		uintptr_t outer = enter_for(where);

		begin_cause(&before, ADSM_WHY_COPY, where);
		adsm_views_move(dst, src, size, libc);
		end_cause(&before);
		adsm_in_driver.frame = outer;
		return;
	}
	saved_errno = errno;
	work((struct adsm_copy){ .dst = dst, .src = src, .size = size, .in_handler = true, .move = libc,
				 .where = where });
	errno = saved_errno;
}

void adsm_set_shared(void *dst, int value, size_t size, void *(*libc)(void *, int, size_t), const void *where)
{
	struct adsm_cause before;
	int saved_errno;

	if (size < ADSM_PAGE_SIZE || adsm_drivers_have(where)) {
		uintptr_t outer = enter_for(where);

		begin_cause(&before, ADSM_WHY_FILL, where);
		adsm_views_set(dst, value, size, libc);
		end_cause(&before);
		adsm_in_driver.frame = outer;
		return;
	}
	saved_errno = errno;
	work((struct adsm_copy){ .dst = dst, .size = size, .fill = true, .value = value, .in_handler = true,
				 .set = libc, .where = where });
	errno = saved_errno;
}

/* ---- small arguments */

long adsm_io_copy_string(char *buffer, const char *s, size_t size)
{
	size_t at = 0;

	while (at < size) {
		/* Only to the end of the page: there may be no object behind it. */
		size_t part = ADSM_PAGE_SIZE - ((uintptr_t)(s + at) & (ADSM_PAGE_SIZE - 1));
		struct adsm_once_object *once = adsm_once_at((uintptr_t)(s + at));
		struct adsm_object *object;
		struct adsm_sigset old;
		const char *end;
		int error;

		part = part < size - at ? part : size - at;
		if (once) {
			/* Also only to the end of the unit, to wait for no other unit. */
			size_t in_unit = ((uintptr_t)(s + at) - once->stand_in.start) % once->handle.size;

			if (part > once->handle.size - in_unit)
				part = once->handle.size - in_unit;
			error = copy_once(buffer + at, once, s + at, part, true);
		} else {
			uintptr_t object_end;

			object = adsm_object_enter(s + at, &old);
			if (!object)
				return -EINVAL;
			object_end = object->start + object->size;
			adsm_home_unlock(object->home, &old);
			/* After the object's size there is only the rest of a page, which belongs to nothing. */
			if ((uintptr_t)(s + at) >= object_end)
				return -EINVAL;
			part = part < object_end - (uintptr_t)(s + at) ? part : object_end - (uintptr_t)(s + at);
			error = adsm_io_copy(buffer + at, s + at, part);
		}
		if (error)
			return error;
		end = memchr(buffer + at, 0, part);
		if (end)
			return end + 1 - buffer;
		at += part;
	}
	return (long)at;
}
