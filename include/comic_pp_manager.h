/* SPDX-License-Identifier: MIT */
/*
 * comic_pp_manager.h - programs written for COMIC++ (J. Lee et al.): the manager's part, on top of adsm.h. The names
 * are those of the paper's Figure 7. docs/tasks-comic.md explains how to build the two parts of a program.
 *
 * The functions return no errors. If one fails, it prints a message on standard error and ends the program with
 * status 1.
 */
#ifndef COMIC_PP_MANAGER_H
#define COMIC_PP_MANAGER_H

#include <adsm.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef __cplusplus
/* Strict modes of the compiler do not declare this function. */
ssize_t readlink(const char *path, char *buffer, size_t size);
#endif

/* Number of workers. Both parts of a program must have the same. */
#ifndef COMIC_PP_MAX_NUM_APE_THREADS
#define COMIC_PP_MAX_NUM_APE_THREADS 6
#endif

/*
 * The declarations of the shared variables. Both parts contain this macro once, with the same text.
 * COMIC_PP_manager_init() sets the variables to 0.
 */
#define COMIC_PP_shared(...) \
	struct comic_pp_shared { __VA_ARGS__ }; \
	/* If the parts differ in their variables or number of workers, the call does not match the task. */ \
	struct comic_pp_check { \
		char bytes[1 + (sizeof(struct comic_pp_shared) * 31 + COMIC_PP_MAX_NUM_APE_THREADS) % 1021]; \
	}; \
	extern struct comic_pp_shared *comic_pp_shared_; \
	__attribute__((weak)) struct comic_pp_shared *comic_pp_shared_;

/* A shared variable or a part of it, between COMIC_PP_manager_init() and COMIC_PP_manager_exit(). */
#define COMIC_PP_access(...) (comic_pp_shared_->__VA_ARGS__)

extern adsmKernel *comic_pp_kernel_;
__attribute__((weak)) adsmKernel *comic_pp_kernel_;

static inline void comic_pp_die_(const char *what)
{
	fprintf(stderr, "COMIC++: %s: %s\n", what, adsmLastError());
	exit(EXIT_FAILURE);
}

/* The workers' part is the module that the environment variable COMIC_PP_APE names, or else the program's file name
 * with ".adsm" appended. */
static inline void *comic_pp_init_(size_t size)
{
	const char *given = getenv("COMIC_PP_APE");
	char path[4096];
	adsmModule *module;
	ssize_t n = given ? 0 : readlink("/proc/self/exe", path, sizeof(path) - sizeof(".adsm"));
	void *shared;

	if (n < 0)
		n = 0;
	strcpy(path + n, n ? ".adsm" : "");
	module = adsmModuleLoad(given ? given : path);
	if (!module)
		comic_pp_die_(given ? given : path);
	comic_pp_kernel_ = adsmKernelGet(module, "comic_pp_ape_main");
	if (!comic_pp_kernel_)
		comic_pp_die_(given ? given : path);
	shared = adsmAlloc(size);
	if (!shared)
		comic_pp_die_("COMIC_PP_shared");
	return memset(shared, 0, size);
}

#define COMIC_PP_manager_init() ((void)(comic_pp_shared_ = (struct comic_pp_shared *) \
					comic_pp_init_(sizeof(struct comic_pp_shared))))

/* Run a task on all workers, and wait until all of them have ended. @func_id: the task's case in COMIC_PP_ape_main. */
#define COMIC_PP_manager_run(func_id) do { \
	const unsigned comic_pp_function_ = (func_id); \
	const struct comic_pp_check comic_pp_check_ = { { 0 } }; \
\
	if (adsmCall(comic_pp_kernel_, adsmDim3(COMIC_PP_MAX_NUM_APE_THREADS, 1, 1), adsmDim3(1, 1, 1), \
		     adsmPtr(comic_pp_shared_), adsmVal(comic_pp_function_), adsmVal(comic_pp_check_)) || adsmSync()) \
		comic_pp_die_("COMIC_PP_manager_run"); \
} while (0)

/* Stop the library and end the program with status 0. */
static inline void COMIC_PP_manager_exit(void)
{
	adsmShutdown();
	exit(EXIT_SUCCESS);
}

#endif
