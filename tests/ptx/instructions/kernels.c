/* SPDX-License-Identifier: MIT */
/* kernels.c - see kernels.h. */
#include "kernels.h"

#include "ptx/form.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

/* With TEST_FULL=1: as much as possible in vectors. */
#ifdef __x86_64__
#define FULL_OPTIONS "-O3 -march=native"
#else
#define FULL_OPTIONS "-O3"
#endif

/* What forms may name: variables, and functions to call. */
static const char preamble[] =
	".version 7.5\n.target sm_80\n.address_size 64\n"
	".global .align 16 .b8 gv[64];\n.const .align 16 .b8 cv[64];\n.shared .align 16 .b8 sv[64];\n"
	".extern .func (.param .b32 r) __nv_floorf (.param .b32 a);\n"
	".extern .func (.param .b32 r) __nv_expf (.param .b32 a);\n"
	".extern .func (.param .b32 r) __nv_exp2f (.param .b32 a);\n"
	".extern .func (.param .b32 r) __nv_exp10f (.param .b32 a);\n"
	".extern .func (.param .b32 r) __nv_logf (.param .b32 a);\n"
	".extern .func (.param .b32 r) __nv_log2f (.param .b32 a);\n"
	".extern .func (.param .b32 r) __nv_log10f (.param .b32 a);\n"
	".extern .func (.param .b32 r) __nv_powf (.param .b32 a, .param .b32 b);\n"
	".extern .func (.param .b32 r) __nv_sinf (.param .b32 a);\n"
	".extern .func (.param .b32 r) __nv_cosf (.param .b32 a);\n"
	".extern .func (.param .b32 r) __nv_hypotf (.param .b32 a, .param .b32 b);\n"
	".extern .func __nv_sincos (.param .b64 a, .param .b64 b, .param .b64 c);\n"
	".extern .func (.param .b64 r) __nv_erfinv (.param .b64 a);\n"
	".extern .func (.param .b64 r) __nv_erfcinv (.param .b64 a);\n"
	".extern .func (.param .b64 r) __nv_erfcx (.param .b64 a);\n"
	".extern .func (.param .b64 r) __nv_normcdfinv (.param .b64 a);\n"
	".extern .func (.param .b64 r) __nv_cyl_bessel_i0 (.param .b64 a);\n"
	".extern .func (.param .b64 r) __nv_cyl_bessel_i1 (.param .b64 a);\n"
	".extern .func (.param .b32 r) unknown (.param .b32 a);\n"
	".func (.param .b32 r) up (.param .b32 a)\n"
	"{ .reg .b32 %x; ld.param.b32 %x, [a]; add.s32 %x, %x, 1; st.param.b32 [r], %x; ret; }\n"
	".func (.param .b32 r) down (.param .b32 a)\n"
	"{ .reg .b32 %x; ld.param.b32 %x, [a]; sub.s32 %x, %x, 1; st.param.b32 [r], %x; ret; }\n"
	".func (.reg .b32 %r) weigh (.reg .b32 %a, .reg .b64 %b)\n"
	"{ .reg .b64 %h; .reg .b32 %w; shr.u64 %h, %b, 32; cvt.u32.u64 %w, %h; mad.lo.u32 %r, %a, 3, %w; ret; }\n";

static uint64_t at_start(const struct adsm_ptx_writer *writer, const struct adsm_ptx_variable *variable)
{
	(void)writer;
	(void)variable;
	return 0;
}

static _Noreturn void die(const char *what, const char *detail)
{
	fprintf(stderr, "%s: %s\n", what, detail);
	exit(1);
}

static void print_form(FILE *out, const struct form *form, size_t index)
{
	fprintf(out, ".visible .entry form_%zu(.param .align 16 .b8 pv[64])\n{\n\t.local .align 16 .b8 lv[64];\n",
		index);
	for (const char *at = form->registers; *at;) {
		char name, type[8];

		sscanf(at, " %c:%7[a-z0-9]", &name, type);
		fprintf(out, "\t.reg .%s %%%c;\n", type, name);
		at = strchr(at + 1, ' ') ? strchr(at + 1, ' ') + 1 : "";
	}
	fprintf(out, "\t%s\n\tret;\n}\n", form->text);
}

static struct adsm_ptx_module *parse(struct form *const *forms, size_t n)
{
	struct adsm_ptx_error error = { 0, "" };
	struct adsm_ptx_module *module;
	size_t size;
	char *text;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		die("open_memstream", "no memory");
	fputs(preamble, out);
	for (size_t i = 0; i < n; i++)
		print_form(out, forms[i], i);
	fclose(out);
	if (adsm_ptx_parse(text, size, &module, &error)) {
		const char *line = text;

		for (int i = 1; i < error.line && line; i++)
			line = strchr(line, '\n') + 1;
		fprintf(stderr, "line %d: %s\n%.*s\n", error.line, error.text, (int)strcspn(line, "\n"), line);
		exit(1);
	}
	free(text);
	return module;
}

/* The declarations of registers. Those of a form have columns, which they are loaded from. */
static void write_registers(struct adsm_ptx_writer *writer, uint32_t n_columns)
{
	const struct adsm_ptx_function *function = writer->function;

	for (uint32_t i = 0; i < function->n_registers; i++) {
		const enum adsm_ptx_type type = function->registers[i].type;

		adsm_ptx_print(writer, "\t\t%s r%u", adsm_ptx_c_register(type), i);
		if (i >= n_columns)
			adsm_ptx_print(writer, ";\n");
		else if (type == ADSM_PTX_f32)
			adsm_ptx_print(writer, " = ptx_f32((uint32_t)v[%u][t]);\n", i);
		else if (type == ADSM_PTX_f64)
			adsm_ptx_print(writer, " = ptx_f64(v[%u][t]);\n", i);
		else
			adsm_ptx_print(writer, " = (%s)v[%u][t];\n", adsm_ptx_c_register(type), i);
	}
	for (uint32_t i = 0; i < function->n_variables; i++)
		if (function->variables[i]->space == ADSM_PTX_PARAM)
			adsm_ptx_print(writer, "\t\tchar q%u[16] __attribute__((aligned(16)));\n", i);
}

static void write_body(struct adsm_ptx_writer *writer)
{
	const struct adsm_ptx_function *function = writer->function;

	for (uint32_t i = 0; i < function->n; i++) {
		if (adsm_ptx_is(&function->instructions[i], "ret"))
			continue;
		adsm_ptx_print(writer, "\t\t");
		adsm_ptx_statement(writer, &function->instructions[i]);
	}
}

static void write_entry(struct adsm_ptx_writer *writer, uint32_t n_columns)
{
	const struct adsm_ptx_function *function = writer->function;

	adsm_ptx_print(writer, "void %s(uint64_t *const *v, size_t n, char *memory)\n{\n"
		       "\tconst struct ptx_block *const k = &block;\n"
		       "\tconst uint32_t nx = 8, ny = 4, nz = 5, bx = 3, by = 2, bz = 1, gx = 9, gy = 8, gz = 7;\n"
		       "\tfor (uint32_t t = 0; t < n; t++) {\n"
		       "\t\tconst uint32_t tx = t %% 8, ty = t / 8 %% 4, tz = t / 32;\n"
		       "\t\tchar *const lm = memory + %d * (size_t)t, *const sh = lm, *const g0 = lm, *const g1 = lm;\n"
		       "\t\tconst char *const a0 = lm;\n\t\tuint32_t cc = 0;\n", function->name, ROW);
	write_registers(writer, n_columns);
	write_body(writer);
	for (uint32_t i = 0; i < n_columns; i++)
		adsm_ptx_print(writer, function->registers[i].type == ADSM_PTX_f32 ? "\t\tv[%u][t] = ptx_b32(r%u);\n" :
			       function->registers[i].type == ADSM_PTX_f64 ? "\t\tv[%u][t] = ptx_b64(r%u);\n" :
			       "\t\tv[%u][t] = r%u;\n", i, i);
	adsm_ptx_print(writer, "\t}\n}\n");
}

/* Functions that forms call. Registers may be their parameters. */
static void write_function(struct adsm_ptx_writer *writer, uint32_t index)
{
	const struct adsm_ptx_function *function = writer->function;

	adsm_ptx_print(writer,
		       "static void f_%u(const struct ptx_block *k, uint32_t t, uint32_t tx, uint32_t ty, uint32_t tz",
		       index);
	for (uint32_t i = 0; i < function->n_results; i++)
		adsm_ptx_print(writer, ", char *o%u", i);
	for (uint32_t i = 0; i < function->n_params; i++)
		adsm_ptx_print(writer, ", char *a%u", i);
	adsm_ptx_print(writer, ")\n{\n");
	write_registers(writer, 0);
	for (uint32_t i = 0; i < function->n_params; i++)
		if (function->params[i].space == ADSM_PTX_REG)
			adsm_ptx_print(writer, "\t\tmemcpy(&r%u, a%u, sizeof(r%u));\n", function->params[i].reg, i,
				       function->params[i].reg);
	write_body(writer);
	for (uint32_t i = 0; i < function->n_results; i++)
		if (function->results[i].space == ADSM_PTX_REG)
			adsm_ptx_print(writer, "\t\tmemcpy(o%u, &r%u, sizeof(r%u));\n", i, function->results[i].reg,
				       function->results[i].reg);
	adsm_ptx_print(writer, "}\n");
}

static uint32_t count_columns(const struct form *form)
{
	uint32_t n = 1;

	for (const char *at = form->registers; *at; at++)
		n += *at == ' ' && at[1];
	return n;
}

/* The C text of a module; NULL: it is refused. */
static char *translate(const struct adsm_ptx_module *module, struct form *const *forms, struct adsm_ptx_error *error)
{
	struct adsm_ptx_writer writer = { .module = module, .shared_offset = at_start, .local_offset = at_start,
					  .error = error };

	if (setjmp(writer.refused)) {
		if (writer.function)
			error->line = atoi(writer.function->name + 5);
		free(writer.text.bytes);
		return NULL;
	}
	adsm_ptx_print(&writer, "#include \"runtime.h\"\n#include \"runtime_float.h\"\n#include \"runtime_half.h\"\n"
		       "#include \"runtime_special.h\"\n#include \"runtime_angle.h\"\n"
		       "#include \"texture.h\"\n#include \"runtime_texture.h\"\n"
		       "#include \"runtime_convert.h\"\n#include \"runtime_memory.h\"\n"
		       "static const struct ptx_block block = {\n"
		       "\t.shared_size = %d, .dynamic_size = 16, .grid = 77\n};\n", ROW);
	for (uint32_t i = 0; i < module->n_functions; i++) {
		writer.function = module->functions[i];
		if (writer.function->is_entry)
			write_entry(&writer, count_columns(forms[atoi(writer.function->name + 5)]));
		else if (writer.function->has_body)
			write_function(&writer, i);
	}
	return writer.text.bytes;
}

int kernels_start(struct kernels_place *place, const char *cc, const char *include)
{
	const char *tmp = getenv("TMPDIR");

	place->cc = cc;
	place->include = include;
	snprintf(place->folder, sizeof(place->folder), "%s/adsm-ptx-XXXXXX", tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	return mkdtemp(place->folder) ? 0 : -1;
}

void *kernels_build(const struct kernels_place *place, struct form *const *forms, size_t n)
{
	struct adsm_ptx_module *module = parse(forms, n);
	struct adsm_ptx_error error = { 0, "" };
	char *text = translate(module, forms, &error), path[128], command[1024];
	void *library;
	FILE *out;

	if (!text)
		die(forms[error.line]->text, error.text);
	adsm_ptx_destroy(module);
	snprintf(path, sizeof(path), "%s/forms.c", place->folder);
	out = fopen(path, "w");
	if (!out || fputs(text, out) < 0 || fclose(out))
		die(path, "cannot be written");
	free(text);
	snprintf(command, sizeof(command),
		 "cd %s && %s %s -std=gnu11 -shared -fPIC -w -ffp-contract=off -fno-math-errno "
		 "-fno-trapping-math -fno-strict-aliasing -fwrapv -I%s -o forms.so forms.c -lm", place->folder,
			place->cc,
		 getenv("TEST_FULL") ? FULL_OPTIONS : "-O2", place->include);
	if (system(command))
		die(command, "failed");
	snprintf(path, sizeof(path), "%s/forms.so", place->folder);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		die(path, dlerror());
	return library;
}

void kernels_end(struct kernels_place *place)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/forms.so", place->folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/forms.c", place->folder);
	unlink(path);
	rmdir(place->folder);
}

size_t kernels_check_refusals(void)
{
	static const struct { const char *registers, *text, *words; } list[] = {
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
		{ "d:b32:i a:b32:i", "call (%d), unknown, (%a);",
			"it calls unknown, which the module does not define" },
		{ "d:b32:i a:b64:m", "atom.global.add.b32 %d, [%a], 1;", "atom.global.add.b32 is not supported" },
		{ "d:b32:i a:b32:i", "vadd.s32.s32.s32 %d, %a, %a;", "vadd.s32.s32.s32 is not supported" },
	};
	size_t n_wrong = 0;

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		struct form form = { .text = "" }, *forms[] = { &form };
		struct adsm_ptx_error error = { 0, "" };
		struct adsm_ptx_module *module;
		char *text;

		snprintf(form.text, sizeof(form.text), "%s", list[i].text);
		snprintf(form.registers, sizeof(form.registers), "%s", list[i].registers);
		module = parse(forms, 1);
		text = translate(module, forms, &error);
		if (text || !strstr(error.text, list[i].words)) {
			printf("%s\n\t%s, expected: %s\n", list[i].text, text ? "is not refused" : error.text,
			       list[i].words);
			n_wrong++;
		}
		free(text);
		adsm_ptx_destroy(module);
	}
	return n_wrong;
}
