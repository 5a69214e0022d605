/* SPDX-License-Identifier: MIT */
/*
 * device_atomic_functions.h - atomicAdd() and the like: relaxed, for all threads of the device. With _block they are
 * for the threads of a block, with _system also for the CPU and other devices. Each returns the old value.
 */
#ifndef ADSM_CUDA_DEVICE_ATOMIC_FUNCTIONS_H
#define ADSM_CUDA_DEVICE_ATOMIC_FUNCTIONS_H

#include "vector_functions.h"

/* atomic@name() in the three scopes, by clang's builtin of the type that @suffix names. */
#define ADSM_CUDA_ATOMIC(name, type, op, suffix, cast) \
	ADSM_CUDA_DEVICE type atomic##name(type *p, type value) \
	{ \
		return (type)__nvvm_atom_##op##_gen_##suffix((cast *)p, (cast)value); \
	} \
	ADSM_CUDA_DEVICE type atomic##name##_block(type *p, type value) \
	{ \
		return (type)__nvvm_atom_cta_##op##_gen_##suffix((cast *)p, (cast)value); \
	} \
	ADSM_CUDA_DEVICE type atomic##name##_system(type *p, type value) \
	{ \
		return (type)__nvvm_atom_sys_##op##_gen_##suffix((cast *)p, (cast)value); \
	}

/* The same for int, unsigned and 64 bits, where the sign makes no difference. */
#define ADSM_CUDA_ATOMIC_BITS(name, op) \
	ADSM_CUDA_ATOMIC(name, int, op, i, int) \
	ADSM_CUDA_ATOMIC(name, unsigned int, op, i, int) \
	ADSM_CUDA_ATOMIC(name, unsigned long long, op, ll, long long)
#define ADSM_CUDA_ATOMIC_ORDER(name, op) \
	ADSM_CUDA_ATOMIC(name, int, op, i, int) \
	ADSM_CUDA_ATOMIC(name, unsigned int, op, ui, unsigned int) \
	ADSM_CUDA_ATOMIC(name, long long, op, ll, long long) \
	ADSM_CUDA_ATOMIC(name, unsigned long long, op, ull, unsigned long long)

ADSM_CUDA_ATOMIC_BITS(Add, add)
ADSM_CUDA_ATOMIC(Add, float, add, f, float)
ADSM_CUDA_ATOMIC(Add, double, add, d, double)
ADSM_CUDA_ATOMIC_BITS(Exch, xchg)
ADSM_CUDA_ATOMIC_BITS(And, and)
ADSM_CUDA_ATOMIC_BITS(Or, or)
ADSM_CUDA_ATOMIC_BITS(Xor, xor)
ADSM_CUDA_ATOMIC_ORDER(Min, min)
ADSM_CUDA_ATOMIC_ORDER(Max, max)
ADSM_CUDA_ATOMIC(Inc, unsigned int, inc, ui, unsigned int)
ADSM_CUDA_ATOMIC(Dec, unsigned int, dec, ui, unsigned int)

/* What is made of the others. */
#define ADSM_CUDA_ATOMIC_MADE(scope) \
	ADSM_CUDA_DEVICE int atomicSub##scope(int *p, int value) \
	{ \
		return atomicAdd##scope(p, (int)(0u - (unsigned int)value)); \
	} \
	ADSM_CUDA_DEVICE unsigned int atomicSub##scope(unsigned int *p, unsigned int value) \
	{ \
		return atomicAdd##scope(p, 0u - value); \
	} \
	ADSM_CUDA_DEVICE float atomicExch##scope(float *p, float value) \
	{ \
		return __builtin_bit_cast(float, atomicExch##scope((int *)p, __builtin_bit_cast(int, value))); \
	}

ADSM_CUDA_ATOMIC_MADE()
ADSM_CUDA_ATOMIC_MADE(_block)
ADSM_CUDA_ATOMIC_MADE(_system)

/* Store @value if the memory has @expected. */
#define ADSM_CUDA_ATOMIC_CAS(type, suffix, cast) \
	ADSM_CUDA_DEVICE type atomicCAS(type *p, type expected, type value) \
	{ \
		return (type)__nvvm_atom_cas_gen_##suffix((cast *)p, (cast)expected, (cast)value); \
	} \
	ADSM_CUDA_DEVICE type atomicCAS_block(type *p, type expected, type value) \
	{ \
		return (type)__nvvm_atom_cta_cas_gen_##suffix((cast *)p, (cast)expected, (cast)value); \
	} \
	ADSM_CUDA_DEVICE type atomicCAS_system(type *p, type expected, type value) \
	{ \
		return (type)__nvvm_atom_sys_cas_gen_##suffix((cast *)p, (cast)expected, (cast)value); \
	}

ADSM_CUDA_ATOMIC_CAS(int, i, int)
ADSM_CUDA_ATOMIC_CAS(unsigned int, i, int)
ADSM_CUDA_ATOMIC_CAS(unsigned long long, ll, long long)

/* Of two bytes: clang has no builtin before version 18. */
#define ADSM_CUDA_ATOMIC_CAS16(name, scope) \
	ADSM_CUDA_DEVICE unsigned short name(unsigned short *p, unsigned short expected, unsigned short value) \
	{ \
		unsigned short old; \
		\
		__asm__ __volatile__("atom." scope "cas.b16 %0, [%1], %2, %3;" \
				     : "=h"(old) : "l"(p), "h"(expected), "h"(value) : "memory"); \
		return old; \
	}

ADSM_CUDA_ATOMIC_CAS16(atomicCAS, "")
ADSM_CUDA_ATOMIC_CAS16(atomicCAS_block, "cta.")
ADSM_CUDA_ATOMIC_CAS16(atomicCAS_system, "sys.")

#undef ADSM_CUDA_ATOMIC
#undef ADSM_CUDA_ATOMIC_BITS
#undef ADSM_CUDA_ATOMIC_ORDER
#undef ADSM_CUDA_ATOMIC_MADE
#undef ADSM_CUDA_ATOMIC_CAS
#undef ADSM_CUDA_ATOMIC_CAS16

#endif
