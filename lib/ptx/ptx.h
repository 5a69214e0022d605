/* SPDX-License-Identifier: MIT */
/*
 * ptx.h - PTX, the assembly language of CUDA devices, as a tree: modules, variables, functions, instructions.
 *
 * adsm_ptx_parse() makes the tree of a text. Everything in it belongs to the module, and lives until
 * adsm_ptx_destroy(). Names are unique pointers: within one module, two equal names are the same pointer.
 * The language is that of the PTX ISA manual, version 7.5, for sm_80, and what clang up to version 19 writes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(name, bytes): the fundamental types. A predicate has no size in memory. */
#define ADSM_PTX_TYPES(X) \
	X(pred, 0) \
	X(b8, 1) X(u8, 1) X(s8, 1) \
	X(b16, 2) X(u16, 2) X(s16, 2) X(f16, 2) X(bf16, 2) \
	X(b32, 4) X(u32, 4) X(s32, 4) X(f32, 4) X(f16x2, 4) X(bf16x2, 4) X(tf32, 4) \
	X(b64, 8) X(u64, 8) X(s64, 8) X(f64, 8) \
	X(b128, 16) \
	X(texref, 8) X(samplerref, 8) X(surfref, 8)

enum adsm_ptx_type {
	ADSM_PTX_NO_TYPE,
#define ADSM_PTX_TYPE_(name, bytes) ADSM_PTX_##name,
	ADSM_PTX_TYPES(ADSM_PTX_TYPE_)
#undef ADSM_PTX_TYPE_
	ADSM_PTX_N_TYPES
};

enum adsm_ptx_space {
	ADSM_PTX_GENERIC,		/* of an instruction: no state space is named */
	ADSM_PTX_REG,
	ADSM_PTX_GLOBAL,
	ADSM_PTX_SHARED,
	ADSM_PTX_LOCAL,
	ADSM_PTX_CONST,
	ADSM_PTX_PARAM,
};

/* X(name): the special registers. .x, .y, .z and .w of a vector are its components 0 to 3. */
#define ADSM_PTX_SPECIALS(X) \
	X(tid) X(ntid) X(ctaid) X(nctaid) X(laneid) X(warpid) X(nwarpid) X(smid) X(nsmid) X(gridid) \
	X(lanemask_eq) X(lanemask_le) X(lanemask_lt) X(lanemask_ge) X(lanemask_gt) \
	X(clock) X(clock_hi) X(clock64) X(globaltimer) X(globaltimer_lo) X(globaltimer_hi) \
	X(dynamic_smem_size) X(total_smem_size) X(warp_size)

enum adsm_ptx_special {
#define ADSM_PTX_SPECIAL_(name) ADSM_PTX_SPECIAL_##name,
	ADSM_PTX_SPECIALS(ADSM_PTX_SPECIAL_)
#undef ADSM_PTX_SPECIAL_
	ADSM_PTX_N_SPECIALS
};

/* One element of an initialiser. */
struct adsm_ptx_init {
	uint64_t bits;			/* of the element; of an address: the addend */
	const char *symbol;		/* NULL, or the address of this variable or function */
	bool generic;			/* the symbol's address is a generic one */
	/* mask(address): the byte of the address that the element gets, in bits; 0: all of it. */
	uint64_t mask;
};

struct adsm_ptx_variable {
	const char *name;
	enum adsm_ptx_space space;
	enum adsm_ptx_type type;
	uint32_t vector;		/* 1, 2 or 4 elements */
	uint32_t align;			/* bytes */
	uint64_t size;			/* bytes; 0: an array without a size */
	bool is_array, is_extern, is_visible, is_weak, is_common, is_managed;
	/* A parameter of an entry that is a pointer (.ptr): the space of its target, and its alignment. */
	bool is_pointer;
	enum adsm_ptx_space target;
	uint32_t target_align;
	size_t n_init;			/* the rest of the variable is 0 */
	struct adsm_ptx_init *init;	/* elements of type @type */
	uint32_t reg;			/* a parameter of space REG: its register */
	/* A variable of the module: its index among those in device memory, or ADSM_PTX_NO_SYMBOL (translate.h). */
	uint32_t symbol;
	uint32_t index;			/* for the names of the C text: see writer.h, adsm_ptx_translate() sets it */
	int line;
};

struct adsm_ptx_register {
	const char *name;
	enum adsm_ptx_type type;
};

enum adsm_ptx_kind {
	ADSM_PTX_OP_NONE,
	ADSM_PTX_OP_REGISTER,		/* reg; negated: !p */
	ADSM_PTX_OP_SINK,		/* _, a destination that is not needed */
	ADSM_PTX_OP_INTEGER,		/* bits: two's complement */
	ADSM_PTX_OP_F32,		/* bits: 0f… */
	ADSM_PTX_OP_F64,		/* bits: 0d…, and decimal numbers with a point or an exponent */
	ADSM_PTX_OP_SPECIAL,		/* special, component; ADSM_PTX_N_SPECIALS: one that is not supported */
	ADSM_PTX_OP_VARIABLE,		/* the address of variable, plus offset */
	ADSM_PTX_OP_FUNCTION,		/* function */
	ADSM_PTX_OP_LABEL,		/* label: an index of an instruction */
	ADSM_PTX_OP_MEMORY,		/* [base + offset] */
	ADSM_PTX_OP_VECTOR,		/* {elements} */
	ADSM_PTX_OP_LIST,		/* (elements), of a call */
	ADSM_PTX_OP_PAIR,		/* d|p: two elements */
};

/* Some fields share their memory: which are valid depends on the kind. */
struct adsm_ptx_operand {
	enum adsm_ptx_kind kind : 8;
	bool negated;			/* a predicate: !p */
	uint8_t component;
	uint8_t n;			/* elements; 0: the kind has none */
	union {
		uint32_t reg;		/* an index of the function's registers */
		enum adsm_ptx_special special;
		uint32_t label;
	};
	union {
		uint64_t bits;
		int64_t offset;		/* bytes */
	};
	union {
		const struct adsm_ptx_variable *variable;
		const struct adsm_ptx_function *function;
		/*
		 * Memory: elements[0] is the base (REGISTER, VARIABLE or INTEGER). Of a texture: elements[1] the
		 * coordinates, elements[2] the sampler.
		 */
		struct adsm_ptx_operand *elements;
	};
};

#define ADSM_PTX_MODIFIERS 12		/* at most */
#define ADSM_PTX_OPERANDS 8

struct adsm_ptx_instruction {
	const char *opcode;		/* "add" */
	/* What follows the opcode, without dots: "rn", "f32"; shared::cta is "shared". Types are here, too. */
	uint32_t n_modifiers;
	const char **modifiers;
	/* The types among the modifiers in their order. The type of a simple instruction is the last. */
	uint32_t n_types;
	enum adsm_ptx_type types[4];
	enum adsm_ptx_space space;	/* of a memory instruction, and cvta */
	uint32_t vector;		/* 1, 2, 4 or 8 */
	bool reads_changes;		/* a call through a register: as a function that it may enter (inline.c) */
	struct adsm_ptx_operand guard;	/* @p or @!p: a REGISTER, perhaps negated; NONE: always */
	uint32_t n;
	/*
	 * All of ADSM_PTX_OPERANDS can be read: those after the n-th have the kind NONE. A call always has three: the
	 * list of results, the callee (FUNCTION or REGISTER), the list of arguments. A list may be empty.
	 */
	struct adsm_ptx_operand *operands;
	/* brx.idx: the labels; a call through a register: the functions that .calltargets names, or none. */
	uint32_t n_targets;
	struct adsm_ptx_operand *targets;
	const struct adsm_ptx_function *prototype;	/* of a call through a register, by .callprototype */
	int line;			/* in the PTX */
	int file, source_line;		/* by .loc; 0: not known */
};

struct adsm_ptx_function {
	const char *name;
	bool is_entry, is_extern, is_visible, is_weak, is_prototype;
	bool has_body;
	bool no_return;			/* .noreturn */
	bool left_out;			/* no kernel that is translated needs it (keep.h) */
	bool has_address;		/* an initialiser or an instruction takes its address */
	bool reads_changes;		/* it reads memory that other threads may write meanwhile (blocks.h) */
	const char *symbol;		/* of an entry: adsm_run_<symbol> in the C text; NULL: its name */
	uint32_t n_results, n_params;
	struct adsm_ptx_variable *results, *params;
	uint32_t n_registers;
	struct adsm_ptx_register *registers;
	uint32_t n_variables;		/* those of the body: .local, .shared, and .param of calls */
	struct adsm_ptx_variable **variables;
	uint32_t n;
	struct adsm_ptx_instruction *instructions;	/* a label is the index of one of them, or n */
	uint32_t max_threads[3];	/* .maxntid and .reqntid; 0: not said */
	bool fixed_threads;		/* .reqntid */
	uint32_t index;			/* among the functions of its module */
	int line;
};

struct adsm_ptx_module {
	uint32_t version;		/* 75 is 7.5 */
	const char *target;		/* "sm_80" */
	uint32_t n_variables;
	struct adsm_ptx_variable **variables;
	uint32_t n_functions;
	struct adsm_ptx_function **functions;	/* one for each name; a definition replaces a declaration */
	uint32_t n_files;
	const char **files;		/* by .file; index 0 is not used; entries may be NULL */
	struct adsm_ptx_arena *arena;
};

#define ADSM_PTX_TEXT 512

/* What is wrong, and where. */
struct adsm_ptx_error {
	int line;			/* in the PTX; 0: it is not about a line */
	char text[ADSM_PTX_TEXT];	/* a sentence without the place */
};

/*
 * Parse @size bytes of PTX. Returns 0; -ENOEXEC if it is not PTX that the library supports: ret_error says what and
 * where; -ENOMEM. The text is not needed afterwards.
 */
int adsm_ptx_parse(const char *text, size_t size, struct adsm_ptx_module **ret_module,
		   struct adsm_ptx_error *ret_error);
/* NULL: does nothing. */
void adsm_ptx_destroy(struct adsm_ptx_module *module);

/* Zeroed memory that lives as long as the module; NULL: there is none. */
void *adsm_ptx_alloc(struct adsm_ptx_module *module, size_t n, size_t size);

/* Has the instruction this modifier? */
bool adsm_ptx_has(const struct adsm_ptx_instruction *instruction, const char *modifier);
/* Is its opcode this one? */
bool adsm_ptx_is(const struct adsm_ptx_instruction *instruction, const char *opcode);
/* The last type of the instruction; ADSM_PTX_NO_TYPE. */
enum adsm_ptx_type adsm_ptx_type_of(const struct adsm_ptx_instruction *instruction);
uint32_t adsm_ptx_size(enum adsm_ptx_type type);
const char *adsm_ptx_type_name(enum adsm_ptx_type type);
static inline bool adsm_ptx_is_float(enum adsm_ptx_type type)
{
	return type == ADSM_PTX_f32 || type == ADSM_PTX_f64;
}
static inline bool adsm_ptx_is_signed(enum adsm_ptx_type type)
{
	return type == ADSM_PTX_s8 || type == ADSM_PTX_s16 || type == ADSM_PTX_s32 || type == ADSM_PTX_s64;
}

/*
 * The registers that an instruction reads and writes. Calls visit(arg, register, writes) for each. A guarded
 * instruction also reads what it writes: where the guard is false the old value stays.
 */
void adsm_ptx_each_register(const struct adsm_ptx_instruction *instruction,
			    void (*visit)(void *arg, uint32_t reg, bool writes), void *arg);
