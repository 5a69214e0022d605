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

/* From this number of values on, operands of 16 bits have all values, each with edge values of the others. */
#define VALUES_FULL 1000000

/* Has the form one operand, of 16 bits? It is tried with all values. */
bool values_are_few(const struct form *form, const struct value_register *registers, int n);
/* Has it one of 32 bits, and is it a conversion or an approximation? */
bool values_are_many(const struct form *form, const struct value_register *registers, int n);
/* How many values a form is tried with, if it is not tried with all 2^32. */
uint64_t values_count(const struct form *form, const struct value_register *registers, int n, uint64_t wanted);
/* Set values number @index: pairs of edge values first, then random ones; of forms with few values all, in order. */
void values_fill(const struct form *form, const struct value_register *registers, int n, uint64_t index,
		 bool with_pairs, uint64_t *ret_values);
void values_fill_memory(const struct form *form, uint8_t *bytes, size_t size);
/* Is a result right? @v: what the model gives; @inputs: what it was given. The largest errors are kept in the form. */
bool values_agree(struct form *form, const struct value_register *registers, int r, uint64_t result, const uint64_t *v,
		  const uint64_t *inputs);
/* Is an approximation, as f32, no farther off than one before? If not, values_agree() has to look at it. */
bool values_are_usual(const struct form *form, float x, double exact, double operand);
bool values_memory_agrees(const struct form *form, const uint8_t *a, const uint8_t *b, size_t size);
/* The number of a kind of numbers. */
double values_number(char kind, uint64_t bits);

#endif
