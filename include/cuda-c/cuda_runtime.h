/* SPDX-License-Identifier: MIT */
/*
 * cuda_runtime.h - CUDA C for clang, without anything of NVIDIA's: names and behaviour as in NVIDIA's public manuals.
 * adsmcc includes it before each source, as CUDA's own compiler does.
 */
#ifndef ADSM_CUDA_RUNTIME_H
#define ADSM_CUDA_RUNTIME_H
/* Programs ask for this one. */
#define __CUDA_RUNTIME_H__

/* clang 18 and earlier have no __float128 for these devices, but say and let the C library believe that they have. */
#if defined __x86_64__ && __clang_major__ < 19 && __has_include(<bits/floatn.h>)
#undef __FLOAT128__
#undef __SIZEOF_FLOAT128__
/* The only conditions under which glibc 2.41 and later does without the type. */
#define __INTEL_LLVM_COMPILER 1
#define SYCL_LANGUAGE_VERSION 1
#include <bits/floatn.h>
#undef __INTEL_LLVM_COMPILER
#undef SYCL_LANGUAGE_VERSION
#endif

#include "adsm_math_forward.h"
#include "adsm_system.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vector_functions.h"
#include "device_launch_parameters.h"
#include "device_functions.h"
#include "device_atomic_functions.h"
#include "adsm_intrinsics.h"
#include "adsm_simd.h"
#include "math_functions.h"
#include "adsm_complex.h"
#include "cuda_runtime_api.h"
#include "texture_indirect_functions.h"
#include "texture_fetch_functions.h"
#include "surface_functions.h"
#include "adsm_runtime_more.h"

#endif
