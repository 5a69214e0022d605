/* SPDX-License-Identifier: MIT */
/*
 * stress.c - threads do at random what programs do, each with objects of its own, and know what must be in
 * them. The options come from the environment; where ADSM_WRAP makes operations fail, they are repeated.
 *
 * usage: stress [--seconds N] [--threads N] [--seed N]
 */
#include <adsm.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 32
#define OBJECTS 6
#define TRIES 1000

struct thing {
	unsigned char *p, *model;
	size_t size;			/* bytes, whole words */
	bool batch, called;		/* called: accesses are not seen, and no sync was since */
	size_t held, held_size;		/* a hold; size 0: none */
	unsigned access;
};

static uint64_t seed, deadline;
static unsigned n_threads = 4;
static bool fails;			/* ADSM_WRAP lets operations fail */
static bool all_unnamed;		/* any call may use any object */
static bool with_batch;
static adsmKernel *increment, *increment_any, *add, *late_increment, *late_copy;
static atomic_ulong n_operations;

static _Thread_local unsigned me;
static _Thread_local uint64_t state;
static _Thread_local const char *doing = "start";

#define FAIL(...) do { \
	fprintf(stderr, "stress: seed %lu, thread %u, %s: ", (unsigned long)seed, me, doing); \
	fprintf(stderr, __VA_ARGS__); \
	fprintf(stderr, " (%s)\n", adsmLastError()); \
	_exit(1); \
} while (0)

#define CHECK(x) do { \
	if (!(x)) \
		FAIL("line %d: %s", __LINE__, #x); \
} while (0)

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* splitmix64 */
static uint64_t draw(uint64_t n)
{
	uint64_t z = state += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return (z ^ z >> 31) % n;
}

static bool again(int error, unsigned *tries)
{
	if (!error)
		return false;
	if (!fails || (error != -EIO && error != -ENOMEM) || ++*tries == TRIES)
		FAIL("error %d", error);
	return true;
}

#define REPEAT(call) do { \
	unsigned tries_ = 0; \
	while (again((call), &tries_)) \
		; \
} while (0)

/* ---- touches. A failed one raises SIGBUS, and is done again. */

static _Thread_local sigjmp_buf failed_touch;
static _Thread_local volatile sig_atomic_t touching;

static void on_sigbus(int sig)
{
	if (!touching)
		_exit(3);
	siglongjmp(failed_touch, 1);
}

static void touch(const struct thing *t, size_t first, size_t end, size_t step, bool write)
{
	volatile size_t i = first;
	volatile unsigned tries = 0;

	if (sigsetjmp(failed_touch, 1)) {
		touching = 0;
		CHECK(fails && ++tries < TRIES);
	}
	touching = 1;
	for (; i < end; i += step, tries = 0) {
		volatile unsigned char *p = t->p + i;

		if (write)
			*p = t->model[i];
		else if (*p != t->model[i])
			FAIL("byte %zu of %zu at %p is %u, not %u (%s)", (size_t)i, t->size, (void *)t->p, *p,
			     t->model[i], t->batch ? "batch" : "not batch");
	}
	touching = 0;
}

/* ---- what may be done to a thing now */

static void sync_all(struct thing *things)
{
	doing = "sync";
	REPEAT(adsmSync());
	for (int i = 0; i < OBJECTS; i++)
		things[i].called = false;
}

/* Before the CPU has anything to do with it. */
static void settle(struct thing *things, struct thing *t)
{
	if (t->called && t->batch)
		sync_all(things);
}

static struct thing *any(struct thing *things)
{
	unsigned first = (unsigned)draw(OBJECTS);

	for (unsigned i = 0; i < OBJECTS; i++)
		if (things[(first + i) % OBJECTS].p)
			return &things[(first + i) % OBJECTS];
	return NULL;
}

static void range_of(const struct thing *t, size_t *ret_first, size_t *ret_size)
{
	*ret_first = draw(3) ? draw(t->size) : 0;
	*ret_size = draw(3) ? draw(t->size - *ret_first) + 1 : t->size - *ret_first;
}

/* ---- operations */

static void new_thing(struct thing *things)
{
	static const size_t scales[] = { 10, 1024, 4096, 30000, 80000 };
	static const char *const protocols[] = { "rolling", "rolling", "lazy", "batch" };
	adsmAllocOptions options = ADSM_ALLOC_OPTIONS_INIT;
	struct thing *t = &things[draw(OBJECTS)];
	const unsigned words = (unsigned)draw(scales[draw(5)]) + 1;
	unsigned tries = 0;

	if (t->p)
		return;
	doing = "alloc";
	options.protocol = protocols[draw(with_batch ? 4 : 3)];
	options.block_size = (size_t)4096 << draw(5);
	options.flags = draw(10) ? 0 : ADSM_ALLOC_POPULATE;
	*t = (struct thing){ .size = words * 4, .batch = !strcmp(options.protocol, "batch") };
	while (!(t->p = adsmAllocWith(t->size, &options)))
		again(-errno, &tries);
	t->model = malloc(t->size);
	CHECK(t->model);
	for (size_t i = 0; i < t->size; i++)
		t->model[i] = (unsigned char)draw(256);
	touch(t, 0, t->size, 1, true);
}

static void write_some(struct thing *things, struct thing *t)
{
	size_t first, size, step = draw(2) ? 1 : draw(5000) + 1;

	settle(things, t);
	doing = "write";
	range_of(t, &first, &size);
	for (size_t i = first; i < first + size; i += step)
		t->model[i]++;
	touch(t, first, first + size, step, true);
}

static void read_some(struct thing *things, struct thing *t)
{
	size_t first, size;

	settle(things, t);
	doing = "read";
	range_of(t, &first, &size);
	touch(t, first, first + size, draw(2) ? 1 : draw(5000) + 1, false);
}

/* True: it was launched. One that uses held objects is not, and unnamed it may use those of others. */
static bool launch(adsmKernel *kernel, bool held, size_t words, const adsmArg *pointers, size_t n)
{
	const bool late = kernel == late_increment || kernel == late_copy;
	const adsmDim grid = { late ? 1 : (unsigned)(words + 255) / 256, 1, 1 }, block = { late ? 1 : 256, 1, 1 };
	unsigned long spins = draw(300000);
	unsigned count = (unsigned)words, tries = 0;
	adsmArg args[5] = { adsmVal(spins) };
	size_t n_args = late;
	int error;

	for (size_t i = 0; i < n; i++)
		args[n_args++] = pointers[i];
	args[n_args++] = adsmVal(count);
	do
		error = adsmCallArgs(kernel, grid, block, args, n_args);
	while (error != -EBUSY && again(error, &tries));
	if (held)
		CHECK(error == -EBUSY);
	else if (error)
		CHECK(all_unnamed || kernel == increment_any);
	return !error;
}

static void increment_one(struct thing *t)
{
	bool unnamed = !with_batch && draw(2), late = !unnamed && !draw(4);
	const adsmArg args[] = { adsmPtr(t->p) };
	unsigned word;

	doing = unnamed ? "unnamed call" : "call";
	if (!launch(unnamed ? increment_any : late ? late_increment : increment, t->held_size, t->size / 4, args, 1))
		return;
	for (size_t i = 0; i < t->size; i += 4) {
		memcpy(&word, t->model + i, 4);
		word++;
		memcpy(t->model + i, &word, 4);
	}
	t->called = true;
}

static void add_two(struct thing *a, struct thing *b, struct thing *sum)
{
	size_t size = a->size < b->size ? a->size : b->size;
	/* What the kernel declares to overwrite it must overwrite whole. */
	const adsmArg args[] = { adsmPtr(a->p), adsmPtr(b->p),
				 size >= sum->size ? adsmPtr(sum->p) : adsmInOut(sum->p) };
	unsigned x, y;

	doing = "add";
	if (sum->size < size)
		size = sum->size;
	if (!launch(add, a->held_size || b->held_size || sum->held_size, size / 4, args, 3))
		return;
	for (size_t i = 0; i < size; i += 4) {
		memcpy(&x, a->model + i, 4);
		memcpy(&y, b->model + i, 4);
		x += y;
		memcpy(sum->model + i, &x, 4);
	}
	a->called = b->called = sum->called = true;
}

/* A kernel that reads its input long after the call. */
static void copy_late(struct thing *from, struct thing *to)
{
	const size_t size = from->size < to->size ? from->size : to->size;
	const adsmArg args[] = { adsmPtr(from->p), size == to->size ? adsmPtr(to->p) : adsmInOut(to->p) };

	doing = "late copy";
	if (!launch(late_copy, from->held_size || to->held_size, size / 4, args, 2))
		return;
	memmove(to->model, from->model, size);
	from->called = to->called = true;
}

static void copy_some(struct thing *things, struct thing *to, struct thing *from)
{
	size_t a, b, size, other;

	if (to == from)
		return;
	settle(things, to);
	settle(things, from);
	doing = "memcpy";
	range_of(to, &a, &size);
	range_of(from, &b, &other);
	if (!draw(3))
		a = b = 0, size = to->size, other = from->size;
	if (other < size)
		size = other;
	memcpy(to->model + a, from->model + b, size);
	REPEAT(adsmMemcpy(to->p + a, from->p + b, size));
}

/* With ordinary memory on one side. */
static void copy_through(struct thing *things, struct thing *t)
{
	unsigned char *buffer = malloc(t->size);
	size_t first, size;

	CHECK(buffer);
	settle(things, t);
	range_of(t, &first, &size);
	if (draw(2)) {
		doing = "memcpy out";
		REPEAT(adsmMemcpy(buffer, t->p + first, size));
		CHECK(!memcmp(buffer, t->model + first, size));
	} else {
		doing = "memcpy in";
		for (size_t i = 0; i < size; i++)
			buffer[i] = (unsigned char)(i * 7 + first);
		memcpy(t->model + first, buffer, size);
		REPEAT(adsmMemcpy(t->p + first, buffer, size));
	}
	free(buffer);
}

static void set_some(struct thing *things, struct thing *t)
{
	int value = (int)draw(256);
	size_t first, size;

	settle(things, t);
	doing = "memset";
	range_of(t, &first, &size);
	memset(t->model + first, value, size);
	REPEAT(adsmMemset(t->p + first, value, size));
}

static void unhold(struct thing *t)
{
	doing = "unhold";
	/* What was promised to be overwritten is, before the hold ends. */
	touch(t, t->held, t->held + t->held_size, 1, t->access != ADSM_ACCESS_IN);
	CHECK(!adsmUnhold(t->p + t->held, t->held_size));
	t->held_size = 0;
}

static void hold(struct thing *things, struct thing *t)
{
	if (t->held_size) {
		unhold(t);
		return;
	}
	settle(things, t);
	doing = "hold";
	range_of(t, &t->held, &t->held_size);
	t->access = (unsigned)draw(3) + 1;
	REPEAT(adsmHold(t->p + t->held, t->held_size, (int)t->access));
	if (t->access == ADSM_ACCESS_OUT)
		for (size_t i = t->held; i < t->held + t->held_size; i++)
			t->model[i] = (unsigned char)~i;
	if (t->access != ADSM_ACCESS_IN)
		touch(t, t->held, t->held + t->held_size, 1, true);
}

static void end_thing(struct thing *things, struct thing *t)
{
	if (t->held_size) {
		doing = "free while held";
		CHECK(adsmFree(t->p) == -EBUSY);
		unhold(t);
	}
	settle(things, t);
	doing = "last look";
	touch(t, 0, t->size, 1, false);
	doing = "free";
	REPEAT(adsmFree(t->p));
	free(t->model);
	t->p = NULL;
}

static void look(struct thing *t)
{
	adsmObjectProps info = { .struct_size = sizeof(info) };

	doing = "info";
	CHECK(!adsmObjectInfo(t->p + draw(t->size), &info));
	CHECK(info.address == t->p && info.size == t->size);
	CHECK(info.n_invalid + info.n_read_only + info.n_dirty == info.n_blocks);
}

static void *run(void *data)
{
	struct thing things[OBJECTS] = { 0 };
	int n_devices;

	me = (unsigned)(uintptr_t)data;
	state = seed * 1000 + me;
	n_devices = adsmDeviceCount();
	CHECK(n_devices > 0 && !adsmDeviceSet((int)me % n_devices));
	while (now_ns() < deadline) {
		struct thing *t = any(things);

		n_operations++;
		if (!t) {
			new_thing(things);
			continue;
		}
		switch (draw(18)) {
		case 0: case 1: new_thing(things); break;
		case 2: case 3: write_some(things, t); break;
		case 4: case 5: read_some(things, t); break;
		case 6: case 7: increment_one(t); break;
		case 8: add_two(t, any(things), any(things)); break;
		case 9: copy_some(things, t, any(things)); break;
		case 10: copy_through(things, t); break;
		case 11: set_some(things, t); break;
		case 12: hold(things, t); break;
		case 13: sync_all(things); break;
		case 14: look(t); break;
		case 15: case 16: copy_late(t, any(things)); break;
		case 17:
			if (!draw(3))
				end_thing(things, t);
			break;
		}
	}
	for (int i = 0; i < OBJECTS; i++)
		if (things[i].p)
			end_thing(things, &things[i]);
	sync_all(things);
	return NULL;
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (!*text || *end) {
		fprintf(stderr, "usage: stress [--seconds N] [--threads N] [--seed N]\n");
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_sigbus };
	const char *folder = getenv("TEST_KERNELS"), *wrap = getenv("ADSM_WRAP"), *paper = getenv("ADSM_PAPER");
	pthread_t threads[MAX_THREADS];
	unsigned long seconds = 1;
	adsmModule *module;
	char path[4096];

	seed = now_ns() % 1000000;
	for (int i = 1; i < argc; i += 2) {
		unsigned long n = number(i + 1 < argc ? argv[i + 1] : "");

		if (!strcmp(argv[i], "--seconds"))
			seconds = n;
		else if (!strcmp(argv[i], "--threads") && n && n <= MAX_THREADS)
			n_threads = (unsigned)n;
		else if (!strcmp(argv[i], "--seed"))
			seed = n;
		else
			number("");
	}
	fails = wrap && strstr(wrap, "fail=");
	all_unnamed = paper && !strcmp(paper, "1");
	/* What is written where nothing is seen is lost when somebody's unnamed call takes it. */
	with_batch = !all_unnamed && seed % 2;
	printf("stress: --seed %lu --threads %u --seconds %lu\n", (unsigned long)seed, n_threads, seconds);
	fflush(stdout);
	CHECK(folder && !sigaction(SIGBUS, &action, NULL));
	snprintf(path, sizeof(path), "%s/conform.adsm", folder);
	module = adsmModuleLoad(path);
	CHECK(module);
	increment = adsmKernelGet(module, "increment");
	increment_any = adsmKernelGet(module, "increment_any");
	add = adsmKernelGet(module, "add");
	late_increment = adsmKernelGet(module, "late_increment");
	late_copy = adsmKernelGet(module, "late_copy");
	CHECK(increment && increment_any && add && late_increment && late_copy);
	deadline = now_ns() + seconds * 1000000000u;
	for (uintptr_t t = 0; t < n_threads; t++)
		CHECK(!pthread_create(&threads[t], NULL, run, (void *)t));
	for (unsigned t = 0; t < n_threads; t++)
		CHECK(!pthread_join(threads[t], NULL));
	REPEAT(adsmModuleUnload(module));
	REPEAT(adsmShutdown());
	printf("stress: %lu operations\n", (unsigned long)n_operations);
	return 0;
}
