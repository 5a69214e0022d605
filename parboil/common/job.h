/* SPDX-License-Identifier: MIT */
/* job.h - one benchmark to be run: its files, its reference, the library's settings. */
#ifndef PARBOIL_JOB_H
#define PARBOIL_JOB_H

#include "args.h"
#include "harness.h"

/* What a variant is run with; NULL: the library's own choice. */
struct pb_config {
	enum pb_variant variant;
	const char *backend, *protocol, *block_size, *rolling_size, *link, *devices, *paper;
};

/* What these settings came to, wherever they were made. */
struct pb_setup {
	enum pb_variant variant;
	char backend[16], device[64], protocol[16], link[32];
	size_t block_size;
	unsigned long rolling_size;	/* blocks; 0: the library's rule, "auto" */
};

extern const char *const pb_variant_names[PB_N_VARIANTS];

/* The variant whose name has the first @length characters of @name. Ends the program where there is none of that
 * name, and, the second, where the benchmark does not have it. */
enum pb_variant pb_find_variant(const char *name, size_t length);
void pb_check_variant(const struct pb_bench *bench, enum pb_variant variant);

/* Index of a size by name; NULL: the first. Ends the program where the benchmark has none of that name. */
size_t pb_find_size(const struct pb_bench *bench, const char *name);

/* The ADSM_ variables of the environment, as " NAME=VALUE NAME=VALUE", or "". */
void pb_settings(char *ret_text, size_t size);

/* Give the library its settings; what is not valid there is a usage error. Before it starts. */
void pb_job_configure(const struct pb_config *config);
/* Start the library, or what a variant has instead, load the kernels, find out what the settings came to. Needs
 * bench and size of @run. All that goes wrong here and below ends the program. */
void pb_job_open(struct pb_run *run, const struct pb_config *config, struct pb_setup *ret_setup);
/* Make the files of @run or take those of @args, and the reference. Does not need the library. */
void pb_job_prepare(struct pb_run *run, const struct pb_args *args);
/* Run once, into run->result. */
void pb_job_run(struct pb_run *run, enum pb_variant variant);
/* Unload the kernels, end the library. */
void pb_job_close(struct pb_run *run);
/* Remove the files made, free the reference. */
void pb_job_finish(struct pb_run *run);

/* The commands "run" and "generate"; the exit status. */
int pb_run(const struct pb_bench *bench, const struct pb_args *args);
int pb_generate(const struct pb_bench *bench, const struct pb_args *args);

#endif
