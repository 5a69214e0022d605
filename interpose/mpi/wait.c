/* SPDX-License-Identifier: MIT */
/* wait.c - requests: start, completion, and freeing. */
#include "loans.h"

#include <stdlib.h>
#include <string.h>

/* Arguments that MPI sets are read only if they are valid: after MPI_SUCCESS or MPI_ERR_IN_STATUS. */

static bool is(int error, int class)
{
	int its_class;

	return error == class || (PMPI_Error_class(error, &its_class) == MPI_SUCCESS && its_class == class);
}

/* ---- copies of the requests from before the call, because MPI changes them; statuses, if the program wants none */

#define FEW 32

struct call {
	int n;
	const MPI_Request *requests;		/* the program's */
	MPI_Status *statuses;			/* the program's, or own_statuses */
	uint64_t newest;
	MPI_Request few_before[FEW], *before;
	MPI_Status few_statuses[FEW], *own_statuses;
};

static void end_call(struct call *call)
{
	if (call->before != call->few_before)
		free(call->before);
	if (call->own_statuses != call->few_statuses)
		free(call->own_statuses);
	loans_poll();
}

/* False: there is no memory for the copies, so MPI must not be called. */
static bool begin_call(struct call *call, int n, const MPI_Request *requests, MPI_Status *statuses)
{
	bool few = n <= FEW, own = statuses == MPI_STATUSES_IGNORE || statuses == MPI_STATUS_IGNORE;

	call->n = n;
	call->requests = requests;
	call->newest = loans_newest();
	call->before = few ? call->few_before : malloc((size_t)n * sizeof(*call->before));
	call->own_statuses = few || !own ? call->few_statuses : malloc((size_t)n * sizeof(*call->own_statuses));
	call->statuses = own ? call->own_statuses : statuses;
	if (call->before && call->own_statuses) {
		memcpy(call->before, requests, (size_t)n * sizeof(*requests));
		return true;
	}
	end_call(call);
	PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
	return false;
}

/* Request @i may have ended. @error: its own. */
static void request_ended(const struct call *call, int i, int error, const MPI_Status *status)
{
	if (is(error, MPI_SUCCESS))
		loans_completed(call->before[i], call->newest, status);
	else if (!is(error, MPI_ERR_PENDING))
		loans_failed(call->before[i], call->requests[i], call->newest);
}

/* The whole call has failed: check all requests. */
static void all_failed(const struct call *call, int error)
{
	for (int i = 0; i < call->n; i++)
		request_ended(call, i, error, NULL);
}

/* MPI has set the first @n statuses, for the requests in @indices. NULL: for the first @n requests. */
static void requests_ended(const struct call *call, int n, const int *indices, int result)
{
	for (int k = 0; k < n; k++) {
		const MPI_Status *status = &call->statuses[k];

		request_ended(call, indices ? indices[k] : k, result == MPI_SUCCESS ? result : status->MPI_ERROR,
			      status);
	}
}

static bool sets_statuses(int result)
{
	return result == MPI_SUCCESS || is(result, MPI_ERR_IN_STATUS);
}

/* ---- one request */

WRAPPER int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	MPI_Request before = *request;
	uint64_t newest = loans_newest();
	MPI_Status own;
	int result;

	status = status == MPI_STATUS_IGNORE ? &own : status;
	result = OWN(Wait)(request, status);
	if (result == MPI_SUCCESS)
		loans_completed(before, newest, status);
	else
		loans_failed(before, *request, newest);
	loans_poll();
	return result;
}
BOTH_NAMES(Wait)

WRAPPER int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	MPI_Request before = *request;
	uint64_t newest = loans_newest();
	MPI_Status own;
	int result;

	status = status == MPI_STATUS_IGNORE ? &own : status;
	result = OWN(Test)(request, flag, status);
	if (result != MPI_SUCCESS)
		loans_failed(before, *request, newest);
	else if (*flag)
		loans_completed(before, newest, status);
	loans_poll();
	return result;
}
BOTH_NAMES(Test)

/* The request is not freed, but its bytes are available. */
WRAPPER int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	uint64_t newest = loans_newest();
	MPI_Status own;
	int result;

	status = status == MPI_STATUS_IGNORE ? &own : status;
	result = OWN(Request_get_status)(request, flag, status);
	if (result == MPI_SUCCESS && *flag)
		loans_completed(request, newest, status);
	return result;
}
BOTH_NAMES(Request_get_status)

/* ---- several requests */

/* A row: the arguments behind the requests; whether MPI has set what follows; how many requests are done, and which.
 * Of one request there is one status, too. */
#define SEVERAL(name, ...) SEVERAL_AS(MPI_##name, name, __VA_ARGS__)
#define SEVERAL_AS(function, name, arguments, is_set, n_done, indices, ...) \
	WRAPPER int function(int n, MPI_Request requests[], __VA_ARGS__) \
	{ \
		struct call call; \
		int result; \
 \
		if (n <= 0 || !loans_any()) \
			return OWN(name)(n, requests, ARGUMENTS arguments); \
		if (!begin_call(&call, n, requests, statuses)) \
			return MPI_ERR_NO_MEM; \
		statuses = call.statuses; \
		result = OWN(name)(n, requests, ARGUMENTS arguments); \
		if (is_set) \
			requests_ended(&call, n_done, indices, result); \
		else \
			all_failed(&call, result); \
		end_call(&call); \
		return result; \
	} \
	BOTH_NAMES(name)

SEVERAL(Waitany, (index, statuses), result == MPI_SUCCESS, *index != MPI_UNDEFINED, index,
	int *index, MPI_Status *statuses)
SEVERAL(Testany, (index, flag, statuses), result == MPI_SUCCESS, *flag && *index != MPI_UNDEFINED, index,
	int *index, int *flag, MPI_Status *statuses)
SEVERAL(Waitall, (statuses), sets_statuses(result), n, NULL, MPI_Status statuses[])
SEVERAL(Testall, (flag, statuses), sets_statuses(result), result != MPI_SUCCESS || *flag ? n : 0, NULL,
	int *flag, MPI_Status statuses[])
SEVERAL(Waitsome, (n_done, indices, statuses), sets_statuses(result), *n_done != MPI_UNDEFINED ? *n_done : 0, indices,
	int *n_done, int indices[], MPI_Status statuses[])
SEVERAL(Testsome, (n_done, indices, statuses), sets_statuses(result), *n_done != MPI_UNDEFINED ? *n_done : 0, indices,
	int *n_done, int indices[], MPI_Status statuses[])

/* As MPI_Request_get_status(): the requests are not freed. Since MPI 4.1. They are const in the standard, but not
 * in every mpi.h, so the functions have names of their own in C. */
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
#define STATUS_OF_SEVERAL(name, arguments, is_set, n_done, indices, ...) \
	WRAPPER int name(int n, MPI_Request requests[], __VA_ARGS__) __asm__("MPI_" #name); \
	SEVERAL_AS(name, name, arguments, is_set, n_done, indices, __VA_ARGS__)

STATUS_OF_SEVERAL(Request_get_status_any, (index, flag, statuses), result == MPI_SUCCESS,
	*flag && *index != MPI_UNDEFINED, index, int *index, int *flag, MPI_Status *statuses)
STATUS_OF_SEVERAL(Request_get_status_all, (flag, statuses), sets_statuses(result),
	result != MPI_SUCCESS || *flag ? n : 0, NULL, int *flag, MPI_Status statuses[])
STATUS_OF_SEVERAL(Request_get_status_some, (n_done, indices, statuses), sets_statuses(result),
	*n_done != MPI_UNDEFINED ? *n_done : 0, indices, int *n_done, int indices[], MPI_Status statuses[])
#endif

/* ---- starts and ends */

/* End what was lent for a start that has failed. */
static void stop(int n, const MPI_Request requests[])
{
	for (int i = 0; i < n; i++)
		loans_failed(requests[i], requests[i], loans_newest());
}

WRAPPER int MPI_Start(MPI_Request *request)
{
	int result = loans_start(*request);

	if (result == MPI_SUCCESS)
		result = OWN(Start)(request);
	if (result != MPI_SUCCESS)
		stop(1, request);
	return result;
}
BOTH_NAMES(Start)

WRAPPER int MPI_Startall(int n, MPI_Request requests[])
{
	int result = MPI_SUCCESS, started = 0;

	while (started < n && result == MPI_SUCCESS)
		result = loans_start(requests[started++]);
	if (result == MPI_SUCCESS)
		result = OWN(Startall)(n, requests);
	if (result != MPI_SUCCESS)
		stop(started, requests);
	return result;
}
BOTH_NAMES(Startall)

WRAPPER int MPI_Request_free(MPI_Request *request)
{
	int result = MPI_SUCCESS;

	if (!loans_give_up(request))
		result = OWN(Request_free)(request);
	loans_poll();
	return result;
}
BOTH_NAMES(Request_free)
