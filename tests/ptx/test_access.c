/* SPDX-License-Identifier: MIT */
/*
 * test_access.c - what kernels do with their parameters. Each case is a kernel and its expected analysis. The
 * parameters are p, q, r (pointers), n (32 bits), l (64 bits) and s (a structure of 32 bytes):
 *	p:rwae		slot p is read, written, used by atomic operations, escapes; s+8: a slot of a structure
 *	others:rw	memory that is not named; and the flags
 *	unnamed		the verdict; after it the access of the pointers: p=IN
 * test_access FILE... prints the same for the kernels of files, with the lines of the reasons.
 */
#include "../check.h"
#include "ptx/access/access.h"

#include <stdlib.h>

#define HEAD ".version 7.5\n.target sm_80\n.address_size 64\n" \
	".global .align 8 .u64 symbol[4]; .const .u32 constant[4];\n" \
	".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n" \
	".extern .func (.param .b64 r) malloc(.param .b64 a); .extern .func free(.param .b64 a);\n" \
	".extern .func (.param .b64 r) unknown(.param .b64 a);\n" \
	".extern .func __nv_sincosf(.param .b32 x, .param .b64 a, .param .b64 b);\n" \
	".extern .func (.param .b64 r) __nv_sin(.param .b64 x);\n" \
	".extern .func (.param .b64 r) __nv_llabs(.param .b64 x);\n" \
	".func __adsm_grid_sync() { .reg .b32 %r; atom.global.add.u32 %r, [symbol], 1; ret; }\n" \
	".func (.param .b64 r) same(.param .b64 a) {.reg .b64 %rd<2>; ld.param.u64 %rd1, [a];" \
	" st.param.b64 [r], %rd1; ret; }\n" \
	".func set(.param .b64 a, .param .b64 v) {.reg .b64 %rd<3>; ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [v];" \
	" st.u64 [%rd1], %rd2; ret; }\n" \
	".func get(.param .b64 a, .param .b64 n) {.reg .b64 %rd<4>; ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [n];" \
	" add.u64 %rd3, %rd1, %rd2; ld.u64 %rd3, [%rd3]; { .param .b64 x; .param .b64 y; st.param.b64 [x], %rd1;" \
	" st.param.b64 [y], %rd3; call get, (x, y); } ret; }\n" \
	".func walk(.reg .b64 %in) { .local .b64 x; .reg .b32 %r; L: ld.u32 %r, [%in]; mov.u64 %in, x; bra L; }\n" \
	".global .u64 table[1] = {set};\n" \
	".func (.reg .b64 %out) old(.reg .b64 %in) { add.u64 %out, %in, 8; ret; }\n" \
	".entry k(.param .u64 p, .param .u64 q, .param .u64 r, .param .u32 n, .param .u64 l, " \
	".param .align 8 .b8 s[32]) {\n" \
	".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<30>; .reg .b64 %rd<30>; .reg .f32 %f<9>; " \
	".reg .f64 %fd<9>;\n" \
	".local .align 8 .b8 depot[64]; .shared .align 8 .b8 tile[64];\n" \
	"ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; ld.param.u64 %rd3, [r]; ld.param.u32 %r1, [n];" \
	" ld.param.u64 %rd4, [l]; mov.u32 %r2, %tid.x; mul.wide.s32 %rd5, %r2, 4;\n"

static const struct {
	const char *body, *want;
} cases[] = {
	/* Plain accesses. */
	{ "ret;", "named" },
	{ "ld.global.f32 %f1, [%rd1];", "p:r named p=IN" },
	{ "st.global.f32 [%rd1+4], %f1;", "p:w named p=INOUT" },
	{ "add.s64 %rd6, %rd1, %rd5; ld.global.f32 %f1, [%rd6]; add.s64 %rd7, %rd2, %rd5; st.global.f32 [%rd7], %f1;",
	  "p:r q:w named p=IN q=INOUT" },
	{ "add.s64 %rd6, %rd1, %rd5; ld.f32 %f1, [%rd6]; add.f32 %f1, %f1, %f1; st.f32 [%rd6], %f1;",
	  "p:rw named p=INOUT" },
	{ "cvta.to.global.u64 %rd6, %rd1; mad.wide.s32 %rd7, %r1, 4, %rd6; ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, "
	  "[%rd7];",
	  "p:r named p=IN" },
	{ "@%p1 st.global.u8 [%rd1], %rs1;", "p:w named p=INOUT" },
	{ "st.global.v2.u64 [%rd1], {%rd5, %rd5};", "p:w named p=INOUT" },
	{ "prefetch.global.L2 [%rd1];", "named" },
	{ "cp.async.ca.shared.global [tile], [%rd1], 16;", "p:r named p=IN" },
	/* Moves. */
	{ "selp.b64 %rd6, %rd1, %rd2, %p1; st.global.u32 [%rd6], %r1;", "p:w q:w named p=INOUT q=INOUT" },
	{ "mov.u64 %rd6, %rd1; @%p1 mov.u64 %rd6, %rd2; ld.global.u32 %r3, [%rd6];", "p:r q:r named p=IN q=IN" },
	{ "L: ld.global.u32 %r3, [%rd1]; add.s64 %rd1, %rd1, 4; @%p1 bra L;", "p:r named p=IN" },
	{ "mov.u64 %rd6, %rd1; mov.u64 %rd7, %rd2; L: st.global.u32 [%rd6], %r1; mov.u64 %rd8, %rd6; mov.u64 %rd6, "
	  "%rd7;"
	  " mov.u64 %rd7, %rd8; @%p1 bra L;", "p:w q:w named p=INOUT q=INOUT" },
	{ "and.b64 %rd6, %rd1, -16; st.global.u32 [%rd6], %r1;", "p:w named p=INOUT" },
	{ "sub.s64 %rd6, %rd1, %rd2; add.s64 %rd6, %rd3, %rd6; ld.global.u8 %rs1, [%rd6];",
	  "p:r q:r r:r named p=IN q=IN r=IN" },
	{ "xor.b64 %rd6, %rd1, %rd2; xor.b64 %rd6, %rd6, %rd1; st.global.u32 [%rd6], %r1;",
	  "p:w q:w named p=INOUT q=INOUT" },
	{ "max.u64 %rd6, %rd1, %rd2; ld.global.u32 %r3, [%rd6];", "p:r q:r named p=IN q=IN" },
	{ "setp.eq.u64 %p1, %rd1, 0; @%p1 bra E; ld.global.u32 %r3, [%rd2]; E: ret;", "q:r named q=IN" },
	{ "setp.lt.u64 %p1, %rd1, %rd2; selp.b32 %r3, 1, 0, %p1; st.global.u32 [%rd3], %r3;", "r:w named r=INOUT" },
	/* Numbers. */
	{ "cvt.s64.s32 %rd6, %r1; shl.b64 %rd6, %rd6, 2; add.s64 %rd6, %rd1, %rd6; ld.global.u32 %r3, [%rd6];",
	  "p:r named p=IN" },
	{ "shl.b64 %rd6, %rd4, 3; add.s64 %rd6, %rd1, %rd6; ld.global.u32 %r3, [%rd6];", "p:r named p=IN" },
	{ "mad.lo.s64 %rd6, %rd4, 12, %rd1; st.global.u32 [%rd6], %r1;", "p:w named p=INOUT" },
	{ "add.s64 %rd6, %rd1, %rd4; ld.global.u8 %rs1, [%rd6];", "p:r l:r named p=IN l=IN" },
	{ "st.global.u64 [%rd1], %rd4;", "p:w l:e named p=INOUT" },
	{ "add.f32 %f1, %f2, %f3; cvt.rzi.s64.f32 %rd6, %f1; add.s64 %rd6, %rd1, %rd6; ld.global.u8 %rs1, [%rd6];",
	  "p:r named p=IN" },
	{ "ld.global.u32 %r3, [%rd1]; mul.wide.s32 %rd6, %r3, 4; add.s64 %rd6, %rd2, %rd6; st.global.u32 [%rd6], %r1;",
	  "p:r q:w named p=IN q=INOUT" },
	{ "ld.global.u64 %rd6, [%rd1]; shl.b64 %rd7, %rd6, 3; add.s64 %rd8, %rd2, %rd7; ld.global.u32 %r3, [%rd8];",
	  "p:r q:r named p=IN q=IN" },
	{ "ld.global.u64 %rd6, [%rd1]; shl.b64 %rd7, %rd6, 32; shr.s64 %rd8, %rd7, 30; add.s64 %rd9, %rd2, %rd8;"
	  " st.global.u32 [%rd9], %r1;", "p:r q:w named p=IN q=INOUT" },
	{ "ld.global.u64 %rd6, [%rd1]; and.b64 %rd7, %rd6, 4294967295; add.s64 %rd8, %rd2, %rd7; st.global.u8 "
	  "[%rd8], %rs1;",
	  "p:r q:w named p=IN q=INOUT" },
	/* Pieces of addresses. */
	{ "mov.b64 {%r3, %r4}, %rd1; mov.b64 %rd6, {%r3, %r4}; st.global.u32 [%rd6], %r1;", "p:w named p=INOUT" },
	{ "mov.b64 {%r3, %r4}, %rd1; shfl.sync.idx.b32 %r5, %r3, 0, 31, -1; shfl.sync.idx.b32 %r6, %r4, 0, 31, -1;"
	  " mov.b64 %rd6, {%r5, %r6}; ld.global.u32 %r7, [%rd6];", "p:r named p=IN" },
	{ "cvt.u32.u64 %r3, %rd1; shr.u64 %rd6, %rd1, 32; cvt.u64.u32 %rd7, %r3; shl.b64 %rd8, %rd6, 32;"
	  " or.b64 %rd9, %rd8, %rd7; st.global.u32 [%rd9], %r1;", "p:w named p=INOUT" },
	{ "cvt.u32.u64 %r3, %rd1; shr.u64 %rd6, %rd1, 32; cvt.u64.u32 %rd7, %r3; shl.b64 %rd8, %rd6, 32;"
	  " add.s64 %rd9, %rd8, %rd7; st.global.u32 [%rd9], %r1;", "p:w named p=INOUT" },
	{ "ld.global.u32 %r3, [%rd1]; ld.global.u32 %r4, [%rd1+4]; mov.b64 %rd6, {%r3, %r4}; st.global.u32 [%rd6], "
	  "%r1;",
	  "p:r others:w unnamed p=INOUT" },
	{ "ld.param.u32 %r3, [p]; ld.param.u32 %r4, [p+4]; mov.b64 %rd6, {%r3, %r4}; st.global.u32 [%rd6], %r1;",
	  "p:w named p=INOUT" },
	{ "shl.b64 %rd6, %rd1, 1; shr.u64 %rd6, %rd6, 1; st.global.u32 [%rd6], %r1;", "p:w named p=INOUT" },
	{ "cvt.u64.u32 %rd6, %r1; st.global.u32 [%rd6], %r1;", "others:w unnamed" },
	{ "mul.lo.s64 %rd6, %rd1, 3; st.global.u32 [%rd6], %r1;", "p:w others:w unnamed p=INOUT" },
	{ "st.global.u32 [64], %r1;", "others:w unnamed" },
	{ "mov.u64 %rd6, 0; ld.u32 %r3, [%rd6];", "others:r unnamed" },
	/* Pointers in memory. */
	{ "ld.global.u64 %rd6, [%rd1]; ld.global.u32 %r3, [%rd6]; st.global.u32 [%rd2], %r3;",
	  "p:r q:w others:r unnamed p=IN q=INOUT" },
	{ "ld.global.u64 %rd6, [%rd1]; st.global.u32 [%rd6], %r1; ld.global.u32 %r3, [%rd2];",
	  "p:r q:r others:w unnamed p=INOUT q=INOUT" },
	{ "L: ld.global.u64 %rd1, [%rd1+8]; @%p1 bra L;", "p:r others:r unnamed p=IN" },
	{ "st.global.u64 [%rd1], %rd2;", "p:w q:e named p=INOUT" },
	{ "st.global.u64 [%rd1], %rd2; ld.global.u64 %rd6, [%rd1]; ld.global.u32 %r3, [%rd6];",
	  "p:rw q:e others:r unnamed p=INOUT" },
	{ "atom.global.exch.b64 %rd6, [%rd1], %rd2; st.global.u32 [%rd6], %r1;",
	  "p:rwa q:e others:w atomics unnamed p=INOUT" },
	{ "ld.global.u64 %rd6, [symbol]; ld.global.u32 %r3, [%rd6];", "others:r symbols unnamed" },
	{ "st.global.u64 [symbol+8], %rd1;", "p:e symbols named" },
	{ "mov.u64 %rd6, symbol; cvta.global.u64 %rd6, %rd6; add.s64 %rd6, %rd6, %rd5; st.u32 [%rd6], %r1;",
	  "symbols named" },
	{ "ld.const.u32 %r3, [constant+4]; st.global.u32 [%rd1], %r3;", "p:w symbols named p=INOUT" },
	/* Local and shared memory. */
	{ "st.local.u64 [depot+8], %rd1; ld.local.u64 %rd6, [depot+8]; ld.global.u32 %r3, [%rd6];", "p:r named p=IN" },
	{ "st.local.u64 [depot], %rd1; st.local.u64 [depot+8], %rd2; ld.local.u64 %rd6, [depot]; ld.local.u64 %rd7, "
	  "[depot+8];"
	  " ld.global.u32 %r3, [%rd6]; st.global.u32 [%rd7], %r3;", "p:r q:w named p=IN q=INOUT" },
	{ "mov.u64 %rd6, depot; add.s64 %rd7, %rd6, %rd5; st.local.u64 [%rd7], %rd1; ld.local.u64 %rd8, [depot];"
	  " st.global.u32 [%rd8], %r1;", "p:w named p=INOUT" },
	{ "mov.u64 %rd6, depot; cvta.local.u64 %rd7, %rd6; add.u64 %rd8, %rd7, 16; st.u64 [%rd8], %rd1; ld.u64 %rd9, "
	  "[%rd7+16];"
	  " st.u32 [%rd9], %r1; ld.u64 %rd10, [%rd7+24]; ", "p:w named p=INOUT" },
	{ "mov.u64 %rd6, depot; cvta.local.u64 %rd7, %rd6; add.u64 %rd8, %rd7, %rd5; atom.add.u32 %r3, [%rd8], 1;",
	  "named" },
	{ "st.shared.u64 [tile], %rd1; bar.sync 0; ld.shared.u64 %rd6, [tile+8]; st.global.u32 [%rd6], %r1;",
	  "p:w named p=INOUT" },
	{ "st.shared.u32 [tile], %r1; atom.shared.add.u32 %r3, [tile], 1; ld.volatile.shared.u32 %r3, [tile];",
	  "named" },
	{ "mov.u64 %rd6, tile; cvta.shared.u64 %rd6, %rd6; selp.b64 %rd7, %rd6, %rd1, %p1; st.u32 [%rd7], %r1;",
	  "p:w named p=INOUT" },
	{ "mov.u64 %rd6, depot; cvta.local.u64 %rd6, %rd6; st.u64 [%rd6], %rd1; st.global.u64 [%rd2], %rd6;",
	  "p:e q:w named q=INOUT" },
	{ "mov.u64 %rd6, depot; or.b64 %rd7, %rd6, 8; st.local.u64 [%rd7], %rd1; ld.local.u64 %rd8, [depot];"
	  " st.global.u32 [%rd8], %r1;", "p:w named p=INOUT" },
	{ "mov.u64 %rd6, depot; mov.u64 %rd7, depot; @%p1 bra L; add.u64 %rd7, %rd6, 8; L: st.local.u64 [%rd7], %rd1;"
	  " ld.local.u64 %rd8, [depot]; st.global.u32 [%rd8], %r1;", "p:w named p=INOUT" },
	{ "mov.b64 {%r3, %r4}, %rd1; st.local.u32 [depot], %r3; st.local.u32 [depot+4], %r4; ld.local.u64 %rd6, "
	  "[depot];"
	  " st.global.u32 [%rd6], %r1;", "p:w named p=INOUT" },
	{ "st.shared.u64 [tile], %rd1; atom.shared.exch.b64 %rd6, [tile], %rd2; st.global.u32 [%rd6], %r1;",
	  "p:w q:w named p=INOUT q=INOUT" },
	/* Structures. */
	{ "ld.param.u64 %rd6, [s+8]; ld.global.u32 %r3, [%rd6]; ld.param.u64 %rd7, [s+24]; st.global.u32 [%rd7], %r3;",
	  "s+8:r s+24:w unnamed" },
	{ "mov.b64 %rd6, s; mov.u64 %rd7, %rd6; ld.param.u64 %rd8, [%rd7+16]; ld.global.u32 %r3, [%rd8];",
	  "s+16:r unnamed" },
	{ "mov.b64 %rd6, s; add.s64 %rd6, %rd6, %rd5; ld.param.u64 %rd8, [%rd6]; ld.global.u32 %r3, [%rd8];",
	  "p:r q:r r:r l:r s:r s+8:r s+16:r s+24:r unnamed p=IN q=IN r=IN l=IN" },
	{ "ld.param.v2.u64 {%rd6, %rd7}, [s]; st.global.u32 [%rd7], %r1; ld.global.u32 %r3, [%rd2];",
	  "q:r s+8:w unnamed q=INOUT" },
	{ "ld.param.u64 %rd6, [s+64]; ld.global.u32 %r3, [%rd6];", "s:r s+8:r s+16:r s+24:r unnamed" },
	{ "ld.param.u32 %r3, [s+12]; mul.wide.s32 %rd6, %r3, 4; add.s64 %rd6, %rd1, %rd6; ld.global.u32 %r3, [%rd6];",
	  "p:r named p=IN" },
	{ "ld.param.f64 %fd1, [s+8]; add.f64 %fd3, %fd1, %fd2; st.global.f64 [%rd1], %fd3;", "p:w named p=INOUT" },
	/* Order. */
	{ "atom.global.add.u32 %r3, [%rd1], 1;", "p:rwa atomics named p=INOUT" },
	{ "atom.relaxed.gpu.global.add.u32 %r3, [%rd1], 1;", "p:rwa atomics named p=INOUT" },
	{ "atom.acquire.gpu.global.add.u32 %r3, [%rd1], 1;", "p:rwa atomics ordered named p=INOUT" },
	{ "red.add.f32 [%rd1], %f1;", "p:rwa atomics named p=INOUT" },
	{ "ld.volatile.global.u32 %r3, [%rd1];", "p:r ordered named p=IN" },
	{ "ld.global.cv.u32 %r3, [%rd1];", "p:r ordered named p=IN" },
	{ "ld.acquire.gpu.u32 %r3, [%rd1]; membar.cta; fence.acq_rel.cta;", "p:r ordered named p=IN" },
	{ "st.relaxed.sys.global.u32 [%rd1], %r3; membar.gl;", "p:w ordered fence named p=INOUT" },
	{ "fence.sc.gpu;", "fence named" },
	{ "call __adsm_grid_sync;", "grid named" },
	/* Calls. */
	{ "{ .param .b64 a; .param .b64 v; .param .b64 o; st.param.b64 [a], %rd1; call (o), same, (a); ld.param.b64 "
	  "%rd6, [o];"
	  " st.global.u32 [%rd6], %r1; }", "p:w named p=INOUT" },
	{ "{ .param .b64 a; .param .b64 v; st.param.b64 [a], %rd1; st.param.b64 [v], %rd2; call set, (a, v); }",
	  "p:w q:e named p=INOUT" },
	{ "{ .param .b64 a; .param .b64 v; mov.u64 %rd6, depot; cvta.local.u64 %rd6, %rd6; st.param.b64 [a], %rd6;"
	  " st.param.b64 [v], %rd2; call set, (a, v); ld.local.u64 %rd7, [depot+32]; ld.global.u32 %r3, [%rd7]; }",
	  "q:r named q=IN" },
	{ "{ .param .b64 a; .param .b64 v; st.param.b64 [a], %rd1; st.param.b64 [v], %rd5; call get, (a, v); }",
	  "p:r others:r unnamed p=IN" },
	{ "call (%rd6), old, (%rd1); ld.global.u32 %r3, [%rd6];", "p:r named p=IN" },
	{ "{ .param .b64 a; .param .b64 o; st.param.b64 [a], %rd1; call (o), unknown, (a); }",
	  "p:rwae others:rw unknown unnamed p=INOUT" },
	{ "{ .param .b64 a; .param .b64 o; st.local.u64 [depot], %rd1; mov.u64 %rd6, depot; cvta.local.u64 %rd6, %rd6;"
	  " st.param.b64 [a], %rd6; call (o), unknown, (a); }", "p:rwae others:rw unknown unnamed p=INOUT" },
	{ "{ .param .b64 a; .param .b64 o; st.param.b64 [a], %rd5; call (o), malloc, (a); ld.param.b64 %rd6, [o];"
	  " st.u32 [%rd6], %r1; st.param.b64 [a], %rd6; call free, (a); }", "named" },
	{ "{ .param .b64 a; .param .b64 b; .param .b32 o; mov.u64 %rd6, depot; cvta.local.u64 %rd6, %rd6; st.u64 "
	  "[%rd6], %rd1;"
	  " mov.u64 %rd7, symbol; cvta.global.u64 %rd7, %rd7; st.param.b64 [a], %rd7; st.param.b64 [b], %rd6;"
	  " call (o), vprintf, (a, b); }", "p:r symbols named p=IN" },
	{ "{ .param .b32 x; .param .b64 a; .param .b64 b; st.param.f32 [x], %f1; st.param.b64 [a], %rd1; add.s64 "
	  "%rd6, %rd2, 4;"
	  " st.param.b64 [b], %rd6; call __nv_sincosf, (x, a, b); }", "p:rw q:rw named p=INOUT q=INOUT" },
	/* A double is no address, and an integer may be one. */
	{ "{ .param .b64 x; .param .b64 o; ld.global.f64 %fd1, [%rd1]; st.param.f64 [x], %fd1; call (o), __nv_sin, (x);"
	  " ld.param.f64 %fd2, [o]; st.global.f64 [%rd2], %fd2; }", "p:r q:w named p=IN q=INOUT" },
	{ "ld.global.f64 %fd1, [%rd1]; call (%fd2), __nv_sin, (%fd1); st.global.f64 [%rd2], %fd2;",
	  "p:r q:w named p=IN q=INOUT" },
	{ "{ .param .b64 x; .param .b64 o; st.param.b64 [x], %rd1; call (o), __nv_llabs, (x); ld.param.b64 %rd6, [o];"
	  " st.global.u32 [%rd6], %r1; }", "p:w named p=INOUT" },
	{ "{ .param .b64 a; .param .b64 v; mov.u64 %rd6, set; st.param.b64 [a], %rd1; st.param.b64 [v], %rd2;"
	  " t: .callprototype _ (.param .b64 _, .param .b64 _); call %rd6, (a, v), t; }", "p:w q:e named p=INOUT" },
	{ "{ .param .b64 a; .param .b64 v; ld.global.u64 %rd6, [%rd3]; st.param.b64 [a], %rd1; st.param.b64 [v], %rd2;"
	  " t: .callprototype _ (.param .b64 _, .param .b64 _); call %rd6, (a, v), t; }",
	  "p:w q:e r:r named p=INOUT r=IN" },
	{ "{ .param .b64 a; .param .b64 v; ld.global.u64 %rd6, [table]; st.param.b64 [a], %rd1; st.param.b64 [v], %rd2;"
	  " t: .callprototype _ (.param .b64 _, .param .b64 _); call %rd6, (a, v), t; }",
	  "p:w q:e symbols named p=INOUT" },
	{ "{ .param .b64 a; ld.global.u64 %rd6, [table]; st.param.b64 [a], %rd1;"
	  " t: .callprototype _ (.param .b64 _); call %rd6, (a), t; }",
	  "p:rwae others:rw unknown symbols unnamed p=INOUT" },
	{ "call walk, (%rd1);", "p:r named p=IN" },
	{ "{ .param .b64 a; .param .b64 v; mov.u64 %rd6, get; st.param.b64 [a], %rd1; st.param.b64 [v], %rd5;"
	  " t: .calltargets get, set; call %rd6, (a, v), t; }", "p:rw others:r unnamed p=INOUT" },
	/* What is not known. */
	{ "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];", "textures unnamed" },
	{ "nonsense.b64 %rd6, %rd1; ld.global.u32 %r3, [%rd6];", "p:rwae others:rw unnamed p=INOUT" },
	{ "cp.async.bulk.shared.global [tile], [%rd1], 16, [tile];", "p:rwae others:rw unnamed p=INOUT" },
};

static const char *const names[] = { "p", "q", "r", "n", "l", "s" };

static void add_flag(FILE *out, const char *word, const struct adsm_ptx_instruction *reason, bool lines)
{
	if (reason && lines)
		fprintf(out, "%s(%d) ", word, reason->line);
	else if (reason)
		fprintf(out, "%s ", word);
}

static void add_actions(FILE *out, const char *letters, const struct adsm_ptx_instruction *const *reasons, bool lines)
{
	for (size_t i = 0; letters[i]; i++) {
		if (reasons[i])
			fprintf(out, lines ? "%c(%d)" : "%c", letters[i], reasons[i]->line);
	}
	fprintf(out, " ");
}

/* What is said of a kernel. Parameters have the names, or numbers. */
static void print_access(FILE *out, const struct adsm_ptx_function *function, const struct adsm_ptx_access *access,
			 bool lines)
{
	const struct adsm_ptx_instruction *others[] = { access->reads_others, access->writes_others };

	for (uint32_t i = 0; i < access->n_slots; i++) {
		const struct adsm_ptx_slot *slot = &access->slots[i];
		const struct adsm_ptx_instruction *reasons[] = { slot->reads, slot->writes, slot->atomics,
			slot->escapes };

		if (!slot->reads && !slot->writes && !slot->atomics && !slot->escapes)
			continue;
		if (lines)
			fprintf(out, "%u", slot->param);
		else
			fprintf(out, "%s", names[slot->param]);
		if (slot->offset)
			fprintf(out, "+%u", (unsigned)slot->offset);
		fprintf(out, ":");
		add_actions(out, "rwae", reasons, lines);
	}
	if (others[0] || others[1]) {
		fprintf(out, "others:");
		add_actions(out, "rw", others, lines);
	}
	add_flag(out, "unknown", access->calls_unknown, lines);
	add_flag(out, "symbols", access->uses_symbols, lines);
	add_flag(out, "textures", access->uses_textures, lines);
	add_flag(out, "atomics", access->has_global_atomics, lines);
	add_flag(out, "ordered", access->has_volatile_or_ordered, lines);
	add_flag(out, "fence", access->has_fence, lines);
	add_flag(out, "grid", access->has_grid_sync, lines);
	fprintf(out, access->is_unnamed ? "unnamed" : "named");
	for (uint32_t i = 0; i < function->n_params; i++) {
		const char *text = access->params[i].access == 1 ? "IN" : access->params[i].access == 3 ? "INOUT" : "?";

		if (access->params[i].is_pointer && lines)
			fprintf(out, " %u=%s", i, text);
		else if (access->params[i].is_pointer)
			fprintf(out, " %s=%s", names[i], text);
	}
	if (access->gave_up)
		fprintf(out, " (gave up)");
}

static void check_text(const char *text, size_t size, const char *name, const char *want)
{
	struct adsm_ptx_module *module = NULL;
	struct adsm_ptx_error error = { 0 };
	const int result = adsm_ptx_parse(text, size, &module, &error);

	CHECKF(!result, "%s:%d: %s", name, error.line, error.text);
	for (uint32_t i = 0; i < module->n_functions; i++) {
		struct adsm_ptx_access access;
		char *got = NULL;
		FILE *out;

		if (!module->functions[i]->is_entry || !module->functions[i]->has_body)
			continue;
		out = open_memstream(&got, &size);
		CHECK(out && !adsm_ptx_access_find(module, module->functions[i], &access));
		print_access(out, module->functions[i], &access, !want);
		fclose(out);
		CHECKF(!want || !strcmp(got, want), "%s\n got: %s\nwant: %s", name, got, want);
		if (!want)
			printf("%s: %s\n", module->functions[i]->name, got);
		free(got);
		adsm_ptx_access_destroy(&access);
	}
	adsm_ptx_destroy(module);
}

static void check_file(const char *name)
{
	static char text[1 << 22];
	FILE *file = fopen(name, "r");
	size_t size;

	CHECKF(file, "%s", name);
	size = fread(text, 1, sizeof(text), file);
	fclose(file);
	check_text(text, size, name, NULL);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc < 2 && i < sizeof(cases) / sizeof(*cases); i++) {
		char text[8192];

		snprintf(text, sizeof(text), "%s%s\nret; }\n", HEAD, cases[i].body);
		check_text(text, strlen(text), cases[i].body, cases[i].want);
	}
	for (int i = 1; i < argc; i++)
		check_file(argv[i]);
	if (argc < 2)
		printf("%zu kernels\n", sizeof(cases) / sizeof(*cases));
	return 0;
}
