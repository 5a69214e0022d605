/* SPDX-License-Identifier: MIT */
/* adsm.c - stencil3d with shared memory: one pointer for each volume. Read beside explicit.c. */
#include "stencil3d.h"

#include <string.h>

void stencil3d_adsm(struct pb_run *run)
{
	adsmKernel *stencil = pb_kernel(run, "Stencil");
	const struct stencil3d s = stencil3d_size(run);
	float *u, *next, *v, *swap;
	FILE *out;

	u = pb_shared_alloc(s.volume_bytes);
	next = pb_shared_alloc(s.volume_bytes);
	v = pb_shared_alloc(s.v_bytes);

	memset(u, 0, s.volume_bytes);
	memset(next, 0, s.volume_bytes);
	stencil3d_medium(&s, v);

	out = pb_open(run->output, "wb");
	for (int t = 0; t < s.n_steps; t++) {
		pb_check(adsmCall(stencil, s.grid, s.block, adsmPtr(u), adsmPtr(v), adsmPtr(next),
				  adsmVal(s.n)));
		pb_check(adsmSync());
		next[s.source] += stencil3d_wavelet(t);
		if ((t + 1) % s.write_every == 0)
			pb_write(run, out, next, s.volume_bytes);
		swap = u;
		u = next;
		next = swap;
	}
	pb_close(out, run->output);
	pb_stop(run);
	stencil3d_verify(run, u);

	pb_free(u);
	pb_free(next);
	pb_free(v);
}
