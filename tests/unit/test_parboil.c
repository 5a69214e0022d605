/* SPDX-License-Identifier: MIT */
/* test_parboil.c - generator, hash, input file and reference of the benchmarks against known values. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../parboil/common/rng.h"
#include "../../parboil/mri-q/mri-q.h"

static int failures;

#define CHECK(condition) do { \
	if (!(condition)) { \
		fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
		failures++; \
	} \
} while (0)

/* As near as nine printed digits allow. */
static bool near(double value, double golden)
{
	return fabs(value - golden) <= 5e-9 * fabs(golden);
}

static void test_rng(void)
{
	struct pb_rng rng = { 1 };

	CHECK(pb_rng_next(&rng) == UINT64_C(0x910a2dec89025cc1));
	CHECK(pb_rng_next(&rng) == UINT64_C(0xbeeb8da1658eec67));
	CHECK(pb_rng_next(&rng) == UINT64_C(0xf893a2eefb32555e));
	rng.state = 1;
	CHECK(pb_rng_float(&rng) == 0x910a2dp-24f);
	CHECK(pb_fnv(PB_FNV_INIT, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
	CHECK(pb_fnv(PB_FNV_INIT, "foobar", 6) == UINT64_C(0x85944171f73967e8));
}

static void test_mri_q(void)
{
	char path[] = "/tmp/parboil-test-XXXXXX";
	struct pb_run run = { .bench = &mri_q_bench, .size = 0, .input = path };
	const struct mri_q_reference *reference;
	double sum = 0, squares = 0;
	int fd = mkstemp(path);
	float *Qr, *Qi;
	FILE *out;

	if (fd < 0 || !(out = fdopen(fd, "wb"))) {
		perror(path);
		exit(1);
	}
	mri_q_bench.generate(run.size, out);
	CHECK(ftell(out) == 8 + (5 * 512 + 3 * 4096) * 4);
	fclose(out);
	mri_q_bench.prepare(&run);
	unlink(path);
	reference = run.data;
	CHECK(reference->n_voxels == 4096);
	for (size_t v = 0; v < reference->n_voxels; v++) {
		sum += reference->Qr[v];
		squares += reference->Qr[v] * reference->Qr[v] + reference->Qi[v] * reference->Qi[v];
	}
	CHECK(near(sum, 95.1730354));
	CHECK(near(squares, 230881.854));
	CHECK(near(reference->max, 158.830031));
	CHECK(near(reference->Qr[0], 2.55676508));

	/* What is right passes, and one wrong value or no number at all does not. */
	Qr = pb_host_alloc(reference->n_voxels * sizeof(*Qr));
	Qi = pb_host_alloc(reference->n_voxels * sizeof(*Qi));
	for (size_t v = 0; v < reference->n_voxels; v++) {
		Qr[v] = reference->Qr[v];
		Qi[v] = reference->Qi[v];
	}
	mri_q_verify(&run, Qr, Qi);
	CHECK(run.result.verified && run.result.max_error < 1e-5);
	Qi[4095] += 1;
	mri_q_verify(&run, Qr, Qi);
	CHECK(!run.result.verified && run.result.max_error > 0.99);
	Qi[4095] = NAN;
	mri_q_verify(&run, Qr, Qi);
	CHECK(!run.result.verified);
	free(Qr);
	free(Qi);
	free(run.data);
}

int main(void)
{
	test_rng();
	test_mri_q();
	return failures != 0;
}
