/* SPDX-License-Identifier: MIT */
/* kmeans.c - finds k groups in the points of a CSV file. The device assigns points, and the CPU moves centres. */
#include <adsm.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GROUPS = 64, MAX_TURNS = 1000 };

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "kmeans: %s: %s\n", what, why);
	exit(1);
}

static void *shared(size_t size)
{
	void *p = adsmAlloc(size);

	if (!p)
		fail("adsmAlloc", adsmLastError());
	return p;
}

/* The points of a file with a line "x,y" for each point. fscanf() writes them to shared memory. */
static float *read_points(const char *path, int *ret_n)
{
	FILE *file = fopen(path, "r");
	float *points;
	int n = 0, c;

	if (!file)
		fail(path, strerror(errno));
	/* The last line may have no newline. */
	for (int before = '\n'; (c = getc(file)) != EOF; before = c)
		n += before == '\n';
	rewind(file);
	points = shared((size_t)(n ? n : 1) * 2 * sizeof(*points));
	for (int i = 0; i < n; i++)
		if (fscanf(file, "%f,%f", &points[2 * i], &points[2 * i + 1]) != 2)
			fail(path, "a line is not x,y");
	fclose(file);
	*ret_n = n;
	return points;
}

static float distance(const float *a, const float *b)
{
	return (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]);
}

/* Begin with points that are far from each other: each is the one farthest from all centres before. */
static void choose_centres(const float *points, int n, float *centres, int k)
{
	memcpy(centres, points, 2 * sizeof(*centres));
	for (int c = 1, far = 0; c < k; c++) {
		float largest = -1;

		for (int i = 0; i < n; i++) {
			float nearest = INFINITY;

			for (int b = 0; b < c; b++)
				nearest = fminf(nearest, distance(&points[2 * i], &centres[2 * b]));
			if (nearest > largest)
				largest = nearest, far = i;
		}
		memcpy(&centres[2 * c], &points[2 * far], 2 * sizeof(*centres));
	}
}

/* Move each centre to the mean of its points. Returns the number of points that changed their group. */
static int move_centres(const float *points, const int *nearest, int *before, int n, float *centres, int k, int *sizes)
{
	double sums[2 * MAX_GROUPS] = { 0 };
	int changed = 0;

	memset(sizes, 0, (size_t)k * sizeof(*sizes));
	for (int i = 0; i < n; i++) {
		sums[2 * nearest[i]] += points[2 * i];
		sums[2 * nearest[i] + 1] += points[2 * i + 1];
		sizes[nearest[i]]++;
		changed += before[i] != nearest[i];
		before[i] = nearest[i];
	}
	for (int c = 0; c < k; c++) {
		if (!sizes[c])
			continue;
		centres[2 * c] = (float)(sums[2 * c] / sizes[c]);
		centres[2 * c + 1] = (float)(sums[2 * c + 1] / sizes[c]);
	}
	return changed;
}

int main(int argc, char **argv)
{
	const int k = argc == 3 ? atoi(argv[1]) : 0;
	float *points, centres[2 * MAX_GROUPS];
	int n, *nearest, *before, sizes[MAX_GROUPS], turns = 0, changed = 1;
	adsmKernel *assign = adsmKernelGet(adsmModuleLoad("kernels.adsm"), "assign");

	if (k < 1 || k > MAX_GROUPS)
		fail("usage", "kmeans GROUPS FILE.csv, with 1 to 64 groups");
	if (!assign)
		fail("kernels.adsm", adsmLastError());
	points = read_points(argv[2], &n);
	if (n < k)
		fail(argv[2], "there are fewer points than groups");
	nearest = shared((size_t)n * sizeof(*nearest));
	before = malloc((size_t)n * sizeof(*before));
	if (!before)
		fail("malloc", strerror(errno));
	memset(before, -1, (size_t)n * sizeof(*before));
	choose_centres(points, n, centres, k);
	while (changed && turns++ < MAX_TURNS) {
		if (adsmCall(assign, adsmDim3((unsigned)(n + 255) / 256, 1, 1), adsmDim3(256, 1, 1), adsmIn(points),
			     adsmConst(centres, (size_t)k * 2 * sizeof(float)), adsmOut(nearest), adsmVal(n),
			     adsmVal(k)) || adsmSync())
			fail("assign", adsmLastError());
		changed = move_centres(points, nearest, before, n, centres, k, sizes);
	}
	for (int c = 0; c < k; c++)
		printf("%d points around %.2f,%.2f\n", sizes[c], centres[2 * c], centres[2 * c + 1]);
	free(before);
	return 0;
}
