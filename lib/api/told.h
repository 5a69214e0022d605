/* SPDX-License-Identifier: MIT */
/* api/told.h - every public function that fails leaves an error text, also if the code below it set none. */
#pragma once

#include <errno.h>
#include <stddef.h>

#include "base/error.h"
#include "base/log.h"
#include "run/copy/io.h"
#include "run/object/printed.h"
#include "start/start.h"

/* Write ADSM_TELLS at the beginning of a public function, and return ADSM_TOLD(error), whose value is @error. */
#define ADSM_TELLS const unsigned said_ = adsm_n_said()
#define ADSM_TOLD(error) adsm_told(said_, __func__, error)

/* A whole public function that starts the library and makes one call: return ADSM_AFTER_START(the call). */
#define ADSM_AFTER_START(call) ({				\
		ADSM_TELLS;					\
		const int error_ = adsm_start();		\
								\
		ADSM_TOLD(error_ ? error_ : (call));		\
	})
/*
 * The same. It first ends an earlier call that the thread has left by a jump, and at the end it writes what kernels
 * have printed.
 */
#define ADSM_AFTER_LOOK_BACK(call) ({				\
		ADSM_TELLS;					\
		int error_ = adsm_start();			\
								\
		adsm_io_look_back(ADSM_STACK());		\
		error_ = ADSM_TOLD(error_ ? error_ : (call));	\
		adsm_printed_show();				\
		error_;						\
	})

static inline int adsm_told(unsigned said, const char *function, int error)
{
	return error < 0 && said == adsm_n_said() ? adsm_fail(error, "%s: %s", function, adsm_error_string(error)) :
		error;
}

/* The result of a public function that returns NULL. */
static inline void *adsm_null_with(int error)
{
	errno = -error;
	return NULL;
}
