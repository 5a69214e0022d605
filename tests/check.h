/* SPDX-License-Identifier: MIT */
/*
 * check.h - the checks of tests. A check that fails prints a line with the place, the condition and the values, and
 * ends the process with status 1. It uses _exit(), so the library does not clean up.
 *
 * A program may define before the #include:
 *	CHECK_MORE		a text for the end of each line, such as the library's last error text
 *	CHECK_OUT		the stream to print to; default: stderr
 *	CHECK_NAME(code)	the name of a result in CHECK_OK(), if results are not negative errnos
 *	FAIL(format, ...)	the whole reaction to a failed check
 */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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

/* With a text that is added to the message. */
#define CHECKF(condition, format, ...) do { \
	if (!(condition)) \
		FAIL("%s: " format, #condition, ##__VA_ARGS__); \
} while (0)

#define CHECK_EQ(got, want) do { \
	long long got_ = (long long)(got), want_ = (long long)(want); \
	if (got_ != want_) \
		FAIL("%s is %lld, not %lld (%s)", #got, got_, want_, #want); \
} while (0)

/* For word @i of an array. */
#define CHECK_AT(got, i, want) do { \
	long long i_ = (long long)(i), got_ = (long long)(got), want_ = (long long)(want); \
	if (got_ != want_) \
		FAIL("%s is %lld at %lld, not %lld", #got, got_, i_, want_); \
} while (0)

/*
 * May the test skip, because the library's start returned @error? Only OpenCL's driver may be missing. Everything else
 * that devices need has been built: if such a device does not start, the test fails.
 */
static inline bool check_no_driver(int error)
{
	const char *backend = getenv("ADSM_BACKEND");

	return error == -ENODEV && backend && !strcmp(backend, "opencl");
}

/* A call that must return 0. */
#define CHECK_OK(call) do { \
	int got_ = (call); \
	if (got_) \
		FAIL("%s returned %d (%s)", #call, got_, CHECK_NAME(got_)); \
} while (0)

#endif
