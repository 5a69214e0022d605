/* SPDX-License-Identifier: MIT */
/* harness.h - what a benchmark is, and what it may ask of the program around it. */
#ifndef PARBOIL_HARNESS_H
#define PARBOIL_HARNESS_H

#include <adsm.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* PB_CUDA_C: as PB_ADSM, with kernels in CUDA C. Those behind it do without the library: in plain OpenCL, with buffers
 * and with shared virtual memory; on CUDA's driver, with the kinds of memory that it has (cuda.h). */
enum pb_variant { PB_ADSM, PB_EXPLICIT, PB_CUDA_C, PB_OPENCL, PB_SVM, PB_CUDA, PB_CUDA_PINNED, PB_CUDA_PINNED_COLD,
		  PB_CUDA_PIPELINE, PB_MANAGED, PB_MANAGED_PREFETCH, PB_ZEROCOPY, PB_N_VARIANTS };

/* What one run of a variant came to. */
struct pb_result {
	uint64_t total_ns, io_ns;	/* io: reading input files and writing output files */
	adsmStats stats;
	uint64_t n_compared, n_wrong;	/* values of the output, by pb_compare() */
	double max_error;		/* largest absolute difference from the reference; NaN if one was */
};

/* What a variant is given. */
struct pb_run {
	const struct pb_bench *bench;
	size_t size;			/* index in bench->sizes */
	const char *const *inputs;	/* paths */
	size_t n_inputs;
	size_t n_points;		/* of each input file, the first ones; 0: all */
	const char *output;		/* path */
	adsmModule *module;		/* the benchmark's kernels */
	struct pb_opencl *opencl;	/* instead of the library, for variants without it */
	struct pb_cuda *cuda;
	void *data;			/* what prepare() made */
	uint64_t start_ns, io_start_ns;
	struct pb_result result;
};

/* A benchmark: a folder with this struct, kernels.c, adsm.c and explicit.c, and one row in main.c. */
struct pb_bench {
	const char *name, *about;
	const char *const *sizes;	/* their names, then NULL */
	/* Its input files in words, where the original reads files; else NULL: it makes its input itself. */
	const char *inputs;
	size_t n_inputs;		/* how many; 0: count_inputs() of a size, and any number from 2 of others */
	size_t (*count_inputs)(size_t size);
	size_t max_points;		/* of a file, where run->n_points may choose; else 0 */
	/* Write the input files of a size. */
	void (*generate)(size_t size, FILE *const *outs);
	bool writes;			/* writes an output file */
	/* Before the clock starts, and before the library does: compute what the output must be (from the
	 * input files, where there are any) into run->data, one piece of pb_host_alloc() memory that the
	 * caller frees. */
	void (*prepare)(struct pb_run *run);
	/* The variants: from the input to the output file, then pb_stop(), then compare with what
	 * prepare() found. NULL where there is none. */
	void (*variants[PB_N_VARIANTS])(struct pb_run *run);
};

/* The row of a benchmark that has kernels.cu: where the build found a clang for it. */
#ifdef PB_HAVE_CUDA_C
#define PB_IN_CUDA_C(function) [PB_CUDA_C] = function,
#else
#define PB_IN_CUDA_C(function)
#endif
/* The rows of a benchmark that has opencl.c, svm.c and cuda.c: the first two where the build found OpenCL. */
#ifdef PB_HAVE_OPENCL
#define PB_RIVALS(bench) [PB_OPENCL] = bench##_opencl, [PB_SVM] = bench##_svm, PB_CUDA_RIVALS(bench)
#else
#define PB_RIVALS(bench) PB_CUDA_RIVALS(bench)
#endif
#define PB_CUDA_RIVALS(bench) [PB_CUDA] = bench##_cuda, [PB_CUDA_PINNED] = bench##_cuda, \
	[PB_CUDA_PINNED_COLD] = bench##_cuda, [PB_CUDA_PIPELINE] = bench##_cuda, [PB_MANAGED] = bench##_cuda, \
	[PB_MANAGED_PREFETCH] = bench##_cuda, [PB_ZEROCOPY] = bench##_cuda

#define PB_SPOILT 0x5a			/* each byte of freed memory: no result of any benchmark */

/* ---- for benchmarks. All that can go wrong ends the program: one line, exit status 1. */

_Noreturn void pb_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Die with adsmLastError() where an adsm function returned an error. */
void pb_check(int error);
void *pb_host_alloc(size_t size);	/* malloc() */
/* Free what a run has got from it; NULL has no effect. As pb_free(), with what the next run must not find. */
void pb_host_free(void *p);
/* From now on pb_shared_alloc() uses one device after the other, and the library chooses the device of calls. */
void pb_use_devices(int n);
void *pb_shared_alloc(size_t size);	/* adsmAlloc() */
void *pb_device_alloc(size_t size);	/* adsmDeviceAlloc() */
/* Free memory of either; NULL has no effect. The next run may get it again, and must not find its result there. */
void pb_free(void *p);
adsmKernel *pb_kernel(struct pb_run *run, const char *name);
/* Write the first @n bytes of a variable of the benchmark's module on all devices that are used. It has @size bytes. */
void pb_set_variable(struct pb_run *run, const char *name, size_t size, const void *value, size_t n);
FILE *pb_open(const char *path, const char *mode);
/* fread() and fwrite() of all bytes, their time counted as I/O. @path is for the message. */
void pb_read(struct pb_run *run, FILE *in, const char *path, void *p, size_t size);
void pb_write(struct pb_run *run, FILE *out, const void *p, size_t size);
/* What happens between these two is I/O as well: text that is read or written. */
void pb_io_start(struct pb_run *run);
void pb_io_stop(struct pb_run *run);
/* Bytes of an open file; its position is its start again. */
uint64_t pb_file_size(FILE *in, const char *path);
/* Close a written file, and die if not all of it arrived. */
void pb_close(FILE *out, const char *path);
/* The clock starts; the harness does that. */
void pb_start(struct pb_run *run);
/* The output is complete: take time and counters. What follows is verification. */
void pb_stop(struct pb_run *run);

/* One value of the output against the reference; written so that no NaN passes. */
static inline void pb_compare(struct pb_run *run, double got, double expected, double tolerance)
{
	double error = fabs(got - expected);

	run->result.n_compared++;
	run->result.n_wrong += !(error <= tolerance);
	if (!(error <= run->result.max_error || isnan(run->result.max_error)))
		run->result.max_error = error;
}

/* Values were compared, and none of them is wrong. */
static inline bool pb_verified(const struct pb_result *result)
{
	return result->n_compared && !result->n_wrong;
}

#endif
