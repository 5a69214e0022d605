/* SPDX-License-Identifier: MIT */
/* adsm_export.h - how the public functions are declared. The other headers include it. */
#ifndef ADSM_EXPORT_H
#define ADSM_EXPORT_H

/*
 * A program that can also run without the library compiles with -DADSM_API="__attribute__((weak))", and compares the
 * address of adsmInit with NULL at run time.
 */
#if !defined(ADSM_API) && defined(__GNUC__)
#define ADSM_API __attribute__((visibility("default")))
#elif !defined(ADSM_API)
#define ADSM_API
#endif

#endif
