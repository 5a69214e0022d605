/* SPDX-License-Identifier: MIT */
/* adsmcc_object.c - reads a relocatable object file. */
#include "adsmcc_link.h"

#include <elf.h>
#include <string.h>

/* The bytes of the object file. */
static const struct text *file;

static const void *at(uint64_t offset, uint64_t size)
{
	if (offset > file->size || size > file->size - offset)
		die("the compiler's object file ends too early");
	return file->bytes + offset;
}

static const Elf64_Shdr *header_of(const Elf64_Ehdr *elf, uint64_t section)
{
	if (section >= elf->e_shnum)
		die("the compiler's object file refers to a section that does not exist");
	return (const Elf64_Shdr *)at(elf->e_shoff, elf->e_shnum * sizeof(Elf64_Shdr)) + section;
}

/* A string in a section of strings, which must end with 0. */
static const char *string_at(const Elf64_Shdr *strings, uint64_t offset)
{
	const char *p = at(strings->sh_offset, strings->sh_size);

	if (offset >= strings->sh_size || p[strings->sh_size - 1])
		die("the compiler's object file has a name without an end");
	return p + offset;
}

static void read_symbols(struct object *object, const Elf64_Ehdr *elf, const Elf64_Shdr *table)
{
	const Elf64_Sym *symbols = at(table->sh_offset, table->sh_size);

	object->n_symbols = table->sh_size / sizeof(*symbols);
	object->symbols = grow(NULL, (object->n_symbols + 1) * sizeof(*object->symbols));
	for (size_t i = 0; i < object->n_symbols; i++) {
		const Elf64_Sym *from = &symbols[i];
		const bool own = from->st_shndx != SHN_UNDEF && from->st_shndx < SHN_LORESERVE;

		object->symbols[i] = (struct object_symbol) {
			.name = string_at(header_of(elf, table->sh_link), from->st_name),
			.section = own ? from->st_shndx : 0, .value = from->st_value, .size = from->st_size,
			.function = ELF64_ST_TYPE(from->st_info) == STT_FUNC,
			.local = ELF64_ST_BIND(from->st_info) == STB_LOCAL,
			.exported = own && ELF64_ST_BIND(from->st_info) != STB_LOCAL &&
				ELF64_ST_VISIBILITY(from->st_other) == STV_DEFAULT,
		};
		if (own && from->st_shndx >= elf->e_shnum)
			die("the compiler's object file has a symbol outside of all sections");
		if (from->st_shndx == SHN_COMMON)
			die("'%s' is a variable without an initializer: add one, or declare the variable extern",
			    object->symbols[i].name);
	}
}

static void read_relocations(struct object *object, const Elf64_Shdr *table)
{
	const Elf64_Rela *from = at(table->sh_offset, table->sh_size);
	struct object_section *section;

	if (table->sh_info >= object->n_sections)
		die("the compiler's object file has relocations for a section that does not exist");
	section = &object->sections[table->sh_info];
	section->n_relocations = table->sh_size / sizeof(*from);
	section->relocations = grow(NULL, (section->n_relocations + 1) * sizeof(*section->relocations));
	for (size_t i = 0; i < section->n_relocations; i++) {
		section->relocations[i] = (struct object_relocation) {
			.offset = from[i].r_offset, .type = (uint32_t)ELF64_R_TYPE(from[i].r_info),
			.symbol = (uint32_t)ELF64_R_SYM(from[i].r_info), .addend = from[i].r_addend,
		};
		if (section->relocations[i].symbol >= object->n_symbols || from[i].r_offset > section->size ||
		    section->size - from[i].r_offset < 4)
			die("the compiler's object file has an invalid relocation");
	}
}

static void read_section(struct object_section *section, const Elf64_Ehdr *elf, const Elf64_Shdr *from)
{
	*section = (struct object_section) {
		.name = string_at(header_of(elf, elf->e_shstrndx), from->sh_name),
		.align = from->sh_addralign ? from->sh_addralign : 1, .size = from->sh_size,
		.kept = from->sh_flags & SHF_ALLOC, .code = from->sh_flags & SHF_EXECINSTR,
		.writable = from->sh_flags & SHF_WRITE,
	};
	if (from->sh_type == SHT_NOBITS || !section->kept)
		return;
	section->bytes = grow(NULL, section->size + 1);
	memcpy(section->bytes, at(from->sh_offset, from->sh_size), section->size);
}

struct object read_object(const struct text *bytes)
{
	const Elf64_Ehdr *elf;
	struct object object = { 0 };

	file = bytes;
	elf = at(0, sizeof(*elf));
	if (memcmp(elf->e_ident, ELFMAG, SELFMAG) || elf->e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf->e_ident[EI_DATA] != ELFDATA2LSB || elf->e_type != ET_REL || elf->e_shentsize != sizeof(Elf64_Shdr))
		die("the compiler did not write a 64-bit little-endian object file");
	object.machine = elf->e_machine;
	object.n_sections = elf->e_shnum;
	object.sections = grow(NULL, (object.n_sections + 1) * sizeof(*object.sections));
	for (size_t i = 0; i < object.n_sections; i++)
		read_section(&object.sections[i], elf, header_of(elf, i));
	for (size_t i = 0; i < object.n_sections; i++)
		if (header_of(elf, i)->sh_type == SHT_SYMTAB)
			read_symbols(&object, elf, header_of(elf, i));
	for (size_t i = 0; i < object.n_sections; i++)
		if (header_of(elf, i)->sh_type == SHT_RELA)
			read_relocations(&object, header_of(elf, i));
	return object;
}

const char *object_function_at(const struct object *object, uint32_t section, uint64_t offset)
{
	const char *name = "?";

	for (size_t i = 0; i < object->n_symbols; i++) {
		const struct object_symbol *symbol = &object->symbols[i];

		if (symbol->function && symbol->section == section && offset - symbol->value < symbol->size)
			name = symbol->name;
	}
	return name;
}
