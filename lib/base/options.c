/* SPDX-License-Identifier: MIT */
/* options.c - the table of options: one row each; parser, adsm-info and the table of docs/options.md come from it. */
#include "base/options.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/os.h"

#define NAME_SIZE 32			/* of an option's name or a word among its values, with its NUL */

/* All that options set: their own struct, and the log's level. */
struct settings {
	struct adsm_options o;
	unsigned log;
};

struct row {
	const char *name;		/* after ADSM_ */
	const char *text;		/* the default */
	const char *valid;		/* for people; the words themselves where only words are valid */
	const char *help;
	size_t offset, size;		/* of the field in struct settings */
	int (*parse)(const struct row *row, const char *text, struct settings *s);
	uint64_t min, max;		/* of a number */
	const char *zero;		/* the word that stands for 0, or for no text */
	const char *paper;		/* what ADSM_PAPER=1 makes of it */
};

struct adsm_options adsm_options;

/* ---- parsers: 0, or -EINVAL for a text that is not valid; the caller says so */

/* Take the next of the words in "batch, lazy, rolling"; false after the last. */
static bool next_word(const char **list, char ret_word[NAME_SIZE])
{
	size_t n = strcspn(*list, ",");

	if (!n || n >= NAME_SIZE)
		return false;
	memcpy(ret_word, *list, n);
	ret_word[n] = '\0';
	*list += n;
	*list += strspn(*list, ", ");
	return true;
}

/* The index of a word in such a list, or -1. */
static int word_index(const char *list, const char *text)
{
	char word[NAME_SIZE];

	for (int i = 0; next_word(&list, word); i++)
		if (!strcmp(word, text))
			return i;
	return -1;
}

static int store(const struct row *row, uint64_t value, struct settings *s)
{
	void *field = (char *)s + row->offset;
	uint32_t value32 = (uint32_t)value;

	if (row->size == sizeof(bool))
		*(bool *)field = value;
	else if (row->size == sizeof(value32))
		memcpy(field, &value32, sizeof(value32));
	else
		memcpy(field, &value, sizeof(value));
	return 0;
}

static int parse_text(const struct row *row, const char *text, struct settings *s)
{
	*(const char **)((char *)s + row->offset) = row->zero && !strcmp(text, row->zero) ? "" : text;
	return 0;
}

static int parse_word(const struct row *row, const char *text, struct settings *s)
{
	return word_index(row->valid, text) < 0 ? -EINVAL : parse_text(row, text, s);
}

/* A bare word would be a file that nobody meant. */
static int parse_stats(const struct row *row, const char *text, struct settings *s)
{
	bool file = (!strncmp(text, "text:", 5) || !strncmp(text, "json:", 5)) && text[5];

	return file || !strcmp(text, "text") || !strcmp(text, row->zero) ? parse_text(row, text, s) : -EINVAL;
}

/* Enums stand in the order of their words. */
static int parse_index(const struct row *row, const char *text, struct settings *s)
{
	int i = word_index(row->valid, text);

	return i < 0 ? -EINVAL : store(row, (uint64_t)i, s);
}

/* Digits; strtoull() alone would also take a sign. */
static int scan(const char **text, int base, uint64_t *ret_value)
{
	char *end;
	uint64_t value;

	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	errno = 0;
	value = strtoull(*text, &end, base);
	if (errno)
		return -EINVAL;
	*text = end;
	*ret_value = value;
	return 0;
}

/* A whole number of bytes, or of things, with K, M or G. */
static int scan_size(const char *text, uint64_t *ret_value)
{
	static const char suffixes[] = "KMG";
	const char *suffix;
	uint64_t value;

	if (scan(&text, 10, &value))
		return -EINVAL;
	suffix = *text ? strchr(suffixes, toupper((unsigned char)*text)) : NULL;
	if (suffix) {
		unsigned shift = 10 * (unsigned)(suffix - suffixes + 1);

		if (value << shift >> shift != value)
			return -EINVAL;
		value <<= shift;
		text++;
	}
	if (*text)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

static int parse_number(const struct row *row, const char *text, struct settings *s)
{
	uint64_t value;

	if (row->zero && !strcmp(text, row->zero))
		return store(row, 0, s);
	if (scan_size(text, &value) || value < row->min || value > row->max)
		return -EINVAL;
	return store(row, value, s);
}

static int parse_block_size(const struct row *row, const char *text, struct settings *s)
{
	uint64_t value;

	if (scan_size(text, &value) || (value & (value - 1)))
		return -EINVAL;
	return parse_number(row, text, s);
}

/* A decimal fraction and its unit, in thousandths of @units[0]; each unit is 1000 times the one before. */
static int scan_unit(const char **text, const char *const units[3], uint64_t *ret_value)
{
	uint64_t value, digit = 1000;

	if (scan(text, 10, &value) || value > UINT32_MAX)
		return -EINVAL;
	value *= 1000;
	if (**text == '.')
		while (isdigit((unsigned char)*++*text))
			value += (uint64_t)(**text - '0') * (digit /= 10);
	for (int i = 0; i < 3; i++, value *= 1000) {
		size_t n = strlen(units[i]);

		if (strncmp(*text, units[i], n))
			continue;
		*text += n;
		*ret_value = value;
		return 0;
	}
	return -EINVAL;
}

static int parse_link(const struct row *row, const char *text, struct settings *s)
{
	static const char *const rates[] = { "KB/s", "MB/s", "GB/s" };
	static const char *const times[] = { "ns", "us", "ms" };
	uint64_t rate = 0, time = 0;

	if (strcmp(text, row->zero)) {
		if (scan_unit(&text, rates, &rate) || !rate)
			return -EINVAL;
		if (*text == ',' && (text++, scan_unit(&text, times, &time)))
			return -EINVAL;
		if (*text)
			return -EINVAL;
	}
	s->o.cpu_link_bandwidth = rate;
	s->o.cpu_link_latency_ns = time / 1000;
	return 0;
}

static int parse_arena(const struct row *row, const char *text, struct settings *s)
{
	size_t n_zero = strlen(row->zero);
	uint64_t address = 0, size = 0;

	if (!strncmp(text, row->zero, n_zero))
		text += n_zero;
	else if (scan(&text, 0, &address))
		return -EINVAL;
	if (*text == ',' ? scan_size(text + 1, &size) || size < row->min : *text)
		return -EINVAL;
	if (address > row->max || size > row->max || (address | size) % ADSM_PAGE_SIZE)
		return -EINVAL;
	s->o.arena_address = address;
	s->o.arena_size = size;
	return 0;
}

/* ---- the table */

#define FIELD(f) .offset = offsetof(struct settings, f), .size = sizeof(((struct settings *)0)->f)

static const struct row rows[] = {
	{ "PROTOCOL", "rolling", "batch, lazy, rolling",
	  "the coherence protocol of objects that do not choose their own",
	  FIELD(o.protocol), parse_word },
	{ "BLOCK_SIZE", "64K", "a power of two from 4K to 1G",
	  "bytes of a block, for rolling",
	  FIELD(o.block_size), parse_block_size, 4096, (uint64_t)1 << 30 },
	{ "ROLLING_SIZE", "auto", "auto, or a number of blocks from 1",
	  "how many blocks may be Dirty on a device before the oldest is sent; auto: 2 per live object",
	  FIELD(o.rolling_size), parse_number, 1, UINT32_MAX, .zero = "auto" },
	{ "FAULT_AHEAD", "2M", "bytes from 0 to 1G",
	  "largest window that a fault in sequence opens or fetches at once; once reads have come so far, the next is "
	  "fetched meanwhile; 0: off",
	  FIELD(o.fault_ahead), parse_number, 0, (uint64_t)1 << 30, .paper = "0" },
	{ "EVICT_BATCH", "2M", "bytes from 1 to 1G",
	  "how much is sent early at a time; 1: one block, closed by the writer",
	  FIELD(o.evict_batch), parse_number, 1, (uint64_t)1 << 30, .paper = "1" },
	{ "BACKEND", "auto", "auto, cuda, opencl, cpu",
	  "which accelerators to use; auto: the first that is there, never an OpenCL device that is the CPU",
	  FIELD(o.backend), parse_word },
	{ "TOUCH", "wait", "wait, error",
	  "what touching data of a running call does: wait for the call, or SIGBUS",
	  FIELD(o.touch), parse_index },
	{ "ENGINE", "sigsegv", "sigsegv",
	  "how accesses to closed pages are caught",
	  FIELD(o.engine), parse_word },
	{ "STATS", "off", "off, text, text:FILE or json:FILE",
	  "report at exit of what moved and why: as text on standard error or in a file, or as JSON in a file",
	  FIELD(o.stats), parse_stats, .zero = "off" },
	{ "TRACE", "off", "off, or a file",
	  "timeline in Chrome's trace-event format, for Perfetto",
	  FIELD(o.trace), parse_text, .zero = "off" },
	{ "ADVISE", "0", "0, 1",
	  "1: find out what the CPU really uses, page by page, and let the report say what would help, and how much",
	  FIELD(o.advise), parse_index },
	{ "FILES", "replace", "replace, new",
	  "reports and traces whose file is there already: replace it, or write beside it, with the process's number "
	  "behind the name",
	  FIELD(o.files_new), parse_index },
	{ "ARENA", "auto", "auto or address[,size] such as 0x7e8000000000,64G, in whole pages",
	  "where shared objects live, and how much address space they have",
	  FIELD(o.arena_address), parse_arena, (uint64_t)1 << 20, (uint64_t)1 << 47, .zero = "auto" },
	{ "KEEP", "256M", "bytes from 0 to 1024G",
	  "how much memory of freed objects is kept for new ones: on the CPU's side, and on each OpenCL or CUDA "
	  "device",
	  FIELD(o.keep), parse_number, 0, (uint64_t)1 << 40 },
	{ "CPU_MEMORY", "discrete", "discrete, unified",
	  "cpu device: memory of its own, or the application's",
	  FIELD(o.cpu_unified), parse_index },
	{ "CPU_MEMORY_SIZE", "auto", "auto, or bytes up to 65536G",
	  "cpu device: its memory; auto: half of what is available",
	  FIELD(o.cpu_memory_size), parse_number, 0, (uint64_t)1 << 46, .zero = "auto" },
	{ "CPU_THREADS", "auto", "auto, or a number from 1 to 1024",
	  "cpu device: its worker threads; auto: one per processor",
	  FIELD(o.cpu_threads), parse_number, 1, 1024, .zero = "auto" },
	{ "CPU_DEVICES", "1", "a number from 1 to 8",
	  "cpu device: how many",
	  FIELD(o.cpu_devices), parse_number, 1, 8 },
	{ "CPU_LINK", "off", "off, or bandwidth[,latency] such as 3GB/s,10us",
	  "cpu device: let transfers take the time a bus would",
	  FIELD(o.cpu_link_bandwidth), parse_link, .zero = "off" },
	{ "CPU_DEVICE", "auto", "auto, or a file",
	  "cpu device: its program; auto: the one installed with the library",
	  FIELD(o.cpu_device), parse_text, .zero = "auto" },
	{ "OPENCL_DEVICE", "all", "all, or platform:device, each an index or part of a name",
	  "opencl: which devices; a part left out stands for any",
	  FIELD(o.opencl_device), parse_text, .zero = "all" },
	{ "OPENCL_MEMORY", "auto", "auto, buffer, usm, address, svm, unified",
	  "opencl: how objects are kept; auto: usm or address, which give them device addresses, else buffer; no usm "
	  "where the program uses OpenCL, too; unified: nothing is copied",
	  FIELD(o.opencl_memory), parse_index },
	{ "OPENCL_CACHE", "auto", "auto, off, or a folder",
	  "opencl: where compiled programs are kept; auto: adsm/opencl in the user's cache folder",
	  FIELD(o.opencl_cache), parse_text, .zero = "auto" },
	{ "OPENCL_LIBRARY", "auto", "auto, or a file",
	  "opencl: the ICD loader; auto: libOpenCL.so.1",
	  FIELD(o.opencl_library), parse_text, .zero = "auto" },
	{ "CUDA_DEVICE", "all", "all, an index, or part of a name",
	  "cuda: which devices",
	  FIELD(o.cuda_device), parse_text, .zero = "all" },
	{ "CUDA_MEMORY", "auto", "auto, arena, view, separate",
	  "cuda: where objects lie; auto: at one address for both sides, in the library's range (arena), else where "
	  "the driver puts them (view), else the addresses differ (separate)",
	  FIELD(o.cuda_memory), parse_index },
	{ "CUDA_PIN", "2G", "bytes from 0 to 1024G",
	  "cuda: how much memory of objects that move often may be pinned, for faster transfers",
	  FIELD(o.cuda_pin), parse_number, 0, (uint64_t)1 << 40 },
	{ "CUDA_OBJECTS", "auto", "auto, on, off",
	  "is what a program allocates with cudaMalloc() or cuMemAlloc() shared memory? auto: where the library is "
	  "preloaded",
	  FIELD(o.cuda_objects), parse_index },
	{ "CUDA_EVENTS", "late", "late, each",
	  "cuda: how the end of what a program launches is known; late: by one event when the CPU touches what it may "
	  "use, behind all that its streams have then; each: by an event behind each launch",
	  FIELD(o.cuda_events), parse_index },
	{ "CUDA_CACHE", "auto", "auto, off, or a folder",
	  "cuda: where compiled modules are kept; auto: adsm/cuda in the user's cache folder",
	  FIELD(o.cuda_cache), parse_text, .zero = "auto" },
	{ "CUDA_LIBRARY", "auto", "auto, or a file",
	  "cuda: the driver; auto: libcuda.so.1",
	  FIELD(o.cuda_library), parse_text, .zero = "auto" },
	{ "CUDA_COMPILER", "auto", "auto, off, or a file",
	  "cuda: NVRTC, which compiles modules that carry no code for the device; auto: the toolkit's, where it is "
	  "found",
	  FIELD(o.cuda_compiler), parse_text, .zero = "auto" },
	{ "WRAP", "off", "off, or a plan",
	  "for tests: trace the backend and inject errors",
	  FIELD(o.wrap), parse_text, .zero = "off" },
	{ "PAPER", "0", "0, 1",
	  "1: the paper's exact behaviour: fault-ahead 0, eviction batch 1, named accesses ignored",
	  FIELD(o.paper), parse_index },
	{ "LOG", "warn", "silent, error, warn, info, debug",
	  "what is said on standard error",
	  FIELD(log), parse_index },
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* Who said what of each option. The values in adsm_options point into it. */
static struct {
	char *program, *environment;
	const char *text;		/* the one that counts; NULL: not loaded yet */
} given[N_ROWS];
static struct adsm_mutex mutex = ADSM_MUTEX_INIT;	/* all of these, and loading */

/* ---- names that are almost right */

static unsigned distance(const char *a, const char *b)
{
	unsigned cost[NAME_SIZE + 1];
	size_t n = strlen(b);

	for (size_t j = 0; j <= n; j++)
		cost[j] = (unsigned)j;
	for (; *a; a++) {
		unsigned diagonal = cost[0]++;

		for (size_t j = 1; j <= n; j++) {
			unsigned best = diagonal + (toupper((unsigned char)*a) != toupper((unsigned char)b[j - 1]));

			diagonal = cost[j];
			if (best > diagonal + 1)
				best = diagonal + 1;
			if (best > cost[j - 1] + 1)
				best = cost[j - 1] + 1;
			cost[j] = best;
		}
	}
	return cost[n];
}

/* Is @candidate nearer to @text than those before it, and near at all? Start with *best = 0. */
static bool nearer(const char *text, const char *candidate, unsigned *best)
{
	unsigned d = distance(text, candidate);

	if (!*best)
		*best = (unsigned)strlen(text) / 2 + 1;
	if (d >= *best)
		return false;
	*best = d;
	return true;
}

static const struct row *nearest_row(const char *name)
{
	const struct row *row = NULL;
	unsigned best = 0;

	for (size_t i = 0; i < N_ROWS; i++)
		if (nearer(name, rows[i].name, &best))
			row = &rows[i];
	return row;
}

static int fail_value(const struct row *row, const char *text)
{
	bool stats = row->parse == parse_stats;
	const char *list = stats ? "off, text, text:FILE, json:FILE" : row->valid, *file = "";
	char word[NAME_SIZE], near[NAME_SIZE] = "";
	unsigned best = 0;

	if (stats && !strchr(text, ':') && strpbrk(text, "./")) {
		memcpy(near, "json:", sizeof("json:"));
		file = text;
	} else if (stats || row->parse == parse_word || row->parse == parse_index) {
		while (next_word(&list, word))
			if (nearer(text, word, &best))
				memcpy(near, word, sizeof(near));
	}
	return adsm_fail(-EINVAL, "ADSM_%s=%s is not valid; valid: %s%s%s%s%s", row->name, text, row->valid,
			 *near ? " (did you mean " : "", near, file, *near ? "?)" : "");
}

/* ---- loading */

static const struct row *find(const char *name)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

/* Once in a process: it is the same environment at every start. */
static void warn_unknown(void)
{
	static bool warned;

	for (char **e = warned ? NULL : environ; e && *e; e++) {
		char *name = strncmp(*e, "ADSM_", 5) ? NULL : strndup(*e, strcspn(*e, "="));

		if (name && !find(name + 5) && adsm_os_getenv(name)) {
			const struct row *near = nearest_row(name + 5);

			adsm_warn("%s is no option%s%s%s", name,
				  near ? " (did you mean ADSM_" : "; adsm-info lists them",
				  near ? near->name : "", near ? "?)" : "");
		}
		free(name);
	}
	warned = true;
}

/* What says the same as before stays where it is: the options in force point to it. */
static int keep(char **at, const char *text)
{
	char *copy, *old;

	if (!text == !*at && (!text || !strcmp(text, *at)))
		return 0;
	copy = text ? strdup(text) : NULL;
	if (text && !copy)
		return -ENOMEM;
	old = *at;
	*at = copy;	/* first: the child of a fork in between frees it once more */
	free(old);
	return 0;
}

/* The value of one row into @s, from whoever may say it. @s already holds ADSM_PAPER. */
static int load(const struct row *row, struct settings *s)
{
	size_t i = (size_t)(row - rows);
	char name[sizeof("ADSM_") + NAME_SIZE];
	struct settings paper;
	const char *text;

	adsm_format(name, sizeof(name), "ADSM_%s", row->name);
	text = adsm_os_getenv(name);
	if (keep(&given[i].environment, text && *text ? text : NULL))
		return adsm_fail(-ENOMEM, "out of memory while reading %s", name);
	text = given[i].program ? given[i].program : given[i].environment;
	given[i].text = text ? text : row->text;

	if (s->o.paper && row->paper && !text)
		given[i].text = row->paper;
	if (row->parse(row, given[i].text, s))
		return fail_value(row, given[i].text);
	if (s->o.paper && row->paper && text) {
		row->parse(row, row->paper, &paper);
		if (memcmp((char *)s + row->offset, (char *)&paper + row->offset, row->size))
			return adsm_fail(-EINVAL, "ADSM_PAPER=1 and %s=%s contradict each other: the paper's is %s",
					 name, text, row->paper);
	}
	return 0;
}

/* With the mutex. */
static int load_all(void)
{
	struct settings s;
	int error = 0;

	memset(&s, 0, sizeof(s));	/* what is between the fields, too */
	/* From the last row, LOG, to the first: it says how loud the rest is; and PAPER changes defaults. */
	for (size_t i = N_ROWS; i-- && !error;) {
		error = load(&rows[i], &s);
		if (!error && adsm_log_level != s.log)
			adsm_log_level = s.log;
	}
	warn_unknown();
	if (error) {
		adsm_error_once();
		return error;
	}
	/* Others may be reading them. */
	if (memcmp((char *)&adsm_options, (char *)&s.o, sizeof(s.o)))
		memcpy(&adsm_options, &s.o, sizeof(s.o));
	return 0;
}

int adsm_options_load(void)
{
	int error;

	adsm_mutex_lock(&mutex);
	error = load_all();
	adsm_mutex_unlock(&mutex);
	return error;
}

void adsm_options_child(void)
{
	/* A thread that is not here may have locked it. */
	adsm_mutex_init(&mutex);
}

int adsm_options_set(const char *name, const char *value)
{
	struct settings scratch;
	char upper[NAME_SIZE] = "";
	const struct row *row;
	int error;

	if (!name || !value)
		return adsm_fail(-EINVAL, "an option needs a name and a value");
	for (size_t i = 0; name[i] && i < sizeof(upper) - 1; i++)
		upper[i] = (char)(name[i] == '-' ? '_' : toupper((unsigned char)name[i]));
	row = strlen(name) < sizeof(upper) ? find(upper) : NULL;
	if (!row) {
		const struct row *near = nearest_row(upper);

		return adsm_fail(-EINVAL, "no option is named %s%s%s%s", name,
				 near ? " (did you mean " : "; adsm-info lists them",
				 near ? near->name : "", near ? "?)" : "");
	}
	if (row->parse(row, value, &scratch))
		return fail_value(row, value);
	adsm_mutex_lock(&mutex);
	error = keep(&given[row - rows].program, value);
	adsm_mutex_unlock(&mutex);
	adsm_error_forget();	/* with it the same may be worth saying again */
	return error ? adsm_fail(error, "out of memory while setting %s", row->name) : 0;
}

void adsm_options_print(FILE *out, bool markdown)
{
	if (markdown)
		fprintf(out, "| Variable | Default | Valid | Meaning |\n|---|---|---|---|\n");
	else
		fprintf(out, "%-21s %-9s %-9s %s\n", "option", "default", "now", "meaning (valid)");
	for (size_t i = 0; i < N_ROWS; i++) {
		const struct row *row = &rows[i];

		if (markdown)
			fprintf(out, "| `ADSM_%s` | `%s` | %s | %s |\n", row->name, row->text, row->valid,
				row->help);
		else
			fprintf(out, "ADSM_%-16s %-9s %-9s %s (%s)\n", row->name, row->text,
				given[i].text ? given[i].text : row->text, row->help, row->valid);
	}
}
