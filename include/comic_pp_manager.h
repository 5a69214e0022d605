/* SPDX-License-Identifier: MIT */
/*
 * comic_pp_manager.h - programs written for COMIC++ (J. Lee et al.): the manager's part, over adsm.h. The names are
 * those of the paper's Figure 7; docs/tasks.md says how the two parts of a program come together. Its functions return
 * no errors: what fails is said on standard error, and ends the program with status 1.
 */
#ifndef COMIC_PP_MANAGER_H
#define COMIC_PP_MANAGER_H

#include <adsm.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef __cplusplus
/* In a strict mode of the compiler's it is not declared. */
ssize_t readlink(const char *path, char *buffer, size_t size);
#endif

/* How many workers there are. The same for both parts of a program. */
#ifndef COMIC_PP_MAX_NUM_APE_THREADS
#define COMIC_PP_MAX_NUM_APE_THREADS 6
#endif

/* The shared variables: the same text in both parts, once. They are 0 from COMIC_PP_manager_init() on. */
#define COMIC_PP_shared(...) \
	struct comic_pp_shared { __VA_ARGS__ }; \
	/* Where the parts do not have the same variables, or workers, the call does not fit the task. */ \
	struct comic_pp_check { \
		char bytes[1 + (sizeof(struct comic_pp_shared) * 31 + COMIC_PP_MAX_NUM_APE_THREADS) % 1021]; \
	}; \
	extern struct comic_pp_shared *comic_pp_shared_; \
	__attribute__((weak)) struct comic_pp_shared *comic_pp_shared_;

/* One of them, or a part of it, between COMIC_PP_manager_init() and COMIC_PP_manager_exit(). */
#define COMIC_PP_access(...) (comic_pp_shared_->__VA_ARGS__)

extern adsmKernel *comic_pp_kernel_;
__attribute__((weak)) adsmKernel *comic_pp_kernel_;

static inline void comic_pp_die_(const char *what)
{
	fprintf(stderr, "COMIC++: %s: %s\n", what, adsmLastError());
	exit(EXIT_FAILURE);
}

/* The workers' part is the module COMIC_PP_APE (in the environment), or the program's own file with ".adsm" behind. */
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

/* All workers run the task of this number, and this waits for their ends. */
#define COMIC_PP_manager_run(func_id) do { \
	const unsigned comic_pp_function_ = (func_id); \
	const struct comic_pp_check comic_pp_check_ = { { 0 } }; \
\
	if (adsmCall(comic_pp_kernel_, adsmDim3(COMIC_PP_MAX_NUM_APE_THREADS, 1, 1), adsmDim3(1, 1, 1), \
		     adsmPtr(comic_pp_shared_), adsmVal(comic_pp_function_), adsmVal(comic_pp_check_)) || adsmSync()) \
		comic_pp_die_("COMIC_PP_manager_run"); \
} while (0)

/* The workers end, and the program. */
static inline void COMIC_PP_manager_exit(void)
{
	adsmShutdown();
	exit(EXIT_SUCCESS);
}

#endif
