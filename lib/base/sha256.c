/* SPDX-License-Identifier: MIT */
/* sha256.c - see sha256.h. The names are those of FIPS 180-4. */
#include "base/sha256.h"

#include <string.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 prime numbers. */
static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static uint32_t load(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void store(uint8_t *p, uint32_t x)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(x >> (24 - 8 * i));
}

/* Hash a block of 64 bytes. */
static void add_block(uint32_t h[8], const uint8_t *block)
{
	uint32_t w[64], v[8];

	for (int t = 0; t < 16; t++)
		w[t] = load(block + 4 * (size_t)t);
	for (int t = 16; t < 64; t++) {
		const uint32_t s0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
		const uint32_t s1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ w[t - 2] >> 10;

		w[t] = w[t - 16] + s0 + w[t - 7] + s1;
	}
	memcpy(v, h, sizeof(v));
	for (int t = 0; t < 64; t++) {
		const uint32_t a = v[0], e = v[4];
		const uint32_t sum1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25), ch = (e & v[5]) ^ (~e & v[6]);
		const uint32_t sum0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22);
		const uint32_t maj = (a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]);
		const uint32_t t1 = v[7] + sum1 + ch + k[t] + w[t];

		memmove(v + 1, v, 7 * sizeof(*v));
		v[4] += t1;
		v[0] = t1 + sum0 + maj;
	}
	for (int i = 0; i < 8; i++)
		h[i] += v[i];
}

void adsm_sha256(const void *bytes, size_t size, uint8_t ret_hash[ADSM_SHA256_SIZE])
{
	/* The same of the square roots of the first eight prime numbers. */
	uint32_t h[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
			  0x5be0cd19 };
	const uint8_t *at = bytes;
	const uint64_t bits = (uint64_t)size * 8;
	uint8_t last[128] = { 0 };
	size_t n = size % 64, whole = size - n, last_size = n < 56 ? 64 : 128;

	for (size_t i = 0; i < whole; i += 64)
		add_block(h, at + i);
	if (n)
		memcpy(last, at + whole, n);
	last[n] = 0x80;
	store(last + last_size - 8, (uint32_t)(bits >> 32));
	store(last + last_size - 4, (uint32_t)bits);
	for (size_t i = 0; i < last_size; i += 64)
		add_block(h, last + i);
	for (size_t i = 0; i < 8; i++)
		store(ret_hash + 4 * i, h[i]);
}
