/* SPDX-License-Identifier: MIT */
/* collective.c - among all ranks. */
#include "matrix.h"

#include <stdlib.h>

#define COUNT ((int)run.n)

static unsigned char of_root(size_t i)
{
	return sent(i, 0);
}

static unsigned char of_each(size_t i)
{
	return sent(i % run.n, (int)(i / run.n));
}

/* What all send, and the ranks up to this one, by exclusive or: sums of bytes Open MPI 4 lets saturate. */
static unsigned char of_all(size_t i)
{
	unsigned char all = 0;

	for (int rank = 0; rank < run.size; rank++)
		all ^= sent(i, rank);
	return all;
}

static unsigned char up_to_this(size_t i)
{
	unsigned char all = 0;

	for (int rank = 0; rank <= run.rank; rank++)
		all ^= sent(i, rank);
	return all;
}

static void came(size_t n, want_function *want)
{
	run.got = n;
	run.want = want;
}

void op_bcast(void)
{
	MPI_Bcast(run.out, COUNT, MPI_BYTE, 0, MPI_COMM_WORLD);
	run.out_want = of_root;
}

void op_ibcast(void)
{
	MPI_Request request;

	MPI_Ibcast(run.out, COUNT, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	run.out_want = of_root;
}

void op_gather(void)
{
	MPI_Gather(run.out, COUNT, MPI_BYTE, run.in, COUNT, MPI_BYTE, run.size - 1, MPI_COMM_WORLD);
	if (run.rank == run.size - 1)
		came(run.n * (size_t)run.size, of_each);
}

void op_allgather(void)
{
	MPI_Allgather(run.out, COUNT, MPI_BYTE, run.in, COUNT, MPI_BYTE, MPI_COMM_WORLD);
	came(run.n * (size_t)run.size, of_each);
}

void op_allgather_in_place(void)
{
	memcpy(run.in + run.n * (size_t)run.rank, run.out, run.n);
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, run.in, COUNT, MPI_BYTE, MPI_COMM_WORLD);
	came(run.n * (size_t)run.size, of_each);
}

/* Each sends half of what it has, and it goes to where that rank's bytes begin. */
static unsigned char half_of_each(size_t i)
{
	return i % run.n < (run.n + 1) / 2 ? sent(i % run.n, (int)(i / run.n)) : junk(i);
}

void op_allgatherv(void)
{
	int *counts = malloc(2 * (size_t)run.size * sizeof(int)), *at = counts + run.size, half = (COUNT + 1) / 2;

	for (int i = 0; i < run.size; i++) {
		counts[i] = half;
		at[i] = i * COUNT;
	}
	MPI_Allgatherv(run.out, half, MPI_BYTE, run.in, counts, at, MPI_BYTE, MPI_COMM_WORLD);
	free(counts);
	came(run.n * (size_t)run.size, half_of_each);
}

/* Parts of what one rank sends, and of what all send. */
static unsigned char part_of_root(size_t i)
{
	return sent((size_t)run.rank * (run.n / (size_t)run.size) + i, 0);
}

void op_scatter(void)
{
	int part = COUNT / run.size;

	MPI_Scatter(run.out, part, MPI_BYTE, run.in, part, MPI_BYTE, 0, MPI_COMM_WORLD);
	came((size_t)part, part_of_root);
}

static unsigned char part_of_each(size_t i)
{
	size_t part = run.n / (size_t)run.size;

	return sent((size_t)run.rank * part + i % part, (int)(i / part));
}

void op_alltoall(void)
{
	int part = COUNT / run.size;

	MPI_Alltoall(run.out, part, MPI_BYTE, run.in, part, MPI_BYTE, MPI_COMM_WORLD);
	came((size_t)part * (size_t)run.size, part_of_each);
}

void op_alltoallw(void)
{
	int *counts = malloc(2 * (size_t)run.size * sizeof(int)), *at = counts + run.size, part = COUNT / run.size;
	MPI_Datatype *types = malloc((size_t)run.size * sizeof(*types));

	for (int i = 0; i < run.size; i++) {
		counts[i] = part;
		at[i] = i * part;
		types[i] = MPI_BYTE;
	}
	MPI_Alltoallw(run.out, counts, at, types, run.in, counts, at, types, MPI_COMM_WORLD);
	free(counts);
	free(types);
	came((size_t)part * (size_t)run.size, part_of_each);
}

void op_reduce(void)
{
	MPI_Reduce(run.out, run.in, COUNT, MPI_UNSIGNED_CHAR, MPI_BXOR, 0, MPI_COMM_WORLD);
	if (!run.rank)
		came(run.n, of_all);
}

void op_allreduce(void)
{
	MPI_Allreduce(run.out, run.in, COUNT, MPI_UNSIGNED_CHAR, MPI_BXOR, MPI_COMM_WORLD);
	came(run.n, of_all);
}

void op_allreduce_in_place(void)
{
	MPI_Allreduce(MPI_IN_PLACE, run.out, COUNT, MPI_UNSIGNED_CHAR, MPI_BXOR, MPI_COMM_WORLD);
	run.out_want = of_all;
}

void op_iallreduce(void)
{
	MPI_Request request;

	MPI_Iallreduce(run.out, run.in, COUNT, MPI_UNSIGNED_CHAR, MPI_BXOR, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	came(run.n, of_all);
}

void op_scan(void)
{
	MPI_Scan(run.out, run.in, COUNT, MPI_UNSIGNED_CHAR, MPI_BXOR, MPI_COMM_WORLD);
	came(run.n, up_to_this);
}

static unsigned char part_of_sum(size_t i)
{
	return of_all((size_t)run.rank * (run.n / (size_t)run.size) + i);
}

void op_reduce_scatter(void)
{
	int part = COUNT / run.size;

	MPI_Reduce_scatter_block(run.out, run.in, part, MPI_UNSIGNED_CHAR, MPI_BXOR, MPI_COMM_WORLD);
	came((size_t)part, part_of_sum);
}
