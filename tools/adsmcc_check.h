/* SPDX-License-Identifier: MIT */
/* adsmcc_check.h - what a C compiler would accept in a kernel and a GPU could not run. */
#ifndef ADSMCC_CHECK_H
#define ADSMCC_CHECK_H

#include "adsmcc_text.h"

/*
 * Check the tokens of @in and append the text to @out, with ADSM_ENTER(parameters) behind the opening
 * brace of each kernel: a macro cannot put anything there itself, and OpenCL needs it. Lines stay as
 * they are. Returns the number of kernels.
 */
size_t check_and_enter(struct text *out, const struct text *in);

#endif
