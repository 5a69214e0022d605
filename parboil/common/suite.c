/* SPDX-License-Identifier: MIT */
/* suite.c - see suite.h. */
#include "suite.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void ps_die(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", ps_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

unsigned long ps_number(const char *option, const char *text, unsigned long least, unsigned long most)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value < least || value > most)
		ps_die("%s takes a number from %lu to %lu, not \"%s\"", option, least, most, text);
	return value;
}

uint64_t ps_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void *ps_shared(size_t size)
{
	void *p = adsmAlloc(size);

	if (!p)
		ps_die("%s", adsmLastError());
	return p;
}

void *ps_alloc(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		ps_die("not enough memory for %zu bytes", size);
	return p;
}

void ps_wrong(char wrong[PS_WRONG], const char *format, ...)
{
	va_list args;

	if (*wrong)
		return;
	va_start(args, format);
	vsnprintf(wrong, PS_WRONG, format, args);
	va_end(args);
}

void ps_check(char wrong[PS_WRONG], const char *what, size_t i, double got, double want, double tolerance)
{
	/* So that what is no number is wrong, too. */
	if (!(fabs(got - want) <= tolerance * fmax(fabs(want), 1)))
		ps_wrong(wrong, "%s is %.17g at %zu, not %.17g", what, got, i, want);
}

adsmModule *ps_load(const char *name, const char *installed)
{
	const char *const folders[] = { "", installed };
	char self[2048], path[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	adsmModule *module = NULL;

	while (n > 0 && self[n - 1] != '/')
		n--;
	for (size_t i = 0; i < 2 && !module; i++) {
		snprintf(path, sizeof(path), "%.*s%s%s%s.adsm", (int)n, self, folders[i], i ? "/" : "", name);
		if (!access(path, R_OK) || i)
			module = adsmModuleLoad(path);
	}
	if (!module)
		ps_die("%s: %s", path, adsmLastError());
	return module;
}

const long *ps_values(const char *program, const struct ps_size *sizes, const char *size)
{
	while (sizes->name && strcmp(sizes->name, size))
		sizes++;
	if (!sizes->name)
		ps_die("%s has no size '%s' (--list has them)", program, size);
	return sizes->v;
}

void ps_list(const char *program, const char *what, const char *units, const struct ps_size *sizes)
{
	printf("%-12s %s\n%12s ", program, what, "");
	for (const struct ps_size *size = sizes; size->name; size++) {
		printf("%s%s ", size == sizes ? "" : ", ", size->name);
		for (int v = 0; v < 3 && size->v[v]; v++)
			printf("%s%ld", v ? " × " : "", size->v[v]);
	}
	printf(" (%s)\n", units);
}
