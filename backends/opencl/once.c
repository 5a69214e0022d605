/* SPDX-License-Identifier: MIT */
/* opencl/once.c - see once.h. */
#include "once.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/once.h"
#include "units.h"

#define PERIOD_NS 100000		/* between two looks at running launches */
#define WAITS 256			/* blocks of a launch whose waits for one object are shown */

/* The record of one object in one launch, in memory that the kernel uses: struct adsm_units_ of adsm_kernel_units.h. */
struct units_wait {
	_Atomic uint32_t state;		/* 2: complete */
	uint32_t room;
	_Atomic uint64_t unit, block;
};

struct units {
	uint64_t size, count;
	_Atomic uint32_t ended, wrong;
	_Atomic uint64_t wrong_unit, wrong_block;
	struct units_wait waits[WAITS];
};

#define TURNS 16			/* launches that begin after one look */
#define CLAIMED 9			/* units.wrong: the rest is not stored yet */

_Static_assert(sizeof(struct units_wait) == 24 && sizeof(struct units) == 40 + WAITS * 24, "the layout of kernels");

/* A wait of a block that is shown. */
struct shown {
	bool is;
	uint64_t unit, block;		/* unit: as in a note */
	struct adsm_once_wait wait;
};

struct once_arg {
	struct adsm_cl_once_object *object;
	struct units *units;
	bool sets;
	struct shown shown[WAITS];
};

struct adsm_cl_once_launch {
	struct adsm_cl_once_launch *next;
	struct adsm_cl_device *device;
	char name[ADSM_ONCE_KERNEL];
	int error;			/* of a wait; 0: none */
	cl_event turn;			/* it waits for this event; NULL: for none */
	bool enqueued;
	bool closed;			/* the device was closed: nothing looks at the launch any more */
	size_t n, n_set;		/* objects; those whose arguments are set */
	struct once_arg args[];
};

/* Of all devices. */
static struct adsm_cl_once_launch *launches;
static struct adsm_thread thread;
static bool has_thread, runs;		/* a thread to join; it looks on */
static bool lost;			/* a device was lost: the thread tells the library, by this function */
static void (*when_lost)(void);

/* ---- looking at launches. The lock is held. */

/* All blocks of the launch return at their next word. */
static void end_blocks(struct adsm_cl_once_launch *once)
{
	for (size_t i = 0; i < once->n; i++)
		atomic_store(&once->args[i].units->ended, 1);
}

static void hide(struct shown *shown)
{
	if (shown->is)
		adsm_once_wait_end(&shown->wait);
	shown->is = false;
}

/* The wait of a block ends with an error, and so does the launch. */
static void fail_wait(struct adsm_cl_once_launch *once, const struct once_arg *arg, const struct shown *shown,
		      int error)
{
	const bool room = shown->unit & ADSM_ONCE_ROOM;

	if (!once->error)
		adsm_error("kernel '%s', block %lu, waits for %sunit %lu of the write-once object at %p, which will "
			   "never be %s: %s", once->name, (unsigned long)shown->block, room ? "room in " : "",
			   (unsigned long)(shown->unit & ~ADSM_ONCE_ROOM), (void *)arg->object->address,
			   room ? "emptied" : "set", error == -EDEADLK ? "all threads that could do that wait, too" :
			   "a call that sets units of the object has failed");
	once->error = once->error ? once->error : error;
	end_blocks(once);
}

static int no_sleep(_Atomic uint32_t *word, uint32_t value, bool far)
{
	return 0;
}

static void show(const struct adsm_cl_once_launch *once, const struct once_arg *arg, struct shown *shown)
{
	struct adsm_once_note note = {
		.address = arg->object->address, .unit = shown->unit, .where = shown->block,
		.device = once->device->once.index, .thread = adsm_os_thread_id(),
	};

	memcpy(note.kernel, once->name, sizeof(note.kernel));
	adsm_once_wait_begin(&shown->wait, once->device->once.table, arg->object->shared, &note);
	shown->is = true;
}

/* Show the wait that a block has recorded, or hide it. */
static void look_at_wait(struct adsm_cl_once_launch *once, struct once_arg *arg, size_t i)
{
	struct units_wait *wait = &arg->units->waits[i];
	struct shown *shown = &arg->shown[i];
	const bool waits = atomic_load(&wait->state) == 2 && !atomic_load(&arg->units->ended);
	const uint64_t unit = atomic_load(&wait->unit) | (wait->room ? ADSM_ONCE_ROOM : 0);
	const uint64_t block = atomic_load(&wait->block);
	int ret;

	if (shown->is && (!waits || shown->unit != unit || shown->block != block))
		hide(shown);
	/* Another wait may have begun in this place meanwhile. The next look finds it. */
	if (!waits || atomic_load(&wait->state) != 2)
		return;
	if (!shown->is) {
		shown->unit = unit;
		shown->block = block;
		show(once, arg, shown);
	}
	ret = adsm_once_wait_once(&shown->wait, no_sleep);
	if (ret && ret != -EAGAIN)
		fail_wait(once, arg, shown, ret);
	if (ret != -EAGAIN)
		hide(shown);
}

static bool is_wrong(const struct once_arg *arg)
{
	return atomic_load(&arg->units->wrong) && atomic_load(&arg->units->wrong) != CLAIMED;
}

static void look_at(struct adsm_cl_once_launch *once)
{
	/* The library no longer waits for the launch. The program may free its objects. */
	if (adsm_driven_is_lost(&once->device->base))
		end_blocks(once);
	for (size_t i = 0; i < once->n; i++) {
		if (is_wrong(&once->args[i]))
			end_blocks(once);
		for (size_t w = 0; w < WAITS; w++)
			look_at_wait(once, &once->args[i], w);
	}
}

/* Wake threads of the program that wait for a unit which is not as it was: kernels have changed flags. */
static void wake_threads(const struct adsm_cl_device *device)
{
	struct adsm_once_table *table = device->once.table;
	const uint32_t high = atomic_load(&table->high);
	struct adsm_once_note note;

	for (uint32_t i = 0; i < high; i++) {
		const struct adsm_cl_once_object *object;

		if (!adsm_once_note_read(table, i, &note) || note.device >= 0)
			continue;
		object = adsm_cl_units_find(device, note.address);
		/* An older note is for an object that had this address before. */
		if (object && note.since_ns >= object->since_ns && adsm_once_is_over(object->shared, note.unit))
			adsm_once_wake_unit(table, note.address, note.unit);
	}
	/* Waits that have no place in the table. */
	if (high == ADSM_ONCE_SLOTS)
		adsm_once_wake_all(table);
}

static void look_at_device(struct adsm_cl_device *device)
{
	if (!adsm_driven_is_lost(&device->base) || device->once.is_lost)
		return;
	device->once.is_lost = true;
	lost = true;
}

static bool is_first_of_device(const struct adsm_cl_once_launch *once)
{
	const struct adsm_cl_once_launch *other = launches;

	while (other->device != once->device)
		other = other->next;
	return other == once;
}

/* Look at all launches. Returns whether a device was lost. */
static bool look(void)
{
	bool tell;

	for (struct adsm_cl_once_launch *once = launches; once; once = once->next) {
		look_at(once);
		look_at_device(once->device);
	}
	/* Each device: one that is lost does not know objects that were made after its loss. */
	for (struct adsm_cl_once_launch *once = launches; once; once = once->next)
		if (is_first_of_device(once))
			wake_threads(once->device);
	if (launches)
		atomic_fetch_add(&launches->device->once.table->looks, 1);
	tell = lost;
	lost = false;
	return tell;
}

/* Must the launch wait for an earlier one, on another device that is a CPU? */
static bool must_wait(const struct adsm_cl_once_launch *once)
{
	const struct adsm_cl_once_launch *other = launches;

	for (; other != once; other = other->next)
		if (other->device != once->device && other->device->base.base.caps.once_polls &&
		    !adsm_driven_is_lost(&other->device->base))
			return once->device->base.base.caps.once_polls;
	return false;
}

/* Take the events of launches whose turn it is, at most TURNS of them. Returns their number. */
static size_t take_turns(cl_event *ret_turns)
{
	size_t n = 0;

	for (struct adsm_cl_once_launch *once = launches; once && n < TURNS; once = once->next)
		if (once->turn && once->enqueued && !must_wait(once)) {
			ret_turns[n++] = once->turn;
			once->turn = NULL;
		}
	return n;
}

static void begin_turn(cl_event turn)
{
	adsm_cl.clSetUserEventStatus(turn, CL_COMPLETE);
	adsm_cl.clReleaseEvent(turn);
}

static void look_on(void *arg)
{
	bool goes_on, tell;
	cl_event turns[TURNS];
	size_t n_turns;

	do {
		adsm_lock(&adsm_cl_units_lock);
		tell = look();
		n_turns = take_turns(turns);
		goes_on = runs = launches || tell;
		adsm_unlock(&adsm_cl_units_lock);
		/* The driver may call the library back. */
		for (size_t i = 0; i < n_turns; i++)
			begin_turn(turns[i]);
		if (tell)
			when_lost();
		if (goes_on)
			adsm_os_sleep_until_ns(adsm_os_now_ns() + PERIOD_NS);
	} while (goes_on);
}

/* ---- launches */

static void destroy(struct adsm_cl_once_launch *once)
{
	for (size_t i = 0; i < once->n; i++)
		free(once->args[i].units);
	free(once);
}

/* The lock is held. */
static void leave_objects(const struct adsm_cl_once_launch *once)
{
	for (size_t i = 0; i < once->n; i++)
		adsm_cl_units_leave(once->args[i].object);
}

static int make_arg(struct adsm_cl_once_launch *once, const struct adsm_launch_arg *asked)
{
	struct once_arg *arg = &once->args[once->n];
	uint64_t address;

	memcpy(&address, asked->data, sizeof(address));
	arg->object = adsm_cl_units_find(once->device, address);
	arg->units = arg->object ? aligned_alloc(64, (sizeof(*arg->units) + 63) / 64 * 64) : NULL;
	if (!arg->units)
		return -ENOMEM;
	memset(arg->units, 0, sizeof(*arg->units));
	arg->units->size = arg->object->unit;
	arg->units->count = arg->object->count;
	arg->sets = asked->access != ADSM_ACCESS_IN;
	arg->object->n_launches++;
	once->n++;
	return 0;
}

/* The lock is held. */
static int start_thread(void)
{
	int ret;

	if (runs)
		return 0;
	if (has_thread)
		adsm_os_thread_join(&thread);	/* it only gives the lock back */
	ret = adsm_os_thread_start(&thread, "adsm-units", look_on, NULL);
	runs = has_thread = !ret;
	return ret;
}

static void append(struct adsm_cl_once_launch *once)
{
	struct adsm_cl_once_launch **at = &launches;

	while (*at)
		at = &(*at)->next;
	*at = once;
}

static size_t count(const struct adsm_launch *asked)
{
	size_t n = 0;

	for (size_t i = 0; i < asked->n_args; i++)
		n += asked->args[i].once;
	return n;
}

int adsm_cl_once_begin(struct adsm_cl_device *device, const struct adsm_launch *asked,
		       struct adsm_cl_once_launch **ret_once)
{
	const size_t n = count(asked);
	struct adsm_cl_once_launch *once;
	struct adsm_sigset old;
	int ret = 0;

	*ret_once = NULL;
	if (!n)
		return 0;
	if (!device->once.works) {
		char text[160];

		adsm_format(text, sizeof(text), "kernel '%s' takes write-once objects", asked->name);
		return adsm_cl_units_refuse(device, text);
	}
	once = calloc(1, sizeof(*once) + n * sizeof(once->args[0]));
	if (!once)
		return -ENOMEM;
	once->device = device;
	adsm_format(once->name, sizeof(once->name), "%s", asked->name);
	adsm_os_signals_block(&old);
	adsm_lock(&adsm_cl_units_lock);
	for (size_t i = 0; i < asked->n_args && !ret; i++)
		ret = asked->args[i].once ? make_arg(once, &asked->args[i]) : 0;
	ret = ret ? ret : start_thread();
	if (!ret) {
		append(once);
		/* What runs on other devices than CPUs is not known: it may run on. */
		atomic_store(&device->once.table->running[device->once.index],
			     device->base.base.caps.once_polls ? 1 : UINT32_MAX / 2);
	} else {
		leave_objects(once);
	}
	adsm_unlock(&adsm_cl_units_lock);
	adsm_os_signals_restore(&old);
	if (ret)
		destroy(once);
	else
		*ret_once = once;
	return ret;
}

cl_int adsm_cl_once_set_arg(struct adsm_cl_once_launch *once, cl_kernel kernel, cl_uint *index)
{
	const struct once_arg *arg = &once->args[once->n_set++];
	const void *pointers[] = { arg->object->data, (const void *)arg->object->shared->flags, arg->units };
	cl_int error = CL_SUCCESS;

	for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]) && !error; i++)
		error = adsm_cl.clSetKernelArgSVMPointer(kernel, (*index)++, pointers[i]);
	return error;
}

cl_int adsm_cl_once_in_turn(struct adsm_cl_once_launch *once, cl_int (*enqueue)(void *arg, cl_event wait), void *arg)
{
	cl_int error = CL_SUCCESS;

	adsm_lock(&adsm_cl_units_lock);
	if (must_wait(once))
		once->turn = adsm_cl.clCreateUserEvent(once->device->context, &error);
	if (!error)
		error = enqueue(arg, once->turn);
	once->enqueued = !error;
	adsm_unlock(&adsm_cl_units_lock);
	return error;
}

static void unlink_launch(struct adsm_cl_once_launch *once)
{
	struct adsm_cl_once_launch **at = &launches;
	bool more = false;

	while (*at != once)
		at = &(*at)->next;
	*at = once->next;
	for (const struct adsm_cl_once_launch *other = launches; other; other = other->next)
		more |= other->device == once->device;
	if (!more)
		atomic_store(&once->device->once.table->running[once->device->once.index], 0);
	for (size_t i = 0; i < once->n; i++)
		for (size_t w = 0; w < WAITS; w++)
			hide(&once->args[i].shown[w]);
}

/* A block has used an object in an invalid way: this ends the device. */
static void lose(const struct adsm_cl_once_launch *once, const struct once_arg *arg)
{
	static const char *const whats[] = {
		"", "reads a unit beyond the end", "writes a unit beyond the end", "sets a unit beyond the end",
		"empties a unit beyond the end", "writes a unit that is already set", "sets a unit that is already set",
		"sets a unit that it has not begun to write with ADSM_FRESH", "empties a unit that is not set",
	};
	const uint32_t wrong = atomic_load(&arg->units->wrong);
	char text[256];

	adsm_format(text, sizeof(text), "kernel '%s', block %lu, %s: unit %lu of the write-once object at %p "
		    "(%lu units)", once->name, (unsigned long)atomic_load(&arg->units->wrong_block),
		    wrong < sizeof(whats) / sizeof(whats[0]) ? whats[wrong] : "?",
		    (unsigned long)atomic_load(&arg->units->wrong_unit), (void *)arg->object->address,
		    (unsigned long)arg->object->count);
	adsm_driven_lose(&once->device->base, ADSM_LOG_ERROR, text);
}

/* The lock is held. Returns the launch's status. */
static int end_launch(struct adsm_cl_once_launch *once, int status, bool started)
{
	unlink_launch(once);
	if (started)
		wake_threads(once->device);
	for (size_t i = 0; i < once->n && !status; i++)
		if (is_wrong(&once->args[i])) {
			lose(once, &once->args[i]);
			status = -ENODEV;
			look_at_device(once->device);
			start_thread();
		}
	status = status ? status : once->error;
	for (size_t i = 0; i < once->n && started && status; i++)
		if (once->args[i].sets)
			adsm_once_fail(once->args[i].object->shared, once->device->once.index, status);
	if (status && started)
		adsm_once_wake_all(once->device->once.table);
	return status;
}

int adsm_cl_once_end(struct adsm_cl_once_launch *once, int status, bool started)
{
	cl_event turn;

	if (!once)
		return status;
	adsm_lock(&adsm_cl_units_lock);
	if (!once->closed)
		status = end_launch(once, status, started);
	leave_objects(once);
	turn = once->turn;
	adsm_unlock(&adsm_cl_units_lock);
	if (turn)
		begin_turn(turn);	/* the launch has failed */
	destroy(once);
	return status;
}

static void note_lost(struct adsm_cl_device *device)
{
	adsm_lock(&adsm_cl_units_lock);
	if (device->once.table) {
		look_at_device(device);
		start_thread();
	}
	adsm_unlock(&adsm_cl_units_lock);
}

void adsm_cl_once_open(struct adsm_cl_device *device, const struct adsm_backend_config *config)
{
	when_lost = config->lost;
	device->when_lost = note_lost;
}

void adsm_cl_once_stop(struct adsm_cl_device *device)
{
	cl_event turns[ADSM_DRIVEN_PENDING];
	size_t n = 0;

	adsm_lock(&adsm_cl_units_lock);
	for (struct adsm_cl_once_launch *once = launches; once; once = once->next) {
		if (once->device != device)
			continue;
		end_blocks(once);
		if (once->turn && n < ADSM_DRIVEN_PENDING)
			turns[n++] = once->turn;
		once->turn = NULL;
	}
	adsm_unlock(&adsm_cl_units_lock);
	for (size_t i = 0; i < n; i++)
		begin_turn(turns[i]);
}

void adsm_cl_once_close(struct adsm_cl_device *device, bool quiet)
{
	struct adsm_cl_once_launch *next;
	bool joins;

	adsm_lock(&adsm_cl_units_lock);
	for (struct adsm_cl_once_launch *once = launches; once; once = next) {
		next = once->next;
		if (once->device != device)
			continue;
		unlink_launch(once);
		once->closed = true;
	}
	joins = has_thread && !launches;
	has_thread &= !joins;
	adsm_unlock(&adsm_cl_units_lock);
	if (joins)
		adsm_os_thread_join(&thread);
	adsm_cl_units_free(device, quiet);
}
