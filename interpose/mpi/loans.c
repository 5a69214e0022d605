/* SPDX-License-Identifier: MIT */
/* loans.c - see loans.h. */
#include "loans.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- the bytes that elements of a type cover */

struct span {
	MPI_Aint from, to;		/* offsets from the buffer's address */
	bool whole;			/* the elements cover all bytes between them */
	bool named;			/* a predefined type: the bytes of a message are in the order of memory */
};

/* The span of @n elements; @at: the offset of the first. False: it is empty. */
static bool find_span(size_t n, MPI_Datatype type, MPI_Aint at, struct span *ret_span)
{
	MPI_Aint lower, extent, true_lower, true_extent, last;
	int n_ints, n_addresses, n_types, combiner;
	MPI_Count size;

	/* MPI refuses a negative count. */
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

/* A request that has a loan, or gets one at each start. */
struct entry {
	struct entry *next;
	MPI_Request request;
	uint64_t serial;
	struct loan written;
	/* Of a persistent request: what to lend at each start, and the address that MPI has got. */
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

	/* Until the request completes, kernels may write the holes. So they must not be in a loan. */
	if (loans->when != NOW && access != READS && !span->whole)
		return (void *)(uintptr_t)p;
	/* The length of a received message says which bytes were written only if their order is that of memory. */
	if (span->whole && (access == WRITES || (access == RECEIVES && span->named)))
		how = ADSM_ACCESS_OUT;
	/* A persistent request needs only the address now. */
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

/* Is it the address of a buffer, and no special value of MPI? */
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
	struct span all = { 0, 0, true, false }, span;
	MPI_Aint lower, extent = 1, size = 0;
	bool any = false;

	if (!is_buffer(p) || !adsmIsShared(p) ||
	    (!types && PMPI_Type_get_extent(type, &lower, &extent) != MPI_SUCCESS))
		return (void *)(uintptr_t)p;
	for (int i = 0; i < n; i++) {
		if (!find_span((size_t)counts[i], types ? types[i] : type, at[i] * extent, &span))
			continue;
		all.from = any && all.from < span.from ? all.from : span.from;
		all.to = any && all.to > span.to ? all.to : span.to;
		all.whole &= span.whole;
		size += span.to - span.from;
		any = true;
	}
	/* Are there bytes between the parts? */
	all.whole &= size == all.to - all.from;
	return any ? lend_span(loans, p, &all, access) : (void *)(uintptr_t)p;
}

/* ---- the end of loans */

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

/* MPI has failed, so the number of bytes written is not known. */
static void end_failed(struct loan *loan)
{
	if (loan->whole)
		loan->size = 0;
	end_loan(loan, NULL);
}

int loans_end(struct loans *loans, int result, const MPI_Status *status)
{
	if (loans->written.loan && result != MPI_SUCCESS)
		end_failed(&loans->written);
	else if (loans->written.loan)
		end_loan(&loans->written, status);
	loans_poll();
	return result;
}

/* ---- requests */

#define N_LISTS 256

/* Guards all entries. It is held for a few instructions only. While it is held, MPI is not called, and no loan begins
 * or ends, because that may wait for the device. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct entry *lists[N_LISTS], *given_up;
static _Atomic unsigned n_entries, n_given_up;		/* all entries, and those in given_up */
static _Atomic uint64_t newest_serial;

static struct entry **list_of(MPI_Request request)
{
	uint64_t number = 0;

	memcpy(&number, &request, sizeof(request));
	return &lists[(number * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}

uint64_t loans_newest(void)
{
	return atomic_load(&newest_serial);
}

bool loans_any(void)
{
	return atomic_load(&n_entries) != 0;
}

static void push(struct entry **list, struct entry *entry)
{
	entry->next = *list;
	*list = entry;
}

/* The place in its list of the handle's newest entry up to this serial number. @lent: only one with a loan. The caller
 * holds the mutex. */
static struct entry **newest_entry(MPI_Request request, uint64_t newest, bool lent)
{
	struct entry **at = list_of(request);

	while (*at && ((*at)->request != request || (*at)->serial > newest || (lent && !(*at)->written.loan)))
		at = &(*at)->next;
	return at;
}

/* The caller holds the mutex. */
static void drop(struct entry **at)
{
	struct entry *entry = *at;

	*at = entry->next;
	atomic_fetch_sub(&n_entries, 1);
	free(entry);
}

int loans_request(struct loans *loans, int result, const MPI_Request *request)
{
	struct entry *entry = loans->entry;

	loans_poll();
	if (!entry)
		return result;
	if (result != MPI_SUCCESS) {
		end_failed(&loans->written);
		free(entry);
		return result;
	}
	entry->written = loans->written;
	entry->request = *request;
	pthread_mutex_lock(&mutex);
	entry->serial = atomic_fetch_add(&newest_serial, 1) + 1;
	push(list_of(*request), entry);
	atomic_fetch_add(&n_entries, 1);
	pthread_mutex_unlock(&mutex);
	return result;
}

int loans_start(MPI_Request request)
{
	int result = MPI_SUCCESS;
	void *address = NULL;
	struct entry *entry;

	if (!loans_any())
		return result;
	pthread_mutex_lock(&mutex);
	entry = *newest_entry(request, UINT64_MAX, false);
	pthread_mutex_unlock(&mutex);
	/* The entry stays valid: only freeing the request removes it, and the program cannot do that during a start. */
	if (!entry || !entry->lasts)
		return result;
	/* A loan of an earlier start: MPI has not reported that it ended. */
	if (entry->written.loan)
		end_failed(&entry->written);
	entry->written.loan = NULL;
	entry->written.size = entry->size;
	if (adsmLend(entry->base, entry->size, entry->how, &entry->written.loan, &address) ||
	    address != entry->address)
		result = MPI_ERR_BUFFER;
	if (result != MPI_SUCCESS)
		PMPI_Comm_call_errhandler(MPI_COMM_WORLD, result);
	return result;
}

/* Take the next loan of a request that has ended. False: there is none. */
static bool take_loan(MPI_Request request, uint64_t newest, struct loan *ret_loan)
{
	struct entry **at;
	bool found;

	pthread_mutex_lock(&mutex);
	at = newest_entry(request, newest, true);
	found = *at != NULL;
	if (found) {
		*ret_loan = (*at)->written;
		(*at)->written.loan = NULL;
		if (!(*at)->lasts)
			drop(at);
	}
	pthread_mutex_unlock(&mutex);
	return found;
}

void loans_completed(MPI_Request request, uint64_t newest, const MPI_Status *status)
{
	struct loan loan;

	while (loans_any() && take_loan(request, newest, &loan))
		end_loan(&loan, status);
}

/* Does MPI report the request as complete or inactive? False also if it has no loan. */
static bool is_over(MPI_Request request, uint64_t newest, MPI_Status *ret_status)
{
	bool lent;
	int flag;

	pthread_mutex_lock(&mutex);
	lent = *newest_entry(request, newest, true);
	pthread_mutex_unlock(&mutex);
	return lent && OWN(Request_get_status)(request, &flag, ret_status) == MPI_SUCCESS && flag;
}

void loans_failed(MPI_Request request, MPI_Request now, uint64_t newest)
{
	MPI_Status status;
	struct loan loan;

	if (request == MPI_REQUEST_NULL || !loans_any())
		return;
	if (now != MPI_REQUEST_NULL) {
		if (is_over(now, newest, &status))
			loans_completed(now, newest, &status);
		return;
	}
	while (take_loan(request, newest, &loan))
		end_failed(&loan);
}

bool loans_give_up(MPI_Request *request)
{
	struct entry **at, *entry;
	bool kept = false;

	if (!loans_any())
		return false;
	pthread_mutex_lock(&mutex);
	at = newest_entry(*request, UINT64_MAX, false);
	entry = *at;
	if (entry && entry->written.loan) {
		kept = true;
		*at = entry->next;
		push(&given_up, entry);
		atomic_fetch_add(&n_given_up, 1);
	} else if (entry) {
		drop(at);
	}
	pthread_mutex_unlock(&mutex);
	if (kept)
		*request = MPI_REQUEST_NULL;
	return kept;
}

/* Has a request that the program has freed completed? Then end its loan. */
static bool poll_entry(struct entry *entry)
{
	MPI_Status status;
	int flag, result = OWN(Test)(&entry->request, &flag, &status);

	if (result != MPI_SUCCESS) {
		end_failed(&entry->written);
		return true;
	}
	if (!flag)
		return false;
	end_loan(&entry->written, &status);
	if (entry->request != MPI_REQUEST_NULL)
		OWN(Request_free)(&entry->request);
	return true;
}

void loans_poll(void)
{
	struct entry *entries, *next;

	if (!atomic_load(&n_given_up))
		return;
	/* This thread takes all entries, and puts back those that have not completed. */
	pthread_mutex_lock(&mutex);
	entries = given_up;
	given_up = NULL;
	pthread_mutex_unlock(&mutex);
	for (struct entry *entry = entries; entry; entry = next) {
		bool completed = poll_entry(entry);

		next = entry->next;
		pthread_mutex_lock(&mutex);
		if (completed) {
			atomic_fetch_sub(&n_given_up, 1);
			drop(&entry);
		} else {
			push(&given_up, entry);
		}
		pthread_mutex_unlock(&mutex);
	}
}
