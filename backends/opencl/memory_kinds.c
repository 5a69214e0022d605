/* SPDX-License-Identifier: MIT */
/*
 * memory_kinds.c - the kinds of memory for objects, each a table of functions:
 *
 *	buffer		a cl_mem; works everywhere; has no address in kernels
 *	usm		device memory of cl_intel_unified_shared_memory: pointers
 *	address		a cl_mem with an address, by cl_ext_buffer_device_address
 *	svm		coarse-grain shared virtual memory: pointers
 *	unified		a cl_mem of the CPU's own pages, if the device shares the CPU's memory: nothing is copied
 */
#include "memory_kinds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "options.h"
#include "queue.h"

/* Constants of extensions that may be newer than the headers. */
#define MEM_DEVICE_PRIVATE_ADDRESS_EXT 0x5000
#define MEM_DEVICE_ADDRESS_EXT 0x5001
#define KERNEL_EXEC_INFO_DEVICE_PTRS_EXT 0x5002

#define MEASURED ((size_t)64 << 10)	/* bytes: as much as a fault copies */
#define ROUNDS 5

/* Is @name in the driver's list of extensions? */
static bool has_extension(cl_device_id device, const char *name)
{
	size_t size = 0, length = strlen(name);
	bool has = false;
	char *list;

	if (adsm_cl.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, NULL, &size) || !size)
		return false;
	list = calloc(1, size + 1);
	if (list && !adsm_cl.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, size, list, NULL))
		for (const char *at = list; !has && (at = strstr(at, name)); at += length)
			has = (at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]);
	free(list);
	return has;
}

/* ---- buffers: shared by kinds that differ only in how they make buffers */

/* Copy through a mapping: with some drivers this is faster, with others slower. @read: to @host, else from it. */
static cl_int copy_mapped(struct adsm_cl_queue *queue, cl_mem buffer, size_t offset, void *host, size_t size, bool read)
{
	const cl_map_flags flags = read ? CL_MAP_READ : CL_MAP_WRITE_INVALIDATE_REGION;
	cl_event event = NULL;
	cl_int error;
	void *p = adsm_cl.clEnqueueMapBuffer(queue->cl, buffer, CL_TRUE, flags, offset, size, 0, NULL, NULL, &error);

	if (error)
		return error;
	memcpy(read ? host : p, read ? p : host, size);
	error = adsm_cl.clEnqueueUnmapMemObject(queue->cl, buffer, p, 0, NULL, &event);
	return adsm_cl_settle(queue, error, event);
}

static cl_int buffer_write(struct adsm_cl_queue *queue, struct adsm_cl_memory *dst, size_t offset, const void *src,
			   size_t size, bool wait, cl_event *ret_event)
{
	if (wait && queue->device->write_mapped)
		return copy_mapped(queue, dst->buffer, offset, (void *)(uintptr_t)src, size, false);
	return adsm_cl.clEnqueueWriteBuffer(queue->cl, dst->buffer, wait, offset, size, src, 0, NULL, ret_event);
}

static cl_int buffer_read(struct adsm_cl_queue *queue, void *dst, struct adsm_cl_memory *src, size_t offset,
			  size_t size, bool wait, cl_event *ret_event)
{
	if (wait && queue->device->read_mapped)
		return copy_mapped(queue, src->buffer, offset, dst, size, true);
	return adsm_cl.clEnqueueReadBuffer(queue->cl, src->buffer, wait, offset, size, dst, 0, NULL, ret_event);
}

static cl_int buffer_copy(struct adsm_cl_queue *queue, struct adsm_cl_memory *dst, size_t dst_offset,
			  struct adsm_cl_memory *src, size_t src_offset, size_t size, cl_event *ret_event)
{
	return adsm_cl.clEnqueueCopyBuffer(queue->cl, src->buffer, dst->buffer, src_offset, dst_offset, size, 0, NULL,
					   ret_event);
}

static cl_int buffer_fill(struct adsm_cl_queue *queue, struct adsm_cl_memory *dst, size_t offset, uint8_t value,
			  size_t size, cl_event *ret_event)
{
	return adsm_cl.clEnqueueFillBuffer(queue->cl, dst->buffer, &value, sizeof(value), offset, size, 0, NULL,
					   ret_event);
}

static cl_int buffer_set_arg(struct adsm_cl_device *device, cl_kernel kernel, cl_uint index,
			     struct adsm_cl_memory *memory)
{
	return adsm_cl.clSetKernelArg(kernel, index, sizeof(memory->buffer), &memory->buffer);
}

static void buffer_free(struct adsm_cl_device *device, struct adsm_cl_memory *memory)
{
	adsm_cl.clReleaseMemObject(memory->buffer);
}

static int buffer_alloc(struct adsm_cl_device *device, struct adsm_cl_memory *memory)
{
	cl_int error;

	memory->buffer = adsm_cl.clCreateBuffer(device->context, CL_MEM_READ_WRITE, memory->base.size, NULL, &error);
	return adsm_cl_error(device, error, "clCreateBuffer");
}

#define BUFFER_OPERATIONS \
	.free = buffer_free, \
	.write = buffer_write, \
	.read = buffer_read, \
	.copy = buffer_copy, \
	.fill = buffer_fill, \
	.set_arg = buffer_set_arg

static const struct adsm_cl_memory_kind buffer_kind = {
	.name = "buffer",
	.alloc = buffer_alloc,
	BUFFER_OPERATIONS,
};

/* ---- for kinds that must list all memory that a kernel may reach by addresses in data */

/* Drivers reject an empty list, and a kernel that gets no list keeps its old one. So an empty list has this memory. */
static struct adsm_cl_memory *need_nothing(struct adsm_cl_device *device)
{
	struct adsm_cl_memory *memory = device->nothing ? device->nothing : calloc(1, sizeof(*memory));

	if (memory && !device->nothing) {
		memory->base.size = ADSM_PAGE_SIZE;
		if (device->memory_kind->alloc(device, memory)) {
			free(memory);
			memory = NULL;
		}
	}
	device->nothing = memory;
	return memory;
}

/* launch_lock is held: no memory is freed until the kernel is enqueued. */
static cl_int tell_reachable(struct adsm_cl_device *device, cl_kernel kernel, cl_kernel_exec_info what)
{
	const struct adsm_cl_memory *memory;
	cl_ulong *addresses;
	struct adsm_sigset old;
	size_t n = 1;
	cl_int error;

	adsm_os_signals_block(&old);
	adsm_lock(&device->memories_lock);
	for (memory = device->memories; memory; memory = memory->next)
		n++;
	addresses = malloc(n * sizeof(*addresses));
	n = 0;
	for (memory = device->memories; memory && addresses; memory = memory->next)
		addresses[n++] = memory->base.address;
	adsm_unlock(&device->memories_lock);
	adsm_os_signals_restore(&old);
	memory = addresses && !n ? need_nothing(device) : NULL;
	if (memory)
		addresses[n++] = memory->base.address;
	error = n ? adsm_cl.clSetKernelExecInfo(kernel, what, n * sizeof(*addresses), addresses) :
		CL_OUT_OF_HOST_MEMORY;
	free(addresses);
	return error;
}

/* ---- address: buffers with a device address */

static int address_alloc(struct adsm_cl_device *device, struct adsm_cl_memory *memory)
{
	const cl_mem_properties properties[] = { MEM_DEVICE_PRIVATE_ADDRESS_EXT, CL_TRUE, 0 };
	cl_ulong address = 0;
	cl_int error;

	memory->buffer = adsm_cl.clCreateBufferWithProperties(device->context, properties, CL_MEM_READ_WRITE,
							      memory->base.size, NULL, &error);
	if (!error) {
		error = adsm_cl.clGetMemObjectInfo(memory->buffer, MEM_DEVICE_ADDRESS_EXT, sizeof(address), &address,
						   NULL);
		if (error)
			adsm_cl.clReleaseMemObject(memory->buffer);
	}
	memory->base.address = address;
	return adsm_cl_error(device, error, "clCreateBufferWithProperties with a device address");
}

static int address_init(struct adsm_cl_device *device)
{
	struct adsm_cl_memory trial = { .base.size = ADSM_PAGE_SIZE };

	if (!has_extension(device->id, "cl_ext_buffer_device_address") ||
	    !adsm_cl.clCreateBufferWithProperties || !adsm_cl.clSetKernelExecInfo)
		return 1;
	*(void **)&device->address_set_arg = adsm_cl.clGetExtensionFunctionAddressForPlatform(
		device->platform, "clSetKernelArgDevicePointerEXT");
	/* Earlier versions of the extension have other constants, and a context with several devices has several
	 * addresses: try it. */
	if (!device->address_set_arg || address_alloc(device, &trial))
		return 1;
	buffer_free(device, &trial);
	return 0;
}

static cl_int address_set_place(struct adsm_cl_device *device, cl_kernel kernel, cl_uint index,
				struct adsm_cl_memory *memory, size_t offset)
{
	return device->address_set_arg(kernel, index, memory->base.address + offset);
}

static cl_int address_set_reachable(struct adsm_cl_device *device, cl_kernel kernel)
{
	return tell_reachable(device, kernel, KERNEL_EXEC_INFO_DEVICE_PTRS_EXT);
}

static const struct adsm_cl_memory_kind address_kind = {
	.name = "address",
	.init = address_init,
	.alloc = address_alloc,
	BUFFER_OPERATIONS,
	.set_place = address_set_place,
	.set_reachable = address_set_reachable,
};

/* ---- pointers: to the device's own memory, or to shared virtual memory that the CPU never uses */

static cl_int pointer_write(struct adsm_cl_queue *queue, struct adsm_cl_memory *dst, size_t offset, const void *src,
			    size_t size, bool wait, cl_event *ret_event)
{
	return queue->device->pointer_memcpy(queue->cl, wait, (char *)dst->pointer + offset, src, size, 0, NULL,
					     ret_event);
}

static cl_int pointer_read(struct adsm_cl_queue *queue, void *dst, struct adsm_cl_memory *src, size_t offset,
			   size_t size, bool wait, cl_event *ret_event)
{
	return queue->device->pointer_memcpy(queue->cl, wait, dst, (char *)src->pointer + offset, size, 0, NULL,
					     ret_event);
}

static cl_int pointer_copy(struct adsm_cl_queue *queue, struct adsm_cl_memory *dst, size_t dst_offset,
			   struct adsm_cl_memory *src, size_t src_offset, size_t size, cl_event *ret_event)
{
	return queue->device->pointer_memcpy(queue->cl, CL_FALSE, (char *)dst->pointer + dst_offset,
					     (char *)src->pointer + src_offset, size, 0, NULL, ret_event);
}

static cl_int pointer_fill(struct adsm_cl_queue *queue, struct adsm_cl_memory *dst, size_t offset, uint8_t value,
			   size_t size, cl_event *ret_event)
{
	return queue->device->pointer_fill(queue->cl, (char *)dst->pointer + offset, &value, sizeof(value), size, 0,
					   NULL, ret_event);
}

static cl_int pointer_set_place(struct adsm_cl_device *device, cl_kernel kernel, cl_uint index,
				struct adsm_cl_memory *memory, size_t offset)
{
	return device->pointer_set_arg(kernel, index, (char *)memory->pointer + offset);
}

static cl_int pointer_set_arg(struct adsm_cl_device *device, cl_kernel kernel, cl_uint index,
			      struct adsm_cl_memory *memory)
{
	return pointer_set_place(device, kernel, index, memory, 0);
}

#define POINTER_OPERATIONS \
	.write = pointer_write, \
	.read = pointer_read, \
	.copy = pointer_copy, \
	.fill = pointer_fill, \
	.set_arg = pointer_set_arg, \
	.set_place = pointer_set_place

/* ---- usm */

static int usm_init(struct adsm_cl_device *device)
{
	struct { const char *name; void **function; } functions[] = {
		{ "clDeviceMemAllocINTEL", (void **)&device->usm_alloc },
		{ "clMemFreeINTEL", (void **)&device->usm_free },
		{ "clEnqueueMemcpyINTEL", (void **)&device->pointer_memcpy },
		{ "clEnqueueMemFillINTEL", (void **)&device->pointer_fill },
		{ "clSetKernelArgMemPointerINTEL", (void **)&device->pointer_set_arg },
	};

	if (!has_extension(device->id, "cl_intel_unified_shared_memory") || !adsm_cl.clSetKernelExecInfo)
		return 1;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		*functions[i].function = adsm_cl.clGetExtensionFunctionAddressForPlatform(device->platform,
											    functions[i].name);
		if (!*functions[i].function)
			return 1;
	}
	return 0;
}

static int usm_alloc(struct adsm_cl_device *device, struct adsm_cl_memory *memory)
{
	cl_int error;

	memory->pointer = device->usm_alloc(device->context, device->id, NULL, memory->base.size, 0, &error);
	memory->base.address = (uintptr_t)memory->pointer;
	return adsm_cl_error(device, error, "clDeviceMemAllocINTEL");
}

static void usm_free(struct adsm_cl_device *device, struct adsm_cl_memory *memory)
{
	device->usm_free(device->context, memory->pointer);
}

static cl_int usm_set_reachable(struct adsm_cl_device *device, cl_kernel kernel)
{
	const cl_bool yes = CL_TRUE;

	return adsm_cl.clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL, sizeof(yes), &yes);
}

static const struct adsm_cl_memory_kind usm_kind = {
	.name = "usm",
	.init = usm_init,
	.alloc = usm_alloc,
	.free = usm_free,
	POINTER_OPERATIONS,
	.set_reachable = usm_set_reachable,
};

/* ---- svm */

static int svm_init(struct adsm_cl_device *device)
{
	cl_device_svm_capabilities caps = 0;

	if (device->version < 20 || !adsm_cl.clSVMAlloc || !adsm_cl.clSVMFree || !adsm_cl.clEnqueueSVMMemcpy ||
	    !adsm_cl.clEnqueueSVMMemFill || !adsm_cl.clSetKernelArgSVMPointer || !adsm_cl.clSetKernelExecInfo)
		return 1;
	adsm_cl.clGetDeviceInfo(device->id, CL_DEVICE_SVM_CAPABILITIES, sizeof(caps), &caps, NULL);
	device->pointer_memcpy = adsm_cl.clEnqueueSVMMemcpy;
	device->pointer_fill = adsm_cl.clEnqueueSVMMemFill;
	device->pointer_set_arg = adsm_cl.clSetKernelArgSVMPointer;
	return caps & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER ? 0 : 1;
}

static int svm_alloc(struct adsm_cl_device *device, struct adsm_cl_memory *memory)
{
	memory->pointer = adsm_cl.clSVMAlloc(device->context, CL_MEM_READ_WRITE, memory->base.size, 0);
	memory->base.address = (uintptr_t)memory->pointer;
	return memory->pointer ? 0 : adsm_cl_error(device, CL_MEM_OBJECT_ALLOCATION_FAILURE, "clSVMAlloc");
}

static void svm_free(struct adsm_cl_device *device, struct adsm_cl_memory *memory)
{
	adsm_cl.clSVMFree(device->context, memory->pointer);
}

static cl_int svm_set_reachable(struct adsm_cl_device *device, cl_kernel kernel)
{
	return tell_reachable(device, kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS);
}

static const struct adsm_cl_memory_kind svm_kind = {
	.name = "svm",
	.init = svm_init,
	.alloc = svm_alloc,
	.free = svm_free,
	POINTER_OPERATIONS,
	.set_reachable = svm_set_reachable,
};

/* ---- unified: the CPU's own pages, mapped whenever no kernel uses them (launch.c) */

static int unified_init(struct adsm_cl_device *device)
{
	cl_bool shared = CL_FALSE;

	adsm_cl.clGetDeviceInfo(device->id, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(shared), &shared, NULL);
	device->base.base.caps.unified = shared;
	return shared ? 0 : 1;
}

static int unified_alloc(struct adsm_cl_device *device, struct adsm_cl_memory *memory)
{
	cl_int error;
	void *p;

	memory->buffer = adsm_cl.clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
						memory->base.size, memory->pointer, &error);
	if (error)
		return adsm_cl_error(device, error, "clCreateBuffer over host memory");
	p = adsm_cl.clEnqueueMapBuffer(device->queues[ADSM_QUEUE_TO_HOST].cl, memory->buffer, CL_TRUE,
				       CL_MAP_READ | CL_MAP_WRITE, 0, memory->base.size, 0, NULL, NULL, &error);
	memory->mapped = !error && p == memory->pointer;
	if (memory->mapped)
		return 0;
	adsm_cl.clReleaseMemObject(memory->buffer);
	return error ? adsm_cl_error(device, error, "mapping host memory") :
		adsm_fail(-EIO, "%s does not use host memory in place", device->base.base.name);
}

static cl_int marker(struct adsm_cl_queue *queue, cl_event *ret_event)
{
	return ret_event ? adsm_cl.clEnqueueMarkerWithWaitList(queue->cl, 0, NULL, ret_event) : CL_SUCCESS;
}

static cl_int unified_write(struct adsm_cl_queue *queue, struct adsm_cl_memory *dst, size_t offset, const void *src,
			    size_t size, bool wait, cl_event *ret_event)
{
	memmove((char *)dst->pointer + offset, src, size);
	return marker(queue, ret_event);
}

static cl_int unified_read(struct adsm_cl_queue *queue, void *dst, struct adsm_cl_memory *src, size_t offset,
			   size_t size, bool wait, cl_event *ret_event)
{
	memmove(dst, (char *)src->pointer + offset, size);
	return marker(queue, ret_event);
}

static cl_int unified_copy(struct adsm_cl_queue *queue, struct adsm_cl_memory *dst, size_t dst_offset,
			   struct adsm_cl_memory *src, size_t src_offset, size_t size, cl_event *ret_event)
{
	memmove((char *)dst->pointer + dst_offset, (char *)src->pointer + src_offset, size);
	return marker(queue, ret_event);
}

static cl_int unified_fill(struct adsm_cl_queue *queue, struct adsm_cl_memory *dst, size_t offset, uint8_t value,
			   size_t size, cl_event *ret_event)
{
	memset((char *)dst->pointer + offset, value, size);
	return marker(queue, ret_event);
}

static const struct adsm_cl_memory_kind unified_kind = {
	.name = "unified",
	.init = unified_init,
	.alloc = unified_alloc,
	.free = buffer_free,
	.write = unified_write,
	.read = unified_read,
	.copy = unified_copy,
	.fill = unified_fill,
	.set_arg = buffer_set_arg,
};

/* ---- the choice */

/* In the order of the words of ADSM_OPENCL_MEMORY. "auto" takes the first of automatic[] that the device supports, else
 * buffers. */
static const struct adsm_cl_memory_kind *const kinds[] = {
	[ADSM_OPENCL_BUFFER] = &buffer_kind,
	[ADSM_OPENCL_USM] = &usm_kind,
	[ADSM_OPENCL_ADDRESS] = &address_kind,
	[ADSM_OPENCL_SVM] = &svm_kind,
	[ADSM_OPENCL_UNIFIED] = &unified_kind,
};
static const struct adsm_cl_memory_kind *const automatic[] = { &usm_kind, &address_kind };

static void use_kind(struct adsm_cl_device *device, const struct adsm_cl_memory_kind *kind)
{
	device->memory_kind = kind;
	device->base.base.caps.has_address = kind->set_reachable;
	strcpy(device->base.base.caps.memory, kind->name);
	adsm_info("%s: memory is kept as '%s'", device->base.base.name, kind->name);
}

static const struct adsm_cl_memory_kind *best_kind(struct adsm_cl_device *device, bool wants_buffers)
{
	for (size_t i = 0; i < sizeof(automatic) / sizeof(automatic[0]); i++)
		if (!(wants_buffers && automatic[i] == &usm_kind) && !automatic[i]->init(device))
			return automatic[i];
	return &buffer_kind;
}

int adsm_cl_memory_choose(struct adsm_cl_device *device, bool wants_buffers)
{
	const struct adsm_cl_memory_kind *kind = kinds[adsm_opencl_options.memory];

	if (kind && kind->init && kind->init(device))
		return adsm_fail(-ENOTSUP, "ADSM_OPENCL_MEMORY=%s: %s does not support it; each device supports "
				 "'buffer'", kind->name, device->base.base.name);
	use_kind(device, kind ? kind : best_kind(device, wants_buffers));
	return 0;
}

void adsm_cl_memory_with_buffers(struct adsm_cl_device *device)
{
	const struct adsm_cl_memory_kind *kind;
	bool changes;

	if (kinds[adsm_opencl_options.memory] || device->memory_kind != &usm_kind)
		return;
	kind = best_kind(device, true);
	adsm_lock(&device->memories_lock);
	changes = !device->memory_kind_fixed;
	if (changes)
		use_kind(device, kind);
	adsm_unlock(&device->memories_lock);
	if (changes)
		adsm_cl_measure_copies(device);
}

/* The shortest time of a copy; UINT64_MAX if one has failed. */
static uint64_t time_copies(struct adsm_cl_device *device, struct adsm_cl_memory *memory, void *host, bool write)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = adsm_os_now_ns(), ns;
		cl_int error = write ?
			buffer_write(&device->queues[ADSM_QUEUE_TO_DEVICE], memory, 0, host, MEASURED, true, NULL) :
			buffer_read(&device->queues[ADSM_QUEUE_TO_HOST], host, memory, 0, MEASURED, true, NULL);

		ns = adsm_os_now_ns() - start;
		if (error)
			return UINT64_MAX;
		if (ns < best)
			best = ns;
	}
	return best;
}

/* With most drivers both take the same time, and measurements vary. If a direct copy failed, there is nothing to
 * compare with: the failure may not come again. */
static bool is_clearly_faster(uint64_t mapped, uint64_t direct)
{
	return direct != UINT64_MAX && mapped < direct / 4 * 3;
}

void adsm_cl_measure_copies(struct adsm_cl_device *device)
{
	struct adsm_cl_memory memory = { .base.size = MEASURED };
	uint64_t direct[2], mapped[2];
	void *host;

	/* The other kinds have no buffers that could be mapped. */
	if (device->memory_kind != &buffer_kind && device->memory_kind != &address_kind)
		return;
	host = aligned_alloc(ADSM_PAGE_SIZE, MEASURED);
	if (!host || buffer_alloc(device, &memory)) {
		free(host);
		return;
	}
	memset(host, 0, MEASURED);
	for (int write = 0; write < 2; write++) {
		direct[write] = time_copies(device, &memory, host, write);
		device->write_mapped = device->read_mapped = true;
		mapped[write] = time_copies(device, &memory, host, write);
		device->write_mapped = device->read_mapped = false;
	}
	device->read_mapped = is_clearly_faster(mapped[0], direct[0]);
	device->write_mapped = is_clearly_faster(mapped[1], direct[1]);
	adsm_info("%s: 64 KiB take %lu ns to the device, %lu mapped; %lu ns to the host, %lu mapped",
		  device->base.base.name, (unsigned long)direct[1], (unsigned long)mapped[1], (unsigned long)direct[0],
		  (unsigned long)mapped[0]);
	buffer_free(device, &memory);
	free(host);
}
