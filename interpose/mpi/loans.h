/* SPDX-License-Identifier: MIT */
/*
 * loans.h - memory of objects in the hands of MPI.
 *
 * A wrapper has the name of a function of MPI and calls the function behind it, PMPI_…, with other addresses of the
 * same bytes, which are always open. They come from adsm_lend.h; the wrappers use nothing else of the library. What MPI
 * reads is fetched before. What it writes counts as written by the CPU when the function returns, or when a request is
 * seen to have completed. What cannot be lent, because it lies in two objects or has absolute addresses, MPI is given
 * as it is: the library follows that, too (docs/mpi.md).
 */
#ifndef ADSM_MPI_LOANS_H
#define ADSM_MPI_LOANS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "adsm_lend.h"

#define WRAPPER __attribute__((visibility("default")))

/* One range that MPI writes. */
struct loan {
	adsmLoan *loan;
	size_t size;
	bool whole;			/* from the first byte on, without holes */
	bool by_status;			/* the status says how much of it */
};

/* What a function of MPI writes: one buffer at most. */
struct loans {
	/* Until it returns; until its request completes; whenever that is started. */
	enum { NOW, LATER, AGAIN } when;
	struct loan written;
	struct entry *entry;		/* of a request, until it has one */
};

/* What MPI does: WRITES all elements; RECEIVES as many of the first as the status says; WRITES_SOME of them. */
enum access { READS, WRITES, RECEIVES, WRITES_SOME };

/* The address for MPI of @n elements of the type at @p. */
void *loans_lend(struct loans *loans, const void *p, size_t n, MPI_Datatype type, enum access access);
/* Elements for each of @n ranks, with their displacements; with @types each has its own, and @at is in bytes. */
void *loans_lend_parts(struct loans *loans, const void *p, int n, const int *counts, const int *at, MPI_Datatype type,
		       const MPI_Datatype *types, enum access access);

/* What ends now: the function has returned. @status: of a message that has come. Returns @result. */
int loans_end(struct loans *loans, int result, const MPI_Status *status);
/* What ends with a request, or is lent whenever it is started. Returns @result. */
int loans_request(struct loans *loans, int result, const MPI_Request *request);

/* ---- what happens to requests */

/* Has any request a loan? */
bool loans_any(void);
/* It is about to be started. MPI_SUCCESS, or an error where its bytes cannot be had. */
int loans_start(MPI_Request request);
/* It has completed. @status: NULL if it was not started, or the program does not know. */
void loans_completed(MPI_Request request, const MPI_Status *status);
/* The program frees it. True: it is kept until it completes, and *request is none any longer. */
bool loans_give_up(MPI_Request *request);
/* Those that were given up: what has completed ends. */
void loans_look(void);

#endif
