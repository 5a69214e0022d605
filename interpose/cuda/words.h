/* SPDX-License-Identifier: MIT */
/*
 * words.h - lists of parameters as words, for rows of functions that pass their arguments on as they are.
 *
 * Numbers and pointers are passed alike, in registers or words of the stack of their own. So a function all of whose
 * parameters are of these kinds may be written with words.
 */
#pragma once

#include "loan.h"

typedef adsm_word word;

#define PARAMS_1 (word a)
#define PARAMS_2 (word a, word b)
#define PARAMS_3 (word a, word b, word c)
#define PARAMS_4 (word a, word b, word c, word d)
#define PARAMS_5 (word a, word b, word c, word d, word e)
#define PARAMS_6 (word a, word b, word c, word d, word e, word f)
#define PARAMS_7 (word a, word b, word c, word d, word e, word f, word g)
#define PARAMS_8 (word a, word b, word c, word d, word e, word f, word g, word h)
#define PARAMS_9 (word a, word b, word c, word d, word e, word f, word g, word h, word i)
#define WORDS_1 a
#define WORDS_2 a, b
#define WORDS_3 a, b, c
#define WORDS_4 a, b, c, d
#define WORDS_5 a, b, c, d, e
#define WORDS_6 a, b, c, d, e, f
#define WORDS_7 a, b, c, d, e, f, g
#define WORDS_8 a, b, c, d, e, f, g, h
#define WORDS_9 a, b, c, d, e, f, g, h, i
