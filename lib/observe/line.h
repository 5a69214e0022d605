/* SPDX-License-Identifier: MIT */
/*
 * line.h - the trace's file and its lines. Each line is a JSON object and is written in one piece. Only one thread at a
 * time may call these functions.
 *
 * A line begins with the kind of bar or mark, and its name. Its arguments follow, each with a key.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* @phase: the "ph" of Chrome's trace-event format. */
void adsm_line_begin(const char *phase, uint64_t pid, uint64_t tid);
void adsm_line_value(const char *key, uint64_t value);
void adsm_line_string(const char *key, const char *text);
/* Nanoseconds, written as microseconds. */
void adsm_line_time(const char *key, uint64_t ns);
/* The name, of two parts. The values after it are arguments. */
void adsm_line_name(const char *first, const char *second);
void adsm_line_end(void);
/* Add text without changes. */
void adsm_line_add(const char *text);

/* Open a file, and close the previous one. Returns 0, or a negative errno, and then no file is open. */
int adsm_lines_open(const char *path);
/* Write the collected text; if no file is open, do nothing. Returns 0, or a negative errno, and then the file is
 * closed. */
int adsm_lines_try(void);
/* The same, but the error is logged. */
void adsm_lines_write(void);
/* The text from now on ends the file, until adsm_lines_go_on(). @again: adsm_lines_go_on() may follow; returns false if
 * this file does not allow that. */
bool adsm_lines_end(bool again);
void adsm_lines_go_on(void);
/* Close the file. */
void adsm_lines_close(void);
