/* SPDX-License-Identifier: MIT */
/* fault.h - what the tests of the fault engine share: a range that plays the objects, and its handler. */
#ifndef TEST_FAULT_H
#define TEST_FAULT_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../check.h"
#include "../sanitizers.h"
#include "base/decode.h"
#include "engine/list.h"
#include "engine/sigsegv.h"
#include "base/os.h"

/* Accesses that fault on purpose; no compiler may move them, no sanitizer look at them. */
#define WILD static __attribute__((noinline, unused, no_sanitize("address", "thread", "undefined")))

WILD int load(const volatile void *p)
{
	return *(const volatile int *)p;
}

WILD void store(volatile void *p, int value)
{
	*(volatile int *)p = value;
}

#define N_PAGES 16
#define RANGE_SIZE (N_PAGES * ADSM_PAGE_SIZE)
#define SIGNAL_BIT(sig) (UINT64_C(1) << ((sig) - 1))

static char *range;	/* closed pages */

static inline void range_create(void)
{
	range = mmap(NULL, RANGE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(range != MAP_FAILED);
}

static inline char *page(int i)
{
	return range + (size_t)i * ADSM_PAGE_SIZE;
}

/* What it permitted before makes no difference to sigsegv. */
static inline int permit(void *p, enum adsm_prot prot)
{
	return adsm_engine_sigsegv.permit(p, ADSM_PAGE_SIZE, ADSM_PROT_RW, prot);
}

static inline bool in_range(uintptr_t address)
{
	return address - (uintptr_t)range < RANGE_SIZE;
}

/* The kernel's view of this thread's mask. */
static inline uint64_t mask_now(void)
{
	uint64_t mask = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8);
	return mask;
}

#endif
