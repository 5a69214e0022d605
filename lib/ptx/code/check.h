/* SPDX-License-Identifier: MIT */
/* check.h - code that checks the accesses of a kernel while it runs, for adsmcc --check. */
#pragma once

#include "writer.h"

/* Before and after a function is written. start() finds out which parameters addresses are made of. */
void adsm_ptx_check_start(struct adsm_ptx_writer *writer);
void adsm_ptx_check_end(struct adsm_ptx_writer *writer);
/* Append checks of what an instruction accesses, as statements that precede it. */
void adsm_ptx_write_check(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction);
