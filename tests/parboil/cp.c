/* SPDX-License-Identifier: MIT */
/* cp.c - generator, reference and verification of cp against known values. */
#include "golden.h"

#include "../../parboil/cp/cp.h"

/* The sum as it is defined, at one point. */
static double direct(const struct cp *cp, size_t i, size_t j)
{
	double sum = 0;

	for (size_t a = 0; a < cp->n_atoms; a++) {
		double dx = (double)CP_SPACING * i - cp->atoms[a].x, dy = (double)CP_SPACING * j - cp->atoms[a].y;
		double dz = cp->atoms[a].z;

		sum += cp->atoms[a].q / sqrt(dx * dx + dy * dy + dz * dz);
	}
	return sum;
}

int main(void)
{
	struct pb_run run = golden_run(&cp_bench, 0);
	const struct cp_reference *reference = run.data;
	const size_t n = reference->n;
	double sum = 0, squares = 0, checksum, worst = 0;
	struct cp cp;
	float *energy;

	CHECK(n == 128);
	for (size_t v = 0; v < n * n; v++) {
		sum += reference->energy[v];
		squares += reference->energy[v] * reference->energy[v];
	}
	CHECK(near(sum, -248950.165));
	CHECK(near(squares, 4259393.69));
	CHECK(near(reference->energy[0], -11.1718754));
	CHECK(near(reference->energy[64 * n + 64], -21.1022646));

	cp_open(&cp, &run);
	CHECK(cp.n == n && cp.n_atoms == 4000 && cp.chunk == 400);
	for (size_t v = 0; v < n * n; v += 41)
		worst = fmax(worst, fabs(reference->energy[v] - direct(&cp, v % n, v / n)));
	CHECK(worst < 1e-8);
	cp_pack(&cp, 3600, 400);
	for (size_t a = 0; a < 400; a++) {
		const struct cp_atom *atom = &cp.atoms[3600 + a];

		CHECK(cp.table[a].x == atom->x && cp.table[a].y == atom->y && cp.table[a].q == atom->q);
		CHECK(cp.table[a].dz2 == atom->z * atom->z);
	}
	cp_close(&cp);

	/* What is right passes, and one wrong value or no number at all does not. */
	energy = pb_host_alloc(n * n * sizeof(*energy));
	for (size_t v = 0; v < n * n; v++)
		energy[v] = reference->energy[v];
	checksum = cp_checksum(energy, n);
	CHECK(fabs(checksum - reference->checksum) < 1e-2);
	cp_verify(&run, energy, checksum);
	CHECK(pb_verified(&run.result) && run.result.max_error < 1e-5 && run.result.n_compared == n * n + 1);
	energy[n * n - 1] += 0.01f;
	cp_verify(&run, energy, checksum);
	CHECK(run.result.n_wrong == 1 && run.result.max_error > 0.0099);
	energy[n * n - 1] = NAN;
	cp_verify(&run, energy, checksum);
	CHECK(run.result.n_wrong == 2 && !pb_verified(&run.result));
	energy[n * n - 1] = reference->energy[n * n - 1];
	cp_verify(&run, energy, 1.01 * checksum);
	CHECK(run.result.n_wrong == 3);
	cp_verify(&run, energy, NAN);
	CHECK(run.result.n_wrong == 4);
	/* Spikes count as 20. */
	energy[0] += 1000;
	CHECK(fabs(cp_checksum(energy, n) - (checksum - reference->energy[0] + 20)) < 1e-2);
	free(energy);
	golden_finish(&run);
	return 0;
}
