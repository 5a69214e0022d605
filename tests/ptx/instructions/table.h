/* SPDX-License-Identifier: MIT */
/* table.h - the table of the forms that are supported, for the documents. */
#ifndef TEST_PTX_TABLE_H
#define TEST_PTX_TABLE_H

#include "forms.h"

#include <stddef.h>

/* The opcode of the first instruction of a text. */
void table_opcode(const char *text, char *opcode, size_t size);
/* A row for each opcode: its modifiers and their types. */
void table_print(FILE *out, const struct form *forms, size_t n);

#endif
