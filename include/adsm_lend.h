/* SPDX-License-Identifier: MIT */
/* adsm_lend.h - memory of objects for code that no wrapper reaches, and that must not meet closed pages. */
#ifndef ADSM_LEND_H
#define ADSM_LEND_H

#include "adsm.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Lend @size bytes at @p to other code until adsmLoanEnd(): a communication library, a driver. It gets another address
 * of the same bytes, which may always be read and written. The wrappers of MPI's functions (-ladsm-mpi, docs/mpi.md)
 * use this. The conventions of adsm.h hold.
 *
 *	adsmLoan *loan;
 *	void *q;
 *
 *	if (!adsmLend(p, size, ADSM_ACCESS_OUT, &loan, &q))
 *		adsmLoanEnd(loan, receive(q, size));
 */
typedef struct adsmLoan adsmLoan;

/**
 * @access: what the other code does. ADSM_ACCESS_IN: it reads; bytes that only the device has are fetched.
 * ADSM_ACCESS_OUT: it writes from the first byte on, and adsmLoanEnd() gets the number; nothing is fetched.
 * ADSM_ACCESS_INOUT: it reads, and writes any of the bytes; the others stay as they are.
 * The rest of the object may be used meanwhile. No kernel may write the lent bytes, or read them if the other code
 * writes.
 * Returns 0, the address in @ret_address, and in @ret_loan the loan for adsmLoanEnd(), which may be NULL. Where @p
 * lies in no object, the address is @p. Returns -EINVAL where only a part of the range lies in an object, -EIO or
 * -ENODEV where a transfer failed, -ENOMEM. Any thread; not from a signal handler.
 */
ADSM_API int adsmLend(const void *p, size_t size, unsigned access, adsmLoan **ret_loan, void **ret_address);

/**
 * End a loan; any thread. @delivered: the number of bytes that were written, from the first on; they now count as
 * written by the CPU. After ADSM_ACCESS_INOUT: up to the last one written. @loan NULL: nothing is done. Returns 0;
 * -EIO or -ENODEV where the rest of a block could not be fetched.
 */
ADSM_API int adsmLoanEnd(adsmLoan *loan, size_t delivered);

/** Does @p lie in an object? 1 or 0; 0 takes a few nanoseconds. Any thread, signal handlers. */
ADSM_API int adsmIsShared(const void *p);

#ifdef __cplusplus
}
#endif

#endif
