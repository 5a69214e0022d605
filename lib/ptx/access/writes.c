/* SPDX-License-Identifier: MIT */
/* writes.c - see writes.h. */
#include "writes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/writes_text.h"

#define INOUT 3				/* ADSM_ACCESS_INOUT of adsm.h */
#define MOST_STORES 128			/* of a kernel that are looked at */
#define MOST_EDGES 8			/* on which a block depends */
#define MOST_STEPS 32			/* from a block to the start of the kernel */

/* An edge: the end of a block, and which of its next blocks. */
struct edge {
	uint32_t from, which;
};

struct finder {
	const struct adsm_ptx_module *module;
	const struct adsm_ptx_function *kernel;
	const struct adsm_ptx_access *access;
	struct adsm_ptx_blocks blocks;
	struct adsm_ptx_shape shape;
	struct adsm_ptx_affine affine;
	struct adsm_ptx_writes *writes;
	bool *candidates;		/* by parameter */
	const char *why;		/* the store is not understood, or NULL */
};

static bool fail(struct finder *finder, const char *why)
{
	finder->why = why;
	return false;
}

/* ---- Conditions --------------------------------------------------------------------------- */

/*
 * Add a condition. That on which a loop begins again, at the end of a turn, becomes one of the next turn. It is then
 * asked of the first turn, too, which is more than needed.
 */
static bool add_condition(struct finder *finder, enum adsm_ptx_condition_kind kind, const struct adsm_ptx_poly *poly,
			  uint32_t loop)
{
	struct adsm_ptx_poly moved = *poly;
	uint32_t atom = 0;

	/* A line cannot say that a number is 0 in each turn. */
	if (loop != ADSM_PTX_NO_LOOP && (kind == ADSM_PTX_ZERO ||
					 !adsm_ptx_affine_loop(&finder->affine, loop, &atom) ||
					 !adsm_ptx_poly_step_back(poly, atom, &moved)))
		return false;
	return adsm_ptx_affine_condition(&finder->affine, kind, atom, &moved);
}

enum relation { EQ, NE, LT, LE, GT, GE, NO_RELATION };

static enum relation relation_of(const struct adsm_ptx_instruction *setp)
{
	static const struct { const char *name; enum relation relation; } names[] = {
		{ "eq", EQ }, { "ne", NE }, { "lt", LT }, { "le", LE }, { "gt", GT }, { "ge", GE },
		{ "lo", LT }, { "ls", LE }, { "hi", GT }, { "hs", GE },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (adsm_ptx_has(setp, names[i].name))
			return names[i].relation;
	}
	return NO_RELATION;
}

/* Add that a register is 0. It may be put together of others: then all of them are. */
static bool add_zero(struct finder *finder, const struct adsm_ptx_operand *operand, uint32_t at,
		     enum adsm_ptx_type type, uint32_t depth)
{
	const struct adsm_ptx_conditions *conditions = finder->affine.conditions;
	const uint32_t n = conditions->n;
	const struct adsm_ptx_setters *setters;
	const struct adsm_ptx_instruction *by;
	struct adsm_ptx_poly value;

	if (adsm_ptx_affine_number(&finder->affine, operand, at, type, &value))
		return adsm_ptx_affine_condition(&finder->affine, ADSM_PTX_ZERO, 0, &value);
	if (operand->kind != ADSM_PTX_OP_REGISTER || depth == MOST_EDGES)
		return false;
	finder->affine.conditions->n = n;
	setters = &finder->affine.setters[operand->reg];
	if (setters->n != 1 || !adsm_ptx_affine_is_known_at(&finder->affine, setters->at[0], at))
		return false;
	by = &finder->kernel->instructions[setters->at[0]];
	return adsm_ptx_is(by, "or") && add_zero(finder, &by->operands[1], setters->at[0], type, depth + 1) &&
	       add_zero(finder, &by->operands[2], setters->at[0], type, depth + 1);
}

static bool is_zero(const struct adsm_ptx_operand *operand)
{
	return operand->kind == ADSM_PTX_OP_INTEGER && !operand->bits;
}

/* Add a - b >= 0, > 0, = 0, …. It becomes: polynomial >= 0, = 0, != 0. */
static bool add_relation(struct finder *finder, const struct adsm_ptx_poly *a, enum relation relation,
			 const struct adsm_ptx_poly *b, uint32_t loop)
{
	const bool turned = relation == LT || relation == LE, strict = relation == LT || relation == GT;
	struct adsm_ptx_poly difference, one;

	adsm_ptx_poly_constant(1, &one);
	if (!adsm_ptx_poly_add(turned ? b : a, -1, turned ? a : b, &difference) ||
	    (strict && !adsm_ptx_poly_add(&difference, -1, &one, &difference)))
		return false;
	return add_condition(finder, relation == EQ ? ADSM_PTX_ZERO : relation == NE ? ADSM_PTX_NOT_ZERO :
			     ADSM_PTX_NOT_NEGATIVE, &difference, loop);
}

/* Add a comparison, or its opposite. The conditions on the range of both sides are of the same turn. */
static bool add_comparison(struct finder *finder, const struct adsm_ptx_instruction *setp, uint32_t at, bool holds,
			   uint32_t loop)
{
	static const enum relation opposite[] = { NE, EQ, GE, GT, LE, LT, NO_RELATION };
	const enum adsm_ptx_type type = adsm_ptx_type_of(setp);
	const enum relation relation = holds ? relation_of(setp) : opposite[relation_of(setp)];
	struct adsm_ptx_conditions *conditions = finder->affine.conditions;
	const uint32_t first = conditions->n;
	struct adsm_ptx_poly a, b;
	uint32_t atom;

	if (setp->n != 3 || setp->operands[0].kind != ADSM_PTX_OP_REGISTER || relation == NO_RELATION ||
	    adsm_ptx_is_float(type))
		return false;
	if (relation == EQ && loop == ADSM_PTX_NO_LOOP && is_zero(&setp->operands[2]))
		return add_zero(finder, &setp->operands[1], at, type, 0);
	if (!adsm_ptx_affine_number(&finder->affine, &setp->operands[1], at, type, &a) ||
	    !adsm_ptx_affine_number(&finder->affine, &setp->operands[2], at, type, &b))
		return false;
	for (uint32_t i = first; i < conditions->n && loop != ADSM_PTX_NO_LOOP; i++) {
		if (!adsm_ptx_affine_loop(&finder->affine, loop, &atom) ||
		    !adsm_ptx_poly_step_back(&conditions->list[i].poly, atom, &conditions->list[i].poly))
			return false;
	}
	return add_relation(finder, &a, relation, &b, loop);
}

/* Add that a predicate holds, or not. */
static bool add_predicate(struct finder *finder, const struct adsm_ptx_operand *predicate, uint32_t at, bool holds,
			  uint32_t loop, uint32_t depth)
{
	const struct adsm_ptx_setters *setters;
	const struct adsm_ptx_instruction *by;

	if (predicate->kind != ADSM_PTX_OP_REGISTER || depth == MOST_STEPS)
		return false;
	if (predicate->negated)
		holds = !holds;
	setters = &finder->affine.setters[predicate->reg];
	if (setters->n != 1 || !adsm_ptx_affine_is_known_at(&finder->affine, setters->at[0], at))
		return false;
	by = &finder->kernel->instructions[setters->at[0]];
	/* What is said of one turn of a loop is not said of what comes after it. */
	if (finder->shape.loop_of[finder->shape.block_of[setters->at[0]]] !=
	    finder->shape.loop_of[finder->shape.block_of[at]] &&
	    finder->shape.loop_of[finder->shape.block_of[setters->at[0]]] != ADSM_PTX_NO_LOOP)
		return false;
	if (adsm_ptx_is(by, "setp"))
		return add_comparison(finder, by, setters->at[0], holds, loop);
	if (adsm_ptx_is(by, "not"))
		return add_predicate(finder, &by->operands[1], setters->at[0], !holds, loop, depth + 1);
	if (adsm_ptx_is(by, holds ? "and" : "or"))
		return add_predicate(finder, &by->operands[1], setters->at[0], holds, loop, depth + 1) &&
		       add_predicate(finder, &by->operands[2], setters->at[0], holds, loop, depth + 1);
	return false;
}

/* ---- The way to a block ------------------------------------------------------------------- */

static uint32_t next_of(const struct finder *finder, struct edge edge)
{
	const struct adsm_ptx_block *block = &finder->blocks.blocks[edge.from];

	return edge.which < block->n_next ? block->next[edge.which] : finder->blocks.n;
}

static uint32_t n_edges(const struct adsm_ptx_block *block)
{
	return block->n_next + (block->end == ADSM_PTX_LEAVE);
}

/* Does control that takes an edge pass a block in any case, but not control that is at the edge's start? */
static bool depends(const struct finder *finder, uint32_t block, struct edge edge)
{
	const struct adsm_ptx_tree *after = &finder->shape.after;

	return adsm_ptx_is_above(after, block, next_of(finder, edge)) &&
	       !(block != edge.from && adsm_ptx_is_above(after, block, edge.from));
}

/*
 * The edges on which it depends whether control passes a block, but for those that begin in the loops @passed and
 * inside of them. Returns their number; more than MOST_EDGES: there are more.
 */
static uint32_t find_edges(const struct finder *finder, uint32_t block, uint32_t passed, struct edge *ret_edges)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < finder->blocks.n; i++) {
		const struct adsm_ptx_block *from = &finder->blocks.blocks[i];

		if (!from->reached || n_edges(from) < 2 ||
		    (passed != ADSM_PTX_NO_LOOP && adsm_ptx_in_loop(&finder->shape, passed, i)))
			continue;
		for (uint32_t j = 0; j < n_edges(from); j++) {
			if (!depends(finder, block, (struct edge){ i, j }))
				continue;
			if (n == MOST_EDGES)
				return n + 1;
			ret_edges[n++] = (struct edge){ i, j };
		}
	}
	return n;
}

/* Add the condition on which control takes an edge. */
static bool add_edge(struct finder *finder, struct edge edge, uint32_t loop)
{
	const struct adsm_ptx_block *from = &finder->blocks.blocks[edge.from];
	const struct adsm_ptx_instruction *by = from->by;
	bool taken;

	/* A block that is left has its next one, if there is one, where the guard does not hold. */
	if (!by || by->guard.kind != ADSM_PTX_OP_REGISTER || n_edges(from) != 2 ||
	    (from->end != ADSM_PTX_GOTO && from->end != ADSM_PTX_LEAVE))
		return false;
	taken = from->end == ADSM_PTX_GOTO ? edge.which == 0 : edge.which == 1;
	return add_predicate(finder, &by->guard, (uint32_t)(by - finder->kernel->instructions), taken, loop, 0);
}

/* Does control that takes an edge begin a loop again, and pass nothing on which that depends? */
static bool begins_again(const struct finder *finder, uint32_t loop, struct edge edge)
{
	const uint32_t header = finder->shape.loops[loop].header;
	uint32_t at = next_of(finder, edge);

	for (uint32_t i = 0; i < MOST_STEPS && at < finder->blocks.n; i++) {
		if (at == header)
			return true;
		if (n_edges(&finder->blocks.blocks[at]) != 1 || !adsm_ptx_in_loop(&finder->shape, loop, at))
			return false;
		at = next_of(finder, (struct edge){ at, 0 });
	}
	return false;
}

/* Does each turn of a loop pass a block, also the last one? */
static bool is_in_every_turn(const struct finder *finder, uint32_t loop, uint32_t block)
{
	return adsm_ptx_is_above(&finder->shape.after, block, finder->shape.loops[loop].header) &&
	       adsm_ptx_is_in_each_turn(&finder->shape, loop, block);
}

/* Add the condition on which a loop begins again: an edge at the end of a block that each turn passes. */
static bool add_turns(struct finder *finder, uint32_t loop)
{
	for (uint32_t i = 0; i < finder->blocks.n; i++) {
		if (!adsm_ptx_in_loop(&finder->shape, loop, i) || n_edges(&finder->blocks.blocks[i]) != 2 ||
		    !is_in_every_turn(finder, loop, i))
			continue;
		for (uint32_t j = 0; j < 2; j++) {
			if (begins_again(finder, loop, (struct edge){ i, j }))
				return add_edge(finder, (struct edge){ i, j }, loop);
		}
	}
	return false;
}

/* Does control that takes an edge in a loop pass a block before the loop's next turn, if it passes it at all? */
static bool stays_in_turn(const struct finder *finder, uint32_t loop, struct edge edge, uint32_t block)
{
	const struct adsm_ptx_shape *shape = &finder->shape;
	uint32_t n = 0;

	memset(shape->seen, 0, (finder->blocks.n / 64 + 1) * sizeof(*shape->seen));
	shape->stack[n++] = next_of(finder, edge);
	while (n) {
		const uint32_t at = shape->stack[--n];

		if (at == block || at >= finder->blocks.n || !adsm_ptx_in_loop(shape, loop, at) ||
		    adsm_ptx_bit(shape->seen, at))
			continue;
		if (at == shape->loops[loop].header)
			return false;
		adsm_ptx_set_bit(shape->seen, at);
		for (uint32_t j = 0; j < finder->blocks.blocks[at].n_next; j++)
			shape->stack[n++] = finder->blocks.blocks[at].next[j];
	}
	return true;
}

/*
 * Add conditions on which a thread passes a block. They are enough: a thread may pass it without them, too.
 * @passed: the innermost loop whose turns have been looked at; the block is its header.
 */
static bool add_way(struct finder *finder, uint32_t block)
{
	const struct adsm_ptx_shape *shape = &finder->shape;
	uint32_t passed = ADSM_PTX_NO_LOOP;

	for (uint32_t step = 0; step < MOST_STEPS; step++) {
		const uint32_t loop = passed == ADSM_PTX_NO_LOOP ? shape->loop_of[block] : shape->loops[passed].outer;
		struct edge edges[MOST_EDGES];
		uint32_t n;

		if (loop != ADSM_PTX_NO_LOOP && passed == ADSM_PTX_NO_LOOP && is_in_every_turn(finder, loop, block)) {
			if (!add_turns(finder, loop))
				return false;
			block = shape->loops[loop].header;
			passed = loop;
			continue;
		}
		if (loop == ADSM_PTX_NO_LOOP && adsm_ptx_is_above(&shape->after, block, 0))
			return true;
		n = find_edges(finder, block, passed, edges);
		if (n != 1 || loop != shape->loop_of[edges[0].from] ||
		    (loop != ADSM_PTX_NO_LOOP && !stays_in_turn(finder, loop, edges[0], block)) ||
		    !add_edge(finder, edges[0], ADSM_PTX_NO_LOOP))
			return false;
		block = edges[0].from;
		passed = ADSM_PTX_NO_LOOP;
	}
	return false;
}

/* ---- Stores ------------------------------------------------------------------------------- */

/* Parameters that the kernel may write, and does not read. */
static bool is_candidate(const struct finder *finder, uint32_t param)
{
	const struct adsm_ptx_access *access = finder->access;

	if (!access->params[param].is_pointer || access->params[param].access != INOUT)
		return false;
	for (uint32_t i = 0; i < access->n_slots; i++) {
		if (access->slots[i].param == param && access->slots[i].reads) {
			finder->writes->why[param] = "it is read";
			finder->writes->where[param] = access->slots[i].reads;
			return false;
		}
	}
	return true;
}

/* The parameter to whose address the polynomial adds something, which stays. UINT32_MAX: none, or several. */
static uint32_t take_pointer(const struct finder *finder, struct adsm_ptx_poly *poly)
{
	uint32_t found = UINT32_MAX;

	for (uint32_t i = 0; i < finder->kernel->n_params; i++) {
		const uint32_t atom = adsm_ptx_atom_of_param(i, 0, 8);

		if (!finder->access->params[i].is_pointer || !adsm_ptx_poly_has(poly, atom))
			continue;
		/* Numbers that are added to addresses are called pointers, too. Here only one may be. */
		if (found != UINT32_MAX || adsm_ptx_poly_take(poly, atom) != 1 || adsm_ptx_poly_has(poly, atom))
			return UINT32_MAX;
		found = i;
	}
	return found;
}

/* May a store change a parameter of the kernel? Then it is no longer what the launch has passed. */
static bool may_change_params(const struct finder *finder)
{
	for (uint32_t i = 0; i < finder->kernel->n; i++) {
		const struct adsm_ptx_instruction *instruction = &finder->kernel->instructions[i];
		const struct adsm_ptx_variable *params = finder->kernel->params;
		const struct adsm_ptx_operand *base;

		if (adsm_ptx_is(instruction, "cvta") && instruction->space == ADSM_PTX_PARAM)
			return true;
		if (!adsm_ptx_is(instruction, "st") || instruction->operands[0].kind != ADSM_PTX_OP_MEMORY)
			continue;
		base = &instruction->operands[0].elements[0];
		if ((base->kind == ADSM_PTX_OP_VARIABLE && base->variable >= params &&
		     base->variable < params + finder->kernel->n_params) ||
		    (base->kind != ADSM_PTX_OP_VARIABLE && instruction->space == ADSM_PTX_PARAM))
			return true;
	}
	return false;
}

/* May a line have the polynomial, whatever the launch's numbers are? */
static bool is_small(const struct adsm_ptx_poly *poly)
{
	__int128 sum = 0;

	for (uint32_t i = 0; i < poly->n; i++) {
		const __int128 factor = poly->terms[i].factor;

		sum += factor < 0 ? -factor : factor;
	}
	return adsm_writes_is_small(sum);
}

static bool has_small_numbers(const struct adsm_ptx_write *write)
{
	bool all = is_small(&write->offset);

	for (uint32_t i = 0; i < write->conditions.n; i++)
		all &= is_small(&write->conditions.list[i].poly);
	return all;
}

/* What is known of a store. Returns false: finder->why. */
static bool understand(struct finder *finder, uint32_t at, struct adsm_ptx_write *ret_write)
{
	const struct adsm_ptx_instruction *store = &finder->kernel->instructions[at];
	const struct adsm_ptx_operand *memory = &store->operands[0];
	const uint32_t block = finder->shape.block_of[at];
	struct adsm_ptx_poly shift;

	adsm_ptx_affine_begin(&finder->affine, &ret_write->conditions);
	ret_write->by = store;
	ret_write->size = adsm_ptx_size(adsm_ptx_type_of(store)) * (store->vector ? store->vector : 1);
	if (!finder->blocks.blocks[block].reached || memory->elements[0].kind != ADSM_PTX_OP_REGISTER ||
	    !adsm_ptx_affine_value(&finder->affine, &memory->elements[0], at, &ret_write->offset))
		return fail(finder, "the address is not a sum of multiples of indices");
	adsm_ptx_poly_constant(memory->offset, &shift);
	ret_write->param = take_pointer(finder, &ret_write->offset);
	if (!adsm_ptx_poly_add(&ret_write->offset, 1, &shift, &ret_write->offset) ||
	    !adsm_ptx_poly_is_linear(&ret_write->offset) || ret_write->param == UINT32_MAX)
		return fail(finder, "the address is not a sum of multiples of indices");
	if ((store->guard.kind != ADSM_PTX_OP_NONE &&
	     !add_predicate(finder, &store->guard, at, true, ADSM_PTX_NO_LOOP, 0)) || !add_way(finder, block))
		return fail(finder, "some threads do not store, and the condition is not a comparison of indices");
	return has_small_numbers(ret_write) || fail(finder, "a number is too large");
}

static int keep(struct finder *finder, const struct adsm_ptx_write *write)
{
	struct adsm_ptx_writes *writes = finder->writes;
	struct adsm_ptx_write *list = realloc(writes->list, (writes->n + 1) * sizeof(*list));

	if (!list)
		return -ENOMEM;
	writes->list = list;
	list[writes->n++] = *write;
	return 0;
}

static bool stores_globally(const struct adsm_ptx_instruction *instruction)
{
	return adsm_ptx_is(instruction, "st") && instruction->operands[0].kind == ADSM_PTX_OP_MEMORY &&
	       (instruction->space == ADSM_PTX_GLOBAL || instruction->space == ADSM_PTX_GENERIC) &&
	       adsm_ptx_type_of(instruction) != ADSM_PTX_NO_TYPE;
}

/* Say why a store is none of those that are known. If its parameter is not known, it may be one of any parameter. */
static void note_why(struct finder *finder, uint32_t param, const struct adsm_ptx_instruction *store)
{
	for (uint32_t i = 0; i < finder->kernel->n_params; i++) {
		if (!finder->candidates[i] || (param != i && param != UINT32_MAX) || finder->writes->why[i])
			continue;
		finder->writes->why[i] = finder->why;
		finder->writes->where[i] = store;
	}
}

static int compare_params(const void *a, const void *b)
{
	const struct adsm_ptx_write *x = a, *y = b;

	return x->param != y->param ? (x->param < y->param ? -1 : 1) : x->by < y->by ? -1 : x->by > y->by;
}

static int find_all(struct finder *finder)
{
	struct adsm_ptx_writes *writes = finder->writes;
	bool any = false;
	int error = 0;

	for (uint32_t i = 0; i < finder->kernel->n_params; i++)
		any |= finder->candidates[i] = is_candidate(finder, i);
	if (!any || finder->access->exits_in_call || may_change_params(finder))
		return 0;
	for (uint32_t i = 0, n = 0; !error && i < finder->kernel->n && n < MOST_STORES; i++) {
		struct adsm_ptx_write write = { .param = UINT32_MAX };

		if (!stores_globally(&finder->kernel->instructions[i]))
			continue;
		n++;
		if (!understand(finder, i, &write))
			note_why(finder, write.param, &finder->kernel->instructions[i]);
		else if (finder->candidates[write.param])
			error = keep(finder, &write);
	}
	if (!error && writes->n)
		qsort(writes->list, writes->n, sizeof(*writes->list), compare_params);
	for (uint32_t i = 0; !error && i < writes->n; i++)
		writes->why[writes->list[i].param] = NULL;
	return error;
}

/* adsm_ptx_writes_find() frees what this makes. */
static int find(struct finder *finder)
{
	int error = adsm_ptx_blocks_find(finder->kernel, false, &finder->blocks);

	if (error)
		return error;
	finder->candidates = calloc((size_t)finder->kernel->n_params + 1, sizeof(*finder->candidates));
	error = finder->candidates ? adsm_ptx_shape_find(&finder->blocks, &finder->shape) : -ENOMEM;
	if (!error)
		error = adsm_ptx_affine_init(&finder->affine, finder->kernel, &finder->shape);
	return error ? error : find_all(finder);
}

int adsm_ptx_writes_find(const struct adsm_ptx_module *module, const struct adsm_ptx_function *kernel,
			 const struct adsm_ptx_access *access, struct adsm_ptx_writes *ret_writes)
{
	struct finder finder = { .module = module, .kernel = kernel, .access = access, .writes = ret_writes };
	int error = 0;

	*ret_writes = (struct adsm_ptx_writes){
		.why = calloc((size_t)kernel->n_params + 1, sizeof(*ret_writes->why)),
		.where = calloc((size_t)kernel->n_params + 1, sizeof(*ret_writes->where)),
	};
	if (!ret_writes->why || !ret_writes->where)
		error = -ENOMEM;
	/* Memory that no parameter names may be the same object. */
	if (!error && !access->is_unnamed && !access->gave_up)
		error = find(&finder);
	adsm_ptx_affine_finish(&finder.affine);
	adsm_ptx_shape_destroy(&finder.shape);
	adsm_ptx_blocks_destroy(&finder.blocks);
	free(finder.candidates);
	if (error == -E2BIG)
		error = 0;
	if (error)
		adsm_ptx_writes_destroy(ret_writes);
	return error;
}

void adsm_ptx_writes_destroy(struct adsm_ptx_writes *writes)
{
	free(writes->list);
	free(writes->why);
	free(writes->where);
	*writes = (struct adsm_ptx_writes){ 0 };
}

#define TEXT_SIZE 65536			/* ADSM_PTX_CONDITIONS polynomials: each term has at most 100 bytes */

char *adsm_ptx_write_text(const struct adsm_ptx_write *write, const char *kernel)
{
	static const char letters[] = {
		[ADSM_PTX_NOT_NEGATIVE] = 'g', [ADSM_PTX_ZERO] = 'e', [ADSM_PTX_NOT_ZERO] = 'n',
		[ADSM_PTX_FITS_S32] = 's', [ADSM_PTX_FITS_U32] = 'u', [ADSM_PTX_FITS_S64] = 'S',
		[ADSM_PTX_FITS_U64] = 'U',
	};
	const size_t size = TEXT_SIZE + strlen(kernel);
	char *text = malloc(size);

	if (!text)
		return NULL;
	snprintf(text, size, "%s %u %u ", kernel, write->param, write->size);
	adsm_ptx_poly_print(&write->offset, text, size);
	for (uint32_t i = 0; i < write->conditions.n; i++) {
		const struct adsm_ptx_condition *condition = &write->conditions.list[i];
		const size_t at = strlen(text);

		if (condition->turns_of)
			snprintf(text + at, size - at, " %c%u", letters[condition->kind],
				 condition->turns_of - ADSM_PTX_ATOM_LOOP);
		else
			snprintf(text + at, size - at, " %c", letters[condition->kind]);
		adsm_ptx_poly_print(&condition->poly, text, size);
	}
	return text;
}
