/* SPDX-License-Identifier: MIT */
/* kernels.c - pns: simulation of a Petri net, one trajectory a block, up to 256 transitions at a time. */
#include <adsm_kernel.h>

#define THREADS 256
#define MT_WORDS 624
#define MT_OFFSET 397			/* of the word that a new one depends on */
#define MT_LAG (MT_WORDS - MT_OFFSET)	/* words that can be made at once */

/*
 * The net is a torus of 2n rows and n columns of places, and as many transitions, both numbered row by row.
 * Transition v takes a token from place v, on its left, and one from the place above it, and gives one to the place
 * on its right and one to the place below. Odd rows are shifted, as bricks are.
 */
ADSM_FUNCTION int shifted(int v, int n)
{
	int column = v % n + (v / n & 1);

	return column < n ? column : 0;
}

ADSM_FUNCTION int row_above(int v, int n)
{
	return v < n ? 2 * n - 1 : v / n - 1;
}

ADSM_FUNCTION int row_below(int v, int n)
{
	return v / n < 2 * n - 1 ? v / n + 1 : 0;
}

ADSM_FUNCTION int above(int v, int n)
{
	return row_above(v, n) * n + shifted(v, n);
}

ADSM_FUNCTION int below(int v, int n)
{
	return row_below(v, n) * n + shifted(v, n);
}

ADSM_FUNCTION int right(int v, int n)
{
	return v % n < n - 1 ? v + 1 : v + 1 - n;
}

/* The transitions that share an input with v: this one takes from the place on the left of v, and the one with the
 * number of the place above v takes from that. */
ADSM_FUNCTION int rival_below(int v, int n)
{
	int column = shifted(v, n);

	return row_below(v, n) * n + (column ? column : n) - 1;
}

/* Where the round of threads that covers @first starts, if each has one of @n things to do. The last round starts
 * early enough to be a whole one, and so does some a second time: loops without a bounds test vectorise. */
ADSM_FUNCTION int whole(int first, int n)
{
	return first + THREADS <= n ? first : n - THREADS;
}

/*
 * Of each trajectory, places holds the marks, a byte for each place, then the stamps, an int for each transition:
 * when it was last enabled. n is even. In all of a phase, threads that drew the same transition write the same.
 */
ADSM_KERNEL_MAX(Simulate, THREADS, ADSM_INOUT(unsigned char, places), ADSM_INOUT(float, vars), ADSM_INOUT(int, maxs),
		ADSM_VAL(int, n), ADSM_VAL(int, steps), ADSM_VAL(int, base), ADSM_VAL(float, scale))
{
	ADSM_SHARED(unsigned, mt, 2 * MT_WORDS);	/* the generator's words of this round and of the last */
	ADSM_SHARED(unsigned, sums, THREADS);
	ADSM_SHARED(unsigned, tops, THREADS);
	ADSM_PRIVATE(int, transition);			/* that the thread will fire; -1: none */
	ADSM_PRIVATE(unsigned, vertical);		/* marks above, then below */
	ADSM_PRIVATE(unsigned, horizontal);		/* marks on the left, then on the right */
	const int n_places = 2 * n * n, n_words = n_places / 4;
	ADSM_SPACE_GLOBAL unsigned char *marks = places + (long)ADSM_BLOCK_X * 5 * n_places;
	ADSM_SPACE_GLOBAL unsigned *words = (ADSM_SPACE_GLOBAL unsigned *)marks;	/* four marks each */
	ADSM_SPACE_GLOBAL int *stamps = (ADSM_SPACE_GLOBAL int *)(marks + n_places);

	for (int first = 0; first < n_words; first += THREADS) {
		int start = whole(first, n_words);

		ADSM_THREADS {
			words[start + ADSM_THREAD_X] = 0x01010101u;
		}
	}
	for (int first = 0; first < n_places; first += THREADS) {
		int start = whole(first, n_places);

		ADSM_THREADS {
			stamps[start + ADSM_THREAD_X] = -1;
		}
	}
	ADSM_THREADS {
		if (ADSM_THREAD_X)
			continue;
		mt[0] = 5489u * (unsigned)(base + 1) + (unsigned)ADSM_BLOCK_X;
		for (int i = 1; i < MT_WORDS; i++)
			mt[i] = 1812433253u * (mt[i - 1] ^ mt[i - 1] >> 30) + (unsigned)i;
	}
	ADSM_BARRIER;

	for (int step = 0, from = 0; step < steps; step += MT_WORDS / 2, from = MT_WORDS - from) {
		int to = MT_WORDS - from;

		for (int first = 0; first < MT_WORDS; first += MT_LAG) {
			ADSM_THREADS {
				int i = first + ADSM_THREAD_X;
				unsigned y;

				if (ADSM_THREAD_X >= MT_LAG || i >= MT_WORDS)
					continue;
				y = mt[from + i] & 0x80000000u;
				y |= (i < MT_WORDS - 1 ? mt[from + i + 1] : mt[to]) & 0x7fffffffu;
				mt[to + i] = (i < MT_LAG ? mt[from + i + MT_OFFSET] : mt[to + i - MT_LAG]) ^ y >> 1 ^
					     (y & 1 ? 0x9908b0dfu : 0);
			}
			ADSM_BARRIER;
		}

		for (int first = 0; first < MT_WORDS; first += THREADS) {
			int stamp = step + (first == 0 ? 7 : first == THREADS ? 11 : 13);

			ADSM_THREADS {
				int i = first + ADSM_THREAD_X, v;

				ADSM_MY(transition) = -1;
				if (i >= MT_WORDS)
					continue;
				v = (int)(mt[to + i] % (unsigned)n_places);
				ADSM_MY(vertical) = marks[above(v, n)];
				ADSM_MY(horizontal) = marks[v];
				if (ADSM_MY(vertical) && ADSM_MY(horizontal)) {
					stamps[v] = stamp;
					ADSM_MY(transition) = v;
				}
			}
			ADSM_BARRIER;

			/* Rivals are in rows of the other parity: exactly one of two yields. */
			ADSM_THREADS {
				int v = ADSM_MY(transition);

				if (v < 0)
					continue;
				if (((v / n ^ stamp) & 1) && (stamps[above(v, n)] == stamp ||
							      stamps[rival_below(v, n)] == stamp)) {
					ADSM_MY(transition) = -1;
					continue;
				}
				marks[above(v, n)] = (unsigned char)(ADSM_MY(vertical) - 1);
				marks[v] = (unsigned char)(ADSM_MY(horizontal) - 1);
			}
			ADSM_BARRIER;

			ADSM_THREADS {
				int v = ADSM_MY(transition);

				if (v < 0)
					continue;
				ADSM_MY(vertical) = marks[below(v, n)];
				ADSM_MY(horizontal) = marks[right(v, n)];
			}
			ADSM_BARRIER;
			ADSM_THREADS {
				int v = ADSM_MY(transition);

				if (v < 0)
					continue;
				marks[below(v, n)] = (unsigned char)(ADSM_MY(vertical) + 1);
				marks[right(v, n)] = (unsigned char)(ADSM_MY(horizontal) + 1);
			}
			ADSM_BARRIER;
		}
	}

	/* The sum of the squares and the largest mark: of each thread, then of all. */
	ADSM_THREADS {
		ADSM_MY(vertical) = 0;
		ADSM_MY(horizontal) = 0;
	}
	for (int first = 0; first < n_words; first += THREADS) {
		int start = whole(first, n_words);

		ADSM_THREADS {
			int i = start + ADSM_THREAD_X;
			/* What the round before has counted counts as no tokens. */
			unsigned word = words[i] & (i < first ? 0 : ~0u);
			unsigned a = word & 255, b = word >> 8 & 255, c = word >> 16 & 255, d = word >> 24;
			unsigned ab = a > b ? a : b, cd = c > d ? c : d, top = ab > cd ? ab : cd;

			ADSM_MY(vertical) += a * a + b * b + c * c + d * d;
			ADSM_MY(horizontal) = top > ADSM_MY(horizontal) ? top : ADSM_MY(horizontal);
		}
	}
	ADSM_THREADS {
		sums[ADSM_THREAD_X] = ADSM_MY(vertical);
		tops[ADSM_THREAD_X] = ADSM_MY(horizontal);
	}
	ADSM_BARRIER;
	for (int width = THREADS / 2; width; width /= 2) {
		ADSM_THREADS {
			int i = ADSM_THREAD_X;

			if (i >= width)
				continue;
			sums[i] += sums[i + width];
			tops[i] = tops[i] > tops[i + width] ? tops[i] : tops[i + width];
		}
		ADSM_BARRIER;
	}
	/* The mean mark is 1, so this is the variance; exact up to one rounding, as devices differ in division. */
	ADSM_THREADS {
		if (ADSM_THREAD_X)
			continue;
		vars[ADSM_BLOCK_X] = (float)((int)sums[0] - n_places) * scale;
		maxs[ADSM_BLOCK_X] = (int)tops[0];
	}
}
