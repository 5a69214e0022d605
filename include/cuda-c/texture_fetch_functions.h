/* SPDX-License-Identifier: MIT */
/*
 * texture_fetch_functions.h - texture references: variables of the type texture<>, and reads of them. In kernels clang
 * makes of such a variable the handle of a texture object.
 */
#ifndef ADSM_CUDA_TEXTURE_FETCH_FUNCTIONS_H
#define ADSM_CUDA_TEXTURE_FETCH_FUNCTIONS_H

#include "texture_indirect_functions.h"
#include "cuda_runtime_api.h"

#define cudaTextureType1D 0x01
#define cudaTextureType2D 0x02
#define cudaTextureType3D 0x03
#define cudaTextureTypeCubemap 0x0c
#define cudaTextureType1DLayered 0xf1
#define cudaTextureType2DLayered 0xf2

struct textureReference {
	int normalized;
	enum cudaTextureFilterMode filterMode;
	enum cudaTextureAddressMode addressMode[3];
	struct cudaChannelFormatDesc channelDesc;
	int sRGB;
	unsigned int maxAnisotropy;
	enum cudaTextureFilterMode mipmapFilterMode;
	float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
};

template <typename T, int type = cudaTextureType1D, enum cudaTextureReadMode mode = cudaReadModeElementType>
struct __attribute__((device_builtin_texture_type)) texture : public textureReference {
	texture(int relative = 0, enum cudaTextureFilterMode filter = cudaFilterModePoint,
		enum cudaTextureAddressMode beyond = cudaAddressModeClamp)
	{
		normalized = relative;
		filterMode = filter;
		addressMode[0] = addressMode[1] = addressMode[2] = beyond;
		channelDesc = cudaCreateChannelDesc<T>();
		sRGB = 0;
	}
	texture(int relative, enum cudaTextureFilterMode filter, enum cudaTextureAddressMode beyond,
		struct cudaChannelFormatDesc format) : texture(relative, filter, beyond)
	{
		channelDesc = format;
	}
};

namespace adsm_cuda {

/* What a read of elements of type T gives: a T, or numbers from 0 or -1 to 1. */
template <typename T, enum cudaTextureReadMode mode> struct read_as { typedef T type; };
#define ADSM_CUDA_UNIT(name, base) \
	template <> struct read_as<base, cudaReadModeNormalizedFloat> { typedef float type; }; \
	template <> struct read_as<name##1, cudaReadModeNormalizedFloat> { typedef float1 type; }; \
	template <> struct read_as<name##2, cudaReadModeNormalizedFloat> { typedef float2 type; }; \
	template <> struct read_as<name##4, cudaReadModeNormalizedFloat> { typedef float4 type; };
ADSM_CUDA_UNIT(char, signed char)
ADSM_CUDA_UNIT(uchar, unsigned char)
ADSM_CUDA_UNIT(short, short)
ADSM_CUDA_UNIT(ushort, unsigned short)
#undef ADSM_CUDA_UNIT
template <> struct read_as<char, cudaReadModeNormalizedFloat> { typedef float type; };

template <typename Texture>
static __device__ __inline__ __attribute__((always_inline)) cudaTextureObject_t handle(Texture &texture)
{
	return *(const cudaTextureObject_t *)&texture;
}

}

/* Each function by that of texture objects. */
#define ADSM_CUDA_REFERENCE(name, shape, parameters, ...) \
	template <typename T, enum cudaTextureReadMode mode> \
	static __device__ __inline__ __attribute__((always_inline)) typename adsm_cuda::read_as<T, mode>::type \
	name(texture<T, shape, mode> reference, parameters) \
	{ \
		return name<typename adsm_cuda::read_as<T, mode>::type>(adsm_cuda::handle(reference), __VA_ARGS__); \
	}
#define ADSM_CUDA_COMMA ,

ADSM_CUDA_REFERENCE(tex1Dfetch, cudaTextureType1D, int x, x)
ADSM_CUDA_REFERENCE(tex1D, cudaTextureType1D, float x, x)
ADSM_CUDA_REFERENCE(tex2D, cudaTextureType2D, float x ADSM_CUDA_COMMA float y, x, y)
ADSM_CUDA_REFERENCE(tex3D, cudaTextureType3D, float x ADSM_CUDA_COMMA float y ADSM_CUDA_COMMA float z, x, y, z)
ADSM_CUDA_REFERENCE(tex1DLayered, cudaTextureType1DLayered, float x ADSM_CUDA_COMMA int layer, x, layer)
ADSM_CUDA_REFERENCE(tex2DLayered, cudaTextureType2DLayered,
		    float x ADSM_CUDA_COMMA float y ADSM_CUDA_COMMA int layer, x, y, layer)
#undef ADSM_CUDA_REFERENCE
#undef ADSM_CUDA_COMMA

/* ---- The CPU's part ----------------------------------------------------------------------- */

extern "C" {
cudaError_t cudaBindTexture(size_t *ret_offset, const struct textureReference *reference, const void *p,
			    const struct cudaChannelFormatDesc *format, size_t size);
cudaError_t cudaBindTexture2D(size_t *ret_offset, const struct textureReference *reference, const void *p,
			      const struct cudaChannelFormatDesc *format, size_t width, size_t height, size_t pitch);
cudaError_t cudaBindTextureToArray(const struct textureReference *reference, cudaArray_const_t array,
				   const struct cudaChannelFormatDesc *format);
cudaError_t cudaUnbindTexture(const struct textureReference *reference);
cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *ret_format, cudaArray_const_t array);
cudaError_t cudaGetTextureAlignmentOffset(size_t *ret_offset, const struct textureReference *reference);
cudaError_t cudaGetTextureReference(const struct textureReference **ret_reference, const void *symbol);
}

#define ADSM_CUDA_BIND \
	template <typename T, int type, enum cudaTextureReadMode mode> static __inline__ cudaError_t

ADSM_CUDA_BIND cudaBindTexture(size_t *ret_offset, const texture<T, type, mode> &reference, const void *p,
			       const struct cudaChannelFormatDesc &format, size_t size = 0xffffffff)
{
	return cudaBindTexture(ret_offset, (const struct textureReference *)&reference, p, &format, size);
}
ADSM_CUDA_BIND cudaBindTexture(size_t *ret_offset, const texture<T, type, mode> &reference, const void *p,
			       size_t size = 0xffffffff)
{
	return cudaBindTexture(ret_offset, (const struct textureReference *)&reference, p, &reference.channelDesc,
			       size);
}
ADSM_CUDA_BIND cudaBindTexture2D(size_t *ret_offset, const texture<T, type, mode> &reference, const void *p,
				 const struct cudaChannelFormatDesc &format, size_t width, size_t height, size_t pitch)
{
	return cudaBindTexture2D(ret_offset, (const struct textureReference *)&reference, p, &format, width, height,
				 pitch);
}
ADSM_CUDA_BIND cudaBindTexture2D(size_t *ret_offset, const texture<T, type, mode> &reference, const void *p,
				 size_t width, size_t height, size_t pitch)
{
	return cudaBindTexture2D(ret_offset, (const struct textureReference *)&reference, p, &reference.channelDesc,
				 width, height, pitch);
}
ADSM_CUDA_BIND cudaBindTextureToArray(const texture<T, type, mode> &reference, cudaArray_const_t array,
				      const struct cudaChannelFormatDesc &format)
{
	return cudaBindTextureToArray((const struct textureReference *)&reference, array, &format);
}
ADSM_CUDA_BIND cudaBindTextureToArray(const texture<T, type, mode> &reference, cudaArray_const_t array)
{
	return cudaBindTextureToArray((const struct textureReference *)&reference, array, &reference.channelDesc);
}
ADSM_CUDA_BIND cudaUnbindTexture(const texture<T, type, mode> &reference)
{
	return cudaUnbindTexture((const struct textureReference *)&reference);
}
ADSM_CUDA_BIND cudaGetTextureAlignmentOffset(size_t *ret_offset, const texture<T, type, mode> &reference)
{
	return cudaGetTextureAlignmentOffset(ret_offset, (const struct textureReference *)&reference);
}
#undef ADSM_CUDA_BIND

#endif
