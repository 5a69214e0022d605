/* SPDX-License-Identifier: MIT */
/*
 * line.h - the trace's file, and its lines: objects of JSON, which are written whole. One thread at a time.
 *
 * A line begins with what bar or mark it is, and has a name; then come its arguments, each with a key.
 */
#ifndef ADSM_LINE_H
#define ADSM_LINE_H

#include <stdbool.h>
#include <stdint.h>

/* @phase: of Chrome's format. */
void adsm_line_begin(const char *phase, uint64_t pid, uint64_t tid);
void adsm_line_value(const char *key, uint64_t value);
void adsm_line_string(const char *key, const char *text);
/* Nanoseconds, as microseconds. */
void adsm_line_time(const char *key, uint64_t ns);
/* Of two parts; what comes behind it are arguments. */
void adsm_line_name(const char *first, const char *second);
void adsm_line_end(void);
/* As it is. */
void adsm_line_add(const char *text);

/* 0, or a negative errno: nothing is open. What was is closed. */
int adsm_lines_open(const char *path);
/* Write what has come; nothing, where nothing is open. A negative errno: it cannot be, and the file is closed. */
int adsm_lines_try(void);
/* The same, and the log says so. */
void adsm_lines_write(void);
/* What comes now ends the file, until it goes on. @again: and it shall be able to; false: this one cannot. */
bool adsm_lines_end(bool again);
void adsm_lines_go_on(void);
/* Close it. */
void adsm_lines_close(void);

#endif
