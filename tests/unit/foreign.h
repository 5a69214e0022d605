/* SPDX-License-Identifier: MIT */
/*
 * foreign.h - a program that gives commands to its driver itself. The driver is made of the cpu backend: memory has the
 * requested address, the program's queues are lists of fills, and these run as late as possible: when a thread waits
 * for them.
 */
#ifndef TEST_FOREIGN_H
#define TEST_FOREIGN_H

#include <pthread.h>
#include <sys/mman.h>

#include "core.h"
#include "driver/driver.h"
#include "core/object.h"
#include "start/options.h"

#define JOBS 512
#define BLOCK ((size_t)64 << 10)
#define SIZE (4 * BLOCK)
#define NO_ACCESS 0u

/* ---- the driver */

struct job {			/* of one call: bytes of an object that its commands write */
	struct adsm_object *object;
	uint64_t generation;
	size_t offset, size;
	uint8_t value;
	int status;
};

static const struct adsm_backend *inner;
static struct adsm_backend driver;
static struct adsm_driver_ops shared;
static struct job jobs[ADSM_MAX_DEVICES][JOBS];
static _Atomic uint64_t n_jobs[ADSM_MAX_DEVICES], n_done[ADSM_MAX_DEVICES];
static pthread_mutex_t job_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic unsigned n_follows, n_frees, n_joins, n_joined;
static _Atomic bool join_fails;
static void *dictated;			/* the address of the next allocation */

static inline int index_of(const struct adsm_device *device)
{
	for (int i = 0; i < adsm_n_homes; i++)
		if (adsm_homes[i].device == device)
			return i;
	_exit(1);
}

/* All up to the @seq-th of a device. */
static inline void run_jobs(int device, uint64_t seq)
{
	pthread_mutex_lock(&job_mutex);
	while (n_done[device] < seq) {
		const struct job *job = &jobs[device][n_done[device] % JOBS];

		/* What is freed meanwhile is the program's fault, and must not be the library's. */
		if (job->object && job->object->live && job->object->generation == job->generation)
			inner->fill(job->object->memory, job->offset, job->value, job->size, NULL);
		n_done[device]++;
	}
	pthread_mutex_unlock(&job_mutex);
}

static inline int driver_query(struct adsm_device *device, struct adsm_device_event event, int *ret_status)
{
	int i = index_of(device);

	if (event.queue != ADSM_QUEUE_COMPUTE)
		return inner->event_query(device, event, ret_status);
	*ret_status = jobs[i][(event.seq - 1) % JOBS].status;
	return n_done[i] >= event.seq;
}

static inline int driver_wait(struct adsm_device *device, struct adsm_device_event event, int *ret_status)
{
	if (event.queue != ADSM_QUEUE_COMPUTE)
		return inner->event_wait(device, event, ret_status);
	run_jobs(index_of(device), event.seq);
	return driver_query(device, event, ret_status) == 1 ? 0 : -EIO;
}

static inline int driver_times(struct adsm_device *device, struct adsm_device_event event,
			       struct adsm_span *ret_span)
{
	return -EINVAL;
}

static inline int driver_native(struct adsm_device *device, struct adsm_native *ret_native)
{
	*ret_native = (struct adsm_native){ .context = &jobs[index_of(device)] };
	return 0;
}

static inline int driver_adopt(struct adsm_device *device, uint64_t address, size_t size, uint64_t wanted,
			       struct adsm_memory **ret_memory)
{
	int error = inner->alloc(device, size, wanted, ret_memory);

	if (!error)
		(*ret_memory)->address = address;
	return error;
}

/* Where the device's memory is in the backend; one that has no place in the arena takes the last bytes there. */
static inline int driver_alloc(struct adsm_device *device, size_t size, uint64_t wanted,
			       struct adsm_memory **ret_memory)
{
	return driver_adopt(device, (uintptr_t)dictated, size,
			    wanted ? wanted : adsm_arena.base + adsm_arena.size - size, ret_memory);
}

static void check_reserved(void *p, size_t size);

/* Before the driver has it back, what is over it is gone; but where another object was in the way, that stays. */
static inline void driver_free(struct adsm_memory *memory)
{
	if (!adsm_index_find(memory->address))
		check_reserved((void *)(uintptr_t)memory->address, memory->size);
	n_frees++;
	inner->free(memory);
}

static inline int driver_follow(struct adsm_device *device, void *queue)
{
	n_follows++;
	return 0;
}

static inline int driver_join(struct adsm_device *device, void *const *queues, size_t n,
			      struct adsm_device_event *ret_event)
{
	if (join_fails)
		return -EIO;
	n_joins++;
	n_joined = n;
	*ret_event = (struct adsm_device_event){ ADSM_QUEUE_COMPUTE, n_jobs[index_of(device)] };
	return 0;
}

/* ---- the program */

static struct adsm_home *home;

static inline void *reserve(size_t size)
{
	void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static inline void start(const char *protocol)
{
	CHECK(!adsmOption("protocol", protocol));
	CHECK(!adsmOption("block_size", "64K"));
	CHECK(!adsmOption("cpu_devices", "2"));
	CHECK(!adsmOption("cpu_memory", "discrete"));
	CHECK(!adsm_driver_active());
	CHECK(!adsmInit());
	CHECK(!adsm_driver_active());
	inner = adsm_homes[0].device->backend;
	driver = *inner;
	driver.driver = &shared;
	driver.alloc = driver_alloc;
	driver.free = driver_free;
	driver.event_query = driver_query;
	driver.event_wait = driver_wait;
	driver.event_times = driver_times;
	shared = *inner->driver;
	shared.memory_adopt = driver_adopt;
	shared.native = driver_native;
	shared.queue_follow = driver_follow;
	shared.queue_join = driver_join;
	for (int i = 0; i < 2; i++)
		adsm_homes[i].device->backend = &driver;
	home = &adsm_homes[0];
}

static inline bool batch(void)
{
	return !strcmp(adsm_protocol_options.protocol, "batch");
}

static inline void *adopt_on(struct adsm_home *on, size_t size)
{
	void *p = reserve(size);

	CHECK(!adsm_driver_adopt(on, (uintptr_t)p, size));
	return p;
}

static inline unsigned *adopt(size_t size)
{
	return adopt_on(home, size);
}

static inline void forget(void *p)
{
	CHECK(!adsm_driver_forget(p, true, NULL));
}

/* What a driver leaves where it keeps no accessible memory: neither free nor to be touched. */
static inline void check_reserved(void *p, size_t size)
{
	int ends[2];

	CHECK(mmap(p, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED);
	CHECK_EQ(errno, EEXIST);
	CHECK(!pipe(ends));
	for (size_t at = 0; at < size; at += PAGE)
		CHECK(write(ends[1], (char *)p + at, 1) < 0 && errno == EFAULT);
	close(ends[0]);
	close(ends[1]);
}

struct command {
	volatile void *p;
	size_t offset, size;
	uint8_t value;
	int status;
	int refuse;
	bool ran;
	unsigned first_word;		/* of the object's first word on the device, when it was enqueued */
};

/* Under the lock, as a launch would be: what the device has now is what the commands begin with. */
static inline int enqueue(void *arg)
{
	struct command *c = arg;
	struct adsm_object *object = c->p ? adsm_index_find((uintptr_t)c->p) : NULL;
	int i = object ? object->home->index : 0;

	c->ran = true;
	if (object)
		CHECK(!inner->to_host(&c->first_word, object->memory, 0, sizeof(c->first_word), NULL));
	if (c->refuse)
		return c->refuse;
	pthread_mutex_lock(&job_mutex);
	CHECK(n_jobs[i] - n_done[i] < JOBS);
	jobs[i][n_jobs[i] % JOBS] = (struct job){ object, object ? object->generation : 0, c->offset, c->size, c->value,
						  c->status };
	n_jobs[i]++;
	pthread_mutex_unlock(&job_mutex);
	return 0;
}

/* Commands that fill a range of an object; access NO_ACCESS: it is not named. */
static inline unsigned call(volatile void *p, unsigned access, size_t offset, size_t size, uint8_t value)
{
	const struct adsm_driver_use use = { (const void *)p, access };
	struct command c = { .p = p, .offset = offset, .size = size, .value = value };
	int result = -1;

	CHECK(!adsm_driver_call(object_of(p)->home, &use, access != NO_ACCESS, NULL, enqueue, &c, &result));
	CHECK(c.ran && !result);
	return c.first_word;
}

/* Wait as the program does: first the driver knows the end, then the library. */
static inline void sync_all(void)
{
	for (int i = 0; i < 2; i++) {
		run_jobs(i, n_jobs[i]);
		CHECK(!adsm_driver_sync(&adsm_homes[i]));
		CHECK(!adsm_wait_calls(&adsm_homes[i]));
	}
}

static inline unsigned word_of(uint8_t value)
{
	return value * 0x01010101u;
}

static unsigned char bytes[SIZE], back[SIZE];

/* What a wrapper does with an address. */
static inline int copy_found(void *dst, const void *src, size_t size)
{
	struct adsm_driver_place to, from;
	bool to_object = adsm_driver_find(dst, &to), from_object = adsm_driver_find(src, &from);

	return adsm_driver_copy(dst, to_object ? &to : NULL, src, from_object ? &from : NULL, size);
}

static inline int fill_found(void *dst, int value, size_t size)
{
	struct adsm_driver_place to;

	CHECK(adsm_driver_find(dst, &to));
	return adsm_driver_fill(dst, &to, value, size);
}

static inline void copy(volatile void *dst, const volatile void *src, size_t size)
{
	CHECK(!copy_found((void *)dst, (const void *)src, size));
}

#endif
