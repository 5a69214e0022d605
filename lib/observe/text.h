/* SPDX-License-Identifier: MIT */
/* text.h - numbers and names in words, as reports, traces and warnings have them. In the fault handler too. */
#ifndef ADSM_TEXT_H
#define ADSM_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cause.h"

#define ADSM_NUMBER_SIZE 40		/* of a number and its unit, or noun */
#define ADSM_JSON_PIECE_SIZE 8

/* Why bytes moved, in one word. */
extern const char *const adsm_why_words[ADSM_N_WHYS];

/* "1.5 MiB": tenths of a unit, which has its own space before it. */
const char *adsm_tenths_text(char text[ADSM_NUMBER_SIZE], uint64_t tenths, const char *unit);

/* Bytes in units of 1024. @rounded: to the nearest tenth, else down. */
const char *adsm_size_text(char text[ADSM_NUMBER_SIZE], uint64_t size, bool rounded);

/* The next bytes of a string of JSON, between its quotes, and what @text goes on with. 0: it has ended. */
unsigned adsm_json_piece(const char **text, char ret_piece[ADSM_JSON_PIECE_SIZE]);

#endif
