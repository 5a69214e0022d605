/* SPDX-License-Identifier: MIT */
/* floats.c - what instructions compute of floating-point numbers, and conversions. */
#include "machine.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

static float f32_of(uint64_t bits)
{
	const uint32_t word = (uint32_t)bits;
	float value;

	memcpy(&value, &word, sizeof(value));
	return value;
}

static uint64_t bits_of_f32(float value)
{
	uint32_t word;

	memcpy(&word, &value, sizeof(word));
	return word;
}

static double f64_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint64_t bits_of_f64(double value)
{
	uint64_t word;

	memcpy(&word, &value, sizeof(word));
	return word;
}

double half_value(uint64_t half)
{
	const int exponent = (int)(half >> 10 & 31);
	const double fraction = (double)(half & 1023), sign = half >> 15 & 1 ? -1 : 1;

	if (exponent == 31)
		return half & 1023 ? NAN : sign * INFINITY;
	return exponent ? sign * ldexp(1024 + fraction, exponent - 25) : sign * ldexp(fraction, -24);
}

/* A multiple of 2^-48 as f16. @zero_sign: of a zero. */
static uint64_t half_round(__int128 value, bool zero_sign, bool to_zero)
{
	const bool sign = value < 0 || (!value && zero_sign);
	unsigned __int128 all = (unsigned __int128)(value < 0 ? -value : value), rest;
	uint64_t whole;
	int top = -1, shift;

	for (int i = 0; i < 127; i++)
		if (all >> i & 1)
			top = i;
	/* Of a subnormal number the last bit is 2^-24. */
	shift = top - 10 > 24 ? top - 10 : 24;
	whole = (uint64_t)(all >> shift);
	rest = all & (((unsigned __int128)1 << shift) - 1);
	if (!to_zero &&
	    (rest > (unsigned __int128)1 << (shift - 1) || (rest == (unsigned __int128)1 << (shift - 1) && whole & 1)))
		whole++;
	/* The exponent: each step above the subnormal numbers adds one to it, and whole has the hidden bit. */
	whole += (uint64_t)(shift - 24) << 10;
	if (whole >= 0x7c00)
		whole = to_zero ? 0x7bff : 0x7c00;
	return whole | (uint64_t)sign << 15;
}

/* The exact value of a finite f16, in 2^-24. */
static int64_t half_number(uint64_t half)
{
	const uint64_t exponent = half >> 10 & 31, fraction = half & 1023;
	const int64_t value = (int64_t)(exponent ? (1024 + fraction) << (exponent - 1) : fraction);

	return half >> 15 & 1 ? -value : value;
}

uint64_t half_of(double value, bool to_zero)
{
	if (isnan(value))
		return 0x7fff;
	if (fabs(value) >= 65536)
		return (isinf(value) || !to_zero ? 0x7c00u : 0x7bffu) | (signbit(value) ? 0x8000u : 0);
	/* What is below 2^-48 is less than half of the smallest number, and only its sign counts. */
	if (fabs(value) < 0x1p-26)
		return signbit(value) ? 0x8000 : 0;
	value = ldexp(value, 48);
	{
		/* Bits that an integer does not hold become a last bit that is set. */
		__int128 whole = (__int128)value;

		return half_round((double)whole != value ? whole | 1 : whole, signbit(value), to_zero);
	}
}

static bool half_is_finite(uint64_t half)
{
	return (half >> 10 & 31) != 31;
}

/* a * b + c; @adds: there is a c. */
static uint64_t half_fma(uint64_t a, uint64_t b, uint64_t c, bool adds)
{
	const bool sign = (a ^ b) >> 15 & 1;

	if (!half_is_finite(a) || !half_is_finite(b) || (adds && !half_is_finite(c)))
		return half_of(half_value(a) * half_value(b) + (adds ? half_value(c) : -0.0), false);
	return half_round((__int128)half_number(a) * half_number(b) + (adds ? (__int128)half_number(c) << 24 : 0),
			  adds ? sign && c >> 15 & 1 : sign, false);
}

static uint64_t half_minmax(uint64_t a, uint64_t b, bool is_max)
{
	const double x = half_value(a), y = half_value(b);

	if (isnan(x) || isnan(y))
		return isnan(x) ? isnan(y) ? 0x7fff : b : a;
	if (x == y)
		return is_max == (bool)(a >> 15 & 1) ? b : a;
	return (x < y) == is_max ? b : a;
}

static uint64_t half_compute(const char *opcode, uint64_t a, uint64_t b, uint64_t c)
{
	if (!strcmp(opcode, "add"))
		return half_fma(a, 0x3c00, b, true);
	if (!strcmp(opcode, "sub"))
		return half_fma(a, 0x3c00, b ^ 0x8000, true);
	if (!strcmp(opcode, "mul"))
		return half_fma(a, b, 0, false);
	if (!strcmp(opcode, "fma"))
		return half_fma(a, b, c, true);
	if (!strcmp(opcode, "neg"))
		return a ^ 0x8000;
	if (!strcmp(opcode, "abs"))
		return a & 0x7fff;
	return half_minmax(a, b, !strcmp(opcode, "max"));
}

static void run_half(struct thread *t, const struct code *c)
{
	const uint64_t a = machine_in(t, c, 1), b = c->in->n > 2 ? machine_in(t, c, 2) : 0;
	const uint64_t d = c->in->n > 3 ? machine_in(t, c, 3) : 0;
	uint64_t value = 0;

	for (uint32_t i = 0; i < bits_of(c->type); i += 16)
		value |= half_compute(c->in->opcode, cut(a >> i, 16), cut(b >> i, 16), cut(d >> i, 16)) << i;
	machine_out(t, c, value);
}

static int rounding(const struct code *c)
{
	return HAS(c, rz) || HAS(c, rzi)   ? FE_TOWARDZERO
	       : HAS(c, rm) || HAS(c, rmi) ? FE_DOWNWARD
	       : HAS(c, rp) || HAS(c, rpi) ? FE_UPWARD
					   : FE_TONEAREST;
}

static double flush(const struct code *c, double value)
{
	return HAS(c, ftz) && fabs(value) < 0x1p-126 ? copysign(0, value) : value;
}

/* Operand @i of type f32 or f64; both are exact as a double. */
static double in(struct thread *t, const struct code *c, uint32_t i)
{
	const uint64_t bits = machine_in(t, c, i);

	return c->type == ADSM_PTX_f32 ? flush(c, f32_of(bits)) : f64_of(bits);
}

static void out(struct thread *t, const struct code *c, double value)
{
	value = flush(c, value);
	if (HAS(c, sat))
		value = value > 0 ? value < 1 ? value : 1 : 0;
	machine_out(t, c, c->type == ADSM_PTX_f32 ? bits_of_f32((float)value) : bits_of_f64(value));
}

/* Each operation is done in its own precision: a double would round twice. */
static double compute_f32(const char *opcode, volatile float a, volatile float b, volatile float c)
{
	volatile float value;

	if (!strcmp(opcode, "add"))
		value = a + b;
	else if (!strcmp(opcode, "sub"))
		value = a - b;
	else if (!strcmp(opcode, "mul"))
		value = a * b;
	else if (!strcmp(opcode, "div"))
		value = a / b;
	else if (!strcmp(opcode, "rcp"))
		value = 1 / a;
	else if (!strcmp(opcode, "sqrt"))
		value = sqrtf(a);
	else
		value = fmaf(a, b, c);
	return value;
}

static double compute_f64(const char *opcode, volatile double a, volatile double b, volatile double c)
{
	volatile double value;

	if (!strcmp(opcode, "add"))
		value = a + b;
	else if (!strcmp(opcode, "sub"))
		value = a - b;
	else if (!strcmp(opcode, "mul"))
		value = a * b;
	else if (!strcmp(opcode, "div"))
		value = a / b;
	else if (!strcmp(opcode, "rcp"))
		value = 1 / a;
	else if (!strcmp(opcode, "sqrt"))
		value = sqrt(a);
	else
		value = fma(a, b, c);
	return value;
}

static void run_compute(struct thread *t, const struct code *c)
{
	const double a = in(t, c, 1), b = c->in->n > 2 ? in(t, c, 2) : 0, d = c->in->n > 3 ? in(t, c, 3) : 0;
	double value;

	fesetround(rounding(c));
	value = c->type == ADSM_PTX_f32 ? compute_f32(c->in->opcode, (float)a, (float)b, (float)d)
					: compute_f64(c->in->opcode, a, b, d);
	fesetround(FE_TONEAREST);
	out(t, c, value);
}

static void run_sign(struct thread *t, const struct code *c)
{
	const double a = in(t, c, 1);

	out(t, c, c->in->opcode[0] == 'n' ? -a : fabs(a));
}

static void run_minmax(struct thread *t, const struct code *c)
{
	const double a = in(t, c, 1), b = in(t, c, 2);
	const bool is_max = c->in->opcode[1] == 'a';

	if (isnan(a) || isnan(b))
		out(t, c, HAS(c, NaN) ? NAN : isnan(a) ? b : a);
	else if (a == b)
		out(t, c, is_max == (bool)signbit(a) ? b : a);
	else
		out(t, c, (a < b) == is_max ? b : a);
}

static void run_copysign(struct thread *t, const struct code *c)
{
	out(t, c, copysign(in(t, c, 2), in(t, c, 1)));
}

static void run_testp(struct thread *t, const struct code *c)
{
	const double a = in(t, c, 1), least = c->type == ADSM_PTX_f32 ? 0x1p-126 : 0x1p-1022;
	const char *const *names = (const char *const *)c->in->modifiers;
	bool holds = false;

	for (uint32_t i = 0; i < c->in->n_modifiers; i++) {
		if (!strcmp(names[i], "finite"))
			holds = isfinite(a);
		else if (!strcmp(names[i], "infinite"))
			holds = isinf(a);
		else if (!strcmp(names[i], "number"))
			holds = !isnan(a);
		else if (!strcmp(names[i], "notanumber"))
			holds = isnan(a);
		else if (!strcmp(names[i], "normal"))
			holds = isfinite(a) && (a == 0 || fabs(a) >= least); /* zeros are normal */
		else if (!strcmp(names[i], "subnormal"))
			holds = a != 0 && fabs(a) < least;
	}
	machine_put(t, &c->in->operands[0], ADSM_PTX_pred, holds);
}

static void run_setp(struct thread *t, const struct code *c)
{
	const bool is_half = c->type == ADSM_PTX_f16;
	const double a = is_half ? half_value(machine_in(t, c, 1)) : in(t, c, 1);
	const double b = is_half ? half_value(machine_in(t, c, 2)) : in(t, c, 2);
	const bool unordered = isnan(a) || isnan(b);
	bool holds;

	if (HAS(c, num) || HAS(c, nan))
		holds = unordered == (bool)HAS(c, nan);
	else if (HAS(c, eq) || HAS(c, equ))
		holds = unordered ? HAS(c, equ) : a == b;
	else if (HAS(c, ne) || HAS(c, neu))
		holds = unordered ? HAS(c, neu) : a != b;
	else if (HAS(c, lt) || HAS(c, ltu))
		holds = unordered ? HAS(c, ltu) : a < b;
	else if (HAS(c, le) || HAS(c, leu))
		holds = unordered ? HAS(c, leu) : a <= b;
	else if (HAS(c, gt) || HAS(c, gtu))
		holds = unordered ? HAS(c, gtu) : a > b;
	else
		holds = unordered ? !HAS(c, ge) : a >= b;
	values_set(t, c, holds);
}

static bool is_any_float(enum adsm_ptx_type type)
{
	return type == ADSM_PTX_f16 || type == ADSM_PTX_f32 || type == ADSM_PTX_f64;
}

/* A number as an integer type: what is outside becomes the nearest value. NaN: section 9.7.9.21 of the manual. */
static uint64_t to_integer(const struct code *c, enum adsm_ptx_type type, enum adsm_ptx_type from, double value)
{
	const uint32_t bits = bits_of(type);
	const bool is_signed = adsm_ptx_is_signed(type);
	const double most = ldexp(1, (int)bits - is_signed), least = is_signed ? -most : 0;

	fesetround(rounding(c));
	value = nearbyint(value);
	fesetround(FE_TONEAREST);
	if (isnan(value))
		return from == ADSM_PTX_f64 || bits == 64 ? UINT64_C(1) << (bits - 1) : 0;
	if (value >= most)
		return cut(~UINT64_C(0), bits - is_signed);
	if (value < least)
		return is_signed ? UINT64_C(1) << (bits - 1) : 0;
	return is_signed ? cut((uint64_t)(int64_t)value, bits) : (uint64_t)value;
}

static uint64_t between_integers(const struct code *c, enum adsm_ptx_type to, enum adsm_ptx_type from, uint64_t bits)
{
	const uint32_t n = bits_of(to);
	const __int128 value = adsm_ptx_is_signed(from) ? (__int128)extend(bits, bits_of(from)) : (__int128)bits;
	const __int128 most = ((__int128)1 << (n - adsm_ptx_is_signed(to))) - 1;
	const __int128 least = adsm_ptx_is_signed(to) ? -most - 1 : 0;

	return (uint64_t)(!HAS(c, sat) ? value : value > most ? most : value < least ? least : value);
}

/* An integer as f32 or f64, rounded once. */
static double from_integer(enum adsm_ptx_type to, enum adsm_ptx_type from, uint64_t bits, int mode)
{
	volatile int64_t signed_value = extend(bits, bits_of(from));
	volatile uint64_t value = bits;
	double result;

	fesetround(mode);
	if (to == ADSM_PTX_f32)
		result = adsm_ptx_is_signed(from) ? (float)signed_value : (float)value;
	else
		result = adsm_ptx_is_signed(from) ? (double)signed_value : (double)value;
	fesetround(FE_TONEAREST);
	return result;
}

static uint64_t to_float(const struct code *c, enum adsm_ptx_type to, enum adsm_ptx_type from, double value)
{
	volatile double exact = value;
	volatile float single;

	/* From one type to itself: to an integral number. */
	if (HAS(c, rni) || HAS(c, rzi) || HAS(c, rmi) || HAS(c, rpi)) {
		fesetround(rounding(c));
		exact = nearbyint(exact);
		fesetround(FE_TONEAREST);
	}
	if (to == ADSM_PTX_f64)
		return bits_of_f64(exact);
	if (to == ADSM_PTX_f16)
		return half_of(exact, HAS(c, rz));
	fesetround(from == ADSM_PTX_f64 ? rounding(c) : FE_TONEAREST);
	single = (float)exact;
	fesetround(FE_TONEAREST);
	value = flush(c, single);
	if (HAS(c, sat))
		value = value > 0 ? value < 1 ? value : 1 : 0;
	return bits_of_f32((float)value);
}

static void run_cvt(struct thread *t, const struct code *c)
{
	const enum adsm_ptx_type to = c->in->types[0], from = c->in->types[1];
	const uint64_t bits = machine_get(t, &c->in->operands[1], from);
	uint64_t value;

	if (!is_any_float(from)) {
		value = !is_any_float(to)    ? between_integers(c, to, from, bits)
			: to == ADSM_PTX_f64 ? bits_of_f64(from_integer(to, from, bits, rounding(c)))
			: to == ADSM_PTX_f32 ? bits_of_f32((float)from_integer(to, from, bits, rounding(c)))
					     :
					     /* Of f16 only 32 bits or fewer, which a double holds. */
				half_of(from_integer(ADSM_PTX_f64, from, bits, FE_TONEAREST), HAS(c, rz));
	} else {
		const double number = from == ADSM_PTX_f16   ? half_value(bits)
				      : from == ADSM_PTX_f32 ? flush(c, f32_of(bits))
							     : f64_of(bits);

		value = is_any_float(to) ? to_float(c, to, from, number) : to_integer(c, to, from, number);
	}
	machine_put(t, &c->in->operands[0], to, cut(value, bits_of(to)));
}

operation *floats_operation(const char *opcode)
{
	static const struct {
		const char *opcode;
		operation *run, *half;
	} table[] = {
		{ "add", run_compute, run_half },   { "sub", run_compute, run_half }, { "mul", run_compute, run_half },
		{ "fma", run_compute, run_half },   { "mad", run_compute, NULL },     { "div", run_compute, NULL },
		{ "rcp", run_compute, NULL },	    { "sqrt", run_compute, NULL },    { "abs", run_sign, run_half },
		{ "neg", run_sign, run_half },	    { "min", run_minmax, run_half },  { "max", run_minmax, run_half },
		{ "copysign", run_copysign, NULL }, { "testp", run_testp, NULL },     { "setp", run_setp, run_setp },
		{ "set", run_setp, NULL },	    { "cvt", run_cvt, run_cvt },
	};
	const bool is_half = opcode[0] == '.';

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (!strcmp(table[i].opcode, opcode + is_half))
			return is_half ? table[i].half : table[i].run;
	return NULL;
}
