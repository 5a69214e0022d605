/* SPDX-License-Identifier: MIT */
/*
 * c++config.h - libstdc++'s header of this name. Since GCC 14 its assertions call a function for the host, which does
 * nothing, also in functions for both sides: std::complex does. Kernels call this one.
 */
#include_next <bits/c++config.h>
#if !defined(ADSM_CXXCONFIG) && !defined(_GLIBCXX_ASSERTIONS)
#define ADSM_CXXCONFIG
namespace std {
__attribute__((device, always_inline)) inline void __glibcxx_assert_fail() {}
}
#endif
