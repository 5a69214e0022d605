/* SPDX-License-Identifier: MIT */
/*
 * matrix.c - a product of matrices whose units are tiles: a tile of c = a b is computed while other tiles of a and b
 * are still being made, as soon as its row of tiles of a and its column of tiles of b are there. Two threads make a and
 * b; each of the two devices has every other row of c's tiles. In the other forms the devices begin when a and b are
 * there.
 */
#include "pipelines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE 32				/* numbers of a tile, each way */
#define TILE ((size_t)SIDE * SIDE)

struct product {
	size_t n;			/* tiles, each way */
	int *want;			/* c, tile by tile */
	adsmOnce *a, *b, *c;		/* write-once */
	int *rows[2], *columns;		/* else: the rows of a that each device has, and all of b */
};

static int value(int matrix, size_t row, size_t column)
{
	return (int)((row * 31 + column * (size_t)(7 + matrix) + 5) % 19) - 9;
}

static void fill_tile(int *tile, int matrix, size_t row, size_t column)
{
	for (size_t r = 0; r < SIDE; r++)
		for (size_t c = 0; c < SIDE; c++)
			tile[r * SIDE + c] = value(matrix, row * SIDE + r, column * SIDE + c);
}

/* Of whole arrays: each device has every other row, one behind the other. */
static size_t n_rows(const struct product *p, int d)
{
	return (p->n + 1 - (size_t)d) / 2;
}

static int *tile_of(const struct product *p, int *const rows[2], size_t row, size_t column)
{
	return rows[row % 2] + (row / 2 * p->n + column) * TILE;
}

static void make_tile(const struct product *p, adsmOnce *once, int matrix, size_t row, size_t column)
{
	const size_t unit = row * p->n + column;

	if (once) {
		fill_tile(once_fresh(once, unit), matrix, row, column);
		once_set(once, unit);
	} else if (matrix) {
		fill_tile(p->columns + unit * TILE, matrix, row, column);
	} else {
		fill_tile(tile_of(p, p->rows, row, column), matrix, row, column);
	}
}

/* Row by row. */
static void *make_a(void *arg)
{
	const struct product *p = arg;

	for (size_t i = 0; i < p->n * p->n; i++)
		make_tile(p, p->a, 0, i / p->n, i % p->n);
	return NULL;
}

/* Column by column. */
static void *make_b(void *arg)
{
	const struct product *p = arg;

	for (size_t i = 0; i < p->n * p->n; i++)
		make_tile(p, p->b, 1, i % p->n, i / p->n);
	return NULL;
}

/* One tile of the product of a row of tiles and a column. */
static void add_product(int *out, const int *x, const int *y)
{
	for (size_t r = 0; r < SIDE; r++)
		for (size_t j = 0; j < SIDE; j++)
			for (size_t c = 0; c < SIDE; c++)
				out[r * SIDE + c] += x[r * SIDE + j] * y[j * SIDE + c];
}

/* By the definition, of single numbers. */
static int *expected(size_t n)
{
	int *c = calloc(n * n, TILE * sizeof(*c));

	if (!c)
		die("not enough memory for the product");
	for (size_t row = 0; row < n * SIDE; row++)
		for (size_t column = 0; column < n * SIDE; column++) {
			int *sum = &c[(row / SIDE * n + column / SIDE) * TILE + row % SIDE * SIDE + column % SIDE];

			for (size_t k = 0; k < n * SIDE; k++)
				*sum += value(0, row, k) * value(1, k, column);
		}
	return c;
}

static void verify_row(const struct product *p, const struct turn *turn, size_t row, const int *tiles)
{
	for (size_t i = 0; i < p->n; i++)
		if (memcmp(tiles + i * TILE, p->want + (row * p->n + i) * TILE, TILE * sizeof(int)))
			die("product of %zu by %zu tiles, %s: tile (%zu, %zu) is wrong", p->n, p->n,
			    form_names[turn->form], row, i);
}

/* ---- with write-once objects */

struct part {
	struct product *product;
	size_t first;			/* row, of every other one */
};

/* A thread instead of a device. */
static void *multiply(void *arg)
{
	const struct part *part = arg;
	const struct product *p = part->product;

	for (size_t row = part->first; row < p->n; row += 2)
		for (size_t column = 0; column < p->n; column++) {
			int *out = once_fresh(p->c, row * p->n + column);

			memset(out, 0, TILE * sizeof(*out));
			for (size_t k = 0; k < p->n; k++)
				add_product(out, once_get(p->a, row * p->n + k), once_get(p->b, k * p->n + column));
			once_set(p->c, row * p->n + column);
		}
	return NULL;
}

static void run_once(void *arg, struct turn *turn)
{
	struct product *p = arg;
	struct part parts[2] = { { p, 0 }, { p, 1 } };
	const bool threads = turn->form == FORM_THREADS;
	pthread_t ids[4];

	p->a = once_alloc(p->n * p->n, TILE * sizeof(int));
	p->b = once_alloc(p->n * p->n, TILE * sizeof(int));
	p->c = once_alloc(p->n * p->n, TILE * sizeof(int));

	turn_starts(turn);
	for (int d = 0; d < 2; d++)
		if (threads)
			ids[2 + d] = start(multiply, &parts[d]);
		else if (n_rows(p, d))
			CALL(d, "multiply_units", adsmDim3((unsigned)p->n, (unsigned)n_rows(p, d), 1),
			     adsmDim3(SIDE, 1, 1), adsmPtr(p->a->address), adsmPtr(p->b->address),
			     adsmPtr(p->c->address), adsmVal((int)p->n), adsmVal(SIDE), adsmVal(d));
	ids[0] = start(make_a, p);
	ids[1] = start(make_b, p);
	for (int i = 0; i < (threads ? 4 : 2); i++) {
		end(ids[i]);
		if (i == 1)
			turn_has_input(turn);
	}
	if (!threads)
		check(adsmSync());
	turn_ends(turn);
	for (size_t row = 0; row < p->n; row++)
		verify_row(p, turn, row, (const int *)p->c->data + row * p->n * TILE);
}

/* ---- one stage after the other */

static void make_both(struct product *p)
{
	pthread_t ids[2];

	p->a = p->b = NULL;
	ids[0] = start(make_a, p);
	ids[1] = start(make_b, p);
	end(ids[0]);
	end(ids[1]);
}

/* Bytes of a device's rows of a, and of c: not 0, which is no size. */
static size_t rows_size(const struct product *p, int d)
{
	return (n_rows(p, d) ? n_rows(p, d) : 1) * p->n * TILE * sizeof(int);
}

/* Both devices, at once. */
static void multiply_all(const struct product *p, int *const a[2], int *const b[2], int *const c[2])
{
	for (int d = 0; d < 2; d++)
		if (n_rows(p, d))
			CALL(d, "multiply_blocks", adsmDim3((unsigned)p->n, (unsigned)n_rows(p, d), 1),
			     adsmDim3(SIDE, 1, 1), adsmPtr(a[d]), adsmPtr(b[d]), adsmPtr(c[d]), adsmVal((int)p->n),
			     adsmVal(SIDE));
	check(adsmSync());
}

static void verify_all(const struct product *p, const struct turn *turn, int *const c[2])
{
	for (size_t row = 0; row < p->n; row++)
		verify_row(p, turn, row, tile_of(p, c, row, 0));
}

static void run_calls(void *arg, struct turn *turn)
{
	struct product *p = arg;
	const size_t size = p->n * p->n * TILE * sizeof(int);
	int *b[2], *c[2];

	for (int d = 0; d < 2; d++) {
		p->rows[d] = shared_alloc(d, rows_size(p, d));
		b[d] = shared_alloc(d, size);
		c[d] = shared_alloc(d, rows_size(p, d));
	}
	p->columns = b[0];

	turn_starts(turn);
	make_both(p);
	turn_has_input(turn);
	check(adsmMemcpy(b[1], b[0], size));
	multiply_all(p, p->rows, b, c);
	for (int d = 0; d < 2; d++)
		touch(c[d], rows_size(p, d));
	turn_ends(turn);
	verify_all(p, turn, c);
}

static void run_copies(void *arg, struct turn *turn)
{
	struct product *p = arg;
	const size_t size = p->n * p->n * TILE * sizeof(int);
	int *d_a[2], *d_b[2], *d_c[2], *c[2];

	p->columns = host_alloc(size);
	for (int d = 0; d < 2; d++) {
		p->rows[d] = host_alloc(rows_size(p, d));
		c[d] = host_alloc(rows_size(p, d));
		d_a[d] = device_alloc(d, rows_size(p, d));
		d_b[d] = device_alloc(d, size);
		d_c[d] = device_alloc(d, rows_size(p, d));
	}

	turn_starts(turn);
	make_both(p);
	turn_has_input(turn);
	for (int d = 0; d < 2; d++) {
		check(adsmCopyToDevice(d_a[d], p->rows[d], rows_size(p, d)));
		check(adsmCopyToDevice(d_b[d], p->columns, size));
	}
	multiply_all(p, d_a, d_b, d_c);
	for (int d = 0; d < 2; d++)
		check(adsmCopyToHost(c[d], d_c[d], rows_size(p, d)));
	turn_ends(turn);
	verify_all(p, turn, c);
}

void pipeline_matrix(const struct settings *settings)
{
	static run_turn *const runs[N_FORMS] = { run_once, run_once, run_calls, run_copies };
	struct product p = { .n = settings->n ? settings->n : 8 };
	struct figures figures[N_FORMS];
	char what[80];

	p.want = expected(p.n);
	take_turns(settings, runs, &p, figures, NULL);
	snprintf(what, sizeof(what), "%zu by %zu tiles of %d by %d", p.n, p.n, SIDE, SIDE);
	print_turns(settings, what, figures);
	free(p.want);
}
