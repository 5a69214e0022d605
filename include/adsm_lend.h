/* SPDX-License-Identifier: MIT */
/* adsm_lend.h - memory of objects for code that no wrapper reaches, and that must meet no closed page. */
#ifndef ADSM_LEND_H
#define ADSM_LEND_H

#include "adsm.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Lend @size bytes at @p to somebody else until adsmLoanEnd(): a library that communicates, a driver. These get another
 * address of the same bytes, which may always be read and written. The wrappers of MPI's functions (-ladsm-mpi,
 * docs/mpi.md) are made of this. The conventions of adsm.h hold.
 *
 *	adsmLoan *loan;
 *	void *q;
 *
 *	if (!adsmLend(p, size, ADSM_ACCESS_OUT, &loan, &q))
 *		adsmLoanEnd(loan, receive(q, size));
 */
typedef struct adsmLoan adsmLoan;

/**
 * @access: what the other one does. ADSM_ACCESS_IN: it reads; what the device has is fetched. ADSM_ACCESS_OUT: it
 * writes from the first byte on, as many bytes as adsmLoanEnd() is told; nothing is fetched. ADSM_ACCESS_INOUT: it
 * reads, and writes any of the bytes; the others stay as they are.
 * The object may be used meanwhile, except these bytes: no kernel may write them, or read them while the other writes.
 * Returns 0, the address in @ret_address, and in @ret_loan what adsmLoanEnd() needs, which may be NULL. Where @p lies
 * in no object, the address is @p. Returns -EINVAL where only a part of the range lies in an object, -EIO or -ENODEV
 * where a transfer failed, -ENOMEM. Any thread; not from a signal handler.
 */
ADSM_API int adsmLend(void *p, size_t size, unsigned access, adsmLoan **ret_loan, void **ret_address);

/**
 * End a loan; any thread. @delivered: the number of bytes that were written, from the first on; they now count as
 * written by the CPU. After ADSM_ACCESS_INOUT: as far as any were. @loan NULL: nothing is done. Returns 0; -EIO or
 * -ENODEV where the rest of a block could not be fetched.
 */
ADSM_API int adsmLoanEnd(adsmLoan *loan, size_t delivered);

/** Does @p lie in an object? 1 or 0, some nanoseconds where not. Any thread, signal handlers. */
ADSM_API int adsmIsShared(const void *p);

#ifdef __cplusplus
}
#endif

#endif
