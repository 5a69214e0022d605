/* SPDX-License-Identifier: MIT */
/* machine.c - the interpreter's threads, memory and control flow. See machine.h. */
#include "machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STEPS 20000000

void machine_fail(const struct thread *thread, const struct code *code, const char *format, ...)
{
	struct machine *machine = thread->block->machine;
	char what[256];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	snprintf(machine->error, sizeof(machine->error), "line %d, %s, thread %u of block %u: %s", code->in->line,
		 code->in->opcode, thread->number, thread->block->index[0], what);
	longjmp(machine->failed, 1);
}

/* ---- operands */

static uint64_t special(const struct thread *thread, const struct adsm_ptx_operand *operand)
{
	const struct block *block = thread->block;
	const uint32_t i = operand->component, lane = thread->number & 31, bit = 1u << lane;

	switch (operand->special) {
	case ADSM_PTX_SPECIAL_tid: return i < 3 ? thread->index[i] : 0;
	case ADSM_PTX_SPECIAL_ntid: return i < 3 ? block->size[i] : 1;
	case ADSM_PTX_SPECIAL_ctaid: return i < 3 ? block->index[i] : 0;
	case ADSM_PTX_SPECIAL_nctaid: return i < 3 ? block->grid[i] : 1;
	case ADSM_PTX_SPECIAL_laneid: return lane;
	case ADSM_PTX_SPECIAL_warpid: return thread->number / 32;
	case ADSM_PTX_SPECIAL_lanemask_eq: return bit;
	case ADSM_PTX_SPECIAL_lanemask_lt: return bit - 1;
	case ADSM_PTX_SPECIAL_lanemask_le: return bit | (bit - 1);
	case ADSM_PTX_SPECIAL_lanemask_gt: return ~(bit | (bit - 1));
	case ADSM_PTX_SPECIAL_lanemask_ge: return ~(bit - 1);
	case ADSM_PTX_SPECIAL_warp_size: return 32;
	case ADSM_PTX_SPECIAL_dynamic_smem_size: return block->dynamic;
	default:
		machine_fail(thread, &thread->frame->function->codes[thread->frame->at],
			     "a special register that the interpreter does not know");
	}
}

/* The address of a variable, as a value in a register. Shared ones: an offset. */
static uint64_t address_of(const struct thread *thread, const struct adsm_ptx_variable *variable)
{
	const struct machine *machine = thread->block->machine;

	if (variable->space == ADSM_PTX_SHARED)
		return variable->index;
	for (uint32_t i = 0; i < machine->module->n_variables; i++)
		if (machine->module->variables[i] == variable)
			return (uint64_t)(uintptr_t)machine->variables[i];
	if (thread->frame->function->ptx->is_entry && variable->space == ADSM_PTX_PARAM) {
		const struct adsm_ptx_function *entry = thread->frame->function->ptx;

		if (variable >= entry->params && variable < entry->params + entry->n_params)
			return (uint64_t)(uintptr_t)(thread->block->parameters + variable->index);
	}
	return (uint64_t)(uintptr_t)(thread->frame->memory + variable->index);
}

uint64_t machine_get(struct thread *thread, const struct adsm_ptx_operand *operand, enum adsm_ptx_type type)
{
	uint64_t value;

	switch (operand->kind) {
	case ADSM_PTX_OP_REGISTER: value = thread->frame->registers[operand->reg]; break;
	case ADSM_PTX_OP_INTEGER:
	case ADSM_PTX_OP_F32:
	case ADSM_PTX_OP_F64: value = operand->bits; break;
	case ADSM_PTX_OP_SPECIAL: value = special(thread, operand); break;
	case ADSM_PTX_OP_VARIABLE: value = address_of(thread, operand->variable) + operand->bits; break;
	case ADSM_PTX_OP_FUNCTION: value = operand->function->index + 1; break;
	default: machine_fail(thread, &thread->frame->function->codes[thread->frame->at], "an operand of another kind");
	}
	return cut(operand->negated ? !value : value, bits_of(type));
}

void machine_put(struct thread *thread, const struct adsm_ptx_operand *operand, enum adsm_ptx_type type, uint64_t value)
{
	enum adsm_ptx_type own;

	if (operand->kind == ADSM_PTX_OP_SINK)
		return;
	own = thread->frame->function->ptx->registers[operand->reg].type;
	value = adsm_ptx_is_signed(type) ? (uint64_t)extend(value, bits_of(type)) : cut(value, bits_of(type));
	thread->frame->registers[operand->reg] = cut(value, bits_of(own));
}

uint64_t machine_in(struct thread *thread, const struct code *code, uint32_t i)
{
	return machine_get(thread, &code->in->operands[i], code->type);
}

void machine_out(struct thread *thread, const struct code *code, uint64_t value)
{
	machine_put(thread, &code->in->operands[0], code->type, value);
}

/* ---- memory */

static bool is_within(const char *at, uint64_t size, const char *start, uint64_t room)
{
	return start && at >= start && size <= room && (uint64_t)(at - start) <= room - size;
}

/* Where the bytes of an address are. */
static char *memory(struct thread *thread, const struct code *code, uint64_t address, uint64_t size)
{
	const struct block *block = thread->block;
	const struct machine *machine = block->machine;
	char *at = (char *)(uintptr_t)address;

	if (code->in->space == ADSM_PTX_SHARED)
		at = block->shared + address;
	if ((uintptr_t)at % size)
		machine_fail(thread, code, "the address 0x%llx is not aligned", (unsigned long long)address);
	if (is_within(at, size, block->shared, block->shared_size))
		return at;
	for (uint32_t i = 0; code->in->space != ADSM_PTX_SHARED && i < machine->n_ranges; i++)
		if (is_within(at, size, machine->ranges[i].start, machine->ranges[i].size))
			return at;
	for (const struct frame *frame = thread->frame; frame; frame = frame->caller)
		if (is_within(at, size, frame->memory, frame->function->memory))
			return at;
	if (is_within(at, size, block->parameters, 4096))
		return at;
	machine_fail(thread, code, "the address 0x%llx is outside of all memory", (unsigned long long)address);
}

static uint64_t address(struct thread *thread, const struct adsm_ptx_operand *operand)
{
	return machine_get(thread, &operand->elements[0], ADSM_PTX_u64) + (uint64_t)operand->offset;
}

static void run_ld(struct thread *t, const struct code *c)
{
	const struct adsm_ptx_operand *to = &c->in->operands[0];
	const uint32_t size = adsm_ptx_size(c->type), n = to->kind == ADSM_PTX_OP_VECTOR ? to->n : 1;
	const char *at = memory(t, c, address(t, &c->in->operands[1]), (uint64_t)size * n);
	uint64_t values[8] = { 0 };

	for (uint32_t i = 0; i < n; i++)
		memcpy(&values[i], at + i * size, size);
	for (uint32_t i = 0; i < n; i++)
		machine_put(t, to->kind == ADSM_PTX_OP_VECTOR ? &to->elements[i] : to, c->type, values[i]);
}

static void run_st(struct thread *t, const struct code *c)
{
	const struct adsm_ptx_operand *from = &c->in->operands[1];
	const uint32_t size = adsm_ptx_size(c->type), n = from->kind == ADSM_PTX_OP_VECTOR ? from->n : 1;
	char *at = memory(t, c, address(t, &c->in->operands[0]), (uint64_t)size * n);

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t value =
			machine_get(t, from->kind == ADSM_PTX_OP_VECTOR ? &from->elements[i] : from, c->type);

		memcpy(at + i * size, &value, size);
	}
}

static uint64_t combine(struct thread *t, const struct code *c, uint64_t old, uint64_t b, uint64_t d)
{
	const uint32_t bits = bits_of(c->type);
	const bool less = adsm_ptx_is_signed(c->type) ? extend(old, bits) < extend(b, bits) : old < b;
	float f, g;
	const uint32_t words[2] = { (uint32_t)old, (uint32_t)b };
	uint32_t sum;

	if (HAS(c, add) && c->type == ADSM_PTX_f32) {
		memcpy(&f, &words[0], 4);
		memcpy(&g, &words[1], 4);
		f += g;
		memcpy(&sum, &f, 4);
		return sum;
	}
	if (HAS(c, add))
		return old + b;
	if (HAS(c, min) || HAS(c, max))
		return (HAS(c, min) == less) ? old : b;
	if (HAS(c, and))
		return old & b;
	if (HAS(c, or))
		return old | b;
	if (HAS(c, xor))
		return old ^ b;
	if (HAS(c, inc))
		return old >= b ? 0 : old + 1;
	if (HAS(c, dec))
		return !old || old > b ? b : old - 1;
	if (HAS(c, exch))
		return b;
	if (HAS(c, cas))
		return old == b ? d : old;
	machine_fail(t, c, "an atomic operation that the interpreter does not know");
}

/* atom and red; red has no result. */
static void run_atom(struct thread *t, const struct code *c)
{
	const bool returns = c->in->opcode[0] == 'a';
	const uint32_t size = adsm_ptx_size(c->type);
	char *at = memory(t, c, address(t, &c->in->operands[returns]), size);
	const uint64_t b = machine_in(t, c, 1 + returns), d = HAS(c, cas) ? machine_in(t, c, 3) : 0;
	uint64_t old = 0, value;

	memcpy(&old, at, size);
	value = combine(t, c, old, b, d);
	memcpy(at, &value, size);
	if (returns)
		machine_out(t, c, old);
}

static void run_cvta(struct thread *t, const struct code *c)
{
	const uint64_t from = machine_in(t, c, 1), shared = (uint64_t)(uintptr_t)t->block->shared;

	machine_out(t, c, c->in->space != ADSM_PTX_SHARED ? from : HAS(c, to) ? from - shared : from + shared);
}

static void run_isspacep(struct thread *t, const struct code *c)
{
	const char *at = (const char *)(uintptr_t)machine_get(t, &c->in->operands[1], ADSM_PTX_u64);
	const bool is_shared = is_within(at, 1, t->block->shared, t->block->shared_size);
	bool is_global = false;

	for (uint32_t i = 0; i < t->block->machine->n_ranges; i++)
		is_global |= is_within(at, 1, t->block->machine->ranges[i].start, t->block->machine->ranges[i].size);
	machine_put(t, &c->in->operands[0], ADSM_PTX_pred, c->in->space == ADSM_PTX_SHARED ? is_shared : is_global);
}

static void run_nothing(struct thread *t, const struct code *c)
{
	(void)t;
	(void)c;
}

/* ---- control flow */

static struct frame *push(struct thread *thread, const struct function *function)
{
	struct frame *frame = calloc(1, sizeof(*frame));

	if (!frame)
		abort();
	frame->function = function;
	frame->registers = calloc(function->ptx->n_registers + 1, sizeof(*frame->registers));
	frame->memory = aligned_alloc(128, ((size_t)function->memory + 128) & ~(size_t)127);
	if (!frame->registers || !frame->memory)
		abort();
	/* What has not been written has any value: the same one in each run shows that it is used. */
	memset(frame->memory, 0xa5, function->memory);
	for (uint32_t i = 0; i < function->ptx->n_registers; i++)
		frame->registers[i] = UINT64_C(0x5a5a5a5a5a5a5a5b) &
				      (function->ptx->registers[i].type == ADSM_PTX_pred ? 1 : ~UINT64_C(0));
	frame->caller = thread->frame;
	thread->frame = frame;
	return frame;
}

static void pop(struct thread *thread)
{
	struct frame *frame = thread->frame;

	thread->frame = frame->caller;
	free(frame->registers);
	free(frame->memory);
	free(frame);
}

static void end(struct thread *thread)
{
	while (thread->frame)
		pop(thread);
	thread->state = ENDED;
	exchange_try_barriers(thread->block);
}

/* Copy between an operand of a call and a parameter or result of the callee. */
static void pass(struct thread *thread, struct frame *callee, const struct adsm_ptx_operand *operand,
		 const struct adsm_ptx_variable *variable, bool back)
{
	struct frame *caller = callee->caller;
	char *own = callee->memory + variable->index;
	uint64_t value;

	thread->frame = caller;
	if (operand->kind == ADSM_PTX_OP_VARIABLE) {
		char *outer = (char *)(uintptr_t)address_of(thread, operand->variable);

		if (back)
			memcpy(outer, own, variable->size);
		else
			memcpy(own, outer, variable->size);
	} else if (variable->space == ADSM_PTX_REG) {
		if (back)
			machine_put(thread, operand, variable->type, callee->registers[variable->reg]);
		else
			callee->registers[variable->reg] = machine_get(thread, operand, variable->type);
	} else {
		value = back ? 0 : machine_get(thread, operand, variable->type);
		if (back)
			memcpy(&value, own, adsm_ptx_size(variable->type));
		else
			memcpy(own, &value, adsm_ptx_size(variable->type));
		if (back)
			machine_put(thread, operand, variable->type, value);
	}
	thread->frame = callee;
}

static void run_call(struct thread *t, const struct code *c)
{
	const struct adsm_ptx_operand *callee = &c->in->operands[1], *arguments = &c->in->operands[2];
	const uint64_t index = machine_get(t, callee, ADSM_PTX_u64) - 1;
	struct machine *machine = t->block->machine;
	struct frame *frame;
	uint32_t depth = 0;

	if (index >= machine->module->n_functions || !machine->functions[index].codes)
		machine_fail(t, c, "a call of no function");
	for (frame = t->frame; frame; frame = frame->caller)
		depth++;
	if (depth > 100)
		machine_fail(t, c, "calls are too deep");
	frame = push(t, &machine->functions[index]);
	if (arguments->n != frame->function->ptx->n_params || c->in->operands[0].n != frame->function->ptx->n_results)
		machine_fail(t, c, "a call with other arguments");
	for (uint32_t i = 0; i < arguments->n; i++)
		pass(t, frame, &arguments->elements[i], &frame->function->ptx->params[i], false);
}

static void run_ret(struct thread *t, const struct code *c)
{
	const struct frame *frame = t->frame;
	const struct code *call;

	(void)c;
	if (!frame->caller) {
		end(t);
		return;
	}
	call = &frame->caller->function->codes[frame->caller->at];
	for (uint32_t i = 0; i < call->in->operands[0].n; i++)
		pass(t, t->frame, &call->in->operands[0].elements[i], &frame->function->ptx->results[i], true);
	pop(t);
	t->frame->at++;
}

static void run_exit(struct thread *t, const struct code *c)
{
	(void)c;
	end(t);
}

static void run_bra(struct thread *t, const struct code *c)
{
	t->frame->at = c->in->operands[0].label;
}

static void run_brx(struct thread *t, const struct code *c)
{
	const uint64_t i = machine_get(t, &c->in->operands[0], ADSM_PTX_u32);

	if (i >= c->in->n_targets)
		machine_fail(t, c, "an index outside of the table");
	t->frame->at = c->in->targets[i].label;
}

operation *machine_operation(const char *opcode)
{
	static const struct {
		const char *opcode;
		operation *run;
	} table[] = {
		{ "ld", run_ld },
		{ "ldu", run_ld },
		{ "st", run_st },
		{ "atom", run_atom },
		{ "red", run_atom },
		{ "cvta", run_cvta },
		{ "isspacep", run_isspacep },
		{ "membar", run_nothing },
		{ "fence", run_nothing },
		{ "call", run_call },
		{ "ret", run_ret },
		{ "exit", run_exit },
		{ "bra", run_bra },
		{ "brx", run_brx },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (!strcmp(table[i].opcode, opcode))
			return table[i].run;
	return NULL;
}

/* Does the instruction set the place of the next one itself, now or later? */
static bool sets_place(const struct thread *thread, const struct code *code)
{
	return thread->state != RUNS || code->run == run_bra || code->run == run_brx || code->run == run_call ||
	       code->run == run_ret || code->run == exchange_operation(code->in->opcode);
}

static void step(struct thread *thread)
{
	struct frame *frame = thread->frame;
	const struct code *code = &frame->function->codes[frame->at];
	struct machine *machine = thread->block->machine;

	if (frame->at >= frame->function->ptx->n) {
		/* The end of a function without ret. */
		run_ret(thread, code);
		return;
	}
	if (!machine->steps--)
		machine_fail(thread, code, "the kernel does not end");
	if (code->in->guard.kind && !machine_get(thread, &code->in->guard, ADSM_PTX_pred)) {
		frame->at++;
		return;
	}
	code->run(thread, code);
	if (!sets_place(thread, code))
		frame->at++;
}

/* ---- runs */

static uint32_t random_number(struct machine *machine)
{
	machine->order ^= machine->order << 13;
	machine->order ^= machine->order >> 7;
	machine->order ^= machine->order << 17;
	return (uint32_t)(machine->order >> 16);
}

/* Some thread that can run, or NULL. */
static struct thread *choose(struct block *block)
{
	const uint32_t start = block->machine->order ? random_number(block->machine) % block->n : 0;

	for (uint32_t i = 0; i < block->n; i++) {
		struct thread *thread = &block->threads[(start + i) % block->n];

		if (thread->state == RUNS)
			return thread;
	}
	return NULL;
}

static void run_block(struct block *block)
{
	struct thread *thread;

	while ((thread = choose(block))) {
		uint32_t n = block->machine->order ? random_number(block->machine) % 16 : 1000;

		do
			step(thread);
		while (thread->state == RUNS && n--);
	}
	for (uint32_t i = 0; i < block->n; i++) {
		thread = &block->threads[i];
		if (thread->state != ENDED)
			machine_fail(thread, &thread->frame->function->codes[thread->frame->at], "it waits for ever");
	}
}

static void begin_block(struct block *block, const struct launch *launch, struct function *function)
{
	memset(block->threads, 0, block->n * sizeof(*block->threads));
	memset(block->shared, 0xa5, block->shared_size);
	for (uint32_t i = 0; i < block->n; i++) {
		struct thread *thread = &block->threads[i];

		thread->block = block;
		thread->number = i;
		thread->index[0] = i % launch->block[0];
		thread->index[1] = i / launch->block[0] % launch->block[1];
		thread->index[2] = i / launch->block[0] / launch->block[1];
		push(thread, function);
	}
}

static void finish_block(struct block *block)
{
	for (uint32_t i = 0; i < block->n; i++)
		while (block->threads[i].frame)
			pop(&block->threads[i]);
}

static const char *run_grid(struct machine *machine, struct block *block, const struct launch *launch)
{
	const uint32_t n = launch->grid[0] * launch->grid[1] * launch->grid[2];

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t b = launch->order ? n - 1 - i : i;

		block->index[0] = b % launch->grid[0];
		block->index[1] = b / launch->grid[0] % launch->grid[1];
		block->index[2] = b / launch->grid[0] / launch->grid[1];
		begin_block(block, launch, &machine->functions[launch->entry->index]);
		if (setjmp(machine->failed)) {
			finish_block(block);
			return machine->error;
		}
		run_block(block);
		finish_block(block);
	}
	return NULL;
}

const char *machine_run(struct machine *machine, const struct launch *launch)
{
	const uint32_t n = launch->block[0] * launch->block[1] * launch->block[2];
	static _Alignas(128) char parameters[4096];
	struct block block = { .machine = machine, .n = n, .dynamic = launch->dynamic, .parameters = parameters };
	const char *error;

	machine->steps = MOST_STEPS;
	machine->order = launch->order;
	block.shared_size = machine->shared_size + launch->dynamic;
	block.shared = aligned_alloc(128, (block.shared_size + 128u) & ~127u);
	block.threads = calloc(n, sizeof(*block.threads));
	if (!block.shared || !block.threads)
		abort();
	memcpy(block.grid, launch->grid, sizeof(block.grid));
	memcpy(block.size, launch->block, sizeof(block.size));
	for (uint32_t i = 0; i < launch->entry->n_params; i++)
		memcpy(parameters + launch->entry->params[i].index, launch->arguments[i],
		       launch->entry->params[i].size);
	error = run_grid(machine, &block, launch);
	free(block.shared);
	free(block.threads);
	return error;
}

/* ---- preparation */

static uint32_t place(uint32_t *end, const struct adsm_ptx_variable *variable)
{
	const uint32_t at = (*end + variable->align - 1) & ~(variable->align - 1);

	*end = at + (uint32_t)variable->size;
	return at;
}

static const char *decode(struct code *code, const struct adsm_ptx_instruction *instruction, char *error, size_t size)
{
	static const char *const names[] = {
#define MODIFIER(name) #name,
		MODIFIERS(MODIFIER)
#undef MODIFIER
	};
	static const char *const moves[] = { "mov", "selp", "slct" };
	const char *opcode = instruction->opcode;
	bool is_move = false;

	code->in = instruction;
	code->type = adsm_ptx_type_of(instruction);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		code->modifiers |= (uint64_t)adsm_ptx_has(instruction, names[i]) << i;
	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++)
		is_move |= !strcmp(opcode, moves[i]);
	code->run = exchange_operation(opcode);
	if (!code->run)
		code->run = machine_operation(opcode);
	if (!code->run && !strcmp(opcode, "cvt"))
		code->run = floats_operation(opcode);
	if (!code->run && (code->type == ADSM_PTX_f16 || code->type == ADSM_PTX_f16x2) && !is_move) {
		char half[32];

		snprintf(half, sizeof(half), ".%s", opcode);
		code->run = floats_operation(half);
	} else if (!code->run) {
		code->run =
			adsm_ptx_is_float(code->type) && !is_move ? floats_operation(opcode) : values_operation(opcode);
	}
	if (code->run)
		return NULL;
	snprintf(error, size, "line %d: the interpreter does not know %s", instruction->line, opcode);
	return error;
}

static const char *prepare(struct machine *machine, struct function *function, const struct adsm_ptx_function *ptx)
{
	const char *error = NULL;

	function->ptx = ptx;
	for (uint32_t i = 0; i < ptx->n_params; i++)
		ptx->params[i].index = place(&function->memory, &ptx->params[i]);
	for (uint32_t i = 0; i < ptx->n_results; i++)
		ptx->results[i].index = place(&function->memory, &ptx->results[i]);
	for (uint32_t i = 0; i < ptx->n_variables; i++)
		ptx->variables[i]->index =
			place(ptx->variables[i]->space == ADSM_PTX_SHARED ? &machine->shared_size : &function->memory,
			      ptx->variables[i]);
	if (!ptx->has_body)
		return NULL;
	/* One more: where the end of the text is reached. */
	function->codes = calloc((size_t)ptx->n + 1, sizeof(*function->codes));
	if (!function->codes)
		abort();
	for (uint32_t i = 0; i < ptx->n && !error; i++)
		error = decode(&function->codes[i], &ptx->instructions[i], machine->error, sizeof(machine->error));
	function->codes[ptx->n].in = ptx->n ? &ptx->instructions[ptx->n - 1] : NULL;
	return error;
}

static char *make_variable(const struct adsm_ptx_variable *variable)
{
	const uint32_t size = adsm_ptx_size(variable->type);
	char *memory = aligned_alloc(16, ((size_t)variable->size + 16) & ~(size_t)15);

	if (!memory)
		abort();
	memset(memory, 0, variable->size);
	for (size_t i = 0; i < variable->n_init; i++)
		memcpy(memory + i * size, &variable->init[i].bits, size);
	return memory;
}

const char *machine_create(struct machine *machine, const struct adsm_ptx_module *module)
{
	const char *error = NULL;
	uint32_t dynamic = 0;

	memset(machine, 0, sizeof(*machine));
	machine->module = module;
	machine->functions = calloc(module->n_functions + 1, sizeof(*machine->functions));
	machine->variables = calloc(module->n_variables + 1, sizeof(*machine->variables));
	if (!machine->functions || !machine->variables)
		abort();
	for (uint32_t i = 0; i < module->n_variables; i++) {
		struct adsm_ptx_variable *variable = module->variables[i];

		if (variable->space == ADSM_PTX_SHARED) {
			dynamic |= variable->is_extern;
			variable->index = place(&machine->shared_size, variable);
			continue;
		}
		machine->variables[i] = make_variable(variable);
		machine_allow(machine, machine->variables[i], variable->size);
	}
	for (uint32_t i = 0; i < module->n_functions && !error; i++) {
		module->functions[i]->index = i;
		error = prepare(machine, &machine->functions[i], module->functions[i]);
	}
	/* Memory that launches add is after all other shared memory. */
	machine->shared_size = (machine->shared_size + 127) & ~127u;
	for (uint32_t i = 0; dynamic && i < module->n_variables; i++)
		if (module->variables[i]->space == ADSM_PTX_SHARED && module->variables[i]->is_extern)
			module->variables[i]->index = machine->shared_size;
	if (error)
		machine_destroy(machine);
	return error;
}

void machine_destroy(struct machine *machine)
{
	for (uint32_t i = 0; i < machine->module->n_variables; i++)
		free(machine->variables[i]);
	for (uint32_t i = 0; i < machine->module->n_functions; i++)
		free(machine->functions[i].codes);
	free(machine->variables);
	free(machine->functions);
}

char *machine_variable(struct machine *machine, const char *name, uint64_t *ret_size)
{
	for (uint32_t i = 0; i < machine->module->n_variables; i++) {
		if (strcmp(machine->module->variables[i]->name, name) != 0)
			continue;
		*ret_size = machine->module->variables[i]->size;
		return machine->variables[i];
	}
	return NULL;
}

void machine_allow(struct machine *machine, const void *start, uint64_t size)
{
	if (machine->n_ranges == MOST_RANGES)
		abort();
	machine->ranges[machine->n_ranges++] = (struct range){ start, size };
}
