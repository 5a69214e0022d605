/* SPDX-License-Identifier: MIT */
/* parse.c - the parser of PTX: the directives of a module. */
#include "constant.h"
#include "function.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#define OLDEST 30			/* .version 3.0 */
#define LARGEST ((size_t)1 << 30)	/* bytes of a text */
#define MOST_FILES 16384

/* .version 7.5 */
static void read_version(struct adsm_ptx_parser *parser)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	const char *text = lexer->text;

	if (lexer->kind != ADSM_PTX_NUMBER || lexer->length != 3 || !isdigit((unsigned char)text[0]) ||
	    text[1] != '.' || !isdigit((unsigned char)text[2]))
		adsm_ptx_fail_token(lexer, "a version, such as 7.5, is expected after .version");
	parser->module->version = (uint32_t)((text[0] - '0') * 10 + text[2] - '0');
	if (parser->module->version < OLDEST)
		adsm_ptx_fail_token(lexer, "this version of PTX is too old: 7.5 is supported");
	adsm_ptx_next(lexer);
}

/* .target sm_80, debug */
static void read_target(struct adsm_ptx_parser *parser)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;

	do {
		if (lexer->kind != ADSM_PTX_NAME)
			adsm_ptx_fail_token(lexer, "a target, such as sm_80, is expected");
		if (!strncmp(adsm_ptx_word(parser)->text, "sm_", 3))
			parser->module->target = adsm_ptx_word(parser)->text;
		else if (adsm_ptx_at(lexer, ADSM_PTX_NAME, "map_f64_to_f32"))
			adsm_ptx_fail_token(lexer, "this option is not supported: compile for sm_80");
		adsm_ptx_next(lexer);
	} while (adsm_ptx_accept(lexer, ','));
	if (!parser->module->target)
		adsm_ptx_fail_token(lexer, ".target names no processor, such as sm_80, before this");
}

/* .file 1 "name", time, size */
static void read_file(struct adsm_ptx_parser *parser)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	struct adsm_ptx_module *module = parser->module;
	const uint64_t index = adsm_ptx_literal(lexer, 0, MOST_FILES - 1, "the number of a file");

	if (lexer->kind != ADSM_PTX_STRING)
		adsm_ptx_fail_token(lexer, "the name of a file in quotes is expected");
	if (index >= module->n_files) {
		const uint64_t n = index + index / 2 + 8;
		const char **files = adsm_ptx_get(parser, n, sizeof(*files));

		if (module->n_files)
			memcpy(files, module->files, module->n_files * sizeof(*files));
		module->files = files;
		module->n_files = (uint32_t)n;
	}
	module->files[index] = adsm_ptx_word(parser)->text;
	adsm_ptx_next(lexer);
	while (adsm_ptx_accept(lexer, ','))
		adsm_ptx_literal(lexer, 0, UINT64_MAX, "a number after the name of a file");
}

/*
 * Debug information is not used. NVIDIA's compilers say there that they made the text. @window: the last bytes of the
 * section, in lower case.
 */
static void check_producer(struct adsm_ptx_parser *parser, char window[16], uint64_t byte, int line)
{
	static const char *const phrases[] = { "lgenfe: edg", "nvidia nvvm", "libnvvm" };

	memmove(window, window + 1, 15);
	window[15] = adsm_ptx_lower((char)(byte & 0xff));
	for (size_t i = 0; i < sizeof(phrases) / sizeof(*phrases); i++) {
		const size_t n = strlen(phrases[i]);

		if (!memcmp(window + 16 - n, phrases[i], n))
			adsm_ptx_fail_licence(&parser->lexer, line);
	}
}

/* .section .debug_str { ... } */
static void skip_section(struct adsm_ptx_parser *parser)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	const int line = lexer->token_line;
	char window[16] = { 0 };
	uint64_t depth = 0;
	bool bytes = false;

	if (lexer->kind != ADSM_PTX_DOT && lexer->kind != ADSM_PTX_NAME)
		adsm_ptx_fail_token(lexer, "the name of a section is expected");
	adsm_ptx_next(lexer);
	if (lexer->kind != '{')
		adsm_ptx_fail_token(lexer, "\"{\" of a section is expected");
	do {
		if (lexer->kind == ADSM_PTX_END)
			adsm_ptx_fail(lexer, line, "the section has no end, which is \"}\"");
		depth += lexer->kind == '{';
		depth -= lexer->kind == '}';
		if (lexer->kind == ADSM_PTX_DOT) {
			bytes = adsm_ptx_at(lexer, ADSM_PTX_DOT, "b8");
			adsm_ptx_next(lexer);
		} else if (bytes && lexer->kind == ADSM_PTX_NUMBER) {
			check_producer(parser, window, adsm_ptx_literal(lexer, 0, UINT64_MAX, "a byte"), line);
		} else {
			adsm_ptx_next(lexer);
		}
	} while (depth);
}

/* .alias name, function; */
static void read_alias(struct adsm_ptx_parser *parser)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	struct adsm_ptx_alias *alias = adsm_ptx_get(parser, 1, sizeof(*alias)), **last = &parser->aliases;

	for (int i = 0; i < 2; i++) {
		if (lexer->kind != ADSM_PTX_NAME)
			adsm_ptx_fail_token(lexer, "the name of a function is expected");
		*(i ? &alias->of : &alias->name) = adsm_ptx_word(parser);
		alias->line = lexer->token_line;
		adsm_ptx_next(lexer);
		adsm_ptx_expect(lexer, i ? ';' : ',', i ? "\";\" is expected after .alias" :
				"\",\" is expected after the first name of .alias");
	}
	if (parser->last_alias)
		last = &parser->last_alias->next;
	*last = parser->last_alias = alias;
}

static void read_item(struct adsm_ptx_parser *parser)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	struct adsm_ptx_linkage linkage;

	if (adsm_ptx_accept(lexer, ';'))
		return;
	if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "file")) {
		read_file(parser);
	} else if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "section")) {
		skip_section(parser);
	} else if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "pragma")) {
		adsm_ptx_read_pragma(parser);
	} else if (adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "alias")) {
		read_alias(parser);
	} else {
		linkage = adsm_ptx_linkage(parser);
		if (adsm_ptx_at(lexer, ADSM_PTX_DOT, "entry") || adsm_ptx_at(lexer, ADSM_PTX_DOT, "func"))
			adsm_ptx_read_function(parser, linkage);
		else if (adsm_ptx_at_declaration(parser))
			adsm_ptx_declare(parser, linkage);
		else
			adsm_ptx_fail_token(lexer, "a variable, a function or another directive of a module is "
					    "expected");
	}
}

/* An alias is a function with the body of another one. */
static void resolve_aliases(struct adsm_ptx_parser *parser)
{
	for (const struct adsm_ptx_alias *alias = parser->aliases; alias; alias = alias->next) {
		const struct adsm_ptx_binding *name = alias->name->binding, *of = alias->of->binding;
		const char *text = alias->name->text;
		int line;

		if (!name || name->meaning != ADSM_PTX_MEANS_FUNCTION || name->function->has_body)
			adsm_ptx_fail(&parser->lexer, alias->line, "the alias \"%.200s\" is not declared as a function "
				      "without a body", text);
		if (!of || of->meaning != ADSM_PTX_MEANS_FUNCTION || !of->function->has_body || of->function->is_entry)
			adsm_ptx_fail(&parser->lexer, alias->line, "\"%.200s\" is no function with a body, so it "
				      "cannot have an alias", alias->of->text);
		line = name->function->line;
		*name->function = *of->function;
		name->function->name = text;
		name->function->line = line;
	}
}

/* Names that were used before their declaration. */
static void resolve_pending(struct adsm_ptx_parser *parser)
{
	for (struct adsm_ptx_pending *p = parser->pending.first; p; p = p->next) {
		const struct adsm_ptx_binding *binding = adsm_ptx_resolve(parser, p->name);
		struct adsm_ptx_operand *operand = p->operand;

		if (!binding)
			adsm_ptx_fail(&parser->lexer, p->line, "\"%.200s\" is not declared", p->name->text);
		if (!operand)
			continue;
		if (operand->kind == ADSM_PTX_OP_FUNCTION && binding->meaning != ADSM_PTX_MEANS_FUNCTION)
			adsm_ptx_fail(&parser->lexer, p->line, "\"%.200s\" is no function", p->name->text);
		if (binding->meaning == ADSM_PTX_MEANS_FUNCTION) {
			operand->kind = ADSM_PTX_OP_FUNCTION;
			operand->function = binding->function;
		} else {
			operand->kind = ADSM_PTX_OP_VARIABLE;
			operand->variable = binding->variable;
		}
	}
}

static void note_address(const char *name)
{
	const struct adsm_ptx_binding *binding = adsm_ptx_name_of(name)->binding;

	if (binding && binding->meaning == ADSM_PTX_MEANS_FUNCTION)
		binding->function->has_address = true;
}

static void note_operands(const struct adsm_ptx_operand *operands, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (operands[i].kind == ADSM_PTX_OP_FUNCTION)
			note_address(operands[i].function->name);
		note_operands(operands[i].elements, operands[i].n);
	}
}

/* Find the functions whose address the module takes: not those that it only calls by their names. */
static void find_addresses(const struct adsm_ptx_module *module)
{
	for (uint32_t i = 0; i < module->n_variables; i++) {
		const struct adsm_ptx_variable *variable = module->variables[i];

		for (size_t j = 0; j < variable->n_init; j++) {
			if (variable->init[j].symbol)
				note_address(variable->init[j].symbol);
		}
	}
	for (uint32_t i = 0; i < module->n_functions; i++) {
		for (uint32_t j = 0; j < module->functions[i]->n; j++) {
			const struct adsm_ptx_instruction *instruction = &module->functions[i]->instructions[j];
			const bool is_call = adsm_ptx_is(instruction, "call");

			for (uint32_t k = 0; k < instruction->n; k++) {
				if (!is_call || k != 1)
					note_operands(&instruction->operands[k], 1);
			}
		}
	}
}

static void read_module(struct adsm_ptx_parser *parser)
{
	struct adsm_ptx_lexer *lexer = &parser->lexer;
	struct adsm_ptx_module *module = parser->module;

	adsm_ptx_next(lexer);
	if (!adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "version"))
		adsm_ptx_fail_token(lexer, "this is no PTX, which begins with .version");
	read_version(parser);
	if (!adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "target"))
		adsm_ptx_fail_token(lexer, ".target is expected after .version");
	read_target(parser);
	if (!adsm_ptx_accept_word(lexer, ADSM_PTX_DOT, "address_size"))
		adsm_ptx_fail_token(lexer, ".address_size 64 is expected after .target");
	if (adsm_ptx_integer(lexer) != 64)
		adsm_ptx_fail_token(lexer, "the addresses before this have another size than 64 bits, which is the "
				    "only one that is supported");
	while (lexer->kind != ADSM_PTX_END)
		read_item(parser);
	resolve_aliases(parser);
	resolve_pending(parser);
	module->n_variables = (uint32_t)parser->variables.n;
	module->variables = adsm_ptx_take(parser, &parser->variables, 0, sizeof(*module->variables));
	module->n_functions = (uint32_t)parser->functions.n;
	module->functions = adsm_ptx_take(parser, &parser->functions, 0, sizeof(*module->functions));
	find_addresses(module);
}

static void finish(struct adsm_ptx_parser *parser)
{
	struct adsm_ptx_vector *vectors[] = {
		&parser->variables, &parser->functions, &parser->instructions, &parser->registers, &parser->locals,
		&parser->parameters, &parser->inits, &parser->elements, &parser->words,
	};

	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++)
		adsm_ptx_vector_finish(vectors[i]);
	adsm_ptx_names_finish(&parser->names);
	free(parser);
}

static struct adsm_ptx_module *new_module(void)
{
	struct adsm_ptx_module *module = calloc(1, sizeof(*module));

	if (!module)
		return NULL;
	module->arena = calloc(1, sizeof(*module->arena));
	if (!module->arena) {
		free(module);
		return NULL;
	}
	return module;
}

static int run(struct adsm_ptx_parser *parser)
{
	if (setjmp(parser->lexer.failed))
		return parser->lexer.result;
	if (!parser->module || adsm_ptx_names_init(&parser->names, parser->module->arena))
		adsm_ptx_fail_memory(&parser->lexer);
	if (parser->text_size > LARGEST)
		adsm_ptx_fail(&parser->lexer, 0, "the text has more than %zu bytes", LARGEST);
	read_module(parser);
	return 0;
}

int adsm_ptx_parse(const char *text, size_t size, struct adsm_ptx_module **ret_module,
		   struct adsm_ptx_error *ret_error)
{
	struct adsm_ptx_parser *parser = calloc(1, sizeof(*parser));
	struct adsm_ptx_error error = { 0 };
	int result;

	if (!parser)
		return -ENOMEM;
	/* Images of modules end with zeros. */
	while (size && !text[size - 1])
		size--;
	parser->lexer = (struct adsm_ptx_lexer){ .at = text, .end = text + size, .line = 1, .error = &error };
	parser->text_size = size;
	parser->module = new_module();
	result = run(parser);
	if (result) {
		adsm_ptx_destroy(parser->module);
		*ret_error = error;
	} else {
		*ret_module = parser->module;
	}
	finish(parser);
	return result;
}
