/* SPDX-License-Identifier: MIT */
/*
 * parity.c - a whole program: mri-q of the parboil suite with shared memory, lazy and rolling.
 *
 * Floor: the same program with explicit copies. Each run is a process of its own and reports its time.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double run(const char *setting)
{
	char command[4400], json[4096];
	const char *total;
	FILE *out;
	size_t n;

	snprintf(command, sizeof(command), "'%s' run mri-q --size %s %s --json -",
		 bench_beside("../../parboil/parboil"), bench_smoke ? "small" : "medium", setting);
	out = popen(command, "r");
	n = out ? fread(json, 1, sizeof(json) - 1, out) : 0;
	json[n] = '\0';
	total = strstr(json, "\"total\": ");
	if (!out || pclose(out) || !total)
		bench_die("a run has failed: %s", command);
	return strtod(total + strlen("\"total\": "), NULL) * 1e3;
}

static double run_ours(void *arg)
{
	return run(arg);
}

static double run_floor(void *arg)
{
	return run("--variant explicit");
}

void bench_parity(void)
{
	static const char *const protocols[] = { "lazy", "rolling" };

	for (size_t i = 0; i < 2; i++) {
		struct bench_row row = { .unit = "ms", .target = "<= 1.05" };
		char setting[32];

		snprintf(setting, sizeof(setting), "--protocol %s", protocols[i]);
		snprintf(row.name, sizeof(row.name), "mri-q, %s", protocols[i]);
		bench_compare(&row, bench_repeat, run_ours, run_floor, setting);
		bench_emit(&row);
	}
}
