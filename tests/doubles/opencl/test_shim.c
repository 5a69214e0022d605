/* SPDX-License-Identifier: MIT */
/*
 * test_shim.c - the misbehaving ICD loader does what its words say: test_shim LIBRARY CASE.
 *
 * Each case sets TEST_OPENCL, opens the library, and uses OpenCL on PoCL; what ends a process is done in a child.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../check.h"
#include "opencl/cl.h"

#define SIZE 4096u
#define N_COMMANDS 32u
#define MAX_EVENTS (2 * N_COMMANDS)

static const char source[] =
	"kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }\n";

static const char *library;
static struct adsm_cl cl;
static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue, other_queue;

/* Drivers keep their memory until the process ends; this test does not look for their leaks. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

__attribute__((noreturn))
static void skip(const char *why)
{
	puts(why);
	fflush(stdout);
	_exit(77);
}

/* ---- OpenCL through the shim, under a plan */

static void open_shim(const char *words)
{
	void *shim;

	setenv("TEST_OPENCL", words, 1);
	shim = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!shim)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(shim);
#define FIND(name) CHECK((*(void **)&cl.name = dlsym(shim, #name)));
	ADSM_CL_FUNCTIONS(FIND)
	ADSM_CL_LATER_FUNCTIONS(FIND)
#undef FIND
}

static void open_platform(const char *words)
{
	cl_platform_id platforms[16];
	cl_uint n = 0;
	char name[256];

	open_shim(words);
	if (cl.clGetPlatformIDs(16, platforms, &n))
		skip("there is no OpenCL platform here; Debian has PoCL in pocl-opencl-icd");
	for (cl_uint i = 0; i < n && i < 16; i++)
		if (!cl.clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name), name, NULL) &&
		    strstr(name, "Portable Computing Language"))
			platform = platforms[i];
	if (!platform)
		skip("PoCL is not here; Debian has it in pocl-opencl-icd");
}

static void open_device(const char *words)
{
	open_platform(words);
	CHECK(!cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
}

static void open_all(const char *words)
{
	cl_int error;

	open_device(words);
	context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	CHECK(context && !error);
	queue = cl.clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &error);
	CHECK(queue && !error);
	other_queue = cl.clCreateCommandQueue(context, device, 0, &error);
	CHECK(other_queue && !error);
}

static cl_mem make_buffer(void)
{
	cl_int error;
	cl_mem buffer = cl.clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &error);

	CHECK(buffer && !error);
	return buffer;
}

static cl_kernel make_kernel(void)
{
	const char *text = source;
	cl_int error;
	cl_program program = cl.clCreateProgramWithSource(context, 1, &text, NULL, &error);
	cl_kernel kernel;

	CHECK(program && !error);
	CHECK(!cl.clBuildProgram(program, 1, &device, "", NULL, NULL));
	kernel = cl.clCreateKernel(program, "twice", &error);
	CHECK(kernel && !error);
	CHECK(!cl.clReleaseProgram(program));
	return kernel;
}

static cl_int status_of(cl_event event)
{
	cl_int status = 1;

	CHECK(!cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
	return status;
}

static const char *text_of(cl_device_id of, cl_device_info info)
{
	static char text[8192];

	CHECK(!cl.clGetDeviceInfo(of, info, sizeof(text), text, NULL));
	return text;
}

/* ---- callbacks, in the order of their calls */

static struct callback {
	int number;
	cl_int status;
	cl_int queried;
	pthread_t thread;
} callbacks[MAX_EVENTS];
static unsigned n_callbacks;
static pthread_mutex_t callbacks_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t callbacks_more = PTHREAD_COND_INITIALIZER;
static int numbers[MAX_EVENTS];

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *user)
{
	/* The event is good until this returns, though the program has released it. */
	cl_int queried = status_of(event);

	pthread_mutex_lock(&callbacks_lock);
	callbacks[n_callbacks++] = (struct callback){ *(int *)user, status, queried, pthread_self() };
	pthread_cond_signal(&callbacks_more);
	pthread_mutex_unlock(&callbacks_lock);
}

static void watch(cl_event event, int number)
{
	numbers[number] = number;
	CHECK(!cl.clSetEventCallback(event, CL_COMPLETE, on_event, &numbers[number]));
}

static void wait_seen(unsigned n)
{
	pthread_mutex_lock(&callbacks_lock);
	while (n_callbacks < n)
		pthread_cond_wait(&callbacks_more, &callbacks_lock);
	pthread_mutex_unlock(&callbacks_lock);
}

/* ---- children */

/* Run it in a child: how that ended, as of wait(), and what it wrote to stderr. */
static int child(void (*body)(void), char *ret_said, size_t size)
{
	size_t length = 0;
	int ends[2], status;
	ssize_t n;
	pid_t pid;

	CHECK(!pipe(ends));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		dup2(ends[1], 2);
		close(ends[0]);
		close(ends[1]);
		body();
		exit(0);
	}
	close(ends[1]);
	while (length < size - 1 && (n = read(ends[0], ret_said + length, size - 1 - length)) > 0)
		length += (size_t)n;
	ret_said[length] = '\0';
	close(ends[0]);
	CHECK(waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip("PoCL is not here; Debian has it in pocl-opencl-icd");
	return status;
}

static void dies(void (*body)(void), int exit_status, const char *says)
{
	char said[4096];
	int status = child(body, said, sizeof(said));

	fputs(said, stderr);
	CHECK(strstr(said, says));
	if (exit_status)
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == exit_status);
	else
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* ---- the cases */

static void plain(void)
{
	int in[SIZE / sizeof(int)], out[SIZE / sizeof(int)];
	size_t global = SIZE / sizeof(int);
	cl_kernel kernel;
	cl_mem buffer;

	open_all("");
	buffer = make_buffer();
	kernel = make_kernel();
	for (int i = 0; i < (int)global; i++)
		in[i] = i;
	CHECK(!cl.clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, SIZE, in, 0, NULL, NULL));
	CHECK(!cl.clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
	CHECK(!cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
	CHECK(!cl.clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, SIZE, out, 0, NULL, NULL));
	for (int i = 0; i < (int)global; i++)
		CHECK(out[i] == 2 * i);
}

static void unknown_word(void)
{
	open_shim("late,nonsense");
}

static void unknown_function(void)
{
	open_shim("fail=clNonsense:-5");
}

static void words(void)
{
	dies(unknown_word, 0, "'nonsense'");
	dies(unknown_function, 0, "'fail=clNonsense:-5'");
}

static void fail(void)
{
	char bytes[16], plan[128], hit[8] = "";
	FILE *hits = tmpfile();
	cl_int error = 0;
	cl_mem buffer;

	CHECK(hits);
	snprintf(plan, sizeof(plan), "fail=clEnqueueReadBuffer:-5:3,fail=clCreateKernel:-6,fail=clCreateBuffer:-4:2,"
		 "hits=%d", fileno(hits));
	open_all(plan);
	buffer = make_buffer();
	for (int i = 1; i <= 5; i++)
		CHECK(cl.clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 16, bytes, 0, NULL, NULL) ==
		      (i == 3 ? CL_OUT_OF_RESOURCES : CL_SUCCESS));
	CHECK(!cl.clCreateBuffer(context, 0, SIZE, NULL, &error) && error == CL_MEM_OBJECT_ALLOCATION_FAILURE);
	CHECK(!cl.clCreateBuffer(context, 0, 0, NULL, NULL));
	make_buffer();
	for (int i = 0; i < 2; i++)
		CHECK(!cl.clCreateKernel(NULL, "twice", &error) && error == CL_OUT_OF_HOST_MEMORY);
	CHECK(pread(fileno(hits), hit, sizeof(hit), 0) == 4 && !strcmp(hit, "acbb"));
}

static void event(void)
{
	char bytes[16] = "";
	cl_event first, second, third, marker;
	cl_ulong time;
	cl_mem buffer;

	open_all("event=clEnqueueWriteBuffer:-5:2,event=clEnqueueReadBuffer:-36");
	buffer = make_buffer();
	CHECK(!cl.clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 16, bytes, 0, NULL, &first));
	CHECK(!cl.clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 16, bytes, 0, NULL, &second));
	CHECK(!cl.clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 16, bytes, 0, NULL, &third));
	CHECK(!cl.clEnqueueMarkerWithWaitList(queue, 1, &second, &marker));
	watch(first, 1);
	watch(second, 2);
	CHECK(!cl.clWaitForEvents(1, &first) && !cl.clWaitForEvents(1, &third));
	CHECK(cl.clWaitForEvents(1, &second) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
	CHECK(!status_of(first) && status_of(second) == CL_OUT_OF_RESOURCES && !status_of(third));
	CHECK(!cl.clGetEventProfilingInfo(first, CL_PROFILING_COMMAND_END, sizeof(time), &time, NULL));
	CHECK(cl.clGetEventProfilingInfo(second, CL_PROFILING_COMMAND_END, sizeof(time), &time, NULL) ==
	      CL_PROFILING_INFO_NOT_AVAILABLE);
	wait_seen(2);
	for (int i = 0; i < 2; i++)
		CHECK(callbacks[i].status == (callbacks[i].number == 2 ? CL_OUT_OF_RESOURCES : CL_COMPLETE) &&
		      callbacks[i].queried == callbacks[i].status);
	CHECK(!cl.clFinish(queue));
	CHECK(status_of(marker) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
	CHECK(cl.clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 16, bytes, 0, NULL, NULL) == CL_INVALID_COMMAND_QUEUE);
}

static void is_lost(void)
{
	/* Commands in both queues at the same time share nothing. */
	char bytes[16] = "", fetched[16];
	cl_event known, open, last;
	cl_int error = 0;
	cl_mem buffer, other;

	open_all("lost=3");
	buffer = make_buffer();
	other = make_buffer();
	CHECK(!cl.clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 16, bytes, 0, NULL, &known));
	CHECK(!cl.clWaitForEvents(1, &known));
	CHECK(!cl.clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 16, bytes, 0, NULL, &open));
	watch(open, 0);
	CHECK(!cl.clEnqueueReadBuffer(other_queue, other, CL_FALSE, 0, 16, fetched, 0, NULL, &last));
	watch(last, 1);
	CHECK(cl.clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, 16, bytes, 0, NULL, NULL) == CL_INVALID_COMMAND_QUEUE);
	CHECK(cl.clFlush(queue) == CL_INVALID_COMMAND_QUEUE && cl.clFinish(queue) == CL_INVALID_COMMAND_QUEUE);
	CHECK(!cl.clCreateBuffer(context, 0, SIZE, NULL, &error) && error == CL_DEVICE_NOT_AVAILABLE);
	wait_seen(2);
	for (int i = 0; i < 2; i++)
		/* The first may have ended, and told, before the device was lost. */
		CHECK((callbacks[i].status == CL_DEVICE_NOT_AVAILABLE ||
		       (!callbacks[i].number && !callbacks[i].status)) && callbacks[i].queried == callbacks[i].status);
	CHECK(!status_of(known) && status_of(last) == CL_DEVICE_NOT_AVAILABLE);
	CHECK(cl.clWaitForEvents(1, &last) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
	CHECK(!cl.clReleaseEvent(known) && !cl.clReleaseEvent(open) && !cl.clReleaseEvent(last));
	CHECK(!cl.clReleaseMemObject(buffer) && !cl.clReleaseMemObject(other));
}

/* Has one of a queue overtaken one of the other? */
static bool mix(cl_mem buffer)
{
	int next[2] = { 0, 1 };
	bool mixed = false;

	n_callbacks = 0;
	/* Number 2i is on one queue, 2i + 1 on the other; each has ended before the next is given. */
	for (unsigned i = 0; i < MAX_EVENTS; i++) {
		char byte = 0;
		cl_event done;

		CHECK(!cl.clEnqueueWriteBuffer(i % 2 ? other_queue : queue, buffer, CL_TRUE, 0, 1, &byte, 0, NULL,
					       &done));
		watch(done, (int)i);
		CHECK(!cl.clReleaseEvent(done));
	}
	wait_seen(MAX_EVENTS);
	for (unsigned i = 0; i < MAX_EVENTS; i++) {
		CHECK(!callbacks[i].status && !callbacks[i].queried);
		CHECK(pthread_equal(callbacks[i].thread, callbacks[0].thread));
		CHECK(!pthread_equal(callbacks[i].thread, pthread_self()));
		CHECK(callbacks[i].number == next[callbacks[i].number % 2]);
		next[callbacks[i].number % 2] += 2;
		mixed |= callbacks[i].number != (int)i;
	}
	return mixed;
}

static void late(void)
{
	bool mixed = false;
	cl_mem buffer;

	open_all("late=7");
	buffer = make_buffer();
	/* Not if each callback returns before the next one is called, because that may take long. */
	for (int i = 0; i < 50 && !mixed; i++)
		mixed = mix(buffer);
	CHECK(mixed);
}

static void no_platform(void)
{
	cl_uint n = 1;

	open_shim("no-platform");
	CHECK(cl.clGetPlatformIDs(0, NULL, &n) == CL_PLATFORM_NOT_FOUND_KHR && !n);
}

static void no_device(void)
{
	cl_uint n = 1;

	open_platform("no-device");
	CHECK(cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &n) == CL_DEVICE_NOT_FOUND && !n);
}

static void gpu(void)
{
	cl_device_id all[2] = { NULL }, found = NULL;
	cl_device_type type = 0;

	open_platform("gpu,devices=2");
	CHECK(!cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, all, NULL));
	CHECK(!cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &found, NULL) && found == all[0]);
	CHECK(!cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &found, NULL) && found == all[1]);
	CHECK(!cl.clGetDeviceInfo(all[0], CL_DEVICE_TYPE, sizeof(type), &type, NULL) && type == CL_DEVICE_TYPE_GPU);
}

static void devices(void)
{
	cl_device_id all[8], found = NULL;
	cl_program program;
	cl_kernel kernel;
	size_t group = 0;
	cl_uint n = 0;
	cl_int error;

	open_platform("devices=3");
	CHECK(!cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 8, all, &n) && n == 3);
	CHECK(all[0] != all[1] && all[1] != all[2]);
	CHECK(strstr(text_of(all[0], CL_DEVICE_NAME), " #0"));
	CHECK(strstr(text_of(all[2], CL_DEVICE_NAME), " #2"));
	device = all[2];
	context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	CHECK(context && !error);
	CHECK(!cl.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(found), &found, NULL) && found == device);
	kernel = make_kernel();
	CHECK(!cl.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL));
	found = NULL;
	CHECK(!cl.clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof(found), &found, NULL) && found == device);
	CHECK(!cl.clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof(group), &group, NULL) &&
	      group);
	CHECK(!cl.clCreateContext(NULL, 2, all, NULL, NULL, &error) && error == CL_INVALID_DEVICE);
	CHECK(!cl.clRetainDevice(device) && !cl.clReleaseDevice(device));
}

static void later_function(void)
{
	open_all("old");
	cl.clSVMAlloc(context, 0, SIZE, 0);
}

static void old(void)
{
	cl_device_svm_capabilities svm;
	char text[64];

	dies(later_function, 0, "clSVMAlloc");
	open_device("old");
	CHECK(!strncmp(text_of(device, CL_DEVICE_VERSION), "OpenCL 1.2 ", 11));
	CHECK(!cl.clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof(text), text, NULL) &&
	      !strncmp(text, "OpenCL 1.2 ", 11));
	CHECK(cl.clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm, NULL) == CL_INVALID_VALUE);
}

static void small(void)
{
	cl_ulong largest = 0, all = 0;
	cl_mem buffers[4];
	cl_int error = 0;

	open_all("small=4096");
	CHECK(!cl.clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(largest), &largest, NULL));
	CHECK(!cl.clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(all), &all, NULL));
	CHECK(largest == SIZE && all == 4 * SIZE);
	CHECK(!cl.clCreateBuffer(context, 0, SIZE + 1, NULL, &error) && error == CL_MEM_OBJECT_ALLOCATION_FAILURE);
	for (int i = 0; i < 4; i++)
		buffers[i] = make_buffer();
	error = 0;
	CHECK(!cl.clCreateBuffer(context, 0, 1, NULL, &error) && error == CL_MEM_OBJECT_ALLOCATION_FAILURE);
	CHECK(!cl.clSVMAlloc(context, 0, 1, 0));
	CHECK(!cl.clReleaseMemObject(buffers[2]));
	make_buffer();
}

static void group(void)
{
	size_t value = 0, global = 8, local = 8;
	cl_kernel kernel;
	cl_mem buffer;

	open_all("group=4");
	buffer = make_buffer();
	kernel = make_kernel();
	CHECK(!cl.clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(value), &value, NULL) && value == 4);
	value = 0;
	CHECK(!cl.clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof(value), &value, NULL) &&
	      value == 4);
	CHECK(!cl.clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
	CHECK(cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL) ==
	      CL_INVALID_WORK_GROUP_SIZE);
	local = 4;
	CHECK(!cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
}

static void align(void)
{
	cl_buffer_region region = { 1024, 64 };
	cl_mem buffer;
	cl_uint bits = 0;
	cl_int error = 0;

	open_all("align=16384");
	buffer = make_buffer();
	CHECK(!cl.clGetDeviceInfo(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, NULL) && bits == 16384);
	CHECK(!cl.clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error) &&
	      error == CL_MISALIGNED_SUB_BUFFER_OFFSET);
	region.origin = 2048;
	CHECK(cl.clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error) && !error);
}

static void no_svm(void)
{
	cl_device_svm_capabilities svm = 1;

	open_all("no-svm");
	CHECK(!cl.clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm, NULL) && !svm);
	CHECK(!cl.clSVMAlloc(context, 0, SIZE, 0));
	CHECK(cl.clEnqueueSVMMemcpy(queue, CL_TRUE, &svm, &svm, 0, 0, NULL, NULL) == CL_INVALID_OPERATION);
	CHECK(cl.clSetKernelArgSVMPointer(make_kernel(), 0, NULL) == CL_INVALID_OPERATION);
}

/* ---- device memory by address */

static void *usm_function(const char *name)
{
	return cl.clGetExtensionFunctionAddressForPlatform(platform, name);
}

static void usm(void)
{
	void *(CL_API_CALL *alloc)(cl_context, cl_device_id, const cl_ulong *, size_t, cl_uint, cl_int *);
	cl_int (CL_API_CALL *release)(cl_context, void *);
	cl_int (CL_API_CALL *copy)(cl_command_queue, cl_bool, void *, const void *, size_t, cl_uint, const cl_event *,
				   cl_event *);
	cl_int (CL_API_CALL *fill)(cl_command_queue, void *, const void *, size_t, size_t, cl_uint, const cl_event *,
				   cl_event *);
	cl_int (CL_API_CALL *set_arg)(cl_kernel, cl_uint, const void *);
	int data[4] = { 1, 2, 3, 4 }, seven = 7;
	const cl_bool yes = CL_TRUE;
	size_t two = 2;
	cl_int error = 1;
	cl_kernel kernel;
	int *p;

	open_all("usm,small=4096,fail=clMemFreeINTEL:-5:2");
	CHECK(strstr(text_of(device, CL_DEVICE_EXTENSIONS), " cl_intel_unified_shared_memory"));
	*(void **)&alloc = usm_function("clDeviceMemAllocINTEL");
	*(void **)&release = usm_function("clMemFreeINTEL");
	*(void **)&copy = usm_function("clEnqueueMemcpyINTEL");
	*(void **)&fill = usm_function("clEnqueueMemFillINTEL");
	*(void **)&set_arg = usm_function("clSetKernelArgMemPointerINTEL");
	CHECK(alloc && release && copy && fill && set_arg);
	CHECK(!alloc(context, device, NULL, SIZE + 1, 0, &error) && error == CL_OUT_OF_RESOURCES);
	p = alloc(context, device, NULL, SIZE, 0, &error);
	CHECK(p && !error);
	CHECK(!fill(queue, p, &seven, sizeof(seven), SIZE, 0, NULL, NULL));
	CHECK(!copy(queue, CL_TRUE, p, data, sizeof(data), 0, NULL, NULL));
	kernel = make_kernel();
	CHECK(!cl.clSetKernelExecInfo(kernel, 0x4201, sizeof(yes), &yes));
	/* From its fourth number on. */
	CHECK(!set_arg(kernel, 0, p + 3));
	CHECK(!cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &two, NULL, 0, NULL, NULL));
	CHECK(!cl.clFinish(queue));
	CHECK(!copy(queue, CL_TRUE, data, p + 2, sizeof(data), 0, NULL, NULL));
	CHECK(data[0] == 3 && data[1] == 8 && data[2] == 14 && data[3] == 7);
	CHECK(!release(context, p));
	CHECK(release(context, NULL) == -5);
}

/* It is shown by the plan only, whatever the driver has. */
static void no_usm(void)
{
	open_device("");
	CHECK(!strstr(text_of(device, CL_DEVICE_EXTENSIONS), "cl_intel_unified_shared_memory"));
	CHECK(!usm_function("clDeviceMemAllocINTEL"));
}

/* ---- buffers with addresses */

static cl_mem make_addressed(cl_ulong *ret_address)
{
	const cl_mem_properties properties[] = { 0x5000, CL_TRUE, 0 };
	cl_int error;
	cl_mem buffer = cl.clCreateBufferWithProperties(context, properties, CL_MEM_READ_WRITE, SIZE, NULL, &error);

	CHECK(buffer && !error);
	CHECK(!cl.clGetMemObjectInfo(buffer, 0x5001, sizeof(*ret_address), ret_address, NULL) && *ret_address);
	return buffer;
}

static void run_at(cl_kernel kernel, cl_ulong address, size_t n)
{
	void *function = cl.clGetExtensionFunctionAddressForPlatform(platform, "clSetKernelArgDevicePointerEXT");
	cl_int (CL_API_CALL *set_arg)(cl_kernel, cl_uint, cl_ulong);

	CHECK(function);
	*(void **)&set_arg = function;
	CHECK(!set_arg(kernel, 0, address));
	CHECK(!cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &n, NULL, 0, NULL, NULL));
	CHECK(!cl.clFinish(queue));
}

static void use_addresses(const char *words)
{
	int data[4] = { 1, 2, 3, 4 };
	cl_ulong address[2];
	cl_mem first, second;
	cl_kernel kernel;
	cl_ulong none;

	open_all(words);
	CHECK(strstr(text_of(device, CL_DEVICE_EXTENSIONS), " cl_ext_buffer_device_address"));
	first = make_addressed(&address[0]);
	second = make_addressed(&address[1]);
	CHECK(address[0] != address[1]);
	CHECK(cl.clGetMemObjectInfo(make_buffer(), 0x5001, sizeof(none), &none, NULL) == CL_INVALID_OPERATION);
	kernel = make_kernel();
	CHECK(!cl.clSetKernelExecInfo(kernel, 0x5002, sizeof(address), address));
	CHECK(!cl.clEnqueueWriteBuffer(queue, first, CL_TRUE, 0, sizeof(data), data, 0, NULL, NULL));
	/* From its third number on. */
	run_at(kernel, address[0] + 8, 2);
	CHECK(!cl.clEnqueueReadBuffer(queue, first, CL_TRUE, 0, sizeof(data), data, 0, NULL, NULL));
	CHECK(data[0] == 1 && data[1] == 2 && data[2] == 6 && data[3] == 8);
	CHECK(!cl.clReleaseMemObject(second));
	CHECK(!cl.clSetKernelExecInfo(kernel, 0x5002, sizeof(address[0]), address));
	run_at(kernel, address[0], 1);
	CHECK(!cl.clReleaseMemObject(first));
}

static void addresses(void)
{
	use_addresses("address,no-svm");
}

static void untold(void)
{
	cl_ulong address, other;
	cl_kernel kernel;

	open_all("strict");
	make_addressed(&address);
	kernel = make_kernel();
	CHECK(!cl.clSetKernelExecInfo(kernel, 0x5002, sizeof(address), &address));
	run_at(kernel, address, 1);
	make_addressed(&other);
	run_at(kernel, address, 1);
}

static void told_of_gone(void)
{
	cl_ulong address[2];
	cl_kernel kernel;
	cl_mem gone;

	open_all("strict");
	make_addressed(&address[0]);
	gone = make_addressed(&address[1]);
	kernel = make_kernel();
	CHECK(!cl.clSetKernelExecInfo(kernel, 0x5002, sizeof(address), address));
	run_at(kernel, address[0], 1);
	CHECK(!cl.clReleaseMemObject(gone));
	run_at(kernel, address[0], 1);
}

static void strict(void)
{
	dies(untold, 0, "was not told of the buffer");
	dies(told_of_gone, 0, "where no buffer is");
	use_addresses("strict");
}

/* ---- what ends the process, or is said at its end */

static void signals_blocked(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	open_all("threads");
	make_kernel();
	make_buffer();
}

static void signals_open(void)
{
	sigset_t alarm;

	signals_blocked();
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
	/* The compiler may be called so. */
	CHECK(cl.clBuildProgram(NULL, 0, NULL, "", NULL, NULL));
	make_buffer();
}

static void threads(void)
{
	dies(signals_open, 99, "clCreateBuffer was called with SIGALRM unblocked");
	signals_blocked();
}

static void leave_some(void)
{
	char byte = 0;
	cl_mem first, second;
	cl_event kept, released;
	cl_kernel kernel, again;
	cl_program program;
	cl_uint n = 0;

	open_all("count");
	first = make_buffer();
	second = make_buffer();
	CHECK(!cl.clReleaseMemObject(first));
	kernel = make_kernel();
	CHECK(!cl.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL));
	CHECK(!cl.clCreateKernelsInProgram(program, 0, NULL, &n) && n == 1);
	CHECK(!cl.clCreateKernelsInProgram(program, 1, &again, NULL));
	CHECK(!cl.clRetainKernel(kernel) && !cl.clReleaseKernel(kernel) && !cl.clReleaseKernel(kernel));
	CHECK(!cl.clEnqueueWriteBuffer(queue, second, CL_TRUE, 0, 1, &byte, 0, NULL, &released));
	CHECK(!cl.clEnqueueWriteBuffer(queue, second, CL_TRUE, 0, 1, &byte, 0, NULL, &kept));
	CHECK(!cl.clReleaseEvent(released));
}

static void release_twice(void)
{
	cl_event event;

	open_all("");
	CHECK(!cl.clEnqueueMarkerWithWaitList(queue, 0, NULL, &event));
	CHECK(!cl.clFinish(queue) && !cl.clReleaseEvent(event));
	cl.clReleaseEvent(event);
}

static void count(void)
{
	char said[4096];

	child(leave_some, said, sizeof(said));
	fputs(said, stderr);
	CHECK(strstr(said, "shim: buffers created 2 released 1, kernels created 3 released 2, "
			   "programs created 1 released 1, events created 2 released 1\n"));
	dies(release_twice, 0, "clReleaseEvent of an event");
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "plain", plain }, { "words", words }, { "fail", fail }, { "event", event }, { "lost", is_lost },
	{ "late", late }, { "no-platform", no_platform }, { "no-device", no_device }, { "gpu", gpu },
	{ "devices", devices }, { "old", old }, { "small", small }, { "group", group }, { "align", align },
	{ "no-svm", no_svm }, { "usm", usm }, { "no-usm", no_usm }, { "address", addresses }, { "strict", strict },
	{ "threads", threads }, { "count", count },
};

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: %s LIBRARY CASE\n", argv[0]);
		return 2;
	}
	library = argv[1];
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[2]))
			continue;
		cases[i].run();
		/* Drivers' threads may still be at work: nothing is torn down under them. */
		fflush(NULL);
		_exit(0);
	}
	fprintf(stderr, "there is no case '%s'\n", argv[2]);
	return 2;
}
