/* SPDX-License-Identifier: MIT */
/* driven_open.h - what a vendor's driver has: the functions of its library, and the devices that an option names. */
#ifndef ADSM_DRIVEN_OPEN_H
#define ADSM_DRIVEN_OPEN_H

#include <stdbool.h>
#include <stddef.h>

struct adsm_driven_function {
	const char *name;
	size_t offset;			/* of its pointer, in the backend's struct of functions */
	bool required;
};

/* Fill the struct of functions; one that is not required may be NULL there. NULL, or the first name that is missing. */
const char *adsm_driven_functions(void *library, const struct adsm_driven_function *functions, size_t n,
				  void *ret_struct);
/* Is the word @part, @length bytes, empty, or the number @index, or contained in @text? Case is ignored. */
bool adsm_driven_matches(const char *part, size_t length, const char *text, unsigned index);

#endif
