/* SPDX-License-Identifier: MIT */
/* start/options.h - all options. */
#pragma once

#include "base/options.h"

extern struct adsm_option *const adsm_option_owners[];

static inline int adsm_options_load(void)
{
	return adsm_owners_load(adsm_option_owners);
}

static inline int adsm_options_set(const char *name, const char *value)
{
	return adsm_owners_set(adsm_option_owners, name, value);
}

static inline void adsm_options_print(FILE *out, enum adsm_options_shown shown)
{
	adsm_owners_print(adsm_option_owners, out, shown);
}
