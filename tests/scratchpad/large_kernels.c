/* SPDX-License-Identifier: MIT */
/* large_kernels.c - functions that are larger than a partition: SHA-256 (FIPS 180-4) without loops, and a loop with a
 * large body. And a kernel that uses libm. */
#include <adsm_kernel.h>

typedef unsigned word_t;

#define RIGHT(x, n) ((x) >> (n) | (x) << (32 - (n)))
#define ROUND(a, b, c, d, e, f, g, h, i, k) do { \
	const word_t t = h + (RIGHT(e, 6) ^ RIGHT(e, 11) ^ RIGHT(e, 25)) + ((e & f) ^ (~e & g)) + k + w[(i) % 16]; \
\
	d += t; \
	h = t + (RIGHT(a, 2) ^ RIGHT(a, 13) ^ RIGHT(a, 22)) + ((a & b) ^ (a & c) ^ (b & c)); \
	w[(i) % 16] += (RIGHT(w[((i) + 1) % 16], 7) ^ RIGHT(w[((i) + 1) % 16], 18) ^ w[((i) + 1) % 16] >> 3) + \
		w[((i) + 9) % 16] + \
		(RIGHT(w[((i) + 14) % 16], 17) ^ RIGHT(w[((i) + 14) % 16], 19) ^ w[((i) + 14) % 16] >> 10); \
} while (0)
#define ROUNDS(i, k0, k1, k2, k3, k4, k5, k6, k7) do { \
	ROUND(a, b, c, d, e, f, g, h, i, k0); ROUND(h, a, b, c, d, e, f, g, i + 1, k1); \
	ROUND(g, h, a, b, c, d, e, f, i + 2, k2); ROUND(f, g, h, a, b, c, d, e, i + 3, k3); \
	ROUND(e, f, g, h, a, b, c, d, i + 4, k4); ROUND(d, e, f, g, h, a, b, c, i + 5, k5); \
	ROUND(c, d, e, f, g, h, a, b, i + 6, k6); ROUND(b, c, d, e, f, g, h, a, i + 7, k7); \
} while (0)

ADSM_FUNCTION void add_block(word_t *state, const ADSM_SPACE_GLOBAL unsigned char *bytes)
{
	word_t a = state[0], b = state[1], c = state[2], d = state[3];
	word_t e = state[4], f = state[5], g = state[6], h = state[7], w[16];

	for (int i = 0; i < 16; i++)
		w[i] = (word_t)bytes[4 * i] << 24 | (word_t)bytes[4 * i + 1] << 16 | (word_t)bytes[4 * i + 2] << 8 |
			bytes[4 * i + 3];
	ROUNDS(0, 0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5);
	ROUNDS(8, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174);
	ROUNDS(16, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da);
	ROUNDS(24, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967);
	ROUNDS(32, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85);
	ROUNDS(40, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070);
	ROUNDS(48, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3);
	ROUNDS(56, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2);
	state[0] += a; state[1] += b; state[2] += c; state[3] += d;
	state[4] += e; state[5] += f; state[6] += g; state[7] += h;
}

/* The digest of @n_blocks blocks, which end with the padding. One thread computes one message. */
ADSM_KERNEL(digest, ADSM_IN(unsigned char, bytes), ADSM_OUT(unsigned, digests), ADSM_VAL(int, n_blocks))
{
	ADSM_THREADS {
		word_t state[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
				    0x5be0cd19 };

		for (int i = 0; i < n_blocks; i++)
			add_block(state, bytes + ((long)ADSM_GLOBAL_X * n_blocks + i) * 64);
		for (int i = 0; i < 8; i++)
			digests[8 * ADSM_GLOBAL_X + i] = state[i];
	}
}

#define STEP(i) do { \
	if (x & (1u << (i) % 32)) \
		x = x * 2654435761u + words[(x + (i)) % 64]; \
	else if (x % 7 == 3) \
		return x ^ (i); \
	for (unsigned k = x % 5; k; k--) \
		x = RIGHT(x, 7) ^ k; \
} while (0)
#define STEPS(i) do { STEP(i); STEP(i + 1); STEP(i + 2); STEP(i + 3); STEP(i + 4); STEP(i + 5); } while (0)

/* Several exits, loops, and values that live across all of it. */
ADSM_FUNCTION word_t wander(const ADSM_SPACE_GLOBAL unsigned *words, word_t x, int n)
{
	for (int i = 0; i < n; i++) {
		STEPS(0);
		STEPS(6);
		STEPS(12);
		STEPS(18);
		STEPS(24);
		STEPS(30);
	}
	return x;
}

ADSM_KERNEL(walk, ADSM_IN(unsigned, words), ADSM_OUT(unsigned, out))
{
	ADSM_THREADS {
		out[ADSM_GLOBAL_X] = wander(words, (word_t)ADSM_GLOBAL_X * 77777u, 20);
	}
}

/* A kernel whose code is small, and that of libm's functions is not. */
ADSM_KERNEL(curves, ADSM_IN(float, x), ADSM_OUT(float, out))
{
	ADSM_THREADS {
		const float a = x[ADSM_GLOBAL_X];

		out[ADSM_GLOBAL_X] = adsm_sinf(a) + adsm_powf(a, 1.5f) + adsm_erff(a) + adsm_tanf(a);
	}
}
