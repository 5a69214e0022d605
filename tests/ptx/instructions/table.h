/* SPDX-License-Identifier: MIT */
/* table.h - the table of the forms that are supported, for the documents. */
#ifndef TEST_PTX_TABLE_H
#define TEST_PTX_TABLE_H

#include "forms.h"

#include <stddef.h>

/*
 * The next instruction's name in a text: its opcode and what follows it, with dots. Declarations, labels and guards are
 * passed over. Returns what is after the name; NULL: there is no more.
 */
const char *table_next(const char *text, char *name, size_t size);
/* The opcode of the first instruction of a text, but call, if one is among them. */
void table_opcode(const char *text, char *opcode, size_t size);
/* Add a name to a set of at most that many. Returns false if it is there. */
#define TABLE_NAMES 65536
bool table_is_new(char **names, const char *name);
/* A row for each opcode: its modifiers and their types. */
void table_print(FILE *out, const struct form *forms, size_t n);
/* A row for each bound of an approximation: the bound, and the largest error. */
void table_print_bounds(FILE *out, const struct form *forms, size_t n);
/* An error in the unit of its bound, rounded up to tenths: ulps, or an exponent of 2. */
double table_error(const struct bound *bound, double error);

#endif
