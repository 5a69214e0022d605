/* SPDX-License-Identifier: MIT */
/*
 * runtime_half.h - f16 and bf16 in the C text of modules that are made of PTX, after runtime_float.h. They are bits in
 * integers: no compiler or processor need know them. An operation computes in f32 or f64 such that one rounding to 16
 * bits gives the exact result's.
 */
PTX_INLINE float ptx_f32_of_f16(uint16_t x)
{
	/* A shift to the exponent of f32, whose bias is larger by 112; infinities and NaNs get its largest exponent. */
	const uint32_t bits = ptx_b32(ptx_f32((uint32_t)(x & 0x7fff) << 13) * 0x1p112f);

	return ptx_f32(bits | ((x & 0x7c00) == 0x7c00 ? 0x7f800000u : 0) | (uint32_t)(x & 0x8000) << 16);
}

PTX_INLINE float ptx_f32_of_bf16(uint16_t x) { return ptx_f32((uint32_t)x << 16); }

PTX_INLINE uint16_t ptx_f16_rn(float x)
{
	const uint32_t bits = ptx_b32(x) & 0x7fffffffu;
	const uint32_t normal = (bits - 0x38000000u + 0xfffu + (bits >> 13 & 1)) >> 13;
	/* The last bit of numbers between 1/2 and 1 is that of a subnormal f16. */
	const uint32_t subnormal = ptx_b32(ptx_f32(bits) + 0.5f) - 0x3f000000u;
	const uint32_t finite = bits < 0x38800000u ? subnormal : bits < 0x47800000u ? normal : 0x7c00;

	return x != x ? 0x7fff : (uint16_t)(finite | (ptx_b32(x) >> 16 & 0x8000));
}

PTX_INLINE uint16_t ptx_f16_rz(float x)
{
	const uint32_t bits = ptx_b32(x) & 0x7fffffffu;
	const uint32_t subnormal = (uint32_t)(int32_t)(ptx_f32(bits < 0x38800000u ? bits : 0) * 0x1p24f);
	const uint32_t finite = bits < 0x38800000u ? subnormal : bits < 0x47800000u ? (bits - 0x38000000u) >> 13 :
				bits < 0x7f800000u ? 0x7bff : 0x7c00;

	return x != x ? 0x7fff : (uint16_t)(finite | (ptx_b32(x) >> 16 & 0x8000));
}

PTX_INLINE uint16_t ptx_bf16_rn(float x)
{
	const uint32_t bits = ptx_b32(x);

	return x != x ? 0x7fff : (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

PTX_INLINE uint16_t ptx_bf16_rz(float x) { return x != x ? 0x7fff : (uint16_t)(ptx_b32(x) >> 16); }

/* Away from zero where that is upward or downward. */
#define PTX_DIRECTED(type) \
	PTX_INLINE uint16_t ptx_##type##_rp(float x) \
	{ \
		const uint16_t near = ptx_##type##_rz(x); \
		return (uint16_t)(near + (ptx_f32_of_##type(near) < x)); \
	} \
	PTX_INLINE uint16_t ptx_##type##_rm(float x) \
	{ \
		const uint16_t near = ptx_##type##_rz(x); \
		return (uint16_t)(near + (ptx_f32_of_##type(near) > x)); \
	}
PTX_DIRECTED(f16)
PTX_DIRECTED(bf16)

/*
 * An f32 that any rounding to 16 bits rounds as it would round sum + rest, where the sum is rounded and the rest is
 * what is missing: its last bit stands for all that follow.
 */
PTX_INLINE float ptx_odd_sum(double sum, double rest)
{
	const float near = (float)sum;
	const uint32_t inexact = near < sum || near > sum || rest < 0.0 || rest > 0.0;

	return ptx_f32(ptx_b32(ptx_round_rz(sum, rest)) | inexact);
}

PTX_INLINE float ptx_odd(double x) { return ptx_odd_sum(x, 0.0); }

PTX_INLINE uint16_t ptx_flush_f16(uint16_t x) { return x & 0x7c00 ? x : x & 0x8000; }
PTX_INLINE uint16_t ptx_flush_bf16(uint16_t x) { return x & 0x7f80 ? x : x & 0x8000; }
PTX_INLINE uint16_t ptx_sat_f16(uint16_t x) { return (int16_t)x <= 0 || x > 0x7c00 ? 0 : x > 0x3c00 ? 0x3c00 : x; }
PTX_INLINE uint16_t ptx_relu_f16(uint16_t x) { return (x & 0x7fff) > 0x7c00 ? 0x7fff : x & 0x8000 ? 0 : x; }
PTX_INLINE uint16_t ptx_relu_bf16(uint16_t x) { return (x & 0x7fff) > 0x7f80 ? 0x7fff : x & 0x8000 ? 0 : x; }

/* The same for each of two numbers. */
#define PTX_TWICE(name, type) \
	PTX_INLINE uint32_t ptx_##name##_##type##x2(uint32_t a) \
	{ return ptx_##name##_##type((uint16_t)a) | (uint32_t)ptx_##name##_##type((uint16_t)(a >> 16)) << 16; }
#define PTX_TWICE_2(name, type) \
	PTX_INLINE uint32_t ptx_##name##_##type##x2(uint32_t a, uint32_t b) \
	{ \
		return ptx_##name##_##type((uint16_t)a, (uint16_t)b) | \
		       (uint32_t)ptx_##name##_##type((uint16_t)(a >> 16), (uint16_t)(b >> 16)) << 16; \
	}

PTX_TWICE(flush, f16)
PTX_TWICE(flush, bf16)
PTX_TWICE(sat, f16)
PTX_TWICE(relu, f16)
PTX_TWICE(relu, bf16)

#define PTX_HALF_1(name, type, value) \
	PTX_INLINE uint16_t ptx_##name##_##type(uint16_t a) \
	{ \
		const float x = ptx_f32_of_##type(a); \
		return ptx_##type##_rn(value); \
	} \
	PTX_TWICE(name, type)
#define PTX_HALF_2(name, type, value) \
	PTX_INLINE uint16_t ptx_##name##_##type(uint16_t a, uint16_t b) \
	{ \
		const float x = ptx_f32_of_##type(a), y = ptx_f32_of_##type(b); \
		return ptx_##type##_rn(value); \
	} \
	PTX_TWICE_2(name, type)

#define PTX_HALF(type) \
	PTX_HALF_2(add, type, x + y) \
	PTX_HALF_2(sub, type, x - y) \
	PTX_HALF_2(mul, type, x * y) \
	PTX_HALF_2(min, type, ptx_min_f32(x, y)) \
	PTX_HALF_2(max, type, ptx_max_f32(x, y)) \
	PTX_HALF_2(min_nan, type, ptx_min_nan_f32(x, y)) \
	PTX_HALF_2(max_nan, type, ptx_max_nan_f32(x, y)) \
	PTX_HALF_2(min_xorsign, type, ptx_min_xorsign(x, y)) \
	PTX_HALF_2(max_xorsign, type, ptx_max_xorsign(x, y)) \
	PTX_HALF_2(min_nan_xorsign, type, ptx_min_nan_xorsign(x, y)) \
	PTX_HALF_2(max_nan_xorsign, type, ptx_max_nan_xorsign(x, y)) \
	PTX_HALF_1(ex2, type, ptx_ex2(x)) \
	PTX_HALF_1(tanh, type, ptx_tanh(x)) \
	PTX_INLINE uint16_t ptx_neg_##type(uint16_t a) { return a ^ 0x8000; } \
	PTX_INLINE uint16_t ptx_abs_##type(uint16_t a) { return a & 0x7fff; } \
	PTX_TWICE(neg, type) \
	PTX_TWICE(abs, type) \
	PTX_INLINE uint16_t ptx_fma_##type(uint16_t a, uint16_t b, uint16_t c) \
	{ \
		const double product = (double)ptx_f32_of_##type(a) * ptx_f32_of_##type(b); \
		const double addend = ptx_f32_of_##type(c); \
		return ptx_##type##_rn(ptx_odd_sum(product + addend, ptx_rest_sum(product, addend))); \
	} \
	PTX_INLINE uint32_t ptx_fma_##type##x2(uint32_t a, uint32_t b, uint32_t c) \
	{ \
		return ptx_fma_##type((uint16_t)a, (uint16_t)b, (uint16_t)c) | \
		       (uint32_t)ptx_fma_##type((uint16_t)(a >> 16), (uint16_t)(b >> 16), (uint16_t)(c >> 16)) << 16; \
	}
PTX_HALF(f16)
PTX_HALF(bf16)
