/* SPDX-License-Identifier: MIT */
/*
 * lu - a dense matrix is factored without pivoting, in blocks of 16 × 16 that lie in one piece each and are dealt out
 * to a grid of workers. Each factors, divides and updates the blocks that are its own.
 */
#include <adsm_kernel.h>

#define B 16
#define BLOCK(a, n_blocks, i, j) (&(a)[((long)(i) * (n_blocks) + (j)) * (B * B)])

/* A block is factored in place: L has ones on its diagonal. */
ADSM_FUNCTION void factor(ADSM_SPACE_GLOBAL double *a)
{
	for (int k = 0; k < B; k++) {
		const double pivot = ADSM_READ(&a[k * B + k]);

		for (int i = k + 1; i < B; i++) {
			const double l = ADSM_READ(&a[i * B + k]) / pivot;

			ADSM_WRITE(&a[i * B + k], l);
			for (int j = k + 1; j < B; j++)
				ADSM_WRITE(&a[i * B + j], ADSM_READ(&a[i * B + j]) - l * ADSM_READ(&a[k * B + j]));
		}
	}
}

/* Of the row of a factored block: L⁻¹ · a. */
ADSM_FUNCTION void divide_row(ADSM_SPACE_GLOBAL double *a, const ADSM_SPACE_GLOBAL double *diagonal)
{
	for (int k = 0; k < B; k++)
		for (int i = k + 1; i < B; i++) {
			const double l = ADSM_READ(&diagonal[i * B + k]);

			for (int j = 0; j < B; j++)
				ADSM_WRITE(&a[i * B + j], ADSM_READ(&a[i * B + j]) - l * ADSM_READ(&a[k * B + j]));
		}
}

/* Of its column: a · U⁻¹. */
ADSM_FUNCTION void divide_column(ADSM_SPACE_GLOBAL double *a, const ADSM_SPACE_GLOBAL double *diagonal)
{
	for (int k = 0; k < B; k++)
		for (int i = 0; i < B; i++) {
			const double l = ADSM_READ(&a[i * B + k]) / ADSM_READ(&diagonal[k * B + k]);

			ADSM_WRITE(&a[i * B + k], l);
			for (int j = k + 1; j < B; j++)
				ADSM_WRITE(&a[i * B + j],
					   ADSM_READ(&a[i * B + j]) - l * ADSM_READ(&diagonal[k * B + j]));
		}
}

ADSM_FUNCTION void update(ADSM_SPACE_GLOBAL double *a, const ADSM_SPACE_GLOBAL double *left,
			  const ADSM_SPACE_GLOBAL double *upper)
{
	for (int i = 0; i < B; i++) {
		for (int k = 0; k < B; k++) {
			const double l = ADSM_READ(&left[i * B + k]);

			for (int j = 0; j < B; j++)
				ADSM_WRITE(&a[i * B + j], ADSM_READ(&a[i * B + j]) - l * ADSM_READ(&upper[k * B + j]));
		}
	}
}

/* Step @k of the worker that has row @row and column @column of the grid of workers. */
ADSM_FUNCTION void step(ADSM_SPACE_GLOBAL double *a, int n_blocks, int k, int row, int column, int n_rows,
			int n_columns)
{
	ADSM_SPACE_GLOBAL double *diagonal = BLOCK(a, n_blocks, k, k);

	if (k % n_rows == row && k % n_columns == column)
		factor(diagonal);
	ADSM_ALL_BARRIER;
	for (int i = k + 1; i < n_blocks; i++) {
		if (k % n_rows == row && i % n_columns == column)
			divide_row(BLOCK(a, n_blocks, k, i), diagonal);
		if (i % n_rows == row && k % n_columns == column)
			divide_column(BLOCK(a, n_blocks, i, k), diagonal);
	}
	ADSM_ALL_BARRIER;
	for (int i = k + 1; i < n_blocks; i++)
		for (int j = k + 1; j < n_blocks; j++)
			if (i % n_rows == row && j % n_columns == column)
				update(BLOCK(a, n_blocks, i, j), BLOCK(a, n_blocks, i, k), BLOCK(a, n_blocks, k, j));
}

ADSM_TASK(lu, ADSM_INOUT(double, a), ADSM_IN(double, given), ADSM_INOUT(int, next_id), ADSM_VAL(int, n_blocks),
	  ADSM_VAL(int, n_rows))
{
	const int n_columns = ADSM_N_WORKERS / n_rows;
	int id;

	/* Who comes first is the first. */
	ADSM_LOCK(0);
	id = ADSM_READ(next_id);
	ADSM_WRITE(next_id, id + 1);
	ADSM_UNLOCK(0);
	ADSM_ALL_BARRIER;
	/* Each brings its own blocks. */
	for (int i = id / n_columns; i < n_blocks; i += n_rows)
		for (int j = id % n_columns; j < n_blocks; j += n_columns)
			for (int e = 0; e < B * B; e++)
				ADSM_WRITE(&BLOCK(a, n_blocks, i, j)[e], ADSM_READ(&BLOCK(given, n_blocks, i, j)[e]));
	ADSM_ALL_BARRIER;
	for (int k = 0; k < n_blocks; k++)
		step(a, n_blocks, k, id / n_columns, id % n_columns, n_rows, n_columns);
	ADSM_ALL_BARRIER;
	/* Nobody ends before all have counted. */
	if (!id)
		ADSM_WRITE(next_id, 0);
	ADSM_ALL_BARRIER;
}
