/* SPDX-License-Identifier: MIT */
/* heat.c - heats a plate step by step. It writes a checkpoint, from which the next run continues. */
#include <adsm.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct head {
	int n, steps;			/* cells in a row; steps until now */
};

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "heat: %s: %s\n", what, why);
	exit(1);
}

/* read() or write() all bytes. @p may be shared memory. */
static void read_all(int fd, void *p, size_t size, const char *path)
{
	for (ssize_t n; size; p = (char *)p + n, size -= (size_t)n) {
		n = read(fd, p, size);
		if (n <= 0)
			fail(path, n ? strerror(errno) : "the checkpoint is too short");
	}
}

static void write_all(int fd, const void *p, size_t size, const char *path)
{
	for (ssize_t n; size; p = (const char *)p + n, size -= (size_t)n) {
		n = write(fd, p, size);
		if (n < 0)
			fail(path, strerror(errno));
	}
}

/* The plate of the checkpoint. Without one: a new plate, which is cold and has one hot edge. */
static struct head load(const char *path, float *plate, int n)
{
	const size_t size = (size_t)n * (size_t)n * sizeof(*plate);
	struct head head = { n, 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 && errno != ENOENT)
		fail(path, strerror(errno));
	if (fd < 0) {
		memset(plate, 0, size);
		for (int x = 0; x < n; x++)
			plate[x] = 100;
		return head;
	}
	read_all(fd, &head, sizeof(head), path);
	if (head.n != n)
		fail(path, "the checkpoint has a plate of another size");
	read_all(fd, plate, size, path);
	close(fd);
	return head;
}

/* The old checkpoint stays until the new one is complete. */
static void save(const char *path, struct head head, const float *plate)
{
	char temporary[4096];
	int fd;

	snprintf(temporary, sizeof(temporary), "%s.new", path);
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		fail(temporary, strerror(errno));
	write_all(fd, &head, sizeof(head), temporary);
	write_all(fd, plate, (size_t)head.n * (size_t)head.n * sizeof(*plate), temporary);
	if (close(fd) || rename(temporary, path))
		fail(path, strerror(errno));
}

int main(int argc, char **argv)
{
	const int n = argc == 4 ? atoi(argv[1]) : 0, steps = argc == 4 ? atoi(argv[2]) : 0;
	const size_t size = (size_t)n * (size_t)n * sizeof(float);
	const adsmDim grid = { (unsigned)(n + 15) / 16, (unsigned)(n + 15) / 16, 1 }, block = { 16, 16, 1 };
	float *now, *next, *swap;
	struct head head;
	adsmKernel *step;

	if (n < 3 || steps < 0)
		fail("usage", "heat CELLS STEPS CHECKPOINT, with at least 3 cells in a row");
	step = adsmKernelGet(adsmModuleLoad("kernels.adsm"), "step");
	now = adsmAlloc(size);
	next = adsmAlloc(size);
	if (!step || !now || !next)
		fail("start", adsmLastError());
	head = load(argv[3], now, n);
	for (int i = 0; i < steps; i++) {
		if (adsmCall(step, grid, block, adsmIn(now), adsmOut(next), adsmVal(n)))
			fail("adsmCall", adsmLastError());
		swap = now;
		now = next;
		next = swap;
	}
	if (adsmSync())
		fail("adsmSync", adsmLastError());
	head.steps += steps;
	save(argv[3], head, now);
	printf("%d steps: %.4f degrees in the middle\n", head.steps, now[n / 2 * n + n / 2]);
	return 0;
}
