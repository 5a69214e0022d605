/* SPDX-License-Identifier: MIT */
/* libc_aio.c - asynchronous input and output. */
#include "interpose.h"
