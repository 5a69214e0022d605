/* SPDX-License-Identifier: MIT */
/* adsm_lend.h - loans: shared memory for code that the library cannot intercept, such as drivers. */
#ifndef ADSM_LEND_H
#define ADSM_LEND_H

#include "adsm.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Loans
 *
 * A loan gives memory of an object to other code, such as a communication library or a driver, until adsmLoanEnd(). The
 * other code gets a second address of the same bytes. At this address the memory is always readable and writable. The
 * wrappers of MPI's functions use loans (-ladsm-mpi, docs/mpi.md). The conventions of adsm.h hold.
 *
 *	adsmLoan *loan;
 *	void *q;
 *
 *	if (!adsmLend(p, size, ADSM_ACCESS_OUT, &loan, &q))
 *		adsmLoanEnd(loan, receive(q, size));		// receive() returns the number of bytes
 */
typedef struct adsmLoan adsmLoan;

/**
 * Lend memory to other code.
 *
 * During the loan the program may use the rest of the object. The program must not call a kernel that writes the lent
 * bytes. If the other code writes, the program must not call a kernel that reads these bytes, either. The library does
 * not check this. The program must not free the object before adsmLoanEnd().
 *
 * @p, @size: a range in one object, or in ordinary memory.
 * @access: ADSM_ACCESS_IN: the other code reads. The library fetches the bytes that only the device has.
 *          ADSM_ACCESS_OUT: the other code writes, from the first byte on. adsmLend() fetches nothing. adsmLoanEnd()
 *          may fetch the rest of a block.
 *          ADSM_ACCESS_INOUT: the other code reads, and may write any of the bytes. Bytes that it does not write keep
 *          their values.
 * @ret_loan: gets the loan. The caller passes it to adsmLoanEnd(). On success the loan may be NULL, which is valid
 *            there.
 * @ret_address: gets the address for the other code, which is valid until adsmLoanEnd(). It is @p if @p is not in an
 *               object.
 *
 * Returns 0 or:
 *   -EINVAL   only a part of the range is in an object, or it is device-only memory; @access is invalid; @ret_loan or
 *             @ret_address is NULL
 *   -EFAULT   the program has closed a page of the range by mprotect(), and the range is in an object
 *   -EIO, -ENODEV  a transfer failed, or the device was lost
 *   -ENOMEM   there is not enough memory
 *   -ENOTSUP  the process is the child of a fork(), and the range is in an object of its parent
 */
ADSM_API int adsmLend(const void *p, size_t size, unsigned access, adsmLoan **ret_loan, void **ret_address);

/**
 * End a loan. The bytes that the other code wrote then count as written by the CPU. Any thread may end a loan.
 *
 * @loan: NULL has no effect.
 * @delivered: the number of bytes that the other code wrote, from the first byte of the range on. After
 *             ADSM_ACCESS_INOUT: the number of bytes up to and with the last byte that it wrote.
 *
 * Returns 0 or:
 *   -EIO, -ENODEV  the library could not fetch the rest of a block
 */
ADSM_API int adsmLoanEnd(adsmLoan *loan, size_t delivered);

/**
 * Find out whether an address is in an object. A signal handler may call this function. For addresses that are not in
 * an object it takes a few nanoseconds.
 *
 * Returns 1 if @p is in an object, else 0.
 */
ADSM_API int adsmIsShared(const void *p);

#ifdef __cplusplus
}
#endif

#endif
