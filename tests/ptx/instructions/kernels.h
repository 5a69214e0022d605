/* SPDX-License-Identifier: MIT */
/* kernels.h - forms translated by lib/ptx and compiled: a C function for each. */
#ifndef TEST_PTX_KERNELS_H
#define TEST_PTX_KERNELS_H

#include "forms.h"

#include <stddef.h>

/* Run a form on @n sets of values. columns[r][i]: register r. Each has ROW bytes of @memory. */
typedef void (*kernel)(uint64_t *const *columns, size_t n, char *memory);

struct kernels_place {
	const char *cc, *include;	/* the compiler, with options, and the folder with runtime.h */
	char folder[64];		/* for files */
};

int kernels_start(struct kernels_place *place, const char *cc, const char *include);
/* Set the C code of forms, and find those that have the same as an earlier one. What goes wrong ends the process. */
void kernels_translate(struct form *forms, size_t n);
/* Functions form_0, form_1, ... in a library. What goes wrong ends the process. */
void *kernels_build(const struct kernels_place *place, struct form *const *forms, size_t n, const char *options);
void kernels_end(struct kernels_place *place);
/*
 * Is the instruction refused? Its operands are registers of these forms (as struct form has them). Returns NULL, or the
 * sentence, which stays valid until the next call.
 */
const char *kernels_refusal(const char *registers, const char *text);

#endif
