/* SPDX-License-Identifier: MIT */
/* process/line.c - see line.h. */
#include "line.h"

#include "base/descriptors.h"
#include "base/source.h"
#include "base/log.h"
#include "base/os.h"

#include <string.h>

/* Add @image as a file, which the library for debug information needs. */
static void *add(void *session, const void *image, size_t size, uint64_t address)
{
	int fd;

	if (adsm_fd_memory("adsm-module", size, &fd))
		return NULL;
	adsm_os_write(fd, image, size);
	return adsm_source_add(session, "module", fd, 0, address);
}

void adsm_process_line(const void *image, size_t image_size, uint64_t address, char *ret_text, size_t size)
{
	const char *file = NULL, *slash;
	void *session, *module;
	int line = 0;

	adsm_format(ret_text, size, ", at 0x%lx of its module", (unsigned long)address);
	session = adsm_source_begin();
	module = session ? add(session, image, image_size, address) : NULL;
	if (module)
		file = adsm_source_line(module, address, &line);
	if (file) {
		slash = strrchr(file, '/');
		adsm_format(ret_text, size, ", at %s:%d", slash ? slash + 1 : file, line);
	}
	if (session)
		adsm_source_end(session);
}
