/* SPDX-License-Identifier: MIT */
/* translate/options.c - see options.h. */
#include "options.h"

struct adsm_translate_options adsm_translate_options;

struct adsm_option adsm_translate_rows[] = {
	{ "PTX_CC", "auto", "auto, or a command",
	  "cpu and cluster: C compiler for kernels in CUDA C whose module has no code; auto: cc, else gcc or clang",
	  ADSM_FIELD(adsm_translate_options.compiler), adsm_parse_text, .zero = "auto", .class = "cpu" },
	{ "PTX_CACHE", "auto", "auto, off, or a folder",
	  "cpu and cluster: folder of the code that the compiler of ADSM_PTX_CC made; auto: adsm/ptx in the user's "
	  "cache folder; off: no folder",
	  ADSM_FIELD(adsm_translate_options.cache), adsm_parse_text, .zero = "auto", .class = "cpu" },
	{ "PTX_LOCKSTEP", "0", "0, 1",
	  "cpu and cluster: 1: in kernels that the compiler of ADSM_PTX_CC compiles, the threads of a warp access "
	  "memory in lockstep, for programs that lack __syncwarp()",
	  ADSM_FIELD(adsm_translate_options.lockstep), adsm_parse_index, .class = "cpu", .expert = true },
	{ "PTX_FLAGS", "none", "none, or options of a C compiler",
	  "cpu and cluster: options for the compiler of ADSM_PTX_CC, after the library's own, such as -g or "
	  "-march=x86-64",
	  ADSM_FIELD(adsm_translate_options.flags), adsm_parse_text, .zero = "none", .class = "cpu", .expert = true },
	{ 0 }
};
