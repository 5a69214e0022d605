/* SPDX-License-Identifier: MIT */
/* collective.c - collective functions, blocking and nonblocking. */
#include "loans.h"

/* The number of ranks. 0: an intercommunicator, where buffers have other meanings. Then MPI gets them unchanged. */
static int ranks(MPI_Comm comm)
{
	int n = 0, two = 1;

	if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &two) != MPI_SUCCESS || two ||
	    PMPI_Comm_size(comm, &n) != MPI_SUCCESS)
		return 0;
	return n;
}

static bool is_me(int rank, MPI_Comm comm)
{
	int own = -1;

	return PMPI_Comm_rank(comm, &own) == MPI_SUCCESS && own == rank;
}

/* The access to a receive buffer: with MPI_IN_PLACE, it also has the bytes that this rank sends. */
static enum access output_access(const void *out)
{
	return out == MPI_IN_PLACE ? WRITES_SOME : WRITES;
}

/* A function and its nonblocking variant. @lend: code that lends the buffers and changes the arguments; it runs if the
 * communicator is no intercommunicator, and may use @size, the number of ranks. */
#define PAIR(name, later, lend, arguments, ...) \
	WRAPPER int MPI_##name(__VA_ARGS__) \
	{ \
		struct loans loans = { .when = NOW }; \
		int size = ranks(comm); \
 \
		if (size) { \
			lend \
		} \
		return loans_end(&loans, PMPI_##name(ARGUMENTS arguments), NULL); \
	} \
	WRAPPER int MPI_##later(__VA_ARGS__, MPI_Request *request) \
	{ \
		struct loans loans = { .when = LATER }; \
		int size = ranks(comm); \
 \
		if (size) { \
			lend \
		} \
		return loans_request(&loans, PMPI_##later(ARGUMENTS arguments, request), request); \
	}

/* MPI_IN_PLACE stays as it is. */
#define READ(p, n, type) p = loans_lend(&loans, p, (size_t)(n), type, READS)
#define WRITE(p, n, type, access) p = loans_lend(&loans, p, (size_t)(n), type, access)
#define READ_PARTS(p, counts, at, type) p = loans_lend_parts(&loans, p, size, counts, at, type, NULL, READS)
#define WRITE_PARTS(p, counts, at, type) p = loans_lend_parts(&loans, p, size, counts, at, type, NULL, WRITES_SOME)

PAIR(Bcast, Ibcast,
     WRITE(p, n, type, is_me(root, comm) ? READS : WRITES);,
     (p, n, type, root, comm),
     void *p, int n, MPI_Datatype type, int root, MPI_Comm comm)

PAIR(Gather, Igather,
     READ(out, n_out, out_type);
     if (is_me(root, comm))
	     WRITE(in, (size_t)n_in * (size_t)size, in_type, output_access(out));,
     (out, n_out, out_type, in, n_in, in_type, root, comm),
     const void *out, int n_out, MPI_Datatype out_type, void *in, int n_in, MPI_Datatype in_type, int root,
     MPI_Comm comm)

PAIR(Gatherv, Igatherv,
     READ(out, n_out, out_type);
     if (is_me(root, comm))
	     WRITE_PARTS(in, counts, at, in_type);,
     (out, n_out, out_type, in, counts, at, in_type, root, comm),
     const void *out, int n_out, MPI_Datatype out_type, void *in, const int counts[], const int at[],
     MPI_Datatype in_type, int root, MPI_Comm comm)

PAIR(Scatter, Iscatter,
     if (is_me(root, comm))
	     READ(out, (size_t)n_out * (size_t)size, out_type);
     WRITE(in, n_in, in_type, WRITES);,
     (out, n_out, out_type, in, n_in, in_type, root, comm),
     const void *out, int n_out, MPI_Datatype out_type, void *in, int n_in, MPI_Datatype in_type, int root,
     MPI_Comm comm)

PAIR(Scatterv, Iscatterv,
     if (is_me(root, comm))
	     READ_PARTS(out, counts, at, out_type);
     WRITE(in, n_in, in_type, WRITES);,
     (out, counts, at, out_type, in, n_in, in_type, root, comm),
     const void *out, const int counts[], const int at[], MPI_Datatype out_type, void *in, int n_in,
     MPI_Datatype in_type, int root, MPI_Comm comm)

PAIR(Allgather, Iallgather,
     READ(out, n_out, out_type);
     WRITE(in, (size_t)n_in * (size_t)size, in_type, output_access(out));,
     (out, n_out, out_type, in, n_in, in_type, comm),
     const void *out, int n_out, MPI_Datatype out_type, void *in, int n_in, MPI_Datatype in_type, MPI_Comm comm)

PAIR(Allgatherv, Iallgatherv,
     READ(out, n_out, out_type);
     WRITE_PARTS(in, counts, at, in_type);,
     (out, n_out, out_type, in, counts, at, in_type, comm),
     const void *out, int n_out, MPI_Datatype out_type, void *in, const int counts[], const int at[],
     MPI_Datatype in_type, MPI_Comm comm)

PAIR(Alltoall, Ialltoall,
     READ(out, (size_t)n_out * (size_t)size, out_type);
     WRITE(in, (size_t)n_in * (size_t)size, in_type, output_access(out));,
     (out, n_out, out_type, in, n_in, in_type, comm),
     const void *out, int n_out, MPI_Datatype out_type, void *in, int n_in, MPI_Datatype in_type, MPI_Comm comm)

PAIR(Alltoallv, Ialltoallv,
     READ_PARTS(out, out_counts, out_at, out_type);
     WRITE_PARTS(in, in_counts, in_at, in_type);,
     (out, out_counts, out_at, out_type, in, in_counts, in_at, in_type, comm),
     const void *out, const int out_counts[], const int out_at[], MPI_Datatype out_type, void *in,
     const int in_counts[], const int in_at[], MPI_Datatype in_type, MPI_Comm comm)

PAIR(Alltoallw, Ialltoallw,
     out = loans_lend_parts(&loans, out, size, out_counts, out_at, MPI_BYTE, out_types, READS);
     in = loans_lend_parts(&loans, in, size, in_counts, in_at, MPI_BYTE, in_types, WRITES_SOME);,
     (out, out_counts, out_at, out_types, in, in_counts, in_at, in_types, comm),
     const void *out, const int out_counts[], const int out_at[], const MPI_Datatype out_types[], void *in,
     const int in_counts[], const int in_at[], const MPI_Datatype in_types[], MPI_Comm comm)

PAIR(Reduce, Ireduce,
     READ(out, n, type);
     if (is_me(root, comm))
	     WRITE(in, n, type, output_access(out));,
     (out, in, n, type, op, root, comm),
     const void *out, void *in, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)

#define REDUCTION(name, later) \
	PAIR(name, later, \
	     READ(out, n, type); \
	     WRITE(in, n, type, output_access(out));, \
	     (out, in, n, type, op, comm), \
	     const void *out, void *in, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
REDUCTION(Allreduce, Iallreduce)
REDUCTION(Scan, Iscan)

/* WRITES_SOME: the first rank's buffer is not written. */
PAIR(Exscan, Iexscan,
     READ(out, n, type);
     WRITE(in, n, type, WRITES_SOME);,
     (out, in, n, type, op, comm),
     const void *out, void *in, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)

PAIR(Reduce_scatter_block, Ireduce_scatter_block,
     READ(out, (size_t)n * (size_t)size, type);
     WRITE(in, out == MPI_IN_PLACE ? (size_t)n * (size_t)size : (size_t)n, type, output_access(out));,
     (out, in, n, type, op, comm),
     const void *out, void *in, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)

static size_t sum(int n, const int *counts)
{
	size_t all = 0;

	for (int i = 0; i < n; i++)
		all += (size_t)counts[i];
	return all;
}

/* The number of elements in the receive buffer: this rank's part; with MPI_IN_PLACE, all parts. */
static size_t part(const void *out, int n, const int *counts, MPI_Comm comm)
{
	int rank = 0;

	PMPI_Comm_rank(comm, &rank);
	return out == MPI_IN_PLACE ? sum(n, counts) : (size_t)counts[rank];
}

PAIR(Reduce_scatter, Ireduce_scatter,
     READ(out, sum(size, counts), type);
     WRITE(in, part(out, size, counts, comm), type, WRITES_SOME);,
     (out, in, counts, type, op, comm),
     const void *out, void *in, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm)
