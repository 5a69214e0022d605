/* SPDX-License-Identifier: MIT */
/* cu.c - opens the driver; names of errors. */
#include "cu.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "base/drivers.h"
#include "base/error.h"
#include "base/log.h"
#include "driven.h"
#include "options.h"
#include "base/os.h"

#define DRIVER "libcuda.so.1"

struct adsm_cu adsm_cu;

static const struct adsm_driven_function functions[] = {
#define REQUIRED(name, params) { #name, offsetof(struct adsm_cu, name), true },
#define OPTIONAL(name, params) { #name, offsetof(struct adsm_cu, name), false },
	ADSM_CU_FUNCTIONS(REQUIRED, OPTIONAL)
#undef REQUIRED
#undef OPTIONAL
};

static const char *driver_file(void)
{
	return *adsm_cuda_options.library ? adsm_cuda_options.library : DRIVER;
}

static int init_failed(CUresult error)
{
	switch (error) {
	case CUDA_ERROR_STUB_LIBRARY:
		return adsm_fail(-ENODEV, "no CUDA driver: %s is the toolkit's stub library, which is only for "
				 "linking; remove its folder from LD_LIBRARY_PATH", driver_file());
	case CUDA_ERROR_NO_DEVICE:
		return adsm_fail(-ENODEV, "the CUDA driver found no device (see nvidia-smi and CUDA_VISIBLE_DEVICES)");
	case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
		return adsm_fail(-ENODEV, "%s and the driver's kernel module have different versions; a restart of the "
				 "machine loads matching versions", driver_file());
	default:
		return adsm_fail(-ENODEV, "the CUDA driver cannot be used: cuInit failed with %s",
				 adsm_cu_error_name(error));
	}
}

static int open_driver(void)
{
	static bool is_open;
	const char *missing;
	struct adsm_cu found;
	CUresult error;
	void *library;

	if (is_open)
		return 0;
	if (adsm_os_is_privileged())
		return adsm_fail(-EPERM, "no CUDA: the library does not open the driver in a set-user-ID program, "
				 "because the driver obeys the caller's environment; use the backend 'cpu'");
	library = dlopen(driver_file(), RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return adsm_fail(-ENODEV, "no CUDA driver: %s; install NVIDIA's driver, or choose another backend "
				 "(ADSM_BACKEND)", dlerror());
	missing = adsm_driven_functions(library, functions, sizeof(functions) / sizeof(functions[0]), &found);
	if (missing) {
		dlclose(library);
		return adsm_fail(-ENODEV, "no CUDA driver: %s lacks %s, which is part of CUDA 11", driver_file(),
				 missing);
	}
	/* The driver stays loaded from here on, because it has threads. */
	adsm_cu = found;
	adsm_drivers_add((const void *)(uintptr_t)adsm_cu.cuInit);
	error = adsm_cu.cuInit(0);
	if (error)
		return init_failed(error);
	is_open = true;
	return 0;
}

int adsm_cu_open(void)
{
	static struct adsm_mutex mutex = ADSM_MUTEX_INIT(ADSM_RANK_DRIVER);
	int ret;

	adsm_mutex_lock(&mutex);
	ret = open_driver();
	adsm_mutex_unlock(&mutex);
	return ret;
}

const char *adsm_cu_error_name(CUresult error)
{
	const char *name = NULL;

	if (adsm_cu.cuGetErrorName && !adsm_cu.cuGetErrorName(error, &name) && name)
		return name;
	return adsm_error_number(error);
}
