/* SPDX-License-Identifier: MIT */
/* process/line.c - see line.h. */
#include "line.h"

#include "base/descriptors.h"
#include "base/source.h"
#include "base/log.h"
#include "base/os.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS (UINT64_C(5) * 1000000000)

struct adsm_process_line {
	_Atomic uint32_t ended;		/* a flag: text is complete */
	_Atomic bool is_alone;		/* one of the two threads has left; the other one frees this */
	int fd;				/* a copy of the module's file, which libdw needs */
	uint64_t address;
	char text[256];
};

static void leave(struct adsm_process_line *line)
{
	if (atomic_exchange(&line->is_alone, true))
		free(line);
}

static void search(void *arg)
{
	struct adsm_process_line *line = arg;
	void *session, *module = NULL;
	const char *file = NULL, *slash;
	int number = 0;

	adsm_source_lock();
	session = adsm_source_begin();
	if (session)
		module = adsm_source_add(session, "module", line->fd, 0, line->address);
	else
		close(line->fd);
	if (module)
		file = adsm_source_line(module, line->address, &number);
	if (file) {
		slash = strrchr(file, '/');
		adsm_format(line->text, sizeof(line->text), ", at %s:%d", slash ? slash + 1 : file, number);
	}
	if (session)
		adsm_source_end(session);
	adsm_mutex_unlock(&adsm_source_mutex);
	adsm_os_raise(&line->ended, false);
	leave(line);
}

struct adsm_process_line *adsm_process_line_begin(const void *image, size_t size, uint64_t address)
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
	if (adsm_os_thread_start(&thread, "adsm-line", search, line)) {
		close(line->fd);
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
