/* SPDX-License-Identifier: MIT */
/* point.c - from one rank to another. */
#include "matrix.h"

#include <stdlib.h>

static unsigned char from_before(size_t i)
{
	return sent(i, run.before);
}

static void came(void)
{
	run.got = run.n;
	run.want = from_before;
}

/* What blocks goes around the ring one by one: rank 0 sends first. */
static void one_by_one(int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm))
{
	MPI_Status status;
	int n;

	if (!run.rank)
		send(run.out, (int)run.n, MPI_BYTE, run.after, 1, MPI_COMM_WORLD);
	MPI_Recv(run.in, (int)run.n, MPI_BYTE, run.before, 1, MPI_COMM_WORLD, &status);
	MPI_Get_count(&status, MPI_BYTE, &n);
	CHECK_EQ((size_t)n, run.n);
	if (run.rank)
		send(run.out, (int)run.n, MPI_BYTE, run.after, 1, MPI_COMM_WORLD);
	came();
}

void op_send(void)
{
	one_by_one(MPI_Send);
}

void op_ssend(void)
{
	one_by_one(MPI_Ssend);
}

void op_bsend(void)
{
	int size = (int)run.n + MPI_BSEND_OVERHEAD + 1024;
	void *buffer = malloc((size_t)size);

	MPI_Buffer_attach(buffer, size);
	one_by_one(MPI_Bsend);
	MPI_Buffer_detach(&buffer, &size);
	free(buffer);
}

void op_isend(void)
{
	MPI_Request requests[2];

	MPI_Irecv(run.in, (int)run.n, MPI_BYTE, run.before, 2, MPI_COMM_WORLD, &requests[0]);
	MPI_Isend(run.out, (int)run.n, MPI_BYTE, run.after, 2, MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
	came();
}

/* Each way to see that one of several has ended. */
void op_any(void)
{
	const size_t half = run.n / 2;
	MPI_Request requests[4];
	int done = 0, index, flag, indices[4], n;

	MPI_Irecv(run.in, (int)half, MPI_BYTE, run.before, 3, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(run.in + half, (int)(run.n - half), MPI_BYTE, run.before, 4, MPI_COMM_WORLD, &requests[1]);
	MPI_Isend(run.out, (int)half, MPI_BYTE, run.after, 3, MPI_COMM_WORLD, &requests[2]);
	MPI_Isend(run.out + half, (int)(run.n - half), MPI_BYTE, run.after, 4, MPI_COMM_WORLD, &requests[3]);
	MPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE);
	CHECK(index >= 0 && requests[index] == MPI_REQUEST_NULL);
	for (done = 1; done < 4;) {
		MPI_Testsome(4, requests, &n, indices, MPI_STATUSES_IGNORE);
		done += n > 0 ? n : 0;
		MPI_Testany(4, requests, &index, &flag, MPI_STATUS_IGNORE);
		done += flag && index != MPI_UNDEFINED;
		MPI_Testall(4, requests, &flag, MPI_STATUSES_IGNORE);
		if (flag)
			break;
	}
	came();
}

void op_sendrecv(void)
{
	MPI_Sendrecv(run.out, (int)run.n, MPI_BYTE, run.after, 5, run.in, (int)run.n, MPI_BYTE, run.before, 5,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	came();
}

void op_replace(void)
{
	MPI_Sendrecv_replace(run.out, (int)run.n, MPI_BYTE, run.after, 6, run.before, 6, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	run.out_want = from_before;
}

/* The second time with what the CPU has changed meanwhile. */
static unsigned char changed(size_t i)
{
	return (unsigned char)(sent(i, run.before) + (i == run.n / 2));
}

void op_persistent(void)
{
	MPI_Request requests[2];
	int flag;

	MPI_Recv_init(run.in, (int)run.n, MPI_BYTE, run.before, 7, MPI_COMM_WORLD, &requests[0]);
	MPI_Send_init(run.out, (int)run.n, MPI_BYTE, run.after, 7, MPI_COMM_WORLD, &requests[1]);
	MPI_Startall(2, requests);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	for (size_t i = 0; i < run.n; i++)
		CHECK_EQ(run.in[i], sent(i, run.before));
	run.out[run.n / 2]++;
	MPI_Start(&requests[0]);
	MPI_Start(&requests[1]);
	MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
	do
		MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
	while (!flag);
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
	run.out[run.n / 2]--;
	run.got = run.n;
	run.want = changed;
}

void op_probe(void)
{
	MPI_Request request;
	MPI_Message message;
	MPI_Status status;

	MPI_Isend(run.out, (int)run.n, MPI_BYTE, run.after, 8, MPI_COMM_WORLD, &request);
	MPI_Mprobe(run.before, 8, MPI_COMM_WORLD, &message, &status);
	MPI_Mrecv(run.in, (int)run.n, MPI_BYTE, &message, &status);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	came();
}

/* A receive that is taken back leaves all as it was. */
void op_cancel(void)
{
	MPI_Request request;

	MPI_Irecv(run.in, (int)run.n, MPI_BYTE, run.before, 9, MPI_COMM_WORLD, &request);
	MPI_Cancel(&request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A send that is never waited for: the answer shows that it has ended. */
void op_freed(void)
{
	MPI_Request request;
	char answer = 0;

	MPI_Isend(run.out, (int)run.n, MPI_BYTE, run.after, 10, MPI_COMM_WORLD, &request);
	MPI_Request_free(&request);
	MPI_Recv(run.in, (int)run.n, MPI_BYTE, run.before, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(&answer, 1, MPI_BYTE, run.before, 11, &answer, 1, MPI_BYTE, run.after, 11, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	came();
}
