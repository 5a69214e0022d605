/* SPDX-License-Identifier: MIT */
/* text.h - numbers and names in words, as reports, traces and warnings have them. In the fault handler too. */
#ifndef ADSM_TEXT_H
#define ADSM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cause.h"

#define ADSM_JSON_PIECE_SIZE 8

/* A number and its unit, or noun. Of what a function returns the text lives to the end of the full expression. */
struct adsm_number { char text[40]; };

/* Why bytes moved, in one word. */
extern const char *const adsm_why_words[ADSM_N_WHYS];

/* "1.5 MiB": tenths of a unit, which has its own space before it. */
struct adsm_number adsm_tenths_text(uint64_t tenths, const char *unit);
/* Bytes in units of 1024. @rounded: to the nearest tenth, else down. */
struct adsm_number adsm_size_text(uint64_t size, bool rounded);

/* The next bytes of a string of JSON, between its quotes: in @text, which goes on behind them, or @room. 0: the end. */
size_t adsm_json_piece(const char **text, char room[ADSM_JSON_PIECE_SIZE], const char **ret_piece);

#endif
