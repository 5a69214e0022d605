/* SPDX-License-Identifier: MIT */
/*
 * frame.c - see frame.h.
 *
 * A kernel without yields is one loop over the threads. Any other one has a function for each region, which runs it for
 * a set of threads, and a function that decides which region is next. There are two forms of this. In the plain form
 * all yields are one barrier of all threads: then all threads are at one place, or, after a branch, each is at a place
 * of its own. In the general form warps take turns (runtime_block.h).
 */
#include "frame.h"

#include "body.h"
#include "globals.h"
#include "yields.h"

#include <stdlib.h>
#include <string.h>

/*
 * Regions with more instructions than this, and with more than REGIONS_TIMES the kernel's own, are one function: the C
 * compiler would otherwise take minutes.
 */
#define REGIONS_MAX 8000
#define REGIONS_TIMES 4

static void write_simple(struct adsm_ptx_body *kernel)
{
	struct adsm_ptx_writer *writer = kernel->writer;
	const uint64_t local = kernel->frame->local_size;

	adsm_ptx_find_registers(kernel, NULL);
	adsm_ptx_find_indices(kernel, NULL);
	adsm_ptx_write_rows(kernel, "");
	adsm_ptx_write_params(kernel);
	adsm_ptx_write_threads(kernel, "");
	if (local)
		adsm_ptx_print(writer, "\t\tchar lm[%llu] __attribute__((aligned(%u)));\n", (unsigned long long)local,
			       kernel->frame->local_align);
	adsm_ptx_write_registers(kernel);
	adsm_ptx_write_locals(kernel);
	/* No thread waits at a barrier. */
	adsm_ptx_print(writer, "#undef PTX_AT\n#define PTX_AT(place) goto end\n"
		       "#undef PTX_ARRIVE\n#define PTX_ARRIVE(barrier, count) ((void)0)\n");
	adsm_ptx_write_blocks(kernel, NULL, 0, 0);
	adsm_ptx_write_rows_end(kernel, "");
	writer->linear = NULL;
}

/* Threads of a block, without warps: the next region of all of them, or each its own. @n: 0: one function has all. */
static void write_plain(struct adsm_ptx_body *kernel, uint32_t n)
{
	struct adsm_ptx_writer *writer = kernel->writer;

	if (!n) {
		adsm_ptx_print(writer, "static void K%u(const struct ptx_block *k, struct ptx_threads *s)\n{\n"
			       "\tdo {\n\t\tmemcpy(s->before, s->place, s->n * sizeof(*s->place));\n"
			       "\t\tK%u_0(k, s, 1);\n\t} while (ptx_place(s->place, s->n) != PTX_LEFT);\n}\n",
			       kernel->frame->index, kernel->frame->index);
		return;
	}
	adsm_ptx_print(writer, "static void K%u(const struct ptx_block *k, struct ptx_threads *s)\n{\n"
		       "\tint place = 0;\n\n\twhile (place != PTX_LEFT) {\n\t\tif (place < 0)\n"
		       "\t\t\tmemcpy(s->before, s->place, s->n * sizeof(*s->place));\n"
		       "\t\tswitch (place) {\n", kernel->frame->index);
	for (uint32_t i = 0; i < n; i++)
		adsm_ptx_print(writer, "\t\tcase %u: K%u_%u(k, s, 0); break;\n", i, kernel->frame->index, i);
	adsm_ptx_print(writer, "\t\tdefault:\n");
	for (uint32_t i = 0; i < n; i++)
		adsm_ptx_print(writer, "\t\t\tif (ptx_is_anywhere(s->before, s->n, %u)) K%u_%u(k, s, 1);\n", i,
			       kernel->frame->index, i);
	adsm_ptx_print(writer, "\t\t\tbreak;\n\t\t}\n\t\tplace = ptx_place(s->place, s->n);\n\t}\n}\n");
}

/* Threads of a block that are always at one place. u and v: registers that are the same in all, before and after. */
static void write_even(struct adsm_ptx_body *kernel, uint32_t n)
{
	struct adsm_ptx_writer *writer = kernel->writer;
	const uint32_t size = kernel->common_size ? kernel->common_size : 1;

	adsm_ptx_print(writer, "static void K%u(const struct ptx_block *k, struct ptx_threads *s)\n{\n"
		       "\tchar u[%u] __attribute__((aligned(16))), v[%u] __attribute__((aligned(16)));\n"
		       "\tint place = 0;\n\n\twhile (place != PTX_LEFT) {\n\t\tswitch (place) {\n",
		       kernel->frame->index, size, size);
	for (uint32_t i = 0; i < n; i++)
		adsm_ptx_print(writer, "\t\tcase %u: place = K%u_%u(k, s, u, v); break;\n", i, kernel->frame->index, i);
	adsm_ptx_print(writer, "\t\t}\n\t\tmemcpy(u, v, %u);\n\t}\n}\n", kernel->common_size);
}

/* A turn of a warp: the next region of all its lanes, or each its own. */
static void write_turn(struct adsm_ptx_body *kernel, uint32_t n)
{
	struct adsm_ptx_writer *writer = kernel->writer;

	if (!n) {
		adsm_ptx_print(writer, "static void K%u_turn(const struct ptx_block *k, struct ptx_threads *s, "
			       "uint32_t first, uint32_t lanes)\n{\n"
			       "\tmemcpy(s->before + first, s->place + first, lanes * sizeof(*s->place));\n"
			       "\tK%u_0(k, s, 1, first, lanes);\n}\n", kernel->frame->index, kernel->frame->index);
		return;
	}
	adsm_ptx_print(writer, "static void K%u_turn(const struct ptx_block *k, struct ptx_threads *s, uint32_t first, "
		       "uint32_t lanes)\n{\n\tswitch (ptx_warp_place(s, first, lanes)) {\n", kernel->frame->index);
	for (uint32_t i = 0; i < n; i++)
		adsm_ptx_print(writer, "\tcase %u: K%u_%u(k, s, 0, first, lanes); break;\n", i, kernel->frame->index,
			       i);
	adsm_ptx_print(writer, "\tdefault:\n"
		       "\t\tmemcpy(s->before + first, s->place + first, lanes * sizeof(*s->place));\n");
	for (uint32_t i = 0; i < n; i++)
		adsm_ptx_print(writer, "\t\tif (ptx_is_anywhere(s->before + first, lanes, %u)) "
			       "K%u_%u(k, s, 1, first, lanes);\n", i, kernel->frame->index, i);
	adsm_ptx_print(writer, "\t\tbreak;\n\t}\n}\n");
}

static void write_general(struct adsm_ptx_body *kernel, uint32_t n)
{
	struct adsm_ptx_writer *writer = kernel->writer;

	write_turn(kernel, n);
	adsm_ptx_print(writer, "static const struct ptx_yield K%u_yields[] = {\n\t{ 0 },\n", kernel->frame->index);
	for (uint32_t i = 1; i < kernel->regions.n; i++)
		adsm_ptx_write_yield(writer, kernel->regions.regions[i].yield);
	adsm_ptx_print(writer, "};\nstatic int K%u(const struct ptx_block *k, struct ptx_threads *s)\n{\n"
		       "\treturn ptx_run(k, s, K%u_yields, K%u_turn);\n}\n", kernel->frame->index, kernel->frame->index,
		       kernel->frame->index);
}

/* Where each kept register, and local memory, is in the state of a block's threads. */
static void lay_out(struct adsm_ptx_body *kernel)
{
	uint32_t offset = 0;

	kernel->common_size = 0;
	for (uint32_t size = 8; size; size /= 2) {
		for (uint32_t reg = 0; reg < kernel->function->n_registers; reg++) {
			uint32_t bytes = adsm_ptx_size(kernel->function->registers[reg].type);

			/* An 8-bit register is kept as its C type, of 16 bits. A predicate is a byte. */
			if (kernel->function->registers[reg].type == ADSM_PTX_pred)
				bytes = 1;
			else if (bytes == 1)
				bytes = 2;
			if (!adsm_ptx_bit(kernel->regions.kept, reg) || bytes != size)
				continue;
			if (kernel->even && !adsm_ptx_bit(kernel->divergence.registers, reg)) {
				kernel->offsets[reg] = kernel->common_size;
				kernel->common_size += bytes;
			} else {
				kernel->offsets[reg] = offset;
				offset += bytes;
			}
		}
	}
	kernel->local_offset = (offset + kernel->frame->local_align - 1) & ~(kernel->frame->local_align - 1);
	kernel->state_size = kernel->local_offset + kernel->frame->local_size;
}

/* The call that begins a block: k, s, symbols and params are expressions for their addresses. */
static void write_begin(struct adsm_ptx_body *kernel, const char *k, const char *s, const char *symbols,
			const char *params)
{
	struct adsm_ptx_writer *writer = kernel->writer;
	const struct adsm_ptx_frame *frame = kernel->frame;

	adsm_ptx_print(writer, "\tptx_begin(%s, %s, \"%s\", block, args, %llu, %u, %s, %llu, %s);\n", k, s,
		       frame->symbol, (unsigned long long)frame->shared_size, frame->align,
		       frame->dynamic ? "ptx_dynamic(args, PTX_PARAMS)" : "0", (unsigned long long)kernel->state_size,
		       kernel->matrices ? "PTX_MATRICES" : kernel->general ? "PTX_GENERAL" :
		       kernel->even ? "PTX_EVEN" : "PTX_PLAIN");
	if (frame->n_symbols)
		adsm_ptx_print(writer, "\t(%s)->symbols = %s;\n", k, symbols);
	for (uint32_t i = 0; i < frame->n_symbols; i++)
		adsm_ptx_print(writer, "\t(%s)[%u] = ptx_pointer(args, %u);\n", symbols, frame->symbols[i]->symbol,
			       kernel->function->n_params + frame->dynamic + i);
	if (kernel->has_lasting)
		adsm_ptx_print(writer, "\t(%s)->params = %s;\n", k, params);
	for (uint32_t i = 0; i < kernel->function->n_params; i++) {
		if (adsm_ptx_bit(kernel->lasting, i))
			adsm_ptx_print(writer, "\tmemcpy((%s)->a%u, args[%u], %llu);\n", params, i, i,
				       (unsigned long long)kernel->function->params[i].size);
	}
}

/* The declaration of the copies of parameters that are as old as the block. */
static void write_copies(const struct adsm_ptx_body *kernel)
{
	if (kernel->has_lasting)
		adsm_ptx_print(kernel->writer, "\tstruct K%u_params params;\n", kernel->frame->index);
}

/* The size of the table of variables. */
static uint32_t symbols_size(const struct adsm_ptx_body *kernel)
{
	const struct adsm_ptx_frame *frame = kernel->frame;

	return frame->n_symbols ? frame->symbols[frame->n_symbols - 1]->symbol + 1 : 1;
}

static void write_entry(struct adsm_ptx_body *kernel)
{
	struct adsm_ptx_writer *writer = kernel->writer;
	const uint32_t index = kernel->frame->index;
	const bool yields = kernel->regions.n > 1;

	adsm_ptx_print(writer, "__attribute__((visibility(\"default\")))\n"
		       "void adsm_run_%s(const struct adsm_kernel_block *block, const void *const *args)\n{\n"
		       "\tstruct ptx_block k;\n%s\tchar *symbols[%u] __attribute__((unused));\n",
		       kernel->frame->symbol,
		       yields ? "\tstruct ptx_threads s;\n" : "", symbols_size(kernel));
	write_copies(kernel);
	write_begin(kernel, "&k", yields ? "&s" : "0", "symbols", "&params");
	adsm_ptx_print(writer, yields ? "\tK%u(&k, &s);\n" : "\tK%u(&k);\n", index);
	adsm_ptx_print(writer, "\tptx_end(&k);\n}\n");
}

/* A kernel whose blocks can be left: adsm_step_<symbol>() keeps the block's state, and adsm_run_<symbol>() calls it. */
static void write_steps(struct adsm_ptx_body *kernel)
{
	struct adsm_ptx_writer *writer = kernel->writer;
	const char *symbol = kernel->frame->symbol;
	const uint32_t index = kernel->frame->index;

	adsm_ptx_print(writer, "struct K%u_state {\n\tstruct ptx_block k;\n\tstruct ptx_threads s;\n"
		       "\tchar *symbols[%u];\n", index, symbols_size(kernel));
	write_copies(kernel);
	adsm_ptx_print(writer, "};\n__attribute__((visibility(\"default\")))\n"
		       "int adsm_step_%s(const struct adsm_kernel_block *block, const void *const *args, void **state, "
		       "int open)\n{\n\tstruct K%u_state *own = *state;\n\tint why;\n\n"
		       "\tif (own) {\n\t\town->k.block = block;\n\t\town->k.args = args;\n"
		       "\t\tptx_resume(&own->s, K%u_yields, open);\n\t\tgoto run;\n\t}\n"
		       "\town = *state = ptx_state(sizeof(*own), _Alignof(struct K%u_state));\n", symbol, index,
		       index, index);
	write_begin(kernel, "&own->k", "&own->s", "own->symbols", "&own->params");
	adsm_ptx_print(writer, "run:\n\twhy = K%u(&own->k, &own->s);\n\tif (why)\n\t\treturn why;\n"
		       "\tptx_end(&own->k);\n\tfree(own);\n\t*state = 0;\n\treturn PTX_ENDED;\n}\n"
		       "__attribute__((visibility(\"default\")))\n"
		       "void adsm_run_%s(const struct adsm_kernel_block *block, const void *const *args)\n{\n"
		       "\tptx_run_steps(adsm_step_%s, block, args, \"%s\");\n}\n", index, symbol, symbol, symbol);
}

/* Are all yields the one barrier of all threads? */
static bool is_plain(const struct adsm_ptx_body *kernel)
{
	for (uint32_t i = 1; i < kernel->regions.n; i++) {
		if (!adsm_ptx_is_plain_barrier(kernel->regions.regions[i].yield))
			return false;
	}
	for (uint32_t i = 0; i < kernel->function->n; i++) {
		if (adsm_ptx_arrives(&kernel->function->instructions[i]))
			return false;
	}
	return true;
}

/* Can a block of the kernel be left? */
static bool suspends(struct adsm_ptx_writer *writer, const struct adsm_ptx_regions *regions)
{
	for (uint32_t i = 1; i < regions->n; i++) {
		writer->suspends |= adsm_ptx_suspends(regions->regions[i].yield);
		writer->syncs_grid |= adsm_ptx_is_grid_sync(regions->regions[i].yield);
	}
	return writer->suspends;
}

/* May a thread end in a function that it calls? */
static bool may_end_in_call(const struct adsm_ptx_body *kernel)
{
	for (uint32_t i = 0; kernel->writer->functions_exit && i < kernel->function->n; i++) {
		if (adsm_ptx_is(&kernel->function->instructions[i], "call"))
			return true;
	}
	return false;
}

static void write_kernel(struct adsm_ptx_body *kernel)
{
	struct adsm_ptx_writer *writer = kernel->writer;
	uint32_t n = kernel->regions.n;
	bool is_one;

	adsm_ptx_print(writer, "#undef PTX_PARAMS\n#define PTX_PARAMS %u\n", kernel->function->n_params);
	writer->suspends = writer->syncs_grid = false;
	if (n == 1) {
		write_simple(kernel);
		write_entry(kernel);
		return;
	}
	if (n >= 0xffff)
		adsm_ptx_refuse(writer, "it has %u barriers and exchanges of values between threads, and 65534 is the "
				"limit", n - 1);
	/* In the general form all barriers are known to the code that checks them. */
	kernel->general = writer->checks || !is_plain(kernel);
	is_one = kernel->regions.size > REGIONS_MAX &&
		 kernel->regions.size > (uint64_t)REGIONS_TIMES * kernel->function->n;
	kernel->even = !kernel->general && kernel->divergence.is_even && !is_one && !may_end_in_call(kernel);
	for (uint32_t i = 1; i < n; i++)
		kernel->matrices |= adsm_ptx_is_matrix_yield(kernel->regions.regions[i].yield);
	lay_out(kernel);
	adsm_ptx_write_lasting(kernel);
	if (is_one) {
		/* One function for all regions. All threads start at region 0, and every turn looks at their places. */
		adsm_ptx_write_region(kernel, NULL, 0);
		n = 0;
	}
	for (uint32_t i = 0; i < n; i++)
		adsm_ptx_write_region(kernel, &kernel->regions.regions[i], i);
	if (kernel->general)
		write_general(kernel, n);
	else if (kernel->even)
		write_even(kernel, n);
	else
		write_plain(kernel, n);
	if (suspends(writer, &kernel->regions))
		write_steps(kernel);
	else
		write_entry(kernel);
}

static void write_head(struct adsm_ptx_writer *writer, const struct adsm_ptx_function *function)
{
	adsm_ptx_print(writer, "static %s f_%u(const struct ptx_block *k, uint32_t t, uint32_t tx, uint32_t ty, "
		       "uint32_t tz", writer->functions_exit ? "int" : "void", function->index);
	for (uint32_t i = 0; i < function->n_results; i++)
		adsm_ptx_print(writer, ", char *o%u", i);
	for (uint32_t i = 0; i < function->n_params; i++)
		adsm_ptx_print(writer, ", char *a%u", i);
	adsm_ptx_print(writer, ")");
}

void adsm_ptx_write_prototype(struct adsm_ptx_writer *writer, const struct adsm_ptx_function *function)
{
	if (!function->has_body || function->is_entry)
		return;
	write_head(writer, function);
	adsm_ptx_print(writer, " __attribute__((unused));\n");
}

void adsm_ptx_write_refused(struct adsm_ptx_writer *writer, const struct adsm_ptx_function *function)
{
	write_head(writer, function);
	adsm_ptx_print(writer, "\n{\n\t__builtin_trap();\n}\n");
}

static _Noreturn void refuse_barrier(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	writer->instruction = instruction;
	adsm_ptx_refuse(writer, "a function that is not inlined must not wait for other threads, nor arrive at a "
			"barrier; __forceinline__ makes it a part of its callers");
}

static void write_device_function(struct adsm_ptx_body *kernel)
{
	struct adsm_ptx_writer *writer = kernel->writer;
	const struct adsm_ptx_function *function = kernel->function;
	const uint64_t local = kernel->frame->local_size;

	for (uint32_t i = 0; i < kernel->blocks.n; i++) {
		if (kernel->blocks.blocks[i].reached && kernel->blocks.blocks[i].end == ADSM_PTX_YIELD &&
		    !adsm_ptx_is_spin(kernel->blocks.blocks[i].by) && !adsm_ptx_is_step(kernel->blocks.blocks[i].by))
			refuse_barrier(writer, kernel->blocks.blocks[i].by);
	}
	for (uint32_t i = 0; i < function->n; i++) {
		if (adsm_ptx_arrives(&function->instructions[i]))
			refuse_barrier(writer, &function->instructions[i]);
	}
	adsm_ptx_find_registers(kernel, NULL);
	for (uint32_t i = 0; i < function->n_params + function->n_results; i++) {
		const struct adsm_ptx_variable *variable = i < function->n_params ? &function->params[i] :
							   &function->results[i - function->n_params];

		if (variable->space == ADSM_PTX_REG)
			adsm_ptx_set_bit(kernel->declared, variable->reg);
	}
	write_head(writer, function);
	adsm_ptx_print(writer, "\n{\n\tPTX_ENTER\n");
	adsm_ptx_write_pointers(writer);
	if (local)
		adsm_ptx_print(writer, "\tchar lm[%llu] __attribute__((aligned(%u)));\n", (unsigned long long)local,
			       kernel->frame->local_align);
	adsm_ptx_write_registers(kernel);
	adsm_ptx_write_locals(kernel);
	for (uint32_t i = 0; i < function->n_params; i++) {
		if (function->params[i].space == ADSM_PTX_REG)
			adsm_ptx_print(writer, "\t\tr%u = *(const %s *)a%u;\n", function->params[i].reg,
				       adsm_ptx_c_type(function->params[i].type), i);
	}
	adsm_ptx_print(writer, "#undef PTX_AT\n#define PTX_AT(place) return%s\n", writer->functions_exit ? " 1" : "");
	adsm_ptx_write_blocks(kernel, NULL, 0, 0);
	adsm_ptx_print(writer, "}\n");
}

/* Call write() with what is known of the function, and free that, also if an instruction is refused. */
static void with_kernel(struct adsm_ptx_writer *writer, const struct adsm_ptx_frame *frame,
			void (*write)(struct adsm_ptx_body *kernel))
{
	const struct adsm_ptx_function *function = writer->function;
	struct adsm_ptx_body kernel = { .writer = writer, .frame = frame, .function = function };
	jmp_buf outer;
	int refused;

	/* What is allocated here is freed, also if an instruction is refused. */
	memcpy(outer, writer->refused, sizeof(outer));
	writer->instruction = NULL;
	kernel.offsets = calloc((size_t)function->n_registers + 1, sizeof(*kernel.offsets));
	if (!kernel.offsets || adsm_ptx_blocks_find(function, writer->lockstep, &kernel.blocks)) {
		free(kernel.offsets);
		adsm_ptx_refuse(writer, "there is no memory");
	}
	kernel.lasting = calloc(function->n_params / 64 + 1, sizeof(*kernel.lasting));
	kernel.declared = calloc(kernel.blocks.words, 3 * sizeof(*kernel.declared));
	kernel.assigned = kernel.declared + kernel.blocks.words;
	kernel.common = kernel.assigned + kernel.blocks.words;
	refused = setjmp(writer->refused);
	if (!refused) {
		if (!kernel.declared || !kernel.lasting || adsm_ptx_regions_find(&kernel.blocks, &kernel.regions) ||
		    (function->is_entry && adsm_ptx_divergence_find(&kernel.blocks, &kernel.divergence)))
			adsm_ptx_refuse(writer, "there is no memory");
		write(&kernel);
	}
	memcpy(writer->refused, outer, sizeof(outer));
	free(kernel.offsets);
	free(kernel.declared);
	free(kernel.lasting);
	writer->linear = NULL;
	adsm_ptx_linear_destroy(&kernel.linear);
	adsm_ptx_divergence_destroy(&kernel.divergence);
	adsm_ptx_regions_destroy(&kernel.regions);
	adsm_ptx_blocks_destroy(&kernel.blocks);
	if (refused)
		longjmp(writer->refused, 1);
}

void adsm_ptx_write_kernel(struct adsm_ptx_writer *writer, const struct adsm_ptx_frame *frame)
{
	with_kernel(writer, frame, write_kernel);
}

void adsm_ptx_write_function(struct adsm_ptx_writer *writer, const struct adsm_ptx_frame *frame)
{
	with_kernel(writer, frame, write_device_function);
}
