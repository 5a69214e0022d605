/* SPDX-License-Identifier: MIT */
/*
 * printed.h - what kernels print to the program's standard output (printf() of CUDA C), until a function of the library
 * writes it there.
 *
 * The text goes through the program's stdio, so it is in order with what the program prints before and after it waits
 * for the kernel. The program may have its own lock of stdout while it waits. Therefore a thread of the library
 * writes only if no other thread has that lock.
 */
#pragma once

#include <stddef.h>

/* Keep a text for adsm_printed_show(): this is output of struct adsm_backend_config. Returns 0 or -ENOMEM. */
int adsm_printed_add(const char *text, size_t size);
/* Write the kept text to stdout. Called by public functions, without locks. Preserves errno. */
void adsm_printed_show(void);
