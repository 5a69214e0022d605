/* SPDX-License-Identifier: MIT */
/* runtime_convert.h - conversions in the C text of modules that are made of PTX, after runtime_half.h. */

/*
 * From a number to an integer: limited to its range. @end is the first number above the range. A NaN becomes 0, but
 * from f64, or to 64 bits, only the highest bit of the integer is set.
 */
#define PTX_INTEGER(integer, ctype, number, real, least, most, end, unknown) \
	PTX_INLINE ctype ptx_##integer##_of_##number(real x) \
	{ \
		const real above = x >= (real)least ? x : (real)least; \
		const ctype inside = (ctype)(above < end ? above : 0), limited = above < end ? inside : most; \
		return x == x ? limited : unknown; \
	}
#define PTX_INTEGERS(number, real, unknown) \
	PTX_INTEGER(u8, uint8_t, number, real, 0, UINT8_MAX, 0x1p8f, unknown(0x80)) \
	PTX_INTEGER(s8, int8_t, number, real, INT8_MIN, INT8_MAX, 0x1p7f, unknown(INT8_MIN)) \
	PTX_INTEGER(u16, uint16_t, number, real, 0, UINT16_MAX, 0x1p16f, unknown(0x8000)) \
	PTX_INTEGER(s16, int16_t, number, real, INT16_MIN, INT16_MAX, 0x1p15f, unknown(INT16_MIN)) \
	PTX_INTEGER(u32, uint32_t, number, real, 0, UINT32_MAX, 0x1p32f, unknown(0x80000000u)) \
	PTX_INTEGER(s32, int32_t, number, real, INT32_MIN, INT32_MAX, 0x1p31f, unknown(INT32_MIN)) \
	PTX_INTEGER(u64, uint64_t, number, real, 0, UINT64_MAX, 0x1p64f, 0x8000000000000000ull) \
	PTX_INTEGER(s64, int64_t, number, real, INT64_MIN, INT64_MAX, 0x1p63f, INT64_MIN)
#define PTX_ZERO(highest) 0
#define PTX_HIGHEST(highest) highest
PTX_INTEGERS(f32, float, PTX_ZERO)
PTX_INTEGERS(f64, double, PTX_HIGHEST)

PTX_INLINE float ptx_f32_rp_of_f64(double x) { return ptx_round_rp(x, 0.0); }
PTX_INLINE float ptx_f32_rz_of_f64(double x) { return ptx_round_rz(x, 0.0); }
PTX_INLINE float ptx_f32_rm_of_f64(double x) { return -ptx_round_rp(-x, 0.0); }

/* Integers of 32 bits and less are exact as f64. Those of 64 bits are the sum of two that are. */
#define PTX_NUMBER(integer, ctype) \
	PTX_INLINE float ptx_f32_rp_of_##integer(ctype x) { return ptx_round_rp((double)x, 0.0); } \
	PTX_INLINE float ptx_f32_rz_of_##integer(ctype x) { return ptx_round_rz((double)x, 0.0); } \
	PTX_INLINE float ptx_f32_rm_of_##integer(ctype x) { return x ? -ptx_round_rp(-(double)x, 0.0) : 0.0f; } \
	PTX_INLINE double ptx_f64_rp_of_##integer(ctype x) { return (double)x; } \
	PTX_INLINE double ptx_f64_rz_of_##integer(ctype x) { return (double)x; } \
	PTX_INLINE double ptx_f64_rm_of_##integer(ctype x) { return (double)x; }
PTX_NUMBER(u8, uint8_t)
PTX_NUMBER(s8, int8_t)
PTX_NUMBER(u16, uint16_t)
PTX_NUMBER(s16, int16_t)
PTX_NUMBER(u32, uint32_t)
PTX_NUMBER(s32, int32_t)

#define PTX_NUMBER_64(integer, ctype) \
	PTX_INLINE double ptx_f64_rp_of_##integer(ctype x) \
	{ return ptx_add_rp_f64((double)(x >> 32) * 0x1p32, (double)(uint32_t)x); } \
	PTX_INLINE double ptx_f64_rz_of_##integer(ctype x) \
	{ return ptx_add_rz_f64((double)(x >> 32) * 0x1p32, (double)(uint32_t)x); } \
	PTX_INLINE double ptx_f64_rm_of_##integer(ctype x) \
	{ return ptx_add_rm_f64((double)(x >> 32) * 0x1p32, (double)(uint32_t)x); } \
	PTX_INLINE float ptx_f32_rp_of_##integer(ctype x) \
	{ \
		const double high = (double)(x >> 32) * 0x1p32, low = (double)(uint32_t)x; \
		return ptx_round_rp(high + low, ptx_rest_sum(high, low)); \
	} \
	PTX_INLINE float ptx_f32_rz_of_##integer(ctype x) \
	{ \
		const double high = (double)(x >> 32) * 0x1p32, low = (double)(uint32_t)x; \
		return ptx_round_rz(high + low, ptx_rest_sum(high, low)); \
	} \
	PTX_INLINE float ptx_f32_rm_of_##integer(ctype x) \
	{ \
		const double high = (double)(x >> 32) * 0x1p32, low = (double)(uint32_t)x; \
		return x ? -ptx_round_rp(-high - low, ptx_rest_sum(-high, -low)) : 0.0f; \
	}
PTX_NUMBER_64(u64, uint64_t)
PTX_NUMBER_64(s64, int64_t)

/* tf32: f32 with 10 bits after the point, rounded to the nearest, ties away from zero. */
PTX_INLINE uint32_t ptx_tf32_rna(float x)
{
	const uint32_t infinite = x == x ? ptx_b32(x) : 0x7fffffffu;

	return __builtin_fabsf(x) < __builtin_inff() ? (ptx_b32(x) + 0x1000u) & ~0x1fffu : infinite;
}
