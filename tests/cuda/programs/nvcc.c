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

#define CHECK_NAME(error) cudaGetErrorName(error)
#include "../../check.h"

static const unsigned char module_image[] __attribute__((aligned(64))) = {
#include "globals.inc"
};

#define N 5000u
#define N_WEIGHTS 1024u
#define BLOCK 256u

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
		CHECK_OK(__cudaGetKernel(&handle, (const void *)weigh));
	CHECK_OK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
	CHECK_OK(__cudaLaunchKernel(handle, grid, block, args, shared, stream));
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

	CHECK(!__cudaPushCallConfiguration(grid, block, 0, NULL));
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
	CHECK_OK(cudaMemcpyToSymbol(weights, values, 400, 0, cudaMemcpyHostToDevice));
	CHECK_OK(cudaMemcpyToSymbol(weights, values + 100, sizeof(values) - 400, 400, cudaMemcpyHostToDevice));
}

static void check(const unsigned *p)
{
	for (unsigned i = 0; i < N; i++)
		CHECK(p[i] == (i + 1) * weight_of(i));
}

static unsigned *host_values(void)
{
	unsigned *p = aligned_alloc(4096, (N * sizeof(*p) + 4095) / 4096 * 4096);

	CHECK(p);
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
	CHECK_OK(cudaMemcpyFromSymbol(&first, weights, sizeof(first), 0, cudaMemcpyDeviceToHost));
	CHECK(first == 3);
	set_weights();
	CHECK_OK(cudaMalloc((void **)&p, N * sizeof(*p)));
	CHECK_OK(cudaMemcpy(p, host, N * sizeof(*p), cudaMemcpyHostToDevice));
	launch(p);
	CHECK_OK(cudaMemcpy(host, p, N * sizeof(*p), cudaMemcpyDeviceToHost));
	check(host);
	CHECK_OK(cudaGetSymbolSize(&size, weights));
	CHECK(size == sizeof(weights));
	CHECK_OK(cudaGetSymbolAddress(&address, weights));
	CHECK_OK(cudaMemcpy(p, address, size, cudaMemcpyDeviceToDevice));
	CHECK_OK(cudaMemcpy(back, p, size, cudaMemcpyDeviceToHost));
	for (unsigned i = 0; i < N_WEIGHTS; i++)
		CHECK(back[i] == weight_of(i));
	CHECK(cudaMemcpyToSymbol(weights, back, 8, size - 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
	CHECK(cudaMemcpyToSymbol(host, back, 8, 0, cudaMemcpyHostToDevice) == cudaErrorInvalidSymbol);
	CHECK_OK(cudaFree(p));
	free(host);
}

static void queries(void)
{
	struct cudaDeviceProp properties;
	struct cudaFuncAttributes attributes;
	int n = 0;

	CHECK_OK(cudaSetDeviceFlags(0));
	CHECK_OK(cudaGetDeviceProperties(&properties, 0));
	CHECK(*properties.name && properties.major > 0 && properties.totalGlobalMem && properties.warpSize == 32);
	CHECK_OK(cudaProfilerStart());
	CHECK_OK(cudaFuncGetAttributes(&attributes, (const void *)weigh));
	CHECK(attributes.maxThreadsPerBlock >= (int)BLOCK);
	CHECK_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&n, (const void *)weigh, BLOCK, 0, 0));
	CHECK(n > 0);
	CHECK_OK(cudaProfilerStop());
}

/* Memory that is the CPU's, too, without anybody's help. */
static void managed(void)
{
	unsigned *p;

	set_weights();
	CHECK_OK(cudaMallocManaged((void **)&p, N * sizeof(*p), cudaMemAttachGlobal));
	for (unsigned i = 0; i < N; i++)
		p[i] = i + 1;
	launch(p);
	CHECK_OK(cudaDeviceSynchronize());
	check(p);
	CHECK_OK(cudaFree(p));
}

static void registered(void)
{
	unsigned *host = host_values(), *p;
	void *device;

	set_weights();
	CHECK_OK(cudaHostRegister(host, N * sizeof(*host), 0));
	CHECK_OK(cudaHostGetDevicePointer(&device, host, 0));
	CHECK(device);
	CHECK_OK(cudaMalloc((void **)&p, N * sizeof(*p)));
	CHECK_OK(cudaMemcpyAsync(p, host, N * sizeof(*p), cudaMemcpyHostToDevice, NULL));
	launch(p);
	CHECK_OK(cudaMemcpyAsync(host, p, N * sizeof(*p), cudaMemcpyDeviceToHost, NULL));
	CHECK_OK(cudaDeviceSynchronize());
	check(host);
	CHECK_OK(cudaHostUnregister(host));
	CHECK_OK(cudaFree(p));
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
