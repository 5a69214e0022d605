/* SPDX-License-Identifier: MIT */
/*
 * requests.c - when loans of requests end: the wrappers' own code on doubles of MPI and of the library. MPI uses
 * handles again before the wrapper has seen that it is done with them, as with other threads of a program; functions
 * of MPI fail, and leave nonsense in what they set; and no loan begins or ends with the wrappers' mutex locked.
 */
#include "../../interpose/mpi/loans.c"

#include "../check.h"

#define N 8				/* slots of the object; requests; handles */
#define SLOT 64				/* bytes */
#define NONSENSE 123456789

/* ---- a double of the library: one loan for each slot */

struct adsmLoan {
	bool lent;
	int n_ends;
	size_t delivered;
};

static char object[N * SLOT], alias[N * SLOT];
static struct adsmLoan loans[N];

static void check_unlocked(void)
{
	CHECK_EQ(pthread_mutex_trylock(&mutex), 0);
	pthread_mutex_unlock(&mutex);
}

int adsmIsShared(const void *p)
{
	return (const char *)p >= object && (const char *)p < object + sizeof(object);
}

int adsmLend(const void *p, size_t size, unsigned access, adsmLoan **ret_loan, void **ret_address)
{
	size_t at = (size_t)((char *)p - object);
	struct adsmLoan *loan = &loans[at / SLOT];

	check_unlocked();
	CHECK(size <= SLOT);
	*ret_loan = NULL;
	*ret_address = alias + at;
	if (access == ADSM_ACCESS_IN)
		return 0;
	CHECKF(!loan->lent, "slot %zu", at / SLOT);
	loan->lent = true;
	*ret_loan = loan;
	return 0;
}

int adsmLoanEnd(adsmLoan *loan, size_t delivered)
{
	check_unlocked();
	if (!loan)
		return 0;
	CHECK(loan->lent);
	loan->lent = false;
	loan->n_ends++;
	loan->delivered = delivered;
	return 0;
}

/* ---- a double of MPI */

enum fate { COMES, LATE, BROKEN };

static struct request {
	bool used, lasts, active;
	enum fate fate;
	int bytes;			/* that come */
} requests[N];

static int failure;			/* what functions of MPI return, which then set nothing in order */
static void (*meanwhile)(void);		/* once, when MPI is done with the handles */

static MPI_Request handle(struct request *request)
{
	return (MPI_Request)(uintptr_t)(1000 + (request - requests) * 16);
}

static struct request *of(MPI_Request of_handle)
{
	for (int i = 0; i < N; i++)
		if (requests[i].used && handle(&requests[i]) == of_handle)
			return &requests[i];
	CHECK(of_handle == MPI_REQUEST_NULL);
	return NULL;
}

/* The lowest free handle. */
static int new_request(bool lasts, int n, MPI_Request *ret_handle)
{
	struct request *request = requests;

	while (request->used)
		request++;
	CHECK(request < requests + N);
	*request = (struct request){ .used = true, .lasts = lasts, .active = !lasts, .bytes = n };
	*ret_handle = handle(request);
	return MPI_SUCCESS;
}

int PMPI_Irecv(void *p, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
	CHECK((char *)p >= alias && (char *)p < alias + sizeof(alias));
	return new_request(false, n, request);
}

int PMPI_Recv_init(void *p, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
	return new_request(true, n, request);
}

static int own_startall(int n, MPI_Request list[])
{
	for (int i = 0; i < n && !failure; i++)
		of(list[i])->active = true;
	return failure;
}

static int own_start(MPI_Request *request)
{
	return own_startall(1, request);
}

static int own_request_free(MPI_Request *request)
{
	*of(*request) = (struct request){ .used = false };
	*request = MPI_REQUEST_NULL;
	return MPI_SUCCESS;
}

static int own_request_get_status(MPI_Request of_handle, int *flag, MPI_Status *status)
{
	struct request *request = of(of_handle);

	check_unlocked();
	*flag = !request || !request->active || request->fate != LATE;
	status->MPI_TAG = request && request->active ? request->bytes : 0;
	return MPI_SUCCESS;
}

/* At most @most of a list are over: how many, which; their statuses one after the other, or each in its place. */
static int finish(int n, MPI_Request list[], int most, int *ret_n, int indices[], MPI_Status statuses[], bool in_place)
{
	void (*and_then)(void) = meanwhile;
	int k = 0, result = MPI_SUCCESS;

	check_unlocked();
	for (int i = 0; i < n && k < most; i++) {
		struct request *request = of(list[i]);
		MPI_Status *status = &statuses[in_place ? i : k];

		if (request && request->active && request->fate == LATE)
			status->MPI_ERROR = MPI_ERR_PENDING;
		if (!request || !request->active || request->fate == LATE)
			continue;
		status->MPI_TAG = request->bytes;
		status->MPI_ERROR = request->fate == BROKEN ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
		if (request->fate == BROKEN)
			result = MPI_ERR_IN_STATUS;
		if (failure || request->fate == BROKEN)
			status->MPI_TAG = NONSENSE;
		indices[k++] = failure ? NONSENSE : i;
		request->active = false;
		if (!request->lasts)
			own_request_free(&list[i]);
	}
	meanwhile = NULL;
	if (and_then)
		and_then();
	*ret_n = failure ? NONSENSE : k;
	return failure ? failure : result;
}

static int finish_one(int n, MPI_Request list[], int *index, int *flag, MPI_Status *status)
{
	MPI_Status own;
	int done, result = finish(n, list, 1, &done, index, &own, false);

	*flag = done != 0;
	if (!done)
		*index = MPI_UNDEFINED;
	*status = own;
	return result == MPI_ERR_IN_STATUS ? MPI_ERR_TRUNCATE : result;
}

static int own_waitany(int n, MPI_Request list[], int *index, MPI_Status *status)
{
	int flag;

	return finish_one(n, list, index, &flag, status);
}

static int own_testany(int n, MPI_Request list[], int *index, int *flag, MPI_Status *status)
{
	return finish_one(n, list, index, flag, status);
}

static int own_wait(MPI_Request *request, MPI_Status *status)
{
	int index, flag;

	return finish_one(1, request, &index, &flag, status);
}

static int own_test(MPI_Request *request, int *flag, MPI_Status *status)
{
	int index;

	return finish_one(1, request, &index, flag, status);
}

static int own_waitsome(int n, MPI_Request list[], int *n_done, int indices[], MPI_Status statuses[])
{
	return finish(n, list, n, n_done, indices, statuses, false);
}

static int own_testsome(int n, MPI_Request list[], int *n_done, int indices[], MPI_Status statuses[])
{
	return finish(n, list, n, n_done, indices, statuses, false);
}

static int own_waitall(int n, MPI_Request list[], MPI_Status statuses[])
{
	int done, indices[N];

	return finish(n, list, n, &done, indices, statuses, true);
}

static int own_testall(int n, MPI_Request list[], int *flag, MPI_Status statuses[])
{
	int done, indices[N];
	int result = finish(n, list, n, &done, indices, statuses, true);

	*flag = 1;
	return result;
}

/* Requests are not freed, but a test does not use one that has ended. */
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
#define HAVE_STATUS_OF_SEVERAL 1
static int own_request_get_status_any(int n, const MPI_Request list[], int *index, int *flag, MPI_Status *status)
{
	return finish_one(n, (MPI_Request *)list, index, flag, status);
}

static int own_request_get_status_all(int n, const MPI_Request list[], int *flag, MPI_Status statuses[])
{
	return own_testall(n, (MPI_Request *)list, flag, statuses);
}

static int own_request_get_status_some(int n, const MPI_Request list[], int *n_done, int indices[],
				       MPI_Status statuses[])
{
	return own_testsome(n, (MPI_Request *)list, n_done, indices, statuses);
}
#endif

void *loans_own(const char *name)
{
	static const struct { const char *name; void *function; } own[] = {
#define OWN_ROW(name, function) { "PMPI_" #name, (void *)(uintptr_t)function }
		OWN_ROW(Start, own_start), OWN_ROW(Startall, own_startall), OWN_ROW(Request_free, own_request_free),
		OWN_ROW(Request_get_status, own_request_get_status), OWN_ROW(Wait, own_wait), OWN_ROW(Test, own_test),
		OWN_ROW(Waitany, own_waitany), OWN_ROW(Testany, own_testany), OWN_ROW(Waitall, own_waitall),
		OWN_ROW(Testall, own_testall), OWN_ROW(Waitsome, own_waitsome), OWN_ROW(Testsome, own_testsome),
#ifdef HAVE_STATUS_OF_SEVERAL
		OWN_ROW(Request_get_status_any, own_request_get_status_any),
		OWN_ROW(Request_get_status_all, own_request_get_status_all),
		OWN_ROW(Request_get_status_some, own_request_get_status_some),
#endif
	};
	size_t i = 0;

	while (strcmp(own[i].name, name) != 0)
		CHECKF(++i < sizeof(own) / sizeof(own[0]), "%s", name);
	return own[i].function;
}

/* ---- types of one byte, and statuses that have the number of bytes as their tag */

int PMPI_Type_get_extent(MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent)
{
	*lower = 0;
	*extent = 1;
	return MPI_SUCCESS;
}

int PMPI_Type_get_true_extent(MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent)
{
	return PMPI_Type_get_extent(type, lower, extent);
}

int PMPI_Type_get_envelope(MPI_Datatype type, int *n_ints, int *n_addresses, int *n_types, int *combiner)
{
	*n_ints = *n_addresses = *n_types = 0;
	*combiner = MPI_COMBINER_NAMED;
	return MPI_SUCCESS;
}

int PMPI_Type_size_x(MPI_Datatype type, MPI_Count *size)
{
	*size = 1;
	return MPI_SUCCESS;
}

int PMPI_Test_cancelled(const MPI_Status *status, int *flag)
{
	*flag = 0;
	return MPI_SUCCESS;
}

int PMPI_Get_elements_x(const MPI_Status *status, MPI_Datatype type, MPI_Count *n)
{
	CHECKF(status->MPI_TAG != NONSENSE, "a status is read that MPI has not set");
	*n = status->MPI_TAG;
	return MPI_SUCCESS;
}

int PMPI_Error_class(int error, int *class)
{
	*class = error;
	return MPI_SUCCESS;
}

int PMPI_Comm_call_errhandler(MPI_Comm comm, int error)
{
	return MPI_SUCCESS;
}

/* ---- the ways to learn that requests are over */

static MPI_Request list[N];

static int wait_one(int n)
{
	return MPI_Wait(list, MPI_STATUS_IGNORE);
}

static int test_one(int n)
{
	int flag;

	return MPI_Test(list, &flag, MPI_STATUS_IGNORE);
}

static int wait_any(int n)
{
	int index;

	return MPI_Waitany(n, list, &index, MPI_STATUS_IGNORE);
}

static int test_any(int n)
{
	int index, flag;

	return MPI_Testany(n, list, &index, &flag, MPI_STATUS_IGNORE);
}

static int wait_all(int n)
{
	return MPI_Waitall(n, list, MPI_STATUSES_IGNORE);
}

static int test_all(int n)
{
	int flag;

	return MPI_Testall(n, list, &flag, MPI_STATUSES_IGNORE);
}

static int wait_some(int n)
{
	int done, indices[N];

	return MPI_Waitsome(n, list, &done, indices, MPI_STATUSES_IGNORE);
}

static int test_some(int n)
{
	int done, indices[N];
	MPI_Status statuses[N];

	return MPI_Testsome(n, list, &done, indices, statuses);
}

/* As Fortran's libraries do. */
static int pmpi_wait(int n)
{
	return PMPI_Wait(list, MPI_STATUS_IGNORE);
}

static int pmpi_test_all(int n)
{
	int flag;

	return PMPI_Testall(n, list, &flag, MPI_STATUSES_IGNORE);
}

#ifdef HAVE_STATUS_OF_SEVERAL
static int status_any(int n)
{
	int index, flag;

	return MPI_Request_get_status_any(n, list, &index, &flag, MPI_STATUS_IGNORE);
}

static int status_all(int n)
{
	int flag;

	return MPI_Request_get_status_all(n, list, &flag, MPI_STATUSES_IGNORE);
}

static int status_some(int n)
{
	int done, indices[N];

	return MPI_Request_get_status_some(n, list, &done, indices, MPI_STATUSES_IGNORE);
}
#endif

static const struct completion {
	const char *name;
	int (*learn)(int n);
	int most;			/* requests that it learns of */
} completions[] = {
	{ "Wait", wait_one, 1 }, { "Test", test_one, 1 }, { "Waitany", wait_any, 1 }, { "Testany", test_any, 1 },
	{ "Waitall", wait_all, N }, { "Testall", test_all, N }, { "Waitsome", wait_some, N },
	{ "Testsome", test_some, N }, { "PMPI_Wait", pmpi_wait, 1 }, { "PMPI_Testall", pmpi_test_all, N },
#ifdef HAVE_STATUS_OF_SEVERAL
	{ "Request_get_status_any", status_any, 1 }, { "Request_get_status_all", status_all, N },
	{ "Request_get_status_some", status_some, N },
#endif
};
#define N_COMPLETIONS (sizeof(completions) / sizeof(completions[0]))

/* ---- cases */

static const struct completion *completion;

static void receive(int slot, int n, enum fate fate)
{
	CHECK_EQ(MPI_Irecv(object + slot * SLOT, n, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &list[slot]), MPI_SUCCESS);
	of(list[slot])->fate = fate;
	CHECK(loans[slot].lent);
}

static void receive_again(int slot, int n, enum fate fate)
{
	CHECK_EQ(MPI_Recv_init(object + slot * SLOT, n, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &list[slot]), MPI_SUCCESS);
	of(list[slot])->fate = fate;
	CHECK(!loans[slot].lent);
}

static void lent(int slot)
{
	CHECKF(loans[slot].lent, "%s: slot %d: %zu bytes have come too early", completion->name, slot,
	       loans[slot].delivered);
}

static void ended(int slot, size_t n)
{
	CHECKF(!loans[slot].lent && loans[slot].n_ends == 1 && loans[slot].delivered == n,
	       "%s: slot %d: %s, ended %d times with %zu bytes, not once with %zu", completion->name, slot,
	       loans[slot].lent ? "lent" : "not lent", loans[slot].n_ends, loans[slot].delivered, n);
}

static void clean(void)
{
	failure = 0;
	for (int i = 0; i < N; i++) {
		if (list[i] == MPI_REQUEST_NULL)
			continue;
		of(list[i])->fate = COMES;
		MPI_Wait(&list[i], MPI_STATUS_IGNORE);
		if (list[i] != MPI_REQUEST_NULL)
			MPI_Request_free(&list[i]);
	}
	CHECK(!loans_any());
	for (int i = 0; i < N; i++)
		CHECK(!loans[i].lent && !requests[i].used);
	memset(loans, 0, sizeof(loans));
}

/* What another thread does when it gets the handles that have just become free. */
static void receive_more(void)
{
	receive(4, 7, LATE);
	receive(5, 9, LATE);
	CHECK(list[4] == handle(&requests[0]));
}

static void receive_more_again(void)
{
	receive_again(4, 7, LATE);
	CHECK_EQ(MPI_Start(&list[4]), MPI_SUCCESS);
	CHECK(list[4] == handle(&requests[0]));
	receive(5, 9, LATE);
}

static void test_reuse(void (*more)(void))
{
	receive(0, 20, COMES);
	receive(1, 30, COMES);
	meanwhile = more;
	CHECK_EQ(completion->learn(2), MPI_SUCCESS);
	CHECK(!meanwhile);
	ended(0, 20);
	if (completion->most > 1)
		ended(1, 30);
	lent(4);
	lent(5);
	clean();
}

/* Handles that a failing function has taken away are used again, too. */
static void test_failure(void)
{
	receive(0, 20, COMES);
	receive(1, 30, LATE);
	receive_again(2, 40, BROKEN);
	receive_again(3, 50, LATE);
	CHECK_EQ(MPI_Startall(2, &list[2]), MPI_SUCCESS);
	meanwhile = receive_more;
	failure = MPI_ERR_OTHER;
	CHECK_EQ(completion->learn(4), MPI_ERR_OTHER);
	failure = 0;
	ended(0, 0);
	lent(1);
	if (completion->most > 1)
		ended(2, 0);
	lent(3);
	lent(4);
	lent(5);
	clean();
}

/* Some of several have failed, or the one that is over. */
static void test_in_status(void)
{
	int error = completion->most > 1 ? MPI_ERR_IN_STATUS : MPI_ERR_TRUNCATE;

	receive(0, 20, BROKEN);
	receive(1, 30, COMES);
	receive(2, 40, LATE);
	receive_again(3, 50, BROKEN);
	CHECK_EQ(MPI_Start(&list[3]), MPI_SUCCESS);
	CHECK_EQ(completion->learn(4), error);
	ended(0, 0);
	lent(2);
	if (completion->most > 1) {
		ended(1, 30);
		ended(3, 0);
	}
	clean();
}

/* A start that fails leaves nothing lent. */
static void test_start(void)
{
	completion = &(struct completion){ .name = "Start" };
	receive_again(0, 20, COMES);
	receive_again(1, 30, COMES);
	failure = MPI_ERR_OTHER;
	CHECK_EQ(MPI_Startall(2, list), MPI_ERR_OTHER);
	ended(0, 0);
	ended(1, 0);
	CHECK_EQ(MPI_Start(list), MPI_ERR_OTHER);
	CHECK(!loans[0].lent && loans[0].n_ends == 2);
	clean();
}

/* One that the program frees before it is over ends in a later call; its handle belongs to it until then. */
static void test_given_up(void)
{
	MPI_Request freed;

	completion = &(struct completion){ .name = "Request_free" };
	receive(0, 20, LATE);
	receive(1, 30, COMES);
	freed = list[0];
	CHECK_EQ(MPI_Request_free(&list[0]), MPI_SUCCESS);
	CHECK(list[0] == MPI_REQUEST_NULL);
	CHECK_EQ(MPI_Wait(&list[1], MPI_STATUS_IGNORE), MPI_SUCCESS);
	ended(1, 30);
	lent(0);
	of(freed)->fate = COMES;
	meanwhile = receive_more;
	loans_poll();
	ended(0, 20);
	lent(4);
	lent(5);
	clean();
}

int main(void)
{
	for (int i = 0; i < N; i++)
		list[i] = MPI_REQUEST_NULL;
	for (completion = completions; completion < completions + N_COMPLETIONS; completion++) {
		test_reuse(receive_more);
		test_reuse(receive_more_again);
		test_failure();
		test_in_status();
	}
	test_start();
	test_given_up();
	return 0;
}
