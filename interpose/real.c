/* SPDX-License-Identifier: MIT */
/* real.c - the functions behind the wrappers. */
#include <dlfcn.h>

#include "interpose.h"

extern struct adsm_real __start_adsm_real[], __stop_adsm_real[];

/* This C library has no such function, so nobody but us could have called it. */
static long missing(void)
{
	return adsm_refuse(ENOSYS);
}

void *adsm_real_find(struct adsm_real *real)
{
	int saved_errno = errno;
	void *function = dlsym(RTLD_NEXT, real->name);

	if (!function)
		function = (void *)(uintptr_t)missing;
	atomic_store_explicit(&real->function, function, memory_order_relaxed);
	errno = saved_errno;
	return function;
}

/* Early, so that later no signal handler has to: dlsym() takes locks. */
__attribute__((constructor(101))) static void find_all(void)
{
	for (struct adsm_real *real = __start_adsm_real; real != __stop_adsm_real; real++)
		adsm_real_find(real);
}
