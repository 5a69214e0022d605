/* SPDX-License-Identifier: MIT */
/* adsmcc_tokens.c - splits a text in C into words, numbers, strings and single characters. */
#include "adsmcc_source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>


struct token *tokens;
bool partitions_said;
static size_t n_tokens;

static const char *skip_string(const char *p)
{
	const char quote = *p++;

	while (*p && *p != quote && *p != '\n')
		p += p[0] == '\\' && p[1] ? 2 : 1;
	return *p == quote ? p + 1 : p;
}

/* If @p starts with white space, a comment or a continued line's end, the text behind that; else @p. Counts lines. */
static const char *skip_space(const char *p, int *line)
{
	if (p[0] == '\\' && p[1] == '\n') {
		++*line;
		return p + 2;
	}
	if (p[0] == '/' && p[1] == '/')
		return p + strcspn(p, "\n");
	if (p[0] == '/' && p[1] == '*') {
		for (p += 2; *p && !(p[0] == '*' && p[1] == '/'); p++)
			*line += *p == '\n';
		return p + (*p ? 2 : 0);
	}
	return *p != '\n' && isspace((unsigned char)*p) ? p + 1 : p;
}

/* If there is a #line directive at @p, sets the token's file and line. Returns the text behind it, or NULL. */
static const char *follow_line(const char *p, struct token *token)
{
	const char *spec = directive(p, "line");

	if (!spec || !isdigit((unsigned char)*spec))
		return NULL;
	token->line = atoi(spec) - 1;
	spec += strcspn(spec, "\"\n");
	if (*spec == '"') {
		token->file = spec + 1;
		token->file_size = (int)(skip_string(spec) - spec - 2);
	}
	return p + strcspn(p, "\n");
}

/* Set @token to the word, number, string or single character at @p. Returns its end. */
static const char *scan(const char *p, struct token *token)
{
	token->start = p;
	token->word = isalpha((unsigned char)*p) || *p == '_';
	if (*p == '"' || *p == '\'')
		p = skip_string(p);
	else if (token->word || isdigit((unsigned char)*p))
		while (isalnum((unsigned char)*p) || *p == '_' || *p == '.')
			p++;
	else if (*p)
		p++;
	token->size = (int)(p - token->start);
	return p;
}

static bool says_partition(const struct token *token)
{
	static const char word[] = "ADSM_PARTITION", header[] = "adsm_kernel.h";	/* its name in texts */

	return (size_t)token->size == strlen(word) && !memcmp(token->start, word, strlen(word)) &&
		((size_t)token->file_size != strlen(header) || memcmp(token->file, header, strlen(header)));
}

void tokenize(const char *p)
{
	static size_t room;
	struct token token = { .line = 1, .file = "" };
	bool line_start = true, in_directive = false;

	n_tokens = 0;
	do {
		const char *next = skip_space(p, &token.line);

		if (next != p) {
			p = next;
			continue;
		}
		if (*p == '\n') {
			token.line++;
			line_start = true;
			in_directive = false;
			p++;
			continue;
		}
		if (line_start && *p == '#') {
			in_directive = true;
			next = follow_line(p, &token);
			if (next) {
				p = next;
				continue;
			}
		}
		line_start = false;
		p = scan(p, &token);
		partitions_said |= says_partition(&token);
		if (in_directive && token.size)
			continue;
		if (n_tokens == room) {
			room = room ? room * 2 : 4096;
			tokens = grow(tokens, room * sizeof(*tokens));
		}
		tokens[n_tokens++] = token;
	} while (!n_tokens || tokens[n_tokens - 1].size);
}

bool is(size_t i, const char *string)
{
	return (size_t)tokens[i].size == strlen(string) &&
	       !memcmp(tokens[i].start, string, (size_t)tokens[i].size);
}

bool is_end(size_t i)
{
	return !tokens[i].size;
}

size_t skip_group(size_t i)
{
	int depth = 0;

	for (; !is_end(i); i++) {
		if (is(i, "(") || is(i, "[") || is(i, "{"))
			depth++;
		else if ((is(i, ")") || is(i, "]") || is(i, "}")) && --depth == 0)
			return i + 1;
	}
	return i;
}
