/* SPDX-License-Identifier: MIT */
/* function.c - see function.h. */
#include "function.h"
#include "constant.h"
#include "instruction.h"
#include "operand.h"

#include <stdlib.h>

#define MOST_THREADS (UINT64_C(1) << 31)

void adsm_ptx_read_pragma(struct adsm_ptx_parser *parser)
{
	do {
		if (!adsm_ptx_accept(&parser->lexer, ADSM_PTX_STRING))
			adsm_ptx_fail_token(&parser->lexer, "a string is expected after .pragma");
	} while (adsm_ptx_accept(&parser->lexer, ','));
	adsm_ptx_expect(&parser->lexer, ';', "\";\" is expected after .pragma");
}

/* .maxntid 16, 4 */
static void read_threads(struct adsm_ptx_parser *parser, struct adsm_ptx_function *function)
{
	size_t n = 0;

	do {
		if (n == 3)
			adsm_ptx_fail_token(&parser->lexer, "a block has at most three dimensions");
		function->max_threads[n++] = (uint32_t)adsm_ptx_bounded(&parser->lexer, 1, MOST_THREADS,
									"the number of threads");
	} while (adsm_ptx_accept(&parser->lexer, ','));
	while (n < 3)
		function->max_threads[n++] = 1;
}

/* What stands between the parameters and the body. */
static void read_directives(struct adsm_ptx_parser *parser, struct adsm_ptx_function *function)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;

	while (lexer->kind == ADSM_PTX_DOT) {
		if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "maxntid")) {
			read_threads(parser, function);
		} else if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "reqntid")) {
			read_threads(parser, function);
			function->fixed_threads = true;
		} else if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "minnctapersm") ||
			   adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "maxnctapersm") ||
			   adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "maxnreg")) {
			adsm_ptx_integer(lexer);
		} else if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "noreturn")) {
			function->no_return = true;
		} else if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "pragma")) {
			adsm_ptx_read_pragma(parser);
		} else {
			adsm_ptx_fail_token(lexer, "this directive of a function is not supported");
		}
	}
}

/* (results) name (parameters) directives. Of a prototype the name is _. */
static struct adsm_ptx_function *read_head(struct adsm_ptx_parser *parser, struct adsm_ptx_linkage linkage)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	struct adsm_ptx_function *function = adsm_ptx_get(parser, 1, sizeof(*function));

	function->is_entry = adsm_ptx_at(lexer, ADSM_PTX_DOT, "entry");
	function->is_prototype = adsm_ptx_at(lexer, ADSM_PTX_DOT, "callprototype");
	function->is_extern = linkage.is_extern;
	function->is_visible = linkage.is_visible;
	function->is_weak = linkage.is_weak;
	adsm_ptx_next(lexer);
	read_directives(parser, function);
	if (lexer->kind == '(' && !function->is_entry)
		function->results = adsm_ptx_parameters(parser, &function->n_results);
	if (lexer->kind != ADSM_PTX_NAME)
		adsm_ptx_fail_token(lexer, "the name of a function is expected");
	function->name = adsm_ptx_word(parser)->text;
	function->line = lexer->token_line;
	adsm_ptx_next(lexer);
	if (lexer->kind == '(')
		function->params = adsm_ptx_parameters(parser, &function->n_params);
	read_directives(parser, function);
	return function;
}

/* name: .branchtargets label, label; or name: .calltargets function, function; */
static void read_targets(struct adsm_ptx_parser *parser, struct adsm_ptx_name *name, int line)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	struct adsm_ptx_targets *targets = adsm_ptx_get(parser, 1, sizeof(*targets));
	const struct adsm_ptx_pending *words;

	targets->of_call = adsm_ptx_at(lexer, ADSM_PTX_DOT, "calltargets");
	parser->words.n = 0;
	do {
		struct adsm_ptx_pending *word = adsm_ptx_add(parser, &parser->words, sizeof(*word));

		adsm_ptx_next(lexer);
		if (lexer->kind != ADSM_PTX_NAME)
			adsm_ptx_fail_token(lexer, "the name of a label or a function is expected");
		word->name = adsm_ptx_word(parser);
		word->line = lexer->token_line;
		adsm_ptx_next(lexer);
	} while (lexer->kind == ',');
	adsm_ptx_expect(lexer, ';', "\",\" or \";\" is expected after a target");
	words = (const struct adsm_ptx_pending *)(const void *)parser->words.items;
	targets->n = (uint32_t)parser->words.n;
	targets->list = adsm_ptx_get(parser, targets->n, sizeof(*targets->list));
	for (uint32_t i = 0; i < targets->n; i++) {
		if (targets->of_call)
			adsm_ptx_name_function(parser, words[i].name, words[i].line, &targets->list[i]);
		else
			adsm_ptx_name_label(parser, words[i].name, words[i].line, &targets->list[i]);
	}
	adsm_ptx_define(parser, name, ADSM_PTX_MEANS_TARGETS, false, line)->targets = targets;
}

/* What follows the name and colon of a label. */
static void read_label(struct adsm_ptx_parser *parser, struct adsm_ptx_name *name, int line)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;

	if (adsm_ptx_at(lexer, ADSM_PTX_DOT, "branchtargets") || adsm_ptx_at(lexer, ADSM_PTX_DOT, "calltargets")) {
		read_targets(parser, name, line);
	} else if (adsm_ptx_at(lexer, ADSM_PTX_DOT, "callprototype")) {
		struct adsm_ptx_function *prototype = read_head(parser, (struct adsm_ptx_linkage){ 0 });

		prototype->name = name->text;
		adsm_ptx_expect(lexer, ';', "\";\" is expected after .callprototype");
		adsm_ptx_define(parser, name, ADSM_PTX_MEANS_PROTOTYPE, false, line)->function = prototype;
	} else {
		adsm_ptx_define(parser, name, ADSM_PTX_MEANS_LABEL, false, line)->label =
			(uint32_t)parser->instructions.n;
	}
}

/* .loc file line column, function_name label + 8, inlined_at file line column */
static void read_location(struct adsm_ptx_parser *parser)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;

	parser->file = (int)adsm_ptx_literal(lexer, 0, INT32_MAX, "the file of .loc");
	parser->source_line = (int)adsm_ptx_literal(lexer, 0, INT32_MAX, "the line of .loc");
	adsm_ptx_literal(lexer, 0, INT32_MAX, "the column of .loc");
	while (adsm_ptx_accept(lexer, ',')) {
		if (adsm_ptx_accept_word(lexer, ADSM_PTX_NAME, "function_name")) {
			adsm_ptx_expect(lexer, ADSM_PTX_NAME, "a label is expected after function_name");
			if (adsm_ptx_accept(lexer, '+'))
				adsm_ptx_literal(lexer, 0, INT32_MAX, "the offset after function_name");
		} else if (adsm_ptx_accept_word(lexer, ADSM_PTX_NAME, "inlined_at")) {
			for (int i = 0; i < 3; i++)
				adsm_ptx_literal(lexer, 0, INT32_MAX, "a number after inlined_at");
		} else {
			adsm_ptx_fail_token(lexer, "function_name or inlined_at is expected");
		}
	}
}

/* An instruction or a label. */
static void read_named(struct adsm_ptx_parser *parser)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	struct adsm_ptx_operand guard = { 0 };
	struct adsm_ptx_name *name;
	int line;

	if (adsm_ptx_accept(lexer, '@'))
		adsm_ptx_read_predicate(parser, &guard);
	if (lexer->kind != ADSM_PTX_NAME)
		adsm_ptx_fail_token(lexer, "an instruction, a label, a declaration or \"}\" is expected");
	name = adsm_ptx_word(parser);
	line = lexer->token_line;
	adsm_ptx_next(lexer);
	if (!guard.kind && adsm_ptx_accept(lexer, ':'))
		read_label(parser, name, line);
	else
		adsm_ptx_read_instruction(parser, name, line, &guard);
}

/* Branches to the labels of the scope that ends. The others look for theirs in the scope around it. */
static void find_labels(struct adsm_ptx_parser *parser)
{
	const uint32_t depth = parser->names.depth;
	struct adsm_ptx_queue *labels = &parser->labels[depth], *around = &parser->labels[depth - 1];
	struct adsm_ptx_pending *next;

	for (struct adsm_ptx_pending *p = labels->first; p; p = next) {
		const struct adsm_ptx_binding *binding = p->name->binding;

		next = p->next;
		if (binding && binding->depth == depth && binding->meaning == ADSM_PTX_MEANS_LABEL) {
			p->operand->label = binding->label;
			continue;
		}
		if (depth == 1)
			adsm_ptx_fail(&parser->lexer, p->line, "\"%.200s\" is no label of the function \"%.200s\" that "
				      "a branch can reach from here", p->name->text, parser->function->name);
		p->next = NULL;
		if (around->last)
			around->last->next = p;
		else
			around->first = p;
		around->last = p;
	}
	*labels = (struct adsm_ptx_queue){ 0 };
}

static void read_statement(struct adsm_ptx_parser *parser)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;

	if (lexer->kind != ADSM_PTX_DOT) {
		read_named(parser);
	} else if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "loc")) {
		read_location(parser);
	} else if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "pragma")) {
		adsm_ptx_read_pragma(parser);
	} else {
		const struct adsm_ptx_linkage linkage = adsm_ptx_linkage(parser);

		if (!adsm_ptx_at_declaration(parser))
			adsm_ptx_fail_token(lexer, "this directive is not supported in a function");
		adsm_ptx_declare(parser, linkage);
	}
}

/* From after the first { to the last }. */
static void read_body(struct adsm_ptx_parser *parser)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;

	for (;;) {
		if (adsm_ptx_accept(lexer, '{')) {
			if (!adsm_ptx_scope_open(&parser->names))
				adsm_ptx_fail_token(lexer, "there are more than %d levels of { before this",
						    ADSM_PTX_SCOPES - 2);
		} else if (lexer->kind == '}') {
			const bool last = parser->names.depth == 1;

			find_labels(parser);
			adsm_ptx_scope_close(&parser->names);
			adsm_ptx_next(lexer);
			if (last)
				return;
		} else if (lexer->kind == ADSM_PTX_END) {
			adsm_ptx_fail_token(lexer, "\"}\" of the function \"%.200s\" is expected",
					    parser->function->name);
		} else if (!adsm_ptx_accept(lexer, ';')) {
			read_statement(parser);
		}
	}
}

/* Move what was collected into the function. */
static void finish_body(struct adsm_ptx_parser *parser, struct adsm_ptx_function *function)
{
	const size_t n = parser->instructions.n;
	struct adsm_ptx_instruction *instructions = NULL;

	if (n) {
		instructions = realloc(parser->instructions.items, n * sizeof(*instructions));
		if (!instructions)
			adsm_ptx_fail_memory(&parser->lexer);
		parser->instructions.items = (char *)instructions;
		if (adsm_ptx_arena_adopt(parser->module->arena, instructions))
			adsm_ptx_fail_memory(&parser->lexer);
		parser->instructions = (struct adsm_ptx_vector){ 0 };
	}
	function->n = (uint32_t)n;
	function->instructions = instructions;
	function->n_registers = (uint32_t)parser->registers.n;
	function->registers = adsm_ptx_take(parser, &parser->registers, 0, sizeof(*function->registers));
	function->n_variables = (uint32_t)parser->locals.n;
	function->variables = adsm_ptx_take(parser, &parser->locals, 0, sizeof(*function->variables));
	function->has_body = true;
}

/* Do two declarations have the same results and parameters? */
static bool same_variables(const struct adsm_ptx_variable *a, uint32_t n, const struct adsm_ptx_variable *b, uint32_t m)
{
	for (uint32_t i = 0; i < n && n == m; i++) {
		if (a[i].size != b[i].size || a[i].space != b[i].space)
			return false;
	}
	return n == m;
}

/* The function of the module for one that was read: a declaration is completed by another one. */
static struct adsm_ptx_function *enter(struct adsm_ptx_parser *parser, struct adsm_ptx_function *function, bool body)
{
	struct adsm_ptx_name *name = adsm_ptx_name_of(function->name);
	const struct adsm_ptx_binding *first = name->binding;
	struct adsm_ptx_function *old = first ? first->function : NULL, **item;

	if (!first) {
		item = adsm_ptx_add(parser, &parser->functions, sizeof(*item));
		*item = function;
		adsm_ptx_define(parser, name, ADSM_PTX_MEANS_FUNCTION, false, function->line)->function = function;
		return function;
	}
	if (first->meaning != ADSM_PTX_MEANS_FUNCTION || (body && old->has_body))
		adsm_ptx_fail_twice(parser, name, function->line, first);
	if (old->is_entry != function->is_entry ||
	    !same_variables(old->params, old->n_params, function->params, function->n_params) ||
	    !same_variables(old->results, old->n_results, function->results, function->n_results))
		adsm_ptx_fail(&parser->lexer, function->line, "\"%.200s\" differs from its declaration in line %d",
			      function->name, old->line);
	if (body)
		*old = *function;
	return old;
}

void adsm_ptx_read_function(struct adsm_ptx_parser *parser, struct adsm_ptx_linkage linkage)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	struct adsm_ptx_function *function = read_head(parser, linkage);
	const bool body = lexer->kind == '{';

	function = enter(parser, function, body);
	if (!body) {
		adsm_ptx_expect(lexer, ';', "\"{\" or \";\" is expected after the parameters of a function");
		return;
	}
	/* A function may call itself, so it is known, but has no body yet. */
	parser->function = function;
	parser->file = parser->source_line = 0;
	adsm_ptx_next(lexer);
	adsm_ptx_scope_open(&parser->names);
	adsm_ptx_bind_parameters(parser, function->results, function->n_results);
	adsm_ptx_bind_parameters(parser, function->params, function->n_params);
	read_body(parser);
	finish_body(parser, function);
	parser->function = NULL;
}
