/* SPDX-License-Identifier: MIT */
/* globals.c - see globals.h. */
#include "globals.h"

#include <string.h>

/* The bytes of what describes a texture: struct ptx_texture (texture.h), and some more. */
#define TEXTURE_SIZE 128

static bool is_reference(enum adsm_ptx_type type)
{
	return type == ADSM_PTX_samplerref || type == ADSM_PTX_surfref;
}

bool adsm_ptx_has_memory(const struct adsm_ptx_variable *variable)
{
	return (variable->space == ADSM_PTX_GLOBAL || variable->space == ADSM_PTX_CONST) && !variable->is_extern &&
	       !is_reference(variable->type) && variable->size;
}

/* clang names string literals so. Nothing else can name them, and nothing writes to them. */
static bool is_string(const struct adsm_ptx_variable *variable)
{
	return !variable->is_visible && !variable->is_weak && !variable->is_common &&
	       adsm_ptx_size(variable->type) == 1 &&
	       (strstr(variable->name, "$_str") || !strncmp(variable->name, "__func__", 8) ||
		strstr(variable->name, "__PRETTY_FUNCTION__"));
}

static struct adsm_ptx_variable *find_variable(const struct adsm_ptx_module *module, const char *name)
{
	for (uint32_t i = 0; i < module->n_variables; i++) {
		if (module->variables[i]->name == name)
			return module->variables[i];
	}
	return NULL;
}

static const struct adsm_ptx_function *find_function(const struct adsm_ptx_module *module, const char *name)
{
	for (uint32_t i = 0; i < module->n_functions; i++) {
		if (module->functions[i]->name == name)
			return module->functions[i];
	}
	return NULL;
}

uint32_t adsm_ptx_find_symbols(const struct adsm_ptx_module *module)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < module->n_variables; i++) {
		struct adsm_ptx_variable *variable = module->variables[i];

		if (variable->type == ADSM_PTX_texref)
			variable->size = TEXTURE_SIZE;
		variable->symbol = adsm_ptx_has_memory(variable) && !is_string(variable) ? 0 : ADSM_PTX_NO_SYMBOL;
	}
	/* What device memory points to is in device memory, too. */
	for (uint32_t i = 0; i < module->n_variables; i++) {
		for (size_t j = 0; j < module->variables[i]->n_init; j++) {
			const char *name = module->variables[i]->init[j].symbol;
			struct adsm_ptx_variable *target = name ? find_variable(module, name) : NULL;

			if (target && adsm_ptx_has_memory(target))
				target->symbol = 0;
		}
	}
	for (uint32_t i = 0; i < module->n_variables; i++) {
		if (module->variables[i]->symbol != ADSM_PTX_NO_SYMBOL)
			module->variables[i]->symbol = n++;
	}
	return n;
}

/* The number of elements up to the last one that is not 0. */
static size_t length_of(const struct adsm_ptx_variable *variable)
{
	size_t n = variable->n_init;

	while (n && (variable->init[n - 1].symbol || !variable->init[n - 1].bits))
		n--;
	return n;
}

void adsm_ptx_write_constants(struct adsm_ptx_writer *writer)
{
	for (uint32_t i = 0; i < writer->module->n_variables; i++) {
		const struct adsm_ptx_variable *variable = writer->module->variables[i];

		if (!adsm_ptx_has_memory(variable) || variable->symbol != ADSM_PTX_NO_SYMBOL)
			continue;
		adsm_ptx_print(writer, "static const char c%u[%llu] __attribute__((aligned(%u), unused)) = {", i,
			       (unsigned long long)variable->size, variable->align > 16 ? variable->align : 16);
		for (size_t j = 0; j < length_of(variable); j++)
			adsm_ptx_print(writer, "%s%d,", j % 32 ? "" : "\n\t", (signed char)variable->init[j].bits);
		adsm_ptx_print(writer, "\n};\n");
	}
}

void adsm_ptx_write_pointers(struct adsm_ptx_writer *writer)
{
	for (uint32_t i = 0; i < writer->module->n_variables; i++) {
		const struct adsm_ptx_variable *variable = writer->module->variables[i];

		if (!writer->names_variable[i] || !adsm_ptx_has_memory(variable))
			continue;
		adsm_ptx_print(writer, "\tchar *const g%u __attribute__((unused)) = ", i);
		if (variable->symbol == ADSM_PTX_NO_SYMBOL)
			adsm_ptx_print(writer, "(char *)c%u;\n", i);
		else
			adsm_ptx_print(writer, "k->symbols[%u];\n", variable->symbol);
	}
}

/* The value of an element that is a number or a function's. */
static uint64_t value_of(struct adsm_ptx_writer *writer, const struct adsm_ptx_variable *variable,
			 const struct adsm_ptx_init *init)
{
	const struct adsm_ptx_function *function;
	uint64_t value = init->bits;

	if (!init->symbol)
		return value;
	if (find_variable(writer->module, init->symbol))
		return 0;
	function = find_function(writer->module, init->symbol);
	if (!function)
		adsm_ptx_refuse(writer, "the initial value of %.200s is the address of %.200s, which is not in the "
				"module", variable->name, init->symbol);
	/* Pointers to functions: see value.c. */
	value += function->index + 1;
	for (int shift = 0; init->mask && shift < 64; shift += 8) {
		if (init->mask >> shift & 0xff)
			return value >> shift & 0xff;
	}
	return value;
}

/* The elements that are addresses of variables. */
static void write_addresses(struct adsm_ptx_writer *writer, const struct adsm_ptx_variable *variable)
{
	const uint32_t size = adsm_ptx_size(variable->type);
	bool any = false;

	for (size_t i = 0; i < variable->n_init; i++) {
		const struct adsm_ptx_init *init = &variable->init[i];
		const struct adsm_ptx_variable *target =
			init->symbol ? find_variable(writer->module, init->symbol) : NULL;
		int shift = 0;

		if (!target)
			continue;
		if (target->symbol == ADSM_PTX_NO_SYMBOL)
			adsm_ptx_refuse(writer, "the initial value of %.200s is the address of %.200s, which is not "
					"device memory of the module", variable->name, target->name);
		while (init->mask && !(init->mask >> shift & 0xff))
			shift += 8;
		adsm_ptx_print(writer, "%llu:%u:%llu:%u:%d,", (unsigned long long)i * size, target->symbol,
			       (unsigned long long)init->bits, init->mask ? 1 : size, shift);
		any = true;
	}
	adsm_ptx_print(writer, any ? "\n" : "-\n");
}

void adsm_ptx_write_symbols(struct adsm_ptx_writer *writer)
{
	for (uint32_t i = 0; i < writer->module->n_variables; i++) {
		const struct adsm_ptx_variable *variable = writer->module->variables[i];
		const uint32_t size = adsm_ptx_size(variable->type);
		size_t n = variable->n_init;

		if (variable->symbol == ADSM_PTX_NO_SYMBOL)
			continue;
		while (n && !variable->init[n - 1].symbol && !variable->init[n - 1].bits)
			n--;
		adsm_ptx_print(writer, "%s %llu %u %c ", variable->name, (unsigned long long)variable->size,
			       variable->align, variable->space == ADSM_PTX_CONST ? 'c' : 'd');
		for (size_t j = 0; j < n; j++) {
			const uint64_t value = value_of(writer, variable, &variable->init[j]);

			for (uint32_t byte = 0; byte < size; byte++)
				adsm_ptx_print(writer, "%02x", (unsigned)(byte < 8 ? value >> 8 * byte & 0xff : 0));
		}
		adsm_ptx_print(writer, n ? " " : "- ");
		write_addresses(writer, variable);
	}
}
