/* SPDX-License-Identifier: MIT */
/* os_path.c - os.h on Linux: the file that this code comes from, and whether its wrappers come before the C library. */
#include "base/os.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The path of the file that is mapped at @address, from /proc/self/maps; a line is "begin-end rights offset device
 * inode /path". */
static char *mapped_at(uintptr_t address, char *text, size_t size)
{
	long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC), n;
	char *found = NULL, *line, *end;
	size_t length = 0;

	while (fd >= 0 && !found && (n = syscall(SYS_read, fd, text + length, size - 1 - length)) > 0) {
		text[length + (size_t)n] = '\0';
		for (line = text; !found && (end = strchr(line, '\n')); line = end + 1) {
			char *rest;
			uintptr_t begin = strtoul(line, &rest, 16);

			*end = '\0';
			if (begin <= address && *rest == '-' && address < strtoul(rest + 1, &rest, 16))
				found = strchr(rest, '/');
		}
		length = strlen(line);
		if (!found)
			memmove(text, line, length + 1);
	}
	if (fd >= 0)
		syscall(SYS_close, fd);
	return found;
}

/*
 * The name that the loader knows, if it is an absolute path. The loader does not know the name of the program itself:
 * dladdr() would return argv[0], which is whatever its parent wrote. A relative name is relative to a folder that the
 * process may have left since.
 */
void adsm_os_fd_path(int fd, char *ret_path, size_t size)
{
	snprintf(ret_path, size, "/proc/%d/fd/%d", getpid(), fd);
}

int adsm_os_library_path(char *ret_path, size_t size)
{
	uintptr_t here = (uintptr_t)adsm_os_library_path;
	/* not on the stack, which may be small, and which realpath() needs too */
	char *text = NULL, *name = NULL, *path;
	int saved_errno = errno, ret = -ENOENT;
	struct link_map *map;
	Dl_info info;

	if (dladdr1((void *)here, &info, (void **)&map, RTLD_DL_LINKMAP) && map && map->l_name[0] == '/')
		name = map->l_name;
	else if ((text = malloc(2 * (size_t)PATH_MAX)))
		name = mapped_at(here, text, 2 * (size_t)PATH_MAX);
	path = name ? realpath(name, NULL) : NULL;
	if (path) {
		ret = strlen(path) < size ? 0 : -ENAMETOOLONG;
		if (!ret)
			strcpy(ret_path, path);
	}
	free(path);
	free(text);
	errno = saved_errno;
	return ret;
}

int adsm_os_library_dir(char *ret_path, size_t size)
{
	int ret = adsm_os_library_path(ret_path, size);

	if (!ret)
		*strrchr(ret_path, '/') = '\0';
	return ret;
}

bool adsm_os_has_wrappers;
void *(*_Atomic adsm_os_dlsym)(void *handle, const char *name) = dlsym;

bool adsm_os_is_bypassed(void)
{
	const uintptr_t libc = (uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version");

	/* Another library may come before both and have the same functions. Its calls lead to the first of the two. */
	return adsm_os_has_wrappers && libc &&
		adsm_os_library_index((uintptr_t)adsm_os_is_bypassed) > adsm_os_library_index(libc);
}

bool adsm_os_is_linked(void)
{
	/* The libraries that the program was started with, and those that were opened with RTLD_GLOBAL. */
	void *program = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
	bool linked = program && dlsym(program, "adsmInit");

	if (program)
		dlclose(program);
	return linked;
}
