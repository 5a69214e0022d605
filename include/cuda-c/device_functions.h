/* SPDX-License-Identifier: MIT */
/* device_functions.h - barriers, fences, exchanges inside a warp, clocks, cached loads, traps. */
#ifndef ADSM_CUDA_DEVICE_FUNCTIONS_H
#define ADSM_CUDA_DEVICE_FUNCTIONS_H

#include "adsm_system.h"
#include "vector_functions.h"

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* ---- Barriers and fences ------------------------------------------------------------------ */

/*
 * clang 14 believes that its builtin functions for barriers change no variable of the block whose address nothing
 * takes, and moves loads across them. So memory is named here.
 */
#define ADSM_CUDA_MEMORY() __asm__ __volatile__("" : : : "memory")

ADSM_CUDA_DEVICE void adsm_syncthreads(void) { __asm__ __volatile__("bar.sync 0;" : : : "memory"); }
#define __syncthreads adsm_syncthreads

#define ADSM_CUDA_BARRIER(type, name, parameters, call) \
	ADSM_CUDA_DEVICE type name parameters \
	{ \
		type result; \
		\
		ADSM_CUDA_MEMORY(); \
		result = call; \
		ADSM_CUDA_MEMORY(); \
		return result; \
	}

ADSM_CUDA_BARRIER(int, __syncthreads_count, (int predicate), __nvvm_bar0_popc(predicate))
ADSM_CUDA_BARRIER(int, __syncthreads_and, (int predicate), __nvvm_bar0_and(predicate))
ADSM_CUDA_BARRIER(int, __syncthreads_or, (int predicate), __nvvm_bar0_or(predicate))
#undef ADSM_CUDA_BARRIER

#define ADSM_CUDA_FENCE(name, parameters, call) \
	ADSM_CUDA_DEVICE void name parameters \
	{ \
		ADSM_CUDA_MEMORY(); \
		call; \
		ADSM_CUDA_MEMORY(); \
	}

ADSM_CUDA_FENCE(__syncwarp, (unsigned int mask = 0xffffffff), __nvvm_bar_warp_sync(mask))
ADSM_CUDA_FENCE(__threadfence_block, (void), __nvvm_membar_cta())
ADSM_CUDA_FENCE(__threadfence, (void), __nvvm_membar_gl())
ADSM_CUDA_FENCE(__threadfence_system, (void), __nvvm_membar_sys())
#undef ADSM_CUDA_FENCE
#undef ADSM_CUDA_MEMORY

/* ---- Votes -------------------------------------------------------------------------------- */

ADSM_CUDA_DEVICE unsigned int __activemask(void)
{
	unsigned int mask;

	__asm__ __volatile__("activemask.b32 %0;" : "=r"(mask));
	return mask;
}

ADSM_CUDA_DEVICE int __all_sync(unsigned int mask, int predicate) { return __nvvm_vote_all_sync(mask, predicate); }
ADSM_CUDA_DEVICE int __any_sync(unsigned int mask, int predicate) { return __nvvm_vote_any_sync(mask, predicate); }
ADSM_CUDA_DEVICE int __uni_sync(unsigned int mask, int predicate) { return __nvvm_vote_uni_sync(mask, predicate); }
ADSM_CUDA_DEVICE unsigned int __ballot_sync(unsigned int mask, int predicate)
{
	return __nvvm_vote_ballot_sync(mask, predicate);
}

/* The forms without a mask, of devices before sm_70: for all lanes that are there. */
ADSM_CUDA_DEVICE int __all(int predicate) { return __all_sync(__activemask(), predicate); }
ADSM_CUDA_DEVICE int __any(int predicate) { return __any_sync(__activemask(), predicate); }
ADSM_CUDA_DEVICE unsigned int __ballot(int predicate) { return __ballot_sync(__activemask(), predicate); }

/* ---- Shuffles ----------------------------------------------------------------------------- */

/*
 * The last argument of PTX's shfl: the segments' mask in bits 8 to 12, and the lowest or the highest lane of a segment.
 * A value of eight bytes is moved in halves.
 */
#define ADSM_CUDA_SHUFFLE(name, ptx, second, last) \
	ADSM_CUDA_DEVICE int name##_sync(unsigned int mask, int value, second, int width = warpSize) \
	{ \
		return __nvvm_shfl_sync_##ptx##_i32(mask, value, lane, (warpSize - width) << 8 | last); \
	} \
	ADSM_CUDA_DEVICE float name##_sync(unsigned int mask, float value, second, int width = warpSize) \
	{ \
		return __nvvm_shfl_sync_##ptx##_f32(mask, value, lane, (warpSize - width) << 8 | last); \
	} \
	ADSM_CUDA_DEVICE unsigned int name##_sync(unsigned int mask, unsigned int value, second, int width = warpSize) \
	{ \
		return name##_sync(mask, (int)value, lane, width); \
	} \
	ADSM_CUDA_DEVICE unsigned long long name##_sync(unsigned int mask, unsigned long long value, second, \
							 int width = warpSize) \
	{ \
		const unsigned int low = name##_sync(mask, (unsigned int)value, lane, width); \
		const unsigned int high = name##_sync(mask, (unsigned int)(value >> 32), lane, width); \
		\
		return (unsigned long long)high << 32 | low; \
	} \
	ADSM_CUDA_DEVICE long long name##_sync(unsigned int mask, long long value, second, int width = warpSize) \
	{ \
		return (long long)name##_sync(mask, (unsigned long long)value, lane, width); \
	} \
	ADSM_CUDA_DEVICE long name##_sync(unsigned int mask, long value, second, int width = warpSize) \
	{ \
		return (long)name##_sync(mask, (unsigned long long)value, lane, width); \
	} \
	ADSM_CUDA_DEVICE unsigned long name##_sync(unsigned int mask, unsigned long value, second, \
						    int width = warpSize) \
	{ \
		return (unsigned long)name##_sync(mask, (unsigned long long)value, lane, width); \
	} \
	ADSM_CUDA_DEVICE double name##_sync(unsigned int mask, double value, second, int width = warpSize) \
	{ \
		return __builtin_bit_cast(double, name##_sync(mask, __builtin_bit_cast(unsigned long long, value), \
								lane, width)); \
	} \
	template <typename T> \
	ADSM_CUDA_DEVICE T name(T value, second, int width = warpSize) \
	{ \
		return name##_sync(__activemask(), value, lane, width); \
	}

ADSM_CUDA_SHUFFLE(__shfl, idx, int lane, 31)
ADSM_CUDA_SHUFFLE(__shfl_up, up, unsigned int lane, 0)
ADSM_CUDA_SHUFFLE(__shfl_down, down, unsigned int lane, 31)
ADSM_CUDA_SHUFFLE(__shfl_xor, bfly, int lane, 31)
#undef ADSM_CUDA_SHUFFLE

/* ---- Matches and reductions of a warp ----------------------------------------------------- */

#define ADSM_CUDA_MATCH(type, bits, integer) \
	ADSM_CUDA_DEVICE unsigned int __match_any_sync(unsigned int mask, type value) \
	{ \
		return __nvvm_match_any_sync_i##bits(mask, __builtin_bit_cast(integer, value)); \
	} \
	ADSM_CUDA_DEVICE unsigned int __match_all_sync(unsigned int mask, type value, int *predicate) \
	{ \
		return __nvvm_match_all_sync_i##bits##p(mask, __builtin_bit_cast(integer, value), predicate); \
	}

ADSM_CUDA_MATCH(int, 32, int)
ADSM_CUDA_MATCH(unsigned int, 32, int)
ADSM_CUDA_MATCH(float, 32, int)
ADSM_CUDA_MATCH(long, 64, long)
ADSM_CUDA_MATCH(unsigned long, 64, long)
ADSM_CUDA_MATCH(long long, 64, long)
ADSM_CUDA_MATCH(unsigned long long, 64, long)
ADSM_CUDA_MATCH(double, 64, long)
#undef ADSM_CUDA_MATCH

/* By PTX itself: clang's builtin functions for it have got other types in the course of time. */
#define ADSM_CUDA_REDUX(name, type, ptx) \
	ADSM_CUDA_DEVICE type name(unsigned int mask, type value) \
	{ \
		type result; \
		\
		__asm__ __volatile__("redux.sync." ptx " %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask)); \
		return result; \
	}

ADSM_CUDA_REDUX(__reduce_add_sync, int, "add.s32")
ADSM_CUDA_REDUX(__reduce_add_sync, unsigned int, "add.u32")
ADSM_CUDA_REDUX(__reduce_min_sync, int, "min.s32")
ADSM_CUDA_REDUX(__reduce_min_sync, unsigned int, "min.u32")
ADSM_CUDA_REDUX(__reduce_max_sync, int, "max.s32")
ADSM_CUDA_REDUX(__reduce_max_sync, unsigned int, "max.u32")
ADSM_CUDA_REDUX(__reduce_and_sync, unsigned int, "and.b32")
ADSM_CUDA_REDUX(__reduce_or_sync, unsigned int, "or.b32")
ADSM_CUDA_REDUX(__reduce_xor_sync, unsigned int, "xor.b32")
#undef ADSM_CUDA_REDUX

/* ---- Clocks, loads, spaces ---------------------------------------------------------------- */

ADSM_CUDA_DEVICE long long clock64(void) { return __nvvm_read_ptx_sreg_clock64(); }
/* libc has a clock() for the CPU, and clang tells the two apart. */
ADSM_CUDA_DEVICE clock_t clock(void) { return __nvvm_read_ptx_sreg_clock(); }

ADSM_CUDA_DEVICE void __nanosleep(unsigned int ns)
{
	__asm__ __volatile__("nanosleep.u32 %0;" : : "r"(ns));
}

/* Load again what other threads may have changed, in words. */
template <typename Word, typename T> ADSM_CUDA_DEVICE T adsm_load_words(const T *p)
{
	typedef Word __attribute__((may_alias)) word;
	T value;

	for (unsigned int i = 0; i < sizeof(T) / sizeof(word); i++) {
		const word part = ((const volatile word *)p)[i];

		__builtin_memcpy((char *)&value + i * sizeof(word), &part, sizeof(word));
	}
	return value;
}

template <typename T> ADSM_CUDA_DEVICE T adsm_load_again(const T *p)
{
	return sizeof(T) == 1 ? adsm_load_words<unsigned char>(p) :
	       sizeof(T) == 2 ? adsm_load_words<unsigned short>(p) :
	       sizeof(T) == 4 ? adsm_load_words<unsigned int>(p) : adsm_load_words<unsigned long long>(p);
}

/*
 * Loads and stores that say how they use caches. The memory that a kernel loads by __ldg() is not written while it
 * runs. __ldcv() loads again what other threads may have changed.
 */
#define ADSM_CUDA_LOAD(type) \
	ADSM_CUDA_DEVICE type __ldg(const type *p) { return *p; } \
	ADSM_CUDA_DEVICE type __ldca(const type *p) { return *p; } \
	ADSM_CUDA_DEVICE type __ldcg(const type *p) { return *p; } \
	ADSM_CUDA_DEVICE type __ldcs(const type *p) { return *p; } \
	ADSM_CUDA_DEVICE type __ldlu(const type *p) { return *p; } \
	ADSM_CUDA_DEVICE type __ldcv(const type *p) { return adsm_load_again(p); } \
	ADSM_CUDA_DEVICE void __stwb(type *p, type value) { *p = value; } \
	ADSM_CUDA_DEVICE void __stcg(type *p, type value) { *p = value; } \
	ADSM_CUDA_DEVICE void __stcs(type *p, type value) { *p = value; } \
	ADSM_CUDA_DEVICE void __stwt(type *p, type value) \
	{ \
		*p = value; \
		__asm__ __volatile__("" : : : "memory"); \
	}
#define ADSM_CUDA_LOADS(name) \
	ADSM_CUDA_LOAD(name##2) \
	ADSM_CUDA_LOAD(name##4)

ADSM_CUDA_LOAD(char)
ADSM_CUDA_LOAD(signed char)
ADSM_CUDA_LOAD(unsigned char)
ADSM_CUDA_LOAD(short)
ADSM_CUDA_LOAD(unsigned short)
ADSM_CUDA_LOAD(int)
ADSM_CUDA_LOAD(unsigned int)
ADSM_CUDA_LOAD(long)
ADSM_CUDA_LOAD(unsigned long)
ADSM_CUDA_LOAD(long long)
ADSM_CUDA_LOAD(unsigned long long)
ADSM_CUDA_LOAD(float)
ADSM_CUDA_LOAD(double)
ADSM_CUDA_LOADS(char)
ADSM_CUDA_LOADS(uchar)
ADSM_CUDA_LOADS(short)
ADSM_CUDA_LOADS(ushort)
ADSM_CUDA_LOADS(int)
ADSM_CUDA_LOADS(uint)
ADSM_CUDA_LOADS(float)
ADSM_CUDA_LOAD(longlong2)
ADSM_CUDA_LOAD(ulonglong2)
ADSM_CUDA_LOAD(double2)
#undef ADSM_CUDA_LOADS

/* Where a generic address lies. */
ADSM_CUDA_DEVICE unsigned int __isGlobal(const void *p) { return __nvvm_isspacep_global(p); }
ADSM_CUDA_DEVICE unsigned int __isShared(const void *p) { return __nvvm_isspacep_shared(p); }
ADSM_CUDA_DEVICE unsigned int __isConstant(const void *p) { return __nvvm_isspacep_const(p); }
ADSM_CUDA_DEVICE unsigned int __isLocal(const void *p) { return __nvvm_isspacep_local(p); }
ADSM_CUDA_DEVICE size_t __cvta_generic_to_global(const void *p)
{
	return (size_t)(const __attribute__((address_space(1))) void *)p;
}
ADSM_CUDA_DEVICE size_t __cvta_generic_to_shared(const void *p)
{
	return (size_t)(const __attribute__((address_space(3))) void *)p;
}

/* ---- Traps -------------------------------------------------------------------------------- */

ADSM_CUDA_DEVICE void __trap(void) { __asm__ __volatile__("trap;"); }
ADSM_CUDA_DEVICE void __brkpt(void) { __asm__ __volatile__("brkpt;"); }
/* A mark for profilers, which are not there. */
ADSM_CUDA_DEVICE void __prof_trigger(int) { }

#endif
