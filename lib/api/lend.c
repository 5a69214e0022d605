/* SPDX-License-Identifier: MIT */
/* api/lend.c - the public functions for loans. */
#include <errno.h>
#include <stdlib.h>

#include "adsm_lend.h"
#include "api/told.h"
#include "base/log.h"
#include "core/index.h"
#include "core/life.h"
#include "core/object.h"
#include "core/shared.h"
#include "run/copy/io.h"
#include "run/copy/part.h"

struct adsmLoan {
	struct adsm_io io;
	struct iovec room[ADSM_IO_ROOM(1)];
};

/* The whole range must be in one piece, because the caller gets one address. */
static int begin(struct adsmLoan *loan, const struct iovec *range, unsigned access, const void *where)
{
	const struct adsm_object *object = adsm_index_find((uintptr_t)range->iov_base);
	int error = adsm_copy_permitted(range->iov_base, range->iov_len,
					access & ADSM_ACCESS_OUT ? ADSM_PROT_RW : ADSM_PROT_READ, false);

	/* The system refuses such an address itself. Other code would crash there. */
	if (!error && object && object->device_only)
		error = adsm_fail(-EINVAL, "%p is device-only memory: the CPU has no copy of it", range->iov_base);
	loan->io = (struct adsm_io){ .detached = true, .where = where };
	if (!error && access & ADSM_ACCESS_IN)
		error = adsm_io_begin_output(&loan->io, range, 1, loan->room);
	if (!error && loan->io.n <= 1 && access & ADSM_ACCESS_OUT)
		error = adsm_io_begin_input(&loan->io, range, 1, loan->room);
	if (!error && loan->io.refused)
		error = adsm_fail(-EFAULT, "the program has closed a page of the %zu bytes at %p by mprotect()",
				  range->iov_len, range->iov_base);
	if (!error && loan->io.n == 1)
		return 0;
	adsm_io_end(&loan->io, 0);
	return error ? error : adsm_fail(-EINVAL, "%zu bytes at %p are not inside one object", range->iov_len,
					 range->iov_base);
}

int adsmLend(const void *p, size_t size, unsigned access, adsmLoan **ret_loan, void **ret_address)
{
	const struct iovec range = { (void *)p, size };
	ADSM_TELLS;
	struct adsmLoan own, *loan = &own;
	int error;

	if (access < ADSM_ACCESS_IN || access > ADSM_ACCESS_INOUT)
		return adsm_fail(-EINVAL, "access %u is not ADSM_ACCESS_IN, ADSM_ACCESS_OUT or ADSM_ACCESS_INOUT",
				 access);
	if (!ret_loan || !ret_address)
		return adsm_fail(-EINVAL, "adsmLend(): ret_loan or ret_address is NULL");
	/* The parent's objects cannot be lent. Ordinary memory needs no library. */
	if (adsm_is_child() && adsm_index_next((uintptr_t)p, size) - (uintptr_t)p < size)
		return ADSM_TOLD(adsm_start());
	adsm_io_look_back(ADSM_STACK());
	if (!adsm_may_be_shared(p, size)) {
		*ret_loan = NULL;
		*ret_address = (void *)p;
		return 0;
	}
	if (access != ADSM_ACCESS_IN)
		loan = malloc(sizeof(*loan));
	error = loan ? begin(loan, &range, access, __builtin_return_address(0)) : -ENOMEM;
	if (!error) {
		*ret_address = loan->io.vector->iov_base;
		*ret_loan = loan != &own && loan->io.inputs ? loan : NULL;
	}
	if (loan != &own && (error || !loan->io.inputs))
		free(loan);
	return ADSM_TOLD(error);
}

int adsmIsShared(const void *p)
{
	return adsm_may_be_shared(p, 1) && adsm_is_shared(p);
}

int adsmLoanEnd(adsmLoan *loan, size_t delivered)
{
	ADSM_TELLS;
	int error;

	if (!loan)
		return 0;
	error = adsm_io_end(&loan->io, delivered < loan->io.size ? delivered : loan->io.size);
	free(loan);
	return ADSM_TOLD(error);
}
