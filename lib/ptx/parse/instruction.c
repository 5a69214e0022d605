/* SPDX-License-Identifier: MIT */
/* instruction.c - see instruction.h. */
#include "instruction.h"
#include "declare.h"
#include "operand.h"

/* What an instruction without operands has. */
static struct adsm_ptx_operand no_operands[ADSM_PTX_OPERANDS];

/* Some spaces have variants that mean the same on the devices that the library supports. */
static struct adsm_ptx_name *modifier(struct adsm_ptx_parser *parser)
{
	static const struct { const char *text, *is; } same[] = {
		{ "shared::cta", "shared" }, { "param::entry", "param" }, { "param::func", "param" },
	};
	struct adsm_ptx_name *name = adsm_ptx_word(parser);

	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		if (strcmp(name->text, same[i].text))
			continue;
		name = adsm_ptx_name(&parser->names, same[i].is, strlen(same[i].is));
		if (!name)
			adsm_ptx_fail_memory(&parser->lexer);
	}
	return name;
}

static void read_modifiers(struct adsm_ptx_parser *parser, struct adsm_ptx_instruction *instruction)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	const char *modifiers[ADSM_PTX_MODIFIERS];
	uint32_t n = 0;

	instruction->vector = 1;
	while (lexer->kind == ADSM_PTX_DOT) {
		const struct adsm_ptx_name *name = modifier(parser);
		const char *text = name->text;

		if (n == ADSM_PTX_MODIFIERS)
			adsm_ptx_fail_token(lexer, "an instruction has at most %d modifiers", ADSM_PTX_MODIFIERS);
		modifiers[n++] = text;
		if (name->type) {
			if (instruction->n_types == sizeof(instruction->types) / sizeof(*instruction->types))
				adsm_ptx_fail_token(lexer, "an instruction has at most four types");
			instruction->types[instruction->n_types++] = name->type;
		} else if (name->space && !instruction->space) {
			instruction->space = name->space;
		} else if (text[0] == 'v' && strchr("248", text[1]) && text[1] && !text[2]) {
			instruction->vector = (uint32_t)(text[1] - '0');
		}
		adsm_ptx_next(lexer);
	}
	instruction->n_modifiers = n;
	if (n) {
		instruction->modifiers = adsm_ptx_get(parser, n, sizeof(*modifiers));
		memcpy(instruction->modifiers, modifiers, n * sizeof(*modifiers));
	}
}

void adsm_ptx_name_function(struct adsm_ptx_parser *parser, struct adsm_ptx_name *name, int line,
			    struct adsm_ptx_operand *operand)
{
	const struct adsm_ptx_binding *binding = adsm_ptx_resolve(parser, name);

	operand->kind = ADSM_PTX_OP_FUNCTION;
	if (!binding)
		adsm_ptx_wait(parser, &parser->pending, name, line, operand);
	else if (binding->meaning == ADSM_PTX_MEANS_FUNCTION)
		operand->function = binding->function;
	else
		adsm_ptx_fail(&parser->lexer, line, "\"%.200s\" is no function", name->text);
}

/* The callee's name, or the register with its address. */
static void read_callee(struct adsm_ptx_parser *parser, struct adsm_ptx_operand *operand)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	const struct adsm_ptx_binding *binding;
	struct adsm_ptx_name *name;

	if (lexer->kind != ADSM_PTX_NAME)
		adsm_ptx_fail_token(lexer, "the name of a function is expected");
	name = adsm_ptx_word(parser);
	binding = adsm_ptx_resolve(parser, name);
	if (binding && binding->meaning == ADSM_PTX_MEANS_REGISTER) {
		adsm_ptx_read_operand(parser, operand);
		return;
	}
	adsm_ptx_name_function(parser, name, lexer->token_line, operand);
	adsm_ptx_next(lexer);
}

/* What a call through a register may call: the name of .calltargets or .callprototype. */
static void read_prototype(struct adsm_ptx_parser *parser, struct adsm_ptx_instruction *instruction)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	const struct adsm_ptx_binding *binding = NULL;

	if (lexer->kind == ADSM_PTX_NAME)
		binding = adsm_ptx_resolve(parser, adsm_ptx_word(parser));
	if (binding && binding->meaning == ADSM_PTX_MEANS_PROTOTYPE) {
		instruction->prototype = binding->function;
	} else if (binding && binding->meaning == ADSM_PTX_MEANS_TARGETS && binding->targets->of_call) {
		instruction->targets = binding->targets->list;
		instruction->n_targets = binding->targets->n;
	} else {
		adsm_ptx_fail_token(lexer, "the name of a .callprototype or of .calltargets is expected");
	}
	adsm_ptx_next(lexer);
}

/* call (results), callee, (arguments), prototype; each list and the prototype may be left out. */
static void read_call(struct adsm_ptx_parser *parser, struct adsm_ptx_instruction *instruction)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	struct adsm_ptx_operand *operands = instruction->operands;

	instruction->n = 3;
	operands[0].kind = operands[2].kind = ADSM_PTX_OP_LIST;
	if (lexer->kind == '(') {
		adsm_ptx_read_list(parser, &operands[0]);
		adsm_ptx_expect(lexer, ',', "\",\" is expected after the results of a call");
	}
	read_callee(parser, &operands[1]);
	if (lexer->kind == ',') {
		adsm_ptx_next(lexer);
		if (lexer->kind == '(') {
			adsm_ptx_read_list(parser, &operands[2]);
			if (adsm_ptx_accept(lexer, ','))
				read_prototype(parser, instruction);
		} else {
			read_prototype(parser, instruction);
		}
	}
	if (operands[1].kind == ADSM_PTX_OP_REGISTER && !instruction->prototype && !instruction->targets)
		adsm_ptx_fail_token(lexer, "a call through a register ends with the name of a .callprototype or of "
				    ".calltargets");
}

/* The label of a branch. */
static void read_target(struct adsm_ptx_parser *parser, struct adsm_ptx_operand *operand)
{
	if (parser->lexer.kind != ADSM_PTX_NAME)
		adsm_ptx_fail_token(&parser->lexer, "the name of a label is expected");
	adsm_ptx_name_label(parser, adsm_ptx_word(parser), parser->lexer.token_line, operand);
	adsm_ptx_next(&parser->lexer);
}

/* brx.idx register, targets; */
static void read_indexed_branch(struct adsm_ptx_parser *parser, struct adsm_ptx_instruction *instruction)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	const struct adsm_ptx_binding *binding = NULL;

	instruction->n = 1;
	adsm_ptx_read_operand(parser, &instruction->operands[0]);
	adsm_ptx_expect(lexer, ',', "\",\" is expected after the index of brx.idx");
	if (lexer->kind == ADSM_PTX_NAME)
		binding = adsm_ptx_resolve(parser, adsm_ptx_word(parser));
	if (!binding || binding->meaning != ADSM_PTX_MEANS_TARGETS || binding->targets->of_call)
		adsm_ptx_fail_token(lexer, "the name of .branchtargets is expected, which stand before brx.idx");
	instruction->targets = binding->targets->list;
	instruction->n_targets = binding->targets->n;
	adsm_ptx_next(lexer);
}

static void read_operands(struct adsm_ptx_parser *parser, struct adsm_ptx_instruction *instruction)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;

	do {
		if (instruction->n == ADSM_PTX_OPERANDS)
			adsm_ptx_fail_token(lexer, "an instruction has at most %d operands", ADSM_PTX_OPERANDS);
		adsm_ptx_read_operand(parser, &instruction->operands[instruction->n++]);
	} while (adsm_ptx_accept(lexer, ','));
}

/* Instructions whose address and number of operands others count on. */
static void check_shape(struct adsm_ptx_parser *parser, const struct adsm_ptx_instruction *instruction)
{
	static const struct { const char *opcode; uint32_t least, address; } shapes[] = {
		{ "ld", 2, 1 }, { "ldu", 2, 1 }, { "st", 2, 0 }, { "atom", 3, 1 }, { "red", 2, 0 },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		if (strcmp(instruction->opcode, shapes[i].opcode))
			continue;
		if (instruction->n < shapes[i].least ||
		    instruction->operands[shapes[i].address].kind != ADSM_PTX_OP_MEMORY)
			adsm_ptx_fail(&parser->lexer, instruction->line, "\"%s\" has at least %u operands, and operand "
				      "%u is an address in brackets", instruction->opcode, shapes[i].least,
				      shapes[i].address + 1);
	}
}

void adsm_ptx_read_instruction(struct adsm_ptx_parser *parser, const struct adsm_ptx_name *opcode, int line,
			       const struct adsm_ptx_operand *guard)
{
	struct adsm_ptx_instruction *added;
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	struct adsm_ptx_instruction instruction = {
		.opcode = opcode->text, .guard = *guard, .line = line, .file = parser->file,
		.source_line = parser->source_line, .operands = no_operands,
	};
	const bool is_branch = !strcmp(opcode->text, "bra"), is_indexed = !strcmp(opcode->text, "brx");
	const bool is_call = !strcmp(opcode->text, "call");

	read_modifiers(parser, &instruction);
	if (lexer->kind != ';' || is_branch || is_indexed || is_call)
		instruction.operands = adsm_ptx_get(parser, ADSM_PTX_OPERANDS, sizeof(*instruction.operands));
	if (is_branch) {
		instruction.n = 1;
		read_target(parser, instruction.operands);
	} else if (is_indexed) {
		read_indexed_branch(parser, &instruction);
	} else if (is_call) {
		read_call(parser, &instruction);
	} else if (lexer->kind != ';') {
		read_operands(parser, &instruction);
	}
	if (lexer->kind != ';')
		adsm_ptx_fail_token(lexer, "\",\" or \";\" is expected in or after the instruction \"%.40s\"",
				    opcode->text);
	adsm_ptx_next(lexer);
	check_shape(parser, &instruction);
	added = adsm_ptx_add(parser, &parser->instructions, sizeof(instruction));
	*added = instruction;
}
