/* SPDX-License-Identifier: MIT */
/* opencl.c - what the variants in plain OpenCL ask for: memory, transfers and kernels of one device and one queue. */
#include "opencl.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"

#define MAX_KERNELS 8
#define MAX_MEMORIES 16
#define MAX_PLATFORMS 16
#define MAX_DEVICES 64
#define NAME_SIZE 128

struct memory {
	void *handle;			/* a cl_mem, or an SVM pointer */
	size_t size;
	bool svm, used;
};

struct pb_opencl {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernels[MAX_KERNELS];
	cl_uint n_kernels;
	struct memory memories[MAX_MEMORIES];	/* used or kept */
	size_t n_memories;
};

static void check(cl_int error, const char *function)
{
	if (error)
		pb_die("%s: OpenCL error %d", function, error);
}

/* ---- choosing a device, as the library does: GPUs first, and of those ADSM_OPENCL_DEVICE=platform:device */

/* Is @part empty, @index, or, where it is no number, a part of @name? */
static bool matches(const char *part, cl_uint index, const char *name)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", index);
	return !*part || strcmp(part, number) == 0 ||
	       (part[strspn(part, "0123456789")] && strcasestr(name, part));
}

static bool chosen(cl_uint platform, const char *platform_name, cl_uint device, const char *device_name)
{
	const char *wanted = getenv("ADSM_OPENCL_DEVICE");
	char part[NAME_SIZE];
	char *colon;

	if (!wanted || strcmp(wanted, "all") == 0)
		return true;
	snprintf(part, sizeof(part), "%s", wanted);
	colon = strchr(part, ':');
	if (colon)
		*colon = '\0';
	return matches(part, platform, platform_name) && (!colon || matches(colon + 1, device, device_name));
}

/* 2: a GPU; 1: another accelerator; 0: else. */
static int rank(cl_device_id device)
{
	cl_device_type type = 0;

	clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	return type & CL_DEVICE_TYPE_GPU ? 2 : type & CL_DEVICE_TYPE_ACCELERATOR ? 1 : 0;
}

static void device_name(cl_device_id device, char name[NAME_SIZE])
{
	if (clGetDeviceInfo(device, CL_DEVICE_NAME, NAME_SIZE, name, NULL))
		strcpy(name, "a device without a name");
}

static cl_device_id find_device(void)
{
	cl_platform_id platforms[MAX_PLATFORMS];
	cl_device_id devices[MAX_DEVICES], best = NULL;
	cl_uint n_platforms = 0, n_devices;
	char platform_name[NAME_SIZE], name[NAME_SIZE], names[1024] = "";

	if (clGetPlatformIDs(MAX_PLATFORMS, platforms, &n_platforms) || !n_platforms)
		pb_die("no OpenCL platform: no driver is installed (Debian's pocl-opencl-icd is a driver for the CPU)");
	for (cl_uint p = 0; p < n_platforms && p < MAX_PLATFORMS; p++) {
		if (clGetPlatformInfo(platforms[p], CL_PLATFORM_NAME, sizeof(platform_name), platform_name, NULL) ||
		    clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &n_devices))
			continue;
		for (cl_uint d = 0; d < n_devices && d < MAX_DEVICES; d++) {
			size_t length = strlen(names);

			device_name(devices[d], name);
			snprintf(names + length, sizeof(names) - length, "%s%u:%u %s: %s", length ? "; " : "", p, d,
				 platform_name, name);
			if (chosen(p, platform_name, d, name) && (!best || rank(devices[d]) > rank(best)))
				best = devices[d];
		}
	}
	if (!*names)
		pb_die("no OpenCL device: none of the %u platforms has a device", n_platforms);
	if (!best)
		pb_die("ADSM_OPENCL_DEVICE=%s: no device matches; the devices are %s", getenv("ADSM_OPENCL_DEVICE"),
		       names);
	return best;
}

static void check_svm(cl_device_id device, const char *name)
{
	cl_device_svm_capabilities svm = 0;

	if (clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm, NULL) ||
	    !(svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER))
		pb_die("%s has no shared virtual memory (coarse-grain SVM buffers), so it cannot run the variant svm: "
		       "use the variant opencl, or choose another device by ADSM_OPENCL_DEVICE", name);
}

/* ---- opening and closing */

static char *read_text(const char *path)
{
	FILE *file = pb_open(path, "r");
	size_t size = pb_file_size(file, path);
	char *text = pb_host_alloc(size + 1);

	if (fread(text, 1, size, file) != size)
		pb_die("%s: cannot be read", path);
	text[size] = '\0';
	fclose(file);
	return text;
}

/* The same text that the library gives to the device. */
static void build(struct pb_opencl *cl, const char *bench)
{
	char path[PATH_MAX], name[32], log[4096] = "";
	const char *text;
	cl_int error;

	snprintf(name, sizeof(name), "%s.cl", bench);
	pb_files_beside(path, sizeof(path), name);
	text = read_text(path);
	cl->program = clCreateProgramWithSource(cl->context, 1, &text, NULL, &error);
	check(error, "clCreateProgramWithSource");
	free((void *)text);
	error = clBuildProgram(cl->program, 1, &cl->device, "", NULL, NULL);
	if (error)
		clGetProgramBuildInfo(cl->program, cl->device, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log, NULL);
	if (error)
		pb_die("%s: clBuildProgram: OpenCL error %d: %s", path, error, log);
	check(clCreateKernelsInProgram(cl->program, MAX_KERNELS, cl->kernels, &cl->n_kernels),
	      "clCreateKernelsInProgram");
}

void pb_opencl_open(struct pb_run *run, enum pb_variant variant, char *ret_device, size_t size)
{
	struct pb_opencl *cl = pb_host_alloc(sizeof(*cl));
	char name[NAME_SIZE];
	cl_int error;

	*cl = (struct pb_opencl){ .device = find_device() };
	device_name(cl->device, name);
	snprintf(ret_device, size, "%.*s", (int)size - 1, name);
	if (variant == PB_SVM)
		check_svm(cl->device, name);
	cl->context = clCreateContext(NULL, 1, &cl->device, NULL, NULL, &error);
	check(error, "clCreateContext");
	cl->queue = clCreateCommandQueue(cl->context, cl->device, 0, &error);
	check(error, "clCreateCommandQueue");
	build(cl, run->bench->name);
	run->opencl = cl;
}

void pb_opencl_close(struct pb_run *run)
{
	struct pb_opencl *cl = run->opencl;

	check(clFinish(cl->queue), "clFinish");
	for (size_t i = 0; i < cl->n_memories; i++) {
		if (cl->memories[i].svm)
			clSVMFree(cl->context, cl->memories[i].handle);
		else
			clReleaseMemObject(cl->memories[i].handle);
	}
	for (cl_uint i = 0; i < cl->n_kernels; i++)
		clReleaseKernel(cl->kernels[i]);
	clReleaseProgram(cl->program);
	clReleaseCommandQueue(cl->queue);
	clReleaseContext(cl->context);
	free(cl);
	run->opencl = NULL;
}

/* ---- memory */

/* Memory of this size that was freed; else room for new memory. */
static struct memory *take(struct pb_opencl *cl, size_t size)
{
	struct memory *memory;

	for (size_t i = 0; i < cl->n_memories; i++) {
		memory = &cl->memories[i];
		if (!memory->used && memory->size == size) {
			memory->used = true;
			return memory;
		}
	}
	if (cl->n_memories == MAX_MEMORIES)
		pb_die("more than %d pieces of device memory", MAX_MEMORIES);
	memory = &cl->memories[cl->n_memories++];
	*memory = (struct memory){ .size = size, .used = true };
	return memory;
}

cl_mem pb_cl_alloc(struct pb_run *run, size_t size)
{
	struct memory *memory = take(run->opencl, size);
	cl_int error = 0;

	if (!memory->handle)
		memory->handle = clCreateBuffer(run->opencl->context, CL_MEM_READ_WRITE, size, NULL, &error);
	check(error, "clCreateBuffer");
	return memory->handle;
}

void *pb_svm_alloc(struct pb_run *run, size_t size)
{
	struct memory *memory = take(run->opencl, size);

	memory->svm = true;
	if (!memory->handle)
		memory->handle = clSVMAlloc(run->opencl->context, CL_MEM_READ_WRITE, size, 0);
	if (!memory->handle)
		pb_die("clSVMAlloc: not enough shared virtual memory for %zu bytes", size);
	return memory->handle;
}

void pb_cl_free(struct pb_run *run, void *memory)
{
	struct pb_opencl *cl = run->opencl;
	const cl_uchar spoilt = PB_SPOILT;
	struct memory *m = cl->memories;

	while (m->handle != memory)
		m++;
	if (m->svm)
		check(clEnqueueSVMMemFill(cl->queue, m->handle, &spoilt, 1, m->size, 0, NULL, NULL),
		      "clEnqueueSVMMemFill");
	else
		check(clEnqueueFillBuffer(cl->queue, m->handle, &spoilt, 1, 0, m->size, 0, NULL, NULL),
		      "clEnqueueFillBuffer");
	check(clFinish(cl->queue), "clFinish");
	m->used = false;
}

/* ---- transfers */

void pb_cl_write(struct pb_run *run, cl_mem dst, size_t offset, const void *src, size_t size)
{
	check(clEnqueueWriteBuffer(run->opencl->queue, dst, CL_FALSE, offset, size, src, 0, NULL, NULL),
	      "clEnqueueWriteBuffer");
	run->result.stats.h2d_bytes += size;
	run->result.stats.h2d_transfers++;
}

void pb_cl_zero(struct pb_run *run, cl_mem dst, size_t size)
{
	const cl_uint zero = 0;

	check(clEnqueueFillBuffer(run->opencl->queue, dst, &zero, sizeof(zero), 0, size, 0, NULL, NULL),
	      "clEnqueueFillBuffer");
}

void pb_cl_read(struct pb_run *run, void *dst, cl_mem src, size_t offset, size_t size)
{
	check(clEnqueueReadBuffer(run->opencl->queue, src, CL_TRUE, offset, size, dst, 0, NULL, NULL),
	      "clEnqueueReadBuffer");
	run->result.stats.d2h_bytes += size;
	run->result.stats.d2h_transfers++;
}

void pb_cl_flush(struct pb_run *run)
{
	check(clFlush(run->opencl->queue), "clFlush");
}

void pb_svm_map(struct pb_run *run, void *p, size_t size, cl_map_flags flags)
{
	check(clEnqueueSVMMap(run->opencl->queue, CL_TRUE, flags, p, size, 0, NULL, NULL), "clEnqueueSVMMap");
}

void pb_svm_unmap(struct pb_run *run, void *p)
{
	check(clEnqueueSVMUnmap(run->opencl->queue, p, 0, NULL, NULL), "clEnqueueSVMUnmap");
}

void pb_svm_zero(struct pb_run *run, void *p, size_t size)
{
	const cl_uint zero = 0;

	check(clEnqueueSVMMemFill(run->opencl->queue, p, &zero, sizeof(zero), size, 0, NULL, NULL),
	      "clEnqueueSVMMemFill");
}

/* ---- kernels */

cl_kernel pb_cl_kernel(struct pb_run *run, const char *name)
{
	const struct pb_opencl *cl = run->opencl;
	char found[NAME_SIZE];

	for (cl_uint i = 0; i < cl->n_kernels; i++) {
		check(clGetKernelInfo(cl->kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof(found), found, NULL),
		      "clGetKernelInfo");
		if (strcmp(found, name) == 0)
			return cl->kernels[i];
	}
	pb_die("there is no kernel \"%s\"", name);
}

void pb_cl_launch(struct pb_run *run, cl_kernel kernel, adsmDim grid, adsmDim block, const struct pb_cl_arg *args,
		  size_t n_args)
{
	const size_t local[] = { block.x, block.y ? block.y : 1, block.z ? block.z : 1 };
	const size_t global[] = { grid.x * local[0], (grid.y ? grid.y : 1) * local[1],
				  (grid.z ? grid.z : 1) * local[2] };
	const cl_ulong offset = 0;
	cl_uint index = 0;

	for (size_t i = 0; i < n_args; i++) {
		if (args[i].svm)
			check(clSetKernelArgSVMPointer(kernel, index++, args[i].value), "clSetKernelArgSVMPointer");
		else
			check(clSetKernelArg(kernel, index++, args[i].size, args[i].value), "clSetKernelArg");
		if (args[i].pointer)
			check(clSetKernelArg(kernel, index++, sizeof(offset), &offset), "clSetKernelArg");
	}
	check(clEnqueueNDRangeKernel(run->opencl->queue, kernel, 3, NULL, global, local, 0, NULL, NULL),
	      "clEnqueueNDRangeKernel");
	run->result.stats.calls++;
}
