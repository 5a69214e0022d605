/* SPDX-License-Identifier: MIT */
/* matrix.h - the operations, and what each is given and says of its bytes. */
#ifndef TEST_MPI_MATRIX_H
#define TEST_MPI_MATRIX_H

#include <adsm.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CHECK_MORE adsmLastError()
#include "../check.h"

/* The byte at @i of what has come, or been sent. */
typedef unsigned char want_function(size_t i);

/* One operation with one size, in this rank. */
struct run {
	int rank, size, before, after;	/* in a ring */
	const char *name;
	size_t n, pad;			/* bytes that each rank sends, and that are around them */
	int state;
	unsigned char *out, *in;	/* not aligned; with `many`, the second has room for n bytes of each rank */
	/* Set by the operation: the number of bytes that came, and which; out_want: the result of a receive in
	 * place. */
	size_t got;
	want_function *want, *out_want;
};

struct operation {
	const char *name;
	void (*run)(void);
	bool many, window;		/* receives from all, remote memory */
	size_t most;			/* bytes; 0: any size, and the largest one only if it is `huge` */
	bool huge;
};

extern struct run run;
extern const struct operation operations[];

/* What lies at @i of what that rank sends, and what was there before something came. */
unsigned char sent(size_t i, int rank);
unsigned char junk(size_t i);

/* A kernel adds 1 to bytes of an object. */
void add_one_to(unsigned char *p, size_t n);

static inline unsigned char pattern(size_t i, int seed)
{
	return (unsigned char)(i * 7 + i / 251 + (uint64_t)seed * 31);
}

/* point.c */
void op_send(void), op_isend(void), op_ssend(void), op_bsend(void), op_sendrecv(void), op_replace(void);
void op_persistent(void), op_probe(void), op_any(void), op_cancel(void), op_freed(void);
/* collective.c */
void op_bcast(void), op_ibcast(void), op_gather(void), op_allgather(void), op_allgather_in_place(void);
void op_allgatherv(void), op_scatter(void), op_alltoall(void), op_alltoallw(void), op_reduce(void), op_allreduce(void);
void op_allreduce_in_place(void), op_iallreduce(void), op_scan(void), op_reduce_scatter(void);
/* datatype.c */
void op_vector(void), op_bottom(void), op_struct_of(void), op_indexed_back(void), op_pack(void);
/* remote.c */
void op_put(void), op_get(void), op_rput(void), op_rget(void), op_accumulate(void), op_get_accumulate(void);
void op_passive(void), op_dynamic(void), op_file(void), op_file_shared(void), op_file_later(void);

#endif
