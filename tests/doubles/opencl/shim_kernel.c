/* SPDX-License-Identifier: MIT */
/* shim_kernel.c - programs, kernels and their launches, and functions that are found by name. */
#include "shim_own.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- programs */

static cl_program program_made(cl_program program)
{
	if (program)
		handed_out(PROGRAMS);
	return program;
}

cl_program CL_API_CALL clCreateProgramWithSource(cl_context context, cl_uint n, const char **texts,
						 const size_t *sizes, cl_int *ret_error)
{
	cl_int error = enter(F_clCreateProgramWithSource);

	if (error)
		return none(error, ret_error);
	return program_made(real.clCreateProgramWithSource(context, n, texts, sizes, ret_error));
}

/* The driver's handles for a list of devices, NULL for none. */
static cl_device_id *all_below(cl_uint n, const cl_device_id *devices)
{
	cl_device_id *list = n && devices ? allocated(n * sizeof(cl_device_id)) : NULL;

	for (cl_uint i = 0; list && i < n; i++)
		list[i] = below(devices[i]);
	return list;
}

cl_program CL_API_CALL clCreateProgramWithBinary(cl_context context, cl_uint n, const cl_device_id *devices,
						 const size_t *sizes, const unsigned char **binaries, cl_int *states,
						 cl_int *ret_error)
{
	cl_int error = enter(F_clCreateProgramWithBinary);
	cl_device_id *list;
	cl_program program;

	if (error)
		return none(error, ret_error);
	list = all_below(n, devices);
	program = real.clCreateProgramWithBinary(context, n, list, sizes, binaries, states, ret_error);
	free(list);
	return program_made(program);
}

cl_program CL_API_CALL clCreateProgramWithIL(cl_context context, const void *il, size_t size, cl_int *ret_error)
{
	cl_int error = enter(F_clCreateProgramWithIL);

	if (error)
		return none(error, ret_error);
	return program_made(real.clCreateProgramWithIL(context, il, size, ret_error));
}

cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
				  void (CL_CALLBACK *notify)(cl_program, void *), void *user)
{
	cl_int error = enter(F_clBuildProgram);
	cl_device_id *list;

	if (error)
		return error;
	list = all_below(n, devices);
	error = real.clBuildProgram(program, n, list, options, notify, user);
	free(list);
	return error;
}

cl_int CL_API_CALL clRetainProgram(cl_program program)
{
	cl_int error = enter(F_clRetainProgram);

	if (error)
		return error;
	handed_out(PROGRAMS);
	return real.clRetainProgram(program);
}

cl_int CL_API_CALL clReleaseProgram(cl_program program)
{
	cl_int error = enter(F_clReleaseProgram);

	if (error)
		return error;
	given_back(PROGRAMS);
	return real.clReleaseProgram(program);
}

cl_int CL_API_CALL clGetProgramInfo(cl_program program, cl_program_info info, size_t size, void *ret, size_t *ret_size)
{
	cl_int error = enter(F_clGetProgramInfo);
	cl_device_id device = NULL;
	cl_context context;

	if (error)
		return error;
	if (info == CL_PROGRAM_DEVICES &&
	    !real.clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof(context), &context, NULL))
		device = context_device(context);
	if (device)
		return answer(&device, sizeof(device), size, ret, ret_size);
	return real.clGetProgramInfo(program, info, size, ret, ret_size);
}

FORWARD(clGetProgramBuildInfo,
	(cl_program program, cl_device_id device, cl_program_build_info info, size_t size, void *ret, size_t *ret_size),
	(program, below(device), info, size, ret, ret_size))

/* ---- kernels */

/* The memory that a kernel may reach. It is never freed: a driver's new kernel replaces it. */
struct kernel {
	struct kernel *next;
	cl_kernel kernel;
	cl_ulong *told;
	size_t n_told;
};

static struct kernel *kernels;

static void kernel_tell(cl_kernel handle, const void *addresses, size_t size)
{
	struct kernel *kernel;

	pthread_mutex_lock(&lock);
	for (kernel = kernels; kernel && kernel->kernel != handle; kernel = kernel->next)
		;
	if (!kernel) {
		kernel = allocated(sizeof(*kernel));
		*kernel = (struct kernel){ kernels, handle, NULL, 0 };
		kernels = kernel;
	}
	free(kernel->told);
	kernel->told = size ? allocated(size) : NULL;
	kernel->n_told = size / sizeof(cl_ulong);
	if (size)
		memcpy(kernel->told, addresses, size);
	pthread_mutex_unlock(&lock);
}

/* With the lock. */
static bool kernel_knows(const struct kernel *kernel, const struct memory *memory)
{
	for (size_t i = 0; kernel && i < kernel->n_told; i++)
		if (kernel->told[i] >= memory->address && kernel->told[i] - memory->address < memory->size)
			return true;
	return false;
}

static void check_told(cl_kernel handle)
{
	struct kernel *kernel;

	pthread_mutex_lock(&lock);
	for (kernel = kernels; kernel && kernel->kernel != handle; kernel = kernel->next)
		;
	for (struct memory *memory = memories; memory; memory = memory->next)
		if (memory->address && !kernel_knows(kernel, memory))
			die("a kernel was enqueued that was not told of the buffer at %#" PRIx64, memory->address);
	for (size_t i = 0; kernel && i < kernel->n_told; i++)
		if (!memory_at(kernel->told[i]))
			die("a kernel was enqueued that was told of %#" PRIx64 ", where no buffer is", kernel->told[i]);
	pthread_mutex_unlock(&lock);
}

static void kernel_made(cl_kernel kernel)
{
	handed_out(KERNELS);
	if (plan.strict)
		kernel_tell(kernel, NULL, 0);
}

cl_kernel CL_API_CALL clCreateKernel(cl_program program, const char *name, cl_int *ret_error)
{
	cl_int error = enter(F_clCreateKernel);
	cl_kernel kernel;

	if (error)
		return none(error, ret_error);
	kernel = real.clCreateKernel(program, name, ret_error);
	if (kernel)
		kernel_made(kernel);
	return kernel;
}

cl_int CL_API_CALL clCreateKernelsInProgram(cl_program program, cl_uint max, cl_kernel *made, cl_uint *ret_n)
{
	cl_int error = enter(F_clCreateKernelsInProgram);
	cl_uint n = 0;

	if (!error)
		error = real.clCreateKernelsInProgram(program, max, made, &n);
	if (error)
		return error;
	for (cl_uint i = 0; made && i < n && i < max; i++)
		kernel_made(made[i]);
	if (ret_n)
		*ret_n = n;
	return CL_SUCCESS;
}

cl_int CL_API_CALL clRetainKernel(cl_kernel kernel)
{
	cl_int error = enter(F_clRetainKernel);

	if (error)
		return error;
	handed_out(KERNELS);
	return real.clRetainKernel(kernel);
}

cl_int CL_API_CALL clReleaseKernel(cl_kernel kernel)
{
	cl_int error = enter(F_clReleaseKernel);

	if (error)
		return error;
	given_back(KERNELS);
	return real.clReleaseKernel(kernel);
}

FORWARD(clSetKernelArg, (cl_kernel kernel, cl_uint index, size_t size, const void *value),
	(kernel, index, size, value))
FORWARD(clGetKernelInfo, (cl_kernel kernel, cl_kernel_info info, size_t size, void *ret, size_t *ret_size),
	(kernel, info, size, ret, ret_size))
FORWARD(clGetKernelArgInfo,
	(cl_kernel kernel, cl_uint index, cl_kernel_arg_info info, size_t size, void *ret, size_t *ret_size),
	(kernel, index, info, size, ret, ret_size))

cl_int CL_API_CALL clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info info,
					    size_t size, void *ret, size_t *ret_size)
{
	cl_int error = enter(F_clGetKernelWorkGroupInfo);
	size_t group = (size_t)plan.group;

	if (error)
		return error;
	if (group && info == CL_KERNEL_WORK_GROUP_SIZE)
		return answer(&group, sizeof(group), size, ret, ret_size);
	return real.clGetKernelWorkGroupInfo(kernel, below(device), info, size, ret, ret_size);
}

cl_int CL_API_CALL clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint index, const void *pointer)
{
	cl_int error = enter(F_clSetKernelArgSVMPointer);

	if (!error && plan.no_svm)
		error = CL_INVALID_OPERATION;
	return error ? error : real.clSetKernelArgSVMPointer(kernel, index, pointer);
}

cl_int CL_API_CALL clSetKernelExecInfo(cl_kernel kernel, cl_kernel_exec_info info, size_t size, const void *value)
{
	cl_int error = enter(F_clSetKernelExecInfo);

	if (error)
		return error;
	/* Kernels of the drivers here reach SVM blocks without being told. */
	if (plan.usm && info == CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL)
		return size == sizeof(cl_bool) && value ? CL_SUCCESS : CL_INVALID_VALUE;
	if (!plan.address || info != KERNEL_EXEC_INFO_DEVICE_PTRS)
		return real.clSetKernelExecInfo(kernel, info, size, value);
	if (size % sizeof(cl_ulong) || (size && !value))
		return CL_INVALID_VALUE;
	kernel_tell(kernel, value, size);
	return CL_SUCCESS;
}

/* Of cl_ext_buffer_device_address. */
static cl_int CL_API_CALL set_arg_address(cl_kernel kernel, cl_uint index, cl_ulong address)
{
	cl_int error = enter(F_clSetKernelArgDevicePointerEXT);
	bool known;

	if (error)
		return error;
	pthread_mutex_lock(&lock);
	known = !address || memory_at(address);
	pthread_mutex_unlock(&lock);
	if (plan.strict && !known)
		die("clSetKernelArgDevicePointerEXT of %#" PRIx64 ", where no buffer is", address);
	return real.clSetKernelArgSVMPointer(kernel, index, (const void *)(uintptr_t)address);
}

cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint n_dims,
					  const size_t *offset, const size_t *global, const size_t *local, WAITS)
{
	cl_int failure, error = command_begin(F_clEnqueueNDRangeKernel, n_waits, waits, &failure);
	size_t n_items = 1;

	for (cl_uint i = 0; local && i < n_dims; i++)
		n_items *= local[i];
	if (!error && plan.group && n_items > plan.group)
		error = CL_INVALID_WORK_GROUP_SIZE;
	if (error)
		return error;
	if (plan.strict)
		check_told(kernel);
	error = real.clEnqueueNDRangeKernel(queue, kernel, n_dims, offset, global, local, n_waits, waits, event);
	return command_end(queue, false, failure, error, event);
}

void *CL_API_CALL clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name)
{
	static const struct {
		enum function function;
		void *ours;
		const bool *shown;
	} functions[] = {
		{ F_clSetKernelArgDevicePointerEXT, (void *)set_arg_address, &plan.address },
		{ F_clDeviceMemAllocINTEL, (void *)usm_alloc, &plan.usm },
		{ F_clMemFreeINTEL, (void *)usm_free, &plan.usm },
		{ F_clEnqueueMemcpyINTEL, (void *)usm_memcpy, &plan.usm },
		{ F_clEnqueueMemFillINTEL, (void *)usm_fill, &plan.usm },
		{ F_clSetKernelArgMemPointerINTEL, (void *)usm_set_arg, &plan.usm },
	};

	if (enter(F_clGetExtensionFunctionAddressForPlatform))
		return NULL;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(name, names[functions[i].function]))
			return *functions[i].shown ? functions[i].ours : NULL;
	return real.clGetExtensionFunctionAddressForPlatform(platform, name);
}

/* A function that the library looks for and that is missing here does not link. */
#define REFER(name) (void *)name,
__attribute__((used)) static void *const exported[] = {
	ADSM_CL_FUNCTIONS(REFER)
	ADSM_CL_LATER_FUNCTIONS(REFER)
};
