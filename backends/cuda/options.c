/* SPDX-License-Identifier: MIT */
/* cuda/options.c - rows of the options of the cuda backend, and of the wrappers of its driver. */
#include "options.h"

#include "list.h"

struct adsm_cuda_options adsm_cuda_options;

struct adsm_option adsm_cuda_rows[] = {
	{ "CUDA_DEVICE", "all", "all, an index, or part of a name",
	  "cuda: which devices to use",
	  ADSM_FIELD(adsm_cuda_options.device), adsm_parse_text, .zero = "all", .class = "CUDA" },
	{ "CUDA_MEMORY", "auto", "auto, arena, view, separate",
	  "cuda: addresses of objects on the CPU and the device; arena: the same, in the library's address range; "
	  "view: the same, chosen by the driver; separate: different ones; auto: the first of these that the driver "
	  "supports",
	  ADSM_FIELD(adsm_cuda_options.memory), adsm_parse_index, .class = "CUDA" },
	{ "CUDA_PIN", "2G", "bytes from 0 to 1024G",
	  "cuda: maximum bytes of frequently moved objects that the library pins, for faster transfers",
	  ADSM_FIELD(adsm_cuda_options.pin), adsm_parse_number, 0, (uint64_t)1 << 40, .class = "CUDA" },
	{ "CUDA_OBJECTS", "auto", "auto, on, off",
	  "cuda: whether memory that the program allocates with cudaMalloc() or cuMemAlloc() is shared memory; auto: "
	  "on if the library is preloaded, else off",
	  ADSM_FIELD(adsm_cuda_options.objects), adsm_parse_index, .class = "CUDA" },
	{ "CUDA_EVENTS", "late", "late, each",
	  "cuda: how the library detects the end of the program's launches; late: by one event after all work of the "
	  "streams, recorded when the CPU accesses memory that a launch may use; each: by an event after each launch",
	  ADSM_FIELD(adsm_cuda_options.events), adsm_parse_index, .class = "CUDA", .expert = true },
	{ "CUDA_CACHE", "auto", "auto, off, or a folder",
	  "cuda: folder of compiled modules; auto: adsm/cuda in the user's cache folder; off: no folder",
	  ADSM_FIELD(adsm_cuda_options.cache), adsm_parse_text, .zero = "auto", .class = "CUDA" },
	{ "CUDA_LIBRARY", "auto", "auto, or a file",
	  "cuda: file of the driver; auto: libcuda.so.1",
	  ADSM_FIELD(adsm_cuda_options.library), adsm_parse_text, .zero = "auto", .class = "CUDA", .expert = true },
	{ "CUDA_COMPILER", "auto", "auto, off, or a file",
	  "cuda: file of NVRTC, which compiles modules without code for the device; auto: NVRTC of the toolkit, if it "
	  "is found; off: no compiler",
	  ADSM_FIELD(adsm_cuda_options.compiler), adsm_parse_text, .zero = "auto", .class = "CUDA", .expert = true },
	{ 0 }
};
