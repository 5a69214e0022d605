/* SPDX-License-Identifier: MIT */
/* cause.h - why bytes move: the action of the program that makes a thread open, fetch and send blocks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum adsm_why {
	ADSM_WHY_OTHER,
	ADSM_WHY_READ, ADSM_WHY_WRITE,	/* an access of the CPU that faulted */
	ADSM_WHY_COPY, ADSM_WHY_FILL,	/* adsmMemcpy(), memcpy() and the like; adsmMemset() */
	ADSM_WHY_IO,			/* a system call through a wrapper */
	ADSM_WHY_HOLD,
	ADSM_WHY_CALL, ADSM_WHY_SYNC,	/* a kernel is called; a thread waits for its calls */
	ADSM_WHY_EVICT,			/* a send that the protocol makes early */
	ADSM_WHY_ROOM,			/* a call needs the object's device memory for its own objects */
	ADSM_WHY_PREFETCH,		/* adsmPrefetch() */
	ADSM_WHY_MOVE,			/* a call of another device needs the object there */
	ADSM_N_WHYS
};

struct adsm_cause {
	enum adsm_why why;
	bool in_libc;			/* `where` is the caller of the function of the C library that did it */
	uintptr_t where;		/* address of code; 0: not known */
	char name[24];			/* the kernel's name, cut to fit and padded with zeros; or "" */
};

/* The cause of what this thread does; set while an observer is active. Code that sets it in a signal handler restores
 * it. */
extern _Thread_local struct adsm_cause adsm_cause;

void adsm_set_cause(enum adsm_why why, const void *where, const char *name);
