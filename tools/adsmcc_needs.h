/* SPDX-License-Identifier: MIT */
/* adsmcc_needs.h - computes from the code how much of a local store kernels need. */
#ifndef ADSMCC_NEEDS_H
#define ADSMCC_NEEDS_H

#include "adsmcc_text.h"

/*
 * Write to @needs an array of struct adsm_store_needs, one for each kernel of @code. @code is a shared object with
 * symbols and the section that -fstack-size-section makes. @calls has a line for each call: the names of caller and
 * callee; the callee is "*" for a call by a pointer.
 */
void find_needs(struct text *needs, const struct text *code, const struct text *calls);

#endif
