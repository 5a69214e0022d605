/* SPDX-License-Identifier: MIT */
/* unfused.cu - sums and products with a rounding, which clang must not fuse: the PTX has no fma. */

__global__ void unfused(float *p, double *q)
{
	p[0] = __fmul_rn(p[1], p[2]) + p[3];
	p[4] = __fadd_rn(p[5] * p[6], p[7]);
	p[8] = __fsub_rn(p[9] * p[10], p[11]);
	p[12] = __fmul_rz(p[13], p[14]) - p[15];
	q[0] = __dmul_rn(q[1], q[2]) + q[3];
	q[4] = __dadd_rn(q[5] * q[6], q[7]);
	q[8] = __dsub_ru(q[9] * q[10], q[11]);
}
