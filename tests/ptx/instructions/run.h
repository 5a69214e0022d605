/* SPDX-License-Identifier: MIT */
/* run.h - runs a form that has been compiled, and compares what it computes with its model. */
#ifndef TEST_PTX_RUN_H
#define TEST_PTX_RUN_H

#include "kernels.h"
#include "values.h"

/* Fill in the name, the size and the kind of each register. Returns their number. */
int run_registers(const struct form *form, struct value_register *ret_registers);
/* Run a form on @wanted values, or on what is all for it. Returns 1 if a result is wrong, which is printed. */
int run_some(struct form *form, kernel kernel, uint64_t wanted);
/*
 * Run a form with an operand of 32 bits on all values, compiled once or several times. @stride: of that number of
 * pieces of the values only one is tried. Returns the same.
 */
int run_all(struct form *form, const kernel *kernels, int n_kernels, unsigned stride);

#endif
