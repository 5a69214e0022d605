/* SPDX-License-Identifier: MIT */
/* kernel.c - the list of modules, their kernels by name, their code on each device. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "run/object/kernel.h"
#include "base/log.h"
#include "core/observe.h"
#include "run/wait/coalesced.h"
#include "run/wait/enter.h"
#include "run/wait/wait.h"

static struct adsm_mutex mutex = ADSM_MUTEX_INIT(ADSM_RANK_MODULES);
static adsmModule *modules;

static void free_module(adsmModule *module)
{
	for (int i = 0; i < ADSM_MAX_DEVICES; i++)
		if (module->codes[i])
			module->codes[i]->device->backend->module_unload(module->codes[i]);
	free(module->kernels);
	adsm_module_info_destroy(module->info);
	free(module->data);
	free(module->options);
	free(module);
}

/* Make the kernels of info. They are not loaded on any device yet. */
static int make_kernels(adsmModule *module)
{
	module->kernels = calloc(module->info->n_kernels + 1, sizeof(*module->kernels));
	if (!module->kernels)
		return -ENOMEM;
	for (size_t i = 0; i < module->info->n_kernels; i++) {
		module->kernels[i].module = module;
		module->kernels[i].info = &module->info->kernels[i];
	}
	return 0;
}

/* Ask the driver for one kernel and its parameters. */
static int ask_kernel(adsmModule *module, size_t i, const char *name, struct adsm_home *home)
{
	const struct adsm_backend *backend = home->device->backend;
	struct adsm_kernel_info *info = &module->info->kernels[i];
	struct adsm_entry **entry = &module->kernels[i].entries[home->index];
	int n;

	n = backend->kernel_get(module->codes[home->index], name, entry);
	if (n)
		return n;
	n = backend->kernel_params(*entry, adsm_module_params(module->info, i), ADSM_ARGS_MAX);
	if (n < 0)
		return n;
	if (n > ADSM_ARGS_MAX)
		return adsm_fail(-ENOEXEC, "kernel '%s' has %d parameters, but a call can have at most %d", name, n,
				 ADSM_ARGS_MAX);
	strcpy(info->name, name);
	info->n_params = (uint32_t)n;
	info->max_threads = UINT32_MAX;		/* the device checks */
	info->global_atomics = true;
	info->params = adsm_module_params(module->info, i);
	return 0;
}

/* Ask the driver for the kernels of code that does not describe itself. */
static int ask_kernels(adsmModule *module, struct adsm_home *home)
{
	char *names;
	size_t n = 0, i = 0;
	int error = home->device->backend->module_names(module->codes[home->index], &names);

	if (error)
		return error;
	for (const char *name = names; *name; name += strlen(name) + 1)
		n++;
	error = adsm_module_info_create_empty(n, &module->info);
	if (!error)
		error = make_kernels(module);
	for (const char *name = names; *name && !error; name += strlen(name) + 1) {
		if (strlen(name) >= sizeof(module->info->kernels[i].name))
			error = adsm_fail(-ENOEXEC, "the kernel's name '%s' is longer than 63 characters", name);
		else
			error = ask_kernel(module, i++, name, home);
	}
	free(names);
	return error;
}

static int load_native(adsmModule *module, const struct adsm_image *image, struct adsm_home *home)
{
	int error;

	module->data = malloc(image->size + 1);
	module->options = strdup(image->options);
	if (!module->data || !module->options)
		return adsm_fail(-ENOMEM, "no memory for a kernel module of %zu bytes", image->size);
	memcpy(module->data, image->data, image->size);
	((char *)module->data)[image->size] = '\0';
	module->image = (struct adsm_image){ image->kind, module->data, image->size, "", module->options };
	error = home->device->backend->module_load(home->device, &module->image, &module->codes[home->index]);
	return error ? error : ask_kernels(module, home);
}

static int load_described(adsmModule *module, const struct adsm_image *image)
{
	int error = adsm_module_info_create(image->data, image->size, &module->info);

	if (error)
		return error;
	module->options = strdup(image->options);
	if (!module->options)
		return -ENOMEM;
	module->image = (struct adsm_image){ ADSM_IMAGE_MODULE, module->info->image, module->info->size,
					     module->info->text, module->options };
	return make_kernels(module);
}

/* Add a module to the list, or free it after an error. */
static int finish(adsmModule *module, int error, adsmModule **ret_module)
{
	if (error) {
		free_module(module);
		return error;
	}
	adsm_mutex_lock(&mutex);
	module->next = modules;
	modules = module;
	adsm_mutex_unlock(&mutex);
	*ret_module = module;
	return 0;
}

/* Code for CUDA devices is recognized by its first bytes. Other drivers do not get it, because some would crash. */
static int load_cuda(adsmModule *module, const struct adsm_image *image, struct adsm_home *home)
{
	struct adsm_image binary = *image;

	if (!home->device->caps.cuda_code)
		return adsm_fail(-ENOEXEC, "the image is code for CUDA devices, but device %d belongs to the backend "
				 "'%s'", home->index, home->device->backend->name);
	binary.kind = ADSM_IMAGE_BINARY;
	return load_native(module, &binary, home);
}

int adsm_module_create(const struct adsm_image *image, struct adsm_home *home, adsmModule **ret_module)
{
	adsmModule *module = calloc(1, sizeof(*module));
	int error;

	if (!module)
		return -ENOMEM;
	if (image->kind != ADSM_IMAGE_MODULE)
		error = load_native(module, image, home);
	else if (adsm_module_is_cuda(image->data, image->size))
		error = load_cuda(module, image, home);
	else
		error = load_described(module, image);
	return finish(module, error, ret_module);
}

int adsm_module_adopt(struct adsm_home *home, void *handle, adsmModule **ret_module)
{
	adsmModule *module = calloc(1, sizeof(*module));
	int error;

	if (!module)
		return -ENOMEM;
	module->only = home;
	error = home->device->backend->driver->kernel_adopt(home->device, handle, &module->codes[home->index]);
	if (!error)
		error = ask_kernels(module, home);
	return finish(module, error, ret_module);
}

static adsmModule **find(const adsmModule *module)
{
	adsmModule **at = &modules;

	while (*at && *at != module)
		at = &(*at)->next;
	return at;
}

static int destroy(adsmModule *module)
{
	adsmModule **at;

	adsm_mutex_lock(&mutex);
	at = find(module);
	if (!*at) {
		adsm_mutex_unlock(&mutex);
		return adsm_fail(-EINVAL, "%p is not a loaded module", (void *)module);
	}
	*at = module->next;
	adsm_mutex_unlock(&mutex);
	free_module(module);
	return 0;
}

bool adsm_module_is_live(const adsmModule *module)
{
	bool live;

	adsm_mutex_lock(&mutex);
	live = module && *find(module);
	adsm_mutex_unlock(&mutex);
	return live;
}

size_t adsm_modules_alive(void)
{
	size_t n = 0;

	adsm_mutex_lock(&mutex);
	for (adsmModule *m = modules; m; m = m->next)
		n += !m->internal;
	adsm_mutex_unlock(&mutex);
	return n;
}

adsmKernel *adsm_kernel_find(adsmModule *module, const char *name)
{
	const long i = adsm_module_find(module->info, name);

	return i < 0 ? NULL : &module->kernels[i];
}

int adsm_kernel_nothing(struct adsm_home *home, adsmKernel **ret_kernel)
{
	static struct adsm_mutex making = ADSM_MUTEX_INIT(ADSM_RANK_NOTHING);
	adsmModule *module;
	int error = 0;

	adsm_mutex_lock(&making);
	adsm_mutex_lock(&mutex);
	for (module = modules; module; module = module->next)
		if (module->internal && module->only == home)
			break;
	adsm_mutex_unlock(&mutex);
	if (!module) {
		error = adsm_module_adopt(home, NULL, &module);
		if (!error)
			module->internal = true;
	}
	adsm_mutex_unlock(&making);
	if (!error)
		*ret_kernel = &module->kernels[0];
	return error;
}

void adsm_modules_end(void)
{
	adsmModule **at = &modules;

	adsm_mutex_lock(&mutex);
	while (*at) {
		adsmModule *module = *at;

		if (!module->internal) {
			at = &module->next;
			continue;
		}
		*at = module->next;
		free_module(module);
	}
	adsm_mutex_unlock(&mutex);
}

bool adsm_kernel_is_live(const adsmKernel *kernel)
{
	bool live = false;

	adsm_mutex_lock(&mutex);
	for (adsmModule *m = modules; m && !live; m = m->next)
		live = kernel >= m->kernels && kernel < m->kernels + m->info->n_kernels;
	adsm_mutex_unlock(&mutex);
	return live;
}

static int load(adsmKernel *kernel, struct adsm_home *home)
{
	const struct adsm_backend *backend = home->device->backend;
	adsmModule *module = kernel->module;
	int error = 0;

	if (module->only && module->only != home)
		return adsm_fail(-EINVAL, "kernel '%s' was made for device %d, but the call is for device %d",
				 kernel->info->name, module->only->index, home->index);
	if (!module->codes[home->index])
		error = backend->module_load(home->device, &module->image, &module->codes[home->index]);
	if (!error && !kernel->entries[home->index])
		error = backend->kernel_get(module->codes[home->index], kernel->info->name,
					    &kernel->entries[home->index]);
	return error;
}

int adsm_kernel_entry(adsmKernel *kernel, struct adsm_home *home, struct adsm_entry **ret_entry)
{
	int error = 0;

	adsm_mutex_lock(&mutex);
	if (!kernel->entries[home->index])
		error = load(kernel, home);
	if (!error)
		*ret_entry = kernel->entries[home->index];
	adsm_mutex_unlock(&mutex);
	return error;
}

static void unassign(adsmKernel *kernel, uintptr_t start)
{
	struct adsm_assignment **at = &kernel->assignments;

	while (*at) {
		struct adsm_assignment *a = *at;

		if (a->start == start) {
			*at = a->next;
			free(a);
		} else {
			at = &a->next;
		}
	}
}

int adsm_kernel_assign(adsmKernel *kernel, uintptr_t start, unsigned access)
{
	struct adsm_assignment *a = NULL;

	if (kernel) {
		a = malloc(sizeof(*a));
		if (!a)
			return -ENOMEM;
	}
	adsm_mutex_lock(&mutex);
	if (kernel) {
		unassign(kernel, start);
		*a = (struct adsm_assignment){ kernel->assignments, start, access };
		kernel->assignments = a;
	} else {
		for (adsmModule *m = modules; m; m = m->next)
			for (size_t i = 0; i < m->info->n_kernels; i++)
				unassign(&m->kernels[i], start);
	}
	adsm_mutex_unlock(&mutex);
	return 0;
}

size_t adsm_kernel_assignments(adsmKernel *kernel, struct adsm_assignment *ret_list, size_t max)
{
	size_t n = 0;

	adsm_mutex_lock(&mutex);
	for (struct adsm_assignment *a = kernel->assignments; a; a = a->next, n++)
		if (n < max)
			ret_list[n] = *a;
	adsm_mutex_unlock(&mutex);
	return n;
}

/* ---- assignments of objects */

/* Is an object assigned to any kernel? */
static bool is_assigned(uintptr_t start)
{
	bool found = false;

	adsm_mutex_lock(&mutex);
	for (adsmModule *m = modules; m; m = m->next)
		for (size_t i = 0; i < m->info->n_kernels; i++)
			for (struct adsm_assignment *a = m->kernels[i].assignments; a; a = a->next)
				found |= a->start == start;
	adsm_mutex_unlock(&mutex);
	return found;
}

/* Remove one assignment of a module's kernels. Returns false if there is none. */
static bool unassign_one(adsmModule *module, uintptr_t *ret_start)
{
	bool found = false;

	adsm_mutex_lock(&mutex);
	for (size_t i = 0; *find(module) && i < module->info->n_kernels && !found; i++) {
		struct adsm_assignment *a = module->kernels[i].assignments;

		if (a) {
			*ret_start = a->start;
			found = true;
			unassign(&module->kernels[i], a->start);
		}
	}
	adsm_mutex_unlock(&mutex);
	return found;
}

/* Remove the assignments of a module's kernels. */
static void unassign_all(adsmModule *module)
{
	uintptr_t start = 0;

	while (unassign_one(module, &start)) {
		struct adsm_object *object;
		struct adsm_sigset old;

		if (is_assigned(start))
			continue;
		object = adsm_object_enter((void *)start, &old);
		if (!object)
			continue;
		object->assigned = false;
		adsm_act(object, ADSM_ACT_ASSIGNED, ADSM_EVENT_NONE, 0, 0);
		object->born_seq = object->home->last_seq;
		adsm_coalesced_close(object->home);
		adsm_home_unlock(object->home, &old);
	}
}

int adsm_module_unload(adsmModule *module)
{
	adsm_quiesce();
	unassign_all(module);
	return destroy(module);
}

int adsm_assign(void *p, adsmKernel *kernel, int access)
{
	struct adsm_object *object;
	struct adsm_home *home;
	struct adsm_sigset old;
	uintptr_t start;
	int error;

	if (kernel && (access < (int)ADSM_ACCESS_IN || access > (int)ADSM_ACCESS_INOUT))
		return adsm_fail(-EINVAL, "access %d is not ADSM_ACCESS_IN, ADSM_ACCESS_OUT or ADSM_ACCESS_INOUT",
				 access);
	if (kernel && !adsm_kernel_is_live(kernel))
		return adsm_fail(-EINVAL, "%p is not a kernel of a loaded module", (void *)kernel);
	object = adsm_object_enter(p, &old);
	if (!object)
		return adsm_fail(-EINVAL, "%p is not in a live object", p);
	home = object->home;
	start = object->start;
	error = object->device_only || object->freeing ?
		adsm_fail(-EINVAL, "%p is not in a live shared object", p) : 0;
	adsm_home_unlock(home, &old);
	if (!error)
		error = adsm_kernel_assign(kernel, start, (unsigned)access);
	if (error)
		return error;
	object = adsm_object_enter((void *)start, &old);
	if (!object)
		return 0;	/* it was freed meanwhile */
	home = object->home;
	if (object->start == start) {
		/* Unnamed calls up to here may use the object. From here on only calls of the assigned kernels may. */
		const uint64_t unnamed = adsm_object_unnamed(object);

		object->use_seq[0] = unnamed > object->use_seq[0] ? unnamed : object->use_seq[0];
		object->write_seq = unnamed > object->write_seq ? unnamed : object->write_seq;
		if (home->unknown_seq > object->born_seq && home->unknown_seq > object->stored_seq)
			object->stored_seq = home->unknown_seq;
		object->assigned = kernel;
		adsm_act(object, ADSM_ACT_ASSIGNED, ADSM_EVENT_NONE, kernel != NULL, 0);
		if (!kernel)
			object->born_seq = home->last_seq;
		adsm_coalesced_close(home);
	}
	adsm_home_unlock(home, &old);
	return 0;
}
