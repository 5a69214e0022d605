/* SPDX-License-Identifier: MIT */
/* adsmcc_needs.h - what kernels need of a local store, from their code. */
#ifndef ADSMCC_NEEDS_H
#define ADSMCC_NEEDS_H

#include "adsmcc_text.h"

/*
 * An array of struct adsm_store_needs, one for each kernel of @code, a shared object with its symbols and the section
 * that -fstack-size-section makes. @calls: who calls whom, a pair of names in each line, "*" for by a pointer.
 */
void find_needs(struct text *needs, const struct text *code, const struct text *calls);

#endif
