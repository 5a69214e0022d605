/* SPDX-License-Identifier: MIT */
/* access.c - see access.h. */
#include "access.h"
#include "flow.h"
#include "ptx/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define IN 1				/* ADSM_ACCESS_IN and ADSM_ACCESS_INOUT of adsm.h */
#define INOUT 3

struct finder {
	struct adsm_ptx_places places;
	struct adsm_ptx_access *access;
	const struct adsm_ptx_reached *in;
	const struct adsm_ptx_instruction *instruction;
	uint32_t n_callees;		/* of the instruction */
};

/* The first reason stays. */
static void note(const struct finder *finder, const struct adsm_ptx_instruction **reason)
{
	if (!*reason)
		*reason = finder->instruction;
}

static bool is_empty(const struct finder *finder, const uint64_t *set)
{
	for (uint32_t i = 0; i < finder->places.words; i++) {
		if (set[i])
			return false;
	}
	return true;
}

/* ---- Addresses ---------------------------------------------------------------------------- */

/* Can the target only be memory of the block or the thread? */
static bool is_private(const struct finder *finder, const struct adsm_ptx_target *target)
{
	static const uint64_t mine = 1 << ADSM_PTX_FROM_LOCAL | 1 << ADSM_PTX_FROM_SHARED | 1 << ADSM_PTX_FROM_PARAM;
	const uint64_t *whole = target->value.whole;

	if (target->variable || target->space != ADSM_PTX_GENERIC)
		return target->space != ADSM_PTX_GLOBAL && target->space != ADSM_PTX_CONST &&
		       target->space != ADSM_PTX_GENERIC;
	if (!(whole[0] & mine) || (whole[0] & ~mine))
		return false;
	for (uint32_t i = 1; i < finder->places.words; i++) {
		if (whole[i])
			return false;
	}
	return true;
}

static void note_slot(const struct finder *finder, struct adsm_ptx_slot *slot, bool reads, bool writes, bool atomic)
{
	if (reads)
		note(finder, &slot->reads);
	if (writes)
		note(finder, &slot->writes);
	if (atomic)
		note(finder, &slot->atomics);
}

/* An access to global memory, or to what may be global memory. */
static void note_access(const struct finder *finder, const struct adsm_ptx_target *target, bool reads, bool writes,
			bool atomic)
{
	struct adsm_ptx_access *access = finder->access;
	/* If no whole address is known, pieces have been put together in a way that is not known. */
	const bool pieces = is_empty(finder, target->value.whole);
	const uint64_t *set = pieces ? target->value.part : target->value.whole;

	if (target->variable || is_private(finder, target) || target->space == ADSM_PTX_CONST)
		return;
	for (uint32_t i = 0; i < access->n_slots; i++) {
		if (adsm_ptx_from(set, ADSM_PTX_FROM_SLOT + i))
			note_slot(finder, &access->slots[i], reads, writes, atomic);
	}
	if (!pieces && !adsm_ptx_from(set, ADSM_PTX_FROM_MEMORY))
		return;
	if (reads)
		note(finder, &access->reads_others);
	if (writes)
		note(finder, &access->writes_others);
}

/* ---- Values that leave -------------------------------------------------------------------- */

/* Add what memory of the thread and the block contains, if the value has an address of it. */
static void add_reachable(const struct finder *finder, struct adsm_ptx_value *value)
{
	static const struct { enum adsm_ptx_origin origin; enum adsm_ptx_space space; } pools[] = {
		{ ADSM_PTX_FROM_LOCAL, ADSM_PTX_LOCAL }, { ADSM_PTX_FROM_SHARED, ADSM_PTX_SHARED },
		{ ADSM_PTX_FROM_PARAM, ADSM_PTX_PARAM },
	};
	const size_t n = sizeof(pools) / sizeof(*pools);

	/* What one of them contains may be an address of another one. */
	for (size_t i = 0; i < n * n; i++) {
		const struct adsm_ptx_target target = { .space = pools[i % n].space };

		if (adsm_ptx_from(value->whole, pools[i % n].origin) || adsm_ptx_from(value->part, pools[i % n].origin))
			adsm_ptx_add_contents(&finder->places, &target, 8, value);
	}
}

static bool has_slot(const struct adsm_ptx_value *value, uint32_t i)
{
	return adsm_ptx_from(value->whole, ADSM_PTX_FROM_SLOT + i) ||
	       adsm_ptx_from(value->part, ADSM_PTX_FROM_SLOT + i);
}

static void note_escape(const struct finder *finder, struct adsm_ptx_value *value)
{
	add_reachable(finder, value);
	for (uint32_t i = 0; i < finder->access->n_slots; i++) {
		if (has_slot(value, i))
			note(finder, &finder->access->slots[i].escapes);
	}
}

/* ---- Instructions ------------------------------------------------------------------------- */

/* Is an order of accesses asked for? */
static bool is_ordered(const struct adsm_ptx_instruction *instruction)
{
	static const char *const words[] = { "volatile", "relaxed", "acquire", "release", "acq_rel", "mmio", "cv" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		/* Atomic operations are relaxed if they say nothing. */
		if (adsm_ptx_has(instruction, words[i]) &&
		    (strcmp(words[i], "relaxed") != 0 || adsm_ptx_action(instruction) != ADSM_PTX_ATOMIC))
			return true;
	}
	return false;
}

static void find_in_memory(const struct finder *finder, enum adsm_ptx_action action)
{
	const struct adsm_ptx_instruction *instruction = finder->instruction;
	const struct adsm_ptx_operand *memory = adsm_ptx_address_of(instruction);
	const bool reads = action != ADSM_PTX_STORE, writes = action != ADSM_PTX_LOAD;
	struct adsm_ptx_value value = { 0 };
	struct adsm_ptx_target target;

	if (!memory)
		return;
	adsm_ptx_target(&finder->places, finder->in, memory, instruction->space, &target);
	note_access(finder, &target, reads, writes, action == ADSM_PTX_ATOMIC);
	if (is_private(finder, &target))
		return;
	if (action == ADSM_PTX_ATOMIC)
		note(finder, &finder->access->has_global_atomics);
	if (is_ordered(instruction))
		note(finder, &finder->access->has_volatile_or_ordered);
	for (uint32_t i = (uint32_t)(memory - instruction->operands) + 1; i < instruction->n && writes; i++)
		adsm_ptx_add_operand(&finder->places, finder->in, &instruction->operands[i], &value);
	note_escape(finder, &value);
}

/* cp.async [to], [from]: what it copies has been loaded, so it is no address of a parameter. */
static void find_in_copy(const struct finder *finder)
{
	struct adsm_ptx_target target;

	if (finder->instruction->n < 2 || finder->instruction->operands[1].kind != ADSM_PTX_OP_MEMORY)
		return;
	adsm_ptx_target(&finder->places, finder->in, &finder->instruction->operands[1], ADSM_PTX_GLOBAL, &target);
	note_access(finder, &target, true, false, false);
}

/* Anything may happen to a value, and to what its addresses are of. */
static void note_anything(const struct finder *finder, struct adsm_ptx_value *value)
{
	struct adsm_ptx_target target = { .space = ADSM_PTX_GENERIC };

	note_escape(finder, value);
	target.value = *value;
	adsm_ptx_make_whole(&finder->places, &target.value);
	note_access(finder, &target, true, true, true);
	note(finder, &finder->access->reads_others);
	note(finder, &finder->access->writes_others);
}

static void find_in_unknown(const struct finder *finder)
{
	struct adsm_ptx_value value = { 0 };

	for (uint32_t i = 0; i < finder->instruction->n; i++)
		adsm_ptx_add_operand(&finder->places, finder->in, &finder->instruction->operands[i], &value);
	note_anything(finder, &value);
}

/* The arguments of a call. @math: those that are no addresses do not count; NULL: all count. */
static void add_arguments(const struct finder *finder, const struct adsm_ptx_math *math, struct adsm_ptx_value *value)
{
	const struct adsm_ptx_operand *arguments = &finder->instruction->operands[2];
	const size_t n = math ? strlen(math->arguments) : 0;

	for (uint32_t i = 0; i < arguments->n; i++) {
		const struct adsm_ptx_operand *argument = &arguments->elements[i];
		struct adsm_ptx_target target = { 0 };

		if (i < n && math->arguments[i] != 'p')
			continue;
		if (argument->kind != ADSM_PTX_OP_VARIABLE) {
			adsm_ptx_add_operand(&finder->places, finder->in, argument, value);
			continue;
		}
		target.variable = argument->variable;
		target.space = argument->variable->space;
		adsm_ptx_add_contents(&finder->places, &target, argument->variable->size, value);
	}
}

/*
 * Functions without a body that the library has. printf() and assert() read strings at addresses that they get;
 * functions of mathematics store results at addresses; malloc() and free() use no object.
 */
static bool is_known(const char *name, bool *ret_reads, bool *ret_writes)
{
	*ret_writes = !strncmp(name, "__nv_", 5);
	*ret_reads = *ret_writes || !strcmp(name, "vprintf") || !strcmp(name, "__assertfail");
	return *ret_reads || !strcmp(name, "malloc") || !strcmp(name, "free");
}

static void find_in_callee(void *arg, const struct adsm_ptx_function *callee)
{
	struct finder *finder = arg;
	struct adsm_ptx_target target = { .space = ADSM_PTX_GENERIC };
	bool reads, writes, single;

	finder->n_callees++;
	if (adsm_ptx_syncs_grid(callee)) {
		note(finder, &finder->access->has_grid_sync);
		return;
	}
	if (adsm_ptx_reached_of(&finder->places, callee))
		return;
	add_arguments(finder, adsm_ptx_math_find(callee->name, &single), &target.value);
	if (!is_known(callee->name, &reads, &writes)) {
		note(finder, &finder->access->calls_unknown);
		note_anything(finder, &target.value);
		return;
	}
	if (!reads)
		return;
	/* What is printed is a number, or the address of a string. */
	if (!writes)
		add_reachable(finder, &target.value);
	for (uint32_t i = 0; i < finder->access->n_slots; i++) {
		if (adsm_ptx_from(target.value.whole, ADSM_PTX_FROM_SLOT + i))
			note_slot(finder, &finder->access->slots[i], reads, writes, false);
	}
	if (adsm_ptx_from(target.value.whole, ADSM_PTX_FROM_MEMORY)) {
		note(finder, &finder->access->reads_others);
		if (writes)
			note(finder, &finder->access->writes_others);
	}
}

static void find_in_call(struct finder *finder)
{
	struct adsm_ptx_value value = { 0 };

	finder->n_callees = 0;
	adsm_ptx_each_callee(&finder->places, finder->instruction, find_in_callee, finder);
	if (finder->n_callees)
		return;
	note(finder, &finder->access->calls_unknown);
	add_arguments(finder, NULL, &value);
	note_anything(finder, &value);
}

/* Is there a variable of the module among the operands? */
static bool names_symbol(const struct adsm_ptx_operand *operand)
{
	if (operand->kind == ADSM_PTX_OP_VARIABLE &&
	    (operand->variable->space == ADSM_PTX_GLOBAL || operand->variable->space == ADSM_PTX_CONST))
		return true;
	for (uint32_t i = 0; i < operand->n; i++) {
		if (names_symbol(&operand->elements[i]))
			return true;
	}
	return false;
}

static bool is_fence(const struct adsm_ptx_instruction *instruction)
{
	return (adsm_ptx_is(instruction, "fence") || adsm_ptx_is(instruction, "membar")) &&
	       !adsm_ptx_has(instruction, "cta");
}

static void find_in_instruction(struct finder *finder)
{
	const struct adsm_ptx_instruction *instruction = finder->instruction;
	const enum adsm_ptx_action action = adsm_ptx_action(instruction);

	for (uint32_t i = 0; i < instruction->n; i++) {
		if (names_symbol(&instruction->operands[i]))
			note(finder, &finder->access->uses_symbols);
	}
	if (adsm_ptx_is(instruction, "exit") && finder->in->function != finder->places.kernel)
		note(finder, &finder->access->exits_in_call);
	if (is_fence(instruction))
		note(finder, &finder->access->has_fence);
	switch (action) {
	case ADSM_PTX_NO_ACTION: case ADSM_PTX_COMPUTE: return;
	case ADSM_PTX_LOAD: case ADSM_PTX_STORE: case ADSM_PTX_ATOMIC: find_in_memory(finder, action); return;
	case ADSM_PTX_CALL: find_in_call(finder); return;
	case ADSM_PTX_COPY: find_in_copy(finder); return;
	case ADSM_PTX_SAMPLE: note(finder, &finder->access->uses_textures); return;
	case ADSM_PTX_UNKNOWN: find_in_unknown(finder); return;
	}
}

/* ---- Verdicts ----------------------------------------------------------------------------- */

static void judge(struct adsm_ptx_access *access, const struct adsm_ptx_function *function)
{
	bool inner_reads = false, inner_writes = false;

	for (uint32_t i = 0; i < access->n_slots; i++) {
		const struct adsm_ptx_slot *slot = &access->slots[i];
		const struct adsm_ptx_variable *param = &function->params[slot->param];
		struct adsm_ptx_param_access *verdict = &access->params[slot->param];

		if (!slot->reads && !slot->writes && (!slot->escapes || !access->calls_unknown))
			continue;
		if (param->size != 8 || param->is_array) {
			inner_reads |= slot->reads && param->size >= 8;
			inner_writes |= slot->writes && param->size >= 8;
			continue;
		}
		verdict->is_pointer = true;
		verdict->access = slot->writes ? INOUT : IN;
	}
	access->is_unnamed = access->reads_others || access->writes_others || access->calls_unknown ||
			     access->uses_textures || inner_reads || inner_writes;
	/* Others may be the same objects as those of parameters. */
	if (!access->writes_others && !access->calls_unknown && !inner_writes)
		return;
	for (uint32_t i = 0; i < function->n_params; i++) {
		if (access->params[i].is_pointer)
			access->params[i].access = INOUT;
	}
}

/* The kernel may do everything. Its first instruction is the reason. */
static void give_up(struct adsm_ptx_access *access, const struct adsm_ptx_function *function)
{
	const struct adsm_ptx_instruction *all = function->instructions;

	access->gave_up = true;
	access->reads_others = access->writes_others = access->calls_unknown = access->uses_symbols = all;
	access->uses_textures = access->has_global_atomics = access->has_volatile_or_ordered = access->has_fence = all;
	access->has_grid_sync = access->exits_in_call = all;
	for (uint32_t i = 0; i < access->n_slots; i++) {
		struct adsm_ptx_slot *slot = &access->slots[i];

		slot->reads = slot->writes = slot->atomics = slot->escapes = all;
	}
}

static int make_slots(struct finder *finder)
{
	const struct adsm_ptx_places *places = &finder->places;
	struct adsm_ptx_access *access = finder->access;

	access->slots = calloc((size_t)places->n_slots + 1, sizeof(*access->slots));
	access->params = calloc((size_t)places->kernel->n_params + 1, sizeof(*access->params));
	if (!access->slots || !access->params)
		return -ENOMEM;
	access->n_slots = places->n_slots;
	for (uint32_t i = 0; i < places->kernel->n_params; i++) {
		for (uint32_t j = places->first_slot[i]; j < places->first_slot[i + 1]; j++) {
			access->slots[j].param = i;
			access->slots[j].offset = (uint64_t)(j - places->first_slot[i]) * 8;
		}
	}
	return 0;
}

int adsm_ptx_access_find(const struct adsm_ptx_module *module, const struct adsm_ptx_function *function,
			 struct adsm_ptx_access *ret_access)
{
	struct adsm_ptx_access access = { 0 };
	struct finder finder = { .access = &access };
	int error = adsm_ptx_places_init(&finder.places, module, function);

	if (!error)
		error = make_slots(&finder);
	if (error) {
		adsm_ptx_places_finish(&finder.places);
		adsm_ptx_access_destroy(&access);
		return error;
	}
	if (adsm_ptx_flow(&finder.places)) {
		for (uint32_t i = 0; i < finder.places.n_reached; i++) {
			finder.in = &finder.places.reached[i];
			for (uint32_t j = 0; j < finder.in->function->n; j++) {
				finder.instruction = &finder.in->function->instructions[j];
				find_in_instruction(&finder);
			}
		}
	} else {
		give_up(&access, function);
	}
	judge(&access, function);
	adsm_ptx_places_finish(&finder.places);
	*ret_access = access;
	return 0;
}

void adsm_ptx_access_destroy(struct adsm_ptx_access *access)
{
	free(access->slots);
	free(access->params);
	*access = (struct adsm_ptx_access){ 0 };
}
