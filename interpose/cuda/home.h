/* SPDX-License-Identifier: MIT */
/* home.h - finds the home whose objects a command of the program may use; converts the library's errors to CUresult. */
#pragma once

#include "driver/driver.h"
#include "hook.h"
#include "core/life.h"

/* The context in which commands of a stream run, which need not be the current one. NULL: there is none. */
CUcontext adsm_cuda_context_of(CUstream stream);
/* The home of the program's current context. NULL: there is none, so the driver gets the command directly. */
struct adsm_home *adsm_cuda_current_home(void);

/* For each home: the start of the library (adsm_life.epoch) in which the program ended its context; 0: not ended. After
 * that, no command can use its objects. */
extern _Atomic unsigned adsm_cuda_ended[ADSM_MAX_DEVICES];

static inline bool adsm_cuda_has_ended(const struct adsm_home *home)
{
	unsigned epoch = atomic_load_explicit(&adsm_cuda_ended[home->index], memory_order_relaxed);

	return epoch && epoch == adsm_life.epoch;
}

/* The home whose objects commands may use now. NULL: the driver gets the command directly. */
static inline struct adsm_home *adsm_cuda_concerned(void)
{
	struct adsm_home *home = adsm_driver_active() ? adsm_cuda_current_home() : NULL;

	return home && !adsm_cuda_has_ended(home) ? home : NULL;
}

/* The same for commands in a stream: of the stream's context. */
struct adsm_home *adsm_cuda_concerned_by(CUstream stream);

/* One bit for each home, by its index: since the driver last freed memory there, it has got commands that the library
 * does not know of. */
extern _Atomic uint32_t adsm_cuda_past;

/* Called after such a command. The next cuMemFree() then lets the driver free, which waits for the command. */
static inline CUresult adsm_cuda_passed(CUresult result)
{
	if (atomic_load(&adsm_cuda_past) != UINT32_MAX)
		atomic_store(&adsm_cuda_past, UINT32_MAX);
	return result;
}

/* The stream that a handle means. In variants with _ptsz and _ptds, NULL is the default stream of the thread. */
static inline CUstream adsm_cuda_stream(CUstream stream, bool per_thread)
{
	return stream || !per_thread ? stream : CU_STREAM_PER_THREAD;
}

/* Does the program's device memory become shared memory? (ADSM_CUDA_OBJECTS) */
bool adsm_cuda_makes_objects(void);
/* Converts a negative errno to a CUresult, and logs the error once for each errno. */
CUresult adsm_cuda_result(int error);
