/* SPDX-License-Identifier: MIT */
/*
 * adsmcc_atomics.c - finds the kernels that may do atomics on memory shared by blocks, or may call services.
 *
 * The input is the preprocessed text, as tokens. If a function names another function, it may call it. An atomic is
 * harmless only if its target is obviously an ADSM_SHARED array of the same function. Code that is not understood
 * counts as an atomic. So no kernel that does atomics is missed.
 */

#include <string.h>

#include "adsmcc_source.h"

/* A part of the text at file scope, up to a semicolon or the end of braces: for instance, a whole function. */
struct chunk {
	size_t first, body, end;	/* tokens. body: the opening brace; 0: none */
	size_t name;			/* the token of the function's name; 0: not found */
	bool marked;			/* does what is searched for, or may call a function that does */
};

static struct chunk *chunks;
static size_t n_chunks;

static bool same(size_t i, size_t j)
{
	return tokens[i].size == tokens[j].size && !memcmp(tokens[i].start, tokens[j].start, (size_t)tokens[i].size);
}

/* Is the token one of the characters in @set? */
static bool is_any(size_t i, const char *set)
{
	return tokens[i].size == 1 && strchr(set, *tokens[i].start);
}

/* Is the token a builtin function of the compiler that is an atomic, or may be one? */
static bool is_builtin(size_t i)
{
	const struct token *token = &tokens[i];

	return token->size > 2 && !memcmp(token->start, "__", 2) &&
	       (memmem(token->start, (size_t)token->size, "atomic", 6) ||
		memmem(token->start, (size_t)token->size, "__sync_", 7));
}

/* Words that may hide an atomic: atomic types, assembly, and second names of functions. */
static bool is_opaque(size_t i)
{
	static const char *const words[] = { "_Atomic", "asm", "__asm", "__asm__", "alias", "__alias__", "ifunc",
					     "__ifunc__", "weakref", "__weakref__" };

	for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
		if (is(i, words[k]))
			return true;
	return false;
}

/* The name: the word before the parameters that stand directly before the body. */
static size_t find_name(const struct chunk *chunk)
{
	for (size_t i = chunk->first; i < chunk->body; i = is_any(i, "([{") ? skip_group(i) : i + 1)
		if (tokens[i].word && is(i + 1, "(") && skip_group(i + 1) == chunk->body)
			return starts(tokens[i].start, "__attribute") ? 0 : i;
	return 0;
}

static void split(void)
{
	for (size_t i = 0; !is_end(i); ) {
		struct chunk chunk = { .first = i };

		while (!is_end(i) && !is(i, ";") && !chunk.body) {
			if (is(i, "{"))
				chunk.body = i;
			i = is_any(i, "([{") ? skip_group(i) : i + 1;
		}
		if (chunk.body)
			chunk.name = find_name(&chunk);
		else
			i += is(i, ";");
		chunk.end = i;
		chunks = grow(chunks, (n_chunks + 1) * sizeof(*chunks));
		chunks[n_chunks++] = chunk;
	}
}

static bool has_name(const struct chunk *chunk, size_t word)
{
	return chunk->name && same(chunk->name, word);
}

/* ---- arrays of the block ----------------------------------------------------------------- */

/* Is the word a function or operator, so that the brackets behind it contain no declarations? */
static bool is_call(size_t word)
{
	if (is_builtin(word) || is(word, "__typeof__") || is(word, "sizeof"))
		return true;
	for (size_t c = 0; c < n_chunks; c++)
		if (has_name(&chunks[c], word))
			return true;
	return false;
}

/* May the word @i be the declaration of a variable that is no array? */
static bool may_declare(size_t i)
{
	size_t depth = 0;

	if ((!tokens[i - 1].word && !is_any(i - 1, "*,()}]")) || (!tokens[i + 1].word && !is_any(i + 1, "=;,)")))
		return false;
	for (i--; !is_any(i, "{};"); i--) {
		if (is_any(i, ")]"))
			depth++;
		else if (is_any(i, "([") && depth)
			depth--;
		else if (is(i, "[") || (is(i, "(") && (is(i - 1, "=") || is_call(i - 1))))
			return false;
	}
	return true;
}

/* Does ADSM_SHARED declare the word at @i? */
static bool declares_shared(size_t i)
{
	const size_t behind = is(i + 1, "[") ? skip_group(i + 1) : i;

	return is(behind, "__attribute__") && is(skip_group(behind + 1) - 4, "adsm_shared_");
}

static bool has_inner_function(size_t i)
{
	static const char *const statements[] = { "if", "for", "while", "switch" };

	for (size_t k = 0; k < sizeof(statements) / sizeof(statements[0]); k++)
		if (is(i, statements[k]))
			return false;
	return tokens[i].word && is(i + 1, "(") && is(skip_group(i + 1), "{");
}

/* Is the word @name an ADSM_SHARED array in the whole body, with no second declaration? */
static bool is_shared(const struct chunk *chunk, size_t name)
{
	bool declared = false;
	int depth = 0;

	for (size_t i = chunk->first; i < chunk->end; i++) {
		depth += is(i, "{") - is(i, "}");
		if (depth && (is(i, "typedef") || has_inner_function(i)))
			return false;
		if (!same(i, name))
			continue;
		if (depth == 1 && declares_shared(i))
			declared = true;
		else if (!declared || may_declare(i))
			return false;
	}
	return declared;
}

/* Is the argument at @i obviously in such an array: "a", "a + …", "&a[…]", "&a[…].b"? */
static bool is_in_shared(const struct chunk *chunk, size_t i)
{
	size_t end = i, name;
	bool element;

	while (!is_end(end) && !is_any(end, ",;)"))
		end = is_any(end, "([{") ? skip_group(end) : end + 1;
	for (; is(i, "(") && skip_group(i) == end; end--)
		i++;
	element = is(i, "&");
	i += element;
	name = i + (is(i, "(") && skip_group(i) == i + 3);
	i += name == i ? 1 : 3;
	if (element && !is(i, "["))
		return false;
	if (element) {
		for (i = skip_group(i); i < end; i++)
			if (!is(i, ".") && !tokens[i].word)
				return false;
	} else if (i < end && !is(i, "+")) {
		return false;
	}
	/* Operators that may make a pointer to other memory of it. */
	for (; i < end; i = is_any(i, "([{") ? skip_group(i) : i + 1)
		if (is_any(i, "?,-"))
			return false;
	return tokens[name].word && is_shared(chunk, name);
}

/* ---- the kernels ------------------------------------------------------------------------- */

static bool does_atomics(const struct chunk *chunk)
{
	for (size_t i = chunk->first; i < chunk->end; i++) {
		/* adsm_kernel.h uses this name for a target that it uses several times. */
		const bool is_target = is(i, "adsm_p_") && is(i + 1, "=");

		if (is_opaque(i))
			return true;
		if (!is_target && (!is_builtin(i) || (is(i + 1, "(") && is(i + 2, "adsm_p_") && is(i + 3, ","))))
			continue;
		if ((!is_target && !is(i + 1, "(")) || !is_in_shared(chunk, i + 2))
			return true;
	}
	return false;
}

/* May @user use @used? Data without an initial value, prototypes and types use nothing. */
static bool may_use(const struct chunk *user, const struct chunk *used)
{
	bool uses = user->body;

	for (size_t i = user->first; i < user->end && !uses; i++)
		uses = is(i, "=");
	/* If @used has no name, or is data, every function may use it. */
	if (!uses || !used->name)
		return uses;
	for (size_t i = user->first; i < user->end; i++)
		if (tokens[i].word && has_name(used, i))
			return true;
	return false;
}

static void spread(size_t from)
{
	chunks[from].marked = true;
	for (size_t c = 0; c < n_chunks; c++)
		if (!chunks[c].marked && may_use(&chunks[c], &chunks[from]))
			spread(c);
}

/* Does the function use adsm_services_here, the device's table of services? Here, code that is not understood counts as
 * no. Kernels that call services without the mark get an error. */
static bool calls_services(const struct chunk *chunk)
{
	for (size_t i = chunk->body; i && i < chunk->end; i++)
		if (is(i, "adsm_services_here"))
			return true;
	return false;
}

static void mark(bool (*does)(const struct chunk *chunk))
{
	for (size_t c = 0; c < n_chunks; c++)
		chunks[c].marked = false;
	for (size_t c = 0; c < n_chunks; c++)
		if (!chunks[c].marked && does(&chunks[c]))
			spread(c);
}

/* Append a macro for each kernel (or task, by @prefix) that is marked, or for each that is not marked: @macro with the
 * kernel's name behind it, then @value. */
static void define(struct text *out, const char *prefix, bool marked, const char *macro, const char *value)
{
	for (size_t c = 0; c < n_chunks; c++) {
		const struct token *name = &tokens[chunks[c].name];
		const int size = name->size - (int)strlen(prefix);

		if (chunks[c].name && chunks[c].marked == marked && size > 0 && starts(name->start, prefix))
			text_print(out, "#define %s_%.*s , | %s\n", macro, size, name->start + strlen(prefix), value);
	}
}

void find_atomics(struct text *out, const char *preprocessed)
{
	tokenize(preprocessed);
	split();
	mark(does_atomics);
	define(out, "adsm_run_", false, "ADSM_NO_GLOBAL_ATOMICS", "ADSM_KERNEL_NO_GLOBAL_ATOMICS");
	mark(calls_services);
	define(out, "adsm_run_", true, "ADSM_USES_SERVICES", "ADSM_KERNEL_SERVICES");
	define(out, "adsm_task_", true, "ADSM_USES_SERVICES", "ADSM_KERNEL_SERVICES");
}
