/* SPDX-License-Identifier: MIT */
/*
 * shim.c - an ICD loader that misbehaves: ADSM_OPENCL_LIBRARY names it, and it forwards to the real one.
 *
 * Words in TEST_OPENCL, separated by commas:
 *   fail=FUNCTION:CODE[:N]   the Nth call of it (each, without N) fails with CODE; functions without an error do not
 *   event=FUNCTION:CODE[:N]  the command runs, but its event ends with CODE; a blocking one returns CODE
 *   lost=N                   the device is lost as the Nth command has been given: events whose end nobody was told
 *                            of end with -2; then commands fail with -36, and creations and builds with -2
 *   late[=SEED]              callbacks come up to 2 ms late: of one queue in order, of several in any order
 *   no-platform, no-device   there is none
 *   gpu                      the first device of each platform is a GPU
 *   devices=N                each platform shows its first device N times, as "NAME #0" and so on. All but #0 are
 *                            handles of the shim's own for the same device: a context may have one of them
 *   old                      OpenCL 1.2: functions that it does not have abort
 *   small=BYTES              largest allocation; device memory is four times that, and both are enforced
 *   group=N                  most work-items of a group; enforced
 *   align=BITS               of a device's memory; enforced for sub-buffers
 *   no-svm                   no shared virtual memory
 *   address                  has cl_ext_buffer_device_address, where the device has SVM: such buffers are SVM blocks
 *   usm                      has cl_intel_unified_shared_memory, where the device has SVM: device memory is SVM blocks
 *   strict                   with address: aborts where a kernel is enqueued that was not told all addressed buffers
 *                            there are, or was told one that is gone; for programs of one thread
 *   threads                  ends the process with status 99 where a function other than clBuildProgram and those
 *                            that create programs is called with SIGALRM unblocked, or by a thread that can be
 *                            cancelled, and knows of it: not all of its signals are blocked
 *   count                    prints at exit how many references were handed out, and how many were released
 *
 * Handles are the driver's own, except those of devices=N. Whether the driver itself has the extensions of "address"
 * and "usm" is not shown, so that a plan does the same on all; other extensions' functions are the driver's.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* OpenCL's functions are exported, whatever else is hidden. */
#pragma GCC visibility push(default)
#include "opencl/cl.h"
#pragma GCC visibility pop

#define MEM_DEVICE_PRIVATE_ADDRESS 0x5000
#define MEM_DEVICE_ADDRESS 0x5001
#define KERNEL_EXEC_INFO_DEVICE_PTRS 0x5002
#define ADDRESS_EXTENSION "cl_ext_buffer_device_address"
#define USM_EXTENSION "cl_intel_unified_shared_memory"

#define MAX_RULES 16
#define MAX_DEVICES 64			/* of a platform */
#define LATEST_NS 2000000u		/* a late callback */
#define THREADS_STATUS 99
#define INFO_AFTER_1_2(info) ((info) >= CL_DEVICE_IMAGE_PITCH_ALIGNMENT && (info) < 0x1080)

#define EXTENSIONS_FUNCTIONS(X) X(clSetKernelArgDevicePointerEXT) X(clDeviceMemAllocINTEL) X(clMemFreeINTEL) \
	X(clEnqueueMemcpyINTEL) X(clEnqueueMemFillINTEL) X(clSetKernelArgMemPointerINTEL)
#define FUNCTIONS(X) ADSM_CL_FUNCTIONS(X) ADSM_CL_LATER_FUNCTIONS(X) EXTENSIONS_FUNCTIONS(X)

enum function {
#define ID(name) F_##name,
	FUNCTIONS(ID)
#undef ID
	N_FUNCTIONS,
	FIRST_LATER = F_clCreateCommandQueueWithProperties,
};

static const char *const names[] = {
#define NAME(name) #name,
	FUNCTIONS(NAME)
#undef NAME
};

static struct adsm_cl real;
static cl_int (CL_API_CALL *real_retain_event)(cl_event);
static cl_int (CL_API_CALL *real_set_destructor)(cl_mem, void (CL_CALLBACK *)(cl_mem, void *), void *);

struct rule {
	bool of_event;
	enum function function;
	cl_int code;
	uint64_t nth, seen;
};

static struct {
	bool no_platform, no_device, gpu, old, no_svm, address, usm, strict, threads, count, late;
	uint64_t lost, devices, small, group, align, seed;
	struct rule rules[MAX_RULES];
	size_t n_rules;
} plan = { .lost = UINT64_MAX };

/* What follows is guarded by it; no driver is called, and no callback, with it held. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool lost;
static uint64_t n_commands;

enum kind { BUFFERS, KERNELS, PROGRAMS, EVENTS, N_KINDS };
static struct {
	uint64_t created, released;
} counts[N_KINDS];

__attribute__((noreturn, format(printf, 2, 3)))
static void end_process(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("shim: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	if (status)
		_exit(status);
	abort();
}

#define die(...) end_process(0, __VA_ARGS__)

static void *allocated(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		die("out of memory");
	return p;
}

/* ---- the plan */

static uint64_t number(const char *word, const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (!*text || *end)
		die("TEST_OPENCL has '%s', which ends with no number", word);
	return value;
}

static void add_rule(bool of_event, const char *word, const char *text)
{
	struct rule rule = { .of_event = of_event, .function = N_FUNCTIONS };
	char function[64], end;
	int n = sscanf(text, "%63[^:]:%d:%" SCNu64 "%c", function, &rule.code, &rule.nth, &end);

	for (enum function f = 0; n >= 2 && f < N_FUNCTIONS; f++)
		if (!strcmp(names[f], function))
			rule.function = f;
	if (n < 2 || n > 3 || rule.code >= 0 || rule.function == N_FUNCTIONS || plan.n_rules == MAX_RULES)
		die("TEST_OPENCL has '%s', which is no FUNCTION:CODE[:N], or one too many", word);
	if (of_event && strncmp(function, "clEnqueue", strlen("clEnqueue")))
		die("TEST_OPENCL has '%s', but %s is no command", word, function);
	plan.rules[plan.n_rules++] = rule;
}

static void plan_word(const char *word)
{
	static const struct {
		const char *name;
		bool *flag;
		uint64_t *number;
	} words[] = {
		{ "no-platform", &plan.no_platform, NULL }, { "no-device", &plan.no_device, NULL },
		{ "gpu", &plan.gpu, NULL }, { "old", &plan.old, NULL }, { "no-svm", &plan.no_svm, NULL },
		{ "address", &plan.address, NULL }, { "usm", &plan.usm, NULL }, { "strict", &plan.strict, NULL },
		{ "threads", &plan.threads, NULL }, { "count", &plan.count, NULL },
		{ "late", &plan.late, &plan.seed }, { "lost", NULL, &plan.lost }, { "devices", NULL, &plan.devices },
		{ "small", NULL, &plan.small }, { "group", NULL, &plan.group }, { "align", NULL, &plan.align },
	};
	size_t length = strcspn(word, "=");
	const char *value = word[length] ? word + length + 1 : NULL;

	if (value && !strncmp(word, "fail=", 5)) {
		add_rule(false, word, value);
		return;
	}
	if (value && !strncmp(word, "event=", 6)) {
		add_rule(true, word, value);
		return;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i].name) != length || strncmp(words[i].name, word, length))
			continue;
		if (value ? !words[i].number : !words[i].flag)
			break;
		if (words[i].flag)
			*words[i].flag = true;
		if (value)
			*words[i].number = number(word, value);
		return;
	}
	die("TEST_OPENCL has '%s', which is no word of the shim's", word);
}

static void open_real(void)
{
	void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return;		/* there are no platforms then */
#define FIND(name) *(void **)&real.name = dlsym(library, #name);
	ADSM_CL_FUNCTIONS(FIND)
	ADSM_CL_LATER_FUNCTIONS(FIND)
#undef FIND
	*(void **)&real_retain_event = dlsym(library, "clRetainEvent");
	*(void **)&real_set_destructor = dlsym(library, "clSetMemObjectDestructorCallback");
}

__attribute__((constructor))
static void start(void)
{
	const char *text = getenv("TEST_OPENCL");
	char *words = text ? strdup(text) : NULL, *rest = words;

	for (char *word; (word = strsep(&rest, ","));)
		if (*word)
			plan_word(word);
	free(words);
	plan.address |= plan.strict;
	lost = !plan.lost;
	open_real();
}

__attribute__((destructor))
static void print_counts(void)
{
	static const char *const kinds[] = { "buffers", "kernels", "programs", "events" };

	if (!plan.count)
		return;
	fputs("shim:", stderr);
	for (size_t i = 0; i < N_KINDS; i++)
		fprintf(stderr, "%s %s created %" PRIu64 " released %" PRIu64, i ? "," : "", kinds[i],
			counts[i].created, counts[i].released);
	fputc('\n', stderr);
}

static void handed_out(enum kind kind)
{
	pthread_mutex_lock(&lock);
	counts[kind].created++;
	pthread_mutex_unlock(&lock);
}

static void given_back(enum kind kind)
{
	pthread_mutex_lock(&lock);
	counts[kind].released++;
	pthread_mutex_unlock(&lock);
}

/* What the plan says of this call; with the lock. */
static cl_int planned(bool of_event, enum function f)
{
	cl_int code = 0;

	for (struct rule *rule = plan.rules; rule < plan.rules + plan.n_rules; rule++)
		if (rule->of_event == of_event && rule->function == f && (++rule->seen == rule->nth || !rule->nth))
			code = rule->code;
	return code;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static cl_int lost_error(const char *name)
{
	if (begins(name, "clEnqueue") || !strcmp(name, "clFlush") || !strcmp(name, "clFinish"))
		return CL_INVALID_COMMAND_QUEUE;
	if (begins(name, "clCreate") || !strcmp(name, "clSVMAlloc") || !strcmp(name, "clBuildProgram"))
		return CL_DEVICE_NOT_AVAILABLE;
	return 0;
}

static _Thread_local bool in_callback;

static void check_signals(const char *name)
{
	sigset_t mask;
	int state;

	if (begins(name, "clCreateProgram") || !strcmp(name, "clBuildProgram"))
		return;
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	if (!sigismember(&mask, SIGALRM))
		end_process(THREADS_STATUS, "%s was called with SIGALRM unblocked", name);
	/* A thread that has all blocked is one that the program does not know; callbacks run in the driver's own. */
	if (in_callback)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (state == PTHREAD_CANCEL_ENABLE && !sigismember(&mask, SIGSEGV))
		end_process(THREADS_STATUS, "%s was called by a thread that can be cancelled", name);
	pthread_setcancelstate(state, NULL);
}

/* Each function begins with it: 0, or the error it has to fail with. */
static cl_int enter(enum function f)
{
	cl_int error;

	if (plan.threads)
		check_signals(names[f]);
	if (plan.old && f >= FIRST_LATER)
		die("%s was called, which OpenCL 1.2 does not have", names[f]);
	pthread_mutex_lock(&lock);
	error = planned(false, f);
	if (!error && lost)
		error = lost_error(names[f]);
	pthread_mutex_unlock(&lock);
	return error;
}

/* The result of a function that returns a handle, when it has failed. */
static void *none(cl_int error, cl_int *ret_error)
{
	if (ret_error)
		*ret_error = error;
	return NULL;
}

static cl_int answer(const void *value, size_t value_size, size_t size, void *ret, size_t *ret_size)
{
	if (ret && size < value_size)
		return CL_INVALID_VALUE;
	if (ret)
		memcpy(ret, value, value_size);
	if (ret_size)
		*ret_size = value_size;
	return CL_SUCCESS;
}

#define FORWARD(name, params, args) \
	cl_int CL_API_CALL name params \
	{ \
		cl_int error = enter(F_##name); \
		return error ? error : real.name args; \
	}

/* ---- devices */

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

/* The driver's handle. */
static cl_device_id below(cl_device_id device)
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

/* A context whose device is the shim's own. Kept for good: a driver's new context replaces it. */
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

static cl_device_id context_device(cl_context handle)
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

/* ---- events */

struct event {
	struct event *next;
	cl_event event;			/* one reference is ours */
	cl_command_queue queue;
	cl_int forced;			/* 0: as the driver says */
	bool held, told;		/* the program has it; and knows how it ended */
	unsigned n_refs;
};

static struct event *events;

/* With the lock. */
static struct event *event_find(cl_event handle)
{
	struct event *event;

	for (event = events; event && event->event != handle; event = event->next)
		;
	return event;
}

static void event_put(struct event *event)
{
	struct event **at = &events;

	pthread_mutex_lock(&lock);
	if (--event->n_refs) {
		pthread_mutex_unlock(&lock);
		return;
	}
	while (*at != event)
		at = &(*at)->next;
	*at = event->next;
	pthread_mutex_unlock(&lock);
	real.clReleaseEvent(event->event);
	free(event);
}

/* With the lock: what the program is told where the driver says @status. */
static cl_int event_status(struct event *event, cl_int status)
{
	if (status > CL_COMPLETE)
		return status;
	event->told = true;
	return event->forced ? event->forced : status;
}

/* With the lock: a queue that runs commands in order has run all of them. */
static void queue_told(cl_command_queue queue)
{
	for (struct event *event = events; event; event = event->next)
		if (event->queue == queue)
			event->told = true;
}

/* With the lock. */
static void lose_device(void)
{
	lost = true;
	for (struct event *event = events; event; event = event->next)
		if (!event->told && !event->forced)
			event->forced = CL_DEVICE_NOT_AVAILABLE;
}

/* Before a command: 0, or its error; *ret_failure is what its event will end with. */
static cl_int command_begin(enum function f, cl_uint n_waits, const cl_event *waits, cl_int *ret_failure)
{
	cl_int error = enter(f);

	if (!error && plan.no_svm && begins(names[f], "clEnqueueSVM"))
		error = CL_INVALID_OPERATION;
	pthread_mutex_lock(&lock);
	*ret_failure = error ? 0 : planned(true, f);
	for (cl_uint i = 0; i < n_waits; i++) {
		struct event *event = event_find(waits[i]);

		if (event && event->forced && !*ret_failure)
			*ret_failure = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

/* And after it, with what the driver returned. */
static cl_int command_end(cl_command_queue queue, bool blocking, cl_int failure, cl_int error, cl_event *ret_event)
{
	if (error)
		return error;
	if (blocking && failure) {
		if (ret_event)
			real.clReleaseEvent(*ret_event);
		return failure;
	}
	if (ret_event)
		real_retain_event(*ret_event);
	pthread_mutex_lock(&lock);
	if (blocking)
		queue_told(queue);
	if (ret_event) {
		struct event *event = allocated(sizeof(*event));

		*event = (struct event){ events, *ret_event, queue, failure, true, blocking, 1 };
		if (lost && !blocking && !failure)
			event->forced = CL_DEVICE_NOT_AVAILABLE;
		events = event;
		counts[EVENTS].created++;
	}
	if (++n_commands == plan.lost)
		lose_device();
	pthread_mutex_unlock(&lock);
	return CL_SUCCESS;
}

#define ENQUEUE(name, blocking, params, args) \
	cl_int CL_API_CALL name params \
	{ \
		cl_int failure, error = command_begin(F_##name, n_waits, waits, &failure); \
		return error ? error : command_end(queue, blocking, failure, real.name args, event); \
	}
#define WAITS cl_uint n_waits, const cl_event *waits, cl_event *event

ENQUEUE(clEnqueueReadBuffer, block,
	(cl_command_queue queue, cl_mem src, cl_bool block, size_t offset, size_t size, void *dst, WAITS),
	(queue, src, block, offset, size, dst, n_waits, waits, event))
ENQUEUE(clEnqueueWriteBuffer, block,
	(cl_command_queue queue, cl_mem dst, cl_bool block, size_t offset, size_t size, const void *src, WAITS),
	(queue, dst, block, offset, size, src, n_waits, waits, event))
ENQUEUE(clEnqueueCopyBuffer, false,
	(cl_command_queue queue, cl_mem src, cl_mem dst, size_t src_offset, size_t dst_offset, size_t size, WAITS),
	(queue, src, dst, src_offset, dst_offset, size, n_waits, waits, event))
ENQUEUE(clEnqueueFillBuffer, false,
	(cl_command_queue queue, cl_mem dst, const void *pattern, size_t pattern_size, size_t offset, size_t size,
	 WAITS),
	(queue, dst, pattern, pattern_size, offset, size, n_waits, waits, event))
ENQUEUE(clEnqueueUnmapMemObject, false,
	(cl_command_queue queue, cl_mem mem, void *mapped, WAITS), (queue, mem, mapped, n_waits, waits, event))
ENQUEUE(clEnqueueMarkerWithWaitList, false, (cl_command_queue queue, WAITS), (queue, n_waits, waits, event))
ENQUEUE(clEnqueueSVMMemcpy, block,
	(cl_command_queue queue, cl_bool block, void *dst, const void *src, size_t size, WAITS),
	(queue, block, dst, src, size, n_waits, waits, event))
ENQUEUE(clEnqueueSVMMemFill, false,
	(cl_command_queue queue, void *dst, const void *pattern, size_t pattern_size, size_t size, WAITS),
	(queue, dst, pattern, pattern_size, size, n_waits, waits, event))

void *CL_API_CALL clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool block, cl_map_flags flags,
				     size_t offset, size_t size, WAITS, cl_int *ret_error)
{
	cl_int failure, error = command_begin(F_clEnqueueMapBuffer, n_waits, waits, &failure);
	void *mapped;

	if (error)
		return none(error, ret_error);
	mapped = real.clEnqueueMapBuffer(queue, mem, block, flags, offset, size, n_waits, waits, event, &error);
	if (!error && block && failure)
		real.clEnqueueUnmapMemObject(queue, mem, mapped, 0, NULL, NULL);
	error = command_end(queue, block, failure, error, event);
	if (error)
		return none(error, ret_error);
	if (ret_error)
		*ret_error = CL_SUCCESS;
	return mapped;
}

cl_int CL_API_CALL clFinish(cl_command_queue queue)
{
	cl_int error = enter(F_clFinish);

	if (!error)
		error = real.clFinish(queue);
	if (error)
		return error;
	pthread_mutex_lock(&lock);
	queue_told(queue);
	pthread_mutex_unlock(&lock);
	return CL_SUCCESS;
}

cl_int CL_API_CALL clReleaseEvent(cl_event handle)
{
	cl_int error = enter(F_clReleaseEvent);
	struct event *event;
	bool held;

	if (error)
		return error;
	pthread_mutex_lock(&lock);
	event = event_find(handle);
	held = event && event->held;
	if (held) {
		event->held = false;
		counts[EVENTS].released++;
	}
	pthread_mutex_unlock(&lock);
	if (!held)
		die("clReleaseEvent of an event that was released, or never was one");
	error = real.clReleaseEvent(handle);
	event_put(event);
	return error;
}

cl_int CL_API_CALL clWaitForEvents(cl_uint n, const cl_event *handles)
{
	cl_int error = enter(F_clWaitForEvents);

	if (!error)
		error = real.clWaitForEvents(n, handles);
	if (error && error != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
		return error;
	pthread_mutex_lock(&lock);
	for (cl_uint i = 0; i < n; i++) {
		struct event *event = event_find(handles[i]);

		if (event && event_status(event, CL_COMPLETE))
			error = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

cl_int CL_API_CALL clGetEventInfo(cl_event handle, cl_event_info info, size_t size, void *ret, size_t *ret_size)
{
	cl_int error = enter(F_clGetEventInfo), status;
	struct event *event;

	if (error)
		return error;
	if (info != CL_EVENT_COMMAND_EXECUTION_STATUS)
		return real.clGetEventInfo(handle, info, size, ret, ret_size);
	error = real.clGetEventInfo(handle, info, sizeof(status), &status, NULL);
	if (error)
		return error;
	pthread_mutex_lock(&lock);
	event = event_find(handle);
	if (event)
		status = event_status(event, status);
	pthread_mutex_unlock(&lock);
	return answer(&status, sizeof(status), size, ret, ret_size);
}

cl_int CL_API_CALL clGetEventProfilingInfo(cl_event handle, cl_profiling_info info, size_t size, void *ret,
					   size_t *ret_size)
{
	cl_int error = enter(F_clGetEventProfilingInfo);
	struct event *event;

	pthread_mutex_lock(&lock);
	event = event_find(handle);
	if (!error && event && event->forced)
		error = CL_PROFILING_INFO_NOT_AVAILABLE;
	pthread_mutex_unlock(&lock);
	return error ? error : real.clGetEventProfilingInfo(handle, info, size, ret, ret_size);
}

/* ---- callbacks, at once or late */

struct callback {
	struct callback *next;		/* late ones, the earliest first */
	uint64_t due_ns;
	struct event *event;
	void (CL_CALLBACK *function)(cl_event, cl_int, void *);
	void *user;
	cl_int status;			/* the driver's */
};

static struct callback *late;
static pthread_cond_t late_more;
static pthread_once_t late_once = PTHREAD_ONCE_INIT;

static void deliver(struct callback *callback)
{
	cl_int status;

	pthread_mutex_lock(&lock);
	status = event_status(callback->event, callback->status);
	pthread_mutex_unlock(&lock);
	in_callback = true;
	callback->function(callback->event->event, status, callback->user);
	in_callback = false;
	event_put(callback->event);
	free(callback);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *late_main(void *unused)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		struct callback *first = late;
		struct timespec due;

		if (!first) {
			pthread_cond_wait(&late_more, &lock);
		} else if (first->due_ns > now_ns()) {
			due.tv_sec = (time_t)(first->due_ns / 1000000000u);
			due.tv_nsec = (long)(first->due_ns % 1000000000u);
			pthread_cond_timedwait(&late_more, &lock, &due);
		} else {
			late = first->next;
			pthread_mutex_unlock(&lock);
			deliver(first);
			pthread_mutex_lock(&lock);
		}
	}
	return NULL;
}

static void late_start(void)
{
	pthread_condattr_t monotonic;
	sigset_t all, old;
	pthread_t thread;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&late_more, &monotonic);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, NULL, late_main, NULL))
		die("no thread for late callbacks");
	pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* With the lock. */
static uint64_t random_delay_ns(void)
{
	plan.seed = plan.seed * 6364136223846793005u + 1442695040888963407u;
	return (plan.seed >> 33) % LATEST_NS;
}

static void deliver_late(struct callback *callback)
{
	struct callback **at;

	pthread_mutex_lock(&lock);
	callback->due_ns = now_ns() + random_delay_ns();
	for (struct callback *other = late; other; other = other->next)
		if (other->event->queue == callback->event->queue && other->due_ns > callback->due_ns)
			callback->due_ns = other->due_ns;
	for (at = &late; *at && (*at)->due_ns <= callback->due_ns; at = &(*at)->next)
		;
	callback->next = *at;
	*at = callback;
	pthread_cond_signal(&late_more);
	pthread_mutex_unlock(&lock);
}

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *user)
{
	struct callback *callback = user;

	callback->status = status;
	if (plan.late)
		deliver_late(callback);
	else
		deliver(callback);
}

cl_int CL_API_CALL clSetEventCallback(cl_event handle, cl_int type,
				      void (CL_CALLBACK *function)(cl_event, cl_int, void *), void *user)
{
	cl_int error = enter(F_clSetEventCallback);
	struct callback *callback;
	struct event *event;

	if (error)
		return error;
	if (plan.late)
		pthread_once(&late_once, late_start);
	pthread_mutex_lock(&lock);
	event = event_find(handle);
	if (event)
		event->n_refs++;
	pthread_mutex_unlock(&lock);
	if (!event)
		die("clSetEventCallback of an event that was released, or never was one");
	callback = allocated(sizeof(*callback));
	callback->event = event;
	callback->function = function;
	callback->user = user;
	error = real.clSetEventCallback(handle, type, on_event, callback);
	if (error) {
		event_put(event);
		free(callback);
	}
	return error;
}

/* ---- memory */

struct memory {
	struct memory *next;
	const void *handle;		/* a buffer, or SVM */
	size_t size;
	cl_ulong address;		/* 0: none */
};

static struct memory *memories;
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

/* With the lock: the memory that has this address. */
static struct memory *memory_at(cl_ulong address)
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

static void *CL_API_CALL usm_alloc(cl_context context, cl_device_id device, const cl_ulong *properties, size_t size,
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

static cl_int CL_API_CALL usm_free(cl_context context, void *svm)
{
	cl_int error = enter(F_clMemFreeINTEL);

	if (error)
		return error;
	if (svm)
		memory_gone(svm);
	real.clSVMFree(context, svm);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL usm_memcpy(cl_command_queue queue, cl_bool block, void *dst, const void *src, size_t size,
				     WAITS)
{
	cl_int failure, error = command_begin(F_clEnqueueMemcpyINTEL, n_waits, waits, &failure);

	if (!error)
		error = real.clEnqueueSVMMemcpy(queue, block, dst, src, size, n_waits, waits, event);
	return error ? error : command_end(queue, block, failure, CL_SUCCESS, event);
}

static cl_int CL_API_CALL usm_fill(cl_command_queue queue, void *dst, const void *pattern, size_t pattern_size,
				   size_t size, WAITS)
{
	cl_int failure, error = command_begin(F_clEnqueueMemFillINTEL, n_waits, waits, &failure);

	if (!error)
		error = real.clEnqueueSVMMemFill(queue, dst, pattern, pattern_size, size, n_waits, waits, event);
	return error ? error : command_end(queue, false, failure, CL_SUCCESS, event);
}

static cl_int CL_API_CALL usm_set_arg(cl_kernel kernel, cl_uint index, const void *pointer)
{
	cl_int error = enter(F_clSetKernelArgMemPointerINTEL);

	return error ? error : real.clSetKernelArgSVMPointer(kernel, index, pointer);
}

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

/* What a kernel was told it may reach. Kept for good: a driver's new kernel replaces it. */
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
