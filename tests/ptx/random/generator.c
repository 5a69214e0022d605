/* SPDX-License-Identifier: MIT */
/* generator.c - random kernels: functions, their beginnings and ends, and which statements they have. */
#include "generator.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

uint32_t any(struct generator *g, uint32_t n)
{
	g->random = g->random * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((g->random >> 33) % n);
}

bool chance(struct generator *g, uint32_t percent)
{
	return any(g, 100) < percent;
}

void emit(struct generator *g, const char *format, ...)
{
	char line[2048];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(line))
		abort();
	if (g->size + (size_t)n + 1 > g->room) {
		g->room = 2 * g->room + 4096;
		g->text = realloc(g->text, g->room);
		if (!g->text)
			abort();
	}
	memcpy(g->text + g->size, line, (size_t)n + 1);
	g->size += (size_t)n;
}

typedef void add(struct generator *g, const struct context *context);

static add *choose(struct generator *g, const struct context *context)
{
	const uint32_t roll = any(g, 100);

	if (roll < 28)
		return add_arithmetic;
	if (roll < 38)
		return add_memory;
	if (roll < 43)
		return add_shared;
	if (roll < 48)
		return add_atomic;
	if (roll < 58)
		return g->has_barriers && context->level == UNIFORM ? add_exchange : add_memory;
	if (roll < 74)
		return *context->mask && g->has_warps ? add_warp : add_arithmetic;
	if (roll < 80)
		return add_call;
	return context->depth < 3 ? add_control : add_arithmetic;
}

/* A statement that is left out does not change the others: it is made and forgotten. */
void add_statements(struct generator *g, const struct context *context, uint32_t n)
{
	for (uint32_t i = 0; i < n && g->budget > 0; i++) {
		const uint32_t statement = g->statement++;
		const size_t size = g->size;

		g->budget--;
		choose(g, context)(g, context);
		if (g->left_out && statement < g->n_left_out && g->left_out[statement])
			g->size = size;
	}
}

void generator_preamble(FILE *out)
{
	uint64_t random = 12345;

	fprintf(out, ".version 7.5\n.target sm_80\n.address_size 64\n"
		     ".extern .shared .align 16 .b8 dynamic[];\n"
		     ".global .align 16 .b32 own_sums[16];\n");
	for (int i = 0; i < 2; i++) {
		fprintf(out, "%s .align 16 .b8 %s[%u] = {", i ? ".global" : ".const",
			i ? "table_global" : "table_const", GENERATOR_TABLE);
		for (int j = 0; j < GENERATOR_TABLE; j++) {
			random = random * 6364136223846793005 + 1442695040888963407;
			fprintf(out, "%s%u", j ? "," : "", (unsigned)(random >> 56));
		}
		fprintf(out, "};\n");
	}
}

/* Where a thread is, and which lanes of its warp there are. */
static void begin_places(struct generator *g)
{
	emit(g, "\tmov.u32 %%lin, %%tid.z;\n\tmov.u32 %%warp, %%ntid.y;\n\tmov.u32 %%n, %%tid.y;\n"
		"\tmad.lo.u32 %%lin, %%lin, %%warp, %%n;\n\tmov.u32 %%warp, %%ntid.x;\n\tmov.u32 %%n, %%tid.x;\n"
		"\tmad.lo.u32 %%lin, %%lin, %%warp, %%n;\n\tshr.u32 %%warp, %%lin, 5;\n");
}

static void begin_base(struct generator *g)
{
	emit(g,
	     "\tshl.b32 %%n, %%warp, 5;\n\tsub.u32 %%n, %u, %%n;\n\tmin.u32 %%n, %%n, 32;\n"
	     "\tbmsk.clamp.b32 %%base, 0, %%n;\n",
	     g->threads);
}

/* Registers that begin with numbers: of the input, of the thread, and the same for all. */
static void begin_values(struct generator *g)
{
	emit(g,
	     "\tmul.lo.u32 %%n, %%lin, 13;\n\tand.b32 %%n, %%n, %u;\n\tmul.wide.u32 %%x, %%n, 4;\n"
	     "\tadd.u64 %%x, %%x, %%in;\n\tld.global.v4.u32 {%%a0, %%a1, %%a2, %%a3}, [%%x];\n"
	     "\tld.global.v2.f32 {%%f0, %%f1}, [%%x+16];\n\tld.global.u64 %%l0, [%%x+24];\n"
	     "\tld.global.v2.s16 {%%s0, %%s1}, [%%x+32];\n",
	     (GENERATOR_IN - 1) & ~31u);
	emit(g,
	     "\tmov.u32 %%a4, %%lin;\n\tmov.b64 %%l1, {%%a4, %%a0};\n\tcvt.rn.f32.s32 %%f2, %%a2;\n"
	     "\tcvt.f64.f32 %%d0, %%f2;\n\tcvt.rn.f64.u32 %%d1, %%a4;\n\tcvt.rn.f16.u32 %%h0, %%a4;\n"
	     "\tcvt.rn.f16.f32 %%h1, %%f0;\n\tmov.u32 %%u1, %u;\n\tadd.u32 %%w0, %%warp, %%u0;\n",
	     any(g, 100));
	emit(g, "\tsetp.lt.s32 %%p0, %%a0, 0;\n\tsetp.ge.f32 %%p1, %%f2, %%f1;\n\tsetp.lt.u32 %%p2, %%lin, %u;\n",
	     1 + any(g, g->threads));
	emit(g, "\tmov.u64 %%x, own;\n\tst.local.v4.u32 [%%x], {%%a0, %%a1, %%a4, %%u0};\n"
		"\tst.local.v2.u64 [%%x+16], {%%l0, %%l1};\n\tst.local.v4.b32 [%%x+32], {%%a2, %%a3, %%lin, %%u1};\n"
		"\tst.local.v4.u16 [%%x+48], {%%s0, %%s1, %%s0, %%s1};\n\tst.local.u64 [%%x+56], %%l0;\n");
}

static void begin_arrays(struct generator *g)
{
	for (uint32_t i = 0; i < g->n_arrays; i++) {
		const uint32_t array = g->first_array + i;

		if (g->is_kernel && g->has_dynamic && !i)
			emit(g, "\tmov.u32 %%k%u, dynamic;\n", array);
		else
			emit(g, "\tmov.u32 %%k%u, array_%llu_%u;\n", array, (unsigned long long)g->seed, array);
		emit(g,
		     "\tshl.b32 %%n, %%lin, 4;\n\tadd.u32 %%n, %%n, %%k%u;\n"
		     "\tst.shared.v4.b32 [%%n], {%%a0, %%lin, %%a1, %%u1};\n",
		     array);
	}
	if (g->n_arrays && g->has_barriers)
		emit(g, "\tbar.sync 0;\n");
}

static void begin_kernel(struct generator *g)
{
	emit(g, "\tld.param.u64 %%in, [p0];\n\tcvta.to.global.u64 %%in, %%in;\n\tld.param.u64 %%row, [p1];\n"
		"\tld.param.u64 %%sums, [p2];\n\tld.param.u32 %%u0, [p3];\n\tld.param.u64 %%l0, [p5];\n");
	begin_places(g);
	emit(g,
	     "\tmov.u32 %%n, %%ctaid.z;\n\tmov.u32 %%t, %%nctaid.y;\n\tmov.u32 %%v, %%ctaid.y;\n"
	     "\tmad.lo.u32 %%n, %%n, %%t, %%v;\n\tmov.u32 %%t, %%nctaid.x;\n\tmov.u32 %%v, %%ctaid.x;\n"
	     "\tmad.lo.u32 %%n, %%n, %%t, %%v;\n\tmad.lo.u32 %%n, %%n, %u, %%lin;\n\tmul.wide.u32 %%x, %%n, %u;\n"
	     "\tadd.u64 %%row, %%row, %%x;\n",
	     g->threads, GENERATOR_ROW);
	begin_base(g);
	begin_values(g);
	emit(g, "\tld.param.f32 %%f2, [p4];\n\tld.param.v2.b32 {%%t, %%n}, [p6];\n\tld.param.u16 %%s1, [p6+10];\n"
		"\txor.b32 %%a4, %%a4, %%n;\n\tadd.u32 %%a3, %%a3, %%t;\n");
	emit(g, "\tmov.u64 %%own, own;\n\tcvta.local.u64 %%own, %%own;\n");
	begin_arrays(g);
}

/* A float of a register. A NaN has many forms, so a number replaces it. */
static void end_float(struct generator *g, const char *type, const char *name, const char *zero)
{
	const char *q = temporary(g, 'q');

	emit(g, "\tsetp.nan.%s %s, %s, %s;\n\t@%s mov.%s %s, %s;\n", type, q, name, name, q, type, name, zero);
}

static void end_values(struct generator *g)
{
	static const char *const floats[] = { "%f0", "%f1", "%f2", "%e", "%e_" }, *const doubles[] = { "%d0", "%d1" };

	emit(g, "\tcvt.f32.f16 %%e, %%h0;\n\tcvt.f32.f16 %%e_, %%h1;\n");
	for (int i = 0; i < 5; i++)
		end_float(g, "f32", floats[i], "0f40400000");
	for (int i = 0; i < 2; i++)
		end_float(g, "f64", doubles[i], "0d4008000000000000");
	emit(g, "\tmov.u32 %%t, 0;\n");
	for (int i = 0; i < 3; i++)
		emit(g, "\tselp.u32 %%n, 1, 0, %%p%d;\n\tmad.lo.u32 %%t, %%t, 2, %%n;\n", i);
}

/* All values of a thread go to its row. */
static void end_kernel(struct generator *g)
{
	end_values(g);
	emit(g, "\tst.global.v4.u32 [%%row], {%%a0, %%a1, %%a2, %%a3};\n"
		"\tst.global.v4.u32 [%%row+16], {%%a4, %%u0, %%u1, %%w0};\n"
		"\tst.global.v2.u64 [%%row+48], {%%l0, %%l1};\n\tst.global.v2.u16 [%%row+72], {%%s0, %%s1};\n"
		"\tst.global.v2.f32 [%%row+80], {%%f0, %%f1};\n\tst.global.f32 [%%row+88], %%f2;\n"
		"\tst.global.v2.f64 [%%row+96], {%%d0, %%d1};\n\tst.global.v2.f32 [%%row+112], {%%e, %%e_};\n"
		"\tst.global.u32 [%%row+120], %%t;\n\tred.global.add.u32 [%%sums], %%a0;\n\tret;\n");
}

/* Registers that each function has. */
static void declare(struct generator *g, FILE *out)
{
	static const char *const fixed = ".reg .b32 %lin, %warp, %n, %t, %v, %base, %a<5>, %u<2>, %w0, %k<4>;\n"
					 "\t.reg .b64 %in, %row, %sums, %own, %x, %l<2>;\n\t.reg .b16 %s<2>, %h<2>;\n"
					 "\t.reg .f32 %f<3>, %e, %e_;\n\t.reg .f64 %d<2>;\n\t.reg .pred %p<3>;\n";
	static const struct {
		char letter;
		const char *type;
	} classes[] = {
		{ 't', "b32" }, { 'x', "b64" }, { 'y', "b16" }, { 'e', "f32" }, { 'g', "f64" }, { 'q', "pred" }
	};

	fprintf(out, "\t%s\t.local .align 16 .b8 own[64];\n", fixed);
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		if (g->numbers[(unsigned char)classes[i].letter])
			fprintf(out, "\t.reg .%s %%%c<%u>;\n", classes[i].type, classes[i].letter,
				g->numbers[(unsigned char)classes[i].letter]);
}

static void begin(struct generator *g)
{
	g->size = 0;
	g->busy = 0;
	g->labels = 0;
	memset(g->numbers, 0, sizeof(g->numbers));
	emit(g, "%s", "");
}

/* The result of a function, of all its values. */
static void end_function(struct generator *g)
{
	emit(g, "$end:\n");
	end_values(g);
	emit(g, "\txor.b32 %%t, %%t, %%a0;\n\txor.b32 %%t, %%t, %%a1;\n\tadd.u32 %%t, %%t, %%a2;\n"
		"\tmov.b32 %%n, %%f0;\n\txor.b32 %%t, %%t, %%n;\n\tadd.u64 %%l0, %%l0, %%l1;\n");
	switch (g->self.result) {
	case 'i': emit(g, "\tst.param.b32 [r], %%t;\n"); break;
	case 'l': emit(g, "\tcvt.u64.u32 %%x, %%t;\n\txor.b64 %%l0, %%l0, %%x;\n\tst.param.b64 [r], %%l0;\n"); break;
	case 'f': emit(g, "\tadd.f32 %%f0, %%f0, %%f1;\n\tst.param.f32 [r], %%f0;\n"); break;
	default: emit(g, "\tst.param.v2.b32 [r], {%%t, %%a3};\n\tst.param.b64 [r+8], %%l0;\n"); break;
	}
	emit(g, "\tret;\n");
}

/* Function @index: parameters x, y, z; n is the same for all; which lanes there are; how deep it may call itself. */
static void make_function(struct generator *g, FILE *out, uint32_t index)
{
	static const char results[] = "iiilfv";
	struct context context = { .level = LANE };

	begin(g);
	g->is_kernel = false;
	g->self = (struct callee){ .is_pure = !g->has_barriers || chance(g, 60), .result = results[any(g, 6)] };
	g->self.has_mask = g->has_warps && !g->self.is_pure && chance(g, 50);
	g->self.is_recursive = g->self.is_pure && chance(g, 30);
	g->n_functions = index;
	g->n_arrays = g->self.is_pure || g->self.has_mask ? 0 : 1;
	g->first_array = 2 + index;
	emit(g, "\tld.param.v2.b64 {%%in, %%row}, [pall];\n\tld.param.v2.b64 {%%sums, %%own}, [pall+16];\n"
		"\tld.param.b32 %%u0, [pn];\n");
	begin_places(g);
	begin_values(g);
	emit(g, "\tld.param.b32 %%base, [pmask];\n\tld.param.b32 %%a0, [px];\n\tld.param.b64 %%l0, [py];\n"
		"\tld.param.f32 %%f0, [pz];\n");
	begin_arrays(g);
	if (!g->self.is_pure) {
		snprintf(context.mask, sizeof(context.mask), "%%base");
		context.is_base = !g->self.has_mask;
		context.level = g->self.has_mask ? LANE : UNIFORM;
	}
	g->budget = 3 + (int)any(g, 5);
	add_statements(g, &context, 20);
	end_function(g);
	fprintf(out,
		".func (.param %s) function_%llu_%u(.param .b32 px, .param .b64 py, .param .f32 pz, .param .b32 pn, "
		".param .b32 pmask, .param .align 16 .b8 pall[32], .param .b32 pdepth)\n{\n",
		g->self.result == 'i'	? ".b32 r"
		: g->self.result == 'l' ? ".b64 r"
		: g->self.result == 'f' ? ".f32 r"
					: ".align 16 .b8 r[16]",
		(unsigned long long)g->seed, index);
	declare(g, out);
	fprintf(out, "%s}\n", g->text);
	g->functions[index] = g->self;
}

static void make_kernel(struct generator *g, FILE *out, uint32_t n_functions)
{
	struct context context = { .level = UNIFORM, .mask = "%base", .is_base = true };

	begin(g);
	g->is_kernel = true;
	g->n_functions = n_functions;
	g->n_arrays = g->has_barriers || g->has_warps || chance(g, 50) ? 2 : 0;
	g->first_array = 0;
	g->has_dynamic = g->n_arrays && chance(g, 30);
	begin_kernel(g);
	g->budget = 6 + (int)any(g, 15);
	add_statements(g, &context, 100);
	/* The code of a region is written for each barrier before it:
		make the last region the only one with the end. */
	if (g->has_barriers)
		emit(g, "\tbar.sync 0;\n");
	end_kernel(g);
	g->made->dynamic = g->has_dynamic ? 16 * g->threads : 0;
	fprintf(out, GENERATOR_COMMENT "\n", (unsigned long long)g->seed, g->made->grid[0], g->made->grid[1],
		g->made->grid[2], g->made->block[0], g->made->block[1], g->made->block[2], g->made->dynamic);
	fprintf(out,
		".visible .entry random_%llu(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u32 p3, "
		".param .f32 p4, .param .align 8 .b8 p5[8], .param .align 8 .b8 p6[12])\n{\n",
		(unsigned long long)g->seed);
	declare(g, out);
	fprintf(out, "%s}\n", g->text);
}

/* 1 to about 130 threads, in one to three dimensions. */
static void choose_sizes(struct generator *g, struct generated *made)
{
	static const uint32_t xs[] = { 1, 7, 31, 32, 32, 33, 48, 64, 64, 64, 65, 96, 96, 100, 128, 130 };

	made->block[0] = xs[any(g, sizeof(xs) / sizeof(*xs))];
	made->block[1] = made->block[2] = 1;
	if (chance(g, 35)) {
		made->block[0] = 1 + any(g, 12);
		made->block[1] = 1 + any(g, 8);
		made->block[2] = chance(g, 50) ? 1 : 1 + any(g, 3);
		while (made->block[0] * made->block[1] * made->block[2] > 130)
			made->block[1]--;
	}
	made->grid[0] = 1 + any(g, 3);
	made->grid[1] = chance(g, 80) ? 1 : 2;
	made->grid[2] = chance(g, 90) ? 1 : 2;
	g->threads = made->block[0] * made->block[1] * made->block[2];
}

void generator_kernel(FILE *out, uint64_t seed, const bool *left_out, size_t n_left_out,
		      struct generated *ret_generated)
{
	struct generator g = {
		.random = seed * 0x9e3779b97f4a7c15 + 1,
		.seed = seed,
		.left_out = left_out,
		.n_left_out = n_left_out,
		.made = ret_generated,
	};
	uint32_t roll, n_functions;

	for (int i = 0; i < 4; i++)
		any(&g, 2);
	memset(ret_generated, 0, sizeof(*ret_generated));
	ret_generated->seed = seed;
	choose_sizes(&g, ret_generated);
	roll = any(&g, 100);
	g.has_barriers = roll >= 15;
	g.has_warps = roll >= 35;
	g.has_exits = chance(&g, 30);
	n_functions = chance(&g, 55) ? 0 : 1 + any(&g, 2);
	for (uint32_t i = 0; i < 2 + n_functions; i++)
		fprintf(out, ".shared .align 16 .b8 array_%llu_%u[%u];\n", (unsigned long long)seed, i, 16 * g.threads);
	for (uint32_t i = 0; i < n_functions; i++)
		make_function(&g, out, i);
	make_kernel(&g, out, n_functions);
	ret_generated->n_statements = g.statement;
	free(g.text);
}
