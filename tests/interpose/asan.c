/* SPDX-License-Identifier: MIT */
/* asan.c - AddressSanitizer reports wild accesses of a program whose objects work at the same time. */
#include "conform.h"
#include "../sanitizers.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 20000u

static void touch_and_crash(void)
{
	unsigned *a = words(N, 0), copy[100];

	for (unsigned i = 1; i < 10; i++) {
		CALL("increment", N, adsmPtr(a), adsmVal(N));
		SYNC();
		CHECK_EQ(a[N - 1], N - 1 + i);
		memcpy(copy, a, sizeof(copy));
		CHECK_EQ(copy[99], 99 + i);
	}
	touch_write((volatile unsigned *)0x5eed0);
}

static void report(void)
{
	char text[65536];
	size_t length = 0;
	int ends[2], status;
	ssize_t n;
	pid_t child;

	if (!WITH_ASAN)
		skip("this compiler cannot link AddressSanitizer");
	CHECK(!pipe(ends));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		touch_and_crash();
		_exit(0);
	}
	close(ends[1]);
	while (length < sizeof(text) - 1 && (n = read(ends[0], text + length, sizeof(text) - 1 - length)) > 0)
		length += (size_t)n;
	text[length] = '\0';
	CHECK_EQ(waitpid(child, &status, 0), child);
	if (!strstr(text, "AddressSanitizer: SEGV on unknown address 0x00000005eed0") || !strstr(text, "touch_write"))
		FAIL("status %x and no report, but\n%.600s", (unsigned)status, text);
	/* As ASAN_OPTIONS says: an exit status, or abort(). */
	CHECK(WIFSIGNALED(status) ? WTERMSIG(status) == SIGABRT : WEXITSTATUS(status) != 0);
}

static const struct conform_case cases[] = {
	CASE("report", report),
};
CONFORM_MAIN(cases)
