/* SPDX-License-Identifier: MIT */
/* explicit.c - stencil3d with explicit copies: pointers for each side. Read beside adsm.c. */
#include "stencil3d.h"

void stencil3d_explicit(struct pb_run *run)
{
	adsmKernel *stencil = pb_kernel(run, "Stencil");
	const struct stencil3d s = stencil3d_size(run);
	float *next, *v;
	float *d_u, *d_next, *d_v, *d_swap;
	FILE *out;

	next = pb_host_alloc(s.volume_bytes);
	v = pb_host_alloc(s.v_bytes);
	d_u = pb_device_alloc(s.volume_bytes);
	d_next = pb_device_alloc(s.volume_bytes);
	d_v = pb_device_alloc(s.v_bytes);

	pb_check(adsmDeviceFill(d_u, 0, s.volume_bytes));
	pb_check(adsmDeviceFill(d_next, 0, s.volume_bytes));
	stencil3d_medium(&s, v);
	pb_check(adsmCopyToDevice(d_v, v, s.v_bytes));

	out = pb_open(run->output, "wb");
	for (int t = 0; t < s.n_steps; t++) {
		pb_check(adsmCall(stencil, s.grid, s.block, adsmPtr(d_u), adsmPtr(d_v), adsmPtr(d_next),
				  adsmVal(s.n)));
		pb_check(adsmSync());
		pb_check(adsmCopyToHost(&next[s.source], &d_next[s.source], sizeof(*next)));
		next[s.source] += stencil3d_wavelet(t);
		pb_check(adsmCopyToDevice(&d_next[s.source], &next[s.source], sizeof(*next)));
		if ((t + 1) % s.write_every == 0) {
			pb_check(adsmCopyToHost(next, d_next, s.volume_bytes));
			pb_write(run, out, next, s.volume_bytes);
		}
		d_swap = d_u;
		d_u = d_next;
		d_next = d_swap;
	}
	pb_close(out, run->output);
	pb_stop(run);
	/* The last time step was written. */
	stencil3d_verify(run, next);

	pb_free(d_u);
	pb_free(d_next);
	pb_free(d_v);
	pb_host_free(next);
	pb_host_free(v);
}
