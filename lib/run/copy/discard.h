/* SPDX-License-Identifier: MIT */
/* discard.h - what the program says of the contents of memory: they do not matter any more; they are mostly read. */
#pragma once

#include <stddef.h>

int adsm_discard(void *p, size_t size);
int adsm_advise(const void *p, size_t size, int advice);
