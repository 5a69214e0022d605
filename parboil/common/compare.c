/* SPDX-License-Identifier: MIT */
/* compare.c - the protocols and explicit copies against each other. */
#include "compare.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "process.h"
#include "report.h"
#include "rival.h"
#include "worker.h"

const char *const pb_compared[PB_N_COMPARED] = {
	[EXPLICIT] = "explicit", [BATCH] = "batch", [LAZY] = "lazy", [ROLLING] = "rolling",
};

static struct pb_config config_of(int compared, const struct pb_args *args)
{
	return (struct pb_config){
		.variant = compared == EXPLICIT ? PB_EXPLICIT : PB_ADSM,
		.protocol = compared == EXPLICIT ? NULL : pb_compared[compared],
		.backend = args->backend, .block_size = args->block_size,
		.rolling_size = args->rolling_size, .link = args->link,
	};
}

/* The rivals of "opencl,cuda", a bit for each variant. */
static unsigned rivals_of(const struct pb_args *args)
{
	unsigned rivals = 0;

	for (const char *name = args->rivals; name; ) {
		size_t length = strcspn(name, ",");
		enum pb_variant variant = pb_find_variant(name, length);

		if (!pb_is_rival(variant))
			pb_usage("--rivals takes variants that do not use the library, separated by commas, not \"%s\"",
				 args->rivals);
		rivals |= 1u << variant;
		name = name[length] ? name + length + 1 : NULL;
	}
	return rivals;
}

/* All ways that are compared: the protocols and explicit copies, then the rivals. How many. */
static unsigned ways_of(const struct pb_args *args, struct pb_config ways[PB_MAX_WAYS])
{
	unsigned rivals = rivals_of(args), n = 0;

	while (n < PB_N_COMPARED) {
		ways[n] = config_of((int)n, args);
		n++;
	}
	for (int variant = 0; variant < PB_N_VARIANTS; variant++)
		if (rivals & 1u << variant)
			ways[n++] = (struct pb_config){ .variant = variant };
	return n;
}

/* What is wrong with them ends the program here, before what takes long. */
static void check_options(const struct pb_bench *const *benches, size_t n, const struct pb_args *args)
{
	struct pb_config ways[PB_MAX_WAYS];
	unsigned n_ways = ways_of(args, ways);

	for (unsigned i = 0; i < n_ways; i++) {
		for (size_t k = 0; k < n; k++)
			pb_check_variant(benches[k], ways[i].variant);
		if (!pb_is_rival(ways[i].variant))
			pb_job_configure(&ways[i]);
	}
}

/* ---- interruption and progress */

static volatile sig_atomic_t interrupted;
static volatile sig_atomic_t running;	/* the process whose turn it is, or 0 */

/* A run may take long, and a terminal interrupts it as well, but kill(1) does not. */
static void note_signal(int signal)
{
	if (running)
		kill(running, SIGTERM);
	if (interrupted) {
		pb_files_remove();
		_exit(128 + signal);
	}
	interrupted = signal;
}

void pb_watch_interrupts(void)
{
	static const int ends[] = { SIGHUP, SIGINT, SIGTERM };
	struct sigaction action = { .sa_handler = note_signal };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		pb_catch(ends[i], &action);
	/* A worker that died is noticed where its result is read. */
	signal(SIGPIPE, SIG_IGN);
}

int pb_interrupted(void)
{
	return interrupted;
}

static char part_text[64];		/* "part 2 of 7, " */
static time_t began;			/* the first part */

void pb_progress_part(unsigned part, unsigned n)
{
	began = began ? began : time(NULL);
	snprintf(part_text, sizeof(part_text), "part %u of %u, ", part, n);
}

void pb_progress(const char *format, ...)
{
	static time_t last;
	static bool shown;
	bool terminal = isatty(STDERR_FILENO);
	time_t now = time(NULL);
	char line[256], part[96] = "";
	va_list list;

	if (!last)
		last = now;
	if (*part_text)
		snprintf(part, sizeof(part), "%s%ld:%02ld: ", part_text, (long)(now - began) / 60,
			 (long)(now - began) % 60);
	va_start(list, format);
	vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	if (!*line ? !shown : !terminal && now - last < 30)
		return;
	fprintf(stderr, terminal ? "\r\033[K%s%s" : "%s%s\n", *line ? part : "", line);
	shown = terminal && *line;
	last = now;
}

/* ---- measuring */

/* A way in words. */
static const char *name_of(const struct pb_config *way)
{
	const char *name = way->variant == PB_ADSM ? way->protocol : pb_variant_names[way->variant];
	static char text[64];

	snprintf(text, sizeof(text), "%s%s%s%s%s", name,
		 way->block_size ? ", blocks of " : "", way->block_size ? way->block_size : "",
		 way->rolling_size ? ", rolling size " : "", way->rolling_size ? way->rolling_size : "");
	return text;
}

/* Drivers that compile kernels do that in the first run. */
static bool compiles(const struct pb_setup *setup)
{
	return pb_is_rival(setup->variant) || !strcmp(setup->backend, "opencl") || !strcmp(setup->backend, "cuda");
}

/* One run of one way. It is noted whose turn it is before anyone looks for an interruption that came before. */
static bool turn(struct pb_run *run, const struct pb_config *way, struct pb_worker *worker, struct pb_result *result)
{
	bool ok;

	running = worker->pid;
	ok = !interrupted && pb_worker_run(worker, result);
	running = 0;
	if (ok && !pb_verified(result)) {
		pb_progress("%s", "");
		fprintf(stderr, "parboil: %s: %s: the output is wrong: it differs from the reference by up to %g\n",
			run->bench->name, name_of(way), result->max_error);
		return false;
	}
	return ok;
}

bool pb_take_turns(struct pb_run *run, const struct pb_turns *turns, struct pb_measured *ret_measured)
{
	struct pb_worker workers[PB_MAX_WAYS] = { 0 };
	struct pb_measured *measured = ret_measured;
	bool warm_up = turns->warm_up, ok = true;

	*measured = (struct pb_measured){ .n_ways = turns->n_ways };
	for (unsigned i = 0; i < turns->n_ways; i++)
		measured->results[i] = pb_host_alloc(turns->n * sizeof(*measured->results[i]));
	for (unsigned i = 0; i < turns->n_ways && ok && !interrupted; i++) {
		ok = pb_worker_start(&workers[i], run, &turns->ways[i]);
		measured->setups[i] = workers[i].setup;
		warm_up = warm_up || (ok && compiles(&workers[i].setup));
	}
	/* Turn 0 is the warm-up. */
	for (unsigned k = !warm_up; k <= turns->n && ok && !interrupted; k++) {
		for (unsigned i = 0; i < turns->n_ways && ok && !interrupted; i++) {
			pb_progress("%s %s: turn %u of %u, %s", run->bench->name, run->bench->sizes[run->size],
				    k, turns->n, name_of(&turns->ways[i]));
			ok = turn(run, &turns->ways[i], &workers[i], &measured->results[i][k ? k - 1 : 0]);
		}
		measured->n = ok && !interrupted ? k : measured->n;
	}
	for (unsigned i = turns->n_ways; i-- > 0; )
		pb_worker_stop(&workers[i]);
	pb_progress("%s", "");
	return ok || interrupted;
}

bool pb_measure(struct pb_run *run, const struct pb_args *args, unsigned pairs, struct pb_measured *ret_measured)
{
	struct pb_config ways[PB_MAX_WAYS];
	const struct pb_turns turns = { .ways = ways, .n_ways = ways_of(args, ways), .n = pairs, .warm_up = true };

	return pb_take_turns(run, &turns, ret_measured);
}

void pb_measured_free(struct pb_measured *measured)
{
	for (unsigned i = 0; i < measured->n_ways; i++)
		free(measured->results[i]);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Between the two nearest values. */
static double quantile(const double *values, unsigned n, double q)
{
	double at = q * (n - 1);
	unsigned i = (unsigned)at;

	return i + 1 < n ? values[i] + (at - i) * (values[i + 1] - values[i]) : values[n - 1];
}

struct pb_spread pb_spread(double *values, unsigned n)
{
	qsort(values, n, sizeof(*values), by_value);
	return (struct pb_spread){ quantile(values, n, 0.25), quantile(values, n, 0.5), quantile(values, n, 0.75) };
}

/* ---- the commands */

/* A run that counts. Where kernels are compiled it is the second one, but the first must be right, too. */
static bool run_warm(struct pb_worker *worker, struct pb_result *ret_result)
{
	struct pb_result first = { .n_compared = 1 };

	if ((compiles(&worker->setup) && !pb_worker_run(worker, &first)) || !pb_worker_run(worker, ret_result))
		return false;
	if (!pb_verified(&first))
		ret_result->n_wrong++;
	return true;
}

int pb_table(const struct pb_bench *bench, const struct pb_args *args)
{
	struct pb_run run = { .bench = bench, .size = pb_find_size(bench, args->size) };
	struct pb_config ways[PB_MAX_WAYS];
	unsigned n_ways = ways_of(args, ways);
	bool failed = false, titled = false;

	check_options(&bench, 1, args);
	pb_process_set_name(bench->name);
	pb_catch_signals();
	pb_job_prepare(&run, args);
	for (unsigned i = 0; i < n_ways; i++) {
		struct pb_worker worker = { 0 };

		if (pb_worker_start(&worker, &run, &ways[i]) && run_warm(&worker, &run.result)) {
			if (!titled)
				pb_report_title(&run, &worker.setup);
			titled = true;
			pb_report_row(&run, &worker.setup);
			failed = failed || !pb_verified(&run.result);
		} else {
			printf("%-10sfailed\n", i < PB_N_COMPARED ? pb_compared[i] :
			       pb_variant_names[ways[i].variant]);
			failed = true;
		}
		pb_worker_stop(&worker);
	}
	pb_job_finish(&run);
	return failed;
}

/* Ratios of the medians' pairs: run k of one to run k of the other. */
static struct pb_spread ratio(const struct pb_measured *measured, int compared, unsigned base)
{
	double *ratios = pb_host_alloc(measured->n * sizeof(*ratios));
	struct pb_spread spread;

	for (unsigned k = 0; k < measured->n; k++)
		ratios[k] = (double)measured->results[compared][k].total_ns /
			    (double)measured->results[base][k].total_ns;
	spread = pb_spread(ratios, measured->n);
	free(ratios);
	return spread;
}

static uint64_t bytes(const struct pb_measured *measured, int compared)
{
	const adsmStats *stats = &measured->results[compared][measured->n - 1].stats;

	return stats->h2d_bytes + stats->d2h_bytes;
}

static int name_width = 13;		/* of a row's name: more where rivals have long ones */

/* The beginning of a row: seconds of @base, and the protocols' time to it, with the logarithms added to @logs. */
static void time_columns(const char *name, const struct pb_measured *measured, unsigned base,
			 double logs[PB_N_COMPARED])
{
	double *seconds = pb_host_alloc(measured->n * sizeof(*seconds));

	for (unsigned k = 0; k < measured->n; k++)
		seconds[k] = (double)measured->results[base][k].total_ns * 1e-9;
	printf("%-*s%10.6f", name_width, name, pb_spread(seconds, measured->n).median);
	free(seconds);
	for (int i = BATCH; i < PB_N_COMPARED; i++) {
		struct pb_spread time = ratio(measured, i, base);

		printf("  %8.3f (%.3f-%.3f)", time.median, time.low, time.high);
		logs[i] += log(time.median);
	}
}

/* A row, and one for each rival below. */
static void compare_rows(const struct pb_run *run, const struct pb_measured *measured, unsigned pairs,
			 double logs[PB_MAX_WAYS][PB_N_COMPARED])
{
	time_columns(run->bench->name, measured, EXPLICIT, logs[EXPLICIT]);
	for (int i = 0; i < PB_N_COMPARED; i++) {
		if (i == BATCH)
			continue;
		/* Where memory is shared nothing moves. */
		if (bytes(measured, BATCH))
			printf("%10.3g", (double)bytes(measured, i) / (double)bytes(measured, BATCH));
		else
			printf("%10s", "-");
	}
	if (measured->n < pairs)
		printf("  (only %u of %u pairs)", measured->n, pairs);
	putchar('\n');
	for (unsigned way = PB_N_COMPARED; way < measured->n_ways; way++) {
		char name[32];

		snprintf(name, sizeof(name), "  to %s", pb_variant_names[measured->setups[way].variant]);
		time_columns(name, measured, way, logs[way]);
		putchar('\n');
	}
	pb_report_flush();
}

static void geometric_means(const char *name, size_t n, const double logs[PB_N_COMPARED])
{
	printf("%-*s  %8.3f%22.3f%22.3f\n", name_width + 10, name, exp(logs[BATCH] / (double)n),
	       exp(logs[LAZY] / (double)n), exp(logs[ROLLING] / (double)n));
}

static void compare_title(const struct pb_measured *measured, const char *size, unsigned pairs)
{
	const struct pb_setup *setup = &measured->setups[ROLLING];
	char settings[256];

	pb_settings(settings, sizeof(settings));
	printf("%s on %s, %s, link %s;%s%s %u pairs\n", size, setup->backend, setup->device, setup->link, settings,
	       *settings ? ";" : "", pairs);
	for (unsigned way = PB_N_COMPARED; way < measured->n_ways; way++)
		printf("%s %s on %s\n", pb_variant_names[measured->setups[way].variant],
		       pb_rival_about(measured->setups[way].variant), measured->setups[way].device);
	printf("%-*s%10s  %-66s%s\n", name_width, "", "explicit", "time to explicit: median (quartiles)",
	       "bytes to batch");
	printf("%-*s%10s  %-22s%-22s%-22s%10s%10s%10s\n", name_width, "benchmark", "seconds", "   batch", "   lazy",
	       "   rolling", "explicit", "lazy", "rolling");
}

int pb_compare_benches(const struct pb_bench *const *benches, size_t n, const struct pb_args *args)
{
	unsigned pairs = pb_args_number("--pairs", args->pairs, 15, 1, 1000);
	const char *size = args->size ? args->size : "medium";
	double logs[PB_MAX_WAYS][PB_N_COMPARED] = { 0 };
	struct pb_config ways[PB_MAX_WAYS];
	unsigned n_ways = ways_of(args, ways);
	size_t done = 0;
	bool ok = true;

	for (unsigned way = PB_N_COMPARED; way < n_ways; way++) {
		int width = (int)strlen(pb_variant_names[ways[way].variant]) + 6;

		name_width = width > name_width ? width : name_width;
	}
	for (size_t i = 0; i < n; i++)
		pb_find_size(benches[i], size);
	if (args->n_inputs && n != 1)
		pb_usage("--input is for one benchmark");
	check_options(benches, n, args);
	pb_watch_interrupts();
	for (size_t i = 0; i < n && ok && !interrupted; i++) {
		struct pb_run run = { .bench = benches[i], .size = pb_find_size(benches[i], size) };
		struct pb_measured measured;

		pb_process_set_name(benches[i]->name);
		pb_progress("%s %s: input and reference", benches[i]->name, size);
		pb_job_prepare(&run, args);
		ok = pb_measure(&run, args, pairs, &measured);
		if (measured.n) {
			if (!done++)
				compare_title(&measured, size, pairs);
			compare_rows(&run, &measured, pairs, logs);
		}
		pb_measured_free(&measured);
		pb_job_finish(&run);
	}
	if (done > 1)
		geometric_means("geometric mean", done, logs[EXPLICIT]);
	for (unsigned way = PB_N_COMPARED; way < n_ways && done > 1; way++) {
		char name[32];

		snprintf(name, sizeof(name), "  to %s", pb_variant_names[ways[way].variant]);
		geometric_means(name, done, logs[way]);
	}
	return interrupted ? 128 + interrupted : !ok;
}
