/* SPDX-License-Identifier: MIT */
/* hook.h - what the neighbours of a program export: hook_neighbour.c, once for each HOOK_NUMBER. */
#ifndef TEST_CUDA_HOOK_H
#define TEST_CUDA_HOOK_H

#define HOOK_EXPORT __attribute__((visibility("default")))
#define HOOK_PASTE(number, name) hook_##number##_##name
#define HOOK_PASTE_VALUE(number, name) HOOK_PASTE(number, name)
#define HOOK_NAME(name) HOOK_PASTE_VALUE(HOOK_NUMBER, name)

struct hook_early {
	void *value, *thing, *memory;
};

#define HOOK_NEIGHBOUR(number) \
	HOOK_EXPORT const struct hook_early *HOOK_PASTE_VALUE(number, early)(void); \
	HOOK_EXPORT void *HOOK_PASTE_VALUE(number, next)(const char *name); \
	HOOK_EXPORT void *HOOK_PASTE_VALUE(number, next_version)(const char *name, const char *version); \
	HOOK_EXPORT void *HOOK_PASTE_VALUE(number, any)(const char *name)

#ifdef HOOK_NUMBER
HOOK_NEIGHBOUR(HOOK_NUMBER);
HOOK_EXPORT int hook_value(void);
HOOK_EXPORT int cuBlasThing(void);
HOOK_EXPORT int cuMemAlloc_v2(void);
HOOK_EXPORT int cuGetProcAddress_v2(void);
#else
HOOK_NEIGHBOUR(1);
HOOK_NEIGHBOUR(2);
#endif

#endif
