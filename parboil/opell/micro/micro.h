/* SPDX-License-Identifier: MIT */
/* micro.h - what the functions of the micro-benchmarks do, and what their references check. */
#ifndef PO_MICRO_H
#define PO_MICRO_H

/* The step of a function in partition @k, modulo 2^64. */
#define MIX_TIMES(k) (2654435761u * 2 * (k) + 1)
#define MIX_PLUS(k) (40503u * (k) + 1)
#define MIX(x, k) ((x) * MIX_TIMES(k) + MIX_PLUS(k))

#endif
