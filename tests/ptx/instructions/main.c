/* SPDX-License-Identifier: MIT */
/*
 * main.c - each form of PTX's instructions that lib/ptx translates, compiled, on edge values and random ones, against a
 * model. Forms that become the same C, and have the same model, are tried once.
 *
 * instructions MODE N/M CC LIB_PTX	part N of M of the forms of a mode:
 *	sample		some forms of each opcode, 3,000 values
 *	some		all forms, 100,000 values
 *	full		all forms, 10^7 values
 *	exhaustive	approximations and conversions of 32 bits, all values
 *	spread		the same, every 101st piece of the values
 * instructions MODE WORD CC LIB_PTX	those whose text begins with the word
 * instructions threads N CC INCLUDE	what threads of a block do together, N times
 * instructions tables [FILE]		the tables of the document, in Markdown; does the file have them?
 */
#include "coverage.h"
#include "refused.h"
#include "run.h"
#include "table.h"
#include "threads.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>

#define BATCH 128
#define SAMPLE 100			/* forms of an opcode */
#define SAMPLE_VALUES 3000
#define SOME_VALUES 100000
#define FULL_VALUES 10000000
#define SPREAD_STRIDE 101
#define SAMPLE_STRIDE 1021

/* As modules are compiled; and without an operation that is more exact, and that some processors have. */
#ifdef __x86_64__
#define OPTIONS "-O3 -march=native"
#else
#define OPTIONS "-O3"
#endif
#define OLD_OPTIONS "-O3"
#define SAMPLE_OPTIONS "-O1"

static struct form *forms;
static size_t n_forms, room;

struct form *add_form(model model, const char *registers, const char *format, ...)
{
	struct form *form;
	va_list args;

	if (n_forms == room) {
		/* Forms are filled in before the next one is added. */
		room = 2 * room + 1024;
		forms = realloc(forms, room * sizeof(*forms));
		if (!forms)
			abort();
	}
	form = &forms[n_forms++];
	memset(form, 0, sizeof(*form));
	form->model = model;
	snprintf(form->registers, sizeof(form->registers), "%s", registers);
	va_start(args, format);
	vsnprintf(form->text, sizeof(form->text), format, args);
	va_end(args);
	for (const char *at = registers; *at && strchr("dqrw", *at); at = strchr(at, ' ') ? strchr(at, ' ') + 1 : "")
		form->n_out++;
	return form;
}

struct bound *add_bound(struct form *form, struct bound bound)
{
	if (form->n_bounds == BOUNDS)
		abort();
	form->bounds[form->n_bounds] = bound;
	return &form->bounds[form->n_bounds++];
}

/* Of an opcode with many forms a sample has some: those at a distance that has no factor of the numbers of types. */
static bool is_in_sample(const struct form *form)
{
	static struct opcode { char name[24]; size_t n, seen, stride; } opcodes[128];
	struct opcode *opcode = opcodes;
	char name[24];

	table_opcode(form->text, name, sizeof(name));
	while (opcode->n && strcmp(opcode->name, name) != 0)
		opcode++;
	if (!opcode->n) {
		snprintf(opcode->name, sizeof(opcode->name), "%s", name);
		for (size_t i = 0; i < n_forms; i++) {
			table_opcode(forms[i].text, name, sizeof(name));
			opcode->n += !forms[i].same && !strcmp(opcode->name, name);
		}
		opcode->stride = opcode->n <= SAMPLE ? 1 : opcode->n / SAMPLE | 1;
		while (opcode->stride > 1 && (opcode->stride % 3 == 0 || opcode->stride % 5 == 0 ||
					      opcode->stride % 7 == 0 || opcode->stride % 13 == 0))
			opcode->stride += 2;
	}
	return opcode->seen++ % opcode->stride == 0;
}

/* Is the form tried with all values of its operand? */
static bool is_exhaustive(const struct form *form)
{
	struct value_register registers[REGISTERS];

	return form->n_out == 1 && values_are_many(form, registers, run_registers(form, registers));
}

static kernel find_kernel(void *library, size_t index)
{
	char name[32];
	kernel found;

	snprintf(name, sizeof(name), "form_%zu", index);
	found = (__typeof__(found))dlsym(library, name);
	if (!found)
		abort();
	return found;
}

/* Run a batch of forms. Returns the number of forms that are wrong. */
static size_t run_batch(const struct kernels_place *place, struct form *const *batch, size_t n, const char *mode)
{
	const bool is_sample = !strcmp(mode, "sample"), is_some = !strcmp(mode, "some");
	const bool is_full = !strcmp(mode, "full") || is_some, all = !is_sample && !is_full;
	const unsigned stride = !strcmp(mode, "spread") ? SPREAD_STRIDE : is_sample ? SAMPLE_STRIDE : 1;
	void *library = n ? kernels_build(place, batch, n, is_sample ? SAMPLE_OPTIONS : OPTIONS) : NULL;
	void *old = n && all ? kernels_build(place, batch, n, OLD_OPTIONS) : NULL;
	size_t n_failed = 0;

	for (size_t i = 0; i < n; i++) {
		kernel kernels[2] = { find_kernel(library, i), old ? find_kernel(old, i) : NULL };

		int failed = 0;

		if (!all)
			failed = run_some(batch[i], kernels[0], is_sample ? SAMPLE_VALUES :
					  is_some ? SOME_VALUES : FULL_VALUES);
		if (!is_full && is_exhaustive(batch[i]))
			failed |= run_all(batch[i], kernels, batch[i]->section && old ? 2 : 1, stride);
		n_failed += (size_t)failed;
	}
	if (library)
		dlclose(library);
	if (old)
		dlclose(old);
	return n_failed;
}

/* Run the forms of a part. Returns the number that are wrong. */
static size_t run_part(const struct kernels_place *place, const char *mode, const char *which, size_t *ret_n)
{
	struct form *batch[BATCH];
	unsigned part = 1, n_parts = 1, index = 0;
	const bool by_part = sscanf(which, "%u/%u", &part, &n_parts) == 2;
	size_t n = 0, n_failed = 0;

	for (size_t i = 0; i < n_forms; i++) {
		const bool is_first = !forms[i].same;
		bool is = is_first && (!strcmp(mode, "sample") ? !by_part || is_in_sample(&forms[i]) :
				       !strcmp(mode, "full") || !strcmp(mode, "some") || is_exhaustive(&forms[i]));

		is &= by_part || !strncmp(forms[i].text, which, strlen(which));
		if (is && (!by_part || index++ % n_parts == part - 1)) {
			batch[n++] = &forms[i];
			++*ret_n;
		}
		if (n == BATCH || (i == n_forms - 1 && n)) {
			n_failed += run_batch(place, batch, n, mode);
			n = 0;
		}
	}
	return n_failed;
}

/* Print the errors of approximations. Returns the number of those that are larger than the documents say. */
static size_t print_errors(void)
{
	size_t n_wrong = 0;

	for (size_t i = 0; i < n_forms; i++) {
		for (int j = 0; j < forms[i].n_bounds && forms[i].section; j++) {
			const struct bound *bound = &forms[i].bounds[j];
			char name[64];

			if (bound->worst == 0)
				continue;
			table_next(forms[i].text, name, sizeof(name));
			printf("%-24s operands %g to %g: largest error %s%.2f%s, bound %s%g\n", name, bound->least,
			       bound->most, bound->kind == 'u' ? "" : "2^", table_error(bound, bound->worst),
			       bound->kind == 'u' ? " ulp" : bound->kind == 'r' ? " relative" : " absolute",
			       bound->kind == 'u' ? "" : "2^", bound->limit);
			if (table_error(bound, bound->worst) <= bound->seen + 1e-9 || isinf(bound->limit))
				continue;
			printf("\tthe documents say %g\n", bound->seen);
			n_wrong++;
		}
	}
	return n_wrong;
}

/* Has a document a table? */
static int check_table(const char *document, const char *path, const char *table)
{
	if (strstr(document, table))
		return 0;
	printf("%s does not have a table that ptx-instructions tables prints:\n%.200s\n", path, table);
	return 1;
}

/* Print the tables, or look for them in a document. Returns the number of those that are missing. */
static int run_tables(const char *path)
{
	static char document[1 << 20];
	int n_missing = 0;
	FILE *in = path ? fopen(path, "r") : NULL;

	if (path && !in) {
		perror(path);
		return 1;
	}
	if (in) {
		document[fread(document, 1, sizeof(document) - 1, in)] = '\0';
		fclose(in);
	}
	for (int i = 0; i < 3; i++) {
		char *table;
		size_t size;
		FILE *out = open_memstream(&table, &size);

		if (!out)
			return 1;
		if (i == 0)
			table_print(out, forms, n_forms);
		else if (i == 1)
			table_print_bounds(out, forms, n_forms);
		else
			refused_print(out);
		fclose(out);
		if (path)
			n_missing += check_table(document, path, table);
		else
			printf("%s\n", table);
		free(table);
	}
	return n_missing;
}

int main(int argc, char **argv)
{
	struct kernels_place place;
	size_t n_run = 0, n_different = 0, n_failed;

	half_prepare();
	add_integers();
	add_bits();
	add_floats();
	add_halves();
	add_comparisons();
	add_conversions();
	add_memory();
	add_calls();
	add_textures();
	if (argc > 1 && !strcmp(argv[1], "tables")) {
		n_failed = argc > 2 ? coverage_check(forms, n_forms) + refused_check() : 0;
		return run_tables(argc > 2 ? argv[2] : NULL) + (n_failed ? 1 : 0);
	}
	if (argc < 5 || kernels_start(&place, argv[3], argv[4]))
		return 1;
	if (!strcmp(argv[1], "threads")) {
		n_failed = threads_run(&place, argv[4], (unsigned)atoi(argv[2]), &n_run);
		kernels_end(&place);
		printf("%zu forms, %zu wrong\n", n_run, n_failed);
		return n_failed != 0;
	}
	kernels_translate(forms, n_forms);
	n_failed = run_part(&place, argv[1], argv[2], &n_run);
	kernels_end(&place);
	n_failed += print_errors();
	for (size_t i = 0; i < n_forms; i++)
		n_different += !forms[i].same;
	printf("%zu forms of %zu different ones among %zu, %zu wrong\n", n_run, n_different, n_forms, n_failed);
	return n_failed != 0;
}
