/* SPDX-License-Identifier: MIT */
/* loans.c - see loans.h. */
#include "loans.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- where bytes of a type lie */

struct span {
	MPI_Aint from, to;		/* of what is read or written, from the buffer's address on */
	bool whole;			/* all in between */
	bool named;			/* its type is one of MPI's own: what comes first lies first */
};

/* @n elements, of which the first lies at @at. False: there are none. */
static bool find_span(size_t n, MPI_Datatype type, MPI_Aint at, struct span *ret_span)
{
	MPI_Aint lower, extent, true_lower, true_extent, last;
	int n_ints, n_addresses, n_types, combiner;
	MPI_Count size;

	/* A count below zero MPI refuses. */
	if ((MPI_Aint)n <= 0 || type == MPI_DATATYPE_NULL ||
	    PMPI_Type_get_extent(type, &lower, &extent) != MPI_SUCCESS ||
	    PMPI_Type_get_true_extent(type, &true_lower, &true_extent) != MPI_SUCCESS ||
	    PMPI_Type_get_envelope(type, &n_ints, &n_addresses, &n_types, &combiner) != MPI_SUCCESS ||
	    PMPI_Type_size_x(type, &size) != MPI_SUCCESS || !size)
		return false;
	last = (MPI_Aint)(n - 1) * extent;
	ret_span->from = at + true_lower + (last < 0 ? last : 0);
	ret_span->to = at + true_lower + true_extent + (last > 0 ? last : 0);
	ret_span->whole = size == true_extent && (n == 1 || size == extent);
	ret_span->named = combiner == MPI_COMBINER_NAMED;
	return true;
}

/* A request that has a loan, or has one whenever it is started. */
struct entry {
	struct entry *next;
	MPI_Request request;
	struct loan written;
	bool given_up;
	/* Of one that is started again and again: what is lent then, and the address that MPI was given. */
	bool lasts;
	void *base, *address;
	size_t size;
	unsigned how;
};

static void *lend_span(struct loans *loans, const void *p, const struct span *span, enum access access)
{
	size_t size = (size_t)(span->to - span->from);
	void *address, *base = (void *)((uintptr_t)p + (uintptr_t)span->from);
	unsigned how = access == READS ? ADSM_ACCESS_IN : ADSM_ACCESS_INOUT;
	bool again = loans->when == AGAIN;
	adsmLoan *loan;

	/* How much of it a message fills its length tells only where its bytes come in order. */
	if (span->whole && (access == WRITES || (access == RECEIVES && span->named)))
		how = ADSM_ACCESS_OUT;
	/* Whenever it is started: now only the address. */
	if (!adsmIsShared(base) || adsmLend(base, size, again ? ADSM_ACCESS_IN : how, &loan, &address))
		return (void *)(uintptr_t)p;
	if (loan || again) {
		if (loans->when != NOW)
			loans->entry = calloc(1, sizeof(*loans->entry));
		if (loans->when != NOW && !loans->entry) {
			adsmLoanEnd(loan, 0);
			return (void *)(uintptr_t)p;
		}
		loans->written = (struct loan){ loan, size, how == ADSM_ACCESS_OUT,
						how == ADSM_ACCESS_OUT && access == RECEIVES };
		if (again)
			*loans->entry = (struct entry){ .lasts = true, .base = base, .address = address, .size = size,
							.how = how };
	}
	return (void *)((uintptr_t)address - (uintptr_t)span->from);
}

/* A buffer with an address of its own? */
static bool is_buffer(const void *p)
{
	return p != MPI_BOTTOM && p != MPI_IN_PLACE;
}

void *loans_lend(struct loans *loans, const void *p, size_t n, MPI_Datatype type, enum access access)
{
	struct span span;

	if (!is_buffer(p) || !find_span(n, type, 0, &span))
		return (void *)(uintptr_t)p;
	return lend_span(loans, p, &span, access);
}

void *loans_lend_parts(struct loans *loans, const void *p, int n, const int *counts, const int *at, MPI_Datatype type,
		       const MPI_Datatype *types, enum access access)
{
	struct span all = { 0, 0, false, false }, span;
	MPI_Aint lower, extent = 1;
	bool any = false;

	if (!is_buffer(p) || !adsmIsShared(p) ||
	    (!types && PMPI_Type_get_extent(type, &lower, &extent) != MPI_SUCCESS))
		return (void *)(uintptr_t)p;
	for (int i = 0; i < n; i++) {
		if (!find_span((size_t)counts[i], types ? types[i] : type, at[i] * extent, &span))
			continue;
		all.from = any && all.from < span.from ? all.from : span.from;
		all.to = any && all.to > span.to ? all.to : span.to;
		any = true;
	}
	/* What lies between the parts stays. */
	return any ? lend_span(loans, p, &all, access) : (void *)(uintptr_t)p;
}

/* ---- ends */

static void end_loan(struct loan *loan, const MPI_Status *status)
{
	size_t size = loan->size;
	MPI_Count n = 0;
	int cancelled = 0;

	if (status && loan->by_status) {
		PMPI_Test_cancelled(status, &cancelled);
		if (cancelled || PMPI_Get_elements_x(status, MPI_BYTE, &n) != MPI_SUCCESS || n < 0)
			n = 0;
		size = (size_t)n < size ? (size_t)n : size;
	}
	adsmLoanEnd(loan->loan, size);
	loan->loan = NULL;
}

int loans_end(struct loans *loans, int result, const MPI_Status *status)
{
	if (loans->written.loan) {
		/* After an error nobody knows how much has come. */
		if (result != MPI_SUCCESS && loans->written.whole)
			loans->written.size = 0;
		end_loan(&loans->written, result == MPI_SUCCESS ? status : NULL);
	}
	loans_look();
	return result;
}

/* ---- requests */

#define N_LISTS 256

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;	/* of all entries */
static struct entry *lists[N_LISTS];
static _Atomic unsigned n_entries, n_given_up;

static struct entry **list_of(MPI_Request request)
{
	uint64_t number = 0;

	memcpy(&number, &request, sizeof(request));
	return &lists[(number * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}

bool loans_any(void)
{
	return atomic_load(&n_entries) != 0;
}

int loans_request(struct loans *loans, int result, const MPI_Request *request)
{
	struct entry *entry = loans->entry, **list;

	loans_look();
	if (!entry)
		return result;
	if (result != MPI_SUCCESS) {
		if (loans->written.whole)
			loans->written.size = 0;
		end_loan(&loans->written, NULL);
		free(entry);
		return result;
	}
	if (!entry->lasts)
		*entry = (struct entry){ .written = loans->written };
	else
		entry->written = loans->written;
	entry->request = *request;
	list = list_of(*request);
	pthread_mutex_lock(&mutex);
	entry->next = *list;
	*list = entry;
	atomic_fetch_add(&n_entries, 1);
	pthread_mutex_unlock(&mutex);
	return result;
}

/* With the mutex. */
static void drop(struct entry **at)
{
	struct entry *entry = *at;

	*at = entry->next;
	atomic_fetch_sub(&n_entries, 1);
	atomic_fetch_sub(&n_given_up, entry->given_up);
	free(entry);
}

int loans_start(MPI_Request request)
{
	int result = MPI_SUCCESS;

	if (!loans_any())
		return result;
	pthread_mutex_lock(&mutex);
	for (struct entry *entry = *list_of(request); entry; entry = entry->next) {
		void *address = NULL;

		if (entry->request != request || !entry->lasts || entry->given_up)
			continue;
		entry->written.size = entry->size;
		if (adsmLend(entry->base, entry->size, entry->how, &entry->written.loan, &address) ||
		    address != entry->address)
			result = MPI_ERR_BUFFER;
	}
	pthread_mutex_unlock(&mutex);
	if (result != MPI_SUCCESS)
		PMPI_Comm_call_errhandler(MPI_COMM_WORLD, result);
	return result;
}

void loans_completed(MPI_Request request, const MPI_Status *status)
{
	struct entry **at = list_of(request);

	if (!loans_any())
		return;
	pthread_mutex_lock(&mutex);
	while (*at) {
		struct entry *entry = *at;

		if (entry->request != request || entry->given_up) {
			at = &entry->next;
			continue;
		}
		if (entry->written.loan)
			end_loan(&entry->written, status);
		if (entry->lasts)
			at = &entry->next;
		else
			drop(at);
	}
	pthread_mutex_unlock(&mutex);
}

bool loans_give_up(MPI_Request *request)
{
	struct entry **at = list_of(*request);
	bool kept = false;

	if (!loans_any())
		return false;
	pthread_mutex_lock(&mutex);
	while (*at) {
		struct entry *entry = *at;

		if (entry->request == *request && !entry->given_up && entry->written.loan) {
			entry->given_up = kept = true;
			atomic_fetch_add(&n_given_up, 1);
		} else if (entry->request == *request && !entry->given_up) {
			drop(at);
			continue;
		}
		at = &entry->next;
	}
	pthread_mutex_unlock(&mutex);
	if (kept)
		*request = MPI_REQUEST_NULL;
	return kept;
}

void loans_look(void)
{
	if (!atomic_load(&n_given_up))
		return;
	pthread_mutex_lock(&mutex);
	for (size_t i = 0; i < N_LISTS; i++)
		for (struct entry **at = &lists[i]; *at;) {
			struct entry *entry = *at;
			MPI_Request request = entry->request;
			MPI_Status status;
			int flag = 0;

			if (entry->given_up && PMPI_Test(&request, &flag, &status) == MPI_SUCCESS && flag) {
				end_loan(&entry->written, &status);
				if (request != MPI_REQUEST_NULL)
					PMPI_Request_free(&request);
				drop(at);
			} else {
				at = &entry->next;
			}
		}
	pthread_mutex_unlock(&mutex);
}
