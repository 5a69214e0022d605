/* SPDX-License-Identifier: MIT */
/* variable.c - see variable.h. */
#include "run/object/variable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/symbols.h"
#include "core/objects.h"
#include "core/resident.h"
#include "protocols/list.h"
#include "run/object/alloc.h"
#include "run/copy/copy.h"
#include "run/wait/enter.h"

/* If one cannot be freed, it and those after it stay in the list, so that the caller can try again. */
static int free_objects(void **addresses, size_t n)
{
	int error = 0;

	for (size_t i = 0; i < n && !error; i++) {
		if (addresses[i])
			error = adsm_object_free(addresses[i], ADSM_MAKER_MODULE, true, NULL);
		if (!error)
			addresses[i] = NULL;
	}
	return error;
}

/* No other thread knows the objects, so all of them can be freed. */
static void free_new(void **addresses, size_t n)
{
	free_objects(addresses, n);
	free(addresses);
}

static int check_free(void *const *addresses, size_t n)
{
	int error = 0;

	for (size_t i = 0; i < n && !error; i++) {
		struct adsm_sigset old;
		struct adsm_object *object = addresses[i] ? adsm_object_enter(addresses[i], &old) : NULL;

		if (!object)
			continue;
		error = adsm_object_check_free(object, addresses[i], ADSM_MAKER_MODULE);
		adsm_home_unlock(object->home, &old);
	}
	return error;
}

static uint8_t digit(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* The device address of a variable, which other variables contain: from now on it keeps its device memory. */
static int address_of(const void *variable, uint64_t *ret_address)
{
	struct adsm_sigset old;
	struct adsm_object *object = adsm_object_enter(variable, &old);
	int error = object ? adsm_object_pin(object) : -EINVAL;

	if (!error)
		*ret_address = object->memory->address;
	if (object)
		adsm_home_unlock(object->home, &old);
	return error;
}

/* Write the initial value of a variable. */
static int fill(struct adsm_symbol *symbol, void *const *addresses, void *to)
{
	struct adsm_symbol_address address;
	uint8_t *bytes = calloc(1, symbol->size);
	uint64_t target = 0;
	int error = 0;

	if (!bytes)
		return adsm_fail(-ENOMEM, "no memory for the initial value of the module's variable '%.*s', %lu bytes",
				 (int)symbol->name_size, symbol->name, (unsigned long)symbol->size);
	for (size_t i = 0; i < symbol->n_bytes; i++)
		bytes[i] = (uint8_t)(digit(symbol->bytes[2 * i]) << 4 | digit(symbol->bytes[2 * i + 1]));
	while (!error && adsm_symbol_address(symbol, &address)) {
		uint64_t value;

		error = address_of(addresses[address.symbol], &target);
		value = (target + address.addend) >> address.shift;
		memcpy(bytes + address.offset, &value, address.size);
	}
	if (!error)
		error = adsm_memcpy(to, bytes, symbol->size, NULL);
	free(bytes);
	return error;
}

static int make(adsmModule *module, struct adsm_home *home, void **addresses)
{
	const struct adsm_object_options options = {
		.protocol = adsm_protocol_find(adsm_protocol_options.protocol),
		.block_size = adsm_protocol_options.block_size,
		.fixed = true,
	};
	const char *text = module->info->symbols;
	struct adsm_symbol symbol;
	int error = 0;

	for (size_t i = 0; !error && adsm_symbol_next(&text, &symbol); i++)
		error = adsm_object_alloc(home, symbol.size, &options, &addresses[i]);
	text = module->info->symbols;
	for (size_t i = 0; !error && adsm_symbol_next(&text, &symbol); i++)
		error = fill(&symbol, addresses, addresses[i]);
	return error;
}

int adsm_variables_get(adsmModule *module, struct adsm_home *home, void *const **ret_addresses)
{
	void **_Atomic *place = &module->variables[home->index];
	void **addresses = atomic_load(place), **none = NULL;
	int error = 0;

	if (!home->device->caps.variables)
		return adsm_fail(-ENOTSUP, "the module has variables in device memory (__device__, __constant__), "
				 "which device %d, of the backend '%s', does not support yet", home->index,
				 home->device->backend->name);
	if (!addresses) {
		addresses = calloc((size_t)module->info->n_symbols + 1, sizeof(*addresses));
		error = addresses ? make(module, home, addresses) : adsm_fail(-ENOMEM, "no memory for %u variables",
									     module->info->n_symbols);
		if (error) {
			if (addresses)
				free_new(addresses, module->info->n_symbols);
			return error;
		}
		/* Another thread may have been faster. */
		if (!atomic_compare_exchange_strong(place, &none, addresses)) {
			free_new(addresses, module->info->n_symbols);
			addresses = none;
		}
	}
	*ret_addresses = addresses;
	return 0;
}

long adsm_variable_find(const struct adsm_module_info *info, const char *name, size_t *ret_size)
{
	const size_t size = strlen(name);
	const char *text = info->symbols;
	struct adsm_symbol symbol;

	for (long i = 0; adsm_symbol_next(&text, &symbol); i++) {
		if (symbol.name_size != size || memcmp(symbol.name, name, size) != 0)
			continue;
		*ret_size = symbol.size;
		return i;
	}
	return -1;
}

int adsm_variables_free(adsmModule *module)
{
	const size_t n = module->info->n_symbols;
	int error = 0;

	/* First all devices, so that an error changes nothing. */
	for (int i = 0; i < ADSM_MAX_DEVICES && !error; i++) {
		void *const *addresses = atomic_load(&module->variables[i]);

		error = addresses ? check_free(addresses, n) : 0;
	}
	for (int i = 0; i < ADSM_MAX_DEVICES && !error; i++) {
		void **addresses = atomic_load(&module->variables[i]);

		error = addresses ? free_objects(addresses, n) : 0;
		if (!error) {
			atomic_store(&module->variables[i], NULL);
			free(addresses);
		}
	}
	return error;
}
