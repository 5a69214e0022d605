/* SPDX-License-Identifier: MIT */
/*
 * scratchpad.c - code that is loaded piece by piece. A call between partitions ("ours") against the same call inside of
 * one partition ("floor"), where nothing is loaded; the goal is at most 50 ns. A load against memcpy() of the same
 * bytes and one serialisation, which all code that writes code needs. A call that loads its callee, and at its return
 * its caller, against two such loads. Then commands of kernels to the program (commands.c).
 */
#include "bench.h"
#include "commands.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratchpad/device/partition.h"
#include "scratchpad/device/partition_call.h"

typedef long bench_loop(long n);

struct overlay_job {
	struct adsm_image image;
	struct adsm_partitions *partitions;
	bench_loop *near, *far;
	uint32_t partition;
	void *copy;
	long times;
};

static void fail(void *context, const char *text)
{
	bench_die("%s", text);
}

static void *resolve(void *context, const char *name)
{
	return NULL;
}

static double each_ns(double start, long n)
{
	return (bench_now_us() - start) * 1e3 / (double)n;
}

static double call_far(void *arg)
{
	const struct overlay_job *job = arg;
	const double start = bench_now_us();

	if (job->far(job->times) != job->times)
		bench_die("the called function is not what it was");
	return each_ns(start, job->times);
}

static double call_near(void *arg)
{
	const struct overlay_job *job = arg;
	const double start = bench_now_us();

	job->near(job->times);
	return each_ns(start, job->times);
}

static double load(void *arg)
{
	const struct overlay_job *job = arg;
	const double start = bench_now_us();

	for (long i = 0; i < job->times; i++) {
		adsm_partition_load(job->partitions, job->partition, 0);
		/* So that the next one has something to do. */
		adsm_partition_forget(job->partitions, job->partition);
	}
	return each_ns(start, job->times);
}

static double copy(void *arg)
{
	const struct overlay_job *job = arg;
	const size_t size = job->image.partitions[job->partition].size;
	const double start = bench_now_us();

	for (long i = 0; i < job->times; i++) {
		memcpy(job->copy, adsm_image_code(&job->image, job->partition), size);
		adsm_partition_serialise(job->copy, size);
	}
	return each_ns(start, job->times);
}

static double copy_both(void *arg)
{
	struct overlay_job job = *(const struct overlay_job *)arg;
	double ns;

	job.partition = 1;
	ns = copy(&job);
	job.partition = 2;
	return ns + copy(&job);
}

static void read_image(struct overlay_job *job)
{
	const int fd = open(bench_beside("bench-overlays.image"), O_RDONLY);
	struct stat stat;
	char text[ADSM_PARTITION_TEXT];
	void *bytes;

	if (fd < 0 || fstat(fd, &stat))
		bench_die("bench-overlays.image is not there");
	bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED || adsm_image_check(bytes, (size_t)stat.st_size, &job->image, text, sizeof(text)))
		bench_die("bench-overlays.image: %s", text);
}

static void start(struct overlay_job *job, uint32_t n_buffers)
{
	const struct adsm_partition_config config = {
		.image = &job->image, .n_buffers = n_buffers, .resolve = resolve, .fail = fail,
	};
	char text[ADSM_PARTITION_TEXT];

	adsm_partition_destroy(job->partitions);
	if (adsm_partition_create(&config, &job->partitions, text))
		bench_die("%s", text);
	job->near = (bench_loop *)(uintptr_t)adsm_partition_function(job->partitions, "call_near");
	job->far = (bench_loop *)(uintptr_t)adsm_partition_function(job->partitions, "call_far");
}

void bench_scratchpad(void)
{
	struct overlay_job job = { .times = bench_smoke ? 1000 : 20000, .copy = bench_host_alloc(ADSM_IMAGE_MAX_SIZE) };
	struct bench_row row = { .unit = "ns", .name = "call, no load", .target = "<= 50 ns" };
	static const uint32_t partitions[] = { 3, 4, 5, 6 };	/* 1, 4, 16, 64 KiB */

	read_image(&job);
	start(&job, 2);
	bench_compare(&row, bench_repeat, call_far, call_near, &job);
	snprintf(row.note, sizeof(row.note), "call and return; floor: inside of a partition");
	bench_emit(&row);
	job.times = bench_smoke ? 10 : 1000;
	for (size_t i = 0; i < sizeof(partitions) / sizeof(partitions[0]); i++) {
		struct bench_row loads = { .unit = "ns", .target = "<= 1.5" };

		job.partition = partitions[i];
		snprintf(loads.name, sizeof(loads.name), "load of %u bytes", job.image.partitions[job.partition].size);
		bench_compare(&loads, bench_repeat, load, copy, &job);
		snprintf(loads.note, sizeof(loads.note), "floor: memcpy() and one serialisation");
		bench_emit(&loads);
	}
	start(&job, 1);
	row = (struct bench_row) { .unit = "ns", .name = "call, with a load of both", .target = "" };
	bench_compare(&row, bench_repeat, call_far, copy_both, &job);
	snprintf(row.note, sizeof(row.note), "of %u and %u bytes", job.image.partitions[1].size,
		 job.image.partitions[2].size);
	bench_emit(&row);
	adsm_partition_destroy(job.partitions);
	free(job.copy);
	bench_commands();
}
