/* SPDX-License-Identifier: MIT */
/* once/make.c - see make.h. */
#include "once/make.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log.h"
#include "core/arena.h"
#include "core/life.h"
#include "core/limits.h"
#include "core/objects.h"
#include "engine/engine.h"
#include "once/deadlock.h"
#include "once/place.h"

static struct adsm_once_object *free_objects;	/* never given back to the system, so
						   that a stale pointer can be read */
static size_t n_alive;

size_t adsm_once_alive(void)
{
	size_t n;

	adsm_mutex_lock(&adsm_once_mutex);
	n = n_alive;
	adsm_mutex_unlock(&adsm_once_mutex);
	return n;
}

/* ---- memory */

static size_t table_size(void)
{
	return adsm_whole_pages(sizeof(*adsm_once_table));
}

/* Share the table with the present devices. Devices that are added later (a context of the program's) have no kernels
 * for it, and neither has a device that is lost meanwhile. */
static int share_table(int fd)
{
	int error = 0;

	for (int i = 0; i < adsm_n_homes && !error; i++) {
		struct adsm_device *device = adsm_homes[i].device;

		if (device->caps.once && !device->backend->status(device))
			error = device->backend->once->start(device, i, fd, table_size());
		if (error == -ENODEV)
			error = 0;
	}
	return error;
}

static void drop_table(void)
{
	adsm_os_unmap(adsm_once_table, table_size());
	adsm_once_table = NULL;
}

static int make_table(void)
{
	int fd, error;
	void *p;

	if (adsm_once_table)
		return 0;
	error = adsm_fd_memory("adsm-once-table", table_size(), &fd);
	if (error)
		return adsm_fail(error, "no memory for the table of waits for units of write-once objects");
	error = adsm_os_map(NULL, table_size(), fd, 0, ADSM_PROT_RW, &p);
	if (error) {
		close(fd);
		return adsm_fail(error, "no memory for the table of waits for units of write-once objects");
	}
	error = share_table(fd);
	close(fd);
	if (error) {
		adsm_os_unmap(p, table_size());
		return error;
	}
	adsm_once_table = p;
	atomic_store(&adsm_life_child, adsm_once_child);
	error = adsm_deadlock_start();
	if (error)
		drop_table();
	return error;
}

void adsm_once_end(void)
{
	adsm_deadlock_stop();	/* its thread takes the lock */
	adsm_mutex_lock(&adsm_once_mutex);
	if (adsm_once_table)
		drop_table();
	adsm_mutex_unlock(&adsm_once_mutex);
}

/* Can kernels of the device use write-once objects? */
static bool has_once(const struct adsm_home *home)
{
	return home->device->caps.once && !atomic_load(&home->device->lost);
}

/* A device that is lost meanwhile causes no error. */
static int only_alive(const struct adsm_home *home, int error)
{
	return error == -ENODEV && atomic_load(&home->device->lost) ? 0 : error;
}

static int map_on_devices(struct adsm_once_object *object, const struct adsm_once_run *run, int fd)
{
	uint64_t address = object->stand_in.start + run->first_page * ADSM_PAGE_SIZE;
	int error = 0;

	for (int i = 0; i < adsm_n_homes && !error; i++)
		if (has_once(&adsm_homes[i]))
			error = only_alive(&adsm_homes[i], adsm_homes[i].device->backend->once->map(
				adsm_homes[i].device, address, run->n_pages * ADSM_PAGE_SIZE, fd, run->offset));
	return error;
}

/* Map all pages of one place: in the view, for readers and for writers. */
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
		if (!error && run->device == device)
			error = map_on_devices(object, run, fd);
	}
	return error;
}

static size_t place_size(const struct adsm_once_object *object, int device)
{
	size_t size = 0;

	for (size_t i = 0; i < object->n_runs; i++)
		size += object->runs[i].device == device ? object->runs[i].n_pages * ADSM_PAGE_SIZE : 0;
	return size;
}

static int make_place(struct adsm_once_object *object, int index)
{
	size_t size = place_size(object, index);
	int fd, error;

	if (!size)
		return 0;
	if (index == ADSM_ONCE_ON_HOST)
		error = adsm_fd_memory("adsm-once-host", size, &fd);
	else
		error = adsm_homes[index].device->backend->once->memory(adsm_homes[index].device, size, &fd);
	if (error)
		return error;
	object->placed |= 1u << (index + 1);
	error = map_place(object, fd, index);
	close(fd);
	return error;
}

static int make_flags(struct adsm_once_object *object)
{
	int fd, error = adsm_fd_memory("adsm-once-flags", object->shared_size, &fd);
	struct adsm_once_map map;
	void *p;

	if (error)
		return error;
	error = adsm_os_map(object->shared, object->shared_size, fd, 0, ADSM_PROT_RW, &p);
	map = (struct adsm_once_map){ object->stand_in.start, object->stand_in.span, object->handle.size,
				      object->handle.count, fd, object->shared_size };
	for (int i = 0; i < adsm_n_homes && !error; i++)
		if (has_once(&adsm_homes[i]))
			error = only_alive(&adsm_homes[i],
					   adsm_homes[i].device->backend->once->add(adsm_homes[i].device, &map));
	close(fd);
	return error;
}

/* Devices forget the object, which no kernel uses, and get their memory of it back. */
static void leave_devices(struct adsm_once_object *object)
{
	for (int i = 0; i < adsm_n_homes; i++) {
		struct adsm_device *device = adsm_homes[i].device;

		if (device->caps.once)
			device->backend->once->remove(device, object->stand_in.start, object->stand_in.span);
		if (object->placed & 1u << (i + 1))
			device->backend->once->memory_free(device, place_size(object, i));
	}
}

/* The view is closed, at its address in the arena. The other mappings may be anywhere. */
static int map_object(struct adsm_once_object *object)
{
	const unsigned n_said = adsm_n_said();
	size_t span = object->stand_in.span;
	void *p = NULL;
	int error = adsm_os_reserve(0, 2 * span + object->shared_size, &p);

	if (error)
		return adsm_fail(error, "no address space for %zu bytes%s", 2 * span, adsm_os_limit(error));
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
	else if (n_said == adsm_n_said())
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
	adsm_limits_drop(&object->stand_in);
	if (object->handle.data)
		adsm_os_unmap((void *)object->handle.data, 2 * span + object->shared_size);
	leave_devices(object);
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

/* Decide where each page will be. No lock is held, because a function of the program may decide. The caller frees the
 * runs. */
static int make_runs(size_t count, size_t size, const adsmOnceDistribution *distribution,
		     struct adsm_once_run **ret_runs, size_t *ret_n)
{
	size_t bytes;

	if (!count || !size)
		return adsm_fail(-EINVAL, "a write-once object cannot have %zu units of %zu bytes: both numbers must "
				 "be at least 1", count, size);
	if (__builtin_mul_overflow(count, size, &bytes) || bytes > adsm_arena.size)
		return adsm_fail(-ENOMEM, "%zu units of %zu bytes are more than the size of the arena (ADSM_ARENA)",
				 count, size);
	return adsm_once_distribute(distribution, count, size,
				    adsm_whole_pages(bytes) / ADSM_PAGE_SIZE, adsm_n_homes, ret_runs, ret_n);
}

/* Fill in a new object that has its runs. After an error the runs are freed. */
static int fill(struct adsm_once_object *object, size_t count, size_t size)
{
	size_t bytes = count * size, span = adsm_whole_pages(bytes);
	int error;

	object->handle = (adsmOnce){ .size = size, .count = count };
	object->since_ns = adsm_os_now_ns();
	object->engine = NULL;
	object->placed = 0;
	atomic_store(&object->opened, false);
	atomic_store(&object->emptied, false);
	atomic_store(&object->closing, false);
	for (int i = 0; i < ADSM_MAX_DEVICES; i++) {
		atomic_store(&object->use_seq[i], 0);
		atomic_store(&object->write_seq[i], 0);
	}
	object->shared_size = adsm_whole_pages(sizeof(*object->shared) + count);
	/* Code that looks at the blocks of an ordinary object finds harmless values here. */
	object->stand_in = (struct adsm_object){ .home = &adsm_homes[0], .once = true, .size = bytes };
	object->stand_in.blocks.shift = (unsigned)__builtin_ctzl(ADSM_HUGE_PAGE_SIZE);
	error = make_table();
	if (!error)
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
	struct adsm_once_run *runs;
	size_t n_runs;
	int error = make_runs(count, size, distribution, &runs, &n_runs);

	if (error)
		return error;
	adsm_mutex_lock(&adsm_once_mutex);
	object = take_object();
	if (object) {
		object->runs = runs;
		object->n_runs = n_runs;
		error = fill(object, count, size);
	} else {
		free(runs);
		error = -ENOMEM;
	}
	if (!error) {
		object->next = atomic_load(&adsm_once_objects);
		n_alive++;
		atomic_store(&object->live, true);
		atomic_store(&adsm_once_objects, object);
		*ret_object = object;
	} else if (object) {
		give_object(object);
	}
	adsm_mutex_unlock(&adsm_once_mutex);
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
	int error = 0;

	adsm_mutex_lock(&adsm_once_mutex);
	if (!atomic_load(&object->live))
		error = adsm_fail(-EINVAL, "%p is not a write-once object, or it was freed", (void *)&object->handle);
	if (!error) {
		atomic_store(&object->live, false);
		unlink_object(object);
		unmap_object(object);
		give_object(object);
		n_alive--;
	}
	adsm_mutex_unlock(&adsm_once_mutex);
	return error;
}

/* ---- devices that are lost */

/* Has the home's last call that may set units of the object ended without an error? Lock held. */
static bool has_written(struct adsm_home *home, const struct adsm_once_object *object)
{
	uint64_t seq = atomic_load(&object->write_seq[home->index]);
	int status;

	if (!seq || seq > home->last_seq)
		return true;	/* there is no such call, or it was about to begin and does not */
	if (adsm_call_ended(home, seq))
		return !adsm_call_lost(home, seq);
	return adsm_call_query(home, seq, &status) > 0 && !status;
}

void adsm_once_device_lost(void)
{
	adsm_mutex_lock(&adsm_once_mutex);
	for (int i = 0; i < adsm_n_homes && adsm_once_table; i++) {
		struct adsm_home *home = &adsm_homes[i];
		struct adsm_sigset old;

		if (!home->device || !home->device->caps.once || !home->device->backend->status(home->device))
			continue;
		for (struct adsm_once_object *o = atomic_load(&adsm_once_objects); o; o = o->next) {
			adsm_home_lock(home, &old);
			if (!has_written(home, o))
				adsm_once_fail(o->shared, i, -ENODEV);
			/* Only once: units that other calls are to set from now on are not concerned. */
			atomic_store(&o->write_seq[i], 0);
			adsm_home_unlock(home, &old);
		}
		/* A wait may end only once. Threads of this process end their own. */
		if (!home->device->caps.once_shown)
			adsm_once_forget(adsm_once_table, i);
		atomic_store(&home->once_lost, true);
		adsm_once_rouse(adsm_once_table);
		adsm_once_wake_all(adsm_once_table);
	}
	adsm_mutex_unlock(&adsm_once_mutex);
}
