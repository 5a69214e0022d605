/* SPDX-License-Identifier: MIT */
/* processor.h - levels of processors: what code for a set of processors may use. */
#pragma once

/*
 * The levels that this machine's processor and system support, as bits. A level contains all lower ones. What several
 * machines have in common are the bits that all of them have. 0: only what every processor of the architecture has.
 */
unsigned adsm_processor_levels(void);
/* The option for gcc and clang that permits code of the highest of these levels; "": no option is necessary. */
const char *adsm_processor_option(unsigned levels);
