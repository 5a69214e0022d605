/* SPDX-License-Identifier: MIT */
/*
 * writes.h - which bytes a kernel certainly writes through a parameter, for any launch: stores whose address, and
 * whose conditions, are polynomials (affine.h). A launch has the numbers: then lib/base/writes.h says whether the
 * stores cover an object.
 */
#pragma once

#include "access.h"
#include "affine.h"

struct adsm_ptx_write {
	uint32_t param;
	const struct adsm_ptx_instruction *by;
	uint32_t size;			/* bytes */
	struct adsm_ptx_poly offset;	/* from the address that the parameter has */
	struct adsm_ptx_conditions conditions;
};

struct adsm_ptx_writes {
	uint32_t n;
	struct adsm_ptx_write *list;	/* of a parameter: one after the other */
	/* By parameter: why none of the stores through it is here, or NULL; and the instruction that is the reason. */
	const char **why;
	const struct adsm_ptx_instruction **where;
};

/*
 * Find the writes through the parameters that the kernel may write and does not read. Returns 0 or -ENOMEM.
 */
int adsm_ptx_writes_find(const struct adsm_ptx_module *module, const struct adsm_ptx_function *kernel,
			 const struct adsm_ptx_access *access, struct adsm_ptx_writes *ret_writes);
void adsm_ptx_writes_destroy(struct adsm_ptx_writes *writes);

/* The line of the section adsm_writes, without its end. @kernel: the name in the module. The caller frees it. */
char *adsm_ptx_write_text(const struct adsm_ptx_write *write, const char *kernel);
