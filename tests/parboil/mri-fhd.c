/* SPDX-License-Identifier: MIT */
/* mri-fhd.c - generator, reference and verification of mri-fhd against known values. */
#include "golden.h"

#include "../../parboil/mri-fhd/mri-fhd.h"

int main(void)
{
	struct pb_run run = golden_run(&mri_fhd_bench, 0);
	const struct mri_reference *reference = run.data;
	double sum = 0, squares = 0;
	FILE *in = fopen(run.inputs[0], "rb");
	float *outR, *outI;

	CHECK(in && pb_file_size(in, run.inputs[0]) == 8 + (7 * 512 + 3 * 4096) * 4);
	CHECK(reference->n_voxels == 4096);
	for (size_t v = 0; v < reference->n_voxels; v++) {
		sum += reference->re[v] + reference->im[v];
		squares += reference->re[v] * reference->re[v] + reference->im[v] * reference->im[v];
	}
	CHECK(near(sum, 57.2082971));
	CHECK(near(squares, 110369.623));
	CHECK(near(reference->max, 15.1029172));
	CHECK(near(reference->re[0], -0.0640560596));
	CHECK(near(reference->im[0], 0.225772379));

	/* What is right passes, and one wrong value or no number at all does not. */
	outR = pb_host_alloc(reference->n_voxels * sizeof(*outR));
	outI = pb_host_alloc(reference->n_voxels * sizeof(*outI));
	for (size_t v = 0; v < reference->n_voxels; v++) {
		outR[v] = reference->re[v];
		outI[v] = reference->im[v];
	}
	mri_verify(&run, outR, outI);
	CHECK(pb_verified(&run.result) && run.result.max_error < 1e-6 && run.result.n_compared == 2 * 4096);
	outR[4095] += 0.1f;
	mri_verify(&run, outR, outI);
	CHECK(run.result.n_wrong == 1 && run.result.max_error > 0.099);
	outR[4095] = NAN;
	mri_verify(&run, outR, outI);
	CHECK(run.result.n_wrong == 2 && !pb_verified(&run.result));
	free(outR);
	free(outI);
	if (in)
		fclose(in);
	golden_finish(&run);
	return 0;
}
