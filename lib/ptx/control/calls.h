/* SPDX-License-Identifier: MIT */
/* calls.h - which functions a call through a register may enter. */
#pragma once

#include "ptx/ptx.h"

/* The prototype of a call through a register, or its first target; NULL: it has neither. */
const struct adsm_ptx_function *adsm_ptx_prototype_of(const struct adsm_ptx_instruction *instruction);

/*
 * May this call through a register enter the function? It may enter one of its targets; without targets, any function
 * that has the prototype's parameters and whose address the module takes.
 */
bool adsm_ptx_may_enter(const struct adsm_ptx_instruction *instruction, const struct adsm_ptx_function *function);
