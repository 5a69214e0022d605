/* SPDX-License-Identifier: MIT */
/*
 * test_orders.c - "fill, then open; close, then drain": no thread ever sees partial data or loses a write.
 *
 * Each test holds one thread inside a window and lets a second one run there, so nothing depends on luck.
 * "wrong" shows that the windows matter: a few lines that move one block by mprotect() lose data in every
 * round when they do it in the other orders. All other cases are the library, whose engine and backend
 * are wrapped to get at the same windows; "delays" has them all open at random, with more threads.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "core.h"
#include "base/log.h"
#include "base/decode.h"
#include "engine/engine.h"

#define ROUNDS 50u
#define BLOCKS 8u
#define WORDS (BLOCKS * PAGE_WORDS)

/* ---- the second thread: runs a job in the windows of the first */

static void (*_Atomic job)(void);
static _Atomic unsigned wanted, done;
static _Thread_local bool is_other;
static bool (*blocked)(void);	/* does something keep the job from going on? */

static void *run_other(void *unused)
{
	is_other = true;
	for (unsigned n = 1;; n++) {
		while (wanted < n)
			sched_yield();
		job();
		done = n;
	}
	return unused;
}

static void start_other(bool (*is_blocked)(void))
{
	pthread_t thread;

	blocked = is_blocked;
	CHECK(!pthread_create(&thread, NULL, run_other, NULL));
}

static void join_other(void)
{
	while (done < wanted)
		sched_yield();
}

/* In a window: returns when the job has ended, or cannot end before the window does. True: it ended. */
static bool other(void)
{
	unsigned n = ++wanted;

	while (done < n && !blocked())
		sched_yield();
	return done >= n;
}

/* ---- the wrong orders, on one block of their own */

enum order { OURS, OPEN_THEN_FILL, DRAIN_THEN_CLOSE, CLOSE_UNLOCKED };

static struct {
	enum order order;
	volatile unsigned *view, *alias;
	unsigned device[PAGE_WORDS];
	enum adsm_state state;
	atomic_bool lock, contended;
} block;

static unsigned n_stale, n_lost, value;

static void lock_block(void)
{
	while (atomic_exchange(&block.lock, true)) {
		block.contended = true;
		sched_yield();
	}
	block.contended = false;
}

static void unlock_block(void)
{
	block.lock = false;
}

static bool block_contended(void)
{
	return block.contended;
}

static void permit(int prot)
{
	CHECK(!mprotect((void *)block.view, PAGE, prot));
}

static void copy(volatile unsigned *to, const volatile unsigned *from)
{
	for (unsigned i = 0; i < PAGE_WORDS; i++)
		to[i] = from[i];
}

static void fault(int sig, siginfo_t *info, void *context)
{
	uintptr_t instruction;
	bool write;

	CHECK(adsm_decode_fault(context, &instruction, &write));
	lock_block();
	if (block.state == ADSM_INVALID && block.order == OPEN_THEN_FILL) {
		permit(PROT_READ | PROT_WRITE);
		other();
		copy(block.view, block.device);
		permit(PROT_READ);
		block.state = ADSM_READ_ONLY;
	} else if (block.state == ADSM_INVALID) {
		copy(block.alias, block.device);
		other();
		permit(PROT_READ);
		block.state = ADSM_READ_ONLY;
	} else if (write) {
		block.state = ADSM_DIRTY;
		permit(PROT_READ | PROT_WRITE);
	}
	unlock_block();
}

static void read_stale(void)
{
	n_stale += block.view[PAGE_WORDS - 1] != value;
}

static void fill_block(enum order order)
{
	block.order = order;
	job = read_stale;
	for (n_stale = 0, value = 1; value <= ROUNDS; value++) {
		lock_block();
		permit(PROT_NONE);
		block.state = ADSM_INVALID;
		unlock_block();
		for (unsigned i = 0; i < PAGE_WORDS; i++)
			block.device[i] = value;
		CHECK_EQ(block.view[0], value);
		join_other();
	}
}

static void write_next(void)
{
	block.view[PAGE_WORDS - 1] = ++value;
}

static void evict_block(enum order order)
{
	block.order = order;
	job = write_next;
	n_lost = value = 0;
	block.state = ADSM_READ_ONLY;
	permit(PROT_READ);
	for (unsigned i = 0; i < ROUNDS; i++) {
		other();
		join_other();
		switch (order) {
		case OURS:
			lock_block();
			permit(PROT_READ);
			other();	/* cannot: the lock */
			block.state = ADSM_READ_ONLY;
			unlock_block();
			join_other();
			copy(block.device, block.alias);
			other();
			break;
		case DRAIN_THEN_CLOSE:
			copy(block.device, block.alias);
			other();
			lock_block();
			block.state = ADSM_READ_ONLY;
			permit(PROT_READ);
			unlock_block();
			break;
		default:
			permit(PROT_READ);
			other();
			block.state = ADSM_READ_ONLY;
			copy(block.device, block.alias);
			other();
			break;
		}
		join_other();
		/* A call: what is Dirty is sent. */
		lock_block();
		permit(PROT_READ);
		if (block.state == ADSM_DIRTY)
			copy(block.device, block.alias);
		block.state = ADSM_READ_ONLY;
		unlock_block();
		n_lost += block.device[PAGE_WORDS - 1] != value;
	}
}

static void wrong(const char *unused)
{
	struct sigaction action = { .sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_NODEFER };
	int fd = memfd_create("orders", MFD_CLOEXEC);

	CHECK(fd >= 0 && !ftruncate(fd, PAGE));
	block.view = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	block.alias = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(block.view != MAP_FAILED && block.alias != MAP_FAILED);
	CHECK(!sigaction(SIGSEGV, &action, NULL));
	start_other(block_contended);

	fill_block(OPEN_THEN_FILL);
	CHECK_EQ(n_stale, ROUNDS);
	evict_block(DRAIN_THEN_CLOSE);
	CHECK_EQ(n_lost, ROUNDS);
	evict_block(CLOSE_UNLOCKED);
	CHECK_EQ(n_lost, ROUNDS);

	fill_block(OURS);
	CHECK_EQ(n_stale, 0);
	evict_block(OURS);
	CHECK_EQ(n_lost, 0);
}

/* ---- the library, its engine and backend wrapped */

static struct adsm_backend backend, hooks;	/* what it had; NULL, or run first */
static struct adsm_engine engine;
static void (*after_protect)(uint32_t b);
static struct adsm_object *watched;
static atomic_int sending[BLOCKS];

static int to_host(void *dst, struct adsm_memory *src, size_t offset, size_t size, struct adsm_device_event *event)
{
	int error = 0;

	if (hooks.to_host && src == watched->memory)
		error = hooks.to_host(dst, src, offset, size, event);
	return error ? error : backend.to_host(dst, src, offset, size, event);
}

/* As a device with a buffer of its own would: what is written later is not in it. */
static int to_device(struct adsm_memory *dst, size_t offset, const void *src, size_t size,
		     struct adsm_device_event *event)
{
	char buffer[BLOCKS * PAGE];
	size_t first = offset / PAGE, last = (offset + size - 1) / PAGE;
	int error = 0;

	if (dst != watched->memory || event)
		return backend.to_device(dst, offset, src, size, event);
	CHECK(size <= sizeof(buffer));
	for (size_t b = first; b <= last; b++)
		CHECK(!atomic_fetch_add(&sending[b], 1));	/* two sends of a block could end in any order */
	memcpy(buffer, src, size);
	if (hooks.to_device)
		error = hooks.to_device(dst, offset, src, size, event);
	if (!error)
		error = backend.to_device(dst, offset, buffer, size, event);
	for (size_t b = first; b <= last; b++)
		atomic_fetch_sub(&sending[b], 1);
	return error;
}

static void (*after_device_write)(void);

static int fill(struct adsm_memory *dst, size_t offset, uint8_t byte, size_t size, struct adsm_device_event *event)
{
	int error = backend.fill(dst, offset, byte, size, event);

	if (after_device_write && dst == watched->memory)
		after_device_write();
	return error;
}

static int device_copy(struct adsm_memory *dst, size_t dst_offset, struct adsm_memory *src, size_t src_offset,
		       size_t size, struct adsm_device_event *event)
{
	int error = backend.copy(dst, dst_offset, src, src_offset, size, event);

	if (after_device_write && dst == watched->memory)
		after_device_write();
	return error;
}

/* Fill, then open: what the view will show is there. */
static void check_filled(const void *view, size_t size)
{
	struct adsm_object *object = object_of(view);
	char device[PAGE];

	for (size_t at = 0; at < size; at += PAGE) {
		uint32_t b = (uint32_t)(((uintptr_t)view + at - object->start) >> object->blocks.shift);

		if (object != watched || object->blocks.at[b].state != ADSM_INVALID)
			continue;
		CHECK(!backend.to_host(device, object->memory, (uintptr_t)view + at - object->start, PAGE, NULL));
		CHECK(!memcmp(device, (const void *)alias_of((const char *)view + at), PAGE));
	}
}

static int permit_hooked(void *view, size_t size, enum adsm_prot was, enum adsm_prot now)
{
	int error;

	if (was == ADSM_PROT_NONE)
		check_filled(view, size);
	error = engine.permit(view, size, was, now);
	if (now == ADSM_PROT_READ && was == ADSM_PROT_RW && after_protect && object_of(view) == watched)
		after_protect((uint32_t)(((uintptr_t)view - watched->start) >> watched->blocks.shift));
	return error;
}

static bool waits_for_block(void)
{
	return adsm_homes[0].n_waiting;
}

static bool waits_for_lock(void)
{
	return adsm_homes[0].lock.word == 2;
}

static bool waits(void)
{
	return waits_for_block() || waits_for_lock();
}

static const char *fault_ahead = "0";

static void start_hooked(const char *rolling_size, const char *evict_batch)
{
	static struct adsm_engine wrapped_engine;
	static struct adsm_backend wrapped_backend;

	CHECK(!adsmOption("block_size", "4K"));
	CHECK(!adsmOption("fault_ahead", fault_ahead));
	CHECK(!adsmOption("rolling_size", rolling_size));
	CHECK(!adsmOption("evict_batch", evict_batch));
	CHECK(!adsmInit());
	backend = *adsm_homes[0].device->backend;
	wrapped_backend = backend;
	wrapped_backend.to_host = to_host;
	wrapped_backend.to_device = to_device;
	wrapped_backend.fill = fill;
	wrapped_backend.copy = device_copy;
	adsm_homes[0].device->backend = &wrapped_backend;
	engine = *adsm_engine;
	wrapped_engine = engine;
	wrapped_engine.permit = permit_hooked;
	adsm_engine = &wrapped_engine;
	kernel("increment");
}

static volatile unsigned *a;

static void watch(const char *protocol)
{
	a = alloc_with(WORDS * sizeof(*a), protocol, PAGE);
	watched = object_of(a);
	for (unsigned i = 0; i < WORDS; i++)
		a[i] = i;
}

static void increment(void)
{
	CHECK(!call_words(kernel("increment"), WORDS, adsmPtr(a)));
	CHECK(!adsmSync());
}

/* ---- a fetch is in progress: another thread that needs the block gets all of it or waits */

static unsigned n_fetches, n_passed;
static atomic_uint increments;		/* counted by either thread */

static int other_during_fetch(void *dst, struct adsm_memory *src, size_t offset, size_t size,
			      struct adsm_device_event *event)
{
	if (++n_fetches == 1)
		n_passed += other();
	return 0;
}

static void other_reads(void)
{
	CHECK_EQ(a[PAGE_WORDS - 1], PAGE_WORDS - 1 + increments);
}

static void other_writes(void)
{
	a[PAGE_WORDS - 1] += 1000;
}

static void filling(const char *protocol)
{
	start_hooked("auto", "1M");
	start_other(waits_for_block);
	watch(protocol);
	hooks.to_host = other_during_fetch;
	for (unsigned round = 0; round < ROUNDS; round++) {
		bool writes = round & 1, other_does = round & 2;

		increment();
		increments++;
		job = other_does ? other_writes : other_reads;
		n_fetches = 0;
		if (writes)
			a[0] += 1000;
		else
			CHECK_EQ(a[0], increments);
		join_other();
		CHECK_EQ(n_fetches, 1);	/* one fetch did for both */
		CHECK_EQ(a[0], increments + writes * 1000);
		CHECK_EQ(a[PAGE_WORDS - 1], PAGE_WORDS - 1 + increments + other_does * 1000);
		a[0] = increments;
		a[PAGE_WORDS - 1] = PAGE_WORDS - 1 + increments;
	}
	CHECK_EQ(n_passed, 0);
	hooks.to_host = NULL;
	increment();
	for (unsigned i = 0; i < WORDS; i++)
		CHECK_AT(a[i], i, i + increments + 1);
	CHECK(!adsmFree((void *)a));
}

/* ---- a sequential reader: the evictor fetches the next blocks, and other threads that need one wait for all of it */

#define AHEAD 2u	/* the largest window, and what is fetched ahead after blocks 0 and 1 */
#define MANY (ADSM_AHEAD_MAX + 4)

static pthread_t main_thread;
static atomic_uint n_ahead;
static int ahead_error;
static atomic_bool sent;
static volatile unsigned *many[MANY];

static int other_during_ahead(void *dst, struct adsm_memory *src, size_t offset, size_t size,
			      struct adsm_device_event *event)
{
	int error = ahead_error;

	if (is_other || pthread_equal(pthread_self(), main_thread) || offset != AHEAD * PAGE)
		return 0;
	CHECK_EQ(size, AHEAD * PAGE);
	if (job)
		n_passed += other();
	ahead_error = 0;
	n_ahead++;
	return error;
}

static void other_calls(void)
{
	increment();
	increments++;
}

static void read_sequence(volatile unsigned *p, unsigned n)
{
	unsigned first = increments, more = job == other_calls;	/* meanwhile */

	for (unsigned b = 0; b < n; b++)
		CHECK(p[b * PAGE_WORDS] - (b * PAGE_WORDS + first) <= more);
}

static void other_reads_ahead(void)
{
	unsigned last_word = 2 * AHEAD * PAGE_WORDS - 1;

	CHECK_EQ(a[last_word], last_word + increments);
}

static void other_writes_ahead(void)
{
	a[AHEAD * PAGE_WORDS] += 0;
}

static void other_frees(void)
{
	CHECK(!adsmFree((void *)a));
}

/* That many at the same time that not all can wait to be fetched. */
static void other_reads_many(void)
{
	for (unsigned i = 0; i < MANY; i++)
		read_sequence(many[i], 2);
}

static void other_reads_one(void)
{
	read_sequence(many[0], 2);
}

static int other_during_send(struct adsm_memory *dst, size_t offset, const void *src, size_t size,
			     struct adsm_device_event *event)
{
	if (job && !sent) {
		n_passed += other();
		sent = true;
	}
	return 0;
}

static void read_ahead(void (*other_job)(void), int error)
{
	unsigned before = n_ahead;

	job = other_job;
	ahead_error = error;
	read_sequence(a, 2);
	while (n_ahead == before)
		sched_yield();
	join_other();
	job = NULL;
}

static void reading_ahead(const char *unused)
{
	static void (*const jobs[])(void) = { NULL, other_reads_ahead, other_writes_ahead, other_calls };

	fault_ahead = "8K";
	main_thread = pthread_self();
	start_hooked("2", "4K");
	start_other(waits_for_block);
	watch("rolling");
	hooks.to_host = other_during_ahead;
	for (unsigned round = 0; round < ROUNDS; round++) {
		increment();
		increments++;
		read_ahead(jobs[round % 4], round % 5 ? 0 : -EIO);
		for (unsigned i = 0; i < WORDS; i++)
			CHECK_AT(a[i], i, i + increments);
	}
	CHECK_EQ(n_passed, 0);
	for (unsigned i = 0; i < MANY; i++) {
		many[i] = alloc_with(WORDS * sizeof(*a), "rolling", PAGE);
		for (unsigned k = 0; k < WORDS; k++)
			many[i][k] = k + increments;
		CHECK(!call_words(kernel("increment"), WORDS, adsmPtr(many[i])));
		CHECK(!adsmSync());
	}
	increment();
	increments++;
	read_ahead(other_reads_many, 0);
	CHECK_EQ(n_passed, 1);
	for (unsigned i = 0; i < MANY; i++)
		read_sequence(many[i], BLOCKS);
	/* The evictor sends when it is wanted. */
	CHECK(!call_words(kernel("increment"), WORDS, adsmPtr(many[0])));
	increments++;
	increment();
	hooks.to_device = other_during_send;
	job = other_reads_one;
	for (unsigned b = 0; b < BLOCKS; b++)
		a[b * PAGE_WORDS] = b * PAGE_WORDS + increments;
	while (!sent)
		sched_yield();
	join_other();
	CHECK_EQ(n_passed, 2);
	read_sequence(many[0], BLOCKS);
	job = NULL;
	increment();
	increments++;
	read_ahead(other_frees, 0);
	CHECK_EQ(n_passed, 2);
	CHECK_EQ(adsm_homes[0].n_ahead, 0);
}

/* ---- a sync fetches the block that is always read first: other threads that need it meanwhile wait for it */

#define FIRST 3u			/* the block that is */
#define LEARNED 6u			/* rounds: the fourth sync fetches it, the next ones open it, too */

static unsigned n_synced;

static int other_during_sync(void *dst, struct adsm_memory *src, size_t offset, size_t size,
			     struct adsm_device_event *event)
{
	int error = ahead_error;

	if (is_other || !pthread_equal(pthread_self(), main_thread) || offset != FIRST * PAGE)
		return 0;
	n_synced++;
	if (job)
		n_passed += other();
	ahead_error = 0;
	return error;
}

static void other_reads_first(void)
{
	CHECK_EQ(a[FIRST * PAGE_WORDS + 1], FIRST * PAGE_WORDS + 1 + increments);
}

static void other_writes_first(void)
{
	a[FIRST * PAGE_WORDS + 1] += 0;
}

static void expecting(const char *unused)
{
	static void (*const jobs[])(void) = { NULL, other_reads_first, other_writes_first, other_calls, other_frees };
	uint8_t view;

	fault_ahead = "8K";
	main_thread = pthread_self();
	CHECK(!adsmOption("wrap", "unsafe"));	/* as where faults may not fetch by themselves */
	CHECK(!adsmOption("log", "silent"));	/* the checks above do in faults what the library would not */
	start_hooked("auto", "4K");
	start_other(waits_for_block);
	watch("rolling");
	hooks.to_host = other_during_sync;
	for (unsigned round = 0; round < 5 * 2 * LEARNED; round++) {
		bool learned = round % LEARNED >= 3;
		bool last_one = round % LEARNED == LEARNED - 1;

		n_synced = 0;
		job = last_one ? jobs[round / LEARNED / 2] : NULL;
		ahead_error = last_one && round / LEARNED % 2 ? -EIO : 0;
		increments++;
		increment();
		join_other();
		CHECK(n_synced == 1 || !learned);
		if (job == other_frees)
			break;
		job = NULL;
		/* Not the first block again: then it is another habit. */
		for (unsigned i = 0; i < WORDS; i++) {
			unsigned at = (i + (last_one ? 0 : FIRST * PAGE_WORDS)) % WORDS;

			CHECK_AT(a[at], at, at + increments);
		}
	}
	CHECK_EQ(n_passed, 0);
	CHECK(!adsm_policy_synced(&adsm_homes[0].policies, &view));
}

/* ---- blocks are on their way to the device: their writer neither waits nor loses */

static atomic_int n_sends, n_protects;
static unsigned last[BLOCKS];
static uint32_t closed;

/* From the newest to the oldest: what is being sent is sent again first. */
static void write_all(void)
{
	for (unsigned b = BLOCKS; b-- > 0;)
		a[b * PAGE_WORDS + 5] = ++last[b];
}

static void write_closed(void)
{
	a[closed * PAGE_WORDS + 5] = ++last[closed];
}

/* Until the helper has nothing to do, or a thread waits. */
static void let_evictor_work(void)
{
	struct adsm_home *home = &adsm_homes[0];
	struct adsm_sigset old;
	bool idle;

	do {
		sched_yield();
		adsm_home_lock(home, &old);
		idle = home->evictor_sleeps || home->n_waiting;
		adsm_home_unlock(home, &old);
	} while (!idle);
}

static int write_during_send(struct adsm_memory *dst, size_t offset, const void *src, size_t size,
			     struct adsm_device_event *event)
{
	/* The other's own sends; those of a writer, which keeps all others out; and a job may wait for this one. */
	if (is_other || adsm_in_fault || done < wanted || n_sends >= 2)
		return 0;
	n_sends++;
	job = write_all;
	other();
	return 0;
}

/* The view is closed, the state not yet changed: the lock keeps the writer out. */
static void write_after_protect(uint32_t b)
{
	if (is_other || done < wanted || n_protects)
		return;
	n_protects++;
	closed = b;
	job = write_closed;
	CHECK(!other());
}

static void check_sent(unsigned round)
{
	unsigned page[PAGE_WORDS];

	increment();
	join_other();
	for (unsigned b = 0; b < BLOCKS; b++) {
		device_read(a + b * PAGE_WORDS, page, PAGE);
		CHECK_AT(page[5], b, ++last[b]);
		CHECK_AT(page[9], b, round + b + 1);
		CHECK_EQ(a[b * PAGE_WORDS + 5], last[b]);
	}
}

static void evicting(const char *evict_batch)
{
	unsigned all_sends = 0, all_protects = 0;

	start_hooked("1", evict_batch);
	start_other(waits);
	watch("rolling");
	increment();
	for (unsigned b = 0; b < BLOCKS; b++)
		last[b] = a[b * PAGE_WORDS + 5];
	hooks.to_device = write_during_send;
	after_protect = write_after_protect;
	for (unsigned round = 0; round < ROUNDS; round++) {
		n_sends = n_protects = 0;
		for (unsigned b = 0; b < BLOCKS; b++)
			a[b * PAGE_WORDS + 9] = round + b;
		let_evictor_work();
		join_other();
		all_sends += n_sends;
		all_protects += n_protects;
		n_sends = 2;
		let_evictor_work();
		join_other();
		check_sent(round);
	}
	CHECK(all_sends && all_protects);
}

/* A call sends what is Dirty; meanwhile all is written again, and the policy wants it sent too. */
static int write_during_flush(struct adsm_memory *dst, size_t offset, const void *src, size_t size,
			      struct adsm_device_event *event)
{
	if (n_sends++)
		return 0;
	job = write_all;
	other();
	let_evictor_work();
	join_other();
	let_evictor_work();
	return 0;
}

static void flushing(const char *evict_batch)
{
	start_hooked("3", evict_batch);
	start_other(waits_for_lock);
	watch("rolling");
	increment();
	for (unsigned b = 0; b < BLOCKS; b++)
		last[b] = a[b * PAGE_WORDS + 5];
	for (unsigned round = 0; round < ROUNDS; round++) {
		hooks.to_device = NULL;
		for (unsigned b = 0; b < BLOCKS; b++)
			a[b * PAGE_WORDS + 9] = round + b;
		let_evictor_work();
		n_sends = 0;
		hooks.to_device = write_during_flush;
		check_sent(round);
		CHECK(n_sends);
	}
}

/* ---- the device fills and copies whole blocks, whose old contents the policy wants sent */

static volatile unsigned *crowd;

static void crowd_out(void)
{
	for (unsigned b = 0; b < 2 * BLOCKS; b++)
		crowd[b * PAGE_WORDS]++;
	let_evictor_work();
}

static void device_writing(const char *evict_batch)
{
	unsigned *from;

	start_hooked("16", evict_batch);
	watch("rolling");
	crowd = alloc_with(2 * BLOCKS * PAGE, "rolling", PAGE);
	from = alloc_with(BLOCKS * PAGE, "rolling", PAGE);
	for (unsigned round = 0; round < ROUNDS; round++) {
		bool copies = round & 1;

		if (copies) {
			for (unsigned i = 0; i < WORDS; i++)
				from[i] = round + i;
			CHECK(!call_words(kernel("increment"), WORDS, adsmPtr(from)));
			CHECK(!adsmSync());
		}
		for (unsigned b = 0; b < BLOCKS; b++)
			a[b * PAGE_WORDS] = 12345;
		after_device_write = crowd_out;
		CHECK(!(copies ? adsmMemcpy((void *)a, from, WORDS * 4) : adsmMemset((void *)a, 0, WORDS * 4)));
		after_device_write = NULL;
		for (unsigned b = 0; b < BLOCKS; b++) {
			unsigned i = b * PAGE_WORDS, want = copies ? round + i + 1 : 0;

			CHECK_AT(device_word(&a[i]), i, want);
			CHECK_AT(a[i], i, want);
		}
	}
}

/* ---- every window open for a while, at random */

#define READERS 4u
#define DELAYED_ROUNDS 12u

static pthread_barrier_t gate;

/* In a direction of its own, then word by word what the others also write. */
static void *delayed_thread(void *data)
{
	unsigned me = (unsigned)(uintptr_t)data;

	for (unsigned round = 1; round <= DELAYED_ROUNDS; round++) {
		pthread_barrier_wait(&gate);
		for (unsigned i = 0; i < WORDS; i += 17) {
			unsigned at = me & 1 ? WORDS - 1 - i : i;

			CHECK_AT(a[at], at, at + 2 * round - 1);
		}
		pthread_barrier_wait(&gate);
		for (unsigned i = me; i < WORDS; i += READERS)
			a[i]++;
		/* And again, in blocks that have just left. */
		for (unsigned n = 0; n < 2; n++)
			for (unsigned b = 0; b < BLOCKS; b++)
				a[b * PAGE_WORDS + me] = b * PAGE_WORDS + me + 2 * round;
		pthread_barrier_wait(&gate);
	}
	return NULL;
}

static void delays(const char *evict_batch)
{
	pthread_t threads[READERS];

	CHECK(!adsmOption("wrap", "delay=200us,ops=to_host+to_device"));
	start_hooked("2", evict_batch);
	watch("rolling");
	pthread_barrier_init(&gate, NULL, READERS + 1);
	for (uintptr_t t = 0; t < READERS; t++)
		CHECK(!pthread_create(&threads[t], NULL, delayed_thread, (void *)t));
	for (unsigned round = 1; round <= DELAYED_ROUNDS; round++) {
		increment();
		pthread_barrier_wait(&gate);
		pthread_barrier_wait(&gate);
		pthread_barrier_wait(&gate);
	}
	increment();
	for (unsigned i = 0; i < WORDS; i++) {
		unsigned want = i + 2 * DELAYED_ROUNDS + 1;

		if (i % PAGE_WORDS == 0)
			CHECK_AT(device_word(&a[i]), i, want);
		CHECK_AT(a[i], i, want);
	}
	for (unsigned t = 0; t < READERS; t++)
		pthread_join(threads[t], NULL);
}

static void delays_ahead(const char *evict_batch)
{
	fault_ahead = "8K";
	delays(evict_batch);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(const char *);
		const char *argument;
	} cases[] = {
		{ "wrong", wrong, NULL },
		{ "fill-lazy", filling, "lazy" },
		{ "fill-rolling", filling, "rolling" },
		{ "ahead", reading_ahead, NULL },
		{ "expected", expecting, NULL },
		{ "evict", evicting, "4K" },
		{ "evict-paper", evicting, "1" },
		{ "flush", flushing, "4K" },
		{ "flush-paper", flushing, "1" },
		{ "device-write", device_writing, "4K" },
		{ "device-write-paper", device_writing, "1" },
		{ "delays", delays, "4K" },
		{ "delays-ahead", delays_ahead, "4K" },
		{ "delays-paper", delays, "1" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (argc != 2 || strcmp(argv[1], cases[i].name))
			continue;
		cases[i].run(cases[i].argument);
		return 0;
	}
	fprintf(stderr, "usage: test-orders CASE\n");
	return 2;
}
