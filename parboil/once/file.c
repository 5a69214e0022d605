/* SPDX-License-Identifier: MIT */
/*
 * file.c - a file is read, turned into upper case by a device, and written, all at once: a thread read()s into units, a
 * kernel has a block for each, this thread write()s them, and waits for each by nothing but that.
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
	adsmOnce *text, *capitals, *lines;
};

static void *read_units(void *arg)
{
	const struct copy *copy = arg;

	for (size_t u = 0; u < copy->n; u++) {
		char *to = adsmOnceFresh(copy->text, u);
		size_t got = 0;
		ssize_t n = 1;

		if (!to)
			die("%s", adsmLastError());
		while (got < UNIT && n) {
			n = read(copy->in, to + got, UNIT - got);
			if (n < 0 && errno != EINTR)
				die("the file cannot be read: %m");
			got += n > 0 ? (size_t)n : 0;
		}
		memset(to + got, 0, UNIT - got);
		check(adsmOnceSet(copy->text, u));
	}
	return NULL;
}

static unsigned char capital(unsigned char c)
{
	return c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c;
}

/* A thread instead of the device. */
static void *convert(void *arg)
{
	const struct copy *copy = arg;

	for (size_t u = 0; u < copy->n; u++) {
		const unsigned char *from = adsmOnceGet(copy->text, u);
		unsigned char *to = adsmOnceFresh(copy->capitals, u);
		unsigned *lines = adsmOnceFresh(copy->lines, u);

		if (!from || !to || !lines)
			die("%s", adsmLastError());
		*lines = 0;
		for (size_t i = 0; i < UNIT; i++) {
			to[i] = capital(from[i]);
			*lines += from[i] == '\n';
		}
		check(adsmOnceSet(copy->lines, u));
		check(adsmOnceSet(copy->capitals, u));
	}
	return NULL;
}

/* Many units with one call: it waits for those that are not there yet. */
static void write_all(const struct copy *copy)
{
	const char *from = copy->capitals->address;

	for (size_t done = 0; done < copy->size;) {
		size_t size = copy->size - done < 4 * UNIT ? copy->size - done : 4 * UNIT;
		ssize_t n = write(copy->out, from + done, size);

		if (n < 0 && errno != EINTR)
			die("the file cannot be written: %m");
		done += n > 0 ? (size_t)n : 0;
	}
}

static double run(struct copy *copy, bool threads, unsigned long *ret_lines)
{
	double time = now_ms();
	pthread_t ids[2];

	copy->text = once_alloc(copy->n, UNIT);
	copy->capitals = once_alloc(copy->n, UNIT);
	copy->lines = once_alloc(copy->n, sizeof(unsigned));
	ids[0] = start(read_units, copy);
	if (threads) {
		ids[1] = start(convert, copy);
	} else {
		device(0);
		check(adsmCall(kernel("capitals"), adsmDim3((unsigned)copy->n, 1, 1), adsmDim3(64, 1, 1),
			       adsmPtr(copy->text->address), adsmPtr(copy->capitals->address),
			       adsmPtr(copy->lines->address), adsmVal((int)UNIT)));
	}
	write_all(copy);
	*ret_lines = 0;
	for (size_t u = 0; u < copy->n; u++) {
		const unsigned *lines = adsmOnceGet(copy->lines, u);

		if (!lines)
			die("%s", adsmLastError());
		*ret_lines += *lines;
	}
	for (int i = 0; i < (threads ? 2 : 1); i++)
		end(ids[i]);
	if (!threads)
		check(adsmSync());
	time = now_ms() - time;
	check(adsmOnceFree(copy->text));
	check(adsmOnceFree(copy->capitals));
	check(adsmOnceFree(copy->lines));
	return time;
}

/* What the one file has is the other's, in upper case. */
static void verify(const struct copy *copy, unsigned long lines)
{
	unsigned char *in = host_alloc(copy->size + 1), *out = host_alloc(copy->size + 1);
	unsigned long n = 0;

	if (pread(copy->in, in, copy->size, 0) != (ssize_t)copy->size ||
	    pread(copy->out, out, copy->size + 1, 0) != (ssize_t)copy->size)
		die("the files have not the same size");
	for (size_t i = 0; i < copy->size; i++) {
		if (out[i] != capital(in[i]))
			die("byte %zu of the new file is wrong", i);
		n += in[i] == '\n';
	}
	if (n != lines)
		die("%lu lines were counted, not %lu", lines, n);
	free(in);
	free(out);
}

/* The file that is named, or one of numbers and letters. */
static int open_input(const struct settings *settings)
{
	size_t size = (settings->n ? settings->n : 400) * UNIT - UNIT / 3;
	uint64_t state = 42;
	char *text;
	FILE *file;
	int fd;

	if (settings->in) {
		fd = open(settings->in, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			die("%s: %m", settings->in);
		return fd;
	}
	file = tmpfile();
	text = host_alloc(size);
	for (size_t i = 0; i < size; i++)
		text[i] = "the quick brown fox jumps over\n 0123456789 LAZY dogs"[next_number(&state) % 52];
	if (!file || fwrite(text, 1, size, file) != size || fflush(file))
		die("no room for a file: %m");
	free(text);
	return fileno(file);
}

static int open_output(const struct settings *settings)
{
	FILE *file;
	int fd;

	if (settings->out) {
		fd = open(settings->out, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (fd < 0)
			die("%s: %m", settings->out);
		return fd;
	}
	file = tmpfile();
	if (!file)
		die("no room for a file: %m");
	return fileno(file);
}

void pipeline_file(const struct settings *settings)
{
	struct copy copy = { .in = open_input(settings), .out = open_output(settings) };
	struct stat stat;

	if (fstat(copy.in, &stat) || !S_ISREG(stat.st_mode) || stat.st_size <= 0)
		die("the input is no file with something in it");
	copy.size = (size_t)stat.st_size;
	copy.n = (copy.size + UNIT - 1) / UNIT;
	for (int f = FORM_THREADS; f <= FORM_ONCE; f++)
		for (int r = 0; settings->forms[f] && r < settings->repeat; r++) {
			unsigned long lines;
			double time;

			if (lseek(copy.in, 0, SEEK_SET) || lseek(copy.out, 0, SEEK_SET) || ftruncate(copy.out, 0))
				die("the files have no beginning: %m");
			time = run(&copy, f == FORM_THREADS, &lines);
			verify(&copy, lines);
			printf("%-8s %zu bytes, %lu lines: %.3f ms, right\n", form_names[f], copy.size, lines, time);
		}
	close(copy.in);
	close(copy.out);
}
