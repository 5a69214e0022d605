/* SPDX-License-Identifier: MIT */
/* function.h - functions: entries, functions of the device, their bodies. */
#pragma once

#include "declare.h"

/* Read a function from .entry or .func to the end of its declaration or body. */
void adsm_ptx_read_function(struct adsm_ptx_parser *parser, struct adsm_ptx_linkage linkage);
/* Read .pragma "text"; which says nothing that the library heeds. */
void adsm_ptx_read_pragma(struct adsm_ptx_parser *parser);
