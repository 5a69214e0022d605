/* SPDX-License-Identifier: MIT */
/* tree.h - a tree of PTX as a text, and whether it keeps what ptx.h promises. */
#ifndef TEST_PTX_TREE_H
#define TEST_PTX_TREE_H

#include "ptx/ptx.h"

#include <stdio.h>

void tree_print(FILE *out, const struct adsm_ptx_module *module);
/* Visit everything in the tree. Returns NULL, or what is wrong. */
const char *tree_check(const struct adsm_ptx_module *module);

#endif
