/* SPDX-License-Identifier: MIT */
/*
 * life.h - has the library started, and is this its process? Every entry from outside asks this first.
 */
#ifndef ADSM_LIFE_H
#define ADSM_LIFE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum adsm_life_state { ADSM_STOPPED, ADSM_STARTED, ADSM_CHILD };

struct adsm_life {
	_Atomic int state;		/* enum adsm_life_state; changed by start.c, and in a child */
	unsigned epoch;			/* counts the starts */
	_Atomic uint32_t *unforked;	/* 1; where the system can do that, 0 in a child that was never told */
};

extern struct adsm_life adsm_life;

/* This thread runs a function of the program's that a kernel has called, which waits for it (run/service.h). */
extern _Thread_local bool adsm_serving;

/* What else is to be closed in a child, by rooms above; NULL: nothing. */
extern void (*_Atomic adsm_life_child)(void);

/* This is the child of a fork: it keeps the views closed, and nothing works in it. */
void adsm_become_child(void);

static inline bool adsm_is_child(void)
{
	/* Made by the system call itself: seen only now. Its descriptors may have become the application's. */
	if (atomic_load_explicit(&adsm_life.state, memory_order_acquire) == ADSM_STARTED &&
	    !atomic_load(adsm_life.unforked))
		adsm_become_child();
	return atomic_load(&adsm_life.state) == ADSM_CHILD;
}

static inline bool adsm_started(void)
{
	return !adsm_is_child() && atomic_load(&adsm_life.state) == ADSM_STARTED;
}

#endif
