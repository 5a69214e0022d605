/* SPDX-License-Identifier: MIT */
/* fortran.c - operations for matrix.c in Fortran (fortran.F90), by its two interfaces, mpif.h and mpi_f08. */
#include "matrix.h"

/* @n bytes to send and to receive; this rank, and those before and after it. */
typedef void fortran_function(unsigned char *out, unsigned char *in, int n, int rank, int before, int after);

static void call(fortran_function *function)
{
	function(run.out, run.in, (int)run.n, run.rank, run.before, run.after);
}

static void came(want_function *want)
{
	run.got = run.n;
	run.want = want;
}

static unsigned char from_before(size_t i)
{
	return sent(i, run.before);
}

static unsigned char every_second(size_t i)
{
	return i % 2 ? junk(i) : sent(i, run.before);
}

static unsigned char of_root(size_t i)
{
	return sent(i, 0);
}

static unsigned char of_all(size_t i)
{
	unsigned char all = 0;

	for (int rank = 0; rank < run.size; rank++)
		all ^= sent(i, rank);
	return all;
}

/* Both interfaces of an operation, and the bytes that come. */
#define BOTH(name, result) \
	fortran_function mpif_##name, f08_##name; \
 \
	static void op_mpif_##name(void) \
	{ \
		call(mpif_##name); \
		result; \
	} \
 \
	static void op_f08_##name(void) \
	{ \
		call(f08_##name); \
		result; \
	}

/* C starts the requests, and Fortran waits for them. */
void mpif_finish(MPI_Fint *handles), f08_finish(MPI_Fint *handles);

static void start_in_c(void (*finish)(MPI_Fint *handles))
{
	MPI_Request requests[2];
	MPI_Fint handles[2];

	MPI_Irecv(run.in, (int)run.n, MPI_BYTE, run.before, 7, MPI_COMM_WORLD, &requests[0]);
	MPI_Isend(run.out, (int)run.n, MPI_BYTE, run.after, 7, MPI_COMM_WORLD, &requests[1]);
	for (int i = 0; i < 2; i++)
		handles[i] = MPI_Request_c2f(requests[i]);
	finish(handles);
	came(from_before);
}

static void op_mpif_mixed(void)
{
	start_in_c(mpif_finish);
}

static void op_f08_mixed(void)
{
	start_in_c(f08_finish);
}

BOTH(ring, came(from_before))
BOTH(later, came(from_before))
BOTH(persistent, came(from_before))
BOTH(section, came(every_second))
BOTH(vector, came(every_second))
BOTH(bottom, came(from_before))
BOTH(bcast, run.out_want = of_root)
BOTH(allreduce, (came(of_all), run.out_want = of_all))
BOTH(window, came(from_before))
BOTH(file, came(from_before))

#define ROWS(name_, ...) \
	{ .name = "mpif_" #name_, .run = op_mpif_##name_, ##__VA_ARGS__ }, \
	{ .name = "f08_" #name_, .run = op_f08_##name_, ##__VA_ARGS__ }

const struct operation operations[] = {
	ROWS(ring), ROWS(later), ROWS(persistent), ROWS(section), ROWS(vector), ROWS(bottom), ROWS(bcast),
	ROWS(allreduce), ROWS(window, .window = true), ROWS(file), ROWS(mixed),
	{ .name = NULL },
};
