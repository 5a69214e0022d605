/* SPDX-License-Identifier: MIT */
/* dsp.c - three kernels of signal processing, in whole numbers: results are the same, bit for bit. */
#include "../program.h"
#include "dsp.h"

#include <stdlib.h>

#define THREADS 32

static long n_blocks(long n)
{
	return (n + THREADS - 1) / THREADS;
}

/* From -@most to @most - 1. */
static short number(struct pb_rng *rng, uint32_t most)
{
	return (short)((int)pb_rng_below(rng, 2 * most) - (int)most);
}

static void differ(struct po_run *run, const char *what, const int *got, const int *want, long n)
{
	for (long i = 0; i < n; i++)
		if (got[i] != want[i])
			ps_wrong(run->wrong, "%s is %d at %ld, not %d", what, got[i], i, want[i]);
}

/* ---- the filter: each number that comes in is added wherever it counts */

static void verify_filter(struct po_run *run, const short *in, const short *taps, const int *out, long n)
{
	int *want = ps_alloc((size_t)n * sizeof(*want));

	for (long i = 0; i < n + DSP_TAPS; i++)
		for (long k = 0; k < DSP_TAPS; k++)
			if (i - k >= 0 && i - k < n)
				want[i - k] += in[i] * taps[k];
	differ(run, "the filtered signal", out, want, n);
	free(want);
}

static void run_filter(struct po_run *run, struct pb_rng *rng, long n)
{
	short *in = ps_shared((size_t)(n + DSP_TAPS) * sizeof(*in)), *taps = ps_shared(DSP_TAPS * sizeof(*taps));
	int *out = ps_shared((size_t)n * sizeof(*out));
	uint64_t start;

	for (long i = 0; i < n + DSP_TAPS; i++)
		in[i] = number(rng, 2048);
	for (long i = 0; i < DSP_TAPS; i++)
		taps[i] = number(rng, 1024);
	PO_CALL(run, "mac", n_blocks(n), THREADS, adsmPtr(in), adsmPtr(taps), adsmPtr(out), adsmVal((int)n));
	po_sync(run);
	start = ps_now_ns();
	if (run->verify)
		verify_filter(run, in, taps, out, n);
	run->reference_ns += ps_now_ns() - start;
	po_result(run, out, (size_t)n * sizeof(*out));
	adsmFree(in);
	adsmFree(taps);
	adsmFree(out);
}

/* ---- the codebook: |a - b|² = |a|² - 2ab + |b|² */

static long product(const short *a, const short *b)
{
	long sum = 0;

	for (int i = 0; i < DSP_VECTOR; i++)
		sum += a[i] * b[i];
	return sum;
}

static void verify_codebook(struct po_run *run, const short *vectors, const short *book, const int *chosen, long n)
{
	long squares[DSP_CODEBOOK];

	for (long k = 0; k < DSP_CODEBOOK; k++)
		squares[k] = product(book + k * DSP_VECTOR, book + k * DSP_VECTOR);
	for (long i = 0; i < n; i++) {
		int best = 0;
		long least = INT64_MAX;

		/* From behind, so that of those that are as near the first is kept. */
		for (int k = DSP_CODEBOOK - 1; k >= 0; k--) {
			const long d = squares[k] - 2 * product(vectors + i * DSP_VECTOR, book + k * DSP_VECTOR);

			best = d <= least ? k : best;
			least = d <= least ? d : least;
		}
		if (chosen[i] != best)
			ps_wrong(run->wrong, "vector %ld has code %d, not %d", i, chosen[i], best);
	}
}

static void run_codebook(struct po_run *run, struct pb_rng *rng, long n)
{
	short *vectors = ps_shared((size_t)n * DSP_VECTOR * sizeof(*vectors));
	short *book = ps_shared(DSP_CODEBOOK * DSP_VECTOR * sizeof(*book));
	int *chosen = ps_shared((size_t)n * sizeof(*chosen));
	uint64_t start;

	/* Some of the last are as some of the first. */
	for (long i = 0; i < DSP_CODEBOOK * DSP_VECTOR; i++)
		book[i] = i < 200 * DSP_VECTOR ? number(rng, 500) : book[i - 200 * DSP_VECTOR];
	for (long i = 0; i < n * DSP_VECTOR; i++)
		vectors[i] = number(rng, 600);
	PO_CALL(run, "codebook", n_blocks(n), THREADS, adsmPtr(vectors), adsmPtr(book), adsmPtr(chosen),
		adsmVal((int)n));
	po_sync(run);
	start = ps_now_ns();
	if (run->verify)
		verify_codebook(run, vectors, book, chosen, n);
	run->reference_ns += ps_now_ns() - start;
	po_result(run, chosen, (size_t)n * sizeof(*chosen));
	adsmFree(vectors);
	adsmFree(book);
	adsmFree(chosen);
}

/* ---- the picture */

/* 64 √8 times the cosines, as whole numbers; all are one of these. */
static int cosine(int frequency, int i)
{
	static const int values[] = { 64, 89, 83, 75, 64, 50, 36, 18 };
	/* In units of π/16; beyond π/2 what is on the other side of it, negative, and beyond π as before. */
	int angle = frequency * (2 * i + 1) % 32;

	angle = angle > 16 ? 32 - angle : angle;
	return angle > 8 ? -values[16 - angle] : angle == 8 ? 0 : frequency ? values[angle] : 64;
}

/* Where the diagonals have come to: sorted by them, and on each by its direction. */
static void list_diagonals(int order[DSP_POINTS])
{
	int n = 0;

	for (int diagonal = 0; diagonal < 2 * DSP_SIDE - 1; diagonal++)
		for (int k = 0; k <= diagonal; k++) {
			const int row = diagonal % 2 ? k : diagonal - k, column = diagonal - row;

			if (row < DSP_SIDE && column < DSP_SIDE)
				order[n++] = row * DSP_SIDE + column;
		}
}

/* The levels of a block, in the order of diagonals, from the sum that the transform is. */
static void find_levels(const uint8_t *in, long width, const int order[DSP_POINTS], int levels[DSP_POINTS])
{
	static const int quanta[DSP_POINTS] = DSP_QUANTA;

	for (int k = 0; k < DSP_POINTS; k++) {
		const int row = order[k] / DSP_SIDE, column = order[k] % DSP_SIDE;
		long sum = 0;

		for (int y = 0; y < DSP_SIDE; y++)
			for (int x = 0; x < DSP_SIDE; x++)
				sum += (in[y * width + x] - 128) * (long)(cosine(row, y) * cosine(column, x));
		levels[k] = (int)round((double)sum / (DSP_SCALE * quanta[order[k]]));
	}
}

/* Adds the squares of what the block has become, transformed back, less what it was. */
static double find_error(const uint8_t *in, long width, const int order[DSP_POINTS], const int levels[DSP_POINTS])
{
	static const int quanta[DSP_POINTS] = DSP_QUANTA;
	double error = 0;

	for (int i = 0; i < DSP_POINTS; i++) {
		const int y = i / DSP_SIDE, x = i % DSP_SIDE;
		double value = 128;

		for (int k = 0; k < DSP_POINTS; k++) {
			const int row = order[k] / DSP_SIDE, column = order[k] % DSP_SIDE;

			value += levels[k] * quanta[order[k]] / 4.0 * (row ? 1 : M_SQRT1_2) * (column ? 1 : M_SQRT1_2) *
				cos(row * (2 * y + 1) * M_PI / 16) * cos(column * (2 * x + 1) * M_PI / 16);
		}
		error += (value - in[y * width + x]) * (value - in[y * width + x]);
	}
	return error;
}

static void verify_picture(struct po_run *run, const uint8_t *picture, const int *runs, const int *n_runs, long side)
{
	const long blocks_wide = side / DSP_SIDE;
	int order[DSP_POINTS];
	double error = 0;

	list_diagonals(order);
	for (long i = 0; i < blocks_wide * blocks_wide; i++) {
		const uint8_t *in = picture + i / blocks_wide * DSP_SIDE * side + i % blocks_wide * DSP_SIDE;
		int levels[DSP_POINTS], got[DSP_POINTS] = { 0 }, at = 0;

		find_levels(in, side, order, levels);
		for (int k = 0; k < n_runs[i] && at < DSP_POINTS; k++, at++) {
			at += runs[i * DSP_POINTS + k] >> 16;
			if (at < DSP_POINTS)
				got[at] = (short)runs[i * DSP_POINTS + k];
		}
		for (int k = 0; k < DSP_POINTS; k++)
			if (got[k] != levels[k] || at > DSP_POINTS)
				ps_wrong(run->wrong, "block %ld has level %d at %d, not %d", i, got[k], k, levels[k]);
		/* What costs more than the rest is done of some. */
		error += i % 7 ? 0 : find_error(in, side, order, levels) * 7;
	}
	if (sqrt(error / (double)(side * side)) > 12)
		ps_wrong(run->wrong, "after the inverse transform the picture differs by %g levels",
			 sqrt(error / (double)(side * side)));
}

static void run_picture(struct po_run *run, struct pb_rng *rng, long side)
{
	const long blocks = side / DSP_SIDE * (side / DSP_SIDE);
	const size_t size = (size_t)(side * side);
	uint8_t *picture = ps_shared(size);
	int *runs = ps_shared(size * sizeof(*runs)), *n_runs = ps_shared((size_t)blocks * sizeof(*n_runs));
	uint64_t start;

	/* Something smooth, with an edge and some noise. */
	for (long i = 0; i < side * side; i++) {
		const double x = (double)(i % side) / 17, y = (double)(i / side) / 23;

		picture[i] = (uint8_t)(128 + 60 * sin(x) * cos(y) + (i % side > i / side ? 40 : -40) +
				       pb_rng_below(rng, 16));
		runs[i] = 0;
	}
	PO_CALL(run, "jpeg", n_blocks(blocks), THREADS, adsmPtr(picture), adsmPtr(runs), adsmPtr(n_runs),
		adsmVal((int)side), adsmVal((int)blocks));
	po_sync(run);
	start = ps_now_ns();
	if (run->verify)
		verify_picture(run, picture, runs, n_runs, side);
	run->reference_ns += ps_now_ns() - start;
	po_result(run, runs, size * sizeof(*runs));
	po_result(run, n_runs, (size_t)blocks * sizeof(*n_runs));
	adsmFree(picture);
	adsmFree(runs);
	adsmFree(n_runs);
}

static void run_dsp(struct po_run *run)
{
	struct pb_rng rng = { PO_SEED };

	run_filter(run, &rng, run->v[0]);
	run_codebook(run, &rng, run->v[1]);
	run_picture(run, &rng, run->v[2]);
}

static const struct ps_size sizes[] = {
	{ "small", { 8192, 256, 128 } }, { "medium", { 262144, 8192, 768 } }, { 0 }
};

const struct po_program po_dsp = {
	"dsp", "a filter; vectors looked up in a codebook; a picture's blocks, transformed, quantised, in runs",
	"numbers, vectors, points a side", sizes, false, run_dsp, NULL,
};
