/* SPDX-License-Identifier: MIT */
/* driver.c - the driver double: its plan, what every function begins with, contexts, and queries. */
#include "driver_own.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_RULES 32
#define STACK 32
#define UUID "adsm-test-device"
#define DEVICE_NAME "CUDA driver double"

extern struct call __start_driver_calls[], __stop_driver_calls[];

struct plan plan = { .memory = GiB };
struct test_cuda_counts counts;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed;
_Thread_local bool driver_in_callback;
static pthread_mutex_t answering = PTHREAD_MUTEX_INITIALIZER;	/* outside the other */

static struct {
	char name[80];
	uint64_t nth, n_calls;
	CUresult error;
	bool sticks;
} rules[MAX_RULES];
static size_t n_rules;

enum { NOT_STARTED, STARTED, ENDED, FORKED };

static _Atomic int state;		/* helper threads come here when the process ends, too */
struct context *contexts;
static struct context primary = { .primary = true };
static unsigned n_retained, n_contexts_made;
static CUresult lost_for_good;		/* what every call says that needs a device that works */
static _Thread_local struct context *stack[STACK];
static _Thread_local unsigned depth;
static uint64_t random_state = 1;

void driver_say(const char *format, ...)
{
	char text[512];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text) - 1, format, args);
	va_end(args);
	if (n > (int)sizeof(text) - 2)
		n = (int)sizeof(text) - 2;
	fprintf(stderr, "cuda double: %.*s\n", n, text);
}

__attribute__((noreturn))
static void die(const char *what, const char *word)
{
	driver_say("TEST_CUDA has '%s', %s", word, what);
	_exit(2);
}

uint64_t driver_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t driver_random(void)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return random_state >> 33;
}

/* ---- the plan */

static uint64_t number(const char *word, const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (*end == 'M' && !end[1])
		return value * MiB;
	if (*end == 'G' && !end[1])
		return value * GiB;
	if (!*text || *end)
		die("which ends with no number", word);
	return value;
}

static void add_rule(const char *word, const char *text, bool sticks)
{
	int error = sticks ? CUDA_ERROR_LAUNCH_FAILED : CUDA_ERROR_UNKNOWN;
	char end;
	int n;

	if (n_rules == MAX_RULES)
		die("one too many", word);
	n = sscanf(text, "%79[^:]:%" SCNu64 ":%d%c", rules[n_rules].name, &rules[n_rules].nth, &error, &end);
	if ((n != 2 && n != 3) || !driver_find(rules[n_rules].name))
		die("which is no NAME:N[:ERROR] of a function there is", word);
	rules[n_rules].error = error;
	rules[n_rules].sticks = sticks;
	n_rules++;
}

static void plan_seed(uint64_t seed)
{
	static const struct {
		const char *name;
		bool *flag;
	} words[] = {
		{ "elsewhere", &plan.elsewhere }, { "no-vmm", &plan.no_vmm }, { "strict", &plan.strict },
		{ "late", &plan.late }, { "order", &plan.order }, { "poison", &plan.poison },
	};
	char text[128] = "";

	plan.seed = seed;
	random_state = seed * 2 + 1;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (driver_random() % 2)
			continue;
		*words[i].flag = true;
		strcat(text, " ");
		strcat(text, words[i].name);
	}
	driver_say("seed=%" PRIu64 ":%s", seed, *text ? text : " nothing");
}

static void plan_word(const char *word)
{
	static const struct {
		const char *name;
		bool *flag;
	} flags[] = {
		{ "no-device", &plan.no_device }, { "stub", &plan.stub }, { "old", &plan.old },
		{ "no-vmm", &plan.no_vmm }, { "no-unified", &plan.no_unified }, { "elsewhere", &plan.elsewhere },
		{ "strict", &plan.strict }, { "late", &plan.late }, { "order", &plan.order },
		{ "readable", &plan.readable }, { "poison", &plan.poison }, { "signals", &plan.signals },
		{ "peers", &plan.peers }, { "patient", &plan.patient },
		{ "stays-lost", &plan.stays_lost },
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (!strcmp(flags[i].name, word)) {
			*flags[i].flag = true;
			return;
		}
	}
	if (!strcmp(word, "low-memory"))
		plan.memory = 64 * MiB;
	else if (!strncmp(word, "memory=", 7))
		plan.memory = number(word, word + 7);
	else if (!strncmp(word, "seed=", 5))
		plan_seed(number(word, word + 5));
	else if (!strncmp(word, "launch=", 7)) {
		plan.instant = true;
		plan.launch_ns = number(word, word + 7);
	} else if (!strncmp(word, "count=", 6))
		plan.count = strdup(word + 6);
	else if (!strncmp(word, "fail=", 5))
		add_rule(word, word + 5, false);
	else if (!strncmp(word, "lost=", 5))
		add_rule(word, word + 5, true);
	else
		die("which is no word of the driver double's", word);
}

static void in_fork(void)
{
	if (state == STARTED)
		state = FORKED;
}

__attribute__((constructor))
static void start(void)
{
	const char *text = getenv("TEST_CUDA");
	char *words = text ? strdup(text) : NULL, *rest = words;
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &attr);
	for (char *word; (word = strsep(&rest, ","));) {
		if (*word)
			plan_word(word);
	}
	free(words);
	for (struct call *call = __start_driver_calls; call < __stop_driver_calls; call++)
		call->answers = strstr(call->name, "Get") || strstr(call->name, "Is") ||
			strstr(call->name, "Elapsed") || strstr(call->name, "Occupancy") ||
			strstr(call->name, "Create") || strstr(call->name, "KernelNode") ||
			strstr(call->name, "HostAlloc") || strstr(call->name, "TotalMem") ||
			strstr(call->name, "EndCapture") || strstr(call->name, "AddNode") ||
			strstr(call->name, "NodeSetParams");
	pthread_atfork(NULL, NULL, in_fork);
}

/* As the real one ends: by a handler of exit(), so that those that were registered before cuInit() find it gone. */
static void end(void)
{
	if (state == STARTED)
		state = ENDED;
}

__attribute__((destructor))
static void write_counts(void)
{
	FILE *file;

	if (state == FORKED)
		return;
	file = plan.count ? fopen(plan.count, "w") : NULL;
	if (!file)
		return;
	for (struct call *call = __start_driver_calls; call < __stop_driver_calls; call++) {
		uint64_t n = __atomic_load_n(&call->n, __ATOMIC_RELAXED);

		if (n)
			fprintf(file, "%s %" PRIu64 "\n", call->name, n);
	}
	fclose(file);
}

struct call *driver_find(const char *name)
{
	for (struct call *call = __start_driver_calls; call < __stop_driver_calls; call++) {
		if (!strcmp(call->name, name))
			return call;
	}
	return NULL;
}

/* ---- what every function begins with */

struct context *driver_current(void)
{
	return depth ? stack[depth - 1] : NULL;
}

void driver_count(uint64_t *n)
{
	pthread_mutex_lock(&lock);
	++*n;
	pthread_mutex_unlock(&lock);
}

void driver_fail_context(struct context *ctx, CUresult error)
{
	if (!ctx->error)
		ctx->error = error;
	if (plan.stays_lost)
		lost_for_good = ctx->error;
}

/* Those that make and end things do; those that say what is current, or which devices there are, do not. */
static bool needs_device(const char *name)
{
	return !strncmp(name, "cuMem", 5) || !strncmp(name, "cuCtxCreate", 11) || !strncmp(name, "cuCtxDestroy", 12) ||
		!strncmp(name, "cuDevicePrimaryCtxRe", 20);
}

static void check_signals(const char *name)
{
	sigset_t mask;
	int state;

	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_setcancelstate(state, NULL);
	/* A thread that has all blocked is one that the program does not know. */
	if (driver_in_callback ||
	    (sigismember(&mask, SIGUSR1) && (state == PTHREAD_CANCEL_DISABLE || sigismember(&mask, SIGSEGV))))
		return;
	driver_say("%s was entered with SIGUSR1 unblocked, or by a thread that can be cancelled", name);
	_exit(DRIVER_SIGNALS_STATUS);
}

/* What the plan says of this call; with the lock. */
static CUresult planned(const char *name)
{
	CUresult error = 0;

	for (size_t i = 0; i < n_rules; i++) {
		if (strcmp(rules[i].name, name) || ++rules[i].n_calls != rules[i].nth)
			continue;
		error = rules[i].error;
		if (rules[i].sticks && driver_current())
			driver_fail_context(driver_current(), error);
	}
	return error;
}

CUresult driver_enter(struct call *call, int needs, struct context **ret_ctx)
{
	struct context *ctx = driver_current();
	CUresult error = 0;

	__atomic_fetch_add(&call->n, 1, __ATOMIC_RELAXED);
	if (strcmp(call->name, "cuCtxGetCurrent"))
		__atomic_fetch_add(&counts.calls, 1, __ATOMIC_RELAXED);
	if (plan.signals)
		check_signals(call->name);
	if (state == FORKED)
		return needs == ANY ? 0 : CUDA_ERROR_NOT_INITIALIZED;
	pthread_mutex_lock(&answering);
	pthread_mutex_unlock(&answering);
	pthread_mutex_lock(&lock);
	if (n_rules)
		error = planned(call->name);
	if (!error && needs != ANY && state != STARTED)
		error = state == ENDED ? CUDA_ERROR_DEINITIALIZED : CUDA_ERROR_NOT_INITIALIZED;
	if (!error && lost_for_good && (needs == IN_CONTEXT || needs_device(call->name)))
		error = lost_for_good;
	if (!error && needs == IN_CONTEXT) {
		if (driver_in_callback)
			error = CUDA_ERROR_NOT_PERMITTED;
		else if (!ctx)
			error = CUDA_ERROR_INVALID_CONTEXT;
		else if (!ctx->alive)
			error = CUDA_ERROR_CONTEXT_IS_DESTROYED;
		if (!error && !ctx->error && !plan.instant && device_gone())
			for (struct context *each = contexts; each; each = each->next)
				driver_fail_context(each, CUDA_ERROR_LAUNCH_FAILED);
		if (!error)
			error = ctx->error;
	}
	pthread_mutex_unlock(&lock);
	if (ret_ctx)
		*ret_ctx = ctx;
	return error;
}

bool driver_answers(const struct call *call)
{
	const bool answers = call->answers && state != FORKED;

	if (answers)
		pthread_mutex_lock(&answering);
	return answers;
}

void driver_answered(const bool *answers)
{
	if (*answers)
		pthread_mutex_unlock(&answering);
}

__attribute__((visibility("default"))) test_cuda_counts_fn test_cuda_counts;
void test_cuda_counts(struct test_cuda_counts *ret_counts)
{
	uint64_t calls = 0;

	for (struct call *call = __start_driver_calls; call < __stop_driver_calls; call++)
		calls += __atomic_load_n(&call->n, __ATOMIC_RELAXED);
	pthread_mutex_lock(&lock);
	*ret_counts = counts;
	pthread_mutex_unlock(&lock);
	ret_counts->all_calls = calls;
}

__attribute__((visibility("default"))) test_cuda_function_fn test_cuda_function;
void *test_cuda_function(const char *name)
{
	struct call *call = driver_find(name);

	return call ? call->function : NULL;
}

__attribute__((visibility("default"))) test_cuda_copy_fn test_cuda_copy;
void test_cuda_copy(void *dst, const void *src, size_t size)
{
	pthread_mutex_lock(&answering);
	memcpy(dst, src, size);
	pthread_mutex_unlock(&answering);
}

__attribute__((visibility("default"))) test_cuda_read_fn test_cuda_read;
long test_cuda_read(int fd, void *p, size_t size)
{
	long n;

	pthread_mutex_lock(&answering);
	n = read(fd, p, size);
	pthread_mutex_unlock(&answering);
	return n;
}

/* ---- starting */

CU(cuInit, (unsigned flags))
{
	CUresult error = 0;

	ENTER(cuInit, ANY);
	if (plan.stub)
		return CUDA_ERROR_STUB_LIBRARY;
	if (plan.no_device)
		return CUDA_ERROR_NO_DEVICE;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (state == FORKED)		/* a thread that does not exist in this process may hold the lock */
		return CUDA_ERROR_NOT_INITIALIZED;
	pthread_mutex_lock(&lock);
	if (state == ENDED) {
		error = CUDA_ERROR_DEINITIALIZED;
	} else if (state == NOT_STARTED) {
		if (device_start()) {
			error = CUDA_ERROR_OPERATING_SYSTEM;
		} else {
			memory_reset();
			state = STARTED;
			atexit(end);
		}
	}
	pthread_mutex_unlock(&lock);
	return error;
}

CU(cuDriverGetVersion, (int *version))
{
	ENTER(cuDriverGetVersion, ANY);
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = plan.old ? DRIVER_OLD_VERSION : DRIVER_VERSION;
	return 0;
}

#define ERRORS(E) \
	E(INVALID_VALUE) E(OUT_OF_MEMORY) E(NOT_INITIALIZED) E(DEINITIALIZED) E(STUB_LIBRARY) E(DEVICE_UNAVAILABLE) \
	E(NO_DEVICE) E(INVALID_DEVICE) E(INVALID_IMAGE) E(INVALID_CONTEXT) E(NO_BINARY_FOR_GPU) E(ECC_UNCORRECTABLE) \
	E(CONTEXT_ALREADY_IN_USE) E(INVALID_PTX) E(UNSUPPORTED_PTX_VERSION) E(INVALID_SOURCE) E(FILE_NOT_FOUND) \
	E(OPERATING_SYSTEM) E(INVALID_HANDLE) E(ILLEGAL_STATE) E(NOT_FOUND) E(NOT_READY) E(ILLEGAL_ADDRESS) \
	E(LAUNCH_OUT_OF_RESOURCES) E(LAUNCH_TIMEOUT) E(PRIMARY_CONTEXT_ACTIVE) E(CONTEXT_IS_DESTROYED) E(ASSERT) \
	E(HOST_MEMORY_ALREADY_REGISTERED) E(HOST_MEMORY_NOT_REGISTERED) E(HARDWARE_STACK_ERROR) \
	E(ILLEGAL_INSTRUCTION) E(MISALIGNED_ADDRESS) E(INVALID_ADDRESS_SPACE) E(INVALID_PC) E(LAUNCH_FAILED) \
	E(NOT_PERMITTED) E(NOT_SUPPORTED) E(SYSTEM_NOT_READY) E(SYSTEM_DRIVER_MISMATCH) \
	E(STREAM_CAPTURE_UNSUPPORTED) E(STREAM_CAPTURE_INVALIDATED) E(STREAM_CAPTURE_UNMATCHED) \
	E(STREAM_CAPTURE_UNJOINED) E(STREAM_CAPTURE_IMPLICIT) E(UNKNOWN)

static const char *error_name(CUresult error)
{
	switch (error) {
	case CUDA_SUCCESS:
		return "CUDA_SUCCESS";
#define NAME(name) case CUDA_ERROR_##name: return "CUDA_ERROR_" #name;
	ERRORS(NAME)
#undef NAME
	default:
		return NULL;
	}
}

CU(cuGetErrorName, (CUresult error, const char **name))
{
	ENTER(cuGetErrorName, ANY);
	*name = error_name(error);
	return *name ? 0 : CUDA_ERROR_INVALID_VALUE;
}

CU(cuGetErrorString, (CUresult error, const char **text))
{
	ENTER(cuGetErrorString, ANY);
	*text = error_name(error);
	return *text ? 0 : CUDA_ERROR_INVALID_VALUE;
}

/* What it has for NVIDIA's own libraries. There is nothing of the kind here. */
CU(cuGetExportTable, (const void **table, const CUuuid *id))
{
	ENTER(cuGetExportTable, ANY);
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- devices */

CU(cuDeviceGetCount, (int *count))
{
	ENTER(cuDeviceGetCount, INITIALISED);
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = 1;
	return 0;
}

CU(cuDeviceGet, (CUdevice *device, int ordinal))
{
	ENTER(cuDeviceGet, INITIALISED);
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (ordinal)
		return CUDA_ERROR_INVALID_DEVICE;
	*device = 0;
	return 0;
}

CU(cuDeviceGetName, (char *name, int size, CUdevice device))
{
	ENTER(cuDeviceGetName, INITIALISED);
	if (device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!name || size <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(name, (size_t)size, "%s", DEVICE_NAME);
	return 0;
}

static CUresult device_uuid(CUuuid *uuid, CUdevice device)
{
	if (device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(uuid, UUID, sizeof(*uuid));
	return 0;
}

CU(cuDeviceGetUuid, (CUuuid *uuid, CUdevice device))
{
	ENTER(cuDeviceGetUuid, INITIALISED);
	return device_uuid(uuid, device);
}

CU(cuDeviceGetUuid_v2, (CUuuid *uuid, CUdevice device))
{
	ENTER(cuDeviceGetUuid_v2, INITIALISED);
	return device_uuid(uuid, device);
}

CU(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device))
{
	ENTER(cuDeviceTotalMem_v2, INITIALISED);
	if (device)
		return CUDA_ERROR_INVALID_DEVICE;
	*bytes = plan.memory;
	return 0;
}

CU(cuDeviceGetPCIBusId, (char *text, int size, CUdevice device))
{
	ENTER(cuDeviceGetPCIBusId, INITIALISED);
	if (device)
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(text, (size_t)size, "0000:01:00.0");
	return 0;
}

CU(cuDeviceCanAccessPeer, (int *can, CUdevice device, CUdevice peer))
{
	ENTER(cuDeviceCanAccessPeer, INITIALISED);
	if (device || peer)
		return CUDA_ERROR_INVALID_DEVICE;
	*can = 0;
	return 0;
}

CU(cuDeviceComputeCapability, (int *major, int *minor, CUdevice device))
{
	ENTER(cuDeviceComputeCapability, INITIALISED);
	*major = 9;
	*minor = 0;
	return device ? CUDA_ERROR_INVALID_DEVICE : 0;
}

CU(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))
{
	bool vmm = !plan.no_vmm && !plan.old;

	ENTER(cuDeviceGetAttribute, INITIALISED);
	if (device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!value || attribute < 1 || attribute > 160)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
		*value = 1024;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
		*value = 64;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
		*value = INT32_MAX;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
		*value = 65535;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
		*value = 48 * 1024;
		break;
	case 10:	/* warp size */
		*value = 32;
		break;
	case 11:	/* largest pitch */
		*value = INT32_MAX;
		break;
	case 13:	/* clock rate, kHz */
		*value = 1000000;
		break;
	case 14:	/* alignment of textures, and of rows */
	case 51:
		*value = 512;
		break;
	case 39:	/* threads of a multiprocessor */
		*value = 2048;
		break;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		*value = 4;
		break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		*value = 9;
		break;
	case 97:	/* shared memory of a block, on request */
		*value = 227 * 1024;
		break;
	case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
		*value = !plan.no_unified;
		break;
	case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
		*value = vmm;
		break;
	case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
		*value = !plan.old;
		break;
	case 15:	/* copies and kernels at the same time */
	case 19:	/* maps host memory */
	case 31:	/* concurrent kernels */
	case 40:	/* engines for copies */
	case 83:	/* managed memory */
		*value = 1;
		break;
	default:
		*value = 0;
	}
	return 0;
}

/* ---- contexts */

static void begin_context(struct context *ctx)
{
	ctx->alive = true;
	ctx->error = 0;
	ctx->id = ++n_contexts_made;
	ctx->n_capturing = 0;
	stream_begin_context(ctx);
	counts.contexts++;
}

/* Everything of it goes; the lock is not held. */
static void end_context(struct context *ctx)
{
	stream_end_context(ctx);
	module_end_context(ctx);
	memory_end_context(ctx);
	pthread_mutex_lock(&lock);
	ctx->alive = false;
	counts.contexts--;
	pthread_mutex_unlock(&lock);
}

static struct context *context_of(CUcontext handle)
{
	struct context *ctx = contexts;

	while (ctx && (CUcontext)ctx != handle)
		ctx = ctx->next;
	return ctx;
}

static void add_context(struct context *ctx)
{
	ctx->next = contexts;
	contexts = ctx;
}

CU(cuDevicePrimaryCtxRetain, (CUcontext *ret, CUdevice device))
{
	ENTER(cuDevicePrimaryCtxRetain, INITIALISED);
	if (device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	if (!context_of((CUcontext)&primary))
		add_context(&primary);
	if (!n_retained++ && !primary.alive)
		begin_context(&primary);
	pthread_mutex_unlock(&lock);
	*ret = (CUcontext)&primary;
	return 0;
}

static CUresult primary_release(CUdevice device)
{
	bool last;

	if (device)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&lock);
	if (!n_retained) {
		pthread_mutex_unlock(&lock);
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	last = !--n_retained;
	pthread_mutex_unlock(&lock);
	if (last)
		end_context(&primary);
	return 0;
}

static CUresult primary_reset(CUdevice device)
{
	CUresult error = 0;

	if (device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (primary.alive)
		end_context(&primary);
	pthread_mutex_lock(&lock);
	if (device_gone()) {
		for (struct context *ctx = contexts; ctx; ctx = ctx->next)
			driver_fail_context(ctx, CUDA_ERROR_LAUNCH_FAILED);
		if (device_start())
			error = CUDA_ERROR_OPERATING_SYSTEM;
		else
			memory_reset();
	}
	if (!error && n_retained)
		begin_context(&primary);
	pthread_mutex_unlock(&lock);
	return error;
}

CU(cuDevicePrimaryCtxRelease, (CUdevice device))
{
	ENTER(cuDevicePrimaryCtxRelease, INITIALISED);
	return primary_release(device);
}

CU(cuDevicePrimaryCtxRelease_v2, (CUdevice device))
{
	ENTER(cuDevicePrimaryCtxRelease_v2, INITIALISED);
	return primary_release(device);
}

CU(cuDevicePrimaryCtxReset, (CUdevice device))
{
	ENTER(cuDevicePrimaryCtxReset, INITIALISED);
	return primary_reset(device);
}

CU(cuDevicePrimaryCtxReset_v2, (CUdevice device))
{
	ENTER(cuDevicePrimaryCtxReset_v2, INITIALISED);
	return primary_reset(device);
}

CU(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned *flags, int *active))
{
	ENTER(cuDevicePrimaryCtxGetState, INITIALISED);
	if (device)
		return CUDA_ERROR_INVALID_DEVICE;
	*flags = primary.flags;
	*active = primary.alive;
	return 0;
}

static CUresult primary_flags(CUdevice device, unsigned flags)
{
	if (device)
		return CUDA_ERROR_INVALID_DEVICE;
	primary.flags = flags;
	return 0;
}

CU(cuDevicePrimaryCtxSetFlags, (CUdevice device, unsigned flags))
{
	ENTER(cuDevicePrimaryCtxSetFlags, INITIALISED);
	return primary_flags(device, flags);
}

CU(cuDevicePrimaryCtxSetFlags_v2, (CUdevice device, unsigned flags))
{
	ENTER(cuDevicePrimaryCtxSetFlags_v2, INITIALISED);
	return primary_flags(device, flags);
}

static CUresult create(CUcontext *ret, unsigned flags, CUdevice device)
{
	struct context *ctx;

	if (device)
		return CUDA_ERROR_INVALID_DEVICE;
	ctx = ret && depth < STACK ? calloc(1, sizeof(*ctx)) : NULL;
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	ctx->flags = flags;
	ctx->n_attached = 1;
	pthread_mutex_lock(&lock);
	add_context(ctx);
	begin_context(ctx);
	pthread_mutex_unlock(&lock);
	stack[depth++] = ctx;
	*ret = (CUcontext)ctx;
	return 0;
}

CU_OBSOLETE(cuCtxCreate)

CU(cuCtxCreate_v2, (CUcontext *ret, unsigned flags, CUdevice device))
{
	ENTER(cuCtxCreate_v2, INITIALISED);
	return create(ret, flags, device);
}

CU(cuCtxCreate_v3, (CUcontext *ret, void *affinity, int n, unsigned flags, CUdevice device))
{
	ENTER(cuCtxCreate_v3, INITIALISED);
	return create(ret, flags, device);
}

CU(cuCtxCreate_v4, (CUcontext *ret, void *params, unsigned flags, CUdevice device))
{
	ENTER(cuCtxCreate_v4, INITIALISED);
	return create(ret, flags, device);
}

/* The handle stays known: use after the end is seen. */
static CUresult destroy(CUcontext handle)
{
	struct context *ctx;

	pthread_mutex_lock(&lock);
	ctx = context_of(handle);
	pthread_mutex_unlock(&lock);
	if (!ctx || ctx->primary || !ctx->alive)
		return CUDA_ERROR_INVALID_CONTEXT;
	end_context(ctx);
	if (driver_current() == ctx)
		depth--;
	return 0;
}

CU(cuCtxDestroy, (CUcontext handle))
{
	ENTER(cuCtxDestroy, INITIALISED);
	return destroy(handle);
}

CU(cuCtxDestroy_v2, (CUcontext handle))
{
	ENTER(cuCtxDestroy_v2, INITIALISED);
	return destroy(handle);
}

static CUresult detach(struct context *ctx, CUcontext handle)
{
	if ((CUcontext)ctx != handle || ctx->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	return --ctx->n_attached ? 0 : destroy(handle);
}

CU_IN(cuCtxAttach, (CUcontext *ret, unsigned flags), (ctx->n_attached++, *ret = (CUcontext)ctx, 0))
CU_IN(cuCtxDetach, (CUcontext handle), detach(ctx, handle))

CU(cuCtxGetCurrent, (CUcontext *ret))
{
	ENTER(cuCtxGetCurrent, INITIALISED);
	*ret = (CUcontext)driver_current();
	return 0;
}

static CUresult known(CUcontext handle)
{
	CUresult error = 0;

	pthread_mutex_lock(&lock);
	if (!context_of(handle))
		error = CUDA_ERROR_INVALID_CONTEXT;
	pthread_mutex_unlock(&lock);
	return error;
}

CU(cuCtxSetCurrent, (CUcontext handle))
{
	ENTER(cuCtxSetCurrent, INITIALISED);
	if (handle && known(handle))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (depth)
		depth--;
	if (handle)
		stack[depth++] = (struct context *)handle;
	return 0;
}

static CUresult push(CUcontext handle)
{
	if (known(handle))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (depth == STACK)
		return CUDA_ERROR_INVALID_VALUE;
	stack[depth++] = (struct context *)handle;
	return 0;
}

static CUresult pop(CUcontext *ret)
{
	if (!depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	depth--;
	if (ret)
		*ret = (CUcontext)stack[depth];
	return 0;
}

CU(cuCtxPushCurrent, (CUcontext handle))
{
	ENTER(cuCtxPushCurrent, INITIALISED);
	return push(handle);
}

CU(cuCtxPushCurrent_v2, (CUcontext handle))
{
	ENTER(cuCtxPushCurrent_v2, INITIALISED);
	return push(handle);
}

CU(cuCtxPopCurrent, (CUcontext *ret))
{
	ENTER(cuCtxPopCurrent, INITIALISED);
	return pop(ret);
}

CU(cuCtxPopCurrent_v2, (CUcontext *ret))
{
	ENTER(cuCtxPopCurrent_v2, INITIALISED);
	return pop(ret);
}

CU(cuCtxGetDevice, (CUdevice *device))
{
	ENTER(cuCtxGetDevice, INITIALISED);
	if (!driver_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	*device = 0;
	return 0;
}

CU(cuCtxGetDevice_v2, (CUdevice *device, CUcontext handle))
{
	ENTER(cuCtxGetDevice_v2, INITIALISED);
	if (handle ? known(handle) : !driver_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	*device = 0;
	return 0;
}

CU(cuCtxGetApiVersion, (CUcontext handle, unsigned *version))
{
	ENTER(cuCtxGetApiVersion, INITIALISED);
	if (handle ? known(handle) : !driver_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	*version = 3020;
	return 0;
}

CU(cuCtxGetId, (CUcontext handle, unsigned long long *id))
{
	struct context *ctx = handle ? (struct context *)handle : driver_current();

	ENTER(cuCtxGetId, INITIALISED);
	if (!ctx || known((CUcontext)ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	*id = ctx->id;
	return 0;
}

CU_IN(cuCtxGetFlags, (unsigned *flags), (*flags = ctx->flags, 0))
CU_IN(cuCtxSetLimit, (int limit, size_t value), 0)
CU_IN(cuCtxGetLimit, (size_t *value, int limit), (*value = 1024, 0))
CU_IN(cuCtxSetCacheConfig, (int config), 0)
CU_IN(cuCtxGetCacheConfig, (int *config), (*config = 0))
CU_IN(cuCtxGetStreamPriorityRange, (int *least, int *greatest), (*least = 0, *greatest = -5, 0))
CU_IN(cuCtxEnablePeerAccess, (CUcontext peer, unsigned flags), plan.peers ? 0 : CUDA_ERROR_INVALID_DEVICE)
CU_IN(cuProfilerStart, (void), 0)
CU_IN(cuProfilerStop, (void), 0)
