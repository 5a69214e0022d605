/* SPDX-License-Identifier: MIT */
/* job.c - one benchmark to be run: its files, its reference, the library's settings. */
#include "job.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"
#include "report.h"
#include "rival.h"
#include "rng.h"

const char *const pb_variant_names[PB_N_VARIANTS] = {
	[PB_ADSM] = "adsm",
	[PB_EXPLICIT] = "explicit",
	[PB_CUDA_C] = "cuda-c",
	[PB_OPENCL] = "opencl",
	[PB_SVM] = "svm",
	[PB_CUDA] = "cuda",
	[PB_CUDA_PINNED] = "cuda-pinned",
	[PB_CUDA_PINNED_COLD] = "cuda-pinned-cold",
	[PB_CUDA_PIPELINE] = "cuda-pipeline",
	[PB_MANAGED] = "managed",
	[PB_MANAGED_PREFETCH] = "managed-prefetch",
	[PB_ZEROCOPY] = "zerocopy",
};

size_t pb_find_size(const struct pb_bench *bench, const char *name)
{
	char valid[256] = "";

	for (size_t i = 0; bench->sizes[i]; i++) {
		if (!name || strcmp(bench->sizes[i], name) == 0)
			return i;
		strcat(strcat(valid, " "), bench->sizes[i]);
	}
	pb_usage("%s has no size \"%s\"; its sizes are%s", bench->name, name, valid);
}

enum pb_variant pb_find_variant(const char *name, size_t length)
{
	char valid[256] = "";

	for (int i = 0; i < PB_N_VARIANTS; i++) {
		if (strncmp(pb_variant_names[i], name, length) == 0 && !pb_variant_names[i][length])
			return i;
		strcat(strcat(valid, " "), pb_variant_names[i]);
	}
	pb_usage("there is no variant \"%.*s\"; the variants are%s", (int)length, name, valid);
}

void pb_check_variant(const struct pb_bench *bench, enum pb_variant variant)
{
	if (bench->variants[variant])
		return;
#ifndef PB_HAVE_OPENCL
	if (pb_is_opencl(variant))
		pb_usage("the variant %s was not built, because the build found no OpenCL to link with: install it "
			 "(Debian's ocl-icd-opencl-dev), and set up the build folder again", pb_variant_names[variant]);
#endif
#ifndef PB_HAVE_CUDA_C
	if (variant == PB_CUDA_C)
		pb_usage("the variant %s was not built, because the build found no clang 14 to 19: install it "
			 "(Debian's clang), and set up the build folder again", pb_variant_names[variant]);
#endif
	pb_usage("%s has no variant %s; \"parboil list\" shows the variants of each benchmark", bench->name,
		 pb_variant_names[variant]);
}

/* Variants without the library would not do what its options ask for. */
static void check_library_options(const struct pb_config *config)
{
	if (pb_is_rival(config->variant) &&
	    (config->backend || config->protocol || config->block_size || config->rolling_size || config->link ||
	     config->devices))
		pb_usage("the variant %s does not use the library: --backend, --protocol, --block-size, "
			 "--rolling-size, --link and --devices are not possible", pb_variant_names[config->variant]);
	if (config->devices && config->variant == PB_EXPLICIT)
		pb_usage("the variant explicit has device-only memory, which does not move: --devices is not possible");
}

/* ---- files */

static size_t count_inputs(const struct pb_bench *bench, size_t size)
{
	return bench->count_inputs ? bench->count_inputs(size) : bench->inputs ? bench->n_inputs : 0;
}

static void check_inputs(const struct pb_bench *bench, size_t n)
{
	if (!bench->inputs)
		pb_usage("%s has no input files: it generates its input itself", bench->name);
	if (bench->count_inputs ? n < 2 : n != bench->n_inputs)
		pb_usage("%s takes %s%zu input file%s (%s), not %zu", bench->name,
			 bench->count_inputs ? "at least " : "", bench->count_inputs ? 2 : bench->n_inputs,
			 !bench->count_inputs && bench->n_inputs == 1 ? "" : "s", bench->inputs, n);
}

/* @prefix alone where there is one file, else with ".0", ".1" and so on. The list and the paths are one
 * piece of memory. */
static const char **number_paths(const char *prefix, size_t n)
{
	size_t length = strlen(prefix) + 16;
	const char **paths = pb_host_alloc(n * (sizeof(*paths) + length) + 1);
	char *text = (char *)(paths + n);

	for (size_t i = 0; i < n; i++, text += length) {
		paths[i] = text;
		if (n == 1)
			snprintf(text, length, "%s", prefix);
		else
			snprintf(text, length, "%s.%zu", prefix, i);
	}
	return paths;
}

static void generate(const struct pb_bench *bench, size_t size, const char *const *paths, size_t n)
{
	FILE **outs = pb_host_alloc(n * sizeof(*outs));

	for (size_t i = 0; i < n; i++)
		outs[i] = pb_open(paths[i], "wb");
	bench->generate(size, outs);
	for (size_t i = 0; i < n; i++)
		pb_close(outs[i], paths[i]);
	free(outs);
}

static const char **made_inputs;	/* for the run being prepared or done, or NULL */

static void make_inputs(struct pb_run *run, const struct pb_args *args)
{
	char prefix[PATH_MAX];

	if (args->n_inputs) {
		check_inputs(run->bench, args->n_inputs);
		run->inputs = args->inputs;
		run->n_inputs = args->n_inputs;
		return;
	}
	run->n_inputs = count_inputs(run->bench, run->size);
	if (!run->n_inputs)
		return;
	snprintf(prefix, sizeof(prefix), "%s/input%s", pb_files_folder(), run->n_inputs == 1 ? ".0" : "");
	run->inputs = made_inputs = number_paths(prefix, run->n_inputs);
	generate(run->bench, run->size, run->inputs, run->n_inputs);
}

void pb_job_prepare(struct pb_run *run, const struct pb_args *args)
{
	static char output[PATH_MAX];

	run->output = args->output;
	if (args->output && !run->bench->writes)
		pb_usage("%s writes no output file", run->bench->name);
	if (args->points && !run->bench->max_points)
		pb_usage("%s has no points: it takes no --points", run->bench->name);
	run->n_points = pb_args_number("--points", args->points, 0, 1, (unsigned)run->bench->max_points);
	make_inputs(run, args);
	if (!args->output && run->bench->writes) {
		snprintf(output, sizeof(output), "%s/output", pb_files_folder());
		run->output = output;
	}
	if (args->keep && (run->output == output || (run->n_inputs && run->inputs != args->inputs)))
		pb_files_keep();
	run->bench->prepare(run);
}

void pb_job_finish(struct pb_run *run)
{
	pb_files_remove();
	free(made_inputs);
	made_inputs = NULL;
	free(run->data);
	run->data = NULL;
}

/* ---- the library */

static void set_option(const char *name, const char *value)
{
	if (value && adsmOption(name, value))
		pb_usage("%s", adsmLastError());
}

/* Only the CPU's device models a link. */
static void check_link(const struct pb_config *config, const char *backend)
{
	if (config->link && strcmp(backend, "cpu") != 0)
		pb_usage("--link is for the backend cpu, not for %s", backend);
}

void pb_job_configure(const struct pb_config *config)
{
	const char *backend = config->backend ? config->backend : getenv("ADSM_BACKEND");

	/* With "auto" the library chooses it later. */
	if (backend && *backend && strcmp(backend, "auto") != 0)
		check_link(config, backend);
	set_option("backend", config->backend);
	set_option("protocol", config->protocol);
	set_option("block_size", config->block_size);
	set_option("rolling_size", config->rolling_size);
	set_option("cpu_link", config->link);
	set_option("cpu_devices", config->devices);
	set_option("paper", config->paper);
}

void pb_settings(char *ret_text, size_t size)
{
	size_t length = 0;

	*ret_text = '\0';
	for (char **variable = environ; *variable && length < size; variable++)
		if (strncmp(*variable, "ADSM_", 5) == 0)
			length += (size_t)snprintf(ret_text + length, size - length, " %s", *variable);
}

static adsmModule *load_module(const char *bench, enum pb_variant variant)
{
	char path[PATH_MAX], name[32];
	adsmModule *module;

	snprintf(name, sizeof(name), "%s%s.adsm", bench, variant == PB_CUDA_C ? "-cuda-c" : "");
	pb_files_beside(path, sizeof(path), name);
	module = adsmModuleLoad(path);
	if (!module)
		pb_die("%s", adsmLastError());
	return module;
}

/* A rolling size that the library took: a number with K, M or G, or "auto". */
static unsigned long blocks(const char *text)
{
	static const char suffixes[] = "kmgKMG";
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	return *end && strchr(suffixes, *end) ? n << (strchr(suffixes, *end) - suffixes) % 3 * 10 << 10 : n;
}

/* An object knows its protocol and block size, wherever they were set. */
static void describe(const struct pb_config *config, struct pb_setup *setup)
{
	adsmAllocOptions rolling = ADSM_ALLOC_OPTIONS_INIT;
	adsmObjectProps props = { .struct_size = sizeof(props) };
	adsmDeviceProps device = { .struct_size = sizeof(device) };
	const char *size = config->rolling_size ? config->rolling_size : getenv("ADSM_ROLLING_SIZE");
	const char *link = config->link ? config->link : getenv("ADSM_CPU_LINK");
	void *p;

	pb_check(adsmDeviceInfo(ADSM_DEVICE_CURRENT, &device));
	check_link(config, device.backend);
	snprintf(setup->backend, sizeof(setup->backend), "%s", device.backend);
	snprintf(setup->device, sizeof(setup->device), "%s", device.name);
	snprintf(setup->link, sizeof(setup->link), "%s",
		 link && *link && strcmp(device.backend, "cpu") == 0 ? link : "off");
	setup->rolling_size = size ? blocks(size) : 0;
	p = pb_shared_alloc(1);
	pb_check(adsmObjectInfo(p, &props));
	pb_check(adsmFree(p));
	snprintf(setup->protocol, sizeof(setup->protocol), "%s",
		 config->variant == PB_EXPLICIT ? "none" : props.protocol);
	rolling.protocol = "rolling";
	p = adsmAllocWith(1, &rolling);
	if (!p)
		pb_die("%s", adsmLastError());
	pb_check(adsmObjectInfo(p, &props));
	pb_check(adsmFree(p));
	setup->block_size = props.block_size;
}

void pb_job_open(struct pb_run *run, const struct pb_config *config, struct pb_setup *ret_setup)
{
	pb_process_set_name(run->bench->name);
	pb_catch_signals();
	*ret_setup = (struct pb_setup){ .variant = config->variant };
	if (pb_is_rival(config->variant)) {
		pb_rival_open(run, ret_setup);
		return;
	}
	pb_job_configure(config);
	pb_check(adsmInit());
	if (config->devices)
		pb_use_devices((int)pb_args_number("--devices", config->devices, 1, 1, 8));
	run->module = load_module(run->bench->name, config->variant);
	describe(config, ret_setup);
}

void pb_job_run(struct pb_run *run, enum pb_variant variant)
{
	pb_start(run);
	run->bench->variants[variant](run);
}

void pb_job_close(struct pb_run *run)
{
	if (!run->module) {
		pb_rival_close(run);
		return;
	}
	pb_check(adsmModuleUnload(run->module));
	pb_check(adsmShutdown());
}

/* ---- the commands */

static int by_time(const void *a, const void *b)
{
	uint64_t x = ((const struct pb_result *)a)->total_ns, y = ((const struct pb_result *)b)->total_ns;

	return (x > y) - (x < y);
}

/* Run @n times; the result is the run of median time, and verified only if all were. */
static void repeat(struct pb_run *run, enum pb_variant variant, unsigned n)
{
	struct pb_result *results = pb_host_alloc(n * sizeof(*results));
	uint64_t n_wrong = 0;
	double max_error = 0;

	for (unsigned i = 0; i < n; i++) {
		pb_job_run(run, variant);
		n_wrong += run->result.n_compared ? run->result.n_wrong : 1;
		if (run->result.max_error > max_error || isnan(run->result.max_error))
			max_error = run->result.max_error;
		results[i] = run->result;
	}
	qsort(results, n, sizeof(*results), by_time);
	run->result = results[(n - 1) / 2];
	run->result.n_wrong = n_wrong;
	run->result.max_error = max_error;
	free(results);
}

static void report(const struct pb_run *run, const struct pb_setup *setup, const char *file)
{
	FILE *out;

	if (!file) {
		pb_report_title(run, setup);
		pb_report_row(run, setup);
		pb_report_seconds(run);
		return;
	}
	if (strcmp(file, "-") == 0) {
		pb_report_json(stdout, run, setup);
		return;
	}
	out = pb_open(file, "w");
	pb_report_json(out, run, setup);
	pb_close(out, file);
}

int pb_run(const struct pb_bench *bench, const struct pb_args *args)
{
	const struct pb_config config = {
		.variant = args->variant ? pb_find_variant(args->variant, strlen(args->variant)) : PB_ADSM,
		.backend = args->backend, .protocol = args->protocol, .block_size = args->block_size,
		.rolling_size = args->rolling_size, .link = args->link, .devices = args->devices,
	};
	struct pb_run run = { .bench = bench, .size = pb_find_size(bench, args->size) };
	unsigned n = pb_args_number("--repeat", args->repeat, 1, 1, 1000);
	struct pb_setup setup;

	pb_check_variant(bench, config.variant);
	check_library_options(&config);
	/* In this order, because making files and a reference may take long. */
	pb_job_open(&run, &config, &setup);
	pb_job_prepare(&run, args);
	repeat(&run, config.variant, n);
	pb_job_close(&run);
	pb_job_finish(&run);
	report(&run, &setup, args->json);
	if (!pb_verified(&run.result))
		pb_die("the output is wrong: it differs from the reference by up to %g", run.result.max_error);
	return 0;
}

int pb_generate(const struct pb_bench *bench, const struct pb_args *args)
{
	size_t size = pb_find_size(bench, args->size), n = count_inputs(bench, size);
	const char **paths;

	if (!n)
		pb_usage("%s has no input files: it generates its input itself", bench->name);
	if (!args->output)
		pb_usage("generate needs --output FILE");
	pb_process_set_name(bench->name);
	paths = number_paths(args->output, n);
	generate(bench, size, paths, n);
	for (size_t i = 0; i < n; i++) {
		uint64_t hash = PB_FNV_INIT;
		size_t got, total = 0;
		char buffer[4096];
		FILE *file = pb_open(paths[i], "rb");

		while ((got = fread(buffer, 1, sizeof(buffer), file)) > 0) {
			hash = pb_fnv(hash, buffer, got);
			total += got;
		}
		fclose(file);
		printf("%s: %zu bytes, FNV-1a %016llx\n", paths[i], total, (unsigned long long)hash);
	}
	free(paths);
	return 0;
}
