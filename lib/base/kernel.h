/* SPDX-License-Identifier: MIT */
/* base/kernel.h - what a module says of a kernel. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kind of a parameter that the library adds to each call: a module variable. */
#define ADSM_PARAM_VARIABLE 7
/* The largest numbers of parameters of a kernel (in the dialect: ADSM_KERNEL_PARAMS_MAX), and of variables it uses. */
#define ADSM_PARAMS_MAX 256
#define ADSM_VARIABLES_MAX 256

struct adsm_param {
	char name[32];
	char type[32];			/* as written: "float", "struct atom" */
	/* ADSM_ARG_POINTER, _VALUE, _CONST, _LOCAL, _ONCE; _NONE: not known; ADSM_PARAM_VARIABLE */
	uint32_t kind;
	uint32_t access;		/* pointers: ADSM_ACCESS_*; 0: not declared */
	uint32_t size;			/* value: its bytes; pointer and const: bytes of one element; 0: not known */
	/* What the kernel certainly writes through the pointer (writes.h); inside the image. NULL: not known. */
	const char *writes;
};

struct adsm_kernel_info {
	char name[64];
	/* Of a kernel in CUDA C: its name in the PTX, in the section adsm_entries and not NUL-terminated. Else NULL. */
	const char *full;
	size_t full_size;
	const char *entry;		/* and its lines in that section */
	size_t entry_size;
	uint64_t shared_size;		/* and the memory of a block that it declares, in bytes */
	uint32_t n_params;
	uint32_t max_threads;		/* the largest block that the kernel declares */
	bool global_atomics;		/* may do atomic operations on objects, or this is unknown */
	bool task;			/* blocks are workers, which all run at the same time */
	bool services;			/* may call services (adsm_kernel_services.h) */
	bool any_object;		/* may use objects that its arguments do not name */
	bool raw;			/* a pointer need not be of an object, and a value of 8 bytes may be one */
	/* Module variables that it uses: they follow the parameters. The name is the variable's index. */
	uint32_t n_variables;
	const struct adsm_param *params;
};
