/* SPDX-License-Identifier: MIT */
/* exchange.c - where threads wait for each other: barriers, and exchanges of values in a warp. */
#include "machine.h"

#include <string.h>

static const struct code *code_of(const struct thread *thread)
{
	return &thread->frame->function->codes[thread->frame->at];
}

/* ---- barriers */

static bool reduces(const struct code *c)
{
	return HAS(c, red);
}

/* bar.red has its result first and its predicate last. */
static void run_bar(struct thread *t, const struct code *c)
{
	const uint32_t first = reduces(c), last = c->in->n - reduces(c);

	if (HAS(c, warp)) {
		t->mask = (uint32_t)machine_get(t, &c->in->operands[0], ADSM_PTX_b32);
		t->state = WAITS_FOR_WARP;
		exchange_try_warp(t);
		return;
	}
	t->barrier = (uint32_t)machine_get(t, &c->in->operands[first], ADSM_PTX_u32);
	t->count = first + 1 < last ? (uint32_t)machine_get(t, &c->in->operands[first + 1], ADSM_PTX_u32) : 0;
	if (t->barrier > 15 || t->count % 32)
		machine_fail(t, c, "no such barrier");
	t->state = WAITS_AT_BARRIER;
	exchange_try_barriers(t->block);
}

static bool waits_at(const struct thread *thread, uint32_t barrier)
{
	return thread->state == WAITS_AT_BARRIER && thread->barrier == barrier;
}

/*
 * Is a barrier complete? A warp arrives when all of its threads that have not ended wait there, and then counts as 32
 * threads.
 */
static bool is_complete(const struct block *block, uint32_t barrier)
{
	uint32_t arrived = 0, count = 0;
	bool all = true;

	for (uint32_t first = 0; first < block->n; first += 32) {
		uint32_t wait = 0, others = 0;

		for (uint32_t i = first; i < first + 32 && i < block->n; i++) {
			const struct thread *thread = &block->threads[i];

			wait += waits_at(thread, barrier);
			others += !waits_at(thread, barrier) && thread->state != ENDED;
			count = waits_at(thread, barrier) ? thread->count : count;
		}
		arrived += wait && !others ? 32 : 0;
		all = all && !others;
	}
	return arrived && (count ? arrived >= count : all);
}

static void open_barrier(struct block *block, uint32_t barrier)
{
	uint32_t n = 0, set = 0;

	for (uint32_t i = 0; i < block->n; i++) {
		struct thread *t = &block->threads[i];

		if (waits_at(t, barrier) && reduces(code_of(t)))
			set += (uint32_t)machine_get(t, &code_of(t)->in->operands[code_of(t)->in->n - 1],
						     ADSM_PTX_pred);
		n += waits_at(t, barrier);
	}
	for (uint32_t i = 0; i < block->n; i++) {
		struct thread *t = &block->threads[i];
		const struct code *c;

		if (!waits_at(t, barrier))
			continue;
		c = code_of(t);
		if (reduces(c))
			machine_put(t, &c->in->operands[0], HAS(c, popc) ? ADSM_PTX_u32 : ADSM_PTX_pred,
				    HAS(c, popc)  ? set
				    : HAS(c, and) ? set == n
						  : set != 0);
		t->state = RUNS;
		t->frame->at++;
	}
}

void exchange_try_barriers(struct block *block)
{
	for (uint32_t barrier = 0; barrier < 16; barrier++)
		if (is_complete(block, barrier))
			open_barrier(block, barrier);
}

/* ---- warps */

/* The 32 lanes of an exchange: their values, and what they get. */
struct lanes {
	struct thread *first;
	uint32_t mask;
	enum adsm_ptx_type type;
	uint64_t a[32];
	uint32_t b[32], c[32];
};

static void give(struct lanes *lanes, const struct code *c, uint32_t lane, uint64_t value, bool flag)
{
	struct thread *t = &lanes->first[lane];
	const struct adsm_ptx_operand *to = &c->in->operands[0];
	const bool is_pred = !strcmp(c->in->opcode, "vote") && !HAS(c, ballot);

	if (to->kind == ADSM_PTX_OP_PAIR) {
		machine_put(t, &to->elements[0], ADSM_PTX_b32, value);
		machine_put(t, &to->elements[1], ADSM_PTX_pred, flag);
	} else {
		machine_put(t, to, is_pred ? ADSM_PTX_pred : ADSM_PTX_b32, value);
	}
}

/* The manual's text for shfl, in its order. */
static void shuffle(struct lanes *lanes, const struct code *c, uint32_t lane)
{
	const int32_t b = (int32_t)(lanes->b[lane] & 31), clamp = (int32_t)(lanes->c[lane] & 31);
	const int32_t segment = (int32_t)(lanes->c[lane] >> 8 & 31), self = (int32_t)lane;
	const int32_t most = (self & segment) | (clamp & ~segment), least = self & segment;
	int32_t from;
	bool inside;

	if (HAS(c, up)) {
		from = self - b;
		inside = from >= most;
	} else if (HAS(c, down)) {
		from = self + b;
		inside = from <= most;
	} else if (HAS(c, bfly)) {
		from = self ^ b;
		inside = from <= most;
	} else {
		from = least | (b & ~segment);
		inside = from <= most;
	}
	if (!inside)
		from = self;
	/* What a lane gives that does not take part is not defined: the generator must not use it. */
	give(lanes, c, lane, lanes->mask >> from & 1 ? lanes->a[from] : 0xdeadbeef, inside);
}

static void vote(struct lanes *lanes, const struct code *c, uint32_t lane)
{
	uint32_t set = 0;

	for (uint32_t i = 0; i < 32; i++)
		set |= lanes->mask >> i & 1 && lanes->a[i] ? 1u << i : 0;
	give(lanes, c, lane,
	     HAS(c, ballot) ? set
	     : HAS(c, any)  ? set != 0
	     : HAS(c, all)  ? set == lanes->mask
			    : !set || set == lanes->mask,
	     false);
}

static void match(struct lanes *lanes, const struct code *c, uint32_t lane)
{
	uint32_t equal = 0;

	for (uint32_t i = 0; i < 32; i++)
		equal |= lanes->mask >> i & 1 && lanes->a[i] == lanes->a[lane] ? 1u << i : 0;
	give(lanes, c, lane, HAS(c, any) ? equal : equal == lanes->mask ? lanes->mask : 0, equal == lanes->mask);
}

static void reduce(struct lanes *lanes, const struct code *c, uint32_t lane)
{
	uint32_t all = 0;
	bool first = true;

	for (uint32_t i = 0; i < 32; i++) {
		const uint32_t a = (uint32_t)lanes->a[i];
		const bool less = c->type == ADSM_PTX_s32 ? (int32_t)a < (int32_t)all : a < all;

		if (!(lanes->mask >> i & 1))
			continue;
		all = first		    ? a
		      : HAS(c, add)	    ? all + a
		      : HAS(c, and)	    ? all & a
		      : HAS(c, or)	    ? all | a
		      : HAS(c, xor)	    ? all ^ a
		      : HAS(c, min) == less ? a
					    : all;
		first = false;
	}
	give(lanes, c, lane, all, false);
}

/* All lanes of the mask are at such an instruction: exchange values. */
static void exchange(struct thread *first, uint32_t mask)
{
	struct lanes lanes = { .first = first, .mask = mask };

	for (uint32_t i = 0; i < 32; i++) {
		const struct code *c = mask >> i & 1 ? code_of(&first[i]) : NULL;

		if (!c || HAS(c, warp))
			continue;
		lanes.a[i] = machine_get(&first[i], &c->in->operands[1],
					 !strcmp(c->in->opcode, "vote") ? ADSM_PTX_pred : c->type);
		if (strcmp(c->in->opcode, "shfl") != 0)
			continue;
		lanes.b[i] = (uint32_t)machine_get(&first[i], &c->in->operands[2], ADSM_PTX_b32);
		lanes.c[i] = (uint32_t)machine_get(&first[i], &c->in->operands[3], ADSM_PTX_b32);
	}
	for (uint32_t i = 0; i < 32; i++) {
		const struct code *c = mask >> i & 1 ? code_of(&first[i]) : NULL;

		if (!c)
			continue;
		if (!strcmp(c->in->opcode, "shfl"))
			shuffle(&lanes, c, i);
		else if (!strcmp(c->in->opcode, "vote"))
			vote(&lanes, c, i);
		else if (!strcmp(c->in->opcode, "match"))
			match(&lanes, c, i);
		else if (!strcmp(c->in->opcode, "redux"))
			reduce(&lanes, c, i);
		first[i].state = RUNS;
		first[i].frame->at++;
	}
}

/* Lanes wait for those at an instruction with the same qualifiers and the same mask, wherever that is. */
static bool fits(const struct code *a, const struct code *b)
{
	return !strcmp(a->in->opcode, b->in->opcode) && a->modifiers == b->modifiers && a->type == b->type;
}

void exchange_try_warp(struct thread *thread)
{
	struct thread *first = &thread->block->threads[thread->number & ~31u];
	const struct code *c = code_of(thread);

	if (!(thread->mask >> (thread->number & 31) & 1))
		machine_fail(thread, c, "the mask 0x%x is without the lane itself", thread->mask);
	for (uint32_t i = 0; i < 32; i++) {
		const struct thread *other = &first[i];

		if (!(thread->mask >> i & 1))
			continue;
		if ((thread->number & ~31u) + i >= thread->block->n || other->state == ENDED)
			machine_fail(thread, c, "the mask 0x%x has lane %u, which has ended", thread->mask, i);
		/* If it waits elsewhere, it may come later. */
		if (other->state != WAITS_FOR_WARP || !fits(code_of(other), c) || other->mask != thread->mask)
			return;
	}
	exchange(first, thread->mask);
}

static void run_exchange(struct thread *t, const struct code *c)
{
	const uint32_t mask = !strcmp(c->in->opcode, "shfl") ? 4 : 2;

	if (!HAS(c, sync) || c->in->n <= mask)
		machine_fail(t, c, "an exchange without a mask");
	t->mask = (uint32_t)machine_get(t, &c->in->operands[mask], ADSM_PTX_b32);
	t->state = WAITS_FOR_WARP;
	exchange_try_warp(t);
}

operation *exchange_operation(const char *opcode)
{
	static const char *const exchanges[] = { "shfl", "vote", "match", "redux" };

	if (!strcmp(opcode, "bar") || !strcmp(opcode, "barrier"))
		return run_bar;
	for (size_t i = 0; i < sizeof(exchanges) / sizeof(*exchanges); i++)
		if (!strcmp(opcode, exchanges[i]))
			return run_exchange;
	return NULL;
}
