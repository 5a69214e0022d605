/* SPDX-License-Identifier: MIT */
/*
 * hook.h - a wrapper of a function of CUDA's driver, and the driver's function behind it.
 *
 * A wrapper has the name of the driver's symbol, including the suffixes for version and stream. It calls the driver's
 * function by real_cu(). Programs reach the wrapper by linking (its name), by dlsym() or by cuGetProcAddress(): if the
 * driver returns the address of a symbol that has a wrapper, the program gets the address of the wrapper (hook.c).
 *
 *	ADSM_CU_WRAPPER(cuMemFree_v2, (CUdeviceptr p))
 *	{
 *		…
 *		return real_cu(cuMemFree_v2)(p);
 *	}
 *
 * Variants whose names end in _ptds or _ptsz are for programs with a default stream per thread. If a function has a _v2
 * with 64-bit addresses, the first version, with 32-bit addresses, has no wrapper.
 */
#pragma once

#include "cuda/cu.h"
#include "real.h"

struct adsm_cu_entry {
	const char *name;
	void *wrapper;
	_Atomic(void *) function;	/* the driver's function, for the wrapper; NULL: not looked up yet */
	_Atomic(void *) symbol;		/* the driver's symbol, as dlsym() finds it; NULL: not looked up yet */
};

/* Declares a wrapper. The table uses a hidden alias of it, which the dynamic linker need not look up. */
#define ADSM_CU(function_, params_)							\
	CUresult function_ params_;							\
	extern __typeof__(function_) cu_own_##function_					\
		__attribute__((alias(#function_), visibility("hidden")));		\
	static struct adsm_cu_entry cu_##function_					\
		__attribute__((section("adsm_cu"), used, aligned(sizeof(void *)))) =	\
		{ .name = #function_, .wrapper = (void *)(uintptr_t)cu_own_##function_ }

/* Declares a wrapper and begins its definition. */
#define ADSM_CU_WRAPPER(function_, params_)	\
	ADSM_CU(function_, params_);		\
	ADSM_WRAPPER CUresult function_ params_

/* Declares a function of the driver, for real_cu(); a file that wraps it declares the wrapper instead. */
#define ADSM_CU_CALLED(function_, params_)	\
	CUresult function_ params_;		\
	static struct adsm_cu_entry cu_##function_ = { .name = #function_ }

/* Never NULL: if the driver lacks the function, the result is one that returns CUDA_ERROR_NOT_FOUND. */
void *adsm_cu_find(struct adsm_cu_entry *entry);

static inline void *adsm_cu_get(struct adsm_cu_entry *entry)
{
	void *function = atomic_load_explicit(&entry->function, memory_order_acquire);

	return __builtin_expect(function != NULL, 1) ? function : adsm_cu_find(entry);
}

#define real_cu(function_) ((__typeof__(&(function_)))adsm_cu_get(&cu_##function_))
