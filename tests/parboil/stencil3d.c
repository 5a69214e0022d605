/* SPDX-License-Identifier: MIT */
/* stencil3d.c - reference and verification of stencil3d against known values. */
#include "golden.h"

#include <string.h>

#include "../../parboil/stencil3d/stencil3d.h"

/* NAN: not known. */
static const struct {
	const char *size;
	size_t n;
	double squares, centre, beside, max;
} golden[] = {
	{ "small", 32, 5.03084462, -0.013074403, 0.0148661056, 0.0476256622 },
	{ "small64", 64, 5.04393687, -0.0130743952, 0.0148661861, 0.0476237628 },
	{ "short", 32, 5.14351773, -0.116725787, NAN, NAN },
};

static size_t find_size(const char *name)
{
	for (size_t i = 0; stencil3d_bench.sizes[i]; i++)
		if (strcmp(stencil3d_bench.sizes[i], name) == 0)
			return i;
	CHECK(!"a size of that name");
	exit(1);
}

/* What is right passes, and one wrong value or no number at all does not, not even in the halo. */
static void check_verify(struct pb_run *run)
{
	const struct stencil3d_reference *reference = run->data;
	float *u = pb_host_alloc(reference->n_cells * sizeof(*u));

	for (size_t i = 0; i < reference->n_cells; i++)
		u[i] = reference->u[i];
	stencil3d_verify(run, u);
	CHECK(pb_verified(&run->result) && run->result.n_compared == reference->n_cells);
	CHECK(run->result.max_error < 1e-8);
	u[reference->s.source + 1] += 1.01e-5 * reference->max;
	stencil3d_verify(run, u);
	CHECK(run->result.n_wrong == 1 && !pb_verified(&run->result));
	u[reference->n_cells - 1] = NAN;
	stencil3d_verify(run, u);
	CHECK(run->result.n_wrong == 3);
	free(u);
}

int main(void)
{
	for (size_t g = 0; g < sizeof(golden) / sizeof(golden[0]); g++) {
		struct pb_run run = golden_run(&stencil3d_bench, find_size(golden[g].size));
		const struct stencil3d_reference *reference = run.data;
		size_t row = golden[g].n + 2 * STENCIL3D_HALO, source = reference->s.source;
		double squares = 0;

		CHECK(reference->n_cells == row * row * row);
		CHECK(reference->s.volume_bytes == reference->n_cells * 4);
		CHECK(source == (4 + golden[g].n / 2) * (row * row + row + 1));
		for (size_t i = 0; i < reference->n_cells; i++)
			squares += reference->u[i] * reference->u[i];
		CHECK(near(squares, golden[g].squares));
		CHECK(near(reference->u[source], golden[g].centre));
		CHECK(isnan(golden[g].beside) || near(reference->u[source + 3], golden[g].beside));
		CHECK(isnan(golden[g].max) || near(reference->max, golden[g].max));
		check_verify(&run);
		golden_finish(&run);
	}
	return 0;
}
