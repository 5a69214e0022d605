/* SPDX-License-Identifier: MIT */
/* options.h - the options: one table with name, type, default, help and parser; values after start. */
#ifndef ADSM_OPTIONS_H
#define ADSM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum adsm_touch { ADSM_TOUCH_WAIT, ADSM_TOUCH_ERROR };

#define ADSM_ROLLING_AUTO 0u

enum adsm_opencl_memory {
	ADSM_OPENCL_AUTO, ADSM_OPENCL_BUFFER, ADSM_OPENCL_USM, ADSM_OPENCL_ADDRESS, ADSM_OPENCL_SVM, ADSM_OPENCL_UNIFIED
};

enum adsm_cuda_memory { ADSM_CUDA_AUTO, ADSM_CUDA_ARENA, ADSM_CUDA_VIEW, ADSM_CUDA_SEPARATE };
enum adsm_cuda_events { ADSM_CUDA_EVENTS_LATE, ADSM_CUDA_EVENTS_EACH };
enum adsm_cuda_objects { ADSM_CUDA_OBJECTS_AUTO, ADSM_CUDA_OBJECTS_ON, ADSM_CUDA_OBJECTS_OFF };

struct adsm_options {
	const char *protocol;		/* ADSM_PROTOCOL: batch, lazy, rolling */
	size_t block_size;		/* ADSM_BLOCK_SIZE: bytes */
	unsigned rolling_size;		/* ADSM_ROLLING_SIZE: blocks, or ADSM_ROLLING_AUTO */
	enum adsm_touch touch;		/* ADSM_TOUCH: wait, error */
	size_t fault_ahead;		/* ADSM_FAULT_AHEAD: bytes of the largest window, 0 off */
	size_t evict_batch;		/* ADSM_EVICT_BATCH: bytes; 1: one block, closed by the writer */
	const char *backend;		/* ADSM_BACKEND: auto, cuda, opencl, cpu */
	const char *wrap;		/* ADSM_WRAP: "" or the plan of the wrapper (backends/wrap) */
	const char *engine;		/* ADSM_ENGINE: sigsegv */
	const char *stats;		/* ADSM_STATS: "" off, "text" to stderr, text:FILE, json:FILE */
	const char *trace;		/* ADSM_TRACE: "" off, or a file */
	bool advise;			/* ADSM_ADVISE */
	bool files_new;			/* ADSM_FILES: files of these that are there already: replace, new */
	bool paper;			/* ADSM_PAPER: fault_ahead 0, evict_batch 1, accesses ignored */
	uintptr_t arena_address;	/* ADSM_ARENA=address[,size]; 0: the library chooses */
	size_t arena_size;		/* bytes; 0: the library chooses */
	size_t keep;			/* ADSM_KEEP: bytes of freed objects' memory, on each side */
	/* of the cpu backend */
	uint64_t cpu_memory_size;	/* ADSM_CPU_MEMORY_SIZE: bytes, 0: half of what is available */
	unsigned cpu_threads;		/* ADSM_CPU_THREADS: 0: one per processor */
	unsigned cpu_devices;		/* ADSM_CPU_DEVICES: how many, 1 to 8 */
	bool cpu_unified;		/* ADSM_CPU_MEMORY: discrete, unified */
	uint64_t cpu_link_bandwidth;	/* ADSM_CPU_LINK: bytes per second, 0: as fast as the machine */
	uint64_t cpu_link_latency_ns;	/* nanoseconds per transfer */
	const char *cpu_device;		/* ADSM_CPU_DEVICE: the device program, "" beside the library */
	/* of the opencl backend */
	const char *opencl_device;	/* ADSM_OPENCL_DEVICE: "" all, or platform:device */
	enum adsm_opencl_memory opencl_memory;
	const char *opencl_cache;	/* ADSM_OPENCL_CACHE: "" the user's, "off", or a folder */
	const char *opencl_library;	/* ADSM_OPENCL_LIBRARY: "" libOpenCL.so.1 */
	/* of the cuda backend, and of the wrappers of its driver */
	const char *cuda_device;	/* ADSM_CUDA_DEVICE: "" all, or an index or part of a name */
	enum adsm_cuda_memory cuda_memory;
	size_t cuda_pin;		/* ADSM_CUDA_PIN: bytes of objects that may be pinned */
	enum adsm_cuda_objects cuda_objects;
	enum adsm_cuda_events cuda_events;
	const char *cuda_cache;		/* ADSM_CUDA_CACHE: "" the user's, "off", or a folder */
	const char *cuda_library;	/* ADSM_CUDA_LIBRARY: "" libcuda.so.1 */
	const char *cuda_compiler;	/* ADSM_CUDA_COMPILER: "" the toolkit's, "off", or a file */
};

extern struct adsm_options adsm_options;	/* valid once adsm_options_load() returned 0 */

/* Read defaults, then the environment, then what adsm_options_set() was told. Logs and records the
 * first value that is not valid: -EINVAL. Warns about unknown ADSM_ variables, with the nearest name. */
int adsm_options_load(void);
/* In the child of a fork, before anything else: whoever was here may have been changing them. */
void adsm_options_child(void);
/* adsmOption() before start: checks name and value now, remembers it for adsm_options_load(). */
int adsm_options_set(const char *name, const char *value);
/* For tools: each option as a line of name, default, current value and help; or as a Markdown table. */
void adsm_options_print(FILE *out, bool markdown);

#endif
