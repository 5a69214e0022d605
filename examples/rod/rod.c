/* SPDX-License-Identifier: MIT */
/* rod.c - an MPI program: each rank has a part of a rod on its own device. MPI sends and receives in shared memory. */
#include <adsm.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 5040, STEPS = 200 };

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "rod: %s: %s\n", what, why);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static float *shared(int n)
{
	adsmAllocOptions options = ADSM_ALLOC_OPTIONS_INIT;
	float *p;

	options.flags = ADSM_ALLOC_ZERO;
	p = adsmAllocWith((size_t)n * sizeof(*p), &options);
	if (!p)
		fail("adsmAllocWith", adsmLastError());
	return p;
}

/* Get the neighbours' cells: the last cell of the left rank, and the first cell of the right rank. */
static void exchange(float *now, int n, int left, int right)
{
	MPI_Sendrecv(&now[n], 1, MPI_FLOAT, right, 0, &now[0], 1, MPI_FLOAT, left, 0, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	MPI_Sendrecv(&now[1], 1, MPI_FLOAT, left, 1, &now[n + 1], 1, MPI_FLOAT, right, 1, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	int rank, ranks, n, left, right;
	float *now, *next, *swap, *rod;
	adsmKernel *step;
	double sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (CELLS % ranks)
		fail("usage", "the number of ranks must divide 5040");
	n = CELLS / ranks;
	left = rank ? rank - 1 : MPI_PROC_NULL;
	right = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
	step = adsmKernelGet(adsmModuleLoad("kernels.adsm"), "step");
	if (!step)
		fail("kernels.adsm", adsmLastError());
	now = shared(n + 2);
	next = shared(n + 2);
	for (int i = 1; i <= n; i++)		/* a hot piece */
		now[i] = rank * n + i > 1000 && rank * n + i <= 2000 ? 100 : 20;

	for (int i = 0; i < STEPS; i++) {
		exchange(now, n, left, right);
		if (adsmCall(step, adsmDim3((unsigned)(n + 255) / 256, 1, 1), adsmDim3(256, 1, 1), adsmIn(now),
			     adsmInOut(next), adsmVal(n)) || adsmSync())
			fail("step", adsmLastError());
		swap = now;
		now = next;
		next = swap;
	}

	rod = shared(CELLS);
	MPI_Gather(&now[1], n, MPI_FLOAT, rod, n, MPI_FLOAT, 0, MPI_COMM_WORLD);
	for (int i = 0; i < CELLS; i++)
		sum += rod[i];
	if (!rank)
		printf("cell 1000: %.4f degrees, all cells: %.4f\n", rod[999], sum / CELLS);
	MPI_Finalize();
	return 0;
}
