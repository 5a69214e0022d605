/* SPDX-License-Identifier: MIT */
/* device.h - the words of CUDA C that clang does not know by itself. */
#ifndef TEST_PTX_DEVICE_H
#define TEST_PTX_DEVICE_H

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

#define tidx ((int)__nvvm_read_ptx_sreg_tid_x())
#define ntidx ((int)__nvvm_read_ptx_sreg_ntid_x())
#define ctaidx ((int)__nvvm_read_ptx_sreg_ctaid_x())
#define index (ctaidx * ntidx + tidx)

#endif
