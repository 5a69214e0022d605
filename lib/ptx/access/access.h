/* SPDX-License-Identifier: MIT */
/*
 * access.h - what a kernel does with its parameters, and with memory that they do not name. Every verdict has the first
 * instruction that is its reason. The analysis assumes each access that it cannot exclude.
 */
#pragma once

#include "ptx/ptx.h"

/*
 * 8 bytes of a parameter, which may be an address of global memory. Numbers that are added to addresses have reasons,
 * too: only their values say whether they are addresses.
 */
struct adsm_ptx_slot {
	uint32_t param;
	uint64_t offset;		/* in the parameter, bytes */
	/* NULL: no instruction does this with memory at this address. Atomic operations also read and write. */
	const struct adsm_ptx_instruction *reads, *writes, *atomics;
	/*
	 * The value itself is stored in global memory, or is passed to a function that is not known. If the kernel
	 * loads it again and uses it, that is in reads_others and writes_others.
	 */
	const struct adsm_ptx_instruction *escapes;
};

struct adsm_ptx_param_access {
	bool is_pointer;		/* it has 8 bytes, and is used as an address, or an unknown function gets it */
	uint32_t access;		/* ADSM_ACCESS_IN or ADSM_ACCESS_INOUT of adsm.h; 0: it is not used so */
};

struct adsm_ptx_access {
	uint32_t n_slots;
	struct adsm_ptx_slot *slots;
	struct adsm_ptx_param_access *params;	/* one for each parameter */
	/* Memory at addresses that come from memory, from functions that are not known, or from nowhere. */
	const struct adsm_ptx_instruction *reads_others, *writes_others;
	const struct adsm_ptx_instruction *calls_unknown;	/* a function that is not known */
	const struct adsm_ptx_instruction *uses_symbols;	/* variables of the module, .global or .const */
	const struct adsm_ptx_instruction *uses_textures;	/* and surfaces */
	/* On global memory, or what may be global memory. */
	const struct adsm_ptx_instruction *has_global_atomics, *has_volatile_or_ordered;
	const struct adsm_ptx_instruction *has_fence;		/* for more than the block */
	const struct adsm_ptx_instruction *has_grid_sync;
	const struct adsm_ptx_instruction *exits_in_call;	/* a thread may end in a function */
	/* The kernel uses objects that its parameters with is_pointer do not name. Structures may have other slots. */
	bool is_unnamed;
	/* The kernel is too large for the analysis: all of this says that it may do everything. */
	bool gave_up;
};

/* Returns 0 or -ENOMEM. @function: an entry with a body. */
int adsm_ptx_access_find(const struct adsm_ptx_module *module, const struct adsm_ptx_function *function,
			 struct adsm_ptx_access *ret_access);
void adsm_ptx_access_destroy(struct adsm_ptx_access *access);
