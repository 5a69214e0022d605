/* SPDX-License-Identifier: MIT */
/*
 * gpu.h - what the programs of this folder share: the driver, opened at run time, a context on device 0, and kernels.
 * On the driver's double kernels come from the module GPU_KERNELS names, as it takes no PTX.
 */
#ifndef TEST_GPU_H
#define TEST_GPU_H

#include <stdbool.h>

#include "cuda/cu.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)
#define MS 1000000ul				/* of nanoseconds */

extern struct adsm_cu adsm_cu;
extern CUdevice gpu_device;
extern CUcontext gpu_context;
extern CUmodule gpu_module;			/* NULL: no kernels */
/* (words, n), (words, ns), (words), (words, n, 28 values): see ../kernels/gpu.c */
extern CUfunction gpu_increment, gpu_late, gpu_crash, gpu_thirty;

/* Open a driver, or libcuda.so.1. Says why it cannot, and ends the process with 77. */
void gpu_open(const char *library);
/* The primary context and the kernels. */
void gpu_start(void);
/* A function of the driver by its name; NULL: it has none. */
void *gpu_function(const char *name);
/* The image of the kernels, to be loaded in another way. NULL: there is none. */
const void *gpu_image(void);

double gpu_now_us(void);
const char *gpu_error(CUresult error);		/* "works", or its name */
/* Anything but 0 ends the process with 1, and a line. */
void gpu_must(CUresult error, const char *what);
/* A line of Markdown: the question in bold, yes or NO, what was seen. */
void gpu_answer(const char *question, bool yes, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* One thread of a kernel that has one pointer, and the value behind it. */
CUresult gpu_launch(CUfunction kernel, CUdeviceptr words, unsigned long value, CUstream stream);

#endif
