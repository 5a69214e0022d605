/* SPDX-License-Identifier: MIT */
/* main.c - parboil: runs the benchmarks of the ADSM paper on libadsm, with shared memory and without. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/harness.h"
#include "common/report.h"
#include "mri-q/mri-q.h"

static const struct pb_bench *const benches[] = {
	&mri_q_bench,
};
#define N_BENCHES (sizeof(benches) / sizeof(benches[0]))

static int list(void)
{
	for (size_t i = 0; i < N_BENCHES; i++) {
		printf("%-10s%s; sizes:", benches[i]->name, benches[i]->about);
		for (const char *const *size = benches[i]->sizes; *size; size++)
			printf(" %s", *size);
		putchar('\n');
	}
	return 0;
}

static const struct pb_bench *find_bench(const char *name)
{
	char valid[256] = "";

	for (size_t i = 0; i < N_BENCHES; i++) {
		if (strcmp(benches[i]->name, name) == 0)
			return benches[i];
		strcat(strcat(valid, " "), benches[i]->name);
	}
	pb_usage("there is no benchmark \"%s\"; the benchmarks are%s", name, valid);
}

/* Run this program with @argv; its standard output is @ret_text. The exit status, 1 for a signal. */
static int run_self(const char *const *argv, char ret_text[PB_REPORT_SIZE])
{
	int fds[2], status;
	size_t n = 0;
	ssize_t got;
	pid_t child;

	if (pipe(fds) || (child = fork()) < 0)
		pb_die("cannot start a run: %s", strerror(errno));
	if (!child) {
		dup2(fds[1], STDOUT_FILENO);
		close(fds[0]);
		close(fds[1]);
		execv("/proc/self/exe", (char *const *)argv);
		_exit(1);
	}
	close(fds[1]);
	while ((got = read(fds[0], ret_text + n, PB_REPORT_SIZE - 1 - n)) > 0)
		n += (size_t)got;
	ret_text[n] = '\0';
	close(fds[0]);
	if (waitpid(child, &status, 0) != child)
		pb_die("cannot wait for a run: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Explicit copies and each protocol, every one in a process of its own. */
static int table(const struct pb_args *args)
{
	static const char *const rows[][2] = {
		{ "--variant", "explicit" },
		{ "--protocol", "batch" },
		{ "--protocol", "lazy" },
		{ "--protocol", "rolling" },
	};
	const char *const passed[][2] = {
		{ "--size", args->size },
		{ "--block-size", args->block_size },
		{ "--rolling-size", args->rolling_size },
		{ "--backend", args->backend },
		{ "--repeat", args->repeat },
		{ "--input", args->input },
	};
	bool titled = false, failed = false;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *argv[24] = { "parboil", "run", args->bench, "--json", "-", rows[i][0],
					 rows[i][1] };
		size_t n = 7;
		char json[PB_REPORT_SIZE];
		int status;

		for (size_t j = 0; j < sizeof(passed) / sizeof(passed[0]); j++) {
			if (!passed[j][1])
				continue;
			argv[n++] = passed[j][0];
			argv[n++] = passed[j][1];
		}
		status = run_self(argv, json);
		if (status == 2)	/* no row will like these options */
			return 2;
		failed = failed || status;
		if (!json[0]) {
			printf("%-10sfailed\n", rows[i][1]);
			continue;
		}
		if (!titled)
			pb_report_title(json);
		titled = true;
		pb_report_row(json);
	}
	return failed;
}

int main(int argc, char **argv)
{
	const struct pb_bench *bench;
	struct pb_args args;

	pb_args_parse(&args, argc, argv);
	if (args.command == PB_LIST)
		return list();
	bench = find_bench(args.bench);
	switch (args.command) {
	case PB_RUN:
		return pb_run(bench, &args);
	case PB_GENERATE:
		return pb_generate(bench, &args);
	default:
		return table(&args);
	}
}
