// SPDX-License-Identifier: MIT
/* through_helper.c - a library that is linked with the library, for a program that is not. */
#include <adsm.h>

int through_start(void);

__attribute__((visibility("default"))) int through_start(void)
{
	return adsmInit();
}
