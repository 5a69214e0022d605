/* SPDX-License-Identifier: MIT */
/* figures.c - the figures of the paper's evaluation, measured into CSV files and drawn by gnuplot. */
#include "figures.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../benches.h"
#include "../common/compare.h"
#include "../common/process.h"
#include "../common/report.h"
#include "../common/rival.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define FIRST 7
#define LAST 12
#define SMALLEST ((size_t)4096)		/* blocks of figures 11 and 12 */
#define LARGEST_11 ((size_t)32 << 20)

/* What is measured, and for whom. */
struct session {
	const struct pb_args *args;
	const char *size;
	unsigned pairs;
	unsigned base;			/* of Figure 7: EXPLICIT, or the rival behind all that are compared */
	unsigned part, n_parts;		/* of the work */
	char folder[PATH_MAX - 32];
	bool failed, undrawn, no_gnuplot;
};

/* One figure; its CSV exists from its first row on. */
struct figure {
	unsigned number;
	bool wanted;
	FILE *csv;
	char path[PATH_MAX];
	char caption[1024];
};

/* Nothing more is measured. */
static bool ended(const struct session *session)
{
	return session->failed || pb_interrupted();
}

/* ---- captions */

/* The first "model name" of /proc/cpuinfo; architectures that have none there have a name of their own. */
static const char *processor(const struct utsname *names)
{
	static char model[128];
	FILE *in = fopen("/proc/cpuinfo", "re");
	char line[256];

	snprintf(model, sizeof(model), "%s", names->machine);
	while (in && fgets(line, sizeof(line), in)) {
		const char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || !colon)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(model, sizeof(model), "%s", colon + 1 + strspn(colon + 1, " \t"));
		break;
	}
	if (in)
		fclose(in);
	return model;
}

/* One line: the machine, the device, and what was run. */
static void write_caption(struct figure *figure, const struct pb_setup *setup, const char *size, unsigned n,
			  const char *note)
{
	long n_processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct utsname names;
	time_t now = time(NULL);
	char date[32] = "", settings[256];
	struct tm tm;

	uname(&names);
	strftime(date, sizeof(date), "%Y-%m-%d", localtime_r(&now, &tm));
	pb_settings(settings, sizeof(settings));
	snprintf(figure->caption, sizeof(figure->caption), "%s, %ld processor%s, %s %.*s; backend %s, "
		 "device %s, link model %s;%s%s size %s; %u run%s%s; %s", processor(&names), n_processors,
		 n_processors == 1 ? "" : "s", names.sysname, (int)strcspn(names.release, "-"), names.release,
		 setup->backend, setup->device, setup->link, settings, *settings ? ";" : "", size, n,
		 n == 1 ? " of each" : "s of each: median and quartiles", n == 1 ? "" : note, date);
	for (char *c = figure->caption; *c; c++)
		if ((unsigned char)*c < ' ' || *c == '\x7f')
			*c = ' ';
}

/* At spaces, for a picture. */
static void wrap(char *text, size_t width)
{
	char *start = text, *space = NULL;

	for (char *c = text; *c; c++) {
		if (*c == ' ')
			space = c;
		if ((size_t)(c - start) >= width && space) {
			*space = '\n';
			start = space + 1;
			space = NULL;
		}
	}
}

/* ---- CSV files */

/* Part of a row. */
static void put(struct figure *figure, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct figure *figure, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vfprintf(figure->csv, format, list);
	va_end(list);
}

static void put_spread(struct figure *figure, struct pb_spread spread)
{
	put(figure, ",%.9g,%.9g,%.9g", spread.low, spread.median, spread.high);
}

static void put_names(struct figure *figure, const char *first, const char *second)
{
	static const char *const ends[] = { "low", "median", "high" };

	for (size_t i = 0; i < LENGTH(ends); i++)
		put(figure, ",%s_%s_%s", first, second, ends[i]);
}

/* It can be read from now on, whatever happens next. */
static void end_row(struct figure *figure)
{
	putc('\n', figure->csv);
	if (fflush(figure->csv))
		pb_die("%s: %s", figure->path, strerror(errno));
}

static const char *const endings[] = { "svg", "png" };

static void name_file(char ret_path[PATH_MAX], const struct session *session, const struct figure *figure,
		      const char *ending)
{
	snprintf(ret_path, PATH_MAX, "%s/figure%u.%s", session->folder, figure->number, ending);
}

/* True where the caption has just been written, and the names of the columns are next. */
static bool begin(struct session *session, struct figure *figure, const struct pb_setup *setup, const char *size,
		  unsigned n, const char *note)
{
	char picture[PATH_MAX];

	if (figure->csv)
		return false;
	/* Those of an earlier time are not of this one. */
	for (size_t i = 0; i < LENGTH(endings); i++) {
		name_file(picture, session, figure, endings[i]);
		unlink(picture);
	}
	name_file(figure->path, session, figure, "csv");
	figure->csv = pb_open(figure->path, "we");
	write_caption(figure, setup, size, n, note);
	put(figure, "# Figure %u: %s\n", figure->number, figure->caption);
	return true;
}

/* ---- drawing */

/* Run gnuplot, without a shell: a positive errno where there is none, else its exit status, negative. */
static int run_gnuplot(char *const *argv)
{
	extern char **environ;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int error, status;
	pid_t pid;

	/* An interruption is for the measurement; what was measured is still drawn. */
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	error = posix_spawnp(&pid, argv[0], NULL, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	if (error)
		return error;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -128;
}

/* What Figure 7 is drawn against. */
static const char *base_name(const struct session *session)
{
	return session->base == EXPLICIT ? "explicit" : session->args->rivals;
}

static void draw_as(struct session *session, struct figure *figure, char *caption, const char *ending)
{
	char script[PATH_MAX], out[PATH_MAX], name[32];
	/* Of the user's own settings, none; the arguments are not interpreted by gnuplot. */
	char *argv[] = { "gnuplot", "-d", "-c", script, figure->path, out, caption, (char *)base_name(session), NULL };
	int status;

	snprintf(name, sizeof(name), "figures/figure%u.gp", figure->number);
	pb_files_beside(script, sizeof(script), name);
	name_file(out, session, figure, ending);
	status = run_gnuplot(argv);
	if (status == ENOENT) {
		session->no_gnuplot = true;
	} else if (status) {
		fprintf(stderr, "parboil: gnuplot did not draw %s: %s\n", out,
			status > 0 ? strerror(status) : "it ended with an error");
		unlink(out);	/* or half of it is there */
		session->undrawn = true;
	}
}

/* Close the CSV, where there is one, and draw it. An interruption from here on leaves it @whole. */
static void end(struct session *session, struct figure *figure, bool whole)
{
	char caption[sizeof(figure->caption) + 32];
	const char *note = whole ? NULL : "incomplete";

	if (!figure->csv)
		return;
	if (note)
		put(figure, "# %s\n", note);
	pb_close(figure->csv, figure->path);
	figure->csv = NULL;
	snprintf(caption, sizeof(caption), "%s%s%s", figure->caption, note ? "; " : "", note ? note : "");
	wrap(caption, 125);
	for (size_t i = 0; i < LENGTH(endings) && !session->no_gnuplot; i++)
		draw_as(session, figure, caption, endings[i]);
}

/* ---- what is taken of a result */

typedef double (*value)(const struct pb_result *result);

static double seconds(const struct pb_result *result)
{
	return (double)result->total_ns * 1e-9;
}

static double sent_seconds(const struct pb_result *result)
{
	return (double)result->stats.h2d_ns * 1e-9;
}

static double fetched_seconds(const struct pb_result *result)
{
	return (double)result->stats.d2h_ns * 1e-9;
}

static double sent_bytes(const struct pb_result *result)
{
	return (double)result->stats.h2d_bytes;
}

static double fetched_bytes(const struct pb_result *result)
{
	return (double)result->stats.d2h_bytes;
}

/* 0 where there is nothing to divide. */
static double quotient(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static double sent_bandwidth(const struct pb_result *result)
{
	return quotient(sent_bytes(result), sent_seconds(result));
}

static double fetched_bandwidth(const struct pb_result *result)
{
	return quotient(fetched_bytes(result), fetched_seconds(result));
}

/* A value of one way; with @by >= 0, divided by that of another way in the same turn. */
static struct pb_spread spread_of(const struct pb_measured *measured, unsigned way, value of, int by)
{
	double *values = pb_host_alloc(measured->n * sizeof(*values));
	struct pb_spread spread;

	for (unsigned k = 0; k < measured->n; k++) {
		values[k] = of(&measured->results[way][k]);
		if (by >= 0)
			values[k] = quotient(values[k], of(&measured->results[by][k]));
	}
	spread = pb_spread(values, measured->n);
	free(values);
	return spread;
}

/* Measure: false where nothing more should be. What was measured before that counts. */
static bool measure(struct session *session, struct pb_run *run, const struct pb_turns *turns,
		    struct pb_measured *ret_measured)
{
	bool ok = pb_take_turns(run, turns, ret_measured);

	session->failed = session->failed || !ok;
	return ok && !pb_interrupted();
}

/* A part of the work begins. */
static void next_part(struct session *session)
{
	pb_progress_part(++session->part, session->n_parts);
}

static void prepare(struct session *session, struct pb_run *run, const char *bench, const char *size)
{
	*run = (struct pb_run){ .bench = pb_find_bench(bench) };
	run->size = pb_find_size(run->bench, size);
	pb_process_set_name(bench);
	pb_progress("%s %s: input and reference", bench, size);
	pb_job_prepare(run, session->args);
}

/* ---- figures 7, 8 and 10: the seven benchmarks, one measurement */

static const char *const benches[] = { "cp", "mri-fhd", "mri-q", "pns", "rpes", "sad", "tpacf" };
static const struct { const char *name; value bytes; } directions[] = {
	{ "to_device", sent_bytes },
	{ "from_device", fetched_bytes },
};

/* The logarithms of all columns, for the row of their geometric means. */
struct logs {
	unsigned n;
	double low[PB_N_COMPARED], median[PB_N_COMPARED], high[PB_N_COMPARED];
};

static void names_7(struct figure *figure, const char *base)
{
	put(figure, "benchmark");
	put_names(figure, base, "seconds");
	for (int i = BATCH; i < PB_N_COMPARED; i++)
		put_names(figure, pb_compared[i], "ratio");
	end_row(figure);
}

static void row_7(struct figure *figure, const char *name, const struct pb_measured *measured, unsigned base,
		  struct logs *logs)
{
	put(figure, "%s", name);
	for (int i = 0; i < PB_N_COMPARED; i++) {
		struct pb_spread spread = i == EXPLICIT ? spread_of(measured, base, seconds, -1) :
					  spread_of(measured, i, seconds, (int)base);

		put_spread(figure, spread);
		logs->low[i] += log(spread.low);
		logs->median[i] += log(spread.median);
		logs->high[i] += log(spread.high);
	}
	end_row(figure);
	logs->n++;
}

/* Each the mean of the column above it. */
static void means_7(struct figure *figure, const struct logs *logs)
{
	put(figure, "geometric mean");
	for (int i = 0; i < PB_N_COMPARED; i++)
		put_spread(figure, (struct pb_spread){ exp(logs->low[i] / logs->n), exp(logs->median[i] / logs->n),
						       exp(logs->high[i] / logs->n) });
	end_row(figure);
}

static void names_8(struct figure *figure)
{
	put(figure, "benchmark");
	for (int i = 0; i < PB_N_COMPARED; i++)
		for (size_t d = 0; d < LENGTH(directions); d++)
			put(figure, ",%s_%s_bytes", pb_compared[i], directions[d].name);
	for (int i = LAZY; i < PB_N_COMPARED; i++)
		for (size_t d = 0; d < LENGTH(directions); d++) {
			char share[32];

			snprintf(share, sizeof(share), "%s_share", directions[d].name);
			put_names(figure, pb_compared[i], share);
		}
	end_row(figure);
}

static void row_8(struct figure *figure, const char *name, const struct pb_measured *measured)
{
	put(figure, "%s", name);
	for (int i = 0; i < PB_N_COMPARED; i++)
		for (size_t d = 0; d < LENGTH(directions); d++)
			put(figure, ",%.0f", spread_of(measured, i, directions[d].bytes, -1).median);
	for (int i = LAZY; i < PB_N_COMPARED; i++)
		for (size_t d = 0; d < LENGTH(directions); d++)
			put_spread(figure, spread_of(measured, i, directions[d].bytes, BATCH));
	end_row(figure);
}

static void names_10(struct figure *figure)
{
	put(figure, "benchmark");
	put_names(figure, "rolling", "seconds");
	for (int part = 0; part < PB_N_PARTS; part++)
		put_names(figure, pb_part_names[part], "percent");
	end_row(figure);
}

/* Where transfers overlap with the rest, the parts are more than the whole: percent of their sum. */
static void row_10(struct figure *figure, const char *name, const struct pb_measured *measured)
{
	double *percent = pb_host_alloc(measured->n * sizeof(*percent));

	put(figure, "%s", name);
	put_spread(figure, spread_of(measured, ROLLING, seconds, -1));
	for (int part = 0; part < PB_N_PARTS; part++) {
		for (unsigned k = 0; k < measured->n; k++) {
			double parts[PB_N_PARTS], sum = 0;

			pb_report_parts(parts, &measured->results[ROLLING][k]);
			for (int i = 0; i < PB_N_PARTS; i++)
				sum += parts[i];
			percent[k] = 100 * quotient(parts[part], sum);
		}
		put_spread(figure, pb_spread(percent, measured->n));
	}
	end_row(figure);
	free(percent);
}

static void parboil(struct session *session, struct figure *f7, struct figure *f8, struct figure *f10)
{
	const char *size = session->size;
	struct logs logs = { .n = 0 };
	bool whole;

	for (size_t i = 0; i < LENGTH(benches) && !ended(session); i++) {
		struct pb_measured measured;
		struct pb_run run;

		next_part(session);
		prepare(session, &run, benches[i], size);
		if (!pb_measure(&run, session->args, session->pairs, &measured))
			session->failed = true;
		if (measured.n) {
			const struct pb_setup *setup = &measured.setups[ROLLING];

			if (f7->wanted && begin(session, f7, setup, size, session->pairs, ""))
				names_7(f7, base_name(session));
			if (f8->wanted && begin(session, f8, setup, size, session->pairs, ""))
				names_8(f8);
			if (f10->wanted && begin(session, f10, setup, size, session->pairs, ""))
				names_10(f10);
			if (f7->csv)
				row_7(f7, benches[i], &measured, session->base, &logs);
			if (f8->csv)
				row_8(f8, benches[i], &measured);
			if (f10->csv)
				row_10(f10, benches[i], &measured);
		}
		pb_measured_free(&measured);
		pb_job_finish(&run);
	}
	if (logs.n > 1)
		means_7(f7, &logs);
	whole = !ended(session);
	end(session, f7, whole);
	end(session, f8, whole);
	end(session, f10, whole);
}

/* ---- figure 9: the stencil by volume */

static const struct { const char *name, *protocol, *block_size; } ways_9[] = {
	{ "explicit", NULL, NULL },
	{ "lazy", "lazy", NULL },
	{ "rolling_4K", "rolling", "4K" },
	{ "rolling_256K", "rolling", "256K" },
	{ "rolling_1M", "rolling", "1M" },
	{ "rolling_32M", "rolling", "32M" },
};
_Static_assert(LENGTH(ways_9) <= PB_MAX_WAYS, "one measurement");

static const struct volume { const char *size; unsigned edge; } volumes[] = {
	{ "small", 32 }, { "small64", 64 }, { "n64", 64 }, { "n128", 128 }, { "n192", 192 }, { "n256", 256 },
	{ "n320", 320 }, { "n384", 384 },
};

/* The part of volumes[] for a size of the figures. */
static size_t volumes_of(const char *size, size_t *ret_n)
{
	*ret_n = strcmp(size, "small") == 0 ? 2 : strcmp(size, "paper") == 0 ? 6 : 4;
	return strcmp(size, "small") == 0 ? 0 : 2;
}

static void volume(struct session *session, struct figure *figure, const struct volume *volume)
{
	struct pb_config ways[LENGTH(ways_9)];
	const struct pb_turns turns = { .ways = ways, .n_ways = LENGTH(ways), .n = session->pairs < 3 ?
					session->pairs : 3 };
	struct pb_measured measured;
	struct pb_run run;

	for (size_t i = 0; i < LENGTH(ways); i++)
		ways[i] = (struct pb_config){
			.variant = ways_9[i].protocol ? PB_ADSM : PB_EXPLICIT, .protocol = ways_9[i].protocol,
			.backend = session->args->backend, .block_size = ways_9[i].block_size,
			.link = session->args->link,
		};
	next_part(session);
	prepare(session, &run, "stencil3d", volume->size);
	measure(session, &run, &turns, &measured);
	if (measured.n) {
		if (begin(session, figure, &measured.setups[LAZY], session->size, turns.n, "")) {
			put(figure, "edge");
			for (size_t i = 0; i < LENGTH(ways); i++)
				put_names(figure, ways_9[i].name, "seconds");
			end_row(figure);
		}
		put(figure, "%u", volume->edge);
		for (size_t i = 0; i < LENGTH(ways); i++)
			put_spread(figure, spread_of(&measured, i, seconds, -1));
		end_row(figure);
	}
	pb_measured_free(&measured);
	pb_job_finish(&run);
}

static void stencil(struct session *session, struct figure *figure)
{
	size_t n, first = volumes_of(session->size, &n);

	for (size_t i = 0; i < n && !ended(session); i++)
		volume(session, figure, &volumes[first + i]);
	end(session, figure, !ended(session));
}

/* ---- figures 11 and 12: by block size */

/* "4K" and so on, until the next call. */
static const char *block_name(size_t size)
{
	static char text[16];

	snprintf(text, sizeof(text), "%zu%c", size >> (size >= 1 << 20 ? 20 : 10), size >= 1 << 20 ? 'M' : 'K');
	return text;
}

static const struct { const char *name; value of; } columns_11[] = {
	{ "seconds", seconds },
	{ "to_device_seconds", sent_seconds },
	{ "from_device_seconds", fetched_seconds },
	{ "to_device_bytes_per_second", sent_bandwidth },
	{ "from_device_bytes_per_second", fetched_bandwidth },
};
static const char *const modes_11[] = { "default", "paper" };	/* ADSM_PAPER=0 and 1 */

static void names_11(struct figure *figure)
{
	put(figure, "block,block_bytes");
	for (size_t mode = 0; mode < LENGTH(modes_11); mode++)
		for (size_t i = 0; i < LENGTH(columns_11); i++)
			put_names(figure, modes_11[mode], columns_11[i].name);
	end_row(figure);
}

static void vector_addition(struct session *session, struct figure *figure)
{
	struct pb_config ways[LENGTH(modes_11)];
	const struct pb_turns turns = { .ways = ways, .n_ways = LENGTH(ways), .warm_up = true,
					.n = session->pairs < 5 ? session->pairs : 5 };
	struct pb_run run;

	prepare(session, &run, "vecadd", session->size);
	for (size_t block = SMALLEST; block <= LARGEST_11 && !ended(session); block *= 2) {
		struct pb_measured measured;

		next_part(session);
		for (size_t mode = 0; mode < LENGTH(ways); mode++)
			ways[mode] = (struct pb_config){
				.variant = PB_ADSM, .protocol = "rolling", .backend = session->args->backend,
				.block_size = block_name(block), .link = session->args->link,
				.paper = mode ? "1" : "0",
			};
		measure(session, &run, &turns, &measured);
		if (measured.n) {
			if (begin(session, figure, &measured.setups[0], session->size, turns.n, ""))
				names_11(figure);
			put(figure, "%s,%zu", block_name(block), block);
			for (size_t mode = 0; mode < LENGTH(ways); mode++)
				for (size_t i = 0; i < LENGTH(columns_11); i++)
					put_spread(figure, spread_of(&measured, mode, columns_11[i].of, -1));
			end_row(figure);
		}
		pb_measured_free(&measured);
	}
	pb_job_finish(&run);
	end(session, figure, !ended(session));
}

/* A rolling size below the three streams that fill its object makes tpacf send a block at each store. Of a run that
 * takes so long, one is enough. */
static const struct { const char *rolling_size; bool slow; } ways_12[] = {
	{ "1", true }, { "2", true }, { "4", false },
};

static void names_12(struct figure *figure)
{
	put(figure, "block,block_bytes");
	for (size_t i = 0; i < LENGTH(ways_12); i++) {
		char name[32];

		snprintf(name, sizeof(name), "rolling_%s", ways_12[i].rolling_size);
		put_names(figure, name, "seconds");
		put(figure, ",%s_to_device_bytes", name);
	}
	end_row(figure);
}

/* Its size for a size of the figures. */
static const char *size_12(const char *size)
{
	return strcmp(size, "small") == 0 ? "small" : "rolling";
}

static size_t largest_12(const char *size)
{
	return strcmp(size, "small") == 0 ? 64 << 10 : 1 << 20;
}

static void rolling_size(struct session *session, struct figure *figure)
{
	const char *size = size_12(session->size);
	unsigned n = session->pairs < 3 ? session->pairs : 3;
	struct pb_run run;

	prepare(session, &run, "tpacf", size);
	for (size_t block = SMALLEST; block <= largest_12(size) && !ended(session); block *= 2) {
		struct pb_measured measured[LENGTH(ways_12)] = { 0 };
		bool whole = true;

		next_part(session);
		for (size_t i = 0; i < LENGTH(ways_12) && whole; i++) {
			const struct pb_config way = {
				.variant = PB_ADSM, .protocol = "rolling", .backend = session->args->backend,
				.block_size = block_name(block), .rolling_size = ways_12[i].rolling_size,
				.link = session->args->link, .paper = "1",
			};
			const struct pb_turns turns = { .ways = &way, .n_ways = 1, .n = ways_12[i].slow ? 1 : n };

			measure(session, &run, &turns, &measured[i]);
			whole = measured[i].n;
		}
		if (whole) {
			if (begin(session, figure, measured[0].setups, size, n,
				  " (one where the rolling size is 1 or 2)"))
				names_12(figure);
			put(figure, "%s,%zu", block_name(block), block);
			for (size_t i = 0; i < LENGTH(ways_12); i++) {
				put_spread(figure, spread_of(&measured[i], 0, seconds, -1));
				put(figure, ",%.0f", spread_of(&measured[i], 0, sent_bytes, -1).median);
			}
			end_row(figure);
		}
		for (size_t i = 0; i < LENGTH(ways_12); i++)
			pb_measured_free(&measured[i]);
	}
	pb_job_finish(&run);
	end(session, figure, !ended(session));
}

/* ---- the command */

/* By number, from FIRST on; none given: all. */
static void choose(struct figure *figures, const struct pb_args *args)
{
	for (size_t i = 0; i < args->n_names; i++) {
		char *end;
		unsigned long number = strtoul(args->names[i], &end, 10);

		if (*end || strspn(args->names[i], "0123456789") == 0 || number < FIRST || number > LAST)
			pb_usage("there is no figure \"%s\"; the figures are %d to %d", args->names[i], FIRST, LAST);
		figures[number - FIRST].wanted = true;
	}
	for (unsigned i = 0; i <= LAST - FIRST; i++) {
		figures[i].number = FIRST + i;
		figures[i].wanted = figures[i].wanted || !args->n_names;
	}
}

/* Make the folder where it is not there. */
static void open_folder(struct session *session, const char *out)
{
	char path[PATH_MAX];
	struct stat status;

	if (!out || !*out)
		pb_usage("figures needs --out DIR");
	if (mkdir(out, 0777) && errno != EEXIST)
		pb_usage("--out %s: %s", out, strerror(errno));
	/* From the root on: to gnuplot some names that begin otherwise are commands. */
	if (!realpath(out, path))
		pb_usage("--out %s: %s", out, strerror(errno));
	if (stat(path, &status) == 0 && !S_ISDIR(status.st_mode))
		pb_usage("--out %s: %s", out, strerror(ENOTDIR));
	if (access(path, W_OK | X_OK))
		pb_usage("--out %s: %s", out, strerror(errno));
	if (strlen(path) >= sizeof(session->folder))
		pb_usage("--out %s: %s", out, strerror(ENAMETOOLONG));
	strcpy(session->folder, path);
}

/* All that can be wrong is found before anything is measured. */
static void check(const struct session *session)
{
	static const char *const sizes[] = { "small", "medium", "paper" };
	const struct pb_config config = { .backend = session->args->backend, .link = session->args->link };
	const char *base = session->args->rivals;
	size_t n = 0;

	if (base && !pb_is_rival(pb_find_variant(base, strlen(base))))
		pb_usage("--base takes a variant without the library, not \"%s\"", base);
	for (size_t i = 0; base && i < LENGTH(benches); i++)
		pb_check_variant(pb_find_bench(benches[i]), pb_find_variant(base, strlen(base)));
	while (n < LENGTH(sizes) && strcmp(session->size, sizes[n]) != 0)
		n++;
	if (n == LENGTH(sizes))
		pb_usage("figures have no size \"%s\"; their sizes are small medium paper", session->size);
	pb_job_configure(&config);
	for (size_t i = 0; i < LENGTH(benches); i++)
		pb_find_size(pb_find_bench(benches[i]), session->size);
	pb_find_size(pb_find_bench("vecadd"), session->size);
	pb_find_size(pb_find_bench("tpacf"), size_12(session->size));
	for (size_t first = volumes_of(session->size, &n), i = 0; i < n; i++)
		pb_find_size(pb_find_bench("stencil3d"), volumes[first + i].size);
}

/* The files there are can be written. */
static void check_files(const struct session *session, const struct figure *figures)
{
	char path[PATH_MAX];
	int fd;

	for (unsigned i = 0; i <= LAST - FIRST; i++) {
		if (!figures[i].wanted)
			continue;
		name_file(path, session, &figures[i], "csv");
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd >= 0)
			close(fd);
		else if (errno != ENOENT)
			pb_usage("%s: %s", path, strerror(errno));
	}
}

#define F(number) figures[(number) - FIRST]

static unsigned n_blocks(size_t largest)
{
	unsigned n = 0;

	for (size_t block = SMALLEST; block <= largest; block *= 2)
		n++;
	return n;
}

/* Benchmarks, volumes, and sizes of blocks. */
static unsigned count_parts(const struct session *session, const struct figure *figures)
{
	size_t n_volumes;

	volumes_of(session->size, &n_volumes);
	return (F(7).wanted || F(8).wanted || F(10).wanted ? (unsigned)LENGTH(benches) : 0) +
		(F(9).wanted ? (unsigned)n_volumes : 0) + (F(11).wanted ? n_blocks(LARGEST_11) : 0) +
		(F(12).wanted ? n_blocks(largest_12(size_12(session->size))) : 0);
}

int pb_figures(const struct pb_args *args)
{
	struct figure figures[LAST - FIRST + 1] = { 0 };
	struct session session = {
		.args = args, .size = args->size ? args->size : "medium",
		.pairs = pb_args_number("--pairs", args->pairs, 15, 1, 1000),
		.base = args->rivals ? PB_N_COMPARED : EXPLICIT,
	};

	choose(figures, args);
	check(&session);
	session.n_parts = count_parts(&session, figures);
	open_folder(&session, args->out);
	check_files(&session, figures);
	pb_watch_interrupts();
	if (F(7).wanted || F(8).wanted || F(10).wanted)
		parboil(&session, &F(7), &F(8), &F(10));
	if (F(9).wanted && !ended(&session))
		stencil(&session, &F(9));
	if (F(11).wanted && !ended(&session))
		vector_addition(&session, &F(11));
	if (F(12).wanted && !ended(&session))
		rolling_size(&session, &F(12));
	if (session.no_gnuplot)
		fprintf(stderr, "parboil: there is no gnuplot (Debian package gnuplot-nox), so nothing was drawn; "
			"the CSV files in %s %s\n", session.folder,
			ended(&session) ? "hold what was measured" : "are complete");
	if (pb_interrupted())
		return 128 + pb_interrupted();
	return session.failed || session.undrawn || session.no_gnuplot;
}
