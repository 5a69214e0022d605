/* SPDX-License-Identifier: MIT */
/* test_driver_work.c - the driver double's streams, events, captures and functions; modules, handles and launches. */
#include "test_driver.h"

/* ---- order */

static void staged(void)
{
	struct busy busy;
	unsigned source = 1;
	CUdeviceptr p;

	start("");
	p = allocated(4);
	busy = begin_busy(CU_STREAM_NON_BLOCKING);
	OK(cu.cuMemcpyHtoDAsync_v2(p, &source, 4, busy.stream));
	source = 2;
	OK(cu.cuMemHostRegister_v2(&source, 4, 0));
	OK(cu.cuMemcpyHtoDAsync_v2(p + 0, &source, 4, busy.stream));
	source = 3;
	end_busy(&busy);
	OK(cu.cuStreamSynchronize(busy.stream));
	/* Pinned memory is read when the copy is made. */
	CHECK(word_at(p) == 3);
	OK(cu.cuMemHostUnregister(&source));
	busy = begin_busy(CU_STREAM_NON_BLOCKING);
	OK(cu.cuMemcpyHtoDAsync_v2(p, &source, 4, busy.stream));
	source = 4;
	end_busy(&busy);
	OK(cu.cuStreamSynchronize(busy.stream));
	CHECK(word_at(p) == 3);
}

static void late(void)
{
	unsigned source = 1, target = 7;
	struct busy busy;
	CUdeviceptr p;
	CUevent event;
	CUresult error;
	int n = 0;

	start("late,seed=5");
	p = allocated(4);
	busy = begin_busy(CU_STREAM_NON_BLOCKING);
	OK(cu.cuMemcpyHtoDAsync_v2(p, &source, 4, busy.stream));
	source = 2;
	OK(cu.cuMemcpyDtoHAsync_v2(&target, p, 4, busy.stream));
	OK(cu.cuEventCreate(&event, 0));
	OK(cu.cuEventRecord(event, busy.stream));
	IS(CUDA_ERROR_NOT_READY, cu.cuEventQuery(event));
	CHECK(target == 7);
	end_busy(&busy);
	while ((error = cu.cuEventQuery(event)) == CUDA_ERROR_NOT_READY)
		n++;
	OK(error);
	CHECK(target == 2);
}

static void streams(void)
{
	CUfunction twice, triple;
	struct busy busy;
	CUstream a, b, per_thread = CU_STREAM_PER_THREAD;
	CUdeviceptr p;
	void *params[] = { &p };
	unsigned one = 1;

	start("");
	twice = kernel("launch", "twice");
	triple = kernel("launch", "triple");
	p = allocated(4);
	OK(cu.cuStreamCreate(&a, 0));
	OK(cu.cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	IS(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamSynchronize((CUstream)&a));
	OK(cu.cuMemcpyHtoDAsync_v2(p, &one, 4, a));
	OK(launch(twice, a, params));
	OK(launch(triple, a, params));
	OK(cu.cuStreamSynchronize(a));
	OK(cu.cuStreamQuery(a));
	CHECK(word_at(p) == 9);

	/* The default stream waits for blocking ones, and they for it. */
	busy = begin_busy(0);
	OK(more.cuMemsetD32_v2(p, 1, 1));
	OK(launch(twice, a, params));
	OK(launch(twice, per_thread, params));
	IS(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(NULL));
	IS(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(a));
	IS(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(per_thread));
	/* Non-blocking ones do not. */
	OK(launch(triple, b, params));
	OK(cu.cuStreamSynchronize(b));
	CHECK(word_at(p) == 27);
	end_busy(&busy);
	OK(cu.cuStreamSynchronize(a));
	OK(cu.cuStreamSynchronize(per_thread));
	CHECK(word_at(p) == 7);
	busy = begin_busy(CU_STREAM_NON_BLOCKING);
	OK(more.cuMemsetD32_v2(p, 1, 1));
	OK(cu.cuStreamSynchronize(NULL));
	CHECK(word_at(p) == 1);
	end_busy(&busy);
	OK(cu.cuStreamDestroy_v2(busy.stream));
	OK(cu.cuCtxSynchronize());
	IS(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamSynchronize(busy.stream));
}

static void *other_thread(void *arg)
{
	CUdeviceptr *p = arg;
	unsigned two = 2;

	OK(cu.cuCtxPushCurrent_v2(context));
	OK(cu.cuStreamQuery(CU_STREAM_PER_THREAD));
	OK(more.cuMemcpyHtoDAsync_v2_ptsz(*p, &two, 4, NULL));
	OK(cu.cuStreamSynchronize(CU_STREAM_PER_THREAD));
	return NULL;
}

/* A default stream for each thread. */
static void per_thread(void)
{
	CUdeviceptr p;
	pthread_t thread;
	CUfunction spin;
	CUdeviceptr flags;
	void *params[] = { &flags };

	start("");
	p = allocated(4);
	flags = allocated(8);
	spin = kernel("spin", "spin");
	OK(more.cuMemsetD8_v2(flags, 0, 8));
	OK(cu.cuCtxSynchronize());
	OK(launch(spin, CU_STREAM_PER_THREAD, params));
	CHECK(!pthread_create(&thread, NULL, other_thread, &p));
	CHECK(!pthread_join(thread, NULL));
	IS(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(CU_STREAM_PER_THREAD));
	CHECK(word_at(p) == 2);
	set_word(flags + 4, 1);
	OK(cu.cuCtxSynchronize());
}

static void event_cases(void)
{
	struct busy busy;
	CUevent before, after, untimed, never;
	CUdeviceptr p;
	CUstream other;
	float ms = -1;

	start("");
	p = allocated(4);
	OK(cu.cuEventCreate(&before, 0));
	OK(cu.cuEventCreate(&after, 0));
	OK(cu.cuEventCreate(&never, 0));
	OK(cu.cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
	OK(cu.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	OK(cu.cuEventQuery(never));
	busy = begin_busy(CU_STREAM_NON_BLOCKING);
	set_word(p, 3);
	OK(cu.cuEventRecord(before, other));
	OK(cu.cuEventRecord(after, busy.stream));
	OK(cu.cuEventRecord(untimed, busy.stream));
	OK(cu.cuEventSynchronize(before));
	IS(CUDA_ERROR_NOT_READY, cu.cuEventQuery(after));
	IS(CUDA_ERROR_NOT_READY, cu.cuEventElapsedTime(&ms, before, after));
	/* Another stream waits for it. */
	OK(cu.cuStreamWaitEvent(other, after, 0));
	OK(cu.cuMemsetD8Async(p, 0, 4, other));
	IS(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(other));
	CHECK(word_at(p) == 3);
	end_busy(&busy);
	OK(cu.cuStreamSynchronize(other));
	CHECK(word_at(p) == 0);
	OK(cu.cuEventQuery(after));
	OK(cu.cuEventElapsedTime(&ms, before, after));
	CHECK(ms >= 0);
	IS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventElapsedTime(&ms, before, untimed));
	IS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventElapsedTime(&ms, before, never));
	OK(cu.cuEventDestroy_v2(after));
	IS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventQuery(after));
	CHECK(counts().events == 3);
}

static CUresult said_in_callback = -1;
static int n_callbacks;

static void host_function(void *data)
{
	CUdeviceptr p;

	said_in_callback = cu.cuMemAlloc_v2(&p, 1);
	*(int *)data = ++n_callbacks;
}

static void old_callback(CUstream stream, CUresult status, void *data)
{
	*(int *)data = status ? -status : ++n_callbacks;
}

static void callbacks(void)
{
	struct busy busy;
	int first = 0, second = 0;

	start("");
	busy = begin_busy(CU_STREAM_NON_BLOCKING);
	OK(more.cuLaunchHostFunc(busy.stream, host_function, &first));
	OK(more.cuStreamAddCallback(busy.stream, old_callback, &second, 0));
	CHECK(!__atomic_load_n(&first, __ATOMIC_ACQUIRE));
	end_busy(&busy);
	OK(cu.cuStreamSynchronize(busy.stream));
	CHECK(first == 1 && second == 2);
	CHECK(said_in_callback == CUDA_ERROR_NOT_PERMITTED);
}

static int places[2], n_placed;

static void take_place(void *data)
{
	*(int *)data = __atomic_add_fetch(&n_placed, 1, __ATOMIC_RELAXED);
}

/* Of independent streams the last one goes first, where both could go. The other waits, however slow its thread is. */
static void order(void)
{
	enum { ROUNDS = 10 };
	CUstream a, b;
	CUevent event;

	start("order,patient");
	OK(cu.cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cu.cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cu.cuEventCreate(&event, 0));
	for (int i = 0; i < ROUNDS; i++) {
		struct busy busy = begin_busy(CU_STREAM_NON_BLOCKING);

		n_placed = 0;
		OK(cu.cuEventRecord(event, busy.stream));
		OK(cu.cuStreamWaitEvent(a, event, 0));
		OK(cu.cuStreamWaitEvent(b, event, 0));
		OK(more.cuLaunchHostFunc(a, take_place, &places[0]));
		OK(more.cuLaunchHostFunc(b, take_place, &places[1]));
		end_busy(&busy);
		OK(cu.cuCtxSynchronize());
		CHECK(places[0] == 2 && places[1] == 1);
	}
}

static void capture(void)
{
	CUfunction twice;
	CUstream stream, second;
	CUdeviceptr p, q;
	CUgraphExec exec;
	CUevent event;
	CUgraph graph;
	unsigned one = 1;
	int status = 0;
	void *params[] = { &p };

	start("");
	p = allocated(4);
	twice = kernel("launch", "twice");
	OK(cu.cuStreamCreate(&stream, 0));
	OK(cu.cuStreamCreate(&second, 0));
	OK(cu.cuEventCreate(&event, 0));
	set_word(p, 0);
	OK(more.cuStreamBeginCapture_v2(stream, 0));
	OK(cu.cuStreamIsCapturing(stream, &status));
	CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
	OK(cu.cuMemcpyHtoDAsync_v2(p, &one, 4, stream));
	OK(launch(twice, stream, params));
	OK(cu.cuEventRecord(event, stream));
	OK(cu.cuStreamWaitEvent(second, event, 0));
	OK(launch(twice, second, params));
	OK(cu.cuEventRecord(event, second));
	OK(cu.cuStreamWaitEvent(stream, event, 0));
	OK(more.cuStreamEndCapture(stream, &graph));
	OK(more.cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK(word_at(p) == 0);
	OK(more.cuGraphLaunch(exec, stream));
	OK(cu.cuStreamSynchronize(stream));
	CHECK(word_at(p) == 7);
	one = 2;
	OK(more.cuGraphLaunch(exec, stream));
	OK(cu.cuStreamSynchronize(stream));
	CHECK(word_at(p) == 11);
	OK(more.cuGraphExecDestroy(exec));
	OK(more.cuGraphDestroy(graph));

	/* What may not be done meanwhile breaks it. */
	OK(more.cuStreamBeginCapture_v2(stream, 0));
	IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuStreamSynchronize(stream));
	IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, launch(twice, stream, params));
	IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, more.cuStreamEndCapture(stream, &graph));
	OK(more.cuStreamBeginCapture_v2(stream, 0));
	IS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, more.cuMemcpyHtoD_v2(p, &one, 4));
	IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, more.cuStreamEndCapture(stream, &graph));
	OK(more.cuStreamBeginCapture_v2(stream, 0));
	IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuMemAlloc_v2(&q, 4));
	IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, more.cuStreamEndCapture(stream, &graph));
	OK(more.cuStreamBeginCapture_v2(stream, 2));
	OK(cu.cuMemAlloc_v2(&q, 4));
	OK(more.cuStreamEndCapture(stream, &graph));
	IS(CUDA_ERROR_ILLEGAL_STATE, more.cuStreamEndCapture(stream, &graph));
	OK(cu.cuCtxSynchronize());
}

/* ---- modules and launches */

static void modules(void)
{
	char *image = read_image("launch");
	char log[256] = "";
	void *values[] = { log, (void *)sizeof(log) };
	int options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES }, value = 0;
	CUfunction functions[16], function;
	CUmodule module, owner;
	CUlibrary loaded;
	CUkernel from;
	unsigned n = 0;
	size_t offset, size;
	const char *name;

	start("");
	IS(CUDA_ERROR_INVALID_PTX, cu.cuModuleLoadDataEx(&module, ".version 7.0\n.target sm_70\n", 2, options, values));
	CHECK(*log);
	IS(CUDA_ERROR_NO_BINARY_FOR_GPU, cu.cuModuleLoadDataEx(&module, "\x50\xed\x55\xba", 0, NULL, NULL));
	OK(cu.cuModuleLoadDataEx(&module, image, 0, NULL, NULL));
	IS(CUDA_ERROR_NOT_FOUND, cu.cuModuleGetFunction(&function, module, "nothing"));
	OK(cu.cuModuleGetFunction(&function, module, "sum"));
	OK(cu.cuModuleGetFunctionCount(&n, module));
	CHECK(n > 1 && n <= 16);
	OK(cu.cuModuleEnumerateFunctions(functions, n, module));
	OK(cu.cuFuncGetName(&name, function));
	OK(cu.cuFuncGetModule(&owner, function));
	CHECK(!strcmp(name, "sum") && owner == module);
	/* Two pointers, a word, a byte, a pointer. */
	OK(cu.cuFuncGetParamInfo(function, 2, &offset, &size));
	CHECK(offset == 16 && size == 4);
	OK(cu.cuFuncGetParamInfo(function, 3, &offset, &size));
	CHECK(offset == 20 && size == 1);
	OK(cu.cuFuncGetParamInfo(function, 4, &offset, &size));
	CHECK(offset == 24 && size == 8);
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuFuncGetParamInfo(function, 5, &offset, &size));
	OK(cu.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
	CHECK(value == 1024 && counts().modules == 1);
	OK(cu.cuModuleUnload(module));
	IS(CUDA_ERROR_INVALID_HANDLE, cu.cuModuleUnload(module));
	CHECK(counts().modules == 0);
	OK(more.cuLibraryLoadData(&loaded, image, NULL, NULL, 0, NULL, NULL, 0));
	OK(more.cuLibraryGetKernel(&from, loaded, "twice"));
	OK(more.cuKernelGetFunction(&function, from));
	/* The kernel is no context's, and its function is of this one. */
	CHECK((void *)function != (void *)from);
	OK(more.cuKernelGetParamInfo(from, 0, &offset, &size));
	OK(cu.cuFuncGetParamInfo(function, 0, &offset, &size));
	OK(more.cuLibraryUnload(loaded));
	IS(CUDA_ERROR_INVALID_HANDLE, cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	CHECK(counts().modules == 0);
	free(image);
}

/* Each kind is one's only. */
static CUkernel any_kernel(void)
{
	char *image = read_image("launch");
	CUlibrary loaded;
	CUkernel found;

	start("");
	OK(more.cuLibraryLoadData(&loaded, image, NULL, NULL, 0, NULL, NULL, 0));
	OK(more.cuLibraryGetKernel(&found, loaded, "twice"));
	return found;
}

static void kernel_as_function(void)
{
	CUkernel found = any_kernel();
	size_t offset, size;

	cu.cuFuncGetParamInfo((CUfunction)found, 0, &offset, &size);
}

static void function_as_kernel(void)
{
	CUkernel found = any_kernel();
	CUfunction function;
	size_t offset, size;

	OK(more.cuKernelGetFunction(&function, found));
	more.cuKernelGetParamInfo((CUkernel)function, 0, &offset, &size);
}

static void handles(void)
{
	char said[256] = "";
	int status = child(kernel_as_function, said, sizeof(said));

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(said, "was given a CUkernel"));
	status = child(function_as_kernel, said, sizeof(said));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(said, "was given a CUfunction"));
}

static void launches(void)
{
	CUfunction mark, sum, twice;
	CUdeviceptr p, words, pointers, target;
	unsigned values[64], n = 3;
	unsigned char byte = 5;
	void *params[] = { &p, &words, &n, &byte, &pointers }, *only[] = { &p };
	CUlaunchConfig config = { .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1,
				  .blockDimZ = 1 };
	size_t size = sizeof(p);
	void *extra[] = { (void *)1, &p, (void *)2, &size, NULL };

	start("");
	mark = kernel("launch", "mark");
	sum = kernel("launch", "sum");
	twice = kernel("launch", "twice");
	p = allocated(256);
	words = allocated(256);
	pointers = allocated(256);
	target = words + 4;
	OK(more.cuMemsetD8_v2(p, 0, 256));
	OK(cu.cuLaunchKernel(mark, 2, 3, 2, 4, 2, 1, 0, NULL, only, NULL));
	OK(more.cuMemcpyDtoH_v2(values, p, 256));
	for (unsigned i = 0; i < 12; i++)
		CHECK(values[i] == 1000 * (i / 6) + 100 * (i / 2 % 3) + 10 * (i % 2) + 1);
	OK(more.cuMemcpyHtoD_v2(words, (unsigned[]){ 10, 20, 30 }, 12));
	OK(more.cuMemcpyHtoD_v2(pointers, &target, 8));
	OK(launch(sum, NULL, params));
	OK(more.cuMemcpyDtoH_v2(values, p, 12));
	CHECK(values[0] == 65 && values[1] == 20);
	set_word(p, 1);
	OK(more.cuLaunchKernelEx(&config, twice, only, NULL));
	OK(cu.cuLaunchKernel(twice, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	OK(cu.cuCtxSynchronize());
	CHECK(word_at(p) == 7 && counts().launches == 4);
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(twice, 0, 1, 1, 1, 1, 1, 0, NULL, only, NULL));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(twice, 1, 65536, 1, 1, 1, 1, 0, NULL, only, NULL));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(twice, 1, 1, 1, 1024, 2, 1, 0, NULL, only, NULL));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(twice, 1, 1, 1, 1, 1, 65, 0, NULL, only, NULL));
	IS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(twice, 1, 1, 1, 1, 1, 1, 49 * 1024, NULL, only, NULL));
	IS(CUDA_ERROR_INVALID_HANDLE, cu.cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, only, NULL));
	OK(cu.cuCtxSynchronize());
}

/* A kernel that follows an address of the CPU's: an error that sticks to the context, until it is reset. */
static void fault(void)
{
	static unsigned here;
	CUdeviceptr p = (uintptr_t)&here, q, wild = 0;
	void *params[] = { &p }, *null[] = { &wild };
	CUcontext other;
	CUfunction twice;
	CUstream stream;
	CUevent event;

	start("");
	OK(cu.cuStreamCreate(&stream, 0));
	OK(cu.cuEventCreate(&event, 0));
	OK(more.cuCtxCreate_v4(&other, NULL, 0, 0));
	OK(more.cuCtxSetCurrent(context));
	q = allocated(4);
	twice = kernel("launch", "twice");
	OK(launch(twice, stream, params));
	IS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuStreamSynchronize(stream));
	IS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuCtxSynchronize());
	IS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuEventQuery(event));
	IS(CUDA_ERROR_ILLEGAL_ADDRESS, launch(twice, stream, params));
	IS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemFree_v2(q));
	CHECK(!here);
	/* Other contexts go on. */
	OK(more.cuCtxSetCurrent(other));
	OK(cu.cuCtxSynchronize());
	OK(more.cuDevicePrimaryCtxReset_v2(0));
	OK(more.cuCtxSetCurrent(context));
	OK(cu.cuCtxSynchronize());
	CHECK(counts().used == 0);
	/* Freed memory is no memory. */
	p = allocated(GRANULE);
	twice = kernel("launch", "twice");
	OK(launch(twice, NULL, params));
	OK(cu.cuMemFree_v2(p));
	OK(launch(twice, NULL, params));
	IS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuCtxSynchronize());
	OK(more.cuDevicePrimaryCtxReset_v2(0));
	twice = kernel("launch", "twice");
	OK(launch(twice, NULL, null));
	IS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuCtxSynchronize());
}

/* The device goes away under a kernel; a reset brings another one. */
static void killed(void)
{
	CUfunction twice;
	struct busy busy;
	CUdeviceptr p;
	void *params[] = { &p };

	start("");
	busy = begin_busy(0);
	CHECK(!kill(counts().device_pid, SIGKILL));
	IS(CUDA_ERROR_LAUNCH_FAILED, cu.cuStreamSynchronize(busy.stream));
	IS(CUDA_ERROR_LAUNCH_FAILED, cu.cuMemAlloc_v2(&p, 4));
	OK(more.cuDevicePrimaryCtxReset_v2(0));
	p = allocated(4);
	set_word(p, 1);
	twice = kernel("launch", "twice");
	OK(launch(twice, NULL, params));
	OK(cu.cuCtxSynchronize());
	CHECK(word_at(p) == 3);
	/* With nothing on it. */
	CHECK(!kill(counts().device_pid, SIGKILL));
	while (!cu.cuCtxSynchronize())
		;
	IS(CUDA_ERROR_LAUNCH_FAILED, cu.cuCtxSynchronize());
}

static const struct driver_case cases[] = {
	{ "staged", staged }, { "late", late }, { "streams", streams }, { "per-thread", per_thread },
	{ "events", event_cases }, { "callbacks", callbacks }, { "order", order }, { "capture", capture },
	{ "modules", modules }, { "handles", handles }, { "launches", launches }, { "fault", fault },
	{ "killed", killed },
};
DRIVER_MAIN(cases)
