/* SPDX-License-Identifier: MIT */
/* kernels.c - see kernels.h. */
#include "kernels.h"

#include "ptx/code/list.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

/* What forms may name: variables, and functions to call. */
static const char preamble[] =
	".version 7.5\n.target sm_80\n.address_size 64\n"
	".global .align 16 .b8 gv[64];\n.const .align 16 .b8 cv[64];\n.shared .align 16 .b8 sv[64];\n"
	".extern .global .u32 outside;\n"
	".extern .func (.param .b32 r) __nv_floorf (.param .b32 a);\n"
	".extern .func (.param .b32 r) __nv_expf (.param .b32 a);\n"
	".extern .func (.param .b32 r) __nv_exp2f (.param .b32 a);\n"
	".extern .func (.param .b32 r) __nv_exp10f (.param .b32 a);\n"
	".extern .func (.param .b32 r) __nv_logf (.param .b32 a);\n"
	".extern .func (.param .b32 r) __nv_log2f (.param .b32 a);\n"
	".extern .func (.param .b32 r) __nv_log10f (.param .b32 a);\n"
	".extern .func (.param .b32 r) __nv_powf (.param .b32 a, .param .b32 b);\n"
	".extern .func (.param .b32 r) __nv_powif (.param .b32 a, .param .b32 b);\n"
	".extern .func (.param .b32 r) __nv_sinf (.param .b32 a);\n"
	".extern .func (.param .b32 r) __nv_cosf (.param .b32 a);\n"
	".extern .func (.param .b32 r) __nv_hypotf (.param .b32 a, .param .b32 b);\n"
	".extern .func __nv_sincos (.param .b64 a, .param .b64 b, .param .b64 c);\n"
	".extern .func (.param .b64 r) __nv_erfinv (.param .b64 a);\n"
	".extern .func (.param .b64 r) __nv_erfcinv (.param .b64 a);\n"
	".extern .func (.param .b64 r) __nv_erfcx (.param .b64 a);\n"
	".extern .func (.param .b64 r) __nv_normcdf (.param .b64 a);\n"
	".extern .func (.param .b64 r) __nv_normcdfinv (.param .b64 a);\n"
	".extern .func (.param .b64 r) __nv_sinpi (.param .b64 a);\n"
	".extern .func (.param .b64 r) __nv_cospi (.param .b64 a);\n"
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

/* NULL: the text is not PTX. */
static struct adsm_ptx_module *parse(struct form *const *forms, size_t n, struct adsm_ptx_error *ret_error)
{
	struct adsm_ptx_module *module = NULL;
	size_t size;
	char *text;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		die("open_memstream", "no memory");
	fputs(preamble, out);
	for (size_t i = 0; i < n; i++)
		print_form(out, forms[i], i);
	fclose(out);
	adsm_ptx_parse(text, size, &module, ret_error);
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

static void write_entry(struct adsm_ptx_writer *writer, uint32_t n_columns, uint32_t n_out)
{
	const struct adsm_ptx_function *function = writer->function;

	adsm_ptx_print(writer, "(uint64_t *const *v, size_t n, char *memory)\n{\n"
		       "\tconst struct ptx_block *const k = &block;\n\trows = memory;\n"
		       "\tconst uint32_t nx = 8, ny = 4, nz = 5, bx = 3, by = 2, bz = 1, gx = 9, gy = 8, gz = 7;\n"
		       "\tfor (uint32_t t = 0; t < n; t++) {\n"
		       "\t\tconst uint32_t tx = t %% 8, ty = t / 8 %% 4, tz = t / 32;\n"
		       "\t\tchar *const lm = memory + %d * (size_t)t, *const sh = lm, *const g0 = lm, *const g1 = lm;\n"
		       "\t\tconst char *const a0 = lm;\n\t\tuint32_t cc = 0;\n", ROW);
	write_registers(writer, n_columns);
	write_body(writer);
	for (uint32_t i = 0; i < n_out; i++)
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

/* What is before the functions of forms: the functions that they call are part of it. */
static const char head[] =
	"#include \"runtime.h\"\n#include \"runtime_float.h\"\n#include \"runtime_half.h\"\n"
	"#include \"runtime_special.h\"\n#include \"runtime_angle.h\"\n#include \"texture.h\"\n"
	"#include \"runtime_texture.h\"\n#include \"runtime_convert.h\"\n#include \"runtime_memory.h\"\n"
	"static char *rows;\n"
	"static void stop(const struct ptx_block *k, uint32_t t, const char *text) { rows[64 * t] = 77; }\n"
	"static const struct ptx_block block = { .shared_size = 64, .dynamic_size = 16, .trap = stop };\n";
static char *functions;			/* the functions that forms call */

/* Set the code of the forms of a module. Returns the index of the one that is refused; -1: none. */
static int translate(const struct adsm_ptx_module *module, struct form *const *forms, struct adsm_ptx_error *error)
{
	struct adsm_ptx_writer writer = { .module = module, .shared_offset = at_start, .local_offset = at_start,
					  .error = error };

	if (setjmp(writer.refused)) {
		free(writer.text.bytes);
		return writer.function ? atoi(writer.function->name + 5) : 0;
	}
	for (uint32_t i = 0; i < module->n_functions; i++) {
		writer.function = module->functions[i];
		if (!writer.function->has_body)
			continue;
		adsm_ptx_print(&writer, "%s", "");
		if (writer.function->is_entry) {
			struct form *form = forms[atoi(writer.function->name + 5)];

			writer.text.size = 0;
			write_entry(&writer, count_columns(form), (uint32_t)form->n_out);
			form->code = strdup(writer.text.bytes);
		} else if (!functions) {
			write_function(&writer, i);
		}
		/* Functions come before entries. */
		if (!writer.function->is_entry && module->functions[i + 1]->is_entry && !functions)
			functions = strdup(writer.text.bytes);
	}
	free(writer.text.bytes);
	return -1;
}

#define BATCH 256
#define BUCKETS 32768

static bool are_equal(const struct form *a, const struct form *b)
{
	return a->model == b->model && a->n_out == b->n_out && a->operation == b->operation && a->bits == b->bits &&
	       a->to_bits == b->to_bits && a->is_signed == b->is_signed && a->to_signed == b->to_signed &&
	       a->ftz == b->ftz && a->sat == b->sat && a->flag == b->flag && a->mode == b->mode &&
	       a->extra == b->extra && a->type == b->type && a->to_type == b->to_type &&
	       a->uses_memory == b->uses_memory && !a->n_bounds && !b->n_bounds &&
	       !strcmp(a->registers, b->registers) && !strcmp(a->code, b->code);
}

void kernels_translate(struct form *forms, size_t n)
{
	static const struct form *buckets[BUCKETS];

	for (size_t i = 0; i < n; i += BATCH) {
		const size_t count = n - i < BATCH ? n - i : BATCH;
		struct form *batch[BATCH];
		struct adsm_ptx_module *module;
		struct adsm_ptx_error error = { 0, "" };
		int refused;

		for (size_t j = 0; j < count; j++)
			batch[j] = &forms[i + j];
		module = parse(batch, count, &error);
		if (!module) {
			fprintf(stderr, "line %d, in the forms from %s on\n", error.line, batch[0]->text);
			die("the parser", error.text);
		}
		refused = translate(module, batch, &error);
		if (refused >= 0)
			die(batch[refused]->text, error.text);
		adsm_ptx_destroy(module);
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t hash = 2166136261u;

		for (const char *at = forms[i].code; *at; at++)
			hash = (hash ^ (unsigned char)*at) * 16777619u;
		while (buckets[hash % BUCKETS] && !are_equal(buckets[hash % BUCKETS], &forms[i]))
			hash++;
		forms[i].same = buckets[hash % BUCKETS];
		if (!forms[i].same)
			buckets[hash % BUCKETS] = &forms[i];
	}
}

int kernels_start(struct kernels_place *place, const char *cc, const char *include)
{
	const char *tmp = getenv("TMPDIR");

	place->cc = cc;
	place->include = include;
	snprintf(place->folder, sizeof(place->folder), "%s/adsm-ptx-XXXXXX", tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	return mkdtemp(place->folder) ? 0 : -1;
}

void *kernels_build(const struct kernels_place *place, struct form *const *forms, size_t n, const char *options)
{
	static int count;
	char path[128], command[1024];
	void *library;
	FILE *out;

	snprintf(path, sizeof(path), "%s/forms.c", place->folder);
	out = fopen(path, "w");
	if (!out)
		die(path, "cannot be written");
	fprintf(out, "%s%s", head, functions ? functions : "");
	for (size_t i = 0; i < n; i++)
		fprintf(out, "void form_%zu%s", i, forms[i]->code);
	if (fclose(out))
		die(path, "cannot be written");
	/* The loader takes two files of one name for the same library. */
	snprintf(path, sizeof(path), "%s/forms-%d.so", place->folder, count++);
	snprintf(command, sizeof(command),
		 "%s %s -std=gnu11 -shared -fPIC -w -ffp-contract=off -fno-math-errno "
		 "-fno-trapping-math -fno-strict-aliasing -fwrapv -I%s -o %s %s/forms.c -lm", place->cc, options,
		 place->include, path, place->folder);
	if (system(command))
		die(command, "failed");
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		die(path, dlerror());
	unlink(path);
	return library;
}

void kernels_end(struct kernels_place *place)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/forms.c", place->folder);
	unlink(path);
	rmdir(place->folder);
}

const char *kernels_refusal(const char *registers, const char *text)
{
	static struct adsm_ptx_error error;
	struct form form = { .text = "" }, *forms[] = { &form };
	struct adsm_ptx_module *module;
	int refused;

	error = (struct adsm_ptx_error){ 0, "" };
	snprintf(form.text, sizeof(form.text), "%s", text);
	snprintf(form.registers, sizeof(form.registers), "%s", registers);
	form.n_out = 1;
	module = parse(forms, 1, &error);
	if (!module)
		return error.text;
	refused = translate(module, forms, &error);
	free(form.code);
	adsm_ptx_destroy(module);
	return refused < 0 ? NULL : error.text;
}
