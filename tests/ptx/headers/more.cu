/* SPDX-License-Identifier: MIT */
/* more.cu - random numbers, references of textures, surfaces, and functions of the CPU that are rare. */
#include <cuda.h>
#include <curand_kernel.h>

texture<float, cudaTextureType1D, cudaReadModeElementType> line;
texture<uchar4, cudaTextureType2D, cudaReadModeNormalizedFloat> plane;
texture<short2, cudaTextureType3D> space;

__global__ void random_numbers(curandState *state, curandStatePhilox4_32_10_t *philox, curandStateSobol32_t *sobol,
			       curandStateSobol64_t *sobol64, float *out, double *wide)
{
	out[0] = curand_uniform(state) + curand_normal(state) + curand_log_normal(state, 1, 2) + curand_normal2(state).x;
	out[1] = curand_uniform(philox) + curand_uniform4(philox).w + curand_normal4(philox).z;
	out[2] = curand_uniform(sobol) + curand_normal(sobol) + curand_uniform(sobol64) + curand_normal(sobol64);
	out[3] = (float)curand_poisson(state, 3.0);
	wide[0] = curand_uniform_double(state) + curand_normal_double(philox) + curand_uniform2_double(philox).y;
	wide[1] = curand_uniform_double(sobol) + curand_normal_double(sobol64) + curand_log_normal_double(state, 0, 1);
}

__global__ void references(float *out)
{
	out[threadIdx.x] = tex1Dfetch(line, (int)threadIdx.x) + tex2D(plane, 0.5f, 0.25f).z + tex3D(space, 1, 2, 3).y;
}

__global__ void surfaces(cudaSurfaceObject_t surface, float4 *out)
{
	surf2Dwrite(out[0], surface, 16 * (int)threadIdx.x, 0);
	surf2Dread(&out[1], surface, 0, 1);
	surf3Dwrite((unsigned char)7, surface, 1, 2, 3);
	out[2].x = surf1Dread<float>(surface, 4) + surf2DLayeredread<short>(surface, 2, 3, 4);
}

/* A level of a texture; a value that decides what a graph runs. */
__global__ void levels(cudaTextureObject_t texture, float4 *out, cudaGraphConditionalHandle handle)
{
	out[0] = tex2DLod<float4>(texture, 0.5f, 0.5f, 1);
	tex2DLod(&out[1], texture, 0.5f, 0.5f, 2);
	cudaGraphSetConditional(handle, out[0].x > 0);
}

/* Memory of the C library. */
__global__ void bytes(char *to, const char *from, int n)
{
	memcpy(to, from, (size_t)n);
	memmove(to + 1, to, (size_t)n);
	memset(to + n, 0, (size_t)n);
	to[0] = (char)(memcmp(to, from, (size_t)n) + (int)strlen(from));
}

/* Nodes of a graph, of which one runs as long as a value is set. */
static void add_nodes(cudaGraph_t graph, cudaStream_t stream)
{
	cudaGraphNodeParams kernel = { cudaGraphNodeTypeKernel }, loop = { cudaGraphNodeTypeConditional };
	cudaGraphNode_t nodes[2];
	const cudaGraphNode_t *after;
	cudaStreamCaptureStatus status;
	size_t n;

	kernel.kernel.func = (void *)levels;
	kernel.kernel.gridDim = 1;
	cudaGraphConditionalHandleCreate(&loop.conditional.handle, graph, 1, cudaGraphCondAssignDefault);
	loop.conditional.type = cudaGraphCondTypeWhile;
	loop.conditional.size = 1;
	cudaGraphAddNode(&nodes[0], graph, NULL, NULL, 0, &kernel);
	cudaGraphAddNode(&nodes[1], graph, nodes, 1, &loop);
	cudaStreamBeginCaptureToGraph(stream, loop.conditional.phGraph_out[0], NULL, NULL, 0,
				      cudaStreamCaptureModeGlobal);
	cudaStreamGetCaptureInfo(stream, &status, NULL, &graph, &after, NULL, &n);
	cudaStreamUpdateCaptureDependencies(stream, nodes, NULL, 1, cudaStreamSetCaptureDependencies);
}

/* Memory of graphics, and attributes by their numbers. */
static int map(cudaGraphicsResource *resource, float **ret_p)
{
	size_t size;
	int value = 0;

	static_assert(cudaDevAttrPciBusId == 33 && cudaDevAttrMultiGpuBoardGroupID == 85 &&
		      cudaDevAttrMaxTexture1DLayeredLayers == 43 && cudaDevAttrMaxSharedMemoryPerMultiprocessor == 81 &&
		      cudaDevAttrCanUseHostPointerForRegisteredMem == 91 &&
		      cudaDevAttrDirectManagedMemAccessFromHost == 101 &&
		      cudaDevAttrMemoryPoolSupportedHandleTypes == 119, "numbers of attributes");
	cudaGraphicsResourceSetMapFlags(resource, cudaGraphicsMapFlagsReadOnly);
	cudaGraphicsMapResources(1, &resource);
	cudaGraphicsResourceGetMappedPointer((void **)ret_p, &size, resource);
	cudaDeviceGetAttribute(&value, cudaDevAttrHostNativeAtomicSupported, 0);
	cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 0);
	return value + (int)size;
}

int main(void)
{
	cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
	cudaGraphExec_t exec;
	cudaMemPool_t pool;
	cudaArray_t array;
	cudaGraph_t graph;
	float *p;
	int n;

	plane.normalized = 1;
	plane.filterMode = cudaFilterModeLinear;
	plane.addressMode[0] = cudaAddressModeWrap;
	cuDeviceGetCount(&n);
	cudaMalloc(&p, 100);
	cudaMallocArray(&array, &format, 4, 4);
	cudaBindTexture(NULL, line, p, 100);
	cudaBindTextureToArray(plane, array, format);
	cudaUnbindTexture(line);
	cudaGraphCreate(&graph, 0);
	cudaGraphInstantiate(&exec, graph);
	add_nodes(graph, 0);
	map(NULL, &p);
	cudaDeviceGetDefaultMemPool(&pool, 0);
	cudaMallocAsync(&p, 100, pool, 0);
	return (int)cudaMallocFromPoolAsync((void **)&p, 100, pool, 0);
}
