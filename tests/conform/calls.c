/* SPDX-License-Identifier: MIT */
/* calls.c - calls and syncs: transfers, waits, and the meaning of arguments. */
#include "conform.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t copied(uint64_t bytes)
{
	return unified() ? 0 : bytes;
}

/* An object that a call only reads stays ReadOnly. An object that a named call does not name stays unchanged. */
static void named(void)
{
	unsigned n = 1000, *a = words(n, 1), *b = words(n, 2), *c = words(n, 3), *other = words(n, 4);
	uint64_t before;

	CALL("add", n, adsmPtr(a), adsmPtr(b), adsmPtr(c), adsmVal(n));
	CHECK_EQ(info(a).n_read_only, 1);
	CHECK_EQ(info(b).n_read_only, 1);
	CHECK_EQ(info(c).n_invalid, 1);
	CHECK_EQ(info(other).n_dirty, 1);
	CHECK_EQ(object_stats(other).h2d_bytes, 0);
	SYNC();
	before = object_stats(a).h2d_bytes;
	CHECK_EQ(before, copied(n * 4));
	CHECK_EQ(c[5], a[5] + b[5]);
	/* adsmIn(): this call only reads the object, although the kernel declares more. */
	CALL("increment", 0, adsmIn(a), adsmVal(0u));
	CHECK_EQ(info(a).n_read_only, 1);
	CHECK_EQ(object_stats(a).h2d_bytes, before);
	SYNC();
	CHECK_EQ(a[7], 8);
	CHECK_EQ(other[7], 11);
	CHECK_EQ(object_stats(a).d2h_bytes, 0);
}

/* A call with a pointer of unknown access may use every object. */
static void unnamed(void)
{
	unsigned n = 1000, *a = words(n, 1), *other = words(n, 4);

	CALL("increment_any", n, adsmPtr(a), adsmVal(n));
	CHECK_EQ(info(a).n_invalid, 1);
	CHECK_EQ(info(other).n_invalid, 1);
	SYNC();
	CHECK_EQ(a[7], 9);
	CHECK_EQ(other[7], 11);
	/* Every pointer named: the others are left alone. */
	CALL("increment_any", n, adsmInOut(a), adsmVal(n));
	CHECK_EQ(info(other).n_invalid, 0);
	SYNC();
	CHECK_EQ(a[7], 10);
}

/* An unnamed call may reach an object that no argument points to. */
static void unnamed_reaches(void)
{
	unsigned n = 1000, *other = words(n, 4), **table = alloc(sizeof(*table));

	*table = in_data(other);
	other[8] += 100;
	CALL("through_any", n, adsmPtr(table), adsmVal(n));
	SYNC();
	CHECK_EQ(other[7], 12);
	CHECK_EQ(other[8], 113);
}

/* An object that a call overwrites completely is not sent. */
static void out(void)
{
	unsigned n = 1024, *a = words(n, 1), *b = words(n, 2), *c = words(n, 3);

	CALL("add", n, adsmPtr(a), adsmPtr(b), adsmPtr(c), adsmVal(n));
	SYNC();
	CHECK_EQ(object_stats(c).h2d_bytes, 0);
	CHECK_EQ(object_stats(a).h2d_bytes, copied(n * 4));
	for (unsigned i = 0; i < n; i++)
		CHECK_AT(c[i], i, i * 2 + 3);
	CHECK_EQ(object_stats(c).d2h_bytes, copied(n * 4));
}

static void two_calls(void)
{
	unsigned n = 40000, *a = words(n, 0), *b = words(n, 0);

	CALL("increment", n, adsmPtr(a), adsmVal(n));
	CALL("increment_any", n, adsmPtr(a), adsmVal(n));
	CALL("add", n, adsmPtr(a), adsmPtr(a), adsmPtr(b), adsmVal(n));
	CALL("increment", n, adsmPtr(b), adsmVal(n));
	SYNC();
	for (unsigned i = 0; i < n; i++) {
		CHECK_AT(a[i], i, i + 2);
		CHECK_AT(b[i], i, 2 * (i + 2) + 1);
	}
}

/* More calls than any queue has places. */
static void many_calls(void)
{
	unsigned n = 600, *a = words(n, 0);

	for (unsigned i = 0; i < 3000; i++)
		CALL("increment", n, adsmPtr(a), adsmVal(n));
	SYNC();
	for (unsigned i = 0; i < n; i++)
		CHECK_AT(a[i], i, i + 3000);
}

struct turns {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned turn;
	unsigned *list;
};

#define TURNS 200u

static void *take_turns(void *data)
{
	struct turns *turns = data;

	pthread_mutex_lock(&turns->lock);
	while (turns->turn < TURNS) {
		unsigned mine = turns->turn++;

		CALL("append", 1, adsmPtr(turns->list), adsmVal(mine));
		pthread_cond_signal(&turns->changed);
		while (turns->turn == mine + 1 && turns->turn < TURNS)
			pthread_cond_wait(&turns->changed, &turns->lock);
	}
	pthread_cond_signal(&turns->changed);
	pthread_mutex_unlock(&turns->lock);
	SYNC();
	return NULL;
}

/* The calls of two threads run in the order of their launches. */
static void order(void)
{
	struct turns turns = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, words(TURNS + 1, 0) };
	pthread_t other;

	CHECK(!pthread_create(&other, NULL, take_turns, &turns));
	take_turns(&turns);
	CHECK(!pthread_join(other, NULL));
	SYNC();
	CHECK_EQ(turns.list[0], TURNS);
	for (unsigned i = 0; i < TURNS; i++)
		CHECK_AT(turns.list[i + 1], i, i);
}

static void constants(void)
{
	static unsigned char table[ADSM_CONST_MAX + 1];
	static const unsigned sizes[] = { 1, 2, 4097, ADSM_CONST_MAX };
	unsigned char *p = alloc(ADSM_CONST_MAX + 1), *q = alloc(ADSM_CONST_MAX + 1);
	adsmStats before = stats();
	uint64_t bytes = 0;

	for (unsigned s = 0; s < 4; s++) {
		unsigned n = sizes[s];

		/* The bytes are copied at the call, not when the kernel begins. */
		CALL("late_copy", 1, adsmVal(SPIN / 10), adsmPtr(q), adsmOut(q), adsmVal(0u));
		for (unsigned i = 0; i < n; i++)
			table[i] = (unsigned char)(i * 3 + n);
		CALL("from_const", n, adsmPtr(p), adsmConst(table, n), adsmVal(n));
		memset(table, 0, sizeof(table));
		SYNC();
		for (unsigned i = 0; i < n; i++)
			CHECK_AT(p[i], i, (unsigned char)(i * 3 + n));
		bytes += n;
	}
	CHECK_EQ(stats().const_bytes - before.const_bytes, bytes);
	CHECK_ERROR(adsmCall(kernel("from_const"), blocks(1), lanes(), adsmPtr(p), adsmConst(table, sizeof(table)),
			     adsmVal(1u)), EINVAL);
	CHECK_SAYS("table");
	CALL("from_const", 1, adsmPtr(p), adsmConst(table, 1), adsmVal(1u));
	SYNC();
	CHECK_EQ(p[0], 0);
}

/* Constants and values may lie in shared memory, even if a call writes it. */
static void values_shared(void)
{
	unsigned char *to = alloc(PAGE), *table = alloc(PAGE);
	unsigned n = 100, *count = words(1, n - 1), *a = words(n, 0);
	const adsmArg args[] = { adsmInOut(a), { ADSM_ARG_VALUE, ADSM_ACCESS_IN, count, sizeof(*count) } };

	memset(table, 7, n);
	CALL("from_const", n, adsmOut(to), adsmConst(table, n), adsmVal(n));
	SYNC();
	CHECK_EQ(to[n - 1], 7);
	CALL("increment_bytes", n, adsmInOut(table), adsmVal(n));
	SETTLE();
	CALL("from_const", n, adsmOut(to), adsmConst(table, n), adsmVal(n));
	CALL("late_increment", 1, adsmVal(SPIN / 10), adsmInOut(count), adsmVal(1u));
	SETTLE();
	CHECK_OK(adsmCallArgs(kernel("increment"), blocks(n), lanes(), args, 2));
	SYNC();
	CHECK_EQ(to[n - 1], 8);
	CHECK_EQ(a[n - 1], n);
}

static void values(void)
{
	struct { signed char a; short b; unsigned c; } t = { -3, -300, 4000000000u };
	signed char c = -5;
	long *p = alloc(5 * sizeof(*p)), l = -5000000000;
	float *fraction = alloc(2 * sizeof(*fraction));

	CALL("values", 1, adsmPtr(p), adsmPtr(fraction), adsmVal(c), adsmVal(l), adsmVal(0.1f), adsmVal(t));
	/* Copied at the call. */
	t.b = 0;
	c = 0;
	l = 0;
	SYNC();
	CHECK_EQ(p[0], -5);
	CHECK_EQ(p[1], -5000000000);
	CHECK_EQ(p[2], -3);
	CHECK_EQ(p[3], -300);
	CHECK_EQ(p[4], 4000000000);
	CHECK(*fraction == 0.1f);
	/* The exact square of 1 + 2^-12 is 1 + 2^-11 + 2^-24. Every device must round it: no fused multiply-add. */
	CALL("unfused", 1, adsmPtr(fraction), adsmVal(1 + 0x1p-12f), adsmVal(1 + 0x1p-11f));
	SYNC();
	CHECK(fraction[0] == 0 && fraction[1] == 0);
}

static void values_double(void)
{
	adsmModule *module = adsmModuleLoad(module_path("double"));
	adsmKernel *scale;
	adsmDim three = { 3, 1, 1 };
	double *p = alloc(3 * sizeof(*p));
	int err;

	CHECK(module);
	scale = adsmKernelGet(module, "scale");
	CHECK(scale);
	for (unsigned i = 0; i < 3; i++)
		p[i] = i + 0.1;
	err = adsmCall(scale, blocks(1), three, adsmPtr(p), adsmVal(0.3));
	if (err == -ENOEXEC && strstr(adsmLastError(), "fp64"))
		skip("the device has no double precision");
	CHECK_OK(err);
	SYNC();
	for (unsigned i = 0; i < 3; i++)
		CHECK(p[i] == (i + 0.1) * 0.3);
	CHECK_OK(adsmModuleUnload(module));
}

static void null(void)
{
	unsigned *p = words(1, 9);

	CALL("is_null", 1, adsmPtr(NULL), adsmPtr(p));
	SYNC();
	CHECK_EQ(p[0], 1);
	CALL("is_null", 1, adsmPtr(p), adsmOut(p));
	SYNC();
	CHECK_EQ(p[0], 0);
}

static void dimensions(void)
{
	adsmDim grid = { 3, 2, 4 }, block = { 5, 3, 2 }, none = { 0, 0, 0 };
	unsigned w = grid.x * block.x, h = grid.y * block.y, d = grid.z * block.z, *p = words(w * h * d, 0);

	CHECK_OK(adsmCall(kernel("places"), grid, block, adsmPtr(p)));
	SYNC();
	for (unsigned z = 0; z < d; z++)
		for (unsigned y = 0; y < h; y++)
			for (unsigned x = 0; x < w; x++)
				CHECK_AT(p[(z * h + y) * w + x], (z * h + y) * w + x,
					 x / 5 | y / 3 << 4 | z / 2 << 8 | x % 5 << 12 | y % 3 << 16 | z % 2 << 20);
	/* A component of 0 counts as 1. */
	p[0] = 1;
	CHECK_OK(adsmCall(kernel("increment"), none, none, adsmPtr(p), adsmVal(1u)));
	SYNC();
	CHECK_EQ(p[0], 2);
}

/* adsmUse(): a kernel may use an object that none of its arguments points to. */
static void use(void)
{
	unsigned n = 50000, *a = words(n, 0), *data = words(n, 0), *other = words(n, 0);

	CALL("increment", n, adsmPtr(a), adsmVal(n), adsmUse(data + 5, ADSM_ACCESS_INOUT));
	CHECK_EQ(info(data).n_invalid, info(data).n_blocks);
	CHECK_EQ(info(other).n_invalid, 0);
	SYNC();
	for (unsigned i = 0; i < n; i++) {
		CHECK_AT(a[i], i, i + 1);
		CHECK_AT(data[i], i, i);
		CHECK_AT(other[i], i, i);
	}
}

static void use_reaches(void)
{
	unsigned n = 50000, *data = words(n, 0), *other = words(n, 0);
	struct { unsigned *data; } *ref = alloc(sizeof(*ref));

	ref->data = in_data(data + 10);
	CALL("through", n - 10, adsmPtr(ref), adsmUse(data + 5, ADSM_ACCESS_INOUT), adsmVal(n - 10));
	CHECK_EQ(info(data).n_invalid, info(data).n_blocks);
	CHECK_EQ(info(other).n_invalid, 0);
	SYNC();
	for (unsigned i = 0; i < n; i++) {
		CHECK_AT(data[i], i, i + (i >= 10));
		CHECK_AT(other[i], i, i);
	}
}

/* An object with assignments belongs to those kernels only. */
static void assign(void)
{
	unsigned n = 1000, *data = words(n, 0), *a = words(n, 0);
	unsigned private = 0;

	CHECK_OK(adsmAssign(data, kernel("increment_any"), ADSM_ACCESS_INOUT));
	CALL("increment", n, adsmPtr(a), adsmVal(n));
	CHECK_EQ(info(data).n_dirty, 1);
	SYNC();
	/* A call of the assigned kernel uses the object, although no argument names it. */
	CALL("increment_any", n, adsmPtr(a), adsmVal(n));
	CHECK_EQ(info(data).n_invalid, 1);
	SYNC();
	CHECK_EQ(data[3], 3);
	CHECK_EQ(a[3], 5);

	CHECK_OK(adsmAssign(data, NULL, 0));
	CHECK_OK(adsmAssign(data, kernel("increment_any"), ADSM_ACCESS_IN));
	data[3] = 30;
	CALL("increment_any", n, adsmPtr(a), adsmVal(n));
	CHECK_EQ(info(data).n_invalid, 0);
	SYNC();
	CHECK_EQ(data[3], 30);

	/* The object belongs to all kernels again. */
	CHECK_OK(adsmAssign(data, NULL, 0));
	data[3] = 31;
	CALL("increment_any", n, adsmPtr(a), adsmVal(n));
	CHECK_EQ(info(data).n_invalid, 1);
	SYNC();
	CHECK_EQ(data[3], 31);

	CHECK_ERROR(adsmAssign(&private, kernel("increment"), ADSM_ACCESS_IN), EINVAL);
	CHECK_ERROR(adsmAssign(data, kernel("increment"), 9), EINVAL);
}

/* Unnamed calls of other kernels do not use an object with assignments. */
static void assign_unnamed(void)
{
	unsigned n = 1000, *data = words(n, 0), *a = words(n, 0);

	CHECK_OK(adsmAssign(data, kernel("increment"), ADSM_ACCESS_INOUT));
	CALL("increment_any", n, adsmPtr(a), adsmVal(n));
	CHECK_EQ(info(data).n_dirty, 1);
	CHECK_EQ(object_stats(data).h2d_bytes, 0);
	SYNC();
	CHECK_EQ(data[3], 3);
	CHECK_EQ(a[3], 4);
}

#define ASSIGNED 300u

/* A call uses all objects that are assigned to its kernel; if these are too many, it fails and uses none. */
static void assign_many(void)
{
	unsigned *p[ASSIGNED], left = ASSIGNED, taken;
	int err;

	for (unsigned i = 0; i < ASSIGNED; i++) {
		p[i] = words(1, i);
		CHECK_OK(adsmAssign(p[i], kernel("increment"), ADSM_ACCESS_INOUT));
	}
	while ((err = adsmCall(kernel("increment"), blocks(1), lanes(), adsmPtr(NULL), adsmVal(0u)))) {
		CHECK_EQ(err, -EINVAL);
		CHECK_SAYS("objects");
		for (unsigned i = 0; i < ASSIGNED; i++)
			CHECK_AT(info(p[i]).n_dirty, i, 1);
		CHECK_OK(adsmAssign(p[--left], NULL, 0));
	}
	CHECK(left >= 32);
	for (unsigned i = taken = 0; i < ASSIGNED; i++)
		taken += info(p[i]).n_invalid == 1;
	CHECK_EQ(taken, left);
	SYNC();
	CHECK_EQ(p[left - 1][0], left - 1);
}

/* When a module is unloaded, the objects assigned to its kernels belong to all kernels again. */
static void assign_unload(void)
{
	unsigned n = 1000, *data = words(n, 0), *a = words(n, 0);

	CHECK_OK(adsmAssign(data, kernel("increment"), ADSM_ACCESS_INOUT));
	unload();
	CALL("increment_any", n, adsmPtr(a), adsmVal(n));
	CHECK_EQ(info(data).n_invalid, 1);
	SYNC();
	CHECK_EQ(data[3], 3);
	CHECK_EQ(a[3], 4);
}

/* A touch of an object that a kernel may write waits for the kernel, and sees its results. */
static void touch_waits(void)
{
	unsigned n = 40000, *a = words(n, 0), *b = words(n, 0);

	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(a), adsmVal(n));
	CHECK_EQ(a[n - 1], n);
	CHECK_EQ(a[0], 1);
	SYNC();

	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(a), adsmVal(n));
	a[0] = 100;
	SYNC();
	CHECK_EQ(a[0], 100);
	CHECK_EQ(a[1], 3);
	CHECK_EQ(a[n - 1], n + 1);

	/* The object is written by the second of two calls. */
	CALL("increment", n, adsmPtr(a), adsmVal(n));
	CALL("late_copy", 1, adsmVal(SPIN), adsmPtr(a), adsmPtr(b), adsmVal(n));
	CHECK_EQ(b[0], 101);
	CHECK_EQ(b[n - 1], n + 2);
	b[0] = 7;
	CALL("late_copy", 1, adsmVal(SPIN), adsmPtr(b), adsmPtr(a), adsmVal(n));
	CHECK_EQ(a[0], 7);
	SYNC();
}

/* The CPU can read an object that a running kernel only reads. A write to it waits. */
static void reads_while_running(void)
{
	unsigned n = 30000, *a = words(n, 0), *b = words(n, 0);

	CALL("late_copy", 1, adsmVal(SPIN), adsmPtr(a), adsmPtr(b), adsmVal(n));
	for (unsigned i = 0; i < n; i++)
		CHECK_AT(a[i], i, i);
	CHECK_EQ(object_stats(a).wait_ns, 0);
	CHECK_EQ(object_stats(a).read_faults, 0);
	for (unsigned i = 0; i < n; i++)
		a[i] = 5;
	for (unsigned i = 0; i < n; i++)
		CHECK_AT(b[i], i, i);
	SYNC();
	CALL("increment", n, adsmPtr(a), adsmVal(n));
	SYNC();
	for (unsigned i = 0; i < n; i++)
		CHECK_AT(a[i], i, 6);
}

/* A second call may read an object that is ReadOnly already. Nothing is sent again. */
static void reads_twice(void)
{
	unsigned n = 1000, *a = words(n, 0), *b = words(n, 0), *c = words(n, 0);

	CALL("late_copy", 1, adsmVal(SPIN), adsmPtr(a), adsmPtr(b), adsmVal(n));
	CALL("late_copy", 1, adsmVal(SPIN), adsmPtr(a), adsmPtr(c), adsmVal(n));
	a[0] = 50;	/* waits for both calls */
	SYNC();
	CHECK_EQ(b[0], 0);
	CHECK_EQ(c[0], 0);
	CHECK_EQ(c[9], 9);
	CHECK_EQ(a[0], 50);
	CHECK_EQ(object_stats(a).h2d_bytes, copied(n * 4));
}

static int probe[2];
static unsigned *volatile awaited;
static volatile sig_atomic_t interrupted, still_closed;
static sigjmp_buf away;
static _Atomic int touching;	/* 1: the main thread is in its touch; 2: the touch is over */

static void on_interrupt(int signal)
{
	const int saved_errno = errno;

	/* The raw system call, without a wrapper: the view is closed while the touch waits. */
	still_closed = syscall(SYS_write, probe[1], awaited, 1) == -1 && errno == EFAULT;
	interrupted++;
	errno = saved_errno;
}

static void on_interrupt_jump(int signal)
{
	interrupted++;
	siglongjmp(away, 1);
}

static pid_t toucher;
static pthread_t toucher_thread;

/* Interrupts the main thread once it sleeps in its touch. */
static void *interrupt(void *unused)
{
	while (touching == 1) {
		if (!asleep(toucher))
			continue;
		pthread_kill(toucher_thread, SIGINT);
		break;
	}
	return NULL;
}

/* Signal handlers run while a touch waits. */
static void interrupted_touch(void)
{
	unsigned n = 1000, *a = words(n, 0), rounds = 0;
	pthread_t other;

	CHECK(!pipe(probe));
	signal(SIGINT, on_interrupt);
	awaited = a;
	toucher = gettid();
	toucher_thread = pthread_self();
	/* If the machine was too slow to interrupt the touch, try again with a longer kernel. */
	for (unsigned long spins = SPIN * 2; !still_closed && rounds < 5; spins *= 3, rounds++) {
		CALL("late_increment", 1, adsmVal(spins), adsmPtr(a), adsmVal(n));
		touching = 1;
		CHECK(!pthread_create(&other, NULL, interrupt, NULL));
		CHECK_EQ(a[0], rounds + 1);
		touching = 2;
		CHECK(!pthread_join(other, NULL));
	}
	CHECK(interrupted > 0);
	CHECK(still_closed);
	SYNC();
	CHECK_EQ(a[n - 1], n - 1 + rounds);
}

/* A signal handler may jump out of a touch that waits. The library still works after that. */
static void jumped_touch(void)
{
	unsigned n = 1000, *a = words(n, 0), *b;
	static unsigned rounds;
	static unsigned long spins = SPIN * 2;
	pthread_t other;

	signal(SIGINT, on_interrupt_jump);
	toucher = gettid();
	toucher_thread = pthread_self();
	while (!interrupted && rounds < 5) {
		rounds++;
		CALL("late_increment", 1, adsmVal(spins), adsmPtr(a), adsmVal(n));
		touching = 1;
		CHECK(!pthread_create(&other, NULL, interrupt, NULL));
		if (!sigsetjmp(away, 1))
			touch_read(a);
		else if (info(a).n_invalid != 1)
			interrupted = 0;	/* too late: the touch did not wait any longer */
		touching = 2;
		CHECK(!pthread_join(other, NULL));
		spins *= 3;
	}
	CHECK(interrupted > 0);
	CHECK_EQ(a[n - 1], n - 1 + rounds);
	SYNC();
	b = words(n, 0);
	CALL("add", n, adsmPtr(a), adsmPtr(b), adsmPtr(a), adsmVal(n));
	SYNC();
	CHECK_EQ(a[3], 3 + rounds + 3);
	CHECK_OK(adsmFree(a));
	CHECK_OK(adsmFree(b));
	unload();
	CHECK_OK(adsmShutdown());
}

static void start_late(unsigned long spins, unsigned *a)
{
	CALL("late_increment", 1, adsmVal(spins), adsmPtr(a), adsmVal(1000u));
}

/* ADSM_TOUCH=error: the touch does not wait, and ends in SIGBUS. */
static void touch_error(void)
{
	unsigned *a, rounds = 0;
	bool came = false;

	set("touch", "error");
	a = words(1000, 0);
	for (unsigned long spins = SPIN; !came && rounds < 5; spins *= 3, rounds++) {
		start_late(spins, a);
		came = raises(SIGBUS, touch_write, a + 3, 4);
		SYNC();
	}
	CHECK(came);
	CHECK_EQ(a[1], rounds + 1);
	if (rounds == 1)
		CHECK_EQ(a[3], 4);
	start_late(SPIN, a);
	SYNC();
	CHECK_EQ(a[1], rounds + 2);
	a[1] = 0;
}

struct late {
	pthread_barrier_t called, synced;
	unsigned long spins;
	unsigned *a;
};

static void *call_late(void *data)
{
	struct late *late = data;

	start_late(late->spins, late->a);
	pthread_barrier_wait(&late->called);
	pthread_barrier_wait(&late->synced);
	SYNC();
	return NULL;
}

/* adsmSync() waits for the calls of its own thread only. */
static void sync_own(void)
{
	struct late late;
	bool running = false;
	unsigned rounds = 0;
	pthread_t other;

	/* With this option a touch raises SIGBUS while the kernel still runs. */
	set("touch", "error");
	late.a = words(1000, 0);
	SYNC();
	pthread_barrier_init(&late.called, NULL, 2);
	pthread_barrier_init(&late.synced, NULL, 2);
	for (late.spins = SPIN; !running && rounds < 5; late.spins *= 3, rounds++) {
		CHECK(!pthread_create(&other, NULL, call_late, &late));
		pthread_barrier_wait(&late.called);
		SYNC();
		running = raises(SIGBUS, touch_read, late.a, 4);
		pthread_barrier_wait(&late.synced);
		CHECK(!pthread_join(other, NULL));
		CHECK_EQ(late.a[0], rounds + 1);
	}
	CHECK(running);
}

static void sync_none(void)
{
	unsigned *a;

	SYNC();
	a = words(10, 0);
	SYNC();
	SYNC();
	CHECK_EQ(a[9], 9);
}

/* Freeing an object that a running kernel uses waits for the kernel. */
static void free_running(void)
{
	unsigned n = 20000, *a, *b, *c;

	for (unsigned round = 0; round < 3; round++) {
		a = words(n, round);
		b = words(n, 0);
		CALL("late_copy", 1, adsmVal(SPIN / 2), adsmPtr(a), adsmPtr(b), adsmVal(n));
		CHECK_OK(adsmFree(a));
		c = words(n, 99);	/* in the same place */
		CALL("increment", n, adsmPtr(c), adsmVal(n));
		SYNC();
		for (unsigned i = 0; i < n; i++) {
			CHECK_AT(b[i], i, i + round);
			CHECK_AT(c[i], i, i + 100);
		}
		CALL("late_copy", 1, adsmVal(SPIN / 2), adsmPtr(c), adsmPtr(b), adsmVal(n));
		CHECK_OK(adsmFree(b));
		CHECK_OK(adsmFree(c));
	}
	SYNC();
}

/* Unloading a module waits for its calls. */
static void unload_running(void)
{
	unsigned n = 20000, *a = words(n, 0);

	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(a), adsmVal(n));
	unload();
	SYNC();
	CHECK_EQ(a[n - 1], n);
	CALL("increment", n, adsmPtr(a), adsmVal(n));
	SYNC();
	CHECK_EQ(a[n - 1], n + 1);
	CHECK_OK(adsmModuleUnload(NULL));
}

static void *overwrite_late(void *words)
{
	unsigned **p = words;

	CALL("late_copy", 1, adsmVal(SPIN), adsmPtr(p[0]), adsmPtr(p[1]), adsmVal(100000u));
	return NULL;
}

/*
 * After each call the same word is read first. After some rounds, adsmSync() fetches its block. Whatever happens to the
 * object between call, sync and touch, the touch must see the current bytes.
 */
static void first_read(void)
{
	enum { N = 100000, AT = N / 2, LEARNED = 8, ROUNDS = 12 * LEARNED };
	static unsigned models[2][N];
	unsigned *words_of[2] = { words(N, 0), words(N, 0) };
	/* If the device is a process of this machine, the library does not do this: it would gain nothing. */
	const char *backend = device_props().backend;
	bool fetches = !is_process(backend) && !unified();

	for (unsigned i = 0; i < N; i++)
		models[0][i] = models[1][i] = words_of[0][i];
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned which = round / 2 % 2, disturbance = round / LEARNED % 2 ? round / LEARNED / 2 : 0;
		unsigned *p = words_of[which], *other = words_of[!which], *model = models[which];

		CALL("increment", N, adsmPtr(p), adsmVal(N));
		for (unsigned i = 0; i < N; i++)
			model[i]++;
		if (disturbance == 1) {
			CALL("increment", AT + 1, adsmPtr(p), adsmVal(AT + 1));
			for (unsigned i = 0; i <= AT; i++)
				model[i]++;
		}
		if (disturbance == 2) {
			CHECK_OK(adsmFree(p));
			p = words_of[which] = words(N, 0);
			memcpy(model, p, sizeof(models[0]));
		}
		SYNC();
		if (round == LEARNED - 1 && fetches && info(p).n_blocks > 1)
			CHECK_EQ(info(p).n_invalid, info(p).n_blocks - 1);
		/* Later the block is even opened for writing, because it is always written, too. */
		if (round == LEARNED + 4 && fetches && info(p).n_blocks > 1)
			CHECK_EQ(info(p).n_dirty, 1);
		if (disturbance == 3) {
			CHECK_OK(adsmMemset(p, (int)round, N * 4));
			memset(model, (int)round, N * 4);
		}
		if (disturbance == 4) {
			CHECK_OK(adsmMemcpy(p, other, N * 4));
			memcpy(model, models[!which], N * 4);
		}
		if (disturbance == 5) {
			CALL("increment", N, adsmPtr(p), adsmVal(N));
			for (unsigned i = 0; i < N; i++)
				model[i]++;
			SYNC();
		}
		CHECK_EQ(p[AT], model[AT]);
		p[AT] = model[AT] += round;
		for (unsigned i = 0; i < N; i += N / 7)
			CHECK_AT(p[i], i, model[i]);
	}
	for (unsigned k = 0; k < 2; k++)
		for (unsigned i = 0; i < N; i++)
			CHECK_AT(words_of[k][i], i, models[k][i]);
	/* Here another thread's call writes the object. This thread's sync does not wait for it, but its touch does. */
	for (unsigned round = 0; round < LEARNED && strcmp(info(words_of[1]).protocol, "batch"); round++) {
		pthread_t thread;

		CALL("increment", N, adsmPtr(words_of[1]), adsmVal(N));
		if (round == LEARNED - 1) {
			CHECK(!pthread_create(&thread, NULL, overwrite_late, words_of));
			CHECK(!pthread_join(thread, NULL));
		}
		SYNC();
		CHECK_EQ(words_of[1][AT], round == LEARNED - 1 ? models[0][AT] : models[1][AT] + round + 1);
	}
}

static const struct conform_case cases[] = {
	FAULT_CASE("named", named),
	CASE("unnamed", unnamed),
	CASE("unnamed-reaches", unnamed_reaches),
	CASE("out-not-sent", out),
	CASE("two-calls", two_calls),
	CASE("many-calls", many_calls),
	CASE("order", order),
	CASE("constants", constants),
	CASE("values", values),
	CASE("values-double", values_double),
	CASE("values-shared", values_shared),
	CASE("null", null),
	CASE("dimensions", dimensions),
	CASE("use", use),
	CASE("use-reaches", use_reaches),
	CASE("assign", assign),
	CASE("assign-unnamed", assign_unnamed),
	CASE("assign-many", assign_many),
	CASE("assign-unload", assign_unload),
	FAULT_CASE("touch-waits", touch_waits),
	FAULT_CASE("reads-while-running", reads_while_running),
	FAULT_CASE("reads-twice", reads_twice),
	FAULT_CASE("interrupted-touch", interrupted_touch),
	FAULT_CASE("jumped-touch", jumped_touch),
	FAULT_CASE("touch-error", touch_error),
	FAULT_CASE("sync-own", sync_own),
	CASE("sync-none", sync_none),
	CASE("first-read", first_read),
	CASE("free-running", free_running),
	CASE("unload-running", unload_running),
};
CONFORM_MAIN(cases)
