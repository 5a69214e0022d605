/* SPDX-License-Identifier: MIT */
/* textures.cu - kernels that read texture objects and texture references. */

/* Elements by their index, also outside of the texture. */
__global__ void fetch(cudaTextureObject_t texture, int *out, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = tex1Dfetch<int>(texture, i - 5);
}

/* Between elements, and around the edges. */
__global__ void between(cudaTextureObject_t texture, float *out, float step)
{
	const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	const int width = gridDim.x * blockDim.x;

	out[y * width + x] = tex2D<float>(texture, x * step - 2, y * step - 2);
}

/* Coordinates from 0 to 1, bytes as numbers. */
__global__ void colours(cudaTextureObject_t texture, float4 *out, int width, int height)
{
	const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < 3 * width && y < 3 * height)
		out[y * 3 * width + x] = tex2D<float4>(texture, (x - width + 0.5f) / width, (y - height + 0.5f) / height);
}

/* In three dimensions, with a border. */
__global__ void volume(cudaTextureObject_t texture, float *out, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n * n * n)
		out[i] = tex3D<float>(texture, i % n - 0.5f, i / n % n - 0.5f, i / n / n - 0.5f);
}

__global__ void layers(cudaTextureObject_t texture, short2 *out, int width, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = tex2DLayered<short2>(texture, i % width, i / width % width, i % 7);
}

/* A texture reference. */
texture<float, cudaTextureType2D, cudaReadModeElementType> plane_reference;

__global__ void plane(float *out, int width)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < width * width)
		out[i] = tex2D(plane_reference, i % width + 0.5f, i / width + 0.5f);
}
