// SPDX-License-Identifier: MIT
// program.cu - a program of CUDA's runtime that knows nothing of the library: program explicit|touch|read|stream
//
// explicit: copies as programs make them; runs with and without the library preloaded, with the same results.
// touch, read: uses cudaMalloc()'s pointers on the CPU, and as a target of fread(); needs the library.
// stream: two streams, an event, asynchronous allocation, copies of rows.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include <cuda_runtime.h>

enum { N = 1 << 20 };

#define CHECK(call) check(call, #call)

static void check(cudaError_t error, const char *call)
{
	if (error == cudaSuccess)
		return;
	std::printf("%s: %s\n", call, cudaGetErrorString(error));
	std::exit(1);
}

__global__ void add(int *words, int value, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		words[i] += value;
}

static void launch(int *words, int value, cudaStream_t stream)
{
	add<<<(N + 255) / 256, 256, 0, stream>>>(words, value, N);
	CHECK(cudaGetLastError());
}

// Each word is its index and @more.
static void expect(const int *words, int more)
{
	for (int i = 0; i < N; i++) {
		if (words[i] != i + more) {
			std::printf("word %d is %d, not %d\n", i, words[i], i + more);
			std::exit(1);
		}
	}
}

static int *numbers()
{
	int *words = static_cast<int *>(std::malloc(N * sizeof(int)));

	for (int i = 0; i < N; i++)
		words[i] = i;
	return words;
}

static void explicit_copies()
{
	int *host = numbers(), *device;

	CHECK(cudaMalloc(&device, N * sizeof(int)));
	CHECK(cudaMemcpy(device, host, N * sizeof(int), cudaMemcpyHostToDevice));
	launch(device, 1, 0);
	CHECK(cudaMemcpy(host, device, N * sizeof(int), cudaMemcpyDeviceToHost));
	expect(host, 1);
	CHECK(cudaMemset(device, 0, N * sizeof(int)));
	CHECK(cudaMemcpy(host, device, N * sizeof(int), cudaMemcpyDefault));
	if (host[N - 1])
		std::printf("not 0\n"), std::exit(1);
	CHECK(cudaFree(device));
	std::free(host);
}

static void touch()
{
	int *words;

	CHECK(cudaMalloc(&words, N * sizeof(int)));
	for (int i = 0; i < N; i++)
		words[i] = i;
	launch(words, 1, 0);
	CHECK(cudaDeviceSynchronize());
	expect(words, 1);
	words[7] += 100;
	launch(words, 1, 0);
	CHECK(cudaDeviceSynchronize());
	words[7] -= 100;
	expect(words, 2);
	CHECK(cudaFree(words));
}

static void read_file()
{
	std::FILE *file = std::tmpfile();
	int *host = numbers(), *words;

	CHECK(cudaMalloc(&words, N * sizeof(int)));
	if (!file || std::fwrite(host, sizeof(int), N, file) != N)
		std::exit(1);
	std::rewind(file);
	if (std::fread(words, sizeof(int), N, file) != N)
		std::perror("fread"), std::exit(1);
	launch(words, 3, 0);
	if (lseek(fileno(file), 0, SEEK_SET) || write(fileno(file), words, N * sizeof(int)) != N * sizeof(int))
		std::perror("write"), std::exit(1);
	std::rewind(file);
	if (std::fread(host, sizeof(int), N, file) != N)
		std::exit(1);
	expect(host, 3);
	CHECK(cudaFree(words));
	std::free(host);
}

static void streams()
{
	int *host = numbers(), *first, *second;
	cudaStream_t a, b;
	cudaEvent_t sent;

	CHECK(cudaStreamCreate(&a));
	CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	CHECK(cudaEventCreate(&sent));
	CHECK(cudaMalloc(&first, N * sizeof(int)));
	CHECK(cudaMallocAsync(&second, N * sizeof(int), b));
	CHECK(cudaMemcpyAsync(first, host, N * sizeof(int), cudaMemcpyHostToDevice, a));
	launch(first, 1, a);
	CHECK(cudaEventRecord(sent, a));
	CHECK(cudaStreamWaitEvent(b, sent, 0));
	CHECK(cudaMemcpyAsync(second, first, N * sizeof(int), cudaMemcpyDeviceToDevice, b));
	launch(second, 1, b);
	CHECK(cudaMemcpy2DAsync(host, 4096, second, 4096, 4096, N * sizeof(int) / 4096, cudaMemcpyDeviceToHost, b));
	CHECK(cudaStreamSynchronize(b));
	expect(host, 2);
	CHECK(cudaFreeAsync(second, b));
	CHECK(cudaStreamSynchronize(b));
	CHECK(cudaFree(first));
	CHECK(cudaEventDestroy(sent));
	CHECK(cudaStreamDestroy(a));
	CHECK(cudaStreamDestroy(b));
	std::free(host);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!std::strcmp(mode, "explicit"))
		explicit_copies();
	else if (!std::strcmp(mode, "touch"))
		touch();
	else if (!std::strcmp(mode, "read"))
		read_file();
	else if (!std::strcmp(mode, "stream"))
		streams();
	else
		return 2;
	std::printf("%s: right\n", mode);
	return 0;
}
