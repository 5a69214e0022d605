/* SPDX-License-Identifier: MIT */
/*
 * adopt.c - a program that uses OpenCL by hand adopts shared memory one array at a time, and computes the same.
 *
 * Its data are four arrays, on which kernels and the CPU work in turn. Step by step:
 *	0	buffers, reads and writes by hand
 *	1	one array is shared; kernels are still enqueued by hand, on its buffer
 *	2	two arrays are shared
 *	3	the library calls the kernels, with the other arrays' buffers as values
 *	4	all arrays are shared, and the program has no queue of its own any more
 */
#include "raw.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <adsm_opencl.h>

#define N 40960u			/* words of an array: some blocks */
#define GROUP 32u
#define ROUNDS 6u

static const char source[] =
	"__kernel void blend(__global const uint *now, __global uint *next, __global const uint *weights, uint first,\n"
	"		   uint n)\n"
	"{\n"
	"	uint i = get_global_id(0);\n"
	"\n"
	"	next[i] = now[(i + n - 1) % n] + 2 * now[i] + (now[(i + 1) % n] ^ weights[first + i]);\n"
	"}\n"
	"\n"
	"__kernel void fold(__global const uint *now, __global uint *sums, __local uint *part)\n"
	"{\n"
	"	uint l = get_local_id(0);\n"
	"\n"
	"	part[l] = now[get_global_id(0)];\n"
	"	for (uint n = get_local_size(0) / 2; n; n /= 2) {\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"		if (l < n)\n"
	"			part[l] = part[l] * 3 + part[l + n];\n"
	"	}\n"
	"	if (!l)\n"
	"		sums[get_group_id(0)] = part[0];\n"
	"}\n"
	"\n"
	"__kernel void increment(__global uint *p)\n"
	"{\n"
	"	p[get_global_id(0)]++;\n"
	"}\n"
	"\n"
	"__kernel void copy(__global const uint *from, __global uint *to)\n"
	"{\n"
	"	to[get_global_id(0)] = from[get_global_id(0)];\n"
	"}\n";

enum { WEIGHTS, NOW, NEXT, SUMS, N_ARRAYS };	/* in the order of their adoption */

struct array {
	unsigned *p;			/* the CPU's: of the program's own, or shared */
	size_t n, first;		/* words; where they begin in the buffer */
	cl_mem buffer;
	bool shared;
};

struct program {
	struct raw raw;
	struct array arrays[N_ARRAYS];
	cl_program program;
	cl_kernel blend, fold;
	adsmKernel *called_blend, *called_fold;	/* where the library calls them */
};

/* ---- arrays */

static void array_create(struct program *p, int i, bool shared)
{
	struct array *a = &p->arrays[i];

	a->n = i == SUMS ? N / GROUP : N;
	a->shared = shared;
	if (shared) {
		/* Not all of an object needs to be the kernel's. */
		size_t margin = i == WEIGHTS ? raw_align(&p->raw) / sizeof(unsigned) : 0, offset;
		unsigned *object = alloc((margin + a->n) * sizeof(*a->p));

		a->p = object + margin;
		CHECK_OK(adsmOpenCLMem(a->p, &a->buffer, &offset));
		CHECK_EQ(offset, margin * sizeof(unsigned));
		a->first = margin;
	} else {
		a->p = malloc(a->n * sizeof(*a->p));
		a->buffer = raw_buffer(&p->raw, a->n * sizeof(*a->p));
	}
	for (size_t k = 0; k < a->n; k++)
		a->p[k] = (unsigned)(k * 2654435761u) ^ (unsigned)i;
}

static void array_destroy(struct array *a)
{
	if (a->shared) {
		CHECK_OK(adsmFree(a->p - a->first));
		return;
	}
	free(a->p);
	CL(clReleaseMemObject(a->buffer));
}

/* What the CPU wrote, for kernels. Of a shared array there is nothing to do. */
static void array_to_device(const struct program *p, const struct array *a)
{
	if (!a->shared)
		CL(clEnqueueWriteBuffer(p->raw.queue, a->buffer, CL_TRUE, 0, a->n * sizeof(*a->p), a->p, 0, NULL,
					NULL));
}

static void array_to_host(const struct program *p, const struct array *a)
{
	if (!a->shared)
		CL(clEnqueueReadBuffer(p->raw.queue, a->buffer, CL_TRUE, 0, a->n * sizeof(*a->p), a->p, 0, NULL, NULL));
}

/* ---- kernels */

static void release(const struct array *a, unsigned access, adsmArg *uses, size_t *n)
{
	if (a->shared)
		uses[(*n)++] = access == ADSM_ACCESS_IN ? adsmIn(a->p) : adsmOut(a->p);
}

/* By hand: shared arrays are released before, and fetched when the CPU touches them afterwards. */
static void enqueue(struct program *p, cl_kernel kernel, const adsmArg *uses, size_t n)
{
	const size_t global = N, local = GROUP;

	if (n)
		CHECK_OK(adsmOpenCLRelease(uses, n));
	CL(clEnqueueNDRangeKernel(p->raw.queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
	CL(clFinish(p->raw.queue));
	if (n && batch())
		CHECK_OK(adsmSync());
}

static void enqueue_blend(struct program *p)
{
	const struct array *now = &p->arrays[NOW], *next = &p->arrays[NEXT], *weights = &p->arrays[WEIGHTS];
	const cl_uint first = (cl_uint)weights->first, n = N;
	adsmArg uses[3];
	size_t n_uses = 0;

	release(now, ADSM_ACCESS_IN, uses, &n_uses);
	release(next, ADSM_ACCESS_OUT, uses, &n_uses);
	release(weights, ADSM_ACCESS_IN, uses, &n_uses);
	CL(clSetKernelArg(p->blend, 0, sizeof(cl_mem), &now->buffer));
	CL(clSetKernelArg(p->blend, 1, sizeof(cl_mem), &next->buffer));
	CL(clSetKernelArg(p->blend, 2, sizeof(cl_mem), &weights->buffer));
	CL(clSetKernelArg(p->blend, 3, sizeof(first), &first));
	CL(clSetKernelArg(p->blend, 4, sizeof(n), &n));
	enqueue(p, p->blend, uses, n_uses);
}

static void enqueue_fold(struct program *p)
{
	const struct array *now = &p->arrays[NOW], *sums = &p->arrays[SUMS];
	adsmArg uses[2];
	size_t n_uses = 0;

	release(now, ADSM_ACCESS_IN, uses, &n_uses);
	release(sums, ADSM_ACCESS_OUT, uses, &n_uses);
	CL(clSetKernelArg(p->fold, 0, sizeof(cl_mem), &now->buffer));
	CL(clSetKernelArg(p->fold, 1, sizeof(cl_mem), &sums->buffer));
	CL(clSetKernelArg(p->fold, 2, GROUP * sizeof(cl_uint), NULL));
	enqueue(p, p->fold, uses, n_uses);
}

/* By the library: a shared array is its address, another one its buffer. */
static adsmArg argument(const struct array *a)
{
	return a->shared ? adsmPtr(a->p) : adsmArgMake_(ADSM_ARG_VALUE, ADSM_ACCESS_IN, &a->buffer, sizeof(a->buffer));
}

static void call(struct program *p)
{
	const adsmDim grid = { N / GROUP, 1, 1 }, block = { GROUP, 1, 1 };
	const struct array *now = &p->arrays[NOW], *next = &p->arrays[NEXT];

	/* Both at the same time: the library's queue is in order. An address is where the array begins. */
	CHECK_OK(adsmCall(p->called_blend, grid, block, argument(now), argument(next), argument(&p->arrays[WEIGHTS]),
			  adsmVal((cl_uint)0), adsmVal((cl_uint)N)));
	CHECK_OK(adsmCall(p->called_fold, grid, block, argument(next), argument(&p->arrays[SUMS]),
			  adsmLocal(GROUP * sizeof(cl_uint))));
	CHECK_OK(adsmSync());
}

/* ---- the program */

static void swap(struct program *p)
{
	struct array array = p->arrays[NOW];

	p->arrays[NOW] = p->arrays[NEXT];
	p->arrays[NEXT] = array;
}

static void round_of_work(struct program *p, unsigned round)
{
	const struct array *now = &p->arrays[NOW], *sums = &p->arrays[SUMS], *weights = &p->arrays[WEIGHTS];
	unsigned total = 0;

	array_to_device(p, now);
	array_to_device(p, weights);
	if (p->called_blend) {
		call(p);
		swap(p);
	} else {
		enqueue_blend(p);
		swap(p);
		enqueue_fold(p);
	}
	/* The CPU's part: some of it everywhere, some in one place. */
	array_to_host(p, now);
	array_to_host(p, sums);
	for (size_t i = 0; i < sums->n; i++)
		total = total * 31 + sums->p[i];
	now->p[total % N] += total;
	weights->p[round * 1000] ^= total;
	for (size_t i = round; i < N; i += 977)
		now->p[i] += weights->p[i];
}

static void run(const struct raw *raw, int step, unsigned *ret_now, unsigned *ret_sums)
{
	static const int n_shared[] = { 0, 1, 2, 2, N_ARRAYS };
	struct program p = { .raw = *raw };
	cl_program built = raw_program(raw, source, "-cl-kernel-arg-info");

	p.blend = raw_kernel(built, "blend");
	p.fold = raw_kernel(built, "fold");
	if (step >= 3) {
		p.called_blend = adsmOpenCLKernel(ADSM_DEVICE_CURRENT, p.blend);
		p.called_fold = adsmOpenCLKernel(ADSM_DEVICE_CURRENT, p.fold);
		CHECK(p.called_blend && p.called_fold);
	}
	if (step == 4)
		p.raw.queue = NULL;
	for (int i = 0; i < N_ARRAYS; i++)
		array_create(&p, i, i < n_shared[step]);
	for (unsigned round = 0; round < ROUNDS; round++)
		round_of_work(&p, round);
	memcpy(ret_now, p.arrays[NOW].p, N * sizeof(unsigned));
	memcpy(ret_sums, p.arrays[SUMS].p, N / GROUP * sizeof(unsigned));
	for (int i = 0; i < N_ARRAYS; i++)
		array_destroy(&p.arrays[i]);
	CHECK_OK(adsmOpenCLKernelFree(p.called_blend));
	CHECK_OK(adsmOpenCLKernelFree(p.called_fold));
	CL(clReleaseKernel(p.blend));
	CL(clReleaseKernel(p.fold));
	CL(clReleaseProgram(built));
}

static void compare(const struct raw *raw, int step)
{
	static unsigned now[2][N], sums[2][N / GROUP];

	run(raw, 0, now[0], sums[0]);
	run(raw, step, now[1], sums[1]);
	for (size_t i = 0; i < N; i++)
		CHECK_AT(now[1][i], i, now[0][i]);
	for (size_t i = 0; i < N / GROUP; i++)
		CHECK_AT(sums[1][i], i, sums[0][i]);
}

/* The library works in the program's context. */
static void use(int step)
{
	struct raw raw;

	raw_open(&raw);
	CHECK_OK(adsmOpenCLUse(raw.context, raw.device));
	compare(&raw, step);
	CHECK_OK(adsmShutdown());
	/* Which is the program's still. */
	CHECK_OK(adsmOpenCLUse(NULL, NULL));
	CL(clReleaseMemObject(raw_buffer(&raw, PAGE)));
	CL(clReleaseCommandQueue(raw.queue));
	CL(clReleaseContext(raw.context));
}

/* The program works in the library's. */
static void get(int step)
{
	struct raw raw;

	raw_take(&raw);
	compare(&raw, step);
	CHECK_OK(adsmShutdown());
}

static void use_1(void) { use(1); }
static void use_2(void) { use(2); }
static void use_3(void) { use(3); }
static void use_4(void) { use(4); }
static void get_1(void) { get(1); }
static void get_2(void) { get(2); }
static void get_3(void) { get(3); }
static void get_4(void) { get(4); }

/* ---- what a release is for */

struct stale {
	struct raw raw;
	cl_program program;
	cl_kernel increment, copy;
	unsigned *p;			/* an object of one block */
	cl_mem buffer, other;
};

#define FEW 1024u

static void stale_create(struct stale *s)
{
	size_t offset;

	raw_take(&s->raw);
	s->program = raw_program(&s->raw, source, NULL);
	s->increment = raw_kernel(s->program, "increment");
	s->copy = raw_kernel(s->program, "copy");
	s->p = words(FEW, 100);
	CHECK_OK(adsmOpenCLMem(s->p, &s->buffer, &offset));
	s->other = raw_buffer(&s->raw, FEW * sizeof(unsigned));
	CL(clSetKernelArg(s->increment, 0, sizeof(cl_mem), &s->buffer));
	CL(clSetKernelArg(s->copy, 0, sizeof(cl_mem), &s->buffer));
	CL(clSetKernelArg(s->copy, 1, sizeof(cl_mem), &s->other));
}

static void stale_destroy(struct stale *s)
{
	CHECK_OK(adsmFree(s->p));
	CL(clReleaseMemObject(s->other));
	CL(clReleaseKernel(s->increment));
	CL(clReleaseKernel(s->copy));
	CL(clReleaseProgram(s->program));
	CHECK_OK(adsmShutdown());
}

static void stale_run(struct stale *s, cl_kernel kernel)
{
	const size_t global = FEW;

	CL(clEnqueueNDRangeKernel(s->raw.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
	CL(clFinish(s->raw.queue));
}

/* What kernels see of the object. */
static unsigned stale_seen(struct stale *s, size_t i)
{
	unsigned seen[FEW];

	stale_run(s, s->copy);
	CL(clEnqueueReadBuffer(s->raw.queue, s->other, CL_TRUE, 0, sizeof(seen), seen, 0, NULL, NULL));
	return seen[i];
}

/* Without one, kernels do not see what the CPU writes. */
static void release_sends(void)
{
	struct stale s;
	adsmArg in[1];

	stale_create(&s);
	in[0] = adsmIn(s.p);
	CHECK_OK(adsmOpenCLRelease(in, 1));
	CHECK_EQ(stale_seen(&s, 7), 107);
	if (batch())
		CHECK_OK(adsmSync());
	s.p[7] = 1000;
	CHECK_EQ(stale_seen(&s, 7), 107);
	CHECK_OK(adsmOpenCLRelease(in, 1));
	CHECK_EQ(stale_seen(&s, 7), 1000);
	stale_destroy(&s);
}

/* Without one, the CPU does not see what kernels write. */
static void release_fetches(void)
{
	struct stale s;
	adsmArg in[1], inout[1];

	stale_create(&s);
	in[0] = adsmIn(s.p);
	inout[0] = adsmPtr(s.p);
	CHECK_OK(adsmOpenCLRelease(in, 1));
	stale_run(&s, s.increment);
	if (batch())
		CHECK_OK(adsmSync());
	CHECK_EQ(s.p[7], 107);
	CHECK_EQ(stale_seen(&s, 7), 108);
	/* What the CPU has counts, as it was not told of anything else. */
	s.p[7] = 200;
	CHECK_OK(adsmOpenCLRelease(inout, 1));
	stale_run(&s, s.increment);
	if (batch())
		CHECK_OK(adsmSync());
	CHECK_EQ(s.p[7], 201);
	stale_destroy(&s);
}

/* The program's own queue knows nothing of the calls before. */
/* What the program's commands write no sync fetches before they have run, however often it was read after them. */
static void release_expected(void)
{
	struct stale s;
	adsmArg inout[1];
	unsigned *other;

	stale_create(&s);
	other = words(FEW, 0);
	inout[0] = adsmInOut(s.p);
	for (unsigned round = 1; round < 8; round++) {
		CHECK_OK(adsmOpenCLRelease(inout, 1));
		if (!batch()) {
			CALL("increment", FEW, adsmPtr(other), adsmVal(FEW));
			SYNC();
		}
		stale_run(&s, s.increment);
		if (batch())
			CHECK_OK(adsmSync());
		CHECK_EQ(s.p[7], 107 + round);
	}
	CHECK_OK(adsmFree(other));
	unload();
	stale_destroy(&s);
}

static void release_waits(void)
{
	static const char slow[] = "__kernel void slow(__global uint *p, uint n)\n"
		"{\n"
		"	uint x = p[0];\n"
		"	for (uint i = 0; i < n; i++)\n"
		"		x = x * 1664525u + 1013904223u;\n"
		"	p[7] = x | 1;\n"
		"}\n";
	cl_command_queue queue;
	cl_program program;
	cl_kernel own;
	adsmKernel *kernel;
	cl_int error;
	unsigned seen[FEW];
	struct stale s;
	adsmArg in[1];

	stale_create(&s);
	program = raw_program(&s.raw, slow, NULL);
	own = raw_kernel(program, "slow");
	kernel = adsmOpenCLKernel(ADSM_DEVICE_CURRENT, own);
	CHECK(kernel);
	queue = clCreateCommandQueueWithProperties(s.raw.context, s.raw.device, NULL, &error);
	CL(error);
	in[0] = adsmIn(s.p);
	s.p[7] = 0;
	CHECK_OK(adsmCall(kernel, adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), adsmPtr(s.p), adsmVal(100000000u)));
	CHECK_OK(adsmOpenCLRelease(in, 1));
	CL(clEnqueueReadBuffer(queue, s.buffer, CL_TRUE, 0, sizeof(seen), seen, 0, NULL, NULL));
	CHECK(seen[7]);
	CL(clReleaseCommandQueue(queue));
	CHECK_OK(adsmOpenCLKernelFree(kernel));
	CL(clReleaseKernel(own));
	CL(clReleaseProgram(program));
	stale_destroy(&s);
}

/* ---- what is refused */

static void not_opencl(void)
{
	adsmOpenCLHandles handles = { .struct_size = sizeof(handles) };
	struct _cl_mem *buffer;
	adsmArg uses[1];
	size_t offset;
	void *p;

	set("backend", "cpu");
	p = alloc(PAGE);
	uses[0] = adsmIn(p);
	CHECK_ERROR(adsmOpenCLGet(0, &handles), ENOTSUP);
	CHECK_SAYS("ADSM_BACKEND=opencl");
	CHECK_ERROR(adsmOpenCLMem(p, &buffer, &offset), ENOTSUP);
	CHECK_ERROR(adsmOpenCLRelease(uses, 1), ENOTSUP);
	CHECK_NULL(adsmOpenCLKernel(0, (struct _cl_kernel *)p), ENOTSUP);
	CHECK_OK(adsmFree(p));
	CHECK_OK(adsmShutdown());
}

static void refused_use(void)
{
	struct raw raw;
	pid_t child;
	int status;

	raw_open(&raw);
	CHECK_ERROR(adsmOpenCLUse(raw.context, NULL), EINVAL);
	CHECK_ERROR(adsmOpenCLUse(raw.context, (struct _cl_device_id *)&raw), EINVAL);
	CHECK_SAYS("the device is not among the first");
	CHECK_OK(adsmOpenCLUse(raw.context, raw.device));
	CHECK_OK(adsmOpenCLUse(raw.context, raw.device));
	CHECK_OK(adsmInit());
	CHECK_ERROR(adsmOpenCLUse(raw.context, raw.device), EBUSY);
	child = fork();
	if (!child)
		_exit(-adsmOpenCLUse(NULL, NULL));
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), ENOTSUP);
	CHECK_OK(adsmShutdown());
	CHECK_OK(adsmOpenCLUse(NULL, NULL));
}

static void refused(void)
{
	adsmOpenCLHandles handles = { .struct_size = 1 };
	struct raw raw, other;
	cl_kernel kernel, foreign;
	adsmArg uses[2];
	adsmKernel *adopted;
	size_t offset;
	cl_mem buffer;
	unsigned *p;

	raw_take(&raw);
	raw_open(&other);
	p = words(FEW, 0);
	CHECK_ERROR(adsmOpenCLGet(0, &handles), EINVAL);
	CHECK_SAYS("struct_size");
	CHECK_ERROR(adsmOpenCLMem(&raw, &buffer, &offset), EINVAL);
	CHECK_SAYS("not in a live object");
	CHECK_ERROR(adsmOpenCLMem(p, NULL, &offset), EINVAL);

	CHECK_OK(adsmOpenCLRelease(NULL, 0));
	uses[0] = adsmVal(1);
	CHECK_ERROR(adsmOpenCLRelease(uses, 1), EINVAL);
	CHECK_SAYS("entry 0");
	uses[0] = adsmIn(p);
	uses[1] = adsmIn(&raw);
	CHECK_ERROR(adsmOpenCLRelease(uses, 2), EINVAL);
	CHECK_SAYS("not in a live object");
	CHECK_OK(adsmHold(p, PAGE, ADSM_ACCESS_INOUT));
	CHECK_ERROR(adsmOpenCLRelease(uses, 1), EBUSY);
	CHECK_OK(adsmUnhold(p, PAGE));

	kernel = raw_kernel(raw_program(&raw, source, NULL), "increment");
	foreign = raw_kernel(raw_program(&other, source, NULL), "increment");
	CHECK_NULL(adsmOpenCLKernel(0, NULL), EINVAL);
	CHECK_NULL(adsmOpenCLKernel(0, foreign), EINVAL);
	CHECK_SAYS("adsmOpenCLUse()");
	CHECK_NULL(adsmOpenCLKernel(7, kernel), EINVAL);
	adopted = adsmOpenCLKernel(0, kernel);
	CHECK(adopted);
	CL(clReleaseKernel(kernel));	/* it is retained */
	CHECK_ERROR(adsmShutdown(), EBUSY);
	CHECK_OK(adsmCall(adopted, adsmDim3(FEW, 1, 1), adsmDim3(1, 1, 1), adsmPtr(p)));
	CHECK_OK(adsmOpenCLKernelFree(adopted));	/* waits */
	CHECK_OK(adsmSync());
	CHECK_EQ(p[5], 6);
	CHECK_ERROR(adsmOpenCLKernelFree(adopted), EINVAL);
	CHECK_OK(adsmOpenCLKernelFree(NULL));
	CHECK_OK(adsmFree(p));
	CHECK_ERROR(adsmOpenCLMem(p, &buffer, &offset), EINVAL);
	CHECK_OK(adsmShutdown());
}

/* Memory of the device only has a buffer, too. */
static void device_only(void)
{
	struct raw raw;
	unsigned value;
	size_t offset;
	cl_mem buffer;
	char *p;

	raw_take(&raw);
	p = adsmDeviceAlloc(PAGE);
	CHECK(p);
	CHECK_OK(adsmDeviceFill(p, 1, PAGE));
	CHECK_OK(adsmOpenCLMem(p + 100, &buffer, &offset));
	CHECK_EQ(offset, 100);
	CL(clEnqueueReadBuffer(raw.queue, buffer, CL_TRUE, offset, sizeof(value), &value, 0, NULL, NULL));
	CHECK_EQ(value, 0x01010101);
	CHECK_OK(adsmDeviceFree(p));
	CHECK_OK(adsmShutdown());
}

/* An object that has no buffer is not kept on the device: another one gets its room. */
static void not_kept(void)
{
	const unsigned n = 180 * 1024;	/* words: the device has room for one such object */
	unsigned *first, *second;
	size_t offset;
	cl_mem buffer;

	set("oversubscribe", "on");
	set("opencl_memory", "svm");
	set("opencl_memory_size", "1M");
	first = words(n, 1);
	second = words(n, 2);
	CHECK_ERROR(adsmOpenCLMem(first, &buffer, &offset), ENOTSUP);
	CHECK_SAYS("ADSM_OPENCL_MEMORY=buffer");
	CALL("increment", n, adsmPtr(second), adsmVal(n));
	SYNC();
	CHECK_EQ(second[1], 4);
	CHECK_EQ(first[1], 2);
	CHECK_OK(adsmFree(first));
	CHECK_OK(adsmFree(second));
	unload();
	CHECK_OK(adsmShutdown());
}

/* A program that allocates first, and then asks for the device, may have objects that are not buffers. */
static void too_late(void)
{
	const char *plan = getenv("TEST_OPENCL");
	unsigned *before, *behind;
	size_t offset;
	cl_mem buffer;
	struct raw raw;

	/* Otherwise objects get device memory when the program asks for a buffer. */
	CHECK_OK(adsmOption("oversubscribe", "off"));
	CHECK_OK(adsmInit());
	before = words(FEW, 1);
	raw_take(&raw);
	behind = words(FEW, 1);
	if (adsmOpenCLMem(before, &buffer, &offset) || (plan && !strcmp(plan, "usm"))) {
		CHECK_ERROR(adsmOpenCLMem(before, &buffer, &offset), ENOTSUP);
		CHECK_SAYS("ADSM_OPENCL_MEMORY=buffer");
		CHECK_SAYS("adsmOpenCLGet()");
		CHECK_ERROR(adsmOpenCLMem(behind, &buffer, &offset), ENOTSUP);
	} else {
		CHECK_OK(adsmOpenCLMem(behind, &buffer, &offset));
	}
	CHECK_OK(adsmFree(before));
	CHECK_OK(adsmFree(behind));
	CHECK_OK(adsmShutdown());
	not_kept();
}

static const struct conform_case cases[] = {
	CASE("use-1", use_1),
	CASE("use-2", use_2),
	CASE("use-3", use_3),
	CASE("use-4", use_4),
	CASE("get-1", get_1),
	CASE("get-2", get_2),
	CASE("get-3", get_3),
	CASE("get-4", get_4),
	CASE("release-sends", release_sends),
	CASE("release-fetches", release_fetches),
	CASE("release-expected", release_expected),
	CASE("release-waits", release_waits),
	CASE("not-opencl", not_opencl),
	CASE("refused-use", refused_use),
	CASE("refused", refused),
	CASE("device-only", device_only),
	CASE("too-late", too_late),
};

CONFORM_MAIN(cases)
