/* SPDX-License-Identifier: MIT */
/* init.h - initialisers of variables. */
#pragma once

#include "parser.h"

/*
 * Read the initialiser of a variable. @sizes: its n dimensions; the first one may be 0, and then becomes what the
 * initialiser needs.
 */
void adsm_ptx_read_init(struct adsm_ptx_parser *parser, struct adsm_ptx_variable *variable, uint64_t *sizes, size_t n);
