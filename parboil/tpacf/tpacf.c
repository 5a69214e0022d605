/* SPDX-License-Identifier: MIT */
/*
 * tpacf.c - two-point angular correlation of sets of points in the sky: input, reference, verification.
 *
 * Pairs of points are counted by their distance: DD inside the observed set, RR inside the S random sets,
 * DR between the observed set and these, in 20 bins from one minute of arc to 10^4, five of each decade. The
 * correlation is (S * DD - DR) / RR + 1.
 */
#include "tpacf.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../common/rng.h"
#include "../common/text.h"

#define MAX_POINTS 65535u	/* of a set: the kernel's counters have 32 bits */
#define N_BOUNDARIES (TPACF_BINS + 1)
#define DEGREES (180 / M_PI)

static const char *const size_names[] = { "small", "medium", "paper", "rolling", "cfc", "cfc-paper", NULL };
static const struct { size_t n_points, n_random, room; } sizes[] = {
	{ 512, 10, 0 },
	{ 1024, 20, 0 },
	{ 4096, 100, 0 },
	{ 4096, 10, 0 },	/* small enough to try the paper's Fig. 12 with every block size */
	{ 256, 100, 4096 },
	{ 4096, 100, 0 },
};

void tpacf_size(size_t size, size_t *ret_n_points, size_t *ret_n_random)
{
	*ret_n_points = sizes[size].n_points;
	*ret_n_random = sizes[size].n_random;
}

static size_t count_inputs(size_t size)
{
	return sizes[size].n_random + 1;
}

/* ---- the input files: one of each set, a point in a line: right ascension and declination in degrees */

/* The points of a set are made in single precision. */
static struct tpacf_point to_point(double x, double y, double z)
{
	/* Volatile: gcc 12 loses the rounding where it vectorises. */
	volatile float single[] = { (float)x, (float)y, (float)z };

	return (struct tpacf_point){ single[0], single[1], single[2] };
}

static struct tpacf_point on_sphere(struct pb_rng *rng)
{
	float z = 2 * pb_rng_float(rng) - 1;
	double angle = 2 * M_PI * pb_rng_float(rng), r = sqrt(1 - (double)z * z);

	return to_point(r * cos(angle), r * sin(angle), z);
}

static struct tpacf_point near_to(struct tpacf_point centre, struct pb_rng *rng)
{
	double x = centre.x + 0.01 * (2 * pb_rng_float(rng) - 1);
	double y = centre.y + 0.01 * (2 * pb_rng_float(rng) - 1);
	double z = centre.z + 0.01 * (2 * pb_rng_float(rng) - 1);
	double length = sqrt(x * x + y * y + z * z);

	return to_point(x / length, y / length, z / length);
}

void tpacf_generate(size_t size, struct tpacf_point *ret_points)
{
	size_t n_points = sizes[size].n_points, n_all = (sizes[size].n_random + 1) * n_points;
	struct tpacf_point centre = { 0 };
	struct pb_rng rng = { 5 };

	/* What is observed lies in groups of eight. */
	for (size_t i = 0; i < n_points; i++) {
		if (i % 8 == 0)
			centre = on_sphere(&rng);
		ret_points[i] = near_to(centre, &rng);
	}
	for (size_t i = n_points; i < n_all; i++)
		ret_points[i] = on_sphere(&rng);
}

static void generate(size_t size, FILE *const *outs)
{
	size_t n_points = sizes[size].n_points, n_sets = sizes[size].n_random + 1;
	struct tpacf_point *points = pb_host_alloc(n_sets * n_points * sizeof(*points)), *p = points;

	tpacf_generate(size, points);
	for (size_t set = 0; set < n_sets; set++)
		for (size_t i = 0; i < n_points; i++, p++)
			fprintf(outs[set], "%.17g %.17g\n", DEGREES * atan2(p->y, p->x),
				DEGREES * atan2(p->z, hypot(p->x, p->y)));
	free(points);
}

static struct tpacf_point read_point(struct pb_text *text)
{
	double ra = pb_text_number(text, "ra"), dec = pb_text_number(text, "dec");

	pb_text_line_end(text);
	if (fabs(dec) > 90)
		pb_text_die(text, "dec is %g, but must be from -90 to 90", dec);
	ra /= DEGREES;
	dec /= DEGREES;
	return (struct tpacf_point){ cos(ra) * cos(dec), sin(ra) * cos(dec), sin(dec) };
}

static void resize(struct tpacf *t, size_t n)
{
	t->points = realloc(t->points, n * sizeof(*t->points));
	if (!t->points)
		pb_die("%zu points are more than fit in memory", n);
}

/* The first set's length is that of all; @n: what was asked for, or 0. */
static void read_first_set(struct tpacf *t, struct pb_text *text, size_t n)
{
	size_t room = 0;

	while ((!n || t->n_points < n) && pb_text_line(text)) {
		if (t->n_points == MAX_POINTS)
			pb_text_die(text, "there are more than %u points; --points reads the first ones only",
				    MAX_POINTS);
		if (t->n_points == room)
			resize(t, room = room ? 2 * room : 1024);
		t->points[t->n_points++] = read_point(text);
	}
	if (!t->n_points)
		pb_text_die(text, "the file has no points");
	if (t->n_points < n)
		pb_text_die(text, "the file ends after %zu points, but --points asks for %zu", t->n_points, n);
	resize(t, t->n_sets * t->n_points);
}

static void read_set(struct tpacf *t, struct pb_text *text, struct tpacf_point *points, const struct pb_run *run)
{
	const char *first = run->inputs[0];
	size_t n = 0;

	while (n < run->n_points || !run->n_points) {
		if (!pb_text_line(text))
			break;
		if (n == t->n_points)
			pb_text_die(text, "there are more points than the %zu of %s", t->n_points, first);
		points[n++] = read_point(text);
	}
	if (n < t->n_points)
		pb_text_die(text, "the file ends after %zu points, but %s has %zu", n, first, t->n_points);
}

/* Distance between bins, from near to far. */
static double boundary(int k)
{
	return pow(10, k / 5.0) / 60 / DEGREES;
}

void tpacf_open(struct tpacf *ret_t, struct pb_run *run)
{
	struct tpacf *t = ret_t;
	struct pb_text text;

	*t = (struct tpacf){ .n_sets = run->n_inputs };
	pb_io_start(run);
	for (size_t set = 0; set < t->n_sets; set++) {
		pb_text_open(&text, run->inputs[set]);
		if (set)
			read_set(t, &text, t->points + set * t->n_points, run);
		else
			read_first_set(t, &text, run->n_points);
		pb_text_close(&text);
	}
	pb_io_stop(run);
	t->room = t->n_points > sizes[run->size].room ? t->n_points : sizes[run->size].room;
	for (int k = 0; k < N_BOUNDARIES; k++)
		t->boundaries[k] = (float)(4 * pow(sin(boundary(k) / 2), 2));
}

void tpacf_close(struct tpacf *t)
{
	free(t->points);
}

/* Volatile: the order of the stores is the order of the faults. */
void tpacf_fill(float *array, const struct tpacf *t)
{
	const struct tpacf_point *point = t->points;
	const size_t stride = t->n_sets * t->room;

	for (size_t set = 0; set < t->n_sets; set++) {
		volatile float *x = array + set * t->room, *y = x + stride, *z = y + stride;

		for (size_t i = 0; i < t->n_points; i++, point++) {
			x[i] = (float)point->x;
			y[i] = (float)point->y;
			z[i] = (float)point->z;
		}
	}
}

/* ---- the output: a histogram of DD, one of RR for each random set, one of DR for each */

void tpacf_write(struct tpacf *t, struct pb_run *run, const uint64_t *histograms)
{
	struct tpacf_sums *sums = &t->sums;
	size_t n_random = t->n_sets - 1;
	FILE *out;

	memset(sums, 0, sizeof(*sums));
	for (int bin = 0; bin < TPACF_BINS; bin++)
		sums->dd[bin] = *histograms++;
	for (size_t set = 0; set < n_random; set++)
		for (int bin = 0; bin < TPACF_BINS; bin++)
			sums->rr[bin] += *histograms++;
	for (size_t set = 0; set < n_random; set++)
		for (int bin = 0; bin < TPACF_BINS; bin++)
			sums->dr[bin] += *histograms++;
	pb_io_start(run);
	out = pb_open(run->output, "w");
	for (int bin = 0; bin < TPACF_BINS; bin++)
		fprintf(out, "%" PRIu64 "\n%" PRIu64 "\n%" PRIu64 "\n", sums->dd[bin], sums->dr[bin], sums->rr[bin]);
	pb_close(out, run->output);
	pb_io_stop(run);
}

/*
 * ---- the reference: double precision, straight from the points as they were read. 1 - cos() of the
 * distance is cut into cells: most lie in one bin, and only in the others is the bin to be searched.
 */

#define N_CELLS 4096
#define N_PLACES (TPACF_BINS + 2)	/* of a pair: too near, the bins, too far */
#define MIXED N_PLACES

struct bins {
	double boundaries[N_BOUNDARIES];
	uint8_t places[N_CELLS + 1];	/* or MIXED */
};

static unsigned find_place(const struct bins *bins, double dot)
{
	unsigned n = 0;

	while (n < N_BOUNDARIES && dot < bins->boundaries[n])
		n++;
	return n;
}

static void bins_init(struct bins *bins)
{
	for (int k = 0; k < N_BOUNDARIES; k++)
		bins->boundaries[k] = cos(boundary(k));
	for (int cell = 0; cell <= N_CELLS; cell++) {
		/* Wider than it is, by more than anything rounds. */
		unsigned near = find_place(bins, 1 - (cell - 0.01) * 2 / N_CELLS);
		unsigned far = find_place(bins, 1 - (cell + 1.01) * 2 / N_CELLS);

		bins->places[cell] = near == far ? near : MIXED;
	}
}

/* The place of a pair in a cell with more than one; if it is unsure, both places it may have are noted. */
static unsigned search(const struct bins *bins, double dot, uint64_t *unsure)
{
	/* Six coordinates of at most 1 are rounded to single precision: that is the chord. And then its square is. */
	double chord2 = fmax(2 - 2 * dot, 0), error = (sqrt(chord2) * 0x1p-22 + chord2 * 0x1p-21) / 2;
	unsigned near = find_place(bins, dot + error), far = find_place(bins, dot - error);

	if (near != far) {
		unsure[near]++;
		unsure[far]++;
	}
	return find_place(bins, dot);
}

/* Add the pairs of one set with another or, where both are the same, of its own points, each pair once. */
static void count_sets(const struct bins *bins, const double *a, const double *b, size_t n, uint64_t *sums,
		       uint64_t *unsure)
{
	/* In four parts: neighbours in one bin would wait for each other's sum. */
	uint64_t counts[4][N_PLACES] = { 0 }, unsure_counts[N_PLACES] = { 0 };

	for (size_t j = 0; j < n; j++) {
		double x = b[j], y = b[n + j], z = b[2 * n + j];
		size_t end = a == b ? j : n;

		for (size_t i = 0; i < end; i++) {
			double dot = x * a[i] + y * a[n + i] + z * a[2 * n + i];
			unsigned place = bins->places[(int)((1 - dot) * (N_CELLS / 2))];

			if (place == MIXED)
				place = search(bins, dot, unsure_counts);
			counts[i % 4][place]++;
		}
	}
	for (int bin = 0; bin < TPACF_BINS; bin++) {
		for (int part = 0; part < 4; part++)
			sums[bin] += counts[part][bin + 1];
		unsure[bin] += unsure_counts[bin + 1];
	}
}

void tpacf_count(const struct tpacf_point *points, size_t n_sets, size_t n_points,
		 struct tpacf_reference *ret_reference)
{
	struct tpacf_sums *sums = &ret_reference->sums, *unsure = &ret_reference->unsure;
	double *coordinates = pb_host_alloc(3 * n_sets * n_points * sizeof(*coordinates));
	struct bins bins;

	bins_init(&bins);
	memset(ret_reference, 0, sizeof(*ret_reference));
	for (size_t set = 0; set < n_sets; set++) {
		double *xyz = coordinates + 3 * set * n_points;

		for (size_t i = 0; i < n_points; i++) {
			xyz[i] = points[set * n_points + i].x;
			xyz[n_points + i] = points[set * n_points + i].y;
			xyz[2 * n_points + i] = points[set * n_points + i].z;
		}
		count_sets(&bins, xyz, xyz, n_points, set ? sums->rr : sums->dd, set ? unsure->rr : unsure->dd);
		if (set)
			count_sets(&bins, xyz, coordinates, n_points, sums->dr, unsure->dr);
	}
	free(coordinates);
}

static void prepare(struct pb_run *run)
{
	struct tpacf t;

	tpacf_open(&t, run);
	run->data = pb_host_alloc(sizeof(struct tpacf_reference));
	tpacf_count(t.points, t.n_sets, t.n_points, run->data);
	tpacf_close(&t);
}

void tpacf_verify(struct pb_run *run, const struct tpacf *t)
{
	const struct tpacf_reference *reference = run->data;
	const struct tpacf_sums *sums = &reference->sums, *unsure = &reference->unsure;
	const struct { const uint64_t *got, *expected, *unsure; } parts[] = {
		{ t->sums.dd, sums->dd, unsure->dd },
		{ t->sums.dr, sums->dr, unsure->dr },
		{ t->sums.rr, sums->rr, unsure->rr },
	};

	for (int part = 0; part < 3; part++) {
		for (int bin = 0; bin < TPACF_BINS; bin++) {
			pb_compare(run, parts[part].got[bin], parts[part].expected[bin], parts[part].unsure[bin]);
		}
	}
}

const struct pb_bench tpacf_bench = {
	.name = "tpacf",
	.about = "two-point angular correlation",
	.sizes = size_names,
	.inputs = "observed set, then random sets, as lines of ra dec",
	.count_inputs = count_inputs,
	.max_points = MAX_POINTS,
	.writes = true,
	.generate = generate,
	.prepare = prepare,
	.variants = { [PB_ADSM] = tpacf_adsm, [PB_EXPLICIT] = tpacf_explicit, PB_IN_CUDA_C(tpacf_cuda_c)
		      PB_CUDA_RIVALS(tpacf) },
};
