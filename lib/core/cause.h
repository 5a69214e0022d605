/* SPDX-License-Identifier: MIT */
/* cause.h - the causes for which bytes move: on whose behalf a thread opens, fetches and sends blocks. */
#ifndef ADSM_CAUSE_H
#define ADSM_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

enum adsm_why {
	ADSM_WHY_OTHER,
	ADSM_WHY_READ, ADSM_WHY_WRITE,	/* the CPU did, and faulted */
	ADSM_WHY_COPY, ADSM_WHY_FILL,	/* adsmMemcpy(), memcpy() and the like; adsmMemset() */
	ADSM_WHY_IO,			/* a system call through a wrapper */
	ADSM_WHY_HOLD,
	ADSM_WHY_CALL, ADSM_WHY_SYNC,	/* a kernel is called; a thread waits for its calls */
	ADSM_WHY_EVICT,			/* the protocol, early */
	ADSM_N_WHYS
};

struct adsm_cause {
	enum adsm_why why;
	bool in_libc;			/* where: who called the C library, which did it */
	uintptr_t where;		/* code address; 0: not known */
	char name[24];			/* the kernel's, cut, and zeros; "" */
};

#endif
