/* SPDX-License-Identifier: MIT */
/* log.h - one-line messages to standard error, and the last error of each thread as a sentence. */
#pragma once

#include <stdbool.h>

enum adsm_log_level { ADSM_LOG_SILENT, ADSM_LOG_ERROR, ADSM_LOG_WARN, ADSM_LOG_INFO, ADSM_LOG_DEBUG };

extern enum adsm_log_level adsm_log_level;

/* Formats into a buffer on its stack, writes with write(2), and keeps errno. So it is safe in the fault handler, for
 * the conversions %s %.*s %d %u %x %lx %lu %ld %zu %zx %p %c %% (own formatter, no stdio of the C library). */
void adsm_log_write(enum adsm_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define adsm_log(level, ...) \
	do { if ((level) <= adsm_log_level) adsm_log_write((level), __VA_ARGS__); } while (0)
#define adsm_error(...) adsm_log(ADSM_LOG_ERROR, __VA_ARGS__)
#define adsm_warn(...) adsm_log(ADSM_LOG_WARN, __VA_ARGS__)
#define adsm_info(...) adsm_log(ADSM_LOG_INFO, __VA_ARGS__)
#define adsm_debug(...) adsm_log(ADSM_LOG_DEBUG, __VA_ARGS__)

/* May one more warning about the program's speed be logged? At most ten in a process, so that they do not hide other
 * warnings. The eleventh becomes a line that says so. Any thread, also in the fault handler. */
bool adsm_may_advise(void);

/*
 * Depth of the fault handler in this thread. Inside it the library calls neither malloc() nor other libraries. So it
 * does not call backends that are not signal-safe, and adsm_fail() stores a sentence only if it already has memory for
 * it.
 */
extern __thread int adsm_in_fault;

/* Store the sentence for adsmLastError() (same formatter). */
void adsm_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Store the sentence; the value is @error: return adsm_fail(-EINVAL, "…"). It is a macro, so that readers, compilers
 * and analysers see that the value is not 0. */
#define adsm_fail(error, ...) __extension__({	\
	const int error_ __attribute__((unused)) = (error); \
	adsm_say(__VA_ARGS__);			\
	error_;					\
})

/* Store a sentence of any length, such as a compiler's messages. Not in the fault handler. */
void adsm_say_long(const char *before, const char *text);

const char *adsm_last_error(void);
#define ADSM_MESSAGE_MAX 512	/* bytes of a line or an error, terminator included; longer ones are cut */

/* Sentences stored between these two calls do not stay the last error: the one from before does. Also where a device's
 * lock is held. */
struct adsm_error_kept {
	const char *at;
	unsigned n_said;
	bool null_is_marked;
	char text[ADSM_MESSAGE_MAX];
};
void adsm_error_keep(struct adsm_error_kept *ret_kept);
void adsm_error_back(const struct adsm_error_kept *kept);
/* The number of sentences that this thread has stored. A caller can compare it to see whether a failed function stored
 * one. */
unsigned adsm_n_said(void);
/* A function stored a sentence and returned NULL. The mark stays until this thread stores another sentence. */
void adsm_error_mark_null(void);
bool adsm_error_is_null_marked(void);

/* Log the last error, but not again while it is the same; adsm_error_forget() lets it be logged again. */
void adsm_error_once(void);
void adsm_error_forget(void);

/* The formatter itself: like snprintf(), for the conversions above. */
int adsm_format(char *buffer, unsigned long size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Append to the string in @text, as far as there is room. */
void adsm_append(char *text, unsigned long size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The upper-case letter of ASCII. Not toupper(), which follows the program's locale: in Turkish 'i' stays. */
static inline char adsm_upper(char c)
{
	if (c >= 'a' && c <= 'z')
		return (char)(c - 'a' + 'A');
	return c;
}

/* Bytes of the character that @text begins with, in UTF-8; 0: it begins with no valid character. */
unsigned adsm_utf8_length(const char *text);
