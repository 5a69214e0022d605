/* SPDX-License-Identifier: MIT */
/* direct.c - see direct.h. */
#include "direct.h"

#include <string.h>

#include "cache.h"

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Reinterpret the bytes of a value as another type. */
#define AS(type, value) __extension__ ({ \
	__typeof__(value) from_ = (value); \
	type to_; \
\
	_Static_assert(sizeof(to_) == sizeof(from_), "of the same size"); \
	memcpy(&to_, &from_, sizeof(to_)); \
	to_; })

/* Replace the value by @result, an expression of `old`; returns the old value. */
#define REPLACE(type, p, result) __extension__ ({ \
	type old = __atomic_load_n((type *)(p), __ATOMIC_RELAXED); \
\
	while (!__atomic_compare_exchange_n((type *)(p), &old, (result), 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) \
		; \
	old; })

#define OPERATIONS(name, type, signed_type, ...) \
static uint64_t name(uint64_t op, void *p, type value) \
{ \
	switch (op) { \
	case ADSM_STORE_LOAD: return __atomic_load_n((type *)p, __ATOMIC_SEQ_CST); \
	case ADSM_STORE_STORE: __atomic_store_n((type *)p, value, __ATOMIC_SEQ_CST); return 0; \
	case ADSM_STORE_XCHG: return __atomic_exchange_n((type *)p, value, __ATOMIC_SEQ_CST); \
	case ADSM_STORE_ADD: return __atomic_fetch_add((type *)p, value, __ATOMIC_SEQ_CST); \
	case ADSM_STORE_SUB: return __atomic_fetch_sub((type *)p, value, __ATOMIC_SEQ_CST); \
	case ADSM_STORE_AND: return __atomic_fetch_and((type *)p, value, __ATOMIC_SEQ_CST); \
	case ADSM_STORE_NAND: return __atomic_fetch_nand((type *)p, value, __ATOMIC_SEQ_CST); \
	case ADSM_STORE_OR: return __atomic_fetch_or((type *)p, value, __ATOMIC_SEQ_CST); \
	case ADSM_STORE_XOR: return __atomic_fetch_xor((type *)p, value, __ATOMIC_SEQ_CST); \
	case ADSM_STORE_UMAX: return REPLACE(type, p, MAX(old, value)); \
	case ADSM_STORE_UMIN: return REPLACE(type, p, MIN(old, value)); \
	case ADSM_STORE_MAX: return (type)REPLACE(signed_type, p, MAX(old, (signed_type)value)); \
	case ADSM_STORE_MIN: return (type)REPLACE(signed_type, p, MIN(old, (signed_type)value)); \
	__VA_ARGS__ \
	default: return 0; \
	} \
}

OPERATIONS(on_1, uint8_t, int8_t)
OPERATIONS(on_2, uint16_t, int16_t)
OPERATIONS(on_4, uint32_t, int32_t,
	   case ADSM_STORE_FADD: return REPLACE(uint32_t, p, AS(uint32_t, AS(float, old) + AS(float, value)));
	   case ADSM_STORE_FSUB: return REPLACE(uint32_t, p, AS(uint32_t, AS(float, old) - AS(float, value)));)
OPERATIONS(on_8, uint64_t, int64_t,
	   case ADSM_STORE_FADD: return REPLACE(uint64_t, p, AS(uint64_t, AS(double, old) + AS(double, value)));
	   case ADSM_STORE_FSUB: return REPLACE(uint64_t, p, AS(uint64_t, AS(double, old) - AS(double, value)));)

bool adsm_direct_may(uint64_t op, uint64_t address, uint64_t size)
{
	/* Volatile loads and stores may be unaligned. */
	return address % size == 0 || op == ADSM_STORE_LOAD || op == ADSM_STORE_STORE;
}

uint64_t adsm_direct_operate(uint64_t op, uint8_t *bytes, uint64_t size, uint64_t value)
{
	uint64_t result = 0;

	if ((uintptr_t)bytes % size) {
		if (op == ADSM_STORE_LOAD)
			memcpy(&result, bytes, size);
		else
			memcpy(bytes, &value, size);
		return result;
	}
	return size == 1 ? on_1(op, bytes, (uint8_t)value) : size == 2 ? on_2(op, bytes, (uint16_t)value) :
		size == 4 ? on_4(op, bytes, (uint32_t)value) : on_8(op, bytes, value);
}

#define EXCHANGE(type) do { \
	type old = (type)expected; \
\
	__atomic_compare_exchange_n((type *)bytes, &old, (type)value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
	return old; \
} while (0)

uint64_t adsm_direct_swap(uint8_t *bytes, uint64_t size, uint64_t expected, uint64_t value)
{
	switch (size) {
	case 1: EXCHANGE(uint8_t);
	case 2: EXCHANGE(uint16_t);
	case 4: EXCHANGE(uint32_t);
	default: EXCHANGE(uint64_t);
	}
}

/* ---- the same for cores with a cache of lines */

/* Access the memory itself. */
static uint8_t *reach(struct adsm_cache *cache, uint64_t address, uint64_t size, bool write)
{
	uint8_t *bytes = adsm_cache_bytes(cache, address, size, write);

	cache->counts.direct++;
	adsm_cache_drop(cache, address);
	if (address % size)
		adsm_cache_drop(cache, address + size - 1);
	return bytes;
}

uint64_t adsm_direct_atomic(struct adsm_store *store, uint64_t op, uint64_t address, uint64_t size, uint64_t value)
{
	struct adsm_cache *cache = (struct adsm_cache *)store;
	uint8_t *bytes = reach(cache, address, size, op != ADSM_STORE_LOAD);

	if (!adsm_direct_may(op, address, size))
		cache->wrong(cache, address, ADSM_DIRECT_UNALIGNED);
	return adsm_direct_operate(op, bytes, size, value);
}

uint64_t adsm_direct_exchange(struct adsm_store *store, uint64_t address, uint64_t size, uint64_t expected,
			      uint64_t value)
{
	struct adsm_cache *cache = (struct adsm_cache *)store;
	uint8_t *bytes = reach(cache, address, size, true);

	if (address % size)
		cache->wrong(cache, address, ADSM_DIRECT_UNALIGNED);
	return adsm_direct_swap(bytes, size, expected, value);
}
