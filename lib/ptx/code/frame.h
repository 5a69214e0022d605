/* SPDX-License-Identifier: MIT */
/* frame.h - the C functions of kernels and of device functions: what surrounds the statements of instructions. */
#pragma once

#include "writer.h"

/*
 * Append the functions of the kernel writer->function: adsm_run_<symbol>(block, args), as adsm_kernel.h describes it.
 * What cannot be translated jumps to writer->refused.
 */
void adsm_ptx_write_kernel(struct adsm_ptx_writer *writer, const struct adsm_ptx_frame *frame);
/* Append the declaration of the C function of a device function; nothing if it has no body. */
void adsm_ptx_write_prototype(struct adsm_ptx_writer *writer, const struct adsm_ptx_function *function);
/* Append a function that ends the process, in the place of one that is refused: no kernel in the text calls it. */
void adsm_ptx_write_refused(struct adsm_ptx_writer *writer, const struct adsm_ptx_function *function);
/* Append a device function. One that contains a yield is refused. */
void adsm_ptx_write_function(struct adsm_ptx_writer *writer, const struct adsm_ptx_frame *frame);
