/* SPDX-License-Identifier: MIT */
/* point.c - point-to-point messages. */
#include "loans.h"

/* ---- sends */

#define SEND(name) \
	WRAPPER int MPI_##name(const void *p, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm) \
	{ \
		struct loans loans = { .when = NOW }; \
 \
		p = loans_lend(&loans, p, (size_t)n, type, READS); \
		return loans_end(&loans, PMPI_##name(p, n, type, to, tag, comm), NULL); \
	}
SEND(Send)
SEND(Bsend)
SEND(Ssend)
SEND(Rsend)

#define SEND_LATER(name, when_) \
	WRAPPER int MPI_##name(const void *p, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, \
			       MPI_Request *request) \
	{ \
		struct loans loans = { .when = when_ }; \
 \
		p = loans_lend(&loans, p, (size_t)n, type, READS); \
		return loans_request(&loans, PMPI_##name(p, n, type, to, tag, comm, request), request); \
	}
SEND_LATER(Isend, LATER)
SEND_LATER(Ibsend, LATER)
SEND_LATER(Issend, LATER)
SEND_LATER(Irsend, LATER)
SEND_LATER(Send_init, AGAIN)
SEND_LATER(Bsend_init, AGAIN)
SEND_LATER(Ssend_init, AGAIN)
SEND_LATER(Rsend_init, AGAIN)

/* ---- receives: the status has the number of bytes */

#define RECEIVE(name, arguments, ...) \
	WRAPPER int MPI_##name(void *p, int n, MPI_Datatype type, __VA_ARGS__, MPI_Status *status) \
	{ \
		struct loans loans = { .when = NOW }; \
		MPI_Status own; \
 \
		status = status == MPI_STATUS_IGNORE ? &own : status; \
		p = loans_lend(&loans, p, (size_t)n, type, RECEIVES); \
		return loans_end(&loans, PMPI_##name(p, n, type, ARGUMENTS arguments, status), status); \
	}
RECEIVE(Recv, (from, tag, comm), int from, int tag, MPI_Comm comm)
RECEIVE(Mrecv, (message), MPI_Message *message)

#define RECEIVE_LATER(name, when_, arguments, ...) \
	WRAPPER int MPI_##name(void *p, int n, MPI_Datatype type, __VA_ARGS__, MPI_Request *request) \
	{ \
		struct loans loans = { .when = when_ }; \
 \
		p = loans_lend(&loans, p, (size_t)n, type, RECEIVES); \
		return loans_request(&loans, PMPI_##name(p, n, type, ARGUMENTS arguments, request), request); \
	}
RECEIVE_LATER(Irecv, LATER, (from, tag, comm), int from, int tag, MPI_Comm comm)
RECEIVE_LATER(Recv_init, AGAIN, (from, tag, comm), int from, int tag, MPI_Comm comm)
RECEIVE_LATER(Imrecv, LATER, (message), MPI_Message *message)

WRAPPER int MPI_Sendrecv(const void *out, int n_out, MPI_Datatype out_type, int to, int out_tag, void *in, int n_in,
			 MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status *status)
{
	struct loans loans = { .when = NOW };
	MPI_Status own;

	status = status == MPI_STATUS_IGNORE ? &own : status;
	out = loans_lend(&loans, out, (size_t)n_out, out_type, READS);
	in = loans_lend(&loans, in, (size_t)n_in, in_type, RECEIVES);
	return loans_end(&loans, PMPI_Sendrecv(out, n_out, out_type, to, out_tag, in, n_in, in_type, from, in_tag, comm,
					       status), status);
}

WRAPPER int MPI_Sendrecv_replace(void *p, int n, MPI_Datatype type, int to, int out_tag, int from, int in_tag,
				 MPI_Comm comm, MPI_Status *status)
{
	struct loans loans = { .when = NOW };

	p = loans_lend(&loans, p, (size_t)n, type, WRITES_SOME);
	return loans_end(&loans, PMPI_Sendrecv_replace(p, n, type, to, out_tag, from, in_tag, comm, status), NULL);
}
