/* SPDX-License-Identifier: MIT */
/* libc_args.c - paths and small structures. */
#include "interpose.h"
