/* SPDX-License-Identifier: MIT */
/* harness.h - what a benchmark is, and what it may ask of the program around it. */
#ifndef PARBOIL_HARNESS_H
#define PARBOIL_HARNESS_H

#include <adsm.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "args.h"

enum pb_variant { PB_ADSM, PB_EXPLICIT, PB_N_VARIANTS };

/* What one run of a variant came to. */
struct pb_result {
	uint64_t total_ns, io_ns;	/* io: in fread and fwrite */
	adsmStats stats;
	double max_error;		/* largest absolute difference from the reference */
	bool verified;
};

/* What a variant is given. */
struct pb_run {
	const struct pb_bench *bench;
	size_t size;			/* index in bench->sizes */
	const char *input, *output;	/* paths */
	adsmModule *module;		/* the benchmark's kernels */
	void *data;			/* what prepare() made */
	uint64_t start_ns;
	struct pb_result result;
};

/* A benchmark: a folder with this struct and kernels.c, and one row in main.c. */
struct pb_bench {
	const char *name, *about;
	const char *const *sizes;	/* their names, then NULL */
	/* Write the input file of a size. */
	void (*generate)(size_t size, FILE *out);
	/* Before the clock starts: compute from the input file what the output must be, into run->data,
	 * one piece of pb_host_alloc() memory that the caller frees. */
	void (*prepare)(struct pb_run *run);
	/* The variants: from the input file to the output file, then pb_stop(), then set max_error and
	 * verified in run->result. */
	void (*variants[PB_N_VARIANTS])(struct pb_run *run);
};

/* Run a benchmark as the command line says; the exit status. */
int pb_run(const struct pb_bench *bench, const struct pb_args *args);
/* Write an input file; the exit status. */
int pb_generate(const struct pb_bench *bench, const struct pb_args *args);

/* ---- for benchmarks. All that can go wrong ends the program: one line, exit status 1. */

_Noreturn void pb_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Die with adsmLastError() where an adsm function returned an error. */
void pb_check(int error);
void *pb_host_alloc(size_t size);	/* malloc() */
void *pb_shared_alloc(size_t size);	/* adsmAlloc() */
void *pb_device_alloc(size_t size);	/* adsmDeviceAlloc() */
adsmKernel *pb_kernel(struct pb_run *run, const char *name);
FILE *pb_open(const char *path, const char *mode);
/* fread() and fwrite() of all bytes, their time counted as I/O. @path is for the message. */
void pb_read(struct pb_run *run, FILE *in, void *p, size_t size);
void pb_write(struct pb_run *run, FILE *out, const void *p, size_t size);
/* Close a written file, and die if not all of it arrived. */
void pb_close(FILE *out);
/* The output file is written: take time and counters. What follows is verification. */
void pb_stop(struct pb_run *run);

#endif
