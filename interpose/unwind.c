/* SPDX-License-Identifier: MIT */
/*
 * unwind.c - the function by which a thread that ends, or an exception, passes a wrapper's cleanup. It is in libgcc_s,
 * which whoever unwinds has loaded; to be linked with that would make each start of a program load it, a third of what
 * the library costs there.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols.h"

#define CONTINUE 8	/* _URC_CONTINUE_UNWIND: nothing to do here */

/* Not <unwind.h>, which would make them everybody's. */
int __gcc_personality_v0(int version, int actions, uint64_t class, void *exception, void *context);
void _Unwind_Resume(void *exception) __attribute__((noreturn));

static void *libgcc_function(_Atomic(void *) *known, const char *name)
{
	void *function = atomic_load_explicit(known, memory_order_relaxed), *library;

	if (function)
		return function;
	library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
	function = library ? adsm_real_dlsym(library, name) : NULL;
	atomic_store_explicit(known, function, memory_order_relaxed);
	return function;
}

int __gcc_personality_v0(int version, int actions, uint64_t class, void *exception, void *context)
{
	static _Atomic(void *) known;
	void *function = libgcc_function(&known, "__gcc_personality_v0");

	return function ? ((__typeof__(&__gcc_personality_v0))function)(version, actions, class, exception, context) :
		CONTINUE;
}

/* Reached from cleanups only, which the function above has found. */
void _Unwind_Resume(void *exception)
{
	static _Atomic(void *) known;

	((__typeof__(&_Unwind_Resume))libgcc_function(&known, "_Unwind_Resume"))(exception);
	__builtin_unreachable();
}
