/* SPDX-License-Identifier: MIT */
/*
 * shared_ptr_base.h - libstdc++'s header of this name writes __attribute__((__noinline__)). __noinline__ is a macro in
 * CUDA C, until clang 15.
 */
#pragma push_macro("__noinline__")
#undef __noinline__
#include_next <bits/shared_ptr_base.h>
#pragma pop_macro("__noinline__")
