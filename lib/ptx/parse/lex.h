/* SPDX-License-Identifier: MIT */
/* lex.h - the tokens of a PTX text, and errors that name a token. An error ends the parsing by longjmp(). */
#pragma once

#include "ptx/ptx.h"

#include <setjmp.h>

/* The kind of a token of one character is this character. */
enum {
	ADSM_PTX_END = 256,		/* of the text */
	ADSM_PTX_NAME,			/* add, %r1, $L_2, _ */
	ADSM_PTX_DOT,			/* .global, .L2::128B; the text is without the dot */
	ADSM_PTX_NUMBER,		/* what begins with a digit */
	ADSM_PTX_STRING,		/* the text is without the quotes */
	ADSM_PTX_OPERATOR,		/* two characters: << >> <= >= == != && || */
};

struct adsm_ptx_lexer {
	const char *at, *end;		/* the text that follows the token */
	int line;			/* of @at */
	/* The current token. */
	int kind;
	const char *text;
	size_t length;
	int token_line;
	/* How parsing ends. */
	struct adsm_ptx_error *error;
	int result;
	jmp_buf failed;
};

/* The lower-case letter of ASCII. Not tolower(), which follows the program's locale: in Turkish 'I' stays. */
static inline char adsm_ptx_lower(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return c;
}

/* Parsing ends with an error in a line. */
_Noreturn void adsm_ptx_fail(struct adsm_ptx_lexer *lexer, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* It ends with an error about the current token: its text, and then the sentence. */
_Noreturn void adsm_ptx_fail_token(struct adsm_ptx_lexer *lexer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
_Noreturn void adsm_ptx_fail_memory(struct adsm_ptx_lexer *lexer);
/* It ends, because the text is the output of NVIDIA's compiler. */
_Noreturn void adsm_ptx_fail_licence(struct adsm_ptx_lexer *lexer, int line);

/* Go to the next token. Before the first one, the lexer is at the text. */
void adsm_ptx_next(struct adsm_ptx_lexer *lexer);
/* Is the current token a name or a directive with this text? */
bool adsm_ptx_at(const struct adsm_ptx_lexer *lexer, int kind, const char *text);
/* If the current token is this one, go to the next one. */
bool adsm_ptx_accept(struct adsm_ptx_lexer *lexer, int kind);
bool adsm_ptx_accept_word(struct adsm_ptx_lexer *lexer, int kind, const char *text);
/* The current token must be this one. @sentence: the error if it is not. */
void adsm_ptx_expect(struct adsm_ptx_lexer *lexer, int kind, const char *sentence);
