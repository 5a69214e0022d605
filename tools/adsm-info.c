/* SPDX-License-Identifier: MIT */
/* adsm-info.c - shows the library's version, its devices and its options. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "adsm.h"
#include "base/image.h"
#include "base/log.h"
#include "base/module.h"
#include "base/processor.h"
#include "base/writes_text.h"
#include "describe.h"
#include "start/options.h"
#include "watch.h"

static const char usage[] =
	"usage: adsm-info [--options-all | --options-markdown | --help | MODULE...]\n"
	"       adsm-info --watch PID [--interval SECONDS] [--times N]\n"
	"Show the version of the library, its devices, and its options with their current values.\n"
	"  --options-all       show only the options, including those for experiments\n"
	"  --options-markdown  show only the options, as tables in Markdown\n"
	"  MODULE...           show only the kernels of these modules\n"
	"  --watch PID         show what the library does in this process: devices, rates, busiest objects\n"
	"  --interval SECONDS  time between two pictures of --watch (default: 1)\n"
	"  --times N           --watch ends after N pictures (default: when the process ends)\n";

const char *human(uint64_t bytes, char text[32])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	size_t i = 0;

	for (; value >= 1024 && i < sizeof(units) / sizeof(units[0]) - 1; i++)
		value /= 1024;
	snprintf(text, 32, i ? "%.1f %s" : "%.0f %s", value, units[i]);
	return text;
}

/* The bytes of the file @path; NULL with errno. */
static void *read_file(const char *path, size_t *ret_size)
{
	struct stat status;
	char *bytes = NULL;
	FILE *file;
	long size;

	if (stat(path, &status))
		return NULL;
	if (!S_ISREG(status.st_mode)) {
		errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
		return NULL;
	}
	file = fopen(path, "rb");
	if (!file)
		return NULL;
	if (!fseek(file, 0, SEEK_END) && (size = ftell(file)) >= 0) {
		rewind(file);
		bytes = malloc((size_t)size + 1);
		*ret_size = bytes ? fread(bytes, 1, (size_t)size, file) : 0;
	}
	fclose(file);
	return bytes;
}

/* What the kernel needs of a core's local store. */
static void show_needs(const struct adsm_module_info *info, const char *kernel)
{
	for (size_t i = 0; i < info->n_needs; i++) {
		const struct adsm_store_needs *needs = &info->needs[i];

		if (!strcmp(needs->name, kernel))
			printf("  %-20s in a local store: %s%u bytes of stack, %u of code, %u of libm, %u of data\n",
			       "", needs->flags & ADSM_STORE_RECURSIVE ? "at least " : "", needs->stack, needs->code,
			       needs->library, needs->data);
	}
}

/* The module's code in partitions. */
static void show_partitions(const struct adsm_module_info *info)
{
	/* A copy, because the bytes in the module may be unaligned. */
	void *bytes = malloc(info->partitions_size + 1);
	struct adsm_image image;
	uint32_t largest = 0;
	char why[256];

	if (!bytes || !info->partitions_size) {
		free(bytes);
		return;
	}
	memcpy(bytes, info->partitions, info->partitions_size);
	if (adsm_image_check(bytes, info->partitions_size, &image, why, sizeof(why))) {
		printf("  code in partitions   %s\n", why);
		free(bytes);
		return;
	}
	for (uint32_t i = 1; i <= image.header->n_partitions; i++)
		largest = image.partitions[i].size > largest ? image.partitions[i].size : largest;
	printf("  code in partitions   %u partitions, the largest has %u bytes; %u bytes are resident\n",
	       image.header->n_partitions, largest, image.partitions[0].size);
	free(bytes);
}

/* What only modules in CUDA C say of a kernel. */
static void show_entry(const struct adsm_kernel_info *kernel)
{
	if (!kernel->full)
		return;
	if (kernel->full_size != strlen(kernel->name) || memcmp(kernel->full, kernel->name, kernel->full_size))
		printf("    %-18s %.*s\n", "name in the PTX", (int)kernel->full_size, kernel->full);
	if (kernel->shared_size)
		printf("    %-18s %llu bytes\n", "shared memory", (unsigned long long)kernel->shared_size);
	if (kernel->n_variables)
		printf("    %-18s %u\n", "variables it uses", kernel->n_variables);
}

static const char *name_of_access(const struct adsm_param *param)
{
	static const char *const names[] = { "not declared", "IN", "OUT", "INOUT" };

	return param->writes ? "OUT where it is written whole, else INOUT" : names[param->access];
}

/* How a kernel accesses the objects of its pointers. */
static void show_access(const struct adsm_kernel_info *kernel)
{
	for (uint32_t i = 0; i < kernel->n_params; i++) {
		const struct adsm_param *param = &kernel->params[i];

		if (param->kind != ADSM_ARG_POINTER)
			continue;
		printf("  %-20s %s: %s\n", "", param->name, name_of_access(param));
		/* The lines of a parameter follow each other. */
		for (const char *line = param->writes; line && *line && adsm_writes_find(line, kernel->name, i) == line;
		     line += strcspn(line, "\n") + 1) {
			printf("  %-20s   writes ", "");
			describe_write(line);
			printf("\n");
		}
	}
	if (kernel->any_object)
		printf("  %-20s may use any object\n", "");
}

/* Show the kernels of a module and their properties. No code of the module is run. */
static bool show_module(const char *path)
{
	struct adsm_module_info *info;
	size_t size = 0;
	void *image = read_file(path, &size);
	int error;

	if (!image) {
		fprintf(stderr, "adsm-info: %s: %s\n", path, strerror(errno));
		return false;
	}
	error = adsm_module_info_create(image, size, &info);
	free(image);
	if (error) {
		fprintf(stderr, "adsm-info: %s: %s\n", path, adsm_last_error());
		return false;
	}
	printf("module %s\n", path);
	if (*info->variables)
		printf("  variables that kernels may change: %s\n", info->variables);
	if (info->level)
		printf("  code for processors that support %s\n", adsm_processor_option((1u << info->level) - 1));
	if (info->only_ptx)
		printf("  PTX only: each kernel is compiled when it is first used\n");
	for (size_t i = 0; i < info->n_kernels; i++) {
		const struct adsm_kernel_info *kernel = &info->kernels[i];
		const char *services = kernel->services ? ", may call services" : "";

		if (kernel->task)
			printf("  %-20s %u parameters, a task%s\n", kernel->name, kernel->n_params, services);
		else
			printf("  %-20s %u parameters, blocks of up to %u threads%s%s\n", kernel->name,
			       kernel->n_params, kernel->max_threads,
			       kernel->global_atomics ? ", may do atomics on objects" : "", services);
		show_needs(info, kernel->name);
		show_entry(kernel);
		show_access(kernel);
	}
	show_partitions(info);
	adsm_module_info_destroy(info);
	return true;
}

/* The exit status, if all was written. */
static int end(int status)
{
	/* The reason of an earlier failure is not known any longer. */
	if (fflush(stdout))
		fprintf(stderr, "adsm-info: cannot write to the standard output: %s\n", strerror(errno));
	else if (ferror(stdout))
		fprintf(stderr, "adsm-info: cannot write all to the standard output\n");
	else
		return status;
	return 1;
}

static bool show_device(int i)
{
	adsmDeviceProps props = { .struct_size = sizeof(props) };
	char total[32], left[32];

	if (adsmDeviceInfo(i, &props)) {
		printf("device %d: %s\n", i, adsmLastError());
		return false;
	}
	printf("device %d: %s%s\n", i, props.name, props.lost ? " (lost)" : "");
	printf("  backend              %s\n", props.backend);
	if (*props.made_of)
		printf("  made of              %s\n", props.made_of);
	printf("  memory               %s, %s free\n", human(props.memory_size, total),
	       human(props.memory_free, left));
	printf("  compute units        %u\n", props.compute_units);
	printf("  same address as CPU  %s\n", props.same_address ? "yes" : "no");
	printf("  kind of memory       %s\n", props.memory);
	printf("  unified memory       %s\n", props.unified ? "yes, nothing is copied" : "no");
	printf("  transfers run in     %s\n", props.signal_safe ? "the faulting thread" : "a helper thread");
	return true;
}

/* A number above 0; else adsm-info ends. */
static double parse_number(const char *option, const char *text, bool whole)
{
	char *end;
	const double value = text ? strtod(text, &end) : 0;

	if (text && *text && !*end && value > 0 && value < 1e9 && (!whole || value == (double)(long)value))
		return value;
	fprintf(stderr, "adsm-info: %s %s: this must be a %snumber above 0\n", option, text ? text : "",
		whole ? "whole " : "");
	exit(2);
}

static int run_watch(char **argv)
{
	double pid = 0, interval = 1, times = 0;

	for (; *argv; argv += 2) {
		double *value = !strcmp(*argv, "--watch") ? &pid : !strcmp(*argv, "--interval") ? &interval :
			!strcmp(*argv, "--times") ? &times : NULL;

		if (!value) {
			fputs(usage, stderr);
			return 2;
		}
		*value = parse_number(argv[0], argv[1], value != &interval);
	}
	return end(watch((pid_t)pid, interval, (unsigned long)times));
}

int main(int argc, char **argv)
{
	int version = adsmVersion(), n, n_shown = 0;

	if (argc > 1 && !strcmp(argv[1], "--watch"))
		return run_watch(argv + 1);

	if (argc == 2 && !strcmp(argv[1], "--options-markdown")) {
		adsm_options_print(stdout, ADSM_OPTIONS_MARKDOWN);
		return end(0);
	}
	if (argc == 2 && !strcmp(argv[1], "--options-all")) {
		bool valid = !adsm_options_load();

		if (!valid)
			printf("%s\n\n", adsmLastError());
		adsm_options_print(stdout, ADSM_OPTIONS_ALL);
		return end(valid ? 0 : 1);
	}
	if (argc > 1 && *argv[1] != '-') {
		bool shown = true;

		for (int i = 1; i < argc; i++)
			shown &= show_module(argv[i]);
		return end(shown ? 0 : 1);
	}
	if (argc > 1) {
		int help = argc == 2 && !strcmp(argv[1], "--help");

		fputs(usage, help ? stdout : stderr);
		return end(help ? 0 : 2);
	}
	printf("libadsm %d.%d.%d\n\n", version / 10000, version / 100 % 100, version % 100);
	n = adsmDeviceCount();
	if (n < 0)
		printf("no device: %s\n", *adsmLastError() ? adsmLastError() : adsmErrorString(n));
	for (int i = 0; i < n; i++)
		n_shown += show_device(i);
	putchar('\n');
	adsm_options_print(stdout, ADSM_OPTIONS_COMMON);
	return end(n_shown > 0 ? 0 : 1);
}
