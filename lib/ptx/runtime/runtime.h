/* SPDX-License-Identifier: MIT */
/*
 * runtime.h - the C text that every module which is made of PTX starts with: what an instruction computes, where that
 * is more than one expression. Functions are branch-free where they can be, so that loops over threads vectorise.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PTX_INLINE static inline __attribute__((always_inline, unused))
#define PTX_ALWAYS static inline __attribute__((always_inline))
#define PTX_NEVER static __attribute__((noinline))
#define PTX_RARE static __attribute__((noinline, unused))

/* What the threads of a block have in common. */
struct ptx_block {
	uint32_t shared_size;		/* bytes of the block's shared memory */
	uint32_t dynamic_size;		/* of which the launch has asked for these */
	const char *name;		/* of the kernel */
	const struct adsm_kernel_block *block;
	const void *const *args;
	char *sh;			/* the block's shared memory */
	char *const *symbols;		/* the addresses of the module's variables in device memory */
	void *params;			/* copies of parameters whose addresses threads may keep while they wait */
	size_t N;			/* a multiple of 64 that is not below the number of threads */
	void *memory;			/* what is freed at the block's end */
	/* Checks only: the bytes of shared memory without gaps, and for each whether a thread has written it. */
	uint32_t check_size;
	uint8_t *written;
	uint64_t (*nanoseconds)(void);	/* a clock that never goes back */
	/* What device code may call. @thread is the linear index of the thread in its block. */
	int (*print)(const struct ptx_block *block, uint32_t thread, const char *format, const char *arguments);
	void *(*allocate)(const struct ptx_block *block, uint64_t size);
	void (*release)(const struct ptx_block *block, void *memory);
	void (*fail)(const struct ptx_block *block, uint32_t thread, const char *message, const char *file,
		     uint32_t line, const char *function);
	void (*trap)(const struct ptx_block *block, uint32_t thread, const char *place);
};

/* A pointer to a function: its index in the module, plus 1. Addresses differ between the nodes of a cluster. */
#define PTX_FUNCTION(index) ((uint64_t)(index) + 1)

PTX_INLINE float ptx_f32(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, 4);
	return value;
}

PTX_INLINE uint32_t ptx_b32(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, 4);
	return bits;
}

PTX_INLINE double ptx_f64(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, 8);
	return value;
}

PTX_INLINE uint64_t ptx_b64(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, 8);
	return bits;
}

PTX_INLINE uint64_t ptx_clock(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return 0;
#endif
}

/* Integers. Division by zero gives all ones, as GPUs do; the PTX manual leaves it open. */
PTX_INLINE int32_t ptx_add_sat(int32_t a, int32_t b)
{
	const int64_t sum = (int64_t)a + b;

	return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : (int32_t)sum;
}

PTX_INLINE int32_t ptx_sub_sat(int32_t a, int32_t b)
{
	const int64_t difference = (int64_t)a - b;

	return difference > INT32_MAX ? INT32_MAX : difference < INT32_MIN ? INT32_MIN : (int32_t)difference;
}

PTX_INLINE uint64_t ptx_mul24_u32(uint32_t a, uint32_t b)
{
	return (uint64_t)(a & 0xffffffu) * (b & 0xffffffu);
}

PTX_INLINE int64_t ptx_mul24_s32(int32_t a, int32_t b)
{
	return (int64_t)((int32_t)((uint32_t)a << 8) >> 8) * ((int32_t)((uint32_t)b << 8) >> 8);
}

#define PTX_DIVIDE(name, type) \
	PTX_INLINE type ptx_div_##name(type a, type b) { return b ? (type)(a / b) : (type)-1; } \
	PTX_INLINE type ptx_rem_##name(type a, type b) { return b ? (type)(a % b) : a; }
PTX_DIVIDE(u16, uint16_t)
PTX_DIVIDE(u32, uint32_t)
PTX_DIVIDE(u64, uint64_t)
/* The least number divided by -1 traps on some processors. */
#define PTX_DIVIDE_SIGNED(name, type, unsigned_type) \
	PTX_INLINE type ptx_div_##name(type a, type b) \
	{ return b == -1 ? (type)((unsigned_type)0 - (unsigned_type)a) : b ? (type)(a / b) : (type)-1; } \
	PTX_INLINE type ptx_rem_##name(type a, type b) { return b == -1 ? 0 : b ? (type)(a % b) : a; }
PTX_DIVIDE_SIGNED(s16, int16_t, uint16_t)
PTX_DIVIDE_SIGNED(s32, int32_t, uint32_t)
PTX_DIVIDE_SIGNED(s64, int64_t, uint64_t)

#define PTX_DOT(name, a_byte, a_half, b_byte) \
	PTX_INLINE uint32_t ptx_dp4a_##name(uint32_t a, uint32_t b, uint32_t c) \
	{ \
		return c + (uint32_t)((a_byte)a * (b_byte)b) + (uint32_t)((a_byte)(a >> 8) * (b_byte)(b >> 8)) + \
		       (uint32_t)((a_byte)(a >> 16) * (b_byte)(b >> 16)) + \
		       (uint32_t)((a_byte)(a >> 24) * (b_byte)(b >> 24)); \
	} \
	PTX_INLINE uint32_t ptx_dp2a_##name(uint32_t a, uint32_t b, uint32_t c) \
	{ \
		return c + (uint32_t)((a_half)a * (b_byte)b) + (uint32_t)((a_half)(a >> 16) * (b_byte)(b >> 8)); \
	}
PTX_DOT(u32_u32, uint8_t, uint16_t, uint8_t)
PTX_DOT(u32_s32, uint8_t, uint16_t, int8_t)
PTX_DOT(s32_u32, int8_t, int16_t, uint8_t)
PTX_DOT(s32_s32, int8_t, int16_t, int8_t)

/* Shifts. Those by the width or more give 0, or copies of the sign. */
#define PTX_SHIFT(name, type, bits) \
	PTX_INLINE type ptx_shl_##name(type a, uint32_t n) { return n < bits ? (type)(a << (n & (bits - 1))) : 0; } \
	PTX_INLINE type ptx_shr_##name(type a, uint32_t n) { return n < bits ? (type)(a >> (n & (bits - 1))) : 0; }
PTX_SHIFT(b16, uint16_t, 16)
PTX_SHIFT(b32, uint32_t, 32)
PTX_SHIFT(b64, uint64_t, 64)
#define ptx_shr_u16 ptx_shr_b16
#define ptx_shr_u32 ptx_shr_b32
#define ptx_shr_u64 ptx_shr_b64
PTX_INLINE int16_t ptx_shr_s16(int16_t a, uint32_t n) { return (int16_t)(a >> (n < 15 ? n : 15)); }
PTX_INLINE int32_t ptx_shr_s32(int32_t a, uint32_t n) { return a >> (n < 31 ? n : 31); }
PTX_INLINE int64_t ptx_shr_s64(int64_t a, uint32_t n) { return a >> (n < 63 ? n : 63); }

PTX_INLINE uint32_t ptx_shf_l(uint32_t a, uint32_t b, uint32_t n)
{
	return (uint32_t)(((uint64_t)b << 32 | a) << (n < 32 ? n : 32) >> 32);
}

PTX_INLINE uint32_t ptx_shf_r(uint32_t a, uint32_t b, uint32_t n)
{
	return (uint32_t)(((uint64_t)b << 32 | a) >> (n < 32 ? n : 32));
}

/* Fields of bits. */
PTX_INLINE uint32_t ptx_bfe_u32(uint32_t a, uint32_t position, uint32_t size)
{
	return ptx_shr_b32(a, position & 255) & ~ptx_shl_b32(~0u, size & 255);
}

PTX_INLINE uint64_t ptx_bfe_u64(uint64_t a, uint32_t position, uint32_t size)
{
	return ptx_shr_b64(a, position & 255) & ~ptx_shl_b64(~0ull, size & 255);
}

PTX_INLINE int32_t ptx_bfe_s32(int32_t a, uint32_t position, uint32_t size)
{
	/* Above its bits a field has copies of its last bit, which is the sign of a if the field goes beyond it. */
	const int64_t field = (int64_t)a >> ((position & 255) < 32 ? position & 255 : 32);
	const uint32_t unused = 64 - ((size & 255) < 32 ? size & 255 : 32);

	return size & 255 ? (int32_t)((int64_t)((uint64_t)field << (unused & 63)) >> (unused & 63)) : 0;
}

PTX_INLINE int64_t ptx_bfe_s64(int64_t a, uint32_t position, uint32_t size)
{
	const int64_t field = ptx_shr_s64(a, position & 255);
	const uint32_t unused = (size & 255) < 64 ? 64 - (size & 255) : 0;

	return size & 255 ? (int64_t)((uint64_t)field << (unused & 63)) >> (unused & 63) : 0;
}

PTX_INLINE uint32_t ptx_bfi_b32(uint32_t a, uint32_t b, uint32_t position, uint32_t size)
{
	const uint32_t mask = ptx_shl_b32(~ptx_shl_b32(~0u, size & 255), position & 255);

	return (b & ~mask) | (ptx_shl_b32(a, position & 255) & mask);
}

PTX_INLINE uint64_t ptx_bfi_b64(uint64_t a, uint64_t b, uint32_t position, uint32_t size)
{
	const uint64_t mask = ptx_shl_b64(~ptx_shl_b64(~0ull, size & 255), position & 255);

	return (b & ~mask) | (ptx_shl_b64(a, position & 255) & mask);
}

PTX_INLINE uint32_t ptx_popc_b32(uint32_t a) { return (uint32_t)__builtin_popcount(a); }
PTX_INLINE uint32_t ptx_popc_b64(uint64_t a) { return (uint32_t)__builtin_popcountll(a); }
PTX_INLINE uint32_t ptx_clz_b32(uint32_t a) { return a ? (uint32_t)__builtin_clz(a) : 32; }
PTX_INLINE uint32_t ptx_clz_b64(uint64_t a) { return a ? (uint32_t)__builtin_clzll(a) : 64; }
PTX_INLINE uint32_t ptx_bfind_u32(uint32_t a) { return 31 - ptx_clz_b32(a); }
PTX_INLINE uint32_t ptx_bfind_u64(uint64_t a) { return 63 - ptx_clz_b64(a); }
PTX_INLINE uint32_t ptx_bfind_s32(int32_t a) { return ptx_bfind_u32((uint32_t)(a < 0 ? ~a : a)); }
PTX_INLINE uint32_t ptx_bfind_s64(int64_t a) { return ptx_bfind_u64((uint64_t)(a < 0 ? ~a : a)); }
PTX_INLINE uint32_t ptx_bfind_shift_u32(uint32_t a) { return a ? ptx_clz_b32(a) : ~0u; }
PTX_INLINE uint32_t ptx_bfind_shift_u64(uint64_t a) { return a ? ptx_clz_b64(a) : ~0u; }
PTX_INLINE uint32_t ptx_bfind_shift_s32(int32_t a) { return ptx_bfind_shift_u32((uint32_t)(a < 0 ? ~a : a)); }
PTX_INLINE uint32_t ptx_bfind_shift_s64(int64_t a) { return ptx_bfind_shift_u64((uint64_t)(a < 0 ? ~a : a)); }

PTX_INLINE uint32_t ptx_brev_b32(uint32_t a)
{
	a = a << 16 | a >> 16;
	a = (a & 0x00ff00ffu) << 8 | (a >> 8 & 0x00ff00ffu);
	a = (a & 0x0f0f0f0fu) << 4 | (a >> 4 & 0x0f0f0f0fu);
	a = (a & 0x33333333u) << 2 | (a >> 2 & 0x33333333u);
	return (a & 0x55555555u) << 1 | (a >> 1 & 0x55555555u);
}

PTX_INLINE uint64_t ptx_brev_b64(uint64_t a)
{
	return (uint64_t)ptx_brev_b32((uint32_t)a) << 32 | ptx_brev_b32((uint32_t)(a >> 32));
}

PTX_INLINE uint32_t ptx_fns(uint32_t mask, uint32_t base, int32_t offset)
{
	const int32_t step = offset < 0 ? -1 : 1;
	uint32_t left = offset < 0 ? 0u - (uint32_t)offset : offset > 0 ? (uint32_t)offset : 1;

	for (int32_t i = (int32_t)(base & 31); i >= 0 && i < 32; i += step) {
		left -= mask >> i & 1;
		if (!left)
			return (uint32_t)i;
		if (!offset)
			break;
	}
	return ~0u;
}

PTX_INLINE uint32_t ptx_prmt_byte(uint64_t bytes, uint32_t selector)
{
	const uint32_t byte = (uint32_t)(bytes >> 8 * (selector & 7)) & 255;

	return selector & 8 ? (byte & 128 ? 255 : 0) : byte;
}

PTX_INLINE uint32_t ptx_prmt(uint32_t a, uint32_t b, uint32_t selectors)
{
	const uint64_t bytes = (uint64_t)b << 32 | a;

	return ptx_prmt_byte(bytes, selectors) | ptx_prmt_byte(bytes, selectors >> 4) << 8 |
	       ptx_prmt_byte(bytes, selectors >> 8) << 16 | ptx_prmt_byte(bytes, selectors >> 12) << 24;
}

/* The selectors of prmt's modes. Each nibble is a byte's number. */
PTX_INLINE uint32_t ptx_prmt_f4e(uint32_t c) { return 0x3210u + 0x1111u * (c & 3); }
PTX_INLINE uint32_t ptx_prmt_b4e(uint32_t c) { return (0x5670u + 0x1111u * (c & 3)) & 0x7777u; }
PTX_INLINE uint32_t ptx_prmt_rc8(uint32_t c) { return 0x1111u * (c & 3); }
PTX_INLINE uint32_t ptx_prmt_ecl(uint32_t c)
{
	return (c & 3) == 0 ? 0x3210u : (c & 3) == 1 ? 0x3211u : (c & 3) == 2 ? 0x3222u : 0x3333u;
}
PTX_INLINE uint32_t ptx_prmt_ecr(uint32_t c)
{
	return (c & 3) == 0 ? 0x0000u : (c & 3) == 1 ? 0x1110u : (c & 3) == 2 ? 0x2210u : 0x3210u;
}
PTX_INLINE uint32_t ptx_prmt_rc16(uint32_t c) { return c & 1 ? 0x3232u : 0x1010u; }

PTX_INLINE uint32_t ptx_szext_wrap_u32(uint32_t a, uint32_t n) { return a & ~(~0u << (n & 31)); }
PTX_INLINE uint32_t ptx_szext_clamp_u32(uint32_t a, uint32_t n) { return n > 31 ? a : ptx_szext_wrap_u32(a, n); }
PTX_INLINE int32_t ptx_szext_wrap_s32(int32_t a, uint32_t n) { return ptx_bfe_s32(a, 0, n & 31); }
PTX_INLINE int32_t ptx_szext_clamp_s32(int32_t a, uint32_t n) { return n > 31 ? a : ptx_bfe_s32(a, 0, n); }

PTX_INLINE uint32_t ptx_bmsk_wrap(uint32_t a, uint32_t b)
{
	const uint32_t first = a & 31, end = first + (b & 31);

	return ~0u << first & ~ptx_shl_b32(~0u, end);
}

PTX_INLINE uint32_t ptx_bmsk_clamp(uint32_t a, uint32_t b)
{
	return ptx_shl_b32(~0u, a) & ~(b > 31 ? 0 : ptx_shl_b32(~0u, (a & 31) + b));
}
