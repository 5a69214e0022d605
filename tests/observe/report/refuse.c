/* SPDX-License-Identifier: MIT */
/* refuse.c - preloaded: a system without libdw. */
#include <dlfcn.h>
#include <string.h>

__attribute__((visibility("default"))) void *dlopen(const char *file, int mode)
{
	static void *(*next)(const char *file, int mode);

	if (file && !strncmp(file, "libdw.", 6))
		file = "libdw.is.not.here";
	if (!next)
		next = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
	return next(file, mode);
}
