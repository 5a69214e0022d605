/* SPDX-License-Identifier: MIT */
/*
 * main.c - each form of PTX's instructions that lib/ptx translates, compiled, on edge values and random ones, against a
 * model. Without TEST_FULL=1 a sample of forms and values. TEST_VALUES=N: N values for each form. TEST_EXHAUSTIVE=1:
 * all f32 for conversions and approximations.
 *
 * instructions CC LIB_PTX		all forms
 * instructions CC LIB_PTX N/M	part N of M of them
 * instructions CC LIB_PTX WORD	only forms whose text begins with WORD, and all of these
 * instructions --table [FILE]		the table of supported forms, in Markdown; is it in the file?
 */
#include "forms.h"

#include "kernels.h"
#include "table.h"
#include "values.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#define CHUNK 4096
#define BATCH 128
#define SAMPLE 32			/* forms of an opcode */

static struct form *forms;
static size_t n_forms, room;
bool any_result;
uint64_t shared_base;
uint32_t current_thread;

static uint64_t columns[REGISTERS][CHUNK], inputs[REGISTERS][CHUNK];
static uint8_t memory[CHUNK * ROW] __attribute__((aligned(64)));
static uint8_t model_memory[CHUNK * ROW] __attribute__((aligned(64)));

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

/* The name, the type's size and the kind of each register. */
static int parse_registers(const struct form *form, struct value_register *registers)
{
	int n = 0;

	for (const char *at = form->registers; *at; n++) {
		struct value_register *reg = &registers[n];
		char type[8];

		if (sscanf(at, " %c:%7[a-z0-9]:%c", &reg->name, type, &reg->kind) != 3)
			abort();
		reg->bits = !strcmp(type, "pred") ? 1 : strstr(type, "64") ? 64 : strstr(type, "32") ? 32 : 16;
		at = strchr(at + 1, ' ') ? strchr(at + 1, ' ') + 1 : "";
	}
	return n;
}

static void fill(const struct form *form, const struct value_register *registers, int n, uint64_t start, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t row[REGISTERS] = { 0 };

		values_fill(form, registers, n, start + i, row);
		for (int r = 0; r < n; r++) {
			const uint64_t offset = registers[r].kind == '0' ? 0 : 16 * (row[r] % 3);
			const bool is_place = strchr("ms0", registers[r].kind) != NULL;

			columns[r][i] = !is_place ? row[r] : registers[r].kind == 's' ? offset :
					(uint64_t)(uintptr_t)&memory[i * ROW + offset];
			inputs[r][i] = is_place && form->uses_memory ?
				(uint64_t)(uintptr_t)&model_memory[i * ROW + offset] :
				       columns[r][i];
		}
		if (form->uses_memory)
			values_fill_memory(form, &memory[i * ROW], ROW);
	}
	if (form->uses_memory)
		memcpy(model_memory, memory, sizeof(memory));
}

static int report(const struct form *form, const struct value_register *registers, int n, size_t i, int r,
		  const uint64_t *expected)
{
	printf("%s\n\t%%%c is 0x%llx, expected 0x%llx", form->text, registers[r].name,
	       (unsigned long long)columns[r][i],
	       (unsigned long long)expected[r]);
	if (strchr("AECD", registers[r].kind))
		printf(" (%a, exact %a)", values_number(registers[r].kind, columns[r][i]), bits_f64(expected[r]));
	for (int j = form->n_out; j < n; j++)
		printf("%s%%%c = 0x%llx", j > form->n_out ? ", " : ", for ", registers[j].name,
		       (unsigned long long)inputs[j][i]);
	printf("\n");
	return 1;
}

/* Compare a chunk of results. Returns 1 if something is wrong, which is printed. */
static int compare(struct form *form, const struct value_register *registers, int n, size_t count)
{
	int failed = 0;

	fesetround(form->mode);
	for (size_t i = 0; i < count && !failed; i++) {
		uint64_t v[REGISTERS] = { 0 };
		bool used;

		for (int r = 0; r < n; r++)
			v[r] = inputs[r][i];
		used = values_are_in_bound(form, v[form->n_out]);
		any_result = false;
		current_thread = (uint32_t)i;
		shared_base = (uint64_t)(uintptr_t)&memory[i * ROW];
		form->model(form, v);
		for (int r = 0; r < form->n_out && used && !any_result; r++) {
			if (!values_agree(form, &registers[r], columns[r][i], v[r])) {
				fesetround(FE_TONEAREST);
				failed = report(form, registers, n, i, r, v);
				break;
			}
		}
		if (form->uses_memory && !failed && !values_memory_agrees(form, &memory[i * ROW],
			&model_memory[i * ROW], ROW)) {
			printf("%s\n\tmemory differs\n", form->text);
			failed = 1;
		}
	}
	fesetround(FE_TONEAREST);
	return failed;
}

static int run_form(struct form *form, kernel kernel, uint64_t n_values)
{
	struct value_register registers[REGISTERS];
	const int n = parse_registers(form, registers);
	uint64_t *pointers[REGISTERS];
	const uint64_t all = values_all(form, registers, n);

	if (all)
		n_values = all;
	for (int r = 0; r < REGISTERS; r++)
		pointers[r] = columns[r];
	for (uint64_t start = 0; start < n_values; start += CHUNK) {
		const size_t count = n_values - start < CHUNK ? n_values - start : CHUNK;

		fill(form, registers, n, start, count);
		kernel(pointers, count, (char *)memory);
		if (compare(form, registers, n, count))
			return 1;
	}
	return 0;
}

/* Run a batch of forms. Returns the number of forms that are wrong. */
static size_t run_batch(const struct kernels_place *place, struct form *const *batch, size_t n, uint64_t n_values)
{
	void *library = kernels_build(place, batch, n);
	size_t n_failed = 0;
	char name[32];

	for (size_t i = 0; i < n; i++) {
		kernel kernel;

		snprintf(name, sizeof(name), "form_%zu", i);
		kernel = (__typeof__(kernel))dlsym(library, name);
		if (!kernel) {
			printf("%s is missing\n", name);
			return n;
		}
		n_failed += (size_t)run_form(batch[i], kernel, n_values);
	}
	dlclose(library);
	return n_failed;
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
			opcode->n += !strcmp(opcode->name, name);
		}
		opcode->stride = opcode->n <= SAMPLE ? 1 : opcode->n / SAMPLE | 1;
		while (opcode->stride > 1 && (opcode->stride % 3 == 0 || opcode->stride % 5 == 0 ||
					      opcode->stride % 7 == 0 ||
					      opcode->stride % 13 == 0))
			opcode->stride += 2;
	}
	return opcode->seen++ % opcode->stride == 0;
}

/* Is the table in a document? */
static int check_table(const char *path)
{
	static char document[1 << 20];
	char *table;
	size_t size;
	FILE *in = fopen(path, "r"), *out = open_memstream(&table, &size);

	if (!in || !out) {
		perror(path);
		return 1;
	}
	document[fread(document, 1, sizeof(document) - 1, in)] = '\0';
	fclose(in);
	table_print(out, forms, n_forms);
	fclose(out);
	if (!strstr(document, table)) {
		printf("%s does not have the table that ptx-instructions --table prints\n", path);
		return 1;
	}
	free(table);
	return 0;
}

int main(int argc, char **argv)
{
	const bool full = getenv("TEST_FULL") != NULL, is_table = argc > 1 && !strcmp(argv[1], "--table");
	struct kernels_place place;
	struct form *batch[2][BATCH];
	const char *word = argc > 3 ? argv[3] : "", *values = getenv("TEST_VALUES");
	unsigned part = 1, n_parts = 1;
	size_t n[2] = { 0 }, n_run = 0, n_failed = 0;

	if (sscanf(word, "%u/%u", &part, &n_parts) == 2)
		word = "";
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
	if (is_table)
		return argc > 2 ? check_table(argv[2]) : (table_print(stdout, forms, n_forms), 0);
	if (argc < 3 || kernels_start(&place, argv[1], argv[2]))
		return 1;
	for (size_t i = 0; i < n_forms; i++) {
		const bool rest = !is_in_sample(&forms[i]);

		if ((!rest || full || *word) && i % n_parts == part - 1 &&
		    !strncmp(forms[i].text, word, strlen(word))) {
			batch[rest][n[rest]++] = &forms[i];
			n_run++;
		}
		for (int j = 0; j < 2; j++) {
			if (n[j] != BATCH && (!n[j] || i != n_forms - 1))
				continue;
			n_failed += run_batch(&place, batch[j], n[j], values ? strtoull(values, NULL, 0) : !full ?
					      3000 :
					      j ? 100000 : 10000000);
			n[j] = 0;
		}
	}
	n_failed += kernels_check_refusals();
	kernels_end(&place);
	for (size_t i = 0; i < n_forms; i++)
		if (forms[i].worst > 0 && strstr(forms[i].text, ".approx"))
			printf("%-24.*s largest error %.3f ulp\n", (int)strcspn(forms[i].text, " "), forms[i].text,
			       forms[i].worst);
	printf("%zu of %zu forms, %zu wrong\n", n_run, n_forms, n_failed);
	return n_failed != 0;
}
