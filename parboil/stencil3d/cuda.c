/* SPDX-License-Identifier: MIT */
/* cuda.c - stencil3d on CUDA's driver: of a time step only the source's cell is moved. */
#include "../common/cuda.h"
#include "stencil3d.h"

void stencil3d_cuda(struct pb_run *run)
{
	void *stencil = pb_cu_kernel(run, "Stencil");
	const struct stencil3d s = stencil3d_size(run);
	const size_t source = s.source * sizeof(float);
	struct pb_array u, next, v, swap;
	int n = s.n;
	FILE *out;

	u = pb_cu_alloc(run, s.volume_bytes);
	next = pb_cu_alloc(run, s.volume_bytes);
	v = pb_cu_alloc(run, s.v_bytes);

	pb_cu_zero(run, u);
	pb_cu_zero(run, next);
	stencil3d_medium(&s, v.host);
	pb_cu_send(run, v, 0, s.v_bytes);

	out = pb_open(run->output, "wb");
	for (int t = 0; t < s.n_steps; t++) {
		pb_cu_call(run, stencil, s.grid, s.block, &u.device, &v.device, &next.device, &n);
		pb_cu_fetch(run, next, source, sizeof(float));
		((float *)next.host)[s.source] += stencil3d_wavelet(t);
		pb_cu_send(run, next, source, sizeof(float));
		if ((t + 1) % s.write_every == 0)
			pb_cu_write(run, out, next);
		swap = u;
		u = next;
		next = swap;
	}
	pb_close(out, run->output);
	pb_stop(run);
	/* The last time step was written. */
	stencil3d_verify(run, u.host);

	pb_cu_free(run, u);
	pb_cu_free(run, next);
	pb_cu_free(run, v);
}
