/* SPDX-License-Identifier: MIT */
/*
 * scale.h - for tests of modules in a device's own language: the kernel "scale", which multiplies by the macro SCALE of
 * its compilation, and the cache of compiled modules. The program defines before the #include:
 *	LANGUAGE		compiler options that the text always needs
 *	SCALE_TEXT		the source text of this kernel
 *	CACHE_OPTION		the option for the cache's folder
 *	NO_COMPILER		a plan with which every compilation fails
 *	set_plan(words)		a function that makes the driver or the compiler fail as @words say
 */
#ifndef CONFORM_SCALE_H
#define CONFORM_SCALE_H

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"

#define FEW 1024u
#define GROUP 32u			/* threads: few enough for any device */
#define RUN_SCALE(...) adsmCall(scale, adsmDim3(FEW / GROUP, 1, 1), adsmDim3(GROUP, 1, 1), __VA_ARGS__)

static inline adsmModule *load_as(int kind, const void *image, size_t size, const char *build_options)
{
	adsmModuleOptions options = ADSM_MODULE_OPTIONS_INIT;

	options.kind = kind;
	options.build_options = build_options;
	return adsmModuleLoadWith(image, size, &options);
}

/* Load a module from a text, which must compile. */
static inline adsmModule *load(const char *text, const char *build_options)
{
	adsmModule *module = load_as(ADSM_MODULE_SOURCE, text, strlen(text), build_options);

	if (!module)
		FAIL("%s: %s", strerror(errno), adsmLastError());
	return module;
}

static inline adsmKernel *get(adsmModule *module, const char *name)
{
	adsmKernel *kernel = adsmKernelGet(module, name);

	if (!kernel)
		FAIL("%s", adsmLastError());
	return kernel;
}

/* Check that the module's kernel "scale" multiplies by @factor. */
static inline void check_scale(adsmModule *module, unsigned factor)
{
	unsigned *in = words(FEW, 1), *out = words(FEW, 0);
	adsmKernel *scale = get(module, "scale");

	CHECK_OK(RUN_SCALE(adsmPtr(in), adsmOut(out), adsmVal(FEW)));
	CHECK_OK(adsmSync());
	for (size_t i = 0; i < FEW; i++)
		CHECK_AT(out[i], i, factor * (i + 1));
	CHECK_OK(adsmFree(in));
	CHECK_OK(adsmFree(out));
}

static inline void stop(adsmModule *module)
{
	CHECK_OK(adsmModuleUnload(module));
	CHECK_OK(adsmShutdown());
}

/* ---- the cache */

enum { WORKS, IS_REFUSED };

/* Load and run a text in a child process. */
static inline int elsewhere(const char *words, const char *text, const char *build_options, unsigned factor)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		adsmModule *module;

		set_plan(words);
		CHECK_OK(adsmInit());
		module = load_as(ADSM_MODULE_SOURCE, text, strlen(text), build_options);
		if (!module && errno != ENOEXEC)
			FAIL("errno %d: %s", errno, adsmLastError());
		if (module) {
			check_scale(module, factor);
			CHECK_OK(adsmModuleUnload(module));
		}
		CHECK_OK(adsmShutdown());
		_exit(module ? 0 : 2);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) != 1);
	return WEXITSTATUS(status) ? IS_REFUSED : WORKS;
}

static inline int scale_elsewhere(const char *words, unsigned factor)
{
	char options[32];

	snprintf(options, sizeof(options), LANGUAGE "-DSCALE=%u", factor);
	return elsewhere(words, SCALE_TEXT, options, factor);
}

static char folder[] = "/tmp/adsm-cache-XXXXXX";

static inline void make_folder(void)
{
	CHECK(mkdtemp(folder));
	set(CACHE_OPTION, folder);
}

static inline void remove_folder(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK(!system(command));
}

/* Returns the number of entries in the cache. @flip: change a byte in each. @cut: cut off the second half of each. */
static inline int entries(bool flip, bool cut)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int n = 0;

	CHECK(dir);
	while ((entry = readdir(dir))) {
		struct stat status;
		char byte;
		int fd;

		if (entry->d_name[0] == '.')
			continue;
		n++;
		if (!flip && !cut)
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDWR);
		CHECK(fd >= 0 && !fstat(fd, &status));
		if (cut)
			CHECK(!ftruncate(fd, status.st_size / 2));
		if (flip) {
			CHECK(pread(fd, &byte, 1, status.st_size - 1) == 1);
			byte ^= 1;
			CHECK(pwrite(fd, &byte, 1, status.st_size - 1) == 1);
		}
		close(fd);
	}
	closedir(dir);
	return n;
}

static inline void check_hit(void)
{
	/* With NO_COMPILER and an empty cache nothing works. */
	CHECK_EQ(scale_elsewhere(NO_COMPILER, 3), IS_REFUSED);
	CHECK_EQ(entries(false, false), 0);
	CHECK_EQ(scale_elsewhere("", 3), WORKS);
	CHECK_EQ(entries(false, false), 1);
	CHECK_EQ(scale_elsewhere(NO_COMPILER, 3), WORKS);
	/* Other compiler options make another entry. */
	CHECK_EQ(scale_elsewhere(NO_COMPILER, 5), IS_REFUSED);
	CHECK_EQ(scale_elsewhere("", 5), WORKS);
	CHECK_EQ(entries(false, false), 2);
	CHECK_EQ(scale_elsewhere(NO_COMPILER, 5), WORKS);
	CHECK_EQ(scale_elsewhere(NO_COMPILER, 3), WORKS);
}

/* A text that includes a file is not kept in the cache, because the file may change. */
static inline void check_includes(void)
{
	char *including, options[64], path[64];

	CHECK(asprintf(&including, "#include \".scale.h\"\n%s", SCALE_TEXT) > 0);
	snprintf(options, sizeof(options), LANGUAGE "-I%s", folder);
	snprintf(path, sizeof(path), "%s/.scale.h", folder);
	for (unsigned factor = 3; factor <= 5; factor += 2) {
		FILE *file = fopen(path, "we");

		CHECK(file && fprintf(file, "#define SCALE %u\n", factor) > 0 && !fclose(file));
		CHECK_EQ(elsewhere("", including, options, factor), WORKS);
		CHECK_EQ(entries(false, false), 0);
	}
	free(including);
}

static inline void check_damaged(void)
{
	for (int cut = 0; cut <= 1; cut++) {
		CHECK_EQ(scale_elsewhere("", 3), WORKS);
		CHECK_EQ(scale_elsewhere(NO_COMPILER, 3), WORKS);
		CHECK_EQ(entries(!cut, cut), 1);
		CHECK_EQ(scale_elsewhere(NO_COMPILER, 3), IS_REFUSED);
		CHECK_EQ(entries(false, false), 0);
		CHECK_EQ(scale_elsewhere("", 3), WORKS);
		CHECK_EQ(entries(!cut, cut), 1);
		/* It is compiled again, and kept again. */
		CHECK_EQ(scale_elsewhere("", 3), WORKS);
		CHECK_EQ(scale_elsewhere(NO_COMPILER, 3), WORKS);
	}
}

static inline void check_off(void)
{
	CHECK_EQ(scale_elsewhere("", 3), WORKS);
	CHECK_EQ(scale_elsewhere(NO_COMPILER, 3), IS_REFUSED);
	CHECK_EQ(entries(false, false), 0);
}

#endif
