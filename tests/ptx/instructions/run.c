/* SPDX-License-Identifier: MIT */
/* run.c - see run.h. */
#include "run.h"

#include <stdlib.h>

#define CHUNK 1024			/* what a chunk needs fits into the nearest cache */

bool any_result;
uint64_t shared_base;
uint32_t current_thread;

static uint64_t columns[REGISTERS][CHUNK], inputs[REGISTERS][CHUNK], expected[CHUNK];
static uint8_t memory[CHUNK * ROW] __attribute__((aligned(64)));
static uint8_t model_memory[CHUNK * ROW] __attribute__((aligned(64)));

int run_registers(const struct form *form, struct value_register *ret_registers)
{
	int n = 0;

	memset(ret_registers, 0, REGISTERS * sizeof(*ret_registers));
	for (const char *at = form->registers; *at; n++) {
		struct value_register *reg = &ret_registers[n];
		char type[8];

		if (n == REGISTERS || sscanf(at, " %c:%7[a-z0-9]:%c", &reg->name, type, &reg->kind) != 3)
			abort();
		reg->bits = !strcmp(type, "pred") ? 1 : strstr(type, "64") ? 64 : strstr(type, "32") ? 32 : 16;
		at = strchr(at + 1, ' ') ? strchr(at + 1, ' ') + 1 : "";
	}
	return n;
}

static void fill(const struct form *form, const struct value_register *registers, int n, uint64_t start, size_t count,
		 bool with_pairs)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t row[REGISTERS] = { 0 };

		values_fill(form, registers, n, start + i, with_pairs, row);
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
		  const uint64_t *v)
{
	fesetround(FE_TONEAREST);
	printf("%s\n\t%%%c is 0x%llx, expected 0x%llx", form->text, registers[r].name,
	       (unsigned long long)columns[r][i], (unsigned long long)v[r]);
	if (strchr("AECDPQ", registers[r].kind))
		printf(" (%a, exact %a)", values_number(registers[r].kind, columns[r][i]), bits_f64(v[r]));
	for (int j = form->n_out; j < n; j++)
		printf("%s%%%c = 0x%llx", j > form->n_out ? ", " : ", for ", registers[j].name,
		       (unsigned long long)inputs[j][i]);
	printf("\n");
	return 1;
}

/* Compare a chunk of results. Returns 1 if something is wrong, which is printed. */
static int compare(struct form *form, const struct value_register *registers, int n, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t v[REGISTERS] = { 0 }, given[REGISTERS];

		for (int r = 0; r < n; r++)
			v[r] = given[r] = inputs[r][i];
		any_result = false;
		current_thread = (uint32_t)i;
		shared_base = (uint64_t)(uintptr_t)&memory[i * ROW];
		form->model(form, v);
		for (int r = 0; r < form->n_out && !any_result; r++)
			if (!values_agree(form, registers, r, columns[r][i], v, given))
				return report(form, registers, n, i, r, v);
		if (form->uses_memory && !values_memory_agrees(form, &memory[i * ROW], &model_memory[i * ROW], ROW)) {
			printf("%s\n\tmemory differs\n", form->text);
			return 1;
		}
	}
	return 0;
}

int run_some(struct form *form, kernel kernel, uint64_t wanted)
{
	struct value_register registers[REGISTERS];
	const int n = run_registers(form, registers);
	const uint64_t n_values = values_count(form, registers, n, wanted);
	uint64_t *pointers[REGISTERS];
	int failed = 0;

	for (int r = 0; r < REGISTERS; r++)
		pointers[r] = columns[r];
	for (uint64_t start = 0; start < n_values && !failed; start += CHUNK) {
		const size_t count = n_values - start < CHUNK ? n_values - start : CHUNK;

		fill(form, registers, n, start, count, wanted >= VALUES_FULL);
		kernel(pointers, count, (char *)memory);
		fesetround(form->mode);
		failed = compare(form, registers, n, count);
		fesetround(FE_TONEAREST);
	}
	return failed;
}

static uint64_t ask(const struct form *form, uint64_t value)
{
	uint64_t v[REGISTERS] = { 0, value };

	form->model(form, v);
	return v[0];
}

/*
 * What the model gives for the operands from @start + @from to @start + @to. It is known at both ends. The
 * operands' sign is the same. If results only grow there, or only fall, equal ends have nothing else between them.
 */
static void expect(const struct form *form, uint64_t start, size_t from, size_t to)
{
	if (to - from < 2)
		return;
	if (form->monotone && expected[from] == expected[to]) {
		for (size_t i = from + 1; i < to; i++)
			expected[i] = expected[from];
	} else if (form->monotone && to - from > 8) {
		const size_t middle = (from + to) / 2;

		expected[middle] = ask(form, start + middle);
		expect(form, start, from, middle);
		expect(form, start, middle, to);
	} else {
		for (size_t i = from + 1; i < to; i++)
			expected[i] = ask(form, start + i);
	}
}

/* Compare a chunk with what is expected: of most results all bits. */
static int compare_expected(struct form *form, const struct value_register *registers, uint64_t start)
{
	const uint64_t mask = UINT64_MAX >> (64 - registers[0].bits);
	const bool is_number = registers[0].kind == 'A';
	uint64_t differ = is_number;

	for (size_t i = 0; i < CHUNK && !is_number; i++)
		differ |= (columns[0][i] ^ expected[i]) & mask;
	for (size_t i = 0; i < CHUNK && differ; i++) {
		const uint64_t v[REGISTERS] = { expected[i] }, given[REGISTERS] = { 0, start + i };

		if (is_number && values_are_usual(form, bits_f32(columns[0][i]), bits_f64(expected[i]),
						  (double)bits_f32(start + i)))
			continue;
		if (values_agree(form, registers, 0, columns[0][i], v, given))
			continue;
		inputs[1][i] = start + i;
		return report(form, registers, 2, i, 0, v);
	}
	return 0;
}

int run_all(struct form *form, const kernel *kernels, int n_kernels, unsigned stride)
{
	struct value_register registers[REGISTERS];
	uint64_t *pointers[REGISTERS];
	int failed = 0;

	run_registers(form, registers);
	for (int r = 0; r < REGISTERS; r++)
		pointers[r] = columns[r];
	for (uint64_t start = 0; start < (uint64_t)1 << 32 && !failed; start += (uint64_t)CHUNK * stride) {
		fesetround(form->mode);
		expected[0] = ask(form, start);
		expected[CHUNK - 1] = ask(form, start + CHUNK - 1);
		expect(form, start, 0, CHUNK - 1);
		fesetround(FE_TONEAREST);
		for (int i = 0; i < n_kernels && !failed; i++) {
			for (size_t j = 0; j < CHUNK; j++)
				columns[1][j] = start + j;
			kernels[i](pointers, CHUNK, (char *)memory);
			failed = compare_expected(form, registers, start);
		}
	}
	return failed;
}
