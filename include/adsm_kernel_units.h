/* SPDX-License-Identifier: MIT */
/*
 * adsm_kernel_units.h - the macros for write-once objects in OpenCL C. It is a part of adsm_kernel.h. Sources of
 * kernels include adsm_kernel.h.
 *
 * An object is three kernel arguments: its data, the flags of its units, and a record for this launch and this object.
 * All three are in memory of the host. The host changes flags while the kernel runs, and the kernel polls them. One
 * thread of a block polls, and the others wait at a barrier. A block that cannot continue returns.
 */
#ifndef ADSM_KERNEL_UNITS_H
#define ADSM_KERNEL_UNITS_H

#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)

/* struct units of the library (backends/opencl/once.c) has the same members. */
#define ADSM_UNITS_WAITS_ 256
struct adsm_units_wait_ {
	volatile uint state;			/* 0: free; 1: taken; 2: complete: a block waits */
	uint room;				/* 1: until the unit is not set */
	volatile ulong unit, block;
};
struct adsm_units_ {
	ulong size, count;			/* bytes of a unit; number of units */
	volatile uint ended;			/* the library stores 1: blocks return at their next macro */
	volatile uint wrong;			/* the error of a block: a value of ADSM_UNITS_READS_ and so on */
	volatile ulong wrong_unit, wrong_block;
	struct adsm_units_wait_ waits[ADSM_UNITS_WAITS_];
};

enum {
	ADSM_UNITS_READS_ = 1, ADSM_UNITS_WRITES_, ADSM_UNITS_SETS_, ADSM_UNITS_EMPTIES_,	/* beyond the end */
	ADSM_UNITS_WRITES_SET_, ADSM_UNITS_SETS_SET_, ADSM_UNITS_SETS_EMPTY_, ADSM_UNITS_EMPTIES_UNSET_,
	ADSM_UNITS_CLAIMED_			/* a block is recording its error */
};

/* The states of a unit, as in adsm_once.h. */
#define ADSM_UNIT_EMPTY_ 0u
#define ADSM_UNIT_FRESH_ 1u
#define ADSM_UNIT_SET_ 2u

#define ADSM_UNITS_POLLS_ 2000			/* before a block records that it waits */

typedef volatile __global uint adsm_flags_;

static inline uint adsm_unit_is_set_(adsm_flags_ *flags, ulong unit)
{
	return ((volatile __global uchar *)flags)[unit] == ADSM_UNIT_SET_;
}

/* Change the state of a unit. Returns the state that it had: it has changed if that is @from. */
static inline uint adsm_unit_turn_(adsm_flags_ *flags, ulong unit, uint from, uint to)
{
	adsm_flags_ *word = flags + unit / 4;
	const uint shift = 8 * (uint)(unit % 4);
	uint was = *word;

	while ((was >> shift & 255) == from) {
		const uint now = atomic_cmpxchg(word, was, (was & ~(255u << shift)) | to << shift);

		if (now == was)
			return from;
		was = now;
	}
	return was >> shift & 255;
}

/* Record an invalid use, which ends the launch. Returns 1. */
static inline int adsm_unit_refuse_(__global struct adsm_units_ *units, uint wrong, ulong unit, ulong block)
{
	if (!atomic_cmpxchg(&units->wrong, 0u, (uint)ADSM_UNITS_CLAIMED_)) {
		units->wrong_unit = unit;
		units->wrong_block = block;
		mem_fence(CLK_GLOBAL_MEM_FENCE);
		atomic_xchg(&units->wrong, wrong);
	}
	return 1;
}

/* Wait until the unit is set, or with @room until it is not set. Returns whether the block has to return. */
static inline int adsm_unit_wait_(adsm_flags_ *flags, __global struct adsm_units_ *units, ulong unit, ulong block,
				  uint room)
{
	uint slot = ADSM_UNITS_WAITS_;

	for (ulong i = 0; adsm_unit_is_set_(flags, unit) == room; i++) {
		if (units->ended || units->wrong)
			break;
		if (i < ADSM_UNITS_POLLS_ || slot < ADSM_UNITS_WAITS_)
			continue;
		for (slot = 0; slot < ADSM_UNITS_WAITS_ && atomic_cmpxchg(&units->waits[slot].state, 0u, 1u); slot++)
			;
		if (slot == ADSM_UNITS_WAITS_)
			continue;
		units->waits[slot].room = room;
		units->waits[slot].unit = unit;
		units->waits[slot].block = block;
		mem_fence(CLK_GLOBAL_MEM_FENCE);
		atomic_xchg(&units->waits[slot].state, 2u);
	}
	if (slot < ADSM_UNITS_WAITS_)
		atomic_xchg(&units->waits[slot].state, 0u);
	/* What was written before the flag is read after it. */
	atomic_or(flags + unit / 4, 0u);
	mem_fence(CLK_GLOBAL_MEM_FENCE);
	return units->ended || units->wrong;
}

/* Each of these returns whether the block has to return. */

static inline int adsm_unit_get_(adsm_flags_ *flags, __global struct adsm_units_ *units, ulong unit, ulong block)
{
	return unit >= units->count ? adsm_unit_refuse_(units, ADSM_UNITS_READS_, unit, block) :
		adsm_unit_wait_(flags, units, unit, block, 0);
}

static inline int adsm_unit_fresh_(adsm_flags_ *flags, __global struct adsm_units_ *units, ulong unit, ulong block)
{
	if (unit >= units->count)
		return adsm_unit_refuse_(units, ADSM_UNITS_WRITES_, unit, block);
	if (adsm_unit_turn_(flags, unit, ADSM_UNIT_EMPTY_, ADSM_UNIT_FRESH_) == ADSM_UNIT_SET_)
		return adsm_unit_refuse_(units, ADSM_UNITS_WRITES_SET_, unit, block);
	return units->ended || units->wrong;
}

static inline int adsm_unit_room_(adsm_flags_ *flags, __global struct adsm_units_ *units, ulong unit, ulong block)
{
	if (unit >= units->count)
		return adsm_unit_refuse_(units, ADSM_UNITS_WRITES_, unit, block);
	/* Another writer may set the unit before this one begins. */
	while (adsm_unit_turn_(flags, unit, ADSM_UNIT_EMPTY_, ADSM_UNIT_FRESH_) == ADSM_UNIT_SET_)
		if (adsm_unit_wait_(flags, units, unit, block, 1))
			return 1;
	return units->ended || units->wrong;
}

static inline int adsm_unit_set_(adsm_flags_ *flags, __global struct adsm_units_ *units, ulong unit, ulong block)
{
	uint was;

	if (unit >= units->count)
		return adsm_unit_refuse_(units, ADSM_UNITS_SETS_, unit, block);
	mem_fence(CLK_GLOBAL_MEM_FENCE);
	was = adsm_unit_turn_(flags, unit, ADSM_UNIT_FRESH_, ADSM_UNIT_SET_);
	if (was != ADSM_UNIT_FRESH_)
		return adsm_unit_refuse_(units, was == ADSM_UNIT_SET_ ? ADSM_UNITS_SETS_SET_ : ADSM_UNITS_SETS_EMPTY_,
					 unit, block);
	return units->ended || units->wrong;
}

static inline int adsm_unit_empty_(adsm_flags_ *flags, __global struct adsm_units_ *units, ulong unit, ulong block)
{
	if (unit >= units->count)
		return adsm_unit_refuse_(units, ADSM_UNITS_EMPTIES_, unit, block);
	if (adsm_unit_turn_(flags, unit, ADSM_UNIT_SET_, ADSM_UNIT_EMPTY_) != ADSM_UNIT_SET_)
		return adsm_unit_refuse_(units, ADSM_UNITS_EMPTIES_UNSET_, unit, block);
	return units->ended || units->wrong;
}

#define ADSM_DECLARE_ONCE_(c_type, name) \
	__global c_type *name, adsm_flags_ *adsm_flags_##name, __global struct adsm_units_ *adsm_units_##name
#define ADSM_ENTER_ONCE_(c_type, name) __local int adsm_ends_##name;

#define ADSM_UNIT_BLOCK_ \
	(((ulong)ADSM_BLOCK_Z * (ulong)ADSM_GRID_DIM_Y + (ulong)ADSM_BLOCK_Y) * (ulong)ADSM_GRID_DIM_X + \
	 (ulong)ADSM_BLOCK_X)
/* The second barrier: no thread stores the next result before all have read this one. */
#define ADSM_UNIT_DO_(name, verb, index) \
	int adsm_ends_; \
	if (!(get_local_id(0) | get_local_id(1) | get_local_id(2))) \
		adsm_ends_##name = verb(adsm_flags_##name, adsm_units_##name, index, ADSM_UNIT_BLOCK_); \
	ADSM_BARRIER; \
	adsm_ends_ = adsm_ends_##name; \
	ADSM_BARRIER; \
	if (adsm_ends_) \
		return;
#define ADSM_UNIT_AT_(name, verb, unit) ({ \
	const ulong adsm_unit_ = (ulong)(unit); \
	ADSM_UNIT_DO_(name, verb, adsm_unit_) \
	(__typeof__(name))((__global char *)name + adsm_unit_ * adsm_units_##name->size); })
#define ADSM_UNIT_IN_(name, verb, unit) ({ \
	const ulong adsm_unit_ = (ulong)(unit); \
	ADSM_UNIT_DO_(name, verb, adsm_unit_) \
	(void)0; })

#define ADSM_GET(name, unit) ADSM_UNIT_AT_(name, adsm_unit_get_, unit)
#define ADSM_FRESH(name, unit) ADSM_UNIT_AT_(name, adsm_unit_fresh_, unit)
#define ADSM_ROOM(name, unit) ADSM_UNIT_AT_(name, adsm_unit_room_, unit)
#define ADSM_SET(name, unit) ADSM_UNIT_IN_(name, adsm_unit_set_, unit)
#define ADSM_EMPTY(name, unit) ADSM_UNIT_IN_(name, adsm_unit_empty_, unit)

#endif
#endif
