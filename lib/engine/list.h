/* SPDX-License-Identifier: MIT */
/* engine/list.h - the fault engines there are, each with its options. */
#ifndef ADSM_ENGINE_LIST_H
#define ADSM_ENGINE_LIST_H

#include "base/options.h"
#include "engine/engine.h"

extern const struct adsm_engine adsm_engine_sigsegv;
extern struct adsm_option adsm_engine_rows[];	/* of engine.c */

/* All of them; their names in the same order; the option that chooses, and those that an engine has. */
#define ADSM_ENGINES &adsm_engine_sigsegv
#define ADSM_ENGINE_NAMES "sigsegv"
#define ADSM_ENGINE_ROWS adsm_engine_rows

#endif
