/* SPDX-License-Identifier: MIT */
/* driven_open.c - what a vendor's driver has: the functions of its library, and the devices that an option names. */
#include "driven_open.h"

#include <string.h>

#include "base/log.h"
#include "base/os.h"

const char *adsm_driven_functions(void *library, const struct adsm_driven_function *functions, size_t n,
				  void *ret_struct)
{
	for (size_t i = 0; i < n; i++) {
		void *function = adsm_os_dlsym(library, functions[i].name);

		if (!function && functions[i].required)
			return functions[i].name;
		memcpy((char *)ret_struct + functions[i].offset, &function, sizeof(function));
	}
	return NULL;
}

/* Like strncasecmp(), which follows the program's locale. */
static bool begins(const char *text, const char *part, size_t length)
{
	size_t n = 0;

	while (n < length && adsm_upper(text[n]) == adsm_upper(part[n]))
		n++;
	return n == length;
}

bool adsm_driven_matches(const char *part, size_t length, const char *text, unsigned index)
{
	char number[16];

	adsm_format(number, sizeof(number), "%u", index);
	if (!length || (strlen(number) == length && !strncmp(part, number, length)))
		return true;
	/* A number is always an index, although many names contain digits. */
	if (strspn(part, "0123456789") >= length)
		return false;
	while (*text && !begins(text, part, length))
		text++;
	return *text;
}
