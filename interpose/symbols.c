/* SPDX-License-Identifier: MIT */
/*
 * symbols.c - functions of the libraries behind this one, found without dlsym().
 *
 * dlsym() is of no use to wrappers. It frees the text of the last error, and so calls the program's free(), if that
 * has one, which may be a sanitizer's and call any function that is wrapped: a look-up within a look-up, where the
 * same text is freed again. So the libraries' symbols are searched here, and nothing is called for that but
 * dladdr1(), which allocates nothing, keeps no errors, and is nobody's wrapper.
 */
#include <dlfcn.h>
#include <elf.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/auxv.h>

#include "base/os.h"
#include "symbols.h"

/* Versions of symbols, from the lowest; 0 is nobody else's. Flag: not the one to link with today. */
#define VERSION_ANY 1
#define VERSION_NAMED 2
#define VERSION_HIDDEN 0x8000

/* The dynamic linker has relocated these addresses, but where it may not write. */
static const void *relocated(const struct link_map *map, ElfW(Addr) address)
{
	return (const void *)(address < map->l_addr ? address + map->l_addr : address);
}

/* False: the library exports nothing, or is the kernel's own, which is not there to be linked with. */
static bool look_at(struct adsm_library *l, const struct link_map *map)
{
	*l = (struct adsm_library){ .own = l->own, .map = map, .before = l->before, .base = map->l_addr };
	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			l->table = relocated(map, d->d_un.d_ptr);
		else if (d->d_tag == DT_STRTAB)
			l->names = relocated(map, d->d_un.d_ptr);
		else if (d->d_tag == DT_VERSYM)
			l->versions = relocated(map, d->d_un.d_ptr);
		else if (d->d_tag == DT_GNU_HASH)
			l->gnu_hash = relocated(map, d->d_un.d_ptr);
		else if (d->d_tag == DT_HASH)
			l->hash = relocated(map, d->d_un.d_ptr);
	}
	return l->table && l->names && (l->gnu_hash || l->hash) && l->base != getauxval(AT_SYSINFO_EHDR);
}

/* strcmp() may be a sanitizer's that is just starting. */
static bool is_same_name(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static bool is_it(const struct adsm_library *l, uint32_t i, const char *name, unsigned version)
{
	const ElfW(Sym) *symbol = &l->table[i];
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL &&
		(type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
		(l->versions ? l->versions[i] >= version && !(l->versions[i] & VERSION_HIDDEN) :
		 version < VERSION_NAMED) &&
		is_same_name(l->names + symbol->st_name, name);
}

/* A filter, which has two bits set for each name that is there; buckets of chains; and the chains, runs of the table's
 * end, each with a hash that is odd as its last. */
static const ElfW(Sym) *find_hashed(const struct adsm_library *l, const char *name, unsigned version)
{
	uint32_t n_buckets = l->gnu_hash[0], first = l->gnu_hash[1], n_words = l->gnu_hash[2], hash = 5381, i;
	const ElfW(Addr) *filter = (const void *)&l->gnu_hash[4];
	const uint32_t *buckets = (const void *)(filter + n_words), *chains = buckets + n_buckets;
	const uint32_t n_bits = 8 * sizeof(*filter);
	ElfW(Addr) word;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	word = filter[hash / n_bits & (n_words - 1)];
	if (!(word >> hash % n_bits & word >> (hash >> l->gnu_hash[3]) % n_bits & 1))
		return NULL;
	for (i = buckets[hash % n_buckets]; i >= first; i++) {
		if ((chains[i - first] | 1) == (hash | 1) && is_it(l, i, name, version))
			return &l->table[i];
		if (chains[i - first] & 1)
			break;
	}
	return NULL;
}

static const ElfW(Sym) *find_anywhere(const struct adsm_library *l, const char *name, unsigned version)
{
	for (uint32_t i = 0; i < l->hash[1]; i++)
		if (is_it(l, i, name, version))
			return &l->table[i];
	return NULL;
}

/* A function that the library chooses by the processor. */
static void *choose(uintptr_t chooser)
{
#ifdef __aarch64__
	struct { unsigned long size, hwcap, hwcap2; } more = {
		sizeof(more), getauxval(AT_HWCAP), getauxval(AT_HWCAP2)
	};

	return ((void *(*)(uint64_t, const void *))chooser)(more.hwcap | (uint64_t)1 << 62, &more);
#else
	return ((void *(*)(void))chooser)();
#endif
}

void *adsm_library_find(const struct adsm_library *l, const char *name, bool versioned)
{
	unsigned version = versioned ? VERSION_NAMED : VERSION_ANY;
	const ElfW(Sym) *symbol = l->gnu_hash ? find_hashed(l, name, version) : find_anywhere(l, name, version);

	if (!symbol)
		return NULL;
	return ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC ? choose(l->base + symbol->st_value) :
		(void *)(l->base + symbol->st_value);
}

/* Behind this library; then before it: opened by dlopen(), this lies behind the libraries it uses. Not the program. */
static const struct link_map *next(struct adsm_library *l)
{
	const struct link_map *map = l->map->l_next;

	if (!map && !l->before) {
		l->before = true;
		for (map = l->own; map->l_prev;)
			map = map->l_prev;
		map = map == l->own ? map : map->l_next;
	}
	return l->before && map == l->own ? NULL : map;
}

bool adsm_library_next(struct adsm_library *l)
{
	static const char anchor;
	const struct link_map *map;
	Dl_info info;

	if (!l->own) {
		if (!dladdr1(&anchor, &info, (void **)&l->own, RTLD_DL_LINKMAP) || !l->own)
			return false;
		l->map = l->own;
	}
	while ((map = next(l)))
		if (look_at(l, map))
			return true;
	return false;
}

/* ---- the real dlsym() */

/* For dlsym.S. */
void *adsm_dlsym_find(void);
extern _Atomic(void *) adsm_dlsym_real;

_Atomic(void *) adsm_dlsym_real;

static void *no_dlsym(void *handle, const char *name)
{
	return NULL;
}

/* libc's dlsym(); other people's wrappers of it ask this library in turn. */
void *adsm_dlsym_find(void)
{
	struct adsm_library library = { 0 };
	void *function = NULL;

	while (!function && adsm_library_next(&library))
		function = adsm_library_find(&library, "dlsym", true);
	if (!function)
		function = (void *)(uintptr_t)no_dlsym;
	atomic_store_explicit(&adsm_dlsym_real, function, memory_order_relaxed);
	adsm_os_dlsym = (__typeof__(&dlsym))(uintptr_t)function;
	return function;
}

void *adsm_real_dlsym(void *handle, const char *name)
{
	void *function = atomic_load_explicit(&adsm_dlsym_real, memory_order_relaxed);

	if (!function)
		function = adsm_dlsym_find();
	return ((__typeof__(&dlsym))(uintptr_t)function)(handle, name);
}

/* ---- wrappers, for who looks libc's functions up in libc */

static struct adsm_library self;	/* this library; without a table before the constructors */

static void *own_function(const char *name)
{
	bool is_own = name[0] == 'a' && name[1] == 'd' && name[2] == 's' && name[3] == 'm';

	/* Who looks dlsym() itself up wants the real one. */
	return self.table && !is_own && !is_same_name(name, "dlsym") ? adsm_library_find(&self, name, false) : NULL;
}

bool adsm_wrapper_is(const char *name)
{
	return own_function(name) != NULL;
}

void *adsm_wrapper_of(const char *name, void *symbol)
{
	struct adsm_library library = { 0 };
	void *next = NULL;

	while (symbol && !next && adsm_library_next(&library))
		next = adsm_library_find(&library, name, false);
	return next && next == symbol ? own_function(name) : NULL;
}

__attribute__((constructor(101))) static void find_early(void)
{
	struct adsm_library first = { 0 };

	adsm_dlsym_find();
	if (!adsm_library_next(&first))
		return;
	self.own = first.own;
	if (!look_at(&self, first.own))
		self.table = NULL;
}
