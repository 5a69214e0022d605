/* SPDX-License-Identifier: MIT */
/* adsmcc_reach.c - finds the sections of an object that an image needs, and the references between them. */
#include "adsmcc_link.h"
#include "adsmcc_source.h"

#include <stdarg.h>
#include <stdio.h>

void link_error(const struct link *link, uint32_t section, uint64_t offset, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "adsmcc: in %s(): ", object_function_at(&link->object, section, offset));
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	n_errors++;
}

enum reference_kind link_reference(const struct link *link, uint32_t section,
				   const struct object_relocation *relocation, uint32_t *ret_section,
				   int64_t *ret_offset)
{
	const struct object_symbol *symbol = &link->object.symbols[relocation->symbol];
	const enum reference_kind kind = machine_reference(link->object.machine, &link->object.sections[section],
							    relocation, ret_offset);

	*ret_section = symbol->section;
	*ret_offset += (int64_t)symbol->value;
	return kind;
}

/* Report variables, and constants with addresses in them: the address of loaded code or data is not known before. */
static void check_constants(const struct link *link, uint32_t section)
{
	const struct object_section *constants = &link->object.sections[section];
	const struct object *object = &link->object;
	const char *name = constants->name, *to;

	for (size_t i = 0; i < object->n_symbols; i++)
		if (object->symbols[i].section == section && object->symbols[i].size)
			name = object->symbols[i].name;
	if (constants->n_relocations) {
		to = object->symbols[constants->relocations[0].symbol].name;
		fprintf(stderr, "adsmcc: the constant '%s' contains the address of %s: loaded code cannot have "
			"constants with addresses; take the address in a function, with a switch or an if\n", name,
			*to ? to : "another constant");
		n_errors++;
	} else if (constants->writable || !constants->bytes) {
		refuse_variable(name, link->in_module);
	}
}

static void reach(struct link *link, uint32_t section)
{
	const struct object_section *from = &link->object.sections[section];

	if (link->reached[section])
		return;
	link->reached[section] = true;
	if (!from->code) {
		check_constants(link, section);
		return;
	}
	for (size_t i = 0; i < from->n_relocations; i++) {
		uint32_t to;
		int64_t offset;
		const enum reference_kind kind = link_reference(link, section, &from->relocations[i], &to, &offset);
		const char *name = link->object.symbols[from->relocations[i].symbol].name;

		if (kind == REFERENCE_UNKNOWN)
			link_error(link, section, from->relocations[i].offset, "'%s' is used in a way that loaded code "
				   "does not support (relocation %u): no thread-local variables, no assembly, no "
				   "computed goto; compile with the options of adsmcc", *name ? name : "a "
				   "constant", from->relocations[i].type);
		else if (to)
			reach(link, to);
	}
}

void find_reached(struct link *link)
{
	const struct object *object = &link->object;
	bool any = false;

	for (size_t i = 0; i < object->n_symbols; i++) {
		if (object->symbols[i].function && object->symbols[i].exported) {
			reach(link, object->symbols[i].section);
			any = true;
		}
	}
	if (!any)
		die("no function can be called from outside: the code has no kernel (ADSM_KERNEL), and no function "
		    "with __attribute__((visibility(\"default\")))");
}
