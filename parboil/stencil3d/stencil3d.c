/* SPDX-License-Identifier: MIT */
/*
 * stencil3d.c - a wave that one cell sends through a volume: sizes, source, reference, verification.
 *
 * next = 2 u - previous + C L(u), where L is the sum over the three axes of the second difference of eighth order and
 * C = (velocity * dt / h)^2; around the volume u is 0. In each step the CPU adds the source to its cell, and
 * from time to time it writes the whole volume to a file.
 */
#include "stencil3d.h"

#include <math.h>
#include <stdlib.h>

#define HALO STENCIL3D_HALO
#define C 0.1			/* of each cell; up to about 0.205 the recurrence is stable */

/* Those named after their cells draw the figure of time over volume. The last step of each is written. */
static const char *const size_names[] = { "small", "medium", "paper", "small64", "n64", "n128", "n192", "n256",
					  "n320", "n384", "short", NULL };
static const struct { int n, n_steps, write_every; } sizes[] = {
	{ 32, 64, 16 },
	{ 128, 50, 10 },
	{ 352, 50, 10 },
	{ 64, 64, 16 },
	{ 64, 50, 10 },
	{ 128, 50, 10 },
	{ 192, 50, 10 },
	{ 256, 50, 10 },
	{ 320, 50, 10 },
	{ 384, 50, 10 },
	{ 32, 20, 10 },
};

struct stencil3d stencil3d_size(const struct pb_run *run)
{
	int n = sizes[run->size].n;
	size_t row = (size_t)n + 2 * HALO, centre = HALO + (size_t)n / 2;

	return (struct stencil3d){
		.n = n,
		.n_steps = sizes[run->size].n_steps,
		.write_every = sizes[run->size].write_every,
		.volume_bytes = row * row * row * sizeof(float),
		.v_bytes = (size_t)n * n * n * sizeof(float),
		.source = (centre * row + centre) * row + centre,
		/* Whole rows: the longer the loop over x, the better a CPU runs it. */
		.block = { .x = n, .y = 2 },
		.grid = { .x = 1, .y = n / 2, .z = n },
	};
}

void stencil3d_medium(const struct stencil3d *s, float *v)
{
	for (size_t i = 0; i < s->v_bytes / sizeof(*v); i++)
		v[i] = C;
}

double stencil3d_wavelet(int t)
{
	double phase = 0.15 * M_PI * (t - 8), a = phase * phase;

	return (1 - 2 * a) * exp(-a);
}

/* ---- the reference: double precision, axis by axis, and no further than the wave has come */

/* Add the second difference along one axis, where neighbours are @step cells apart, for @n cells. */
static void add_axis(double *restrict laplacian, const double *restrict u, ptrdiff_t step, int n)
{
	static const double c[] = { -205.0 / 72, 8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560 };

	for (int i = 0; i < n; i++) {
		double sum = c[0] * u[i];

		for (int k = 1; k <= HALO; k++)
			sum += c[k] * (u[i + k * step] + u[i - k * step]);
		laplacian[i] += sum;
	}
}

static void step(double *restrict next, const double *restrict u, int n, int first, int last)
{
	ptrdiff_t row = n + 2 * HALO, slice = row * row;
	int length = last - first + 1;
	double *laplacian = pb_host_alloc(length * sizeof(*laplacian));

	for (int z = first; z <= last; z++) {
		for (int y = first; y <= last; y++) {
			ptrdiff_t at = z * slice + y * row + first;

			for (int i = 0; i < length; i++)
				laplacian[i] = 0;
			add_axis(laplacian, u + at, slice, length);
			add_axis(laplacian, u + at, row, length);
			add_axis(laplacian, u + at, 1, length);
			for (int i = 0; i < length; i++)
				next[at + i] = 2 * u[at + i] - next[at + i] + C * laplacian[i];
		}
	}
	free(laplacian);
}

static void prepare(struct pb_run *run)
{
	const struct stencil3d s = stencil3d_size(run);
	size_t n_cells = s.volume_bytes / sizeof(float);
	struct stencil3d_reference *reference = pb_host_alloc(sizeof(*reference) + n_cells * sizeof(double));
	double *volumes[2];
	int centre = HALO + s.n / 2;

	*reference = (struct stencil3d_reference){ .s = s, .n_cells = n_cells, .u = (double *)(reference + 1) };
	/* Step t writes volume (t + 1) % 2. */
	volumes[s.n_steps % 2] = reference->u;
	volumes[!(s.n_steps % 2)] = pb_host_alloc(n_cells * sizeof(double));
	for (size_t i = 0; i < n_cells; i++)
		volumes[0][i] = volumes[1][i] = 0;
	for (int t = 0; t < s.n_steps; t++) {
		int reach = HALO * t;
		int first = centre - reach > HALO ? centre - reach : HALO;
		int last = centre + reach < HALO + s.n ? centre + reach : HALO + s.n - 1;

		step(volumes[(t + 1) % 2], volumes[t % 2], s.n, first, last);
		volumes[(t + 1) % 2][s.source] += stencil3d_wavelet(t);
	}
	for (size_t i = 0; i < n_cells; i++)
		reference->max = fmax(reference->max, fabs(reference->u[i]));
	free(volumes[!(s.n_steps % 2)]);
	run->data = reference;
}

void stencil3d_verify(struct pb_run *run, const float *u)
{
	const struct stencil3d_reference *reference = run->data;

	for (size_t i = 0; i < reference->n_cells; i++)
		pb_compare(run, u[i], reference->u[i], 1e-5 * reference->max);
}

const struct pb_bench stencil3d_bench = {
	.name = "stencil3d",
	.about = "waves from a source in a volume",
	.sizes = size_names,
	.writes = true,
	.prepare = prepare,
	.variants = { [PB_ADSM] = stencil3d_adsm, [PB_EXPLICIT] = stencil3d_explicit, PB_RIVALS(stencil3d) },
};
