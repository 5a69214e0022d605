/* SPDX-License-Identifier: MIT */
/*
 * startup.c - what preloading the library costs programs that never use it, in processor time, which does not depend on
 * what else the machine does: the life of a short one, and the requests of a server.
 *
 * Floors: a short program with an empty library preloaded, and the server without any.
 */
#include "bench.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 200
#define SERVED 21		/* rounds */
#define REQUESTS "2000"

static char *with[3];		/* environments: the library, an empty one, none */

static pid_t begin(char *const *program, char *preload, int out)
{
	char *const environment[] = { preload, NULL };
	posix_spawn_file_actions_t actions;
	pid_t child;
	int error;

	posix_spawn_file_actions_init(&actions);
	if (out >= 0)
		posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	error = posix_spawn(&child, program[0], &actions, NULL, program, environment);
	posix_spawn_file_actions_destroy(&actions);
	if (error)
		bench_die("%s: %s", program[0], strerror(error));
	return child;
}

static void end(pid_t child, const char *program)
{
	int status;

	if (waitpid(child, &status, 0) != child || status)
		bench_die("%s did not end well", program);
}

/* Microseconds of processor time, as the scheduler counted them at its end, before it is waited for. */
static double life(char *preload)
{
	static char *const program[] = { "/bin/true", NULL };
	pid_t child = begin(program, preload, -1);
	unsigned long long ns = 0;
	siginfo_t info;
	char path[64];
	FILE *file;

	if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT))
		bench_die("waitid: %s", strerror(errno));
	snprintf(path, sizeof(path), "/proc/%d/schedstat", child);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%llu", &ns) != 1)
		bench_die("%s: the system does not count there", path);
	fclose(file);
	end(child, program[0]);
	return (double)ns / 1000;
}

static double preloaded(void *arg)
{
	return life(with[0]);
}

static double empty(void *arg)
{
	return life(with[1]);
}

/* Microseconds a request. */
static double serve(char *preload)
{
	char *const program[] = { (char *)bench_beside("bench-serve"), bench_smoke ? "10" : REQUESTS, NULL };
	char text[32] = "";
	int ends[2];
	pid_t child;

	if (pipe(ends))
		bench_die("pipe: %s", strerror(errno));
	child = begin(program, preload, ends[1]);
	close(ends[1]);
	if (read(ends[0], text, sizeof(text) - 1) <= 0)
		bench_die("%s said nothing", program[0]);
	close(ends[0]);
	end(child, program[0]);
	return atof(text) / 1000;
}

static double serve_preloaded(void *arg)
{
	return serve(with[0]);
}

static double serve_alone(void *arg)
{
	return serve(with[2]);
}

static char *preload_of(const char *file)
{
	const char *library = bench_beside(file);
	char *text;

	if (access(library, R_OK))
		bench_die("%s: %s", library, strerror(errno));
	if (asprintf(&text, "LD_PRELOAD=%s", library) < 0)
		bench_die("no memory");
	return text;
}

void bench_startup(void)
{
	struct bench_row row = { "us", "a whole /bin/true", 0, 0, "", "" };
	struct bench_row request = { "us", "a request to a server", 0, 0, "<= 1.05", "" };

	with[0] = preload_of("../../lib/libadsm.so");
	with[1] = preload_of("libbench-empty.so");
	bench_compare(&row, bench_smoke ? 1 : ROUNDS, preloaded, empty, NULL);
	snprintf(row.note, sizeof(row.note), "adds %.0f us to an empty library", row.ours - row.floor);
	bench_emit(&row);
	bench_compare(&request, bench_smoke ? 1 : SERVED, serve_preloaded, serve_alone, NULL);
	bench_emit(&request);
	free(with[0]);
	free(with[1]);
}
