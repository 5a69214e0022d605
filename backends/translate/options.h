/* SPDX-License-Identifier: MIT */
/* translate/options.h - options of kernels in CUDA C that are compiled when they are first used. */
#pragma once

#include "base/options.h"

struct adsm_translate_options {
	const char *compiler;		/* ADSM_PTX_CC: "": the first one found; or a command */
	const char *flags;		/* ADSM_PTX_FLAGS: more options for it, or "" */
	bool lockstep;			/* ADSM_PTX_LOCKSTEP: see ptx/code/translate.h */
	const char *cache;		/* ADSM_PTX_CACHE: "": the user's folder; "off", or a folder */
};

extern struct adsm_translate_options adsm_translate_options;
extern struct adsm_option adsm_translate_rows[];
