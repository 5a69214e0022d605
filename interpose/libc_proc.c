/* SPDX-License-Identifier: MIT */
/* libc_proc.c - processes: exec, spawn, wait, and ways out of a function. */
#include "interpose.h"
