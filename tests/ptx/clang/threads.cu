// SPDX-License-Identifier: MIT
// threads.cu - what threads do together: atomics, shuffles, votes, barriers, fences, inline assembly.
#include "device.h"

__global__ void together(int *out, unsigned *u, float *f, double *d, long long *l)
{
	__shared__ int s;
	int x = out[index];

	__nvvm_atom_add_gen_i(out, x);
	__nvvm_atom_max_gen_i(out + 1, x);
	__nvvm_atom_cas_gen_i(out + 2, x, 5);
	__nvvm_atom_xchg_gen_i(&s, x);
	__nvvm_atom_inc_gen_ui(u, 7);
	__nvvm_atom_add_gen_f(f, 1.5f);
	__nvvm_atom_add_gen_d(d, 1.5);
	__nvvm_atom_xor_gen_ll(l, 77);
	x += __nvvm_shfl_sync_down_i32(0xffffffff, x, 1, 31);
	x += __nvvm_shfl_sync_bfly_i32(0xffffffff, x, 2, 31);
	x += __nvvm_vote_ballot_sync(0xffffffff, x > 3);
	x += __nvvm_vote_any_sync(0xffffffff, x > 4);
	x += __nvvm_bar0_popc(x > 5);
	__nvvm_bar_warp_sync(0xffffffff);
	__nvvm_membar_gl();
	__nvvm_membar_cta();
	x += __nvvm_read_ptx_sreg_laneid() + __nvvm_read_ptx_sreg_lanemask_lt() + (int)__nvvm_read_ptx_sreg_clock64();
	asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.s32 p, %1, 0;\n\t@p bra DONE;\n\tadd.s32 %0, %0, 1;\nDONE:\n\t}"
		     : "+r"(x) : "r"(x + 1));
	asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; @p bra DONE; add.s32 %0, %0, 1; DONE: }" : "+r"(x) : "r"(x));
	asm volatile("ld.global.nc.v2.u32 {%0, %1}, [%2 + 8];" : "=r"(x), "=r"(out[3]) : "l"(out));
	asm volatile("prefetch.global.L2 [%0];" :: "l"(f));
	out[index] = x + s;
}
