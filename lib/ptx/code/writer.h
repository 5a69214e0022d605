/* SPDX-License-Identifier: MIT */
/*
 * writer.h - the C text that is made of PTX. Instructions become statements (value.c, arithmetic.c, ...); frame.c puts
 * functions, loops over threads and the text that surrounds them around the statements.
 *
 * In the text of an instruction these C names may be used:
 *	r<index>	a register. Its C type: adsm_ptx_c_register()
 *	tx ty tz	the thread's index in its block, uint32_t; nx ny nz: the threads of the block
 *	bx by bz	the block's index in the grid, uint32_t; gx gy gz: the blocks of the grid
 *	t		the thread's linear index in its block, x fastest, uint32_t; T: the same, size_t
 *	sh		char *, the block's shared memory. Shared addresses are offsets from it
 *	lm		char *, the thread's local memory. Local addresses are real addresses
 *	k		const struct ptx_block *: what the rest of the block needs (runtime.h)
 *	a<index>	const char *, the bytes of parameter <index> of an entry or a function
 *	q<index>	char[], the bytes of variable <index> of the function, if its space is .param
 *	g<index>	char *, the bytes of module variable <index>, if its space is .global or .const
 *	cc		uint32_t, the carry flag
 *	o<index>	char *, the bytes of result <index> of a function
 *	f_<index>	the C function of module function <index>. Its arguments: k, t, tx, ty, tz, then the address of
 *			each result, then that of each parameter, all of type char *
 */
#pragma once

#include "ptx/ptx.h"

#include <setjmp.h>

/* A C text that grows. NUL-terminated. */
struct adsm_ptx_text {
	char *bytes;
	size_t size, room;
};

struct adsm_ptx_writer {
	struct adsm_ptx_text text;	/* what is written to */
	const struct adsm_ptx_module *module;
	const struct adsm_ptx_function *function;
	const struct adsm_ptx_instruction *instruction;	/* which is translated now */
	/* Where shared variables lie. Set before the instructions are translated. */
	uint64_t (*shared_offset)(const struct adsm_ptx_writer *writer, const struct adsm_ptx_variable *variable);
	uint64_t (*local_offset)(const struct adsm_ptx_writer *writer, const struct adsm_ptx_variable *variable);
	struct adsm_ptx_linear *linear;	/* of the loop over a row that is written; NULL: it has none */
	/* Some function that is not a kernel has exit: functions return whether the thread has ended. */
	bool functions_exit;
	const bool *names_variable;	/* by module variable: does the function name it? */
	/* Which lines the C text is of, for debuggers and for messages about crashes. Set before translation. */
	const char *ptx_name;		/* the file of the PTX */
	bool source_lines;		/* lines of the source by .loc, if the PTX has some; else those of the PTX */
	/* The last line that was written; line_file NULL: the lines are those of the surroundings. */
	const char *line_file;
	int line;
	bool lockstep;			/* of warps: see blocks.h */
	/* Code that checks accesses (check.h). */
	bool checks;
	struct adsm_ptx_check *check;	/* of the current kernel; else NULL */
	/* What the text needs of its surroundings. Set by the instructions. */
	bool uses_carry, uses_shared, uses_local;
	/* Set by a kernel: its blocks can be left; it calls grid.sync(). */
	bool suspends, syncs_grid;
	/* What cannot be translated ends the function's translation: adsm_ptx_refuse() jumps here. */
	jmp_buf refused;
	struct adsm_ptx_error *error;
};

/* What surrounds the statements of a function. */
struct adsm_ptx_frame {
	const char *symbol;		/* of the kernel: adsm_run_<symbol> */
	uint32_t index;			/* of the function, for the names in C */
	uint64_t shared_size;		/* bytes that a block needs, without what the launch adds */
	uint32_t dynamic;		/* 1: memory that the launch adds is the argument after the last parameter */
	uint64_t local_size;		/* bytes that a thread needs */
	uint32_t local_align;		/* of these bytes, at least 16 */
	uint32_t align;			/* of a block's memory: what is shared, what the launch adds, what is kept */
	/* Variables in device memory: their addresses are the last arguments. */
	uint32_t n_symbols;
	const struct adsm_ptx_variable **symbols;
};

/* Append to the text, as printf() does. If there is no memory, this refuses. */
void adsm_ptx_print(struct adsm_ptx_writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The current instruction, or the function if there is none, cannot be translated: the sentence says why. */
_Noreturn void adsm_ptx_refuse(struct adsm_ptx_writer *writer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The C type of a value of a type ("uint32_t", "float"), and of a register of a type. Predicates: uint8_t, 0 or 1. */
const char *adsm_ptx_c_type(enum adsm_ptx_type type);
const char *adsm_ptx_c_register(enum adsm_ptx_type type);

/* Append the expression of a source operand, as a value of type @type. */
void adsm_ptx_read(struct adsm_ptx_writer *writer, const struct adsm_ptx_operand *operand, enum adsm_ptx_type type);
/*
 * Append an assignment to a destination operand, up to the value: begin, the value of C type @type, end. A register
 * that is wider than the value gets it extended by its sign or by zeros.
 */
void adsm_ptx_begin(struct adsm_ptx_writer *writer, const struct adsm_ptx_operand *operand, enum adsm_ptx_type type);
void adsm_ptx_end(struct adsm_ptx_writer *writer, const struct adsm_ptx_operand *operand, enum adsm_ptx_type type);
/* Append the address of a memory operand in a space, as an expression of type char *. */
void adsm_ptx_address(struct adsm_ptx_writer *writer, const struct adsm_ptx_operand *operand,
		      enum adsm_ptx_space space);

/* Append a line that says where the text after it is from: an instruction; what surrounds instructions. (lines.c) */
void adsm_ptx_write_line(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction);
void adsm_ptx_write_no_line(struct adsm_ptx_writer *writer);
/* Append a C string that names the place of an instruction: "k.cu:11 (line 47 of the PTX)". */
void adsm_ptx_print_place(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction);

/*
 * Append the statements of an instruction, without its guard. Control flow (bra, brx, ret, exit) and instructions that
 * exchange values between threads (bar, shfl, vote, match, redux, activemask) are not among them: frame.c has them.
 */
void adsm_ptx_statement(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction);
