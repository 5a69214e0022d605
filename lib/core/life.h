/* SPDX-License-Identifier: MIT */
/* life.h - has the library started, and is this its process? All entries from outside check this first. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum adsm_life_state { ADSM_STOPPED, ADSM_STARTED, ADSM_CHILD };

struct adsm_life {
	_Atomic int state;		/* enum adsm_life_state; changed by start.c, and in a child */
	unsigned epoch;			/* number of starts so far */
	/* 1; from Linux 4.14 on the system sets it to 0 in the child of a fork, also in one that no handler of fork
	 * sees */
	_Atomic uint32_t *unforked;
};

extern struct adsm_life adsm_life;

/* This thread runs a service: a function of the program that a kernel has called (run/object/service.h). */
extern _Thread_local bool adsm_serving;

/* What rooms above close in the child of a fork; NULL: nothing. */
extern void (*_Atomic adsm_life_child)(void);

/* This is the child of a fork: its views stay closed, and the library does not work in it. */
void adsm_become_child(void);

static inline bool adsm_is_child(void)
{
	/* The child was made by the system call itself, and the library finds out only now. The numbers of the
	 * library's descriptors may be the application's by now. */
	if (atomic_load_explicit(&adsm_life.state, memory_order_acquire) == ADSM_STARTED &&
	    !atomic_load(adsm_life.unforked))
		adsm_become_child();
	return atomic_load(&adsm_life.state) == ADSM_CHILD;
}

static inline bool adsm_started(void)
{
	return !adsm_is_child() && atomic_load(&adsm_life.state) == ADSM_STARTED;
}
