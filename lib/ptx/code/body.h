/* SPDX-License-Identifier: MIT */
/* body.h - the statements of a function, for one thread, and the functions that run a region for a set of threads. */
#pragma once

#include "linear.h"
#include "ptx/control/divergence.h"
#include "ptx/control/regions.h"
#include "writer.h"

/* What is known of the function that is written. */
struct adsm_ptx_body {
	struct adsm_ptx_writer *writer;
	const struct adsm_ptx_frame *frame;
	const struct adsm_ptx_function *function;
	struct adsm_ptx_blocks blocks;
	struct adsm_ptx_regions regions;
	struct adsm_ptx_linear linear;	/* of a region, while that is written */
	struct adsm_ptx_divergence divergence;
	bool general;
	bool matrices;			/* threads exchange matrices */
	bool divided;			/* the current text divides rows (bases.h) */
	bool even;			/* not general, and all threads are always at the same place */
	/* Where the array of a kept register is in the state, in bytes for each thread; or its one copy, in bytes. */
	uint32_t *offsets, common_size;
	uint64_t local_offset, state_size;	/* the same for local memory; all of it */
	/*
	 * Bits: parameters whose addresses threads may keep while they wait. Their copies are as old as the block, in
	 * a struct K<index>_params.
	 */
	uint64_t *lasting;
	bool has_lasting;
	uint64_t *declared;		/* bits: registers that the current region uses */
	uint64_t *assigned;		/* and those that it writes */
	struct adsm_ptx_part part;	/* the current region, and what is the same in all threads at its start */
	uint64_t *common;
};

/*
 * Find the registers that blocks name. @set: bits of blocks; NULL: all that control can reach. The functions below
 * declare these registers.
 */
void adsm_ptx_find_registers(struct adsm_ptx_body *kernel, const uint64_t *set);
void adsm_ptx_write_registers(struct adsm_ptx_body *kernel);
/* Append the variables of a thread that are not registers. */
void adsm_ptx_write_locals(struct adsm_ptx_body *kernel);
/* For a kernel that yields, before its regions: append the type of the copies that are as old as the block. */
void adsm_ptx_write_lasting(struct adsm_ptx_body *kernel);
/* Append copies of the parameters, and pointers to variables of the module. */
void adsm_ptx_write_params(struct adsm_ptx_body *kernel);
/* Find the linear indices of a region, or of a kernel without yields, and set writer->linear. */
void adsm_ptx_find_indices(struct adsm_ptx_body *kernel, const struct adsm_ptx_region *region);
/* Append the function that runs rows of threads, in parts: its head, then what a row begins with; and its end. */
void adsm_ptx_write_rows(struct adsm_ptx_body *kernel, const char *suffix);
void adsm_ptx_write_threads(struct adsm_ptx_body *kernel, const char *suffix);
void adsm_ptx_write_rows_end(struct adsm_ptx_body *kernel, const char *suffix);
/* Append blocks, in their order. @start: the first to run; @from: the index of their region. */
void adsm_ptx_write_blocks(struct adsm_ptx_body *kernel, const uint64_t *set, uint32_t start, uint32_t from);
/* Append the function of one region; of all regions if @region is NULL. */
void adsm_ptx_write_region(struct adsm_ptx_body *kernel, const struct adsm_ptx_region *region, uint32_t index);
