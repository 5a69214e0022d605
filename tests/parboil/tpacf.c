/* SPDX-License-Identifier: MIT */
/* tpacf.c - generator, input files, reference and verification of tpacf against known values. */
#include "golden.h"

#include <string.h>

#include "../../parboil/tpacf/tpacf.h"

static const struct tpacf_sums golden = {
	.dd = { 1, 4, 7, 23, 63, 143, 319, 524, 589, 119, 42, 74, 358, 1042, 1585, 3714, 9561, 21388, 44067, 45677 },
	.dr = { 1, 0, 0, 0, 3, 7, 30, 82, 143, 369, 999, 2101, 5536, 13440, 32996, 82281, 199788, 449453, 868424,
		928997 },
	.rr = { 0, 0, 0, 2, 2, 3, 21, 16, 73, 168, 416, 1081, 2636, 6507, 16586, 40712, 98786, 224365, 433771,
		465312 },
};

/* Pairs counted one by one, of sets that end inside a tile, a cell and a group of counters. */
static void check_count(void)
{
	enum { N_SETS = 3, N = 37 };
	struct tpacf_point points[N_SETS * N];
	struct tpacf_sums expected = { .dd = { 0 } };
	struct tpacf_reference reference;
	struct pb_rng rng = { 1 };

	for (int i = 0; i < N_SETS * N; i++) {
		/* From points that coincide to points that face each other. */
		double angle = M_PI * pow(10, -5 * pb_rng_float(&rng)) * (i % 2 ? 1 : -1);

		points[i] = (struct tpacf_point){ (float)cos(angle), 0, (float)sin(angle) };
	}
	for (int i = 0; i < N_SETS * N; i++) {
		for (int j = 0; j < i; j++) {
			double dot = (double)points[i].x * points[j].x + (double)points[i].z * points[j].z;
			uint64_t *pairs = i < N ? expected.dd : j < N ? expected.dr : expected.rr;

			if (j >= N && i / N != j / N)
				continue;
			for (int k = 0; k < TPACF_BINS; k++)
				pairs[k] += dot < cos(pow(10, k / 5.0) / 60 * M_PI / 180) &&
					    dot >= cos(pow(10, (k + 1) / 5.0) / 60 * M_PI / 180);
		}
	}
	tpacf_count(points, N_SETS, N, &reference);
	CHECK(memcmp(&reference.sums, &expected, sizeof(expected)) == 0);
}

int main(void)
{
	struct pb_run run = golden_run(&tpacf_bench, 0);
	struct tpacf_point *points = pb_host_alloc(11 * 512 * sizeof(*points));
	uint64_t histograms[21][TPACF_BINS] = { { 0 } };
	char output[] = "/tmp/parboil-test-XXXXXX", line[128];
	float *array = pb_host_alloc(3 * 11 * 512 * sizeof(*array));
	struct tpacf_reference reference;
	size_t n_points, n_random;
	unsigned long numbers[60];
	double worst = 0;
	struct tpacf t;
	FILE *out;
	int fd, n_lines;

	tpacf_size(0, &n_points, &n_random);
	CHECK(n_points == 512 && n_random == 10 && run.n_inputs == 11);
	tpacf_generate(0, points);
	tpacf_count(points, 11, 512, &reference);
	CHECK(memcmp(&reference.sums, &golden, sizeof(golden)) == 0);
	check_count();

	/* The points come back from the files, but for rounding; and the array is x, then y, then z. */
	tpacf_open(&t, &run);
	CHECK(t.n_sets == 11 && t.n_points == 512 && t.room == 512);
	tpacf_fill(array, &t);
	for (size_t i = 0; i < 11 * 512; i++) {
		worst = fmax(worst, fabs((double)points[i].x - array[i]));
		worst = fmax(worst, fabs((double)points[i].y - array[11 * 512 + i]));
		worst = fmax(worst, fabs((double)points[i].z - array[2 * 11 * 512 + i]));
	}
	CHECK(worst < 2e-7);
	/* Sets that have more room than points lie apart. */
	t.n_sets = 2;
	t.room = 513;
	array[512] = 7;
	tpacf_fill(array, &t);
	CHECK(array[512] == 7 && array[513] == (float)t.points[512].x);
	CHECK(array[2 * 513 + 511] == (float)t.points[511].y && array[5 * 513 + 511] == (float)t.points[1023].z);
	t.n_sets = 11;
	CHECK(t.boundaries[0] == 8.461594934e-8f && t.boundaries[20] == 3.946089741f);

	/* What is right passes: one sum of the random sets in one histogram, another spread over several. */
	fd = mkstemp(output);
	CHECK(fd >= 0);
	run.output = output;
	memcpy(run.data, &reference, sizeof(reference));
	for (int bin = 0; bin < TPACF_BINS; bin++) {
		histograms[0][bin] = golden.dd[bin];
		histograms[10][bin] = golden.rr[bin];
		for (int set = 0; set < 10; set++)
			histograms[11 + set][bin] = golden.dr[bin] / 10 + (set == 9 ? golden.dr[bin] % 10 : 0);
	}
	tpacf_write(&t, &run, &histograms[0][0]);
	CHECK(memcmp(&t.sums, &golden, sizeof(golden)) == 0);
	tpacf_verify(&run, &t);
	CHECK(pb_verified(&run.result) && run.result.max_error == 0 && run.result.n_compared == 3 * TPACF_BINS);
	out = fopen(output, "r");
	CHECK(out);
	for (n_lines = 0; out && fgets(line, sizeof(line), out); n_lines++)
		numbers[n_lines % 60] = strtoul(line, NULL, 10);
	CHECK(n_lines == 60 && numbers[45] == 3714 && numbers[46] == 82281 && numbers[47] == 40712);
	fclose(out);
	close(fd);
	unlink(output);

	/* One wrong value does not, in any of the three. */
	t.sums.dd[0]++;
	tpacf_verify(&run, &t);
	CHECK(run.result.n_wrong == 1 && !pb_verified(&run.result));
	t.sums.dr[9] += reference.unsure.dr[9] + 1;
	tpacf_verify(&run, &t);
	CHECK(run.result.n_wrong == 3);
	t.sums.rr[3]--;
	tpacf_verify(&run, &t);
	CHECK(run.result.n_wrong == 6);
	/* The pairs that single precision may misplace, and no more, may be missing or too many. */
	CHECK(reference.unsure.dd[0] == 0 && reference.unsure.rr[17] == 1 && reference.unsure.dr[19] == 4);
	t.sums = golden;
	t.sums.rr[19] += reference.unsure.rr[19];
	t.sums.dr[19] -= reference.unsure.dr[19];
	run.result = (struct pb_result){ .n_wrong = 0 };
	tpacf_verify(&run, &t);
	CHECK(pb_verified(&run.result) && run.result.max_error == 4);
	t.sums.rr[19]++;
	tpacf_verify(&run, &t);
	CHECK(run.result.n_wrong == 1);
	tpacf_close(&t);
	free(array);
	free(points);
	golden_finish(&run);
	return 0;
}
