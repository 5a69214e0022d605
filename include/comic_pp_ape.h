/* SPDX-License-Identifier: MIT */
/*
 * comic_pp_ape.h - programs written for COMIC++ (J. Lee et al.): the workers' part, which adsmcc compiles. The names
 * are those of the paper's Figure 8. docs/tasks-comic.md explains how to build the two parts of a program.
 */
#ifndef COMIC_PP_APE_H
#define COMIC_PP_APE_H

#include <adsm_kernel.h>

/* Number of workers. Both parts of a program must have the same. */
#ifndef COMIC_PP_MAX_NUM_APE_THREADS
#define COMIC_PP_MAX_NUM_APE_THREADS 6
#endif

/* The declarations of the shared variables. Both parts contain this macro once, with the same text. */
#define COMIC_PP_shared(...) \
	struct comic_pp_shared { __VA_ARGS__ }; \
	struct comic_pp_check { \
		char bytes[1 + (sizeof(struct comic_pp_shared) * 31 + COMIC_PP_MAX_NUM_APE_THREADS) % 1021]; \
	}; \

/*
 * A shared variable or a part of it. Its address is the argument of the functions below. If workers have a local store,
 * only these functions can use the address.
 */
#define COMIC_PP_access(...) (((struct comic_pp_shared *)(__UINTPTR_TYPE__)adsm_worker_->own)->__VA_ARGS__)
#define COMIC_PP_far_(type, ptr) ((ADSM_SPACE_GLOBAL type *)(__UINTPTR_TYPE__)(ptr))

/* The tasks: "case 0: ... break; case 1: ... break;". The argument must not contain preprocessor directives. */
#define COMIC_PP_ape_main(...) \
	ADSM_TASK(comic_pp_ape_main, ADSM_INOUT(struct comic_pp_shared, comic_pp_given_), \
		  ADSM_VAL(unsigned, comic_pp_function_), ADSM_VAL(struct comic_pp_check, comic_pp_check_)) \
	{ \
		(void)comic_pp_check_; \
		adsm_worker_->own = (__UINTPTR_TYPE__)comic_pp_given_; \
		switch (comic_pp_function_) { __VA_ARGS__ } \
	}

ADSM_FUNCTION unsigned COMIC_PP_get_ape_thread_id(void)
{
	return (unsigned)ADSM_WORKER;
}

ADSM_FUNCTION void COMIC_PP_ape_barrier(void)
{
	ADSM_ALL_BARRIER;
}

ADSM_FUNCTION void COMIC_PP_ape_lock_acquire(unsigned lock)
{
	ADSM_LOCK(lock);
}

ADSM_FUNCTION void COMIC_PP_ape_lock_release(unsigned lock)
{
	ADSM_UNLOCK(lock);
}

ADSM_FUNCTION void COMIC_PP_ape_flush_all(void)
{
	ADSM_FLUSH_ALL;
}

ADSM_FUNCTION void COMIC_PP_ape_flush(void *ptr)
{
	ADSM_FLUSH(ptr);
}

/* Return a local address of the byte at @ptr. It is valid until the worker calls one of these functions again. */
ADSM_FUNCTION void *COMIC_PP_ape_local_address(void *ptr)
{
	return ADSM_LOCAL_ADDRESS_(COMIC_PP_far_(void, ptr));
}

ADSM_FUNCTION void *COMIC_PP_ape_malloc(unsigned size)
{
	return (void *)(__UINTPTR_TYPE__)ADSM_TASK_ALLOC(size);
}

ADSM_FUNCTION void COMIC_PP_ape_free(void *ptr)
{
	ADSM_TASK_FREE(ptr);
}

#define COMIC_PP_TYPE_(name, type) \
	ADSM_FUNCTION type COMIC_PP_ape_read_##name(const type *ptr) \
	{ \
		return ADSM_READ(COMIC_PP_far_(const type, ptr)); \
	} \
	ADSM_FUNCTION type COMIC_PP_ape_write_##name(type *ptr, type v) \
	{ \
		ADSM_WRITE(COMIC_PP_far_(type, ptr), v); \
		return v; \
	}
COMIC_PP_TYPE_(char, char)
COMIC_PP_TYPE_(short, short)
COMIC_PP_TYPE_(int, int)
COMIC_PP_TYPE_(long, long)
COMIC_PP_TYPE_(long_long, long long)
COMIC_PP_TYPE_(float, float)
COMIC_PP_TYPE_(double, double)

#endif
