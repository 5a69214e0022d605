/* SPDX-License-Identifier: MIT */
/* line.c - the trace's file, and the text that is written to it next. */
#include "observe/line.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log.h"
#include "base/output.h"
#include "observe/text.h"

#define LINE_SIZE 2048			/* more than the longest line */
#define TEXT_SIZE 65536			/* of one write */

static struct {
	struct adsm_fd *own;		/* NULL: no file is open */
	bool is_regular;
	off_t size;			/* of whole lines */
	off_t end;			/* the size without the lines that end the file */
	size_t n;
	char text[TEXT_SIZE];		/* the text to write next */
} file;

/* ---- the file */

/* Returns 0 or a negative errno. */
static int write_all(void)
{
	int fd = adsm_fd_number(file.own);
	size_t done = 0;

	if (fd < 0)
		return fd;
	while (done < file.n) {
		ssize_t n = write(fd, file.text + done, file.n - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int error = n ? -errno : -EIO;

			if (file.is_regular && ftruncate(fd, file.size))
				adsm_debug("the trace ends in the middle of a line");
			return error;
		}
		done += (size_t)n;
	}
	return 0;
}

int adsm_lines_try(void)
{
	int error = !file.own || !file.n ? 0 : write_all();

	if (error)
		adsm_lines_close();
	file.size += (off_t)file.n;
	file.n = 0;
	return error;
}

void adsm_lines_write(void)
{
	int error = adsm_lines_try();

	if (error)
		adsm_error("ADSM_TRACE: cannot write more of the trace: %s", strerror(-error));
}

int adsm_lines_open(const char *path)
{
	int fd, error;

	adsm_lines_close();
	file.is_regular = adsm_output_is_new(path);
	fd = file.is_regular ? adsm_output_replace(path) : open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return file.is_regular ? fd : -errno;
	error = adsm_fd_keep(fd, &file.own);
	file.size = file.end = 0;
	file.n = 0;
	adsm_line_add("[\n");
	return error;
}

bool adsm_lines_end(bool again)
{
	file.end = file.size;
	return file.is_regular || !again;
}

void adsm_lines_go_on(void)
{
	int fd = adsm_fd_number(file.own);

	if (!file.own || !file.is_regular)
		return;
	if (fd < 0 || ftruncate(fd, file.end) || lseek(fd, file.end, SEEK_SET) < 0) {
		adsm_error("ADSM_TRACE: cannot continue the trace after a failed exec: %s",
			   strerror(fd < 0 ? -fd : errno));
		adsm_lines_close();
		return;
	}
	file.size = file.end;
}

void adsm_lines_close(void)
{
	adsm_fd_drop(file.own);
	file.own = NULL;
}

/* ---- lines */

static void add_bytes(const char *bytes, size_t n)
{
	memcpy(file.text + file.n, bytes, n);
	file.n += n;
}

void adsm_line_add(const char *text)
{
	add_bytes(text, strlen(text));
}

static void add_number(uint64_t value)
{
	char digits[20];
	unsigned n = sizeof(digits);

	do
		digits[--n] = (char)('0' + value % 10);
	while (value /= 10);
	add_bytes(digits + n, sizeof(digits) - n);
}

/* Add a string without its quotes. */
static void add_escaped(const char *text)
{
	char room[ADSM_JSON_PIECE_SIZE];
	const char *piece;
	size_t n;

	while ((n = adsm_json_piece(&text, room, &piece)))
		add_bytes(piece, n);
}

static void add_key(const char *key)
{
	adsm_line_add(file.text[file.n - 1] == '{' ? "\"" : ",\"");
	adsm_line_add(key);
	adsm_line_add("\":");
}

void adsm_line_begin(const char *phase, uint64_t pid, uint64_t tid)
{
	if (file.n > TEXT_SIZE - LINE_SIZE)
		adsm_lines_write();
	adsm_line_add("{");
	adsm_line_string("ph", phase);
	adsm_line_value("pid", pid);
	adsm_line_value("tid", tid);
}

void adsm_line_value(const char *key, uint64_t value)
{
	add_key(key);
	add_number(value);
}

void adsm_line_string(const char *key, const char *text)
{
	add_key(key);
	adsm_line_add("\"");
	add_escaped(text);
	adsm_line_add("\"");
}

void adsm_line_time(const char *key, uint64_t ns)
{
	char rest[] = { '.', (char)('0' + ns / 100 % 10), (char)('0' + ns / 10 % 10), (char)('0' + ns % 10), '\0' };

	adsm_line_value(key, ns / 1000);
	adsm_line_add(rest);
}

void adsm_line_name(const char *first, const char *second)
{
	add_key("name");
	adsm_line_add("\"");
	add_escaped(first);
	add_escaped(second);
	adsm_line_add("\",\"args\":{");
}

void adsm_line_end(void)
{
	adsm_line_add("}},\n");
}
