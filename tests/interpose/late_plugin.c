/* SPDX-License-Identifier: MIT */
/* late_plugin.c - what late.c loads: it has an object, and closes it. */
#include <adsm.h>
#include <stddef.h>
#include <stdio.h>

#define SIZE 300000

void *plugin_open(size_t *ret_size);
int plugin_shut(int value);

static void *object;

__attribute__((visibility("default"))) void *plugin_open(size_t *ret_size)
{
	*ret_size = SIZE;
	object = adsmInit() ? NULL : adsmAlloc(SIZE);
	if (!object)
		puts(adsmLastError());
	return object;
}

__attribute__((visibility("default"))) int plugin_shut(int value)
{
	return adsmMemset(object, value, SIZE);
}
