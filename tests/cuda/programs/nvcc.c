/* SPDX-License-Identifier: MIT */
/*
 * nvcc.c - a program as version 13 of CUDA's compiler makes it: kernels are launched by handles, a module has
 * variables, and the device is asked what it can do. One process for each mode: PROGRAM MODE. It checks its own
 * results.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../doubles/cuda/runtime.h"
#include "globals.inc"

#define N 5000u
#define N_WEIGHTS 1024u
#define BLOCK 256u

static void fail(const char *what, int line, int error)
{
	fprintf(stderr, "nvcc.c:%d: %s: %s\n", line, what, error ? cudaGetErrorName(error) : "wrong");
	exit(1);
}

#define TRY(call) do { cudaError_t error_ = (call); if (error_) fail(#call, __LINE__, error_); } while (0)
#define EXPECT(condition) do { if (!(condition)) fail(#condition, __LINE__, 0); } while (0)

/* ---- what the compiler adds */

static unsigned weights[N_WEIGHTS];	/* stands for the device's */

static void weigh(unsigned *p, unsigned n)
{
	static cudaKernel_t handle;
	void *args[] = { &p, &n };
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;

	if (!handle)
		TRY(__cudaGetKernel(&handle, (const void *)weigh));
	TRY(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
	TRY(__cudaLaunchKernel(handle, grid, block, args, shared, stream));
}

static const struct {
	int magic, version;
	const void *data;
	void *more;
} fatbin = { 0x466243b1, 1, module_image, NULL };

static void **binary;

static void unregister(void)
{
	__cudaUnregisterFatBinary(binary);
}

__attribute__((constructor)) static void enrol(void)
{
	binary = __cudaRegisterFatBinary((void *)&fatbin);
	__cudaRegisterFunction(binary, (const char *)weigh, (char *)"weigh", "weigh", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterVar(binary, (char *)weights, (char *)"weights", "weights", 0, sizeof(weights), 1, 0);
	__cudaRegisterFatBinaryEnd(binary);
	atexit(unregister);
}

/* ---- the program */

static void launch(unsigned *p)
{
	const dim3 grid = { (N + BLOCK - 1) / BLOCK, 1, 1 }, block = { BLOCK, 1, 1 };

	EXPECT(!__cudaPushCallConfiguration(grid, block, 0, NULL));
	weigh(p, N);
}

static unsigned weight_of(unsigned i)
{
	return i % N_WEIGHTS * 7 + 1;
}

static void set_weights(void)
{
	unsigned values[N_WEIGHTS];

	for (unsigned i = 0; i < N_WEIGHTS; i++)
		values[i] = weight_of(i);
	/* In two parts. */
	TRY(cudaMemcpyToSymbol(weights, values, 400, 0, cudaMemcpyHostToDevice));
	TRY(cudaMemcpyToSymbol(weights, values + 100, sizeof(values) - 400, 400, cudaMemcpyHostToDevice));
}

static void check(const unsigned *p)
{
	for (unsigned i = 0; i < N; i++)
		EXPECT(p[i] == (i + 1) * weight_of(i));
}

static unsigned *host_values(void)
{
	unsigned *p = aligned_alloc(4096, (N * sizeof(*p) + 4095) / 4096 * 4096);

	EXPECT(p);
	for (unsigned i = 0; i < N; i++)
		p[i] = i + 1;
	return p;
}

static void symbols(void)
{
	unsigned *host = host_values(), *p, back[N_WEIGHTS], first;
	void *address;
	size_t size;

	/* What the module was compiled with. */
	TRY(cudaMemcpyFromSymbol(&first, weights, sizeof(first), 0, cudaMemcpyDeviceToHost));
	EXPECT(first == 3);
	set_weights();
	TRY(cudaMalloc((void **)&p, N * sizeof(*p)));
	TRY(cudaMemcpy(p, host, N * sizeof(*p), cudaMemcpyHostToDevice));
	launch(p);
	TRY(cudaMemcpy(host, p, N * sizeof(*p), cudaMemcpyDeviceToHost));
	check(host);
	TRY(cudaGetSymbolSize(&size, weights));
	EXPECT(size == sizeof(weights));
	TRY(cudaGetSymbolAddress(&address, weights));
	TRY(cudaMemcpy(p, address, size, cudaMemcpyDeviceToDevice));
	TRY(cudaMemcpy(back, p, size, cudaMemcpyDeviceToHost));
	for (unsigned i = 0; i < N_WEIGHTS; i++)
		EXPECT(back[i] == weight_of(i));
	EXPECT(cudaMemcpyToSymbol(weights, back, 8, size - 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
	EXPECT(cudaMemcpyToSymbol(host, back, 8, 0, cudaMemcpyHostToDevice) == cudaErrorInvalidSymbol);
	TRY(cudaFree(p));
	free(host);
}

static void queries(void)
{
	struct cudaDeviceProp properties;
	struct cudaFuncAttributes attributes;
	int n = 0;

	TRY(cudaSetDeviceFlags(0));
	TRY(cudaGetDeviceProperties(&properties, 0));
	EXPECT(*properties.name && properties.major > 0 && properties.totalGlobalMem && properties.warpSize == 32);
	TRY(cudaProfilerStart());
	TRY(cudaFuncGetAttributes(&attributes, (const void *)weigh));
	EXPECT(attributes.maxThreadsPerBlock >= (int)BLOCK);
	TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&n, (const void *)weigh, BLOCK, 0, 0));
	EXPECT(n > 0);
	TRY(cudaProfilerStop());
}

/* Memory that is the CPU's, too, without anybody's help. */
static void managed(void)
{
	unsigned *p;

	set_weights();
	TRY(cudaMallocManaged((void **)&p, N * sizeof(*p), cudaMemAttachGlobal));
	for (unsigned i = 0; i < N; i++)
		p[i] = i + 1;
	launch(p);
	TRY(cudaDeviceSynchronize());
	check(p);
	TRY(cudaFree(p));
}

static void registered(void)
{
	unsigned *host = host_values(), *p;
	void *device;

	set_weights();
	TRY(cudaHostRegister(host, N * sizeof(*host), 0));
	TRY(cudaHostGetDevicePointer(&device, host, 0));
	EXPECT(device);
	TRY(cudaMalloc((void **)&p, N * sizeof(*p)));
	TRY(cudaMemcpyAsync(p, host, N * sizeof(*p), cudaMemcpyHostToDevice, NULL));
	launch(p);
	TRY(cudaMemcpyAsync(host, p, N * sizeof(*p), cudaMemcpyDeviceToHost, NULL));
	TRY(cudaDeviceSynchronize());
	check(host);
	TRY(cudaHostUnregister(host));
	TRY(cudaFree(p));
	free(host);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } modes[] = {
		{ "symbols", symbols }, { "queries", queries }, { "managed", managed }, { "registered", registered },
	};

	for (size_t i = 0; argc == 2 && i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(modes[i].name, argv[1]))
			continue;
		modes[i].run();
		printf("%s: right\n", argv[1]);
		return 0;
	}
	return 2;
}
