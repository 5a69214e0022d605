/* SPDX-License-Identifier: MIT */
/* program.h - what each program of the suite for small local stores is to the one that runs them. */
#ifndef PO_PROGRAM_H
#define PO_PROGRAM_H

#include <adsm.h>

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/rng.h"
#include "../common/suite.h"

#define PO_SEED 42

struct po_run {
	adsmModule *module;
	const long *v;			/* of the size */
	bool verify;			/* against a sequential one */
	const char *input, *output;	/* files, or NULL */
	bool backward;			/* --decompress */
	uint64_t started_ns, device_ns, reference_ns;
	uint64_t hash;			/* of the results, FNV-1a */
	char note[96];			/* what there is to say of the result; "": nothing */
	char wrong[PS_WRONG];		/* "": nothing */
};

struct po_program {
	const char *name, *what;
	const char *units;		/* what a size is: "points a side, sweeps" */
	const struct ps_size *sizes;
	bool files;			/* takes --input, --output and --decompress */
	void (*run)(struct po_run *run);
	const char *module;		/* NULL: it has the program's name */
};

extern const struct po_program po_dsp, po_gzip, po_jacobi, po_laplace, po_mb1, po_mb2, po_mb3, po_mb5, po_mb6, po_mb7,
	po_mb8, po_md, po_mgrid;

/* Call a kernel, of one dimension, and do not wait. What fails ends the program with a sentence. */
void po_call(struct po_run *run, const char *kernel, long n_blocks, long n_threads, const adsmArg *args, size_t n);
#define PO_CALL(run, kernel, n_blocks, n_threads, ...) \
	po_call((run), (kernel), (n_blocks), (n_threads), (const adsmArg[]){ __VA_ARGS__ }, \
		sizeof((const adsmArg[]){ __VA_ARGS__ }) / sizeof(adsmArg))
/* Wait for all calls; their time is added to @run->device_ns. */
void po_sync(struct po_run *run);
/* Results, all of them: the same run gives the same. */
void po_result(struct po_run *run, const void *data, size_t size);

#endif
