/* SPDX-License-Identifier: MIT */
/* kernel.c - the list of modules, their kernels by name, their code on each device. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "log.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static adsmModule *modules;

int adsm_module_create(const void *image, size_t size, adsmModule **ret_module)
{
	adsmModule *module = calloc(1, sizeof(*module));
	int error = -ENOMEM;

	if (!module)
		return error;
	error = adsm_module_info_create(image, size, &module->info);
	if (error)
		goto free_module;
	module->kernels = calloc(module->info->n_kernels, sizeof(*module->kernels));
	if (!module->kernels) {
		error = -ENOMEM;
		goto destroy_info;
	}
	for (size_t i = 0; i < module->info->n_kernels; i++) {
		module->kernels[i].module = module;
		module->kernels[i].info = &module->info->kernels[i];
	}
	pthread_mutex_lock(&mutex);
	module->next = modules;
	modules = module;
	pthread_mutex_unlock(&mutex);
	*ret_module = module;
	return 0;

destroy_info:
	adsm_module_info_destroy(module->info);
free_module:
	free(module);
	return error;
}

static adsmModule **find(const adsmModule *module)
{
	adsmModule **at = &modules;

	while (*at && *at != module)
		at = &(*at)->next;
	return at;
}

int adsm_module_destroy(adsmModule *module)
{
	adsmModule **at;

	pthread_mutex_lock(&mutex);
	at = find(module);
	if (!*at) {
		pthread_mutex_unlock(&mutex);
		return adsm_fail(-EINVAL, "%p is not a loaded module", (void *)module);
	}
	*at = module->next;
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < ADSM_MAX_DEVICES; i++)
		if (module->codes[i])
			module->codes[i]->device->backend->module_unload(module->codes[i]);
	free(module->kernels);
	adsm_module_info_destroy(module->info);
	free(module);
	return 0;
}

bool adsm_module_is_live(const adsmModule *module)
{
	bool live;

	pthread_mutex_lock(&mutex);
	live = module && *find(module);
	pthread_mutex_unlock(&mutex);
	return live;
}

size_t adsm_modules_alive(void)
{
	size_t n = 0;

	pthread_mutex_lock(&mutex);
	for (adsmModule *m = modules; m; m = m->next)
		n++;
	pthread_mutex_unlock(&mutex);
	return n;
}

adsmKernel *adsm_kernel_find(adsmModule *module, const char *name)
{
	for (size_t i = 0; i < module->info->n_kernels; i++)
		if (!strcmp(module->info->kernels[i].name, name))
			return &module->kernels[i];
	return NULL;
}

static bool is_live(const adsmKernel *kernel)
{
	for (adsmModule *m = modules; m; m = m->next)
		if (kernel >= m->kernels && kernel < m->kernels + m->info->n_kernels)
			return true;
	return false;
}

bool adsm_kernel_is_live(const adsmKernel *kernel)
{
	bool live;

	pthread_mutex_lock(&mutex);
	live = is_live(kernel);
	pthread_mutex_unlock(&mutex);
	return live;
}

static int load(adsmKernel *kernel, struct adsm_home *home)
{
	const struct adsm_backend *backend = home->device->backend;
	adsmModule *module = kernel->module;
	int error = 0;

	if (!module->codes[home->index])
		error = backend->module_load(home->device, module->info->image, module->info->size,
					     &module->codes[home->index]);
	if (!error && !kernel->entries[home->index])
		error = backend->kernel_get(module->codes[home->index], kernel->info->name,
					    &kernel->entries[home->index]);
	return error;
}

int adsm_kernel_entry(adsmKernel *kernel, struct adsm_home *home, struct adsm_entry **ret_entry)
{
	int error = 0;

	pthread_mutex_lock(&mutex);
	if (!kernel->entries[home->index])
		error = load(kernel, home);
	if (!error)
		*ret_entry = kernel->entries[home->index];
	pthread_mutex_unlock(&mutex);
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
	pthread_mutex_lock(&mutex);
	if (kernel) {
		unassign(kernel, start);
		*a = (struct adsm_assignment){ kernel->assignments, start, access };
		kernel->assignments = a;
	} else {
		for (adsmModule *m = modules; m; m = m->next)
			for (size_t i = 0; i < m->info->n_kernels; i++)
				unassign(&m->kernels[i], start);
	}
	pthread_mutex_unlock(&mutex);
	return 0;
}

size_t adsm_kernel_assignments(adsmKernel *kernel, struct adsm_assignment *ret_list, size_t max)
{
	size_t n = 0;

	pthread_mutex_lock(&mutex);
	for (struct adsm_assignment *a = kernel->assignments; a; a = a->next, n++)
		if (n < max)
			ret_list[n] = *a;
	pthread_mutex_unlock(&mutex);
	return n;
}

bool adsm_kernel_is_assigned(uintptr_t start)
{
	bool found = false;

	pthread_mutex_lock(&mutex);
	for (adsmModule *m = modules; m; m = m->next)
		for (size_t i = 0; i < m->info->n_kernels; i++)
			for (struct adsm_assignment *a = m->kernels[i].assignments; a; a = a->next)
				found |= a->start == start;
	pthread_mutex_unlock(&mutex);
	return found;
}

bool adsm_module_unassign(adsmModule *module, uintptr_t *ret_start)
{
	bool found = false;

	pthread_mutex_lock(&mutex);
	for (size_t i = 0; *find(module) && i < module->info->n_kernels && !found; i++) {
		struct adsm_assignment *a = module->kernels[i].assignments;

		if (a) {
			*ret_start = a->start;
			found = true;
			unassign(&module->kernels[i], a->start);
		}
	}
	pthread_mutex_unlock(&mutex);
	return found;
}
