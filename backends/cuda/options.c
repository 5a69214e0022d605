/* SPDX-License-Identifier: MIT */
/* cuda/options.c - rows of the options of the cuda backend, and of the wrappers of its driver. */
#include "options.h"

#include "list.h"

struct adsm_cuda_options adsm_cuda_options;

struct adsm_option adsm_cuda_rows[] = {
	{ "CUDA_DEVICE", "all", "all, an index, or part of a name",
	  "cuda: which devices",
	  ADSM_FIELD(adsm_cuda_options.device), adsm_parse_text, .zero = "all" },
	{ "CUDA_MEMORY", "auto", "auto, arena, view, separate",
	  "cuda: where objects lie; auto: at one address for both sides, in the library's range (arena), else where "
	  "the driver puts them (view), else the addresses differ (separate)",
	  ADSM_FIELD(adsm_cuda_options.memory), adsm_parse_index },
	{ "CUDA_PIN", "2G", "bytes from 0 to 1024G",
	  "cuda: how much memory of objects that move often may be pinned, for faster transfers",
	  ADSM_FIELD(adsm_cuda_options.pin), adsm_parse_number, 0, (uint64_t)1 << 40 },
	{ "CUDA_OBJECTS", "auto", "auto, on, off",
	  "is what a program allocates with cudaMalloc() or cuMemAlloc() shared memory? auto: where the library is "
	  "preloaded",
	  ADSM_FIELD(adsm_cuda_options.objects), adsm_parse_index },
	{ "CUDA_EVENTS", "late", "late, each",
	  "cuda: how the end of what a program launches is known; late: by one event when the CPU touches what it may "
	  "use, behind all that its streams have then; each: by an event behind each launch",
	  ADSM_FIELD(adsm_cuda_options.events), adsm_parse_index },
	{ "CUDA_CACHE", "auto", "auto, off, or a folder",
	  "cuda: where compiled modules are kept; auto: adsm/cuda in the user's cache folder",
	  ADSM_FIELD(adsm_cuda_options.cache), adsm_parse_text, .zero = "auto" },
	{ "CUDA_LIBRARY", "auto", "auto, or a file",
	  "cuda: the driver; auto: libcuda.so.1",
	  ADSM_FIELD(adsm_cuda_options.library), adsm_parse_text, .zero = "auto" },
	{ "CUDA_COMPILER", "auto", "auto, off, or a file",
	  "cuda: NVRTC, which compiles modules that carry no code for the device; auto: the toolkit's, where it is "
	  "found",
	  ADSM_FIELD(adsm_cuda_options.compiler), adsm_parse_text, .zero = "auto" },
	{ 0 }
};
