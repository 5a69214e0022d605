/* SPDX-License-Identifier: MIT */
/*
 * curand_kernel.h - random numbers in kernels: Marsaglia's xorwow, which is the default, L'Ecuyer's MRG32k3a,
 * Philox4x32-10 (Salmon and others, 2011), and Sobol's sequences. The functions have the names of cuRAND's manual. The
 * numbers of the first two are not those of cuRAND, because the manual does not say how they start. Sequences of xorwow
 * start at random places, not 2^67 apart.
 */
#ifndef ADSM_CUDA_CURAND_KERNEL_H
#define ADSM_CUDA_CURAND_KERNEL_H

#include "adsm_mrg32k3a.h"
#include "cuda_runtime.h"

/* What is left over of a pair of normal numbers. */
struct adsm_cuda_spare {
	float single;
	double number;
	bool has_single, has_double;
};

struct curandStateXORWOW {
	unsigned int d, v[5];
	struct adsm_cuda_spare spare;
};
typedef struct curandStateXORWOW curandStateXORWOW_t;
typedef struct curandStateXORWOW curandState_t;
typedef struct curandStateXORWOW curandState;

struct curandStateMRG32k3a {
	unsigned int first[3], second[3];
	struct adsm_cuda_spare spare;
};
typedef struct curandStateMRG32k3a curandStateMRG32k3a_t;

struct curandStatePhilox4_32_10 {
	uint4 counter, output;
	uint2 key;
	unsigned int used;		/* of the four numbers in output */
	struct adsm_cuda_spare spare;
};
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

typedef unsigned int curandDirectionVectors32_t[32];
typedef unsigned long long curandDirectionVectors64_t[64];

struct curandStateSobol32 { unsigned int i, x, vectors[32]; };
typedef struct curandStateSobol32 curandStateSobol32_t;
struct curandStateScrambledSobol32 : curandStateSobol32 { };
typedef struct curandStateScrambledSobol32 curandStateScrambledSobol32_t;
struct curandStateSobol64 { unsigned long long i, x, vectors[64]; };
typedef struct curandStateSobol64 curandStateSobol64_t;
struct curandStateScrambledSobol64 : curandStateSobol64 { };
typedef struct curandStateScrambledSobol64 curandStateScrambledSobol64_t;

/* ---- Xorwow ------------------------------------------------------------------------------- */

ADSM_CUDA_DEVICE unsigned int curand(curandStateXORWOW *state)
{
	const unsigned int t = state->v[0] ^ state->v[0] >> 2, last = state->v[4];

	for (int i = 0; i < 4; i++)
		state->v[i] = state->v[i + 1];
	state->v[4] = last ^ last << 4 ^ t ^ t << 1;
	state->d += 362437;
	return state->d + state->v[4];
}

ADSM_CUDA_DEVICE void skipahead(unsigned long long n, curandStateXORWOW *state)
{
	for (; n; n--)
		curand(state);
}

/* A step of splitmix64. */
ADSM_CUDA_DEVICE unsigned long long adsm_curand_mix(unsigned long long *x)
{
	unsigned long long z = *x += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

ADSM_CUDA_DEVICE void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
				  curandStateXORWOW *state)
{
	unsigned long long x = seed;

	x = adsm_curand_mix(&x) ^ sequence * 0xd1342543de82ef95ull;
	for (int i = 0; i < 5; i++)
		state->v[i] = (unsigned int)adsm_curand_mix(&x) | (i == 0);
	state->d = (unsigned int)adsm_curand_mix(&x);
	state->spare.has_single = state->spare.has_double = false;
	skipahead(offset, state);
}

/* ---- MRG32k3a ----------------------------------------------------------------------------- */

ADSM_CUDA_DEVICE unsigned int curand(curandStateMRG32k3a *state)
{
	return adsm_cuda::mrg_next(state->first, state->second);
}

ADSM_CUDA_DEVICE void skipahead(unsigned long long n, curandStateMRG32k3a *state)
{
	adsm_cuda::mrg_jump_both(n, false, state->first, state->second);
}

ADSM_CUDA_DEVICE void skipahead_sequence(unsigned long long n, curandStateMRG32k3a *state)
{
	adsm_cuda::mrg_jump_both(n, true, state->first, state->second);
}

ADSM_CUDA_DEVICE void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
				  curandStateMRG32k3a *state)
{
	unsigned long long x = seed;

	for (int i = 0; i < 3; i++) {
		state->first[i] = (unsigned int)(adsm_curand_mix(&x) % (adsm_cuda::mrg_first - 1)) + 1;
		state->second[i] = (unsigned int)(adsm_curand_mix(&x) % (adsm_cuda::mrg_second - 1)) + 1;
	}
	state->spare.has_single = state->spare.has_double = false;
	skipahead_sequence(sequence, state);
	skipahead(offset, state);
}

/* ---- Philox ------------------------------------------------------------------------------- */

ADSM_CUDA_DEVICE uint4 adsm_philox(uint4 c, uint2 key)
{
	for (int i = 0; i < 10; i++) {
		const unsigned int high0 = __umulhi(0xd2511f53u, c.x), low0 = 0xd2511f53u * c.x;
		const unsigned int high1 = __umulhi(0xcd9e8d57u, c.z), low1 = 0xcd9e8d57u * c.z;

		c = make_uint4(high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0);
		key.x += 0x9e3779b9u;
		key.y += 0xbb67ae85u;
	}
	return c;
}

/* The counter has 128 bits: blocks of four numbers in the lower half, the sequence in the upper one. */
ADSM_CUDA_DEVICE void adsm_philox_add(curandStatePhilox4_32_10 *state, unsigned long long n)
{
	const unsigned long long low = ((unsigned long long)state->counter.y << 32 | state->counter.x) + n;
	const unsigned long long high = ((unsigned long long)state->counter.w << 32 | state->counter.z) + (low < n);

	state->counter = make_uint4((unsigned int)low, (unsigned int)(low >> 32), (unsigned int)high,
				    (unsigned int)(high >> 32));
	state->output = adsm_philox(state->counter, state->key);
}

ADSM_CUDA_DEVICE void skipahead(unsigned long long n, curandStatePhilox4_32_10 *state)
{
	const unsigned long long used = state->used + (n & 3);

	state->used = used & 3;
	adsm_philox_add(state, n / 4 + used / 4);
}

ADSM_CUDA_DEVICE void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
				  curandStatePhilox4_32_10 *state)
{
	state->key = make_uint2((unsigned int)seed, (unsigned int)(seed >> 32));
	state->counter = make_uint4(0, 0, (unsigned int)sequence, (unsigned int)(sequence >> 32));
	state->used = 0;
	state->spare.has_single = state->spare.has_double = false;
	skipahead(offset, state);
}

ADSM_CUDA_DEVICE unsigned int curand(curandStatePhilox4_32_10 *state)
{
	const uint4 v = state->output;
	const unsigned int result = state->used == 0 ? v.x : state->used == 1 ? v.y : state->used == 2 ? v.z : v.w;

	if (++state->used == 4) {
		state->used = 0;
		adsm_philox_add(state, 1);
	}
	return result;
}

ADSM_CUDA_DEVICE uint4 curand4(curandStatePhilox4_32_10 *state)
{
	const unsigned int a = curand(state), b = curand(state), c = curand(state), d = curand(state);

	return make_uint4(a, b, c, d);
}

/* ---- Sobol -------------------------------------------------------------------------------- */

#define ADSM_CUDA_SOBOL(bits, type, find) \
	ADSM_CUDA_DEVICE type curand(curandStateSobol##bits *state) \
	{ \
		const type result = state->x; \
		const int zero = find(~state->i) - 1; \
		\
		state->x ^= state->vectors[zero < 0 ? bits - 1 : zero]; \
		state->i++; \
		return result; \
	} \
	/* Number n is made of the vectors that n's Gray code names. */ \
	ADSM_CUDA_DEVICE void skipahead(type n, curandStateSobol##bits *state) \
	{ \
		const type before = state->i ^ state->i >> 1, after = (state->i + n) ^ (state->i + n) >> 1; \
		\
		for (int i = 0; i < bits; i++) \
			if ((before ^ after) >> i & 1) \
				state->x ^= state->vectors[i]; \
		state->i += n; \
	} \
	ADSM_CUDA_DEVICE void curand_init(curandDirectionVectors##bits##_t vectors, type offset, \
					  curandStateSobol##bits *state) \
	{ \
		for (int i = 0; i < bits; i++) \
			state->vectors[i] = vectors[i]; \
		state->i = state->x = 0; \
		skipahead(offset, state); \
	} \
	ADSM_CUDA_DEVICE void curand_init(curandDirectionVectors##bits##_t vectors, type scramble, type offset, \
					  curandStateScrambledSobol##bits *state) \
	{ \
		curand_init(vectors, offset, (curandStateSobol##bits *)state); \
		state->x ^= scramble; \
	}

ADSM_CUDA_SOBOL(32, unsigned int, __ffs)
ADSM_CUDA_SOBOL(64, unsigned long long, __ffsll)
#undef ADSM_CUDA_SOBOL

/* ---- Distributions ------------------------------------------------------------------------ */

/* More than 0, and at most 1. */
ADSM_CUDA_DEVICE float adsm_curand_unit(unsigned int x) { return (float)x * 0x1p-32f + 0x1p-33f; }
ADSM_CUDA_DEVICE float adsm_curand_unit(unsigned long long x) { return (float)(x >> 32) * 0x1p-32f + 0x1p-33f; }
ADSM_CUDA_DEVICE double adsm_curand_unit_double(unsigned long long x)
{
	return (double)(x >> 11) * 0x1p-53 + 0x1p-54;
}

/* 64 bits of one step or two. */
template <typename State> ADSM_CUDA_DEVICE unsigned long long adsm_curand_long(State *state)
{
	const unsigned long long low = curand(state);

	return low | (unsigned long long)curand(state) << 32;
}
/* A point of a sequence is one step. A template would be chosen for a derived type: each type has its own function. */
#define ADSM_CUDA_SOBOL_LONG(type, shift) \
	template <> __device__ __inline__ unsigned long long adsm_curand_long(type *state) \
	{ \
		return (unsigned long long)curand(state) << shift; \
	}

ADSM_CUDA_SOBOL_LONG(curandStateSobol32, 32)
ADSM_CUDA_SOBOL_LONG(curandStateSobol64, 0)
ADSM_CUDA_SOBOL_LONG(curandStateScrambledSobol32, 32)
ADSM_CUDA_SOBOL_LONG(curandStateScrambledSobol64, 0)
#undef ADSM_CUDA_SOBOL_LONG

template <typename State> ADSM_CUDA_DEVICE float curand_uniform(State *state)
{
	return adsm_curand_unit(curand(state));
}
template <typename State> ADSM_CUDA_DEVICE double curand_uniform_double(State *state)
{
	return adsm_curand_unit_double(adsm_curand_long(state));
}
ADSM_CUDA_DEVICE float4 curand_uniform4(curandStatePhilox4_32_10 *state)
{
	const uint4 v = curand4(state);

	return make_float4(adsm_curand_unit(v.x), adsm_curand_unit(v.y), adsm_curand_unit(v.z), adsm_curand_unit(v.w));
}
ADSM_CUDA_DEVICE double2 curand_uniform2_double(curandStatePhilox4_32_10 *state)
{
	const double x = curand_uniform_double(state);

	return make_double2(x, curand_uniform_double(state));
}

/* Two normal numbers, by Box and Muller. */
template <typename State> ADSM_CUDA_DEVICE float2 curand_normal2(State *state)
{
	const float length = sqrtf(-2.0f * logf(curand_uniform(state))), turn = 2.0f * curand_uniform(state);

	return make_float2(length * sinpif(turn), length * cospif(turn));
}
template <typename State> ADSM_CUDA_DEVICE double2 curand_normal2_double(State *state)
{
	const double length = sqrt(-2.0 * log(curand_uniform_double(state))), turn = 2.0 * curand_uniform_double(state);

	return make_double2(length * sinpi(turn), length * cospi(turn));
}
template <typename State> ADSM_CUDA_DEVICE float curand_normal(State *state)
{
	float2 pair;

	if (state->spare.has_single) {
		state->spare.has_single = false;
		return state->spare.single;
	}
	pair = curand_normal2(state);
	state->spare.has_single = true;
	state->spare.single = pair.y;
	return pair.x;
}
template <typename State> ADSM_CUDA_DEVICE double curand_normal_double(State *state)
{
	double2 pair;

	if (state->spare.has_double) {
		state->spare.has_double = false;
		return state->spare.number;
	}
	pair = curand_normal2_double(state);
	state->spare.has_double = true;
	state->spare.number = pair.y;
	return pair.x;
}
/* Of a sequence, by the inverse of the distribution: each point is used once. */
#define ADSM_CUDA_SOBOL_NORMAL(type) \
	ADSM_CUDA_DEVICE float curand_normal(type *state) { return normcdfinvf(curand_uniform(state)); } \
	ADSM_CUDA_DEVICE double curand_normal_double(type *state) { return normcdfinv(curand_uniform_double(state)); }

ADSM_CUDA_SOBOL_NORMAL(curandStateSobol32)
ADSM_CUDA_SOBOL_NORMAL(curandStateSobol64)
ADSM_CUDA_SOBOL_NORMAL(curandStateScrambledSobol32)
ADSM_CUDA_SOBOL_NORMAL(curandStateScrambledSobol64)
#undef ADSM_CUDA_SOBOL_NORMAL
ADSM_CUDA_DEVICE float4 curand_normal4(curandStatePhilox4_32_10 *state)
{
	const float2 a = curand_normal2(state), b = curand_normal2(state);

	return make_float4(a.x, a.y, b.x, b.y);
}
template <typename State> ADSM_CUDA_DEVICE float curand_log_normal(State *state, float mean, float deviation)
{
	return expf(mean + deviation * curand_normal(state));
}
template <typename State> ADSM_CUDA_DEVICE double curand_log_normal_double(State *state, double mean, double deviation)
{
	return exp(mean + deviation * curand_normal_double(state));
}

/* Knuth's product for small means; above, a normal number is rounded. */
template <typename State> ADSM_CUDA_DEVICE unsigned int curand_poisson(State *state, double lambda)
{
	const double limit = exp(-lambda);
	double product = 1;
	unsigned int n = 0;

	if (lambda > 64) {
		const double x = lambda + sqrt(lambda) * curand_normal_double(state) + 0.5;

		return x > 0 ? (unsigned int)x : 0;
	}
	for (product = curand_uniform_double(state); product > limit; n++)
		product *= curand_uniform_double(state);
	return n;
}

#endif
