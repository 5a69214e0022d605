/* SPDX-License-Identifier: MIT */
/*
 * table3.c - Table 3 of CUDA-For-Clusters, beside what clusters count that work as the paper's do (ADSM_PAPER=1). Each
 * run is a process of its own, whose report is read.
 */
#include "table3.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "process.h"

#define MAX_NODES 1024
#define PAGE 4096

/* Where a number of the paper's comes from here. */
static const char derived[] = "derived", fitted[] = "fitted";

static const struct {
	const char *name;
	unsigned pages, written;	/* as the paper has them */
	unsigned cfc_pages, cfc_written;	/* at --size cfc, where they are others */
	const char *how, *why;
	/* Is it there in CUDA C? Bytes of its constant memory there, an object whose pages the paper does not count. */
	bool cuda_c;
	unsigned constant;
} rows[] = {
	{ "cp", 1024, 1024, 0, 0, fitted, "1024 x 1024 points, where the paper says one plane",
	  true, 64000 },
	{ "mri-fhd", 1298, 510, 0, 0, fitted,
	  "255 x 1024 voxels for both numbers; Parboil's own 64^3 are 1298 pages, too, and write 512", false, 0 },
	{ "tpacf", 1220, 8, 0, 0, derived, "101 sets of 4096 points, 201 histograms", true, 84 },
	{ "blackscholes", 244145, 97658, 24415, 9766, derived,
	  "50 million options in five arrays, two of them written", true, 0 },
	{ "mri-q", 1286, 508, 0, 0, fitted,
	  "254 x 1024 voxels for both numbers; Parboil's own 64^3 are 1286 pages, too, and write 512", false, 0 },
	{ "scan", 50, 25, 0, 0, derived, "25,600 integers, read and written", true, 0 },
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

enum { CALLS, PAGES, WRITTEN, SINGLE, MULTI, FAULTS, N_COUNTS };
static const char *const keys[N_COUNTS] = {
	"calls", "pages_global", "pages_modified", "pages_single", "pages_multi", "write_faults",
};

/* ---- one run */

static _Noreturn void run_child(const char *name, const char *variant, const char *size, const char *nodes,
				const char *report)
{
	int null = open("/dev/null", O_WRONLY);
	char stats[512];

	snprintf(stats, sizeof(stats), "json:%s", report);
	setenv("ADSM_BACKEND", "cluster", 1);
	setenv("ADSM_CLUSTER_NODES", nodes, 1);
	setenv("ADSM_PAPER", "1", 1);
	setenv("ADSM_STATS", stats, 1);
	if (null >= 0)
		dup2(null, STDOUT_FILENO);
	execl("/proc/self/exe", "parboil", "run", name, "--size", size, "--variant", variant, NULL);
	_exit(127);
}

/* The number behind a name, of those behind "kernels": there is one kernel. */
static bool read_count(const char *text, const char *key, unsigned long *ret_count)
{
	char name[40];
	const char *at;

	snprintf(name, sizeof(name), "\"%s\":", key);
	at = strstr(text, "\"kernels\"");
	at = at ? strstr(at, name) : NULL;
	*ret_count = at ? strtoul(at + strlen(name), NULL, 10) : 0;
	return at;
}

static bool read_report(const char *path, unsigned long ret_counts[N_COUNTS])
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;
	bool found = file && getdelim(&text, &size, '\0', file) > 0;

	for (size_t i = 0; i < N_COUNTS && found; i++)
		found = read_count(text, keys[i], &ret_counts[i]);
	free(text);
	if (file)
		fclose(file);
	return found && ret_counts[CALLS];
}

static bool run(const char *name, const char *variant, const char *size, const char *nodes,
		unsigned long ret_counts[N_COUNTS])
{
	char report[400];
	int status = 0;
	pid_t pid;

	snprintf(report, sizeof(report), "%s/output", pb_files_folder());
	fflush(stdout);
	pid = fork();
	if (!pid) {
		pb_files_forget();
		run_child(name, variant, size, nodes, report);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0 || status || !read_report(report, ret_counts)) {
		fprintf(stderr, "parboil: %s on %s nodes has failed, or counted nothing\n", name, nodes);
		return false;
	}
	return true;
}

/* ---- the table */

struct pb_average pb_average(unsigned long sum, unsigned long calls)
{
	struct pb_average average = { .exact = sum % calls == 0, .each = sum / calls };

	if (average.exact)
		snprintf(average.text, sizeof(average.text), "%lu", average.each);
	else
		snprintf(average.text, sizeof(average.text), "%.3f", (double)sum / (double)calls);
	return average;
}

static bool agrees(const struct pb_average *average, unsigned long wanted)
{
	return average->exact && average->each == wanted;
}

static void print_title(const char *size, bool cuda_c)
{
	printf("Table 3 of CUDA-For-Clusters, and what clusters count in a call with ADSM_PAPER=1, at size %s%s\n\n",
	       size, cuda_c ? ", of kernels in CUDA C" : "");
	printf("%-13s %5s   %17s   %17s   %27s   %s\n", "", "", "pages", "written", "measured: pages written by",
	       "");
	printf("%-13s %5s   %8s %8s   %8s %8s   %8s %8s %9s   %s\n", "program", "nodes", "paper", "measured", "paper",
	       "measured", "one", "several", "faults", "the paper's sizes are here");
}

int pb_table3(const struct pb_args *args)
{
	const char *const size = args->size ? args->size : "cfc";
	const bool all = strcmp(size, "cfc-paper") == 0;
	const char *const variant = args->variant ? args->variant : "adsm";
	const bool cuda_c = strcmp(variant, "cuda-c") == 0;
	const char *const all_nodes = args->nodes ? args->nodes : "1,2,4,8";
	char *list, *rest, *nodes;
	int status = 0;

	if (!cuda_c && strcmp(variant, "adsm") != 0)
		pb_usage("table3 has the variants adsm and cuda-c, not \"%s\"", variant);
	if (!all && strcmp(size, "cfc") != 0)
		pb_usage("table3 has the sizes cfc and cfc-paper, not \"%s\"", size);
	list = pb_host_alloc(strlen(all_nodes) + 1);
	for (rest = strcpy(list, all_nodes); (nodes = strsep(&rest, ","));)
		pb_args_number("--nodes", nodes, 0, 1, MAX_NODES);
	pb_process_set_name("table3");
	pb_catch_signals();
	print_title(size, cuda_c);
	for (size_t i = 0; i < N_ROWS; i++) {
		const unsigned pages = !all && rows[i].cfc_pages ? rows[i].cfc_pages : rows[i].pages;
		const unsigned written = !all && rows[i].cfc_written ? rows[i].cfc_written : rows[i].written;
		const unsigned constant = cuda_c ? (rows[i].constant + PAGE - 1) / PAGE : 0;

		if (cuda_c && !rows[i].cuda_c)
			continue;
		for (rest = strcpy(list, all_nodes); (nodes = strsep(&rest, ","));) {
			unsigned long counts[N_COUNTS];
			struct pb_average each[N_COUNTS];

			if (!run(rows[i].name, variant, size, nodes, counts)) {
				status = 1;
				continue;
			}
			counts[PAGES] -= constant * counts[CALLS];
			for (size_t k = PAGES; k < N_COUNTS; k++)
				each[k] = pb_average(counts[k], counts[CALLS]);
			printf("%-13s %5s   %8u %8s   %8u %8s   %8s %8s %9s   %s%s: %s\n", rows[i].name, nodes,
			       pages, each[PAGES].text, written, each[WRITTEN].text, each[SINGLE].text,
			       each[MULTI].text, each[FAULTS].text, rows[i].how,
			       pages != rows[i].pages ? ", a tenth" : "", rows[i].why);
			if (!agrees(&each[PAGES], pages) || !agrees(&each[WRITTEN], written))
				status = 1;
		}
	}
	free(list);
	pb_files_remove();
	return status;
}
