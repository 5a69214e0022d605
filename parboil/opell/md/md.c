/* SPDX-License-Identifier: MIT */
/* md.c - a toy of molecular dynamics: particles in a box, all pairs. */
#include "../program.h"

#include <stdlib.h>
#include <string.h>

#define THREADS 16
#define SIDE 4
#define DT 1e-3

struct state {
	double *places, *speeds, *force, *last, potential;
};

/* Each pair once: what one does to the other comes back. */
static void find_forces(struct state *s, long n)
{
	memset(s->force, 0, 3 * (size_t)n * sizeof(*s->force));
	s->potential = 0;
	for (long i = 0; i < n; i++)
		for (long k = 0; k < i; k++) {
			const double *a = s->places + 3 * i, *b = s->places + 3 * k;
			const double d = sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
					      (a[2] - b[2]) * (a[2] - b[2]));
			const double short_d = fmin(d, M_PI / 2), pull = 2 * sin(short_d) * cos(short_d);

			s->potential += sin(short_d) * sin(short_d);
			for (int c = 0; c < 3; c++) {
				const double f = pull * (a[c] - b[c]) / d;

				s->force[3 * i + c] -= f;
				s->force[3 * k + c] += f;
			}
		}
}

static double energy(const struct state *s, long n)
{
	double sum = s->potential;

	for (long i = 0; i < 3 * n; i++) {
		/* Of which the half step with the last force is still to come. */
		const double v = s->speeds[i] + DT / 2 * (s->force[i] + s->last[i]);

		sum += v * v / 2;
	}
	return sum;
}

static void reference(struct po_run *run, struct state *s, long n)
{
	double first = 0;

	for (long step = 0; step <= run->v[1]; step++) {
		find_forces(s, n);
		if (!step)
			memcpy(s->last, s->force, 3 * (size_t)n * sizeof(*s->force));
		if (step == 1)
			first = energy(s, n);
		if (step == run->v[1])
			break;
		for (long i = 0; i < 3 * n; i++) {
			s->speeds[i] += step ? DT / 2 * (s->force[i] + s->last[i]) : 0;
			s->places[i] += DT * s->speeds[i] + DT * DT / 2 * s->force[i];
			s->last[i] = s->force[i];
		}
	}
	ps_check(run->wrong, "the energy at the end", 0, energy(s, n), first, 1e-5);
}

static void verify(struct po_run *run, const float *start_places, const float *places, const float *speeds,
		   const float *force, const float *energies)
{
	const long n = run->v[0];
	const size_t size = 3 * (size_t)n * sizeof(double);
	struct state s = { ps_alloc(size), ps_alloc(size), ps_alloc(size), ps_alloc(size), 0 };
	const uint64_t start = ps_now_ns();
	double potential = 0;

	for (long i = 0; i < 3 * n; i++)
		s.places[i] = (double)start_places[i];
	reference(run, &s, n);
	run->reference_ns = ps_now_ns() - start;
	for (long i = 0; i < 3 * n; i++) {
		ps_check(run->wrong, "a place", (size_t)i, (double)places[i], s.places[i], 1e-5);
		ps_check(run->wrong, "a speed", (size_t)i, (double)speeds[i], s.speeds[i], 1e-4);
		ps_check(run->wrong, "a force", (size_t)i, (double)force[i], s.force[i], 1e-3);
	}
	for (long i = 0; i < n; i++)
		potential += (double)energies[i];
	ps_check(run->wrong, "the potential", 0, potential, s.potential, 1e-5);
	free(s.places);
	free(s.speeds);
	free(s.force);
	free(s.last);
}

static void run_md(struct po_run *run)
{
	struct pb_rng rng = { PO_SEED };
	const long n = run->v[0], n_blocks = (n + THREADS - 1) / THREADS;
	const size_t size = 3 * (size_t)n * sizeof(float);
	float *places = ps_shared(size), *speeds = ps_shared(size), *force = ps_shared(size), *last = ps_shared(size);
	float *energies = ps_shared((size_t)n * sizeof(*energies)), *start = ps_alloc(size);

	for (long i = 0; i < 3 * n; i++)
		start[i] = SIDE * pb_rng_float(&rng);
	memcpy(places, start, size);
	memset(speeds, 0, size);
	for (long step = 0; step <= run->v[1]; step++) {
		PO_CALL(run, "forces", n_blocks, THREADS, adsmPtr(places), adsmPtr(force), adsmPtr(energies),
			adsmVal((int)n));
		if (step == run->v[1])
			break;
		/* Nothing moves at first, nor has anything pulled before. */
		if (!step) {
			po_sync(run);
			for (long i = 0; i < 3 * n; i++)
				last[i] = -force[i];
		}
		PO_CALL(run, "move", 3 * n_blocks, THREADS, adsmPtr(places), adsmPtr(speeds), adsmPtr(force),
			adsmPtr(last), adsmVal((float)DT), adsmVal((int)n));
	}
	po_sync(run);
	if (run->verify)
		verify(run, start, places, speeds, force, energies);
	po_result(run, places, size);
	po_result(run, speeds, size);
	adsmFree(places);
	adsmFree(speeds);
	adsmFree(force);
	adsmFree(last);
	adsmFree(energies);
	free(start);
}

static const struct ps_size sizes[] = { { "small", { 96, 5 } }, { "medium", { 1024, 10 } }, { 0 } };

const struct po_program po_md = {
	"md", "particles that pull each other, all pairs, velocity Verlet", "particles, steps", sizes, false,
	run_md, NULL,
};
