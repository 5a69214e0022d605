/* SPDX-License-Identifier: MIT */
/* declare.c - see declare.h. */
#include "declare.h"
#include "constant.h"
#include "init.h"

#define MOST_BYTES (UINT64_C(1) << 40)	/* of a variable */
#define MOST_ALIGN 65536
#define MOST_RANGE (UINT64_C(1) << 30)	/* names of a range */

_Noreturn void adsm_ptx_fail_twice(struct adsm_ptx_parser *parser, const struct adsm_ptx_name *name, int line,
				   const struct adsm_ptx_binding *first)
{
	adsm_ptx_fail(&parser->lexer, line, "\"%.200s\" is declared twice in one scope: the first time in line %d",
		      name->text, first->line);
}

struct adsm_ptx_binding *adsm_ptx_define(struct adsm_ptx_parser *parser, struct adsm_ptx_name *name,
					 enum adsm_ptx_meaning meaning, bool is_range, int line)
{
	struct adsm_ptx_binding *binding, *other;

	if (name->special >= 0)
		adsm_ptx_fail(&parser->lexer, line, "\"%s\" is a special register: another name is needed", name->text);
	binding = adsm_ptx_bind(&parser->names, name, parser->names.depth, is_range, &other);
	if (!binding)
		adsm_ptx_fail_memory(&parser->lexer);
	if (other)
		adsm_ptx_fail_twice(parser, name, line, other);
	binding->meaning = meaning;
	binding->line = line;
	return binding;
}

static uint32_t add_register(struct adsm_ptx_parser *parser, const struct adsm_ptx_name *name, enum adsm_ptx_type type)
{
	struct adsm_ptx_register *reg = adsm_ptx_add(parser, &parser->registers, sizeof(*reg));

	*reg = (struct adsm_ptx_register){ .name = name->text, .type = type };
	return (uint32_t)parser->registers.n - 1;
}

static struct adsm_ptx_variable *add_variable(struct adsm_ptx_parser *parser, const struct adsm_ptx_variable *variable,
					      uint32_t depth)
{
	struct adsm_ptx_variable *copy = adsm_ptx_get(parser, 1, sizeof(*copy)), **item;

	*copy = *variable;
	item = adsm_ptx_add(parser, depth ? &parser->locals : &parser->variables, sizeof(*item));
	*item = copy;
	return copy;
}

struct adsm_ptx_binding *adsm_ptx_resolve(struct adsm_ptx_parser *parser, struct adsm_ptx_name *name)
{
	struct adsm_ptx_binding *other, *found = adsm_ptx_find(&parser->names, name, &other), *made;

	if (other)
		adsm_ptx_fail_twice(parser, name, other->line > found->line ? other->line : found->line,
				    other->line > found->line ? found : other);
	if (!found || !found->is_range)
		return found;
	made = adsm_ptx_bind(&parser->names, name, found->depth, false, &other);
	if (!made)
		adsm_ptx_fail_memory(&parser->lexer);
	made->meaning = found->meaning;
	made->line = found->line;
	made->made_of = found;
	if (found->meaning == ADSM_PTX_MEANS_REGISTER) {
		made->reg = add_register(parser, name, found->type);
	} else {
		made->variable = add_variable(parser, found->variable, found->depth);
		made->variable->name = name->text;
	}
	return made;
}

struct adsm_ptx_linkage adsm_ptx_linkage(struct adsm_ptx_parser *parser)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	struct adsm_ptx_linkage linkage = { 0 };

	for (;;) {
		if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "extern"))
			linkage.is_extern = true;
		else if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "visible"))
			linkage.is_visible = true;
		else if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "weak"))
			linkage.is_weak = true;
		else if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "common"))
			linkage.is_common = true;
		else
			return linkage;
	}
}

bool adsm_ptx_at_declaration(struct adsm_ptx_parser *parser)
{
	return parser->lexer.kind == ADSM_PTX_DOT && adsm_ptx_word(parser)->space != ADSM_PTX_GENERIC;
}

static void read_attributes(struct adsm_ptx_lexer *lexer, struct adsm_ptx_variable *variable)
{
	adsm_ptx_expect(lexer, '(', "\"(\" is expected after .attribute");
	do {
		if (!adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "managed"))
			adsm_ptx_fail_token(lexer, "this attribute is not supported: .managed is");
		variable->is_managed = true;
	} while (adsm_ptx_accept(lexer, ','));
	adsm_ptx_expect(lexer, ')', "\")\" is expected after the attributes");
}

static uint32_t read_align(struct adsm_ptx_lexer *lexer)
{
	const int line = lexer->token_line;
	const uint64_t align = adsm_ptx_bounded(lexer, 1, MOST_ALIGN, "the alignment");

	if (align & (align - 1))
		adsm_ptx_fail(lexer, line, "the alignment is %u: it must be a power of two", (unsigned)align);
	return (uint32_t)align;
}

/* The directives of a parameter that points to something: .ptr .global .align 8 */
static void read_pointer(struct adsm_ptx_parser *parser, struct adsm_ptx_variable *variable)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;

	variable->is_pointer = true;
	variable->target_align = 4;
	for (;;) {
		if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "align")) {
			variable->target_align = read_align(lexer);
		} else if (adsm_ptx_at_declaration(parser)) {
			variable->target = adsm_ptx_word(parser)->space;
			adsm_ptx_next(lexer);
		} else {
			return;
		}
	}
}

/* What stands before the name: .global .attribute(.managed) .align 8 .v2 .f32 */
static struct adsm_ptx_variable read_head(struct adsm_ptx_parser *parser, struct adsm_ptx_linkage linkage)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	struct adsm_ptx_variable variable = {
		.is_extern = linkage.is_extern, .is_visible = linkage.is_visible, .is_weak = linkage.is_weak,
		.is_common = linkage.is_common, .vector = 1, .line = lexer->token_line,
	};

	variable.space = adsm_ptx_word(parser)->space;
	adsm_ptx_next(lexer);
	while (lexer->kind == ADSM_PTX_DOT) {
		const enum adsm_ptx_type type = adsm_ptx_word(parser)->type;

		if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "align")) {
			variable.align = read_align(lexer);
		} else if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "attribute")) {
			read_attributes(lexer, &variable);
		} else if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "ptr")) {
			read_pointer(parser, &variable);
		} else if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "v2")) {
			variable.vector = 2;
		} else if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "v4")) {
			variable.vector = 4;
		} else if (type && !variable.type) {
			variable.type = type;
			adsm_ptx_next(lexer);
		} else {
			adsm_ptx_fail_token(lexer, "the type or the name of a variable is expected");
		}
	}
	if (!variable.type)
		adsm_ptx_fail_token(lexer, "a type, such as .b32, is expected before the name of a variable");
	if (variable.space != ADSM_PTX_REG && variable.type == ADSM_PTX_pred)
		adsm_ptx_fail(lexer, variable.line, "only a register can have the type .pred");
	if (!variable.align)
		variable.align = adsm_ptx_size(variable.type) * variable.vector;
	if (!variable.align)
		variable.align = 1;
	return variable;
}

/* [n][m]. A first size that is left out is 0. Returns their number. */
static size_t read_sizes(struct adsm_ptx_lexer *lexer, uint64_t sizes[ADSM_PTX_DIMENSIONS])
{
	size_t n = 0;

	while (adsm_ptx_accept(lexer, '[')) {
		if (n == ADSM_PTX_DIMENSIONS)
			adsm_ptx_fail_token(lexer, "an array has at most %d dimensions", ADSM_PTX_DIMENSIONS);
		if (lexer->kind == ']' && !n)
			sizes[n] = 0;
		else
			sizes[n] = adsm_ptx_bounded(lexer, n > 0, MOST_BYTES, "the size of an array");
		n++;
		adsm_ptx_expect(lexer, ']', "\"]\" is expected after the size of an array");
	}
	return n;
}

static void set_size(struct adsm_ptx_lexer *lexer, struct adsm_ptx_variable *variable, const uint64_t *sizes, size_t n)
{
	uint64_t size = (uint64_t)adsm_ptx_size(variable->type) * variable->vector;

	for (size_t i = 0; i < n; i++) {
		if (__builtin_mul_overflow(size, sizes[i], &size))
			size = UINT64_MAX;
	}
	if (size > MOST_BYTES)
		adsm_ptx_fail(lexer, variable->line, "\"%.200s\" has more than %llu bytes", variable->name,
			      (unsigned long long)MOST_BYTES);
	variable->size = size;
	variable->is_array = n > 0;
}

static struct adsm_ptx_name *read_name(struct adsm_ptx_parser *parser, struct adsm_ptx_variable *variable)
{
	struct adsm_ptx_name *name;

	if (parser->lexer.kind != ADSM_PTX_NAME)
		adsm_ptx_fail_token(&parser->lexer, "the name of a variable is expected");
	name = adsm_ptx_word(parser);
	variable->name = name->text;
	variable->line = parser->lexer.token_line;
	adsm_ptx_next(&parser->lexer);
	return name;
}

/* A declaration with .extern and a definition are one variable. */
static void merge(struct adsm_ptx_parser *parser, struct adsm_ptx_name *name, struct adsm_ptx_binding *first,
		  const struct adsm_ptx_variable *variable)
{
	struct adsm_ptx_variable *old = first->variable;

	if (first->meaning != ADSM_PTX_MEANS_VARIABLE || (!old->is_extern && !variable->is_extern))
		adsm_ptx_fail_twice(parser, name, variable->line, first);
	if (old->space != variable->space || old->type != variable->type || old->vector != variable->vector ||
	    (old->size && variable->size && old->size != variable->size))
		adsm_ptx_fail(&parser->lexer, variable->line, "\"%.200s\" differs from its declaration in line %d",
			      variable->name, old->line);
	if (old->is_extern && (!variable->is_extern || !old->size))
		*old = *variable;
}

static void declare_variable(struct adsm_ptx_parser *parser, struct adsm_ptx_name *name,
			     struct adsm_ptx_variable *variable)
{
	uint64_t sizes[ADSM_PTX_DIMENSIONS];
	size_t n = read_sizes(&parser->lexer, sizes);

	set_size(&parser->lexer, variable, sizes, n);
	if (adsm_ptx_accept(&parser->lexer, '=')) {
		adsm_ptx_read_init(parser, variable, sizes, n);
		set_size(&parser->lexer, variable, sizes, n);
	}
	if (!parser->function && name->binding) {
		merge(parser, name, name->binding, variable);
		return;
	}
	adsm_ptx_define(parser, name, ADSM_PTX_MEANS_VARIABLE, false, variable->line)->variable =
		add_variable(parser, variable, parser->names.depth);
}

static void declare_register(struct adsm_ptx_parser *parser, struct adsm_ptx_name *name,
			     const struct adsm_ptx_variable *variable)
{
	struct adsm_ptx_binding *binding;

	binding = adsm_ptx_define(parser, name, variable->vector > 1 ? ADSM_PTX_MEANS_VECTOR : ADSM_PTX_MEANS_REGISTER,
				  false, variable->line);
	binding->n = variable->vector;
	binding->reg = (uint32_t)parser->registers.n;
	for (uint32_t i = 0; i < variable->vector; i++)
		add_register(parser, name, variable->type);
}

/* name<n> */
static void declare_range(struct adsm_ptx_parser *parser, struct adsm_ptx_name *name,
			  const struct adsm_ptx_variable *variable)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	struct adsm_ptx_binding *binding;
	uint64_t n;

	adsm_ptx_next(lexer);
	n = adsm_ptx_literal(lexer, 1, MOST_RANGE, "the number of names between < and >");
	adsm_ptx_expect(lexer, '>', "\">\" is expected after the number of names");
	if (variable->vector > 1)
		adsm_ptx_fail(lexer, variable->line, "\"%.200s\" is a range of vectors: declare each one",
			      name->text);
	binding = adsm_ptx_define(parser, name, variable->space == ADSM_PTX_REG ? ADSM_PTX_MEANS_REGISTER :
				  ADSM_PTX_MEANS_VARIABLE, true, variable->line);
	binding->n = (uint32_t)n;
	if (variable->space == ADSM_PTX_REG) {
		binding->type = variable->type;
		return;
	}
	binding->variable = adsm_ptx_get(parser, 1, sizeof(*variable));
	*binding->variable = *variable;
	set_size(lexer, binding->variable, NULL, 0);
}

void adsm_ptx_declare(struct adsm_ptx_parser *parser, struct adsm_ptx_linkage linkage)
{
	struct adsm_ptx_variable head = read_head(parser, linkage);

	if (!parser->function && (head.space == ADSM_PTX_REG || head.space == ADSM_PTX_PARAM ||
				  head.space == ADSM_PTX_LOCAL))
		adsm_ptx_fail(&parser->lexer, head.line, "a variable of a register, parameter or local space is "
			      "expected inside of a function only");
	if (parser->function && (head.space == ADSM_PTX_GLOBAL || head.space == ADSM_PTX_CONST))
		adsm_ptx_fail(&parser->lexer, head.line, "a .global or .const variable inside of a function is not "
			      "supported: declare it outside");
	if (head.type >= ADSM_PTX_texref && head.space != ADSM_PTX_GLOBAL && head.space != ADSM_PTX_PARAM)
		adsm_ptx_fail(&parser->lexer, head.line, "a texture, sampler or surface is .global or .param");
	do {
		struct adsm_ptx_variable variable = head;
		struct adsm_ptx_name *name = read_name(parser, &variable);

		if (parser->lexer.kind == '<')
			declare_range(parser, name, &variable);
		else if (variable.space == ADSM_PTX_REG)
			declare_register(parser, name, &variable);
		else
			declare_variable(parser, name, &variable);
	} while (adsm_ptx_accept(&parser->lexer, ','));
	adsm_ptx_expect(&parser->lexer, ';', "\",\" or \";\" is expected after a declaration");
}

struct adsm_ptx_variable *adsm_ptx_parameters(struct adsm_ptx_parser *parser, uint32_t *ret_n)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	const size_t first = parser->parameters.n;

	adsm_ptx_expect(lexer, '(', "\"(\" is expected before parameters");
	while (lexer->kind != ')') {
		struct adsm_ptx_variable variable;
		uint64_t sizes[ADSM_PTX_DIMENSIONS];
		size_t n;

		if (!adsm_ptx_at(lexer, ADSM_PTX_DOT, "param") && !adsm_ptx_at(lexer, ADSM_PTX_DOT, "reg"))
			adsm_ptx_fail_token(lexer, "a parameter begins with .param or .reg");
		variable = read_head(parser, (struct adsm_ptx_linkage){ 0 });
		read_name(parser, &variable);
		n = read_sizes(lexer, sizes);
		if (variable.space == ADSM_PTX_REG && (n || variable.vector > 1))
			adsm_ptx_fail(lexer, variable.line, "\"%.200s\": a register as a parameter has one element",
				      variable.name);
		set_size(lexer, &variable, sizes, n);
		*(struct adsm_ptx_variable *)adsm_ptx_add(parser, &parser->parameters, sizeof(variable)) = variable;
		if (!adsm_ptx_accept(lexer, ','))
			break;
	}
	adsm_ptx_expect(lexer, ')', "\",\" or \")\" is expected after a parameter");
	*ret_n = (uint32_t)(parser->parameters.n - first);
	return adsm_ptx_take(parser, &parser->parameters, first, sizeof(struct adsm_ptx_variable));
}

void adsm_ptx_bind_parameters(struct adsm_ptx_parser *parser, struct adsm_ptx_variable *parameters, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct adsm_ptx_variable *parameter = &parameters[i];
		struct adsm_ptx_name *name = adsm_ptx_name_of(parameter->name);
		struct adsm_ptx_binding *binding;

		/* No instruction can name it, but a call gives it a value. */
		if (!strcmp(parameter->name, "_")) {
			if (parameter->space == ADSM_PTX_REG)
				parameter->reg = add_register(parser, name, parameter->type);
			continue;
		}
		binding = adsm_ptx_define(parser, name, parameter->space == ADSM_PTX_REG ? ADSM_PTX_MEANS_REGISTER :
					  ADSM_PTX_MEANS_VARIABLE, false, parameter->line);
		if (parameter->space == ADSM_PTX_REG)
			binding->reg = parameter->reg = add_register(parser, name, parameter->type);
		else
			binding->variable = parameter;
	}
}
