/* SPDX-License-Identifier: MIT */
/* cuda/options.h - options of the cuda backend, and of the wrappers of its driver. */
#pragma once

#include "base/options.h"

enum adsm_cuda_memory { ADSM_CUDA_AUTO, ADSM_CUDA_ARENA, ADSM_CUDA_VIEW, ADSM_CUDA_SEPARATE };
enum adsm_cuda_events { ADSM_CUDA_EVENTS_LATE, ADSM_CUDA_EVENTS_EACH };
enum adsm_cuda_objects { ADSM_CUDA_OBJECTS_AUTO, ADSM_CUDA_OBJECTS_ON, ADSM_CUDA_OBJECTS_OFF };

struct adsm_cuda_options {
	const char *device;		/* ADSM_CUDA_DEVICE: "": all devices; an index, or part of a name */
	enum adsm_cuda_memory memory;
	size_t pin;			/* ADSM_CUDA_PIN: maximum bytes of pinned objects */
	enum adsm_cuda_objects objects;
	enum adsm_cuda_events events;
	const char *cache;		/* ADSM_CUDA_CACHE: "": the user's; "off", or a folder */
	const char *library;		/* ADSM_CUDA_LIBRARY: "": libcuda.so.1 */
	const char *compiler;		/* ADSM_CUDA_COMPILER: "": the toolkit's; "off", or a file */
};

extern struct adsm_cuda_options adsm_cuda_options;
