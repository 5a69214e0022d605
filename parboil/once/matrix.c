/* SPDX-License-Identifier: MIT */
/*
 * matrix.c - a product of matrices whose units are tiles: a tile of c = a b is computed while other tiles of a and b
 * are still being made, as soon as its row of tiles of a and its column of tiles of b are there. Two threads make a and
 * b; each of the two devices has every other row of c's tiles.
 */
#include "pipelines.h"

#include <stdio.h>

#define SIDE 32				/* numbers of a tile, each way */
#define TILE ((size_t)SIDE * SIDE)

struct product {
	size_t n;			/* tiles, each way */
	adsmOnce *a, *b, *c;
};

struct part {
	struct product *product;
	size_t number;
};

static int value(int matrix, size_t row, size_t column)
{
	return (int)((row * 31 + column * (size_t)(7 + matrix) + 5) % 19) - 9;
}

static void make_tile(const adsmOnce *once, int matrix, size_t n, size_t row, size_t column)
{
	int *tile = adsmOnceFresh(once, row * n + column);

	if (!tile)
		die("%s", adsmLastError());
	for (size_t r = 0; r < SIDE; r++)
		for (size_t c = 0; c < SIDE; c++)
			tile[r * SIDE + c] = value(matrix, row * SIDE + r, column * SIDE + c);
	check(adsmOnceSet(once, row * n + column));
}

/* Row by row. */
static void *make_a(void *arg)
{
	const struct product *p = arg;

	for (size_t i = 0; i < p->n * p->n; i++)
		make_tile(p->a, 0, p->n, i / p->n, i % p->n);
	return NULL;
}

/* Column by column. */
static void *make_b(void *arg)
{
	const struct product *p = arg;

	for (size_t i = 0; i < p->n * p->n; i++)
		make_tile(p->b, 1, p->n, i % p->n, i / p->n);
	return NULL;
}

static const int *get(const adsmOnce *once, size_t unit)
{
	const int *p = adsmOnceGet(once, unit);

	if (!p)
		die("%s", adsmLastError());
	return p;
}

/* A thread instead of a device. */
static void *multiply(void *arg)
{
	const struct part *part = arg;
	const struct product *p = part->product;

	for (size_t i = part->number * p->n; i < p->n * p->n; i += i % p->n == p->n - 1 ? p->n + 1 : 1) {
		int *out = adsmOnceFresh(p->c, i);

		if (!out)
			die("%s", adsmLastError());
		for (size_t j = 0; j < TILE; j++)
			out[j] = 0;
		for (size_t k = 0; k < p->n; k++) {
			const int *x = get(p->a, i / p->n * p->n + k), *y = get(p->b, k * p->n + i % p->n);

			for (size_t r = 0; r < SIDE; r++)
				for (size_t j = 0; j < SIDE; j++)
					for (size_t c = 0; c < SIDE; c++)
						out[r * SIDE + c] += x[r * SIDE + j] * y[j * SIDE + c];
		}
		check(adsmOnceSet(p->c, i));
	}
	return NULL;
}

static void start_kernels(const struct product *p)
{
	for (int d = 0; d < 2; d++) {
		const adsmDim grid = { (unsigned)p->n, (unsigned)(p->n + 1 - (size_t)d) / 2, 1 };

		device(d);
		if (grid.y)
			check(adsmCall(kernel("multiply_tiles"), grid, adsmDim3(SIDE, 1, 1), adsmPtr(p->a->address),
				       adsmPtr(p->b->address), adsmPtr(p->c->address), adsmVal((int)p->n),
				       adsmVal(SIDE), adsmVal(d)));
	}
}

/* Of c at this place, by the definition. */
static int expected(size_t n, size_t row, size_t column)
{
	int sum = 0;

	for (size_t k = 0; k < n * SIDE; k++)
		sum += value(0, row, k) * value(1, k, column);
	return sum;
}

static void verify(const struct product *p)
{
	for (size_t row = 0; row < p->n * SIDE; row++)
		for (size_t column = 0; column < p->n * SIDE; column++) {
			const int *tile = get(p->c, row / SIDE * p->n + column / SIDE);

			if (tile[row % SIDE * SIDE + column % SIDE] != expected(p->n, row, column))
				die("the product is wrong at (%zu, %zu)", row, column);
		}
}

static double run(size_t n, bool threads)
{
	struct product p = { n, once_alloc(n * n, TILE * sizeof(int)), once_alloc(n * n, TILE * sizeof(int)),
			     once_alloc(n * n, TILE * sizeof(int)) };
	struct part parts[2] = { { &p, 0 }, { &p, 1 } };
	double time = now_ms();
	pthread_t ids[4];

	for (size_t d = 0; threads && d < 2; d++)
		ids[2 + d] = start(multiply, &parts[d]);
	if (!threads)
		start_kernels(&p);
	ids[0] = start(make_a, &p);
	ids[1] = start(make_b, &p);
	for (int i = 0; i < (threads ? 4 : 2); i++)
		end(ids[i]);
	if (!threads)
		check(adsmSync());
	time = now_ms() - time;
	verify(&p);
	check(adsmOnceFree(p.a));
	check(adsmOnceFree(p.b));
	check(adsmOnceFree(p.c));
	return time;
}

void pipeline_matrix(const struct settings *settings)
{
	size_t n = settings->n ? settings->n : 8;

	if (n > 64)
		die("at most 64 tiles each way");
	for (int f = FORM_THREADS; f <= FORM_ONCE; f++)
		for (int r = 0; settings->forms[f] && r < settings->repeat; r++)
			printf("%-8s %zu by %zu tiles of %d by %d: %.3f ms, right\n", form_names[f], n, n, SIDE, SIDE,
			       run(n, f == FORM_THREADS));
}
