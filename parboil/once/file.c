/* SPDX-License-Identifier: MIT */
/*
 * file.c - a file is read, turned into upper case by a device, and written, all at once: a thread read()s into units, a
 * kernel has a block for each, this thread write()s them, and waits for each by nothing but that. The other forms read
 * all, convert all, write all.
 */
#include "pipelines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNIT ((size_t)16 << 10)		/* bytes: whole pages, so that write() waits for one unit alone */

struct copy {
	size_t n, size;			/* units; bytes of the file */
	int in, out;
	unsigned char *want;		/* what has to be written, and how many lines that is */
	unsigned long want_lines;
	adsmOnce *text, *capitals, *lines;
	struct turn *turn;
};

static unsigned char capital(unsigned char c)
{
	return c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c;
}

/* The next one; the last is filled up. */
static void read_unit(const struct copy *copy, char *to)
{
	size_t got = 0;
	ssize_t n = 1;

	while (got < UNIT && n) {
		n = read(copy->in, to + got, UNIT - got);
		if (n < 0 && errno != EINTR)
			die("the file cannot be read: %m");
		got += n > 0 ? (size_t)n : 0;
	}
	memset(to + got, 0, UNIT - got);
}

/* Several units with one call: of write-once objects it waits for those that are not there yet. */
static void write_all(const struct copy *copy, const char *from)
{
	for (size_t done = 0; done < copy->size;) {
		size_t size = copy->size - done < 4 * UNIT ? copy->size - done : 4 * UNIT;
		ssize_t n = write(copy->out, from + done, size);

		if (n < 0 && errno != EINTR)
			die("the file cannot be written: %m");
		done += n > 0 ? (size_t)n : 0;
	}
}

static void begin_files(const struct copy *copy)
{
	if (lseek(copy->in, 0, SEEK_SET) || lseek(copy->out, 0, SEEK_SET) || ftruncate(copy->out, 0))
		die("the files cannot be set to their beginning: %m");
}

static void verify(const struct copy *copy, const struct turn *turn, const unsigned *lines)
{
	const char *form = form_names[turn->form];
	unsigned char *out = host_alloc(copy->size + 1);
	unsigned long n = 0;

	if (pread(copy->out, out, copy->size + 1, 0) != (ssize_t)copy->size)
		die("file, %s: the output does not have the size of the input", form);
	for (size_t i = 0; i < copy->size; i++)
		if (out[i] != copy->want[i])
			die("file, %s: byte %zu of the output is wrong", form, i);
	for (size_t u = 0; u < copy->n; u++)
		n += lines[u];
	if (n != copy->want_lines)
		die("file, %s: %lu lines were counted, not %lu", form, n, copy->want_lines);
}

/* ---- with write-once objects */

static void *read_units(void *arg)
{
	const struct copy *copy = arg;

	for (size_t u = 0; u < copy->n; u++) {
		read_unit(copy, once_fresh(copy->text, u));
		once_set(copy->text, u);
	}
	turn_has_input(copy->turn);
	return NULL;
}

/* A thread instead of the device. */
static void *convert(void *arg)
{
	const struct copy *copy = arg;

	for (size_t u = 0; u < copy->n; u++) {
		const unsigned char *from = once_get(copy->text, u);
		unsigned char *to = once_fresh(copy->capitals, u);
		unsigned *lines = once_fresh(copy->lines, u);

		*lines = 0;
		for (size_t i = 0; i < UNIT; i++) {
			to[i] = capital(from[i]);
			*lines += from[i] == '\n';
		}
		once_set(copy->lines, u);
		once_set(copy->capitals, u);
	}
	return NULL;
}

static void run_once(void *arg, struct turn *turn)
{
	const bool threads = turn->form == FORM_THREADS;
	struct copy *copy = arg;
	pthread_t ids[2];

	copy->turn = turn;
	copy->text = once_alloc(copy->n, UNIT);
	copy->capitals = once_alloc(copy->n, UNIT);
	copy->lines = once_alloc(copy->n, sizeof(unsigned));
	begin_files(copy);

	turn_starts(turn);
	ids[0] = start(read_units, copy);
	if (threads)
		ids[1] = start(convert, copy);
	else
		CALL(0, "capital_units", adsmDim3((unsigned)copy->n, 1, 1), adsmDim3(64, 1, 1),
		     adsmPtr(copy->text->address), adsmPtr(copy->capitals->address), adsmPtr(copy->lines->address),
		     adsmVal((int)UNIT));
	write_all(copy, copy->capitals->address);
	for (int i = 0; i < (threads ? 2 : 1); i++)
		end(ids[i]);
	if (!threads)
		check(adsmSync());
	turn_ends(turn);
	verify(copy, turn, copy->lines->data);
}

/* ---- one stage after the other */

static void read_all(const struct copy *copy, char *text)
{
	for (size_t u = 0; u < copy->n; u++)
		read_unit(copy, text + u * UNIT);
}

static void convert_all(const struct copy *copy, const char *text, char *capitals, unsigned *lines)
{
	CALL(0, "capital_blocks", adsmDim3((unsigned)copy->n, 1, 1), adsmDim3(64, 1, 1), adsmPtr(text),
	     adsmPtr(capitals), adsmPtr(lines), adsmVal((int)UNIT));
	check(adsmSync());
}

static void run_calls(void *arg, struct turn *turn)
{
	const struct copy *copy = arg;
	char *text = shared_alloc(0, copy->n * UNIT), *capitals = shared_alloc(0, copy->n * UNIT);
	unsigned *lines = shared_alloc(0, copy->n * sizeof(*lines));

	begin_files(copy);
	turn_starts(turn);
	read_all(copy, text);
	turn_has_input(turn);
	convert_all(copy, text, capitals, lines);
	write_all(copy, capitals);
	touch(lines, copy->n * sizeof(*lines));
	turn_ends(turn);
	verify(copy, turn, lines);
}

static void run_copies(void *arg, struct turn *turn)
{
	const struct copy *copy = arg;
	const size_t size = copy->n * UNIT, few = copy->n * sizeof(unsigned);
	char *text = host_alloc(size), *capitals = host_alloc(size);
	char *d_text = device_alloc(0, size), *d_capitals = device_alloc(0, size);
	unsigned *lines = host_alloc(few), *d_lines = device_alloc(0, few);

	begin_files(copy);
	turn_starts(turn);
	read_all(copy, text);
	turn_has_input(turn);
	check(adsmCopyToDevice(d_text, text, size));
	convert_all(copy, d_text, d_capitals, d_lines);
	check(adsmCopyToHost(capitals, d_capitals, size));
	check(adsmCopyToHost(lines, d_lines, few));
	write_all(copy, capitals);
	turn_ends(turn);
	verify(copy, turn, lines);
}

/* ---- the files */

/* The file that is named, or one of numbers and letters. */
static int open_input(const struct settings *settings)
{
	size_t size = (settings->n ? settings->n : 400) * UNIT - UNIT / 3;
	uint64_t state = 42;
	FILE *file;
	int fd;

	if (settings->in) {
		fd = open(settings->in, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			die("%s: %m", settings->in);
		return fd;
	}
	file = tmpfile();
	if (!file)
		die("a temporary file cannot be made: %m");
	for (size_t i = 0; i < size; i++)
		putc("the quick brown fox jumps over\n 0123456789 LAZY dogs"[next_number(&state) % 52], file);
	if (fflush(file) || ferror(file))
		die("a temporary file cannot be made: %m");
	return fileno(file);
}

static int open_output(const struct settings *settings)
{
	FILE *file;
	int fd;

	if (settings->out) {
		fd = open(settings->out, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
		if (fd < 0)
			die("%s: %m", settings->out);
		return fd;
	}
	file = tmpfile();
	if (!file)
		die("a temporary file cannot be made: %m");
	return fileno(file);
}

static void make_expected(struct copy *copy)
{
	copy->want = malloc(copy->size);
	if (!copy->want || pread(copy->in, copy->want, copy->size, 0) != (ssize_t)copy->size)
		die("the file cannot be read: %m");
	for (size_t i = 0; i < copy->size; i++) {
		copy->want_lines += copy->want[i] == '\n';
		copy->want[i] = capital(copy->want[i]);
	}
}

void pipeline_file(const struct settings *settings)
{
	static run_turn *const runs[N_FORMS] = { run_once, run_once, run_calls, run_copies };
	struct copy copy = { .in = open_input(settings), .out = open_output(settings) };
	struct figures figures[N_FORMS];
	struct stat in, out;
	char what[80];

	if (fstat(copy.in, &in) || !S_ISREG(in.st_mode) || in.st_size <= 0)
		die("the input must be a file that is not empty");
	if (fstat(copy.out, &out) || !S_ISREG(out.st_mode) || (in.st_ino == out.st_ino && in.st_dev == out.st_dev))
		die("the output must be a file, and another file than the input");
	copy.size = (size_t)in.st_size;
	copy.n = (copy.size + UNIT - 1) / UNIT;
	make_expected(&copy);
	take_turns(settings, runs, &copy, figures, NULL);
	snprintf(what, sizeof(what), "%zu bytes, %lu lines", copy.size, copy.want_lines);
	print_turns(settings, what, figures);
	close(copy.in);
	close(copy.out);
	free(copy.want);
}
