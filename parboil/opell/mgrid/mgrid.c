/* SPDX-License-Identifier: MIT */
/* mgrid.c - the potential of charges in a periodic cube by V-cycles through coarser grids, as in NPB's MG. */
#include "../program.h"

#include <stdlib.h>
#include <string.h>

#define THREADS 16
#define MAX_LEVELS 10
#define N_CHARGES 20

/* Level 0 has two points a side, each next one twice as many. */
static long side(int level)
{
	return 2l << level;
}

static size_t points(int level)
{
	const size_t n = (size_t)side(level);

	return n * n * n;
}

static int find_levels(long n)
{
	int levels = 1;

	while (side(levels - 1) < n)
		levels++;
	return levels;
}

/* ---- the same in double precision, by other ways: three sweeps for 27 points, and what gives instead of who takes */

/* Of @in what is weighed by @weights, by how many coordinates differ, is added to @out. */
static void add_stencil(const double *in, double *out, long n, const double weights[4], double factor)
{
	double *faces = ps_alloc((size_t)n * sizeof(*faces)), *edges = ps_alloc((size_t)n * sizeof(*edges));

	for (long row = 0; row < n * n; row++) {
		const long y = row % n, z = row / n, up = (y + 1) % n, down = (y + n - 1) % n;
		const long front = (z + 1) % n, back = (z + n - 1) % n;

		for (long x = 0; x < n; x++) {
			faces[x] = in[(z * n + up) * n + x] + in[(z * n + down) * n + x] +
				in[(front * n + y) * n + x] + in[(back * n + y) * n + x];
			edges[x] = in[(front * n + up) * n + x] + in[(front * n + down) * n + x] +
				in[(back * n + up) * n + x] + in[(back * n + down) * n + x];
		}
		for (long x = 0; x < n; x++) {
			const long left = (x + n - 1) % n, right = (x + 1) % n;

			out[row * n + x] += factor * (weights[0] * in[row * n + x] +
				weights[1] * (in[row * n + left] + in[row * n + right] + faces[x]) +
				weights[2] * (edges[x] + faces[left] + faces[right]) +
				weights[3] * (edges[left] + edges[right]));
		}
	}
	free(faces);
	free(edges);
}

/* Calls for each point of the coarser grid and each one around its place: half of it for each coordinate of these. */
static void between(double *coarse, double *fine, long n, bool up)
{
	for (long i = 0; i < n * n * n; i++)
		for (int k = 0; k < 27; k++) {
			const int dx = k % 3 - 1, dy = k / 3 % 3 - 1, dz = k / 9 - 1;
			const long x = (2 * (i % n) + dx + 2 * n) % (2 * n);
			const long y = (2 * (i / n % n) + dy + 2 * n) % (2 * n);
			const long z = (2 * (i / n / n) + dz + 2 * n) % (2 * n);
			const double weight = pow(0.5, abs(dx) + abs(dy) + abs(dz));
			double *other = fine + (z * 2 * n + y) * 2 * n + x;

			if (up)
				*other += weight * coarse[i];
			else
				coarse[i] += weight / 2 * *other;
		}
}

struct grids {
	double *u[MAX_LEVELS], *r[MAX_LEVELS];
};

static void find_residual(double *r, const double *v, const double *u, int level)
{
	static const double a[] = { -8.0 / 3, 0, 1.0 / 6, 1.0 / 12 };

	memmove(r, v, points(level) * sizeof(*r));
	add_stencil(u, r, side(level), a, -1);
}

static void smooth(const double *r, double *u, int level)
{
	static const double s[] = { -3.0 / 8, 1.0 / 32, -1.0 / 64, 0 };

	add_stencil(r, u, side(level), s, 1);
}

/* From the residual of the top downwards, and up again. */
static void reference_cycle(const struct grids *g, const double *v, int top)
{
	for (int level = top - 1; level >= 0; level--) {
		memset(g->r[level], 0, points(level) * sizeof(double));
		between(g->r[level], g->r[level + 1], side(level), false);
		memset(g->u[level], 0, points(level) * sizeof(double));
	}
	smooth(g->r[0], g->u[0], 0);
	for (int level = 1; level <= top; level++) {
		double *r = ps_alloc(points(level) * sizeof(*r));

		between(g->u[level - 1], g->u[level], side(level - 1), true);
		find_residual(r, level == top ? v : g->r[level], g->u[level], level);
		smooth(r, g->u[level], level);
		free(r);
	}
	find_residual(g->r[top], v, g->u[top], top);
}

static double root_of_mean(double sum, int level)
{
	return sqrt(sum / (double)points(level));
}

static void verify(struct po_run *run, const float *u, const float *v, double norm, int top)
{
	struct grids g;
	double *charges = ps_alloc(points(top) * sizeof(*charges)), sum = 0;
	const uint64_t start = ps_now_ns();

	for (int level = 0; level <= top; level++) {
		g.u[level] = ps_alloc(points(level) * sizeof(double));
		g.r[level] = ps_alloc(points(level) * sizeof(double));
	}
	for (size_t i = 0; i < points(top); i++)
		charges[i] = g.r[top][i] = (double)v[i];
	for (long cycle = 0; cycle < run->v[1]; cycle++)
		reference_cycle(&g, charges, top);
	for (size_t i = 0; i < points(top); i++)
		sum += g.r[top][i] * g.r[top][i];
	run->reference_ns = ps_now_ns() - start;
	for (size_t i = 0; i < points(top); i++)
		ps_check(run->wrong, "the potential", i, (double)u[i], g.u[top][i], 1e-5);
	/* What is left of large numbers has fewer digits. */
	if (!(fabs(norm - root_of_mean(sum, top)) <= 1e-3 * norm))
		ps_wrong(run->wrong, "the residual is %g, not %g", norm, root_of_mean(sum, top));
	for (int level = 0; level <= top; level++) {
		free(g.u[level]);
		free(g.r[level]);
	}
	free(charges);
}

/* ---- on the device */

struct device_grids {
	float *u[MAX_LEVELS], *r[MAX_LEVELS], *v, *sums;
	int top;
};

/* A row for each thread. */
static long n_blocks(int level)
{
	return (side(level) * side(level) + THREADS - 1) / THREADS;
}

static double find_norm(struct po_run *run, struct device_grids *g)
{
	const int n = (int)side(g->top);
	double sum = 0;

	PO_CALL(run, "norm", n_blocks(g->top), THREADS, adsmPtr(g->r[g->top]), adsmPtr(g->sums), adsmVal(n));
	po_sync(run);
	for (int i = 0; i < n * n; i++)
		sum += (double)g->sums[i];
	return root_of_mean(sum, g->top);
}

static void find_residual_there(struct po_run *run, struct device_grids *g, int level)
{
	/* In place, where it is the residual of a residual: a point takes only its own. */
	PO_CALL(run, "resid", n_blocks(level), THREADS, adsmPtr(g->u[level]),
		adsmPtr(level == g->top ? g->v : g->r[level]), adsmPtr(g->r[level]), adsmVal((int)side(level)));
}

static void cycle(struct po_run *run, struct device_grids *g)
{
	for (int level = g->top - 1; level >= 0; level--) {
		PO_CALL(run, "rprj3", n_blocks(level), THREADS, adsmPtr(g->r[level + 1]), adsmPtr(g->r[level]),
			adsmVal((int)side(level)));
		if (adsmMemset(g->u[level], 0, points(level) * sizeof(float)))
			ps_die("%s", adsmLastError());
	}
	for (int level = 0; level <= g->top; level++) {
		if (level) {
			PO_CALL(run, "interp", n_blocks(level), THREADS, adsmPtr(g->u[level - 1]), adsmPtr(g->u[level]),
				adsmVal((int)side(level)));
			find_residual_there(run, g, level);
		}
		PO_CALL(run, "psinv", n_blocks(level), THREADS, adsmPtr(g->r[level]), adsmPtr(g->u[level]),
			adsmVal((int)side(level)));
	}
	find_residual_there(run, g, g->top);
}

static void run_mgrid(struct po_run *run)
{
	struct pb_rng rng = { PO_SEED };
	struct device_grids g = { .top = find_levels(run->v[0]) - 1 };
	const size_t n = points(g.top), size = n * sizeof(float);
	double before, after;

	g.v = ps_shared(size);
	g.sums = ps_shared((size_t)(side(g.top) * side(g.top)) * sizeof(float));
	for (int level = 0; level <= g.top; level++) {
		g.u[level] = ps_shared(points(level) * sizeof(float));
		g.r[level] = ps_shared(points(level) * sizeof(float));
	}
	memset(g.u[g.top], 0, size);
	memset(g.v, 0, size);
	/* As many of one kind as of the other: else there is no solution. */
	for (int i = 0; i < N_CHARGES;) {
		float *charge = g.v + pb_rng_below(&rng, (uint32_t)n);

		if (*charge == 0)
			*charge = i++ % 2 ? 1 : -1;
	}
	memcpy(g.r[g.top], g.v, size);
	before = find_norm(run, &g);
	for (long i = 0; i < run->v[1]; i++)
		cycle(run, &g);
	after = find_norm(run, &g);
	if (!(after < before / 10))
		ps_wrong(run->wrong, "the residual decreases only from %g to %g", before, after);
	if (run->verify)
		verify(run, g.u[g.top], g.v, after, g.top);
	po_result(run, g.u[g.top], size);
	for (int level = 0; level <= g.top; level++) {
		adsmFree(g.u[level]);
		adsmFree(g.r[level]);
	}
	adsmFree(g.v);
	adsmFree(g.sums);
}

static const struct ps_size sizes[] = { { "small", { 32, 2 } }, { "medium", { 64, 4 } }, { 0 } };

const struct po_program po_mgrid = {
	"mgrid", "the potential of charges in a periodic cube by V-cycles", "points a side, cycles", sizes, false,
	run_mgrid, NULL,
};
