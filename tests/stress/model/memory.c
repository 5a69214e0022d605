/* SPDX-License-Identifier: MIT */
/* memory.c - objects, loads and stores, bulk copies, holds. */
#include "model.h"

#include <adsm_prefetch.h>
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE ((size_t)4096)

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* ---- objects */

void make_object(struct object *object, size_t size, const adsmAllocOptions *options)
{
	adsmObjectProps info = { .struct_size = sizeof(info) };
	unsigned tries = 0;
	struct spot all;

	object->size = size;
	while (!(object->p = !options && !draw(4) ? adsmSafeAlloc(size) : adsmAllocWith(size, options)))
		again(-errno, &tries, __LINE__);
	object->shadow = malloc(size);
	CHECK(object->shadow && !adsmObjectInfo(object->p, &info));
	object->block_size = info.block_size;
	object->batch = !strcmp(info.protocol, "batch");
	object->called = false;
	object->assigned = 0;
	object->held_size = 0;
	all = whole(object);
	note("alloc", &all, 0);
	/* What a new object holds is undefined, and nothing to look at. */
	make_bytes(object->shadow, size, draw_from(&me->state));
	if (!round_is.fails && draw(2))
		memcpy(object->p, object->shadow, size);
	else if (draw(2))
		REPEAT(adsmMemcpy(object->p, object->shadow, size));
	else
		write_spot(&all);
}

void free_object(struct object *object)
{
	const struct spot all = whole(object);

	note("free", &all, 0);
	REPEAT(adsmFree(object->p));
	free(object->shadow);
	object->p = NULL;
}

struct spot whole(struct object *object)
{
	return (struct spot){ object, object->p, object->shadow, object->size };
}

void sync_all(void)
{
	note("sync", NULL, 0);
	REPEAT(adsmSync());
	me->pending = false;
	for (int i = 0; i < OWN_MAX; i++)
		me->things[i].called = false;
}

/* Before the CPU has anything to do with it. */
void settle(const struct object *object)
{
	if ((round_is.strict && me->pending) || (object->batch && object->called))
		sync_all();
}

struct object *any_thing(void)
{
	const size_t first = draw(OWN_MAX);

	for (size_t i = 0; i < OWN_MAX; i++)
		if (me->things[(first + i) % OWN_MAX].p)
			return &me->things[(first + i) % OWN_MAX];
	return NULL;
}

/* Bytes of this thread's, that the CPU may use now. */
struct spot any_spot(size_t most)
{
	struct object *object = me->n_pieces && draw(2) ? NULL : any_thing();
	struct piece piece;
	size_t first, size;

	if (!object && !me->n_pieces)
		object = &me->for_signals;
	piece = object ? (struct piece){ object, 0, object->size } : me->pieces[draw(me->n_pieces)];
	/* A thread that has nothing else writes where no handler does: the first byte stays the handler's. */
	if (piece.object == &me->for_signals)
		piece.first = piece.size / 2, piece.size -= piece.first;
	first = draw(3) ? draw(piece.size) : 0;
	size = piece.size - first;
	/* Where blocks and objects end. */
	if (!draw(4) && piece.object->block_size < size)
		first += piece.object->block_size - (piece.first + first) % piece.object->block_size - draw(2);
	size = piece.size - first;
	if (size > most)
		size = most;
	if (draw(2))
		size = draw(size) + 1;
	first += piece.first;
	settle(piece.object);
	return (struct spot){ piece.object, piece.object->p + first, piece.object->shadow + first, size };
}

/* @got, what was read of the spot, must be @want. */
void same(const struct spot *spot, const unsigned char *got, const unsigned char *want, size_t size)
{
	atomic_fetch_add_explicit(&record->n_bytes, size, memory_order_relaxed);
	if (!memcmp(got, want, size))
		return;
	for (size_t i = 0; i < size; i++)
		if (got[i] != want[i])
			fail_byte(spot->object, (size_t)(spot->p - spot->object->p) + i, got[i], want[i]);
}

/* ---- touches. A failed one raises SIGBUS, and is done again. */

static _Thread_local sigjmp_buf failed_touch;
static _Thread_local volatile sig_atomic_t touching;

void stop_touching(void)
{
	if (!touching)
		_exit(3);
	siglongjmp(failed_touch, 1);
}

static void touch(const struct spot *spot, size_t step, bool write)
{
	volatile size_t i = 0;
	volatile unsigned tries = 0;

	if (round_is.fails && sigsetjmp(failed_touch, 1)) {
		touching = 0;
		CHECK(++tries < 1000);
	}
	touching = 1;
	me->may_touch = 1;
	for (; i < spot->size; i += step, tries = 0) {
		volatile unsigned char *p = spot->p + i;
		unsigned got;

		if (write) {
			*p = spot->shadow[i];
			continue;
		}
		got = *p;
		if (got != spot->shadow[i]) {
			me->may_touch = 0;
			fail_byte(spot->object, (size_t)(p - spot->object->p), got, spot->shadow[i]);
		}
	}
	me->may_touch = 0;
	touching = 0;
	atomic_fetch_add_explicit(&record->n_bytes, spot->size / step, memory_order_relaxed);
}

void write_spot(const struct spot *spot)
{
	touch(spot, 1, true);
}

void look_at(const struct spot *spot)
{
	note("look", spot, 0);
	if (round_is.fails)
		touch(spot, 1, false);
	else
		same(spot, spot->p, spot->shadow, spot->size);
}

void plain(void)
{
	const struct spot s = any_spot(SIZE_MAX);
	const size_t step = draw(2) ? 1 : draw(5000) + 1;
	const bool write = draw(2);

	note(write ? "store" : "load", &s, (unsigned)step);
	if (write)
		for (size_t i = 0; i < s.size; i += step)
			s.shadow[i] = (unsigned char)(s.shadow[i] + i + 1);
	touch(&s, step, write);
}

#define TYPED(n) \
	struct bytes##n { unsigned char b[n]; } __attribute__((packed, may_alias)); \
	static void load##n(unsigned char *to, const unsigned char *p) \
	{ \
		*(struct bytes##n *)to = *(const struct bytes##n *)p; \
	} \
	static void store##n(unsigned char *p, const unsigned char *from) \
	{ \
		*(struct bytes##n *)p = *(const struct bytes##n *)from; \
	}
TYPED(1)
TYPED(2)
TYPED(4)
TYPED(8)
TYPED(16)
TYPED(32)
TYPED(64)
#undef TYPED

static const struct {
	size_t size;
	void (*load)(unsigned char *to, const unsigned char *p);
	void (*store)(unsigned char *p, const unsigned char *from);
} types[] = {
	{ 1, load1, store1 }, { 2, load2, store2 }, { 4, load4, store4 }, { 8, load8, store8 },
	{ 16, load16, store16 }, { 32, load32, store32 }, { 64, load64, store64 },
};
#define N_TYPES (sizeof(types) / sizeof(types[0]))

/* Of the compiler's own widths, aligned or not, and atomic ones. */
void typed(void)
{
	struct spot s = any_spot(SIZE_MAX);
	const size_t which = draw(N_TYPES + 1), size = which < N_TYPES ? types[which].size : 1;
	unsigned char bytes[64];

	if (s.size < size)
		return;
	s.size = size;
	if (which == N_TYPES) {
		note("atomic add", &s, 1);
		bytes[0] = __atomic_fetch_add(s.p, 5, __ATOMIC_SEQ_CST);
		same(&s, bytes, s.shadow, 1);
		*s.shadow = (unsigned char)(*s.shadow + 5);
	} else if (draw(2)) {
		note("typed load", &s, 0);
		types[which].load(bytes, s.p);
		same(&s, bytes, s.shadow, size);
	} else {
		note("typed store", &s, 0);
		make_bytes(bytes, size, draw_from(&me->state));
		memcpy(s.shadow, bytes, size);
		types[which].store(s.p, bytes);
	}
}

/* ---- bulk */

void memory_in(void)
{
	const struct spot s = any_spot(SPOT_MAX);
	const size_t how = draw(5);

	note("memory in", &s, (unsigned)how);
	make_bytes(buffer, s.size, draw_from(&me->state));
	if (how == 4)
		memset(buffer, buffer[0], s.size);
	memcpy(s.shadow, buffer, s.size);
	switch (how) {
	case 0: CHECK(memcpy(s.p, buffer, s.size) == s.p); break;
	case 1: CHECK(memmove(s.p, buffer, s.size) == s.p); break;
	case 2: CHECK(mempcpy(s.p, buffer, s.size) == s.p + s.size); break;
	case 3: REPEAT(adsmMemcpy(s.p, buffer, s.size)); break;
	case 4: CHECK(memset(s.p, buffer[0], s.size) == s.p); break;
	}
}

void memory_out(void)
{
	const struct spot s = any_spot(SPOT_MAX);
	const size_t how = draw(4);

	note("memory out", &s, (unsigned)how);
	switch (how) {
	case 0: CHECK(memcpy(buffer, s.p, s.size) == buffer); break;
	case 1: CHECK(memmove(buffer, s.p, s.size) == buffer); break;
	case 2: CHECK(mempcpy(buffer, s.p, s.size) == buffer + s.size); break;
	case 3: REPEAT(adsmMemcpy(buffer, s.p, s.size)); break;
	}
	same(&s, buffer, s.shadow, s.size);
}

/* From one place of shared memory to another; they may overlap. */
void memory_across(void)
{
	const struct spot to = any_spot(SIZE_MAX), from = any_spot(to.size);

	settle(to.object);
	note("memmove to", &to, (unsigned)from.size);
	note("memmove from", &from, 0);
	CHECK(memmove(to.p, from.p, from.size) == to.p);
	memmove(to.shadow, from.shadow, from.size);
}

/* The library's own, which may fail; large ones too. */
void copy_across(void)
{
	struct spot to = any_spot(SIZE_MAX), from = any_spot(to.size);
	const size_t how = draw(3);

	to.size = from.size;
	if (to.object == from.object && to.p < from.p + from.size && from.p < to.p + to.size)
		return;
	settle(to.object);
	if (how) {
		note("adsmMemcpy to", &to, 0);
		note("adsmMemcpy from", &from, 0);
		memcpy(to.shadow, from.shadow, to.size);
		REPEAT(adsmMemcpy(to.p, from.p, to.size));
	} else {
		unsigned char *bytes = malloc(to.size);

		CHECK(bytes);
		note("adsmMemcpy in", &to, 0);
		make_bytes(bytes, to.size, draw_from(&me->state));
		memcpy(to.shadow, bytes, to.size);
		REPEAT(adsmMemcpy(to.p, bytes, to.size));
		note("adsmMemcpy out", &to, 0);
		memset(bytes, 0, to.size);
		REPEAT(adsmMemcpy(bytes, to.p, to.size));
		same(&to, bytes, to.shadow, to.size);
		free(bytes);
	}
}

void fill(void)
{
	const struct spot s = any_spot(SIZE_MAX);
	const int value = (int)draw(256);

	note("adsmMemset", &s, (unsigned)value);
	memset(s.shadow, value, s.size);
	REPEAT(adsmMemset(s.p, value, s.size));
	if (draw(2))
		look_at(&s);
}

/* Where one object ends and the next one begins immediately. */
void straddle(void)
{
	struct object *left = any_thing(), *right = NULL;
	size_t before, after;
	struct spot l, r;

	for (int i = 0; left && i < OWN_MAX; i++)
		if (me->things[i].p == left->p + left->size)
			right = &me->things[i];
	if (!right)
		return;
	settle(left);
	settle(right);
	settle(left);
	before = smaller(left->size, draw(draw(2) ? 40 : SPOT_MAX) + 1);
	after = smaller(right->size, draw(draw(2) ? 40 : SPOT_MAX) + 1);
	l = (struct spot){ left, left->p + left->size - before, left->shadow + left->size - before, before };
	r = (struct spot){ right, right->p, right->shadow, after };
	note("straddle", &l, (unsigned)after);
	note("straddle", &r, (unsigned)before);
	if (draw(2)) {
		make_bytes(buffer, before + after, draw_from(&me->state));
		memcpy(l.shadow, buffer, before);
		memcpy(r.shadow, buffer + before, after);
		if (draw(2) && before >= 4 && after >= 4)
			store8(r.p - 4, buffer + before - 4);
		memcpy(l.p, buffer, before + after);
	} else {
		if (draw(2) && before >= 4 && after >= 4) {
			load8(buffer, r.p - 4);
			same(&r, buffer + 4, r.shadow, 4);
		}
		memcpy(buffer, l.p, before + after);
		same(&l, buffer, l.shadow, before);
		same(&r, buffer + before, r.shadow, after);
	}
}

/* ---- their lives */

void new_thing(void)
{
	static const size_t scales[] = { 10, 1024, 16384, 120000, 300000 };
	static const char *const protocols[] = { NULL, "rolling", "rolling", "lazy", "batch" };
	static int number;
	adsmAllocOptions options = ADSM_ALLOC_OPTIONS_INIT;
	const size_t slot = draw(OWN_MAX);
	size_t size = draw(scales[draw(5)]) + 1;

	if (me->things[slot].p)
		return;
	if (!draw(40) && !round_is.small)
		size += (size_t)3 << 20;	/* huge pages, and windows of any size */
	if (!draw(3))
		size = (size + PAGE - 1) / PAGE * PAGE;
	options.protocol = protocols[draw(round_is.batch ? 5 : 4)];
	options.block_size = draw(2) ? PAGE << draw(6) : 0;
	options.flags = draw(10) ? 0 : ADSM_ALLOC_POPULATE;
	me->things[slot].owner = me->index;
	me->things[slot].number = 100 * (me->index + 1) + __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED) % 100;
	make_object(&me->things[slot], size, draw(6) ? &options : NULL);
}

static void unhold(struct object *object)
{
	const struct spot s = { object, object->p + object->held, object->shadow + object->held, object->held_size };

	note("unhold", &s, 0);
	CHECK(adsmUnhold(object->p, object->size + 1) == -EINVAL);
	CHECK_EQ(adsmUnhold(s.p, s.size), 0);
	object->held_size = 0;
}

void end_thing(void)
{
	struct object *object = any_thing();
	struct spot all;

	if (!object || draw(2))
		return;
	if (object->held_size) {
		CHECK_EQ(adsmFree(object->p), -EBUSY);
		unhold(object);
	}
	all = whole(object);
	if (draw(2)) {
		settle(object);
		look_at(&all);
	}
	free_object(object);
}

void look_inside(void)
{
	adsmObjectProps info = { .struct_size = sizeof(info) };
	const struct object *object = any_thing();
	adsmStats stats;

	if (!object)
		return;
	CHECK(!adsmObjectInfo(object->p + draw(object->size), &info));
	CHECK(info.address == object->p && info.size == object->size && info.device < round_is.n_devices);
	CHECK(info.n_invalid + info.n_read_only + info.n_dirty == info.n_blocks);
	CHECK(!adsmSetName(object->p, draw(2) ? "thing" : NULL));
	CHECK(!adsmObjectStatsGet(object->p, &stats, sizeof(stats)) && !adsmStatsGet(&stats, sizeof(stats)));
	if (!draw(20))
		CHECK(!adsmStatsReset());
}

/* ---- transfers in advance */

/* A range of any thread's, to any side. */
void prefetch(void)
{
	const struct spot s = any_spot(SIZE_MAX);
	adsmObjectProps info = { .struct_size = sizeof(info) };
	adsmEvent event;
	int to, error;

	CHECK(!adsmObjectInfo(s.p, &info));
	to = draw(2) ? ADSM_HOST : info.device;
	note(to == ADSM_HOST ? "prefetch to host" : "prefetch", &s, 0);
	error = adsmPrefetch(s.p, s.size, to, &event);
	/* Another thread's call may move it meanwhile. */
	CHECK(!error || (error == -EBUSY && to != ADSM_HOST) || (error == -ENOTSUP && round_is.n_devices > 1));
	if (!draw(4))
		CHECK(!adsmAdvise(s.p, s.size, draw(2) ? ADSM_ADVISE_READ_MOSTLY : ADSM_ADVISE_NORMAL));
	if (error || draw(3))
		return;
	error = adsmEventWait(event);
	CHECK(!error || (round_is.fails && error == -EIO) ||
	      ((round_is.fails || (round_is.small && to != ADSM_HOST)) && error == -ENOMEM));
}

/* Bytes that do not matter, and then others. */
void discard(void)
{
	const struct spot s = any_spot(SIZE_MAX);
	int error;

	note("discard", &s, 0);
	error = adsmDiscard(s.p, s.size);
	CHECK(!error || error == -EBUSY || round_is.fails);
	make_bytes(s.shadow, s.size, draw_from(&me->state));
	write_spot(&s);
}

/* ---- holds */

/* A hold that lasts: calls that may use the object are refused. What is to be overwritten completely is overwritten
 * immediately. */
void hold_on(void)
{
	struct object *object = any_thing();
	const unsigned access = (unsigned)draw(3) + 1;
	struct spot s;

	if (!object)
		return;
	if (object->held_size) {
		unhold(object);
		return;
	}
	if (draw(3))
		return;
	settle(object);
	object->held = draw(2) ? draw(object->size) : 0;
	object->held_size = draw(2) ? draw(object->size - object->held) + 1 : object->size - object->held;
	s = (struct spot){ object, object->p + object->held, object->shadow + object->held, object->held_size };
	note("hold", &s, access);
	REPEAT(adsmHold(s.p, s.size, (int)access));
	if (access == ADSM_ACCESS_OUT)
		make_bytes(s.shadow, s.size, draw_from(&me->state));
	if (access == ADSM_ACCESS_IN)
		touch(&s, 1, false);
	else
		write_spot(&s);
}

/* System calls that no wrapper sees. */
void hold_raw(void)
{
	const struct spot s = any_spot(SPOT_MAX);
	const unsigned access = (unsigned)draw(3) + 1;
	const struct iovec vector = { s.p, s.size };
	const int fd = me->in[CHANNEL_FILE];
	size_t size = s.size;

	note("raw call on held", &s, access);
	REPEAT(adsmHold(s.p, s.size, (int)access));
	if (access == ADSM_ACCESS_IN) {
		CHECK_EQ(syscall(SYS_pwrite64, fd, s.p, s.size, 0L), s.size);
		CHECK_EQ(pread(fd, buffer, s.size, 0), s.size);
		same(&s, buffer, s.shadow, s.size);
	} else {
		make_bytes(buffer, s.size, draw_from(&me->state));
		CHECK_EQ(pwrite(fd, buffer, s.size, 0), s.size);
		if (access == ADSM_ACCESS_INOUT)
			size = draw(s.size) + 1;
		CHECK(!ftruncate(fd, (off_t)size) && lseek(fd, 0, SEEK_SET) == 0);
		CHECK_EQ(draw(2) ? syscall(SYS_read, fd, s.p, s.size) : syscall(SYS_readv, fd, &vector, 1), size);
		memcpy(s.shadow, buffer, size);
	}
	CHECK_EQ(adsmUnhold(s.p, s.size), 0);
}
