/* SPDX-License-Identifier: MIT */
/* rng.h - the one random generator of all benchmarks (splitmix64), and the hash that names their files. */
#ifndef PARBOIL_RNG_H
#define PARBOIL_RNG_H

#include <stddef.h>
#include <stdint.h>

#define PB_FNV_INIT UINT64_C(0xcbf29ce484222325)

struct pb_rng { uint64_t state; };		/* starts as the benchmark's seed */

static inline uint64_t pb_rng_next(struct pb_rng *rng)
{
	uint64_t z = rng->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Uniform in [0, 1), exact in single precision. */
static inline float pb_rng_float(struct pb_rng *rng)
{
	return (float)(pb_rng_next(rng) >> 40) * 0x1p-24f;
}

/* Uniform below @n, but for n that do not divide 2^32. */
static inline uint32_t pb_rng_below(struct pb_rng *rng, uint32_t n)
{
	return (uint32_t)(pb_rng_next(rng) >> 32) % n;
}

/* 64-bit FNV-1a of more bytes; start from PB_FNV_INIT. */
static inline uint64_t pb_fnv(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
	return hash;
}

#endif
