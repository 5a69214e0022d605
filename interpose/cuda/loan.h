/* SPDX-License-Identifier: MIT */
/* loan.h - shared memory among the arguments of a call of the driver's. */
#ifndef ADSM_CUDA_LOAN_H
#define ADSM_CUDA_LOAN_H

#include <stddef.h>
#include <stdint.h>

/*
 * Memory that the driver reads or writes during a call, at a pointer among the arguments, is lent to it where that is
 * shared: in between *argument is another place, with the same bytes. Not with a lock held.
 */
typedef uintptr_t adsm_cuda_word __attribute__((may_alias));
struct adsm_cuda_loan {
	adsm_cuda_word *argument;
	size_t size;			/* bytes; ADSM_CUDA_TEXT: up to and with the NUL */
	void *own;			/* the program's; NULL: nothing is lent */
	char *lent;			/* what the driver gets */
};
#define ADSM_CUDA_TEXT SIZE_MAX
#define ADSM_CUDA_LOAN(argument, size) { (adsm_cuda_word *)&(argument), (size), NULL, NULL }
void adsm_cuda_lend(struct adsm_cuda_loan *loans, size_t n);
void adsm_cuda_take_back(struct adsm_cuda_loan *loans, size_t n);
/* result_ = call_, with these loans. */
#define ADSM_CUDA_LENT(result_, call_, ...) do {						\
		struct adsm_cuda_loan loans_[] = { __VA_ARGS__ };				\
												\
		adsm_cuda_lend(loans_, sizeof(loans_) / sizeof(*loans_));			\
		result_ = call_;								\
		adsm_cuda_take_back(loans_, sizeof(loans_) / sizeof(*loans_));			\
	} while (0)

#endif
