/* SPDX-License-Identifier: MIT */
/*
 * test_foreign.c - objects where a driver wants them, and commands that the program gives to its driver itself.
 *
 * The driver is made of the cpu backend: memory has the address it is told, queues of the program's are lists of fills,
 * and these run as late as they may: when somebody waits for them. With a second argument it is CUDA's.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "core.h"
#include "cuda/cu.h"
#include "driver/driver.h"
#include "run/io.h"
#include "core/object.h"
#include "start/options.h"
#include "cuda/options.h"

#define JOBS 512
#define BLOCK ((size_t)64 << 10)
#define SIZE (4 * BLOCK)
#define NO_ACCESS 0u

/* ---- the driver */

struct job {			/* of one call: bytes of an object that its commands write */
	struct adsm_object *object;
	uint64_t birth;
	size_t offset, size;
	uint8_t value;
	int status;
};

static const struct adsm_backend *inner;
static struct adsm_backend driver;
static struct job jobs[ADSM_MAX_DEVICES][JOBS];
static _Atomic uint64_t n_jobs[ADSM_MAX_DEVICES], n_done[ADSM_MAX_DEVICES];
static pthread_mutex_t job_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic unsigned n_follows, n_frees, n_joins, n_joined;
static _Atomic bool join_fails;
static void *dictated;			/* the address of the next allocation */

static int index_of(const struct adsm_device *device)
{
	for (int i = 0; i < adsm_n_homes; i++)
		if (adsm_homes[i].device == device)
			return i;
	_exit(1);
}

/* All up to the @seq-th of a device. */
static void run_jobs(int device, uint64_t seq)
{
	pthread_mutex_lock(&job_mutex);
	while (n_done[device] < seq) {
		const struct job *job = &jobs[device][n_done[device] % JOBS];

		/* What is freed meanwhile is the program's fault, and must not be the library's. */
		if (job->object && job->object->live && job->object->birth == job->birth)
			inner->fill(job->object->memory, job->offset, job->value, job->size, NULL);
		n_done[device]++;
	}
	pthread_mutex_unlock(&job_mutex);
}

static int driver_query(struct adsm_device *device, struct adsm_device_event event, int *ret_status)
{
	int i = index_of(device);

	if (event.queue != ADSM_QUEUE_COMPUTE)
		return inner->event_query(device, event, ret_status);
	*ret_status = jobs[i][(event.seq - 1) % JOBS].status;
	return n_done[i] >= event.seq;
}

static int driver_wait(struct adsm_device *device, struct adsm_device_event event, int *ret_status)
{
	if (event.queue != ADSM_QUEUE_COMPUTE)
		return inner->event_wait(device, event, ret_status);
	run_jobs(index_of(device), event.seq);
	return driver_query(device, event, ret_status) == 1 ? 0 : -EIO;
}

static int driver_elapsed(struct adsm_device *device, struct adsm_device_event event, uint64_t *ret_ns)
{
	return -EINVAL;
}

static int driver_native(struct adsm_device *device, struct adsm_native *ret_native)
{
	*ret_native = (struct adsm_native){ .context = &jobs[index_of(device)] };
	return 0;
}

static int driver_adopt(struct adsm_device *device, uint64_t address, size_t size, uint64_t wanted,
			struct adsm_memory **ret_memory)
{
	int error = inner->alloc(device, size, wanted, ret_memory);

	if (!error)
		(*ret_memory)->address = address;
	return error;
}

/* Where the device's memory is in the backend; one that has no place in the arena takes the last bytes there. */
static int driver_alloc(struct adsm_device *device, size_t size, uint64_t wanted, struct adsm_memory **ret_memory)
{
	return driver_adopt(device, (uintptr_t)dictated, size,
			    wanted ? wanted : adsm_arena.base + adsm_arena.size - size, ret_memory);
}

static void check_reserved(void *p, size_t size);

/* Before the driver has it back, what is over it is gone; but where another object was in the way, that stays. */
static void driver_free(struct adsm_memory *memory)
{
	if (!adsm_index_find(memory->address))
		check_reserved((void *)(uintptr_t)memory->address, memory->size);
	n_frees++;
	inner->free(memory);
}

static int driver_follow(struct adsm_device *device, void *queue)
{
	n_follows++;
	return 0;
}

static int driver_join(struct adsm_device *device, void *const *queues, size_t n, struct adsm_device_event *ret_event)
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

static void *reserve(size_t size)
{
	void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void start(const char *protocol)
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
	driver.alloc = driver_alloc;
	driver.free = driver_free;
	driver.memory_adopt = driver_adopt;
	driver.event_query = driver_query;
	driver.event_wait = driver_wait;
	driver.event_elapsed = driver_elapsed;
	driver.native = driver_native;
	driver.queue_follow = driver_follow;
	driver.queue_join = driver_join;
	for (int i = 0; i < 2; i++)
		adsm_homes[i].device->backend = &driver;
	home = &adsm_homes[0];
}

static bool batch(void)
{
	return !strcmp(adsm_protocol_options.protocol, "batch");
}

static void *adopt_on(struct adsm_home *on, size_t size)
{
	void *p = reserve(size);

	CHECK(!adsm_driver_adopt(on, (uintptr_t)p, size));
	return p;
}

static unsigned *adopt(size_t size)
{
	return adopt_on(home, size);
}

static void forget(void *p)
{
	CHECK(!adsm_driver_forget(p, true, NULL));
}

/* What a driver leaves where it keeps no accessible memory: neither free nor to be touched. */
static void check_reserved(void *p, size_t size)
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
	unsigned seen;			/* of the object's first word on the device, when it was enqueued */
};

/* Under the lock, as a launch would be: what the device has now is what the commands begin with. */
static int enqueue(void *arg)
{
	struct command *c = arg;
	struct adsm_object *object = c->p ? adsm_index_find((uintptr_t)c->p) : NULL;
	int i = object ? object->home->index : 0;

	c->ran = true;
	if (object)
		CHECK(!inner->to_host(&c->seen, object->memory, 0, sizeof(c->seen), NULL));
	if (c->refuse)
		return c->refuse;
	pthread_mutex_lock(&job_mutex);
	CHECK(n_jobs[i] - n_done[i] < JOBS);
	jobs[i][n_jobs[i] % JOBS] = (struct job){ object, object ? object->birth : 0, c->offset, c->size, c->value,
						  c->status };
	n_jobs[i]++;
	pthread_mutex_unlock(&job_mutex);
	return 0;
}

/* Commands that fill a range of an object; access NO_ACCESS: it is not named. */
static unsigned call(volatile void *p, unsigned access, size_t offset, size_t size, uint8_t value)
{
	const struct adsm_driver_use use = { (const void *)p, access };
	struct command c = { .p = p, .offset = offset, .size = size, .value = value };
	int result = -1;

	CHECK(!adsm_driver_call(object_of(p)->home, &use, access != NO_ACCESS, NULL, enqueue, &c, &result));
	CHECK(c.ran && !result);
	return c.seen;
}

/* Wait as the program does: the driver knows, then the library is told; and for the library to know all of it. */
static void sync_all(void)
{
	for (int i = 0; i < 2; i++) {
		run_jobs(i, n_jobs[i]);
		CHECK(!adsm_driver_sync(&adsm_homes[i]));
		CHECK(!adsm_wait_call(&adsm_homes[i], adsm_homes[i].last_seq));
	}
}

static unsigned word_of(uint8_t value)
{
	return value * 0x01010101u;
}

/* ---- the cases */

static void check_object(void)
{
	volatile unsigned *p = adopt(SIZE - 100);
	adsmObjectProps props = { .struct_size = sizeof(props) };
	struct adsm_driver_place place;
	unsigned on_stack;

	CHECK(adsm_driver_active());
	CHECK(!adsmObjectInfo((void *)p, &props));
	CHECK(props.address == p && props.device_address == (uintptr_t)p && props.size == SIZE - 100);
	CHECK(adsm_driver_find((char *)p + 5, &place));
	CHECK(place.home == home && place.start == (uintptr_t)p && place.offset == 5 && place.size == SIZE - 100 &&
	      !place.device_only);
	CHECK(adsm_driver_find((char *)p + SIZE - 101, &place));
	CHECK(!adsm_driver_find((char *)p + SIZE - 100, &place));
	CHECK(!adsm_driver_find(&on_stack, &place));
	/* Ordinary memory beside it, inside the range and outside, is not taken for shared. */
	CHECK(adsm_may_be_shared((void *)p, 1) && adsm_may_be_shared((char *)p - 1, 2));
	CHECK(!adsm_may_be_shared((char *)p - 1, 1) && !adsm_may_be_shared((char *)p + SIZE, 1));
	CHECK(!adsm_may_be_shared(&on_stack, sizeof(on_stack)));
	CHECK_EQ(adsm_index_next((uintptr_t)p - 3 * PAGE, SIZE), (uintptr_t)p);
	CHECK_EQ(adsm_index_next((uintptr_t)p - 3 * PAGE, 3 * PAGE), (uintptr_t)p);
	CHECK_EQ(adsm_index_next((uintptr_t)p + 5, 1), (uintptr_t)p + 5);
	CHECK_EQ(adsm_index_next((uintptr_t)p + SIZE, 10), (uintptr_t)p + SIZE + 10);

	CHECK_EQ(adsm_driver_adopt(home, (uintptr_t)p, SIZE), -EEXIST);
	CHECK_EQ(adsm_driver_adopt(home, (uintptr_t)p + SIZE - PAGE, SIZE), -EEXIST);
	CHECK_EQ(adsm_driver_adopt(home, (uintptr_t)p + 512, SIZE), -EINVAL);
	CHECK_EQ(adsmFree((void *)p), -EINVAL);
	CHECK_EQ(adsm_driver_forget((char *)p + PAGE, true, NULL), -EINVAL);
	CHECK(!adsmHold((void *)p, 1, ADSM_ACCESS_IN));
	CHECK_EQ(adsm_driver_forget((void *)p, true, NULL), -EBUSY);
	CHECK(!adsmUnhold((void *)p, 1));
	CHECK_EQ(adsmShutdown(), -EBUSY);
	for (unsigned i = 0; i < 5; i++) {
		p[0] = p[SIZE / 4 - 100] = i + 1;
		CHECK_EQ(call(p, ADSM_ACCESS_INOUT, 0, 4, 7), i + 1);
		forget((void *)p);
		check_reserved((void *)p, SIZE);
		CHECK(!adsm_driver_find((void *)p, &place));
		CHECK_EQ(adsm_driver_forget((void *)p, true, NULL), -EINVAL);
		/* The bytes of the file were given back with it. */
		CHECK(!adsm_driver_adopt(home, (uintptr_t)p, SIZE - 100));
		CHECK(p[SIZE / 4 - 100] != i + 1);
	}
	forget((void *)p);
	CHECK_EQ(n_frees, 6);	/* what was refused came not so far */
	CHECK(!adsm_driver_active());
}

/* In the child of a fork nothing is there, and nothing else comes there. */
static void check_child(void)
{
	volatile unsigned *p = adopt(SIZE);
	pid_t child;
	int status;

	p[0] = 1;
	for (int touch = 0; touch < 2; touch++) {
		child = fork();
		CHECK(child >= 0);
		if (!child) {
			check_reserved((void *)p, SIZE);
			if (touch)
				p[0] = 2;
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child && !status == !touch);
	}
	CHECK_EQ(p[0], 1);
	forget((void *)p);
}

static void check_calls(void)
{
	volatile unsigned *p = adopt(SIZE), *q = adopt(SIZE), *r = adopt(PAGE);
	struct command c = { .p = p, .size = 4 };
	const struct adsm_driver_use both[] = { { (char *)p + 9, ADSM_ACCESS_IN }, { (char *)q, ADSM_ACCESS_OUT },
						 { &c, ADSM_ACCESS_INOUT } };
	int result = 0;

	n_follows = 0;
	/* What the CPU wrote is there before, and what the device writes is waited for. */
	p[0] = 1;
	q[0] = 2;
	CHECK_EQ(call(p, ADSM_ACCESS_INOUT, 0, SIZE, 3), 1);
	if (batch())
		sync_all();
	CHECK_EQ(p[0], word_of(3));
	CHECK_EQ(p[SIZE / 4 - 1], word_of(3));
	CHECK_EQ(device_word(p), word_of(3));
	/* One that is not named was not touched, until an unnamed call comes. */
	CHECK_EQ(q[0], 2);
	CHECK(device_word(q) != 2);
	p[1] = 4;
	CHECK_EQ(call(q, NO_ACCESS, 4, 4, 5), 2);
	CHECK_EQ(device_word(&p[1]), 4);
	if (batch())
		sync_all();
	CHECK_EQ(q[1], word_of(5));
	CHECK_EQ(q[0], 2);
	CHECK_EQ(n_follows, 2);

	/* Named objects by what is done to them; others are passed over. */
	p[0] = 6;
	r[0] = 8;
	c.p = q;
	c.value = 9;
	CHECK(!adsm_driver_call(home, both, 3, NULL, enqueue, &c, &result));
	CHECK_EQ(device_word(p), 6);
	CHECK_EQ(n_jobs[0] - n_done[0], 1);
	CHECK_EQ(p[0], 6);
	CHECK_EQ(n_jobs[0] - n_done[0], 1);
	if (batch())
		sync_all();
	CHECK_EQ(q[0], word_of(9));
	CHECK_EQ(n_jobs[0], n_done[0]);

	/* The driver refuses: nothing has happened. */
	p[0] = 10;
	c = (struct command){ .p = p, .refuse = 77 };
	CHECK(!adsm_driver_call(home, both, 1, NULL, enqueue, &c, &result));
	CHECK_EQ(result, 77);
	CHECK_EQ(home->last_seq, n_jobs[0]);
	CHECK_EQ(p[0], 10);
	/* It is running, but when it ends nobody knows: the program waits, then the bytes are there. */
	join_fails = true;
	c = (struct command){ .p = p, .size = 4, .value = 11 };
	CHECK_EQ(adsm_driver_call(home, (struct adsm_driver_use[]){ { (void *)p, ADSM_ACCESS_INOUT } }, 1, NULL,
				  enqueue, &c, &result), -EIO);
	join_fails = false;
	CHECK(c.ran && c.seen == 10);
	n_done[0] = n_jobs[0] - 1;
	sync_all();
	CHECK_EQ(p[0], word_of(11));
	forget((void *)p);
	forget((void *)q);
	forget((void *)r);
}

/* The oldest is waited for when there are too many; failures are nobody's here. */
static void check_many(void)
{
	volatile unsigned *p = adopt(PAGE);
	unsigned max = home->device->caps.max_pending < ADSM_PENDING_MAX ?
		home->device->caps.max_pending : ADSM_PENDING_MAX;
	const struct adsm_driver_use use = { (void *)p, ADSM_ACCESS_IN };

	run_jobs(0, n_jobs[0]);
	for (unsigned i = 0; i < 2 * max; i++) {
		struct command c = { .p = p, .size = 4, .value = (uint8_t)i, .status = i % 2 ? -EIO : 0 };
		int result;

		CHECK(!adsm_driver_call(home, &use, 1, NULL, enqueue, &c, &result));
		CHECK(n_jobs[0] - n_done[0] <= max);
	}
	CHECK_EQ(n_jobs[0] - n_done[0], max);
	sync_all();
	CHECK_EQ(adsmSync(), 0);
	CHECK_EQ(home->last_seq, home->completed);
	forget((void *)p);
}

/* One that may use any object. */
static void launch(volatile void *p, void *queue, uint8_t value)
{
	struct command c = { .p = p, .size = 4, .value = value };
	int result = -1;

	CHECK(!adsm_driver_launch(object_of(p)->home, queue, enqueue, &c, &result));
	CHECK(c.ran && !result);
}

/* Launches are one call, and nobody asks for its end before somebody waits for it; with batch each is one. */
static void check_gather(void)
{
	volatile unsigned *p = adopt(PAGE), *q;
	struct command bad = { .refuse = 7 };
	unsigned joins;
	uint64_t seq;
	int result;

	p[0] = 1;
	sync_all();
	joins = n_joins;
	seq = home->last_seq;
	for (uint8_t i = 1; i <= 200; i++)
		launch(p, i % 3 ? &jobs[i % 3] : NULL, i);
	if (batch()) {
		CHECK_EQ(n_joins - joins, 200);
		sync_all();
		forget((void *)p);
		return;
	}
	CHECK(!adsm_driver_launch(home, &bad, enqueue, &bad, &result) && result == 7);
	CHECK_EQ(home->last_seq, seq + 1);
	CHECK_EQ(n_joins, joins);
	CHECK_EQ(p[0], word_of(200));
	CHECK(n_joins == joins + 1 && n_joined == 3);

	/* What names its objects does not end it, but comes after it. */
	launch(p, NULL, 2);
	call(p, ADSM_ACCESS_INOUT, 1, 1, 3);
	launch(p, NULL, 4);
	CHECK_EQ(n_joins, joins + 2);
	CHECK_EQ(p[0], word_of(4));
	CHECK(n_joins == joins + 3 && n_joined == 1);
	/* An object that is made meanwhile does: launches before cannot use it. */
	launch(p, NULL, 5);
	q = adopt(PAGE);
	q[0] = 1;
	CHECK_EQ(n_jobs[0] - n_done[0], 1);
	launch(q, NULL, 6);
	CHECK_EQ(n_joins, joins + 4);
	CHECK_EQ(q[0], word_of(6));
	/* And so does who asks for that, once. */
	launch(q, &jobs[1], 7);
	launch(q, NULL, 7);
	joins = n_joins;
	adsm_driver_launched_on(&jobs[2]);
	adsm_driver_launched(&adsm_homes[1]);
	CHECK_EQ(n_joins, joins);
	adsm_driver_launched_on(&jobs[1]);
	adsm_driver_launched(NULL);
	CHECK(n_joins == joins + 1 && n_joined == 2);
	CHECK_EQ(n_jobs[0] - n_done[0], 2);
	/* Where that fails, a touch waits until it does not. */
	launch(q, NULL, 8);
	join_fails = true;
	CHECK_EQ(adsm_wait_call(home, home->last_seq), -EIO);
	join_fails = false;
	CHECK_EQ(q[0], word_of(8));
	forget((void *)p);
	forget((void *)q);
}

/* Freed in the order of the program's commands: nobody waits, and what ends later finds nothing of it. */
static void check_forget(void)
{
	volatile unsigned *p = adopt(SIZE), *q;
	uint64_t done;

	p[0] = 1;
	call(p, ADSM_ACCESS_INOUT, 0, 4, 2);
	done = n_done[0];
	CHECK(!adsm_driver_forget((void *)p, false, NULL));
	CHECK_EQ(n_done[0], done);
	check_reserved((void *)p, SIZE);
	q = adopt(SIZE);
	q[0] = 3;
	sync_all();
	CHECK_EQ(home->last_seq, home->completed);
	CHECK_EQ(q[0], 3);
	/* And the other way. */
	call(q, ADSM_ACCESS_INOUT, 0, 4, 2);
	CHECK_EQ(n_jobs[0] - n_done[0], 1);
	forget((void *)q);
	CHECK_EQ(n_jobs[0], n_done[0]);
}

/* Bytes moved each way since the last time. */
static void moved(uint64_t to_device, uint64_t to_host, int line)
{
	adsmStats stats;

	CHECK(!adsmStatsGet(&stats, sizeof(stats)));
	CHECK(!adsmStatsReset());
	if (stats.h2d_bytes == to_device && stats.d2h_bytes == to_host)
		return;
	fprintf(stderr, "line %d: %lu bytes sent, %lu fetched; not %lu, %lu\n", line, (unsigned long)stats.h2d_bytes,
		(unsigned long)stats.d2h_bytes, (unsigned long)to_device, (unsigned long)to_host);
	_exit(1);
}

#define MOVED(to_device, to_host) moved(to_device, to_host, __LINE__)

static unsigned char bytes[SIZE], back[SIZE];

/* What a wrapper does with an address. */
static int copy_found(void *dst, const void *src, size_t size)
{
	struct adsm_driver_place to, from;
	bool to_object = adsm_driver_find(dst, &to), from_object = adsm_driver_find(src, &from);

	return adsm_driver_copy(dst, to_object ? &to : NULL, src, from_object ? &from : NULL, size);
}

static int fill_found(void *dst, int value, size_t size)
{
	struct adsm_driver_place to;

	CHECK(adsm_driver_find(dst, &to));
	return adsm_driver_fill(dst, &to, value, size);
}

static void copy(volatile void *dst, const volatile void *src, size_t size)
{
	CHECK(!copy_found((void *)dst, (const void *)src, size));
}

static void check_back(size_t at, size_t size, int value)
{
	for (size_t i = at; i < at + size; i++)
		CHECK_AT(back[i], i, value);
}

static void check_copies(void)
{
	volatile unsigned char *p = (unsigned char *)adopt(SIZE), *q = (unsigned char *)adopt(SIZE);
	bool rolling = !strcmp(adsm_protocol_options.protocol, "rolling");

	/* To the device at once, and no more than that. */
	memset(bytes, 1, SIZE);
	CHECK(!adsmStatsReset());
	copy(p, bytes, SIZE);
	MOVED(SIZE, 0);
	copy(p + 5, bytes, 10);
	CHECK(!fill_found((void *)(p + BLOCK), 2, 100));
	MOVED(10, 0);
	call(p, ADSM_ACCESS_INOUT, 3, 4, 3);
	MOVED(0, 0);
	/* A few bytes cost a few bytes, after the call that writes them, each time. */
	for (int i = 0; i < 2; i++) {
		copy(back, p + 4, 8);
		CHECK_EQ(n_jobs[0], n_done[0]);
		check_back(0, 3, 3);
		check_back(3, 5, 1);
		MOVED(0, 8);
	}
	/* So does all of it, past the CPU's side, which has no pages yet. */
	for (int i = 0; i < 2; i++) {
		memset(back, 0, SIZE);
		copy(back, p, SIZE);
		MOVED(0, SIZE);
		check_back(0, 3, 1);
		check_back(3, 4, 3);
		check_back(BLOCK, 100, 2);
		check_back(BLOCK + 100, BLOCK - 100, 1);
		CHECK_EQ(object_of(p)->blocks.n_in[ADSM_INVALID], object_of(p)->blocks.n);
	}
	/* What the CPU has used is fetched once. */
	call(p, ADSM_ACCESS_INOUT, 3, 4, 3);
	CHECK_EQ(p[SIZE - 1], 1);
	MOVED(0, rolling ? BLOCK : SIZE);
	copy(back, p + SIZE - BLOCK, BLOCK);
	MOVED(0, 0);
	/* Blocks, and parts of blocks beside them. */
	call(p, ADSM_ACCESS_INOUT, SIZE - 1, 1, 4);
	MOVED(0, 0);
	copy(back, p + BLOCK - 10, SIZE - BLOCK + 10);
	CHECK_EQ(back[SIZE - BLOCK + 9], 4);
	MOVED(0, SIZE - BLOCK + 10);
	copy(back, p + BLOCK - 10, SIZE - BLOCK + 10);
	MOVED(0, rolling ? 2 * BLOCK + 10 : SIZE - BLOCK + 10);

	/* What the CPU wrote stays with it until a call, and is copied from there. */
	call(p, ADSM_ACCESS_INOUT, 0, 1, 5);
	p[1] = 6;
	MOVED(0, rolling ? BLOCK : SIZE);
	copy(p + 2, bytes, 3);
	copy(back, p, 6);
	MOVED(0, 0);
	CHECK_EQ(back[0], 5);
	CHECK_EQ(back[1], 6);
	check_back(2, 3, 1);
	CHECK_EQ(back[5], 3);
	/* But blocks that are overwritten go to the device. */
	copy(p, bytes, SIZE);
	MOVED(SIZE, 0);
	copy(back, p, 6);
	check_back(0, 6, 1);
	MOVED(0, 6);

	/* From one to the other on the device; not where the CPU has the bytes. */
	copy(q, p, SIZE);
	copy(q + 7, p + 1, 3);
	CHECK(!fill_found((void *)(q + 9), 8, 2));
	MOVED(0, 0);
	copy(back, q + 6, 8);
	check_back(0, 3, 1);
	check_back(3, 2, 8);
	check_back(5, 3, 1);
	MOVED(0, 8);
	p[0] = 9;
	MOVED(0, rolling ? BLOCK : SIZE);
	copy(q + SIZE - 1, p, 1);
	CHECK_EQ(q[SIZE - 1], 9);
	forget((void *)p);
	forget((void *)q);
}

/* Where accesses are not seen, copies are the CPU's, and the program's waits fetch all. */
static void check_batch_copies(void)
{
	volatile unsigned char *p = (unsigned char *)adopt(SIZE);

	memset(bytes, 1, SIZE);
	CHECK(!adsmStatsReset());
	copy(p, bytes, SIZE);
	copy(back, p, SIZE);
	check_back(0, SIZE, 1);
	MOVED(0, 0);
	call(p, ADSM_ACCESS_INOUT, 0, 4, 2);
	MOVED(SIZE, 0);
	copy(back, p + 2, 4);
	check_back(0, 2, 2);
	check_back(2, 2, 1);
	MOVED(0, 4);
	sync_all();
	MOVED(0, SIZE);
	CHECK_EQ(p[3], 2);
	forget((void *)p);
}

static void check_two_homes(void)
{
	volatile unsigned char *p = (unsigned char *)adopt(SIZE), *q = adopt_on(&adsm_homes[1], SIZE);
	const struct adsm_driver_use uses[] = { { (void *)p, ADSM_ACCESS_INOUT }, { (void *)q, ADSM_ACCESS_INOUT } };
	struct command c = { .p = p, .size = 4, .value = 1 };
	struct adsm_driver_place place;
	struct adsm_home *found;
	int result;

	CHECK(adsm_driver_find((void *)q, &place) && place.home == &adsm_homes[1]);
	for (int i = 0; i < 2; i++) {
		CHECK(adsm_driver_home_of(&jobs[i]) == &adsm_homes[i]);
		CHECK(!adsm_driver_home("cpu", &jobs[i], NULL, &found) && found == &adsm_homes[i]);
	}
	CHECK(!adsm_driver_home_of(&c));
	/* Nobody's context: the backend has none, and says so. */
	CHECK(adsm_driver_home("cpu", &c, NULL, &found) < 0);
	CHECK(adsm_driver_home("none", &c, NULL, &found) == -ENOTSUP);
	/* The other home's objects are not part of the call. */
	p[0] = 1;
	q[0] = 2;
	CHECK(!adsm_driver_call(home, uses, 2, NULL, enqueue, &c, &result));
	CHECK_EQ(adsm_homes[1].last_seq, 0);
	CHECK_EQ(q[0], 2);
	memset(bytes, 3, SIZE);
	copy(p, bytes, SIZE);
	call(q, ADSM_ACCESS_INOUT, 0, SIZE, 4);
	/* Fourteen bytes from one device to another: these are fetched, and go there at the next call. */
	copy(p + 10, q + 4, 14);
	copy(back, p + 9, 16);
	CHECK_EQ(back[0], 3);
	check_back(1, 14, 4);
	CHECK_EQ(back[15], 3);
	copy(p, q, SIZE);
	copy(back, p, SIZE);
	check_back(0, SIZE, 4);
	call(p, ADSM_ACCESS_INOUT, 1, 1, 5);
	run_jobs(0, n_jobs[0]);
	CHECK_EQ(device_word((unsigned *)p), 0x04040504);
	forget((void *)p);
	forget((void *)q);
}

/* The same for what the library allocates. */
static void check_dictated(void)
{
	volatile unsigned *p, *d[2];
	struct adsm_driver_place place;

	for (int i = 0; i < 2; i++)
		adsm_homes[i].device->caps.dictates_address = true;
	dictated = reserve(SIZE);
	p = adsmAlloc(SIZE);
	CHECK(p == dictated);
	CHECK(adsmAlloc(SIZE) == NULL && errno == EEXIST);
	p[0] = 1;
	CHECK_EQ(call(p, ADSM_ACCESS_INOUT, 0, 4, 2), 1);
	if (batch())
		sync_all();
	CHECK_EQ(p[0], word_of(2));
	CHECK_EQ(adsm_driver_forget((void *)p, true, NULL), -EINVAL);
	for (int i = 0; i < 2; i++) {
		CHECK(!adsmDeviceSet(i));
		dictated = reserve(SIZE);
		d[i] = adsmDeviceAlloc(SIZE);
		CHECK(d[i] == dictated);
		CHECK(adsm_driver_find((void *)d[i], &place) && place.device_only);
		check_reserved((void *)d[i], SIZE);
	}
	CHECK(!adsmDeviceSet(0));
	/* Its parts are copied like any other. */
	p[1] = 3;
	copy(d[0], p, SIZE);
	copy(d[0] + 2, d[0], 8);
	CHECK(!fill_found((void *)(d[0] + 4), 5, 4));
	copy(d[1], d[0], SIZE);
	copy(back, d[1], 20);
	CHECK(!memcmp(back, (unsigned[]){ word_of(2), 3, word_of(2), 3, word_of(5) }, 20));
	copy(p, d[1] + 1, 12);
	CHECK_EQ(p[2], 3);
	CHECK_EQ(p[1], word_of(2));
	CHECK(copy_found((void *)d[0], back, SIZE + 1) == -EINVAL);
	CHECK(!adsmDeviceFree((void *)d[0]));
	CHECK(!adsmDeviceFree((void *)d[1]));
	CHECK(!adsmFree((void *)p));
	check_reserved((void *)p, SIZE);
}

/* ---- on CUDA */

#define CONTEXTS 2

struct set {			/* a command */
	CUdeviceptr p;
	size_t size;
	uint8_t value;
	CUstream stream;
};

static int enqueue_set(void *arg)
{
	const struct set *set = arg;

	return adsm_cu.cuMemsetD8Async(set->p, set->value, set->size, set->stream);
}

/* A program with a context, on one home. */
static void check_context(struct adsm_home *on, CUstream stream)
{
	volatile unsigned char *p, *last = NULL;
	struct adsm_driver_use use = { .access = ADSM_ACCESS_INOUT };
	int result;

	for (unsigned round = 0; round < 3; round++) {
		struct set set = { .size = 100, .stream = stream };

		CHECK(!adsm_cu.cuMemAlloc_v2(&set.p, SIZE));
		p = (unsigned char *)(uintptr_t)set.p;
		CHECK(!last || p == last);
		last = p;
		CHECK(!adsm_driver_adopt(on, set.p, SIZE));
		memset(bytes, 1, SIZE);
		copy(p, bytes, SIZE);
		p[0] = 2;
		p[SIZE - 1] = 3;
		use.p = (void *)(p + 1);
		for (unsigned i = 0; i < 20; i++) {
			set.p = (uintptr_t)p + 1 + i;
			set.value = (uint8_t)(10 + i);
			CHECK(!adsm_driver_call(on, &use, i % 2, stream, enqueue_set, &set, &result));
			CHECK(!result);
			if (batch()) {
				CHECK(!adsm_cu.cuStreamSynchronize(stream));
				CHECK(!adsm_driver_sync(on));
			}
			CHECK_EQ(p[1 + i], 10 + i);
			CHECK_EQ(p[100 + i], 10 + i);
			p[200] = (unsigned char)i;
		}
		copy(back, p, SIZE);
		CHECK_EQ(back[0], 2);
		for (unsigned i = 0; i < 20; i++)
			CHECK_EQ(back[1 + i], 10 + i);
		CHECK_EQ(back[120], 1);
		CHECK_EQ(back[200], 19);
		CHECK_EQ(back[SIZE - 1], 3);
		CHECK(!adsm_driver_call(on, &use, 1, stream, enqueue_set, &set, &result));
		CHECK(!adsm_driver_forget((void *)p, round % 2, NULL));
		check_reserved((void *)p, SIZE);
		CHECK(!adsm_cu.cuStreamSynchronize(stream));
		CHECK(!adsm_cu.cuMemFree_v2((uintptr_t)p));
	}
}

/* ---- many threads */

#define THREADS 4
#define ROUNDS 40

struct worker {
	pthread_t thread;
	unsigned number;
	struct adsm_home *home;
	volatile unsigned char *common;	/* a block of it for each; NULL: accesses are not seen */
	CUcontext context;		/* NULL: not on CUDA */
	CUstream stream;
};

/* Fill bytes, and wait where the CPU's accesses do not. */
static void command(const struct worker *w, volatile unsigned char *p, size_t size, uint8_t value, bool named)
{
	const struct adsm_driver_use use = { (void *)p, ADSM_ACCESS_INOUT };
	struct set set = { (uintptr_t)p, size, value, w->stream };
	struct command c = { .p = p, .offset = (uintptr_t)p - object_of(p)->start, .size = size, .value = value };
	int i = w->home->index, result = -1;

	if (named)
		CHECK(!adsm_driver_call(w->home, &use, 1, w->stream, w->context ? enqueue_set : enqueue,
					w->context ? (void *)&set : &c, &result));
	else
		CHECK(!adsm_driver_launch(w->home, w->stream, w->context ? enqueue_set : enqueue,
					  w->context ? (void *)&set : &c, &result));
	CHECK(!result);
	if (!batch())
		return;
	if (w->context)
		CHECK(!adsm_cu.cuStreamSynchronize(w->stream));
	else
		run_jobs(i, n_jobs[i]);
	CHECK(!adsm_driver_sync(w->home));
}

static unsigned char *worker_adopt(const struct worker *w)
{
	CUdeviceptr p;

	if (!w->context)
		return adopt_on(w->home, SIZE);
	CHECK(!adsm_cu.cuMemAlloc_v2(&p, SIZE));
	CHECK(!adsm_driver_adopt(w->home, p, SIZE));
	return (unsigned char *)(uintptr_t)p;
}

static void worker_forget(const struct worker *w, volatile unsigned char *p)
{
	forget((void *)p);
	if (w->context)
		CHECK(!adsm_cu.cuMemFree_v2((uintptr_t)p));
}

/* Launches, touches and copies of one thread's objects, and of its block of one that it shares. */
static void work_round(const struct worker *w, volatile unsigned char *p, volatile unsigned char *q, unsigned round)
{
	volatile unsigned char *block = w->common ? w->common + w->number * BLOCK : NULL;
	uint8_t v = (uint8_t)(w->number * ROUNDS + round + 1);
	unsigned char here[SIZE];

	p[3] = p[SIZE - 1] = v;
	command(w, p + 100, BLOCK, v, batch() || round % 3);
	CHECK_EQ(p[100], v);
	CHECK_EQ(p[3], v);
	memset(here, v + 1, SIZE);
	copy(p + BLOCK, here, BLOCK + 7);
	copy(q, p, SIZE);
	CHECK(!fill_found((void *)(q + 50), v + 2, 60));
	if (block) {
		block[0] = v;
		command(w, block + 1, 10, v, round % 2);
	}
	copy(here, q, SIZE);
	CHECK_EQ(here[3], v);
	CHECK_EQ(here[50], (uint8_t)(v + 2));
	CHECK_EQ(here[110], v);
	CHECK_EQ(here[BLOCK], (uint8_t)(v + 1));
	CHECK_EQ(here[2 * BLOCK + 6], (uint8_t)(v + 1));
	CHECK_EQ(here[SIZE - 1], v);
	CHECK_EQ(p[110], v);
	CHECK_EQ(q[109], (uint8_t)(v + 2));
	if (block) {
		CHECK_EQ(block[0], v);
		copy(here, block, 11);
		CHECK_EQ(here[0], v);
		CHECK_EQ(here[10], v);
	}
}

static void *work(void *arg)
{
	const struct worker *w = arg;
	unsigned char *p = NULL, *q = NULL;

	if (w->context)
		CHECK(!adsm_cu.cuCtxPushCurrent_v2(w->context));
	for (unsigned round = 0; round < ROUNDS; round++) {
		if (round % 8 == 0) {
			if (round) {
				worker_forget(w, p);
				worker_forget(w, q);
			}
			p = worker_adopt(w);
			q = worker_adopt(w);
		}
		work_round(w, p, q, round);
	}
	worker_forget(w, p);
	worker_forget(w, q);
	return NULL;
}

/* All on one home, then on two. @contexts: NULL or theirs. */
static void check_threads(struct adsm_home *const homes[2], const CUcontext *contexts)
{
	struct worker workers[THREADS];

	for (unsigned n_homes = 1; n_homes <= 2; n_homes++) {
		for (unsigned i = 0; i < THREADS; i++) {
			struct worker *w = &workers[i];

			*w = (struct worker){ .number = i, .home = homes[i % n_homes],
					      .context = contexts ? contexts[i % n_homes] : NULL };
			if (w->context) {
				CHECK(!adsm_cu.cuCtxPushCurrent_v2(w->context));
				CHECK(!adsm_cu.cuStreamCreate(&w->stream, i % 2 ? CU_STREAM_NON_BLOCKING : 0));
			}
			if (!batch())
				w->common = i < n_homes ? worker_adopt(w) : workers[i - n_homes].common;
		}
		for (unsigned i = 0; i < THREADS; i++)
			CHECK(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
		for (unsigned i = 0; i < THREADS; i++)
			CHECK(!pthread_join(workers[i].thread, NULL));
		for (unsigned i = 0; i < n_homes && !batch(); i++)
			worker_forget(&workers[i], workers[i].common);
	}
}

/* @started: the library by itself, before the program comes with its contexts. */
static void check_cuda(const char *protocol, bool started)
{
	CUresult (*create)(CUcontext *context, unsigned flags, CUdevice device);
	CUresult (*destroy)(CUcontext context);
	struct adsm_home *homes[CONTEXTS];
	CUcontext context[CONTEXTS], primary;
	void *library;
	CUstream stream;

	CHECK(!adsmOption("protocol", protocol));
	CHECK(!adsmOption("block_size", "64K"));
	CHECK(!adsm_options_load());
	library = dlopen(adsm_cuda_options.library, RTLD_NOW);
	CHECK(library);
	*(void **)&create = dlsym(library, "cuCtxCreate_v2");
	*(void **)&destroy = dlsym(library, "cuCtxDestroy_v2");
	CHECK(!adsm_cu_open());
	CHECK(!adsm_cu.cuDevicePrimaryCtxRetain(&primary, 0));
	if (started)
		CHECK(!adsmInit());
	for (int i = 0; i < CONTEXTS; i++) {
		CHECK(!create(&context[i], 0, 0));
		CHECK(!adsm_driver_home_of(context[i]));
		CHECK(!adsm_driver_home("cuda", context[i], NULL, &homes[i]));
		CHECK_EQ(adsm_n_homes, i + 1 + started);
		CHECK(adsm_driver_home_of(context[i]) == homes[i]);
		CHECK(!adsm_driver_home("cuda", context[i], NULL, &homes[i]));
		CHECK_EQ(adsm_n_homes, i + 1 + started);
		CHECK(!adsm_cu.cuStreamCreate(&stream, 0));
		check_context(homes[i], stream);
	}
	CHECK(homes[0] != homes[1]);
	check_threads(homes, context);
	CHECK(adsm_driver_home_of(primary) == (started ? &adsm_homes[0] : NULL));
	CHECK(!adsmShutdown());
	/* The next start is not on them: they may be gone. */
	for (int i = 0; i < CONTEXTS; i++)
		CHECK(!destroy(context[i]));
	CHECK(!adsmInit());
	CHECK(adsm_n_homes == 1 && adsm_driver_home_of(primary) == &adsm_homes[0]);
	CHECK(!adsmShutdown());
}

int main(int argc, char **argv)
{
	CHECK(argc >= 2);
	if (argc > 2) {
		check_cuda(argv[1], !strcmp(argv[2], "started"));
		return 0;
	}
	start(argv[1]);
	check_object();
	check_child();
	check_calls();
	check_many();
	check_gather();
	check_forget();
	if (batch())
		check_batch_copies();
	else
		check_copies();
	check_two_homes();
	check_threads((struct adsm_home *[]){ &adsm_homes[0], &adsm_homes[1] }, NULL);
	check_dictated();
	CHECK(!adsmShutdown());
	return 0;
}
