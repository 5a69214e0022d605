/* SPDX-License-Identifier: MIT */
/*
 * adsmcc_variables.c - the variables of a module that its kernels may change, of which each node of a cluster has its
 * own. They are found in what the compiler has made: it has put into memory for reading only what nothing changes.
 */
#include "adsmcc_variables.h"

#include <ctype.h>
#include <elf.h>
#include <string.h>

#include "adsmcc_tokens.h"

#define SEPARATOR ", "

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
		!starts(name, ".tm_clone_table");
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

/* Is the token in a statement that says that it is static, or of each thread? */
static bool is_declared(size_t i)
{
	for (; i && !is(i - 1, ";") && !is(i - 1, "{") && !is(i - 1, "}"); i--) {
		if (is(i - 1, "static") || is(i - 1, "_Thread_local") || is(i - 1, "__thread"))
			return true;
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

struct text find_variables(const struct text *module, const struct text *source)
{
	const Elf64_Ehdr *elf = at(module, 0, sizeof(*elf));
	const Elf64_Shdr *sections = at(module, elf->e_shoff, elf->e_shnum * sizeof(*sections)), *table = NULL;
	const char *section_names = at(module, sections[elf->e_shstrndx].sh_offset, 0), *names;
	const Elf64_Sym *symbols;
	struct text variables = { 0 };
	const char *file = "";		/* that a local symbol is from */

	text_add(&variables, "", 0);
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
		    starts(name, "adsm_") || starts(name, "__") || !is_own(file, name))
			continue;
		text_print(&variables, "%s%s", variables.size ? SEPARATOR : "", name);
	}
	return variables;
}

void warn_variables(const struct text *variables)
{
	char *rest = format_string("%s", variables->bytes);

	while (*rest) {
		const size_t length = strcspn(rest, SEPARATOR);
		const char *name = format_string("%.*s", (int)length, rest);
		const long i = find_declaration(name);

		warning_at(i < 0 ? NULL : tokens[i].file, i < 0 ? 0 : tokens[i].file_size, i < 0 ? 0 : tokens[i].line,
			   "kernels may change the variable '%s': each node of a cluster has its own, so clusters of "
			   "several nodes refuse this module; keep its data in an object", name);
		rest += length;
		rest += strspn(rest, SEPARATOR);
	}
}
