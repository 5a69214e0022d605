/* SPDX-License-Identifier: MIT */
/* coverage.h - are all forms of instructions that lib/ptx translates tried? Its own lists say which these are. */
#ifndef TEST_PTX_COVERAGE_H
#define TEST_PTX_COVERAGE_H

#include "forms.h"

#include <stddef.h>

/* Returns the number of forms in the lists of lib/ptx that no form of the test has, and that are not refused either. */
size_t coverage_check(const struct form *forms, size_t n);

#endif
