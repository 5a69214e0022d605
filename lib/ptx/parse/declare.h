/* SPDX-License-Identifier: MIT */
/* declare.h - declarations of variables and registers, and what names mean. */
#pragma once

#include "parser.h"

/* The directives in front of a declaration. */
struct adsm_ptx_linkage {
	bool is_extern, is_visible, is_weak, is_common;
};

/* Read .extern, .visible, .weak and .common. */
struct adsm_ptx_linkage adsm_ptx_linkage(struct adsm_ptx_parser *parser);
/* Is the current token a directive that declares a variable, such as .global? */
bool adsm_ptx_at_declaration(struct adsm_ptx_parser *parser);
/* Read a declaration of one or more variables or registers, in the current scope. */
void adsm_ptx_declare(struct adsm_ptx_parser *parser, struct adsm_ptx_linkage linkage);
/*
 * Read (parameters) of a function. @bind: of one that has a body: the current scope gets their names. Returns the
 * parameters.
 */
struct adsm_ptx_variable *adsm_ptx_parameters(struct adsm_ptx_parser *parser, uint32_t *ret_n);
void adsm_ptx_bind_parameters(struct adsm_ptx_parser *parser, struct adsm_ptx_variable *parameters, uint32_t n);

/* Give a name a meaning in the current scope. It fails if it already has one there. */
struct adsm_ptx_binding *adsm_ptx_define(struct adsm_ptx_parser *parser, struct adsm_ptx_name *name,
					 enum adsm_ptx_meaning meaning, bool is_range, int line);
_Noreturn void adsm_ptx_fail_twice(struct adsm_ptx_parser *parser, const struct adsm_ptx_name *name, int line,
				   const struct adsm_ptx_binding *first);
/* What a name means; NULL: nothing yet. A name of a range gets its register or variable. */
struct adsm_ptx_binding *adsm_ptx_resolve(struct adsm_ptx_parser *parser, struct adsm_ptx_name *name);
