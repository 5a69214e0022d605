/* SPDX-License-Identifier: MIT */
/*
 * runtime_matrix.h - products of matrices that the lanes of a warp hold in parts, in the C text of modules that are
 * made of PTX, after runtime_half.h. Sums are computed in double precision, and rounded once.
 */

/* Words of each lane: 4 of matrix A, 2 of B, 4 of C. The results take the place of the first four. */
#define PTX_MATRIX_WORDS 12

/* The kinds of elements of A and B. */
enum { PTX_OF_F16, PTX_OF_BF16, PTX_OF_TF32 };

PTX_INLINE float ptx_element_of(uint32_t word, uint32_t half, int kind)
{
	const uint16_t bits = (uint16_t)(word >> 16 * half);

	return kind == PTX_OF_TF32 ? ptx_f32(word & ~0x1fffu) : kind == PTX_OF_F16 ? ptx_f32_of_f16(bits) :
	       ptx_f32_of_bf16(bits);
}

/* D = A * B + C, where A has 16 rows and @k columns, and B has 8 columns. @words: of the first lane of the warp. */
PTX_RARE void ptx_multiply(uint32_t *words, int kind, uint32_t k, int half_results)
{
	/* The elements of a register. */
	const uint32_t each = kind == PTX_OF_TF32 ? 1 : 2, step = 4 * each;
	float a[16][16], b[16][8];

	for (uint32_t lane = 0; lane < 32; lane++) {
		const uint32_t *own = words + PTX_MATRIX_WORDS * lane, row = lane / 4, column = lane % 4 * each;

		for (uint32_t h = 0; h < each; h++) {
			for (uint32_t i = 0; i < 2 * k / step; i++)
				a[row + 8 * (i & 1)][column + h + step * (i / 2)] = ptx_element_of(own[i], h, kind);
			for (uint32_t i = 0; i < k / step; i++)
				b[column + h + step * i][row] = ptx_element_of(own[4 + i], h, kind);
		}
	}
	for (uint32_t lane = 0; lane < 32; lane++) {
		uint32_t *own = words + PTX_MATRIX_WORDS * lane, result[4];

		for (uint32_t i = 0; i < 4; i++) {
			const uint32_t row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + (i & 1);
			double sum = half_results ? ptx_f32_of_f16((uint16_t)(own[6 + i / 2] >> 16 * (i & 1))) :
				     ptx_f32(own[6 + i]);

			for (uint32_t j = 0; j < k; j++)
				sum += (double)a[row][j] * b[j][column];
			result[i] = half_results ? ptx_f16_rn(ptx_odd(sum)) : ptx_b32((float)sum);
		}
		for (uint32_t i = 0; i < 4; i++)
			own[i] = half_results ? result[2 * i & 3] | result[(2 * i + 1) & 3] << 16 : result[i];
	}
}

/* ldmatrix: lanes 8 * i to 8 * i + 7 hold the rows of matrix i, of 8 numbers of 16 bits. Each lane gets two of each. */
PTX_RARE void ptx_load_matrices(uint32_t *words, uint32_t n, int transposed)
{
	uint32_t rows[32][4];

	for (uint32_t lane = 0; lane < 8 * n; lane++)
		memcpy(rows[lane], words + PTX_MATRIX_WORDS * lane, sizeof(rows[lane]));
	for (uint32_t lane = 0; lane < 32; lane++) {
		const uint32_t row = lane / 4, pair = lane % 4;

		for (uint32_t i = 0; i < n; i++) {
			const uint32_t above = rows[8 * i + 2 * pair][row / 2] >> 16 * (row & 1);
			const uint32_t below = rows[8 * i + 2 * pair + 1][row / 2] >> 16 * (row & 1);

			words[PTX_MATRIX_WORDS * lane + i] = transposed ? (above & 0xffff) | below << 16 :
							     rows[8 * i + row][pair];
		}
	}
}
