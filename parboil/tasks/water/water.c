/* SPDX-License-Identifier: MIT */
/* water.c - molecules in a box, against all pairs of them without cells. */
#include "water.h"
#include "../program.h"

#include <stdlib.h>
#include <string.h>

struct state { double *pos, *vel, *acc, *force; };

static int cell_of(const double *pos, const struct water *w)
{
	int cell = 0;

	for (int k = 2; k >= 0; k--) {
		const double x = pos[k] / w->side;
		const int c = (int)((x - floor(x)) * w->n_cells);

		cell = cell * w->n_cells + (c < w->n_cells ? c : w->n_cells - 1);
	}
	return cell;
}

static void pull(const double *x, double *f, int i, int j, double length)
{
	double d[3], r = 0;

	for (int k = 0; k < 3; k++) {
		d[k] = x[3 * i + k] - x[3 * j + k];
		r += d[k] * d[k];
	}
	r = sqrt(r);
	for (int k = 0; k < 3; k++) {
		f[3 * i + k] -= SPRING * (r - length) / r * d[k];
		f[3 * j + k] += SPRING * (r - length) / r * d[k];
	}
}

static void find_forces(const struct state *s, long n, const struct water *w)
{
	memset(s->force, 0, (size_t)(9 * n) * sizeof(double));
	for (long m = 0; m < n; m++) {
		pull(&s->pos[9 * m], &s->force[9 * m], 0, 1, LENGTH_OH);
		pull(&s->pos[9 * m], &s->force[9 * m], 0, 2, LENGTH_OH);
		pull(&s->pos[9 * m], &s->force[9 * m], 1, 2, LENGTH_HH);
		for (long o = 0; o < m; o++) {
			double d[3], r2 = 0, p;

			for (int k = 0; k < 3; k++) {
				d[k] = s->pos[9 * m + k] - s->pos[9 * o + k];
				d[k] -= w->side * floor(d[k] / w->side + 0.5);
				r2 += d[k] * d[k];
			}
			if (r2 >= CUTOFF * CUTOFF)
				continue;
			p = 1 / (r2 * r2 * r2);
			for (int k = 0; k < 3; k++) {
				s->force[9 * m + k] += 24 * (2 * p * p - p) / r2 * d[k];
				s->force[9 * o + k] -= 24 * (2 * p * p - p) / r2 * d[k];
			}
		}
	}
}

/* Returns how many have changed their cell. */
static long step(const struct state *s, long n, const struct water *w, double *ret_energy)
{
	long moved = 0;

	for (long m = 0; m < n; m++) {
		const int cell = cell_of(&s->pos[9 * m], w);

		for (long k = 9 * m; k < 9 * m + 9; k++) {
			s->pos[k] += DT * s->vel[k] + 0.5 * DT * DT * s->acc[k];
			s->vel[k] += DT * s->acc[k];
		}
		moved += cell != cell_of(&s->pos[9 * m], w);
	}
	find_forces(s, n, w);
	*ret_energy = 0;
	for (long k = 0; k < 9 * n; k++) {
		const double mass = k % 9 < 3 ? MASS_O : MASS_H, a = s->force[k] / mass;

		s->vel[k] += 0.5 * DT * (a - s->acc[k]);
		s->acc[k] = a;
		*ret_energy += 0.5 * mass * s->vel[k] * s->vel[k];
	}
	return moved;
}

static struct state make(void *(*alloc)(size_t), long n)
{
	const size_t size = (size_t)(9 * n) * sizeof(double);
	const struct state s = { alloc(size), alloc(size), alloc(size), alloc(size) };
	struct pb_rng rng = { PT_SEED };
	long side = 1;

	while (side * side * side < n)
		side++;
	memset(s.acc, 0, size);
	memset(s.force, 0, size);
	for (long m = 0; m < n; m++) {
		const double at[3] = { (double)(m % side) * SPACING, (double)(m / side % side) * SPACING,
				       (double)(m / side / side) * SPACING };

		for (int k = 0; k < 3; k++) {
			const double v = pt_random(&rng) - 0.5;

			for (int atom = 0; atom < 3; atom++) {
				s.pos[9 * m + 3 * atom + k] = at[k];
				s.vel[9 * m + 3 * atom + k] = v;
			}
		}
		s.pos[9 * m + 3] += 0.2;
		s.pos[9 * m + 4] += 0.25;
		s.pos[9 * m + 6] += 0.2;
		s.pos[9 * m + 7] -= 0.25;
	}
	return s;
}

static void verify(struct pt_run *run, const struct state *got, const double *energies, long n_moved,
		   const struct water *w)
{
	const long n = run->v[0] * run->v[0] * run->v[0];
	const struct state want = make(ps_alloc, n);
	const uint64_t start = ps_now_ns();
	long moved = 0;

	for (int i = 0; i < w->n_steps; i++) {
		double energy;

		moved += step(&want, n, w, &energy);
		ps_check(run->wrong, "the kinetic energy of a step", (size_t)i, energies[i], energy, 1e-9);
	}
	run->reference_ns = ps_now_ns() - start;
	for (size_t k = 0; k < (size_t)(9 * n); k++) {
		ps_check(run->wrong, "a position", k, got->pos[k], want.pos[k], 1e-9);
		ps_check(run->wrong, "a velocity", k, got->vel[k], want.vel[k], 1e-9);
	}
	ps_check(run->wrong, "how many moved", 0, (double)n_moved, (double)moved, 0);
	if (!moved)
		ps_wrong(run->wrong, "no molecule has moved to another cell");
	free(want.pos);
	free(want.vel);
	free(want.acc);
	free(want.force);
}

static int run_water(struct pt_run *run)
{
	const long n = run->v[0] * run->v[0] * run->v[0];
	const double side = SPACING * (double)run->v[0];
	const struct water w = { side, (int)(side / CUTOFF), (int)run->v[1] };
	const size_t n_cells = (size_t)w.n_cells * (size_t)w.n_cells * (size_t)w.n_cells;
	const struct state s = make(ps_shared, n);
	int *head = ps_shared(n_cells * sizeof(*head)), *next = ps_shared((size_t)n * sizeof(*next)), error;
	double *energies = ps_shared((size_t)(w.n_steps + 1) * sizeof(*energies));
	long *n_moved = ps_shared(sizeof(*n_moved));

	memset(head, -1, n_cells * sizeof(*head));
	for (int m = (int)n - 1; m >= 0; m--) {
		const int cell = cell_of(&s.pos[9 * m], &w);

		next[m] = head[cell];
		head[cell] = m;
	}
	memset(energies, 0, (size_t)(w.n_steps + 1) * sizeof(*energies));
	*n_moved = 0;
	error = PT_CALL(run, "water", adsmPtr(s.pos), adsmPtr(s.vel), adsmPtr(s.acc), adsmPtr(s.force), adsmPtr(head),
			adsmPtr(next), adsmPtr(energies), adsmPtr(n_moved), adsmVal(w));
	run->least = run->most = (struct pt_counts){ (n_cells + run->workers) * (size_t)w.n_steps + (size_t)*n_moved,
						     5 * (uint64_t)w.n_steps + 1 };
	if (!error && run->verify)
		verify(run, &s, energies, *n_moved, &w);
	adsmFree(s.pos);
	adsmFree(s.vel);
	adsmFree(s.acc);
	adsmFree(s.force);
	adsmFree(head);
	adsmFree(next);
	adsmFree(energies);
	adsmFree(n_moved);
	return error;
}

static const struct ps_size sizes[] = {
	{ "small", { 5, 4 } }, { "medium", { 8, 4 } }, { "paper", { 78, 4 } }, { 0 }
};

const struct pt_program pt_water = {
	"water", "molecules in cells: a lock for each cell's list, and for the sums", "molecules a side, steps", sizes,
	run_water,
};
