/* SPDX-License-Identifier: MIT */
/* refused.c - see refused.h. */
#include "refused.h"

#include "kernels.h"
#include "table.h"

#define INTEGERS "d:b32:i q:b32:i a:b32:i b:b32:i c:b32:i m:b64:m p:pred:p"
#define NUMBERS "d:f32:f q:f32:f a:f32:f b:f32:f c:f32:f m:b64:m"
#define WIDE "d:b64:i a:b64:i b:b64:i m:b64:m"
#define SHORT "d:b16:i a:b16:i b:b16:i m:b64:m"

/* Instructions of the PTX ISA manual, in the order of its sections. Each error says that it is not supported. */
static const struct { const char *registers, *text; } instructions[] = {
	{ INTEGERS, "add.u16x2 %d, %a, %b;" },
	{ INTEGERS, "min.relu.s32 %d, %a, %b;" },
	{ WIDE, "add.rn.f32x2 %d, %a, %b;" },
	{ SHORT, "fma.rn.oob.f16 %d, %a, %b, %a;" },
	{ INTEGERS, "lop3.or.b32 %d|%p, %a, %b, %c, 5, %p;" },
	{ INTEGERS, "ld.mmio.relaxed.sys.global.u32 %d, [%m];" },
	{ INTEGERS, "st.mmio.relaxed.sys.global.u32 [%m], %a;" },
	{ INTEGERS, "ld.relaxed.cluster.global.u32 %d, [%m];" },
	{ INTEGERS, "st.async.shared.u32 [%m], %a, [%m];" },
	{ INTEGERS, "st.bulk.shared [%m], 64, 0;" },
	{ INTEGERS, "multimem.ld_reduce.relaxed.gpu.global.add.u32 %d, [%m];" },
	{ INTEGERS, "prefetch.tensormap [%m];" },
	{ INTEGERS, "isspacep.local %p, %m;" },
	{ INTEGERS, "isspacep.const %p, %m;" },
	{ INTEGERS, "isspacep.param %p, %m;" },
	{ INTEGERS, "cvt.rn.bf16.s32 %d, %a;" },
	{ "d:b16:i a:f32:f b:f32:f", "cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b;" },
	{ "d:b32:i a:f32:f", "cvt.rna.satfinite.tf32.f32 %d, %a;" },
	{ "d:b32:i a:f32:f b:f32:f", "cvt.rn.satfinite.f16x2.f32 %d, %a, %b;" },
	{ INTEGERS, "cvt.pack.sat.u4.s32.b32 %d, %a, %b, %c;" },
	{ WIDE, "mapa.u64 %d, %a, 1;" },
	{ INTEGERS, "getctarank.u64 %d, %m;" },
	{ INTEGERS, "cp.async.mbarrier.arrive.b64 [%m];" },
	{ INTEGERS, "cp.async.bulk.commit_group;" },
	{ INTEGERS, "cp.reduce.async.bulk.global.shared.add.u32 [%m], [%m], 16;" },
	{ INTEGERS, "tensormap.replace.tile.rank.global.b1024.b32 [%m], 1;" },
	{ NUMBERS, "tex.level.2d.v4.f32.f32 {%d, %d, %d, %d}, [%m, {%a, %b}], %c;" },
	{ NUMBERS, "tex.grad.2d.v4.f32.f32 {%d, %d, %d, %d}, [%m, {%a, %b}], {%a, %b}, {%a, %b};" },
	{ NUMBERS, "tex.cube.v4.f32.f32 {%d, %d, %d, %d}, [%m, {%a, %b, %c, %c}];" },
	{ NUMBERS, "tld4.r.2d.v4.f32.f32 {%d, %d, %d, %d}, [%m, {%a, %b}];" },
	{ INTEGERS, "txq.width.b32 %d, [%m];" },
	{ INTEGERS, "suld.b.1d.b32.trap %d, [%m, {%a}];" },
	{ INTEGERS, "sust.b.1d.b32.trap [%m, {%a}], %b;" },
	{ INTEGERS, "sured.b.add.1d.u32.trap [%m, {%a}], %b;" },
	{ INTEGERS, "suq.width.b32 %d, [%m];" },
	{ INTEGERS, "barrier.cluster.arrive;" },
	{ INTEGERS, "barrier.cluster.wait;" },
	{ INTEGERS, "fence.proxy.async;" },
	{ INTEGERS, "fence.mbarrier_init.release.cluster;" },
	{ WIDE, "atom.global.exch.b128 %d, [%m], %a;" },
	{ INTEGERS, "red.async.relaxed.cluster.shared.add.u32 [%m], %a, [%m];" },
	{ NUMBERS, "redux.sync.min.f32 %d, %a, -1;" },
	{ INTEGERS, "griddepcontrol.wait;" },
	{ INTEGERS, "elect.sync %d|%p, -1;" },
	{ INTEGERS, "mbarrier.init.shared.b64 [%m], 32;" },
	{ WIDE, "mbarrier.arrive.shared.b64 %d, [%m];" },
	{ INTEGERS, "mbarrier.test_wait.shared.b64 %p, [%m], 0;" },
	{ INTEGERS, "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%d, %d, %d, %d, %d, %d, %d, %d}, [%m];" },
	{ INTEGERS, "wmma.store.d.sync.aligned.row.m16n16k16.f32 [%m], {%d, %d, %d, %d, %d, %d, %d, %d};" },
	{ INTEGERS, "mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
		    "{%d, %q}, {%a, %b}, {%a, %b}, {%a, %b}, %c, 0;" },
	{ INTEGERS, "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%m], {%a};" },
	{ INTEGERS, "movmatrix.sync.aligned.m8n8.trans.b16 %d, %a;" },
	{ WIDE, "stacksave.u64 %d;" },
	{ WIDE, "stackrestore.u64 %a;" },
	{ WIDE, "alloca.u64 %d, 16;" },
	{ INTEGERS, "vadd.s32.s32.s32 %d, %a, %b;" },
	{ INTEGERS, "vsub.s32.s32.s32 %d, %a, %b;" },
	{ INTEGERS, "vabsdiff.s32.s32.s32 %d, %a, %b;" },
	{ INTEGERS, "vmin.s32.s32.s32 %d, %a, %b;" },
	{ INTEGERS, "vmax.s32.s32.s32 %d, %a, %b;" },
	{ INTEGERS, "vshl.s32.s32.u32.clamp %d, %a, %b;" },
	{ INTEGERS, "vshr.s32.s32.u32.clamp %d, %a, %b;" },
	{ INTEGERS, "vmad.s32.s32.s32 %d, %a, %b, %c;" },
	{ INTEGERS, "vset.s32.s32.eq %d, %a, %b;" },
	{ INTEGERS, "vadd2.s32.s32.s32 %d, %a, %b, %c;" },
	{ INTEGERS, "vadd4.s32.s32.s32 %d, %a, %b, %c;" },
	{ INTEGERS, "setmaxnreg.inc.sync.aligned.u32 64;" },
};

/* Instructions that are almost right, and words of their errors. */
static const struct { const char *registers, *text, *words; } mistakes[] = {
	{ "d:b32:i a:b32:i", "add.sat.u32 %d, %a, %a;", "add.sat.u32 is not supported" },
	{ "d:b32:i a:b32:i", "shl.s32 %d, %a, 1;", "shl.s32 is not supported" },
	{ "d:f32:f a:f32:f", "sin.f32 %d, %a;", "sin.f32 is not supported" },
	{ "d:f32:f a:f32:f", "div.f32 %d, %a, %a;", "div.f32 is not supported" },
	{ "d:b32:i a:b32:i", "cvt.rn.u32.s32 %d, %a;", "cvt.rn.u32.s32" },
	{ "d:b32:i a:f32:f", "cvt.u32.f32 %d, %a;", "needs a rounding" },
	{ "d:f32:f a:f64:d", "cvt.f32.f64 %d, %a;", "needs a rounding" },
	{ "d:b32:i a:f32:f", "add.s32 %d, %a, 1.5;", "add needs a constant of type u32" },
	{ "d:b64:i a:b32:i", "add.s64 %d, %d, %a;", "add needs a value of type u64, and %a is of type b32" },
	{ "d:pred:p a:b32:i", "setp.lt.b32 %d, %a, %a;", "cannot be compared by lt" },
	{ "d:pred:p a:b32:i", "setp.ltu.s32 %d, %a, %a;", "cannot be compared by ltu" },
	{ "d:b32:i a:b32:i", "ld.global.u32 %d, [%a];", "64 bits" },
	{ "d:b32:i a:b64:i", "ld.global.bad.u32 %d, [%a];", "ld.global.bad.u32 is not supported" },
	{ "d:b64:i a:b64:i", "ld.v4.u64 {%d, %d, %d, %d}, [%a];", "at most 16 bytes" },
	{ "d:b32:i a:b32:i", "call (%d), unknown, (%a);", "it calls unknown, which the module does not define" },
	{ "d:b32:i a:b64:m", "atom.global.add.b32 %d, [%a], 1;", "atom.global.add.b32 is not supported" },
	{ "d:b32:i a:b32:i", "shfl.sync.idx.u32 %d, %a, 0, 31, -1;", "shfl.sync.idx.u32 is not supported" },
	{ "d:b32:i", "bar.sync.aligned 0;", "bar.sync.aligned is not supported" },
	{ "d:b64:i", "mov.u64 %d, %gridid;", "%gridid is not supported" },
	{ "d:b32:i", "ld.global.u32 %d, [outside];", "outside is declared, but the module does not define it" },
};

size_t refused_check(void)
{
	size_t n_wrong = 0;

	for (size_t i = 0; i < sizeof(instructions) / sizeof(*instructions); i++) {
		const char *error = kernels_refusal(instructions[i].registers, instructions[i].text);

		if (error && strstr(error, "is not supported"))
			continue;
		printf("%s\n\t%s, expected: is not supported\n", instructions[i].text,
		       error ? error : "is not refused");
		n_wrong++;
	}
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
		const char *error = kernels_refusal(mistakes[i].registers, mistakes[i].text);

		if (error && strstr(error, mistakes[i].words))
			continue;
		printf("%s\n\t%s, expected: %s\n", mistakes[i].text, error ? error : "is not refused",
		       mistakes[i].words);
		n_wrong++;
	}
	return n_wrong;
}

void refused_print(FILE *out)
{
	fprintf(out, "| Instruction | Error |\n|---|---|\n");
	for (size_t i = 0; i < sizeof(instructions) / sizeof(*instructions); i++) {
		const char *error = kernels_refusal(instructions[i].registers, instructions[i].text);
		char name[96];

		table_next(instructions[i].text, name, sizeof(name));
		fprintf(out, "| `%s` | ", name);
		/* A vertical line ends a cell. */
		for (const char *at = error ? error : ""; *at; at++)
			fprintf(out, "%s%c", *at == '|' ? "\\" : "", *at);
		fprintf(out, " |\n");
	}
}
