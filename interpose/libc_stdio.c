/* SPDX-License-Identifier: MIT */
/* libc_stdio.c - streams. */
#include "interpose.h"
