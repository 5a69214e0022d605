/* SPDX-License-Identifier: MIT */
/* sharing.h - how the workers of tasks share pages, and advice for that. The device writes this memory, and the library
 * reads it: both are built from the same version of this file. */
#pragma once

#include <stddef.h>
#include <stdatomic.h>
#include <stdint.h>

#include "store/layout.h"

#define ADSM_SHARING_TASKS 64		/* maximum number of tasks */
#define ADSM_SHARING_NAME 64		/* bytes, terminator included */

/* The page that workers gave up in vain most often in one call. */
struct adsm_sharing_worst {
	uint64_t address, n;
	uint32_t worker;
	char because[44];		/* the worker that caused it: "worker 4" */
};

/* A task, over all its counted calls. */
struct adsm_sharing {
	char task[ADSM_SHARING_NAME];
	uint64_t page;			/* bytes */
	/* Bytes that pages of 2, 4, 8 … KiB would have moved, up to the real size: the last value is what was moved. */
	_Atomic uint64_t moved[ADSM_SCRATCHPAD_PAGE_SIZES];
	struct adsm_sharing_worst worst;
	int32_t arg;			/* the pointer argument that is nearest below that page, from 0; -1: none */
	uint64_t offset;		/* of the page, from there */
};

struct adsm_sharings {
	_Atomic uint32_t n;
	struct adsm_sharing of[ADSM_SHARING_TASKS];
};

/* For the device: one call. */
struct adsm_sharing_call {
	const char *task;
	uint64_t page;
	uint64_t moved[ADSM_SCRATCHPAD_PAGE_SIZES];
	struct adsm_sharing_worst worst;
	/* Its arguments, at least 8 bytes each; and the device's memory. */
	const void *const *args;
	uint32_t n_args;
	uint64_t base, size;
};

void adsm_sharing_add(struct adsm_sharings *sharings, const struct adsm_sharing_call *call);

/* For the library: append the advice for a task to @text, with a semicolon in between; or nothing. */
struct adsm_sharing_counts { uint64_t workers, given_up, falsely; };
#define ADSM_SHARING_COUNTS(KIND, values) \
	{ (values)[KIND##_WORKERS], (values)[KIND##_GIVEN_UP], (values)[KIND##_SHARED_FALSELY] }
void adsm_sharing_advise(const struct adsm_sharings *sharings, const char *task,
			 const struct adsm_sharing_counts *counts, char *text, size_t size);
