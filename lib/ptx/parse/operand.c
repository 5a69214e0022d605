/* SPDX-License-Identifier: MIT */
/* operand.c - see operand.h. */
#include "operand.h"
#include "constant.h"
#include "declare.h"

#define MOST_ELEMENTS UINT8_MAX		/* of a vector or a list */

/* .x to .w, .r to .a: the component of a vector. -1: another token. */
static int component(const struct adsm_ptx_lexer *lexer)
{
	static const char xyzw[] = "xyzw", rgba[] = "rgba";
	const char *found;

	if (lexer->kind != ADSM_PTX_DOT || lexer->length != 1)
		return -1;
	found = strchr(xyzw, *lexer->text);
	if (found)
		return (int)(found - xyzw);
	found = strchr(rgba, *lexer->text);
	return found ? (int)(found - rgba) : -1;
}

static void special(struct adsm_ptx_parser *parser, struct adsm_ptx_operand *operand, int which)
{
	const int i = component(&parser->lexer);

	operand->kind = ADSM_PTX_OP_SPECIAL;
	operand->special = (enum adsm_ptx_special)which;
	if (i >= 0 && (which <= ADSM_PTX_SPECIAL_nctaid || which == ADSM_PTX_N_SPECIALS)) {
		operand->component = (uint8_t)i;
		adsm_ptx_next(&parser->lexer);
	}
}

/* Is it a special register that no device of the library has? */
static bool is_foreign(const char *name)
{
	static const char *const prefixes[] = {
		"%aggr_smem_size", "%cluster", "%current_graph_exec", "%envreg", "%is_explicit_cluster", "%nclusterid",
		"%pm", "%reserved_smem_offset_",
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	return false;
}

static void vector_register(struct adsm_ptx_parser *parser, struct adsm_ptx_operand *operand,
			    const struct adsm_ptx_binding *binding)
{
	const int i = component(&parser->lexer);

	if (i >= (int)binding->n)
		adsm_ptx_fail_token(&parser->lexer, "the vector \"%.200s\" has %u elements", binding->name->text,
				    binding->n);
	if (i >= 0) {
		operand->kind = ADSM_PTX_OP_REGISTER;
		operand->reg = binding->reg + (uint32_t)i;
		adsm_ptx_next(&parser->lexer);
		return;
	}
	operand->kind = ADSM_PTX_OP_VECTOR;
	operand->n = (uint8_t)binding->n;
	operand->elements = adsm_ptx_get(parser, binding->n, sizeof(*operand->elements));
	for (uint32_t j = 0; j < binding->n; j++)
		operand->elements[j] = (struct adsm_ptx_operand){ .kind = ADSM_PTX_OP_REGISTER,
								  .reg = binding->reg + j };
}

/* name, name + 8, name[2] */
static void place_in_variable(struct adsm_ptx_parser *parser, struct adsm_ptx_operand *operand)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	const struct adsm_ptx_variable *variable = operand->variable;

	if (operand->kind == ADSM_PTX_OP_VARIABLE && adsm_ptx_accept(lexer, '[')) {
		const uint64_t index = adsm_ptx_integer(lexer);

		operand->offset = (int64_t)(index * adsm_ptx_size(variable->type) * variable->vector);
		adsm_ptx_expect(lexer, ']', "\"]\" is expected after an index");
	}
	if (lexer->kind == '+' || lexer->kind == '-')
		operand->offset = (int64_t)((uint64_t)operand->offset + adsm_ptx_integer(lexer));
}

/* @waits: the operand stays where it is, so it can wait for a name of the module. */
static void name_operand(struct adsm_ptx_parser *parser, struct adsm_ptx_operand *operand, bool waits)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	struct adsm_ptx_name *name = adsm_ptx_word(parser);
	const int line = lexer->token_line;
	struct adsm_ptx_binding *binding;

	if (name->special >= 0) {
		adsm_ptx_next(lexer);
		special(parser, operand, name->special);
		return;
	}
	binding = adsm_ptx_resolve(parser, name);
	if (!binding && !strcmp(name->text, "_")) {
		operand->kind = ADSM_PTX_OP_SINK;
		adsm_ptx_next(lexer);
		return;
	}
	if (!binding && is_foreign(name->text)) {
		adsm_ptx_next(lexer);
		special(parser, operand, ADSM_PTX_N_SPECIALS);
		return;
	}
	if (!binding && (!waits || *name->text == '%'))
		adsm_ptx_fail_token(lexer, "this is neither declared nor a special register that the library supports");
	adsm_ptx_next(lexer);
	if (!binding) {
		place_in_variable(parser, operand);
		adsm_ptx_wait(parser, &parser->pending, name, line, operand);
		return;
	}
	switch (binding->meaning) {
	case ADSM_PTX_MEANS_REGISTER:
		operand->kind = ADSM_PTX_OP_REGISTER;
		operand->reg = binding->reg;
		return;
	case ADSM_PTX_MEANS_VECTOR:
		vector_register(parser, operand, binding);
		return;
	case ADSM_PTX_MEANS_VARIABLE:
		operand->kind = ADSM_PTX_OP_VARIABLE;
		operand->variable = binding->variable;
		place_in_variable(parser, operand);
		return;
	case ADSM_PTX_MEANS_FUNCTION:
		operand->kind = ADSM_PTX_OP_FUNCTION;
		operand->function = binding->function;
		return;
	default:
		adsm_ptx_fail(lexer, line, "\"%.200s\" is a label, which only a branch or a call can use: a "
			      "register, a variable or a number is expected", name->text);
	}
}

static void constant_operand(struct adsm_ptx_parser *parser, struct adsm_ptx_operand *operand)
{
	const struct adsm_ptx_constant constant = adsm_ptx_constant(&parser->lexer);

	operand->kind = constant.kind;
	operand->bits = constant.bits;
}

/* One value: a name or a number, perhaps !p. */
static void scalar(struct adsm_ptx_parser *parser, struct adsm_ptx_operand *operand, bool waits)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;

	if (lexer->kind == '!') {
		adsm_ptx_read_predicate(parser, operand);
		return;
	}
	if (lexer->kind == ADSM_PTX_NAME)
		name_operand(parser, operand, waits);
	else if (adsm_ptx_at_constant(lexer))
		constant_operand(parser, operand);
	else
		adsm_ptx_fail_token(lexer, "an operand is expected: a register, a variable, a number, [address] or "
				    "{vector}");
}

/* Scalars up to the closing bracket. */
static void elements(struct adsm_ptx_parser *parser, struct adsm_ptx_operand *operand, int close)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	const size_t first = parser->elements.n;

	adsm_ptx_next(lexer);
	while (lexer->kind != close) {
		struct adsm_ptx_operand element = { 0 };

		if (parser->elements.n - first == MOST_ELEMENTS)
			adsm_ptx_fail_token(lexer, "there are more than %d elements", MOST_ELEMENTS);
		scalar(parser, &element, false);
		*(struct adsm_ptx_operand *)adsm_ptx_add(parser, &parser->elements, sizeof(element)) = element;
		if (!adsm_ptx_accept(lexer, ','))
			break;
	}
	adsm_ptx_expect(lexer, close, close == '}' ? "\",\" or \"}\" is expected after an element of a vector" :
			"\",\" or \")\" is expected after an element of a list");
	operand->n = (uint8_t)(parser->elements.n - first);
	operand->elements = adsm_ptx_take(parser, &parser->elements, first, sizeof(*operand));
}

/* {x, y}, or one value. */
static void coordinates(struct adsm_ptx_parser *parser, struct adsm_ptx_operand *operand)
{
	if (parser->lexer.kind != '{') {
		scalar(parser, operand, true);
		return;
	}
	elements(parser, operand, '}');
	operand->kind = ADSM_PTX_OP_VECTOR;
}

/* An operand that may wait for a name has been copied. */
static void move(struct adsm_ptx_parser *parser, struct adsm_ptx_operand *from, struct adsm_ptx_operand *to)
{
	struct adsm_ptx_pending *last = parser->pending.last;

	if (last && last->operand == from)
		last->operand = to;
	*to = *from;
}

/* Of a texture: what follows the name. {coordinates}, or sampler, {coordinates} */
static void texture_address(struct adsm_ptx_parser *parser, struct adsm_ptx_operand *operand)
{
	struct adsm_ptx_operand *more = adsm_ptx_get(parser, 3, sizeof(*more));

	move(parser, operand->elements, &more[0]);
	operand->elements = more;
	operand->n = 2;
	coordinates(parser, &more[1]);
	if (!adsm_ptx_accept(&parser->lexer, ','))
		return;
	operand->n = 3;
	move(parser, &more[1], &more[2]);
	more[1] = (struct adsm_ptx_operand){ 0 };
	coordinates(parser, &more[1]);
}

/* [base + offset] */
static void memory(struct adsm_ptx_parser *parser, struct adsm_ptx_operand *operand)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	struct adsm_ptx_operand *base = adsm_ptx_get(parser, 1, sizeof(*base));

	adsm_ptx_next(lexer);
	operand->kind = ADSM_PTX_OP_MEMORY;
	operand->n = 1;
	operand->elements = base;
	scalar(parser, base, true);
	if (base->kind == ADSM_PTX_OP_REGISTER && (lexer->kind == '+' || lexer->kind == '-')) {
		operand->offset = (int64_t)adsm_ptx_integer(lexer);
	} else if (base->kind == ADSM_PTX_OP_VARIABLE || base->kind == ADSM_PTX_OP_NONE) {
		operand->offset = base->offset;
		base->offset = 0;
	} else if (base->kind != ADSM_PTX_OP_REGISTER && base->kind != ADSM_PTX_OP_INTEGER) {
		adsm_ptx_fail_token(lexer, "an address is [register], [register + number], [variable + number] or "
				    "[number]");
	}
	if (adsm_ptx_accept(lexer, ','))
		texture_address(parser, operand);
	adsm_ptx_expect(lexer, ']', "\"]\" is expected at the end of an address");
}

void adsm_ptx_read_operand(struct adsm_ptx_parser *parser, struct adsm_ptx_operand *operand)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;

	if (lexer->kind == '[') {
		memory(parser, operand);
	} else if (lexer->kind == '{') {
		elements(parser, operand, '}');
		operand->kind = ADSM_PTX_OP_VECTOR;
	} else {
		scalar(parser, operand, true);
	}
	if (lexer->kind == '|') {
		struct adsm_ptx_operand *pair = adsm_ptx_get(parser, 2, sizeof(*pair));

		if (operand->kind != ADSM_PTX_OP_REGISTER && operand->kind != ADSM_PTX_OP_SINK &&
		    operand->kind != ADSM_PTX_OP_VECTOR)
			adsm_ptx_fail_token(lexer, "two destinations d|p are registers or _");
		adsm_ptx_next(lexer);
		pair[0] = *operand;
		scalar(parser, &pair[1], false);
		if (pair[1].kind != ADSM_PTX_OP_REGISTER && pair[1].kind != ADSM_PTX_OP_SINK)
			adsm_ptx_fail_token(lexer, "the second destination before this is no register");
		*operand = (struct adsm_ptx_operand){ .kind = ADSM_PTX_OP_PAIR, .n = 2, .elements = pair };
	}
}

void adsm_ptx_read_list(struct adsm_ptx_parser *parser, struct adsm_ptx_operand *operand)
{
	operand->kind = ADSM_PTX_OP_LIST;
	elements(parser, operand, ')');
}

void adsm_ptx_name_label(struct adsm_ptx_parser *parser, struct adsm_ptx_name *name, int line,
			 struct adsm_ptx_operand *operand)
{
	operand->kind = ADSM_PTX_OP_LABEL;
	adsm_ptx_wait(parser, &parser->labels[parser->names.depth], name, line, operand);
}

void adsm_ptx_read_predicate(struct adsm_ptx_parser *parser, struct adsm_ptx_operand *operand)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	const struct adsm_ptx_register *registers;
	struct adsm_ptx_binding *binding;
	struct adsm_ptx_name *name;

	operand->negated = adsm_ptx_accept(lexer, '!');
	if (lexer->kind != ADSM_PTX_NAME)
		adsm_ptx_fail_token(lexer, "a register of type .pred is expected");
	name = adsm_ptx_word(parser);
	binding = adsm_ptx_resolve(parser, name);
	registers = (const struct adsm_ptx_register *)(const void *)parser->registers.items;
	if (!binding || binding->meaning != ADSM_PTX_MEANS_REGISTER || registers[binding->reg].type != ADSM_PTX_pred)
		adsm_ptx_fail_token(lexer, "this is no register of type .pred");
	operand->kind = ADSM_PTX_OP_REGISTER;
	operand->reg = binding->reg;
	adsm_ptx_next(lexer);
}
