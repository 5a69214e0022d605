/* SPDX-License-Identifier: MIT */
/*
 * runtime_memory.h - atomic operations and copies in the C text of modules that are made of PTX, after runtime_half.h.
 * Each atomic operation returns the old value.
 */

/* An order beside C's: no other thread of the process accesses the memory meanwhile. */
#define PTX_ALONE (-1)

#define PTX_ATOM(name, type, operation, builtin, result) \
	PTX_INLINE type ptx_atom_##operation##_##name(void *address, type value, int order) \
	{ \
		volatile type *const own = (volatile type *)address; \
		if (order == PTX_ALONE) { \
			const type old = *own; \
			*own = result; \
			return old; \
		} \
		return builtin((type *)address, value, order); \
	}

/* Where C has no such operation: until no other thread has changed the value meanwhile. */
#define PTX_ATOM_LOOP(name, type, bits, to, from, operation, result) \
	PTX_INLINE type ptx_atom_##operation##_##name(void *address, type value, int order) \
	{ \
		volatile bits *const own = (volatile bits *)address; \
		bits before = order == PTX_ALONE ? *own : __atomic_load_n((bits *)address, __ATOMIC_RELAXED), after; \
		type old; \
		do { \
			old = to(before); \
			after = from(result); \
			if (order == PTX_ALONE) { \
				*own = after; \
				break; \
			} \
		} while (!__atomic_compare_exchange_n((bits *)address, &before, after, 1, order, __ATOMIC_RELAXED)); \
		return old; \
	}
#define PTX_SAME(x) (x)

#define PTX_ATOM_CAS(name, type) \
	PTX_INLINE type ptx_atom_cas_##name(void *address, type old, type value, int order) \
	{ \
		const int failure = order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL ? __ATOMIC_ACQUIRE : \
				    __ATOMIC_RELAXED; \
		volatile type *const own = (volatile type *)address; \
		if (order == PTX_ALONE) { \
			const type before = *own; \
			*own = before == old ? value : before; \
			return before; \
		} \
		__atomic_compare_exchange_n((type *)address, &old, value, 0, order, failure); \
		return old; \
	}

PTX_ATOM(u32, uint32_t, add, __atomic_fetch_add, old + value)
PTX_ATOM(s32, int32_t, add, __atomic_fetch_add, old + value)
PTX_ATOM(u64, uint64_t, add, __atomic_fetch_add, old + value)
PTX_ATOM_LOOP(f32, float, uint32_t, ptx_f32, ptx_b32, add, old + value)
PTX_ATOM_LOOP(f64, double, uint64_t, ptx_f64, ptx_b64, add, old + value)
PTX_ATOM_LOOP(f16, uint16_t, uint16_t, PTX_SAME, PTX_SAME, add, ptx_add_f16(old, value))
PTX_ATOM_LOOP(bf16, uint16_t, uint16_t, PTX_SAME, PTX_SAME, add, ptx_add_bf16(old, value))
PTX_ATOM_LOOP(f16x2, uint32_t, uint32_t, PTX_SAME, PTX_SAME, add, ptx_add_f16x2(old, value))
PTX_ATOM_LOOP(bf16x2, uint32_t, uint32_t, PTX_SAME, PTX_SAME, add, ptx_add_bf16x2(old, value))
#define PTX_ATOM_LIMITS(name, type) \
	PTX_ATOM_LOOP(name, type, type, PTX_SAME, PTX_SAME, min, value < old ? value : old) \
	PTX_ATOM_LOOP(name, type, type, PTX_SAME, PTX_SAME, max, value > old ? value : old)
PTX_ATOM_LIMITS(u32, uint32_t)
PTX_ATOM_LIMITS(s32, int32_t)
PTX_ATOM_LIMITS(u64, uint64_t)
PTX_ATOM_LIMITS(s64, int64_t)
PTX_ATOM_LOOP(u32, uint32_t, uint32_t, PTX_SAME, PTX_SAME, inc, old >= value ? 0 : old + 1)
PTX_ATOM_LOOP(u32, uint32_t, uint32_t, PTX_SAME, PTX_SAME, dec, old == 0 || old > value ? value : old - 1)
/*
 * If a register of the PTX is both the operand and the old value, gcc 12 may write the old value to it before it
 * computes the new one. So the operand is the result of an operation, which gcc puts into another register.
 */
#define PTX_OWN(value) ({ __typeof__(value) zero = 0; __asm__("" : "+r"(zero)); (value) ^ zero; })
#define PTX_FETCH_AND(address, value, order) __atomic_fetch_and(address, PTX_OWN(value), order)
#define PTX_FETCH_OR(address, value, order) __atomic_fetch_or(address, PTX_OWN(value), order)
#define PTX_FETCH_XOR(address, value, order) __atomic_fetch_xor(address, PTX_OWN(value), order)
#define PTX_ATOM_BITS(name, type) \
	PTX_ATOM(name, type, and, PTX_FETCH_AND, old & value) \
	PTX_ATOM(name, type, or, PTX_FETCH_OR, old | value) \
	PTX_ATOM(name, type, xor, PTX_FETCH_XOR, old ^ value) \
	PTX_ATOM(name, type, exch, __atomic_exchange_n, value) \
	PTX_ATOM_CAS(name, type)
PTX_ATOM_BITS(b32, uint32_t)
PTX_ATOM_BITS(b64, uint64_t)
PTX_ATOM_CAS(b16, uint16_t)

/* cp.async, complete when it returns: @given bytes, and zeros up to @size. */
PTX_INLINE void ptx_copy_async(char *to, const char *from, uint32_t size, uint32_t given)
{
	if (given >= size) {
		memcpy(to, from, size);
		return;
	}
	memset(to, 0, size);
	memcpy(to, from, given);
}
