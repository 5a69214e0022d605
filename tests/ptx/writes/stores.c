/* SPDX-License-Identifier: MIT */
/*
 * stores.c - which stores of kernels in PTX are understood (lib/ptx/writes.h). Each case is a kernel with the pointers
 * p and q, the integers n and m of 32 bits and l of 64; rd6 is p + 4 * r5, r5 the thread's index in the grid. What is
 * wanted: the lines of adsm_writes without the kernel's name, each before a semicolon.
 */
#include "base/writes_text.h"
#include "ptx/access/writes.h"

#include <stdlib.h>

#include "../../check.h"

#define HEAD ".version 7.5\n.target sm_80\n.address_size 64\n" \
	".func leaves() { exit; }\n.func stays() { ret; }\n" \
	".entry k(.param .u64 p, .param .u64 q, .param .u32 n, .param .u32 m, .param .u64 l) {\n" \
	".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<30>; .reg .b64 %rd<30>; .reg .f32 %f<9>;\n" \
	"ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n" \
	"mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.s32 %r5, %r3, %r4, %r2; mul.wide.s32 %rd5, %r5, 4;\n" \
	"add.s64 %rd6, %rd1, %rd5; setp.lt.s32 %p1, %r5, %r1;\n"

#define INDEX "+1*tx+1*bx*sx"
#define STORE "0 4 +4*tx+4*bx*sx"
#define FITS " s" INDEX
#define BELOW_N " g-1*tx-1*bx*sx+1*p2.0.4-1"

static const struct {
	const char *body, *want;
} cases[] = {
	/* Addresses. */
	{ "st.global.u32 [%rd6], %r5;", STORE FITS ";" },
	{ "st.global.v4.f32 [%rd6+16], {%f1, %f1, %f1, %f1};", "0 16 +4*tx+4*bx*sx+16" FITS ";" },
	{ "st.u8 [%rd6], %rs1; st.volatile.global.u64 [%rd6+8], %rd1;",
	  "0 1 +4*tx+4*bx*sx" FITS ";0 8 +4*tx+4*bx*sx+8" FITS ";" },
	{ "cvta.to.global.u64 %rd7, %rd6; st.global.u32 [%rd7], %r5;", STORE FITS ";" },
	{ "cvta.to.shared.u64 %rd7, %rd6; st.global.u32 [%rd7], %r5;", "" },
	{ "mul.wide.u32 %rd7, %r5, 4; add.s64 %rd7, %rd1, %rd7; st.global.u32 [%rd7], %r5;", "" },
	{ "mul.wide.u32 %rd7, %r5, 4; add.s64 %rd8, %rd1, %rd7; st.global.u32 [%rd8], %r5;", STORE " u" INDEX ";" },
	{ "not.b32 %r6, %r5; neg.s32 %r7, %r6; mul.wide.s32 %rd7, %r7, 4; sub.s64 %rd8, %rd1, %rd7; "
	  "st.global.u32 [%rd8], %r5;", "0 4 -4*tx-4*bx*sx-4 s+1*tx+1*bx*sx+1;" },
	{ "shl.b32 %r6, %r5, 2; or.b32 %r7, %r6, 3; mul.wide.s32 %rd7, %r7, 4; add.s64 %rd8, %rd1, %rd7; "
	  "st.global.u32 [%rd8], %r5;", "0 4 +16*tx+16*bx*sx+12 s+4*tx+4*bx*sx+3;" },
	{ "or.b32 %r7, %r5, 1; mul.wide.s32 %rd7, %r7, 4; add.s64 %rd8, %rd1, %rd7; st.global.u32 [%rd8], %r5;", "" },
	{ "shl.b32 %r7, %r5, 32; mul.wide.s32 %rd7, %r7, 4; add.s64 %rd8, %rd1, %rd7; st.global.u32 [%rd8], %r5;", "" },
	{ "mul.hi.s32 %r7, %r5, 4; mul.wide.s32 %rd7, %r7, 4; add.s64 %rd8, %rd1, %rd7; st.global.u32 [%rd8], %r5;",
	  "" },
	{ "cvt.u16.u32 %rs1, %r5; cvt.u32.u16 %r7, %rs1; mul.wide.s32 %rd7, %r7, 4; add.s64 %rd8, %rd1, %rd7; "
	  "st.global.u32 [%rd8], %r5;", "" },
	{ "add.cc.u32 %r7, %r5, 1; mul.wide.s32 %rd7, %r7, 4; add.s64 %rd8, %rd1, %rd7; st.global.u32 [%rd8], %r5;",
	  "" },
	{ "ld.param.u64 %rd7, [l]; shl.b64 %rd7, %rd7, 2; add.s64 %rd8, %rd6, %rd7; st.global.u32 [%rd8], %r5;", "" },
	{ "ld.param.u64 %rd7, [l]; shl.b64 %rd9, %rd7, 2; add.s64 %rd8, %rd6, %rd9; st.global.u32 [%rd8], %r5;",
	  "0 4 +4*tx+4*bx*sx+4*p4.0.8" FITS ";" },
	{ "mul.lo.s32 %r7, %r5, %r5; mul.wide.s32 %rd7, %r7, 4; add.s64 %rd8, %rd1, %rd7; st.global.u32 [%rd8], %r5;",
	  "" },
	{ "add.s64 %rd7, %rd6, %rd2; st.global.u32 [%rd7], %r5;", "" },
	{ "add.s64 %rd7, %rd6, %rd1; st.global.u32 [%rd7], %r5;", "" },
	{ "ld.param.u32 %r6, [p]; ld.param.u32 %r7, [p+4]; mov.b64 %rd7, {%r6, %r7}; st.global.u32 [%rd7], %r5;", "" },
	/* Values that are not always there. */
	{ "@%p1 add.s64 %rd6, %rd6, 4; st.global.u32 [%rd6], %r5;", "" },
	{ "@%p1 mov.u64 %rd7, %rd6; st.global.u32 [%rd7], %r5;", "" },
	{ "st.global.u32 [%rd7], %r5; add.s64 %rd7, %rd1, %rd5;", "" },
	{ "@%p1 bra L; add.s64 %rd7, %rd1, %rd5; L: st.global.u32 [%rd7], %r5;", "" },
	{ "mov.u64 %rd7, %rd6; @%p1 bra L; add.s64 %rd7, %rd1, 4; L: st.global.u32 [%rd7], %r5;", "" },
	/* Conditions. */
	{ "@%p1 st.global.u32 [%rd6], %r5;", STORE FITS BELOW_N ";" },
	{ "@!%p1 st.global.u32 [%rd6], %r5;", STORE FITS " g+1*tx+1*bx*sx-1*p2.0.4;" },
	{ "@!%p1 bra L; st.global.u32 [%rd6], %r5; L: ret;", STORE FITS BELOW_N ";" },
	{ "@!%p1 exit; st.global.u32 [%rd6], %r5;", STORE FITS BELOW_N ";" },
	{ "@!%p1 ret; bar.sync 0; st.global.u32 [%rd6], %r5;", STORE FITS BELOW_N ";" },
	{ "@%p1 bra L; ret; L: st.global.u32 [%rd6], %r5;", STORE FITS BELOW_N ";" },
	{ "setp.eq.s32 %p2, %r2, 3; and.pred %p3, %p1, %p2; @!%p3 bra L; st.global.u32 [%rd6], %r5; L: ret;",
	  STORE FITS BELOW_N " e+1*tx-3;" },
	{ "setp.eq.s32 %p2, %r2, 3; or.pred %p3, %p1, %p2; @!%p3 bra L; st.global.u32 [%rd6], %r5; L: ret;", "" },
	{ "not.pred %p3, %p1; @%p3 bra L; st.global.u32 [%rd6], %r5; L: ret;", STORE FITS BELOW_N ";" },
	{ "xor.pred %p3, %p1, %p2; @%p3 bra L; st.global.u32 [%rd6], %r5; L: ret;", "" },
	{ "setp.lt.and.s32 %p3, %r5, %r1, %p1; @!%p3 bra L; st.global.u32 [%rd6], %r5; L: ret;", "" },
	{ "setp.lt.f32 %p3, %f1, %f2; @!%p3 bra L; st.global.u32 [%rd6], %r5; L: ret;", "" },
	{ "setp.lt.s32 %p1, %r5, 7; @!%p1 bra L; st.global.u32 [%rd6], %r5; L: ret;", "" },
	{ "@!%p1 bra L; setp.gt.s32 %p2, %r2, 0; @!%p2 bra L; st.global.u32 [%rd6], %r5; L: ret;",
	  STORE FITS " g+1*tx-1" BELOW_N ";" },
	{ "@%p1 bra A; setp.gt.s32 %p2, %r2, 0; @%p2 bra A; ret; A: st.global.u32 [%rd6], %r5;", "" },
	{ "or.b32 %r6, %r2, %r3; setp.ne.s32 %p2, %r6, 0; @%p2 bra L; st.global.u32 [%rd6], %r5; L: ret;",
	  STORE FITS " e+1*tx e+1*bx;" },
	{ "ts: .branchtargets A, B; brx.idx %r2, ts; A: st.global.u32 [%rd6], %r5; B: ret;", "" },
	/* A thread stores, or does not end. */
	{ "@%p1 bra H; st.global.u32 [%rd6], %r5; ret; H: bra H;", STORE FITS ";" },
	{ "L: st.global.u32 [%rd6], %r5; bra L;", "" },
	{ "@%p1 bra T; st.global.u32 [%rd6], %r5; ret; T: trap; ret;", STORE FITS " g+1*tx+1*bx*sx-1*p2.0.4;" },
	{ "call leaves, (); st.global.u32 [%rd6], %r5;", "" },
	{ "call stays, (); st.global.u32 [%rd6], %r5;", STORE FITS ";" },
	/* Memory that is read, too. */
	{ "st.global.u32 [%rd6], %r5; ld.global.u32 %r6, [%rd6+4];", "" },
	{ "st.global.u32 [%rd6], %r5; red.global.add.u32 [%rd6], 1;", "" },
	{ "st.global.u32 [%rd6], %r5; ld.global.u32 %r6, [%rd2];", STORE FITS ";" },
	{ "st.global.u32 [%rd6], %r5; ld.global.u64 %rd7, [%rd2]; ld.global.u32 %r6, [%rd7];", "" },
	/* Loops. */
	{ "mov.u32 %r7, 0; L: st.global.u32 [%rd6], %r5; add.s32 %r7, %r7, 1; setp.ne.s32 %p2, %r7, 9; @%p2 bra L;",
	  STORE FITS " s+1*k0 n0+1*k0-9;" },
	{ "mov.u32 %r7, %r5; L: setp.ge.s32 %p2, %r7, %r1; @%p2 bra E; mul.wide.s32 %rd7, %r7, 4; "
	  "add.s64 %rd8, %rd1, %rd7; st.global.u32 [%rd8], %r5; add.s32 %r7, %r7, %r4; bra L; E: ret;",
	  "0 4 +4*tx+4*bx*sx+4*sx*k0 s+1*tx+1*bx*sx+1*sx*k0 g-1*tx-1*bx*sx-1*sx*k0+1*p2.0.4-1 "
	  "g0-1*tx-1*bx*sx-1*sx*k0+1*sx+1*p2.0.4-1;" },
	{ "mov.u64 %rd7, %rd6; mov.u32 %r7, 0; L: st.global.u32 [%rd7], %r5; add.s64 %rd7, %rd7, 64; "
	  "add.s32 %r7, %r7, 1; setp.lt.s32 %p2, %r7, %r1; @%p2 bra L;",
	  "0 4 +4*tx+4*bx*sx+64*k0" FITS " s+1*k0 g0-1*k0+1*p2.0.4-1;" },
	/* The step is not one of each turn; there are two; the value after the loop is not known. */
	{ "mov.u64 %rd7, %rd6; mov.u32 %r7, 0; L: st.global.u32 [%rd7], %r5; @%p1 bra C; add.s64 %rd7, %rd7, 64; "
	  "C: add.s32 %r7, %r7, 1; setp.lt.s32 %p2, %r7, %r1; @%p2 bra L;", "" },
	{ "mov.u64 %rd7, %rd6; mov.u32 %r7, 0; L: st.global.u32 [%rd7], %r5; add.s64 %rd7, %rd7, 4; "
	  "add.s64 %rd7, %rd7, 4; add.s32 %r7, %r7, 1; setp.lt.s32 %p2, %r7, %r1; @%p2 bra L;", "" },
	{ "mov.u64 %rd7, %rd6; mov.u32 %r7, 0; L: add.s64 %rd7, %rd7, 64; add.s32 %r7, %r7, 1; "
	  "setp.lt.s32 %p2, %r7, %r1; @%p2 bra L; st.global.u32 [%rd7], %r5;", "" },
	{ "mov.u64 %rd7, %rd6; mov.u32 %r7, 0; L: mov.u32 %r8, 0; I: add.s64 %rd7, %rd7, 64; add.s32 %r8, %r8, 1; "
	  "setp.lt.s32 %p3, %r8, 4; @%p3 bra I; st.global.u32 [%rd7], %r5; add.s32 %r7, %r7, 1; "
	  "setp.lt.s32 %p2, %r7, %r1; @%p2 bra L;", "" },
	/* Loops whose ends depend on data. */
	{ "mov.u64 %rd7, %rd6; L: st.global.u32 [%rd7], %r5; add.s64 %rd7, %rd7, 64; ld.global.u32 %r8, [%rd2]; "
	  "setp.lt.s32 %p2, %r8, %r1; @%p2 bra L;", "" },
	{ "mov.u32 %r7, 0; L: ld.global.u32 %r8, [%rd2]; setp.lt.s32 %p3, %r8, 0; @%p3 bra E; "
	  "st.global.u32 [%rd6], %r5; add.s32 %r7, %r7, 1; setp.lt.s32 %p2, %r7, %r1; @%p2 bra L; E: ret;", "" },
	/* A loop that goes on as long as a number is 0; a step that is narrower than what it counts. */
	{ "mov.u32 %r7, 0; L: st.global.u32 [%rd6], %r5; add.s32 %r7, %r7, 1; setp.eq.s32 %p2, %r7, %r1; @%p2 bra L;",
	  "" },
	{ "ld.param.u64 %rd9, [l]; mov.u64 %rd7, 0; L: st.global.u32 [%rd6], %r5; cvt.u32.u64 %r7, %rd7; "
	  "add.s32 %r7, %r7, 3; cvt.u64.u32 %rd7, %r7; setp.lt.u64 %p2, %rd7, %rd9; @%p2 bra L;", "" },
	/* Numbers that are too large for a line, alone or together. */
	{ "ld.param.u64 %rd9, [l]; setp.eq.s64 %p2, %rd9, 9223372036854775807; @%p2 bra E; st.global.u32 [%rd6], %r5; "
	  "E: ret;", "" },
	{ "ld.param.u64 %rd9, [l]; mul.lo.s64 %rd7, %rd9, 2305843009213693953; add.s64 %rd8, %rd6, %rd7; "
	  "st.global.u32 [%rd8], %r5;", "" },
	{ "cvt.s64.s32 %rd9, %r5; mul.lo.s64 %rd7, %rd9, 1152921504606846977; add.s64 %rd8, %rd1, %rd7; "
	  "st.global.u32 [%rd8], %r5;", "" },
	/* A loop with two entries. */
	{ "mov.u32 %r7, 0; @%p1 bra B; A: st.global.u32 [%rd6], %r5; B: add.s32 %r7, %r7, 1; setp.lt.s32 %p2, %r7, 9; "
	  "@%p2 bra A; ret;", "" },
	/* A turn that may pass the store or begin again before it. */
	{ "mov.u32 %r7, 0; L: add.s32 %r7, %r7, 1; setp.lt.s32 %p2, %r7, 9; @%p2 bra L; st.global.u32 [%rd6], %r5; "
	  "setp.lt.s32 %p3, %r7, %r1; @%p3 bra L;", "" },
};

/* The texts of all writes. */
static void print(const struct adsm_ptx_writes *writes, char *text, size_t size)
{
	*text = '\0';
	for (uint32_t i = 0; i < writes->n; i++) {
		char *line = adsm_ptx_write_text(&writes->list[i], "k");
		const size_t at = strlen(text);

		CHECK(line && size > at + strlen(line) + 2);
		sprintf(text + at, "%s\n", line);
		CHECKF(adsm_writes_are_valid(text + at), "%s", line);
		sprintf(text + at, "%s;", line + 2);
		free(line);
	}
}

int main(void)
{
	int n_wrong = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const size_t size = strlen(HEAD) + strlen(cases[i].body) + 16;
		struct adsm_ptx_error error = { 0, "" };
		struct adsm_ptx_access access;
		struct adsm_ptx_writes writes;
		struct adsm_ptx_module *module;
		char *text = malloc(size), got[8192];

		CHECK(text);
		snprintf(text, size, "%s%s\nret; }\n", HEAD, cases[i].body);
		CHECKF(!adsm_ptx_parse(text, strlen(text), &module, &error), "%s: %s", cases[i].body, error.text);
		for (uint32_t f = 0; f < module->n_functions; f++) {
			if (!module->functions[f]->is_entry)
				continue;
			CHECK_OK(adsm_ptx_access_find(module, module->functions[f], &access));
			CHECK_OK(adsm_ptx_writes_find(module, module->functions[f], &access, &writes));
			print(&writes, got, sizeof(got));
			adsm_ptx_writes_destroy(&writes);
			adsm_ptx_access_destroy(&access);
		}
		if (strcmp(got, cases[i].want) != 0) {
			printf("%s\n\tis  \"%s\"\n\tnot \"%s\"\n", cases[i].body, got, cases[i].want);
			n_wrong++;
		}
		adsm_ptx_destroy(module);
		free(text);
	}
	return n_wrong ? 1 : 0;
}
