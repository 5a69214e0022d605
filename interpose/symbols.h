/* SPDX-License-Identifier: MIT */
/* symbols.h - functions of the libraries behind this one, found without dlsym(). */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* Iterates over the libraries that dlsym(RTLD_NEXT) would search: begin with { 0 }, call until the result is false. May
 * be called in constructors, but not in signal handlers. */
struct adsm_library {
	const struct link_map *own, *map;
	bool before;			/* now at the libraries that stand before this one in the order of all */
	uintptr_t base;
	const ElfW(Sym) *table;
	const char *names;
	const uint16_t *versions;	/* NULL: the library has none */
	const uint32_t *gnu_hash, *hash;	/* one is NULL */
};
bool adsm_library_next(struct adsm_library *library);
/* A function of the library, or NULL. @versioned: only if the symbol has a version, as those of libc; wrappers of other
 * libraries have none. */
void *adsm_library_find(const struct adsm_library *library, const char *name, bool versioned);

/* libc's dlsym(), even if another preloaded library wraps it. */
void *adsm_real_dlsym(void *handle, const char *name);

/* Does this library wrap a function of that name? */
bool adsm_wrapper_is(const char *name);
/*
 * The wrapper to return for @symbol, which the program has looked up by that name. NULL if @symbol is not the function
 * that the wrapper calls: another library's function of this name, or libc's while a third library wraps it, too. (That
 * library may be the one that asks.)
 */
void *adsm_wrapper_of(const char *name, void *symbol);
