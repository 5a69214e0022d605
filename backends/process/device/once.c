/* SPDX-License-Identifier: MIT */
/* device/once.c - see once.h. */
#include "process/device/once.h"

#include "base/log.h"
#include "base/once.h"
#include "base/os.h"
#include "process/device/crash.h"
#include "process/device/guard.h"
#include "process/device/task_crew.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct once {
	struct adsm_kernel_once kernel;	/* first: the part that kernels get */
	struct adsm_once_shared *shared;
	size_t shared_size;
	struct once *next;
};

/* Mapped, but not yet at the address that kernels use: a kernel may still use the memory that is there. */
struct piece {
	uint64_t address;
	size_t size;
	void *memory;
	struct piece *next;
};

static struct piece *pieces;
/* Protects objects: requests and launches are served by two threads. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct once *objects;
static struct adsm_once_table *table;
static int device;
static struct {
	int fd;
	uint64_t base;
	struct adsm_process_shared *shared;
} memory = { .fd = -1 };
/* Its restore() is for devices whose memory has no fd. */
static struct adsm_device_once_node node = { .place = "" };

/* ---- functions that kernels call */

static bool is_worker(void)
{
	return adsm_pool_block.launch && adsm_pool_block.launch->task;
}

/* An invalid use by a kernel ends the device. */
_Noreturn static void refuse(const struct adsm_kernel_once *once, uint64_t unit, const char *what)
{
	const struct adsm_pool_launch *launch = adsm_pool_block.launch;
	char text[ADSM_PROCESS_TEXT];

	adsm_format(text, sizeof(text),
		    "%s '%s', %s %lu%s, %s: unit %lu of the write-once object at %p (%lu units)",
		    is_worker() ? "task" : "kernel", launch ? launch->name : "?", is_worker() ? "worker" : "block",
		    (unsigned long)adsm_pool_block.number, node.place, what, (unsigned long)unit, once->data,
		    (unsigned long)once->count);
	if (node.hooks)
		node.hooks->refused(text);
	adsm_crash_alone();
	adsm_process_say_end(memory.shared, text);
	_exit(1);
}

/* Has the launch of this thread failed? Units that its other blocks were to set will not be set. Their object does not
 * always say so: a later call that may set its units clears its error. */
static bool has_failed(void)
{
	return is_worker() ? atomic_load(&adsm_task.failed) : adsm_pool_error() != 0;
}

/* Check the launch after the waiter was counted: a launch that fails later changes the word. */
static int sleep_in_launch(_Atomic uint32_t *word, uint32_t value, bool far)
{
	return has_failed() ? 0 : adsm_once_sleep(word, value, far);
}

static void wake_workers(void)
{
	adsm_once_wake_all(table);
}

/* Workers of a failed task end here, as they do in functions for locks. */
static void leave_failed(void)
{
	if (is_worker() && atomic_load(&adsm_task.failed))
		adsm_task_leave(adsm_task_threads[adsm_pool_block.number]);
}

/* Returns -EAGAIN if the launch has failed. */
static int wait_for(struct once *once, uint64_t unit)
{
	struct adsm_once_note note = {
		.address = (uintptr_t)once->kernel.data, .unit = unit, .where = adsm_pool_block.number,
		.device = device, .thread = adsm_os_thread_id(), .node = (uint64_t)node.number,
	};
	struct adsm_once_wait wait;
	int ret;

	memcpy(note.kernel, adsm_pool_block.launch->name, sizeof(note.kernel));
	adsm_once_wait_begin(&wait, table, once->shared, &note);
	if (node.hooks)
		node.hooks->waits();
	do
		ret = adsm_once_wait_once(&wait, sleep_in_launch);
	while (ret == -EAGAIN && !has_failed());
	adsm_once_wait_end(&wait);
	return ret;
}

void adsm_device_once_failed(const struct adsm_pool_launch *launch, int error)
{
	for (uint32_t i = 0; i < ADSM_KERNEL_PARAMS_MAX && launch->sets >> i; i++) {
		const struct adsm_kernel_once *sets = launch->args[i];

		if (!(launch->sets >> i & 1) || !sets->count)
			continue;
		adsm_once_fail(((struct once *)launch->args[i])->shared, device, error);
		if (node.hooks)
			node.hooks->failed(sets, error);
	}
	/* Other blocks of the launch wait, perhaps for units that it does not set. */
	if (launch->waits)
		adsm_once_wake_all(table);
}

/* What a wait that cannot end is for. */
static const char *aim(uint64_t unit)
{
	return unit & ADSM_ONCE_ROOM ? "room in " : "";
}

/* The worker cannot continue: its task fails. */
_Noreturn static void give_up_task(const struct adsm_kernel_once *once, uint64_t unit, int error)
{
	const bool deadlock = error == -EDEADLK;
	const char *why = deadlock ? "no thread can set any more" : "will never be set: the call that should set it "
		"has failed";
	char text[ADSM_PROCESS_TEXT];

	adsm_format(text, sizeof(text), "%sworker %lu waits for %sunit %lu of the write-once object at %p, which %s",
		    deadlock ? "deadlock: " : "", (unsigned long)adsm_pool_block.number, aim(unit),
		    (unsigned long)(unit & ~ADSM_ONCE_ROOM), once->data, why);
	adsm_task_fail_waiting(error, text);
	adsm_task_leave(adsm_task_threads[adsm_pool_block.number]);
}

/* The block cannot continue, so the launch will not set its units: threads that wait for these get the same error. */
_Noreturn static void give_up(const struct adsm_kernel_once *once, uint64_t unit, int error)
{
	const struct adsm_pool_launch *launch = adsm_pool_block.launch;
	char text[ADSM_PROCESS_TEXT];

	if (launch->task)
		give_up_task(once, unit, error);
	adsm_format(text, sizeof(text), "kernel '%s', block %lu%s, waits for %sunit %lu of the write-once object at "
		    "%p, which will never be %s: %s", launch->name, (unsigned long)adsm_pool_block.number, node.place,
		    aim(unit), (unsigned long)(unit & ~ADSM_ONCE_ROOM), once->data,
		    unit & ADSM_ONCE_ROOM ? "emptied" : "set", error == -EDEADLK ?
		    "all threads that could do that wait, too" : "a call that sets units of the object has failed");
	/* In this order: blocks that are woken see the launch's error. */
	if (adsm_pool_fail(error, text))
		adsm_device_once_failed(launch, error);
	adsm_pool_leave();
}

/* @unit: as in a note. */
static void await(const struct adsm_kernel_once *kernel, uint64_t unit)
{
	struct once *once = (struct once *)kernel;
	int ret;

	if (adsm_once_is_over(once->shared, unit) || adsm_once_spin(once->shared, unit))
		return;
	ret = wait_for(once, unit);
	leave_failed();
	if (ret)
		give_up(kernel, unit, ret);
}

static const void *get_unit(const struct adsm_kernel_once *kernel, uint64_t unit)
{
	leave_failed();
	if (unit >= kernel->count)
		refuse(kernel, unit, "reads a unit beyond the end");
	await(kernel, unit);
	return (const char *)kernel->data + unit * kernel->size;
}

static void *fresh(const struct adsm_kernel_once *kernel, uint64_t unit)
{
	leave_failed();
	if (unit >= kernel->count)
		refuse(kernel, unit, "writes a unit beyond the end");
	if (adsm_once_fresh(((struct once *)kernel)->shared, unit))
		refuse(kernel, unit, "writes a unit that is already set");
	return (char *)kernel->data + unit * kernel->size;
}

static void set_unit(const struct adsm_kernel_once *kernel, uint64_t unit)
{
	int ret;

	leave_failed();
	if (unit >= kernel->count)
		refuse(kernel, unit, "sets a unit beyond the end");
	ret = adsm_once_set(table, ((struct once *)kernel)->shared, (uintptr_t)kernel->data, unit);
	if (ret)
		refuse(kernel, unit, ret == -EEXIST ? "sets a unit that is already set" :
		       "sets a unit that it has not begun to write with ADSM_FRESH");
	if (node.hooks)
		node.hooks->set(kernel, unit);
}

static void *room(const struct adsm_kernel_once *kernel, uint64_t unit)
{
	leave_failed();
	if (unit >= kernel->count)
		refuse(kernel, unit, "writes a unit beyond the end");
	/* Another writer may set the unit before this one begins. */
	while (adsm_once_fresh(((struct once *)kernel)->shared, unit)) {
		if (node.restore)
			refuse(kernel, unit, "waits for room in a unit, which nothing on a cluster can empty");
		await(kernel, unit | ADSM_ONCE_ROOM);
	}
	return (char *)kernel->data + unit * kernel->size;
}

static void empty(const struct adsm_kernel_once *kernel, uint64_t unit)
{
	leave_failed();
	if (unit >= kernel->count)
		refuse(kernel, unit, "empties a unit beyond the end");
	/* Other nodes may have copies of the unit. */
	if (node.restore)
		refuse(kernel, unit, "empties a unit, which kernels on a cluster cannot do");
	if (adsm_once_empty(table, ((struct once *)kernel)->shared, (uintptr_t)kernel->data, unit))
		refuse(kernel, unit, "empties a unit that is not set");
}

/* ---- requests */

void adsm_device_once_start(int memory_fd, uint64_t base, struct adsm_process_shared *shared)
{
	memory.fd = memory_fd;
	memory.base = base;
	memory.shared = shared;
}

void adsm_device_once_join(const struct adsm_device_once_node *joined, struct adsm_process_shared *shared)
{
	node = *joined;
	memory.shared = shared;
}

static int start(const struct adsm_process_request *request, int fd)
{
	void *p;
	int ret = adsm_os_map(NULL, request->size, fd, 0, ADSM_PROT_RW, &p);

	if (!ret) {
		table = p;
		device = (int)request->index;
		if (device < ADSM_ONCE_DEVICES)
			atomic_store(&adsm_pool_running, &table->running[device]);
		atomic_store(&adsm_task.wake_others, wake_workers);
	}
	return ret;
}

static int map(const struct adsm_process_request *request, int fd)
{
	struct piece *piece;
	void *p;
	int ret;

	/* Close freed memory now: later that would close the object. */
	adsm_guard_close();
	if (!node.restore)
		return adsm_os_map((void *)request->base, request->size, fd, request->extra, ADSM_PROT_RW, &p);
	piece = calloc(1, sizeof(*piece));
	ret = piece ? adsm_os_map(NULL, request->size, fd, request->extra, ADSM_PROT_RW, &piece->memory) : -ENOMEM;
	if (ret) {
		free(piece);
		return ret;
	}
	piece->address = request->base;
	piece->size = request->size;
	piece->next = pieces;
	pieces = piece;
	return 0;
}

/* Returns true if there were any, which means that the object is not mapped for kernels yet. */
static bool drop_pieces(uint64_t address, size_t size)
{
	bool found = false;

	for (struct piece **at = &pieces, *piece; (piece = *at);) {
		if (piece->address - address >= size) {
			at = &piece->next;
			continue;
		}
		*at = piece->next;
		adsm_os_unmap(piece->memory, piece->size);
		free(piece);
		found = true;
	}
	return found;
}

static int add_object(const struct adsm_process_request *request, int fd)
{
	struct once *once = calloc(1, sizeof(*once));
	void *p;
	int ret = once ? adsm_os_map(NULL, request->extra, fd, 0, ADSM_PROT_RW, &p) : -ENOMEM;

	if (ret) {
		free(once);
		return ret;
	}
	once->shared = p;
	once->shared_size = request->extra;
	once->kernel = (struct adsm_kernel_once){ (void *)request->base, request->unit, request->count, get_unit, fresh,
						  set_unit, room, empty };
	pthread_mutex_lock(&mutex);
	once->next = objects;
	objects = once;
	pthread_mutex_unlock(&mutex);
	return 0;
}

/* Remove the object, and map device memory there again. */
static int forget_object(const struct adsm_process_request *request)
{
	struct once **at = &objects, *once;
	void *p;

	pthread_mutex_lock(&mutex);
	while (*at && (uintptr_t)(*at)->kernel.data != request->base)
		at = &(*at)->next;
	once = *at;
	if (once)
		*at = once->next;
	pthread_mutex_unlock(&mutex);
	/* The application waited for the end of all launches that used it. This load orders the threads of this
	 * process, too. */
	if (memory.shared)
		atomic_load(&memory.shared->queue.done);
	if (once)
		adsm_os_unmap(once->shared, once->shared_size);
	free(once);
	if (node.restore)
		return drop_pieces(request->base, request->size) ? 0 : node.restore(request->base, request->size);
	return adsm_os_map((void *)request->base, request->size, memory.fd, request->base - memory.base,
			   adsm_guard_is_on() ? ADSM_PROT_NONE : ADSM_PROT_RW, &p);
}

int adsm_device_once_answer(const struct adsm_process_request *request, int fd)
{
	int ret = -EPROTO;

	const bool started = memory.fd >= 0 || node.restore;

	if (started && request->op == ADSM_PROCESS_ONCE_REMOVE)
		return forget_object(request);
	if (!started || fd < 0)
		return -EPROTO;
	if (request->op == ADSM_PROCESS_ONCE_TABLE)
		ret = start(request, fd);
	else if (request->op == ADSM_PROCESS_ONCE_MAP)
		ret = map(request, fd);
	else if (request->op == ADSM_PROCESS_ONCE_ADD)
		ret = add_object(request, fd);
	close(fd);
	return ret;
}

const struct adsm_kernel_once *adsm_device_once_find(uint64_t address)
{
	static const struct adsm_kernel_once none = { .get = get_unit, .fresh = fresh, .set = set_unit,
							.room = room, .empty = empty };
	struct once *once;

	pthread_mutex_lock(&mutex);
	for (once = objects; once && (uintptr_t)once->kernel.data != address; once = once->next)
		;
	pthread_mutex_unlock(&mutex);
	return once ? &once->kernel : &none;
}

struct adsm_once_shared *adsm_device_once_shared(const struct adsm_kernel_once *once)
{
	return ((const struct once *)once)->shared;
}

struct adsm_once_table *adsm_device_once_table(void)
{
	return table;
}

int adsm_device_once_number(void)
{
	return device;
}

int adsm_device_once_settle(void)
{
	for (struct piece *piece; (piece = pieces);) {
		int ret = adsm_os_duplicate(piece->memory, piece->size, (void *)piece->address);

		if (ret)
			return ret;
		drop_pieces(piece->address, piece->size);
	}
	pthread_mutex_lock(&mutex);
	for (struct once *once = objects; node.hooks && once; once = once->next)
		atomic_store(&once->shared->failed, 0);
	pthread_mutex_unlock(&mutex);
	return 0;
}
