/* SPDX-License-Identifier: MIT */
/* text.h - numbers and names as text, for reports, traces and warnings. Also for the fault handler. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cause.h"

#define ADSM_JSON_PIECE_SIZE 8

/* A number with its unit or noun. The text of a returned structure is valid until the end of the full expression. */
struct adsm_number { char text[40]; };

/* The causes, in one word each. */
extern const char *const adsm_why_words[ADSM_N_WHYS];

/* "1.5 MiB": tenths of a unit. @unit begins with a space if there is to be one. */
struct adsm_number adsm_tenths_text(uint64_t tenths, const char *unit);
/* Bytes in units of 1024. @rounded: to the nearest tenth; otherwise rounded down. */
struct adsm_number adsm_size_text(uint64_t size, bool rounded);

/* The next bytes of a JSON string, without its quotes. They are in @text, which moves behind them, or in @room. Returns
 * their number, 0 at the end. */
size_t adsm_json_piece(const char **text, char room[ADSM_JSON_PIECE_SIZE], const char **ret_piece);
