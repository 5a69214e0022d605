/* SPDX-License-Identifier: MIT */
/*
 * flow.h - how values go from place to place. The order of instructions does not matter. The analysis assumes that a
 * multiple of an address, such as twice it, is no address, and that arithmetic of floating-point numbers makes none.
 */
#pragma once

#include "places.h"

/* What an instruction does with memory and values. */
enum adsm_ptx_action {
	ADSM_PTX_NO_ACTION,		/* nothing that matters here */
	ADSM_PTX_COMPUTE,
	ADSM_PTX_LOAD,
	ADSM_PTX_STORE,
	ADSM_PTX_ATOMIC,
	ADSM_PTX_CALL,
	ADSM_PTX_COPY,			/* cp.async: from global to shared memory */
	ADSM_PTX_SAMPLE,		/* textures and surfaces */
	ADSM_PTX_UNKNOWN,		/* it may do anything with its operands */
};

enum adsm_ptx_action adsm_ptx_action(const struct adsm_ptx_instruction *instruction);
/* The operand that is the address of a load, a store or an atomic operation; NULL: there is none. */
const struct adsm_ptx_operand *adsm_ptx_address_of(const struct adsm_ptx_instruction *instruction);
/* Find the values of all places. Returns false: it takes too long, so nothing is known. */
bool adsm_ptx_flow(struct adsm_ptx_places *places);
