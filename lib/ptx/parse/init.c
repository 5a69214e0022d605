/* SPDX-License-Identifier: MIT */
/* init.c - see init.h. */
#include "init.h"
#include "constant.h"

struct reader {
	struct adsm_ptx_parser *parser;
	const struct adsm_ptx_variable *variable;
	uint64_t rooms[ADSM_PTX_DIMENSIONS + 2];	/* elements inside of braces, by their depth */
	size_t depth;			/* of braces, at most */
};

static void add(struct reader *reader, struct adsm_ptx_init init)
{
	*(struct adsm_ptx_init *)adsm_ptx_add(reader->parser, &reader->parser->inits, sizeof(init)) = init;
}

/* name, name + 8, generic(name) + 8 */
static struct adsm_ptx_init address(struct adsm_ptx_parser *parser)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	struct adsm_ptx_init init = { 0 };
	struct adsm_ptx_name *name;

	if (lexer->kind != ADSM_PTX_NAME)
		adsm_ptx_fail_token(lexer, "a number or a name is expected in the initialiser");
	name = adsm_ptx_word(parser);
	adsm_ptx_next(lexer);
	if (lexer->kind == '(' && !strcmp(name->text, "generic")) {
		adsm_ptx_next(lexer);
		if (lexer->kind != ADSM_PTX_NAME)
			adsm_ptx_fail_token(lexer, "the name of a variable is expected after \"generic(\"");
		name = adsm_ptx_word(parser);
		adsm_ptx_wait(parser, &parser->pending, name, lexer->token_line, NULL);
		adsm_ptx_next(lexer);
		if (lexer->kind == '+' || lexer->kind == '-')
			init.bits = adsm_ptx_integer(lexer);
		adsm_ptx_expect(lexer, ')', "\")\" is expected after generic(name");
		init.generic = true;
	} else {
		adsm_ptx_wait(parser, &parser->pending, name, lexer->token_line, NULL);
	}
	if (lexer->kind == '+' || lexer->kind == '-')
		init.bits += adsm_ptx_integer(lexer);
	init.symbol = name->text;
	return init;
}

/* 0xFF00(address) is one byte of it. */
static struct adsm_ptx_init masked(struct reader *reader, uint64_t mask, int line)
{
	struct adsm_ptx_lexer *lexer = &reader->parser->lexer;
	struct adsm_ptx_init init;
	int byte = 0;

	while (byte < 8 && mask != UINT64_C(0xff) << byte * 8)
		byte++;
	if (byte == 8)
		adsm_ptx_fail(lexer, line, "the mask %#llx is not one byte, such as 0xFF00",
			      (unsigned long long)mask);
	if (adsm_ptx_size(reader->variable->type) != 1)
		adsm_ptx_fail(lexer, line, "a mask gives one byte, and an element of type .%s has %u",
			      adsm_ptx_type_name(reader->variable->type), adsm_ptx_size(reader->variable->type));
	adsm_ptx_expect(lexer, '(', "\"(\" is expected");
	if (adsm_ptx_at_constant(lexer)) {
		init = (struct adsm_ptx_init){ .bits = (adsm_ptx_integer(lexer) & mask) >> byte * 8 };
	} else {
		init = address(reader->parser);
		init.mask = mask;
	}
	adsm_ptx_expect(lexer, ')', "\")\" is expected at the end of a masked address");
	return init;
}

static void element(struct reader *reader)
{
	struct adsm_ptx_lexer *lexer = &reader->parser->lexer;
	const enum adsm_ptx_type type = reader->variable->type;
	const int line = lexer->token_line;

	if (adsm_ptx_at_constant(lexer)) {
		const struct adsm_ptx_constant constant = adsm_ptx_constant(lexer);

		if (lexer->kind == '(' && constant.kind == ADSM_PTX_OP_INTEGER)
			add(reader, masked(reader, constant.bits, line));
		else
			add(reader, (struct adsm_ptx_init){ .bits = adsm_ptx_convert(lexer, constant, type, line) });
		return;
	}
	add(reader, address(reader->parser));
	if (adsm_ptx_size(type) != 8 || type == ADSM_PTX_f64)
		adsm_ptx_fail(lexer, line, "an element of type .%s cannot be an address: .u64 can",
			      adsm_ptx_type_name(type));
}

static void pad(struct reader *reader, uint64_t n, int line)
{
	/* Without a limit, a short text would need much memory. */
	if (n > reader->parser->text_size - reader->parser->padding)
		adsm_ptx_fail(&reader->parser->lexer, line, "the initialiser of \"%s\" leaves out %llu elements: write "
			      "them as 0", reader->variable->name, (unsigned long long)n);
	reader->parser->padding += n;
	while (n--)
		add(reader, (struct adsm_ptx_init){ 0 });
}

static void braces(struct reader *reader, size_t depth)
{
	struct adsm_ptx_lexer *lexer = &reader->parser->lexer;
	const size_t first = reader->parser->inits.n;
	const uint64_t room = reader->rooms[depth];
	const int line = lexer->token_line;

	adsm_ptx_expect(lexer, '{', "\"{\" is expected before an initialiser");
	while (lexer->kind != '}') {
		if (lexer->kind == '{' && depth + 1 < reader->depth)
			braces(reader, depth + 1);
		else
			element(reader);
		if (reader->parser->inits.n - first > room)
			adsm_ptx_fail(lexer, line, "the initialiser has more than %llu elements between { and }",
				      (unsigned long long)room);
		if (!adsm_ptx_accept(lexer, ','))
			break;
	}
	adsm_ptx_expect(lexer, '}', "\",\" or \"}\" is expected in the initialiser");
	if (depth)
		pad(reader, room - (reader->parser->inits.n - first), line);
}

void adsm_ptx_read_init(struct adsm_ptx_parser *parser, struct adsm_ptx_variable *variable, uint64_t *sizes, size_t n)
{
	struct reader reader = { .parser = parser, .variable = variable, .depth = n + (variable->vector > 1) };
	const size_t first = parser->inits.n;
	uint64_t room = variable->vector;

	if (variable->space != ADSM_PTX_GLOBAL && variable->space != ADSM_PTX_CONST)
		adsm_ptx_fail_token(&parser->lexer, "only variables of .global and .const have initialisers");
	if (variable->type >= ADSM_PTX_texref)
		adsm_ptx_fail_token(&parser->lexer, "initialisers of textures and samplers are not supported");
	if (variable->vector > 1)
		reader.rooms[n] = room;
	for (size_t i = n; i-- > 0;) {
		if ((!i && !sizes[0]) || __builtin_mul_overflow(room, sizes[i], &room))
			room = UINT64_MAX;
		reader.rooms[i] = room;
	}
	if (reader.depth)
		braces(&reader, 0);
	else
		element(&reader);
	variable->n_init = parser->inits.n - first;
	if (n && !sizes[0]) {
		const uint64_t row = n > 1 ? reader.rooms[1] : variable->vector;

		sizes[0] = row ? (variable->n_init + row - 1) / row : 0;
	}
	variable->init = adsm_ptx_take(parser, &parser->inits, first, sizeof(*variable->init));
}
