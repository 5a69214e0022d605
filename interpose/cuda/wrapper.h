/* SPDX-License-Identifier: MIT */
/*
 * cuda.h - what the wrappers of CUDA's driver share.
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
#ifndef ADSM_INTERPOSE_CUDA_H
#define ADSM_INTERPOSE_CUDA_H

#include "cuda/cu.h"
#include "driver/foreign.h"
#include "interpose.h"

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

/* Never NULL: what the driver has not got returns CUDA_ERROR_NOT_FOUND. */
void *adsm_cu_find(struct adsm_cu_entry *entry);

static inline void *adsm_cu_get(struct adsm_cu_entry *entry)
{
	void *function = atomic_load_explicit(&entry->function, memory_order_acquire);

	return __builtin_expect(function != NULL, 1) ? function : adsm_cu_find(entry);
}

#define real_cu(function_) ((__typeof__(&(function_)))adsm_cu_get(&cu_##function_))

/* The real dlsym(), whatever else is preloaded. */
void *adsm_real_dlsym(void *handle, const char *name);

/*
 * What the driver reads or writes during a call, at a pointer among the arguments, is lent to it where it is in shared
 * memory (query.c): in between *argument is another place, with the same bytes. Not with a lock held.
 */
typedef uintptr_t adsm_cuda_word __attribute__((may_alias));
struct adsm_cuda_loan {
	adsm_cuda_word *argument;
	size_t size;			/* bytes; ADSM_CUDA_TEXT: up to and with the NUL */
	void *own;			/* the program's; NULL: nothing is lent */
	char *lent;			/* what the driver gets */
};
#define ADSM_CUDA_TEXT SIZE_MAX
#define ADSM_CUDA_LOAN(argument, size) { (adsm_cuda_word *)&(argument), (size), NULL, NULL }
void adsm_cuda_lend(struct adsm_cuda_loan *loans, size_t n);
void adsm_cuda_take_back(struct adsm_cuda_loan *loans, size_t n);
/* result_ = call_, with these loans. */
#define ADSM_CUDA_LENT(result_, call_, ...) do {						\
		struct adsm_cuda_loan loans_[] = { __VA_ARGS__ };				\
												\
		adsm_cuda_lend(loans_, sizeof(loans_) / sizeof(*loans_));			\
		result_ = call_;								\
		adsm_cuda_take_back(loans_, sizeof(loans_) / sizeof(*loans_));			\
	} while (0)

/* The program's current context has a home: objects there may be concerned. NULL: no, go straight to the driver. */
struct adsm_home *adsm_cuda_current_home(void);
/* Is what the program allocates to be shared memory? (ADSM_CUDA_OBJECTS) */
bool adsm_cuda_makes_objects(void);
/* An errno of the library as the driver would say it; logs the sentence once. */
CUresult adsm_cuda_result(int error);
/* The stream a NULL handle means: the flavours with _ptsz and _ptds mean another one. */
static inline CUstream adsm_cuda_stream(CUstream stream, bool per_thread)
{
	return stream || !per_thread ? stream : CU_STREAM_PER_THREAD;
}

#endif
