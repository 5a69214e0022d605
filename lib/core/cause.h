/* SPDX-License-Identifier: MIT */
/* cause.h - why bytes move: for what of the program's a thread opens, fetches and sends blocks. */
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

/* Of what this thread does; kept while somebody observes. Whoever sets it in a signal handler sets it back. */
extern _Thread_local struct adsm_cause adsm_cause;

void adsm_set_cause(enum adsm_why why, const void *where, const char *name);

#endif
