/* SPDX-License-Identifier: MIT */
/* names.c - see names.h. */
#include "names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 512
#define MOST_DIGITS 10			/* of the index in a range */

/* FNV-1a, with a seed: names that collide in one process do not collide in another one. */
static uint32_t hash_of(const struct adsm_ptx_names *names, const char *text, size_t length)
{
	uint64_t hash = 0xcbf29ce484222325 ^ names->seed;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3;
	return (uint32_t)(hash ^ hash >> 32);
}

static struct adsm_ptx_name *look_up(const struct adsm_ptx_names *names, const char *text, size_t length, uint32_t hash)
{
	struct adsm_ptx_name *name = names->buckets[hash & (names->n_buckets - 1)];

	while (name && (name->hash != hash || name->length != length || memcmp(name->text, text, length)))
		name = name->next;
	return name;
}

/* Twice as many buckets. If there is no memory, the chains become longer. */
static void grow(struct adsm_ptx_names *names)
{
	struct adsm_ptx_name **buckets = calloc(names->n_buckets * 2, sizeof(struct adsm_ptx_name *));

	if (!buckets)
		return;
	for (size_t i = 0; i < names->n_buckets; i++) {
		while (names->buckets[i]) {
			struct adsm_ptx_name *name = names->buckets[i];

			names->buckets[i] = name->next;
			name->next = buckets[name->hash & (names->n_buckets * 2 - 1)];
			buckets[name->hash & (names->n_buckets * 2 - 1)] = name;
		}
	}
	free(names->buckets);
	names->buckets = buckets;
	names->n_buckets *= 2;
}

struct adsm_ptx_name *adsm_ptx_name(struct adsm_ptx_names *names, const char *text, size_t length)
{
	const uint32_t hash = hash_of(names, text, length);
	struct adsm_ptx_name *name = look_up(names, text, length, hash);

	if (name || length > UINT32_MAX / 2)
		return name;
	name = adsm_ptx_arena_alloc(names->arena, 1, sizeof(*name) + length + 1);
	if (!name)
		return NULL;
	memcpy(name->text, text, length);
	name->length = (uint32_t)length;
	name->hash = hash;
	name->special = -1;
	if (names->n++ >= names->n_buckets)
		grow(names);
	name->next = names->buckets[hash & (names->n_buckets - 1)];
	names->buckets[hash & (names->n_buckets - 1)] = name;
	return name;
}

struct adsm_ptx_name *adsm_ptx_name_of(const char *text)
{
	return (struct adsm_ptx_name *)(text - offsetof(struct adsm_ptx_name, text));
}

/* Words of the language. */
static bool add_words(struct adsm_ptx_names *names)
{
	static const char *const types[ADSM_PTX_N_TYPES] = {
		[ADSM_PTX_NO_TYPE] = "",
#define TYPE(name, bytes) [ADSM_PTX_##name] = #name,
		ADSM_PTX_TYPES(TYPE)
#undef TYPE
	};
	static const char *const specials[ADSM_PTX_N_SPECIALS] = {
#define SPECIAL(name) [ADSM_PTX_SPECIAL_##name] = "%" #name,
		ADSM_PTX_SPECIALS(SPECIAL)
#undef SPECIAL
	};
	static const char *const spaces[] = {
		[ADSM_PTX_REG] = "reg", [ADSM_PTX_GLOBAL] = "global", [ADSM_PTX_SHARED] = "shared",
		[ADSM_PTX_LOCAL] = "local", [ADSM_PTX_CONST] = "const", [ADSM_PTX_PARAM] = "param",
	};
	struct adsm_ptx_name *name;

	for (int i = 1; i < ADSM_PTX_N_TYPES; i++) {
		name = adsm_ptx_name(names, types[i], strlen(types[i]));
		if (!name)
			return false;
		name->type = (enum adsm_ptx_type)i;
	}
	for (int i = 0; i < ADSM_PTX_N_SPECIALS; i++) {
		const char *text = i == ADSM_PTX_SPECIAL_warp_size ? "WARP_SZ" : specials[i];

		name = adsm_ptx_name(names, text, strlen(text));
		if (!name)
			return false;
		name->special = i;
	}
	for (int i = ADSM_PTX_REG; i <= ADSM_PTX_PARAM; i++) {
		name = adsm_ptx_name(names, spaces[i], strlen(spaces[i]));
		if (!name)
			return false;
		name->space = (enum adsm_ptx_space)i;
	}
	return true;
}

int adsm_ptx_names_init(struct adsm_ptx_names *names, struct adsm_ptx_arena *arena)
{
	*names = (struct adsm_ptx_names){ .arena = arena, .n_buckets = FIRST_BUCKETS };
	names->seed = (uint64_t)(uintptr_t)names * 0x9e3779b97f4a7c15;
	names->buckets = calloc(FIRST_BUCKETS, sizeof(struct adsm_ptx_name *));
	return names->buckets && add_words(names) ? 0 : -ENOMEM;
}

void adsm_ptx_names_finish(struct adsm_ptx_names *names)
{
	free(names->buckets);
	names->buckets = NULL;
}

bool adsm_ptx_scope_open(struct adsm_ptx_names *names)
{
	if (names->depth + 1 == ADSM_PTX_SCOPES)
		return false;
	names->scopes[++names->depth] = NULL;
	return true;
}

void adsm_ptx_scope_close(struct adsm_ptx_names *names)
{
	for (struct adsm_ptx_binding *b = names->scopes[names->depth]; b; b = b->sibling)
		*(b->is_range ? &b->name->range : &b->name->binding) = b->outer;
	names->depth--;
}

struct adsm_ptx_binding *adsm_ptx_bind(struct adsm_ptx_names *names, struct adsm_ptx_name *name, uint32_t depth,
				       bool is_range, struct adsm_ptx_binding **ret_other)
{
	struct adsm_ptx_binding **at = is_range ? &name->range : &name->binding, *binding;

	*ret_other = *at && (*at)->depth == depth ? *at : NULL;
	if (*ret_other)
		return *ret_other;
	binding = adsm_ptx_arena_alloc(names->arena, 1, sizeof(*binding));
	if (!binding)
		return NULL;
	binding->name = name;
	binding->depth = depth;
	binding->is_range = is_range;
	binding->outer = *at;
	*at = binding;
	binding->sibling = names->scopes[depth];
	names->scopes[depth] = binding;
	return binding;
}

struct adsm_ptx_binding *adsm_ptx_find(struct adsm_ptx_names *names, const struct adsm_ptx_name *name,
				       struct adsm_ptx_binding **ret_other)
{
	struct adsm_ptx_binding *found = name->binding;
	uint64_t index = 0, place = 1;

	*ret_other = NULL;
	for (uint32_t i = name->length; i-- > 1 && name->length - i <= MOST_DIGITS;) {
		const char c = name->text[i];
		const struct adsm_ptx_name *prefix;
		struct adsm_ptx_binding *range;

		if (c < '0' || c > '9')
			break;
		index += place * (uint64_t)(c - '0');
		place *= 10;
		/* Indices have no zeros in front. */
		if (c == '0' && i + 1 < name->length)
			continue;
		prefix = look_up(names, name->text, i, hash_of(names, name->text, i));
		range = prefix ? prefix->range : NULL;
		while (range && index >= range->n)
			range = range->outer;
		if (!range)
			continue;
		if (!found || range->depth > found->depth) {
			found = range;
			*ret_other = NULL;
		} else if (range->depth == found->depth && found->made_of != range) {
			*ret_other = range;
		}
	}
	return found;
}
