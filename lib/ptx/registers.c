/* SPDX-License-Identifier: MIT */
/* registers.c - which registers an instruction reads and writes. */
#include "ptx.h"

struct visitor {
	void (*visit)(void *arg, uint32_t reg, bool writes);
	void *arg;
};

/* All registers of an operand. Operands are nested at most three deep: {a, b}|p. */
static void visit_all(const struct visitor *visitor, const struct adsm_ptx_operand *operand, bool writes)
{
	switch (operand->kind) {
	case ADSM_PTX_OP_REGISTER:
		visitor->visit(visitor->arg, operand->reg, writes);
		return;
	case ADSM_PTX_OP_MEMORY:
	case ADSM_PTX_OP_VECTOR:
	case ADSM_PTX_OP_LIST:
	case ADSM_PTX_OP_PAIR:
		for (uint32_t i = 0; i < operand->n; i++)
			visit_all(visitor, &operand->elements[i], writes);
		return;
	default:
		return;
	}
}

/*
 * The first operand of most instructions is where the result goes. An address in brackets is where the memory is, in
 * st, red, prefetch, cp.async, stmatrix, wmma.store and sust, so its registers are read.
 */
static bool writes_first(const struct adsm_ptx_instruction *instruction)
{
	static const char *const none[] = {
		"bra", "brx", "ret", "exit", "trap", "brkpt", "nanosleep", "pmevent", "stackrestore", "setmaxnreg",
		"fence", "membar", "st", "red", "cp", "prefetch", "prefetchu", "discard", "applypriority",
		"griddepcontrol",
	};

	if (!instruction->n || instruction->operands[0].kind == ADSM_PTX_OP_MEMORY)
		return false;
	/* A barrier's first operand is its number, unless all threads combine a value. */
	if (adsm_ptx_is(instruction, "bar") || adsm_ptx_is(instruction, "barrier"))
		return adsm_ptx_has(instruction, "red");
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		if (adsm_ptx_is(instruction, none[i]))
			return false;
	}
	return true;
}

void adsm_ptx_each_register(const struct adsm_ptx_instruction *instruction,
			    void (*visit)(void *arg, uint32_t reg, bool writes), void *arg)
{
	const struct visitor visitor = { .visit = visit, .arg = arg };
	const bool writes = writes_first(instruction);

	visit_all(&visitor, &instruction->guard, false);
	for (uint32_t i = writes; i < instruction->n; i++)
		visit_all(&visitor, &instruction->operands[i], false);
	if (!writes)
		return;
	if (instruction->guard.kind != ADSM_PTX_OP_NONE)
		visit_all(&visitor, &instruction->operands[0], false);
	visit_all(&visitor, &instruction->operands[0], true);
}
