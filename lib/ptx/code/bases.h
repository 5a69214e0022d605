/* SPDX-License-Identifier: MIT */
/* bases.h - the C text for linear indices: what precedes a row of threads, and the statements that widen indices. */
#pragma once

#include "linear.h"

/*
 * Append the code before the loop over a row. write_bases() finds bases and steps, and opens the block "if (wide) {".
 * The C variable fits is then 0 if an index wraps around. write_range() is for rows where none does: it sets from and
 * to to the threads that run, or continues with the next row.
 */
void adsm_ptx_write_bases(struct adsm_ptx_writer *writer, struct adsm_ptx_linear *linear);
void adsm_ptx_write_range(struct adsm_ptx_writer *writer, struct adsm_ptx_linear *linear);
/*
 * Append a loop over the parts of a row, from begin to end, in which each comparison has one result; it needs a closing
 * brace. Returns false, and appends nothing, if the text has no such comparison.
 */
bool adsm_ptx_write_splits(struct adsm_ptx_writer *writer, struct adsm_ptx_linear *linear);
/* Does an instruction widen such an index, or is it such a comparison? */
bool adsm_ptx_is_wide(const struct adsm_ptx_linear *linear, const struct adsm_ptx_instruction *instruction);
/* Append its statement for a row in which no index wraps around. */
void adsm_ptx_write_wide(struct adsm_ptx_writer *writer, const struct adsm_ptx_linear *linear,
			 const struct adsm_ptx_instruction *instruction);
