/* SPDX-License-Identifier: MIT */
/* shim_device.c - platforms, devices, contexts and queues: what they say, and more devices than there are. */
#include "shim_own.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEVICES 64			/* of a platform */
#define INFO_AFTER_1_2(info) ((info) >= CL_DEVICE_IMAGE_PITCH_ALIGNMENT && (info) < 0x1080)

/* ---- platforms and devices */

/* A device shown once more. */
struct shown {
	struct shown *next;
	cl_device_id device;
	uint64_t k;
};

static struct shown *all_shown;

static struct shown *shown_find(cl_device_id device)
{
	struct shown *shown;

	pthread_mutex_lock(&lock);
	for (shown = all_shown; shown && (cl_device_id)shown != device; shown = shown->next)
		;
	pthread_mutex_unlock(&lock);
	return shown;
}

static cl_device_id shown_again(cl_device_id device, uint64_t k)
{
	struct shown *shown;

	pthread_mutex_lock(&lock);
	for (shown = all_shown; shown && (shown->device != device || shown->k != k); shown = shown->next)
		;
	if (!shown) {
		shown = allocated(sizeof(*shown));
		*shown = (struct shown){ all_shown, device, k };
		all_shown = shown;
	}
	pthread_mutex_unlock(&lock);
	return (cl_device_id)shown;
}

cl_device_id below(cl_device_id device)
{
	struct shown *shown = shown_find(device);

	return shown ? shown->device : device;
}

static cl_int platform_devices(cl_platform_id platform, cl_device_id devices[MAX_DEVICES], cl_uint *ret_n)
{
	cl_uint n = 0;
	cl_int error = real.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &n);

	if (error)
		return error;
	if (n > MAX_DEVICES)
		n = MAX_DEVICES;
	if (plan.devices) {
		n = plan.devices < MAX_DEVICES ? (cl_uint)plan.devices : MAX_DEVICES;
		for (cl_uint k = 1; k < n; k++)
			devices[k] = shown_again(devices[0], k);
	}
	*ret_n = n;
	return CL_SUCCESS;
}

static cl_device_type shown_type(cl_device_id device)
{
	cl_device_id devices[MAX_DEVICES];
	cl_platform_id platform = NULL;
	cl_device_type type = 0;
	cl_uint n;

	real.clGetDeviceInfo(below(device), CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	real.clGetDeviceInfo(below(device), CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
	if (plan.gpu && !platform_devices(platform, devices, &n) && devices[0] == device)
		type = CL_DEVICE_TYPE_GPU;
	return type;
}

cl_int CL_API_CALL clGetPlatformIDs(cl_uint max, cl_platform_id *platforms, cl_uint *ret_n)
{
	cl_int error = enter(F_clGetPlatformIDs);

	if (!error && (plan.no_platform || !real.clGetPlatformIDs))
		error = CL_PLATFORM_NOT_FOUND_KHR;
	if (error && ret_n)
		*ret_n = 0;
	return error ? error : real.clGetPlatformIDs(max, platforms, ret_n);
}

cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info info, size_t size, void *ret,
				     size_t *ret_size)
{
	static const char version[] = "OpenCL 1.2 (shim)";
	cl_int error = enter(F_clGetPlatformInfo);

	if (error)
		return error;
	if (plan.old && info == CL_PLATFORM_VERSION)
		return answer(version, sizeof(version), size, ret, ret_size);
	if (plan.old && info >= CL_PLATFORM_HOST_TIMER_RESOLUTION && info <= CL_PLATFORM_EXTENSIONS_WITH_VERSION)
		return CL_INVALID_VALUE;
	return real.clGetPlatformInfo(platform, info, size, ret, ret_size);
}

cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint max, cl_device_id *devices,
				  cl_uint *ret_n)
{
	cl_device_id all[MAX_DEVICES];
	cl_uint n_all = 0, n = 0;
	cl_int error = enter(F_clGetDeviceIDs);

	if (!error && !plan.no_device)
		error = platform_devices(platform, all, &n_all);
	for (cl_uint i = 0; i < n_all; i++) {
		if (type != CL_DEVICE_TYPE_ALL && !(shown_type(all[i]) & type) &&
		    !(type & CL_DEVICE_TYPE_DEFAULT && !i))
			continue;
		if (devices && n < max)
			devices[n] = all[i];
		n++;
	}
	if (ret_n)
		*ret_n = n;
	return error ? error : n ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

/* Take a word out of a list of them. */
static void take_word(char *list, const char *word)
{
	size_t length = strlen(word);

	for (char *at = list; (at = strstr(at, word));)
		if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
			memmove(at, at + length, strlen(at + length) + 1);
		else
			at += length;
}

/* A text of the device's with more behind it, and without the extensions that are the shim's. */
static cl_int answer_appended(cl_device_id device, cl_device_info info, const char *more, size_t size, void *ret,
			      size_t *ret_size)
{
	size_t length = 0;
	cl_int error = real.clGetDeviceInfo(below(device), info, 0, NULL, &length);
	char *text;

	if (error)
		return error;
	text = allocated(length + strlen(more) + 1);
	error = real.clGetDeviceInfo(below(device), info, length, text, NULL);
	if (!error) {
		take_word(text, ADDRESS_EXTENSION);
		take_word(text, USM_EXTENSION);
		strcat(text, more);
		error = answer(text, strlen(text) + 1, size, ret, ret_size);
	}
	free(text);
	return error;
}

static bool has_svm(cl_device_id device)
{
	cl_device_svm_capabilities svm = 0;

	return !real.clGetDeviceInfo(below(device), CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm, NULL) && svm;
}

/* A number of the device's that the plan sets: true where it does. */
static bool planned_number(cl_device_id device, cl_device_info info, uint64_t *ret_value, size_t *ret_size)
{
	*ret_size = sizeof(cl_ulong);
	switch (info) {
	case CL_DEVICE_TYPE:
		*ret_value = shown_type(device);
		return plan.gpu;
	case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
		*ret_value = plan.small;
		return plan.small;
	case CL_DEVICE_GLOBAL_MEM_SIZE:
		*ret_value = 4 * plan.small;
		return plan.small;
	case CL_DEVICE_SVM_CAPABILITIES:
		*ret_value = 0;
		return plan.no_svm;
	case CL_DEVICE_MAX_WORK_GROUP_SIZE:
		*ret_size = sizeof(size_t);
		*ret_value = plan.group;
		return plan.group;
	case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
		*ret_size = sizeof(cl_uint);
		*ret_value = plan.align;
		return plan.align;
	default:
		return false;
	}
}

cl_int CL_API_CALL clGetDeviceInfo(cl_device_id device, cl_device_info info, size_t size, void *ret, size_t *ret_size)
{
	static const char version[] = "OpenCL 1.2 (shim)", c_version[] = "OpenCL C 1.2 (shim)";
	struct shown *shown = shown_find(device);
	cl_int error = enter(F_clGetDeviceInfo);
	uint64_t value;
	size_t value_size;
	char text[128];

	if (error)
		return error;
	if (plan.old && info == CL_DEVICE_VERSION)
		return answer(version, sizeof(version), size, ret, ret_size);
	if (plan.old && info == CL_DEVICE_OPENCL_C_VERSION)
		return answer(c_version, sizeof(c_version), size, ret, ret_size);
	if (plan.old && INFO_AFTER_1_2(info))
		return CL_INVALID_VALUE;
	/* The low bytes come first on every machine that has an OpenCL driver. */
	if (planned_number(device, info, &value, &value_size))
		return answer(&value, value_size, size, ret, ret_size);
	if (plan.devices && info == CL_DEVICE_NAME) {
		snprintf(text, sizeof(text), " #%" PRIu64, shown ? shown->k : 0);
		return answer_appended(device, info, text, size, ret, ret_size);
	}
	if (info == CL_DEVICE_EXTENSIONS) {
		snprintf(text, sizeof(text), "%s%s", plan.address && has_svm(device) ? " " ADDRESS_EXTENSION : "",
			 plan.usm && has_svm(device) ? " " USM_EXTENSION : "");
		return answer_appended(device, info, text, size, ret, ret_size);
	}
	return real.clGetDeviceInfo(below(device), info, size, ret, ret_size);
}

cl_int CL_API_CALL clRetainDevice(cl_device_id device)
{
	cl_int error = enter(F_clRetainDevice);

	return error ? error : real.clRetainDevice(below(device));
}

cl_int CL_API_CALL clReleaseDevice(cl_device_id device)
{
	cl_int error = enter(F_clReleaseDevice);

	return error ? error : real.clReleaseDevice(below(device));
}

/* ---- contexts and queues */

/* A context for the shim's own device. It is never freed: a driver's new context replaces it. */
struct context {
	struct context *next;
	cl_context context;
	cl_device_id device;		/* NULL: the driver's */
};

static struct context *contexts;

static void context_note(cl_context handle, cl_device_id device)
{
	struct context *context;

	pthread_mutex_lock(&lock);
	for (context = contexts; context && context->context != handle; context = context->next)
		;
	if (!context) {
		context = allocated(sizeof(*context));
		*context = (struct context){ contexts, handle, NULL };
		contexts = context;
	}
	context->device = device;
	pthread_mutex_unlock(&lock);
}

cl_device_id context_device(cl_context handle)
{
	cl_device_id device = NULL;

	pthread_mutex_lock(&lock);
	for (struct context *context = contexts; context; context = context->next)
		if (context->context == handle)
			device = context->device;
	pthread_mutex_unlock(&lock);
	return device;
}

cl_context CL_API_CALL clCreateContext(const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
				       void (CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
				       void *user, cl_int *ret_error)
{
	cl_int error = enter(F_clCreateContext);
	cl_device_id one;
	cl_context context;

	if (!error && plan.devices && n != 1)
		error = CL_INVALID_DEVICE;
	if (error)
		return none(error, ret_error);
	if (!plan.devices || !devices)
		return real.clCreateContext(properties, n, devices, notify, user, ret_error);
	one = below(devices[0]);
	context = real.clCreateContext(properties, 1, &one, notify, user, ret_error);
	if (context)
		context_note(context, shown_find(devices[0]) ? devices[0] : NULL);
	return context;
}

FORWARD(clRetainContext, (cl_context context), (context))
FORWARD(clReleaseContext, (cl_context context), (context))

cl_int CL_API_CALL clGetContextInfo(cl_context context, cl_context_info info, size_t size, void *ret, size_t *ret_size)
{
	cl_int error = enter(F_clGetContextInfo);
	cl_device_id device = info == CL_CONTEXT_DEVICES ? context_device(context) : NULL;

	if (error)
		return error;
	if (device)
		return answer(&device, sizeof(device), size, ret, ret_size);
	return real.clGetContextInfo(context, info, size, ret, ret_size);
}

cl_command_queue CL_API_CALL clCreateCommandQueue(cl_context context, cl_device_id device,
						  cl_command_queue_properties properties, cl_int *ret_error)
{
	cl_int error = enter(F_clCreateCommandQueue);

	if (error)
		return none(error, ret_error);
	return real.clCreateCommandQueue(context, below(device), properties, ret_error);
}

cl_command_queue CL_API_CALL clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
								const cl_queue_properties *properties,
								cl_int *ret_error)
{
	cl_int error = enter(F_clCreateCommandQueueWithProperties);

	if (error)
		return none(error, ret_error);
	return real.clCreateCommandQueueWithProperties(context, below(device), properties, ret_error);
}

FORWARD(clReleaseCommandQueue, (cl_command_queue queue), (queue))
FORWARD(clFlush, (cl_command_queue queue), (queue))
