/* SPDX-License-Identifier: MIT */
/*
 * loans.h - loans of object memory to MPI.
 *
 * A wrapper has the name of a function of MPI. It calls the function behind it, PMPI_…, and replaces the addresses of
 * buffers by addresses in the alias, where accesses never fault. The wrappers use adsm_lend.h, and nothing else of the
 * library. Bytes that MPI reads are fetched before the call. Bytes that MPI writes count as written by the CPU when the
 * function returns, or when a wrapper detects that the request has completed. A buffer in two objects, or a type with
 * absolute addresses, cannot be lent. Then MPI gets the program's arguments; the library follows these accesses in
 * another way (docs/mpi.md).
 */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adsm_lend.h"

#define WRAPPER __attribute__((visibility("default")))
/* For macros: the arguments in parentheses, without these. */
#define ARGUMENTS(...) __VA_ARGS__

/* One range that MPI writes. */
struct loan {
	adsmLoan *loan;
	size_t size;
	bool whole;			/* MPI writes all bytes from the first one on, without holes */
	bool by_status;			/* the status has the number of bytes written */
};

/* The loans of one call of MPI. It writes one buffer at most. */
struct loans {
	/* The loan is until the function returns; until its request completes; or at each start of its request. */
	enum { NOW, LATER, AGAIN } when;
	struct loan written;
	struct entry *entry;		/* for the request that the call makes; NULL: not needed */
};

/* What MPI does with the elements: READS or WRITES all; RECEIVES the first ones, the status has their number;
 * WRITES_SOME of them. */
enum access { READS, WRITES, RECEIVES, WRITES_SOME };

/* Lend @n elements of the type at @p. Returns the address for MPI. */
void *loans_lend(struct loans *loans, const void *p, size_t n, MPI_Datatype type, enum access access);
/* Lend elements for each of @n ranks: @counts of them at the displacements @at, in units of the type. If @types is not
 * NULL, each rank has its own type, and @at is in bytes. */
void *loans_lend_parts(struct loans *loans, const void *p, int n, const int *counts, const int *at, MPI_Datatype type,
		       const MPI_Datatype *types, enum access access);

/* End the loans of a function that has returned. @status: of the received message, or NULL. Returns @result. */
int loans_end(struct loans *loans, int result, const MPI_Status *status);
/* Keep the loans until the request completes, or for each start of it. Returns @result. */
int loans_request(struct loans *loans, int result, const MPI_Request *request);

/* ---- requests */

/*
 * Code that starts a request by MPI_… may complete it by PMPI_…: MPICH's Fortran module mpi_f08 does, and so does a
 * request that C starts and Open MPI's Fortran completes. So the wrappers that start, complete or free requests have
 * both names, and OWN(Wait) is MPI's own PMPI_Wait().
 */
#define BOTH_NAMES(name) \
	WRAPPER __typeof__(MPI_##name) PMPI_##name __attribute__((alias("MPI_" #name)));
#define OWN(name) ({ \
		static _Atomic(void *) own_; \
		void *address_ = own_; \
 \
		if (!address_) \
			own_ = address_ = loans_own("PMPI_" #name); \
		(__typeof__(&PMPI_##name))address_; \
	})

/* The function of this name in the library behind this one. */
void *loans_own(const char *name);

/*
 * When MPI has completed a request, it may use the same handle for a new request of another thread, before the wrapper
 * has ended the first request's loan. So each request with a loan has a serial number. A wrapper reads the newest
 * number before it calls MPI, and ends only loans up to that number.
 */
uint64_t loans_newest(void);
/* Has any request a loan? */
bool loans_any(void);
/* Lend the buffer of a persistent request that is about to be started. Returns MPI_SUCCESS, or MPI_ERR_BUFFER if the
 * buffer cannot be lent as before. */
int loans_start(MPI_Request request);
/* The request has completed. @status: of its message. */
void loans_completed(MPI_Request request, uint64_t newest, const MPI_Status *status);
/*
 * A function of MPI has failed, and it is not known whether this request has ended. It has ended in two cases. First,
 * its handle, @now, is MPI_REQUEST_NULL; then the number of bytes written is not known. Second, MPI reports it as
 * complete or inactive.
 */
void loans_failed(MPI_Request request, MPI_Request now, uint64_t newest);
/* The program frees a request. True: the wrappers keep it until it completes, and *request is MPI_REQUEST_NULL now. */
bool loans_give_up(MPI_Request *request);
/* End the loans of requests that the program has freed and that have completed since. */
void loans_poll(void);
