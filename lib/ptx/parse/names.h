/* SPDX-License-Identifier: MIT */
/*
 * names.h - the names of a PTX text, each once, and what they mean in the current scope. Scope 0 is the module, scope 1
 * a function with its parameters, the others are { ... } in its body.
 */
#pragma once

#include "ptx/arena.h"
#include "ptx/ptx.h"

#define ADSM_PTX_SCOPES 64

enum adsm_ptx_meaning {
	ADSM_PTX_MEANS_REGISTER,
	ADSM_PTX_MEANS_VECTOR,		/* registers that follow each other */
	ADSM_PTX_MEANS_VARIABLE,
	ADSM_PTX_MEANS_FUNCTION,
	ADSM_PTX_MEANS_LABEL,
	ADSM_PTX_MEANS_TARGETS,		/* .branchtargets or .calltargets */
	ADSM_PTX_MEANS_PROTOTYPE,
};

/* Of .branchtargets and .calltargets. */
struct adsm_ptx_targets {
	uint32_t n;
	struct adsm_ptx_operand *list;
	bool of_call;
};

struct adsm_ptx_binding {
	struct adsm_ptx_binding *outer;	/* the same name in a scope around this one */
	struct adsm_ptx_binding *sibling;	/* another name of this scope */
	struct adsm_ptx_name *name;
	enum adsm_ptx_meaning meaning;
	uint32_t depth;
	int line;
	const struct adsm_ptx_binding *made_of;	/* the range that this name is one of; NULL */
	bool is_range;			/* name<n>: names 0 to n - 1 have this meaning */
	uint32_t n;			/* of a range; of a vector: its elements */
	union {
		uint32_t reg, label;
		enum adsm_ptx_type type;	/* of a range of registers */
		struct adsm_ptx_variable *variable;	/* of a range: what the others are made of */
		struct adsm_ptx_function *function;
		struct adsm_ptx_targets *targets;
	};
};

struct adsm_ptx_name {
	struct adsm_ptx_name *next;
	struct adsm_ptx_binding *binding, *range;	/* the innermost one, or NULL */
	uint32_t hash, length;
	enum adsm_ptx_type type;	/* of the word "f32" */
	enum adsm_ptx_space space;	/* of the word "global" */
	int special;			/* of the word "%tid"; -1: it is no special register */
	char text[];
};

struct adsm_ptx_names {
	struct adsm_ptx_arena *arena;
	struct adsm_ptx_name **buckets;
	size_t n, n_buckets;
	uint64_t seed;
	uint32_t depth;
	struct adsm_ptx_binding *scopes[ADSM_PTX_SCOPES];
};

/* Returns 0, -ENOMEM. finish(): also after init() has failed. */
int adsm_ptx_names_init(struct adsm_ptx_names *names, struct adsm_ptx_arena *arena);
void adsm_ptx_names_finish(struct adsm_ptx_names *names);

/* The name with this text, which is added if it is new; NULL: there is no memory. */
struct adsm_ptx_name *adsm_ptx_name(struct adsm_ptx_names *names, const char *text, size_t length);
/* The name of a unique text. */
struct adsm_ptx_name *adsm_ptx_name_of(const char *text);

/* A scope in the current one. Returns false: there are too many. */
bool adsm_ptx_scope_open(struct adsm_ptx_names *names);
void adsm_ptx_scope_close(struct adsm_ptx_names *names);

/*
 * Give a name a meaning in the scope @depth: the current one, or one around it, if the name has no meaning in a scope
 * inside of that. Returns NULL: there is no memory. If ret_other is set to something, the name already has a meaning
 * in this scope, and gets no other.
 */
struct adsm_ptx_binding *adsm_ptx_bind(struct adsm_ptx_names *names, struct adsm_ptx_name *name, uint32_t depth,
				       bool is_range, struct adsm_ptx_binding **ret_other);
/*
 * What a name means: a binding of its own, or the range that contains it; NULL: nothing. ret_other: NULL, or another
 * binding of the same scope that contains the name, too.
 */
struct adsm_ptx_binding *adsm_ptx_find(struct adsm_ptx_names *names, const struct adsm_ptx_name *name,
				       struct adsm_ptx_binding **ret_other);
