/* SPDX-License-Identifier: MIT */
/* api/told.h - every public function that fails leaves an error text, also if the code below it set none. */
#ifndef ADSM_TOLD_H
#define ADSM_TOLD_H

#include "base/error.h"
#include "base/log.h"

/* Write ADSM_TELLS at the beginning of a public function, and return ADSM_TOLD(error), whose value is @error. */
#define ADSM_TELLS const unsigned said_ = adsm_n_said()
#define ADSM_TOLD(error) adsm_told(said_, __func__, error)

static inline int adsm_told(unsigned said, const char *function, int error)
{
	return error < 0 && said == adsm_n_said() ? adsm_fail(error, "%s: %s", function, adsm_error_string(error)) :
		error;
}

#endif
