/* SPDX-License-Identifier: MIT */
/*
 * check.h - what tests check with. What is not as it should be ends the process with status 1, after a line that says
 * where, what, and the values. It ends at once: whatever the library was doing stays as it is.
 *
 * A program that has more to say defines before:
 *	CHECK_MORE		a text for the end of each line: the library's last sentence
 *	CHECK_OUT		where lines go, where that is not stderr
 *	CHECK_NAME(code)	what CHECK_OK() calls what a call returned, where that is no negative errno
 *	FAIL(format, ...)	all of it
 */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef CHECK_MORE
#define CHECK_MORE ""
#endif
#ifndef CHECK_OUT
#define CHECK_OUT stderr
#endif
#ifndef CHECK_NAME
#define CHECK_NAME(code) strerror(-(code))
#endif
#ifndef FAIL
#define FAIL(...) check_failed(CHECK_OUT, __FILE__, __LINE__, errno, CHECK_MORE, __VA_ARGS__)
#endif

__attribute__((format(printf, 6, 7), noreturn))
static inline void check_failed(FILE *out, const char *file, int line, int error, const char *more,
				const char *format, ...)
{
	char text[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(out, "%s:%d: %s (errno %d%s%s)\n", file, line, text, error, *more ? "; " : "", more);
	fflush(out);
	_exit(1);
}

#define CHECK(condition) do { \
	if (!(condition)) \
		FAIL("%s", #condition); \
} while (0)

/* With more to say of it. */
#define CHECKF(condition, format, ...) do { \
	if (!(condition)) \
		FAIL("%s: " format, #condition, ##__VA_ARGS__); \
} while (0)

#define CHECK_EQ(got, want) do { \
	long long got_ = (long long)(got), want_ = (long long)(want); \
	if (got_ != want_) \
		FAIL("%s is %lld, not %lld (%s)", #got, got_, want_, #want); \
} while (0)

/* Of word @i of an array. */
#define CHECK_AT(got, i, want) do { \
	long long i_ = (long long)(i), got_ = (long long)(got), want_ = (long long)(want); \
	if (got_ != want_) \
		FAIL("%s is %lld at %lld, not %lld", #got, got_, i_, want_); \
} while (0)

/* A call that must return 0. */
#define CHECK_OK(call) do { \
	int got_ = (call); \
	if (got_) \
		FAIL("%s returned %d (%s)", #call, got_, CHECK_NAME(got_)); \
} while (0)

#endif
