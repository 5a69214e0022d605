/* SPDX-License-Identifier: MIT */
/* adsmcc_object.h - what a compiler made, before it is linked: sections, symbols, and what is to be filled in. */
#ifndef ADSMCC_OBJECT_H
#define ADSMCC_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "adsmcc_text.h"

struct object_symbol {
	const char *name;
	uint32_t section;		/* 0: not in this object */
	uint64_t value, size;
	bool function, local, exported;	/* exported: whoever loads the code may call it */
};

struct object_relocation {
	uint64_t offset;
	uint32_t type, symbol;
	int64_t addend;
};

struct object_section {
	const char *name;
	uint64_t align, size;
	uint8_t *bytes;			/* a copy; NULL where there are none: zeroes */
	bool kept, code, writable;	/* kept: it is in memory when the code runs */
	struct object_relocation *relocations;
	size_t n_relocations;
};

struct object {
	uint32_t machine;		/* of ELF */
	struct object_section *sections;
	size_t n_sections;
	struct object_symbol *symbols;
	size_t n_symbols;
};

/* Read what @bytes have, a relocatable ELF file of 64 bits; what is wrong with it ends adsmcc. */
struct object read_object(const struct text *bytes);
/* The function whose code this is, for messages; "?" where no symbol says so. */
const char *object_function_at(const struct object *object, uint32_t section, uint64_t offset);

#endif
