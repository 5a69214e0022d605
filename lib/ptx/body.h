/* SPDX-License-Identifier: MIT */
/* body.h - the statements of a function, for one thread, and the functions that run a region for a set of threads. */
#pragma once

#include "regions.h"
#include "writer.h"

/* What is known of the function that is written. */
struct adsm_ptx_body {
	struct adsm_ptx_writer *writer;
	const struct adsm_ptx_frame *frame;
	const struct adsm_ptx_function *function;
	struct adsm_ptx_blocks blocks;
	struct adsm_ptx_regions regions;
	bool general;
	/* Where the array of a kept register is in the state, in bytes for each thread. */
	uint32_t *offsets;
	uint64_t local_offset, state_size;	/* the same for local memory; all of it */
	uint64_t *declared;		/* bits: registers that the current region uses */
	uint64_t *assigned;		/* and those that it writes */
};

/*
 * Find the registers that blocks name. @set: bits of blocks; NULL: all that control can reach. The functions below
 * declare these registers.
 */
void adsm_ptx_find_registers(struct adsm_ptx_body *kernel, const uint64_t *set);
void adsm_ptx_write_registers(struct adsm_ptx_body *kernel);
/* Append the variables of a thread that are not registers. */
void adsm_ptx_write_locals(struct adsm_ptx_body *kernel);
/* Append copies of the parameters, and pointers to variables of the module. */
void adsm_ptx_write_params(struct adsm_ptx_body *kernel);
/* Append blocks, in their order. @start: the first to run; @from: the index of their region. */
void adsm_ptx_write_blocks(struct adsm_ptx_body *kernel, const uint64_t *set, uint32_t start, uint32_t from);
/* Append the function of one region; of all regions if @region is NULL. */
void adsm_ptx_write_region(struct adsm_ptx_body *kernel, const struct adsm_ptx_region *region, uint32_t index);
