/* SPDX-License-Identifier: MIT */
/* body.c - see body.h. */
#include "body.h"

#include "bases.h"
#include "check.h"
#include "globals.h"
#include "list.h"
#include "yields.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

void adsm_ptx_write_registers(struct adsm_ptx_body *kernel)
{
	const struct adsm_ptx_function *function = kernel->function;

	for (uint32_t reg = 0; reg < function->n_registers; reg++) {
		if (adsm_ptx_bit(kernel->declared, reg))
			adsm_ptx_print(kernel->writer, "\t\t%s r%u;\n",
				       adsm_ptx_c_register(function->registers[reg].type), reg);
	}
}

static void note_register(void *arg, uint32_t reg, bool writes)
{
	struct adsm_ptx_body *kernel = arg;

	adsm_ptx_set_bit(kernel->declared, reg);
	if (writes)
		adsm_ptx_set_bit(kernel->assigned, reg);
}

static void write_guard(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	if (instruction->guard.kind == ADSM_PTX_OP_NONE)
		return;
	adsm_ptx_print(writer, "if (");
	adsm_ptx_read(writer, &instruction->guard, ADSM_PTX_pred);
	adsm_ptx_print(writer, ") ");
}

static void write_statement(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	writer->instruction = instruction;
	adsm_ptx_print(writer, "\t\t");
	write_guard(writer, instruction);
	adsm_ptx_print(writer, "{ ");
	adsm_ptx_write_check(writer, instruction);
	if (writer->linear && adsm_ptx_is_wide(writer->linear, instruction)) {
		adsm_ptx_print(writer, "if (wide) { ");
		adsm_ptx_write_wide(writer, writer->linear, instruction);
		adsm_ptx_print(writer, " } else ");
	}
	adsm_ptx_statement(writer, instruction);
	adsm_ptx_print(writer, " }\n");
}

/* Is a kept register the same in all threads? Then there is one copy of it. */
static bool is_shared_by_all(const struct adsm_ptx_body *kernel, uint32_t reg)
{
	return kernel->even && !adsm_ptx_bit(kernel->divergence.registers, reg);
}

/* The call is at its yield: keep what is live, and say where the thread continues. */
static void write_yield(struct adsm_ptx_body *kernel, const struct adsm_ptx_block *block, uint32_t next, uint32_t from)
{
	struct adsm_ptx_writer *writer = kernel->writer;
	const struct adsm_ptx_region *region = &kernel->regions.regions[from];

	writer->instruction = block->by;
	adsm_ptx_print(writer, "{ ");
	for (uint32_t reg = 0; reg < kernel->function->n_registers; reg++) {
		if (!adsm_ptx_bit(block->live_out, reg) || !adsm_ptx_bit(kernel->regions.kept, reg) ||
		    adsm_ptx_yield_defines(block->by, reg))
			continue;
		/* What has only been loaded is still there, and what has not even been loaded has no value. */
		if (!adsm_ptx_bit(kernel->assigned, reg) &&
		    !(region->yield && adsm_ptx_yield_defines(region->yield, reg)))
			continue;
		if (is_shared_by_all(kernel, reg))
			adsm_ptx_print(writer, "*(%s *)(v + %u) = r%u; ",
				       adsm_ptx_c_register(kernel->function->registers[reg].type),
				       kernel->offsets[reg], reg);
		else
			adsm_ptx_print(writer, "L%u[T] = r%u; ", reg, reg);
	}
	adsm_ptx_write_give(writer, block->by);
	adsm_ptx_print(writer, "PTX_AT(%uu); }\n", next);
}

/* Results that are registers go to the caller's memory. */
static void write_return(struct adsm_ptx_writer *writer, const struct adsm_ptx_function *function)
{
	adsm_ptx_print(writer, "{ ");
	for (uint32_t i = 0; i < function->n_results; i++) {
		if (function->results[i].space == ADSM_PTX_REG)
			adsm_ptx_print(writer, "*(%s *)o%u = r%u; ", adsm_ptx_c_type(function->results[i].type), i,
				       function->results[i].reg);
	}
	adsm_ptx_print(writer, writer->functions_exit ? "return 0; }\n" : "return; }\n");
}

static void write_end(struct adsm_ptx_body *kernel, uint32_t index, uint32_t from, uint32_t following)
{
	struct adsm_ptx_writer *writer = kernel->writer;
	const struct adsm_ptx_block *block = &kernel->blocks.blocks[index];
	const bool guarded = block->by && block->by->guard.kind != ADSM_PTX_OP_NONE;

	writer->instruction = block->by;
	/* Refuse a kernel that ends the block with an unsupported instruction. */
	if (block->by && !adsm_ptx_suspends(block->by) && !adsm_ptx_is_step(block->by))
		adsm_ptx_find_form(writer, block->by);
	if (block->by)
		adsm_ptx_write_line(writer, block->by);
	adsm_ptx_print(writer, "\t\t");
	/* The branch that does not end the thread is the one that is taken. */
	if (writer->linear && adsm_ptx_bit(writer->linear->decided, index))
		adsm_ptx_print(writer, adsm_ptx_only_leaves(&kernel->blocks.blocks[block->next[0]]) ? "if (!wide) " :
			       "if (wide) goto B%u; else ", block->next[0]);
	if (guarded)
		write_guard(writer, block->by);
	switch (block->end) {
	case ADSM_PTX_GOTO:
		if (guarded || block->next[0] != following)
			adsm_ptx_print(writer, "goto B%u;\n", block->next[0]);
		break;
	case ADSM_PTX_SWITCH:
		assert(block->by);
		adsm_ptx_print(writer, "switch (");
		adsm_ptx_read(writer, &block->by->operands[0], ADSM_PTX_u32);
		adsm_ptx_print(writer, ") {");
		for (uint32_t i = 0; i < block->by->n_targets; i++)
			adsm_ptx_print(writer, " case %u: goto B%u;", i, block->next[i]);
		adsm_ptx_print(writer, " default: __builtin_unreachable(); }\n");
		break;
	case ADSM_PTX_LEAVE:
		/* ret ends a function, and exit the thread. */
		if (kernel->function->is_entry || (block->by && adsm_ptx_is(block->by, "exit")))
			adsm_ptx_print(writer, "PTX_AT(PTX_LEFT);\n");
		else
			write_return(writer, kernel->function);
		break;
	case ADSM_PTX_YIELD:
		/* A function that is not inlined spins, and keeps its thread. */
		if (!kernel->function->is_entry) {
			adsm_ptx_print(writer, "goto B%u;\n", block->next[0]);
			break;
		}
		write_yield(kernel, block, kernel->regions.region_of ? kernel->regions.region_of[index] : 0, from);
		break;
	}
	if (guarded && block->next[block->n_next - 1] != following) {
		adsm_ptx_write_line(writer, block->by);
		adsm_ptx_print(writer, "\t\tgoto B%u;\n", block->next[block->n_next - 1]);
	} else {
		adsm_ptx_print(writer, "\n");
	}
}

/* Write blocks, in their order. @set: which ones; NULL: all that control can reach. */
void adsm_ptx_write_blocks(struct adsm_ptx_body *kernel, const uint64_t *set, uint32_t start, uint32_t from)
{
	struct adsm_ptx_writer *writer = kernel->writer;
	bool first = true;

	for (uint32_t i = 0; i < kernel->blocks.n; i++) {
		const struct adsm_ptx_block *block = &kernel->blocks.blocks[i];
		uint32_t following = i + 1;

		if (set ? !adsm_ptx_bit(set, i) : !block->reached)
			continue;
		while (following < kernel->blocks.n &&
		       (set ? !adsm_ptx_bit(set, following) : !kernel->blocks.blocks[following].reached))
			following++;
		if (first && i != start)
			adsm_ptx_print(writer, "\t\tgoto B%u;\n", start);
		first = false;
		adsm_ptx_print(writer, "\tB%u:;\n", i);
		for (uint32_t j = 0; j < block->n; j++) {
			adsm_ptx_write_line(writer, &kernel->function->instructions[block->first + j]);
			write_statement(writer, &kernel->function->instructions[block->first + j]);
		}
		write_end(kernel, i, from, following);
	}
	adsm_ptx_write_no_line(writer);
}

/* Which registers do blocks name? */
void adsm_ptx_find_registers(struct adsm_ptx_body *kernel, const uint64_t *set)
{
	for (uint32_t i = 0; i < kernel->blocks.words; i++)
		kernel->declared[i] = kernel->assigned[i] = 0;
	for (uint32_t i = 0; i < kernel->blocks.n; i++) {
		const struct adsm_ptx_block *block = &kernel->blocks.blocks[i];

		if (set ? !adsm_ptx_bit(set, i) : !block->reached)
			continue;
		for (uint32_t j = 0; j < block->n; j++)
			adsm_ptx_each_register(&kernel->function->instructions[block->first + j], note_register,
					       kernel);
		if (block->by)
			adsm_ptx_each_register(block->by, note_register, kernel);
	}
}

/* Append the declaration of an array for a variable. */
static void write_array(struct adsm_ptx_writer *writer, char name, uint32_t index,
			const struct adsm_ptx_variable *variable)
{
	adsm_ptx_print(writer, "char %c%u[%llu] __attribute__((aligned(%u), unused));\n", name, index,
		       (unsigned long long)(variable->size ? variable->size : 1),
		       variable->align > 16 ? variable->align : 16);
}

/* Copies of the parameters: the compiler knows that no store changes them. And pointers to variables of the module. */
void adsm_ptx_write_params(struct adsm_ptx_body *kernel)
{
	struct adsm_ptx_writer *writer = kernel->writer;

	adsm_ptx_write_pointers(writer);
	for (uint32_t i = 0; i < kernel->function->n_params; i++) {
		adsm_ptx_print(writer, "\t");
		if (adsm_ptx_bit(kernel->lasting, i)) {
			adsm_ptx_print(writer, "char *const a%u __attribute__((unused)) = "
				       "((struct K%u_params *)k->params)->a%u;\n", i, kernel->frame->index, i);
			continue;
		}
		write_array(writer, 'a', i, &kernel->function->params[i]);
		adsm_ptx_print(writer, "\tmemcpy(a%u, k->args[%u], %llu);\n", i, i,
			       (unsigned long long)kernel->function->params[i].size);
	}
}

/* Find the parameters whose addresses are values. */
static void note_addresses(struct adsm_ptx_body *kernel, const struct adsm_ptx_operand *operands, uint32_t n)
{
	const struct adsm_ptx_function *function = kernel->function;

	for (uint32_t i = 0; i < n; i++) {
		const struct adsm_ptx_variable *variable = operands[i].variable;

		if (operands[i].kind == ADSM_PTX_OP_VARIABLE && variable >= function->params &&
		    variable < function->params + function->n_params) {
			adsm_ptx_set_bit(kernel->lasting, (uint32_t)(variable - function->params));
			kernel->has_lasting = true;
		} else if (operands[i].kind != ADSM_PTX_OP_MEMORY) {
			note_addresses(kernel, operands[i].elements, operands[i].n);
		}
	}
}

void adsm_ptx_write_lasting(struct adsm_ptx_body *kernel)
{
	const struct adsm_ptx_function *function = kernel->function;

	for (uint32_t i = 0; i < function->n; i++)
		note_addresses(kernel, function->instructions[i].operands, function->instructions[i].n);
	if (!kernel->has_lasting)
		return;
	adsm_ptx_print(kernel->writer, "struct K%u_params {\n", kernel->frame->index);
	for (uint32_t i = 0; i < function->n_params; i++) {
		if (adsm_ptx_bit(kernel->lasting, i))
			write_array(kernel->writer, 'a', i, &function->params[i]);
	}
	adsm_ptx_print(kernel->writer, "};\n");
}

void adsm_ptx_write_locals(struct adsm_ptx_body *kernel)
{
	for (uint32_t i = 0; i < kernel->function->n_variables; i++) {
		const struct adsm_ptx_variable *variable = kernel->function->variables[i];

		if (variable->space == ADSM_PTX_PARAM)
			write_array(kernel->writer, 'q', i, variable);
	}
	adsm_ptx_print(kernel->writer, "\t\tuint32_t cc __attribute__((unused)) = 0;\n");
}

/* Registers that are live at the start of a region: from memory, computed again, or from the yield. */
static void write_loads(struct adsm_ptx_body *kernel, const struct adsm_ptx_region *region)
{
	struct adsm_ptx_writer *writer = kernel->writer;
	const uint64_t *live = kernel->blocks.blocks[region->yield_block].live_out;
	const struct adsm_ptx_instruction **done;
	uint32_t n_done = 0;

	done = calloc((size_t)kernel->function->n_registers * 15 + 1, sizeof(*done));
	if (!done)
		adsm_ptx_refuse(writer, "there is no memory");
	for (uint32_t reg = 0; reg < kernel->function->n_registers; reg++) {
		const struct adsm_ptx_recipe *recipe = &kernel->regions.recipes.recipes[reg];

		if (!adsm_ptx_bit(live, reg) || adsm_ptx_yield_defines(region->yield, reg))
			continue;
		if (adsm_ptx_bit(kernel->regions.kept, reg)) {
			if (is_shared_by_all(kernel, reg))
				adsm_ptx_print(writer, "\t\tr%u = *(const %s *)(u + %u);\n", reg,
					       adsm_ptx_c_register(kernel->function->registers[reg].type),
					       kernel->offsets[reg]);
			else
				adsm_ptx_print(writer, "\t\tr%u = L%u[T];\n", reg, reg);
			continue;
		}
		for (uint32_t i = 0; i < recipe->n; i++) {
			uint32_t j = 0;

			while (j < n_done && done[j] != recipe->instructions[i])
				j++;
			if (j == n_done)
				write_statement(writer, done[n_done++] = recipe->instructions[i]);
		}
	}
	free(done);
	writer->instruction = region->yield;
	adsm_ptx_print(writer, "\t\t");
	adsm_ptx_write_take(writer, region->yield);
	adsm_ptx_print(writer, "\n");
}

/* The registers that write_loads() names. */
static void find_loaded(struct adsm_ptx_body *kernel, const struct adsm_ptx_region *region)
{
	const uint64_t *live = kernel->blocks.blocks[region->yield_block].live_out;
	uint64_t *assigned = kernel->assigned;
	uint64_t *ignored = calloc(kernel->blocks.words, sizeof(*ignored));

	if (!ignored)
		adsm_ptx_refuse(kernel->writer, "there is no memory");
	/* What a load writes has not changed: only the region's own writes count. */
	kernel->assigned = ignored;
	for (uint32_t reg = 0; reg < kernel->function->n_registers; reg++) {
		const struct adsm_ptx_recipe *recipe = &kernel->regions.recipes.recipes[reg];

		if (!adsm_ptx_bit(live, reg))
			continue;
		adsm_ptx_set_bit(kernel->declared, reg);
		for (uint32_t i = 0; i < recipe->n && !adsm_ptx_bit(kernel->regions.kept, reg); i++)
			adsm_ptx_each_register(recipe->instructions[i], note_register, kernel);
	}
	adsm_ptx_each_register(region->yield, note_register, kernel);
	kernel->assigned = assigned;
	free(ignored);
}

static void write_arrays(struct adsm_ptx_body *kernel)
{
	struct adsm_ptx_writer *writer = kernel->writer;

	for (uint32_t reg = 0; reg < kernel->function->n_registers; reg++) {
		if (adsm_ptx_bit(kernel->regions.kept, reg) && adsm_ptx_bit(kernel->declared, reg) &&
		    !is_shared_by_all(kernel, reg)) {
			const char *type = adsm_ptx_c_register(kernel->function->registers[reg].type);

			adsm_ptx_print(writer, "\t%s *restrict const L%u __attribute__((unused)) = "
				       "(%s *)(s->state + %u * N);\n", type, reg, type, kernel->offsets[reg]);
		}
	}
}

/* The parameters of the functions that run rows of threads, and the arguments for them. */
static const char *rows_params(const struct adsm_ptx_body *kernel)
{
	return kernel->regions.n == 1 ? "" :
	       kernel->even ? ", struct ptx_threads *s, const char *restrict u, char *restrict v" :
	       ", struct ptx_threads *s, const int check";
}

static const char *rows_args(const struct adsm_ptx_body *kernel)
{
	return kernel->regions.n == 1 ? "" : kernel->even ? ", s, u, v" : ", s, check";
}

/* The registers that are the same in all threads when a region begins. */
static void find_common(struct adsm_ptx_body *kernel, const struct adsm_ptx_region *region, uint64_t *common)
{
	const uint64_t *live = kernel->blocks.blocks[region->yield_block].live_out;

	for (uint32_t reg = 0; kernel->even && region->yield && reg < kernel->function->n_registers; reg++) {
		if (adsm_ptx_bit(live, reg) && adsm_ptx_bit(kernel->regions.kept, reg) && is_shared_by_all(kernel, reg))
			adsm_ptx_set_bit(common, reg);
	}
}

void adsm_ptx_find_indices(struct adsm_ptx_body *kernel, const struct adsm_ptx_region *region)
{
	int error;

	kernel->part = (struct adsm_ptx_part){ .blocks = &kernel->blocks, .common = kernel->common };
	for (uint32_t i = 0; i < kernel->blocks.words; i++)
		kernel->common[i] = 0;
	if (region) {
		kernel->part.set = region->blocks;
		kernel->part.start = region->start;
		find_common(kernel, region, kernel->common);
	}
	adsm_ptx_linear_destroy(&kernel->linear);
	error = adsm_ptx_linear_find(&kernel->blocks, region ? &kernel->part : NULL, &kernel->linear);
	if (error)
		adsm_ptx_refuse(kernel->writer, "there is no memory");
	kernel->linear.offsets = kernel->offsets;
	kernel->linear.named = kernel->declared;
	/* What is checked is computed as the PTX says. */
	kernel->writer->linear = kernel->linear.n_indices && !kernel->writer->checks ? &kernel->linear : NULL;
}

/* The head of the function that runs rows of threads: all of them, or that of y and z, whose thread 0 is first. */
void adsm_ptx_write_rows(struct adsm_ptx_body *kernel, const char *suffix)
{
	struct adsm_ptx_writer *writer = kernel->writer;
	const uint32_t index = kernel->frame->index;

	if (writer->linear)
		adsm_ptx_print(writer, "static int K%u%s_row(const struct ptx_block *k%s, uint32_t y, uint32_t z, "
			       "size_t first);\n", index, suffix, rows_params(kernel));
	adsm_ptx_print(writer, "PTX_ALWAYS int K%u%s_rows(const struct ptx_block *k%s, const int all, const int wide, "
		       "uint32_t y, uint32_t z, size_t first)\n{\n\tPTX_ENTER\n"
		       "\tsize_t t0 = first;\n\tint at = 0;\n\n", index, suffix, rows_params(kernel));
}

/* The head of the loop over the threads of a row, and the code before it. */
void adsm_ptx_write_threads(struct adsm_ptx_body *kernel, const char *suffix)
{
	struct adsm_ptx_writer *writer = kernel->writer;

	adsm_ptx_print(writer, "\tfor (uint32_t tz = z; tz < (all ? nz : z + 1); tz++)\n"
		       "\tfor (uint32_t ty = y; ty < (all ? ny : y + 1); ty++, t0 += nx) {\n"
		       "\tuint32_t from = 0, to = nx;\n");
	if (writer->linear) {
		adsm_ptx_write_bases(writer, writer->linear);
		adsm_ptx_print(writer, "\tif (!fits) { at = K%u%s_row(k%s, ty, tz, t0); continue; }\n",
			       kernel->frame->index, suffix, rows_args(kernel));
		adsm_ptx_write_range(writer, writer->linear);
		adsm_ptx_print(writer, "\t}\n");
	}
	kernel->divided = writer->linear && adsm_ptx_write_splits(writer, writer->linear);
	adsm_ptx_print(writer, "\tPTX_INDEPENDENT\n"
		       "\tfor (uint32_t tx = %s; tx < %s; tx++) {\n"
		       "\t\tconst size_t T __attribute__((unused)) = t0 + tx;\n"
		       "\t\tconst uint32_t t __attribute__((unused)) = (uint32_t)T;\n",
		       kernel->divided ? "begin" : "from", kernel->divided ? "end" : "to");
}

/*
 * The end of the function, and those that call it: for a row whose indices wrap around, which is rare; in the plain
 * form, for threads that are not all at one place; for all threads.
 */
void adsm_ptx_write_rows_end(struct adsm_ptx_body *kernel, const char *suffix)
{
	struct adsm_ptx_writer *writer = kernel->writer;
	const uint32_t index = kernel->frame->index;
	const char *params = rows_params(kernel), *args = rows_args(kernel);

	adsm_ptx_print(writer, "\tend:;\n\t}\n\t}\n%s\treturn at;\n}\n", kernel->divided ? "\t}\n" : "");
	if (writer->linear)
		adsm_ptx_print(writer, "PTX_NEVER int K%u%s_row(const struct ptx_block *k%s, uint32_t y, uint32_t z, "
			       "size_t first)\n{\n\treturn K%u%s_rows(k%s, 0, 0, y, z, first);\n}\n", index, suffix,
			       params, index, suffix, args);
	if (kernel->regions.n > 1 && !kernel->even)
		adsm_ptx_print(writer, "PTX_NEVER int K%u%s_some(const struct ptx_block *k, struct ptx_threads *s)\n{\n"
			       "\treturn K%u%s_rows(k, s, 1, 1, 0, 0, 0, 0);\n}\n", index, suffix, index, suffix);
	adsm_ptx_print(writer, "PTX_ALWAYS int K%u%s(const struct ptx_block *k%s)\n{\n", index, suffix, params);
	if (kernel->regions.n > 1 && !kernel->even)
		adsm_ptx_print(writer, "\tif (check)\n\t\treturn K%u%s_some(k, s);\n"
			       "\treturn K%u%s_rows(k, s, 0, 1, 1, 0, 0, 0);\n}\n", index, suffix, index, suffix);
	else
		adsm_ptx_print(writer, "\treturn K%u%s_rows(k%s, 1, 1, 0, 0, 0);\n}\n", index, suffix, args);
}

/* What a thread does at the end of a region. */
static void write_at(struct adsm_ptx_body *kernel)
{
	struct adsm_ptx_writer *writer = kernel->writer;

	adsm_ptx_print(writer, "#undef PTX_AT\n#undef PTX_GIVE_PLAIN\n#undef PTX_ARRIVE\n"
		       "#define PTX_ARRIVE(barrier, count) ptx_arrive(s, t, barrier, count)\n");
	if (kernel->general)
		adsm_ptx_print(writer, "#define PTX_AT(next) do { s->place[T] = (uint16_t)(next); s->waits[t] = 1; "
			       "goto end; } while (0)\n#define PTX_GIVE_PLAIN s->a[t] = s->b[t] = s->c[t] = 0;\n");
	else if (kernel->even)
		adsm_ptx_print(writer, "#define PTX_AT(next) do { at = (next); goto end; } while (0)\n"
			       "#define PTX_GIVE_PLAIN\n");
	else
		adsm_ptx_print(writer, "#define PTX_AT(next) do { s->place[T] = (uint16_t)(next); goto end; } "
			       "while (0)\n#define PTX_GIVE_PLAIN\n");
}

static void write_all_regions(struct adsm_ptx_body *kernel)
{
	struct adsm_ptx_writer *writer = kernel->writer;

	adsm_ptx_print(writer, "\t\tswitch (s->before[T]) {\n\t\tdefault: goto B0;\n");
	for (uint32_t i = 1; i < kernel->regions.n; i++) {
		adsm_ptx_print(writer, "\t\tcase %u:\n", i);
		write_loads(kernel, &kernel->regions.regions[i]);
		adsm_ptx_print(writer, "\t\tgoto B%u;\n", kernel->regions.regions[i].start);
	}
	adsm_ptx_print(writer, "\t\t}\n");
	adsm_ptx_write_blocks(kernel, NULL, 0, 0);
}

/* The function of one region, or, if @region is NULL, that of all regions. */
void adsm_ptx_write_region(struct adsm_ptx_body *kernel, const struct adsm_ptx_region *region, uint32_t index)
{
	struct adsm_ptx_writer *writer = kernel->writer;
	char suffix[16];

	snprintf(suffix, sizeof(suffix), "_%u", index);
	adsm_ptx_find_registers(kernel, region ? region->blocks : NULL);
	for (uint32_t i = 1; i < kernel->regions.n; i++) {
		if (!region || region == &kernel->regions.regions[i])
			find_loaded(kernel, &kernel->regions.regions[i]);
	}
	if (region && !kernel->general)
		adsm_ptx_find_indices(kernel, region);
	if (kernel->general)
		adsm_ptx_print(writer, "PTX_ALWAYS void K%u_%u(const struct ptx_block *k, struct ptx_threads *s, "
			       "const int check, const uint32_t first, const uint32_t lanes)\n{\n\tPTX_ENTER\n",
			       kernel->frame->index, index);
	else
		adsm_ptx_write_rows(kernel, suffix);
	adsm_ptx_write_params(kernel);
	write_arrays(kernel);
	if (kernel->general)
		adsm_ptx_print(writer, "\tPTX_INDEPENDENT\n"
			       "\tfor (uint32_t lane = 0; lane < lanes; lane++) {\n"
			       "\t\tconst uint32_t t = first + lane;\n"
			       "\t\tconst size_t T __attribute__((unused)) = t;\n"
			       "\t\tconst uint32_t tx __attribute__((unused)) = s->x ? s->x[t] : t;\n"
			       "\t\tconst uint32_t ty __attribute__((unused)) = s->x ? s->y[t] : 0;\n"
			       "\t\tconst uint32_t tz __attribute__((unused)) = s->x ? s->z[t] : 0;\n");
	else
		adsm_ptx_write_threads(kernel, suffix);
	if (kernel->frame->local_size)
		adsm_ptx_print(writer, "\t\tchar *const lm __attribute__((unused)) = s->state + %llu * N + "
			       "%llu * (size_t)t;\n", (unsigned long long)kernel->local_offset,
			       (unsigned long long)kernel->frame->local_size);
	adsm_ptx_write_registers(kernel);
	adsm_ptx_write_locals(kernel);
	if (region && kernel->general)
		adsm_ptx_print(writer, "\t\tif (check && (s->before[t] != %u || s->waits[t])) continue;\n", index);
	else if (region && !kernel->even)
		adsm_ptx_print(writer, "\t\tif (check && s->before[T] != %u) continue;\n", index);
	else if (!region)
		adsm_ptx_print(writer, "\t\tif (%ss->before[T] == PTX_LEFT) continue;\n",
			       kernel->general ? "s->waits[t] || " : "");
	write_at(kernel);
	if (region && region->yield)
		write_loads(kernel, region);
	if (region)
		adsm_ptx_write_blocks(kernel, region->blocks, region->start, index);
	else
		write_all_regions(kernel);
	if (kernel->general)
		adsm_ptx_print(writer, "\tend:;\n\t}\n}\n");
	else
		adsm_ptx_write_rows_end(kernel, suffix);
	writer->linear = NULL;
}
