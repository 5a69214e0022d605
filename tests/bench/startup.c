/* SPDX-License-Identifier: MIT */
/*
 * startup.c - what preloading the library adds to the life of a program that never uses it.
 *
 * Floor: the same program without LD_PRELOAD.
 */
#include "bench.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 200

static char preload[PATH_MAX + 128];

static double life(char *const *environment)
{
	static char *const program[] = { "/bin/true", NULL };
	double start = bench_now_us();
	int error, status;
	pid_t child;

	error = posix_spawn(&child, program[0], NULL, NULL, program, environment);
	if (error)
		bench_die("%s: %s", program[0], strerror(error));
	if (waitpid(child, &status, 0) != child || status)
		bench_die("%s did not end well", program[0]);
	return bench_now_us() - start;
}

static double preloaded(void *arg)
{
	return life((char *const[]){ preload, NULL });
}

static double alone(void *arg)
{
	return life((char *const[]){ NULL });
}

void bench_startup(void)
{
	struct bench_row row = { "us", "a whole /bin/true", 0, 0, "", "" };

	const char *library = bench_beside("../../lib/libadsm.so");

	if (access(library, R_OK))
		bench_die("%s: %s", library, strerror(errno));
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", library);
	bench_compare(&row, bench_smoke ? 1 : ROUNDS, preloaded, alone, NULL);
	snprintf(row.note, sizeof(row.note), "adds %.0f us", row.ours - row.floor);
	bench_emit(&row);
}
