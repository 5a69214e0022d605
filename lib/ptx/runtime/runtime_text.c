/* SPDX-License-Identifier: MIT */
/* runtime_text.c - see runtime_text.h. The build makes strings of the files. */
#include "runtime_text.h"

const char adsm_ptx_runtime_text[] =
#include "runtime_text.inc"
	;

const char adsm_ptx_kernel_text[] =
#include "kernel_text.inc"
	;
