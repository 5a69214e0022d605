/* SPDX-License-Identifier: MIT */
/* kernels.c - sad: sums of absolute differences of H.264's full search, for blocks of all seven sizes. */
#include <adsm_kernel.h>

#define RANGE 16			/* the largest displacement, in pixels */
#define SIDE (2 * RANGE + 1)
#define POSITIONS (SIDE * SIDE)
#define VECTOR 1096			/* sums of a vector; what follows the positions is padding */
#define WORDS (VECTOR / 2)		/* ... in words of two sums, which no sum of 256 pixels overflows */
#define WINDOW (4 + 2 * RANGE)		/* side of what one 4x4 block is compared with */
#define BLOCK 4

ADSM_FUNCTION int clamp_to(int i, int n)
{
	return i < 0 ? 0 : i < n ? i : n - 1;
}

/* One sum of 4x4 pixels; @window is where the position starts. */
ADSM_FUNCTION int difference(const ADSM_SPACE_SHARED unsigned short *window,
			     const ADSM_SPACE_SHARED unsigned short *block)
{
	int sum = 0;

	for (int y = 0; y < BLOCK; y++) {
		for (int x = 0; x < BLOCK; x++) {
			int d = window[y * WINDOW + x] - block[y * BLOCK + x];

			sum += d < 0 ? -d : d;
		}
	}
	return sum;
}

/*
 * Type 7, one 4x4 block of the frame in each block of threads: 61 of them, of 18 positions each. The original
 * fetches the reference image from a texture, which clamps coordinates and caches pixels; here a window of it in
 * shared memory does both. A macro, because pointers to constant and to global memory are of different types.
 */
#define SEARCH \
	ADSM_SHARED(unsigned short, window, WINDOW * WINDOW); \
	ADSM_SHARED(unsigned short, block, BLOCK * BLOCK); \
	ADSM_SHARED(unsigned short, sums, VECTOR); \
	int first_x = ADSM_BLOCK_X * BLOCK, first_y = ADSM_BLOCK_Y * BLOCK; \
	long n_macroblocks = (long)(width / 16) * (height / 16); \
	long macroblock = (long)(first_y / 16) * (width / 16) + first_x / 16; \
	long vector = 25 * n_macroblocks + 16 * macroblock + ADSM_BLOCK_Y % 4 * 4 + ADSM_BLOCK_X % 4; \
	\
	ADSM_THREADS { \
		int t = ADSM_THREAD_X; \
		int x = clamp_to(first_x - RANGE + t, width); \
		\
		if (t < BLOCK * BLOCK) \
			block[t] = frame[(long)(first_y + t / BLOCK) * width + first_x + t % BLOCK]; \
		for (int y = 0; y < WINDOW && t < WINDOW; y++) \
			window[y * WINDOW + t] = \
				reference[(long)clamp_to(first_y - RANGE + y, height) * width + x]; \
	} \
	ADSM_BARRIER; \
	ADSM_THREADS { \
		for (int p = ADSM_THREAD_X; p < POSITIONS; p += ADSM_BLOCK_DIM_X) \
			sums[p] = difference(window + p / SIDE * WINDOW + p % SIDE, block); \
	} \
	ADSM_BARRIER; \
	ADSM_THREADS { \
		for (int p = ADSM_THREAD_X; p < POSITIONS; p += ADSM_BLOCK_DIM_X) \
			sads[vector * VECTOR + p] = sums[p]; \
	}

/* The reference image in constant memory, or, where it is too large for that, in the device's. */
ADSM_KERNEL_MAX(SearchConst, 61, ADSM_CONST(unsigned short, reference), ADSM_IN(unsigned short, frame),
		ADSM_INOUT(unsigned short, sads), ADSM_VAL(int, width), ADSM_VAL(int, height))
{
	SEARCH
}

ADSM_KERNEL_MAX(Search, 61, ADSM_IN(unsigned short, reference), ADSM_IN(unsigned short, frame),
		ADSM_INOUT(unsigned short, sads), ADSM_VAL(int, width), ADSM_VAL(int, height))
{
	SEARCH
}

/* Types 6, 5 and 4 of a macroblock from its type 7; 32 lanes for each quarter. */
ADSM_KERNEL_MAX(SumTo8x8, 128, ADSM_INOUT(unsigned int, sads))
{
	long n_macroblocks = (long)ADSM_GRID_DIM_X * ADSM_GRID_DIM_Y;
	long macroblock = (long)ADSM_BLOCK_Y * ADSM_GRID_DIM_X + ADSM_BLOCK_X;
	ADSM_SPACE_GLOBAL unsigned int *type4 = sads + (5 * n_macroblocks + 4 * macroblock) * WORDS;
	ADSM_SPACE_GLOBAL unsigned int *type5 = sads + (9 * n_macroblocks + 8 * macroblock) * WORDS;
	ADSM_SPACE_GLOBAL unsigned int *type6 = sads + (17 * n_macroblocks + 8 * macroblock) * WORDS;
	const ADSM_SPACE_GLOBAL unsigned int *type7 = sads + (25 * n_macroblocks + 16 * macroblock) * WORDS;

	for (int first = 0; first < WORDS; first += ADSM_BLOCK_DIM_X) {
		ADSM_THREADS {
			int y = ADSM_THREAD_Y / 2, x = ADSM_THREAD_Y % 2, i = first + ADSM_THREAD_X;
			unsigned int a, b, c, d;

			if (i >= WORDS)
				continue;
			a = type7[(8 * y + 2 * x) * WORDS + i];
			b = type7[(8 * y + 2 * x + 1) * WORDS + i];
			c = type7[(8 * y + 2 * x + 4) * WORDS + i];
			d = type7[(8 * y + 2 * x + 5) * WORDS + i];
			type6[(4 * y + 2 * x) * WORDS + i] = a + c;
			type6[(4 * y + 2 * x + 1) * WORDS + i] = b + d;
			type5[(4 * y + x) * WORDS + i] = a + b;
			type5[(4 * y + x + 2) * WORDS + i] = c + d;
			type4[(2 * y + x) * WORDS + i] = a + b + c + d;
		}
	}
}

/* Types 3, 2 and 1 of a macroblock from its type 4. */
ADSM_KERNEL_MAX(SumTo16x16, 32, ADSM_INOUT(unsigned int, sads))
{
	long n_macroblocks = (long)ADSM_GRID_DIM_X * ADSM_GRID_DIM_Y;
	long macroblock = (long)ADSM_BLOCK_Y * ADSM_GRID_DIM_X + ADSM_BLOCK_X;
	ADSM_SPACE_GLOBAL unsigned int *type1 = sads + macroblock * WORDS;
	ADSM_SPACE_GLOBAL unsigned int *type2 = sads + (n_macroblocks + 2 * macroblock) * WORDS;
	ADSM_SPACE_GLOBAL unsigned int *type3 = sads + (3 * n_macroblocks + 2 * macroblock) * WORDS;
	const ADSM_SPACE_GLOBAL unsigned int *type4 = sads + (5 * n_macroblocks + 4 * macroblock) * WORDS;

	for (int first = 0; first < WORDS; first += ADSM_BLOCK_DIM_X) {
		ADSM_THREADS {
			int i = first + ADSM_THREAD_X;
			unsigned int a, b, c, d;

			if (i >= WORDS)
				continue;
			a = type4[i];
			b = type4[WORDS + i];
			c = type4[2 * WORDS + i];
			d = type4[3 * WORDS + i];
			type3[i] = a + c;
			type3[WORDS + i] = b + d;
			type2[i] = a + b;
			type2[WORDS + i] = c + d;
			type1[i] = a + b + c + d;
		}
	}
}
