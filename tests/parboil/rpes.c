/* SPDX-License-Identifier: MIT */
/* rpes.c - generator, lists of work, reference and verification of rpes against known values. */
#include "golden.h"

#include "../../parboil/rpes/rpes.h"

static double sum_of(const struct rpes_reference *reference, double *ret_squares)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < reference->n_quartets; i++) {
		sum += reference->integrals[i];
		squares += reference->integrals[i] * reference->integrals[i];
	}
	*ret_squares = squares;
	return sum;
}

/* What the files say is what was generated, to the last bit. */
static void check_input(const struct rpes *r)
{
	struct pb_rng rng = { 3 };
	float x = pb_rng_float(&rng), y = pb_rng_float(&rng), z = pb_rng_float(&rng);

	CHECK(r->n_atoms == 9 && r->n_primitives == 21 && r->n_shells == 21);
	CHECK(r->atoms[0].x == x && r->atoms[0].y == y && r->atoms[0].z == z);
	CHECK(r->atoms[2].x == x - 1.43f && r->atoms[2].y == y + 1.11f && r->atoms[2].z == z);
	CHECK(r->atoms[3].x == 5.0f + pb_rng_float(&rng) && r->atoms[6].y >= 5.0f);
	CHECK(r->primitives[1].exponent == 0.26f * 9000.0f && r->primitives[6].coefficient == 7.0f / 36.0f);
	CHECK(r->primitives[9].exponent == 0.26f * 9000.0f && r->primitives[14].coefficient == 7.0f / 36.0f * 1.5f);
	CHECK(r->primitives[16].exponent == 0.30f && r->primitives[20].exponent == 0.12f);
}

/* Each quartet has its blocks, one after another, and they know the quartet. */
static void check_work(const struct rpes *r)
{
	struct final_reduce *final_reduce = pb_host_alloc(r->n_quartets * sizeof(*final_reduce));
	struct block_work *work = pb_host_alloc(r->n_blocks * sizeof(*work)), *last = &work[r->n_blocks - 1];
	uint32_t next = 0;
	size_t n_wrong = 0;

	rpes_fill_reduce(r, final_reduce);
	rpes_fill_work(r, work);
	for (size_t i = 0; i < r->n_quartets; i++) {
		const struct final_reduce *f = &final_reduce[i];
		uint32_t counts = work[f->first].counts;
		uint32_t n = (counts & 15) * (counts >> 4 & 15) * (counts >> 8 & 15) * (counts >> 12);

		n_wrong += f->first != next || f->n != (n + 63) / 64;
		for (uint32_t b = 0; b < f->n; b++)
			n_wrong += work[f->first + b].first != f->first || work[f->first + b].counts != counts;
		next += f->n;
	}
	CHECK(!n_wrong && next == r->n_blocks);
	CHECK(work[0].counts == 0x8888 && !work[0].atoms && !work[0].offsets);
	CHECK(last->counts == 0x1111 && last->atoms == 0x08080808 && last->offsets == 0x14141414);
	/* The second quartet: three times the first shell, and the second one. */
	CHECK(work[64].counts == 0x8888 && !work[64].atoms && work[64].offsets == 0x08000000);
	free(final_reduce);
	free(work);
}

static void check_small(void)
{
	struct pb_run run = golden_run(&rpes_bench, 0);
	const struct rpes_reference *reference = run.data;
	size_t n = reference->n_quartets, n_small = 0;
	double squares, sum = sum_of(reference, &squares);
	struct rpes r;
	float *got;

	rpes_open(&r, &run);
	check_input(&r);
	CHECK(r.n_quartets == 10626 && r.n_blocks == 37884 && r.launch == 4096 && r.n_read == 2000);
	check_work(&r);

	CHECK(n == 10626 && reference->n_combinations == 2059272 && reference->n_screened == 1511244);
	CHECK(near(sum, 71331.2137));
	CHECK(near(squares, 15534583.3));
	CHECK(near(reference->integrals[0], 0.088370229));
	CHECK(near(reference->integrals[n - 1], 876.721384) && reference->max == reference->integrals[n - 1]);

	/* What is right passes, and one wrong value or no number at all does not. */
	got = pb_host_alloc(n * sizeof(*got));
	for (size_t i = 0; i < n; i++)
		got[i] = reference->integrals[i];
	rpes_verify(&run, got);
	CHECK(pb_verified(&run.result) && run.result.max_error < 1e-4 && run.result.n_compared == n);
	got[n - 1] += 1;
	rpes_verify(&run, got);
	CHECK(run.result.n_wrong == 1 && run.result.max_error > 0.99);
	got[n - 1] = NAN;
	rpes_verify(&run, got);
	CHECK(run.result.n_wrong == 2 && !pb_verified(&run.result));
	/* A small value has a small tolerance. */
	got[n - 1] = reference->integrals[n - 1];
	for (size_t i = 0; i < n; i++) {
		n_small += got[i] != 0 && fabsf(got[i]) < 1e-3f;
		if (fabsf(got[i]) < 1e-3f)
			got[i] = 0;
	}
	run.result = (struct pb_result){ 0 };
	rpes_verify(&run, got);
	CHECK(n_small == 2870 && run.result.n_wrong > 2600);
	free(got);
	golden_finish(&run);
}

static void check_size(size_t size, size_t n_quartets, size_t n_blocks, size_t n_read, double golden)
{
	struct pb_run run = golden_run(&rpes_bench, size);
	double squares;
	struct rpes r;

	rpes_open(&r, &run);
	CHECK(r.n_quartets == n_quartets && r.n_blocks == n_blocks && r.n_read == n_read);
	CHECK(near(sum_of(run.data, &squares), golden));
	golden_finish(&run);
}

static void check_paper(void)
{
	struct pb_run run = golden_run(&rpes_bench, 2);
	const struct rpes_reference *reference = run.data;
	struct rpes r;

	rpes_open(&r, &run);
	CHECK(r.n_atoms == 30 && r.n_shells == 70 && r.n_quartets == 1088430 && r.n_blocks == 3510150);
	CHECK(r.launch == 65535 && r.n_read == 20000 && reference->n_combinations == 187240905);
	golden_finish(&run);
}

int main(void)
{
	check_small();
	check_size(3, 210, 948, 210, 9071.01579);
	check_size(1, 148995, 495003, 20000, 282419.149);
	check_paper();
	return 0;
}
