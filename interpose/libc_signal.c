/* SPDX-License-Identifier: MIT */
/* libc_signal.c - signals and their masks. */
#include "interpose.h"
