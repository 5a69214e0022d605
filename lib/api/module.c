/* SPDX-License-Identifier: MIT */
/* module.c - the public functions for modules, kernels and calls. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/sized.h"
#include "api/told.h"
#include "base/log.h"
#include "base/os.h"
#include "base/symbols.h"
#include "run/call/call.h"
#include "run/call/dataflow_end.h"
#include "run/copy/io.h"
#include "run/object/kernel.h"
#include "run/wait/sync.h"
#include "run/object/variable.h"
#include "start/start.h"

static void *no_handle(int error)
{
	adsm_error_mark_null();
	errno = -error;
	return NULL;
}

/* If the program passes the NULL that a function returned for a module or kernel to another function, the error text
 * of the first failure stays, because it names the reason. */
static bool has_said_why_null(const void *handle)
{
	return !handle && adsm_error_is_null_marked();
}

static int read_file(const char *name, void **ret_image, size_t *ret_size)
{
	struct stat status;
	char *image;
	size_t at = 0;
	int fd = open(name, O_RDONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return adsm_fail(-errno, "kernel module %s: %s", name, strerrordesc_np(errno));
	if (fstat(fd, &status))
		error = -errno;
	else if (!S_ISREG(status.st_mode))
		error = -ENOEXEC;
	if (error) {
		close(fd);
		return adsm_fail(error, "kernel module %s: not a regular file", name);
	}
	image = malloc((size_t)status.st_size + 1);
	while (image && at < (size_t)status.st_size) {
		ssize_t n = read(fd, image + at, (size_t)status.st_size - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			error = -errno;
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	close(fd);
	if (!image)
		return adsm_fail(-ENOMEM, "kernel module %s: no memory for its bytes", name);
	if (error) {
		free(image);
		return adsm_fail(error, "kernel module %s: %s", name, strerrordesc_np(-error));
	}
	*ret_image = image;
	*ret_size = at;
	return 0;
}

/* The size without NUL bytes at the end, which a string in C has. */
static size_t text_size(const char *text, size_t size)
{
	while (size > 1 && !text[size - 1])
		size--;
	return size;
}

/* Recognize the kind of an image: text has no bytes that are 0. The result is never a driver's binary, because drivers
 * crash on invalid binaries. */
static int kind_of(const void *image, size_t size)
{
	static const uint32_t spirv = 0x07230203;

	if (size >= sizeof(spirv) && !memcmp(image, &spirv, sizeof(spirv)))
		return ADSM_MODULE_SPIRV;
	if ((size >= SELFMAG && !memcmp(image, ELFMAG, SELFMAG)) ||
	    memchr(image, '\0', text_size(image, size)))
		return ADSM_MODULE_ADSM;
	return ADSM_MODULE_SOURCE;
}

static int load_with(const void *data, size_t size, const adsmModuleOptions *options, adsmModule **ret_module)
{
	static const enum adsm_image_kind kinds[] = {
		[ADSM_MODULE_ADSM] = ADSM_IMAGE_MODULE, [ADSM_MODULE_SOURCE] = ADSM_IMAGE_SOURCE,
		[ADSM_MODULE_SPIRV] = ADSM_IMAGE_SPIRV, [ADSM_MODULE_BINARY] = ADSM_IMAGE_BINARY,
	};
	struct adsm_image image = { .data = data, .size = size, .text = "", .options = "" };
	static const struct adsm_sized sized = ADSM_SIZED(adsmModuleOptions, "struct_size", device);
	adsmModuleOptions own = ADSM_MODULE_OPTIONS_INIT;
	struct adsm_home *home;
	int kind, error;

	error = options ? adsm_sized_take(&sized, &own, options, options->struct_size) : 0;
	if (!error && (own.kind < ADSM_MODULE_AUTO || own.kind > ADSM_MODULE_BINARY))
		error = adsm_fail(-EINVAL, "adsmModuleOptions: kind %d is not one of ADSM_MODULE_*", own.kind);
	if (!error)
		error = adsm_home_get(own.device, &home);
	if (error)
		return error;
	if (own.build_options)
		image.options = own.build_options;
	kind = own.kind;
	if (kind == ADSM_MODULE_AUTO)
		kind = size ? kind_of(data, size) : ADSM_MODULE_ADSM;
	if (kind == ADSM_MODULE_SOURCE)
		image.size = text_size(data, size);
	image.kind = kinds[kind];
	return adsm_module_create(&image, home, ret_module);
}

static adsmModule *load(const void *image, size_t size, const adsmModuleOptions *options)
{
	ADSM_TELLS;
	adsmModule *module;
	int error = load_with(image, size, options, &module);

	return error ? no_handle(adsm_told(said_, "adsmModuleLoad", error)) : module;
}

adsmModule *adsmModuleLoad(const char *file)
{
	ADSM_UNCANCELLED;
	ADSM_TELLS;
	adsmModule *module;
	void *image = NULL;
	size_t size = 0;
	int error = adsm_start();

	if (!error && !file)
		error = adsm_fail(-EINVAL, "adsmModuleLoad(): the file name is NULL");
	if (!error)
		error = read_file(file, &image, &size);
	if (error)
		return no_handle(ADSM_TOLD(error));
	module = load(image, size, NULL);
	error = errno;
	free(image);
	errno = error;
	return module;
}

adsmModule *adsmModuleLoadMemory(const void *image, size_t size)
{
	ADSM_TELLS;
	int error = adsm_start();

	if (!error && !image)
		error = adsm_fail(-EINVAL, "adsmModuleLoadMemory(): the image is NULL");
	return error ? no_handle(ADSM_TOLD(error)) : load(image, size, NULL);
}

adsmModule *adsmModuleLoadWith(const void *image, size_t size, const adsmModuleOptions *options)
{
	ADSM_TELLS;
	int error = adsm_start();

	if (!error && !image)
		error = adsm_fail(-EINVAL, "adsmModuleLoadWith(): the image is NULL");
	return error ? no_handle(ADSM_TOLD(error)) : load(image, size, options);
}

int adsmModuleUnload(adsmModule *module)
{
	ADSM_TELLS;
	int error = module ? adsm_start() : 0;

	if (error || !module)
		return ADSM_TOLD(error);
	error = adsm_dataflow_leave(module);
	if (!error && adsm_module_is_live(module))
		error = adsm_variables_free(module);
	if (!error)
		error = adsm_module_unload(module);
	adsm_printed_show();
	return ADSM_TOLD(error);
}

adsmKernel *adsmKernelGet(adsmModule *module, const char *name)
{
	ADSM_TELLS;
	char names[512];
	adsmKernel *kernel;
	size_t at = 0;
	int error = adsm_start();

	if (!error && has_said_why_null(module))
		return no_handle(-EINVAL);
	if (!error && (!name || !adsm_module_is_live(module)))
		error = adsm_fail(-EINVAL, "adsmKernelGet(): the name is NULL, or the module is not loaded");
	if (error)
		return no_handle(ADSM_TOLD(error));
	kernel = adsm_kernel_find(module, name);
	if (kernel)
		return kernel;
	names[0] = '\0';
	for (size_t i = 0; i < module->info->n_kernels && at < sizeof(names); i++)
		at += (size_t)adsm_format(names + at, sizeof(names) - at, "%s%s", i ? ", " : "",
					  module->info->kernels[i].name);
	return no_handle(adsm_fail(-ENOENT, "the module has no kernel '%s'; it has: %s", name, names));
}

/* The names of a module's variables: "a, b". */
static void list_variables(const struct adsm_module_info *info, char *ret_names, size_t size)
{
	const char *text = info->symbols;
	struct adsm_symbol symbol;
	size_t at = 0;

	ret_names[0] = '\0';
	for (size_t i = 0; adsm_symbol_next(&text, &symbol) && at < size; i++)
		at += (size_t)adsm_format(ret_names + at, size - at, "%s%.*s", i ? ", " : "", (int)symbol.name_size,
					  symbol.name);
}

void *adsmModuleGlobal(adsmModule *module, int device, const char *name, size_t *ret_size)
{
	ADSM_TELLS;
	struct adsm_home *home;
	void *const *addresses;
	char names[512];
	size_t size;
	long index;
	int error = adsm_start();

	if (!error && has_said_why_null(module))
		return no_handle(-EINVAL);
	if (!error && (!name || !adsm_module_is_live(module)))
		error = adsm_fail(-EINVAL, "adsmModuleGlobal(): the name is NULL, or the module is not loaded");
	if (!error)
		error = adsm_home_get(device, &home);
	if (error)
		return no_handle(ADSM_TOLD(error));
	index = adsm_variable_find(module->info, name, &size);
	if (index < 0) {
		list_variables(module->info, names, sizeof(names));
		return no_handle(adsm_fail(-ENOENT, "no variable '%s' in this module; it has: %s", name,
					   *names ? names : "none"));
	}
	error = adsm_variables_get(module, home, &addresses);
	if (error)
		return no_handle(ADSM_TOLD(error));
	if (ret_size)
		*ret_size = size;
	return addresses[index];
}

int adsmCallArgs(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args, size_t n)
{
	ADSM_TELLS;
	int error = adsm_start();

	adsm_io_look_back(ADSM_STACK());
	adsm_printed_show();
	if (!error && has_said_why_null(kernel))
		return -EINVAL;
	return ADSM_TOLD(error ? error : adsm_call(kernel, grid, block, args, n, __builtin_return_address(0)));
}

int adsmSync(void)
{
	return ADSM_AFTER_LOOK_BACK(adsm_sync(__builtin_return_address(0)));
}

int adsmAssign(void *p, adsmKernel *kernel, unsigned access)
{
	return ADSM_AFTER_START(adsm_assign(p, kernel, access));
}
