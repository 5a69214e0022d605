/* SPDX-License-Identifier: MIT */
/* device_launch_parameters.h - threadIdx, blockIdx, blockDim, gridDim and warpSize. */
#ifndef ADSM_CUDA_DEVICE_LAUNCH_PARAMETERS_H
#define ADSM_CUDA_DEVICE_LAUNCH_PARAMETERS_H

#include "vector_types.h"

/* A variable whose fields are special registers of the device. It has no memory. */
#define ADSM_CUDA_FIELD(field, reg) \
	__declspec(property(get = adsm_get_##field)) unsigned int field; \
	static __inline__ __attribute__((device, always_inline, nodebug)) unsigned int adsm_get_##field(void) \
	{ \
		return __nvvm_read_ptx_sreg_##reg##_##field(); \
	}
#define ADSM_CUDA_INDEX(name, reg) \
	struct adsm_cuda_##name { \
		typedef int adsm_cuda_index; \
		ADSM_CUDA_FIELD(x, reg) \
		ADSM_CUDA_FIELD(y, reg) \
		ADSM_CUDA_FIELD(z, reg) \
		__device__ operator uint3() const { return uint3{ x, y, z }; } \
		adsm_cuda_##name(const adsm_cuda_##name &) = delete; \
	}; \
	extern const __device__ __attribute__((weak)) adsm_cuda_##name name;

ADSM_CUDA_INDEX(threadIdx, tid)
ADSM_CUDA_INDEX(blockIdx, ctaid)
ADSM_CUDA_INDEX(blockDim, ntid)
ADSM_CUDA_INDEX(gridDim, nctaid)
#undef ADSM_CUDA_INDEX
#undef ADSM_CUDA_FIELD

static constexpr int warpSize = 32;

#endif
