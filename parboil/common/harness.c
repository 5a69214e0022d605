/* SPDX-License-Identifier: MIT */
/* harness.c - what benchmarks ask of the program around them. */
#include "harness.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "process.h"

void pb_die(const char *format, ...)
{
	va_list list;

	fprintf(stderr, "parboil: %s%s", pb_process_name, pb_process_name[0] ? ": " : "");
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	exit(1);
}

void pb_check(int error)
{
	if (error)
		pb_die("%s", adsmLastError());
}

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void *pb_host_alloc(size_t size)
{
	void *p = malloc(size);

	if (!p)
		pb_die("not enough memory for %zu bytes", size);
	return p;
}

void pb_host_free(void *p)
{
	if (p)
		memset(p, PB_SPOILT, malloc_usable_size(p));
	__asm__ volatile("" : : "r"(p) : "memory");	/* else compilers leave out what is freed next */
	free(p);
}

static int n_devices = 1;	/* that allocations and calls are dealt out to */

void pb_use_devices(int n)
{
	if (n > adsmDeviceCount())
		pb_die("there are %d devices, not %d", adsmDeviceCount(), n);
	n_devices = n;
	if (n > 1)
		pb_check(adsmDeviceSet(ADSM_DEVICE_ANY));
}

void *pb_shared_alloc(size_t size)
{
	adsmAllocOptions options = ADSM_ALLOC_OPTIONS_INIT;
	static int next;
	void *p;

	options.device = next++ % n_devices;
	p = n_devices > 1 ? adsmAllocWith(size, &options) : adsmAlloc(size);
	if (!p)
		pb_die("%s", adsmLastError());
	return p;
}

void *pb_device_alloc(size_t size)
{
	void *p = adsmDeviceAlloc(size);

	if (!p)
		pb_die("%s", adsmLastError());
	return p;
}

/* Both sides' bytes. A copy of the whole object needs none of the device's, and a fill none of the CPU's. The accesses
 * do not depend on the states of blocks, so that a replay can repeat them. */
static void spoil(void *p, size_t size)
{
	void *spoilt = pb_host_alloc(size);

	memset(spoilt, PB_SPOILT, size);
	pb_check(adsmMemcpy(p, spoilt, size));
	pb_check(adsmMemset(p, PB_SPOILT, size));
	free(spoilt);
}

void pb_free(void *p)
{
	adsmObjectProps props = { .struct_size = sizeof(props) };

	if (!p)
		return;
	pb_check(adsmObjectInfo(p, &props));
	if (!props.n_blocks) {
		pb_check(adsmDeviceFill(p, PB_SPOILT, props.size));
		pb_check(adsmDeviceFree(p));
		return;
	}
	spoil(p, props.size);
	pb_check(adsmFree(p));
}

adsmKernel *pb_kernel(struct pb_run *run, const char *name)
{
	adsmKernel *kernel = adsmKernelGet(run->module, name);

	if (!kernel)
		pb_die("%s", adsmLastError());
	return kernel;
}

void pb_set_variable(struct pb_run *run, const char *name, size_t size, const void *value, size_t n)
{
	for (int device = 0; device < n_devices; device++) {
		size_t found;
		void *p = adsmModuleGlobal(run->module, device, name, &found);

		if (!p)
			pb_die("%s", adsmLastError());
		if (found != size)
			pb_die("the variable %s has %zu bytes, not %zu", name, found, size);
		memcpy(p, value, n);
	}
}

FILE *pb_open(const char *path, const char *mode)
{
	FILE *file = fopen(path, mode);

	if (!file)
		pb_die("%s: %s", path, strerror(errno));
	return file;
}

uint64_t pb_file_size(FILE *in, const char *path)
{
	long size;

	if (fseek(in, 0, SEEK_END) || (size = ftell(in)) < 0)
		pb_die("%s: the length of the file is unknown", path);
	rewind(in);
	return (uint64_t)size;
}

void pb_io_start(struct pb_run *run)
{
	run->io_start_ns = now_ns();
}

void pb_io_stop(struct pb_run *run)
{
	run->result.io_ns += now_ns() - run->io_start_ns;
}

void pb_read(struct pb_run *run, FILE *in, const char *path, void *p, size_t size)
{
	pb_io_start(run);
	if (fread(p, 1, size, in) != size)
		pb_die("%s: at byte %ld: %s", path, ftell(in),
		       ferror(in) ? strerror(errno) : "the file ends");
	pb_io_stop(run);
}

void pb_write(struct pb_run *run, FILE *out, const void *p, size_t size)
{
	pb_io_start(run);
	if (fwrite(p, 1, size, out) != size)
		pb_die("%s: %s", run->output, strerror(errno));
	pb_io_stop(run);
}

void pb_close(FILE *out, const char *path)
{
	bool failed = ferror(out);

	if (fclose(out) || failed)
		pb_die("%s: %s", path, strerror(errno));
}

void pb_start(struct pb_run *run)
{
	run->result = (struct pb_result){ .total_ns = 0 };
	if (run->module)
		pb_check(adsmStatsReset());
	run->start_ns = now_ns();
}

void pb_stop(struct pb_run *run)
{
	run->result.total_ns = now_ns() - run->start_ns;
	if (run->module)
		pb_check(adsmStatsGet(&run->result.stats, sizeof(run->result.stats)));
}
