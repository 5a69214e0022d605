/* SPDX-License-Identifier: MIT */
/* textures.cu - reads of textures, of each type and dimension. */

template <typename T>
__device__ void reads(cudaTextureObject_t texture, T *out, float x, float y, float z, int n)
{
	out[0] = tex1Dfetch<T>(texture, n);
	out[1] = tex1D<T>(texture, x);
	out[2] = tex2D<T>(texture, x, y);
	out[3] = tex3D<T>(texture, x, y, z);
	out[4] = tex1DLayered<T>(texture, x, n);
	out[5] = tex2DLayered<T>(texture, x, y, n);
	tex1Dfetch(&out[6], texture, n);
	tex2D(&out[7], texture, x, y);
}

template <typename T, typename T1, typename T2, typename T4>
__device__ void sizes(cudaTextureObject_t texture, void *out, float4 at, int n)
{
	reads(texture, (T *)out, at.x, at.y, at.z, n);
	reads(texture, (T1 *)out + 10, at.x, at.y, at.z, n);
	reads(texture, (T2 *)out + 20, at.x, at.y, at.z, n);
	reads(texture, (T4 *)out + 30, at.x, at.y, at.z, n);
}

__global__ void textures(cudaTextureObject_t texture, void *out, float4 at, int n)
{
	sizes<char, char1, char2, char4>(texture, out, at, n);
	sizes<signed char, char1, char2, char4>(texture, out, at, n);
	sizes<unsigned char, uchar1, uchar2, uchar4>(texture, out, at, n);
	sizes<short, short1, short2, short4>(texture, out, at, n);
	sizes<unsigned short, ushort1, ushort2, ushort4>(texture, out, at, n);
	sizes<int, int1, int2, int4>(texture, out, at, n);
	sizes<unsigned int, uint1, uint2, uint4>(texture, out, at, n);
	sizes<float, float1, float2, float4>(texture, out, at, n);
}
