/* SPDX-License-Identifier: MIT */
/* home.h - the home whose objects a command of the program's may use, and the library's errors as the driver's. */
#ifndef ADSM_CUDA_HOME_H
#define ADSM_CUDA_HOME_H

#include "driver/driver.h"
#include "hook.h"
#include "core/life.h"

/* The home of the program's current context, whose objects may be concerned. NULL: go straight to the driver. */
struct adsm_home *adsm_cuda_current_home(void);

/* In which start of the library the program ended a home's context: no object there is concerned then. */
extern _Atomic unsigned adsm_cuda_ended[ADSM_MAX_DEVICES];

static inline bool adsm_cuda_has_ended(const struct adsm_home *home)
{
	unsigned epoch = atomic_load_explicit(&adsm_cuda_ended[home->index], memory_order_relaxed);

	return epoch && epoch == adsm_life.epoch;
}

/* The home whose objects commands may use now; NULL: straight to the driver. */
static inline struct adsm_home *adsm_cuda_concerned(void)
{
	struct adsm_home *home = adsm_driver_active() ? adsm_cuda_current_home() : NULL;

	return home && !adsm_cuda_has_ended(home) ? home : NULL;
}

/* Bits of homes, by index: commands have gone to the driver past the library since it last freed memory there. */
extern _Atomic uint32_t adsm_cuda_past;

/* After such a command: cuMemFree() waits for it. */
static inline CUresult adsm_cuda_passed(CUresult result)
{
	if (atomic_load(&adsm_cuda_past) != UINT32_MAX)
		atomic_store(&adsm_cuda_past, UINT32_MAX);
	return result;
}

/* The stream a NULL handle means: the flavours with _ptsz and _ptds mean another one. */
static inline CUstream adsm_cuda_stream(CUstream stream, bool per_thread)
{
	return stream || !per_thread ? stream : CU_STREAM_PER_THREAD;
}

/* Is what the program allocates to be shared memory? (ADSM_CUDA_OBJECTS) */
bool adsm_cuda_makes_objects(void);
/* An errno of the library as the driver would say it; logs the sentence once. */
CUresult adsm_cuda_result(int error);

#endif
