/* SPDX-License-Identifier: MIT */
/* runtime_text.h - the C text that modules begin with. */
#pragma once

/* The files runtime*.h. */
extern const char adsm_ptx_runtime_text[];
/* What is before them: adsm_kernel.h. Compilers that find this header include it instead. */
extern const char adsm_ptx_kernel_text[];
