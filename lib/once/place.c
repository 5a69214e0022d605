/* SPDX-License-Identifier: MIT */
/* once/place.c - see place.h. */
#include "once/place.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"

struct places {
	const adsmOnceDistribution *distribution;
	size_t count, stripe;
	int n_devices, device;
	unsigned grid_rows, grid_columns;
};

static int check_tiles(struct places *places)
{
	const adsmOnceDistribution *d = places->distribution;
	unsigned n = (unsigned)places->n_devices;
	size_t product;

	if (__builtin_mul_overflow(d->rows, d->columns, &product) || product != places->count)
		return adsm_fail(-EINVAL, "%zu rows times %zu columns of tiles must be the number of units, %zu",
				 d->rows, d->columns, places->count);
	places->grid_rows = d->grid_rows ? d->grid_rows : 1;
	/* The most nearly square grid: its number of rows is the
	 * largest divisor that is at most the number of columns. */
	for (unsigned rows = 2; !d->grid_rows && rows * rows <= n; rows++)
		if (n % rows == 0)
			places->grid_rows = rows;
	if (n % places->grid_rows)
		return adsm_fail(-EINVAL, "%d devices cannot form a grid with %u rows of equal length",
				 places->n_devices, d->grid_rows);
	places->grid_columns = n / places->grid_rows;
	return 0;
}

static int check(struct places *places)
{
	const adsmOnceDistribution *d = places->distribution;

	switch (d->kind) {
	case ADSM_ONCE_HOST:
		places->device = ADSM_ONCE_ON_HOST;
		return 0;
	case ADSM_ONCE_DEVICE: {
		struct adsm_home *home;
		int error = adsm_home_get(d->device, &home);

		if (!error)
			places->device = home->index;
		return error;
	}
	case ADSM_ONCE_STRIPED:
		places->stripe = d->stripe ? d->stripe :
			(places->count + (size_t)places->n_devices - 1) / (size_t)places->n_devices;
		return 0;
	case ADSM_ONCE_TILED:
		return check_tiles(places);
	case ADSM_ONCE_OWN:
		return d->place ? 0 : adsm_fail(-EINVAL, "distribution ADSM_ONCE_OWN: place is NULL");
	}
	return adsm_fail(-EINVAL, "a distribution of kind %d does not exist", d->kind);
}

static int place_of(const struct places *places, size_t unit)
{
	const adsmOnceDistribution *d = places->distribution;
	size_t n = (size_t)places->n_devices;

	switch (d->kind) {
	case ADSM_ONCE_STRIPED:
		return (int)(unit / places->stripe % n);
	case ADSM_ONCE_TILED:
		return (int)(unit / d->columns % places->grid_rows * places->grid_columns +
			     unit % d->columns % places->grid_columns);
	case ADSM_ONCE_OWN:
		return d->place(d->arg, unit);
	default:
		return places->device;
	}
}

/* Add a page to the last run, or to a new one. */
static int add_page(struct adsm_once_run **runs, size_t *n, size_t page, int device, size_t *offset)
{
	struct adsm_once_run *last = *n ? &(*runs)[*n - 1] : NULL;

	if (!last || last->device != device) {
		if (*n == ADSM_ONCE_RUNS_MAX)
			return adsm_fail(-EINVAL, "the object would change its place more than %d times: use larger "
					 "stripes or tiles", ADSM_ONCE_RUNS_MAX - 1);
		if (!(*n & (*n - 1))) {
			struct adsm_once_run *more = realloc(*runs, (*n ? 2 * *n : 1) * sizeof(**runs));

			if (!more)
				return adsm_fail(-ENOMEM, "no memory for the places of units");
			*runs = more;
		}
		last = &(*runs)[(*n)++];
		*last = (struct adsm_once_run){ page, 0, *offset, device };
	}
	last->n_pages++;
	*offset += ADSM_PAGE_SIZE;
	return 0;
}

int adsm_once_distribute(const adsmOnceDistribution *distribution, size_t count, size_t size, size_t n_pages,
			 int n_devices, struct adsm_once_run **ret_runs, size_t *ret_n)
{
	struct places places = { .distribution = distribution, .count = count, .n_devices = n_devices };
	size_t offsets[ADSM_MAX_DEVICES + 1] = { 0 }, n = 0;
	struct adsm_once_run *runs = NULL;
	int error = check(&places);

	for (size_t page = 0; !error && page < n_pages; page++) {
		int device = place_of(&places, page * ADSM_PAGE_SIZE / size);

		if (device < ADSM_ONCE_ON_HOST || device >= n_devices)
			error = adsm_fail(-EINVAL, "unit %zu cannot be on device %d: there are %d devices",
					  page * ADSM_PAGE_SIZE / size, device, n_devices);
		else
			error = add_page(&runs, &n, page, device, &offsets[device + 1]);
	}
	if (error) {
		free(runs);
		return error;
	}
	*ret_runs = runs;
	*ret_n = n;
	return 0;
}
