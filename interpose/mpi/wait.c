/* SPDX-License-Identifier: MIT */
/* wait.c - requests that are started, complete, or are given up. */
#include "loans.h"

#include <stdlib.h>
#include <string.h>

/* ---- statuses and requests as they were before: MPI changes these, and the program may not want those */

#define FEW 32

struct before {
	MPI_Request few_requests[FEW], *requests;
	MPI_Status few_statuses[FEW], *statuses;
};

static void free_before(struct before *before)
{
	if (before->requests != before->few_requests)
		free(before->requests);
	if (before->statuses != before->few_statuses)
		free(before->statuses);
}

/* False: without memory for it nothing can be noted; MPI is not called. */
static bool keep(struct before *before, int n, const MPI_Request *requests)
{
	bool few = n <= FEW;

	before->requests = few ? before->few_requests : malloc((size_t)n * sizeof(*before->requests));
	before->statuses = few ? before->few_statuses : malloc((size_t)n * sizeof(*before->statuses));
	if (before->requests && before->statuses) {
		memcpy(before->requests, requests, (size_t)n * sizeof(*requests));
		return true;
	}
	free_before(before);
	PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
	return false;
}

/* Those of a list that have completed: @indices of them; NULL: the first @n. */
static void completed(const struct before *before, int n, const int *indices, int result)
{
	for (int i = 0; i < n; i++) {
		const MPI_Request request = before->requests[indices ? indices[i] : i];
		const MPI_Status *status = &before->statuses[i];
		bool pending = result == MPI_ERR_IN_STATUS && status->MPI_ERROR == MPI_ERR_PENDING;

		if (request != MPI_REQUEST_NULL && !pending)
			loans_completed(request, status);
	}
}

static void give_statuses(const struct before *before, int n, MPI_Status *statuses)
{
	if (statuses != MPI_STATUSES_IGNORE && n > 0)
		memcpy(statuses, before->statuses, (size_t)n * sizeof(*statuses));
}

/* ---- one */

WRAPPER int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	MPI_Request before = *request;
	MPI_Status own;
	int result;

	status = status == MPI_STATUS_IGNORE ? &own : status;
	result = PMPI_Wait(request, status);
	if (before != MPI_REQUEST_NULL)
		loans_completed(before, status);
	loans_look();
	return result;
}

WRAPPER int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	MPI_Request before = *request;
	MPI_Status own;
	int result;

	status = status == MPI_STATUS_IGNORE ? &own : status;
	result = PMPI_Test(request, flag, status);
	if (*flag && before != MPI_REQUEST_NULL)
		loans_completed(before, status);
	loans_look();
	return result;
}

/* It stays a request, but its bytes are there. */
WRAPPER int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	MPI_Status own;
	int result;

	status = status == MPI_STATUS_IGNORE ? &own : status;
	result = PMPI_Request_get_status(request, flag, status);
	if (*flag && request != MPI_REQUEST_NULL)
		loans_completed(request, status);
	return result;
}

/* ---- one of several */

WRAPPER int MPI_Waitany(int n, MPI_Request requests[], int *index, MPI_Status *status)
{
	struct before before;
	MPI_Status own;
	int result;

	if (n <= 0 || !loans_any())
		return PMPI_Waitany(n, requests, index, status);
	if (!keep(&before, n, requests))
		return MPI_ERR_NO_MEM;
	status = status == MPI_STATUS_IGNORE ? &own : status;
	result = PMPI_Waitany(n, requests, index, status);
	if (*index != MPI_UNDEFINED && *index >= 0)
		loans_completed(before.requests[*index], status);
	free_before(&before);
	loans_look();
	return result;
}

WRAPPER int MPI_Testany(int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
	struct before before;
	MPI_Status own;
	int result;

	if (n <= 0 || !loans_any())
		return PMPI_Testany(n, requests, index, flag, status);
	if (!keep(&before, n, requests))
		return MPI_ERR_NO_MEM;
	status = status == MPI_STATUS_IGNORE ? &own : status;
	result = PMPI_Testany(n, requests, index, flag, status);
	if (*flag && *index != MPI_UNDEFINED && *index >= 0)
		loans_completed(before.requests[*index], status);
	free_before(&before);
	loans_look();
	return result;
}

/* ---- several */

WRAPPER int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
	struct before before;
	int result;

	if (n <= 0 || !loans_any())
		return PMPI_Waitall(n, requests, statuses);
	if (!keep(&before, n, requests))
		return MPI_ERR_NO_MEM;
	result = PMPI_Waitall(n, requests, before.statuses);
	completed(&before, n, NULL, result);
	give_statuses(&before, n, statuses);
	free_before(&before);
	loans_look();
	return result;
}

WRAPPER int MPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	struct before before;
	int result;

	if (n <= 0 || !loans_any())
		return PMPI_Testall(n, requests, flag, statuses);
	if (!keep(&before, n, requests))
		return MPI_ERR_NO_MEM;
	result = PMPI_Testall(n, requests, flag, before.statuses);
	if (*flag || result == MPI_ERR_IN_STATUS) {
		completed(&before, n, NULL, result);
		give_statuses(&before, n, statuses);
	}
	free_before(&before);
	loans_look();
	return result;
}

#define SOME(name) \
	WRAPPER int MPI_##name(int n, MPI_Request requests[], int *n_done, int indices[], MPI_Status statuses[]) \
	{ \
		struct before before; \
		int result; \
 \
		if (n <= 0 || !loans_any()) \
			return PMPI_##name(n, requests, n_done, indices, statuses); \
		if (!keep(&before, n, requests)) \
			return MPI_ERR_NO_MEM; \
		result = PMPI_##name(n, requests, n_done, indices, before.statuses); \
		if (*n_done != MPI_UNDEFINED) { \
			completed(&before, *n_done, indices, result); \
			give_statuses(&before, *n_done, statuses); \
		} \
		free_before(&before); \
		loans_look(); \
		return result; \
	}
SOME(Waitsome)
SOME(Testsome)

/* ---- starts and ends */

WRAPPER int MPI_Start(MPI_Request *request)
{
	int result = loans_start(*request);

	return result == MPI_SUCCESS ? PMPI_Start(request) : result;
}

WRAPPER int MPI_Startall(int n, MPI_Request requests[])
{
	int result = MPI_SUCCESS;

	for (int i = 0; i < n && result == MPI_SUCCESS; i++)
		result = loans_start(requests[i]);
	return result == MPI_SUCCESS ? PMPI_Startall(n, requests) : result;
}

WRAPPER int MPI_Request_free(MPI_Request *request)
{
	int result = MPI_SUCCESS;

	if (!loans_give_up(request))
		result = PMPI_Request_free(request);
	loans_look();
	return result;
}
