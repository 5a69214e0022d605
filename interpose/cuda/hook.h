/* SPDX-License-Identifier: MIT */
/*
 * hook.h - a wrapper of CUDA's driver, and the driver's function behind it.
 *
 * A wrapper has the name of the driver's symbol, version suffix and stream flavour included, and calls the driver's own
 * through real_cu(). Programs reach it by linking (the name), by dlsym() or by cuGetProcAddress() (hook.c: when
 * the pointer that the driver hands out is that of a symbol with a wrapper, the wrapper's is handed out).
 *
 *	CUresult cuMemFree_v2(CUdeviceptr p);
 *	ADSM_CU(cuMemFree_v2);
 *	ADSM_WRAPPER CUresult cuMemFree_v2(CUdeviceptr p)
 *	{
 *		…
 *		return real_cu(cuMemFree_v2)(p);
 *	}
 */
#ifndef ADSM_CUDA_HOOK_H
#define ADSM_CUDA_HOOK_H

#include "cuda/cu.h"
#include "real.h"

struct adsm_cu_entry {
	const char *name;
	void *wrapper;
	_Atomic(void *) function;	/* the driver's, which the wrapper calls; NULL: not looked up yet */
	_Atomic(void *) symbol;		/* the driver's, as dlsym() finds it; NULL: the same */
};

/* By a name of its own, which needs no look-up when the library is loaded. */
#define ADSM_CU(function_)								\
	extern __typeof__(function_) cu_own_##function_					\
		__attribute__((alias(#function_), visibility("hidden")));		\
	static struct adsm_cu_entry cu_##function_					\
		__attribute__((section("adsm_cu"), used, aligned(sizeof(void *)))) =	\
		{ .name = #function_, .wrapper = (void *)(uintptr_t)cu_own_##function_ }

/* A function of the driver's without a wrapper: real_cu() after this. */
#define ADSM_CU_CALLED(function_) static struct adsm_cu_entry cu_##function_ = { .name = #function_ }

/* Never NULL: what the driver has not got returns CUDA_ERROR_NOT_FOUND. */
void *adsm_cu_find(struct adsm_cu_entry *entry);

static inline void *adsm_cu_get(struct adsm_cu_entry *entry)
{
	void *function = atomic_load_explicit(&entry->function, memory_order_acquire);

	return __builtin_expect(function != NULL, 1) ? function : adsm_cu_find(entry);
}

#define real_cu(function_) ((__typeof__(&(function_)))adsm_cu_get(&cu_##function_))

#endif
