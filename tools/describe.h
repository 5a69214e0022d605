/* SPDX-License-Identifier: MIT */
/* describe.h - the section adsm_writes in the words of CUDA C, for people. */
#pragma once

/*
 * Print what a store writes, as a line of lib/base/writes_text.h has it: "4 bytes at 4*threadIdx.x if
 * threadIdx.x < p3". The line ends with a newline or a NUL, and is not printed.
 */
void describe_write(const char *line);
