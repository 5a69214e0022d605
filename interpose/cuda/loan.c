/* SPDX-License-Identifier: MIT */
/*
 * loan.c - shared memory among the arguments of a call of the driver's. The page may be closed, and what opens it needs
 * the driver, which is locked by then. So the driver gets memory of the library's instead, with the bytes of the
 * program's, and those that it has changed are copied back.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "loan.h"
#include "core/shared.h"

#define SPARE 64	/* behind what is lent: should a newer driver know of more */

/* Twice: the second stays as it was, for two arguments may point to one place, and the driver write one of them. */
static char *copy_of(const void *p, size_t size)
{
	char *copy = calloc(1, 2 * size + SPARE);

	/* Without memory the driver uses the program's own; if it comes to that, the fault handler says so. */
	if (copy)
		memcpy(copy + size + SPARE, memcpy(copy, p, size), size);
	return copy;
}

void adsm_cuda_lend(struct adsm_cuda_loan *loans, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct adsm_cuda_loan *loan = &loans[i];
		void *own = (void *)*loan->argument;
		bool text = loan->size == ADSM_CUDA_TEXT;

		if (!loan->size || !adsm_may_be_shared(own, text ? 1 : loan->size))
			continue;
		if (text)
			loan->size = strlen(own) + 1;
		loan->lent = copy_of(own, loan->size);
		if (!loan->lent)
			continue;
		loan->own = own;
		*loan->argument = (uintptr_t)loan->lent;
	}
}

void adsm_cuda_take_back(struct adsm_cuda_loan *loans, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct adsm_cuda_loan *loan = &loans[i];

		if (!loan->own)
			continue;
		*loan->argument = (uintptr_t)loan->own;
		if (memcmp(loan->lent, loan->lent + loan->size + SPARE, loan->size))
			memcpy(loan->own, loan->lent, loan->size);
		free(loan->lent);
	}
}
