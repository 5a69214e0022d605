/* SPDX-License-Identifier: MIT */
/* log.h - one-line messages to standard error, and the sentence behind the last error of a thread. */
#ifndef ADSM_LOG_H
#define ADSM_LOG_H

#include <stdbool.h>

enum adsm_log_level { ADSM_LOG_SILENT, ADSM_LOG_ERROR, ADSM_LOG_WARN, ADSM_LOG_INFO, ADSM_LOG_DEBUG };

extern enum adsm_log_level adsm_log_level;

/* Formats into its own stack buffer, writes with write(2), keeps errno: safe in the fault handler for
 * the conversions %s %.*s %d %u %x %lx %lu %ld %zu %zx %p %c %% (own formatter, no libc stdio). */
void adsm_log_write(enum adsm_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define adsm_log(level, ...) \
	do { if ((level) <= adsm_log_level) adsm_log_write((level), __VA_ARGS__); } while (0)
#define adsm_error(...) adsm_log(ADSM_LOG_ERROR, __VA_ARGS__)
#define adsm_warn(...) adsm_log(ADSM_LOG_WARN, __VA_ARGS__)
#define adsm_info(...) adsm_log(ADSM_LOG_INFO, __VA_ARGS__)
#define adsm_debug(...) adsm_log(ADSM_LOG_DEBUG, __VA_ARGS__)

/*
 * May one more of the warnings be given that say what would make a program faster? Ten in a process, so that those of
 * other kinds are not lost among them; instead of the next one comes a line that says so. Any thread, the fault
 * handler.
 */
bool adsm_may_advise(void);

/*
 * Depth of the fault handler in this thread. Inside it there is no malloc() and no library but this one: no
 * backend is called that is not signal-safe, and adsm_fail() remembers only where it already has a place.
 */
extern __thread int adsm_in_fault;

/* Remember the sentence for adsmLastError() (same formatter). */
void adsm_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, and its value is @error: return adsm_fail(-EINVAL, "…"). A macro, so that the reader, compilers
 * and analysers among them, sees that it is not 0. */
#define adsm_fail(error, ...) __extension__({	\
	const int error_ __attribute__((unused)) = (error); \
	adsm_say(__VA_ARGS__);			\
	error_;					\
})

/* One that is as long as it is: a compiler's. Not in the fault handler. */
void adsm_say_long(const char *before, const char *text);

const char *adsm_last_error(void);
/* Whatever is said between these two is not the last error: that stays. NULL, as there was no memory: it does not. */
char *adsm_error_keep(void);
void adsm_error_back(char *kept);
/* Counts the sentences of this thread: has what failed said something? */
unsigned adsm_n_said(void);

/* The last error as a line of the log, but not once more while it stays the same; until it is forgotten. */
void adsm_error_once(void);
void adsm_error_forget(void);

/* The formatter itself: as snprintf, for the conversions above. */
int adsm_format(char *buffer, unsigned long size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Behind what is in @text, as far as there is room. */
void adsm_append(char *text, unsigned long size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Bytes of the character that @text begins with, by the rules of UTF-8; 0: none does. */
unsigned adsm_utf8_length(const char *text);

#endif
