/* SPDX-License-Identifier: MIT */
/*
 * hook_neighbour.c - other libraries of a process, with functions that are called as some of the driver's: two that the
 * program is linked with, one behind the other, and one that it opens for itself. Each says what its own look-ups give.
 */
#include <dlfcn.h>

#include "hook.h"

/* Of the first, before the constructors of what was preloaded. */
static struct hook_early early;

__attribute__((constructor)) static void look_early(void)
{
	early.value = dlsym(RTLD_NEXT, "hook_value");
	early.thing = dlsym(RTLD_NEXT, "cuBlasThing");
	early.memory = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
}

const struct hook_early *HOOK_NAME(early)(void)
{
	return &early;
}

int hook_value(void)
{
	return HOOK_NUMBER;
}

int cuBlasThing(void)
{
	return HOOK_NUMBER;
}

int cuMemAlloc_v2(void)
{
	return HOOK_NUMBER;
}

int cuGetProcAddress_v2(void)
{
	return HOOK_NUMBER;
}

/* Not the last thing that it does: a look-up's return address is in here. */
void *HOOK_NAME(next)(const char *name)
{
	void *volatile found = dlsym(RTLD_NEXT, name);

	return found;
}

void *HOOK_NAME(next_version)(const char *name, const char *version)
{
	void *volatile found = dlvsym(RTLD_NEXT, name, version);

	return found;
}

void *HOOK_NAME(any)(const char *name)
{
	void *volatile found = dlsym(RTLD_DEFAULT, name);

	return found;
}
