/* SPDX-License-Identifier: MIT */
/*
 * matrices.c - mma and ldmatrix. The model looks for the thread and the register of each element, by the rows and
 * columns of the PTX ISA manual, sections 9.7.14.5.6 to 9.7.14.5.8 and 9.7.14.5.15.
 */
#include "threads.h"

enum { F16, BF16, TF32 };

/* The row and the column of element @i of a thread's part. @k: the columns of A. */
static void place_in_a(int kind, int k, int lane, int i, int *row, int *column)
{
	const int group = lane >> 2, in_group = lane % 4;

	if (kind == TF32) {
		*row = i == 0 || i == 2 ? group : group + 8;
		*column = i < 2 ? in_group : in_group + 4;
	} else if (k == 8) {
		*row = i < 2 ? group : group + 8;
		*column = in_group * 2 + (i & 1);
	} else {
		*row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
		*column = in_group * 2 + (i & 1) + (i < 4 ? 0 : 8);
	}
}

static void place_in_b(int kind, int lane, int i, int *row, int *column)
{
	const int in_group = lane % 4;

	*row = kind == TF32 ? (i ? in_group + 4 : in_group) : in_group * 2 + (i & 1) + (i < 2 ? 0 : 8);
	*column = lane >> 2;
}

static double element(int kind, uint64_t word, int i)
{
	const uint64_t half = word >> 16 * (i & 1) & 0xffff;

	return kind == TF32 ? (double)bits_f32(word & 0xffffe000) : half_value(kind == F16 ? 'h' : 'b', half);
}

/* The element of A or B with a row and a column. @first: the slot of the first register, @n: the elements of a part. */
static double find(const struct thread_values *values, int warp, bool is_a, int kind, int k, int first, int n,
		   int wanted_row, int wanted_column)
{
	for (int lane = 0; lane < 32; lane++) {
		for (int i = 0; i < n; i++) {
			int row, column;

			if (is_a)
				place_in_a(kind, k, lane, i, &row, &column);
			else
				place_in_b(kind, lane, i, &row, &column);
			if (row != wanted_row || column != wanted_column)
				continue;
			return element(kind, values->in[32 * warp + lane][first + (kind == TF32 ? i : i / 2)], i);
		}
	}
	return NAN;
}

/* Registers: D, C, A, B. The operation: the kind; extra: k, and 256 if C and D are f16. */
static void multiply(const struct thread_form *form, struct thread_values *values)
{
	const int kind = form->operation, k = form->extra & 255;
	const bool halves = form->extra & 256;
	const int results = halves ? 2 : 4, a = 2 * results, n = k / 2;
	const int b = a + (kind == TF32 ? n : n / 2);

	for (int t = 0; t < THREADS; t++) {
		for (int i = 0; i < 4; i++) {
			const int row = (t % 32 >> 2) + (i < 2 ? 0 : 8), column = t % 4 * 2 + (i & 1);
			const uint64_t c = values->in[t][results + (halves ? i / 2 : i)];
			double sum = halves ? half_value('h', c >> 16 * (i & 1) & 0xffff) : (double)bits_f32(c);

			for (int j = 0; j < k; j++)
				sum += find(values, t / 32, true, kind, k, a, n, row, j) *
				       find(values, t / 32, false, kind, k, b, n / 2, j, column);
			if (!halves)
				values->out[t][i] = f32_bits((float)sum);
			else if (i & 1)
				values->out[t][i / 2] |= half_round('h', sum, 0, FE_TONEAREST) << 16;
			else
				values->out[t][i / 2] = half_round('h', sum, 0, FE_TONEAREST);
		}
	}
}

static void add_product(int kind, const char *type, int k, bool halves)
{
	static const char letters[] = "hbt";
	const int results = halves ? 2 : 4, n_a = k / 2 / (kind == TF32 ? 1 : 2), n_b = n_a / 2;
	char registers[192] = "", lists[4][64] = { "", "", "", "" };
	const int counts[] = { results, results, n_a, n_b };
	struct thread_form *form;

	for (int i = 0, slot = 0; i < 4; i++) {
		for (int j = 0; j < counts[i]; j++, slot++) {
			const char letter = i == 0 ? halves ? 'o' : 'O' : i == 1 ? halves ? 'h' : 'f' : letters[kind];

			snprintf(registers + strlen(registers), sizeof(registers) - strlen(registers), "%c:%s ", letter,
				 i < 2 && !halves ? "f32" : "b32");
			snprintf(lists[i] + strlen(lists[i]), sizeof(lists[i]) - strlen(lists[i]), "%s%%%x",
				 j ? ", " : "", (unsigned)slot);
		}
	}
	form = add_thread_form(multiply, registers,
			       "mma.sync.aligned.m16n8k%d.row.col.%s.%s.%s.%s {%s}, {%s}, {%s}, {%s};", k,
			       halves ? "f16" : "f32", type, type, halves ? "f16" : "f32", lists[0], lists[2],
			       lists[3], lists[1]);
	form->operation = kind;
	form->extra = k | (halves ? 256 : 0);
}

/* o o o o a b: each thread stores the row a, b. The operation: 1: transposed; extra: the number of matrices. */
static void load(const struct thread_form *form, struct thread_values *values)
{
	for (int t = 0; t < THREADS; t++) {
		for (int i = 0; i < form->extra; i++) {
			uint64_t result = 0;

			for (int j = 0; j < 2; j++) {
				/* The number j of the thread: its row and column in the matrix. */
				const int row = form->operation ? t % 4 * 2 + j : t % 32 / 4;
				const int column = form->operation ? t % 32 / 4 : t % 4 * 2 + j;
				/* The lane that names a row names that of another thread. */
				const int from = t / 32 * 32 + ((8 * i + row) * 5 + 3) % 32;
				const uint64_t half = values->in[from][4 + column / 4];

				result |= (half >> 16 * (column % 4) & 0xffff) << 16 * j;
			}
			values->out[t][i] = result;
		}
	}
}

static void add_load(int n, bool transposed, bool generic)
{
	static const char *const lists[] = { "", "%0", "%0, %1", "", "%0, %1, %2, %3" };
	struct thread_form *form;

	form = add_thread_form(load, "o:b32 o:b32 o:b32 o:b32 i:b64 i:b64",
			       "st.shared.v2.u64 [%%s], {%%4, %%5}; bar.warp.sync -1; and.b32 %%y, %%t, 31; "
			       "mad.lo.u32 %%y, %%y, 5, 3; and.b32 %%y, %%y, 31; and.b32 %%s, %%t, 0xffffffe0; "
			       "add.u32 %%y, %%y, %%s; shl.b32 %%y, %%y, 4; cvt.u64.u32 %%x, %%y; "
			       "cvta.shared.u64 %%x, %%x; ldmatrix.sync.aligned.m8n8.x%d%s%s.b16 {%s}, [%s];", n,
			       transposed ? ".trans" : "", generic ? "" : ".shared", lists[n], generic ? "%x" : "%y");
	form->operation = transposed;
	form->extra = n;
}

void add_matrices(void)
{
	add_product(F16, "f16", 8, false);
	add_product(F16, "f16", 16, false);
	add_product(F16, "f16", 8, true);
	add_product(F16, "f16", 16, true);
	add_product(BF16, "bf16", 8, false);
	add_product(BF16, "bf16", 16, false);
	add_product(TF32, "tf32", 4, false);
	add_product(TF32, "tf32", 8, false);
	for (int i = 0; i < 12; i++)
		add_load(1 << i % 3, i / 3 & 1, i / 6);
}
