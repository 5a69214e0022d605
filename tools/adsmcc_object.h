/* SPDX-License-Identifier: MIT */
/* adsmcc_object.h - reads a relocatable object file: sections, symbols, relocations. */
#ifndef ADSMCC_OBJECT_H
#define ADSMCC_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "adsmcc_text.h"

struct object_symbol {
	const char *name;
	uint32_t section;		/* 0: not in this object */
	uint64_t value, size;
	bool function, local, exported;	/* exported: the program that loads the code may call it */
};

struct object_relocation {
	uint64_t offset;
	uint32_t type, symbol;
	int64_t addend;
};

struct object_section {
	const char *name;
	uint64_t align, size;
	uint8_t *bytes;			/* a copy; NULL: the file has no bytes, and all are 0 */
	bool kept, code, writable;	/* kept: the section is in memory when the code runs */
	struct object_relocation *relocations;
	size_t n_relocations;
};

struct object {
	uint32_t machine;		/* e_machine of the ELF header */
	struct object_section *sections;
	size_t n_sections;
	struct object_symbol *symbols;
	size_t n_symbols;
};

/* Read @bytes, a relocatable ELF file of 64 bits. adsmcc exits if it is invalid. */
struct object read_object(const struct text *bytes);
/* The function that contains this code, for messages; "?" if no symbol does. */
const char *object_function_at(const struct object *object, uint32_t section, uint64_t offset);

#endif
