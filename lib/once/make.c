/* SPDX-License-Identifier: MIT */
/* once/make.c - see make.h. */
#include "once/make.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log.h"
#include "core/arena.h"
#include "core/life.h"
#include "core/objects.h"
#include "engine/engine.h"
#include "once/place.h"
#include "once/waiters.h"

static struct adsm_mutex mutex = ADSM_MUTEX_INIT(ADSM_RANK_ONCE);	/* all that follows, and changes of the list */
static struct adsm_once_object *free_objects;	/* never given back: who found one may look at it */
static size_t n_alive;

size_t adsm_once_alive(void)
{
	size_t n;

	adsm_mutex_lock(&mutex);
	n = n_alive;
	adsm_mutex_unlock(&mutex);
	return n;
}

/* ---- memory */

static int make_table(void)
{
	size_t size = (sizeof(*adsm_once_table) + ADSM_PAGE_SIZE - 1) & ~(ADSM_PAGE_SIZE - 1);
	int fd, error;
	void *p;

	if (adsm_once_table)
		return 0;
	error = adsm_fd_memory("adsm-once-table", size, &fd);
	if (error)
		return adsm_fail(error, "no memory for those who wait");
	error = adsm_os_map(NULL, size, fd, 0, ADSM_PROT_RW, &p);
	close(fd);
	if (error)
		return adsm_fail(error, "no memory for those who wait");
	adsm_once_table = p;
	atomic_store(&adsm_life_child, adsm_once_child);
	return 0;
}

void adsm_once_end(void)
{
	if (adsm_once_table)
		adsm_os_unmap(adsm_once_table, (sizeof(*adsm_once_table) + ADSM_PAGE_SIZE - 1) & ~(ADSM_PAGE_SIZE - 1));
	adsm_once_table = NULL;
}

/* All pages of one place, three times. */
static int map_place(struct adsm_once_object *object, int fd, int device)
{
	char *to[] = { object->handle.address, (char *)object->handle.data, object->handle.room };
	static const enum adsm_prot prots[] = { ADSM_PROT_NONE, ADSM_PROT_READ, ADSM_PROT_RW };
	int error = 0;
	void *p;

	for (size_t i = 0; i < object->n_runs && !error; i++) {
		const struct adsm_once_run *run = &object->runs[i];

		for (int m = 0; m < 3 && !error && run->device == device; m++)
			error = adsm_os_map(to[m] + run->first_page * ADSM_PAGE_SIZE, run->n_pages * ADSM_PAGE_SIZE, fd,
					    run->offset, prots[m], &p);
	}
	return error;
}

static int make_place(struct adsm_once_object *object, int device)
{
	size_t size = 0;
	int fd, error;

	for (size_t i = 0; i < object->n_runs; i++)
		size += object->runs[i].device == device ? object->runs[i].n_pages * ADSM_PAGE_SIZE : 0;
	if (!size)
		return 0;
	if (device != ADSM_ONCE_ON_HOST)
		return adsm_fail(-ENOTSUP, "device %d has no memory for write-once objects", device);
	error = adsm_fd_memory("adsm-once-host", size, &fd);
	if (error)
		return error;
	error = map_place(object, fd, device);
	close(fd);
	return error;
}

static int make_flags(struct adsm_once_object *object)
{
	int fd, error = adsm_fd_memory("adsm-once-flags", object->shared_size, &fd);
	void *p;

	if (error)
		return error;
	error = adsm_os_map(object->shared, object->shared_size, fd, 0, ADSM_PROT_RW, &p);
	close(fd);
	return error;
}

/* The view is closed, as the arena has it; the rest is anywhere. */
static int map_object(struct adsm_once_object *object)
{
	size_t span = object->stand_in.span;
	void *p = NULL;
	int error = adsm_os_reserve(0, 2 * span + object->shared_size, &p);

	if (error)
		return adsm_fail(error, "no address space for %zu bytes (ulimit -v)", 2 * span);
	object->handle.data = p;
	object->handle.room = (char *)p + span;
	object->shared = (void *)((char *)p + 2 * span);
	object->handle.flags = (const unsigned char *)object->shared->flags;
	object->handle.address = (void *)object->stand_in.start;
	error = make_flags(object);
	for (int device = ADSM_ONCE_ON_HOST; device < adsm_n_homes && !error; device++)
		error = make_place(object, device);
	if (!error) {
		adsm_os_dump(p, 2 * span, false);
		error = adsm_engine->attach(object->handle.address, span, true);
	}
	if (!error)
		object->engine = adsm_engine;
	else if (error != -ENOTSUP)
		adsm_fail(error, "no memory for a write-once object of %zu bytes (vm.max_map_count, ulimit -v)", span);
	return error;
}

static void unmap_object(struct adsm_once_object *object)
{
	size_t span = object->stand_in.span;

	if (object->engine) {
		object->engine->permit(object->handle.address, span, ADSM_PROT_READ, ADSM_PROT_NONE);
		object->engine->detach(object->handle.address, span);
	}
	object->engine = NULL;
	if (object->handle.data)
		adsm_os_unmap((void *)object->handle.data, 2 * span + object->shared_size);
	free(object->runs);
	adsm_objects_give_range(&object->stand_in);
}

/* ---- life */

static struct adsm_once_object *take_object(void)
{
	struct adsm_once_object *object = free_objects;

	if (!object)
		return calloc(1, sizeof(*object));
	free_objects = object->next;
	return object;
}

static void give_object(struct adsm_once_object *object)
{
	object->next = free_objects;
	free_objects = object;
}

static int fill(struct adsm_once_object *object, size_t count, size_t size, const adsmOnceDistribution *distribution)
{
	static const adsmOnceDistribution on_host;
	size_t bytes, span;
	int error;

	if (!count || !size)
		return adsm_fail(-EINVAL, "a write-once object of %zu units of %zu bytes: both start at 1", count,
				 size);
	if (__builtin_mul_overflow(count, size, &bytes) || bytes > adsm_arena.size)
		return adsm_fail(-ENOMEM, "%zu units of %zu bytes are more than the arena has (ADSM_ARENA)", count,
				 size);
	span = (bytes + ADSM_PAGE_SIZE - 1) & ~(ADSM_PAGE_SIZE - 1);
	object->handle = (adsmOnce){ .size = size, .count = count };
	object->engine = NULL;
	object->shared_size = (sizeof(*object->shared) + count + ADSM_PAGE_SIZE - 1) & ~(ADSM_PAGE_SIZE - 1);
	/* What asks an object of the usual kind for its blocks is told something that does no harm. */
	object->stand_in = (struct adsm_object){ .home = &adsm_homes[0], .once = true, .size = bytes };
	object->stand_in.blocks.shift = (unsigned)__builtin_ctzl(ADSM_HUGE_PAGE_SIZE);
	error = make_table();
	if (!error)
		error = adsm_once_distribute(distribution ? distribution : &on_host, count, size, span / ADSM_PAGE_SIZE,
					     adsm_n_homes, &object->runs, &object->n_runs);
	if (error)
		return error;
	error = adsm_objects_take_range(span, &object->stand_in);
	if (error) {
		free(object->runs);
		return error;
	}
	error = map_object(object);
	if (error)
		unmap_object(object);
	return error;
}

int adsm_once_create(size_t count, size_t size, const adsmOnceDistribution *distribution,
		     struct adsm_once_object **ret_object)
{
	struct adsm_once_object *object;
	int error;

	adsm_mutex_lock(&mutex);
	object = take_object();
	error = object ? fill(object, count, size, distribution) : -ENOMEM;
	if (!error) {
		object->next = atomic_load(&adsm_once_objects);
		n_alive++;
		atomic_store(&object->live, true);
		atomic_store(&adsm_once_objects, object);
		*ret_object = object;
	} else if (object) {
		give_object(object);
	}
	adsm_mutex_unlock(&mutex);
	return error;
}

static void unlink_object(struct adsm_once_object *object)
{
	struct adsm_once_object *at = atomic_load(&adsm_once_objects);

	if (at == object) {
		atomic_store(&adsm_once_objects, object->next);
		return;
	}
	while (at->next != object)
		at = at->next;
	at->next = object->next;
}

int adsm_once_destroy(struct adsm_once_object *object)
{
	adsmOnceWaiter waiter;
	int error = 0;

	adsm_mutex_lock(&mutex);
	if (!atomic_load(&object->live))
		error = adsm_fail(-EINVAL, "%p is no write-once object, or it was freed", (void *)&object->handle);
	else if (adsm_once_waiters(object->handle.address, &waiter, 1))
		error = adsm_fail(-EBUSY, "the write-once object at %p cannot be freed: %s %d waits for its unit %zu",
				  waiter.address, waiter.device < 0 ? "thread" : "a kernel's thread", waiter.thread,
				  waiter.unit);
	if (!error) {
		atomic_store(&object->live, false);
		unlink_object(object);
		unmap_object(object);
		give_object(object);
		n_alive--;
	}
	adsm_mutex_unlock(&mutex);
	return error;
}
