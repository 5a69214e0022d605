/* SPDX-License-Identifier: MIT */
/*
 * kernels.c - dsp: a filter (multiply and accumulate), vectors looked up in a codebook, and what JPEG does with a
 * picture before it is coded: transform, quantisation, runs in the order of diagonals. All in whole numbers.
 */
#include <adsm_kernel.h>

#include "dsp.h"

ADSM_TABLE(int, quanta, DSP_POINTS) = DSP_QUANTA;

ADSM_PARTITION(1) ADSM_FUNCTION int multiply_accumulate(const ADSM_SPACE_GLOBAL short *in,
							const ADSM_SPACE_GLOBAL short *taps)
{
	int sum = 0;

	for (int i = 0; i < DSP_TAPS; i++)
		sum += in[i] * taps[i];
	return sum;
}

ADSM_KERNEL(mac, ADSM_IN(short, in), ADSM_IN(short, taps), ADSM_OUT(int, out), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		const int i = ADSM_GLOBAL_X;

		if (i < n)
			out[i] = multiply_accumulate(in + i, taps);
	}
}

/* The square of the distance, or something that is no less than @most. */
ADSM_FUNCTION int distance(const ADSM_SPACE_GLOBAL short *a, const ADSM_SPACE_GLOBAL short *b, int most)
{
	int sum = 0;

	for (int i = 0; i < DSP_VECTOR && sum < most; i++)
		sum += (a[i] - b[i]) * (a[i] - b[i]);
	return sum;
}

/* The first of the nearest ones. */
ADSM_PARTITION(2) ADSM_FUNCTION int search(const ADSM_SPACE_GLOBAL short *vector,
					    const ADSM_SPACE_GLOBAL short *codebook)
{
	int best = 0, least = 0x7fffffff;

	for (int i = 0; i < DSP_CODEBOOK; i++) {
		const int d = distance(vector, codebook + i * DSP_VECTOR, least);

		if (d < least) {
			least = d;
			best = i;
		}
	}
	return best;
}

ADSM_KERNEL(codebook, ADSM_IN(short, vectors), ADSM_IN(short, book), ADSM_OUT(int, chosen), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		const int i = ADSM_GLOBAL_X;

		if (i < n)
			chosen[i] = search(vectors + (long)i * DSP_VECTOR, book);
	}
}

/* Eight numbers, @step apart: even ones of the result come from sums of both ends, odd ones from differences. */
ADSM_FUNCTION void transform_line(int *x, int step)
{
	int sum[4], difference[4];

	for (int i = 0; i < 4; i++) {
		sum[i] = x[i * step] + x[(7 - i) * step];
		difference[i] = x[i * step] - x[(7 - i) * step];
	}
	x[0] = 64 * (sum[0] + sum[1] + sum[2] + sum[3]);
	x[4 * step] = 64 * (sum[0] - sum[1] - sum[2] + sum[3]);
	x[2 * step] = 83 * (sum[0] - sum[3]) + 36 * (sum[1] - sum[2]);
	x[6 * step] = 36 * (sum[0] - sum[3]) - 83 * (sum[1] - sum[2]);
	x[step] = 89 * difference[0] + 75 * difference[1] + 50 * difference[2] + 18 * difference[3];
	x[3 * step] = 75 * difference[0] - 18 * difference[1] - 89 * difference[2] - 50 * difference[3];
	x[5 * step] = 50 * difference[0] - 89 * difference[1] + 18 * difference[2] + 75 * difference[3];
	x[7 * step] = 18 * difference[0] - 50 * difference[1] + 75 * difference[2] - 89 * difference[3];
}

ADSM_PARTITION(3) ADSM_FUNCTION void transform(const ADSM_SPACE_GLOBAL unsigned char *in, int width, int *x)
{
	for (int i = 0; i < DSP_POINTS; i++)
		x[i] = in[(long)(i / DSP_SIDE) * width + i % DSP_SIDE] - 128;
	for (int i = 0; i < DSP_SIDE; i++)
		transform_line(x + i * DSP_SIDE, 1);
	for (int i = 0; i < DSP_SIDE; i++)
		transform_line(x + i, DSP_SIDE);
}

/* To the nearest, halves away from 0. */
ADSM_PARTITION(4) ADSM_FUNCTION void quantise(int *x)
{
	for (int i = 0; i < DSP_POINTS; i++) {
		const int quantum = quanta[i] * DSP_SCALE, size = x[i] < 0 ? -x[i] : x[i];
		const int level = (size + quantum / 2) / quantum;

		x[i] = x[i] < 0 ? -level : level;
	}
}

/* Along the diagonals, from corner to corner. Returns the number of runs. */
ADSM_PARTITION(5) ADSM_FUNCTION int code_runs(const int *x, ADSM_SPACE_GLOBAL int *runs)
{
	int n = 0, zeroes = 0, row = 0, column = 0, up = 1;

	for (int i = 0; i < DSP_POINTS; i++) {
		const int level = x[row * DSP_SIDE + column];

		if (level) {
			runs[n++] = DSP_RUN(zeroes, level);
			zeroes = 0;
		} else
			zeroes++;
		if (up && column == DSP_SIDE - 1) {
			row++;
			up = 0;
		} else if (up && !row) {
			column++;
			up = 0;
		} else if (!up && row == DSP_SIDE - 1) {
			column++;
			up = 1;
		} else if (!up && !column) {
			row++;
			up = 1;
		} else {
			row += up ? -1 : 1;
			column += up ? 1 : -1;
		}
	}
	return n;
}

ADSM_KERNEL(jpeg, ADSM_IN(unsigned char, picture), ADSM_INOUT(int, runs), ADSM_OUT(int, n_runs), ADSM_VAL(int, width),
	    ADSM_VAL(int, n_blocks))
{
	ADSM_THREADS {
		const int i = ADSM_GLOBAL_X, blocks_wide = width / DSP_SIDE;
		int x[DSP_POINTS];

		if (i >= n_blocks)
			continue;
		transform(picture + (long)(i / blocks_wide) * DSP_SIDE * width + i % blocks_wide * DSP_SIDE, width, x);
		quantise(x);
		n_runs[i] = code_runs(x, runs + (long)i * DSP_POINTS);
	}
}
