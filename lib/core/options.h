/* SPDX-License-Identifier: MIT */
/* core/options.h - options of objects and of memory that the CPU and a device share. */
#pragma once

#include "base/options.h"

enum adsm_touch { ADSM_TOUCH_WAIT, ADSM_TOUCH_ERROR };

struct adsm_core_options {
	enum adsm_touch touch;		/* ADSM_TOUCH: wait, error */
	struct {
		uint64_t address, size;	/* 0: the library chooses */
	} arena;			/* ADSM_ARENA=address[,size] */
	size_t keep;			/* ADSM_KEEP: bytes of kept memory, on each side */
	bool oversubscribe;		/* ADSM_OVERSUBSCRIBE: objects may need more memory than a device has */
};

extern struct adsm_core_options adsm_core_options;
extern struct adsm_option adsm_touch_rows[], adsm_memory_rows[];
