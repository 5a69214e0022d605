/* SPDX-License-Identifier: MIT */
/* test_no_opencl.c - the errors of a library that was built without OpenCL's headers. */
#include "backend.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
	static const struct { const char *name; int error; const char *words; } cases[] = {
		{ "opencl", -ENODEV, "opencl-headers" },
		{ "gpu", -EINVAL, "no backend has the name 'gpu'; valid names are: auto, cuda, cpu" },
	};
	const struct adsm_backend *backend;
	int failed = 0, n;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int error = adsm_backend_find(cases[i].name, &backend, &n);

		if (error == cases[i].error && strstr(adsm_last_error(), cases[i].words))
			continue;
		fprintf(stderr, "backend %s: %d, '%s'\n", cases[i].name, error, adsm_last_error());
		failed = 1;
	}
	return failed;
}
