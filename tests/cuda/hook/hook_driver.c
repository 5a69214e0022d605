/* SPDX-License-Identifier: MIT */
/* hook_driver.c - a driver that is called otherwise, and newer than the library: only what a look-up needs. */
#include <string.h>

#include "cuda/cu.h"

#define EXPORT __attribute__((visibility("default")))

#define FUNCTIONS(F) \
	F(cuInit) F(cuDriverGetVersion) F(cuMemAlloc_v2) F(cuMemAlloc_v9) F(cuMemFree_v2) F(cuMemShuffle) \
	F(cuLaunchLater) F(cuStreamForget) F(cuDeviceGetColour) F(cuGLGetThing) F(cuEGLGetThing) F(cuVDPAUGetThing) \
	F(cuGetExportTable)

#define DEFINE(name) \
	EXPORT CUresult name(void); \
	CUresult name(void) \
	{ \
		return CUDA_SUCCESS; \
	}
FUNCTIONS(DEFINE)

EXPORT CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags);
EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status);

/* Names with their versions, here. */
CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status)
{
#define ROW(name) { #name, (void *)(uintptr_t)name },
	static const struct { const char *name; void *function; } rows[] = { FUNCTIONS(ROW) };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t length = strlen(symbol);

		if (strncmp(rows[i].name, symbol, length))
			continue;
		if (rows[i].name[length] && version != rows[i].name[length + 2] - '0')
			continue;
		*function = rows[i].function;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
	return cuGetProcAddress_v2(symbol, function, version, flags, NULL);
}
