/* SPDX-License-Identifier: MIT */
/*
 * adsmcc_variables.c - the variables of a module that its kernels may change, of which each node of a cluster has its
 * own. They are found in what the compiler has made: it has put into memory for reading only what it knows that nothing
 * changes. It knows more of what is const. So each variable that is left is made const, and the compiler tries again.
 */
#include "adsmcc_variables.h"

#include <ctype.h>
#include <elf.h>
#include <string.h>

#include "adsmcc_tokens.h"

/* Where ADSM_PER_NODE puts variables. */
#define PER_NODE "adsm_per_node"

static const void *at(const struct text *module, uint64_t offset, uint64_t size)
{
	if (offset > module->size || size > module->size - offset)
		die("the C compiler's module ends too early");
	return module->bytes + offset;
}

/* Memory that stays writable when the module has been loaded. */
static bool is_writable(const Elf64_Shdr *section, const char *name)
{
	return (section->sh_flags & SHF_WRITE) && (section->sh_flags & SHF_ALLOC) && !starts(name, ".data.rel.ro") &&
		(section->sh_type == SHT_PROGBITS || section->sh_type == SHT_NOBITS) && !starts(name, ".got") &&
		!starts(name, ".tm_clone_table") && !starts(name, PER_NODE);
}

/*
 * As it is called in the source: of a function's variable one compiler adds a number, "count.1", the other puts the
 * function's name before it, "kernel.count".
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

/* The bracket that the one at @i closes; 0: there is none. */
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

/* Is the token in a statement that says that it is static, or of each thread? */
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

/* The token where a variable is declared, or else is named first; -1: it is not, as with names that macros make. */
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
 * Is it the source's, and not one of what the C compiler adds? What it gets from standard input it names so. All that
 * was not static in some source is in one list, and of no file.
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
	const char *file = "";		/* that a local symbol is from */

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

/* Can the name at @i be what a declaration declares? */
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
			   "kernels may change the variable '%s': each node of a cluster has its own, so clusters of "
			   "several nodes refuse this module; keep its data in an object, declare it const where "
			   "nothing changes it, or ADSM_PER_NODE where each node may have its own",
			   variables->items[k]);
	}
}
