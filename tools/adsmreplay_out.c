/* SPDX-License-Identifier: MIT */
/* adsmreplay_out.c - the results of replays: as a table, as CSV, and drawn. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adsmreplay.h"

#define MIB 1048576.0

/* ---- words */

/* A size as options write it. */
static const char *size_word(uint64_t size, char ret_text[24])
{
	static const char units[] = { 'G', 'M', 'K' };

	for (unsigned i = 0; i < sizeof(units); i++)
		if (size && !(size & (((uint64_t)1 << (30 - 10 * i)) - 1))) {
			snprintf(ret_text, 24, "%" PRIu64 "%c", size >> (30 - 10 * i), units[i]);
			return ret_text;
		}
	snprintf(ret_text, 24, "%" PRIu64, size);
	return ret_text;
}

static const char *block_word(const struct setting *setting, char ret_text[24])
{
	return setting->protocol->whole_object ? "object" : size_word(setting->options.block_size, ret_text);
}

static const char *rolling_word(const struct setting *setting, char ret_text[24])
{
	if (setting->protocol->whole_object)
		return "-";
	if (setting->options.rolling_size == ADSM_ROLLING_AUTO)
		return "auto";
	snprintf(ret_text, 24, "%u", setting->options.rolling_size);
	return ret_text;
}

/* What the transfers of a row take if no two of them overlap. */
static uint64_t link_ns(const struct row *row)
{
	const adsmStats *stats = &row->result.stats;
	uint64_t ns = row->link.latency_ns * (stats->h2d_transfers + stats->d2h_transfers);

	if (row->link.bandwidth)
		ns += (uint64_t)((double)(stats->h2d_bytes + stats->d2h_bytes) * 1e9 / (double)row->link.bandwidth);
	return ns;
}

/* ---- the table */

static void print_numbers(const adsmStats *stats)
{
	printf("%15" PRIu64 "%15" PRIu64 "%11" PRIu64 "%11" PRIu64 "%11" PRIu64, stats->h2d_bytes, stats->d2h_bytes,
	       stats->h2d_transfers + stats->d2h_transfers, stats->read_faults + stats->write_faults, stats->evictions);
}

/* The reasons why rows are not exact, each once. */
static void print_reasons(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t j = 0;

		while (j < i && strcmp(rows[j].result.about, rows[i].result.about) != 0)
			j++;
		if (j == i && *rows[i].result.about)
			printf("about: %s\n", rows[i].result.about);
	}
}

/* A damaged recording may have any bytes, and terminals obey some of them. */
static void print_name(const char *name)
{
	for (; *name; name++)
		putchar((unsigned char)*name < ' ' || *name == 0x7f ? '?' : *name);
}

void print_table(const struct recording *recording, const struct row *rows, size_t n)
{
	const struct adsm_recording_header *header = recording->header;
	char block[24], rolling[24];
	adsmStats real;

	print_name(header->program);
	printf(": process %" PRIu32 ", protocol %s, %zu events%s\n", header->pid, header->protocol,
	       recording->n_events, recording->ended ? "" : "; the recording has no end");
	printf("%-9s%-8s%-8s%15s%15s%11s%11s%11s  %-6s", "protocol", "block", "rolling", "to device", "to host",
	       "transfers", "faults", "evictions", "");
	printf("%s\n", n && rows[0].link.text ? "  link: time of transfers" : "");
	if (recording->ended) {
		recording_counted(recording, &real);
		printf("%-25s", "(the recorded run)");
		print_numbers(&real);
		putchar('\n');
	}
	for (size_t i = 0; i < n; i++) {
		const struct row *row = &rows[i];

		printf("%-9s%-8s%-8s", row->setting.protocol->name, block_word(&row->setting, block),
		       rolling_word(&row->setting, rolling));
		print_numbers(&row->result.stats);
		printf("  %-6s", *row->result.about ? "about" : "exact");
		if (row->link.text)
			printf("  %s: %.3f ms", row->link.text, (double)link_ns(row) / 1e6);
		putchar('\n');
	}
	print_reasons(rows, n);
}

/* ---- CSV */

static void put_row(FILE *out, const struct row *row)
{
	const struct adsm_protocol_options *options = &row->setting.options;
	const adsmStats *stats = &row->result.stats;
	bool whole = row->setting.protocol->whole_object;
	char rolling[24];

	fprintf(out, "%s,", row->setting.protocol->name);
	if (!whole)
		fprintf(out, "%zu,%s,%zu,%zu,", options->block_size, rolling_word(&row->setting, rolling),
			options->fault_ahead, options->evict_batch);
	else
		fprintf(out, ",,,,");
	if (row->link.text)
		fprintf(out, "\"%s\",", row->link.text);
	else
		fputc(',', out);
	fprintf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",",
		stats->h2d_bytes, stats->d2h_bytes, stats->h2d_transfers, stats->d2h_transfers, stats->read_faults,
		stats->write_faults, stats->signals, stats->evictions);
	if (row->link.text)
		fprintf(out, "%" PRIu64, link_ns(row));
	fprintf(out, ",%d,\"%s\"\n", !*row->result.about, row->result.about);
}

bool write_csv(const char *path, const struct row *rows, size_t n)
{
	FILE *out = strcmp(path, "-") != 0 ? fopen(path, "we") : stdout;
	bool failed;

	if (out) {
		fputs("protocol,block_size,rolling_size,fault_ahead,evict_batch,link,h2d_bytes,d2h_bytes,h2d_transfers,"
		      "d2h_transfers,read_faults,write_faults,signals,evictions,link_ns,exact,about\n", out);
		for (size_t i = 0; i < n; i++)
			put_row(out, &rows[i]);
		failed = ferror(out);
		failed |= (out == stdout ? fflush(out) : fclose(out)) != 0;
		if (!failed)
			return true;
	}
	complain("--csv: cannot write to %s: %s", path, strerror(errno));
	return false;
}

/* ---- the plot */

/* A text in single quotes, as gnuplot reads it. */
static void put_quoted(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text; text++) {
		if (*text == '\'')
			fputc('\'', out);
		fputc(*text == '\n' ? ' ' : *text, out);
	}
	fputc('\'', out);
}

static void put_script(FILE *out, const char *path, const struct row *rows, size_t n)
{
	const char *ending = strrchr(path, '.');
	bool png = ending && !strcmp(ending, ".png"), link = n && rows[0].link.text;
	/* The rows of a setting are adjacent. */
	bool links = link && n > 1 && strcmp(rows[0].link.text, rows[1].link.text) != 0;
	char block[24], rolling[24];

	fprintf(out, "set terminal %s size %zu,500\nset output ", png ? "png" : "svg", 300 + 28 * n);
	put_quoted(out, path);
	fputs("\nset style data histograms\nset style histogram rowstacked\nset style fill solid 0.8\n", out);
	fputs("set boxwidth 0.8\nset ylabel 'MiB moved'\nset yrange [0:*]\nset grid ytics\n", out);
	fputs("set xtics rotate by -60 noenhanced\nset key outside top center horizontal\n", out);
	if (link)
		fputs("set y2label 'ms on the link'\nset y2range [0:*]\nset y2tics\n", out);
	fputs("$rows << END\n", out);
	for (size_t i = 0; i < n; i++) {
		const struct setting *setting = &rows[i].setting;

		fprintf(out, "\"%s", setting->protocol->name);
		if (!setting->protocol->whole_object)
			fprintf(out, " %s, %s", block_word(setting, block), rolling_word(setting, rolling));
		if (links)
			fprintf(out, ", %s", rows[i].link.text);
		fprintf(out, "\" %.6f %.6f %.6f\n", (double)rows[i].result.stats.h2d_bytes / MIB,
			(double)rows[i].result.stats.d2h_bytes / MIB, (double)link_ns(&rows[i]) / 1e6);
	}
	fprintf(out, "END\nplot $rows using 2:xtic(1) title 'to the device', $rows using 3 title 'to the host'%s\n",
		link ? ", $rows using 0:4 axes x1y2 with points pt 7 title 'time on the link'" : "");
}

bool draw_plot(const char *path, const struct row *rows, size_t n)
{
	/* The user's own settings of gnuplot have no effect. */
	FILE *out = popen("gnuplot -d", "we");
	void (*old)(int);
	int status;

	if (!out) {
		complain("--plot: cannot run gnuplot: %s", strerror(errno));
		return false;
	}
	/* A shell that finds no gnuplot may have ended. */
	old = signal(SIGPIPE, SIG_IGN);
	put_script(out, path, rows, n);
	status = pclose(out);
	signal(SIGPIPE, old);
	if (!status)
		return true;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		complain("--plot: gnuplot is missing (Debian package gnuplot-nox), so nothing was drawn");
	else
		complain("--plot: gnuplot did not draw %s", path);
	return false;
}
