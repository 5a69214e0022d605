/* SPDX-License-Identifier: MIT */
/* adsm-replay.c - replays a recording under other protocols, sizes and links: the command line, and the sweep. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adsmreplay.h"
#include "base/log.h"
#include "cpu/options.h"
#include "start/options.h"

static const char usage[] =
	"usage: adsm-replay [OPTION...] RECORDING\n"
	"Print what the library would move in a recorded run (adsmrun --record FILE) with other settings.\n"
	"\n"
	"  --protocol LIST       protocols: batch, lazy, rolling\n"
	"  --block-size LIST     block sizes: 4K, 64K, 1M, ...\n"
	"  --rolling-size LIST   rolling sizes: auto, or numbers of blocks\n"
	"  --fault-ahead LIST    maximum sizes of fault-ahead windows (ADSM_FAULT_AHEAD)\n"
	"  --evict-batch LIST    bytes that the library sends early at a time (ADSM_EVICT_BATCH)\n"
	"  --link LINK           a link to the device, for the time of transfers: 3GB/s,10us; also several times\n"
	"  --sweep               all protocols, block sizes from 4K to 1M, and rolling sizes from 2 to 128 and auto,\n"
	"                        unless the options above give others\n"
	"  --csv FILE            write the results as CSV; FILE is - for standard output\n"
	"  --plot FILE           draw the bytes with gnuplot; FILE ends with .svg or .png\n"
	"  --help, --version\n"
	"\n"
	"A LIST has values separated by commas. adsm-replay replays each combination. Without a list it uses the\n"
	"value of the recorded run.\n"
	"\n"
	"The exit status is 1 if the recording cannot be replayed or a file cannot be written, and 2 if an option is\n"
	"invalid.\n";

#define LINKS_MAX 16u

enum list { PROTOCOL, BLOCK_SIZE, ROLLING_SIZE, FAULT_AHEAD, EVICT_BATCH, N_LISTS };

static const char *const list_names[N_LISTS] = {
	"protocol", "block-size", "rolling-size", "fault-ahead", "evict-batch",
};

static const char *const swept[N_LISTS] = {
	[PROTOCOL] = "batch,lazy,rolling", [BLOCK_SIZE] = "4K,8K,16K,32K,64K,128K,256K,512K,1M",
	[ROLLING_SIZE] = "auto,2,4,8,16,32,64,128",
};

struct arguments {
	const char *recording;
	const char *lists[N_LISTS];	/* NULL: the recorded value */
	const char *links[LINKS_MAX];
	unsigned n_links;
	const char *csv, *plot;
	bool sweep;
};

/* ---- the command line */

static _Noreturn void print_and_exit(bool help)
{
	int version = ADSM_VERSION;

	if (help)
		fputs(usage, stdout);
	else
		printf("adsm-replay (libadsm) %d.%d.%d\n", version / 10000, version / 100 % 100, version % 100);
	exit(fflush(stdout) ? 1 : 0);
}

/* Where the value of an option goes. Returns NULL after an error message. */
static const char **find_option(struct arguments *arguments, const char *argument)
{
	const char *name = strncmp(argument, "--", 2) ? "" : argument + 2;
	size_t n = strcspn(name, "=");
	static const struct { const char *name; size_t offset; } others[] = {
		{ "csv", offsetof(struct arguments, csv) }, { "plot", offsetof(struct arguments, plot) },
	};

	for (int i = 0; i < N_LISTS; i++)
		if (!strncmp(name, list_names[i], n) && !list_names[i][n])
			return &arguments->lists[i];
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strncmp(name, others[i].name, n) && !others[i].name[n])
			return (const char **)((char *)arguments + others[i].offset);
	if (strncmp(name, "link", n) || n != strlen("link")) {
		complain("unknown option %s; adsm-replay --help lists all options", argument);
		return NULL;
	}
	/* This one may be given several times. */
	if (arguments->n_links < LINKS_MAX)
		return &arguments->links[arguments->n_links++];
	complain("there are more than %u options --link", LINKS_MAX);
	return NULL;
}

static bool parse(int argc, char **argv, struct arguments *arguments)
{
	for (int i = 1; i < argc; i++) {
		const char *equals = strchr(argv[i], '='), **value;

		if (argv[i][0] != '-') {
			if (arguments->recording) {
				complain("%s: only one recording can be replayed", argv[i]);
				return false;
			}
			arguments->recording = argv[i];
			continue;
		}
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "--version"))
			print_and_exit(argv[i][2] == 'h');
		if (!strcmp(argv[i], "--sweep")) {
			arguments->sweep = true;
			continue;
		}
		value = find_option(arguments, argv[i]);
		if (!value)
			return false;
		*value = equals ? equals + 1 : argv[++i];
		if (!*value) {
			complain("%s needs a value", argv[i - 1]);
			return false;
		}
	}
	if (!arguments->recording)
		complain("the recording is missing; see adsm-replay --help");
	return arguments->recording;
}

/* Is the file of an option also @other, which is @what? Then it would be overwritten. */
static bool is_other(const char *option, const char *path, const char *other, const char *what)
{
	struct stat one, two;

	if (!path || !other)
		return false;
	if (strcmp(path, other) != 0 &&
	    (stat(path, &one) || stat(other, &two) || one.st_dev != two.st_dev || one.st_ino != two.st_ino))
		return false;
	complain("--%s: %s is %s; choose another file", option, path, what);
	return true;
}

static bool is_recording(const struct arguments *arguments, const char *option, const char *path)
{
	return is_other(option, path, arguments->recording, "the recording");
}

/* Two names of a new file are known to be of one file when it is there. */
static bool is_csv(const struct arguments *arguments)
{
	return is_other("plot", arguments->plot, arguments->csv, "the file of --csv");
}

/* Draws gnuplot the format that the name of the plot promises? */
static bool is_drawn(const char *path)
{
	const char *ending = path ? strrchr(path, '.') : ".svg";

	if (ending && (!strcmp(ending, ".svg") || !strcmp(ending, ".png")))
		return true;
	complain("--plot: %s does not end with .svg or .png", path);
	return false;
}

/* ---- settings */

/* The settings are all combinations of the lists. Protocols whose block is the whole object have no sizes. */
struct plan {
	struct setting *settings;
	size_t n;
};

static bool push(struct plan *plan, const struct setting *setting)
{
	struct setting *settings = realloc(plan->settings, (plan->n + 1) * sizeof(*settings));

	if (!settings) {
		complain("no memory for the settings");
		return false;
	}
	plan->settings = settings;
	settings[plan->n++] = *setting;
	return true;
}

/* Read the first value of a list by the library's @option. @name: of the option here. Returns false after an error
 * message. */
static bool read_option(const char *name, const char *option, const char **list, char separator)
{
	size_t n = (size_t)(strchrnul(*list, separator) - *list);
	const char *error;
	char value[64];

	if (!n || n >= sizeof(value)) {
		complain("--%s: \"%s\" is not valid", name, *list);
		return false;
	}
	memcpy(value, *list, n);
	value[n] = '\0';
	*list += n + ((*list)[n] != '\0');
	if (!adsm_options_set(option, value) && !adsm_options_load())
		return true;
	/* "ADSM_OPTION=VALUE is not valid; valid: ..." */
	error = strchr(adsm_last_error(), '=');
	complain("--%s%s", name, error ? error : " is not valid");
	return false;
}

/* Take the value of a list that read_option() has read. */
static void take_value(struct setting *setting, int list)
{
	const struct adsm_protocol_options *from = &adsm_protocol_options;
	struct adsm_protocol_options *to = &setting->options;

	if (list == PROTOCOL)
		setting->protocol = adsm_protocol_find(from->protocol);
	else if (list == BLOCK_SIZE)
		to->block_size = from->block_size;
	else if (list == ROLLING_SIZE)
		to->rolling_size = from->rolling_size;
	else if (list == FAULT_AHEAD)
		to->fault_ahead = from->fault_ahead;
	else
		to->evict_batch = from->evict_batch;
}

/* Add the settings of the lists from @list on. @setting: has the values of the lists before. */
static bool expand(struct plan *plan, const struct arguments *arguments, struct setting setting, int list)
{
	const char *text = list < N_LISTS ? arguments->lists[list] : NULL;

	if (list == N_LISTS)
		return push(plan, &setting);
	if (!text && arguments->sweep)
		text = swept[list];
	if (!text || (list != PROTOCOL && setting.protocol->whole_object))
		return expand(plan, arguments, setting, list + 1);
	do {
		if (!read_option(list_names[list], list_names[list], &text, ','))
			return false;
		take_value(&setting, list);
		if (!expand(plan, arguments, setting, list + 1))
			return false;
	} while (*text);
	return true;
}

static bool read_links(const struct arguments *arguments, struct link *ret_links)
{
	for (unsigned i = 0; i < arguments->n_links; i++) {
		const char *text = arguments->links[i];

		if (!read_option("link", "cpu-link", &text, '\0'))
			return false;
		ret_links[i] = (struct link){
			arguments->links[i], adsm_cpu_options.link.bandwidth, adsm_cpu_options.link.latency_ns,
		};
	}
	return true;
}

/* Make all settings; the first one is that of the recorded run. Returns false after an error message. */
static bool make_plan(struct plan *plan, const struct arguments *arguments, const struct recording *recording)
{
	const struct adsm_recording_header *header = recording->header;
	struct setting recorded = {
		.protocol = adsm_protocol_find(header->protocol),
		.options = {
			.block_size = header->block_size, .rolling_size = (unsigned)header->rolling_size,
			.fault_ahead = header->fault_ahead, .evict_batch = header->evict_batch,
		},
	};

	return push(plan, &recorded) && expand(plan, arguments, recorded, 0);
}

/* ---- the replays */

/* If a replay with the recorded settings differs from the recorded run, something happened that replays do not know. */
static bool agrees(const struct recording *recording, const struct result *result)
{
	adsmStats real;

	recording_counted(recording, &real);
	return result->stats.h2d_bytes == real.h2d_bytes && result->stats.d2h_bytes == real.d2h_bytes &&
		result->stats.h2d_transfers == real.h2d_transfers && result->stats.d2h_transfers == real.d2h_transfers;
}

/* On a terminal: how far a long sweep is. The end erases the line. */
static void show(size_t i, size_t n)
{
	if (!isatty(STDERR_FILENO))
		return;
	if (i < n)
		fprintf(stderr, "\r\033[Kadsm-replay: setting %zu of %zu\r", i, n - 1);
	else
		fputs("\r\033[K", stderr);
}

/* Replay all settings. There is a row for each of them and each link. Returns NULL after an error message. */
static struct row *replay_all(const struct recording *recording, const struct plan *plan, const struct link *links,
			      size_t n_links)
{
	struct row *rows = calloc(plan->n * n_links, sizeof(*rows));
	struct result first, result;
	bool known;

	if (!rows) {
		complain("no memory for the results");
		return NULL;
	}
	if (!replay(recording, &plan->settings[0], &first)) {
		free(rows);
		return NULL;
	}
	known = *first.about || !recording->ended || agrees(recording, &first);
	for (size_t i = 1; i < plan->n; i++) {
		show(i, plan->n);
		if (!replay(recording, &plan->settings[i], &result)) {
			free(rows);
			return NULL;
		}
		if (!known && !*result.about)
			snprintf(result.about, sizeof(result.about),
				 "with the recorded settings the replay differs from the recorded run");
		for (size_t j = 0; j < n_links; j++)
			rows[(i - 1) * n_links + j] = (struct row){ plan->settings[i], links[j], result };
	}
	show(plan->n, plan->n);
	return rows;
}

/* Options come from the command line only. */
static void forget_environment(void)
{
	extern char **environ;
	char name[64];

	for (char **entry = environ; entry && *entry; ) {
		size_t n = strcspn(*entry, "=");

		if (strncmp(*entry, "ADSM_", 5) || n >= sizeof(name)) {
			entry++;
			continue;
		}
		memcpy(name, *entry, n);
		name[n] = '\0';
		unsetenv(name);
	}
}

int main(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	struct link links[LINKS_MAX] = { { 0 } };
	struct recording recording;
	struct plan plan = { 0 };
	struct row *rows = NULL;
	size_t n_links, n;
	int status = 2;

	forget_environment();
	adsm_options_set("log", "silent");
	if (!parse(argc, argv, &arguments) || !read_links(&arguments, links) || !is_drawn(arguments.plot) ||
	    is_recording(&arguments, "csv", arguments.csv) || is_recording(&arguments, "plot", arguments.plot) ||
	    is_csv(&arguments))
		return 2;
	n_links = arguments.n_links ? arguments.n_links : 1;
	if (!recording_load(arguments.recording, &recording)) {
		recording_free(&recording);
		return 1;
	}
	if (make_plan(&plan, &arguments, &recording)) {
		rows = replay_all(&recording, &plan, links, n_links);
		status = 1;
	}
	n = plan.n ? (plan.n - 1) * n_links : 0;
	if (rows) {
		if (!arguments.csv || strcmp(arguments.csv, "-") != 0)
			print_table(&recording, rows, n);
		status = (!arguments.csv || write_csv(arguments.csv, rows, n)) &&
			(!arguments.plot || (!is_csv(&arguments) && draw_plot(arguments.plot, rows, n))) ? 0 : 1;
	}
	if (fflush(stdout) || ferror(stdout)) {
		complain("cannot write the results");
		status = 1;
	}
	free(rows);
	free(plan.settings);
	recording_free(&recording);
	return status;
}
