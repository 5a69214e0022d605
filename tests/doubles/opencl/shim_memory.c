/* SPDX-License-Identifier: MIT */
/* shim_memory.c - buffers, with addresses or without, SVM and USM: as much as the plan's device has. */
#include "shim_own.h"

#include <stdlib.h>
#include <string.h>

struct memory *memories;
static uint64_t memory_used;

/* Whether the plan's device has room for it, which is then taken. */
static bool room_take(size_t size)
{
	bool has;

	pthread_mutex_lock(&lock);
	has = !plan.small || (size <= plan.small && size <= 4 * plan.small - memory_used);
	if (has)
		memory_used += size;
	pthread_mutex_unlock(&lock);
	return has;
}

/* What has become of an allocation for which room was taken. */
static void memory_made(const void *handle, size_t size, cl_ulong address)
{
	struct memory *memory = allocated(sizeof(*memory));

	*memory = (struct memory){ NULL, handle, size, address };
	pthread_mutex_lock(&lock);
	if (handle) {
		memory->next = memories;
		memories = memory;
	} else {
		memory_used -= size;
		free(memory);
	}
	pthread_mutex_unlock(&lock);
}

static void memory_gone(const void *handle)
{
	struct memory **at = &memories, *memory;

	pthread_mutex_lock(&lock);
	while (*at && (*at)->handle != handle)
		at = &(*at)->next;
	memory = *at;
	if (memory) {
		*at = memory->next;
		memory_used -= memory->size;
		free(memory);
	}
	pthread_mutex_unlock(&lock);
}

struct memory *memory_at(cl_ulong address)
{
	struct memory *memory;

	for (memory = memories; memory; memory = memory->next)
		if (memory->address && address >= memory->address && address - memory->address < memory->size)
			break;
	return memory;
}

cl_mem CL_API_CALL clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *ret_error)
{
	cl_int error = enter(F_clCreateBuffer);
	cl_mem buffer;

	if (!error && !room_take(size))
		error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
	if (error)
		return none(error, ret_error);
	buffer = real.clCreateBuffer(context, flags, size, host, ret_error);
	memory_made(buffer, size, 0);
	if (buffer)
		handed_out(BUFFERS);
	return buffer;
}

/* The block under a buffer with an address. */
struct block {
	cl_context context;
	void *svm;
};

static void CL_CALLBACK block_free(cl_mem buffer, void *user)
{
	struct block *block = user;

	real.clSVMFree(block->context, block->svm);
	real.clReleaseContext(block->context);
	free(block);
}

static cl_mem addressed_buffer(cl_context context, cl_mem_flags flags, size_t size, const void *host,
			       cl_int *ret_error)
{
	bool copies = flags & CL_MEM_COPY_HOST_PTR;
	struct block *block;
	cl_mem buffer;
	void *svm;

	if (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR))
		return none(CL_INVALID_VALUE, ret_error);
	svm = real.clSVMAlloc(context, CL_MEM_READ_WRITE, size, 0);
	if (!svm)
		return none(CL_MEM_OBJECT_ALLOCATION_FAILURE, ret_error);
	if (copies)
		memcpy(svm, host, size);
	flags &= ~(cl_mem_flags)CL_MEM_COPY_HOST_PTR;
	buffer = real.clCreateBuffer(context, flags | CL_MEM_USE_HOST_PTR, size, svm, ret_error);
	if (!buffer) {
		real.clSVMFree(context, svm);
		return NULL;
	}
	block = allocated(sizeof(*block));
	*block = (struct block){ context, svm };
	real.clRetainContext(context);
	real_set_destructor(buffer, block_free, block);
	memory_made(buffer, size, (uintptr_t)svm);
	return buffer;
}

static bool wants_address(const cl_mem_properties *properties)
{
	for (; properties && *properties; properties += 2)
		if (*properties == MEM_DEVICE_PRIVATE_ADDRESS)
			return properties[1];
	return false;
}

cl_mem CL_API_CALL clCreateBufferWithProperties(cl_context context, const cl_mem_properties *properties,
						cl_mem_flags flags, size_t size, void *host, cl_int *ret_error)
{
	cl_int error = enter(F_clCreateBufferWithProperties);
	cl_mem buffer;

	if (!error && !room_take(size))
		error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
	if (error)
		return none(error, ret_error);
	if (plan.address && wants_address(properties)) {
		buffer = addressed_buffer(context, flags, size, host, ret_error);
		if (!buffer)
			memory_made(NULL, size, 0);
	} else {
		buffer = real.clCreateBufferWithProperties(context, properties, flags, size, host, ret_error);
		memory_made(buffer, size, 0);
	}
	if (buffer)
		handed_out(BUFFERS);
	return buffer;
}

cl_mem CL_API_CALL clCreateSubBuffer(cl_mem parent, cl_mem_flags flags, cl_buffer_create_type type, const void *info,
				     cl_int *ret_error)
{
	cl_int error = enter(F_clCreateSubBuffer);
	cl_mem buffer;

	if (!error && plan.align && type == CL_BUFFER_CREATE_TYPE_REGION &&
	    ((const cl_buffer_region *)info)->origin % (plan.align / 8))
		error = CL_MISALIGNED_SUB_BUFFER_OFFSET;
	if (error)
		return none(error, ret_error);
	buffer = real.clCreateSubBuffer(parent, flags, type, info, ret_error);
	if (buffer)
		handed_out(BUFFERS);
	return buffer;
}

cl_int CL_API_CALL clReleaseMemObject(cl_mem buffer)
{
	cl_int error = enter(F_clReleaseMemObject);

	if (error)
		return error;
	memory_gone(buffer);
	given_back(BUFFERS);
	return real.clReleaseMemObject(buffer);
}

cl_int CL_API_CALL clGetMemObjectInfo(cl_mem buffer, cl_mem_info info, size_t size, void *ret, size_t *ret_size)
{
	cl_int error = enter(F_clGetMemObjectInfo);
	cl_ulong address = 0;

	if (error)
		return error;
	if (!plan.address || info != MEM_DEVICE_ADDRESS)
		return real.clGetMemObjectInfo(buffer, info, size, ret, ret_size);
	pthread_mutex_lock(&lock);
	for (struct memory *memory = memories; memory; memory = memory->next)
		if (memory->handle == buffer)
			address = memory->address;
	pthread_mutex_unlock(&lock);
	return address ? answer(&address, sizeof(address), size, ret, ret_size) : CL_INVALID_OPERATION;
}

void *CL_API_CALL clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
	void *svm;

	if (enter(F_clSVMAlloc) || plan.no_svm || !room_take(size))
		return NULL;
	svm = real.clSVMAlloc(context, flags, size, alignment);
	memory_made(svm, size, 0);
	return svm;
}

void CL_API_CALL clSVMFree(cl_context context, void *svm)
{
	enter(F_clSVMFree);
	if (svm)
		memory_gone(svm);
	real.clSVMFree(context, svm);
}

/* ---- of cl_intel_unified_shared_memory */

void *CL_API_CALL usm_alloc(cl_context context, cl_device_id device, const cl_ulong *properties, size_t size,
				   cl_uint alignment, cl_int *ret_error)
{
	cl_int error = enter(F_clDeviceMemAllocINTEL);
	void *svm;

	if (!error && !room_take(size))
		error = CL_OUT_OF_RESOURCES;
	if (error)
		return none(error, ret_error);
	svm = real.clSVMAlloc(context, CL_MEM_READ_WRITE, size, alignment);
	memory_made(svm, size, 0);
	if (ret_error)
		*ret_error = svm ? CL_SUCCESS : CL_OUT_OF_RESOURCES;
	return svm;
}

cl_int CL_API_CALL usm_free(cl_context context, void *svm)
{
	cl_int error = enter(F_clMemFreeINTEL);

	if (error)
		return error;
	if (svm)
		memory_gone(svm);
	real.clSVMFree(context, svm);
	return CL_SUCCESS;
}

cl_int CL_API_CALL usm_memcpy(cl_command_queue queue, cl_bool block, void *dst, const void *src, size_t size,
				     WAITS)
{
	cl_int failure, error = command_begin(F_clEnqueueMemcpyINTEL, n_waits, waits, &failure);

	if (!error)
		error = real.clEnqueueSVMMemcpy(queue, block, dst, src, size, n_waits, waits, event);
	return error ? error : command_end(queue, block, failure, CL_SUCCESS, event);
}

cl_int CL_API_CALL usm_fill(cl_command_queue queue, void *dst, const void *pattern, size_t pattern_size,
				   size_t size, WAITS)
{
	cl_int failure, error = command_begin(F_clEnqueueMemFillINTEL, n_waits, waits, &failure);

	if (!error)
		error = real.clEnqueueSVMMemFill(queue, dst, pattern, pattern_size, size, n_waits, waits, event);
	return error ? error : command_end(queue, false, failure, CL_SUCCESS, event);
}

cl_int CL_API_CALL usm_set_arg(cl_kernel kernel, cl_uint index, const void *pointer)
{
	cl_int error = enter(F_clSetKernelArgMemPointerINTEL);

	return error ? error : real.clSetKernelArgSVMPointer(kernel, index, pointer);
}
