/* SPDX-License-Identifier: MIT */
/* refused.h - instructions that lib/ptx does not translate, and what it says of each. */
#ifndef TEST_PTX_REFUSED_H
#define TEST_PTX_REFUSED_H

#include <stddef.h>
#include <stdio.h>

/* Returns the number of instructions that are translated, or whose error does not have the words that it should. */
size_t refused_check(void);
/* A row for each instruction of the PTX ISA manual that is refused. */
void refused_print(FILE *out);

#endif
