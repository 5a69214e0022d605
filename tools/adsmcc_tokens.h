/* SPDX-License-Identifier: MIT */
/* adsmcc_tokens.h - splits a text in C into words, numbers, strings and single characters. */
#ifndef ADSMCC_TOKENS_H
#define ADSMCC_TOKENS_H

#include "adsmcc_text.h"

struct token {
	const char *start;
	int size;			/* 0: the end of the text */
	bool word;
	int line;
	const char *file;		/* not terminated */
	int file_size;
};

extern struct token *tokens;	/* of the last text */
extern bool partitions_said;	/* the last text has an ADSM_PARTITION, also in a macro, but not in adsm_kernel.h */

/* Split @p into tokens; comments and directives are left out. A name with its members, "a.b", is one word. */
void tokenize(const char *p);
bool is(size_t i, const char *string);
bool is_end(size_t i);
/* The token behind the bracket that closes the one at @i, or the end. */
size_t skip_group(size_t i);

#endif
