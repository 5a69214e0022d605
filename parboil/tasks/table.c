/* SPDX-License-Identifier: MIT */
/*
 * table.c - Tables 5 and 6 of the paper on COMIC++: the programs run in a process of their own, whose report has what
 * the device counted. Each row is printed above the paper's, which has other sizes and other shared data.
 */
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

/* Rows of the paper as printed there. */
struct row { const char *program, *paper; };

static const struct row table_5[] = {
	{ "blackscholes", "1.024 % | 0.000 % | 0.000 % | 0 | 0 | 1 | 0" },
	{ "ep", "0.178 % | 25.676 % | 0.000 % | 0 | 3 | 3 | 6" },
	{ "jacobi", "0.666 % | 0.216 % | 0.000 % | 8,120,000 | 19,000 | 4,001 | 0" },
	{ "lu", "0.008 % | 0.000 % | 0.003 % | 460,521 | 1,470 | 754 | 6" },
	{ "md", "1.121 % | 0.047 % | 0.000 % | 1,004,812 | 208 | 21 | 0" },
	{ "raytrace", "0.647 % | 2.884 % | 12.549 % | 2,027,387 | 1,163 | 2 | 2,048" },
	{ "water", "0.105 % | 0.001 % | 0.867 % | 1,240,454 | 51 | 21 | 115" },
	{ "pipeline", NULL }, { "radix", NULL }, { NULL, NULL }
};

static const struct row table_6[] = {
	{ "blackscholes", "1.059 % | 0.000 % | 0.000 % | 0.032 % | 0.000 % | 0.000 % | 0 | 0 | 1 | 0 | 0 | -" },
	{ "ep", "0.194 % | 27.294 % | 0.000 % | 56.919 % | 92.721 % | 0.000 % | 0 | 1 | 3 | 152 | 192 | 20.8 %" },
	{ "jacobi", "0.677 % | 0.217 % | 0.000 % | 0.397 % | 0.151 % | 0.000 % | 0 | 323 | 4,001 | 0 | 0 | -" },
	{ "lu", "0.023 % | 0.000 % | 0.006 % | 0.993 % | 0.000 % | 0.549 % | 0 | 35 | 754 | 152 | 192 | 20.8 %" },
	{ "md", "1.123 % | 0.047 % | 0.000 % | 0.021 % | 0.010 % | 0.000 % | 0 | 0 | 21 | 0 | 0 | -" },
	{ "raytrace", "0.642 % | 2.903 % | 12.551 % | 0.002 % | 0.135 % | 0.072 % | 0 | 42 | 2 | 3,986 | 3,988 "
	  "| 0.1 %" },
	{ "water", "0.058 % | 0.001 % | 0.397 % | 0.835 % | 16.953 % | 0.671 % | 0 | 22 | 21 | 3,047 | 3,649 "
	  "| 16.5 %" },
	{ "pipeline", NULL }, { "radix", NULL }, { NULL, NULL }
};

static const char head_5[] =
	"| | read misses, of loads | write misses, of stores | upgrades, of stores | written back on misses, by worker "
	"| on sync, by worker | barriers | locks |\n|---|---|---|---|---|---|---|---|\n";
static const char head_6[] =
	"| | worker: read misses, of loads | write misses, of stores | upgrades, of stores | node: read misses, of "
	"requests to read | write misses, of requests to write | upgrades, of requests to write | sent on misses, by "
	"node | on sync, by node | barriers | locks, global | locks, local | of local ones on the node |\n"
	"|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";

/* What the report says of a task; 0 where it says nothing. */
static uint64_t counter(const char *task, const char *name)
{
	const char *end = strchr(task, '\n'), *found;
	char key[64];

	snprintf(key, sizeof(key), "\"%s\": ", name);
	found = strstr(task, key);
	return found && (!end || found < end) ? strtoull(found + strlen(key), NULL, 10) : 0;
}

static void print_share(uint64_t part, uint64_t whole)
{
	if (whole)
		printf(" %.3f %% |", 100 * (double)part / (double)whole);
	else
		printf(" - |");
}

static void print_each(uint64_t sum, uint64_t n)
{
	printf(n > 1 && sum % n ? " %.1f |" : " %.0f |", (double)sum / (double)(n ? n : 1));
}

static void print_worker(const char *task)
{
	print_share(counter(task, "read_misses"), counter(task, "reads"));
	print_share(counter(task, "write_misses"), counter(task, "writes"));
	print_share(counter(task, "upgrades"), counter(task, "writes"));
}

static void print_5(const char *task)
{
	const uint64_t workers = counter(task, "workers");

	print_worker(task);
	print_each(counter(task, "sent_on_miss"), workers);
	print_each(counter(task, "sent_on_sync"), workers);
	printf(" %" PRIu64 " | %" PRIu64 " |\n", counter(task, "barriers"), counter(task, "locks"));
}

/* What the library calls the device says how many nodes it has. */
static uint64_t count_nodes(const char *report)
{
	static const char name[] = "\"name\": \"cluster of ";
	const char *found = strstr(report, name);

	return found ? strtoull(found + strlen(name), NULL, 10) : 1;
}

static void print_6(const char *task, uint64_t nodes)
{
	const uint64_t locks = counter(task, "locks"), global = counter(task, "locks_global");
	const uint64_t to_write = counter(task, "write_misses") + counter(task, "upgrades");

	print_worker(task);
	print_share(counter(task, "node_read_misses"), counter(task, "read_misses"));
	print_share(counter(task, "node_write_misses"), to_write);
	print_share(counter(task, "node_upgrades"), to_write);
	print_each(counter(task, "node_early_diffs"), nodes);
	print_each(counter(task, "node_diffs"), nodes);
	printf(" %" PRIu64 " | %" PRIu64 " | %" PRIu64 " |", counter(task, "barriers"), global, locks);
	if (locks)
		printf(" %.1f %% |\n", 100 * (double)(locks - global) / (double)locks);
	else
		puts(" - |");
}

static void print_table(int table, const char *report)
{
	const uint64_t nodes = count_nodes(report);

	fputs(table == 5 ? head_5 : head_6, stdout);
	for (const struct row *row = table == 5 ? table_5 : table_6; row->program; row++) {
		char key[64];
		const char *task;

		snprintf(key, sizeof(key), "\"kernel\": \"%s\", \"calls\"", row->program);
		task = strstr(report, key);
		if (!task)
			continue;
		printf("| %s |", row->program);
		if (table == 5)
			print_5(task);
		else
			print_6(task, nodes);
		if (row->paper)
			printf("| the paper | %s |\n", row->paper);
	}
	if (strstr(report, "\"virtual_ns\": ") && getenv("ADSM_TASK_VIRTUAL"))
		puts("In virtual time (ADSM_TASK_VIRTUAL) loads and stores are not counted.");
}

/* All of a file, as text; "": it cannot be read. */
static char *read_report(int fd)
{
	const off_t size = lseek(fd, 0, SEEK_END);
	char *text = ps_alloc((size_t)(size > 0 ? size : 0) + 1);
	ssize_t n = size > 0 ? pread(fd, text, (size_t)size, 0) : 0;

	text[n > 0 ? n : 0] = '\0';
	return text;
}

int pt_table(int table, char **argv)
{
	const char *folder = getenv("TMPDIR");
	char path[4096], option[4160];
	extern char **environ;
	char *report;
	int fd, status, error;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/adsm-tasks-XXXXXX", folder && *folder ? folder : "/tmp");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		ps_die("%s: %s", path, strerror(errno));
	snprintf(option, sizeof(option), "json:%s", path);
	setenv("ADSM_STATS", option, 1);
	error = posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ);
	if (error || waitpid(pid, &status, 0) != pid)
		ps_die("the process of the programs cannot be started: %s", strerror(error ? error : errno));
	close(fd);
	/* The report has taken the place of this file. */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	report = read_report(fd);
	close(fd);
	unlink(path);
	print_table(table, report);
	free(report);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
