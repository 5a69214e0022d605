/* SPDX-License-Identifier: MIT */
/* error.c - the texts of adsmErrorString(). */
#include "base/error.h"

#include "base/log.h"

#include <errno.h>
#include <string.h>

const char *adsm_error_string(int error)
{
	switch (-error) {
	case 0: return "no error";
	case EINVAL: return "invalid argument or option";
	case ENODEV: return "no device, or the device was lost";
	case ENOMEM: return "out of memory on the device or the host";
	case EBUSY: return "still in use";
	case EIO: return "a transfer or a kernel failed";
	case ENOENT: return "no such file or kernel";
	case ENOEXEC: return "not a kernel module";
	case ENOTSUP: return "not supported";
	}
	return strerrordesc_np(-error) ? strerrordesc_np(-error) : "unknown error";
}

const char *adsm_error_number(int error)
{
	static __thread char text[20];

	adsm_format(text, sizeof(text), "error %d", error);
	return text;
}
