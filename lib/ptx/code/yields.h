/* SPDX-License-Identifier: MIT */
/* yields.h - the instructions at which a thread waits for others: what it gives to them, and what it gets. */
#pragma once

#include "writer.h"

/* Is it barrier 0 of all threads, without a value? */
bool adsm_ptx_is_plain_barrier(const struct adsm_ptx_instruction *yield);
/* Do the threads of a warp exchange matrices there? */
bool adsm_ptx_is_matrix_yield(const struct adsm_ptx_instruction *yield);
/* May the block be left there, so that other blocks run? It is resumed later. */
bool adsm_ptx_suspends(const struct adsm_ptx_instruction *yield);
/* Is a register what the yield gives to the thread? If its guard does not hold, the thread does not yield. */
bool adsm_ptx_yield_defines(const struct adsm_ptx_instruction *yield, uint32_t reg);
/* Append the entry of the table of yields, and a line break. An instruction that is not supported is refused. */
void adsm_ptx_write_yield(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *yield);
/* Append statements that store what the thread gives; and that load what it has got, into registers. */
void adsm_ptx_write_give(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *yield);
void adsm_ptx_write_take(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *yield);
