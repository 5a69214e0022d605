/* SPDX-License-Identifier: MIT */
/* process/line.c - see line.h. */
#include "line.h"

#include "base/descriptors.h"
#include "base/lines.h"
#include "base/log.h"
#include "base/module.h"
#include "base/source.h"
#include "base/os.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS (UINT64_C(20) * 1000000000)

struct adsm_process_line {
	_Atomic uint32_t ended;		/* a flag: text is complete */
	_Atomic bool is_alone;		/* one of the two threads has left; the other one frees this */
	int fd;				/* a copy of the module's file, which libdw needs */
	uint64_t address;
	char *ptx;			/* of a module of CUDA C; else NULL */
	char text[256];
};

static void leave(struct adsm_process_line *line)
{
	if (!atomic_exchange(&line->is_alone, true))
		return;
	free(line->ptx);
	free(line);
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Describe a line of the debug information. That of CUDA C has lines of PTX, or of the source. */
static void describe(struct adsm_process_line *line, const char *path, int number)
{
	const char *file = name_of(path), *dot = strrchr(file, '.'), *source = file;
	int size = (int)strlen(file), source_line = number;
	char lines[200] = "";
	size_t source_size;

	/* The code around the instructions of a kernel has no file. */
	if (line->ptx && (*file == '(' || *file == '<'))
		return;
	if (line->ptx && dot && !strcmp(dot, ".ptx")) {
		if (adsm_lines_source(line->ptx, number, &source, &source_size, &source_line)) {
			const char *slash = memrchr(source, '/', source_size);

			size = (int)(source + source_size - (slash ? slash + 1 : source));
			source = slash ? slash + 1 : source;
			adsm_format(lines, sizeof(lines), "line %d", number);
		}
	} else if (line->ptx) {
		adsm_lines_ptx(line->ptx, file, number, lines, sizeof(lines));
	}
	adsm_format(line->text, sizeof(line->text), ", at %.*s:%d%s%s%s", size, source, source_line, *lines ? " (" : "",
		    lines, *lines ? " of the PTX)" : "");
}

static void search(void *arg)
{
	struct adsm_process_line *line = arg;
	void *session, *module = NULL;
	const char *file = NULL;
	int number = 0;

	adsm_source_lock();
	session = adsm_source_begin();
	if (session)
		module = adsm_source_add(session, "module", line->fd, 0, line->address);
	else
		close(line->fd);
	if (module)
		file = adsm_source_line(module, line->address, &number);
	if (file)
		describe(line, file, number);
	if (session)
		adsm_source_end(session);
	adsm_mutex_unlock(&adsm_source_mutex);
	adsm_os_raise(&line->ended, false);
	leave(line);
}

/* A copy of the module's PTX; NULL: it has none. */
static char *ptx_of(const void *image, size_t size)
{
	struct adsm_module_info *info;
	char *ptx;

	if (adsm_module_info_create(image, size, &info))
		return NULL;
	ptx = *info->ptx ? strdup(info->ptx) : NULL;
	adsm_module_info_destroy(info);
	return ptx;
}

struct adsm_process_line *adsm_process_line_begin(const void *image, size_t size, const char *ptx, uint64_t address)
{
	struct adsm_process_line *line = calloc(1, sizeof(*line));
	struct adsm_thread thread;

	if (!line)
		return NULL;
	line->address = address;
	if (adsm_fd_memory("adsm-module", size, &line->fd)) {
		free(line);
		return NULL;
	}
	adsm_os_write(line->fd, image, size);
	line->ptx = ptx ? strdup(ptx) : ptx_of(image, size);
	if (adsm_os_thread_start(&thread, "adsm-line", search, line)) {
		close(line->fd);
		free(line->ptx);
		free(line);
		return NULL;
	}
	adsm_os_thread_leave(&thread);
	return line;
}

void adsm_process_line_end(struct adsm_process_line *line, char *ret_text, size_t size)
{
	const uint64_t until = adsm_os_now_ns() + PATIENCE_NS;
	uint64_t now;

	*ret_text = '\0';
	if (!line)
		return;
	while (!atomic_load(&line->ended) && (now = adsm_os_now_ns()) < until)
		adsm_os_wait(&line->ended, 0, until - now, false);
	if (atomic_load(&line->ended))
		adsm_format(ret_text, size, "%s", line->text);
	leave(line);
}
