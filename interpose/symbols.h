/* SPDX-License-Identifier: MIT */
/* symbols.h - functions of the libraries behind this one, found without dlsym(). */
#ifndef ADSM_SYMBOLS_H
#define ADSM_SYMBOLS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The libraries that dlsym(RTLD_NEXT) would search, one by one: from { 0 } on, until this is false. For constructors,
 * not for signal handlers.
 */
struct adsm_library {
	const struct link_map *own, *map;
	bool before;			/* this library, in the order of all */
	uintptr_t base;
	const ElfW(Sym) *table;
	const char *names;
	const uint16_t *versions;	/* NULL: the library has none */
	const uint32_t *gnu_hash, *hash;	/* one is NULL */
};
bool adsm_library_next(struct adsm_library *library);
/* A function of the library, or NULL. @versioned: with a version, as libc's have, and other people's wrappers not. */
void *adsm_library_find(const struct adsm_library *library, const char *name, bool versioned);

/* The real dlsym(), whatever else is preloaded. */
void *adsm_real_dlsym(void *handle, const char *name);

/* Does this library wrap a function of that name? */
bool adsm_wrapper_is(const char *name);
/*
 * The wrapper to hand out for @symbol, which somebody has looked up by that name in a library. NULL: it is not what the
 * wrapper calls: another library's of the same name, or libc's where a third one stands between, which may be asking.
 */
void *adsm_wrapper_of(const char *name, void *symbol);

#endif
