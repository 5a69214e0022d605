/* SPDX-License-Identifier: MIT */
/* parser.h - what the parts of the parser share. */
#pragma once

#include "lex.h"
#include "names.h"
#include "vector.h"

#include <string.h>

#define ADSM_PTX_DIMENSIONS 8		/* of an array */

/* A name that was used before it was declared. */
struct adsm_ptx_pending {
	struct adsm_ptx_pending *next;
	struct adsm_ptx_name *name;
	int line;
	/* What waits for it; NULL: an initialiser, to which the name suffices. */
	struct adsm_ptx_operand *operand;
};

/* A list that keeps its order. */
struct adsm_ptx_queue {
	struct adsm_ptx_pending *first, *last;
};

struct adsm_ptx_alias {
	struct adsm_ptx_alias *next;
	struct adsm_ptx_name *name, *of;
	int line;
};

struct adsm_ptx_parser {
	struct adsm_ptx_lexer lexer;
	struct adsm_ptx_module *module;
	struct adsm_ptx_names names;
	size_t text_size;
	uint64_t padding;			/* elements of initialisers that the text does not have */
	struct adsm_ptx_vector variables, functions;	/* of the module: pointers */
	struct adsm_ptx_alias *aliases, *last_alias;
	struct adsm_ptx_queue pending;		/* functions and variables of the module */
	/* The function that is being read. */
	struct adsm_ptx_function *function;
	struct adsm_ptx_vector instructions, registers, locals;
	struct adsm_ptx_queue labels[ADSM_PTX_SCOPES];	/* by scope */
	int file, source_line;			/* by .loc */
	/* What is collected for lists. */
	struct adsm_ptx_vector parameters, inits, elements, words;
};

/* Zeroed memory of the module. It ends the parsing if there is none. */
static inline void *adsm_ptx_get(struct adsm_ptx_parser *parser, size_t n, size_t size)
{
	void *memory = adsm_ptx_arena_alloc(parser->module->arena, n, size);

	if (!memory)
		adsm_ptx_fail_memory(&parser->lexer);
	return memory;
}

/* A new item of a vector, likewise. */
static inline void *adsm_ptx_add(struct adsm_ptx_parser *parser, struct adsm_ptx_vector *vector, size_t size)
{
	void *item = adsm_ptx_vector_add(vector, size);

	if (!item)
		adsm_ptx_fail_memory(&parser->lexer);
	return item;
}

/* The items of a vector from @first on, as memory of the module. */
static inline void *adsm_ptx_take(struct adsm_ptx_parser *parser, struct adsm_ptx_vector *vector, size_t first,
				  size_t size)
{
	const size_t n = vector->n - first;
	void *memory = adsm_ptx_get(parser, n, size);

	if (n)
		memcpy(memory, vector->items + first * size, n * size);
	vector->n = first;
	return memory;
}

/* The current token as a name. */
static inline struct adsm_ptx_name *adsm_ptx_word(struct adsm_ptx_parser *parser)
{
	struct adsm_ptx_name *name = adsm_ptx_name(&parser->names, parser->lexer.text, parser->lexer.length);

	if (!name)
		adsm_ptx_fail_memory(&parser->lexer);
	return name;
}

/* Something waits until a name is declared. */
static inline void adsm_ptx_wait(struct adsm_ptx_parser *parser, struct adsm_ptx_queue *queue,
				 struct adsm_ptx_name *name, int line, struct adsm_ptx_operand *operand)
{
	struct adsm_ptx_pending *pending = adsm_ptx_get(parser, 1, sizeof(*pending));

	*pending = (struct adsm_ptx_pending){ .name = name, .line = line, .operand = operand };
	if (queue->last)
		queue->last->next = pending;
	else
		queue->first = pending;
	queue->last = pending;
}
