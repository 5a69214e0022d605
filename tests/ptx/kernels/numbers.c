/* SPDX-License-Identifier: MIT */
/* numbers.c - what the kernels of numbers.cu compute. */
#include "cases.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

__extension__ typedef __int128 wide_word;
__extension__ typedef unsigned __int128 unsigned_word;

static int clz64(uint64_t x)
{
	return x ? __builtin_clzll(x) : 64;
}

static int clz32(uint32_t x)
{
	return x ? __builtin_clz(x) : 32;
}

static uint32_t reverse(uint32_t x)
{
	uint32_t r = 0;

	for (int i = 0; i < 32; i++)
		r |= (x >> i & 1) << (31 - i);
	return r;
}

static uint32_t permute(uint32_t x, uint32_t y, uint32_t selector)
{
	const uint64_t both = (uint64_t)y << 32 | x;
	uint32_t r = 0;

	for (int i = 0; i < 4; i++)
		r |= (uint32_t)(both >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
	return r;
}

static uint32_t dot(uint32_t x, uint32_t y, uint32_t sum)
{
	for (int i = 0; i < 4; i++)
		sum += (uint32_t)((int8_t)(x >> 8 * i) * (int8_t)(y >> 8 * i));
	return sum;
}

static void bits(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	uint32_t *out = args[1];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++) {
		const uint32_t x = (uint32_t)in[i], y = (uint32_t)in[i ^ 1];
		const uint64_t both = (uint64_t)y << 32 | x;
		const int64_t far = (int64_t)in[i] - in[i ^ 1];
		uint32_t r = (uint32_t)(__builtin_popcount(x) + clz32(x) * 3 + __builtin_ffs(in[i]) * 5);

		r ^= reverse(x) + permute(x, y, y & 0x7777);
		r += (uint32_t)((uint64_t)x * y >> 32) ^ (uint32_t)((int64_t)in[i] * in[i ^ 1] >> 32);
		r ^= (uint32_t)(both << (i & 31) >> 32);
		r += i % 40 < 32 ? (uint32_t)(both >> i % 40) : y;
		out[i] = r ^ (dot(x, y, i) + (uint32_t)(far < 0 ? -far : far) + i);
	}
}

static void wide(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int64_t *out = args[1];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++) {
		const int64_t x = (int64_t)in[i] * (1 << 17) ^ in[i ^ 1], y = in[i ^ 2] | 1;

		out[i] = x / y + x % y + x * y + (x >> (i & 63)) +
			 (int64_t)((wide_word)x * (y * (1 << 20)) >> 64) +
			 __builtin_popcountll((uint64_t)x) + clz64((uint64_t)x);
	}
}

/* As PTX converts: the nearest number of the type; 0 for NaN. */
static int to_int(double x)
{
	return x >= INT32_MAX ? INT32_MAX : x <= INT32_MIN ? INT32_MIN : (int)x;
}

static void conversions(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const float *in = args[0];
	int *out = args[1];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++) {
		const float x = in[i] * 3e9f, y = in[i] * 100;
		int same;

		memcpy(&same, &y, sizeof(same));
		out[i] = to_int(x) ^ to_int(rint(y)) * 3 ^ to_int(ceil(y)) * 5 ^ to_int(floor(y)) * 7 ^
			 to_int(y < 0 ? 0 : y);
		out[i] += (int8_t)to_int(y) + (uint16_t)to_int(y) + same;
	}
}

/* The sum of two floats is exact in double, or its error is far from the bits of a float. */
static float rounded_up(double x)
{
	const float near = (float)x;

	return (double)near < x ? nextafterf(near, INFINITY) : near;
}

static void rounding(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const float *in = args[0];
	float *out = args[1];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++) {
		const double x = in[i], y = in[i ^ 1];
		const float product = (float)(x * y);

		out[4 * i] = -rounded_up(-(x + y)) - rounded_up(x + y);
		out[4 * i + 1] = fabs((double)product) > fabs(x * y) ? nextafterf(product, 0) : product;
		out[4 * i + 2] = in[i] / in[i ^ 1];
		out[4 * i + 3] = sqrtf(fabsf(in[i]));
	}
}

static void carries(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const uint64_t *in = args[0];
	uint64_t *out = args[1];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++) {
		const unsigned_word x = (unsigned_word)in[2 * i + 1] << 64 | in[2 * i];
		const unsigned_word sum = x * 9 + (unsigned_word)in[2 * i] * in[2 * i + 1];

		out[2 * i] = (uint64_t)sum;
		out[2 * i + 1] = (uint64_t)(sum >> 64);
	}
}

static void mathematics(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const float *in = args[0];
	float *out = args[1];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++) {
		const double x = in[i];

		out[i] = (float)(exp(x) + sin(x * 3) * cos(x) + pow(fabs(x) + 0.5, 1.7) + log(fabs(x) + 1) +
				 floor((double)(in[i] * 10)) + fmod((double)(in[i] * 10), 3) + tanh(x) + erf(x) +
				 1 / sqrt(x * x + 1) + exp(x) + cbrt(x) + fmax(x, 0.25) + round((double)(in[i] * 7)) +
				 atan2(x, 2));
	}
}

static void remainders(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const double *in = args[0];
	double *out = args[1];
	int *quotients = args[2];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++) {
		const double x = i % 8 == 0 ? copysign(0.0, in[i]) : i % 8 == 1 ? in[i ^ 1] * 9 : in[i] * 20;

		out[2 * i] = remquo(x, in[i ^ 1], &quotients[2 * i]);
		out[2 * i + 1] = (double)remquof((float)x, (float)in[i ^ 1], &quotients[2 * i + 1]);
		quotients[2 * i] %= 8;
		quotients[2 * i + 1] %= 8;
	}
}

static void large_remainders(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const double *in = args[0];
	double *out = args[1];
	int *quotients = args[2];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++) {
		const double x = i % 14 == 1 ? copysign(INFINITY, in[i]) : in[i] * 2;
		const double y = ldexp(in[i ^ 1], -(int)(i % 7));
		const double a = remquo(ldexp(x, 1023), ldexp(y, 1023), &quotients[2 * i]);
		const float b = remquof(ldexpf((float)x, 127), ldexpf((float)y, 127), &quotients[2 * i + 1]);

		out[2 * i] = isnan(a) ? 7 : a;
		out[2 * i + 1] = isnan(b) ? 7 : (double)b;
		if (i % 14 == 1)
			quotients[2 * i] = quotients[2 * i + 1] = 0;
		quotients[2 * i] %= 8;
		quotients[2 * i + 1] %= 8;
	}
}

/* Part number @k of a word in parts of @bits. */
static int part_of(uint32_t x, int bits, int is_signed, int k)
{
	const uint32_t part = x >> bits * k & ((1u << bits) - 1);

	return is_signed && part >> (bits - 1) ? (int)part - (1 << bits) : (int)part;
}

static int limited(int x, int bits, int is_signed)
{
	const int most = (1 << (bits - is_signed)) - 1, least = is_signed ? -most - 1 : 0;

	return x > most ? most : x < least ? least : x;
}

/* What is done with the parts of two words. */
static int part_result(char operation, int x, int y, int bits, int is_signed)
{
	switch (operation) {
	case '+':
		return x + y;
	case '-':
		return x - y;
	case 'a':
		return limited(x + y, bits, is_signed);
	case 's':
		return limited(x - y, bits, is_signed);
	case 'd':
		return x > y ? x - y : y - x;
	case 'M':
		return x > y ? x : y;
	case 'm':
		return x < y ? x : y;
	case '>':
		return x > y ? -1 : 0;
	case 'l':
		return x <= y ? -1 : 0;
	case 'g':
		return x >= y;
	case '!':
		return x != y;
	case 'r':
		return (x + y + 1) / 2;
	default:
		return (x + y) / 2;
	}
}

static uint32_t in_parts(char operation, int bits, int is_signed, uint32_t x, uint32_t y)
{
	uint32_t result = 0;

	for (int k = 0; k < 32 / bits; k++) {
		const int a = part_of(x, bits, is_signed, k), b = part_of(y, bits, is_signed, k);

		result |= ((uint32_t)part_result(operation, a, b, bits, is_signed) & ((1u << bits) - 1)) << bits * k;
	}
	return result;
}

static uint32_t differences(int bits, int is_signed, uint32_t x, uint32_t y)
{
	uint32_t sum = 0;

	for (int k = 0; k < 32 / bits; k++) {
		const int difference = part_of(x, bits, is_signed, k) - part_of(y, bits, is_signed, k);

		sum += (uint32_t)(difference < 0 ? -difference : difference);
	}
	return sum;
}

static void parts(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const uint32_t *in = args[0];
	uint32_t *out = args[1];

	for (unsigned i = 0; i < c->grid[0] * c->block[0]; i++, out += 10) {
		const uint32_t x = in[i], y = in[i ^ 1], absolute = x & 0x80ffff80, negative = x | 0x80008000;

		out[0] = in_parts('+', 16, 0, x, y) ^ in_parts('-', 8, 0, x, y);
		out[1] = in_parts('a', 16, 1, x, y) ^ in_parts('a', 8, 0, x, y);
		out[2] = in_parts('s', 8, 1, x, y) ^ in_parts('s', 16, 0, x, y);
		out[3] = in_parts('d', 8, 0, x, y) ^ in_parts('d', 16, 1, x, y);
		out[4] = in_parts('M', 8, 1, x, y) ^ in_parts('m', 16, 0, x, y);
		out[5] = in_parts('>', 16, 1, x, y) ^ in_parts('l', 8, 0, x, y);
		out[6] = in_parts('g', 8, 0, x, y) ^ in_parts('!', 16, 0, x, y & 0xffff0000);
		out[7] = differences(8, 0, x, y) + differences(16, 1, x, y) * 3;
		/* The absolute value is the larger one of a number and its negative. */
		out[8] = in_parts('M', 8, 1, absolute, in_parts('s', 8, 1, 0, absolute)) ^ in_parts('-', 16, 1, 0, y) ^
			 in_parts('s', 16, 1, 0, negative);
		out[9] = in_parts('r', 8, 0, x, y) ^ in_parts('h', 16, 0, x, y);
	}
}

const struct cuda_case numbers_cases[] = {
	{ .kernel = "number_bits", { 4 }, { 50 }, 0, { BUFFER(I32, 200, RANDOM), BUFFER(I32, 200, ZERO) }, bits },
	{ .kernel = "number_wide", { 4 }, { 50 }, 0, { BUFFER(I32, 200, RANDOM), BUFFER(I64, 200, ZERO) }, wide },
	{ .kernel = "number_conversions", { 4 }, { 50 }, 0, { BUFFER(F32, 200, RANDOM), BUFFER(I32, 200, ZERO) },
	  conversions },
	{ .kernel = "number_rounding", { 4 }, { 50 }, 0, { BUFFER(F32, 200, RANDOM), BUFFER(F32, 800, ZERO) },
	  rounding },
	{ .kernel = "number_remainders", { 4 }, { 50 }, 0, { BUFFER(F64, 200, RANDOM), BUFFER(F64, 400, ZERO),
	  BUFFER(I32, 400, ZERO) }, remainders },
	{ .kernel = "number_large_remainders", { 4 }, { 50 }, 0, { BUFFER(F64, 200, RANDOM), BUFFER(F64, 400, ZERO),
	  BUFFER(I32, 400, ZERO) }, large_remainders },
	{ .kernel = "number_carries", { 4 }, { 25 }, 0, { BUFFER(I64, 200, RANDOM), BUFFER(I64, 200, ZERO) },
	  carries },
	{ .kernel = "number_parts", { 4 }, { 50 }, 0, { BUFFER(I32, 200, RANDOM), BUFFER(I32, 2000, ZERO) }, parts },
	{ .kernel = "number_math", { 4 }, { 50 }, 0, { BUFFER(F32, 200, RANDOM), BUFFER(F32, 200, ZERO) },
	  mathematics, 1e-5 },
	{ 0 },
};
