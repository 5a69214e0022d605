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
#include <stdint.h>

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

/*
 * MPI may give the handle of a request that it has completed to another thread's new request before the wrapper that
 * called MPI has ended the first one's loan. So each request with a loan has a serial number: a wrapper reads the
 * newest before it calls MPI, and ends only loans up to that one.
 */
uint64_t loans_newest(void);
/* Has any request a loan? */
bool loans_any(void);
/* It is about to be started. MPI_SUCCESS, or an error where its bytes cannot be had. */
int loans_start(MPI_Request request);
/* It has completed. @status: of its message. */
void loans_completed(MPI_Request request, uint64_t newest, const MPI_Status *status);
/*
 * A function of MPI has failed, and does not say which requests are over. Those are whose handle @now MPI has taken
 * away, which nobody knows how many bytes have come for, and those that MPI calls complete or inactive when asked.
 */
void loans_failed(MPI_Request request, MPI_Request now, uint64_t newest);
/* The program frees it. True: the wrappers keep it until it completes, and *request is none any longer. */
bool loans_give_up(MPI_Request *request);
/* Ends the loans of requests that were given up and have completed since. */
void loans_look(void);

#endif
