/* SPDX-License-Identifier: MIT */
/* backend.c - the list of backends, and the choice among them. */
#include "backend.h"

#include "list.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>

static const struct adsm_backend *const backends[] = { ADSM_BACKENDS };

#define N_BACKENDS (sizeof(backends) / sizeof(backends[0]))

static int no_such_backend(const char *name)
{
	char names[128] = "auto";
	size_t length = strlen(names);

#ifndef ADSM_HAVE_OPENCL
	if (!strcmp(name, "opencl"))
		return adsm_fail(-ENODEV, "the backend 'opencl' is missing: the library was built without OpenCL's "
				 "headers; install them (Debian's opencl-headers), and build the library again in an "
				 "empty folder");
#endif
	for (size_t i = 0; i < N_BACKENDS && length < sizeof(names); i++)
		length += (size_t)adsm_format(names + length, sizeof(names) - length, ", %s",
					      backends[i]->name);
	return adsm_fail(-EINVAL, "no backend has the name '%s'; valid names are: %s", name, names);
}

static bool has_empty(const void *slots, size_t size)
{
	void *const empty = NULL;

	for (size_t i = 0; i < size; i += sizeof(empty))
		if (!memcmp((const char *)slots + i, &empty, sizeof(empty)))
			return true;
	return false;
}

const char *adsm_backend_broken(const struct adsm_backend *backend)
{
	if (backend->version != ADSM_BACKEND_VERSION)
		return "it was built for another version of the backend interface";
	if (has_empty(&backend->name, sizeof(*backend) - offsetof(struct adsm_backend, name)) ||
	    has_empty(backend->driver, sizeof(*backend->driver)) ||
	    has_empty(backend->costs, sizeof(*backend->costs)) ||
	    has_empty(backend->once, sizeof(*backend->once)))
		return "one of its pointers is NULL";
	return NULL;
}

const struct adsm_backend *adsm_backend_named(const char *name)
{
	for (size_t i = 0; i < N_BACKENDS; i++)
		if (!strcmp(backends[i]->name, name))
			return backends[i];
	return NULL;
}

int adsm_backend_find(const char *name, const struct adsm_backend **ret_backend, int *ret_n_devices)
{
	const struct adsm_backend *found = NULL;
	bool any = !strcmp(name, "auto"), known = any;
	int n = 0, ret;

	for (size_t i = 0; i < N_BACKENDS && !found; i++) {
		if (any ? backends[i]->by_name_only : strcmp(name, backends[i]->name))
			continue;
		known = true;
		n = backends[i]->probe();
		if (n > 0)
			found = backends[i];
	}
	if (!known)
		return no_such_backend(name);
	if (!found) {
		/* A backend that could not run has recorded why. A backend without devices has recorded nothing. */
		if (n == 0)
			adsm_fail(-ENODEV, "the backend '%s' found no device on this machine", name);
		return -ENODEV;
	}
	if (adsm_backend_broken(found))
		return adsm_fail(-EINVAL, "the backend '%s' cannot be used: %s", found->name,
				 adsm_backend_broken(found));
	if (adsm_backend_options.wrap && *adsm_backend_options.wrap) {
		ret = adsm_wrap(found, adsm_backend_options.wrap, &found);
		if (ret)
			return ret;
	}
	*ret_backend = found;
	*ret_n_devices = n;
	return 0;
}
