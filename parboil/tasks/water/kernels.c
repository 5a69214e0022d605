/* SPDX-License-Identifier: MIT */
/*
 * water - molecules of three atoms in a box that repeats: bonds are springs, oxygens attract each other within a
 * cut-off. They are in lists, one for each cell of the box; a worker has some cells. Who leaves a cell is put into
 * another one's list, which may be another worker's: each cell has a lock.
 */
#include <adsm_kernel.h>

#include "water.h"

/* Which cell a molecule is in: its oxygen. */
ADSM_FUNCTION int cell_of(const ADSM_SPACE_GLOBAL double *pos, int m, struct water w)
{
	int cell = 0;

	for (int k = 2; k >= 0; k--) {
		const double x = ADSM_READ(&pos[9 * m + k]) / w.side;
		int c = (int)((x - adsm_floor(x)) * w.n_cells);

		cell = cell * w.n_cells + (c < w.n_cells ? c : w.n_cells - 1);
	}
	return cell;
}

/* Atoms @i and @j of a molecule, from whose force on each other f[] gets both parts. */
ADSM_FUNCTION void bond(const double *x, double *f, int i, int j, double length)
{
	double d[3], r, s;

	for (int k = 0; k < 3; k++)
		d[k] = x[3 * i + k] - x[3 * j + k];
	r = adsm_sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
	s = -SPRING * (r - length) / r;
	for (int k = 0; k < 3; k++) {
		f[3 * i + k] += s * d[k];
		f[3 * j + k] -= s * d[k];
	}
}

/* What the oxygens of a cell's molecules do to one at @x. */
ADSM_FUNCTION void attract(const ADSM_SPACE_GLOBAL double *pos, const ADSM_SPACE_GLOBAL int *head,
			   const ADSM_SPACE_GLOBAL int *next, int cell, int self, const double *x, double *f,
			   struct water w)
{
	for (int m = ADSM_READ(&head[cell]); m >= 0; m = ADSM_READ(&next[m])) {
		double d[3], r2 = 0, s;

		if (m == self)
			continue;
		for (int k = 0; k < 3; k++) {
			d[k] = x[k] - ADSM_READ(&pos[9 * m + k]);
			d[k] -= w.side * adsm_floor(d[k] / w.side + 0.5);
			r2 += d[k] * d[k];
		}
		if (r2 >= CUTOFF * CUTOFF)
			continue;
		s = 1 / (r2 * r2 * r2);
		s = 24 * (2 * s * s - s) / r2;
		for (int k = 0; k < 3; k++)
			f[k] += s * d[k];
	}
}

/* The forces on a molecule of cell @cell. */
ADSM_FUNCTION void forces(const ADSM_SPACE_GLOBAL double *pos, const ADSM_SPACE_GLOBAL int *head,
			  const ADSM_SPACE_GLOBAL int *next, int cell, int m, double *f, struct water w)
{
	const int c = w.n_cells, cx = cell % c, cy = cell / c % c, cz = cell / c / c;
	double x[9];

	for (int k = 0; k < 9; k++) {
		x[k] = ADSM_READ(&pos[9 * m + k]);
		f[k] = 0;
	}
	bond(x, f, 0, 1, LENGTH_OH);
	bond(x, f, 0, 2, LENGTH_OH);
	bond(x, f, 1, 2, LENGTH_HH);
	for (int z = cz - 1; z <= cz + 1; z++)
		for (int y = cy - 1; y <= cy + 1; y++)
			for (int i = cx - 1; i <= cx + 1; i++)
				attract(pos, head, next, ((z + c) % c * c + (y + c) % c) * c + (i + c) % c, m, x, f, w);
}

/* Who has left a cell is taken out of its list, and put into another one: how many. */
ADSM_FUNCTION int move(const ADSM_SPACE_GLOBAL double *pos, ADSM_SPACE_GLOBAL int *head, ADSM_SPACE_GLOBAL int *next,
		       int cell, struct water w)
{
	int left = -1, n = 0, before = -1, m, after, to;

	ADSM_LOCK(cell);
	for (m = ADSM_READ(&head[cell]); m >= 0; m = after) {
		after = ADSM_READ(&next[m]);
		if (cell_of(pos, m, w) == cell) {
			before = m;
			continue;
		}
		if (before < 0)
			ADSM_WRITE(&head[cell], after);
		else
			ADSM_WRITE(&next[before], after);
		ADSM_WRITE(&next[m], left);
		left = m;
	}
	ADSM_UNLOCK(cell);
	for (m = left; m >= 0; m = after, n++) {
		after = ADSM_READ(&next[m]);
		to = cell_of(pos, m, w);
		ADSM_LOCK(to);
		ADSM_WRITE(&next[m], ADSM_READ(&head[to]));
		ADSM_WRITE(&head[to], m);
		ADSM_UNLOCK(to);
	}
	return n;
}

/* Where it will be, as far as can be told from what it does now. */
ADSM_FUNCTION void predict(ADSM_SPACE_GLOBAL double *pos, ADSM_SPACE_GLOBAL double *vel,
			   const ADSM_SPACE_GLOBAL double *acc, int m)
{
	for (int k = 9 * m; k < 9 * m + 9; k++) {
		const double v = ADSM_READ(&vel[k]), a = ADSM_READ(&acc[k]);

		ADSM_WRITE(&pos[k], ADSM_READ(&pos[k]) + DT * v + 0.5 * DT * DT * a);
		ADSM_WRITE(&vel[k], v + DT * a);
	}
}

/* And what it does there; returns its kinetic energy. */
ADSM_FUNCTION double correct(ADSM_SPACE_GLOBAL double *vel, ADSM_SPACE_GLOBAL double *acc,
			     const ADSM_SPACE_GLOBAL double *force, int m)
{
	double kinetic = 0;

	for (int k = 0; k < 9; k++) {
		const double mass = k < 3 ? MASS_O : MASS_H, a = ADSM_READ(&force[9 * m + k]) / mass;
		const double v = ADSM_READ(&vel[9 * m + k]) + 0.5 * DT * (a - ADSM_READ(&acc[9 * m + k]));

		ADSM_WRITE(&vel[9 * m + k], v);
		ADSM_WRITE(&acc[9 * m + k], a);
		kinetic += 0.5 * mass * v * v;
	}
	return kinetic;
}

ADSM_TASK(water, ADSM_INOUT(double, pos), ADSM_INOUT(double, vel), ADSM_INOUT(double, acc), ADSM_INOUT(double, force),
	  ADSM_INOUT(int, head), ADSM_INOUT(int, next), ADSM_INOUT(double, energies), ADSM_INOUT(long, n_moved),
	  ADSM_VAL(struct water, w))
{
	const int n = w.n_cells * w.n_cells * w.n_cells;
	const int first = (int)((long)n * ADSM_WORKER / ADSM_N_WORKERS);
	const int end = (int)((long)n * (ADSM_WORKER + 1) / ADSM_N_WORKERS);

	for (int step = 0; step < w.n_steps; step++) {
		double kinetic = 0, f[9];
		long moved = 0;

		for (int cell = first; cell < end; cell++)
			for (int m = ADSM_READ(&head[cell]); m >= 0; m = ADSM_READ(&next[m]))
				predict(pos, vel, acc, m);
		ADSM_ALL_BARRIER;
		for (int cell = first; cell < end; cell++)
			moved += move(pos, head, next, cell, w);
		ADSM_ALL_BARRIER;
		for (int cell = first; cell < end; cell++) {
			for (int m = ADSM_READ(&head[cell]); m >= 0; m = ADSM_READ(&next[m])) {
				forces(pos, head, next, cell, m, f, w);
				for (int k = 0; k < 9; k++)
					ADSM_WRITE(&force[9 * m + k], f[k]);
			}
		}
		ADSM_ALL_BARRIER;
		for (int cell = first; cell < end; cell++)
			for (int m = ADSM_READ(&head[cell]); m >= 0; m = ADSM_READ(&next[m]))
				kinetic += correct(vel, acc, force, m);
		ADSM_LOCK(n);
		ADSM_WRITE(&energies[w.n_steps], ADSM_READ(&energies[w.n_steps]) + kinetic);
		ADSM_WRITE(n_moved, ADSM_READ(n_moved) + moved);
		ADSM_UNLOCK(n);
		ADSM_ALL_BARRIER;
		if (!ADSM_WORKER) {
			ADSM_WRITE(&energies[step], ADSM_READ(&energies[w.n_steps]));
			ADSM_WRITE(&energies[w.n_steps], 0);
		}
		ADSM_ALL_BARRIER;
	}
	ADSM_ALL_BARRIER;
}
