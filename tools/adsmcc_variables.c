/* SPDX-License-Identifier: MIT */
/*
 * adsmcc_variables.c - finds the variables of a module that its kernels may change. (Each node of a cluster has its own
 * copy of such a variable.) They are found in the compiled module: the compiler puts variables that no code changes
 * into read-only memory. For const variables it knows that in more cases. So each variable that is left is declared
 * const for a test, and the module is compiled again.
 */

#include <ctype.h>
#include <elf.h>
#include <string.h>

#include "adsmcc_source.h"

/* The section of variables with ADSM_PER_NODE. */
#define PER_NODE "adsm_per_node"

static const void *at(const struct text *module, uint64_t offset, uint64_t size)
{
	if (offset > module->size || size > module->size - offset)
		die("the C compiler's module ends too early");
	return module->bytes + offset;
}

/* Is the section's memory still writable after the module was loaded? */
static bool is_writable(const Elf64_Shdr *section, const char *name)
{
	return (section->sh_flags & SHF_WRITE) && (section->sh_flags & SHF_ALLOC) && !starts(name, ".data.rel.ro") &&
		(section->sh_type == SHT_PROGBITS || section->sh_type == SHT_NOBITS) && !starts(name, ".got") &&
		!starts(name, ".tm_clone_table") && !starts(name, PER_NODE);
}

/*
 * The variable's name in the source. For a static variable in a function, gcc adds a number, as in "count.1". Clang
 * puts the function's name before it, as in "kernel.count".
 */
static const char *written_name(const char *name)
{
	char *copy = format_string("%s", name), *part, *found = copy;

	for (char *rest = copy; (part = strsep(&rest, "."));) {
		if (!isdigit((unsigned char)*part))
			found = part;
	}
	return found;
}

/* The opening brace of the closing brace at @i; 0: there is none. */
static size_t find_opening(size_t i)
{
	const size_t behind = i + 1;

	while (i && (!is(i, "{") || skip_group(i) != behind))
		i--;
	return i;
}

static bool is_type_body(size_t i)
{
	static const char *const words[] = { "struct", "union", "enum" };

	for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
		if ((i >= 1 && is(i - 1, words[k])) || (i >= 2 && is(i - 2, words[k])))
			return true;
	return false;
}

/* Is the token in a declaration with static or thread-local storage? */
static bool is_declared(size_t i)
{
	while (i && !is(i - 1, ";") && !is(i - 1, "{")) {
		if (is(i - 1, "static") || is(i - 1, "_Thread_local") || is(i - 1, "__thread"))
			return true;
		i--;
		if (is(i, "}")) {
			i = find_opening(i);
			if (!is_type_body(i))
				return false;
		}
	}
	return false;
}

/* The token that declares a variable, or else the first one with its name. -1: none; a macro may have made the name. */
static long find_declaration(const char *name)
{
	long first = -1;

	for (size_t i = 0; !is_end(i); i++) {
		if (!is(i, name))
			continue;
		if (is_declared(i))
			return (long)i;
		if (first < 0)
			first = (long)i;
	}
	return first;
}

/*
 * Is the variable from the source, and not from files that the C compiler adds? The compiler names the source "<stdin>"
 * or "-", because it reads it from standard input. For symbols that are not static, no file is known.
 */
static bool is_own(const char *file, const char *name)
{
	return !strcmp(file, "<stdin>") || !strcmp(file, "-") || (!*file && find_declaration(name) >= 0);
}

struct list find_variables(const struct text *module, const struct text *source)
{
	const Elf64_Ehdr *elf = at(module, 0, sizeof(*elf));
	const Elf64_Shdr *sections = at(module, elf->e_shoff, elf->e_shnum * sizeof(*sections)), *table = NULL;
	const char *section_names = at(module, sections[elf->e_shstrndx].sh_offset, 0), *names;
	const Elf64_Sym *symbols;
	struct list variables = { 0 };
	const char *file = "";		/* the source of the local symbols that follow */

	tokenize(source->bytes);
	for (unsigned i = 0; i < elf->e_shnum && !table; i++)
		table = sections[i].sh_type == SHT_SYMTAB ? &sections[i] : NULL;
	if (!table)
		return variables;
	symbols = at(module, table->sh_offset, table->sh_size);
	names = at(module, sections[table->sh_link].sh_offset, 0);
	for (size_t i = 0; i < table->sh_size / sizeof(*symbols); i++) {
		const Elf64_Sym *symbol = &symbols[i];
		const unsigned type = ELF64_ST_TYPE(symbol->st_info);
		const char *name = written_name(names + symbol->st_name);

		if (type == STT_FILE)
			file = names + symbol->st_name;
		if ((type != STT_OBJECT && type != STT_TLS) || !symbol->st_size || symbol->st_shndx >= elf->e_shnum ||
		    !is_writable(&sections[symbol->st_shndx], section_names + sections[symbol->st_shndx].sh_name) ||
		    starts(name, "adsm_") || starts(name, "__") || !is_own(file, name) || list_has(&variables, name))
			continue;
		list_add(&variables, name);
	}
	return variables;
}

/* May the name at @i be the one that a declaration declares? */
static bool is_declarator(size_t i)
{
	static const char *const behind[] = { "[", "=", ";", ",", ")", "__attribute__" };

	if (!i || !(tokens[i - 1].word || is(i - 1, "*") || is(i - 1, "}") || is(i - 1, ")")))
		return false;
	for (size_t k = 0; k < sizeof(behind) / sizeof(behind[0]); k++)
		if (is(i + 1, behind[k]))
			return true;
	return false;
}

bool make_constant(struct text *out, const struct text *source, const char *name)
{
	const char *copied = source->bytes;
	long first;

	if (strstr(source->bytes, "diagnostic") || strstr(source->bytes, "system_header"))
		return false;	/* it hides warnings */
	tokenize(source->bytes);
	first = find_declaration(name);
	for (size_t i = 0; first >= 0 && !is_end(i); i++) {
		if (!is(i, name) || !is_declarator(i) || ((long)i != first && !is_declared(i)))
			continue;
		text_add(out, copied, (size_t)(tokens[i].start - copied));
		text_print(out, " const ");
		copied = tokens[i].start;
	}
	text_add(out, copied, (size_t)(source->bytes + source->size - copied));
	return copied != source->bytes;
}

void warn_variables(const struct list *variables)
{
	for (size_t k = 0; k < variables->n; k++) {
		const long i = find_declaration(variables->items[k]);

		warning_at(i < 0 ? NULL : tokens[i].file, i < 0 ? 0 : tokens[i].file_size, i < 0 ? 0 : tokens[i].line,
			   "kernels may change the variable '%s'; each node of a cluster has its own copy: clusters of "
			   "several nodes refuse this module; keep the data in an object, declare the variable const "
			   "if nothing changes it, or ADSM_PER_NODE if the copies may differ", variables->items[k]);
	}
}

void refuse_variable(const char *symbol, bool in_module)
{
	const char *name = written_name(symbol);
	const long i = find_declaration(name);

	if (i < 0)
		die("'%s' is a static variable: loaded code can only have constants", symbol);
	/* In other modules the variable would be in device memory. */
	error_at(tokens[i].file, tokens[i].file_size, tokens[i].line,
		 "'%s' is a static variable: loaded code can only have constants; %s", name, in_module ?
		 "in a module with tasks, code in partitions cannot use such a variable: keep the data in an object" :
		 "pass the variable's address as an argument, or make a module (--scratchpad), where the variable is "
		 "in device memory");
}
