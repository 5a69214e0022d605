/* SPDX-License-Identifier: MIT */
/* engine/list.h - the list of fault engines and of their options. */
#pragma once

#include "base/options.h"
#include "engine/engine.h"

extern const struct adsm_engine adsm_engine_sigsegv;
extern struct adsm_option adsm_engine_rows[];	/* in engine.c */

/* All engines; their names, in the same order; the rows of ADSM_ENGINE and of the engines' own options. */
#define ADSM_ENGINES &adsm_engine_sigsegv
#define ADSM_ENGINE_NAMES "sigsegv"
#define ADSM_ENGINE_ROWS adsm_engine_rows
