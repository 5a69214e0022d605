/* SPDX-License-Identifier: MIT */
/*
 * machine.h - a simple interpreter of PTX: what kernels compute, as the PTX ISA manual says it.
 *
 * lib/ptx parses the text. Everything else is written again, one instruction of one thread at a time, and is as simple
 * as possible. It knows the instructions that the generator uses, and reports any other one. It also reports accesses
 * outside of the memory that a thread may access, and misaligned ones. It reports threads that wait for ever, and lanes
 * that take part in an exchange without all lanes of their mask.
 */
#pragma once

#include "ptx/ptx.h"

#include <setjmp.h>

struct thread;
struct code;
typedef void operation(struct thread *thread, const struct code *code);

/* X(name): the modifiers of instructions that change what they do, or that may be ignored. */
#define MODIFIERS(X) \
	X(lo) X(hi) X(wide) X(sat) X(ftz) X(rn) X(rz) X(rm) X(rp) X(rni) X(rzi) X(rmi) X(rpi) X(NaN) X(cc) X(clamp) \
	X(wrap) \
	X(shiftamt) X(l) X(f4e) X(b4e) X(rc8) X(ecl) X(ecr) X(rc16) X(eq) X(ne) X(lt) X(le) X(gt) X(ge) X(ls) X(hs) \
	X(equ) X(neu) X(ltu) X(leu) X(gtu) X(num) X(nan) X(and) X(or) X(xor) X(add) X(min) X(max) X(inc) X(dec) \
	X(exch) X(cas) X(popc) X(sync) X(red) X(warp) X(up) X(down) X(bfly) X(idx) X(any) X(all) X(ballot) X(to)

enum {
#define MODIFIER(name) MODIFIER_##name,
	MODIFIERS(MODIFIER)
#undef MODIFIER
};

/* Has an instruction a modifier? */
#define HAS(code, name) ((code)->modifiers >> MODIFIER_##name & 1)

/* An instruction, decoded. */
struct code {
	const struct adsm_ptx_instruction *in;
	operation *run;
	enum adsm_ptx_type type;	/* the last of its types */
	uint64_t modifiers;		/* bits */
};

struct function {
	const struct adsm_ptx_function *ptx;
	struct code *codes;
	uint32_t memory;		/* bytes of parameters, results, and variables of a call */
};

/* A call that has not ended. */
struct frame {
	const struct function *function;
	uint32_t at;			/* the next instruction */
	uint64_t *registers;
	char *memory;
	struct frame *caller;
};

enum state { RUNS, WAITS_FOR_WARP, WAITS_AT_BARRIER, ENDED };

struct thread {
	struct block *block;
	struct frame *frame;
	enum state state;
	uint32_t number;		/* in its block */
	uint32_t index[3];
	uint32_t barrier, count;	/* if it waits at a barrier; count 0: of all threads */
	uint32_t mask;			/* if it waits for its warp */
	bool carry;
};

struct block {
	struct machine *machine;
	uint32_t index[3], grid[3], size[3], n;
	struct thread *threads;
	char *shared;
	uint32_t shared_size, dynamic;
	const char *parameters;		/* memory of the entry's */
};

struct range {
	const char *start;
	uint64_t size;
};

#define MOST_RANGES 64

struct machine {
	const struct adsm_ptx_module *module;
	struct function *functions;
	char **variables;		/* memory of the module's variables that are not shared */
	uint32_t shared_size;		/* of all shared variables */
	struct range ranges[MOST_RANGES];
	uint32_t n_ranges;
	uint64_t steps;			/* that may still be made */
	uint64_t order;			/* a state of random numbers; 0: the first thread that can run */
	jmp_buf failed;
	char error[512];
};

struct launch {
	const struct adsm_ptx_function *entry;
	uint32_t grid[3], block[3];
	const void *const *arguments;	/* the bytes of each parameter */
	uint32_t dynamic;		/* bytes of shared memory that the launch adds */
	uint64_t order;			/* 0: the first thread that can run; else a seed for random choices */
};

/* Prepare a module. Returns NULL, and the machine must be destroyed; or an error in English. */
const char *machine_create(struct machine *machine, const struct adsm_ptx_module *module);
void machine_destroy(struct machine *machine);
/* The memory of a variable of the module, or NULL. */
char *machine_variable(struct machine *machine, const char *name, uint64_t *ret_size);
/* Kernels may access these bytes. */
void machine_allow(struct machine *machine, const void *start, uint64_t size);
/* Run a kernel. Returns NULL or an error in English. */
const char *machine_run(struct machine *machine, const struct launch *launch);

/* End the run with an error. */
__attribute__((noreturn, format(printf, 3, 4)))
void machine_fail(const struct thread *thread, const struct code *code, const char *format, ...);

/* The function that does what an opcode says, or NULL. */
operation *machine_operation(const char *opcode);
operation *values_operation(const char *opcode);
operation *floats_operation(const char *opcode);
operation *exchange_operation(const char *opcode);

/* The value of an operand of a type, in the low bits; the others are 0. */
uint64_t machine_get(struct thread *thread, const struct adsm_ptx_operand *operand, enum adsm_ptx_type type);
/* Write a value. If the register is wider than the type, the value is extended by its sign or by zeros. */
void machine_put(struct thread *thread, const struct adsm_ptx_operand *operand, enum adsm_ptx_type type,
		 uint64_t value);
/* Operand @i, read as the instruction's last type; and a write of operand 0. */
uint64_t machine_in(struct thread *thread, const struct code *code, uint32_t i);
void machine_out(struct thread *thread, const struct code *code, uint64_t value);

static inline uint32_t bits_of(enum adsm_ptx_type type)
{
	return type == ADSM_PTX_pred ? 1 : 8 * adsm_ptx_size(type);
}

static inline uint64_t cut(uint64_t value, uint32_t bits)
{
	return bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

static inline int64_t extend(uint64_t value, uint32_t bits)
{
	return bits >= 64 ? (int64_t)value : (int64_t)(value << (64 - bits)) >> (64 - bits);
}

/* Threads that wait: at an exchange of their warp, at a barrier; a thread has ended. */
void exchange_try_warp(struct thread *thread);
void exchange_try_barriers(struct block *block);

/* f16 as a number, and the nearest f16. */
double half_value(uint64_t half);
uint64_t half_of(double value, bool to_zero);

/* Write the results of setp or set. */
void values_set(struct thread *thread, const struct code *code, bool holds);
