/* SPDX-License-Identifier: MIT */
/* libc_mem.c - bulk memory: memcpy and its family. */
#include "interpose.h"
