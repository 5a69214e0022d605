/* SPDX-License-Identifier: MIT */
/* mri-q.c - generator, reference and verification of mri-q against known values. */
#include "golden.h"

#include "../../parboil/mri-q/mri-q.h"

int main(void)
{
	struct pb_run run = golden_run(&mri_q_bench, 0);
	const struct mri_reference *reference = run.data;
	double sum = 0, squares = 0;
	FILE *in = fopen(run.inputs[0], "rb");
	float *Qr, *Qi;

	CHECK(in && pb_file_size(in, run.inputs[0]) == 8 + (5 * 512 + 3 * 4096) * 4);
	CHECK(reference->n_voxels == 4096);
	for (size_t v = 0; v < reference->n_voxels; v++) {
		sum += reference->re[v];
		squares += reference->re[v] * reference->re[v] + reference->im[v] * reference->im[v];
	}
	CHECK(near(sum, 95.1730354));
	CHECK(near(squares, 230881.854));
	CHECK(near(reference->max, 158.830031));
	CHECK(near(reference->re[0], 2.55676508));

	/* What is right passes, and one wrong value or no number at all does not. */
	Qr = pb_host_alloc(reference->n_voxels * sizeof(*Qr));
	Qi = pb_host_alloc(reference->n_voxels * sizeof(*Qi));
	for (size_t v = 0; v < reference->n_voxels; v++) {
		Qr[v] = reference->re[v];
		Qi[v] = reference->im[v];
	}
	mri_verify(&run, Qr, Qi);
	CHECK(pb_verified(&run.result) && run.result.max_error < 1e-5 && run.result.n_compared == 2 * 4096);
	Qi[4095] += 1;
	mri_verify(&run, Qr, Qi);
	CHECK(run.result.n_wrong == 1 && run.result.max_error > 0.99);
	Qi[4095] = NAN;
	mri_verify(&run, Qr, Qi);
	CHECK(run.result.n_wrong == 2 && !pb_verified(&run.result));
	Qr[0] = NAN;
	mri_verify(&run, Qr, Qi);
	CHECK(run.result.n_wrong == 4 && isnan(run.result.max_error));
	free(Qr);
	free(Qi);
	golden_finish(&run);
	return 0;
}
