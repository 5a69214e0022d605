/* SPDX-License-Identifier: MIT */
/*
 * cuda_c.c - twelve kernels in CUDA C on the device cpu. "cuda-c" uses all processors, "cuda-c-1" one of them.
 * The folder cuda-c has the kernels. gcc and clang compile each for the processors of this machine. The faster one
 * counts, and the note names it.
 *
 * Floor: the same kernel in OpenCL C on PoCL; and in the dialect of adsm_kernel.h, by the faster compiler, too. The
 * benchmark compares all results.
 */
#include "bench.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef ADSM_HAVE_OPENCL
#include <CL/cl.h>
#include <dlfcn.h>
#endif

#define ARGS_MAX 8

/* The contenders. Those that were not built, or that are not installed, do not take part. */
enum { CUDA_GCC, CUDA_CLANG, DIALECT_GCC, DIALECT_CLANG, POCL, N_CONTENDERS };
static const char *const modules[] = { "cuda-c-gcc.adsm", "cuda-c-clang.adsm", "cuda-c-dialect-gcc.adsm",
				       "cuda-c-dialect-clang.adsm" };

enum kind { NONE, IN, OUT, BYTES, COUNTS, INT, FLOAT };

/* An argument: an array of floats that is read (IN), or read and written (OUT); of random bytes; of counters. */
struct arg {
	enum kind kind;
	unsigned n;			/* elements; or the number */
	float value;
};

struct kernel {
	const char *name;
	unsigned grid[2], block[2];
	struct arg args[ARGS_MAX];
};

#define ITEMS (1u << 20)
#define WIDE 1024u
#define SIDE 384u
#define IN_(n) { IN, n, 0 }
#define OUT_(n) { OUT, n, 0 }
#define BYTES_(n) { BYTES, n, 0 }
#define COUNTS_(n) { COUNTS, n, 0 }
#define INT_(n) { INT, n, 0 }
#define FLOAT_(x) { FLOAT, 0, x }
static const struct kernel kernels[] = {
	{ "saxpy", { 4 * ITEMS / 256, 1 }, { 256, 1 },
	  { OUT_(4 * ITEMS), IN_(4 * ITEMS), FLOAT_(1.5f), INT_(4 * ITEMS - 7) } },
	{ "conv2d", { WIDE / 64, WIDE / 4 }, { 64, 4 },
	  { OUT_(WIDE * WIDE), IN_(WIDE * WIDE), IN_(25), INT_(WIDE), INT_(WIDE) } },
	{ "gemm", { SIDE / 64, SIDE / 4 }, { 64, 4 },
	  { OUT_(SIDE * SIDE), IN_(SIDE * SIDE), IN_(SIDE * SIDE), INT_(SIDE) } },
	{ "gemm_tiled", { SIDE / 16, SIDE / 16 }, { 16, 16 },
	  { OUT_(SIDE * SIDE), IN_(SIDE * SIDE), IN_(SIDE * SIDE), INT_(SIDE) } },
	{ "blackscholes", { ITEMS / 256, 1 }, { 256, 1 },
	  { OUT_(ITEMS), OUT_(ITEMS), IN_(ITEMS), IN_(ITEMS), IN_(ITEMS), FLOAT_(0.02f), FLOAT_(0.3f),
	    INT_(ITEMS) } },
	{ "reduce", { 4 * ITEMS / 256, 1 }, { 256, 1 },
	  { OUT_(4 * ITEMS / 256), IN_(4 * ITEMS) } },
	{ "transpose", { WIDE / 16, WIDE / 16 }, { 16, 16 },
	  { OUT_(WIDE * WIDE), IN_(WIDE * WIDE), INT_(WIDE) } },
	{ "nbody", { 4096 / 256, 1 }, { 256, 1 },
	  { OUT_(3 * 4096), IN_(4 * 4096), INT_(4096) } },
	{ "histogram", { 8 * ITEMS / 4096, 1 }, { 256, 1 },
	  { COUNTS_(256), BYTES_(8 * ITEMS) } },
	{ "mandelbrot", { 512 / 64, 512 / 4 }, { 64, 4 },
	  { COUNTS_(512 * 512), INT_(512), INT_(512) } },
	{ "hotspot", { WIDE / 64, WIDE / 4 }, { 64, 4 },
	  { OUT_(WIDE * WIDE), IN_(WIDE * WIDE), IN_(WIDE * WIDE), INT_(WIDE), INT_(WIDE) } },
	{ "mriq", { 4096 / 256, 1 }, { 256, 1 },
	  { OUT_(4096), OUT_(4096), IN_(4096), IN_(4096), IN_(4096), IN_(4 * 1024), INT_(1024) } },
};
#define N_KERNELS (sizeof(kernels) / sizeof(kernels[0]))

static adsmModule *loaded[POCL];

static size_t bytes_of(const struct arg *arg)
{
	return arg->kind == BYTES ? arg->n : arg->n * sizeof(float);
}

static bool is_array(const struct arg *arg)
{
	return arg->kind >= IN && arg->kind <= COUNTS;
}

/* The data of an argument before the first run: numbers from 0.5 to 1.5. */
static void fill(const struct arg *arg, void *data)
{
	unsigned state = 1;

	for (unsigned i = 0; i < arg->n; i++) {
		state = state * 1664525 + 1013904223;
		if (arg->kind == BYTES)
			((unsigned char *)data)[i] = (unsigned char)(state >> 24);
		else if (arg->kind == COUNTS)
			((int *)data)[i] = 0;
		else
			((float *)data)[i] = 0.5f + (float)(state >> 8) / (float)(1 << 24);
	}
}

/* ---- PoCL */

#ifdef ADSM_HAVE_OPENCL
static void *opencl;
static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_kernel cl_now;
static cl_mem buffers[ARGS_MAX];

#define CL(name) ((__typeof__(&name))opencl_function(#name))
static void *opencl_function(const char *name)
{
	void *function = dlsym(opencl, name);

	if (!function)
		bench_die("%s", dlerror());
	return function;
}

static void cl_check(cl_int error, const char *what)
{
	if (error)
		bench_die("%s: OpenCL's error %d", what, error);
}

static bool start_pocl(void)
{
	char options[4200], text[64] = "#include \"kernels.cl\"\n";
	const char *source = text;
	cl_platform_id platforms[16];
	cl_uint n = 0;
	cl_device_id device = NULL;
	cl_int error;

	opencl = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!opencl || CL(clGetPlatformIDs)(16, platforms, &n))
		return false;
	for (cl_uint i = 0; i < n && !device; i++) {
		char name[64] = "";

		CL(clGetPlatformInfo)(platforms[i], CL_PLATFORM_NAME, sizeof(name), name, NULL);
		if (!strncmp(name, "Portable", 8))
			CL(clGetDeviceIDs)(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device, NULL);
	}
	if (!device)
		return false;
	context = CL(clCreateContext)(NULL, 1, &device, NULL, NULL, &error);
	cl_check(error, "clCreateContext");
	queue = CL(clCreateCommandQueueWithProperties)(context, device, NULL, &error);
	cl_check(error, "clCreateCommandQueueWithProperties");
	program = CL(clCreateProgramWithSource)(context, 1, &source, NULL, &error);
	cl_check(error, "clCreateProgramWithSource");
	snprintf(options, sizeof(options), "-I%s", BENCH_CUDA_C);
	cl_check(CL(clBuildProgram)(program, 1, &device, options, NULL, NULL), "clBuildProgram");
	return true;
}

static void set_up_pocl(const struct kernel *kernel)
{
	cl_int error;

	cl_now = CL(clCreateKernel)(program, kernel->name, &error);
	cl_check(error, kernel->name);
	for (cl_uint i = 0; i < ARGS_MAX && kernel->args[i].kind; i++) {
		const struct arg *arg = &kernel->args[i];
		const cl_int number = (cl_int)arg->n;
		void *data;

		if (!is_array(arg)) {
			cl_check(CL(clSetKernelArg)(cl_now, i, 4, arg->kind == INT ? (const void *)&number :
						    &arg->value), "clSetKernelArg");
			continue;
		}
		data = bench_host_alloc(bytes_of(arg));
		fill(arg, data);
		buffers[i] = CL(clCreateBuffer)(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes_of(arg), data,
						&error);
		cl_check(error, "clCreateBuffer");
		free(data);
		cl_check(CL(clSetKernelArg)(cl_now, i, sizeof(buffers[i]), &buffers[i]), "clSetKernelArg");
	}
}

static void run_pocl(const struct kernel *kernel)
{
	const size_t local[2] = { kernel->block[0], kernel->block[1] };
	const size_t global[2] = { kernel->grid[0] * local[0], kernel->grid[1] * local[1] };

	cl_check(CL(clEnqueueNDRangeKernel)(queue, cl_now, 2, NULL, global, local, 0, NULL, NULL), kernel->name);
	cl_check(CL(clFinish)(queue), kernel->name);
}

static void read_pocl(const struct kernel *kernel, unsigned i, void *data)
{
	cl_check(CL(clEnqueueReadBuffer)(queue, buffers[i], CL_TRUE, 0, bytes_of(&kernel->args[i]), data, 0, NULL,
					 NULL), "clEnqueueReadBuffer");
}

static void clean_up_pocl(const struct kernel *kernel)
{
	for (unsigned i = 0; i < ARGS_MAX; i++) {
		if (is_array(&kernel->args[i]))
			cl_check(CL(clReleaseMemObject)(buffers[i]), "clReleaseMemObject");
	}
	cl_check(CL(clReleaseKernel)(cl_now), "clReleaseKernel");
}
#else
static bool start_pocl(void)
{
	return false;
}

static void set_up_pocl(const struct kernel *kernel)
{
}

static void run_pocl(const struct kernel *kernel)
{
}

static void read_pocl(const struct kernel *kernel, unsigned i, void *data)
{
}

static void clean_up_pocl(const struct kernel *kernel)
{
}
#endif

/* ---- all of them */

struct job {
	const struct kernel *kernel;
	adsmKernel *functions[POCL];
	void *arrays[ARGS_MAX];
	bool takes_part[N_CONTENDERS];
};

static double run(const struct job *job, int contender)
{
	const struct kernel *kernel = job->kernel;
	const double start = bench_now_us();
	adsmArg args[ARGS_MAX];
	size_t n = 0;

	if (contender == POCL) {
		run_pocl(kernel);
		return bench_now_us() - start;
	}
	for (; n < ARGS_MAX && kernel->args[n].kind; n++) {
		const struct arg *arg = &kernel->args[n];
		const void *value = arg->kind == INT ? (const void *)&arg->n : &arg->value;

		args[n] = is_array(arg) ? adsmPtr(job->arrays[n]) :
			  (adsmArg){ ADSM_ARG_VALUE, ADSM_ACCESS_IN, value, 4 };
	}
	bench_check(adsmCallArgs(job->functions[contender], adsmDim3(kernel->grid[0], kernel->grid[1], 1),
				 adsmDim3(kernel->block[0], kernel->block[1], 1), args, n));
	bench_check(adsmSync());
	return bench_now_us() - start;
}

/* Compare what a first run wrote with what the first contender wrote. Sums may be made in another order. */
static void compare(const struct kernel *kernel, const struct arg *arg, const float *want, const float *got,
		    int contender)
{
	unsigned differ = 0;

	for (unsigned i = 0; i < arg->n; i++)
		differ += arg->kind == COUNTS ? ((const int *)want)[i] != ((const int *)got)[i] :
			  !(fabsf(got[i] - want[i]) <= 1e-3f * fabsf(want[i]) + 1e-3f);
	/* A point of a fractal's edge depends on how a product is rounded. */
	if (differ > (strcmp(kernel->name, "mandelbrot") ? 0 : arg->n / 100))
		bench_die("%s: %u of %u numbers of contender %d are wrong", kernel->name, differ, arg->n, contender);
}

static void first_run(const struct job *job, int contender, void *want[ARGS_MAX])
{
	const struct kernel *kernel = job->kernel;

	for (unsigned i = 0; i < ARGS_MAX && contender != POCL; i++) {
		if (is_array(&kernel->args[i]))
			fill(&kernel->args[i], job->arrays[i]);
	}
	run(job, contender);
	for (unsigned i = 0; i < ARGS_MAX; i++) {
		const struct arg *arg = &kernel->args[i];
		void *got;

		if (arg->kind != OUT && arg->kind != COUNTS)
			continue;
		got = bench_host_alloc(bytes_of(arg));
		if (contender == POCL)
			read_pocl(kernel, i, got);
		else
			memcpy(got, job->arrays[i], bytes_of(arg));
		if (!want[i]) {
			want[i] = got;
			continue;
		}
		compare(kernel, arg, want[i], got, contender);
		free(got);
	}
}

/* The medians of all rounds. In a round each contender runs once; they begin in turn. */
static void measure(const struct job *job, double medians[N_CONTENDERS])
{
	double *times = bench_host_alloc(N_CONTENDERS * (size_t)bench_repeat * sizeof(double));

	for (int round = 0; round < bench_repeat; round++) {
		for (int i = 0; i < N_CONTENDERS; i++) {
			const int contender = (round + i) % N_CONTENDERS;

			if (job->takes_part[contender])
				times[contender * bench_repeat + round] = run(job, contender);
		}
	}
	for (int i = 0; i < N_CONTENDERS; i++)
		medians[i] = job->takes_part[i] ? bench_median(times + i * bench_repeat, (size_t)bench_repeat) : 0;
	free(times);
}

/* The faster one of two. At least one of them takes part. */
static int faster(const double medians[N_CONTENDERS], int gcc, int clang)
{
	return !medians[gcc] || (medians[clang] && medians[clang] < medians[gcc]) ? clang : gcc;
}

static void emit(const struct kernel *kernel, const double medians[N_CONTENDERS], int ours, int floor,
		 const char *target, double *ratios, size_t *n)
{
	struct bench_row row = { "us", "", medians[ours], medians[floor], target, "" };

	if (!medians[floor])
		return;
	snprintf(row.name, sizeof(row.name), "%s / %s", kernel->name, floor == POCL ? "PoCL" : "dialect");
	snprintf(row.note, sizeof(row.note), "%s%s", ours == CUDA_GCC ? "gcc" : "clang",
		 floor == POCL ? "" : floor == DIALECT_GCC ? "; dialect: gcc" : "; dialect: clang");
	bench_emit(&row);
	ratios[(*n)++] = row.ours / row.floor;
}

static void bench_kernel(const struct kernel *kernel, bool pocl, double ratios[2][N_KERNELS], size_t n[2])
{
	struct job job = { .kernel = kernel };
	void *want[ARGS_MAX] = { NULL };
	double medians[N_CONTENDERS];
	int ours;

	for (unsigned i = 0; i < ARGS_MAX; i++) {
		if (is_array(&kernel->args[i]))
			job.arrays[i] = bench_shared_alloc(bytes_of(&kernel->args[i]), 0);
	}
	for (int i = 0; i < N_CONTENDERS; i++) {
		job.takes_part[i] = i == POCL ? pocl : loaded[i] != NULL;
		if (!job.takes_part[i])
			continue;
		if (i == POCL)
			set_up_pocl(kernel);
		else if (!(job.functions[i] = adsmKernelGet(loaded[i], kernel->name)))
			bench_check(-1);
		first_run(&job, i, want);
	}
	measure(&job, medians);
	ours = faster(medians, CUDA_GCC, CUDA_CLANG);
	emit(kernel, medians, ours, POCL, "<= 2", ratios[0], &n[0]);
	emit(kernel, medians, ours, faster(medians, DIALECT_GCC, DIALECT_CLANG), "", ratios[1], &n[1]);
	if (pocl)
		clean_up_pocl(kernel);
	for (unsigned i = 0; i < ARGS_MAX; i++) {
		free(want[i]);
		if (job.arrays[i])
			bench_check(adsmFree(job.arrays[i]));
	}
}

void bench_cuda_c(void)
{
	double ratios[2][N_KERNELS];
	size_t n[2] = { 0, 0 };
	bool pocl;

	for (int i = 0; i < POCL; i++)
		loaded[i] = adsmModuleLoad(bench_beside(modules[i]));
	if (!loaded[CUDA_GCC] && !loaded[CUDA_CLANG])
		bench_die("%s", adsmLastError());
	pocl = start_pocl();
	for (size_t i = 0; i < (bench_smoke ? 2 : N_KERNELS); i++)
		bench_kernel(&kernels[i], pocl, ratios, n);
	for (int i = 0; i < 2; i++) {
		struct bench_row row = { "ratio", "", 0, 1, i ? "<= 1.1" : "<= 1", "" };

		if (!n[i])
			continue;
		snprintf(row.name, sizeof(row.name), "median / %s", i ? "dialect" : "PoCL");
		row.ours = bench_median(ratios[i], n[i]);
		bench_emit(&row);
	}
}

/* The device and PoCL start in processes and threads that inherit this. */
void bench_cuda_c_1(void)
{
	cpu_set_t cpus, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		bench_die("sched_getaffinity() failed");
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++) {
		if (CPU_ISSET(i, &cpus))
			CPU_SET(i, &one);
	}
	if (sched_setaffinity(0, sizeof(one), &one))
		bench_die("sched_setaffinity() failed");
	setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
	bench_cuda_c();
}
