/* SPDX-License-Identifier: MIT */
/* adsmcc_check.h - finds code in kernels that a C compiler accepts, but that a GPU cannot run. */
#ifndef ADSMCC_CHECK_H
#define ADSMCC_CHECK_H

#include "adsmcc_text.h"

/*
 * Check the tokens of @in and append the text to @out, with ADSM_ENTER(parameters) behind the opening brace of each
 * kernel. OpenCL needs it, and no macro can put it there. Line numbers stay the same. Returns the number of kernels.
 */
size_t check_and_enter(struct text *out, const struct text *in);

#endif
