/* SPDX-License-Identifier: MIT */
/* halves.c - what the kernels of halves.cu compute. */
#include "cases.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* A type of 16 bits: a float's exponent in @exponent bits. */
struct format {
	int exponent;
};

static const struct format half = { 5 }, bfloat = { 8 };

static double value_of(struct format f, uint16_t bits)
{
	const int mantissa = 15 - f.exponent, bias = (1 << (f.exponent - 1)) - 1;
	const int exponent = bits >> mantissa & ((1 << f.exponent) - 1), rest = bits & ((1 << mantissa) - 1);
	const double one = exponent == (1 << f.exponent) - 1 ? rest ? NAN : INFINITY :
		ldexp(exponent ? rest + (1 << mantissa) : rest, (exponent ? exponent : 1) - bias - mantissa);

	return bits >> 15 ? -one : one;
}

enum rounding { NEAREST, TO_ZERO, UP, DOWN };

/* The nearest number of the type, among all of them, or the next one on a side. */
static uint16_t bits_of(struct format f, double x, enum rounding rounding)
{
	const uint16_t sign = signbit(x) ? 0x8000 : 0;
	const double size = fabs(x);
	const bool away = rounding == (sign ? DOWN : UP);
	uint16_t low = 0, high = (uint16_t)((1 << f.exponent) - 1) << (15 - f.exponent);
	const uint16_t infinite = high;
	double middle;

	if (isnan(x))
		return 0x7fff;
	if (isinf(x))
		return sign | infinite;
	while (high - low > 1) {
		const uint16_t between = (uint16_t)((low + high) / 2);

		if (value_of(f, between) <= size)
			low = between;
		else
			high = between;
	}
	if (value_of(f, low) == size)
		return sign | low;
	if (rounding != NEAREST)
		return sign | (away ? high : low);
	middle = high == infinite ? 2 * value_of(f, low) - value_of(f, low - 1) : value_of(f, high);
	middle = (value_of(f, low) + middle) / 2;
	return sign | (size > middle || (size == middle && low & 1) ? high : low);
}

/* The sum of a product and a number, to odd, so that the rounding that follows is the only one. */
static double fused(double x, double y, double z)
{
	const double product = x * y, sum = product + z, part = sum - product;
	const double rest = (product - (sum - part)) + (z - part);
	double odd;
	uint64_t bits;

	if (isnan(rest) || rest == 0)
		return sum;
	memcpy(&bits, &sum, sizeof(bits));
	if (!(bits & 1))
		bits += (rest > 0) == (sum > 0) ? 1 : -1;
	memcpy(&odd, &bits, sizeof(odd));
	return odd;
}

static uint16_t arithmetic(struct format f, const uint16_t *in, int operation)
{
	const double x = value_of(f, in[0]), y = value_of(f, in[1]), z = value_of(f, in[2]);
	const bool less = x < y || (x == y && in[0] >> 15), more = y > z || (y == z && !(in[1] >> 15));

	switch (operation) {
	case 0:
		return bits_of(f, x + y, NEAREST);
	case 1:
		return bits_of(f, x - y, NEAREST);
	case 2:
		return bits_of(f, x * y, NEAREST);
	case 3:
		return bits_of(f, x / y, NEAREST);
	case 4:
		return bits_of(f, fused(x, y, z), NEAREST);
	case 5:
		return isnan(x) ? in[1] : isnan(y) || less ? in[0] : in[1];
	case 6:
		return isnan(y) ? in[2] : isnan(z) || more ? in[1] : in[2];
	default:
		return x < y ? in[0] ^ 0x8000 : in[2] & 0x7fff;
	}
}

static void half_arithmetic(const struct cuda_case *c, void *const *args, unsigned launch)
{
	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++)
		((uint16_t *)args[1])[i] = arithmetic(half, (uint16_t *)args[0] + i, i & 7);
}

static void bfloat_arithmetic(const struct cuda_case *c, void *const *args, unsigned launch)
{
	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++)
		((uint16_t *)args[1])[i] = arithmetic(bfloat, (uint16_t *)args[0] + i, i & 7);
}

static void conversions(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const float *in = args[0];
	uint16_t *out = args[1];
	float *back = args[2];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++) {
		const float x = i & 1 ? in[i] * 1e-6f : in[i] * 7e4f;

		for (int rounding = NEAREST; rounding <= DOWN; rounding++)
			out[4 * i + (unsigned)rounding] = bits_of(half, (double)x, (enum rounding)rounding);
		back[2 * i] = (float)value_of(half, out[4 * i]);
		back[2 * i + 1] = (float)value_of(bfloat, bits_of(bfloat, (double)x, NEAREST));
	}
}

/* A NaN is 0, and what is too large the nearest integer. */
static void integers(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const uint16_t *in = args[0];
	int16_t *out = args[1];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++, out += 8) {
		const double x = isnan(value_of(half, in[i])) ? 0 : value_of(half, in[i]);
		const double whole[] = { nearbyint(x), trunc(x), ceil(x), floor(x) };

		for (int rounding = NEAREST; rounding <= DOWN; rounding++) {
			out[rounding] = (int16_t)fmin(fmax(whole[rounding], -32768), 32767);
			out[4 + rounding] = (int16_t)(uint16_t)fmin(fmax(whole[rounding], 0), 65535);
		}
	}
}

static void pairs(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const uint8_t *in = args[0];
	float *out = args[1];

	for (unsigned b = 0; b < c->grid[0]; b++, in += 128, out += 64) {
		int low[64] = { 0 };

		for (int t = 0; t < 64; t++)
			for (int k = 0; k < 8; k++)
				low[t] += (in[2 * ((t + k) & 63)] & 7) * (in[2 * ((t * 3 + k) & 63)] & 7);
		for (int t = 0; t < 64; t++)
			out[t] = (float)(3 * (low[t] + low[t ^ 1]));
	}
}

static void atomics(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const uint8_t *in = args[0];
	uint16_t *sums = args[1];
	double sum[4] = { 0 };

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++) {
		sum[in[i] & 1] += in[i] >> 5;
		sum[2] += in[i] & 3;
		sum[3] += 1;
	}
	for (int i = 0; i < 4; i++)
		sums[i] = bits_of(half, sum[i], NEAREST);
}

struct numbers { double x[20]; };

static void doubles(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const struct numbers *in = args[0];
	uint16_t *out = args[1];

	for (unsigned i = 0; i < c->block[0]; i++, out += 8) {
		const double x = i & 1 ? -in->x[i / 2] : in->x[i / 2];
		const int n = fabs(x) < 2e9 ? (int)x : 7;

		out[0] = out[1] = bits_of(half, x, NEAREST);
		out[2] = out[3] = bits_of(bfloat, x, NEAREST);
		out[4] = out[5] = bits_of(half, n, NEAREST);
		out[6] = bits_of(bfloat, n, NEAREST);
		out[7] = bits_of(bfloat, (uint32_t)n, NEAREST);
	}
}

/* == and != are true if they are of both numbers of the pairs. */
static void relations(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const uint16_t some[] = { 0, 0x8000, 0x3c00, 0x7fff };
	int *out = args[0];

	for (unsigned i = 0; i < c->block[0]; i++) {
		const double a = value_of(half, some[i & 3]), b = value_of(half, some[i >> 2 & 3]);
		const double x = value_of(half, some[i >> 4 & 3]), y = value_of(half, some[i >> 6]);
		const bool n = isunordered(a, x), m = isunordered(b, y);

		out[2 * i] = (a == x && b == y) | (a != x && b != y) << 1 | ((n || a == x) && (m || b == y)) << 2 |
			     (islessgreater(a, x) && islessgreater(b, y)) << 3 | (a != x && b != y) << 4 |
			     (n || a == x) << 5 | (m || b == y) << 6 | (a != x) << 7 | (b != y) << 8;
		out[2 * i + 1] = out[2 * i];
	}
}

static void product(const struct cuda_case *c, void *const *args, unsigned launch)
{
	*(uint32_t *)args[0] = (uint32_t)bits_of(half, 1 + 0x1p-11 + 0x1p-35, NEAREST);
}

struct three { uint16_t x[3]; };

static void fused_signs(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const struct three *in = args[0];

	for (unsigned i = 0; i < 4; i++) {
		const uint16_t x = in->x[0] ^ (i & 1 ? 0x8000 : 0), z = in->x[2] ^ (i & 2 ? 0x8000 : 0);

		((uint16_t *)args[1])[i] = bits_of(bfloat, fused(value_of(bfloat, x), value_of(bfloat, in->x[1]),
								 value_of(bfloat, z)), NEAREST);
	}
}

const struct cuda_case halves_cases[] = {
	/* 1.5 * 1.0078125 is between two numbers, and 2^-60 decides. */
	{ .kernel = "half_fused", { 1 }, { 4 }, 0, { VALUE(struct three, { 0x3fc0, 0x3f81, 0xa180 }),
	  BUFFER(I16, 4, ZERO) }, fused_signs },
	/* Near the halves of the least and the last digits, and of both types' limits. */
	{ .kernel = "half_doubles", { 1 }, { 40 }, 0,
	  { VALUE(struct numbers, { 0, 1e-60, 4.9e-324, 0x1p-151, 0x1p-149, 0x1.8p-134, 0x1.8000000001p-134, 0x1p-25,
				    0x1.0000000001p-25, 1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8, 1 + 0x1p-11 + 0x1p-40,
				    1 + 0x3p-11 - 0x1p-40, 2049.0000001, 65519.99999999, 65520, 0x1010001, 0x40400001,
				    0x1.fefffffffffffp127, 1e300 }), BUFFER(I16, 320, ZERO) }, doubles },
	{ .kernel = "half_product", { 1 }, { 32 }, 0, { BUFFER(I32, 32, ZERO) }, product },
	{ .kernel = "half_relations", { 1 }, { 256 }, 0, { BUFFER(I32, 512, ZERO) }, relations },
	{ .kernel = "half_arithmetic", { 25 }, { 64 }, 0, { BUFFER(I16, 1602, RANDOM), BUFFER(I16, 1600, ZERO) },
	  half_arithmetic },
	{ .kernel = "half_bfloat", { 25 }, { 64 }, 0, { BUFFER(I16, 1602, RANDOM), BUFFER(I16, 1600, ZERO) },
	  bfloat_arithmetic },
	{ .kernel = "half_conversions", { 8 }, { 64 }, 0, { BUFFER(F32, 512, RANDOM), BUFFER(I16, 2048, ZERO),
	  BUFFER(F32, 1024, ZERO) }, conversions },
	{ .kernel = "half_integers", { 16 }, { 128 }, 0, { BUFFER(I16, 2048, RANDOM), BUFFER(I16, 16384, ZERO) },
	  integers },
	{ .kernel = "half_pairs", { 4 }, { 64 }, 0, { BUFFER(U8, 512, RANDOM), BUFFER(F32, 256, ZERO) }, pairs },
	{ .kernel = "half_atomics", { 4 }, { 64 }, 0, { BUFFER(U8, 256, RANDOM), BUFFER(I16, 4, ZERO) }, atomics },
	{ 0 },
};
