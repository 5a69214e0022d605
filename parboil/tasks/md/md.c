/* SPDX-License-Identifier: MIT */
/* md.c - particles in a box without walls, against the same one after the other. */
#include "../program.h"

#include <stdlib.h>
#include <string.h>

#define DT 1e-4
#define HALF_PI 1.5707963267948966

struct state { double *pos, *vel, *acc, *force; };

static void forces(struct state s, long n, double *ret_energy)
{
	*ret_energy = 0;
	for (long i = 0; i < n; i++) {
		double f[3] = { 0, 0, 0 };

		for (long j = 0; j < n; j++) {
			double d[3], r, v;

			if (i == j)
				continue;
			for (int k = 0; k < 3; k++)
				d[k] = s.pos[3 * i + k] - s.pos[3 * j + k];
			r = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
			v = sin(fmin(r, HALF_PI));
			*ret_energy += 0.5 * v * v;
			v = sin(2 * fmin(r, HALF_PI)) / r;
			for (int k = 0; k < 3; k++)
				f[k] -= d[k] * v;
		}
		for (int k = 0; k < 3; k++) {
			*ret_energy += 0.5 * s.vel[3 * i + k] * s.vel[3 * i + k];
			s.force[3 * i + k] = f[k];
		}
	}
}

static void verify(struct pt_run *run, struct state got, const double *first, const double energies[2])
{
	const long n = run->v[0], n_steps = run->v[1];
	const size_t size = (size_t)(3 * n) * sizeof(double);
	struct state want = { ps_alloc(size), ps_alloc(size), ps_alloc(size), ps_alloc(size) };
	const uint64_t start = ps_now_ns();
	double energy = 0;

	memcpy(want.pos, first, size);
	for (long step = 0; step < n_steps; step++) {
		forces(want, n, &energy);
		if (!step)
			ps_check(run->wrong, "the first energy", 0, energies[0], energy, 1e-9);
		for (long k = 0; k < 3 * n; k++) {
			want.pos[k] += want.vel[k] * DT + 0.5 * DT * DT * want.acc[k];
			want.vel[k] += 0.5 * DT * (want.force[k] + want.acc[k]);
			want.acc[k] = want.force[k];
		}
	}
	run->reference_ns = ps_now_ns() - start;
	for (size_t k = 0; k < (size_t)(3 * n); k++) {
		ps_check(run->wrong, "a position", k, got.pos[k], want.pos[k], 1e-12);
		ps_check(run->wrong, "a velocity", k, got.vel[k], want.vel[k], 1e-12);
	}
	if (n_steps > 1)
		ps_check(run->wrong, "the last energy", 0, energies[1], energy, 1e-9);
	free(want.pos);
	free(want.vel);
	free(want.acc);
	free(want.force);
}

static int run_md(struct pt_run *run)
{
	const int n = (int)run->v[0], n_steps = (int)run->v[1];
	const size_t size = (size_t)(3 * n) * sizeof(double);
	struct state s = { ps_shared(size), ps_shared(size), ps_shared(size), ps_shared(size) };
	double *energies = ps_shared(2 * run->workers * sizeof(*energies)), *first = ps_alloc(size), sums[2] = { 0, 0 };
	struct pb_rng rng = { PT_SEED };
	int error;

	memset(s.vel, 0, size);
	memset(s.acc, 0, size);
	memset(s.force, 0, size);
	memset(energies, 0, 2 * run->workers * sizeof(*energies));
	for (int k = 0; k < 3 * n; k++)
		s.pos[k] = first[k] = 10 * pt_random(&rng);
	error = PT_CALL(run, "md", adsmPtr(s.pos), adsmPtr(s.vel), adsmPtr(s.acc), adsmPtr(s.force), adsmPtr(energies),
			adsmVal(n), adsmVal(n_steps), adsmVal((double)DT));
	for (unsigned i = 0; i < 2 * run->workers && !error; i++)
		sums[i % 2] += energies[i];
	run->least = run->most = (struct pt_counts){ 0, 2 * (uint64_t)n_steps + 1 };
	if (!error && run->verify)
		verify(run, s, first, sums);
	adsmFree(s.pos);
	adsmFree(s.vel);
	adsmFree(s.acc);
	adsmFree(s.force);
	adsmFree(energies);
	free(first);
	return error;
}

static const struct ps_size sizes[] = {
	{ "small", { 256, 5 } }, { "medium", { 1024, 10 } }, { "paper", { 65536, 10 } }, { 0 }
};

const struct pt_program pt_md = {
	"md", "particles that attract each other, all pairs: two barriers a step", "particles, steps", sizes, run_md,
};
