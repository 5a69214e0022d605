/* SPDX-License-Identifier: MIT */
/* adsmcc_atomics.h - finds the kernels that may do atomics on memory shared by blocks, or may call services. */
#ifndef ADSMCC_ATOMICS_H
#define ADSMCC_ATOMICS_H

#include "adsmcc_text.h"

/* Append the macros that adsm_kernel.h uses to mark such kernels. @preprocessed: the whole module. */
void find_atomics(struct text *out, const char *preprocessed);

#endif
