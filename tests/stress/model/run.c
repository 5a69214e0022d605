/* SPDX-License-Identifier: MIT */
/*
 * run.c - one round, in a process of its own: threads work by themselves for a while, then all meet, kernels run over
 * what is dealt out, and each looks at all its bytes.
 */
#include "../../sanitizers.h"
#include "model.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct record *record;
struct round round_is;
struct object shared[SHARED_MAX];
struct worker workers[WORKERS_MAX];
int requests[2];
_Thread_local struct worker *me;
_Thread_local unsigned char buffer[TOTAL_MAX], expected[TOTAL_MAX];

static pthread_barrier_t barrier;
static unsigned long operations_left;
static bool ended;

/* splitmix64 */
uint64_t draw_from(uint64_t *from)
{
	uint64_t z = *from += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

size_t draw(size_t n)
{
	return draw_from(&me->state) % n;
}

void make_bytes(unsigned char *bytes, size_t size, uint64_t from)
{
	size_t i = 0;

	for (; i + 8 <= size; i += 8) {
		const uint64_t eight = draw_from(&from);

		memcpy(bytes + i, &eight, 8);
	}
	for (; i < size; i++)
		bytes[i] = (unsigned char)(draw_from(&from) >> 8);
}

/* ---- what was done, and what went wrong */

void note(const char *what, const struct spot *spot, unsigned value)
{
	const unsigned long n = atomic_load_explicit(&record->threads[me->index].n, memory_order_relaxed);
	struct entry *entry = &record->threads[me->index].entries[n % HISTORY];

	*entry = (struct entry){ .seq = atomic_fetch_add(&record->seq, 1), .object = -1, .value = value };
	snprintf(entry->what, sizeof(entry->what), "%s", what);
	if (spot) {
		entry->object = spot->object->number;
		entry->first = (uint64_t)(spot->p - spot->object->p);
		entry->size = spot->size;
	}
	atomic_store_explicit(&record->threads[me->index].n, n + 1, memory_order_release);
}

static void print_entry(unsigned thread, const struct entry *e)
{
	fprintf(stderr, "  %8lu thread %u: %-14s", (unsigned long)e->seq, thread, e->what);
	if (e->object >= 0)
		fprintf(stderr, " object %d, %lu bytes at %lu", e->object, (unsigned long)e->size,
			(unsigned long)e->first);
	fprintf(stderr, " (%u)\n", e->value);
}

/* The last @n operations of a thread. */
void print_history(const struct record *of, unsigned thread, size_t n)
{
	const unsigned long end = atomic_load(&of->threads[thread].n);

	for (unsigned long i = end > n ? end - n : 0; i < end; i++)
		print_entry(thread, &of->threads[thread].entries[i % HISTORY]);
}

/* The last changes of these bytes of an object, by all threads, in order. */
static void print_block(int object, size_t first, size_t size)
{
	const struct entry *last[24];
	unsigned owners[24];
	size_t n = 0;

	for (unsigned t = 0; t < round_is.n_workers; t++)
		for (unsigned i = 0; i < HISTORY && i < record->threads[t].n; i++) {
			const struct entry *e = &record->threads[t].entries[i];
			size_t at = n;

			if (!(e->object == object && e->first < first + size && first < e->first + e->size) &&
			    strcmp(e->what, "sync") != 0)
				continue;
			if (n == 24 && e->seq < last[0]->seq)
				continue;
			if (n == 24) {
				memmove(last, last + 1, 23 * sizeof(*last));
				memmove(owners, owners + 1, 23 * sizeof(*owners));
				n = at = 23;
			}
			for (; at > 0 && last[at - 1]->seq > e->seq; at--) {
				last[at] = last[at - 1];
				owners[at] = owners[at - 1];
			}
			last[at] = e;
			owners[at] = t;
			n++;
		}
	for (size_t i = 0; i < n; i++)
		print_entry(owners[i], last[i]);
}

/* Only the first tells; the others wait for the end. */
static void begin_failure(void)
{
	static atomic_flag failed = ATOMIC_FLAG_INIT;

	while (atomic_flag_test_and_set(&failed))
		pause();
	fflush(stdout);
	fprintf(stderr, "model: thread %d: ", me ? me->index : -1);
}

void fail(int line, const char *format, ...)
{
	const int error = errno;
	va_list args;

	begin_failure();
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, " (line %d; %s; %s)\n", line, strerror(error), adsmLastError());
	if (me)
		print_history(record, (unsigned)me->index, 12);
	_exit(1);
}

void fail_byte(const struct object *object, size_t at, unsigned got, unsigned want)
{
	adsmObjectProps info = { .struct_size = sizeof(info) };
	const size_t first = at / object->block_size * object->block_size;
	size_t n = 0;

	begin_failure();
	adsmObjectInfo(object->p, &info);
	fprintf(stderr, "object %d: byte %zu of %zu is %u, not %u; %s, blocks of %zu on device %d: %zu Invalid, "
		"%zu ReadOnly, %zu Dirty\n", object->number, at, object->size, got, want, info.protocol,
		object->block_size, info.device, info.n_invalid, info.n_read_only, info.n_dirty);
	for (size_t i = at; i < object->size && i < first + object->block_size; i++)
		n += object->p[i] != object->shadow[i];
	fprintf(stderr, "model: now it is %u; from there to the end of the block %zu bytes differ (those of other "
		"threads may); done to the block:\n", object->p[at], n);
	print_block(object->number, first, object->block_size);
	_exit(1);
}

bool again(int error, unsigned *tries, int line)
{
	if (!error)
		return false;
	if (!round_is.fails || (error != -EIO && error != -ENOMEM) || ++*tries == 1000)
		fail(line, "error %d", error);
	return true;
}

static bool is_set(const char *name, const char *value)
{
	const char *is = getenv(name);

	return is && !strcmp(is, value);
}

/* ---- what may happen */

static const struct {
	const char *name;
	void (*run)(void);
	unsigned often;
	bool may_fail;			/* is repeated where the backend's operations fail */
} operations[] = {
	{ "plain", plain, 8, true }, { "typed", typed, 8, false },
	{ "memory_in", memory_in, 4, false }, { "memory_out", memory_out, 4, false },
	{ "memory_across", memory_across, 4, false }, { "copy_across", copy_across, 4, true },
	{ "fill", fill, 4, true }, { "straddle", straddle, 4, false },
	{ "new_thing", new_thing, 6, true }, { "end_thing", end_thing, 3, true },
	{ "prefetch", prefetch, 3, true }, { "discard", discard, 3, true },
	{ "look_inside", look_inside, 1, true }, { "hold_on", hold_on, 2, true }, { "hold_raw", hold_raw, 3, false },
	{ "sync_all", sync_all, 3, true }, { "call_add", call_add, 8, true }, { "call_copy", call_copy, 5, true },
	{ "habit", habit, 2, true },
	{ "call_mix", call_mix, 4, true }, { "call_const", call_const, 3, false },
	{ "call_through", call_through, 4, false }, { "module_cycle", module_cycle, 1, true },
	{ "change_queue", change_queue, 4, true }, { "assign", assign, 1, true },
	{ "device_life", device_life, 1, false },
	{ "device_copy", device_copy, 3, false }, { "device_async", device_async, 1, false },
	{ "device_call", device_call, 2, false },
	{ "file_in", file_in, 3, false }, { "file_out", file_out, 3, false },
	{ "pipe_in", pipe_in, 2, false }, { "pipe_out", pipe_out, 2, false },
	{ "stream_in", stream_in, 2, false }, { "stream_out", stream_out, 2, false },
	{ "datagram_in", datagram_in, 2, false }, { "datagram_out", datagram_out, 2, false },
	{ "stdio_in", stdio_in, 2, false }, { "stdio_out", stdio_out, 2, false },
	{ "refused", refused, 2, false }, { "random_in", random_in, 1, false }, { "describe", describe, 2, false },
	{ "late_in", late_in, 2, false }, { "send_signal", send_signal, 4, false },
	{ "fork_child", fork_child, 1, false },
	{ "leave_call", leave_call, 3, false }, { "cancel_call", cancel_call, 1, false },
	{ "protect", protect, 2, false }, { "mask_behind", mask_behind, 1, false },
};
#define N_OPERATIONS (sizeof(operations) / sizeof(operations[0]))

static void operate(void)
{
	unsigned total = 0, at;
	size_t i = 0;

	for (size_t k = 0; k < N_OPERATIONS; k++)
		total += operations[k].often;
	at = (unsigned)draw(total);
	while (at >= operations[i].often)
		at -= operations[i++].often;
	if (round_is.fails && !operations[i].may_fail)
		return;
	/* Their handlers would touch what a call uses. */
	if (round_is.strict && operations[i].run == send_signal)
		return;
	/* ThreadSanitizer keeps a signal until the call returns, which it does not, and has masks of its own. */
	if (WITH_TSAN && (operations[i].run == leave_call || operations[i].run == mask_behind))
		return;
	operations[i].run();
	atomic_fetch_add(&record->n_operations, 1);
}

/* ---- meeting */

static void give(struct worker *worker, struct object *object, size_t first, size_t size)
{
	if (worker->n_pieces == PIECES_MAX)
		FAIL("more than %d pieces", PIECES_MAX);
	worker->pieces[worker->n_pieces++] = (struct piece){ object, first, size };
}

/* In pieces of all sizes: from some of a few bytes in one block to such as cover blocks. Some are for handlers. */
static void deal(void)
{
	static const size_t scales[] = { 20, 60, 500, 3000, 20000 };

	for (unsigned w = 0; w < round_is.n_workers; w++)
		workers[w].n_pieces = workers[w].n_signal_pieces = 0;
	for (unsigned i = 0; i < round_is.n_shared; i++)
		for (size_t first = 0, size; first < shared[i].size; first += size) {
			struct worker *to = &workers[draw(round_is.n_workers)];

			size = draw(scales[draw(5)]) + 1;
			if (size > shared[i].size - first)
				size = shared[i].size - first;
			if (size < 100 && !draw(8) && !shared[i].batch && !round_is.strict &&
			    to->n_signal_pieces < SIGNAL_PIECES_MAX)
				to->signal_pieces[to->n_signal_pieces++] = (struct piece){ &shared[i], first, size };
			else
				give(to, &shared[i], first, size);
		}
}

static void make_shared(unsigned i)
{
	static const size_t sizes[SHARED_MAX] = { 300, 5000, 16384, 70000, 200000, 500000 };

	shared[i].number = (int)i;
	shared[i].owner = -1;
	make_object(&shared[i], sizes[i], NULL);
}

static void meet(void)
{
	const int error = pthread_barrier_wait(&barrier);

	CHECK(!error || error == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void look_at_all(void)
{
	for (int i = 0; i < OWN_MAX; i++)
		if (me->things[i].p && !draw(4)) {
			struct spot s = whole(&me->things[i]);

			settle(s.object);
			look_at(&s);
		}
	for (size_t i = 0; i < me->n_pieces; i++) {
		const struct piece *piece = &me->pieces[i];
		const struct spot s = { piece->object, piece->object->p + piece->first,
					piece->object->shadow + piece->first, piece->size };

		look_at(&s);
	}
}

/* One for all: kernels over some of what is dealt out, then what the others wait for in read(). */
static void work_for_all(void)
{
	bool late = false;

	for (unsigned t = 0; t < round_is.n_workers; t++)
		late |= workers[t].late_size;
	for (unsigned i = 0; i < round_is.n_shared; i++)
		if (!draw(2))
			call_whole(&shared[i], draw(3) || i == 0 ? NULL : &shared[draw(i)]);
	if (round_is.batch || round_is.strict || late || draw(2))
		sync_all();
	/* Fetches blocks around what they wait for. */
	if (late)
		look_at_all();
	for (unsigned t = 0; t < round_is.n_workers; t++) {
		if (workers[t].late_size && workers[t].late_left) {
			send_out(&workers[t], workers[t].late_left);
			continue;
		}
		make_bytes(buffer, workers[t].late_size, workers[t].late_seed);
		CHECK_EQ(write(workers[t].out[CHANNEL_PIPE], buffer, workers[t].late_size), workers[t].late_size);
	}
	if (!late && !draw(6)) {
		const unsigned i = (unsigned)draw(round_is.n_shared);

		free_object(&shared[i]);
		make_shared(i);
		deal();
	}
	ended = atomic_load(&record->n_operations) >= operations_left;
}

/* ---- a thread */

static void begin_thread(void)
{
	const adsmAllocOptions options = { sizeof(options), draw(2) ? "lazy" : "rolling", 0, ADSM_DEVICE_CURRENT, 0 };
	int n_devices = adsmDeviceCount();

	CHECK(n_devices > 0 && !adsmDeviceSet(me->index % n_devices));
	if (!draw(3))
		CHECK(!adsmDeviceSet(ADSM_DEVICE_ANY));
	if (round_is.stacks)
		begin_stack();
	load_module(me);
	me->for_signals.number = 90 + me->index;
	make_object(&me->for_signals, 9000, &options);
}

static void end_thread(void)
{
	for (int i = 0; i < OWN_MAX; i++)
		while (me->things[i].p) {
			if (me->things[i].held_size)
				hold_on();
			else
				free_object(&me->things[i]);
		}
	sync_all();
	free_object(&me->for_signals);
	end_device_memory();
	REPEAT(adsmModuleUnload(me->module));
	if (round_is.stacks)
		end_stack();
}

static void *run(void *data)
{
	struct spot late = { 0 };

	me = data;
	block_signals(true);
	begin_thread();
	meet();
	do {
		block_signals(false);
		for (size_t left = draw(40); left > 0; left--)
			operate();
		block_signals(true);
		me->late_size = 0;
		if (me != workers && !round_is.fails && !round_is.strict && !draw(3)) {
			late = any_spot(SPOT_MAX);
			me->late_size = draw(late.size) + 1;
			me->late_seed = draw_from(&me->state);
			me->late_left = !WITH_TSAN && !draw(3) ? atomic_load(&me->n_left) + 1 : 0;
			note(me->late_left ? "left over calls" : "input over calls", &late, (unsigned)me->late_size);
		}
		meet();
		if (me == workers)
			work_for_all();
		else if (me->late_size && me->late_left)
			leave_late(&late);
		else if (me->late_size)
			read_late(&late, me->late_size, me->late_seed);
		meet();
		look_at_all();
		atomic_fetch_add(&record->n_operations, 1);
	} while (!ended);
	/* No thread is sent a signal any more. */
	meet();
	end_thread();
	return NULL;
}

/* ---- the round */

static void know_round(uint64_t seed)
{
	const char *wrap = getenv("ADSM_WRAP");
	adsmDeviceProps props = { .struct_size = sizeof(props) };
	int error;

	round_is.seed = seed;
	round_is.interrupts = seed / 8192 % 2;
	round_is.stacks = seed / 16384 % 2;
	round_is.fails = wrap && strstr(wrap, "fail=");
	round_is.strict = is_set("ADSM_TOUCH", "error");
	round_is.paper = is_set("ADSM_PAPER", "1");
	round_is.batch = !round_is.paper && (is_set("ADSM_PROTOCOL", "batch") || seed % 4 == 0);
	/* Usually a few threads: then more of what happens is long. */
	round_is.n_workers = round_is.strict ? 1 : (unsigned)(seed / 4 % (seed / 32 % 4 ? 3 : WORKERS_MAX)) + 1;
	round_is.n_shared = (unsigned)(seed / 128 % SHARED_MAX) + 1;
	error = adsmInit();
	if (check_no_driver(error)) {
		printf("model: %s\n", adsmLastError());
		exit(SKIP);
	}
	if (error)
		FAIL("cannot start");
	round_is.n_devices = adsmDeviceCount();
	CHECK(round_is.n_devices > 0 && !adsmDeviceInfo(0, &props));
	round_is.drivers = !props.signal_safe;
	round_is.small = getenv("TEST_SMALL");
	/* An object whose address is known stays on the device. */
	round_is.addresses = !round_is.small && (props.same_address || strcmp(props.backend, "opencl") != 0);
	/* A driver may compile a kernel anew for each size of block. */
	round_is.block = strcmp(props.backend, "opencl") ? 256 : 64;
}

static void on_sigbus(int sig)
{
	stop_touching();
}

static void run_cycle(uint64_t seed)
{
	const struct request no_more = { 0 };
	pthread_t feeder;

	me = workers;
	for (unsigned w = 0; w < round_is.n_workers; w++) {
		workers[w].index = (int)w;
		workers[w].state = seed * 1000 + w;
		workers[w].signal_state = seed * 1000 + w + 500;
		open_channels(&workers[w]);
	}
	for (unsigned i = 0; i < round_is.n_shared; i++)
		make_shared(i);
	deal();
	ended = false;
	CHECK(!pipe(requests) && !pthread_barrier_init(&barrier, NULL, round_is.n_workers));
	CHECK(!pthread_create(&feeder, NULL, feed, &round_is.seed));
	for (unsigned w = 0; w < round_is.n_workers; w++)
		CHECK(!pthread_create(&workers[w].thread, NULL, run, &workers[w]));
	for (unsigned w = 0; w < round_is.n_workers; w++)
		CHECK(!pthread_join(workers[w].thread, NULL));
	stop_signals();
	CHECK_EQ(write(requests[1], &no_more, sizeof(no_more)), sizeof(no_more));
	CHECK(!pthread_join(feeder, NULL) && !close(requests[0]) && !close(requests[1]));
	for (unsigned i = 0; i < round_is.n_shared; i++)
		free_object(&shared[i]);
	for (unsigned w = 0; w < round_is.n_workers; w++)
		close_channels(&workers[w]);
	CHECK(!pthread_barrier_destroy(&barrier));
}

/* In one to three lives of the library. */
int run_round(uint64_t seed, unsigned long n_operations)
{
	struct sigaction action = { .sa_handler = on_sigbus };
	const unsigned lives = seed / 1024 % 8 ? 1 : 3;

	block_signals(true);
	know_round(seed);
	start_signals();
	if (round_is.fails)
		CHECK(!sigaction(SIGBUS, &action, NULL));
	for (unsigned life = 1; life <= lives; life++) {
		operations_left = n_operations * life / lives;
		run_cycle(seed + life);
		REPEAT(adsmShutdown());
	}
	return 0;
}
