/* SPDX-License-Identifier: MIT */
/* adsmcc_explain.h - prints what the kernels of CUDA C do with their parameters, and why adsmcc thinks so. */
#pragma once

#include "adsmcc_text.h"

/* Print what each kernel of PTX reads and writes, with the first place of each. Returns an exit status. */
int explain_ptx(const char *name, const struct text *ptx);
