/* SPDX-License-Identifier: MIT */
/* sad.c - generator, reference and verification of sad against known values. */
#include "golden.h"

#include "../../parboil/sad/sad.h"

static void check_values(size_t size, int width, int height, size_t macroblock, uint64_t sum, uint64_t hash,
			 int best)
{
	const uint64_t bytes = 4 + 2 * (uint64_t)width * height;
	struct pb_run run = golden_run(&sad_bench, size);
	const struct sad_reference *reference = run.data;
	size_t n = reference->n_macroblocks * SAD_VECTORS, last = n * SAD_VECTOR - 8;
	const uint16_t *vector = reference->sads + macroblock * SAD_POSITIONS;
	uint16_t *sads = pb_host_alloc(n * SAD_VECTOR * sizeof(*sads)), kept;
	uint64_t total = 0;
	int found = 0;

	for (int i = 0; i < 2; i++) {
		FILE *in = fopen(run.inputs[i], "rb");

		CHECK(in && pb_file_size(in, run.inputs[i]) == bytes);
		if (in)
			fclose(in);
	}
	CHECK(reference->n_macroblocks == (size_t)width / 16 * (height / 16));
	for (size_t i = 0; i < n * SAD_POSITIONS; i++)
		total += reference->sads[i];
	CHECK(total == sum);
	CHECK(pb_fnv(PB_FNV_INIT, reference->sads, n * SAD_POSITIONS * sizeof(uint16_t)) == hash);
	for (int p = 0; p < SAD_POSITIONS; p++)
		if (vector[p] < vector[found])
			found = p;
	CHECK(found % SAD_SIDE - SAD_RANGE == 3 && found / SAD_SIDE - SAD_RANGE == -2);
	CHECK(vector[found] == best);

	/* What is right passes, whatever the padding holds, and one wrong value does not. */
	for (size_t v = 0; v < n; v++)
		for (int p = 0; p < SAD_VECTOR; p++)
			sads[v * SAD_VECTOR + p] =
				p < SAD_POSITIONS ? reference->sads[v * SAD_POSITIONS + p] : 0xFFFF;
	sad_verify(&run, sads);
	CHECK(pb_verified(&run.result) && run.result.max_error == 0);
	CHECK(run.result.n_compared == n * SAD_POSITIONS);
	kept = sads[last];
	sads[last] ^= 1;
	sad_verify(&run, sads);
	CHECK(run.result.n_wrong == 1 && run.result.max_error == 1 && !pb_verified(&run.result));
	sads[last] = kept;
	sads[0] ^= 0x8000;
	sad_verify(&run, sads);
	CHECK(run.result.n_wrong == 2 && run.result.max_error == 0x8000);
	free(sads);
	golden_finish(&run);
}

int main(void)
{
	check_values(0, 176, 144, 49, 16475677337, 0x8a5b4ae046d2b101, 396);
	check_values(3, 64, 64, 8, 2661849918, 0x605b3f171bad7e61, 382);
	return 0;
}
