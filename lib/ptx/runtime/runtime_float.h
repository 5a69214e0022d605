/* SPDX-License-Identifier: MIT */
/*
 * runtime_float.h - floating-point arithmetic in the C text of modules that are made of PTX, after runtime.h: limits,
 * directed rounding without changes of the processor's mode, and approximations that loops over threads can vectorise.
 */
#if defined(__FP_FAST_FMAF) || defined(__FMA__) || defined(__aarch64__)
#define PTX_MULTIPLY_ADD(a, b, c) __builtin_fmaf(a, b, c)
#else
#define PTX_MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif

/* .ftz: a subnormal number becomes a zero of its sign. */
PTX_INLINE float ptx_flush(float x) { return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0.0f, x) : x; }

/* .sat: NaN becomes +0. */
PTX_INLINE float ptx_sat_f32(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
PTX_INLINE double ptx_sat_f64(double x) { return x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0; }

/* Minimum and maximum: a number rather than a NaN, and -0 is less than +0. */
PTX_INLINE float ptx_min_f32(float a, float b)
{
	const float either = a == b ? ptx_f32(ptx_b32(a) | ptx_b32(b)) : b;

	return a < b || b != b ? a : either;
}

PTX_INLINE float ptx_max_f32(float a, float b)
{
	const float either = a == b ? ptx_f32(ptx_b32(a) & ptx_b32(b)) : b;

	return a > b || b != b ? a : either;
}

PTX_INLINE double ptx_min_f64(double a, double b)
{
	const double either = a == b ? ptx_f64(ptx_b64(a) | ptx_b64(b)) : b;

	return a < b || b != b ? a : either;
}

PTX_INLINE double ptx_max_f64(double a, double b)
{
	const double either = a == b ? ptx_f64(ptx_b64(a) & ptx_b64(b)) : b;

	return a > b || b != b ? a : either;
}

#define PTX_NAN ptx_f32(0x7fffffffu)
PTX_INLINE float ptx_min_nan_f32(float a, float b) { return a != a || b != b ? PTX_NAN : ptx_min_f32(a, b); }
PTX_INLINE float ptx_max_nan_f32(float a, float b) { return a != a || b != b ? PTX_NAN : ptx_max_f32(a, b); }

/* The result's sign is that of the product. */
PTX_INLINE float ptx_xorsign(float x, float a, float b)
{
	return ptx_f32(ptx_b32(x) | ((ptx_b32(a) ^ ptx_b32(b)) & 0x80000000u));
}

PTX_INLINE float ptx_min_xorsign(float a, float b)
{
	return ptx_xorsign(ptx_min_f32(__builtin_fabsf(a), __builtin_fabsf(b)), a, b);
}

PTX_INLINE float ptx_max_xorsign(float a, float b)
{
	return ptx_xorsign(ptx_max_f32(__builtin_fabsf(a), __builtin_fabsf(b)), a, b);
}

PTX_INLINE float ptx_min_nan_xorsign(float a, float b) { return a != a || b != b ? PTX_NAN : ptx_min_xorsign(a, b); }
PTX_INLINE float ptx_max_nan_xorsign(float a, float b) { return a != a || b != b ? PTX_NAN : ptx_max_xorsign(a, b); }

/* What testp tests. Zeros are normal. */
#define PTX_TEST(type, size, abs, least, infinity) \
	PTX_INLINE uint8_t ptx_finite_f##size(type x) { return abs(x) < infinity; } \
	PTX_INLINE uint8_t ptx_infinite_f##size(type x) { return abs(x) == infinity; } \
	PTX_INLINE uint8_t ptx_number_f##size(type x) { return x == x; } \
	PTX_INLINE uint8_t ptx_notanumber_f##size(type x) { return x != x; } \
	PTX_INLINE uint8_t ptx_normal_f##size(type x) { return x == 0 || (abs(x) >= least && abs(x) < infinity); } \
	PTX_INLINE uint8_t ptx_subnormal_f##size(type x) { return x != 0 && abs(x) < least; }
PTX_TEST(float, 32, __builtin_fabsf, 0x1p-126f, __builtin_inff())
PTX_TEST(double, 64, __builtin_fabs, 0x1p-1022, __builtin_inf())

/*
 * Directed rounding. The result rounded to the nearest, and the sign of what is missing to the exact result, say
 * whether the result is one step away. Rounding down is rounding up of the negated operands, negated.
 */
PTX_INLINE float ptx_up_f32(float x)
{
	const uint32_t bits = ptx_b32(x);

	return ptx_f32(x == 0.0f ? 1 : bits >> 31 ? bits - 1 : bits + 1);
}

PTX_INLINE double ptx_up_f64(double x)
{
	const uint64_t bits = ptx_b64(x);

	return ptx_f64(x == 0.0 ? 1 : bits >> 63 ? bits - 1 : bits + 1);
}

/* sum + rest, where the sum is rounded and the rest is what is missing, in single precision. */
PTX_INLINE float ptx_round_rp(double sum, double rest)
{
	const float near = (float)sum;

	return near < sum || (near == sum && rest > 0.0) ? ptx_up_f32(near) : near;
}

PTX_INLINE float ptx_round_rz(double sum, double rest)
{
	const float near = (float)sum;
	const uint32_t far = sum > 0.0 ? near > sum || (near == sum && rest < 0.0) :
				     near < sum || (near == sum && rest > 0.0 && sum < 0.0);

	return ptx_f32(ptx_b32(near) - far);
}

PTX_INLINE double ptx_step_rp(double near, double rest) { return rest > 0.0 ? ptx_up_f64(near) : near; }

PTX_INLINE double ptx_step_rz(double near, double rest)
{
	return ptx_f64(ptx_b64(near) - (near > 0.0 ? rest < 0.0 : near < 0.0 && rest > 0.0));
}

/* What is missing to the exact sum. Where finite numbers give an infinity, the exact sum is on this side of it. */
PTX_INLINE double ptx_rest_sum(double a, double b)
{
	const double sum = a + b, inf = __builtin_inf();
	const double large = __builtin_fabs(a) > __builtin_fabs(b) ? a : b;
	const double small = __builtin_fabs(a) > __builtin_fabs(b) ? b : a;

	return __builtin_fabs(sum) == inf && __builtin_fabs(large) < inf ? -sum : small - (sum - large);
}

PTX_INLINE double ptx_rest_product(double a, double b)
{
	const double product = a * b, inf = __builtin_inf();
	const double large = __builtin_fabs(a) > __builtin_fabs(b) ? a : b;
	const double small = __builtin_fabs(a) > __builtin_fabs(b) ? b : a;
	/* A product near the least number is compared with the exact one far above it. */
	const double above = __builtin_fma(large, small * 0x1p1000, -(product * 0x1p1000));
	const double vanished = (a * 0x1p1000) * (b * 0x1p1000);
	const double rest = __builtin_fabs(product) > 0x1p-900 ? __builtin_fma(a, b, -product) :
			    product == 0.0 ? vanished : above;

	return __builtin_fabs(product) == inf && __builtin_fabs(large) < inf ? -product : rest;
}

PTX_INLINE float ptx_add_rp_f32(float a, float b) { return ptx_round_rp((double)a + b, ptx_rest_sum(a, b)); }
PTX_INLINE float ptx_add_rz_f32(float a, float b) { return ptx_round_rz((double)a + b, ptx_rest_sum(a, b)); }
PTX_INLINE float ptx_add_rm_f32(float a, float b) { return -ptx_add_rp_f32(-a, -b); }
PTX_INLINE float ptx_mul_rp_f32(float a, float b) { return ptx_round_rp((double)a * b, 0.0); }
PTX_INLINE float ptx_mul_rz_f32(float a, float b) { return ptx_round_rz((double)a * b, 0.0); }
PTX_INLINE float ptx_mul_rm_f32(float a, float b) { return -ptx_mul_rp_f32(-a, b); }

PTX_INLINE float ptx_fma_rp_f32(float a, float b, float c)
{
	const double product = (double)a * b;

	return ptx_round_rp(product + c, ptx_rest_sum(product, c));
}

PTX_INLINE float ptx_fma_rz_f32(float a, float b, float c)
{
	const double product = (double)a * b;

	return ptx_round_rz(product + c, ptx_rest_sum(product, c));
}

PTX_INLINE float ptx_fma_rm_f32(float a, float b, float c) { return -ptx_fma_rp_f32(-a, b, -c); }

/* What is missing to the exact quotient has the sign of the remainder divided by b. */
PTX_INLINE double ptx_rest_quotient(float a, float b)
{
	const double rest = __builtin_fma(-((double)a / b), b, a);

	return b < 0.0f ? -rest : rest;
}

PTX_INLINE float ptx_div_rp_f32(float a, float b) { return ptx_round_rp((double)a / b, ptx_rest_quotient(a, b)); }
PTX_INLINE float ptx_div_rz_f32(float a, float b) { return ptx_round_rz((double)a / b, ptx_rest_quotient(a, b)); }
PTX_INLINE float ptx_div_rm_f32(float a, float b) { return -ptx_div_rp_f32(-a, b); }

PTX_INLINE double ptx_rest_root(double x)
{
	/* What is missing for a small number may be too small for a double. */
	const double scale = x < 0x1p-900 ? 0x1p200 : 1.0, half = x < 0x1p-900 ? 0x1p100 : 1.0;
	const double root = __builtin_sqrt(x) * half;

	return __builtin_fma(-root, root, x * scale);
}

PTX_INLINE float ptx_sqrt_rp_f32(float x) { return ptx_round_rp(__builtin_sqrt(x), ptx_rest_root(x)); }
PTX_INLINE float ptx_sqrt_rz_f32(float x) { return ptx_round_rz(__builtin_sqrt(x), ptx_rest_root(x)); }
#define ptx_sqrt_rm_f32 ptx_sqrt_rz_f32

PTX_INLINE double ptx_add_rp_f64(double a, double b) { return ptx_step_rp(a + b, ptx_rest_sum(a, b)); }
PTX_INLINE double ptx_add_rz_f64(double a, double b) { return ptx_step_rz(a + b, ptx_rest_sum(a, b)); }
PTX_INLINE double ptx_add_rm_f64(double a, double b) { return -ptx_add_rp_f64(-a, -b); }
PTX_INLINE double ptx_mul_rp_f64(double a, double b) { return ptx_step_rp(a * b, ptx_rest_product(a, b)); }
PTX_INLINE double ptx_mul_rz_f64(double a, double b) { return ptx_step_rz(a * b, ptx_rest_product(a, b)); }
PTX_INLINE double ptx_mul_rm_f64(double a, double b) { return -ptx_mul_rp_f64(-a, b); }
PTX_INLINE double ptx_sqrt_rp_f64(double x) { return ptx_step_rp(__builtin_sqrt(x), ptx_rest_root(x)); }
PTX_INLINE double ptx_sqrt_rz_f64(double x) { return ptx_step_rz(__builtin_sqrt(x), ptx_rest_root(x)); }
#define ptx_sqrt_rm_f64 ptx_sqrt_rz_f64

/* Directed division and multiply-add in double precision, which are rare, by integers. */
struct ptx_number {
	int negative, exponent;
	unsigned __int128 mantissa;	/* times 2 to the exponent */
};

static inline int ptx_top(unsigned __int128 x)
{
	return x >> 64 ? 127 - __builtin_clzll((uint64_t)(x >> 64)) : 63 - __builtin_clzll((uint64_t)x);
}

/* A finite number other than 0. */
static inline struct ptx_number ptx_unpack(double x)
{
	const uint64_t bits = ptx_b64(x), fraction = bits & 0xfffffffffffffull;
	const int exponent = (int)(bits >> 52 & 0x7ff);
	const int shift = exponent ? 0 : 52 - ptx_top(fraction);

	return (struct ptx_number){ (int)(bits >> 63), (exponent ? exponent : 1) - 1075 - shift,
				    exponent ? fraction | 1ull << 52 : (unsigned __int128)fraction << shift };
}

/* Round to a double: away from zero, or toward it. The last bit of the mantissa may stand for smaller ones. */
static inline double ptx_pack(struct ptx_number x, int away)
{
	const int top = ptx_top(x.mantissa) + x.exponent;
	const int last = top < -1022 ? -1074 : top - 52, shift = last - x.exponent;
	uint64_t bits = 0x7fefffffffffffffull;
	uint64_t kept = shift <= 0 ? (uint64_t)(x.mantissa << -shift) :
			shift < 128 ? (uint64_t)(x.mantissa >> shift) : 0;
	const int inexact = shift > 0 && (shift >= 128 || x.mantissa != (unsigned __int128)kept << shift);

	if (top > 1023) {
		bits += (uint64_t)away;
	} else {
		kept += (uint64_t)(inexact & away);
		bits = top < -1022 ? kept : ((uint64_t)(top + 1022) << 52) + kept;
	}
	return ptx_f64(bits | (uint64_t)x.negative << 63);
}

/* Move the mantissa so that its last bit stands for 2 to the @exponent. */
static inline unsigned __int128 ptx_align(struct ptx_number x, int exponent)
{
	const int shift = exponent - x.exponent;

	if (shift <= 0)
		return x.mantissa << -shift;
	if (shift >= 128)
		return 1;
	return x.mantissa >> shift | (x.mantissa << (128 - shift) != 0);
}

PTX_RARE double ptx_fma_exact(double a, double b, double c, int up)
{
	struct ptx_number x, y, sum;
	int top;

	if (!(__builtin_fabs(a) < __builtin_inf()) || !(__builtin_fabs(b) < __builtin_inf()) ||
	    !(__builtin_fabs(c) < __builtin_inf()) || a == 0.0 || b == 0.0)
		return __builtin_fma(a, b, c);
	x = ptx_unpack(a);
	y = ptx_unpack(b);
	x = (struct ptx_number){ x.negative ^ y.negative, x.exponent + y.exponent, x.mantissa * y.mantissa };
	if (c == 0.0)
		return ptx_pack(x, up && !x.negative);
	y = ptx_unpack(c);
	top = ptx_top(x.mantissa) + x.exponent > ptx_top(y.mantissa) + y.exponent ?
	      ptx_top(x.mantissa) + x.exponent : ptx_top(y.mantissa) + y.exponent;
	sum.exponent = top - 124;
	x.mantissa = ptx_align(x, sum.exponent);
	y.mantissa = ptx_align(y, sum.exponent);
	sum.negative = x.mantissa > y.mantissa ? x.negative : y.negative;
	sum.mantissa = x.negative == y.negative ? x.mantissa + y.mantissa :
		       x.mantissa > y.mantissa ? x.mantissa - y.mantissa : y.mantissa - x.mantissa;
	return sum.mantissa ? ptx_pack(sum, up && !sum.negative) : 0.0;
}

PTX_RARE double ptx_div_exact(double a, double b, int up)
{
	struct ptx_number x, y;
	unsigned __int128 quotient;

	if (!(__builtin_fabs(a) < __builtin_inf()) || !(__builtin_fabs(b) < __builtin_inf()) || a == 0.0 || b == 0.0)
		return a / b;
	x = ptx_unpack(a);
	y = ptx_unpack(b);
	quotient = (x.mantissa << 74) / y.mantissa;
	quotient |= quotient * y.mantissa != x.mantissa << 74;
	x = (struct ptx_number){ x.negative ^ y.negative, x.exponent - y.exponent - 74, quotient };
	return ptx_pack(x, up && !x.negative);
}

PTX_INLINE double ptx_fma_rp_f64(double a, double b, double c) { return ptx_fma_exact(a, b, c, 1); }
PTX_INLINE double ptx_fma_rz_f64(double a, double b, double c) { return ptx_fma_exact(a, b, c, 0); }
PTX_INLINE double ptx_fma_rm_f64(double a, double b, double c) { return -ptx_fma_exact(-a, b, -c, 1); }
PTX_INLINE double ptx_div_rp_f64(double a, double b) { return ptx_div_exact(a, b, 1); }
PTX_INLINE double ptx_div_rz_f64(double a, double b) { return ptx_div_exact(a, b, 0); }
PTX_INLINE double ptx_div_rm_f64(double a, double b) { return -ptx_div_exact(-a, b, 1); }

/*
 * Approximations. div.approx is a * (1 / b): for divisors above 2 to the 126th it gives a zero with the sign of the
 * quotient, as the manual says, and NaN if an infinity is divided by one.
 */
PTX_INLINE float ptx_div_approx(float a, float b)
{
	return __builtin_fabsf(b) > 0x1p126f && __builtin_fabsf(b) < __builtin_inff() ?
		a * __builtin_copysignf(0.0f, b) : a / b;
}

/* Of the double precision ones that flush subnormal numbers, the lower half of operand and result is 0. */
PTX_INLINE double ptx_upper(double x)
{
	const double upper = ptx_f64(ptx_b64(x) & 0xffffffff00000000ull);

	return __builtin_fabs(x) < 0x1p-1022 ? __builtin_copysign(0.0, x) : x != x ? ptx_f64(0x7fffffff00000000ull) :
		upper;
}

PTX_INLINE double ptx_rcp_gross(double x) { return ptx_upper(1.0 / ptx_upper(x)); }
PTX_INLINE double ptx_rsqrt_gross(double x) { return ptx_upper(1.0 / __builtin_sqrt(ptx_upper(x))); }

PTX_INLINE float ptx_ex2(float x)
{
	const float inside = x < -151.0f ? -151.0f : x > 129.0f ? 129.0f : x;
	const float whole = (inside + 0x1.8p23f) - 0x1.8p23f, rest = inside - whole;
	/* In two steps, as 2 to the result's exponent need not be a normal number. */
	const int32_t exponent = (int32_t)whole, half = exponent >> 1;
	float p = 0x1.41d308p-13f;

	p = PTX_MULTIPLY_ADD(p, rest, 0x1.5f4568p-10f);
	p = PTX_MULTIPLY_ADD(p, rest, 0x1.3b2dbcp-7f);
	p = PTX_MULTIPLY_ADD(p, rest, 0x1.c6aed4p-5f);
	p = PTX_MULTIPLY_ADD(p, rest, 0x1.ebfbdap-3f);
	p = PTX_MULTIPLY_ADD(p, rest, 0x1.62e430p-1f);
	p = PTX_MULTIPLY_ADD(p, rest, 1.0f);
	return x != x ? x :
		p * ptx_f32((uint32_t)(half + 127) << 23) * ptx_f32((uint32_t)(exponent - half + 127) << 23);
}

PTX_INLINE float ptx_lg2(float x)
{
	const float normal = x < 0x1p-126f ? x * 0x1p23f : x;
	const uint32_t bits = ptx_b32(normal);
	/* The mantissa is between the roots of 1/2 and 2. */
	const int32_t exponent = (int32_t)(bits - 0x3f3504f3u) >> 23;
	const float t = ptx_f32(bits - ((uint32_t)exponent << 23)) - 1.0f;
	float p = -0x1.c24d98p-4f, result;

	p = PTX_MULTIPLY_ADD(p, t, 0x1.7d450cp-3f);
	p = PTX_MULTIPLY_ADD(p, t, -0x1.874c6ap-3f);
	p = PTX_MULTIPLY_ADD(p, t, 0x1.a3065cp-3f);
	p = PTX_MULTIPLY_ADD(p, t, -0x1.eabc88p-3f);
	p = PTX_MULTIPLY_ADD(p, t, 0x1.277e32p-2f);
	p = PTX_MULTIPLY_ADD(p, t, -0x1.715a76p-2f);
	p = PTX_MULTIPLY_ADD(p, t, 0x1.ec7096p-2f);
	p = PTX_MULTIPLY_ADD(p, t, -0x1.715470p-1f);
	p = PTX_MULTIPLY_ADD(p, t, 0x1.715476p+0f);
	result = PTX_MULTIPLY_ADD(t, p, (float)(exponent - (x < 0x1p-126f ? 23 : 0)));
	result = x < __builtin_inff() ? result : x;
	return x > 0.0f ? result : x == 0.0f ? -__builtin_inff() : PTX_NAN;
}

/* The sine of the angle and @quarters right angles. */
PTX_INLINE float ptx_sine(float x, uint64_t quarters)
{
	const double magic = x * 0x1.45f306dc9c883p-1 + 0x1.8p52, whole = magic - 0x1.8p52;
	const double exact = (x - whole * 0x1.921fb54442d18p+0) - whole * 0x1.1a62633145c07p-54;
	/* Of a huge angle only the range of the result is right. */
	const double inside = exact < -0.7853982 ? -0.7853982 : exact > 0.7853982 ? 0.7853982 : exact;
	const uint64_t quadrant = ptx_b64(magic) + quarters;
	const float angle = (float)inside, square = angle * angle;
	float sine = -0x1.99076ap-13f, cosine = 0x1.990700p-16f;

	sine = PTX_MULTIPLY_ADD(sine, square, 0x1.110630p-7f);
	sine = PTX_MULTIPLY_ADD(sine, square, -0x1.555540p-3f);
	/* The sum of zeros of both signs is +0. */
	sine = __builtin_copysignf(PTX_MULTIPLY_ADD(sine * square, angle, angle), angle);
	cosine = PTX_MULTIPLY_ADD(cosine, square, -0x1.6c0786p-10f);
	cosine = PTX_MULTIPLY_ADD(cosine, square, 0x1.55553ap-5f);
	cosine = PTX_MULTIPLY_ADD(cosine, square, -0x1.fffffep-2f);
	cosine = PTX_MULTIPLY_ADD(cosine, square, 1.0f);
	return ptx_f32(ptx_b32(quadrant & 1 ? cosine : sine) ^ (uint32_t)(quadrant >> 1 & 1) << 31);
}

PTX_INLINE float ptx_sin(float x) { return ptx_sine(x, 0); }
PTX_INLINE float ptx_cos(float x) { return ptx_sine(x, 1); }

PTX_INLINE float ptx_tanh(float x)
{
	const float size = __builtin_fabsf(x), small = size - size * size * size * 0x1.555556p-2f;
	const float large = 1.0f - 2.0f / (ptx_ex2(size * 0x1.715476p+1f) + 1.0f);

	return x != x ? x : __builtin_copysignf(size < 0.03f ? small : large, x);
}
