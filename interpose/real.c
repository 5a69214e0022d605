/* SPDX-License-Identifier: MIT */
/* real.c - the functions behind the wrappers. */
#include "real.h"
#include "symbols.h"

#include "base/os.h"

extern struct adsm_real __start_adsm_real[], __stop_adsm_real[];

/* This C library has no such function, so nobody but us could have called it. */
static long missing(void)
{
	return adsm_refuse(ENOSYS);
}

/* Find all functions from @first on that are not known yet. */
static void resolve_missing(struct adsm_real *first, struct adsm_real *end)
{
	struct adsm_library library = { 0 };
	bool all = false;

	while (!all && adsm_library_next(&library)) {
		all = true;
		for (struct adsm_real *real = first; real != end; real++) {
			void *function = atomic_load_explicit(&real->function, memory_order_relaxed);

			if (!function)
				function = adsm_library_find(&library, real->name, false);
			atomic_store_explicit(&real->function, function, memory_order_relaxed);
			all &= function != NULL;
		}
	}
}

void *adsm_real_find(struct adsm_real *real)
{
	int saved_errno = errno;
	void *function;

	resolve_missing(real, real + 1);
	function = atomic_load_explicit(&real->function, memory_order_relaxed);
	if (!function) {
		function = (void *)(uintptr_t)missing;
		atomic_store_explicit(&real->function, function, memory_order_relaxed);
	}
	errno = saved_errno;
	return function;
}

/* Early, so that later no signal handler has to: dladdr1() takes a lock. */
__attribute__((constructor(101))) static void find_all(void)
{
	adsm_os_has_wrappers = true;
	resolve_missing(__start_adsm_real, __stop_adsm_real);
	for (struct adsm_real *real = __start_adsm_real; real != __stop_adsm_real; real++)
		adsm_real_get(real);
}
