/* SPDX-License-Identifier: MIT */
/*
 * loan.c - memory lent for an argument of a call. The page may be closed, and what opens it needs the driver, which is
 * locked by then; or the call is the system's, which does not wait for pages. So the call gets memory of the library's
 * instead, with the bytes of the program's, and those that it has changed are copied back.
 */
#include <stdlib.h>
#include <string.h>

#include "loan.h"
#include "core/shared.h"

#define SPARE 64	/* behind what is lent to CUDA's driver: should a newer one know of more */

/* The second copy stays: two arguments may point to one place, and the call write one of them. */
int adsm_loan_begin(struct adsm_loan *loan, char *before, char *lent, adsm_loan_copy *copy)
{
	char *own = (char *)*loan->argument;
	int error = copy(lent, own, loan->size);

	if (error)
		return error;
	loan->own = own;
	loan->lent = lent;
	loan->before = memcpy(before, lent, loan->size);
	*loan->argument = (uintptr_t)lent;
	return 0;
}

int adsm_loan_end(struct adsm_loan *loan, adsm_loan_copy *copy)
{
	const char *before = loan->before, *now = loan->lent;
	size_t first = 0, size = loan->size;

	*loan->argument = (uintptr_t)loan->own;
	while (first < size && before[first] == now[first])
		first++;
	while (size > first && before[size - 1] == now[size - 1])
		size--;
	return size > first ? copy(loan->own + first, now + first, size - first) : 0;
}

/* ---- the driver's: its arguments may be long, and the program's memory is touched where it is */

static int touch(void *dst, const void *src, size_t size)
{
	memcpy(dst, src, size);
	return 0;
}

void adsm_loans_begin(struct adsm_loan *loans, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct adsm_loan *loan = &loans[i];
		const void *own = (const void *)*loan->argument;
		bool text = loan->size == ADSM_LOAN_TEXT;
		char *lent;

		if (!loan->size || !adsm_may_be_shared(own, text ? 1 : loan->size))
			continue;
		if (text)
			loan->size = strlen(own) + 1;
		lent = calloc(1, 2 * loan->size + SPARE);
		/* Without memory the driver uses the program's own; if it comes to that, the fault handler says so. */
		if (lent)
			adsm_loan_begin(loan, lent + loan->size + SPARE, lent, touch);
	}
}

void adsm_loans_end(struct adsm_loan *loans, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (loans[i].own)
			adsm_loan_end(&loans[i], touch);
		free(loans[i].lent);
	}
}
