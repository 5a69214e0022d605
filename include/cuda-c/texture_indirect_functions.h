/* SPDX-License-Identifier: MIT */
/*
 * texture_indirect_functions.h - reads of texture objects: tex1Dfetch(), tex1D(), tex2D(), tex3D() and layers. The
 * result has the number of elements of the type that the program asks for.
 */
#ifndef ADSM_CUDA_TEXTURE_INDIRECT_FUNCTIONS_H
#define ADSM_CUDA_TEXTURE_INDIRECT_FUNCTIONS_H

#include "driver_types.h"
#include "vector_functions.h"

namespace adsm_cuda {

/*
 * PTX reads four elements of 32 bits: floats, signed or unsigned integers. texel<T>: @wide is a type of four of them,
 * and get() takes a T of it.
 */
template <typename T> struct texel;

#define ADSM_CUDA_TEXEL(type, name, four) \
	template <> struct texel<type> { \
		typedef four wide; \
		static __device__ __inline__ type get(four v) { return (type)v.x; } \
	}; \
	template <> struct texel<name##1> { \
		typedef four wide; \
		static __device__ __inline__ name##1 get(four v) { return make_##name##1((type)v.x); } \
	}; \
	template <> struct texel<name##2> { \
		typedef four wide; \
		static __device__ __inline__ name##2 get(four v) { return make_##name##2((type)v.x, (type)v.y); } \
	}; \
	template <> struct texel<name##4> { \
		typedef four wide; \
		static __device__ __inline__ name##4 get(four v) \
		{ \
			return make_##name##4((type)v.x, (type)v.y, (type)v.z, (type)v.w); \
		} \
	};

ADSM_CUDA_TEXEL(signed char, char, int4)
ADSM_CUDA_TEXEL(unsigned char, uchar, uint4)
ADSM_CUDA_TEXEL(short, short, int4)
ADSM_CUDA_TEXEL(unsigned short, ushort, uint4)
ADSM_CUDA_TEXEL(int, int, int4)
ADSM_CUDA_TEXEL(unsigned int, uint, uint4)
ADSM_CUDA_TEXEL(float, float, float4)
#undef ADSM_CUDA_TEXEL
template <> struct texel<char> : texel<signed char> { };

/*
 * A read as an instruction of PTX, for the three types. The operands of asm: @coordinates names those that follow, and
 * ends the address.
 * @n: the layer, or the coordinate that is an integer.
 */
#define ADSM_CUDA_TEX_OF(name, form, coordinates, wide, letter, ...) \
	static __device__ __inline__ void name(cudaTextureObject_t texture, wide &v, int n, float x, float y, float z) \
	{ \
		__asm__("tex." form " {%0, %1, %2, %3}, [%4, " coordinates ";" \
			: "=" letter(v.x), "=" letter(v.y), "=" letter(v.z), "=" letter(v.w) \
			: "l"(texture), __VA_ARGS__); \
	}
#define ADSM_CUDA_TEX(name, dimension, type, coordinates, ...) \
	ADSM_CUDA_TEX_OF(name, dimension ".v4.f32." type, coordinates, float4, "f", __VA_ARGS__) \
	ADSM_CUDA_TEX_OF(name, dimension ".v4.s32." type, coordinates, int4, "r", __VA_ARGS__) \
	ADSM_CUDA_TEX_OF(name, dimension ".v4.u32." type, coordinates, uint4, "r", __VA_ARGS__)

ADSM_CUDA_TEX(fetch1, "1d", "s32", "{%5}]", "r"(n))
ADSM_CUDA_TEX(read1, "1d", "f32", "{%5}]", "f"(x))
ADSM_CUDA_TEX(read2, "2d", "f32", "{%5, %6}]", "f"(x), "f"(y))
ADSM_CUDA_TEX(read3, "3d", "f32", "{%5, %6, %7, %7}]", "f"(x), "f"(y), "f"(z))
ADSM_CUDA_TEX(layer1, "a1d", "f32", "{%5, %6}]", "r"(n), "f"(x))
ADSM_CUDA_TEX(layer2, "a2d", "f32", "{%5, %6, %7, %7}]", "r"(n), "f"(x), "f"(y))
ADSM_CUDA_TEX(cube, "cube", "f32", "{%5, %6, %7, %7}]", "f"(x), "f"(y), "f"(z))
ADSM_CUDA_TEX(level2, "level.2d", "f32", "{%5, %6}], %7", "f"(x), "f"(y), "f"(z))
#undef ADSM_CUDA_TEX
#undef ADSM_CUDA_TEX_OF

}

/* Each function, as one that returns the value, and as one that stores it. The last: n, x, y, z. */
#define ADSM_CUDA_TEXTURE(name, by, parameters, to_parameters, arguments, ...) \
	template <typename T> \
	static __device__ __inline__ T name parameters \
	{ \
		typename adsm_cuda::texel<T>::wide v; \
		\
		adsm_cuda::by(texture, v, __VA_ARGS__); \
		return adsm_cuda::texel<T>::get(v); \
	} \
	template <typename T> \
	static __device__ __inline__ void name to_parameters \
	{ \
		*ret_value = name<T> arguments; \
	}

ADSM_CUDA_TEXTURE(tex1Dfetch, fetch1, (cudaTextureObject_t texture, int x),
		  (T *ret_value, cudaTextureObject_t texture, int x), (texture, x), x, 0, 0, 0)
ADSM_CUDA_TEXTURE(tex1D, read1, (cudaTextureObject_t texture, float x),
		  (T *ret_value, cudaTextureObject_t texture, float x), (texture, x), 0, x, 0, 0)
ADSM_CUDA_TEXTURE(tex2D, read2, (cudaTextureObject_t texture, float x, float y),
		  (T *ret_value, cudaTextureObject_t texture, float x, float y), (texture, x, y), 0, x, y, 0)
ADSM_CUDA_TEXTURE(tex3D, read3, (cudaTextureObject_t texture, float x, float y, float z),
		  (T *ret_value, cudaTextureObject_t texture, float x, float y, float z), (texture, x, y, z),
		  0, x, y, z)
ADSM_CUDA_TEXTURE(tex1DLayered, layer1, (cudaTextureObject_t texture, float x, int layer),
		  (T *ret_value, cudaTextureObject_t texture, float x, int layer), (texture, x, layer),
		  layer, x, 0, 0)
ADSM_CUDA_TEXTURE(tex2DLayered, layer2, (cudaTextureObject_t texture, float x, float y, int layer),
		  (T *ret_value, cudaTextureObject_t texture, float x, float y, int layer), (texture, x, y, layer),
		  layer, x, y, 0)
/* Cubes and levels are for GPUs: other devices refuse kernels that read them. */
ADSM_CUDA_TEXTURE(texCubemap, cube, (cudaTextureObject_t texture, float x, float y, float z),
		  (T *ret_value, cudaTextureObject_t texture, float x, float y, float z), (texture, x, y, z),
		  0, x, y, z)
ADSM_CUDA_TEXTURE(tex2DLod, level2, (cudaTextureObject_t texture, float x, float y, float level),
		  (T *ret_value, cudaTextureObject_t texture, float x, float y, float level), (texture, x, y, level),
		  0, x, y, level)
#undef ADSM_CUDA_TEXTURE

/* ---- The CPU's part ----------------------------------------------------------------------- */

/* The format of elements of type T: bits of each part, and their kind. */
#define ADSM_CUDA_CHANNEL(type, name, kind) \
	template <> inline cudaChannelFormatDesc cudaCreateChannelDesc<type>(void) \
	{ \
		return cudaCreateChannelDesc(8 * (int)sizeof(type), 0, 0, 0, cudaChannelFormatKind##kind); \
	} \
	template <> inline cudaChannelFormatDesc cudaCreateChannelDesc<name##1>(void) \
	{ \
		return cudaCreateChannelDesc<type>(); \
	} \
	template <> inline cudaChannelFormatDesc cudaCreateChannelDesc<name##2>(void) \
	{ \
		const int bits = 8 * (int)sizeof(type); \
		\
		return cudaCreateChannelDesc(bits, bits, 0, 0, cudaChannelFormatKind##kind); \
	} \
	template <> inline cudaChannelFormatDesc cudaCreateChannelDesc<name##4>(void) \
	{ \
		const int bits = 8 * (int)sizeof(type); \
		\
		return cudaCreateChannelDesc(bits, bits, bits, bits, cudaChannelFormatKind##kind); \
	}

ADSM_CUDA_CHANNEL(signed char, char, Signed)
ADSM_CUDA_CHANNEL(unsigned char, uchar, Unsigned)
ADSM_CUDA_CHANNEL(short, short, Signed)
ADSM_CUDA_CHANNEL(unsigned short, ushort, Unsigned)
ADSM_CUDA_CHANNEL(int, int, Signed)
ADSM_CUDA_CHANNEL(unsigned int, uint, Unsigned)
ADSM_CUDA_CHANNEL(float, float, Float)
#undef ADSM_CUDA_CHANNEL

#endif
