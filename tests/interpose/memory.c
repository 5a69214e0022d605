/* SPDX-License-Identifier: MIT */
/* memory.c - memcpy and its family on shared memory: the same bytes and results as on ordinary memory. */
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"

void *__mempcpy(void *dst, const void *src, size_t size);
void *__memcpy_chk(void *dst, const void *src, size_t size, size_t room);
void *__memmove_chk(void *dst, const void *src, size_t size, size_t room);
void *__mempcpy_chk(void *dst, const void *src, size_t size, size_t room);
void *__memset_chk(void *dst, int value, size_t size, size_t room);
void __explicit_bzero_chk(void *dst, size_t size, size_t room);

/* ---- the functions; through pointers that no compiler sees through */

static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static void *(*volatile move)(void *, const void *, size_t) = memmove;
static void *(*volatile copy_end)(void *, const void *, size_t) = mempcpy;
static void *(*volatile copy_end_2)(void *, const void *, size_t) = __mempcpy;
static void (*volatile old_move)(const void *, void *, size_t) = bcopy;
static void *(*volatile fill)(void *, int, size_t) = memset;
static void (*volatile zero)(void *, size_t) = bzero;
static void (*volatile zero_really)(void *, size_t) = explicit_bzero;
static void *(*volatile copy_checked)(void *, const void *, size_t, size_t) = __memcpy_chk;
static void *(*volatile move_checked)(void *, const void *, size_t, size_t) = __memmove_chk;
static void *(*volatile copy_end_checked)(void *, const void *, size_t, size_t) = __mempcpy_chk;
static void *(*volatile fill_checked)(void *, int, size_t, size_t) = __memset_chk;
static void (*volatile zero_checked)(void *, size_t, size_t) = __explicit_bzero_chk;

/* Each returns its result's distance from @dst. */
#define RUN(name, call)									\
	static ptrdiff_t run_##name(char *dst, const char *src, size_t size)		\
	{										\
		return (char *)(call) - dst;						\
	}
RUN(memcpy, copy(dst, src, size))
RUN(memmove, move(dst, src, size))
RUN(mempcpy, copy_end(dst, src, size))
RUN(mempcpy_2, copy_end_2(dst, src, size))
RUN(bcopy, (old_move(src, dst, size), dst))
RUN(memset, fill(dst, 0x1a5, size))
RUN(bzero, (zero(dst, size), dst))
RUN(explicit_bzero, (zero_really(dst, size), dst))
RUN(memcpy_chk, copy_checked(dst, src, size, size))
RUN(memmove_chk, move_checked(dst, src, size, size + 1))
RUN(mempcpy_chk, copy_end_checked(dst, src, size, SIZE_MAX))
RUN(memset_chk, fill_checked(dst, -1, size, size))
RUN(explicit_bzero_chk, (zero_checked(dst, size, size), dst))

enum kind { COPY, MOVE, FILL };		/* a move takes any overlap */

static const struct function {
	const char *name;
	ptrdiff_t (*run)(char *dst, const char *src, size_t size);
	enum kind kind;
	int value;			/* of a fill */
	bool end;			/* returns where it ended */
	bool brief;			/* the same code as one before it: a few sizes will do */
} functions[] = {
	{ "memcpy", run_memcpy, COPY, 0, false, false },
	{ "memmove", run_memmove, MOVE, 0, false, false },
	{ "memset", run_memset, FILL, 0x1a5, false, false },
	{ "mempcpy", run_mempcpy, COPY, 0, true, true },
	{ "__mempcpy", run_mempcpy_2, COPY, 0, true, true },
	{ "bcopy", run_bcopy, MOVE, 0, false, true },
	{ "bzero", run_bzero, FILL, 0, false, true },
	{ "explicit_bzero", run_explicit_bzero, FILL, 0, false, true },
	{ "__memcpy_chk", run_memcpy_chk, COPY, 0, false, true },
	{ "__memmove_chk", run_memmove_chk, MOVE, 0, false, true },
	{ "__mempcpy_chk", run_mempcpy_chk, COPY, 0, true, true },
	{ "__memset_chk", run_memset_chk, FILL, -1, false, true },
	{ "__explicit_bzero_chk", run_explicit_bzero_chk, FILL, 0, false, true },
};
#define N_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* ---- objects and their models */

enum state { DIRTY, INVALID, READ_ONLY, N_STATES };

#define SIZE_OF(unit) (5 * (unit) + 100)
#define MAX_SIZE SIZE_OF((size_t)64 << 10)

/* Memory, shared or not, what it must hold, and an object on the same device for a kernel's copy of it. */
struct memory {
	char *p;
	unsigned *seen;
	_Alignas(8) char want[MAX_SIZE];
};

static struct memory a, b, private;
static size_t unit, size;		/* a block; an object of five and a part */

static void *allocate(struct memory *m, int device)
{
	CHECK_OK(adsmDeviceSet(device));
	m->p = alloc(size);
	m->seen = alloc(size);
	return m->p;
}

static void start(int second_device)
{
	const char *block = getenv("ADSM_BLOCK_SIZE");

	unit = block && !strcmp(block, "4K") ? 4096 : 65536;
	size = SIZE_OF(unit);
	allocate(&a, 0);
	allocate(&b, second_device);
	private.p = malloc(size);
	CHECK(private.p);
}

/* New bytes everywhere. */
static void prepare(struct memory *m, enum state state)
{
	static uint64_t seed = 7;
	unsigned n = (unsigned)(size / 4);

	for (size_t i = 0; i < size / 8; i++)
		((uint64_t *)m->p)[i] = ((uint64_t *)m->want)[i] = draw(&seed);
	for (size_t i = size & ~(size_t)7; i < size; i++)
		m->p[i] = m->want[i] = (char)i;
	if (state == INVALID)
		CALL("increment", n, adsmInOut(m->p), adsmVal(0u));
	else if (state == READ_ONLY)
		CALL("copy", n, adsmIn(m->p), adsmOut(m->seen), adsmVal(n));
	SETTLE();
}

static void compare(const char *what, const char *who, const char *got, const struct memory *m)
{
	for (size_t i = 0; i < size; i++)
		if (got[i] != m->want[i])
			FAIL("%s: %s is %d at %zu, not %d", what, who, got[i], i, m->want[i]);
}

static void check(const char *what, struct memory *m)
{
	static unsigned turn;
	unsigned n = (unsigned)(size / 4);

	if (turn % 2)
		compare(what, "what the CPU sees", m->p, m);
	if (m->seen) {
		CALL("copy", n, adsmIn(m->p), adsmOut(m->seen), adsmVal(n));
		SETTLE();
		compare(what, "what the kernel sees", (char *)m->seen, m);
	}
	if (turn++ % 2 == 0)
		compare(what, "what the CPU sees", m->p, m);
}

/* What a function should do, without calling any. */
static void model(const struct function *f, char *dst, const char *src, size_t n)
{
	static char taken[MAX_SIZE];

	for (size_t i = 0; i < n; i++)
		((volatile char *)taken)[i] = f->kind == FILL ? (char)f->value : src[i];
	for (size_t i = 0; i < n; i++)
		((volatile char *)dst)[i] = taken[i];
}

/* One call. */
static void try(const struct function *f, struct memory *to, size_t to_at, enum state to_state,
		struct memory *from, size_t from_at, enum state from_state, size_t n)
{
	ptrdiff_t got;
	char what[160];

	if (to_at + n > size || from_at + n > size)
		return;
	snprintf(what, sizeof(what), "%s of %zu bytes to %zu, state %d, from %zu, state %d", f->name, n, to_at,
		 to_state, from_at, from_state);
	prepare(to, to_state);
	if (from != to)
		prepare(from, from_state);
	model(f, to->want + to_at, from->want + from_at, n);
	errno = 4321;
	got = f->run(to->p + to_at, from->p + from_at, n);
	if (errno != 4321 || got != (f->end ? (ptrdiff_t)n : 0))
		FAIL("%s: result %td; errno %d", what, got, errno);
	check(what, to);
	if (from != to)
		check(what, from);
}

static void try_sizes(const struct function *f, struct memory *to, size_t to_at, enum state to_state,
		      struct memory *from, size_t from_at, enum state from_state)
{
	const size_t brief[] = { 0, 7, unit + 1, 3 * unit };
	const size_t to_end = size - (to_at > from_at ? to_at : from_at);
	const size_t all[] = { 0, 1, 7, 16, unit - 1, unit, unit + 1, 3 * unit, to_end };
	const size_t *sizes = f->brief ? brief : all;

	for (size_t i = 0; i < (f->brief ? sizeof(brief) : sizeof(all)) / sizeof(size_t); i++)
		try(f, to, to_at, to_state, from, from_at, from_state, sizes[i]);
}

/* What need not be tried: ordinary memory has one state, and a fill no source. */
static bool same_again(const struct function *f, struct memory *to, enum state to_state, struct memory *from,
		       enum state from_state)
{
	return (from_state && (!from->seen || f->kind == FILL)) || (to_state && !to->seen) ||
		(f->brief && (to_state == READ_ONLY || from_state == READ_ONLY));
}

/* Every function, state and alignment. */
static void try_all(struct memory *to, struct memory *from, bool fills)
{
	const size_t at[][2] = { { unit, unit }, { unit + 1, unit }, { 0, 3 }, { unit - 5, 5 } };

	for (const struct function *f = functions; f < functions + N_FUNCTIONS; f++)
		for (size_t k = 0; k < 4 && (fills || f->kind != FILL); k += f->brief ? 2 : 1)
			for (enum state t = 0; t < N_STATES; t++)
				for (enum state s = 0; s < N_STATES; s++)
					if (!same_again(f, to, t, from, s))
						try_sizes(f, to, at[k][0], t, from, at[k][1], s);
}

static void to_shared(void)
{
	start(0);
	try_all(&a, &private, true);
}

static void from_shared(void)
{
	start(0);
	try_all(&private, &a, false);
}

static void between(void)
{
	start(0);
	try_all(&a, &b, false);
}

static void devices(void)
{
	set("cpu_devices", "2");
	start(1);
	CHECK_EQ(info(a.p).device, 0);
	CHECK_EQ(info(b.p).device, 1);
	try_all(&a, &b, true);
	try_all(&b, &a, false);
}

static void overlapping(void)
{
	start(0);
	const size_t at[][2] = {
		{ 0, 1 }, { 1, 0 }, { 0, 0 }, { unit, 0 }, { 0, unit },
		{ unit - 8, 8 }, { 8, unit - 8 }, { 2 * unit, unit - 3 },
	};

	for (const struct function *f = functions; f < functions + N_FUNCTIONS; f++)
		for (size_t k = 0; f->kind == MOVE && k < sizeof(at) / sizeof(at[0]); k++)
			for (enum state s = 0; s < N_STATES; s++)
				try_sizes(f, &a, at[k][0], s, &a, at[k][1], s);
	/* Side by side in one object, too. */
	for (enum state s = 0; s < N_STATES; s++) {
		try(functions, &a, 3 * unit, s, &a, unit, s, 2 * unit);
		try(functions, &a, unit, s, &a, 3 * unit + 77, s, 2 * unit);
		try(functions, &a, 2 * unit + 100, s, &a, 50, s, 2 * unit);
	}
}

/* ---- what moves */

static adsmStats since;

static void start_counting(void)
{
	since = stats();
}

static void moved(uint64_t h2d, uint64_t d2h)
{
	adsmStats now = stats();

	CHECK_EQ(now.h2d_bytes - since.h2d_bytes, h2d);
	CHECK_EQ(now.d2h_bytes - since.d2h_bytes, d2h);
}

/* Whole blocks that the device has, or needs not: no byte goes over the link. */
static void no_link(void)
{
	size_t bytes = (size_t)64 << 20, n = bytes / 4;
	unsigned *to, *from, sum = 0;

	set("rolling_size", "1000000");	/* nothing leaves early */
	to = words(n, 7);
	from = words(n, 0);
	for (unsigned round = 1; round <= 3; round++) {
		CALL("increment", n, adsmInOut(from), adsmVal((unsigned)n));
		SYNC();
		for (size_t i = 0; round == 2 && i < n; i++)
			sum += from[i];		/* ReadOnly, no longer Invalid */
		start_counting();
		copy(to, from, bytes);
		moved(0, 0);
		for (size_t i = 0; i < n; i += 333)
			CHECK_AT(to[i], i, i + round);
		to[n - 1] = sum;		/* and Dirty in parts the next time */
	}
	start_counting();
	fill(to, 3, bytes);
	fill(from, 4, bytes);
	moved(0, 0);
	for (size_t i = 0; i < n; i++) {
		CHECK_AT(to[i], i, 0x03030303);
		CHECK_AT(from[i], i, 0x04040404);
	}
	if (!rolling())
		return;
	/* All but the first byte: one block is the CPU's. */
	CALL("increment", n, adsmInOut(to), adsmVal((unsigned)n));
	SYNC();
	start_counting();
	fill((char *)to + 1, 3, bytes - 1);
	CHECK(stats().d2h_bytes - since.d2h_bytes <= info(to).block_size);
	CHECK_EQ(to[0], 0x03030304);
	CHECK_EQ(to[1], 0x03030303);
	/* Inside one object. */
	CALL("increment", n, adsmInOut(to), adsmVal((unsigned)n / 2));
	SYNC();
	start_counting();
	copy(to + n / 2, to, bytes / 2);
	moved(0, 0);
	CHECK_EQ(to[n - 1], 0x03030304);
}

/* What only the CPU has is copied there; what is overwritten is not fetched. */
static void dirty_source(void)
{
	size_t bytes = (size_t)4 << 20, n = bytes / 4;
	unsigned *to, *from, *seen;

	set("rolling_size", "1000000");
	to = words(n, 7);
	seen = words(n, 7);
	from = words(n, 0);
	CALL("increment", n, adsmInOut(to), adsmVal((unsigned)n));
	SYNC();
	start_counting();
	copy(to, from, bytes);
	moved(0, 0);
	CALL("copy", n, adsmIn(to), adsmOut(seen), adsmVal((unsigned)n));
	SYNC();
	for (size_t i = 0; i < n; i++) {
		CHECK_AT(to[i], i, i);
		CHECK_AT(seen[i], i, i);
	}
}

static void queued_behind(void)
{
	unsigned n = 30000, *p = words(n, 0), *q = words(n, 0), word[4];

	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(p), adsmVal(n));
	copy(word, p + 29990, sizeof(word));
	for (unsigned i = 0; i < 4; i++)
		CHECK_AT(word[i], i, 29991 + i);

	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(p), adsmVal(n));
	copy(q + 1, p + 1, (n - 1) * 4);
	fill(p + 5, 0xff, 4);
	for (unsigned i = 0; i < n; i++) {
		CHECK_AT(p[i], i, i == 5 ? 0xffffffff : i + 2);
		CHECK_AT(q[i], i, i ? i + 2 : 0);
	}

	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(p), adsmVal(n));
	copy(q, p, n * 4);
	CHECK_EQ(q[0], 3);
	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(p), adsmVal(n));
	fill(p, 0, n * 4);
	CHECK_EQ(p[3], 0);
	CALL("late_copy", 1, adsmVal(SPIN), adsmPtr(q), adsmPtr(p), adsmVal(n));
	fill(q, 0, n * 4);
	SYNC();
	for (unsigned i = 0; i < n; i++) {
		CHECK_AT(p[i], i, i == 5 ? 0 : i + 3);
		CHECK_AT(q[i], i, 0);
	}
}

/* ---- ranges that are not one object's, and other old mistakes */

static void misaligned(void)
{
	uint64_t seed = 5;

	start(0);
	for (unsigned i = 0; i < 60; i++) {
		size_t to_at = 1 + draw(&seed) % (2 * unit), from_at = 1 + draw(&seed) % (2 * unit);
		size_t n = draw(&seed) % (size - (to_at > from_at ? to_at : from_at)) + 1;

		try(&functions[i % 2], &a, to_at | 1, (enum state)(i / 2 % 3), &b, from_at & ~(size_t)1,
		    (enum state)(i / 6 % 3), n & ~(size_t)1);
	}
}

/* Two objects side by side: the first ends where the second begins. */
static void side_by_side(size_t bytes, char **ret_first, char **ret_second)
{
	char *last = alloc(bytes);

	for (unsigned i = 0; i < 100; i++) {
		char *next = alloc(bytes);

		if (next == last + bytes || last == next + bytes) {
			*ret_first = next < last ? next : last;
			*ret_second = next < last ? last : next;
			return;
		}
		last = next;
	}
	skip("no two objects lie side by side");
}

static void expect(const char *first, const char *second, size_t bytes, const char *want)
{
	for (size_t i = 0; i < 2 * bytes; i++)
		CHECK_AT(i < bytes ? first[i] : second[i - bytes], i, want[i]);
}

static void invalidate(char *p, size_t bytes, char *want)
{
	CALL("increment_bytes", bytes, adsmInOut(p), adsmVal((unsigned)bytes));
	SETTLE();
	for (size_t i = 0; i < bytes; i++)
		want[i]++;
}

static void two_objects(void)
{
	size_t bytes, starts[] = { 0, 1, 4000 };
	char *first, *second, *third, *fourth, *want, *data;

	start(0);
	bytes = 3 * unit;
	side_by_side(bytes, &first, &second);
	side_by_side(bytes, &third, &fourth);
	want = malloc(4 * bytes);
	data = malloc(2 * bytes);
	CHECK(want && data);
	fill(want, 0, 4 * bytes);
	fill(first, 0, 2 * bytes);
	fill(third, 0, 2 * bytes);
	for (unsigned round = 0; round < 12; round++) {
		size_t at = starts[round % 3], n = 2 * bytes - 2 * at;

		for (size_t i = 0; i < 2 * bytes; i++)
			data[i] = (char)(i * 13 + round);
		if (round & 1)
			invalidate(first, bytes, want);
		if (round & 2)
			invalidate(second, bytes, want + bytes);
		copy(first + at, data, n);
		copy(want + at, data, n);
		expect(first, second, bytes, want);
		invalidate(second, bytes, want + bytes);
		if (round & 4)
			invalidate(first, bytes, want);
		copy(data, first + at, n);
		for (size_t i = 0; i < n; i++)
			CHECK_AT(data[i], i, want[at + i]);
		invalidate(second, bytes, want + bytes);
		copy(third + at, first + at, n);
		copy(want + 2 * bytes + at, want + at, n);
		expect(third, fourth, bytes, want + 2 * bytes);
		move(first + 1, first, 2 * bytes - 1);
		move(want + 1, want, 2 * bytes - 1);
		fill(second - 5000, 7, 5000 + unit);
		fill(want + bytes - 5000, 7, 5000 + unit);
		expect(first, second, bytes, want);
	}
	free(want);
	free(data);
}

/* An object with nothing on either side, and bytes known to be there. */
static unsigned char *lonely(size_t *ret_bytes)
{
	size_t bytes;
	char *first, *second, *third;

	start(0);
	*ret_bytes = bytes = 3 * unit;
	first = alloc(bytes);
	for (unsigned i = 0; i < 100; i++) {
		second = alloc(bytes);
		third = alloc(bytes);
		if (second == first + bytes && third == second + bytes) {
			CHECK_OK(adsmFree(first));
			CHECK_OK(adsmFree(third));
			fill(second, 0x55, bytes);
			return (unsigned char *)second;
		}
		first = third;
	}
	skip("no three objects lie side by side");
}

static char source[MAX_SIZE];
static size_t range;

static void write_range(volatile unsigned *p)
{
	copy((void *)p, source, range);
}

static void read_range(volatile unsigned *p)
{
	copy(source, (void *)p, range);
}

static void fill_range(volatile unsigned *p)
{
	fill((void *)p, 1, range);
}

/* A range with a part that belongs to no object. */
static void faults(void *p, size_t n)
{
	void (*const touch[])(volatile unsigned *) = { write_range, read_range, fill_range };

	for (size_t i = 0; i < 3; i++) {
		range = n;
		CHECK(raises(SIGSEGV, touch[i], p, n));
	}
}

static void begin_before(void)
{
	size_t bytes;
	unsigned char *p = lonely(&bytes);

	faults(p - 8, 16);
	faults(p - 3000, 3000 + bytes);
	faults(p - unit, 2 * unit);
	CALL("increment_bytes", bytes, adsmInOut(p), adsmVal((unsigned)bytes));
	SYNC();
	fill(p, 2, bytes);
	for (size_t i = 0; i < bytes; i++)
		CHECK_AT(p[i], i, 2);
}

static void end_after(void)
{
	size_t bytes;
	unsigned char *p = lonely(&bytes);

	faults(p + bytes - 8, 16);
	faults(p, bytes + 3000);
	faults(p + bytes - 2 * unit, 3 * unit);
	CALL("increment_bytes", bytes, adsmInOut(p), adsmVal((unsigned)bytes));
	SYNC();
	fill(p, 2, bytes);
	for (size_t i = 0; i < bytes; i++)
		CHECK_AT(p[i], i, 2);
}

/* A source whose pages come when they are touched, by a signal handler that uses shared memory itself. */
static struct {
	char *page;
	char *p, *q;
	size_t bytes;
	volatile unsigned entered;
} depth;

static void on_touch(int signal, siginfo_t *si, void *context)
{
	size_t n = depth.bytes / 2;

	if ((char *)si->si_addr < depth.page || (char *)si->si_addr >= depth.page + PAGE)
		_exit(3);
	depth.entered++;
	fill(depth.q, 1, n);
	copy(depth.q + n, depth.q, n);
	copy(depth.q + 3, "handler", 7);
	move(depth.p + depth.bytes + 1, depth.q, n);
	mprotect(depth.page, PAGE, PROT_READ | PROT_WRITE);
}

static void in_depth(void)
{
	struct sigaction action = { .sa_sigaction = on_touch, .sa_flags = SA_SIGINFO | SA_NODEFER };
	char *data = mmap(NULL, MAX_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(data != MAP_FAILED);
	CHECK(!sigaction(SIGSEGV, &action, NULL));
	start(0);
	depth.bytes = 4 * unit;
	depth.p = alloc(depth.bytes * 2);
	depth.q = alloc(depth.bytes);
	for (size_t i = 0; i < MAX_SIZE; i++)
		data[i] = (char)(i % 127);
	depth.page = data + unit - PAGE;
	for (unsigned round = 0; round < 4; round++) {
		size_t at = round & 1, n = depth.bytes;

		fill(depth.p, 9, 2 * n);
		fill(depth.q, 9, n);
		if (round & 2) {
			CALL("increment_bytes", 1, adsmInOut(depth.p), adsmVal(0u));
			CALL("increment_bytes", 1, adsmInOut(depth.q), adsmVal(0u));
			SETTLE();
		}
		CHECK(!mprotect(depth.page, PAGE, PROT_NONE));
		depth.entered = 0;
		copy(depth.p + at, data, n);
		CHECK_EQ(depth.entered, 1);
		for (size_t i = 0; i < n; i++) {
			CHECK_AT(depth.p[at + i], i, i % 127);
			CHECK_AT(depth.q[i], i, i < 3 || i >= 10 ? 1 : "handler"[i - 3]);
		}
		for (size_t i = n + 1; i < 2 * n; i++)
			CHECK_AT(depth.p[i], i, i >= n + 1 + n / 2 ? 9 : depth.q[i - n - 1]);
	}
}

/* ---- before the library is there */

static char early[4][40];

static void run_early(void)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";

	copy(early[0], letters, 27);
	move(early[0] + 3, early[0], 20);
	move(early[0], early[0] + 1, 10);
	fill(early[1], 'x', 30);
	zero(early[1] + 10, 30);
	*(char *)copy_end(early[2], letters, 5) = '!';
	copy_checked(early[2] + 6, letters, 7, 7);
	if (early[3][0])
		_exit(4);
	copy(early[3], letters, 0);
}

#ifdef __SANITIZE_ADDRESS__
__attribute__((constructor(101))) static void first(void)
{
	run_early();
}
#else
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = run_early;
#endif

static void before_start(void)
{
	CHECK(!strcmp(early[0], "bcabcdefghhijklmnopqrstxyz"));
	CHECK(!strcmp(early[1], "xxxxxxxxxx"));
	CHECK(!strcmp(early[2], "abcde!abcdefg"));
	CHECK(!early[3][0]);
}

/* An overflow that the compiler's checks have found ends the program as it did. */
static void checked(void)
{
	for (int i = 0; i < 5; i++) {
		char buffer[16];
		int status;
		pid_t child = fork();

		if (!child) {
			/* libc says why on the terminal, or here. */
			close(STDERR_FILENO);
			setsid();
			if (i == 0)
				copy_checked(buffer, source, 9, 8);
			else if (i == 1)
				move_checked(buffer, source, 9, 8);
			else if (i == 2)
				copy_end_checked(buffer, source, 9, 8);
			else if (i == 3)
				fill_checked(buffer, 0, 9, 8);
			else
				zero_checked(buffer, 9, 8);
			_exit(0);
		}
		CHECK(child > 0 && waitpid(child, &status, 0) == child);
		CHECK(WIFSIGNALED(status));
		CHECK_EQ(WTERMSIG(status), SIGABRT);
	}
}

static const struct conform_case cases[] = {
	CASE("to-shared", to_shared),
	CASE("from-shared", from_shared),
	CASE("between", between),
	CASE("devices", devices),
	CASE("overlapping", overlapping),
	FAULT_CASE("no-link", no_link),
	FAULT_CASE("dirty-source", dirty_source),
	FAULT_CASE("queued-behind", queued_behind),
	CASE("misaligned-objects", misaligned),
	CASE("two-objects", two_objects),
	CASE("begin-before", begin_before),
	CASE("end-after", end_after),
	CASE("depth", in_depth),
	CASE("early", before_start),
	CASE("checked", checked),
};
CONFORM_MAIN(cases)
