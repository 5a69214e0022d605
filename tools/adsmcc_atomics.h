/* SPDX-License-Identifier: MIT */
/* adsmcc_atomics.h - which kernels may do atomics on memory that other blocks see, and which call services. */
#ifndef ADSMCC_ATOMICS_H
#define ADSMCC_ATOMICS_H

#include "adsmcc_text.h"

/* Append the macros with which adsm_kernel.h says that of a kernel. @preprocessed: the whole module. */
void find_atomics(struct text *out, const char *preprocessed);

#endif
