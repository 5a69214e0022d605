/* SPDX-License-Identifier: MIT */
/* values.h - the values that forms are tried with, and how results are compared. */
#ifndef TEST_PTX_VALUES_H
#define TEST_PTX_VALUES_H

#include "forms.h"

#include <stddef.h>

struct value_register {
	char name, kind;
	unsigned bits;
};

/* Set values number @index: pairs of edge values first, then random ones; of forms with few values all, in order. */
void values_fill(const struct form *form, const struct value_register *registers, int n, uint64_t index,
		 uint64_t *ret_values);
/* The number of values of a form that is tried with all of them; 0: it is not. */
uint64_t values_all(const struct form *form, const struct value_register *registers, int n);
void values_fill_memory(const struct form *form, uint8_t *bytes, size_t size);
/* Is the size of the first operand one that the form's bound is for? */
bool values_are_in_bound(const struct form *form, uint64_t first);
bool values_agree(struct form *form, const struct value_register *reg, uint64_t result, uint64_t expected);
bool values_memory_agrees(const struct form *form, const uint8_t *a, const uint8_t *b, size_t size);
/* The number of an approximation: f32, f64, f16, bf16 for kinds A, E, C, D. */
double values_number(char kind, uint64_t bits);

#endif
