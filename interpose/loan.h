/* SPDX-License-Identifier: MIT */
/* loan.h - memory lent for an argument: shared memory that a call reads or writes at one of its pointers. During the
 * call *argument is another place, with the same bytes; those that the call has changed go back. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef uintptr_t adsm_word __attribute__((may_alias));
struct adsm_loan {
	adsm_word *argument;
	size_t size;			/* bytes; ADSM_LOAN_TEXT: up to and with the NUL */
	char *own;			/* the program's; NULL: nothing is lent */
	char *lent, *before;		/* what the call gets; a copy of it that stays as it was */
};
#define ADSM_LOAN_TEXT SIZE_MAX
#define ADSM_LOAN(pointer, bytes) { .argument = (adsm_word *)&(pointer), .size = (bytes) }

/* How the program's memory is read and written: 0 or a negative errno. */
typedef int adsm_loan_copy(void *dst, const void *src, size_t size);

/* In memory of the caller's. On failure nothing is lent. */
int adsm_loan_begin(struct adsm_loan *loan, char *before, char *lent, adsm_loan_copy *copy);
int adsm_loan_end(struct adsm_loan *loan, adsm_loan_copy *copy);

/* For CUDA's driver, where the memory is shared. Not with a lock held. */
void adsm_loans_begin(struct adsm_loan *loans, size_t n);
void adsm_loans_end(struct adsm_loan *loans, size_t n);
/* result_ = call_, with these loans. */
#define ADSM_LOANS_FOR(result_, call_, ...) do {						\
		struct adsm_loan loans_[] = { __VA_ARGS__ };					\
												\
		adsm_loans_begin(loans_, sizeof(loans_) / sizeof(*loans_));			\
		result_ = call_;								\
		adsm_loans_end(loans_, sizeof(loans_) / sizeof(*loans_));			\
	} while (0)
