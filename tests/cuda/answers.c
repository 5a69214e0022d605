/* SPDX-License-Identifier: MIT */
/*
 * answers.c - a program asks the driver, with the answer in shared memory whose page is closed, and the question, too,
 * if there is one: answers.c CASE. The driver holds a lock while it writes, so a thread that opens the page then waits
 * forever. The library is preloaded. With TEST_ALLOC=adsm the memory is of adsmAlloc(), else the program's own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

/* ---- closed pages */

static CUcontext context;
static CUmodule module;
static CUfunction increment;
static CUdeviceptr data;
static CUstream stream, other;
static CUevent begin, end;

/* What answers and questions are in; and a page more. */
struct page {
	unsigned words[5];
	struct { uint64_t words[64]; } answer[4];
	char text[64], more[4096];
	CUmemAllocationProp prop;
	int attributes[4];
	void *values[4];
};
static struct page *page;
static bool watched;			/* the page is closed, and not just old */

static void *allocate(size_t size)
{
	void *(*alloc)(size_t) = (void *(*)(size_t))(uintptr_t)dlsym(RTLD_DEFAULT, "adsmAlloc");
	const char *how = getenv("TEST_ALLOC");
	CUdeviceptr p;

	if (how && !strcmp(how, "adsm")) {
		CHECK(alloc);
		return alloc(size);
	}
	OK(cuMemAlloc_v2(&p, size));
	return (void *)(uintptr_t)p;
}

/* Any kernel may write anywhere. */
static void close_pages(void)
{
	CUdeviceptr p = data;
	unsigned n = 1;

	OK(cuLaunchKernel(increment, 1, 1, 1, 32, 1, 1, 0, other, (void *[]){ &p, &n }, NULL));
	OK(cuStreamSynchronize(other));
}

/* The same call with its answers in the program's own memory, and in shared memory that holds the same before. */
#define SAME(call) do {								\
		static struct page own;						\
		struct page *at = &own;						\
										\
		ask_first(&own);						\
		OK(call);							\
		ask_first(page);						\
		close_pages();							\
		at = page;							\
		OK(call);							\
		for (size_t i_ = 0; i_ < 4; i_++)				\
			CHECK(!memcmp(&page->answer[i_], &own.answer[i_], sizeof(own.answer[i_])));	\
		CHECK(page->words[4] == 77 && page->attributes[3] == 99);	\
	} while (0)
/* That make something new each time: @set is what has to be there then. */
#define MAKES(call, set) do {							\
		struct page *at = page;						\
										\
		ask_first(page);						\
		close_pages();							\
		OK(call);							\
		CHECK(set);							\
	} while (0)
#define A(i, type) ((type *)(void *)&at->answer[i])
#define A_OF(page_, i) ((void *)&(page_)->answer[i])
#define ANSWER(i, type) (*(type *)memcpy(&(type){ 0 }, &page->answer[i], sizeof(type)))

static void ask_first(struct page *p)
{
	memset(p, 0xee, sizeof(*p));
	memset(p->answer, 0x11, sizeof(p->answer));
	memset(&p->prop, 0, sizeof(p->prop));
	p->words[4] = 77;
	strcpy(p->text, "increment");
	p->prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	p->prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	p->attributes[0] = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
	p->attributes[1] = CU_POINTER_ATTRIBUTE_CONTEXT;
	p->attributes[2] = CU_POINTER_ATTRIBUTE_RANGE_SIZE;
	p->attributes[3] = 99;
	for (int i = 0; i < 4; i++)
		p->values[i] = &p->answer[i];
}

/* ---- cases */

static void queries(void)
{
	SAME(cuGetErrorName(CUDA_ERROR_NOT_READY, A(0, const char *)));
	SAME(cuDriverGetVersion(A(0, int)));
	SAME(cuDeviceGet(A(0, CUdevice), 0));
	SAME(cuDeviceGetCount(A(0, int)));
	SAME(cuDeviceGetName(A(0, char), 40, 0));
	SAME(cuDeviceGetUuid_v2(A(0, CUuuid), 0));
	SAME(cuDeviceTotalMem_v2(A(0, size_t), 0));
	SAME(cuDeviceGetAttribute(A(0, int), CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	SAME(cuDevicePrimaryCtxGetState(0, A(0, unsigned), A(1, int)));
	SAME(cuCtxGetCurrent(A(0, CUcontext)));
	SAME(cuCtxGetDevice(A(0, CUdevice)));
	SAME(cuCtxGetStreamPriorityRange(A(0, int), A(1, int)));
	SAME(cuModuleGetFunction(A(0, CUfunction), module, at->text));
	SAME(cuModuleGetFunctionCount(A(0, unsigned), module));
	SAME(cuModuleEnumerateFunctions(A(0, CUfunction), 3, module));
	SAME(cuFuncGetAttribute(A(0, int), CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, increment));
	SAME(cuFuncGetParamInfo(increment, 1, A(0, size_t), A(1, size_t)));
	SAME(cuOccupancyMaxActiveBlocksPerMultiprocessor(A(0, int), increment, 32, 0));
	SAME(cuMemGetInfo_v2(A(0, size_t), A(1, size_t)));
	SAME(cuMemGetAddressRange_v2(A(0, CUdeviceptr), A(1, size_t), data));
	SAME(cuMemGetAllocationGranularity(A(0, size_t), &at->prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	SAME(cuPointerGetAttribute(A(0, int), CU_POINTER_ATTRIBUTE_MEMORY_TYPE, data));
	SAME(cuPointerGetAttribute(A(0, CUcontext), CU_POINTER_ATTRIBUTE_CONTEXT, data));
	SAME(cuPointerGetAttribute((char *)A(0, int) + 4, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, data));
	SAME(cuPointerGetAttributes(3, at->attributes, at->values, data));
	SAME(cuPointerGetAttributes(3, at->attributes, (void *[]){ A(0, int), A(1, int), A(2, int) }, data));
	SAME(cuStreamGetFlags(stream, A(0, unsigned)));
	SAME(cuStreamGetCtx(stream, A(0, CUcontext)));
	SAME(cuStreamIsCapturing(stream, A(0, int)));
	SAME(cuStreamIsCapturing_ptsz(NULL, A(0, int)));
	SAME(cuStreamGetCaptureInfo_v2(stream, A(0, int), A(1, unsigned long long), NULL, NULL, A(2, size_t)));
	SAME(cuEventElapsedTime(A(0, float), begin, end));
	SAME(cuGetProcAddress_v2(strcpy(at->text, "cuInit"), A(0, void *), 12000, 0, A(1, int)));
}

/* The driver writes to the list of values until the end. */
static void makes_link(void)
{
	int option = 2;			/* a time */
	CUlinkState state;

	page->values[0] = NULL;
	OK(cuLinkCreate_v2(1, &option, page->values, &state));
	page->words[0] = 1;
	OK(cuLinkDestroy(state));
	CHECK(page->values[0] == (void *)(uintptr_t)TEST_CUDA_LINK_TIME && page->words[0] == 1);
}

static void makers(void)
{
	CUlibrary library;
	CUkernel kernel;

	OK(cuLibraryLoadData(&library, module_image, NULL, NULL, 0, NULL, NULL, 0));
	MAKES(cuLibraryGetKernel(A(0, CUkernel), library, at->text), (kernel = ANSWER(0, CUkernel)));
	MAKES(cuKernelGetFunction(A(0, CUfunction), kernel), (void *)ANSWER(0, CUfunction) != (void *)kernel);
	MAKES(cuMemAlloc_v2(A(0, CUdeviceptr), 100), !cuMemFree_v2(ANSWER(0, CUdeviceptr)));
	MAKES(cuMemAllocPitch_v2(A(0, CUdeviceptr), A(1, size_t), 100, 10, 4),
	      ANSWER(1, size_t) >= 100 && !cuMemFree_v2(ANSWER(0, CUdeviceptr)));
	MAKES(cuMemAllocAsync(A(0, CUdeviceptr), 100, stream), !cuMemFree_v2(ANSWER(0, CUdeviceptr)));
	MAKES(cuMemHostAlloc(A(0, void *), 100, 0), memset(ANSWER(0, void *), 1, 100));
	MAKES(cuStreamCreate(A(0, CUstream), CU_STREAM_NON_BLOCKING), ANSWER(0, CUstream) != stream);
	MAKES(cuEventCreate(A(0, CUevent), 0), !cuEventRecord(ANSWER(0, CUevent), stream));
	MAKES(cuModuleLoadData(A(0, CUmodule), module_image), ANSWER(0, CUmodule) != module);
	MAKES(cuDevicePrimaryCtxRetain(A(0, CUcontext), 0), ANSWER(0, CUcontext) == context);
	makes_link();
}

static void captures(void)
{
	CUdeviceptr p = data;
	unsigned n = 1;
	CUgraph graph;

	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuLaunchKernel(increment, 1, 1, 1, 32, 1, 1, 0, stream, (void *[]){ &p, &n }, NULL));
	MAKES(cuStreamIsCapturing(stream, A(0, int)), ANSWER(0, int) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
	MAKES(cuStreamEndCapture(stream, A(0, CUgraph)), (graph = ANSWER(0, CUgraph)));
	MAKES(cuGraphInstantiateWithFlags(A(0, CUgraphExec), graph, 0), ANSWER(0, CUgraphExec));
	/* What goes in and comes out. */
	page->words[0] = CU_STREAM_CAPTURE_MODE_RELAXED;
	close_pages();
	OK(cuThreadExchangeStreamCaptureMode((int *)&page->words[0]));
	CHECK(page->words[0] == CU_STREAM_CAPTURE_MODE_GLOBAL);
	close_pages();
	OK(cuThreadExchangeStreamCaptureMode((int *)&page->words[0]));
	CHECK(page->words[0] == CU_STREAM_CAPTURE_MODE_RELAXED);
}

/* CUDA_KERNEL_NODE_PARAMS, which the driver follows to the arguments. */
struct node {
	CUfunction function;
	unsigned grid[3], block[3], shared;
	void **params, **extra;
	CUkernel kernel;
	CUcontext context;
};

/* CUgraphNodeParams, of a kernel. */
struct any_node {
	int type, reserved[3];
	struct node kernel;
	char rest[256 - 16 - sizeof(struct node)];
};

/* In a page of their own, which was never touched. */
struct arguments {
	void *list[2];
	CUdeviceptr p;
	unsigned n;
};

static void graphs(void)
{
	struct arguments *arguments = allocate(sizeof(*arguments));
	struct node *node = allocate(sizeof(*node)), seen;
	struct any_node *any = allocate(sizeof(*any));
	CUgraphNode first, *handle = (CUgraphNode *)(void *)&page->answer[0];
	CUdeviceptr p;
	CUlibrary library;
	CUgraphExec exec;
	CUgraph graph;
	unsigned word = 40;

	OK(cuMemAlloc_v2(&p, sizeof(word)));
	OK(cuMemcpyHtoD_v2(p, &word, sizeof(word)));
	OK(cuLibraryLoadData(&library, module_image, NULL, NULL, 0, NULL, NULL, 0));
	*arguments = (struct arguments){ { &arguments->p, &arguments->n }, p, 1 };
	*node = (struct node){ .function = increment, .grid = { 1, 1, 1 }, .block = { 32, 1, 1 },
			       .params = arguments->list };
	MAKES(cuGraphCreate(A(0, CUgraph), 0), (graph = ANSWER(0, CUgraph)));
	close_pages();
	OK(cuGraphAddKernelNode(handle, graph, NULL, 0, node));
	first = *handle;
	close_pages();
	OK(cuGraphAddKernelNode_v2(handle, graph, handle, 1, node));
	CHECK(*handle && *handle != first);
	/* By a kernel's handle; and once more told. */
	node->function = NULL;
	OK(cuLibraryGetKernel(&node->kernel, library, "increment"));
	close_pages();
	OK(cuGraphAddKernelNode_v2(handle, graph, NULL, 0, node));
	close_pages();
	OK(cuGraphKernelNodeSetParams_v2(*handle, node));
	close_pages();
	OK(cuGraphKernelNodeGetParams_v2(*handle, node));
	OK(cuGraphKernelNodeGetParams_v2(*handle, &seen));
	CHECK(!memcmp(node, &seen, sizeof(seen)) && arguments->list[1] == &arguments->n);
	*any = (struct any_node){ .kernel = seen };
	any->kernel.params = arguments->list;
	close_pages();
	OK(cuGraphAddNode(handle, graph, NULL, 0, any));
	close_pages();
	OK(cuGraphNodeSetParams(*handle, any));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuMemcpyDtoH_v2(&word, p, sizeof(word)));
	CHECK(word == 44);
}

/* What the driver refuses, it refuses in the same words, and writes nothing. */
static void refusals(void)
{
	ask_first(page);
	close_pages();
	CHECK(cuDeviceGetAttribute((int *)&page->answer[0], 0, 0) == CUDA_ERROR_INVALID_VALUE);
	CHECK(ANSWER(0, int) == 0x11111111);
	close_pages();
	CHECK(cuModuleGetFunction((CUfunction *)&page->answer[0], module, (char *)page->words + 19) ==
	      CUDA_ERROR_NOT_FOUND);
	CHECK(ANSWER(0, int) == 0x11111111);
	CHECK(cuDeviceGetCount(NULL) == CUDA_ERROR_INVALID_VALUE);
	close_pages();
	CHECK(cuPointerGetAttribute(&page->answer[0], CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 8) ==
	      CUDA_ERROR_INVALID_VALUE);
	CHECK(ANSWER(0, int) == 0x11111111);
}

/* ---- past the wrappers: the driver touches shared memory itself */

#define HIDDEN(name) ((__typeof__(&name))(uintptr_t)test_cuda_function(#name))

/* What needs no driver, or one that is not locked, is served. */
static void served(void)
{
	int major = 0, count = 0;
	CUdeviceptr p = data;
	unsigned n = 1;
	unsigned long spins = 1000;
	CUfunction late;
	char own[sizeof(*page)];

	ask_first(page);
	close_pages();
	OK(HIDDEN(cuDeviceComputeCapability)(A_OF(page, 0), A_OF(page, 1), 0));
	OK(cuDeviceComputeCapability(&major, &count, 0));
	CHECK(ANSWER(0, int) == major && ANSWER(1, int) == count && page->words[4] == 77);
	/* While a kernel runs, too. */
	OK(cuModuleGetFunction(&late, module, "late_increment"));
	OK(cuLaunchKernel(late, 1, 1, 1, 1, 1, 1, 0, other, (void *[]){ &spins, &p, &n }, NULL));
	OK(HIDDEN(cuDeviceComputeCapability)(A_OF(page, 1), A_OF(page, 0), 0));
	CHECK(!watched || (ANSWER(1, int) == major && ANSWER(0, int) == count));
	OK(cuStreamSynchronize(other));
	/* What the CPU has read it has. */
	close_pages();
	CHECK(page->words[4] == 77);
	OK(HIDDEN(cuDeviceGetCount)(A_OF(page, 0)));
	OK(cuDeviceGetCount(&count));
	CHECK(ANSWER(0, int) == count);
	close_pages();
	memcpy(own, page, sizeof(own));
	test_cuda_copy(own, page, sizeof(own));
	test_cuda_copy(page, own, sizeof(own));
	CHECK(ANSWER(0, int) == count && page->words[4] == 77);
}

static void reads(void)
{
	int ends[2];

	CHECK(!pipe(ends) && write(ends[1], "words", 5) == 5);
	ask_first(page);
	CHECK(test_cuda_read(ends[0], page->text, 2) == 2 && !memcmp(page->text, "wo", 2));
	close_pages();
	if (watched)
		CHECK(test_cuda_read(ends[0], page->text, 3) == -1 && errno == EFAULT);
	page->text[2] = 0;
	CHECK(!strcmp(page->text, "wo"));
	CHECK(!watched || (test_cuda_read(ends[0], page->text + 2, 3) == 3 && !memcmp(page->text, "words", 5)));
}

/* What the driver would have to fetch ends the process, and not after all time. */
static void stuck_answer(void)
{
	HIDDEN(cuDeviceGetCount)(A_OF(page, 0));
}

static void stuck_copy(void)
{
	test_cuda_copy(page, strdup("words"), 6);
}

static void stuck_long_copy(void)
{
	test_cuda_copy(page, calloc(2, sizeof(*page)), sizeof(*page));
}

static void stuck_source(void)
{
	test_cuda_copy(calloc(2, sizeof(*page)), page, sizeof(*page));
}

static void *launch_on(void *arg)
{
	OK(cuCtxSetCurrent(context));
	for (;;)
		close_pages();
	return arg;
}

/* A thread that launches holds the library's lock, and waits for the driver's lock. */
static void stuck_launch(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, launch_on, NULL));
	do
		HIDDEN(cuDeviceGetCount)(A_OF(page, 0));
	while (watched);
	_exit(0);
}

static void start(void);

/* Each in a process of its own: this one has not used the driver. */
struct process {
	void (*run)(void);
	pid_t pid;
	int said;
};

static void begin_process(struct process *process)
{
	const struct rlimit none = { 0, 0 };
	int ends[2];

	CHECK(!pipe(ends));
	process->pid = fork();
	process->said = ends[0];
	if (!process->pid) {
		setrlimit(RLIMIT_CORE, &none);
		dup2(ends[1], STDERR_FILENO);
		start();
		ask_first(page);
		close_pages();
		process->run();
		_exit(0);
	}
	CHECK(process->pid > 0);
	close(ends[1]);
}

static void must_die(const struct process *process)
{
	char said[1024] = "";
	int status;
	ssize_t n;

	for (size_t at = 0; (n = read(process->said, said + at, sizeof(said) - 1 - at)) > 0;)
		at += (size_t)n;
	CHECK(waitpid(process->pid, &status, 0) == process->pid);
	if (!watched && WIFEXITED(status) && !WEXITSTATUS(status))
		return;
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGBUS || !strstr(said, "by the driver fails")) {
		fprintf(stderr, "status %#x: %s", (unsigned)status, said);
		exit(1);
	}
}

static void stuck(void)
{
	struct process processes[] = { { .run = stuck_answer }, { .run = stuck_copy }, { .run = stuck_long_copy },
				       { .run = stuck_source }, { .run = stuck_launch } };

	for (size_t i = 0; i < sizeof(processes) / sizeof(*processes); i++)
		begin_process(&processes[i]);
	for (size_t i = 0; i < sizeof(processes) / sizeof(*processes); i++)
		must_die(&processes[i]);
}

static const struct { const char *name; void (*run)(void); bool alone; } cases[] = {
	{ "queries", queries, false }, { "makers", makers, false }, { "captures", captures, false },
	{ "graphs", graphs, false },
	{ "refusals", refusals, false }, { "served", served, false }, { "reads", reads, false },
	{ "stuck", stuck, true },
};

static void start(void)
{
	use_device(&context);
	OK(cuModuleLoadData(&module, module_image));
	OK(cuModuleGetFunction(&increment, module, "increment"));
	OK(cuMemAlloc_v2(&data, 4096));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&begin, 0));
	OK(cuEventCreate(&end, 0));
	OK(cuEventRecord(begin, NULL));
	OK(cuEventRecord(end, NULL));
	page = allocate(sizeof(*page));
	/* From now on the driver has its address, so kernels may use it. */
	OK(cuMemsetD8_v2(DEVICE(page), 0, sizeof(*page)));
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(*cases); i++) {
		if (strcmp(cases[i].name, argv[1]))
			continue;
		watched = !getenv("ADSM_PROTOCOL") || strcmp(getenv("ADSM_PROTOCOL"), "batch");
		if (!cases[i].alone)
			start();
		cases[i].run();
		printf("%s: good\n", argv[1]);
		return 0;
	}
	fprintf(stderr, "usage: answers CASE\n");
	return 2;
}
