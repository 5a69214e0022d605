/* SPDX-License-Identifier: MIT */
/* watch.c - see watch.h. The rates are differences of two states of the process. */
#include "watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "watch_process.h"

#define N_SHOWN 10			/* objects */

/* An object and what happened to it between two states. */
struct busy {
	const struct watched_object *object;
	uint64_t sent, fetched, faults;
};

struct pair {
	const struct watched_state *before, *now;
	double seconds;
};

/* A difference of a counter for each second. The program may have set its counters to 0. */
static uint64_t rate(const struct pair *pair, uint64_t before, uint64_t now)
{
	const uint64_t difference = now >= before ? now - before : now;

	return (uint64_t)((double)difference / pair->seconds + 0.5);
}

#define RATE(pair, field) rate(pair, (pair)->before->total.field, (pair)->now->total.field)

static void print_bytes(FILE *out, const char *what, uint64_t rate_, uint64_t total)
{
	char now[32], all[32];

	fprintf(out, "  %-16s %12s/s %14s in total\n", what, human(rate_, now), human(total, all));
}

static void print_number(FILE *out, const char *what, uint64_t rate_, uint64_t total)
{
	fprintf(out, "  %-16s %12llu/s %14llu in total\n", what, (unsigned long long)rate_, (unsigned long long)total);
}

/* Shares of the time: nanoseconds of a second are 1e-7 percent. */
static void print_times(FILE *out, const struct pair *pair)
{
	fprintf(out, "  %% of the time     kernels %.0f, waits %.0f, transfers %.0f, faults %.0f\n",
		(double)RATE(pair, kernel_ns) / 1e7, (double)RATE(pair, wait_ns) / 1e7,
		(double)(RATE(pair, h2d_ns) + RATE(pair, d2h_ns)) / 1e7, (double)RATE(pair, fault_ns) / 1e7);
}

static void print_devices(FILE *out, const struct pair *pair)
{
	const struct watched_state *now = pair->now;

	for (int i = 0; i < now->n_devices; i++) {
		const struct watched_device *device = &now->devices[i];
		const uint64_t before = i < pair->before->n_devices ? pair->before->devices[i].last_call : 0;
		uint64_t n = 0, size = 0;
		char text[32];

		for (size_t k = 0; k < now->n_objects; k++)
			if (now->objects[k].device == i) {
				n++;
				size += now->objects[k].size;
			}
		fprintf(out, "device %d: %s, %s%s: %llu calls/s, %llu running; %llu objects, %s\n", i, device->backend,
			device->name, device->lost ? " (lost)" : "",
			(unsigned long long)rate(pair, before, device->last_call), (unsigned long long)device->running,
			(unsigned long long)n, human(size, text));
	}
}

/* ---- objects */

static int by_start(const void *a, const void *b)
{
	const struct watched_object *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* The same object in the state before; a new one began with counters of 0. */
static const adsmStats *stats_before(const struct watched_state *before, const struct watched_object *object)
{
	static const adsmStats none;
	const struct watched_object *found = before->n_objects ?
		bsearch(object, before->objects, before->n_objects, sizeof(*object), by_start) : NULL;

	return found && found->generation == object->generation ? &found->stats : &none;
}

static int busiest_first(const void *a, const void *b)
{
	const struct busy *x = a, *y = b;
	const uint64_t bytes_x = x->sent + x->fetched, bytes_y = y->sent + y->fetched;

	if (bytes_x != bytes_y)
		return bytes_x > bytes_y ? -1 : 1;
	return x->faults == y->faults ? 0 : x->faults > y->faults ? -1 : 1;
}

static void print_object(FILE *out, const struct busy *busy)
{
	const struct watched_object *o = busy->object;
	/* The process may have changed the counts while they were read. */
	const uint64_t others = o->n_invalid + o->n_dirty;
	const uint64_t n_read_only = o->n_blocks > others ? o->n_blocks - others : 0;
	char where[24], size[32], sent[32], fetched[32];

	snprintf(where, sizeof(where), "%#llx", (unsigned long long)o->address);
	fprintf(out, "%-24s %10s  %d  %-11s %10s %10s %9llu %8llu %8llu %8llu\n", *o->name ? o->name : where,
		human(o->size, size), o->device, o->protocol, human(busy->sent, sent), human(busy->fetched, fetched),
		(unsigned long long)busy->faults, (unsigned long long)o->n_invalid,
		(unsigned long long)n_read_only, (unsigned long long)o->n_dirty);
}

static void print_objects(FILE *out, const struct pair *pair)
{
	const struct watched_state *now = pair->now;
	struct busy *all = calloc(now->n_objects + 1, sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; all && i < now->n_objects; i++) {
		const adsmStats *before = stats_before(pair->before, &now->objects[i]), *after = &now->objects[i].stats;
		struct busy busy = {
			.object = &now->objects[i], .sent = rate(pair, before->h2d_bytes, after->h2d_bytes),
			.fetched = rate(pair, before->d2h_bytes, after->d2h_bytes),
			.faults = rate(pair, before->read_faults + before->write_faults,
				       after->read_faults + after->write_faults),
		};

		if (busy.sent || busy.fetched || busy.faults)
			all[n++] = busy;
	}
	if (n) {
		qsort(all, n, sizeof(*all), busiest_first);
		fprintf(out, "%-24s %10s dev %-11s %10s %10s %9s %8s %8s %8s\n", "busiest objects", "size", "protocol",
			"sent/s", "fetched/s", "blocks/s", "Invalid", "ReadOnly", "Dirty");
	} else {
		fprintf(out, "no object is busy\n");
	}
	for (size_t i = 0; i < n && i < N_SHOWN; i++)
		print_object(out, &all[i]);
	if (n > N_SHOWN)
		fprintf(out, "and %zu more\n", n - N_SHOWN);
	free(all);
}

/* ---- pictures */

static void print_state(FILE *out, pid_t pid, const struct pair *pair)
{
	const adsmStats *total = &pair->now->total;

	fprintf(out, "process %d: %zu objects\n", (int)pid, pair->now->n_objects);
	print_bytes(out, "sent", RATE(pair, h2d_bytes), total->h2d_bytes);
	print_bytes(out, "fetched", RATE(pair, d2h_bytes), total->d2h_bytes);
	print_number(out, "calls", RATE(pair, calls), total->calls);
	print_number(out, "faults", RATE(pair, signals), total->signals);
	print_times(out, pair);
	print_devices(out, pair);
	if (!pair->now->n_devices)
		fprintf(out, "the library has not started\n");
	print_objects(out, pair);
}

/* On a terminal a picture is drawn over the last one, line by line, so that it does not flicker. */
static void show(const char *text)
{
	if (!isatty(STDOUT_FILENO)) {
		printf("%s\n", text);
	} else {
		fputs("\033[H", stdout);
		for (; *text; text++) {
			if (*text == '\n')
				fputs("\033[K", stdout);
			putchar(*text);
		}
		fputs("\033[J", stdout);
	}
	fflush(stdout);
}

static bool show_next(const struct watched *watched, struct watched_state *before, double interval)
{
	const struct timespec wait = {
		(time_t)interval, (long)((interval - (double)(time_t)interval) * 1e9)
	};
	struct watched_state now;
	char *text = NULL;
	size_t size;
	FILE *out;

	nanosleep(&wait, NULL);
	if (!watch_read(watched, &now)) {
		free(now.objects);
		return false;
	}
	out = open_memstream(&text, &size);
	if (out) {
		print_state(out, watched->pid, &(struct pair){
			before, &now, (double)(now.now_ns - before->now_ns) / 1e9 });
		fclose(out);
		show(text);
	}
	free(text);
	free(before->objects);
	*before = now;
	return true;
}

int watch(pid_t pid, double interval, unsigned long n)
{
	struct watched_state before;
	struct watched watched;
	const char *why = watch_find(pid, &watched);
	bool is_read;

	if (why) {
		fprintf(stderr, "adsm-info: process %d: %s\n", (int)pid, why);
		return 1;
	}
	if (isatty(STDOUT_FILENO))
		fputs("\033[H\033[J", stdout);
	is_read = watch_read(&watched, &before);
	for (unsigned long i = 0; is_read && (!n || i < n); i++)
		is_read = show_next(&watched, &before, interval);
	free(before.objects);
	if (watch_ended(&watched)) {
		printf("process %d has ended\n", (int)pid);
		return 0;
	}
	if (!is_read)
		fprintf(stderr, "adsm-info: process %d: the library is not there any more; perhaps the process runs "
			"another program\n", (int)pid);
	return is_read ? 0 : 1;
}
