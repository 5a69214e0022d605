/* SPDX-License-Identifier: MIT */
/* variable.h - the variables of modules in device memory: an object for each variable on each device. */
#pragma once

#include "run/object/kernel.h"

/*
 * Get the addresses of a module's variables on a device, info->n_symbols of them. The objects are made when they are
 * first needed, with their initial values. The caller holds no lock.
 */
int adsm_variables_get(adsmModule *module, struct adsm_home *home, void *const **ret_addresses);
/* The index of a variable with this name; -1: there is none. */
long adsm_variable_find(const struct adsm_module_info *info, const char *name, size_t *ret_size);
/* Free the objects, after the calls that use them. If one is held, nothing has changed. After any other error the
 * module still has those that were not freed. */
int adsm_variables_free(adsmModule *module);
