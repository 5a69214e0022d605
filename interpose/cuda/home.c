/* SPDX-License-Identifier: MIT */
/* home.c - finds the home whose objects a command of the program may use; converts the library's errors to CUresult. */
#include "home.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "start/options.h"
#include "cuda/options.h"
#include "base/os.h"

ADSM_CU_CALLED(cuCtxGetCurrent, (CUcontext *context));
ADSM_CU_CALLED(cuStreamGetCtx, (CUstream stream, CUcontext *context));

_Atomic unsigned adsm_cuda_ended[ADSM_MAX_DEVICES];
_Atomic uint32_t adsm_cuda_past;

struct adsm_home *adsm_cuda_current_home(void)
{
	CUcontext context = NULL;

	if (!adsm_driver_active() || real_cu(cuCtxGetCurrent)(&context) || !context)
		return NULL;
	return adsm_driver_home_of(context);
}

static bool is_default(CUstream stream)
{
	return !stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

/* Default streams are the current context's. */
CUcontext adsm_cuda_context_of(CUstream stream)
{
	CUcontext context = NULL;

	if (is_default(stream) || real_cu(cuStreamGetCtx)(stream, &context) != CUDA_SUCCESS)
		real_cu(cuCtxGetCurrent)(&context);
	return context;
}

struct adsm_home *adsm_cuda_concerned_by(CUstream stream)
{
	struct adsm_home *home = adsm_cuda_concerned();

	/* If there is no other home, the driver need not be asked. */
	if (is_default(stream) || !adsm_driver_active() || (home && adsm_n_homes == 1))
		return home;
	home = adsm_driver_home_of(adsm_cuda_context_of(stream));
	return home && !adsm_cuda_has_ended(home) ? home : NULL;
}

/* Is this library in LD_PRELOAD? Absolute paths are resolved and compared. Relative paths may refer to another current
 * folder by now, and paths with a $ are for the dynamic linker. So of these only the file's name is compared. */
static bool is_preloaded(void)
{
	const char *list = adsm_os_getenv("LD_PRELOAD");
	char own[PATH_MAX], path[PATH_MAX], found[PATH_MAX];

	if (!list || adsm_os_library_path(own, sizeof(own)))
		return false;
	for (; *list; list += strspn(list, ": ")) {
		size_t length = strcspn(list, ": ");

		if (length < sizeof(path)) {
			const char *name;

			memcpy(path, list, length);
			path[length] = '\0';
			name = strrchr(path, '/');
			if (*path == '/' && !strchr(path, '$') ? realpath(path, found) && !strcmp(found, own) :
			    !strncmp(name ? name + 1 : path, "libadsm.so", 10))
				return true;
		}
		list += length;
	}
	return false;
}

static bool makes_objects;

/* This is decided before the library starts, because the first object starts it. */
static void choose_objects(void)
{
	int saved_errno = errno;

	if ((adsm_started() || !adsm_options_load()) && adsm_cuda_options.objects != ADSM_CUDA_OBJECTS_OFF)
		makes_objects = adsm_cuda_options.objects == ADSM_CUDA_OBJECTS_ON || is_preloaded();
	errno = saved_errno;
}

bool adsm_cuda_makes_objects(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, choose_objects);
	return makes_objects;
}

CUresult adsm_cuda_result(int error)
{
	static const struct { int error; CUresult result; } rows[] = {
		{ ENOMEM, CUDA_ERROR_OUT_OF_MEMORY }, { EINVAL, CUDA_ERROR_INVALID_VALUE },
		{ ENODEV, CUDA_ERROR_DEVICE_UNAVAILABLE }, { EFAULT, CUDA_ERROR_ILLEGAL_ADDRESS },
		{ ENOTSUP, CUDA_ERROR_NOT_SUPPORTED }, { EBUSY, CUDA_ERROR_NOT_PERMITTED },
		{ EPERM, CUDA_ERROR_NOT_PERMITTED }, { ENOENT, CUDA_ERROR_NOT_FOUND },
		{ ENOEXEC, CUDA_ERROR_INVALID_IMAGE }, { ETIMEDOUT, CUDA_ERROR_LAUNCH_TIMEOUT },
	};
	static _Atomic bool said[sizeof(rows) / sizeof(*rows) + 1];
	size_t i = 0;

	if (!error)
		return CUDA_SUCCESS;
	while (i < sizeof(rows) / sizeof(*rows) && rows[i].error != -error)
		i++;
	if (!atomic_exchange(&said[i], true))
		adsm_error_once();
	return i < sizeof(rows) / sizeof(*rows) ? rows[i].result : CUDA_ERROR_UNKNOWN;
}
