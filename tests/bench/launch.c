/* SPDX-License-Identifier: MIT */
/*
 * launch.c - what a program of CUDA's own pays with the library preloaded: for launches, for launches with a read
 * between them, and for a copy to the host. On the driver double, whose kernels take 3 us and do nothing else.
 *
 * Floor: the same program without the library, which reads by copies.
 */
#include "bench.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 5

struct work {
	char *what, *n;
	bool touch;
};

static char *preload, *driver;

static double run(const struct work *work, bool preloaded)
{
	char *const program[] = { (char *)bench_beside("bench-launches"), work->what, work->n, NULL };
	char *environment[6] = { driver, "TEST_CUDA=launch=3000,memory=2G", "ADSM_LOG=error" };
	posix_spawn_file_actions_t actions;
	char text[64] = "";
	int ends[2], status, n = 3;
	pid_t child;

	if (preloaded)
		environment[n++] = preload;
	if (preloaded && work->touch)
		environment[n++] = "TEST_TOUCH=1";
	if (pipe(ends))
		bench_die("pipe: %s", strerror(errno));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	if (posix_spawn(&child, program[0], &actions, NULL, program, environment))
		bench_die("%s: cannot be run", program[0]);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (read(ends[0], text, sizeof(text) - 1) <= 0)
		bench_die("%s said nothing", program[0]);
	close(ends[0]);
	if (waitpid(child, &status, 0) != child || status)
		bench_die("%s did not end well", program[0]);
	return atof(text);
}

static double with(void *arg)
{
	return run(arg, true);
}

static double without(void *arg)
{
	return run(arg, false);
}

static void compare(const char *name, const char *target, struct work work)
{
	struct bench_row row = { "us", "", 0, 0, target, "" };

	snprintf(row.name, sizeof(row.name), "%s", name);
	bench_compare(&row, bench_smoke ? 1 : ROUNDS, with, without, &work);
	bench_emit(&row);
}

void bench_launch(void)
{
	if (asprintf(&preload, "LD_PRELOAD=%s", bench_beside("../../lib/libadsm.so")) < 0 ||
	    asprintf(&driver, "LD_LIBRARY_PATH=%s", bench_beside("../doubles/cuda")) < 0)
		bench_die("no memory");
	compare("a launch", "<= 1.11", (struct work){ "launch", bench_smoke ? "100" : "100000", false });
	compare("a launch, a read of 1 of 1000", "<= 2",
		(struct work){ "read", bench_smoke ? "10" : "1000", true });
	compare("cudaMemcpy of 1 GiB to the host", "<= 1.05",
		(struct work){ "copy", bench_smoke ? "4" : "1024", false });
	free(preload);
	free(driver);
}
